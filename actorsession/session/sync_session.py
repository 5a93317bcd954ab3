"""``Session``: the session API without ``await``, for scripts, threads and notebooks.

A direct run drives the plan in the caller's own thread, with no loop and no thread hop. What has to wait
(a remote target, a time limit) goes through an event loop in a thread of the session's own. That thread is
started when first needed and ends with the session. Many threads may use a session at once.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
import weakref
from collections.abc import Callable as CallableType
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.config import CONNECT_TIMEOUT, CallableOptions, ConfigProto, RunMetadata, RunOptions
from actorsession.config.step_record import StepRecord
from actorsession.errors import CancelledError
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.plan.place import Placed
from actorsession.runtime.hang_report import HangReport
from actorsession.runtime.loop_thread import LoopThread
from actorsession.session.base import (
    BaseSession,
    check_hang_report,
    check_last_steps,
    check_wait_for,
    container_names,
    in_time,
    own_limit,
    reset_options,
)
from actorsession.session.blocking import IN_LOOP, complete
from actorsession.session.callables import Callable, closed_error_of_callables
from actorsession.session.factory import get_factory
from actorsession.session.feeds import flatten_feeds
from actorsession.session.notebooks import CellCalls, blocks_loop
from actorsession.session.partial.api import SyncPartialRuns
from actorsession.session.reattach import Reattached
from actorsession.session.request import Request
from actorsession.session.restore_after_loss import call_restore, parts_to_run
from actorsession.session.session_interface import SESSION_CLOSED, SessionPlan
from actorsession.session.value_delivery import ValueDelivery

if TYPE_CHECKING:
    from actorsession.plan.explain.explanation import Explanation

__all__ = ["Session"]

T = TypeVar("T")
_THREAD = "actorsession-session-loop"


class Session(SyncPartialRuns, BaseSession):
    """A session whose calls block until they are done.

    Args:
        target: "" or "local" for this process, or the address of a master such as ``tcp://host:port``, or
            several addresses separated by commas, of which the first master that answers is taken.
        graph: the graph to run; the default graph if left out.
        config: settings.
        name: its name in status reports and in the ``RunMetadata`` of its runs, which no other open session of
            its process, or of its master, may have; the one of ``config`` if left out.

    Raises:
        TypeError: for an argument of a wrong type.
        ValueError: for a name if ``config`` has another one.
        NotFoundError: if no session factory accepts the target, or a device does not exist.
        InvalidArgumentError: for a malformed address in the target, and settings that cannot be met.
    """

    _converts_in_thread = False  # the caller waits in any case

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None, *, name: str = ""
    ) -> None:
        super().__init__(target, graph, config, name=name)
        # The hot path: local runs without a time limit need no event loop.
        local, has_limits = self._local, self._config.operation_timeout is not None
        if local is not None and not has_limits and not local.has_own_pools:
            self._blocking = local
        self._lock = threading.Lock()
        self._thread: _LoopThread | None = None
        self._cells = CellCalls()

    def __enter__(self) -> Session:
        self._enter_defaults()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._leave_defaults()
        self.close()

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
        *,
        timeout: float | None = None,
    ) -> Any:
        """Run everything that the fetches need and return their values; see ``AsyncSession.run``.

        Ctrl-C ends the step and leaves the session usable.

        Raises:
            RuntimeError: if the session is closed, or in a coroutine of a running event loop, unless it is a
                cell of a notebook.
        """
        if feed_dict:
            feed_dict = flatten_feeds(feed_dict)
        self._begin_run()
        request = self._requests.find(fetches, feed_dict)
        values = tuple(feed_dict.values()) if feed_dict else ()
        if timeout is not None:
            options = self._limited(options, timeout)
        return complete(self._run_request(request, values, options, run_metadata), self._cells)

    async def _run_plan(
        self, plan: SessionPlan, feeds: Sequence[Any], options: RunOptions | None, run_metadata: RunMetadata | None
    ) -> Sequence[Any]:
        """Run with options, a time limit, the session's own pools, or a master."""
        limit = self._limit if options is None else own_limit(options) or self._limit
        local = self._local
        if local is not None and local.runs_here(plan, feeds, limit, options):
            return local.run_here(plan, feeds, options, run_metadata, limit)
        if local is None and run_metadata is None and (options is None or options.is_plain):
            values = self._run_at_master(plan, feeds, own_limit(options))
            if values is not None:
                return values
        delivery = ValueDelivery(self._settle_run)
        try:
            values = self._wait(self._session.run(plan, feeds, limit, options, run_metadata, delivery))
        except BaseException:  # also Ctrl-C, which may come when the values have arrived
            with contextlib.suppress(CancelledError):
                delivery.end(received=False)
            raise
        delivery.end(received=True)
        return values

    def _run_at_master(self, plan: SessionPlan, feeds: Sequence[Any], limit: float | None) -> Sequence[Any] | None:
        """Run without a coroutine on the session's loop, where that can be done."""
        thread = self._thread
        if thread is None or blocks_loop():  # ``_wait`` says what is wrong
            return None
        return self._session.run_in_thread(plan, feeds, limit, self._call)

    def _call(self, callback: CallableType[[], object]) -> None:
        """Schedule a callback on the session's loop.

        Raises:
            CancelledError: if the session was closed, so that the loop may not run it any more.
        """
        with self._lock:  # see ``_wait``
            if self._thread is None:
                raise CancelledError(SESSION_CLOSED)
            self._thread.call(callback)

    def _settle_run(self, callback: CallableType[[], object]) -> None:
        """Settle a run: in this thread, or on the loop of the connection to the master; see ``_call``."""
        if self._local is not None:
            callback()
        else:
            self._call(callback)

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable:
        """Prepare a run once, so that calls do no graph work; see ``AsyncSession.make_callable``.

        Returns:
            A function of the feed values. Many threads may call it at once. It is released when the session
            closes.
        """
        request, arguments = self._requests.of_callable(fetches, feed_list)
        prepared = Callable(self, request, arguments, accept_options=accept_options, cells=self._cells)
        self._keep(prepared)
        return prepared

    def make_callable_from_options(self, options: CallableOptions) -> Callable:
        """Prepare a run that is described by names; see ``AsyncSession.make_callable_from_options``."""
        request, arguments = self._prepared_from(options)
        prepared = Callable(self, request, arguments, own_options=options.run_options, cells=self._cells)
        self._keep(prepared)
        return prepared

    def warm_up(self, fetches: Any, feeds: Any = None, *, partial: bool = False) -> None:
        """Do everything that the first run of some fetches does before its step begins, and run nothing.

        See ``AsyncSession.warm_up``.

        Raises:
            RuntimeError: also in a coroutine of a running event loop, unless it is a cell of a notebook.
        """
        if blocks_loop():
            raise RuntimeError(IN_LOOP)
        if partial:
            _, plan = self._made_partial_plan(fetches, feeds)
        else:
            self._begin_run()
            request = self._requests.of_later_run(fetches, feeds)
            if not request.needs_step:
                return
            plan = complete(self._bound_plan(request))
        if self._local is None:
            with self._naming_operations():
                self._wait(self._session.warm_up(plan.signature, partial=partial))

    def explain(self, fetches: Any, feeds: Any = None) -> Explanation:
        """Return what a step would do, and run nothing; see ``AsyncSession.explain``.

        Raises:
            RuntimeError: also in a coroutine of a running event loop, for a session with a target.
        """
        self._check_usable()
        asked = self._requests.to_explain(fetches, feeds)
        if self._local is not None:
            return self._local.explain_here(*asked)
        return self._wait(self._session.explain(*asked))

    async def _prepare(self, request: Request, limit: float | None) -> SessionPlan:
        self._cells.planned = True
        if self._local is not None:
            plan: SessionPlan = self._local.plan(request.signature)
        else:
            plan = self._wait(in_time(self._session.prepare(request.signature), limit))
        return plan

    def list_devices(self) -> list[DeviceAttributes]:
        """Return the devices that the session may use, the client device first.

        Raises:
            CancelledError: if the session is closed.
        """
        self._check_usable(closed_error_of_callables)
        if self._local is not None:
            return self._local.list_devices()
        return self._wait(self._session.devices())

    def placement(self) -> dict[str, Placed]:
        """Return the device of every node of the graph, with the reason for it.

        In a session with a target the master reports it, for the nodes that it has placed so far.

        Raises:
            UnimplementedError: for a kind of session of another distribution that does not report it.
        """
        self._check_usable()
        if self._local is not None:
            return self._local.placement()
        return self._wait(self._session.find_placement())

    @staticmethod
    def reset(target: str, containers: Sequence[str] | None = None, config: ConfigProto | None = None) -> None:
        """Close every session of a target, aborting its steps, and clear containers.

        Args:
            target: as for the session.
            containers: names of the containers to clear; the default one if left out.
            config: settings that select the session factory.

        Raises:
            TypeError: for an argument of a wrong type.
            NotFoundError: if no session factory accepts the target.
            InvalidArgumentError: for a malformed address in the target.
            UnimplementedError: if sessions of that kind cannot be reset.
        """
        options = reset_options(target, config)
        factory = get_factory(options)
        thread = _LoopThread(_THREAD)
        try:
            thread.wait(factory.reset(options, container_names(containers)))
        finally:
            thread.stop()

    def reattach(self, restore: Any = None) -> Reattached:
        """Continue after workers or the master of a remote session have restarted.

        See ``AsyncSession.reattach``; here ``restore`` is operations or a plain function.
        """
        self._check_usable()
        lost = self._wait(self._session.reattach())
        if callable(restore):
            if lost.lost:
                call_restore(restore, self, lost.lost)
        elif restore is not None and (lost.lost or lost.restarted):
            self.run(parts_to_run(self._graph, restore, lost.lost))
        return lost

    def wait_for(self, tasks: str, count: int | None = None, *, timeout: float = CONNECT_TIMEOUT) -> list[str]:
        """Wait until tasks of the cluster answer; see ``AsyncSession.wait_for``."""
        self._check_usable()
        check_wait_for(tasks, count, timeout)
        return self._wait(self._session.wait_for(tasks, count, timeout))

    def last_steps(self, count: int = 20, slower_than: float = 0.0) -> list[StepRecord]:
        """Return what is remembered of the session's last steps; see ``AsyncSession.last_steps``.

        Raises:
            RuntimeError: if the session is closed; or in a coroutine of a running event loop, for a session with a
                target.
        """
        self._check_usable()
        check_last_steps(count, slower_than)
        if self._local is not None:
            return self._local.last_steps_here(count, slower_than)
        return self._wait(self._session.last_steps(count, slower_than))

    def why(self, within: float = 2.0) -> HangReport:
        """Report why steps of other threads hang; see ``AsyncSession.why``.

        Raises:
            RuntimeError: if the session is closed; or in a coroutine of a running event loop, for a session
                with a target.
        """
        self._check_usable()
        check_hang_report(within)
        if self._local is not None:
            return self._local.why_here(within)
        return self._wait(self._session.why(within))

    def close(self) -> None:
        """Cancel running steps and release everything; bounded in time, may be called twice.

        Runs in other threads end with ``CancelledError``; this call does not wait for them. A session in
        this process may be closed in any thread or event loop.

        Raises:
            RuntimeError: in a coroutine of a running event loop, for a session that has to notify a
                master. The session stays open then.
        """
        if self._owner.is_forked:
            # The loop, the threads, the connections and the lock belong to the parent process.
            self._closed = True
            return
        with self._lock:
            if self._closed:
                return
            if self._thread is not None and self._local is None and blocks_loop():
                raise RuntimeError(_CLOSED_IN_LOOP)
            self._closed = True
            thread, self._thread = self._thread, None
            closing = None if thread is None else thread.submit(self._session.close())
        self._release()
        if thread is None or closing is None:
            if self._local is not None:
                self._local.close_here()
            return
        try:
            if not thread.is_current:  # it is where a debugger state closes the session
                thread.result(closing)
        finally:
            thread.stop()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the session's own loop."""
        if blocks_loop():
            coroutine.close()
            raise RuntimeError(IN_LOOP)
        with self._lock:
            if self._closed:  # by another thread, since this one checked
                coroutine.close()
                raise CancelledError(SESSION_CLOSED)
            if self._thread is None:
                try:
                    self._thread = _LoopThread(_THREAD)
                except BaseException:
                    coroutine.close()
                    raise
                if self._local is not None:
                    # A local session has no connection, so nothing is left on its loop once it is dropped.
                    weakref.finalize(self, self._thread.request_stop).atexit = False
            thread = self._thread
            # Under the lock, because a loop that was stopped runs only what was submitted before.
            future = thread.submit(coroutine)
        return thread.result(future)


_CLOSED_IN_LOOP = (
    "closing this Session waits for its master and must not be done inside a running event loop; the "
    "session is still open: close it from a thread (`await asyncio.to_thread(session.close)`)"
)


class _LoopThread(LoopThread):
    """The loop of one session, in which its calls have the errors of the session."""

    def result(self, future: concurrent.futures.Future[T]) -> T:
        """Wait for a future that ``submit`` returned; see ``LoopThread.result``."""
        try:
            return super().result(future)
        except concurrent.futures.CancelledError as exc:
            raise CancelledError(SESSION_CLOSED) from exc

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for it; see ``result``.

        Raises:
            RuntimeError: in a coroutine of a running event loop.
        """
        if blocks_loop():
            coroutine.close()
            raise RuntimeError(IN_LOOP)
        return super().wait(coroutine)
