"""The schedule of a simulation: what happens next, and at which virtual time.

It has one queue of events in the order of their times: the turn of a host that has something to run, a timer, a
work of a simulated thread. Events of the same time come in a drawn order. ``SimulatedLoop`` is asyncio's face of it.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import random
from collections.abc import Callable
from typing import Any, cast

from actorsession.testing.simulation.host import HostCrash, SimulatedHost

__all__ = ["Schedule", "SimulationError"]

# The time that something takes is ``scale / (draw + tail)`` seconds: the median is twice the scale, one in a
# hundred takes some hundred times that, as when the system lets another process run, and none longer than
# ``scale / tail``. A division gives the same digits on every machine, a logarithm need not.
_TAIL = 1e-4
_CALLBACK = 1e-6
_READ = 1e-7
_WORK = 1e-5
# Cancelled timers that may stay in the queue, and their part of it, above which they are removed.
_MOST_CANCELLED = 100

_log = logging.getLogger("asyncio")

_Event = tuple[float, float, int, SimulatedHost, asyncio.Handle | None]


class SimulationError(Exception):
    """A run that cannot end: nothing is left to happen, or a limit has passed. It says what each task waits for."""


class Schedule:
    """What happens in a simulation, in its order.

    Args:
        seed: what the run is a function of.
        shuffle: whether the order of the callbacks of one host is drawn too.
        trace_callbacks: whether the trace has a line for each callback.
        most_seconds: virtual time after which a run fails.
        most_callbacks: callbacks after which it does.

    Attributes:
        seed: what the run is a function of.
        trace: what has happened, in lines of text.
        hosts: all hosts, the dead as well, in the order of their beginning.
        callbacks: how many callbacks have run.
    """

    def __init__(
        self, seed: int, *, shuffle: bool, trace_callbacks: bool, most_seconds: float, most_callbacks: int
    ) -> None:
        self.seed = seed
        self.trace: list[str] = []
        self.hosts: list[SimulatedHost] = []
        self.callbacks = 0
        self._now = 0.0
        self._draw = self.random("loop").random
        self._shuffle = shuffle
        self._trace_callbacks = trace_callbacks
        self._most_seconds = most_seconds
        self._most_callbacks = self._alarm = most_callbacks
        self._alarms: list[tuple[int, int, Callable[[], object]]] = []
        self._events: list[_Event] = []
        self._number = 0
        self._cancelled = 0
        self._stopping = False
        self._on_exception: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """Asyncio's face of the schedule, which is the same object."""
        return cast(asyncio.AbstractEventLoop, self)

    def random(self, name: str) -> random.Random:
        """Return a stream of random numbers of the seed; it depends on no other."""
        return random.Random(f"{self.seed} {name}")

    def number(self, first: int = 0) -> int:
        """Return a number that was not returned before, above all that were."""
        self._number += 1
        return first + self._number

    @property
    def now(self) -> float:
        """Virtual seconds since the run has begun."""
        return self._now

    def note(self, text: str) -> None:
        """Add a line to the trace."""
        self.trace.append(f"{self._now:.9f} {text}")

    def digest(self) -> str:
        """Return a line that differs, most likely, between two runs that were not the same."""
        return f"{self.callbacks} callbacks, {self._now!r} s, draw {self._draw()!r}"

    def tasks(self) -> list[tuple[SimulatedHost, asyncio.Task[Any]]]:
        """Return the tasks of living hosts that have not ended, in order."""
        return [(host, task) for host in self.hosts if not host.is_dead for task in host.tasks()]

    def waits(self) -> list[str]:
        """Return a line for each task that has not ended: its host, its name, where it waits, and for what."""
        return [
            f"{host.name}{' (stalled)' if host.is_stalled else ''}: {task.get_name()} {_wait_of(task)}"
            for host, task in self.tasks()
        ]

    def read(self) -> float:
        """Return the virtual time for a clock, whose reading takes a drawn while itself."""
        self._now += _READ / (self._draw() + _TAIL)
        return self._now

    def pass_time(self, seconds: float) -> None:
        """Let time pass within a callback, for all hosts."""
        self._now += seconds

    def call_beside(
        self, delay: float, host: SimulatedHost, callback: Callable[..., object], *args: Any
    ) -> asyncio.Handle:
        """Call a function on a host in ``delay`` seconds of virtual time, whatever its process does then.

        This is how the world acts on a host (its network, its disk, its threads): no clock of the host counts, and
        a stalled host is acted on as well.
        """
        handle = _Beside(callback, args, self._loop, host.base)
        self._push(self._now + delay, host, handle)
        return handle

    def call_in_thread(
        self, delay: float | None, host: SimulatedHost, callback: Callable[..., object], *args: Any
    ) -> None:
        """Let a thread of a host call a function in ``delay`` seconds of virtual time, or after a drawn while.

        The process need not be free; one that is stalled does it when it goes on.
        """
        self.resume_thread(host, _InThread(callback, args, self._loop, host.base), delay)

    def resume_thread(self, host: SimulatedHost, handle: asyncio.Handle, delay: float | None = None) -> None:
        """Let a thread of a host go on with a call after a while."""
        self._push(self._now + (_WORK / (self._draw() + _TAIL) if delay is None else delay), host, handle)

    def after(self, number: int, action: Callable[[], object]) -> None:
        """Call a function before the ``number``-th callback from now, of whatever host: between any two of one."""
        heapq.heappush(self._alarms, (self.callbacks + number - 1, self.number(), action))
        self._alarm = min(self._alarm, self._alarms[0][0])

    def _ring(self) -> None:
        """Do what is due after a number of callbacks."""
        if self.callbacks > self._most_callbacks:
            raise self._stuck(f"{self._most_callbacks} callbacks have run")
        while self._alarms and self.callbacks > self._alarms[0][0]:
            heapq.heappop(self._alarms)[2]()
        self._alarm = min([self._most_callbacks, *[alarm[0] for alarm in self._alarms[:1]]])

    def _push(self, when: float, host: SimulatedHost, handle: asyncio.Handle) -> None:
        self._number += 1
        heapq.heappush(self._events, (when, self._draw(), self._number, host, handle))

    def queue(self, host: SimulatedHost) -> None:
        """Give a host a turn, as soon as it is free."""
        self._number = host.turn = self._number + 1
        when = host.free
        if when < self._now:
            when = self._now
        heapq.heappush(self._events, (when, self._draw(), host.turn, host, None))

    def set_timers_anew(self, host: SimulatedHost) -> None:
        """Let the timers of a host follow its clock, whose rate has changed."""
        self._events = [
            (host.clock.until(event[4].when()), *event[1:])
            if event[3] is host and isinstance(event[4], asyncio.TimerHandle)
            else event
            for event in self._events
        ]
        heapq.heapify(self._events)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Count a timer that was cancelled; ``TimerHandle.cancel`` calls this."""
        if not handle._scheduled:  # type: ignore[attr-defined]
            return
        self._cancelled += 1
        if self._cancelled > _MOST_CANCELLED and self._cancelled > len(self._events) // 2:
            # In place: the loop may be about to look at it.
            self._events[:] = [event for event in self._events if event[4] is None or not event[4]._cancelled]
            heapq.heapify(self._events)
            self._cancelled = 0

    def _run(self) -> None:
        """Let one event happen after the other until ``stop`` is called."""
        heappop = heapq.heappop
        while not self._stopping:
            if not self._events:
                raise self._stuck("nothing is left to happen")
            when, _tie, number, host, handle = heappop(self._events)
            if when > self._now:
                self._now = when
                if when > self._most_seconds:
                    raise self._stuck(f"{self._most_seconds} s of virtual time have passed")
            if handle is None:
                if host.turn == number:
                    self._take_turn(host)
            elif handle._cancelled:
                self._cancelled -= 1
            elif host.is_dead:
                host.hold(handle)
            elif handle.__class__ is _InThread and host.is_stalled:
                host.threads.append(handle)
            elif isinstance(handle, _Beside):
                self._call(host, handle)
            else:
                handle._scheduled = False  # type: ignore[attr-defined]
                host.ready.append(handle)
                if not host.turn:
                    self.queue(host)

    def _take_turn(self, host: SimulatedHost) -> None:
        """Run callbacks of a host until it has no more, or something else is to happen before the next."""
        ready, draw, events, call = host.ready, self._draw, self._events, self._call
        while ready:
            if self._shuffle:
                ready.rotate(int(draw() * len(ready)))
            handle = ready.popleft()
            if handle._cancelled:
                continue
            call(host, handle)
            host.free = free = self._now + _CALLBACK / (draw() + _TAIL)
            if ready and ((events and events[0][0] <= free) or self._stopping):
                self.queue(host)
                return
            if free > self._now and ready:
                self._now = free
        if host.ready is ready and not host.is_dead:
            host.turn = 0

    def _call(self, host: SimulatedHost, handle: asyncio.Handle) -> None:
        """Make one call; an error ends the run if it is no ``Exception`` of the callback."""
        self.callbacks += 1
        if self.callbacks > self._alarm:
            self._ring()
            if host.is_dead:
                host.hold(handle)
                return
        if self._trace_callbacks:
            self.note(f"{host.name}: {_name_of(handle)}")
        try:
            handle._context.run(handle._callback, *handle._args)  # type: ignore[attr-defined]
        except (SystemExit, KeyboardInterrupt):
            raise
        except HostCrash:
            host.crash()  # if it was raised without
        except BaseException as error:
            told = f"Exception in callback {_name_of(handle)}"
            self.call_exception_handler({"message": told, "exception": error, "handle": handle})

    def set_exception_handler(
        self, handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None
    ) -> None:
        """Set what hears of errors that nobody awaits, None for the log."""
        self._on_exception = handler

    def get_exception_handler(self) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None:
        """Return what hears of errors that nobody awaits, None for the log."""
        return self._on_exception

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Log an error that nobody awaits."""
        error = context.get("exception")
        told = [f"{key}: {value!r}" for key, value in context.items() if key not in ("message", "exception")]
        _log.error("\n".join([context.get("message") or "Unhandled exception in event loop", *told]), exc_info=error)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Tell of an error that nobody awaits, unless its host is dead; what is of no host is of the first one."""
        future = context.get("task", context.get("future"))
        if getattr(future, "host", self.hosts[0]).is_dead:
            return
        self.note(f"{context.get('message')}: {type(context.get('exception')).__name__}")
        if self._on_exception is None:
            self.default_exception_handler(context)
            return
        try:
            self._on_exception(self._loop, context)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.default_exception_handler(
                {"message": "Unhandled error in exception handler", "exception": error, "context": context}
            )

    def _stuck(self, why: str) -> SimulationError:
        waits = self.waits()
        return SimulationError("\n".join([f"{why}, and {len(waits)} tasks wait (seed {self.seed}):", *waits]))


class _Beside(asyncio.Handle):
    """A call that takes no turn of its host's process."""


