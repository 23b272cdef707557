"""The contracts of contact laws, at most three methods each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import getattr_static
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import Elsewhere, NamedTuple, lazy
from ..common.representation import with_values

if TYPE_CHECKING:
    from .impact import ImpactSolution
    from .law_parameters import LawParameters
    from .problem import ContactProblem, ContactSolution


def __getattr__(name: str) -> Any:
    if name == "LawParameters":  # which lay here
        from .law_parameters import LawParameters

        return LawParameters
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class ContactLaw(ABC):  # noqa: B024 - its two kinds are RigidLaw and CompliantLaw
    """A contact law, rigid or compliant. Its parameters are the fields of `Parameters`.

    Args:
        parameters: values by name; what is not given has its default.

    Attributes:
        parameters: an instance of `Parameters`, made at once; the defaults of a schema that lies elsewhere are made
            when they are asked for.
    """

    Parameters: type[LawParameters] = Elsewhere("contactsim.contact.law_parameters", "LawParameters")  # type: ignore[assignment]

    def __init__(self, **parameters: Any) -> None:
        self._given = parameters
        if parameters or not isinstance(getattr_static(type(self), "Parameters"), Elsewhere):
            self.parameters  # noqa: B018 - so that mistakes are told here

    def __repr__(self) -> str:
        return with_values(self, self.parameters.model_dump())

    def _validated(self) -> Any:
        from ..common.schemas import validated

        return validated(self.Parameters, self._given, f"contact law {type(self).__name__}")

    parameters: Any = lazy(_validated)


class RigidLaw(ContactLaw):
    """A law of impulses and modes: contacts do not deform, and their forces follow from the constraints.

    A mode is a set of linear equations, so a rigid law says only which modes hold; the engine integrates them.

    Attributes:
        jams: where no mode is admissible for contacts that slide (Painleve), an impact without collision stops them;
            else the run stops there.
        speed_dependent: whether `sliding_friction` holds for all contacts, not only for those with a Stribeck speed.
    """

    jams: bool = False
    speed_dependent: bool = False

    @abstractmethod
    def impact(self, problem: ContactProblem, restitution: Array) -> ImpactSolution:
        """Solve an impact, in one or several stages that are linear once their modes are known.

        `problem.free` holds the velocities before it, `restitution` (n,) the coefficient of each contact. The stages
        are made by `newton`, `compression` and `expansion` of `contactsim.contact.impact`, or by hand. The engine
        applies the sum of their impulses, and differentiates each stage with its modes held.
        """

    @abstractmethod
    def select(self, problem: ContactProblem) -> ContactSolution:
        """Choose the modes of touching contacts: a problem of accelerations."""

    def plain(self) -> str | None:
        """The name by which compiled engines know the law as a whole; None: Python alone knows it.

        "newton": one stage of `contactsim.contact.impact.newton`, and modes by `stick_slip_choice.solve`, evenly.
        "poisson": the stages `compression` and `expansion` in place of that one; "energetic": the same, where they gain
        no energy.
        """
        return None

    def friction(self, kinetic: Array, static: Array) -> tuple[Array, Array]:
        """Coefficients (n,) that hold under this law, from those of the contact points."""
        return kinetic, static

    def moments(self, torsion: Array, rolling: Array) -> tuple[Array, Array]:
        """Coefficients (n,) of torsional and rolling friction [m] under this law: those above zero give rows.

        By default those of the contact points.
        """
        return torsion, rolling

    def sliding_friction(self, square: float, kinetic: float, static: float, speed: float) -> tuple[float, float]:
        """Coefficient of a contact that slides, and its derivative by the square of its slip velocity [s^2/m^2].

        Here Stribeck's curve mu_k + (mu_s - mu_k) exp(-|z_t|^2 / v_S^2), which begins at the static coefficient; one of
        a law's own is smooth in the square and begins there, too.

        Args:
            square: |z_t|^2 [m^2/s^2].
            kinetic, static: coefficients of the contact.
            speed: v_S, its Stribeck speed [m/s]; zero where it has none.

        Source: Armstrong-Helouvry, Dupont, Canudas de Wit, Automatica 30, 1994, eq. (6).
        """
        left = (static - kinetic) * exp(-square / speed**2) if speed > 0.0 else 0.0
        return kinetic + left, -left / speed**2 if speed > 0.0 else 0.0


class CompliantPoint(NamedTuple):
    """One contact and its state, as a compliant law may look at it.

    Attributes:
        gap: distance to the ground [m], negative in touch.
        velocity: velocity relative to the ground (1 + d_t,), normal first [m/s].
        memory: internal state (memory,).
        friction: kinetic coefficient of the contact.
        touching: contacts that carry a force in this mode, this one included (a joint at its limit counts).
        static_friction: static coefficient of the contact; where it is below the kinetic one, that one holds.
    """

    gap: float
    velocity: Array
    memory: Array = np.empty(0)
    friction: float = 0.0
    touching: int = 1
    static_friction: float = 0.0


class PlainForce(NamedTuple):
    """The force of a compliant law without memory on one contact, as numbers: all that compiled engines know of it.

        lam_n = k |g|^(p - 1) (-g) (1 - l z_n) - c z_n,  lam_t = -lam_n (mu z_t / s + b z_t),
        s = sqrt(|z_t|^2 + v_s^2),  mu = mu_k + e exp(-|z_t|^2 / v_S^2),

    with the gap g and the contact velocity z.

    Attributes:
        stiffness, exponent: k [N/m^p] and p.
        damping, loss: c [N s/m] and l [s/m].
        friction, slip_speed: mu_k and v_s [m/s].
        excess, stribeck_speed: e and v_S [m/s].
        viscous: b [s/m].
        by_factor: whether the margin is 1 - l z_n instead of lam_n.
    """

    stiffness: float
    exponent: float = 1.0
    damping: float = 0.0
    loss: float = 0.0
    friction: float = 0.0
    slip_speed: float = 1.0
    excess: float = 0.0
    stribeck_speed: float = 1.0
    viscous: float = 0.0
    by_factor: bool = False


class CompliantLaw(ContactLaw):
    """A law of forces: the ground gives way, and the force of a contact is a function of its state.

    The engine asks for the force where the contact touches, and a little beyond: where a step runs over an event, and
    by 2e-8 m where the law is differenced. The force must be smooth there; what switches is an event of the engine's.
    The memory of a contact is zero where it touches down; it keeps its value while the contact is open, unused.

    Attributes:
        memory: numbers of internal state per contact.
        pulls: False: a contact only pushes; it is released where its margin falls through zero, and takes hold again
            where the margin rises through zero. True: the force acts exactly while the gap is negative.
        integrator: method of runs whose user names none, such as "Radau9" for a stiff law; None: that of `simulate`.
    """

    memory: int = 0
    pulls: bool = False
    integrator: str | None = None

    @abstractmethod
    def force(self, point: CompliantPoint) -> tuple[Array, Array]:
        """Force (1 + d_t,) [N], normal first, and rate (memory,) of the memory [1/s] of one contact in touch."""

    def jacobian(self, point: CompliantPoint) -> Array | None:
        """Derivative of `force` as one matrix (1 + d_t + memory, 2 + d_t + memory); None: it is differenced.

            [ dF/dgap   dF/dvelocity   dF/dmemory  ]      dF/dgap = D[:1 + d_t, 0] [N/m]
            [ dr/dgap   dr/dvelocity   dr/dmemory  ]      dF/dvelocity = D[:1 + d_t, 1:2 + d_t] [N s/m]

        Rows are those of the force F and the rate r of the memory, columns those of gap, velocity and memory. A law
        that is differenced is slower, and its derivative has about 10 digits; a warning says so.
        """
        return None

    def margin(self, point: CompliantPoint) -> float | None:
        """Positive while the contact pushes, smooth, and zero where it would begin to pull; None: the normal force.

        A law whose normal force vanishes tangentially, as a power of the depth does, gives a factor that does not.
        """
        return None

    def plain(self, friction: float, static_friction: float, touching: int) -> PlainForce | None:
        """The law of one contact as numbers, for compiled engines; None: Python alone knows it.

        Args:
            friction, static_friction, touching: as of its `CompliantPoint`.
        """
        return None
