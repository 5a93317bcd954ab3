"""Queue runners: they fill queues concurrently with the program that empties them.

A ``QueueRunner`` holds the operations that fill a queue. ``start_queue_runners`` runs them in threads with a
``Session``, as TensorFlow does; ``running_queues`` runs them as children of an ``AsyncSession``, without
threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from actorsession.actors.supervision import Children
from actorsession.config import RunOptions
from actorsession.errors import CancelledError, OutOfRangeError
from actorsession.graph.default_session import get_default_session
from actorsession.graph.extension import PROTO_VIEWS
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.queues.base import QueueBase
from actorsession.process_bound import GraphBound
from actorsession.records import description
from actorsession.runtime.interruptible import CancelScope
from actorsession.session import AsyncSession, Session
from actorsession.train.coordinator import Coordinator

__all__ = ["QueueRunner", "add_queue_runner", "running_queues", "start_queue_runners"]

_log = logging.getLogger("actorsession.train")
# Seconds for which a loop may continue with its current step when the program stops: enough for a step that
# works, whereas a step that waits, such as for gradients of replicas that have ended, would wait for ever.
_STOP_GRACE = 1.0
_AT_STOP = RunOptions(timeout_in_ms=int(1000 * _STOP_GRACE))


class QueueRunner(GraphBound):
    """The operations that fill one queue, each run in a loop of its own.

    Args:
        queue: the queue.
        enqueue_ops: the operations that enqueue elements; the same one several times for several loops.
        close_op: operation run when all loops have ended; closes the queue if left out.
        cancel_op: operation run when the program stops; closes the queue and cancels pending enqueues if left
            out.
        queue_closed_exception_types: exceptions that signal the end of a loop; OutOfRangeError if left out.
        queue_runner_def: names of all these in the default graph, in place of the objects: anything with the
            fields of TensorFlow's ``QueueRunnerDef``.
        import_scope: a name scope to prepend to those names.

    Raises:
        ValueError: if the queue or the operations are missing.
        TypeError: if the exception types are no exception classes.
    """

    stop_grace = _STOP_GRACE
    """Seconds that a loop may take to end by itself when the program stops."""

    def __init__(
        self,
        queue: QueueBase | None = None,
        enqueue_ops: Sequence[Operation] | None = None,
        close_op: Operation | None = None,
        cancel_op: Operation | None = None,
        queue_closed_exception_types: Sequence[type[BaseException]] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops is not None:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            named = _of_def(queue_runner_def, import_scope)
            queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types = named
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        types = (OutOfRangeError,) if queue_closed_exception_types is None else tuple(queue_closed_exception_types)
        if not types or not all(isinstance(t, type) and issubclass(t, BaseException) for t in types):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of exceptions, got "
                f"{queue_closed_exception_types!r}"
            )
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = close_op if close_op is not None else queue.close()
        self._cancel_op = cancel_op if cancel_op is not None else queue.close(cancel_pending_enqueues=True)
        self._closed_types = types
        self._lock = threading.Lock()
        # Number of running loops of each session.
        self._runs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions: list[BaseException] = []

    def __repr__(self) -> str:
        return description(self, self.name, threads=len(self._enqueue_ops))

    @property
    def queue(self) -> QueueBase:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Operation]:
        """The operations that enqueue elements."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Operation:
        """The operation that is run when all loops have ended."""
        return self._close_op

    @property
    def cancel_op(self) -> Operation:
        """The operation that is run when the program stops."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[BaseException], ...]:
        """The exceptions that signal the end of a loop."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """The exceptions that ended loops without a coordinator."""
        return self._exceptions

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the runner's names as TensorFlow's ``QueueRunnerDef``, or ``None`` outside the scope.

        Args:
            export_scope: a name scope to remove from all names.
        """
        return PROTO_VIEWS.get("QueueRunner.to_proto")(self, export_scope)

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """Return the runner of operations that exist in the default graph already.

        Args:
            queue_runner_def: the names of the operations.
            import_scope: a name scope to prepend to the names.
        """
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    # -- threads -------------------------------------------------------------------------------

    def create_threads(
        self, sess: Session, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Create a thread for each enqueue operation, and one that runs ``cancel_op`` at the end.

        Args:
            sess: the session; while it still has threads of this runner, no new ones are made.
            coord: coordinator that requests the stop and receives errors; without it there is no thread for
                ``cancel_op``.
            daemon: whether the program may end while the threads run.
            start: whether to start the threads.

        Returns:
            The threads.
        """
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self._exceptions = []
        loops = {CancelScope(): op for op in self._enqueue_ops}
        threads = [
            threading.Thread(
                target=self._fill, args=(sess, op, coord, scope), name=f"QueueRunnerThread-{self.name}-{op.name}"
            )
            for scope, op in loops.items()
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._cancel_at_stop,
                    args=(sess, coord, dict(zip(loops, threads, strict=True))),
                    name=f"QueueRunnerThread-{self.name}-close_on_stop",
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def _fill(self, sess: Session, op: Operation, coord: Coordinator | None, scope: CancelScope) -> None:
        """Run one loop; the last loop of a session to end closes the queue."""
        left = False
        try:
            while coord is None or not coord.should_stop():
                try:
                    with scope:
                        sess.run(op)
                except self._closed_types:
                    left = True
                    if self._leave(sess):
                        self._close(sess)
                    return
        except BaseException as exc:
            self._ended(sess, coord, exc)
        finally:
            if not left:
                self._leave(sess)

    def _ended(self, sess: Session, coord: Coordinator | None, exc: BaseException) -> None:
        """Report the exception that ended a loop, unless the program is stopping."""
        if coord is None:
            self._exceptions.append(exc)
            if not sess.closed:
                raise exc
        elif not coord.should_stop():
            coord.request_stop(exc)
        _log.debug("a loop of queue %s has ended with an error: %r", self.name, exc)

    def _leave(self, sess: Any) -> bool:
        """Count a loop that has ended, and return whether it was the last one."""
        with self._lock:
            self._runs[sess] -= 1
            return self._runs[sess] == 0

    def _close(self, sess: Session) -> None:
        try:
            sess.run(self._close_op)
        except Exception as exc:
            # The queue may have been closed elsewhere.
            _log.debug("close_op of queue %s failed: %r", self.name, exc)

    def _cancel_at_stop(self, sess: Session, coord: Coordinator, loops: Mapping[CancelScope, threading.Thread]) -> None:
        """End the loops: those that wait for the queue by ``cancel_op``, the others after a grace period."""
        coord.wait_for_stop()
        end = time.monotonic() + self.stop_grace
        try:
            sess.run(self._cancel_op, options=_AT_STOP)
        except Exception as exc:
            _log.debug("cancel_op of queue %s failed: %r", self.name, exc)
        for scope, thread in loops.items():
            if thread.ident is not None:  # the thread was started
                thread.join(max(0.0, end - time.monotonic()))
            scope.cancel()

    # -- children ------------------------------------------------------------------------------

    async def fill(self, session: AsyncSession) -> None:
        """Run the enqueue operations on the running event loop until all their loops have ended.

        Then the queue is closed. Cancellation ends the pending enqueue steps.

        Args:
            session: the session.

        Raises:
            OpError: the failure of an enqueue operation, unless it signals the end of its loop.
        """
        session._check_usable()
        children = Children(f"queue runner {self.name}")
        loops = [
            children.start(self._loop(session, op), name=f"{self.name} {op.name}", awaited=True)
            for op in self._enqueue_ops
        ]
        try:
            _ = await asyncio.gather(*loops)
        finally:
            await children.stop()
        with contextlib.suppress(CancelledError):  # the queue was closed elsewhere
            await session.run(self._close_op)

    async def _loop(self, session: AsyncSession, op: Operation) -> None:
        with contextlib.suppress(*self._closed_types):
            while True:
                await session.run(op)


def _of_def(named: Any, scope: str | None) -> tuple[Any, ...]:
    """Return the constructor's arguments for a queue runner, looked up by name in the default graph."""
    graph = get_default_graph()

    def element(name: str) -> Any:
        return graph.as_graph_element(f"{scope.rstrip('/')}/{name}" if scope else name)

    handle = element(named.queue_name)
    handle = handle.outputs[0] if isinstance(handle, Operation) else handle
    attrs = handle.op.attrs
    types = [_TYPES_BY_CODE[int(code)] for code in named.queue_closed_exception_types]
    return (
        QueueBase(attrs["component_types"], attrs["shapes"], None, handle),
        [element(name) for name in named.enqueue_op_name],
        element(named.close_op_name),
        element(named.cancel_op_name) if named.cancel_op_name else None,
        tuple(types) or None,
    )


_TYPES_BY_CODE = {t.error_code: t for t in (CancelledError, OutOfRangeError)}


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a queue runner to a collection of the default graph, for ``start_queue_runners``."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Session | None = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Start the threads of all queue runners of the session's graph.

    Args:
        sess: the session; the default session if left out.
        coord: coordinator that requests the stop and receives errors.
        daemon: whether the program may end while the threads run.
        start: whether to start the threads.
        collection: collection that contains the runners.

    Returns:
        The threads.

    Raises:
        ValueError: if there is no default session.
        TypeError: if ``sess`` is no synchronous session; of a monitored one, which has started them itself,
            nothing is started again.
    """
    session: Any = get_default_session() if sess is None else sess
    if session is None:
        raise ValueError(
            "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or "
            "pass an explicit session"
        )
    if hasattr(session, "run_step_fn"):
        _log.warning("a MonitoredSession starts its queue runners itself; nothing is started")
        return []
    if not isinstance(session, Session):
        raise TypeError(
            f"sess must be a `{get_default_graph().shown_prefix}Session`, got {type(session).__name__}; for an "
            "AsyncSession use `async with running_queues(session)`"
        )
    return [
        thread
        for runner in session.graph.get_collection(collection)
        for thread in runner.create_threads(session, coord=coord, daemon=daemon, start=start)
    ]


@contextlib.asynccontextmanager
async def running_queues(session: AsyncSession, collection: str = GraphKeys.QUEUE_RUNNERS) -> AsyncIterator[None]:
    """Fill the queues of a graph concurrently with the body of an ``async with``.

    Queues are closed when their runners have ended, so the body gets OutOfRangeError after the last element.
    The runners are cancelled when the body ends.

    Args:
        session: the session.
        collection: collection that contains the runners.

    Raises:
        OpError: the failure of an enqueue operation. The queue's pending steps fail as well, with this
            failure as the cause of their error.
    """
    session._check_usable()
    failures: list[BaseException] = []
    children = Children("running queues")

    async def fill(runner: QueueRunner) -> None:
        try:
            await runner.fill(session)
        except Exception as exc:
            failures.append(exc)
            with contextlib.suppress(Exception):
                await session.run(runner.cancel_op)

    for runner in session.graph.get_collection(collection):
        _ = children.start(fill(runner), name=f"queue runner {runner.name}")
    try:
        yield
    except Exception as exc:
        if failures and exc is not failures[0]:
            raise failures[0] from exc
        raise
    finally:
        await children.stop()
    if failures:
        raise failures[0]
