"""A graph of its own for each test, and a session of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actorsession import Graph, Session


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as made:
        yield made


@pytest.fixture
def session(graph: Graph) -> Iterator[Session]:
    with Session(graph=graph) as made:
        yield made
