"""Draws the pictures of docs/: what simultaneous events do to a circle of perturbations.

`python docs/figures.py` needs matplotlib (pip install -e ".[plot]") and takes a few seconds. Figures 3 and 4 of
Council, Revzen and Burden, "Representing and computing the B-derivative of the piecewise-differentiable flow of a class
of nonsmooth vector fields", are redrawn from simulations; the third picture is that of a hexapod's tripod.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import contactsim as cs
from contactsim.analysis.spread import carried

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from touchdowns import TouchDown, biped, tripod  # noqa: E402 - of the tests, which make the same runs

Array = np.ndarray
SMOOTH, WRONG, POINTS, GREY = "#1f4e79", "#c8553d", "#2a2a2a", "#9aa5b1"
CIRCLE, DOTS = 361, 24
AMPLITUDE = 1e-5  # of the simulated perturbations
SIMULATED, SEED = 150, 7  # perturbed walks
MARGIN = 0.01  # s, between the heel strike and where the walks are looked at


# --- figure 3: a piecewise-constant field in the plane ----------------------------------------------------------------
class Quadrant(cs.Flow):
    """x' = 1 + Delta(b) on one side b of the axes; the guards are those still ahead."""

    def __init__(self, side: tuple[int, int], rate: Array) -> None:
        self._ahead = [j for j in (0, 1) if side[j] < 0]
        self._rate = rate
        self.guard_names = tuple(self._ahead)

    def field(self, t: float, x: Array) -> Array:
        """The constant rate of this side."""
        return self._rate

    def guards(self, t: float, x: Array) -> Array:
        """Distance to the axes that are still ahead."""
        return -x[self._ahead]


class Plane(cs.HybridSystem):
    """The paper's eq. (11): a mode is the side b."""

    def __init__(self, delta: Callable[[Array], Array]) -> None:
        self._delta = delta

    def rate(self, side: tuple[int, int]) -> Array:
        """F_b (2,)."""
        return 1.0 + np.asarray(self._delta(np.array(side)), dtype=float)

    def flow(self, mode: Hashable) -> cs.Flow:
        """The field of one side."""
        return Quadrant(mode, self.rate(mode))  # type: ignore[arg-type]

    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> cs.Transition:
        """To the other side of the axes that were met."""
        after = tuple(1 if j in fired else b for j, b in enumerate(mode))  # type: ignore[arg-type, var-annotated]
        return cs.Transition(x, after, {f"x{j + 1}": (-1, 1) for j in fired})  # type: ignore[operator]

    def start(self, t: float, x: Array) -> cs.Transition:
        """Before both axes."""
        return cs.Transition(x, (-1, -1))


def draw_plane(axes: plt.Axes, title: str, delta: Callable[[Array], Array], radius: float = 0.25) -> None:
    """One panel of figure 3: a ball around rho-, its image, and some trajectories."""
    system = Plane(delta)
    start = -0.5 * system.rate((-1, -1))
    traj = cs.simulate(system, start, (0.0, 1.0))
    lin = cs.linearize(traj)
    dx = radius * circle(CIRCLE)
    axes.axhline(0.0, color=GREY, lw=1)
    axes.axvline(0.0, color=GREY, lw=1)
    for d in radius * circle(12, closed=False):
        run = cs.simulate(system, start + d, (0.0, 1.0))
        path = np.array([run.arcs[0](0.0), *[arc(arc.t1) for arc in run.arcs]])
        axes.plot(*path.T, color=GREY, lw=0.8)
        axes.plot(*path[-1], "o", color=POINTS, ms=3)
    axes.fill(*(start + dx).T, color=SMOOTH, alpha=0.15)
    axes.plot(*(start + dx).T, color=SMOOTH, lw=1.5)
    image = traj.final_x + lin(dx)
    axes.fill(*image.T, color=SMOOTH, alpha=0.15)
    axes.plot(*image.T, color=SMOOTH, lw=1.8, label="B-derivative")
    for matrix in lin.events[0].pieces().values():
        axes.plot(*(traj.final_x + dx @ matrix.T).T, "--", color=WRONG, lw=0.9)
    axes.set(title=title, aspect="equal", xlabel="$x_1$", ylabel="$x_2$")


