"""One graph in every kind of session: the answers are compared with those that are expected, as by numpy."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, cast

import numpy as np

from actorsession.config import ConfigProto
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.interop.importer import import_graph_def
from actorsession.ops.graph_keys import GraphKeys
from actorsession.session.async_session import AsyncSession
from actorsession.testing.in_process import InProcessCluster

__all__ = ["WAYS", "assert_same"]

# A run that has no answer by then will have none.
_LIMIT_SECONDS = 60.0


def assert_same(
    fetches: Any,
    expected: Any,
    feeds: Mapping[Any, Any] | None = None,
    *,
    devices: int = 3,
    tolerance: float = 1e-5,
    initialize: Sequence[Any] | None = None,
    ways: Sequence[str] = ("one device", "several devices", "two tasks", "partial run"),
) -> None:
    """Check that a graph gives the same wherever its nodes run, and that this is what is expected.

    The graph runs on one device, on several devices of this process, over two tasks, and as a partial run on
    several devices that gets its feeds one by one. The devices that nodes ask for are left aside: the nodes are
    dealt out in turn, so that most values go from one device to another; what shares state stays together. Each
    way has a copy of the graph and a session of its own. The call blocks, also in a coroutine: it has a loop of its
    own in another thread.

    Args:
        fetches: a tensor, variable or name of one, or a sequence of such.
        expected: the value, or a sequence of as many. That of an array has its element type; other values have that
            of the tensor.
        feeds: values by tensor or name.
        devices: the number of devices among which nodes are dealt out in this process.
        tolerance: how far numbers may be off, as a part of the expected one where that is above 1. Integers, truth
            values and strings must be equal.
        initialize: what runs first in each session, one after the other; the initialisers of all variables in the
            graph's collections if left out.
        ways: names of the ways, among those above; all of them if left out.

    Raises:
        AssertionError: if a value differs; says on which way, where and by how much, and names the node.
        ValueError: for a way or a fetch that does not exist, or another number of expected values.
    """
    if unknown := [way for way in ways if way not in WAYS]:
        raise ValueError(f"the ways are {', '.join(map(repr, WAYS))}, got {unknown[0]!r}")
    single = not isinstance(fetches, (list, tuple))
    listed = [fetches] if single else list(fetches)
    graph = next((x.graph for x in listed if hasattr(x, "graph")), None) or get_default_graph()
    tensors = [_tensor(graph, fetch) for fetch in listed]
    values = [expected] if single else list(expected)
    if len(values) != len(tensors):
        raise ValueError(f"there are {len(tensors)} fetches and {len(values)} expected values")
    answers = [_as_expected(value, tensor) for value, tensor in zip(values, tensors, strict=True)]
    fed = {_tensor(graph, key).name: value for key, value in (feeds or {}).items()}
    first = _initializers(graph) if initialize is None else [graph.as_graph_element(one).name for one in initialize]
    case = _Case(graph, tensors, answers, fed, first, devices, tolerance)
    with ThreadPoolExecutor(1, "assert_same") as pool:
        by_way = {way: pool.submit(asyncio.run, case.differences(way)).result() for way in ways}
    if lines := [line for differences in by_way.values() for line in differences]:
        agreeing = ", ".join(way for way, differences in by_way.items() if not differences) or "no way"
        raise AssertionError("\n  ".join(["values are not the expected ones:", *lines, f"as expected: {agreeing}"]))


class _Case(NamedTuple):
    """A graph, what is asked of it, and what is expected."""

    graph: Graph
    tensors: Sequence[Tensor]
    expected: Sequence[Any]
    fed: Mapping[str, Any]
    first: Sequence[str]
    devices: int
    tolerance: float

    async def differences(self, way: str) -> list[str]:
        """Return what differs from the expected values on a way, one line for each fetch."""
        try:
            values, placed = await WAYS[way](self)
        except Exception as exc:
            exc.add_note(f"while assert_same ran the graph: {way}")
            raise
        rows = zip(self.tensors, values, self.expected, strict=True)
        return [
            f"{way}: {tensor.name!r} {said}\n    its node is {tensor.op.name!r} ({tensor.op.type}), built at "
            f"{tensor.op.source or '?'}, on {placed[tensor.op.name].device}"
            for tensor, value, expected in rows
            if (said := _difference(value, expected, self.tolerance))
        ]

    def copied(self, devices: Sequence[str]) -> Graph:
        """Return a copy of the graph whose nodes are dealt out to devices in turn."""
        whole = self.graph.as_graph_def()
        nodes = [dataclasses.replace(n, device=devices[k % len(devices)]) for k, n in enumerate(whole.nodes)]
        with Graph().as_default() as graph:
            import_graph_def(dataclasses.replace(whole, nodes=tuple(nodes)), name="")
        return graph

    async def run(self, devices: Sequence[str], target: str = "", *, partial: bool = False) -> tuple[Any, Any]:
        """Return the values and the placement of a session whose nodes are on some devices."""
        config = ConfigProto(device_count={} if target else {"CPU": len(devices)})
        async with AsyncSession(target, graph=self.copied(devices), config=config) as session:
            for name in self.first:
                await session.run(name, timeout=_LIMIT_SECONDS)
            names = [tensor.name for tensor in self.tensors]
            async with asyncio.timeout(_LIMIT_SECONDS):
                values = await (self.run_partially(session, names) if partial else session.run(names, dict(self.fed)))
            return values, await session.placement()

    async def run_partially(self, session: AsyncSession, names: Sequence[str]) -> list[Any]:
        """Return the values of a partial run that gets one feed in each call."""
        asked = [name for name in dict.fromkeys(names) if name not in self.fed]
        values = {name: np.asarray(value) for name, value in self.fed.items()}
        if asked:
            handle = await session.partial_run_setup(asked, list(self.fed))
            for name, value in self.fed.items():
                await session.partial_run(handle, [], {name: value})
            values |= zip(asked, await session.partial_run(handle, asked), strict=True)
        return [values[name] for name in names]

    async def run_on_tasks(self) -> tuple[Any, Any]:
        """Return the values and the placement over two tasks, whose servers are in this process."""
        async with InProcessCluster({"worker": 2}) as cluster:
            return await self.run([f"{server.task}/cpu:0" for server in cluster.servers], cluster.target())


def _tensor(graph: Graph, key: Any) -> Tensor:
    return cast("Tensor", graph.as_graph_element(key, allow_operation=False))


def _devices(count: int) -> list[str]:
    return [f"/cpu:{number}" for number in range(count)]


WAYS: Mapping[str, Callable[[_Case], Coroutine[Any, Any, tuple[Any, Any]]]] = {
    "one device": lambda case: case.run(_devices(1)),
    "several devices": lambda case: case.run(_devices(case.devices)),
    "two tasks": _Case.run_on_tasks,
    "partial run": lambda case: case.run(_devices(case.devices), partial=True),
}
"""How ``assert_same`` runs a graph, by name."""


def _initializers(graph: Graph) -> list[str]:
    """Return the names of the initialisers of the variables of a graph."""
    kinds = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
    return [variable.initializer.name for kind in kinds for variable in graph.get_collection(kind)]


def _as_expected(value: Any, tensor: Tensor) -> Any:
    """Return an expected value as an array."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    return np.asarray(value, tensor.dtype.as_numpy_dtype)


