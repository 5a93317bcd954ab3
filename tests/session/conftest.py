"""A graph of its own for each test, and a session of either kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from actorsession import ops
from actorsession.config import ConfigProto
from actorsession.graph.graph import Graph
from tests.session.faces import AsyncFace, LocalFace, SyncFace
from tests.session.partial_kit import Dear, Stages


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


class Sessions:
    """Makes sessions of one kind on one graph, which are closed together."""

    def __init__(self, kind: type[LocalFace], graph: Graph) -> None:
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


@pytest.fixture(params=[AsyncFace, SyncFace], ids=lambda kind: str(kind.name))
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
