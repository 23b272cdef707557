"""Words and numbers of a page beside the picture: modes, energy, impulses, saltation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from contactsim.errors import ContactSimError, InputError

from .motion import MODES, SampledPoses
from .protocols import Array, TrajectoryLike


def modes_in_words(names: Sequence[str], motion: SampledPoses) -> list[tuple[float, str]]:
    """(seconds after the start, mode of all contacts from there) wherever it changes: "stick: lf, lr; slip: rm"."""
    keep = np.append(True, (motion.modes[1:] != motion.modes[:-1]).any(axis=1)) if names else np.zeros(0, dtype=bool)
    return [(float(motion.mode_time[k]), _mode(names, motion.modes[k])) for k in np.flatnonzero(keep)]


def _mode(names: Sequence[str], row: np.ndarray) -> str:
    groups = {mode: [name for name, m in zip(names, row, strict=True) if MODES[m] == mode] for mode in MODES}
    if len(groups["OPEN"]) == len(names):
        return "in the air"
    return "; ".join(f"{mode.lower()}: {', '.join(groups[mode])}" for mode in MODES[1:] if groups[mode])


def details(traj: TrajectoryLike, linearization: Any | None) -> dict[int, str]:
    """{id of an event: its impulse, and what it does to variations of the state where a linearization is given}."""
    if linearization is not None and linearization.trajectory is not traj:
        raise InputError("the linearization is that of another run; give linearize(traj) of the one that is shown")
    pieces = {} if linearization is None else {id(e): piece for piece in linearization.all_events for e in piece.events}
    out = {}
    for event in traj.events:
        words = [_impulse(getattr(event, "impulses", {})), _saltation(pieces.get(id(event)))]
        out[id(event)] = " · ".join(word for word in words if word)
    return out


def _impulse(impulses: Mapping[str, Array]) -> str:
    """Size of the sum of the impulses of all contacts; those of other lengths, of joint limits, are not added up."""
    found = [np.atleast_1d(np.asarray(p, dtype=float)) for p in impulses.values()]
    total = [p for p in found if p.shape == found[0].shape] if found else []
    return f"impulse {np.linalg.norm(np.sum(total, axis=0)):.3g} N s" if total else ""


def _saltation(piece: Any | None) -> str:
    if piece is None:
        return ""
    try:
        if not piece.differentiable:
            return f"{len(piece.pieces())} linear pieces"
        return "no saltation" if piece.is_identity else f"‖Ξ‖ = {np.linalg.norm(piece.saltation, 2):.3g}"
    except ContactSimError:
        return "no derivative"
