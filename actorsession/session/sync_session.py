"""``Session``: the face without ``await``, for scripts, threads and notebooks.

A direct run drives the plan in the caller's own thread, with no loop and no thread hop. What has to wait
(a remote target, a limit in time) goes through an event loop in a thread of the session's own, which is
started when first needed and ends with the session. May be used from many threads at once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, TypeVar

from actorsession.actors.loops import new_event_loop
from actorsession.config import ConfigProto, RunMetadata, RunOptions
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.session.base import BaseSession
from actorsession.session.direct import DirectSession

__all__ = ["Session"]

T = TypeVar("T")
# Seconds for the loop's thread to end after the session closed; it has nothing left to do by then.
_JOIN = 10.0


class Session(BaseSession):
    """Runs steps of a graph; calls block until they are done.

    Args:
        target: "" for this process, or the address of a master such as ``tcp://host:port``.
        graph: the graph to run; the default graph if left out.
        config: settings.

    Raises:
        TypeError: for an argument of a wrong type.
        NotFoundError: if no session factory accepts the target, or a device does not exist.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        super().__init__(target, graph, config)
        # Direct runs need no loop: this is the path whose microseconds users count.
        self._direct = self._session if isinstance(self._session, DirectSession) else None
        self._lock = threading.Lock()
        self._thread: _LoopThread | None = None

    def __enter__(self) -> Session:
        self._enter_defaults()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._leave_defaults()
        self.close()

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Runs what the fetches need and returns their values; see ``AsyncSession.run``.

        Ctrl-C ends the step and leaves the session usable.

        Raises:
            RuntimeError: if the session is closed, or in a coroutine of a running event loop.
        """
        if asyncio._get_running_loop() is not None:
            raise RuntimeError(_IN_LOOP)
        if feed_dict:
            feed_dict = self._flat_feeds(feed_dict)
        request = self._request(fetches, feed_dict)
        if request.plan is None and request.needs_step:
            request.bind(self._prepare(request))
        feeds = request.feeds(tuple(feed_dict.values())) if feed_dict else []
        if not request.needs_step:
            return request.result(feeds, ())
        timeout = self._timeout(options)
        if self._direct is not None and (timeout is None or self._is_cheap(request.plan)):
            values = self._direct.run_here(request.plan, feeds, options, run_metadata)
        else:
            values = self._wait(
                self._session.run(request.plan, feeds, timeout, options, run_metadata)
            )
        return request.result(feeds, values)

    def _is_cheap(self, plan: Any) -> bool:
        return plan.inline is not None and plan.inline.cheap

    def _prepare(self, request: Any) -> Any:
        if self._direct is not None:
            return self._direct.plan(request.signature)
        return self._wait(self._session.prepare(request.signature))

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices that the session may use, the client device first."""
        self._check_usable()
        if self._direct is not None:
            return self._direct.list_devices()
        found: list[DeviceAttributes] = self._wait(self._session.devices())
        return found

    def close(self) -> None:
        """Cancels what runs and releases everything; bounded in time, may be called twice."""
        if self._closed:
            return
        self._closed = True
        self._requests.clear()
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            try:
                thread.wait(self._session.close())
            finally:
                thread.stop()
        elif self._direct is not None:
            self._direct.close_here()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the session's own loop."""
        with self._lock:
            if self._thread is None:
                self._thread = _LoopThread()
            thread = self._thread
        return thread.wait(coroutine)


_IN_LOOP = (
    "Session blocks and must not be used inside a running event loop: use AsyncSession and "
    "`await session.run(...)` there, or call Session from a thread (asyncio.to_thread)"
)


class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = new_event_loop()
        self._thread = threading.Thread(
            target=self._main, name="actorsession-session-loop", daemon=True
        )
        self._thread.start()

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine and waits for it; Ctrl-C cancels it and is raised once it has ended."""
        if asyncio._get_running_loop() is not None:
            coroutine.close()
            raise RuntimeError(_IN_LOOP)
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            concurrent.futures.wait([future], timeout=_JOIN)
            raise

    def stop(self) -> None:
        """Ends loop and thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_JOIN)
