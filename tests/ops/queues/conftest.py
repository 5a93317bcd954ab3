"""A graph for each test, and a session of one kernel thread: who waits must hold none."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from actorsession import AsyncSession, Graph
from tests.ops.queues.kit import ONE_THREAD


@pytest.fixture
async def session(graph: Graph) -> AsyncIterator[AsyncSession]:
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        yield session
