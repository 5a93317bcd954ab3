"""A graph of its own for each test, and a session of either kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from actorsession import ops
from actorsession.config import ConfigProto
from actorsession.graph.graph import Graph
from tests.session.faces import AsyncFace, SyncFace
from tests.session.partial_kit import Dear, Stages


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


@pytest.fixture(params=[AsyncFace, SyncFace], ids=lambda kind: str(kind.name))
async def make_session(request: Any, graph: Graph) -> AsyncIterator[Callable[..., Any]]:
    """Makes sessions on the test's graph; they are closed at its end."""
    made: list[Any] = []

    def make(config: ConfigProto | None = None) -> Any:
        made.append(request.param(graph, config))
        return made[-1]

    yield make
    for session in made:
        await session.close()


@pytest.fixture
def session(make_session: Callable[..., Any]) -> Any:
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