def _difference(value: Any, expected: Any, tolerance: float) -> str:
    """Return how a value differs from the expected one; "" if it does not."""
    value = np.asarray(value, object if expected.dtype == object else None)
    if (value.shape, value.dtype) != (expected.shape, expected.dtype):
        return (
            f"is {value.dtype} of shape {list(value.shape)}, expected {expected.dtype} of shape {list(expected.shape)}"
        )
    off = np.zeros(value.shape)
    different = np.asarray(value != expected) & ~_nan(value, expected)
    if value.dtype.kind in "fcV":
        of = np.complex128 if value.dtype.kind == "c" else np.float64
        a, b = value.astype(of), expected.astype(of)
        with np.errstate(invalid="ignore"):
            off = np.where(different, np.abs(a - b), 0.0)
            different &= ~(np.isfinite(b) & (off <= tolerance * np.maximum(1.0, np.abs(b))))
    elif value.dtype.kind in "iu":
        off = np.abs(value.astype(np.float64) - expected.astype(np.float64))
    if not different.any():
        return ""
    # The farthest off; no number is farther than any.
    at = min(map(tuple, np.argwhere(different)), key=lambda place: -np.nan_to_num(off[place], nan=np.inf))
    by = "" if value.dtype.kind in "bOSU" else f", off by {off[at]:.6g}"
    return (
        f"is {_shown(value[at])} at {list(map(int, at))}, expected {_shown(expected[at])}{by}; "
        f"{np.count_nonzero(different)} of {value.size} elements differ (tolerance {tolerance:g})"
    )


def _shown(element: Any) -> str:
    return str(element) if isinstance(element, np.generic) else repr(element)


def _nan(value: Any, expected: Any) -> Any:
    """Return where both values are no number."""
    return (value != value) & (expected != expected) if value.dtype.kind in "fcV" else np.zeros(value.shape, bool)
