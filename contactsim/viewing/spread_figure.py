"""The figure of a landing: the ball before it and what becomes of it, each order of touch-downs in its colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.spread import Spread
from ..common.arrays import Array
from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PIECES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
INK = "#1d2939"


def plot_landing(spread: Spread) -> Figure:
    """Draw the ball of a `landing` before the event and behind it.

    At the left tilts and height before, at the right rates and speed behind; dark triangles are the creases, between
    the orders of touch-downs that the legend names.

    Raises:
        InputError: matplotlib is not installed, or the spread is none of a landing.
    """
    if not spread.orders or spread.faces is None:
        raise InputError("this spread tells no orders of touch-downs apart; give that of analysis.landing.landing")
    try:
        import matplotlib.pyplot as plt
        from matplotlib.patches import Patch
    except ImportError:
        raise InputError("figures need matplotlib; install it with: pip install 'contactsim[plot]'") from None
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
    handles.append(Patch(color=INK, label="crease"))
    figure.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize="small")
    return figure


def _ball(spread: Spread) -> Array:
    """The starts as points (m, 3) of a ball of radius one."""
    from ..analysis.spread import ball

    return np.asarray(ball(np.eye(3), spread.offsets.shape[1]))


def _half_edge(told: str) -> str:
    """Label of an axis with half the length of its edge: the body reaches 0.1 m along each."""
    word, _, size = told.partition(", 0.1 m = ")
    return f"{word}\n\u00b1 {size}"


def _colour(codes: list[str]) -> str:
    return codes[0] if len(set(codes)) == 1 else INK


def _body(axes: Any, points: Array, faces: Array, colours: list[str], words: tuple[str, ...]) -> None:
    surface = axes.plot_trisurf(*points.T, triangles=faces, shade=False, linewidth=0.0, antialiased=False)
    surface.set_facecolor(colours)
    reach = np.abs(points).max()
    for name, word in zip("xyz", words, strict=True):
        getattr(axes, f"set_{name}lim")(-reach, reach)
        getattr(axes, f"set_{name}label")(word, fontsize="small")
        getattr(axes, f"set_{name}ticks")([])
    axes.set_box_aspect((1.0, 1.0, 1.0))
