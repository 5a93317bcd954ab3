"""A graph for each test, which is also the default one, and a session on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actorsession import Graph, Session


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph: Graph) -> Iterator[Session]:
    with Session(graph=graph) as session:
        yield session