def planar() -> plt.Figure:
    """Figure 3: linear for Delta(b) = -b / 4, piecewise linear in general."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    draw_plane(left, "linear", lambda b: -0.25 * b)
    table = {(-1, -1): (0.0, 0.0), (1, -1): (0.5, 1.0), (-1, 1): (-0.3, 0.9), (1, 1): (0.1, 0.2)}
    draw_plane(right, "piecewise linear", lambda b: np.array(table[tuple(b.tolist())]))
    return figure


# --- pictures of perturbed runs ---------------------------------------------------------------------------------------
def circle(count: int, closed: bool = True) -> Array:
    """Unit vectors (count, 2)."""
    angles = np.linspace(0.0, 2.0 * np.pi, count, endpoint=closed)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def draw_image(axes: plt.Axes, case: TouchDown, plane: Array, shown: Array) -> tuple[float, float]:
    """The image of a circle in `plane` (2, n), seen through `shown` (2, n); errors of map and matrices."""
    traj = case.run()
    lin = cs.linearize(traj)
    (event,) = lin.events
    dots = circle(DOTS, closed=False) @ plane
    space = case.system.space()
    simulated = np.array([space.difference(traj.final_x, case.moved(AMPLITUDE * d)) for d in dots]) / AMPLITUDE
    before, after = lin.matrix(lin.t0, np.nextafter(event.time, lin.t0)), lin.matrix(event.time, lin.t1)
    wrong = []
    for k, piece in enumerate(event.pieces().values()):
        matrix = after @ piece @ before
        wrong.append(float(np.abs((dots @ matrix.T - simulated) @ shown.T).max()))
        axes.plot(
            *(shown @ matrix @ plane.T @ circle(CIRCLE).T), "--", c=WRONG, lw=0.9, label="" if k else "one matrix"
        )
    axes.plot(*(shown @ lin(circle(CIRCLE) @ plane).T), color=SMOOTH, lw=1.8, label="lin(dx)")
    axes.plot(*(shown @ simulated.T), "o", color=POINTS, ms=3, label="simulated")
    right = float(np.abs((lin(dots) - simulated) @ shown.T).max())
    return right, max(wrong)


def draw_biped(axes: plt.Axes) -> None:
    """The body of the paper's fig. 4 (left), with both feet on the ground."""
    _, body, q, _ = biped("dissipative")
    x = np.linspace(-1.3, 1.3, 100)
    axes.fill_between(x, x**2, -0.4, color=GREY, alpha=0.4)
    for side in (1.0, -1.0):
        beta = q[2] - side * body.psi
        foot = np.array([q[0] + side * body.l * np.cos(beta), -(q[1] + side * body.l * np.sin(beta))])
        axes.plot([q[0], foot[0]], [-q[1], foot[1]], color=SMOOTH, lw=2)
        axes.plot(*foot, "o", color=WRONG, ms=6)
    axes.plot(q[0], -q[1], "o", color=SMOOTH, ms=14)
    axes.set(title="vertical-plane biped", aspect="equal", xlabel="$x$ [m]", ylabel="$-y$ [m]")


def bipeds() -> plt.Figure:
    """Figure 4: the flow of the biped is C1 under the dissipative law, PC1 where damping switches."""
    figure, (left, centre, right) = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    draw_biped(left)
    plane, shown = np.eye(6)[[1, 2]], np.eye(6)[[4, 5]]
    for axes, law, title in ((centre, "dissipative", "$C^1$"), (right, "switched-damping", "$PC^r$")):
        errors = draw_image(axes, biped(law)[0], plane, shown)
        print(f"biped, {law}: error of lin(dx) {errors[0]:.2g}, of one matrix {errors[1]:.2g}")
        axes.set(title=f"{title}: {law}", xlabel=r"$\delta \dot y$", ylabel=r"$\delta \dot\theta$")
        axes.legend(fontsize=8)
    return figure


