"""Steps that wait for something in a queue, an area or a barrier."""

from __future__ import annotations

import asyncio
from typing import Any

from actorsession import AsyncSession, Session
from actorsession.config import ConfigProto
from tests.cluster.kit import eventually
from tests.session.inner import direct_session

__all__ = ["ONE_THREAD", "held", "started", "waiting"]

ONE_THREAD = ConfigProto(inter_op_parallelism_threads=1)


def started(session: AsyncSession, *args: Any, **kwargs: Any) -> asyncio.Task[Any]:
    """A step under way."""
    return asyncio.ensure_future(session.run(*args, **kwargs))


async def waiting(session: AsyncSession | Session, count: int = 1) -> None:
    """Until so many steps wait."""
    steps = direct_session(session)._steps
    await eventually(lambda: sum(len(step.suspended) for step in steps.now()) == count)


async def held(session: AsyncSession, *args: Any, count: int = 1, **kwargs: Any) -> asyncio.Task[Any]:
    """A step under way, once so many steps wait."""
    step = started(session, *args, **kwargs)
    await waiting(session, count)
    return step
