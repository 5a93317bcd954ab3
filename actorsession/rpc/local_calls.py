"""The runs of steps between a client and a master of one process, on one event loop or two.

``LocalCalls`` is for them what ``StepCalls`` is for a link. Nothing is encoded. On one loop a run is a direct
call, and so is its answer; between two loops each of them is one callback.

Invariants: those of ``step_calls``. A waiter is called on the loop of the client, and a program on that of
the master. What one side calls on the other loop is called there in the same order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeAlias

from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.actors.ref import LocalRef
from actorsession.errors import AbortedError, CancelledError, OpError, from_exception
from actorsession.graph.held_arrays import bytes_held
from actorsession.messages.step_frames import PARTIAL_RUN, CallRequest, StepRequest, WireValues, write_value
from actorsession.rpc.served_runs import MAX_PLANS, Parts, ServedRun, ServedSetup, Settle

__all__ = ["ClientRun", "LocalCalls", "LocalRun", "LocalValues"]

_running_loop = asyncio.events._get_running_loop


class LocalValues(list[Any]):
    """The values of a run in one process, with the methods of ``WireValues``; arrays do not change.

    Attributes:
        nbytes: the bytes of large tensors, which who makes the values sets; see ``WireValues.nbytes``.
    """

    __slots__ = ("nbytes",)
    nbytes: int

    @classmethod
    def of(cls, values: Iterable[Any]) -> LocalValues:
        """Return values with their bytes."""
        local_values = cls(values)
        local_values.nbytes = bytes_held(local_values)
        return local_values

    def pass_on(self, number: int, other: WireValues) -> None:
        """Add one of these values to those of a frame.

        Raises:
            InvalidArgumentError: for a value that cannot be encoded.
        """
        write_value(self[number], other.items, other.segments)

    read = list.__getitem__
    read_all = list.copy


class ValueWaiter(Protocol):
    """Receives the outcome of a run; see ``RunWaiter``."""

    def done(self, values: LocalValues, extra: Any) -> None:
        """The run has succeeded."""

    def failed(self, error: OpError) -> None:
        """The run has failed."""

    def gone(self) -> None:
        """The master does not know the program, or the partial run; nothing was run."""


class LocalProgram(Protocol):
    """A program that a master in this process runs; see ``StepProgram``."""

    def begin(self, run: LocalRun) -> None:
        """Begin a run; see ``StepProgram.begin``."""


class LocalRun:
    """A run that a client in this process has requested; to its program what a ``ServedRun`` is.

    Attributes:
        number: its number, chosen by the client.
        seconds: how long the client waits at most; ``None`` for no limit.
        values: its feeds.
        asked: what the client asks for beside the values; ``None`` for nothing.
        waiter: receives its outcome, unless the client cancels it.
        on_cancel: called on the loop of the master if the client cancels the run before it was answered.
    """

    __slots__ = ("_calls", "_client", "_settle", "asked", "number", "on_cancel", "seconds", "values", "waiter")

    def __init__(
        self,
        calls: LocalCalls,
        number: int,
        seconds: float | None,
        asked: Any,
        values: LocalValues,
        waiter: ValueWaiter,
        client: asyncio.AbstractEventLoop | None,
    ) -> None:
        self._calls = calls
        self.number = number
        self._client = client
        self.seconds = seconds
        self.values = values
        self.asked = asked
        self.waiter = waiter
        self.on_cancel: Callable[[], None] | None = None
        self._settle: Settle | None = None

    @staticmethod
    def fetched(parts: Parts, fetches: Iterable[tuple[int, int]]) -> Any:
        """Return the values of a run as its client takes them; see ``ServedRun.fetched``."""
        values = LocalValues()
        for number, at in fetches:
            part = parts[number]
            assert part is not None  # every part has returned
            values.append(part.read(at) if isinstance(part, WireValues) else part[at])
        values.nbytes = bytes_held(values) if values else 0
        return values

    @staticmethod
    def extra(*parts: Any) -> list[Any]:
        """Return what an answer says beside its values, as the client takes it."""
        return list(parts)

    def done(self, values: LocalValues, extra: Any = None, settle: Settle | None = None) -> None:
        """Answer the run with its values; see ``ServedRun.done``."""
        self._settle = settle
        if self._client is None:
            self.on_cancel = None  # it refers to the step, which refers to the run
        elif self._is_elsewhere(self.done, values, extra, settle):
            return
        calls, number = self._calls, self.number
        is_awaited = calls.waiting.pop(number, None) is not None
        if settle is not None:
            calls.hold_unsettled(self, is_awaited=is_awaited)
        if not is_awaited:  # the client has cancelled it
            return
        try:
            self.waiter.done(values, extra)
        except Exception as exc:
            self.waiter.failed(from_exception(exc))
            calls.confirm(number, received=False)

    def fail(self, error: OpError) -> None:
        """Answer the run with an error."""
        if not self._is_elsewhere(self.fail, error) and self._calls.waiting.pop(self.number, None) is not None:
            self.waiter.failed(error)

    def gone(self) -> None:
        """Answer that nothing was run, because the program or the partial run is not known."""
        if not self._is_elsewhere(self.gone) and self._calls.waiting.pop(self.number, None) is not None:
            self.waiter.gone()

    def open(self, setup: ServedSetup) -> Callable[[], object]:
        """Let the client make calls of the partial run that this run has set up; see ``ServedRun.open``."""
        self._calls.setups[self.number] = setup
        return partial(self._calls.setups.pop, self.number, None)

    def _is_elsewhere(self, again: Callable[..., None], *args: Any) -> bool:
        """Return whether the client has another loop; ``again`` is called there then."""
        client = self._client
        if client is None or _running_loop() is client:
            return False
        self.on_cancel = None
        try:
            client.call_soon_threadsafe(again, *args)
        except RuntimeError:  # the loop of the client is closed: there is no waiter
            self.settle(received=False)
        return True

    def cancel(self) -> None:
        """Cancel the run, on the loop of the master; do nothing if it was answered."""
        on_cancel, self.on_cancel = self.on_cancel, None
        if on_cancel is not None:
            on_cancel()

    def settle(self, *, received: bool) -> None:
        """Settle what the run has taken, if that was not done, on the loop of the master."""
        settle, self._settle = self._settle, None
        if settle is not None:
            settle(received)


ClientRun: TypeAlias = ServedRun | LocalRun
"""A run that a client has requested of a master, over a link or in this process."""


class LocalCalls:
    """The runs of one session at a master in this process, and its requests.

    Args:
        master: the master.
        address: its address.

    Attributes:
        peer_name: the name of the master.
        address: the argument ``address``.
        waiting: the runs that have no answer yet.
        must_wait: as ``Link.must_wait``: a run never has to wait before it reaches the master.
    """

    must_wait = False

    def __init__(self, master: LocalRef, address: str) -> None:
        self.peer_name = master.name
        self.address = address
        self._ref = master
        # These belong to the loop of the master.
        self._plans: dict[int, LocalProgram] = {}
        self.setups: dict[int, ServedSetup] = {}
        self._watchers: dict[object, Callable[[], None]] = {}
        self._is_over = False
        # Both belong to the loop of the client.
        self.waiting: dict[int, LocalRun] = {}
        self._unsettled: dict[int, LocalRun] = {}
        self._loop = master.loop

    @property
    def steps(self) -> LocalCalls:
        """These calls, as ``Link.steps`` are those of a link."""
        return self

    @property
    def pending(self) -> int:
        """How many runs have no answer yet."""
        return len(self.waiting)

    # -- of the master, on its loop ------------------------------------------------------------

    def _begin(self, number: int, run: LocalRun) -> None:
        try:
            program = self._plans.get(number)
            if program is None:
                plan = None if run.asked is None else run.asked.plan
                if plan is None:
                    run.gone()
                    return
                program = self._ref.actor.on_plan(plan, CallContext())  # type: ignore[attr-defined]
                self._plans[number] = program
                if len(self._plans) > MAX_PLANS:
                    del self._plans[next(iter(self._plans))]
            program.begin(run)
        except Exception as exc:
            run.fail(from_exception(exc))

    def _begin_call(self, setup: int, run: LocalRun) -> None:
        opened = self.setups.get(setup)
        if opened is None:
            run.gone()
            return
        try:
            opened.begin(run)  # type: ignore[arg-type] # it does the same with both kinds of runs
        except Exception as exc:
            run.fail(from_exception(exc))

    def _watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        if self._is_over:
            return asyncio.get_running_loop().call_soon(callback).cancel
        key = object()
        self._watchers[key] = callback

        def unregister() -> None:
            self._watchers.pop(key, None)

        return unregister

    def _end(self) -> None:
        watchers, self._watchers, self._is_over = self._watchers, {}, True
        for callback in watchers.values():
            callback()

    def _cancel(self, call: int, run: LocalRun) -> None:
        setup = self.setups.get(call)
        if setup is not None:
            setup.abandon()
        run.cancel()

    # -- of the client, on its loop ------------------------------------------------------------

    async def ask(self, message: Any, deadline: Deadline | None = None) -> Any:
        """Ask the master, which notices the end of these calls as it does that of a link; see ``Ref.ask``."""
        return await self._ref.ask(message, deadline, self._watch)

    def request(
        self,
        kind: int,
        call: int,
        number: int,
        seconds: float | None,
        asked: StepRequest | CallRequest | None,
        values: LocalValues,
        waiter: ValueWaiter,
    ) -> None:
        """Request a run, whose waiter may be called before this returns; see ``StepCalls.request``."""
        begin = self._begin_call if kind == PARTIAL_RUN else self._begin
        here = _running_loop()
        if self._loop is here or self._loop is None:
            run = self.waiting[call] = LocalRun(self, call, seconds, asked, values, waiter, None)
            begin(number, run)
        else:
            run = LocalRun(self, call, seconds, asked, values, waiter, here)
            self._call_master(begin, number, run)
            self.waiting[call] = run

    def hold_unsettled(self, run: LocalRun, *, is_awaited: bool) -> None:
        """Keep a run that has taken something until it is confirmed; settle one that nobody awaits."""
        if is_awaited:
            self._unsettled[run.number] = run
        else:
            self._call_master_soon(partial(run.settle, received=False))

    def cancel(self, call: int) -> None:
        """Cancel a run; its waiter is not called any more."""
        run = self.waiting.pop(call, None)
        if run is not None:
            self._call_master_soon(partial(self._cancel, call, run))

    def confirm(self, call: int, *, received: bool) -> None:
        """Tell the master whether the values of a run have reached its caller; see ``StepCalls.confirm``."""
        run = self._unsettled.pop(call, None)
        if run is not None:
            self._call_master_soon(partial(run.settle, received=received))

    def end(self) -> None:
        """End all runs, and the session if it is still open, because the client has closed the connection."""
        while self.waiting:
            _, run = self.waiting.popitem()
            run.waiter.failed(CancelledError(f"the connection to {self.peer_name} was closed here"))
        for call in list(self._unsettled):
            self.confirm(call, received=False)
        self._call_master_soon(self._end)

    def _call_master_soon(self, callback: Callable[[], None]) -> None:
        """Call something of the master; it has ended its runs itself if its loop is closed."""
        if self._loop is None or self._loop is _running_loop():
            callback()
        else:
            with suppress(AbortedError):
                self._call_master(callback)

    def _call_master(self, callback: Callable[..., None], *args: Any) -> None:
        assert self._loop is not None  # else the call is direct
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError as exc:
            raise AbortedError(f"the event loop of {self.peer_name} is closed") from exc
