"""The simulated loop: an asyncio event loop whose time is virtual and whose order is drawn from a seed.

Many hosts run in one loop, each a process of its own: the context of a callback says to which it belongs
(``transports.host``). The callbacks of one host run in the order in which they were scheduled, as asyncio
promises. Each takes its host a drawn while, during which other hosts run: so the order between hosts is drawn.
When no callback is ready, time jumps to the next timer.

Invariant: a run is a function of the seed. Nothing here asks for the real time, draws elsewhere, or iterates over
a set; tasks have their number as hash, because asyncio keeps sets of them and cancels in their order. The garbage
collector rests during a run, as it would run finalizers when it likes.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import gc
import logging
import sys
import threading
import warnings
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from actorsession.process_bound import ProcessBound
from actorsession.testing.simulation.host import HostFuture, HostTask, SimulatedHost, SimulatedWorkers
from actorsession.testing.simulation.schedule import Schedule, SimulationError
from transports.host import HOST, on_host

__all__ = ["SimulatedLoop", "SimulationError"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# What tasks that were cancelled at the end of a run may still take.
_END_SECONDS = 3600.0
_END_CALLBACKS = 1_000_000
# Of more objects, those from before a run are frozen while it runs: the library's 70,000 take a collection 0.1 s.
_MANY_OBJECTS = 50_000
# How often the coroutine of a dead host may go on to another await when it is closed.
_MOST_CLOSES = 100

if TYPE_CHECKING:
    # The abstract class of typeshed demands the sockets, signals and processes that a simulation refuses.
    _Loop = asyncio.BaseEventLoop
else:
    _Loop = asyncio.AbstractEventLoop


class SimulatedLoop(Schedule, _Loop, ProcessBound):
    """An event loop of simulated hosts.

    Args:
        seed: what the run is a function of.
        shuffle: whether the order of the callbacks of one host is drawn too. Asyncio promises that it is not, so
            this is for code that means to rely on less.
        trace_callbacks: whether the trace has a line for each callback.
        most_seconds: virtual time after which a run fails.
        most_callbacks: callbacks after which it does.

    Attributes:
        seed: what the run is a function of.
        trace: what has happened, in lines of text.
        hosts: all hosts, the dead as well, in the order of their beginning.
        host: the one on which ``run`` runs: the place of the test, which is no part of a cluster.
        callbacks: how many callbacks have run.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        shuffle: bool = False,
        trace_callbacks: bool = False,
        most_seconds: float = 1e6,
        most_callbacks: int = 50_000_000,
    ) -> None:
        super().__init__(
            seed,
            shuffle=shuffle,
            trace_callbacks=trace_callbacks,
            most_seconds=most_seconds,
            most_callbacks=most_callbacks,
        )
        self._tasks = 0
        self._closed = False
        self._debug = False
        self._thread: int | None = None
        self._executor: concurrent.futures.Executor | None = None
        self._is_shut_down = False
        self._generators = _Generators(self)
        self._make_task: Callable[..., asyncio.Future[Any]] | None = None
        self.host = SimulatedHost(self, "here")

    # -- time ------------------------------------------------------------------------------------------

    def time(self) -> float:
        """Return what the clock of the current host shows."""
        return self.host_of(None).clock.monotonic()

    # -- scheduling ------------------------------------------------------------------------------------

    def host_of(self, context: contextvars.Context | None) -> SimulatedHost:
        """Return the host of a context; code that was given none is of the test."""
        host = HOST.get() if context is None else context.get(HOST)
        return host if isinstance(host, SimulatedHost) else self.host

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Call a function as soon as its host is free."""
        if self._closed:
            self._check_closed()
        if context is None:
            context = contextvars.copy_context()
        host = context.get(HOST)
        if host.__class__ is not SimulatedHost:
            host = self.host
        handle = asyncio.Handle(callback, args, self, context)
        if host.is_dead:
            host.hold(handle)
            return handle
        host.ready.append(handle)
        if not host.turn:
            self.queue(host)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Call a function soon; refuse other threads than the one of the loop."""
        self._check_thread()
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """Call a function when its host's clock has counted ``delay`` seconds."""
        host = self.host_of(context)
        return self._call_at(host, host.clock.monotonic() + delay, callback, args, context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """Call a function when its host's clock shows ``when``."""
        return self._call_at(self.host_of(context), when, callback, args, context)

    def _call_at(
        self,
        host: SimulatedHost,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
    ) -> asyncio.TimerHandle:
        self._check_closed()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if host.is_dead:
            host.hold(handle)
            return handle
        handle._scheduled = True  # type: ignore[attr-defined]
        self._push(host.clock.until(when), host, handle)
        return handle

    # -- running ---------------------------------------------------------------------------------------

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on ``host`` until it ends, then end everything that it has left behind.

        The loop is closed afterwards.

        Returns:
            Its result.

        Raises:
            SimulationError: nothing is left to happen before it has ended, or a limit has passed.
        """
        with _resting_collector(), on_host(self.host):
            try:
                result = self.run_until_complete(main)
                self._end()
                return result
            except BaseException:
                with contextlib.suppress(SimulationError):
                    self._end()
                raise
            finally:
                _bury(self)

    def _end(self) -> None:
        """Cancel what the main task has left behind, and let it end within limits of its own."""
        self._most_seconds, self._most_callbacks = self._now + _END_SECONDS, self.callbacks + _END_CALLBACKS
        for host in self.hosts:
            host.go_on()
        self._alarm = self._most_callbacks
        left = self.tasks()
        for _host, task in left:
            task.cancel()
        if left:
            self.run_until_complete(asyncio.wait([task for _host, task in left]))
        self.run_until_complete(self.shutdown_asyncgens())

    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        """Run until a future is done, and return its result; see ``run``, which also tidies up."""
        self._check_closed()
        is_new = not asyncio.isfuture(future)
        # The loop is the owner of its main task.
        task = asyncio.ensure_future(future, loop=self)  # type: ignore[arg-type]
        if is_new:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        task.add_done_callback(self._stop_with)
        try:
            self.run_forever()
        except BaseException:
            if is_new and task.done() and not task.cancelled():
                task.exception()  # which is then the one that is raised
            raise
        finally:
            task.remove_done_callback(self._stop_with)
        if not task.done():
            raise RuntimeError("Event loop stopped before Future completed.")
        return task.result()

    def _stop_with(self, _future: asyncio.Future[Any]) -> None:
        self.stop()

    def run_forever(self) -> None:
        """Run until ``stop`` is called."""
        self._check_closed()
        if self._thread is not None:
            raise RuntimeError("This event loop is already running")
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("Cannot run the event loop while another loop is running")
        hooks = sys.get_asyncgen_hooks()
        depth = sys.get_coroutine_origin_tracking_depth()
        self._thread = threading.get_ident()
        try:
            if self._debug:
                sys.set_coroutine_origin_tracking_depth(10)
            sys.set_asyncgen_hooks(firstiter=self._generators.begins, finalizer=self._generators.ends)
            asyncio._set_running_loop(self)
            self._run()
        finally:
            self._stopping = False
            self._thread = None
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)
            sys.set_coroutine_origin_tracking_depth(depth)

    def stop(self) -> None:
        """Stop the loop after the current callback."""
        self._stopping = True

    def is_running(self) -> bool:
        """Return whether the loop runs."""
        return self._thread is not None

    def is_closed(self) -> bool:
        """Return whether the loop was closed."""
        return self._closed

    def close(self) -> None:
        """Close the loop; what was scheduled is dropped."""
        if self._thread is not None:
            raise RuntimeError("Cannot close a running event loop")
        self._closed = True
        self._events.clear()

    def _check_closed(self) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")

    def _check_thread(self) -> None:
        """Refuse calls of real threads, which come when they like."""
        if self._thread is not None and self._thread != threading.get_ident():
            raise RuntimeError("a simulated loop has one thread: start others by current_host().processes")

    # -- futures, tasks, threads and generators --------------------------------------------------------

    def create_future(self) -> asyncio.Future[Any]:
        """Return a new future of the current host."""
        return HostFuture(self, self.host_of(None))

    def create_task(  # type: ignore[override, unused-ignore]
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
        **options: Any,
    ) -> asyncio.Task[T]:
        """Start a task on the host of its context."""
        self._check_closed()
        if self._make_task is not None:
            given = {} if context is None else {"context": context}
            return self._make_task(self, coro, name=name, **given, **options)  # type: ignore[return-value]
        self._tasks += 1
        number = self._tasks
        host = self.host_of(context)
        task = HostTask.__new__(HostTask)
        task.number, task.host = number, host  # before asyncio puts it into a set
        task.__init__(coro, loop=self, name=name or f"Task-{number}", context=context, **options)  # type: ignore[misc]
        host.add_task(number, task)
        return task

    def set_task_factory(self, factory: Callable[..., asyncio.Future[Any]] | None) -> None:
        """Set what makes tasks, None for the loop itself."""
        self._make_task = factory

    def get_task_factory(self) -> Callable[..., asyncio.Future[Any]] | None:
        """Return what makes tasks, None if it is the loop itself."""
        return self._make_task

    def run_in_executor(  # type: ignore[override]
        self, executor: concurrent.futures.Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Call a function in a simulated thread, by default one of the current host."""
        self._check_closed()
        if executor is None:
            if self._is_shut_down:
                raise RuntimeError("Executor shutdown has been called")
            executor = self._executor or self.host_of(None).default_executor
        if not isinstance(executor, SimulatedWorkers):
            raise TypeError(f"a simulated loop has no threads: make {executor!r} by current_host().processes")
        return asyncio.wrap_future(executor.submit(func, *args), loop=self)

    def set_default_executor(self, executor: concurrent.futures.Executor) -> None:
        """Set the executor of all hosts."""
        self._executor = executor

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Take no more work for the default executor."""
        self._is_shut_down = True

    async def shutdown_asyncgens(self) -> None:
        """Close the asynchronous generators of living hosts."""
        await self._generators.shutdown()

    def get_debug(self) -> bool:
        """Return whether the loop is in debug mode."""
        return self._debug

    def set_debug(self, enabled: bool) -> None:
        """Record where coroutines and callbacks were made, if enabled."""
        self._debug = enabled

    def __repr__(self) -> str:
        return f"<SimulatedLoop seed={self.seed} now={self._now:.6f} hosts={len(self.hosts)}>"


class _Generators:
    """The asynchronous generators of a loop, each with the host on which it has begun."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._hosts: weakref.WeakKeyDictionary[AsyncGenerator[Any, Any], SimulatedHost] = weakref.WeakKeyDictionary()

    def begins(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Remember a generator of the current host."""
        self._hosts[generator] = self._loop.host_of(None)

    def ends(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Close a generator that was dropped, on its own host."""
        host = self._hosts.pop(generator, self._loop.host)
        if host.is_dead:
            host.hold(generator)
        elif not self._loop.is_closed():
            with on_host(host):
                self._loop.call_soon(self._loop.create_task, generator.aclose())

    async def shutdown(self) -> None:
        """Close those of living hosts; tell of their errors."""
        living = [generator for generator, host in list(self._hosts.items()) if not host.is_dead]
        ended = await asyncio.gather(*[generator.aclose() for generator in living], return_exceptions=True)
        for generator, error in zip(living, ended, strict=True):
            if isinstance(error, Exception):
                told = f"an error occurred during closing of asynchronous generator {generator!r}"
                self._loop.call_exception_handler({"message": told, "exception": error, "asyncgen": generator})


@contextlib.contextmanager
def _resting_collector() -> Iterator[None]:
    """Let nothing be collected until the block asks, and then look only at what was made in it."""
    # Counting what is frozen walks over all of it, which a test suite may have frozen: some 0.1 s.
    was_enabled, freezes = gc.isenabled(), len(gc.get_objects()) > _MANY_OBJECTS and not gc.get_freeze_count()
    gc.disable()
    if freezes:
        gc.freeze()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()
        if was_enabled:
            gc.enable()


def _bury(loop: SimulatedLoop) -> None:
    """Release all that hosts have left: quietly, and on them, where nothing has an effect any more."""
    gc.collect()  # what the living have left may complain
    for host in loop.hosts:
        host.crash()
    unraisable = sys.unraisablehook
    sys.unraisablehook = lambda _what: None
    disabled = logging.root.manager.disable
    logging.disable()
    asyncio._set_running_loop(loop)  # which the code of the dead asks for as well
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for host in loop.hosts:
                host.base.run(_close_all, host)
            loop.close()
            gc.collect()
    finally:
        asyncio._set_running_loop(None)
        logging.disable(disabled)
        sys.unraisablehook = unraisable


def _close_all(host: SimulatedHost) -> None:
    """Close the coroutines of a dead host."""
    while held := host.take_held():  # what they hold while they close is closed too
        for task in held:
            if isinstance(task, asyncio.Task):
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                _close(task.get_coro())


def _close(coroutine: Any) -> None:
    for _ in range(_MOST_CLOSES):
        try:
            coroutine.close()
        except BaseException:  # code of the dead, which awaits again or fails
            continue
        return
