"""Specifications of local sessions, run again on a cluster by both kinds of sessions."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, Operation, Session
from actorsession.config import ConfigProto
from tests.cluster.kit import PS0, W0, W1
from tests.cluster.master_access import Way
from tests.session.conftest import Sessions, log_of, session, stages
from tests.session.session_adapters import AsyncAdapter, SyncAdapter

__all__ = ["FACES", "fixtures_of", "specified", "spread"]


class RemoteAdapter:
    """What both faces tell of a session on a cluster."""

    way: Way
    session: Any

    def counts(self) -> tuple[int, int, int]:
        """In the form of local faces: a cluster does not tell what waits in a meeting place. The first is what the
        client counts, and the second what the servers do."""
        return self.session.statistics().partial_runs, self.way.open_partial_runs(), 0


class RemoteAsync(RemoteAdapter, AsyncAdapter):
    """``AsyncSession`` on a cluster."""

    def __init__(self, way: Way, graph: Graph, config: ConfigProto | None) -> None:
        self.way = way
        self.session = AsyncSession(way.target, graph=graph, config=config or way.config())


class RemoteSync(RemoteAdapter, SyncAdapter):
    """``Session`` on a cluster."""

    def __init__(self, way: Way, graph: Graph, config: ConfigProto | None) -> None:
        self.way = way
        self.session = Session(way.target, graph=graph, config=config or way.config())


FACES: dict[str, Any] = {"AsyncSession": RemoteAsync, "Session": RemoteSync}


def spread(graph: Graph) -> Any:
    """Return the device scope that gives the nodes of a graph to one task after the other."""
    tasks = itertools.cycle([W0, PS0, W1])

    def next_task(op: Operation) -> str:
        return op.device or next(tasks)

    return graph.device(next_task)


def specified(module: ModuleType, local: Mapping[str, Sequence[str]]) -> dict[str, Callable[..., Any]]:
    """The tests of a module that take the session they are about from a fixture, but for those of local sessions."""
    specification = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    left_out = set(itertools.chain.from_iterable(local.values()))
    assert left_out <= specification.keys()
    return {
        name: test
        for name, test in specification.items()
        if name not in left_out and {"session", "make_session"} & inspect.signature(test).parameters.keys()
    }


@pytest.fixture
def graph() -> Iterator[Graph]:
    """A graph whose nodes go to one task after the other."""
    with Graph().as_default() as made, spread(made):
        yield made


@pytest.fixture
async def make_session(way_and_face: tuple[Way, Any], graph: Graph) -> AsyncIterator[Sessions]:
    """Makes sessions on the test's graph; they are closed at its end."""
    way, face = way_and_face
    sessions = Sessions(partial(face, way), graph)
    yield sessions
    await sessions.close()


def fixtures_of(module: ModuleType) -> dict[str, Any]:
    """The fixtures of a module of specifications, and those of sessions on a cluster."""
    shared = {"graph": graph, "log_of": log_of, "make_session": make_session, "session": session, "stages": stages}
    return {name: made for name, made in vars(module).items() if isinstance(made, type(graph))} | shared
