"""The Zarr store of a sweep: results written batch by batch, and a status for each run.

One array for each output over the axes of the sweep, `status`, `message` and `seconds` of each run, and the coordinates
of the axes. Only one process writes. A run counts as done by its status, which is written last. Names with a slash,
which Zarr would take for folders, are escaped as in JSON pointers (~1 for /, ~0 for ~); the attribute `name` has the
original.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..common.arrays import Array
from ..common.files import held, reason
from ..errors import InputError
from .plan import SAMPLE, Plan
from .work import FAILED, FINISHED, PENDING, STATUSES, Result

if TYPE_CHECKING:
    import xarray

FORMAT, VERSION = "contactsim-sweep", 1
OWN = ("status", "message", "seconds")
CHUNK = 4096  # runs that share a file of an array, about
DIMENSIONS = "_ARRAY_DIMENSIONS"  # by which xarray knows the axes of an array


def escaped(name: str) -> str:
    """A name without a slash."""
    return name.replace("~", "~0").replace("/", "~1")


class Store:
    """A sweep on its disk, opened or begun.

    Args:
        path: the folder of the store.
        plan: of the sweep.
        known: by what it is known again: {what: hash or text}.

    Raises:
        InputError: there is something else, or the sweep there is another one.
    """

    def __init__(self, path: Path, plan: Plan, known: Mapping[str, str]) -> None:
        import zarr

        self.path, self._plan = path, plan
        if any(path.iterdir()):
            self._root = _opened(path)
            self._demand_same(known)
        else:
            # mode "w" would make the folder anew, and with it lose the lock on it
            self._root = zarr.open_group(path, mode="a", zarr_format=2, use_consolidated=False)
            self._begin(known)
        self._outputs = {str(name): self._root[escaped(name)] for name in self._root.attrs.get("outputs", ())}

    # --- begin and go on --------------------------------------------------------------------------------------

    def _begin(self, known: Mapping[str, str]) -> None:
        for name, values in self._plan.axes.items():
            self._coordinate(name, (name,), values)
        for name, values in self._plan.draws.items():
            self._coordinate(name, (SAMPLE,), values)
        about = {"flag_values": list(range(len(STATUSES))), "flag_meanings": " ".join(STATUSES)}
        # without a fill value, which xarray would read as one that is missing
        self._array("status", "status", (), "i1", None, about)[...] = PENDING
        self._array("message", "status", (), str, None, {})[...] = ""
        self._array("seconds", "status", (), "f8", np.nan, {"units": "s"})
        self._consolidate()
        self._root.attrs.update({"format": FORMAT, "version": VERSION, "seed": self._plan.seed, **known})

    def _demand_same(self, known: Mapping[str, str]) -> None:
        """Raise InputError where the store is of another sweep."""
        attributes, remedy = dict(self._root.attrs), f"give another out, or remove {self.path}"
        if attributes.get("format") != FORMAT:
            raise InputError(f"{self.path} is no sweep, or one that was not begun; {remedy}")
        for what, value in known.items():
            if attributes.get(what) != value:
                raise InputError(f"{self.path} holds a sweep of another {what}; {remedy}")
        axes = {name: values for name, values in {**self._plan.axes, **self._plan.draws}.items()}
        stored = {str(a.attrs["name"]): a[:] for _, a in self._root.arrays() if a.attrs.get("role") == "coordinate"}
        if list(stored.keys() ^ axes.keys()) or attributes["seed"] != self._plan.seed:
            what = (
                "another seed" if attributes["seed"] != self._plan.seed else f"other axes: {', '.join(sorted(stored))}"
            )
            raise InputError(f"{self.path} holds a sweep with {what}; {remedy}")
        for name, values in axes.items():
            if not np.array_equal(np.asarray(stored[name]).astype(values.dtype), values):
                raise InputError(f"{self.path} holds a sweep with other values of '{name}'; {remedy}")

    def _coordinate(self, name: str, dims: Sequence[str], values: Array) -> None:
        kind: Any = str if values.dtype.kind == "U" else values.dtype
        made = self._root.create_array(
            escaped(name), shape=values.shape, chunks=values.shape, dtype=kind, fill_value=None
        )
        made[:] = values.astype(object) if values.dtype.kind == "U" else values
        made.attrs.update({DIMENSIONS: [escaped(dim) for dim in dims], "name": name, "role": "coordinate"})

    def _array(
        self, name: str, role: str, inner: tuple[int, ...], kind: Any, fill: Any, about: Mapping[str, Any]
    ) -> Any:
        """A new array over the axes of the sweep and the `inner` ones of its numbers."""
        shape, own = self._plan.shape, escaped(name)
        made = self._root.create_array(
            own, shape=shape + inner, chunks=_chunks(shape) + inner, dtype=kind, fill_value=fill, overwrite=True
        )
        dims = [*map(escaped, self._plan.axes), *(f"{own}_{k}" for k in range(len(inner)))]
        made.attrs.update({DIMENSIONS: dims, "name": name, "role": role, **about})
        return made

    def _consolidate(self) -> None:
        import zarr

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(self._root.store, zarr_format=2)

    # --- what is there, and what comes ------------------------------------------------------------------------

    def pending(self) -> Array:
        """Numbers of the runs that are still to be made."""
        return np.flatnonzero(self._root["status"][...].ravel() == PENDING)

    def counts(self) -> dict[str, int]:
        """{status: number of runs}."""
        found = np.bincount(self._root["status"][...].ravel(), minlength=len(STATUSES))
        return dict(zip(STATUSES, found.tolist(), strict=True))

    def failures(self) -> dict[str, list[int]]:
        """{message: numbers of the runs that failed with it, or were lost}."""
        status, found = self._root["status"][...].ravel(), {}  # type: Array, dict[str, list[int]]
        messages = self._root["message"][...].ravel()
        for number in np.flatnonzero(status >= FAILED).tolist():
            found.setdefault(str(messages[number]), []).append(number)
        return found

    def write(self, results: Sequence[Result]) -> None:
        """Keep runs that have ended; their status comes last."""
        if not results:
            return
        kept = [self._fitting(result) for result in results]
        for name, array in self._outputs.items():
            rows = [(result.number, result.outputs[name]) for result in kept if name in result.outputs]
            if rows:
                self._put(array, [k for k, _ in rows], np.array([value for _, value in rows]))
        numbers = [result.number for result in kept]
        if told := [(result.number, result.message) for result in kept if result.message]:
            self._put(self._root["message"], [k for k, _ in told], np.array([text for _, text in told], dtype=object))
        self._put(self._root["seconds"], numbers, np.array([result.seconds for result in kept]))
        self._put(self._root["status"], numbers, np.array([result.status for result in kept], dtype="i1"))

    def _fitting(self, result: Result) -> Result:
        """The result, failed where its outputs have other names or shapes than those of the others."""
        if result.status not in (FINISHED, FINISHED + 1):
            return result
        if not self._outputs:
            for name in result.outputs:
                if name in OWN or name in self._plan.axes or name in self._plan.draws:
                    return Result(result.number, FAILED, f"the output '{name}' is called like an axis; rename it")
            for name, value in result.outputs.items():
                self._outputs[name] = self._array(name, "output", value.shape, "f8", np.nan, {})
            self._root.attrs["outputs"] = list(self._outputs)  # all of them are there
            self._consolidate()
        inner = len(self._plan.shape)
        for name, array in self._outputs.items():
            found = result.outputs.get(name)
            if found is None or found.shape != array.shape[inner:] or len(result.outputs) != len(self._outputs):
                said = f"the outputs are {_shapes(result.outputs)}; those of other runs differ in '{name}'"
                return Result(result.number, FAILED, said, {}, result.seconds)
        return result

    def _put(self, array: Any, numbers: Sequence[int], values: Array) -> None:
        """Write values (n, ...) of runs by their numbers."""
        places = np.unravel_index(np.asarray(numbers), self._plan.shape)
        inner = values.shape[1:]
        index = tuple(place.reshape(-1, *(1,) * len(inner)) for place in places)
        index += tuple(
            np.arange(n).reshape(1, *(-1 if k == m else 1 for m in range(len(inner)))) for k, n in enumerate(inner)
        )
        array.vindex[index] = values

    def dataset(self) -> xarray.Dataset:
        """All of it, read when it is asked for."""
        return read(self.path)


def read(path: Path) -> xarray.Dataset:
    """The Dataset of a sweep, with the coordinates of its axes and draws."""
    import xarray

    data = xarray.open_zarr(path, consolidated=True)
    coordinates = [name for name in data.variables if data[name].attrs.get("role") == "coordinate"]
    return data.set_coords(coordinates)


@contextmanager
def opened(path: Path, plan: Plan, known: Mapping[str, str]) -> Iterator[Store]:
    """The store for this process alone.

    Raises:
        InputError: another process writes to it, or it holds another sweep.
    """
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise InputError("sweeps are kept by zarr; install it with: pip install 'contactsim[cluster]'") from None
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write the sweep to {path} ({reason(error)}); give a folder such as sweep.zarr"
        ) from error
    with held(path):
        yield Store(path, plan, known)


def _opened(path: Path) -> Any:
    import zarr

    try:
        return zarr.open_group(path, mode="r+", zarr_format=2, use_consolidated=False)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} holds something that is no sweep; give another out") from error


def _chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes of chunks: of the last axes whole, until a chunk has about CHUNK runs."""
    sizes, room = [], CHUNK
    for count in reversed(shape):
        sizes.append(max(min(count, room), 1))
        room //= max(count, 1)
    return tuple(reversed(sizes))


def _shapes(outputs: Mapping[str, Array]) -> str:
    return ", ".join(f"{name} {value.shape}" for name, value in outputs.items()) or "none"