class _InThread(_Beside):
    """A call of a thread of the process, which stalls with it."""


def _name_of(handle: asyncio.Handle) -> str:
    """Return the name of a callback, without an address."""
    callback: Any = handle._callback  # type: ignore[attr-defined]
    of = getattr(callback, "__self__", None)
    if isinstance(of, asyncio.Task):
        return f"{of.get_name()} {getattr(of.get_coro(), '__qualname__', '')}"
    while hasattr(callback, "func"):
        callback = callback.func
    return str(getattr(callback, "__qualname__", type(callback).__qualname__))


def _wait_of(task: asyncio.Task[Any]) -> str:
    """Return where a task waits, from its outermost call to its innermost, and for what."""
    places = []
    awaited: Any = task.get_coro()
    while awaited is not None:
        frame = next((f for a in ("cr_frame", "gi_frame", "ag_frame") if (f := getattr(awaited, a, None))), None)
        if frame is None:
            break
        places.append(f"{getattr(awaited, '__qualname__', '?')} ({frame.f_code.co_filename}:{frame.f_lineno})")
        awaited = next((w for a in ("cr_await", "gi_yieldfrom", "ag_await") if (w := getattr(awaited, a, None))), None)
    waiter = getattr(task, "_fut_waiter", None)
    if isinstance(waiter, asyncio.Task):
        places.append(f"for {waiter.get_name()}")
    elif waiter is not None:
        places.append(f"for a {type(waiter).__name__.removeprefix('Host')}")
    return " > ".join(places) or "has not begun"
