"""The runs of step programs between a client and a master of one process, on one event loop or two.

``LocalCalls`` is for them what ``StepCalls`` is for a link: the master registers programs there, and the
client runs them by their numbers. Nothing is encoded. On one loop a run is a direct call, and so is its
answer; between two loops each of them is one callback.

Invariants: those of ``step_calls``. A waiter is called on the loop of the client, and a program on that of
the master. What one side calls on the other loop is called there in the same order.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from actorsession.actors.context import ProgramTable
from actorsession.errors import AbortedError, CancelledError, OpError, from_exception
from actorsession.graph.codec import bytes_held
from actorsession.messages.session import RegisterProgram
from actorsession.messages.step_frames import WireValues, write_value
from actorsession.records import dataclass

__all__ = ["LocalCalls", "LocalRun", "LocalValues", "RegisterLocalProgram", "programs_are_used"]

_running_loop = asyncio.events._get_running_loop
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class RegisterLocalProgram:
    """A request for a step program by a client in this process; never sent over a link.

    Attributes:
        session_handle: the session.
        request: the request.
        programs: where the program is registered.
    """

    session_handle: str
    request: RegisterProgram
    programs: ProgramTable


class LocalValues(list[Any]):
    """The values of a run in one process, with the methods of ``WireValues``; arrays do not change.

    Args:
        values: the values.

    Attributes:
        nbytes: the bytes of large tensors; see ``WireValues.nbytes``.
    """

    __slots__ = ("nbytes",)

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.nbytes = bytes_held(self)

    def pass_on(self, number: int, other: WireValues) -> None:
        """Add one of these values to those of a frame.

        Raises:
            InvalidArgumentError: for a value that cannot be encoded.
        """
        write_value(self[number], other.items, other.segments)

    read = list.__getitem__

    def read_all(self) -> Sequence[Any]:
        """Return all values."""
        return self


def programs_are_used() -> bool:
    """Return whether step programs are used; ``ACTORSESSION_STEP_PROGRAMS=0`` turns them off."""
    return os.environ.get("ACTORSESSION_STEP_PROGRAMS", "1") != "0"


class ValueWaiter(Protocol):
    """Receives the outcome of a run; see ``RunWaiter``."""

    def done(self, values: LocalValues, extra: Any) -> None:
        """The run has succeeded."""

    def failed(self, error: OpError) -> None:
        """The run has failed."""

    def gone(self) -> None:
        """The master does not know the program; nothing was run."""


class LocalProgram(Protocol):
    """A program that a master in this process runs; see ``StepProgram``."""

    def begin(self, run: LocalRun) -> None:
        """Begin a run; see ``StepProgram.begin``."""


class LocalRun:
    """A run that a client in this process has requested; to its program what a ``ServedRun`` is.

    Attributes:
        seconds: how long the client waits at most; ``None`` for no limit.
        values: its feeds.
        on_cancel: called on the loop of the master if the client cancels the run before it was answered.
    """

    __slots__ = ("_client", "_number", "_waiting", "on_cancel", "seconds", "values")

    def __init__(
        self, waiting: Waiting, number: int, seconds: float | None, values: LocalValues,
        client: asyncio.AbstractEventLoop | None,
    ) -> None:  # fmt: skip
        self._waiting = waiting
        self._number = number
        self._client = client
        self.seconds = seconds
        self.values = values
        self.on_cancel: Callable[[], None] | None = None

    def done(self, values: LocalValues) -> None:
        """Answer the run with its values."""
        if self._client is not None and self._is_elsewhere(self.done, values):
            return
        found = self._waiting.pop(self._number, None)
        if found is None:  # the client has cancelled it
            return
        try:
            found[0].done(values, None)
        except Exception as exc:
            found[0].failed(from_exception(exc))

    def fail(self, error: OpError) -> None:
        """Answer the run with an error."""
        if self._is_elsewhere(self.fail, error):
            return
        found = self._waiting.pop(self._number, None)
        if found is not None:
            found[0].failed(error)

    def gone(self) -> None:
        """Answer that nothing was run, because the program cannot be used any more."""
        if self._is_elsewhere(self.gone):
            return
        found = self._waiting.pop(self._number, None)
        if found is not None:
            found[0].gone()

    def _is_elsewhere(self, again: Callable[..., None], *args: Any) -> bool:
        """Return whether the client has another loop; ``again`` is called there then."""
        client = self._client
        if client is None or _running_loop() is client:
            return False
        self.on_cancel = None
        with suppress(RuntimeError):  # the loop of the client is closed: there is no waiter
            client.call_soon_threadsafe(again, *args)
        return True

    def cancel(self) -> None:
        """Cancel the run, on the loop of the master; do nothing if it was answered."""
        if self.on_cancel is not None:
            self.on_cancel()


Waiting: TypeAlias = "dict[int, tuple[ValueWaiter, LocalRun]]"
"""The runs of a client that were not answered yet, with their waiters; used on the client's loop."""


class LocalCalls:
    """The step programs of a master in this process that one session runs.

    Args:
        peer_name: the name of the master.
        address: its address.

    Attributes:
        peer_name: the argument ``peer_name``.
        address: the argument ``address``.
        must_wait: as ``Link.must_wait``: a run never has to wait before it reaches the master.
    """

    must_wait = False

    def __init__(self, peer_name: str, address: str) -> None:
        self.peer_name = peer_name
        self.address = address
        self._programs: dict[int, LocalProgram] = {}
        self._waiting: Waiting = {}
        self._master: asyncio.AbstractEventLoop | None = None

    @property
    def steps(self) -> LocalCalls:
        """These calls, as ``Link.steps`` are those of a link."""
        return self

    # -- of the master, on its loop ------------------------------------------------------------

    def register(self, program: LocalProgram) -> int:
        """Let the client run a program, and return its number."""
        self._master = _running_loop()
        number = next(_NUMBERS)
        self._programs[number] = program
        return number

    def drop(self, number: int) -> None:
        """Remove a program; runs of it that have begun go on."""
        self._programs.pop(number, None)

    def _begin(self, number: int, run: LocalRun) -> None:
        program = self._programs.get(number)
        if program is None:
            run.gone()
            return
        try:
            program.begin(run)
        except Exception as exc:
            run.fail(from_exception(exc))

    # -- of the client, on its loop ------------------------------------------------------------

    def run(
        self, call: int, program: int, seconds: float | None, values: LocalValues,
        waiter: ValueWaiter,
    ) -> None:  # fmt: skip
        """Request a run, whose waiter may be called before this returns; see ``StepCalls.run``."""
        here = _running_loop()
        if self._master is here:
            run = LocalRun(self._waiting, call, seconds, values, None)
            self._waiting[call] = waiter, run
            self._begin(program, run)
            return
        run = LocalRun(self._waiting, call, seconds, values, here)
        self._call_master(self._begin, program, run)
        self._waiting[call] = waiter, run

    def cancel(self, call: int) -> None:
        """Cancel a run; its waiter is not called any more."""
        found = self._waiting.pop(call, None)
        if found is None:
            return
        if self._master is _running_loop():
            found[1].cancel()
        else:
            with suppress(AbortedError):
                self._call_master(found[1].cancel)

    def end(self) -> None:
        """End all runs, because the client has closed the connection."""
        while self._waiting:
            waiter, _ = self._waiting.popitem()[1]
            waiter.failed(CancelledError(f"the connection to {self.peer_name} was closed here"))

    def _call_master(self, callback: Callable[..., None], *args: Any) -> None:
        assert self._master is not None  # it has registered a program
        try:
            self._master.call_soon_threadsafe(callback, *args)
        except RuntimeError as exc:
            raise AbortedError(f"the event loop of {self.peer_name} is closed") from exc
