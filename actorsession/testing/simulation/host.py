"""A simulated host: one process on a machine of the simulation, with its clock, entropy, processes and callbacks.

A ``SimulatedHost`` holds the callbacks that its process is about to run; ``SimulatedLoop`` decides when. It lives
until it crashes. ``restart`` gives the next process of the same machine: the same name, disk and network, everything
else new.

Invariant: nothing of a dead host runs again. Its tasks and callbacks are kept until the simulation ends, so that no
``finally`` of theirs runs meanwhile; what is left of them then runs on the dead host, where nothing has an effect.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import errno
import posixpath
import random
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from actorsession.process_bound import ProcessBound
from transports.host import HOST, Clock, Entropy, Files, Host, Network, Processes, StartedThread, Workers

if TYPE_CHECKING:
    from actorsession.testing.simulation.loop import SimulatedLoop

__all__ = [
    "HostCrash",
    "HostFuture",
    "HostTask",
    "SimulatedClock",
    "SimulatedEntropy",
    "SimulatedHost",
    "SimulatedProcesses",
]

# Seconds since 1970 at which simulations begin: some day, the same for all.
_EPOCH = 1_700_000_000.0
# Processors of each host: as few as make kernels of one host run side by side.
_PROCESSORS = 4
# The first process ids; Linux counts from low numbers too.
_FIRST_PID = 100


class HostCrash(BaseException):
    """The host has died in the middle of a call; ``SimulatedHost.die`` raises it, and nothing should catch it."""


class HostFuture(asyncio.Future[Any]):
    """A future of a host: nobody has to hear of its error once the host is dead."""

    __slots__ = ("host",)

    def __init__(self, loop: SimulatedLoop, host: SimulatedHost) -> None:
        super().__init__(loop=loop)
        self.host = host


class HostTask(asyncio.Task[Any]):
    """A task of a host, whose place in a set is a function of the seed."""

    number = 0
    host: SimulatedHost

    def __hash__(self) -> int:
        return self.number


class SimulatedClock(Clock):
    """The clock of a simulated host. Reading it takes time, as everything does.

    Args:
        loop: whose virtual time it shows.
        rate: seconds that it counts in a second; 1.0 is exact.
        uptime: what ``monotonic`` shows now.
        offset: seconds by which ``time`` is ahead of the other hosts.
    """

    def __init__(self, loop: SimulatedLoop, *, rate: float = 1.0, uptime: float = 0.0, offset: float = 0.0) -> None:
        self._loop = loop
        self._since = loop.now
        self._base = uptime
        self._rate = rate
        self._wall = _EPOCH + self._since - uptime + offset

    @property
    def rate(self) -> float:
        """Seconds that the clock counts in a second."""
        return self._rate

    def drift(self, rate: float) -> None:
        """Count ``rate`` seconds in each second from now on."""
        self._base, self._since, self._rate = self.at(self._loop.now), self._loop.now, rate

    def jump(self, seconds: float) -> None:
        """Set the time of day forward, or back; ``monotonic`` goes on."""
        self._wall += seconds

    def at(self, now: float) -> float:
        """Return what ``monotonic`` shows at a virtual time."""
        return self._base + (now - self._since) * self._rate

    def until(self, when: float) -> float:
        """Return the virtual time at which ``monotonic`` shows ``when``."""
        return self._since + (when - self._base) / self._rate

    def monotonic(self) -> float:
        """Return the seconds since some moment."""
        return self._base + (self._loop.read() - self._since) * self._rate

    perf_counter = monotonic
    process_time = monotonic

    def perf_counter_ns(self) -> int:
        """Return the nanoseconds since some moment."""
        return int(self.monotonic() * 1e9)

    def time(self) -> float:
        """Return the seconds since 1970."""
        return self._wall + self.monotonic()

    def time_ns(self) -> int:
        """Return the nanoseconds since 1970."""
        return int(self.time() * 1e9)

    def sleep(self, seconds: float) -> None:  # type: ignore[override]
        """Let time pass for all hosts, because nothing else runs while this call does."""
        self._loop.pass_time(seconds)


class SimulatedEntropy(Entropy):
    """Random numbers of a stream of the seed."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self.random = source.random

    def randbits(self, k: int) -> int:
        """Return a number of ``k`` random bits."""
        return self._source.getrandbits(k)

    def token_bytes(self, nbytes: int | None = None) -> bytes:
        """Return random bytes, 32 unless told otherwise."""
        return self._source.randbytes(32 if nbytes is None else nbytes)

    def token_hex(self, nbytes: int | None = None) -> str:
        """Return random bytes as hexadecimal digits."""
        return self.token_bytes(nbytes).hex()


