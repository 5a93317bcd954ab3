"""A graph for each test, which is also the default one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actorsession import Graph


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph
