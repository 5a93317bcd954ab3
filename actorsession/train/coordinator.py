"""``Coordinator``: threads of a program agree to stop, and the first exception is reported.

The semantics are TensorFlow's. The coordinator is independent of graphs and sessions; queue runners and the
user's own threads share one. Asyncio programs do not need it: see ``running_queues``.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeAlias

from actorsession.durations import MOST_SECONDS, checked_seconds
from actorsession.errors import OutOfRangeError
from actorsession.process_bound import ProcessBound
from actorsession.records import description

__all__ = ["Coordinator", "LooperThread"]

_ExcInfo: TypeAlias = "tuple[type[BaseException], BaseException, TracebackType | None]"
_log = logging.getLogger("actorsession.train")
# Seconds between two checks whether threads have ended after a request to stop.
_LOOK = 0.05


class Coordinator(ProcessBound):
    """The coordinator of threads that stop together.

    A thread checks ``should_stop()`` in its loop and calls ``request_stop(exception)`` when it fails. The
    code that started the threads calls ``join``, which raises the first such exception.

    Args:
        clean_stop_exception_types: exceptions that end threads without being errors; OutOfRangeError, which
            signals the end of a queue, if left out.
    """

    def __init__(self, clean_stop_exception_types: Sequence[type[BaseException]] | None = None) -> None:
        self._clean = (OutOfRangeError,) if clean_stop_exception_types is None else tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    # -- stopping ------------------------------------------------------------------------------

    def request_stop(self, ex: BaseException | _ExcInfo | None = None) -> None:
        """Request all threads to stop, and keep the first exception for ``join``.

        Args:
            ex: the failure, if there is one: an exception, or the result of ``sys.exc_info()``. If a stop was
                requested before, it is only logged.

        Raises:
            BaseException: ``ex`` itself, if ``join`` has returned already and cannot report it.
        """
        failure = ex[1] if isinstance(ex, tuple) else ex
        if failure is not None and not isinstance(failure, BaseException):
            raise TypeError(f"ex must be an exception or sys.exc_info(), got {type(failure).__name__}")
        with self._lock:
            if isinstance(failure, self._clean):
                failure = None
            if self._joined and failure is not None:
                raise failure
            if self._stop.is_set():
                if failure is not None:
                    _log.info("an exception was raised after the request to stop: %r", failure)
                return
            self._failure = failure
            self._stop.set()

    def clear_stop(self) -> None:
        """Withdraw the request to stop, with its exception."""
        with self._lock:
            self._joined = False
            self._failure = None
            self._stop.clear()

    def __repr__(self) -> str:
        return description(self, None, should_stop=self.should_stop(), joined=self._joined)

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is requested.

        Args:
            timeout: seconds; unlimited if left out.

        Returns:
            Whether a stop was requested.
        """
        if timeout is not None:
            timeout = min(checked_seconds("wait", timeout), MOST_SECONDS)
        return self._stop.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Return a context manager whose exceptions request a stop and are suppressed."""
        try:
            yield
        except BaseException as exc:
            self.request_stop(exc)

    # -- joining -------------------------------------------------------------------------------

    def register_thread(self, thread: threading.Thread) -> None:
        """Register a thread that ``join`` waits for."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Sequence[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until a stop is requested or all threads have ended, then until all have ended.

        Args:
            threads: threads to wait for, besides the registered ones.
            stop_grace_period_secs: seconds that threads may take after a stop was requested.
            ignore_live_threads: whether threads that still run then are ignored.

        Raises:
            BaseException: the exception with which the stop was requested.
            RuntimeError: if threads still run after the grace period; the message names them.
        """
        stop_grace_period_secs = checked_seconds("stop_grace_period_secs", stop_grace_period_secs)
        with self._lock:
            everyone = [*self._registered_threads, *(threads or ())]
        while any(t.is_alive() for t in everyone) and not self._stop.wait(_LOOK):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in everyone:
            while thread.is_alive() and time.monotonic() < end:
                thread.join(_LOOK)
        with self._lock:
            self._joined = True
            self._registered_threads.clear()
            failure = self._failure
        alive = sorted({t.name for t in everyone if t.is_alive()})
        if failure is not None:
            if alive:
                _log.info("threads that have not stopped yet: %s", ", ".join(alive))
            raise failure
        if alive and not ignore_live_threads:
            raise RuntimeError(
                f"Coordinator stopped with threads still running after {stop_grace_period_secs} s: {' '.join(alive)}"
            )

    @property
    def joined(self) -> bool:
        """Whether ``join`` has returned."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise the exception with which the stop was requested, if there is one."""
        with self._lock:
            failure = self._failure
        if failure is not None:
            raise failure


class LooperThread(threading.Thread, ProcessBound):
    """A thread that calls a function repeatedly until its coordinator requests a stop.

    Args:
        coord: the coordinator; an exception of the function requests a stop.
        timer_interval_secs: seconds from one call to the next; no pause if ``None``.
        target: the function.
        args: positional arguments of the function.
        kwargs: keyword arguments of the function.

    Raises:
        ValueError: if ``coord`` is no coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r}")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = (
            None if timer_interval_secs is None else checked_seconds("timer_interval_secs", timer_interval_secs)
        )
        self._function = target
        self._arguments = tuple(args or ())
        self._named = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> LooperThread:
        """Create a looper thread and start it."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Call the function until the coordinator requests a stop."""
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.should_stop():
                if self._interval is not None:
                    due += self._interval
                self.run_loop()
                if self._interval is not None:
                    self._coord.wait_for_stop(max(0.0, due - time.monotonic()))
            self.stop_loop()

    def start_loop(self) -> None:
        """Prepare the loop; called once before the first call, for subclasses."""

    def stop_loop(self) -> None:
        """Clean up after the loop; called once after the last call, for subclasses."""

    def run_loop(self) -> None:
        """Call the function once; subclasses may override this."""
        if self._function is not None:
            self._function(*self._arguments, **self._named)