class SimulatedProcesses(Processes):
    """The threads and pools of a simulated host, whose work is callbacks of the loop."""

    are_visible = False

    def __init__(self, host: SimulatedHost, pid: int) -> None:
        self._host = host
        self._pid = pid

    def getpid(self) -> int:
        """Return the number of this process, which no other process of the simulation has."""
        return self._pid

    def processors(self) -> int:
        """Return how many processors all hosts have."""
        return _PROCESSORS

    def start_thread(self, work: Callable[[], object], name: str) -> StartedThread:
        """Call ``work`` after a while, and again for as long as it returns True."""
        return _SimulatedThread(self._host, work)

    def every(self, seconds: float, work: Callable[[], object], name: str) -> Callable[[], None]:
        """Call ``work`` every so many seconds, for as long as it returns True."""
        return _SimulatedThread(self._host, work, seconds).end

    def workers(self, number: int, name: str) -> Workers:
        """Return simulated threads, at most ``number`` of which work at once."""
        return SimulatedWorkers(self._host, number, name)

    def check_wait(self) -> NoReturn:
        """Refuse a wait for another thread, which would stop all hosts.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(f"a thread of the simulated host {self._host.name} must not wait: nothing else would run")

    async def start(self, *words: Any, **options: Any) -> NoReturn:
        """Refuse to start a program."""
        raise BlockingIOError(errno.EAGAIN, "a simulated host starts no programs")


class _SimulatedThread:
    """A thread of a simulated host: a work that is done now and then."""

    def __init__(self, host: SimulatedHost, work: Callable[[], object], seconds: float | None = None) -> None:
        self._host = host
        self._work = work
        self._seconds = seconds
        self._is_alive = True
        self._go_on()

    def _go_on(self) -> None:
        delay = None if self._seconds is None else self._seconds / self._host.clock.rate
        self._host.loop.call_in_thread(delay, self._host, self._step)

    def _step(self) -> None:
        if self._is_alive and self._work() is True:
            self._go_on()
        else:
            self._is_alive = False

    def end(self) -> None:
        """Do the work no more."""
        self._is_alive = False

    def is_alive(self) -> bool:
        """Return whether there is work left."""
        return self._is_alive

    def join(self, timeout: float | None = None) -> None:
        """Return at once: nothing can happen during a call."""


class SimulatedWorkers(Workers):
    """Threads of a simulated host: work begins after a while, and its result is seen after another while.

    Args:
        host: on which they run.
        workers: how many works may be under way at once.
        name: what they are called in the trace.
    """

    def __init__(self, host: SimulatedHost, workers: int, name: str) -> None:
        self._host = host
        self._free = workers
        self._name = name
        self._line: deque[partial[None]] = deque()
        self._is_shut_down = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Run ``fn(*args, **kwargs)`` in one of the threads.

        Raises:
            RuntimeError: after ``shutdown``.
        """
        self._check_open()
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._line.append(partial(self._do, future, partial(fn, *args, **kwargs)))
        self._next()
        return future

    def serve(self, take: Callable[[], Callable[[], object] | None]) -> None:
        """Let a thread do one work after the other, each a while after it was taken.

        Raises:
            RuntimeError: after ``shutdown``.
        """
        self._check_open()
        self._line.append(partial(self._take, take))
        self._next()

    def _check_open(self) -> None:
        if self._is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def _next(self) -> None:
        """Let a thread that is free begin the next work, each after a while of its own."""
        if self._free and self._line:
            self._free -= 1
            self._host.loop.call_in_thread(None, self._host, self._line.popleft())

    def _ended(self) -> None:
        self._free += 1
        self._next()

    def _do(self, future: concurrent.futures.Future[Any], work: Callable[[], Any]) -> None:
        """Do a work; let its result be seen when it ends."""
        if not future.set_running_or_notify_cancel():
            self._ended()
            return
        try:
            settle = partial(future.set_result, work())
        except HostCrash:
            raise
        except BaseException as error:
            settle = partial(future.set_exception, error)
        self._host.loop.call_in_thread(None, self._host, self._settle, settle)

    def _settle(self, settle: Callable[[], None]) -> None:
        self._ended()
        settle()

    def _take(self, take: Callable[[], Callable[[], object] | None]) -> None:
        work = take()
        if work is None:
            self._ended()
        else:
            self._host.loop.call_in_thread(None, self._host, self._do_taken, take, work)

    def _do_taken(self, take: Callable[[], Callable[[], object] | None], work: Callable[[], object]) -> None:
        try:
            work()
        finally:
            self._host.loop.call_in_thread(None, self._host, self._take, take)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work. ``wait`` has no effect: nothing can happen during a call."""
        self._is_shut_down = True
        while cancel_futures and self._line:
            future = self._line.popleft().args[0]
            if isinstance(future, concurrent.futures.Future):
                future.cancel()
                future.set_running_or_notify_cancel()


class SimulatedHost(Host, ProcessBound):
    """One process on a simulated machine.

    Args:
        loop: the loop that runs it.
        name: of the machine.
        files: its disk; the files of this machine unless given.
        network: its network.
        incarnation: how many processes the machine had before.
        clock: the clock of its machine; a new one, with a drawn uptime, unless given.

    Attributes:
        loop: the loop that runs it.
        incarnation: how many processes the machine had before.
        is_dead: whether it has crashed.
        is_stalled: whether its process is stopped, so that its callbacks are held.
        ready: callbacks that are about to run. Only the loop and its tests use this and what follows.
        free: the virtual time until which the process is busy.
        threads: calls of its threads that are held while it is stalled.
        turn: the number of its next turn in the loop; 0 for none, -1 while it cannot have one.
    """

    __slots__ = (
        "_held",
        "_tasks",
        "base",
        "default_executor",
        "free",
        "incarnation",
        "is_dead",
        "is_stalled",
        "loop",
        "ready",
        "threads",
        "turn",
    )

    clock: SimulatedClock

    def __init__(
        self,
        loop: SimulatedLoop,
        name: str,
        *,
        files: Files | None = None,
        network: Network | None = None,
        incarnation: int = 0,
        clock: SimulatedClock | None = None,
    ) -> None:
        source = loop.random(f"host {name} {incarnation}")
        super().__init__(
            name,
            # Machines have been up for different times: what compares the clocks of two shows it.
            clock=clock or SimulatedClock(loop, uptime=source.uniform(1e2, 1e5)),
            entropy=SimulatedEntropy(source),
            files=files,
            network=network,
            processes=SimulatedProcesses(self, loop.number(_FIRST_PID)),
        )
        self.loop = loop
        self.incarnation = incarnation
        self.is_dead = False
        self.is_stalled = False
        self.ready: deque[asyncio.Handle] = deque()
        self.threads: list[asyncio.Handle] = []
        self.free = loop.now
        self.turn = 0
        self.default_executor = SimulatedWorkers(self, 32, "asyncio")
        self.base = contextvars.Context()
        self.base.run(HOST.set, self)
        self._tasks: dict[int, weakref.ref[asyncio.Task[Any]]] = {}
        self._held: list[object] = []
        loop.hosts.append(self)

    def shown(self, line: str) -> str:
        """Return a line of the program without its folder: a run is the same wherever the program lies."""
        return posixpath.basename(line)

    def shown_version(self, version: str) -> str:
        """Return one version for all: those of two builds differ in length."""
        return "0+simulated"

    def tasks(self) -> list[asyncio.Task[Any]]:
        """Return the tasks that have not ended, in the order in which they began."""
        return [task for kept in list(self._tasks.values()) if (task := kept()) is not None and not task.done()]

    def add_task(self, number: int, task: asyncio.Task[Any]) -> None:
        """Remember a task of this host; the loop calls it."""
        if self.is_dead:
            self._held.append(task)
            return
        tasks = self._tasks
        tasks[number] = weakref.ref(task, lambda _gone: tasks.pop(number, None))

    def hold(self, what: object) -> None:
        """Keep something of a dead host from being collected while the simulation runs."""
        self._held.append(what)

    def take_held(self) -> list[object]:
        """Return what ``hold`` has kept, and keep it no longer."""
        held, self._held = self._held, []
        return held

    def crash(self) -> None:
        """End the process: its callbacks, timers and tasks never run again. May be called twice."""
        if self.is_dead:
            return
        self.loop.note(f"{self.name} crashes")
        self.is_dead = True
        self.turn = -1
        self._held += [*self.tasks(), *self.ready, *self.threads, self._own]
        self.ready.clear()
        for kept in self._own.values():
            if hasattr(kept, "process_ended"):
                kept.process_ended()

    def die(self) -> NoReturn:
        """Crash in the middle of a call of this process, as at a write to a disk.

        Raises:
            HostCrash: always, so that the call goes no further.
        """
        self.crash()
        raise HostCrash(self.name)

    def stall(self) -> None:
        """Stop the process, as SIGSTOP does: callbacks and timers that are due are held."""
        if self.is_stalled or self.is_dead:
            return
        self.loop.note(f"{self.name} stalls")
        self.is_stalled = True
        # The loop may be in a turn of this host, and goes on while its queue has something.
        held = deque(self.ready)
        self.ready.clear()
        self.ready = held
        self.turn = -1

    def go_on(self) -> None:
        """Continue a process that was stopped."""
        if not self.is_stalled or self.is_dead:
            return
        self.loop.note(f"{self.name} goes on")
        self.is_stalled = False
        self.turn = 0
        if self.ready:
            self.loop.queue(self)
        threads, self.threads = self.threads, []
        for handle in threads:
            self.loop.resume_thread(self, handle)

    def drift(self, rate: float) -> None:
        """Let the clock count ``rate`` seconds in each second; timers follow."""
        self.loop.note(f"{self.name} drifts to {rate!r}")
        self.clock.drift(rate)
        self.loop.set_timers_anew(self)

    def restart(self) -> SimulatedHost:
        """Return the next process of the machine; this one crashes, if it has not yet."""
        self.crash()
        return SimulatedHost(
            self.loop,
            self.name,
            files=self.files,
            network=self.network,
            incarnation=self.incarnation + 1,
            clock=self.clock,
        )

    def __repr__(self) -> str:
        state = " (dead)" if self.is_dead else " (stalled)" if self.is_stalled else ""
        return f"<SimulatedHost {self.name}/{self.incarnation}{state}>"
