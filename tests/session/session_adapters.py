"""Both kinds of sessions behind one interface, so that a specification of a session is written once."""

from __future__ import annotations

import asyncio
from typing import Any

from actorsession import AsyncSession, ConfigProto, Graph, Session


class Made:
    """A callable of either face; its result is awaited."""

    def __init__(self, made: Any, *, threaded: bool = False) -> None:
        self.made = made
        self.threaded = threaded

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.threaded:
            return await asyncio.to_thread(self.made, *args, **kwargs)
        return await self.made(*args, **kwargs)


class ThreadedPartialRun:
    """The partial run of a ``Session``, each of its calls in a thread."""

    def __init__(self, made: Any) -> None:
        self.made = made

    async def __aenter__(self) -> Any:
        await asyncio.to_thread(self.made.__enter__)
        return self

    async def __aexit__(self, *args: Any) -> None:
        await asyncio.to_thread(self.made.__exit__, *args)

    @property
    def handle(self) -> str:
        return self.made.handle

    async def run(self, *args: Any) -> Any:
        return await asyncio.to_thread(self.made.run, *args)


class LocalAdapter:
    """What both faces tell of a session in this process."""

    session: Any

    def __init__(self, graph: Graph, config: ConfigProto | None = None) -> None:
        self.config = config

    def on_graph(self, graph: Graph) -> Any:
        """Another of its kind."""
        return type(self)(graph, self.config)

    def counts(self) -> tuple[int, int, int]:
        """Open partial runs, steps, and what waits in their rendezvous."""
        statistics = self.session.statistics()
        return statistics.partial_runs, statistics.steps, statistics.pending


class AsyncAdapter(LocalAdapter):
    """``AsyncSession`` as it is."""

    name = "AsyncSession"

    def __init__(self, graph: Graph, config: ConfigProto | None = None) -> None:
        super().__init__(graph, config)
        self.session = AsyncSession(graph=graph, config=config)

    async def run(self, *args: Any, **kwargs: Any) -> Any:
        return await self.session.run(*args, **kwargs)

    def callable(self, *args: Any, **kwargs: Any) -> Any:
        return Made(self.session.make_callable(*args, **kwargs))

    async def warm_up(self, *args: Any, **kwargs: Any) -> None:
        await self.session.warm_up(*args, **kwargs)

    async def partial_run_setup(self, *args: Any) -> str:
        return await self.session.partial_run_setup(*args)

    async def partial_run(self, *args: Any) -> Any:
        return await self.session.partial_run(*args)

    def partial(self, *args: Any) -> Any:
        return self.session.partial(*args)

    async def reset(self, *args: Any) -> None:
        await AsyncSession.reset(*args)

    async def close(self) -> None:
        await self.session.close()


class SyncAdapter(LocalAdapter):
    """``Session``, called from a thread as a program on an event loop would."""

    name = "Session"

    def __init__(self, graph: Graph, config: ConfigProto | None = None) -> None:
        super().__init__(graph, config)
        self.session = Session(graph=graph, config=config)

    async def run(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(self.session.run, *args, **kwargs)

    def callable(self, *args: Any, **kwargs: Any) -> Any:
        return Made(self.session.make_callable(*args, **kwargs), threaded=True)

    async def warm_up(self, *args: Any, **kwargs: Any) -> None:
        await asyncio.to_thread(self.session.warm_up, *args, **kwargs)

    async def partial_run_setup(self, *args: Any) -> str:
        return await asyncio.to_thread(self.session.partial_run_setup, *args)

    async def partial_run(self, *args: Any) -> Any:
        return await asyncio.to_thread(self.session.partial_run, *args)

    def partial(self, *args: Any) -> Any:
        return ThreadedPartialRun(self.session.partial(*args))

    async def reset(self, *args: Any) -> None:
        await asyncio.to_thread(Session.reset, *args)

    async def close(self) -> None:
        await asyncio.to_thread(self.session.close)
