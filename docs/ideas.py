"""Draws the pictures of the pages on ideas and tolerances, from runs: `python docs/ideas.py`, a few seconds.

It needs matplotlib (pip install -e ".[plot]").
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import contactsim as cs
from contactsim.io import scene

HERE = Path(__file__).parent
Array = np.ndarray
BLUE, RED, INK, GREY = "#1f4e79", "#c8553d", "#2a2a2a", "#9aa5b1"
COLOURS = {cs.Mode.OPEN: GREY, cs.Mode.SLIP: RED, cs.Mode.STICK: BLUE}
LARGER = 4.0  # discs in the left panel against those on the right
WEIGHT = 9.81  # m/s^2, and newton of a mass of 1 kg


def particle(restitution: float, friction: float) -> cs.ContactSystem:
    """A mass of 1 kg in the plane (x, z) above level ground."""
    ground = cs.Gap(
        gap=lambda t, q: q[1],
        normal=lambda t, q: np.array([0.0, 1.0]),
        tangent=lambda t, q: np.array([[1.0, 0.0]]),
        friction=friction,
        restitution=restitution,
        name="particle",
    )
    mass, force = np.eye(2), np.array([0.0, -WEIGHT])
    return cs.ContactSystem(cs.Mechanism(2, lambda q: mass, lambda t, q, v: force, [ground]))


# --- modes, events, and bounces that accumulate -----------------------------------------------------------------------
def contact() -> plt.Figure:
    """A thrown particle: its height and speed with the modes of its contact, and the durations of its hops."""
    restitution, height, end = 0.6, 0.4, 2.0
    traj = cs.simulate(particle(restitution, 0.3), cs.State([0.0, height], [4.5, 0.0]), (0.0, end))
    figure, (path, speed, hops) = plt.subplots(1, 3, figsize=(12.5, 3.6), layout="constrained")
    seen = set()
    for arc in traj.arcs:
        times = np.linspace(arc.t0, arc.t1, 40)
        states = np.array([arc(t) for t in times])
        mode = traj.mode_at(0.5 * (arc.t0 + arc.t1))["particle"] if arc.t1 > arc.t0 else cs.Mode.OPEN
        label = "" if mode in seen else mode.name.lower()
        seen.add(mode)
        path.plot(times, states[:, 1], color=COLOURS[mode], lw=2, label=label)
        speed.plot(times, states[:, 2], color=COLOURS[mode], lw=2, label=label)
    path.set(xlabel="time [s]", ylabel="height [m]", title="modes")
    speed.set(xlabel="time [s]", ylabel="speed along the ground [m/s]", title="impulses and slip")
    path.legend(frameon=False)
    times = np.array([event.time for event in traj.events if event.impulses])
    durations = np.diff(times)
    durations = durations[durations > 0.0]
    first = 2.0 * restitution * np.sqrt(2.0 * height / WEIGHT)
    number = np.arange(len(durations))
    hops.semilogy(number, first * restitution**number, color=BLUE, lw=1.2, label="$e^k$")
    hops.semilogy(number, durations, "o", ms=4, color=RED, label="hops of the run")
    hops.set(xlabel="hop", ylabel="duration [s]", title="bounces that accumulate")
    hops.legend(frameon=False)
    rest = np.sqrt(2.0 * height / WEIGHT) * (1.0 + restitution) / (1.0 - restitution)
    found = next(event.time for event in traj.events if event.accumulated)
    print(f"contact: {len(durations)} hops, at rest at {found:.12f} s, closed form {rest:.12f} s")
    return figure


# --- the saltation matrix ---------------------------------------------------------------------------------------------
def saltation() -> plt.Figure:
    """A disc of states (height, speed) of a ball before its impact, and what becomes of it."""
    system, restitution = particle(0.6, 0.0), 0.6
    start, end, size = np.array([0.3, -1.0]), 0.3, 0.01

    def run(z: float, speed: float) -> cs.Trajectory:
        return cs.simulate(system, cs.State([0.0, z], [0.0, speed]), (0.0, end))

    traj = run(*start)
    lin = cs.linearize(traj)
    rows = np.ix_([1, 3], [1, 3])
    event, after = lin.events[0], lin.matrix(lin.events[0].time, end)[rows]
    before = lin.matrix(0.0, np.nextafter(event.time, 0.0))[rows]
    angles = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = size * np.array([np.cos(angles), np.sin(angles)])
    dots = size * np.array([np.cos(angles[::10]), np.sin(angles[::10])])
    final = traj.final_x[[1, 3]]
    simulated = np.array([run(*(start + d)).final_x[[1, 3]] for d in dots.T]).T
    reset = np.diag([1.0, -restitution])
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.0), layout="constrained")
    states = np.array([traj.arcs[0](t) for t in np.linspace(0.0, event.time, 40)])
    left.plot(states[:, 1], states[:, 3], color=GREY)
    states = np.array([traj.arcs[1](t) for t in np.linspace(event.time, end, 40)])
    left.plot(states[:, 1], states[:, 3], color=GREY)
    left.axvline(0.0, color=INK, lw=0.8)
    left.fill(*(start[:, None] + LARGER * circle), color=BLUE, alpha=0.3)
    for axes, scale in ((left, LARGER), (right, 1.0)):
        image, reset_alone = lin.matrix()[rows] @ circle, after @ reset @ before @ circle
        axes.plot(*(final[:, None] + scale * image), color=BLUE, lw=1.8, label="with $\\Xi$")
        axes.plot(*(final[:, None] + scale * reset_alone), "--", color=RED, label="with $D_xR$ alone")
        axes.set(xlabel="height [m]", ylabel="speed [m/s]")
    right.plot(*simulated, "o", ms=4, color=INK, label="simulated")
    right.legend(frameon=False, fontsize=8)
    right.locator_params(nbins=5)
    left.set(title=f"a disc of starts falls onto the ground (drawn x{LARGER:g})")
    right.set(title="where it is after the impact")
    wrong = np.abs(final[:, None] + lin.matrix()[rows] @ dots - simulated).max() / size
    print(f"saltation: the ellipse misses the simulated states by {wrong:.1%} of the disc's radius")
    return figure


# --- sliding ----------------------------------------------------------------------------------------------------------
class Half(cs.Flow):
    """A mass on a spring and a belt of speed 1, on one side of the belt's speed: friction pulls towards it."""

    guard_names = ("belt",)

    def __init__(self, side: int, friction: float) -> None:
        self._side, self._friction = side, friction

    def field(self, t: float, x: Array) -> Array:
        """x' = v, v' = -x - side mu."""
        return np.array([x[1], -x[0] - self._side * self._friction])

    def guards(self, t: float, x: Array) -> Array:
        """Speed relative to the belt, positive on this side."""
        return np.array([self._side * (x[1] - 1.0)])


