"""Both faces behind one interface, so that a specification of a session is written once."""

from __future__ import annotations

import asyncio
from typing import Any

from actorsession.config import ConfigProto
from actorsession.graph.graph import Graph
from actorsession.session import AsyncSession, Session


class AsyncFace:
    """``AsyncSession`` as it is."""

    name = "AsyncSession"

    def __init__(self, graph: Graph, config: ConfigProto | None = None) -> None:
        self.session = AsyncSession(graph=graph, config=config)

    async def run(self, *args: Any, **kwargs: Any) -> Any:
        return await self.session.run(*args, **kwargs)

    async def close(self) -> None:
        await self.session.close()


class SyncFace:
    """``Session``, called from a thread as a program on an event loop would."""

    name = "Session"

    def __init__(self, graph: Graph, config: ConfigProto | None = None) -> None:
        self.session = Session(graph=graph, config=config)

    async def run(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(self.session.run, *args, **kwargs)

    async def close(self) -> None:
        await asyncio.to_thread(self.session.close)
