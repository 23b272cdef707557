"""The tables of Dormand and Prince's methods, which the steps in Python and those of compiled engines share.

They are those of SciPy to the bit (`tests/hybrid/test_dop853.py`), which takes long to import.

Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.1, II.5 and II.6, and the code dop853.f
there.
"""

from __future__ import annotations

import numpy as np

from ...common.arrays import Array
from ...common.lazy import NamedTuple

STAGES, EXTENDED = 12, 16  # of a step, and with those that its dense output asks for besides
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0  # of the next step, from the error of this one; those of SciPy
OVERSHOT = 20.0  # h |lambda| of a step that is too long for a decay, whatever its error seems to be: stable is up to 6
OFF = 1.0  # tolerances by which the last two rates of such a step are apart; its dense output weighs them with hundreds
BRIEF = 0.1  # share of the tolerance of a step by which the midpoint rule may miss one of order three


def _numbers(text: str) -> Array:
    return np.array(text.split(), dtype=float)


TIMES = _numbers("""
0 0.05260015195876773 0.0789002279381516 0.1183503419072274 0.2816496580927726 0.3333333333333333 0.25
0.3076923076923077 0.6512820512820513 0.6 0.8571428571428571 1 1 0.1 0.2 0.7777777777777778
""")

COEFFICIENTS = np.zeros((EXTENDED, EXTENDED))  # row by row below the diagonal; row 12 is the weights of the step
COEFFICIENTS[np.tril_indices(EXTENDED, -1)] = _numbers("""
0.05260015195876773
0.0197250569845379 0.0591751709536137
0.02958758547680685 0 0.08876275643042054
0.2413651341592667 0 -0.8845494793282861 0.924834003261792
0.037037037037037035 0 0 0.17082860872947386 0.12546768756682242
0.037109375 0 0 0.17025221101954405 0.06021653898045596 -0.017578125
0.03709200011850479 0 0 0.17038392571223998 0.10726203044637328 -0.015319437748624402 0.008273789163814023
0.6241109587160757 0 0 -3.3608926294469414 -0.868219346841726 27.59209969944671 20.154067550477894
-43.48988418106996
0.47766253643826434 0 0 -2.4881146199716677 -0.590290826836843 21.230051448181193 15.279233632882423
-33.28821096898486 -0.020331201708508627
-0.9371424300859873 0 0 5.186372428844064 1.0914373489967295 -8.149787010746927 -18.52006565999696
22.739487099350505 2.4936055526796523 -3.0467644718982196
2.273310147516538 0 0 -10.53449546673725 -2.0008720582248625 -17.9589318631188 27.94888452941996 -2.8589982771350235
-8.87285693353063 12.360567175794303 0.6433927460157636
0.054293734116568765 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585 0.3111643669578199
-0.1521609496625161 0.20136540080403034 0.04471061572777259
0.056167502283047954 0 0 0 0 0 0.25350021021662483 -0.2462390374708025 -0.12419142326381637 0.15329179827876568
0.00820105229563469 0.007567897660545699 -0.008298
0.03183464816350214 0 0 0 0 0.028300909672366776 0.053541988307438566 -0.05492374857139099 0 0
-0.00010834732869724932 0.0003825710908356584 -0.00034046500868740456 0.1413124436746325
-0.42889630158379194 0 0 0 0 -4.697621415361164 7.683421196062599 4.06898981839711 0.3567271874552811 0 0 0
-0.0013990241651590145 2.9475147891527724 -9.15095847217987
""")
WEIGHTS = COEFFICIENTS[STAGES, :STAGES].copy()

# What is estimated of an error, by comparison with methods of order five and three.
ERROR5 = _numbers("""
0.01312004499419488 0 0 0 0 -1.2251564463762044 -0.4957589496572502 1.6643771824549864 -0.35032884874997366
0.3341791187130175 0.08192320648511571 -0.022355307863886294 0
""")
ERROR3 = np.append(WEIGHTS, 0.0)
ERROR3[[0, 8, 11]] -= 0.2440944881889764, 0.7338466882816118, 0.022058823529411766

DENSE = _numbers("""
-8.428938276109013 0 0 0 0 0.5667149535193777 -3.0689499459498917 2.38466765651207 2.117034582445028
-0.871391583777973 2.2404374302607883 0.6315787787694688 -0.08899033645133331 18.148505520854727 -9.194632392478356
-4.436036387594894
10.427508642579134 0 0 0 0 242.28349177525817 165.20045171727028 -374.5467547226902 -22.113666853125306
7.733432668472264 -30.674084731089398 -9.332130526430229 15.697238121770845 -31.139403219565178 -9.35292435884448
35.81684148639408
19.985053242002433 0 0 0 0 -387.0373087493518 -189.17813819516758 527.8081592054236 -11.57390253995963
6.8812326946963 -1.0006050966910838 0.7777137798053443 -2.778205752353508 -60.19669523126412 84.32040550667716
11.99229113618279
-25.69393346270375 0 0 0 0 -154.18974869023643 -231.5293791760455 357.6391179106141 93.40532418362432
-37.45832313645163 104.0996495089623 29.8402934266605 -43.53345659001114 96.32455395918828 -39.17726167561544
-149.72683625798564
""").reshape(4, EXTENDED)


class Lower(NamedTuple):
    """A method of a lower order, for steps that are far shorter than those of order eight.

    Its step fits if what another method within it misses stays below a share of the tolerance (`BRIEF`).

    Attributes:
        coefficients: (s + 1, s + 1) of its s stages, row by row below the diagonal; the last row is the weights of the
            step, at whose end one more rate is asked for.
        times: (s + 1,) shares of the step.
        missed: weights (s + 1,) of all rates, by which the other method misses.
        bend: weights (s + 1,) of the fourth part of its dense output; the three before follow from both ends.
    """

    coefficients: Array
    times: tuple[float, ...]
    missed: Array
    bend: Array


def _below(text: str, size: int) -> Array:
    """A matrix (size, size) of fractions, row by row below its diagonal."""
    filled = np.zeros((size, size))
    filled[np.tril_indices(size, -1)] = _fractions(text)
    return filled


def _fractions(text: str) -> Array:
    parts = [part.split("/") for part in text.split()]
    return np.array([float(part[0]) / float(part[1]) if len(part) > 1 else float(part[0]) for part in parts])


# Kutta's, of order three, against the midpoint rule: the cubic through both ends is its dense output.
THIRD = Lower(_below("1/2 -1 2 1/6 4/6 1/6", 4), (0.0, 0.5, 1.0, 1.0), _fractions("-1/6 2/6 -1/6 0"), np.zeros(4))
# Dormand and Prince's, of order five, against theirs of order four.
FIFTH = Lower(
    _below(
        """
1/5
3/40 9/40
44/45 -56/15 32/9
19372/6561 -25360/2187 64448/6561 -212/729
9017/3168 -355/33 46732/5247 49/176 -5103/18656
35/384 0 500/1113 125/192 -2187/6784 11/84""",
        7,
    ),
    (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    _fractions("-71/57600 0 71/16695 -71/1920 17253/339200 -22/525 1/40"),
    _fractions(
        "-12715105075/11282082432 0 87487479700/32700410799 -10690763975/1880347072 701980252875/199316789632"
        " -1453857185/822651844 69997945/29380423"
    ),
)