class Belt(cs.HybridSystem):
    """Dry friction on a belt: two modes, faster (1) and slower (-1) than it."""

    def __init__(self, friction: float = 0.8) -> None:
        self._friction = friction

    def flow(self, mode: Hashable) -> cs.Flow:
        """The field of one side."""
        return Half(mode, self._friction)  # type: ignore[arg-type]

    def transition(self, t: float, x: Array, mode: Hashable, fired: frozenset[Hashable]) -> cs.Transition:
        """To the other side; the state does not jump."""
        return cs.Transition(x, -mode, {"side": (mode, -mode)})  # type: ignore[operator]

    def start(self, t: float, x: Array) -> cs.Transition:
        """The side on which the state lies."""
        return cs.Transition(x, 1 if x[1] > 1.0 else -1)


def sliding() -> plt.Figure:
    """Runs of the mass on the belt: they meet its speed, slide along it, and leave it."""
    figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    axes.axhline(1.0, color=GREY, lw=1)
    for start in ((-1.6, 0.2), (-1.2, 2.0), (-0.4, 2.2), (-1.8, 1.4), (0.3, -0.6)):
        traj = cs.simulate(cs.Filippov(Belt()), np.array(start), (0.0, 7.0))
        for arc in traj.arcs:
            states = np.array([arc(t) for t in np.linspace(arc.t0, arc.t1, 80)])
            slides = "sliding" in str(arc.mode)
            axes.plot(*states.T, color=RED if slides else BLUE, lw=2.4 if slides else 1.2)
        axes.plot(*start, "o", color=INK, ms=4)
    axes.set(xlabel="$x$", ylabel="$\\dot x$", title="a mass on a spring and a running belt")
    return figure


# --- tolerances -------------------------------------------------------------------------------------------------------
def errors(rtols: Sequence[float]) -> Array:
    """Errors (N, 2) of the biped's state and of its derivative after 2 s and three steps, against the smallest rtol."""
    walk = scene.build(scene.parse('robot = {name = "biped"}'))
    states, matrices = [], []
    for rtol in rtols:
        tolerances = cs.Tolerances(rtol=rtol, atol=1e-2 * rtol)
        traj = cs.simulate(walk.system, walk.state, (0.0, 2.0), tolerances=tolerances)
        states.append(traj.final_x)
        matrices.append(cs.linearize(traj, tolerances=tolerances).matrix())
    size = np.abs(matrices[-1]).max()
    return np.array(
        [
            [np.abs(x - states[-1]).max(), np.abs(m - matrices[-1]).max() / size]
            for x, m in zip(states, matrices, strict=True)
        ]
    )


def tolerances() -> plt.Figure:
    """Errors of a run through impacts over what was asked of a step."""
    rtols = 10.0 ** -np.arange(4.0, 12.5)
    found = errors(rtols)[:-1]
    figure, axes = plt.subplots(figsize=(6.0, 3.8), layout="constrained")
    axes.loglog(rtols[:-1], found[:, 0], "o-", color=BLUE, label="state after 2 s, m and m/s")
    axes.loglog(rtols[:-1], found[:, 1], "s-", color=RED, label="derivative, relative")
    axes.loglog(rtols[:-1], rtols[:-1], color=GREY, lw=0.8, label="rtol")
    axes.set(xlabel="rtol", ylabel="error", title="the biped walks three steps")
    axes.legend(frameon=False)
    return figure


def main() -> None:
    """Draw all pictures."""
    for draw in (contact, saltation, sliding, tolerances):
        target = HERE / f"ideas_{draw.__name__}.png"
        draw().savefig(target, dpi=110)
        print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