def tripods() -> plt.Figure:
    """A circle of tilts of the hexapod's body before its tripod touches down, and what becomes of it."""
    case = tripod()
    figure, axes = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
    n = case.system.tangent_size
    errors = draw_image(axes, case, np.eye(n)[[3, 4]], np.eye(n)[[n // 2 + 3, n // 2 + 4]])
    print(f"tripod: error of lin(dx) {errors[0]:.2g}, of one matrix {errors[1]:.2g}")
    axes.set(
        title="hexapod: three feet touch down at once",
        xlabel=r"$\delta\omega_x$ for each rad of tilt [1/s]",
        ylabel=r"$\delta\omega_y$ for each rad of tilt [1/s]",
    )
    axes.legend()
    return figure


# --- covariance through a heel strike ---------------------------------------------------------------------------------
def ellipse(covariance: Array) -> Array:
    """Points (CIRCLE, 2) at one standard deviation."""
    values, vectors = np.linalg.eigh(covariance)
    return circle(CIRCLE) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T


def held(system: cs.ContactSystem, state: cs.State, options: dict[str, Any]) -> Array:
    """Orthonormal velocities (nv - rows, nv) that leave the standing foot where it is."""
    run = cs.simulate(system, state, (0.0, MARGIN), **options)
    closed = run.arcs[0].mode.closed  # type: ignore[attr-defined]
    rows = system.mechanism.terms(0.0, state.q, state.v, closed).rows
    return np.linalg.svd(rows)[2][len(rows) :]


def scatters() -> plt.Figure:
    """The walker's velocities around its first heel strike: simulated, with and without the saltation matrix."""
    from contactsim.io import scene

    built = scene.build(scene.parse('robot = {name = "biped"}'))
    system, options = built.system, built.options
    strike = cs.simulate(system, built.state, (0.0, 1.0), **options).events[0].time
    sides = (("before the heel strike", strike - MARGIN), ("behind it", strike + MARGIN))
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    half, space, x = system.nv, system.space(), system.pack(built.state)
    velocities = held(system, built.state, options)
    free = np.hstack([np.zeros(velocities.shape), velocities])
    starts = np.random.default_rng(SEED).normal(size=(SIMULATED, len(free))) @ free
    for axes, (title, end) in zip(panels, sides, strict=True):
        run = cs.simulate(system, built.state, (0.0, end), **options)
        lin = cs.linearize(run)
        ends = [
            cs.simulate(system, system.state(space.integrate(x, AMPLITUDE * d)), (0.0, end), **options).final_x
            for d in starts
        ]
        cloud = np.array([space.difference(run.final_x, e) for e in ends])[:, [half + 2, half + 3]] / AMPLITUDE
        axes.plot(*cloud.T, "o", color=POINTS, ms=2.5, label="simulated")
        for kind, colour, label in ((True, SMOOTH, "with saltation"), (False, WRONG, "reset alone")):
            *_, (_, _, _, rows) = carried(lin, free, np.empty(0), kind)
            seen = rows[:, [half + 2, half + 3]]
            axes.plot(*(2.0 * ellipse(seen.T @ seen)).T, color=colour, lw=1.8, label=f"{label}, two deviations")
        axes.set(title=title, xlabel=r"$\delta\dot q_3$ [1/s]", ylabel=r"$\delta\dot q_4$ [1/s]")
        axes.legend(fontsize=8)
    return figure


def main() -> None:
    """Draw all pictures."""
    pictures = {
        "bderivative_planar": planar,
        "bderivative_biped": bipeds,
        "bderivative_tripod": tripods,
        "covariance_biped": scatters,
    }
    for name, draw in pictures.items():
        target = HERE / f"{name}.png"
        draw().savefig(target, dpi=110)
        print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
