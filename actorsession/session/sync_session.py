"""``Session``: the face without ``await``, for scripts, threads and notebooks.

A direct run drives the plan in the caller's own thread, with no loop and no thread hop. What has to wait
(a remote target, a limit in time) goes through an event loop in a thread of the session's own, which is
started when first needed and ends with the session. May be used from many threads at once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from actorsession.actors.loops import new_event_loop
from actorsession.config import ConfigProto, RunMetadata, RunOptions
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.plan.place import Placed
from actorsession.session.base import BaseSession, Request, reset_options
from actorsession.session.callables import Callable
from actorsession.session.direct import DirectSession
from actorsession.session.factory import get_factory
from actorsession.session.partial_faces import SyncPartialRuns

__all__ = ["Session"]

T = TypeVar("T")
# Seconds for the loop's thread to end after the session closed; it has nothing left to do by then.
_JOIN = 10.0


class Session(SyncPartialRuns, BaseSession):
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
        has_limits = self._config.operation_timeout is not None
        self._plain = (
            None
            if self._direct is None or has_limits or self._direct.has_own_pools
            else self._direct
        )
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
        values = tuple(feed_dict.values()) if feed_dict else ()
        return self._run_request(request, values, options, run_metadata)

    def _run_request(
        self,
        request: Request,
        values: Sequence[Any],
        options: RunOptions | None,
        run_metadata: RunMetadata | None,
    ) -> Any:
        plan = request.plan
        if plan is None and request.needs_step:
            plan = self._prepare(request)
            request.bind(plan)
        feeds = request.feeds(values)
        if plan is None:
            if run_metadata is not None:
                run_metadata.clear()
            return request.result(feeds, ())
        if options is None and self._plain is not None:
            fetched = self._plain.run_here(plan, feeds, None, run_metadata)
        else:
            fetched = self._run_as_asked(plan, feeds, options, run_metadata)
        return request.result(feeds, fetched)

    def _run_as_asked(
        self,
        plan: Any,
        feeds: Sequence[Any],
        options: RunOptions | None,
        run_metadata: RunMetadata | None,
    ) -> Sequence[Any]:
        """A run with options, a limit in time, pools of the session's own or a master."""
        limit = self._timeout(options)
        direct = self._direct
        if direct is not None and direct.runs_here(plan, limit, options):
            return direct.run_here(plan, feeds, options, run_metadata, limit)
        found: Sequence[Any] = self._wait(
            self._session.run(plan, feeds, limit, options, run_metadata)
        )
        return found

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable:
        """Prepares a run, so that making it does no graph work; see ``AsyncSession.make_callable``.

        Returns:
            A function of the values to feed; safe for many threads at once, released when the session
            closes.
        """
        request, arguments = self._prepared(fetches, feed_list)
        made = Callable(self, request, arguments, accept_options=accept_options)
        self._callables.add(made)
        return made

    def _prepare(self, request: Any) -> Any:
        if self._direct is not None:
            return self._direct.plan(request.signature)
        return self._wait(self._session.prepare(request.signature))

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices that the session may use, the client device first.

        Raises:
            CancelledError: if the session is closed.
        """
        self._check_listable()
        if self._direct is not None:
            return self._direct.list_devices()
        found: list[DeviceAttributes] = self._wait(self._session.devices())
        return found

    def placement(self) -> dict[str, Placed]:
        """The device of every node of the graph, with the reason for it.

        Raises:
            UnimplementedError: for a session that a master runs.
        """
        return self._placement()

    @staticmethod
    def reset(
        target: str, containers: Sequence[str] | None = None, config: ConfigProto | None = None
    ) -> None:
        """Closes every session of a target, giving up what runs there, and clears containers.

        Args:
            target: "" for this process, or the address of a master.
            containers: names of the containers to clear; the default one if left out.
            config: settings by which the kind of session is chosen.

        Raises:
            NotFoundError: if no session factory accepts the target.
            UnimplementedError: if sessions of that kind cannot be reset.
        """
        options = reset_options(target, config)
        factory = get_factory(options)
        thread = _LoopThread()
        try:
            thread.wait(factory.reset(options, tuple(containers or ())))
        finally:
            thread.stop()

    def close(self) -> None:
        """Cancels what runs and releases everything; bounded in time, may be called twice."""
        if self._closed:
            return
        self._closed = True
        self._release()
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
                if self._direct is not None:
                    # Without a connection nothing is left on the loop of a session that was dropped.
                    weakref.finalize(self, self._thread.let_go).atexit = False
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

    def let_go(self) -> None:
        """``stop`` without waiting, for whichever thread finds the session gone; may come after it."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)
