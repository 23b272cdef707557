"""The linearization of a run: its derivative, and the analyses that are made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..common import registry
from ..common.arguments import NAME, arguments, optional
from ..derivatives.run_derivative import RunDerivative
from ..hybrid.integrators import AUTOMATIC
from ..hybrid.tolerances import TOLERANCES, Tolerances
from ..hybrid.trajectory import Trajectory
from .covariance import Covariance, Noise, covariance
from .discrete import Discrete, discrete
from .riccati import Riccati, Weighting, riccati
from .spread import Spread, spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Linearization(RunDerivative):
    """Derivative of a run with respect to where it started and to parameters, with what is asked of it most often.

    The derivative itself, `matrix`, directions `lin(dx)`, `events` and `parameter`, is that of `RunDerivative`, whose
    arguments it takes; each analysis is a function of its own on that.
    """

    @arguments()
    def covariance(self, P0: Any, noise: Noise | None = None) -> Covariance:
        """Covariance along the run of a start scattered by `P0` (n, n); see `analysis.covariance.covariance`."""
        return covariance(self, P0, noise)

    def spread(self, frame: str, starts: Any = None, **options: Any) -> Spread:
        """Places of a point of a robot along perturbed runs; see `analysis.spread.spread`."""
        return spread(self, frame, starts, **options)

    def plot(self) -> Figure:
        """Draw the norms of D x(t) / D x(0), of the saltation matrices, and the multipliers.

        The figure is made by the plugin "linearization" of `contactsim.plots`.
        """
        return registry.load("plots", "linearization")(self)  # type: ignore[no-any-return]

    @arguments()
    def discrete(self, times: Any) -> Discrete:
        """The run in discrete time, dx_{k+1} = A_k dx_k + B_k du_k, through its events.

        For a run under `cs.Inputs` (or another controller that names the inputs it holds). A_k leads from behind what
        happens at times[k] to behind what happens at times[k + 1], inputs held: a feedback of the controller is left
        out. B_k is the derivative by the inputs held over the interval; those of several samples vary alike.
        An instant while a slip stops along a held direction, which neighbours turn, is told of: A_k knows no turn.

        Args:
            times: instants (N + 1,) [s], rising: those of the samples, or some of them.

        Returns:
            .A (N, n, n) and .B (N, n, nu), with n = 2 nv and the memory of actuators and law, if there is some.

        Raises:
            InputError: the run is not one under held inputs, or the times lie outside it.
            NonDifferentiableError: an event has no single saltation matrix.
        """
        return discrete(self, times)

    @arguments()
    def riccati(self, Q: Weighting, R: Any, Q_final: Any) -> Riccati:
        """Value and gains of the linear-quadratic regulator along the run; see `analysis.riccati.riccati`."""
        return riccati(self, Q, R, Q_final)


@arguments(tolerances=optional(TOLERANCES), integrator=NAME)
def linearize(
    trajectory: Trajectory, *, tolerances: Tolerances | None = None, integrator: str = AUTOMATIC
) -> Linearization:
    """First-order behaviour of everything around a run, through its events.

    Args:
        trajectory: the run, as `simulate` returns it or as it was loaded from a file.
        tolerances: rtol and atol of the variational equation; by default those of `Tolerances()`.
        integrator: method of covariances and gains: "DOP853", "RK45", "RK23", "Radau9", "Radau", "BDF", "LSODA", or
            "automatic": "DOP853", but for covariances without noise on stiff arcs. These are by collocation, as all
            matrices and directions are (`contactsim.hybrid.integrators.collocation`).

    Returns:
        The linearization: `matrix()`, directions `lin(dx)`, `events`, `parameter(name)` and analyses.

    Raises:
        InputError: `trajectory` is not one, or there is no such integrator.
    """
    return Linearization(trajectory, (), tolerances, integrator)
