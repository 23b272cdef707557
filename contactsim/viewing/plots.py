"""Figures of a run, of its linearization and of its landing, by matplotlib, which is loaded for the first of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.spread import Spread, ball
from ..common.arrays import Array
from ..common.lazy import dataclass
from ..contact.modes import Mode
from ..contact_dynamics import is_contact_system
from ..derivatives.variational import ArcVariation
from ..errors import InputError, NonDifferentiableError
from .curves import PALETTE, Curves, curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..derivatives.run_derivative import RunDerivative
    from ..hybrid.trajectory import Arc, Trajectory

MODE_COLOURS = {"open": "#e4e7ec", "stick": "#12b76a", "slip": "#f79009", "closed": "#12b76a"}
PIECES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")  # of a derivative, in their order
CREASE = "#1d2939"  # between them
INK, SOFT, BLUE, RED, VIOLET = "#344054", "#98a2b3", "#3b6fe0", "#e5484d", "#7a3ff2"
OVER = ("open", "stick", "slip")  # bars of later ones lie above those of the others
EDGE = 0.8  # points: how wide the shortest bar is drawn, at least
SAMPLES = 600  # of a curve over the whole run, about
STEPS = 80  # of the norm of D x(t) / D x(0) over the whole run, about
WIDTH, LINE, ROW = 8.0, 1.7, 0.26  # inches: a figure, a panel of curves, a row of modes
STEADY = 0.01  # share of an energy below which its change is not made to fill the panel
MOST_ROWS = 24  # charts that have a row of their own
MOST_LINES = 200  # events that are marked by a line in every panel


def plot_trajectory(trajectory: Trajectory, kinds: str | Sequence[str] | None = None) -> Figure:
    """Draw a run over time, one panel for each kind of curve, with its events as vertical lines.

    Kinds: "modes", the gait diagram of contacts with their impacts (or the charts of a model); "gaps" [m]; "forces",
    sizes [N]; "slip", speeds of contacts that slip [m/s]; "impulses", sizes [N s]; "energy" [J]; "states", of a system
    without contacts, a panel for each unit. A contact has one colour in all of them.

    Args:
        trajectory: the run.
        kinds: which panels, in this order; None: all there are.

    Raises:
        InputError: matplotlib is not installed, or the run has no such panel.
    """
    plt = _pyplot()
    panels = {name: panel for name, panel in PANELS.items() if panel.there(trajectory)}
    chosen = list(panels) if kinds is None else [kinds] if isinstance(kinds, str) else list(kinds)
    for kind in chosen:
        if kind not in panels:
            raise InputError(f"this run has no panel '{kind}' to plot; choose of {', '.join(panels)}")
    drawn = [draw for kind in chosen for draw in panels[kind].draws(trajectory)]
    heights = [panels[kind].height(trajectory) for kind in chosen for _ in panels[kind].draws(trajectory)]
    figure, rows = plt.subplots(
        len(drawn),
        1,
        figsize=(WIDTH, sum(heights) + 0.6),
        sharex=True,
        squeeze=False,
        layout="constrained",
        gridspec_kw={"height_ratios": heights},
    )
    for axes, draw in zip(rows[:, 0], drawn, strict=True):
        draw(axes, trajectory)
        _finish(axes, trajectory)
    rows[-1, 0].set_xlabel("time [s]")
    rows[-1, 0].set_xlim(trajectory.arcs[0].t0, trajectory.arcs[-1].t1)
    return figure


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise InputError("figures need matplotlib; install it with: pip install 'contactsim[plot]'") from None
    return plt


def _finish(axes: Axes, trajectory: Trajectory) -> None:
    """Events as thin lines behind the curves, and a plain frame."""
    if len(trajectory.events) <= MOST_LINES:
        for event in trajectory.events:
            axes.axvline(event.time, color=SOFT, lw=0.5, alpha=0.5, zorder=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


# --- panels -----------------------------------------------------------------------------------------------------


Draw = Callable[["Axes", "Trajectory"], None]


def _one(draw: Draw) -> Callable[[Trajectory], list[Draw]]:
    return lambda trajectory: [draw]


@dataclass(frozen=True)
class Panel:
    """One kind of curve: whether a run has it, how it is drawn, in one panel or several, and how high one is [in]."""

    there: Callable[[Trajectory], bool]
    draws: Callable[[Trajectory], list[Draw]]
    height: Callable[[Trajectory], float] = lambda trajectory: LINE


OPEN = "open"  # the mode of a contact that is not told of


def _has_contacts(trajectory: Trajectory) -> bool:
    system = trajectory.system
    return is_contact_system(system) and bool(system.mechanism.names)


def _names(trajectory: Trajectory) -> tuple[str, ...]:
    """The contacts, of those that pass the ones that close in the run."""
    mechanism = trajectory.system.mechanism  # type: ignore[attr-defined]
    closed = {i for arc in trajectory.arcs for i in arc.mode.closed if i in mechanism.passing}  # type: ignore[attr-defined]
    return tuple(name for i, name in enumerate(mechanism.names) if i not in mechanism.passing or i in closed)


def _charts(trajectory: Trajectory) -> list[str]:
    return list(dict.fromkeys(str(arc.mode) for arc in trajectory.arcs))


def _draw_modes(axes: Axes, trajectory: Trajectory) -> None:
    """The gait diagram: a bar for each contact, coloured by its mode; for a model a row for each chart."""
    (_draw_gait if _has_contacts(trajectory) else _draw_charts)(axes, trajectory)


def _draw_gait(axes: Axes, trajectory: Trajectory) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    names = _names(trajectory)
    words = [{n: m.value for n, m in arc.system.named_modes(arc.mode).items()} for arc in trajectory.arcs]  # type: ignore[attr-defined]
    for row, name in enumerate(names):
        told = [(known.get(name, OPEN), arc) for known, arc in zip(words, trajectory.arcs, strict=True)]
        for word, arcs in groupby(told, key=itemgetter(0)):
            held = [arc for _, arc in arcs]
            _bar(
                axes,
                row,
                held[0].t0,
                held[-1].t1,
                MODE_COLOURS.get(word, BLUE),
                OVER.index(word) if word in OVER else 0,
            )
    _draw_impacts(axes, trajectory, names)
    _rows(axes, names)
    for label, colour in zip(axes.get_yticklabels(), _colours(trajectory).values(), strict=True):
        label.set_color(colour)
    seen = {word for row in words for word in row.values()}
    handles: list[Any] = [Patch(color=colour, label=word) for word, colour in MODE_COLOURS.items() if word in seen]
    if _impulses(trajectory):
        handles.append(Line2D([], [], marker="v", ms=4.0, mew=0, ls="", color=VIOLET, label="impact"))
    axes.legend(handles=handles, ncol=max(len(handles), 1), loc="lower right", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _bar(axes: Axes, row: int, start: float, end: float, colour: str, over: int = 0) -> None:
    """A bar with an edge of its own colour, so that the shortest is seen; those of rare modes lie above the others."""
    axes.broken_barh([(start, end - start)], (row - 0.38, 0.76), color=colour, lw=EDGE * bool(over), zorder=1.0 + over)


def _draw_impacts(axes: Axes, trajectory: Trajectory, names: Sequence[str]) -> None:
    """A mark above the bar of a contact for each of its impacts, also where it is open before and after it."""
    for name, hits in _impulses(trajectory).items():
        if name in names:
            times = [time for time, _ in hits]
            axes.plot(times, [names.index(name) - 0.42] * len(times), "v", ms=3.0, color=VIOLET, mew=0, zorder=6.0)


def _colours(trajectory: Trajectory) -> dict[str, str]:
    """{contact: colour}, the same in every panel and every page."""
    names = _names(trajectory)
    return {name: PALETTE[k % len(PALETTE)] for k, name in enumerate(names)}


def _draw_charts(axes: Axes, trajectory: Trajectory) -> None:
    charts = _charts(trajectory)
    many = len(charts) > MOST_ROWS
    for arc in trajectory.arcs:
        _bar(axes, charts.index(str(arc.mode)), arc.t0, arc.t1, BLUE)
    _rows(axes, [] if many else charts)
    if many:
        axes.set(ylim=(len(charts) - 0.4, -0.6), ylabel="number of the chart")


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _mode_height(trajectory: Trajectory) -> float:
    rows = len(_names(trajectory)) if _has_contacts(trajectory) else min(len(_charts(trajectory)), MOST_ROWS)
    return max(rows, 2) * ROW + 0.35


def _along(trajectory: Trajectory, value: Callable[[Arc, float], Array]) -> tuple[Array, Array]:
    """Times (n,) and values (n, k) along all arcs, with a gap of NaN between them."""
    total = trajectory.arcs[-1].t1 - trajectory.arcs[0].t0
    times: list[float] = []
    rows: list[Array] = []
    for arc in trajectory.arcs:
        if arc.t1 <= arc.t0:
            continue
        for t in np.linspace(arc.t0, arc.t1, max(5, round(SAMPLES * (arc.t1 - arc.t0) / total))).tolist():
            times.append(t)
            rows.append(np.atleast_1d(value(arc, t)))
        times.append(arc.t1)
        rows.append(np.full(len(rows[-1]), np.nan))
    width = max(len(row) for row in rows)
    return np.array(times), np.array([np.pad(row, (0, width - len(row)), constant_values=np.nan) for row in rows])


def _curves(axes: Axes, times: Array, values: Array, names: Sequence[str], label: str) -> None:
    """Lines in the colours of their places; those that lie on one another show through, each dashed in its own turn."""
    for k, (name, column) in enumerate(zip(names, values.T, strict=False)):
        dashes = (5.0 * k, (12.0, 4.0 * (k % 3))) if len(names) > 1 and k % 3 else "solid"
        axes.plot(times, column, lw=1.1, ls=dashes, label=name, color=PALETTE[k % len(PALETTE)])
    axes.set_ylabel(label)
    if 1 < len(names) <= MOST_ROWS:
        _legend(axes, len(names))


def _legend(axes: Axes, count: int) -> None:
    """Names beside a panel."""
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.05), "borderaxespad": 0.2}
    axes.legend(fontsize="x-small", ncol=1 + count // 9, frameon=False, handlelength=2.4, **beside)


def _draw_gaps(axes: Axes, trajectory: Trajectory) -> None:
    def gaps(arc: Arc, t: float) -> Array:
        system: Any = arc.system
        found = dict(zip(system.mechanism.all_names, system.mechanism.gaps(t, system.q(arc(t))), strict=False))
        return np.array([found[name] for name in names])

    names = _names(trajectory)
    _curves(axes, *_along(trajectory, gaps), names, "gap [m]")


def _draw_forces(axes: Axes, trajectory: Trajectory) -> None:
    def sizes(arc: Arc, t: float) -> Array:
        found = arc.system.forces(t, arc(t), arc.mode) or {}
        return np.array([np.linalg.norm(found.get(name, 0.0)) for name in names])

    names = _names(trajectory)
    _curves(axes, *_along(trajectory, sizes), names, "force [N]")


def _impulses(trajectory: Trajectory) -> dict[str, list[tuple[float, float]]]:
    """{contact: (time, size of the impulse)}."""
    out: dict[str, list[tuple[float, float]]] = {}
    for event in trajectory.events:
        for name, impulse in event.impulses.items():
            out.setdefault(name, []).append((event.time, float(np.linalg.norm(impulse))))
    return out


def _draw_impulses(axes: Axes, trajectory: Trajectory) -> None:
    found = _impulses(trajectory)
    shades = _colours(trajectory) if _has_contacts(trajectory) else {}
    for name, hits in found.items():
        times, sizes = np.array(hits).T
        axes.vlines(times, 0.0, sizes, color=shades.get(name, INK), lw=1.0)
        axes.plot(times, sizes, "o", ms=3, color=shades.get(name, INK), label=name)
    axes.set_ylabel("impulse [N s]")
    axes.set_ylim(bottom=0.0)
    if len(found) <= MOST_ROWS:
        _legend(axes, len(found))


def _has_energy(trajectory: Trajectory) -> bool:
    first = trajectory.arcs[0]
    return first.system.energy(first(first.t0), first.mode) is not None


def _draw_energy(axes: Axes, trajectory: Trajectory) -> None:
    times, values = _along(trajectory, lambda arc, t: np.array([arc.system.energy(arc(t), arc.mode)], dtype=float))
    axes.plot(times, values[:, 0], color=INK, lw=1.2)
    axes.set_ylabel("energy [J]")
    axes.ticklabel_format(axis="y", useOffset=False)
    low, high = axes.get_ylim()
    least = STEADY * max(abs(low), abs(high))
    if high - low < least:  # what is constant is drawn as constant
        axes.set_ylim((low + high - least) / 2, (low + high + least) / 2)


def _panels_of(trajectory: Trajectory, there: Callable[[Curves], bool]) -> list[Draw]:
    """A panel for each kind of curve of the system that is asked for."""

    def drawing(found: Curves) -> Draw:
        def draw(axes: Axes, trajectory: Trajectory) -> None:
            label = found.kind if found.kind.startswith("states") else f"{found.kind} [{found.unit}]"
            _curves(axes, *_along(trajectory, found.of), found.names, label.replace(", ", " [") + "]" * (", " in label))

        return draw

    return [drawing(found) for found in curves(trajectory.system) if there(found)]


def _states(trajectory: Trajectory) -> list[Draw]:
    """States by their units; those of a system that tells no names, together."""
    return _panels_of(trajectory, lambda found: found.kind.startswith("states")) or [_draw_states]


def _draw_states(axes: Axes, trajectory: Trajectory) -> None:
    times, values = _along(trajectory, lambda arc, t: np.asarray(arc(t), dtype=float))
    _curves(axes, times, values, [f"x{k}" for k in range(values.shape[1])], "state")


def _slips(trajectory: Trajectory) -> list[Draw]:
    return _panels_of(trajectory, lambda found: found.kind == "slip speed")


def _has_slips(trajectory: Trajectory) -> bool:
    """True where a contact slips at any time."""
    if not _has_contacts(trajectory):
        return False
    return any(state.mode is Mode.SLIP for arc in trajectory.arcs for state in arc.mode.contacts)  # type: ignore[attr-defined]


PANELS = {
    "modes": Panel(lambda trajectory: True, _one(_draw_modes), _mode_height),
    "gaps": Panel(_has_contacts, _one(_draw_gaps)),
    "forces": Panel(_has_contacts, _one(_draw_forces)),
    "slip": Panel(_has_slips, _slips),
    "impulses": Panel(lambda trajectory: bool(_impulses(trajectory)), _one(_draw_impulses)),
    "states": Panel(lambda trajectory: not _has_contacts(trajectory), _states),
    "energy": Panel(_has_energy, _one(_draw_energy)),
}


# --- linearizations ---------------------------------------------------------------------------------------------


def plot_linearization(lin: RunDerivative) -> Figure:
    """Draw the derivative of a run: its growth along the run, what events do to it, and where its eigenvalues lie.

    Above, the norm of D x(t) / D x(t0) (2-norm, in tangent coordinates); behind an event that has several linear
    pieces it is begun anew. Below, the norm of each saltation matrix. At the right the eigenvalues of the last of the
    matrices above in the complex plane: the multipliers, where the run is a period.

    Raises:
        InputError: matplotlib is not installed.
    """
    plt = _pyplot()
    figure, axes = plt.subplot_mosaic(
        [["growth", "eigenvalues"], ["events", "eigenvalues"]],
        figsize=(1.35 * WIDTH, 4.4),
        width_ratios=(1.7, 1.0),
        layout="constrained",
    )
    stretches, matrix = _growth(lin)
    for times, norms in stretches:
        axes["growth"].plot(times, norms, color=BLUE, lw=1.2)
    axes["growth"].set(yscale="log", ylabel=r"$\|D x(t) / D x(t_0)\|$", xlim=(lin.t0, lin.t1))
    _draw_saltations(axes["events"], lin)
    _draw_eigenvalues(axes["eigenvalues"], matrix)
    for name in ("growth", "events"):
        _finish(axes[name], lin.trajectory)
    return figure


def _growth(lin: RunDerivative) -> tuple[list[tuple[Array, Array]], Array]:
    """Times and norms of the derivative, in stretches that have one, and the last matrix."""
    step = (lin.t1 - lin.t0) / STEPS
    found: list[tuple[list[float], list[float]]] = [([], [])]
    matrix: Array | None = None
    for t, new in _matrices(lin, step):
        if new is None:
            found.append(([], []))
            matrix = None
            continue
        matrix = new if matrix is None else new @ matrix
        found[-1][0].append(t)
        found[-1][1].append(float(np.linalg.norm(matrix, 2)))
    last = np.eye(lin.dim) if matrix is None else matrix
    return [(np.array(times), np.array(norms)) for times, norms in found if times], last


def _matrices(lin: RunDerivative, step: float) -> Iterator[tuple[float, Array | None]]:
    """(time, matrix of the way there from the time before); None for an event that has several."""
    for stretch in lin.stretches():
        piece = stretch.piece
        if isinstance(piece, ArcVariation):
            yield stretch.t0, np.eye(piece.dim)
            count = max(1, int(np.ceil((stretch.t1 - stretch.t0) / step)))
            grid = np.linspace(stretch.t0, stretch.t1, count + 1).tolist()
            for start, end in pairwise(grid):
                yield end, piece.propagate(start, end, np.eye(piece.dim))
            continue
        try:
            yield piece.time, piece.saltation
        except NonDifferentiableError:
            yield piece.time, None


def _draw_saltations(axes: Axes, lin: RunDerivative) -> None:
    points: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for event in dict.fromkeys(lin.events):
        try:
            matrices = list(event.pieces().values())
        except NonDifferentiableError:
            continue
        points[event.differentiable] += [(event.time, float(np.linalg.norm(matrix, 2))) for matrix in matrices]
    for one, colour, label in ((True, BLUE, "one matrix"), (False, RED, "linear pieces")):
        if points[one]:
            times, norms = np.array(points[one]).T
            axes.vlines(times, 1.0, norms, color=colour, lw=0.8)
            axes.plot(times, norms, "o", ms=3.5, color=colour, label=label)
    axes.set(yscale="log", ylabel=r"$\|\Xi\|$ at events", xlabel="time [s]", xlim=(lin.t0, lin.t1))
    if points[False]:
        axes.legend(frameon=False, fontsize="small")


def _draw_eigenvalues(axes: Axes, matrix: Array) -> None:
    angles = np.linspace(0.0, 2.0 * np.pi, 361)
    axes.plot(np.cos(angles), np.sin(angles), color=SOFT, lw=1.0)
    if matrix.shape[0] == matrix.shape[1]:
        values = np.linalg.eigvals(matrix)
        axes.plot(values.real, values.imag, "o", ms=4, color=VIOLET, alpha=0.8)
        largest = float(np.abs(values).max(initial=0.0))
        axes.set_title(f"eigenvalues, largest {largest:.4g}", fontsize="medium")
        if largest > 10.0:
            axes.set_xscale("symlog", linthresh=1.0)
            axes.set_yscale("symlog", linthresh=1.0)
        else:
            axes.set_aspect("equal")
    axes.set(xlabel="real", ylabel="imaginary")


# --- landings ---------------------------------------------------------------------------------------------------


def plot_landing(spread: Spread) -> Figure:
    """Draw the ball of a `landing` before the event and behind it.

    At the left tilts and height before, at the right rates and speed behind; dark triangles are the creases, between
    the orders of touch-downs that the legend names.

    Raises:
        InputError: matplotlib is not installed, or the spread is none of a landing.
    """
    if not spread.orders or spread.faces is None:
        raise InputError("this spread tells no orders of touch-downs apart; give that of analysis.landing.landing")
    plt = _pyplot()
    from matplotlib.patches import Patch

    names = sorted(set(spread.orders), key=str)
    shade = {order: PIECES[k % len(PIECES)] for k, order in enumerate(names)}
    colours = [_colour([shade[spread.orders[k]] for k in face]) for face in spread.faces]
    figure = plt.figure(figsize=(8.6, 5.0))
    figure.subplots_adjust(left=0.0, right=0.94, bottom=0.24, top=0.94, wspace=0.08)
    behind = spread.offsets[-1]
    left = figure.add_subplot(1, 2, 1, projection="3d")
    _body(left, _ball(spread), spread.faces, colours, ("roll", "pitch", "height"))
    left.set_title("before", fontsize="medium")
    right = figure.add_subplot(1, 2, 2, projection="3d")
    _body(right, behind, spread.faces, colours, tuple(map(_half_edge, spread.axes)))
    right.set_title("behind", fontsize="medium")
    handles = [Patch(color=shade[order], label=", ".join(map(str, order))) for order in names]
    handles.append(Patch(color=CREASE, label="crease"))
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize="small")
    return figure


def _ball(spread: Spread) -> Array:
    """The starts as points (m, 3) of a ball of radius one."""
    return np.asarray(ball(np.eye(3), spread.offsets.shape[1]))


def _half_edge(told: str) -> str:
    """Label of an axis with half the length of its edge: the body reaches 0.1 m along each."""
    word, _, size = told.partition(", 0.1 m = ")
    return f"{word}\n\u00b1 {size}"


def _colour(codes: list[str]) -> str:
    return codes[0] if len(set(codes)) == 1 else CREASE


def _body(axes: Any, points: Array, faces: Array, colours: list[str], words: tuple[str, ...]) -> None:
    surface = axes.plot_trisurf(*points.T, triangles=faces, shade=False, linewidth=0.0, antialiased=False)
    surface.set_facecolor(colours)
    reach = np.abs(points).max()
    for name, word in zip("xyz", words, strict=True):
        getattr(axes, f"set_{name}lim")(-reach, reach)
        getattr(axes, f"set_{name}label")(word, fontsize="small")
        getattr(axes, f"set_{name}ticks")([])
    axes.set_box_aspect((1.0, 1.0, 1.0))
