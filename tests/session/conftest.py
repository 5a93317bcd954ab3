"""A graph of its own for each test, and a session of either kind."""

from __future__ import annotations

import inspect
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from types import CodeType
from typing import Any

import pytest

from actorsession import ConfigProto, Graph, ops
from actorsession.runtime.engine import step
from tests.conftest import LOOP_FACTORIES, LoopFactory
from tests.session.partial_kit import Dear, Stages
from tests.session.session_adapters import AsyncAdapter, LocalAdapter, SyncAdapter

# What these files specify is what a call gives or refuses, and not when. Files of steps that run at once, of
# cancellation, limits in time and of partial runs are not among them.
_OF_VALUES = {
    "test_callables", "test_conversions", "test_cost_model", "test_debugger", "test_devices",
    "test_errors_of_operations", "test_feeds", "test_fetches", "test_handles", "test_options", "test_run_metadata",
    "test_local_semantics", "test_state",
}  # fmt: skip


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, LoopFactory] | None:
    """Run a test that only awaits one call after another on one of the loops, half of them on either. Those that use
    ``asyncio`` themselves have something happen at once, and run on both like all others."""
    if item.path.stem not in _OF_VALUES or item.get_closest_marker("process") is not None:
        return None
    function = inspect.unwrap(item.function)  # type: ignore[attr-defined]
    if _uses_asyncio(function.__code__):
        return None
    names = sorted(LOOP_FACTORIES)
    name = names[zlib.crc32(item.nodeid.encode()) % len(names)]
    return {name: LOOP_FACTORIES[name]}


def _uses_asyncio(code: CodeType) -> bool:
    within = [const for const in code.co_consts if isinstance(const, CodeType)]
    return "asyncio" in code.co_names or any(map(_uses_asyncio, within))


@pytest.fixture
def settle(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that sets how many seconds a cancelled step waits for its kernels."""
    return lambda seconds: monkeypatch.setattr(step, "_SETTLE", seconds)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Test the synchronous face on one loop: its sessions run on a loop of theirs, in a thread."""
    items[:] = [item for item in items if not _repeats_threads(item)]


def _repeats_threads(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    if callspec is None or callspec.params.get("make_session") is not SyncAdapter:
        return False
    return "uvloop" in callspec.id.split("-")


class Sessions:
    """Makes sessions of one kind on one graph, which are closed together."""

    def __init__(self, kind: Callable[..., LocalAdapter], graph: Graph) -> None:
        self._kind = kind
        self._graph = graph
        self._made: list[Any] = []

    def __call__(self, config: ConfigProto | None = None) -> Any:
        self._made.append(self._kind(self._graph, config))
        return self._made[-1]

    def on_graph(self, graph: Graph) -> Sessions:
        """The same on another graph."""
        return Sessions(self._kind, graph)

    async def close(self) -> None:
        for session in self._made:
            await session.close()


@pytest.fixture(params=[AsyncAdapter, SyncAdapter], ids=lambda kind: str(kind.name))
async def make_session(request: Any, graph: Graph) -> AsyncIterator[Sessions]:
    """Makes sessions on the test's graph; they are closed at its end."""
    sessions = Sessions(request.param, graph)
    yield sessions
    await sessions.close()


@pytest.fixture
def session(make_session: Sessions) -> Any:
    return make_session()


@pytest.fixture
def log_of(graph: Graph) -> tuple[Any, Any]:
    """x, and its logarithm z by way of y = x + 1."""
    x = ops.placeholder("float32", [None], name="x")
    return x, ops.log(ops.add(x, 1.0, name="y"), name="z")


@pytest.fixture
def stages(graph: Graph) -> Stages:
    return Stages()


@pytest.fixture
def dear(graph: Graph) -> Dear:
    return Dear()
