"""The runs of a sweep: axes of a grid, draws along an axis of samples, and a seed for each run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np

from ..common.arrays import Array
from ..common.lazy import dataclass
from ..errors import InputError

SAMPLE = "sample"  # the axis of draws
SAMPLERS = ("random", "sobol", "latin")


@dataclass(frozen=True)
class Plan:
    """The runs of a sweep, numbered in the order of their axes, the last one fastest.

    Attributes:
        axes: {name: values} of the grid; with draws the last is SAMPLE with their numbers.
        draws: {name: values (samples,)} along SAMPLE.
        seed: of all random numbers; a run's own are numpy's SeedSequence(seed, spawn_key=(number,)).
    """

    axes: Mapping[str, Array]
    draws: Mapping[str, Array]
    seed: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of values of the axes."""
        return tuple(len(values) for values in self.axes.values())

    @property
    def size(self) -> int:
        """Number of runs."""
        return prod(self.shape)

    @property
    def sampled(self) -> bool:
        """True where there is an axis of samples."""
        return SAMPLE in self.axes

    def point(self, number: int) -> dict[str, Any]:
        """Values {name: value} of a run by its number."""
        place = dict(zip(self.axes, np.unravel_index(number, self.shape), strict=True))
        found = {name: self.axes[name][k].item() for name, k in place.items() if name != SAMPLE}
        return found | {name: values[place[SAMPLE]].item() for name, values in self.draws.items()}

    def place(self, number: int) -> str:
        """The values of a run by its number, in words; that of its sample where it has one."""
        values = self.point(number)
        if self.sampled:
            values[SAMPLE] = int(np.unravel_index(number, self.shape)[list(self.axes).index(SAMPLE)])
        return ", ".join(f"{name} = {value}" for name, value in values.items())

    def seed_of(self, number: int) -> np.random.SeedSequence:
        """Random numbers of a run by its number, the same in every order and on every machine."""
        return np.random.SeedSequence(self.seed, spawn_key=(number,))


def plan(over: Mapping[str, Any], samples: int | None, sampler: str, seed: int) -> Plan:
    """The plan of what is given: lists of values are axes, distributions (with a method ppf) are drawn from.

    Raises:
        InputError: an axis is empty, holds a value twice or something that is no number and no text, or distributions
            are given without a number of samples.
    """
    if not isinstance(over, Mapping):
        raise InputError(f"over is a {type(over).__name__}; give a table of keys and their values")
    spread = {str(name): given for name, given in over.items() if hasattr(given, "ppf")}
    axes = {str(name): _axis(str(name), given) for name, given in over.items() if not hasattr(given, "ppf")}
    if SAMPLE in axes or SAMPLE in spread:
        raise InputError(f"'{SAMPLE}' is the axis of draws; call the key differently")
    if samples is None:
        if spread:
            raise InputError(f"'{next(iter(spread))}' is a distribution; say by samples how many draws there are")
        if not axes:
            raise InputError("there is nothing to sweep over; give keys with their values, or a number of samples")
        return Plan(axes, {}, seed)
    draws = _draws(spread, samples, sampler, seed)
    return Plan(axes | {SAMPLE: np.arange(samples)}, draws, seed)


def _axis(name: str, given: Any) -> Array:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"the values of '{name}' are {given!r}; give a list of numbers or texts, or a distribution")
    values = np.array(list(given))
    if values.ndim != 1 or not values.size or values.dtype.kind not in "fiubU":
        raise InputError(f"the values of '{name}' are no list of numbers or texts; give one or more of them")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError(f"the values of '{name}' hold NaN or infinity; give finite numbers")
    if len(np.unique(values)) < len(values):
        raise InputError(f"the values of '{name}' hold one of them twice; give each once")
    return values


def _draws(spread: Mapping[str, Any], samples: int, sampler: str, seed: int) -> dict[str, Array]:
    """Values (samples,) of each distribution: independent, a scrambled Sobol sequence, or a Latin hypercube."""
    if not spread:
        return {}
    from scipy.stats import qmc

    count = len(spread)
    if sampler == "sobol":
        rows = qmc.Sobol(count, scramble=True, rng=seed).random_base2(int(np.ceil(np.log2(samples))))[:samples]
    elif sampler == "latin":
        rows = qmc.LatinHypercube(count, rng=seed).random(samples)
    else:
        rows = np.random.default_rng(seed).random((samples, count))
    return {
        name: np.asarray(own.ppf(column), float) for (name, own), column in zip(spread.items(), rows.T, strict=True)
    }
