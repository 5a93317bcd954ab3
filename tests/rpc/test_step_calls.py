from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest

from actorsession import errors
from actorsession.actors import Children
from actorsession.extend import DeviceFactory, DeviceKernels, register_device_factory, registration_scope
from actorsession.graph import lending
from actorsession.graph.codec import Buffer
from actorsession.messages.step_frames import (
    CANCEL,
    DONE,
    FAIL,
    GONE,
    LEND,
    PARTIAL_RUN,
    PUSH,
    RECEIVED,
    REFUSED,
    RETURNED,
    RUN_GRAPH,
    RUN_STEP,
    TRACED_PUSH,
    CallRequest,
    GraphRequest,
    StepRequest,
    WireValues,
    read_header,
    write_header,
)
from actorsession.rpc import pushes, served_runs
from actorsession.rpc.pushes import Pushed, PushTimes
from actorsession.rpc.served_runs import ServedRun, Settle, StepProgram
from actorsession.rpc.step_calls import StepCalls
from tests.rows import for_each

LARGE = np.zeros(5000)
PLAN = StepRequest(plan=["a plan"])


class End:
    """One end of a link: what it has sent, and what was pushed to it."""

    def __init__(self, peer: str = "peer") -> None:
        self.sent: list[tuple[list[Any], tuple[Buffer, ...]]] = []
        self.pushed: list[Pushed] = []
        self.busy = False
        self.meanwhile: Callable[[], object] = lambda: None  # done before a thread sends
        self.error: errors.OpError | None = None
        self.read_on = asyncio.Event()
        self.children = Children("test")
        self.calls = StepCalls(peer, self, self, self.children)
        self.lost: list[tuple[int, errors.OpError]] = []
        self.calls.served.on_plan = self._plan
        self.planned: list[Any] = []  # the plans that were brought
        self.program: StepProgram = Program()  # what becomes of each
        self.calls.pushes.on_push = self._pushed
        self.times: list[PushTimes] = []
        self.calls.pushes.on_lost = lambda step_id, error: self.lost.append((step_id, error))

    def _pushed(self, step_id: int, keys: Any, values: Any, dead: Any, times: PushTimes | None) -> None:
        self.times += [] if times is None else [times]
        self.pushed.append(Pushed(step_id=step_id, keys=keys, values=values, dead=dead))

    def _plan(self, plan: list[Any]) -> StepProgram:
        self.planned.append(plan)
        return self.program

    lent: dict[int, object] | None = None
    reads_peer = True

    def write(self, header: bytes, segments: Sequence[Buffer]) -> None:
        if self.error is not None:
            raise self.error
        self.sent.append((read_header(header), tuple(segments)))

    def write_short(self, header: bytes) -> bool:
        return False

    def write_from_thread(self, header: bytes) -> bool:
        self.meanwhile()
        if not self.busy:
            self.write(header, ())
        return not self.busy

    def is_backlogged(self) -> bool:
        return self.busy

    async def drain(self) -> bool:
        return await self.read_on.wait()

    def receive(self, *wire: Any, segments: Sequence[Buffer] = ()) -> None:
        self.calls.receive(write_header(list(wire)), segments)

    def take(self) -> list[list[Any]]:
        taken, self.sent = [wire for wire, _ in self.sent], []
        return taken


def carry(sender: End, receiver: End) -> None:
    """Takes over what one end has sent, in order."""
    sent, sender.sent = sender.sent, []
    for wire, segments in sent:
        receiver.receive(*wire, segments=[bytearray(segment) for segment in segments])


def exchange(here: End, there: End) -> None:
    """Takes over what one end has sent, and then what the other answers."""
    carry(here, there)
    carry(there, here)


class Waiter:
    """Who waits for a run."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def done(self, values: WireValues, extra: Any) -> None:
        self.told.append(([float(value) for value in values.read_all()], extra))

    def failed(self, error: errors.OpError) -> None:
        self.told.append(error)

    def gone(self) -> None:
        self.told.append("gone")


class Program:
    """Runs that are answered by the test, or as they begin."""

    def __init__(self, begin: Callable[[ServedRun], None] = lambda run: None) -> None:
        self.runs: list[ServedRun] = []
        self.cancelled: list[int] = []
        self._begin = begin

    def begin(self, run: ServedRun) -> None:
        run.on_cancel = lambda: self.cancelled.append(run.call)
        self.runs.append(run)
        self._begin(run)


def double(run: ServedRun) -> None:
    run.done(WireValues.of([2 * value for value in run.values.read_all()]), 7)


async def test_a_run_goes_there_and_its_values_come_back() -> None:
    here, there = End("there"), End("here")
    program, waiter = Program(double), Waiter()
    number = there.calls.served.register(program)
    run_graph(here, 5, number, WireValues.of([np.float32(3.0)]), waiter)
    assert (here.calls.pending, waiter.told) == (1, [])
    carry(here, there)
    (run,) = program.runs
    assert (run.call, run.seconds, run.peer, run.asked) == (5, None, "here", None)
    carry(there, here)
    assert waiter.told == [([6.0], 7)]
    assert (here.calls.pending, len(there.calls.served)) == (0, 0)
    assert (here.calls.sent, there.calls.served.received) == (1, 1)


async def test_a_run_may_be_answered_later_and_out_of_order() -> None:
    here, there = End(), End()
    program, waiters = Program(), [Waiter() for _ in range(3)]
    number = there.calls.served.register(program)
    for call, waiter in enumerate(waiters):
        run_graph(here, call, number, WireValues.of([np.float32(call)]), waiter)
    carry(here, there)
    assert len(there.calls.served) == 3
    for run in reversed(program.runs):
        assert run.waits
        run.done(run.values)
        assert not run.waits
    carry(there, here)
    assert [waiter.told for waiter in waiters] == [[([float(n)], None)] for n in range(3)]


async def test_an_error_keeps_its_class_and_gets_the_task_of_the_peer() -> None:
    def refuse(run: ServedRun) -> None:
        raise errors.NotFoundError("no such thing")

    here, there = End("/job:w/task:1"), End()
    waiter = Waiter()
    run_graph(here, 1, there.calls.served.register(Program(refuse)), WireValues([]), waiter)
    exchange(here, there)
    (error,) = waiter.told
    assert isinstance(error, errors.NotFoundError)
    assert (error.message, error.task) == ("no such thing", "/job:w/task:1")


async def test_an_exception_that_is_no_error_of_ours_is_answered_as_one() -> None:
    def fail(run: ServedRun) -> None:
        raise RuntimeError("a mistake")

    here, there = End(), End()
    waiter = Waiter()
    run_graph(here, 1, there.calls.served.register(Program(fail)), WireValues([]), waiter)
    exchange(here, there)
    assert isinstance(waiter.told[0], errors.OpError)
    assert "a mistake" in str(waiter.told[0])


async def test_a_program_that_is_not_known_is_gone() -> None:
    here, there = End(), End()
    number = there.calls.served.register(Program(double))
    there.calls.served.drop(number)
    there.calls.served.drop(number)
    waiter = Waiter()
    run_graph(here, 1, number, WireValues([]), waiter)
    exchange(here, there)
    assert waiter.told == ["gone"]


async def test_no_number_of_a_program_is_used_twice() -> None:
    """A program of a former link is not found at the next one of the same process."""
    numbers = [End().calls.served.register(Program()) for _ in range(100)]
    assert len(set(numbers)) == 100
    assert min(numbers) > 0


async def test_a_cancelled_run_is_not_answered() -> None:
    here, there = End(), End()
    program, waiter = Program(), Waiter()
    run_graph(here, 1, there.calls.served.register(program), WireValues([]), waiter)
    carry(here, there)
    here.calls.cancel(1)
    here.calls.cancel(1)
    assert [wire[0] for wire, _ in here.sent] == [CANCEL]
    carry(here, there)
    assert program.cancelled == [1]
    (run,) = program.runs
    assert not run.waits
    run.done(WireValues([]))
    run.fail(errors.InternalError("too late"))
    assert there.sent == []
    here.receive(DONE, 1, None)  # it was on its way
    assert waiter.told == []


async def test_a_cancellation_of_an_answered_run_is_too_late() -> None:
    there = End()
    program = Program(double)
    there.receive(RUN_GRAPH, 1, there.calls.served.register(program), None, None)
    there.receive(CANCEL, 1)
    assert program.cancelled == []


async def test_a_run_whose_cancellation_has_overtaken_it_does_not_begin() -> None:
    """Arrays take longer than the frame that cancels the run which they are for."""
    here, there = End(), End()
    program, waiters = Program(double), [Waiter(), Waiter()]
    number = there.calls.served.register(program)
    for call, waiter in enumerate(waiters):
        run_graph(here, call, number, WireValues.of([np.float32(call)]), waiter)
    here.calls.cancel(0)
    here.sent.insert(0, here.sent.pop())
    carry(here, there)
    assert [run.call for run in program.runs] == [1]
    assert (len(there.calls.served), there.calls.served.received) == (0, 2)
    carry(there, here)
    assert [waiter.told for waiter in waiters] == [[], [([2.0], 7)]]


async def test_cancellations_without_a_run_are_remembered_up_to_a_limit() -> None:
    end, program = End(), Program()
    number = end.calls.served.register(program)
    for call in range(served_runs.MAX_EARLY + 1):
        end.receive(CANCEL, call)
    for call in range(3):
        end.receive(RUN_GRAPH, call, number, None, None)
    assert [run.call for run in program.runs] == [0]


async def test_the_end_of_the_link_fails_what_waits_here_and_cancels_what_runs_here() -> None:
    end = End()
    program, waiter = Program(), Waiter()
    number = end.calls.served.register(program)
    end.receive(RUN_GRAPH, 3, number, None, None)
    run_graph(end, 1, 2, WireValues([]), waiter)
    end.calls.end(lambda: errors.UnavailableError("lost"))
    assert [str(told) for told in waiter.told] == ["lost"]
    assert program.cancelled == [3]
    assert (end.calls.pending, len(end.calls.served)) == (0, 0)
    end.receive(RUN_GRAPH, 4, number, None, None)
    assert end.take()[-1] == [GONE, 4]


@for_each("error", [errors.UnavailableError("over"), errors.CancelledError("closed here")], ids=repr)
async def test_a_run_that_cannot_be_sent_is_refused_and_does_not_wait(error: errors.OpError) -> None:
    end = End()
    end.error = error
    waiter = Waiter()
    with pytest.raises(type(error)):
        run_graph(end, 1, 2, WireValues([]), waiter)
    assert (end.calls.pending, end.calls.sent, waiter.told) == (0, 0, [])


async def test_a_thread_requests_a_run_if_its_frame_can_be_sent_at_once() -> None:
    here, there = End("there"), End("here")
    program, waiter = Program(double), Waiter()
    there.program = program
    values = WireValues.of([np.float32(3.0)])
    here.meanwhile = lambda: seen.append(here.calls.pending)
    seen: list[int] = []
    assert await asyncio.to_thread(here.calls.run_from_thread, 5, 7, 2.5, PLAN, values, waiter)
    assert seen == [1]  # it waits before the frame leaves, because the answer may come at once
    exchange(here, there)
    assert waiter.told == [([6.0], 7)]
    assert (here.calls.sent, there.calls.served.received) == (1, 1)
    here.busy = True
    assert not here.calls.run_from_thread(6, 7, None, None, values, waiter)
    assert (here.calls.pending, here.calls.sent, len(waiter.told)) == (0, 1, 1)


async def test_a_run_with_large_arrays_is_not_for_a_thread_to_request() -> None:
    here, waiter = End(), Waiter()
    assert not here.calls.run_from_thread(1, 1, None, None, WireValues.of([LARGE]), waiter)
    assert (here.calls.pending, here.sent, waiter.told) == (0, [], [])


@for_each("busy", [False, True])
async def test_a_link_that_ends_while_a_thread_requests_a_run_tells_it_once(busy: bool) -> None:
    here, waiter = End(), Waiter()
    here.busy = busy
    here.meanwhile = lambda: here.calls.end(lambda: errors.UnavailableError("over"))
    assert here.calls.run_from_thread(1, 1, None, None, WireValues([]), waiter)
    assert [type(told) for told in waiter.told] == [errors.UnavailableError]
    here.meanwhile = lambda: None
    # After the end the loop is to find out why.
    assert not here.calls.run_from_thread(2, 1, None, None, WireValues([]), waiter)
    assert len(waiter.told) == 1
    assert here.calls.pending == 0


NO_MEMORY = errors.ResourceExhaustedError("no memory")


# -- plans of a client -----------------------------------------------------------------------------
def run_graph(
    here: End, call: int, number: int, values: WireValues, waiter: Waiter, asked: GraphRequest | None = None
) -> None:
    here.calls.request(RUN_GRAPH, call, number, None, asked, values, waiter)


def run_plan(here: End, call: int, number: int, asked: StepRequest | None = None) -> Waiter:
    waiter = Waiter()
    here.calls.request(RUN_STEP, call, number, 2.5, asked, WireValues.of([np.float32(call)]), waiter)
    return waiter


async def test_the_first_run_of_a_plan_brings_it_along_and_others_need_its_number_alone() -> None:
    """The second leaves before the first was answered, so it brings the plan as well."""
    here, there = End("there"), End("here")
    there.program = program = Program(double)
    waiters = [run_plan(here, call, 7, asked) for call, asked in enumerate([PLAN, PLAN, None])]
    carry(here, there)
    assert there.planned == [["a plan"]]
    assert [(run.call, run.seconds, run.peer) for run in program.runs] == [(call, 2.5, "here") for call in range(3)]
    carry(there, here)
    assert [waiter.told for waiter in waiters] == [[([2.0 * n], 7)] for n in range(3)]


async def test_what_a_run_asks_for_arrives_with_it() -> None:
    here, there = End(), End()
    there.program = program = Program()
    run_plan(here, 1, 7, StepRequest(["a plan"], {"trace_level": 3}, ["debugged"], "key", 0.5))
    run_plan(here, 2, 7)
    run_graph(here, 3, there.calls.served.register(program), WireValues([]), Waiter(), GraphRequest(True, ["debugged"]))
    carry(here, there)
    of_step, of_none, of_graph = [run.asked for run in program.runs]
    assert (of_step.options, of_step.debug_run) == ({"trace_level": 3}, ["debugged"])
    assert (of_step.key, of_step.waited, of_none) == ("key", 0.5, None)
    assert (of_graph.trace, of_graph.debug_run) == (True, ["debugged"])


@for_each("asked", [None, StepRequest(key="run")], ids=["nothing", "no plan"])
async def test_a_number_without_a_plan_is_gone_until_the_plan_is_brought(asked: StepRequest | None) -> None:
    here, there = End(), End()
    there.program = Program(double)
    waiters = [run_plan(here, call, 7, each) for call, each in enumerate([asked, PLAN, asked])]
    exchange(here, there)
    assert [waiter.told for waiter in waiters] == [["gone"], [([2.0], 7)], [([4.0], 7)]]


async def test_the_numbers_of_plans_and_of_graphs_are_not_mixed_up() -> None:
    here, there = End(), End()
    number = there.calls.served.register(Program(double))
    of_plan, of_graph = run_plan(here, 1, number), Waiter()
    run_plan(here, 2, number + 1, PLAN)
    run_graph(here, 3, number + 1, WireValues([]), of_graph)
    exchange(here, there)
    assert (of_plan.told, of_graph.told) == (["gone"], ["gone"])


@for_each("error", [errors.InvalidArgumentError("no such name"), RuntimeError("no such name")], ids=repr)
async def test_a_plan_that_is_refused_fails_the_run_that_brought_it_and_is_not_kept(error: Exception) -> None:
    here, there = End(), End()
    there.calls.served.on_plan = mock.Mock(side_effect=error)
    waiters = [run_plan(here, call, 7, asked) for call, asked in enumerate([PLAN, None])]
    exchange(here, there)
    assert isinstance(waiters[0].told[0], errors.OpError)
    assert "no such name" in str(waiters[0].told[0])
    assert waiters[1].told == ["gone"]


async def test_of_too_many_plans_the_oldest_is_dropped() -> None:
    here, there = End(), End()
    there.program = Program(double)
    count = served_runs.MAX_PLANS + 1
    for number in range(count):
        run_plan(here, number, number, PLAN)
    waiters = [run_plan(here, count + number, number) for number in (0, 1, count - 1)]
    exchange(here, there)
    assert [waiter.told[0] == "gone" for waiter in waiters] == [True, False, False]


# -- what a run has taken --------------------------------------------------------------------------
def taker(settled: list[bool]) -> Program:
    """Runs that have taken something out of a queue."""
    return Program(lambda run: run.done(run.values, None, settled.append))


SETTLING: dict[str, tuple[Callable[[End], object], bool]] = {
    "received": (lambda end: end.receive(RECEIVED, 1), True),
    "received, without memory": (lambda end: end.calls.lost(write_header([RECEIVED, 1]), NO_MEMORY), True),
    "given up": (lambda end: end.receive(CANCEL, 1), False),
    "the end": (lambda end: end.calls.end(lambda: errors.UnavailableError("lost")), False),
}


@for_each("second", SETTLING)
@for_each("first", SETTLING)
async def test_what_a_run_has_taken_is_settled_once_by_what_comes_first(first: str, second: str) -> None:
    settled: list[bool] = []
    end = End()
    end.receive(RUN_GRAPH, 1, end.calls.served.register(taker(settled)), None, None)
    assert (settled, len(end.calls.served), end.calls.served.unsettled) == ([], 0, 1)
    for name in (first, second):
        SETTLING[name][0](end)
    assert (settled, end.calls.served.unsettled) == ([SETTLING[first][1]], 0)


@for_each("received, frame", [(True, [RECEIVED, 1]), (False, [CANCEL, 1])])
async def test_a_client_says_whether_it_has_received_values(received: bool, frame: list[Any]) -> None:
    end = End()
    end.calls.confirm(1, received=received)
    assert end.take() == [frame]
    end.error = errors.UnavailableError("over")
    end.calls.confirm(1, received=received)  # the end of the link says it


async def test_what_a_run_has_taken_is_put_back_if_its_peer_has_cancelled_it_or_is_gone() -> None:
    settled: list[bool] = []
    end, program = End(), Program()
    number = end.calls.served.register(program)
    for call in (1, 2):
        end.receive(RUN_GRAPH, call, number, None, None)
    end.receive(CANCEL, 1)
    end.calls.end(lambda: errors.UnavailableError("lost"))
    for run in program.runs:
        run.done(run.values, None, settled.append)
    assert (settled, end.calls.served.unsettled, end.sent) == ([False, False], 0, [])


async def test_what_a_run_has_taken_is_put_back_if_its_answer_cannot_be_encoded() -> None:
    settled: list[bool] = []
    end = End()
    program = Program(lambda run: run.done(WireValues([2**64, None]), None, settled.append))
    end.receive(RUN_GRAPH, 1, end.calls.served.register(program), None, None)
    ((wire, _),) = end.sent
    assert (wire[:2], settled, end.calls.served.unsettled) == ([FAIL, 1], [False], 0)


@for_each("loses", [True, False], ids=["no memory", "an error"])
async def test_what_a_run_has_taken_is_put_back_if_its_answer_is_lost_at_its_client(loses: bool) -> None:
    settled: list[bool] = []
    here, there = End(), End()
    waiter = Waiter()
    waiter.done = mock.Mock(side_effect=RuntimeError("a mistake"))  # type: ignore[method-assign]
    run_graph(here, 1, there.calls.served.register(taker(settled)), WireValues([]), waiter)
    carry(here, there)
    if loses:
        here.calls.lost(write_header(there.take()[0]), NO_MEMORY)
    else:
        carry(there, here)
    assert len(waiter.told) == 1
    carry(here, there)
    assert settled == [False]


async def test_of_too_many_unconfirmed_answers_the_oldest_counts_as_received() -> None:
    settled: list[tuple[int, bool]] = []

    def take(run: ServedRun) -> None:
        def settle(received: bool) -> None:
            settled.append((run.call, received))

        run.done(run.values, None, settle)

    end = End()
    number = end.calls.served.register(Program(take))
    for call in range(served_runs.MAX_UNSETTLED + 1):
        end.receive(RUN_GRAPH, call, number, None, None)
    assert (settled, end.calls.served.unsettled) == ([(0, True)], served_runs.MAX_UNSETTLED)


async def test_one_that_cannot_be_settled_does_not_concern_the_link(caplog: pytest.LogCaptureFixture) -> None:
    def fail(received: bool) -> None:
        raise RuntimeError("a mistake")

    end, program = End(), Program()
    number = end.calls.served.register(program)
    settled: list[bool] = []
    settles: list[Settle] = [fail, fail, settled.append]
    for call, settle in enumerate(settles):
        end.receive(RUN_GRAPH, call, number, None, None)
        program.runs[call].done(WireValues([]), None, settle)
    end.receive(RECEIVED, 0)
    end.calls.end(lambda: errors.UnavailableError("lost"))
    assert settled == [False]
    assert len(caplog.records) == 2


# -- partial runs ----------------------------------------------------------------------------------
class Setup(Program):
    """A plan of partial runs, and the one that is open."""

    def __init__(self) -> None:
        super().__init__()
        self.abandoned = 0
        self.setups: list[ServedRun] = []
        self.close: Callable[[], object] = lambda: None

    def begin_setup(self, run: ServedRun) -> None:
        self.setups.append(run)
        run.on_cancel = lambda: self.cancelled.append(run.call)
        self.close = run.open(self)

    def abandon(self) -> None:
        self.abandoned += 1
        self.close()


def set_up() -> tuple[End, End, Setup, Waiter]:
    """A partial run that run 1 has set up; it is not answered yet."""
    here, there = End("there"), End("here")
    setup = Setup()
    there.program = Program(setup.begin_setup)
    waiter = run_plan(here, 1, 7, PLAN)
    carry(here, there)
    return here, there, setup, waiter


ASKED = CallRequest(("a:0",), ("b:0", "c:0"))


def call_partial(here: End, call: int, setup: int = 1) -> Waiter:
    waiter = Waiter()
    values = WireValues.of([np.float32(call)])
    here.calls.request(PARTIAL_RUN, call, setup, 1.5, ASKED, values, waiter)
    return waiter


async def test_the_calls_of_a_partial_run_go_to_what_its_setup_has_opened_until_that_is_closed() -> None:
    here, there, setup, waiter = set_up()
    setup.setups[0].done(WireValues([]), "handle")
    carry(there, here)
    assert waiter.told == [([], "handle")]
    called = call_partial(here, 2)
    carry(here, there)
    (run,) = setup.runs
    assert (run.call, run.seconds, run.peer) == (2, 1.5, "here")
    assert (run.asked.feeds, run.asked.fetches) == (("a:0",), ("b:0", "c:0"))
    double(run)
    carry(there, here)
    assert called.told == [([4.0], 7)]
    setup.close()
    late, unknown = call_partial(here, 3), call_partial(here, 4, setup=99)
    exchange(here, there)
    assert (late.told, unknown.told, len(setup.runs)) == (["gone"], ["gone"], 1)
    assert setup.abandoned == 0


@for_each("answered", [True, False])
async def test_a_setup_that_its_client_gives_up_is_abandoned_whether_it_was_answered_or_not(answered: bool) -> None:
    """The cancellation may meet the answer with the handle, which nobody receives then."""
    here, there, setup, _ = set_up()
    if answered:
        setup.setups[0].done(WireValues([]), "handle")
    here.calls.cancel(1)
    carry(here, there)
    assert (setup.abandoned, len(setup.cancelled)) == (1, int(not answered))
    there.receive(CANCEL, 1)
    assert (setup.abandoned, there.calls.served.setups) == (1, {})


async def test_the_end_of_the_link_cancels_calls_and_abandons_what_is_open() -> None:
    here, there, setup, _ = set_up()
    setup.setups[0].done(WireValues([]), "handle")
    call_partial(here, 2)
    carry(here, there)
    there.calls.end(lambda: errors.UnavailableError("lost"))
    assert (setup.cancelled, setup.abandoned, there.calls.served.setups) == ([2], 1, {})


async def test_a_call_of_a_partial_run_may_be_cancelled_and_what_it_has_taken_is_settled() -> None:
    here, there, setup, _ = set_up()
    waiters = [call_partial(here, call) for call in (2, 3)]
    carry(here, there)
    here.calls.cancel(2)
    carry(here, there)
    settled: list[bool] = []
    setup.runs[1].done(WireValues([]), None, settled.append)
    carry(there, here)
    here.calls.confirm(3, received=True)
    carry(here, there)
    assert (setup.cancelled, setup.abandoned, settled) == ([2], 0, [True])
    assert [waiter.told for waiter in waiters] == [[], [([], None)]]


# -- without memory --------------------------------------------------------------------------------
async def test_a_run_without_memory_for_its_feeds_fails_alone() -> None:
    here, there = End("there"), End()
    program, waiters = Program(), [Waiter(), Waiter()]
    number = there.calls.served.register(program)
    for call, waiter in enumerate(waiters):
        run_graph(here, call, number, WireValues.of([LARGE]), waiter)
    there.calls.lost(write_header(here.take()[0]), NO_MEMORY)
    carry(there, here)
    (error,) = waiters[0].told
    assert isinstance(error, errors.ResourceExhaustedError)
    assert (error.message, error.task) == ("no memory", "there")
    assert (waiters[1].told, here.calls.pending, len(there.calls.served)) == ([], 1, 0)


@for_each("answer", [DONE, FAIL])
async def test_a_run_without_memory_for_its_answer_fails_alone(answer: int) -> None:
    here = End("there")
    waiters = [Waiter(), Waiter()]
    for call, waiter in enumerate(waiters):
        run_graph(here, call, 1, WireValues.of([]), waiter)
    here.calls.lost(write_header([answer, 1, None, b"", 0])[:4], NO_MEMORY)
    assert [waiter.told for waiter in waiters] == [[], [NO_MEMORY]]
    here.calls.lost(write_header([answer, 1]), NO_MEMORY)  # it was cancelled


async def test_a_push_without_memory_fails_its_step_and_its_keys_are_known() -> None:
    here, there = End(), End()
    here.calls.pushes.push(push(("key", np.float32(1))))
    with mock.patch.object(pushes, "read_value", side_effect=MemoryError):
        carry(here, there)
    assert [step_id for step_id, _ in there.lost] == [9]
    here.calls.pushes.push(push(("key", np.float32(2))))
    carry(here, there)
    assert [message.values for message in there.pushed] == [[2.0]]


async def test_a_run_without_memory_that_was_cancelled_is_not_answered() -> None:
    there = End()
    there.calls.lost(write_header([CANCEL, 3]), NO_MEMORY)
    there.calls.lost(write_header([RUN_GRAPH, 3, 1, None, None]), NO_MEMORY)
    assert there.take() == []
    assert not there.calls.served._early


async def test_a_frame_whose_beginning_means_nothing_is_a_protocol_error() -> None:
    with pytest.raises(errors.ProtocolError, match="start of a message"):
        End().calls.lost(b"\x95", NO_MEMORY)


async def test_an_answer_after_the_end_of_the_link_is_dropped() -> None:
    end = End()
    program = Program()
    end.receive(RUN_GRAPH, 1, end.calls.served.register(program), None, None)
    end.error = errors.UnavailableError("over")
    program.runs[0].done(WireValues([]))
    assert len(end.calls.served) == 0


async def test_an_answer_that_cannot_be_sent_is_answered_by_the_reason() -> None:
    end = End()
    program = Program()
    end.receive(RUN_GRAPH, 1, end.calls.served.register(program), None, None)
    refused = iter([errors.InvalidArgumentError("a step is too large")])
    send = end.write

    def refuse_once(header: bytes, segments: Sequence[Buffer]) -> None:
        error = next(refused, None)
        if error is not None:
            raise error
        send(header, segments)

    end.calls.served._send = refuse_once
    program.runs[0].done(WireValues([]))
    ((wire, _),) = end.sent
    assert wire[:2] == [FAIL, 1]
    assert "too large" in str(wire)


async def test_runs_of_a_peer_that_does_not_read_are_held_in_order() -> None:
    end = End()
    program = Program(double)
    number = end.calls.served.register(program)
    end.busy = True
    for call in range(3):
        end.receive(RUN_GRAPH, call, number, None, None, *WireValues.of([np.float32(call)]).items)
    assert (program.runs, end.calls.served.held, len(end.calls.served)) == ([], 3, 3)
    end.receive(CANCEL, 1)
    assert (end.calls.served.held, len(end.calls.served)) == (2, 2)
    end.busy = False
    end.receive(RUN_GRAPH, 3, number, None, None)  # not before those that are held
    assert program.runs == []
    end.read_on.set()
    async with asyncio.timeout(60):
        while end.calls.served.held:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert [run.call for run in program.runs] == [0, 2, 3]
    assert program.cancelled == []
    await end.children.stop()


async def test_the_runs_of_a_peer_are_limited() -> None:
    end, most = End(), served_runs.MAX_RUNS
    number = end.calls.served.register(Program())
    for call in range(most + 1):
        end.receive(RUN_GRAPH, call, number, None, None)
    ((wire, _),) = end.sent
    assert wire[:2] == [FAIL, most]
    assert f"{most + 1} runs in progress here, which is the limit" in str(wire)
    assert len(end.calls.served) == most


# -- pushes ----------------------------------------------------------------------------------------
def push(*pairs: tuple[str, Any], step: int = 9) -> Pushed:
    return Pushed(
        step_id=step,
        keys=[key for key, _ in pairs],
        values=[value for _, value in pairs],
        dead=[value is None for _, value in pairs],
    )


def told(messages: Sequence[Pushed]) -> list[tuple[int, list[tuple[str, Any, bool]]]]:
    return [
        (
            m.step_id,
            [
                (key, None if dead else np.asarray(value).ravel()[:2].tolist(), dead)
                for key, value, dead in zip(m.keys, m.values, m.dead, strict=True)
            ],
        )
        for m in messages
    ]


async def test_pushed_values_arrive_with_their_keys() -> None:
    here, there = End(), End()
    messages = [push(("a", np.float32(1)), ("b", None)), push(("b", np.float32(2)), step=10), push()]
    for message in messages:
        here.calls.pushes.push(message)
    carry(here, there)
    assert told(there.pushed) == told(messages)


async def test_values_of_a_traced_step_arrive_with_the_moment_of_their_sending() -> None:
    here, there = End(), End()
    large = np.arange(10_000, dtype=np.float32)
    messages = [push(("a", np.float32(1)), ("b", None)), push(("a", large)), push(("c", np.float32(2)))]
    for number, message in enumerate(messages):
        here.calls.pushes.push(message._replace(sent=5.0 + number, queued=number))
    assert [frame[0] for frame, _ in here.sent] == [TRACED_PUSH] * 3
    sizes = [len(write_header(frame)) + sum(map(len, segments)) for frame, segments in here.sent]
    before = time.time()
    carry(here, there)
    assert told(there.pushed) == told(messages)
    assert [(t.sent, t.queued, t.nbytes) for t in there.times] == [
        (5.0, 0, sizes[0]),
        (6.0, 1, sizes[1]),
        (7.0, 2, sizes[2]),
    ]
    assert all(before <= t.arrived <= time.time() for t in there.times)
    here.calls.pushes.push(messages[0])
    carry(here, there)
    assert len(there.times) == 3, "a plain step has no times"


async def test_a_key_travels_as_text_once_and_then_as_its_number() -> None:
    here, there = End(), End()
    for _ in range(2):
        here.calls.pushes.push(push(("key one", np.float32(1)), ("key two", np.float32(2))))
    sent = [wire[2::3] for wire, _ in here.sent]
    assert sent == [["key one", "key two"], [0, 1]]
    carry(here, there)
    assert [message.keys for message in there.pushed] == [["key one", "key two"]] * 2


async def test_a_key_twice_in_one_push_has_one_number() -> None:
    here, there = End(), End()
    for _ in range(2):
        here.calls.pushes.push(push(("a", np.float32(1)), ("a", np.float32(2)), ("b", np.float32(3))))
    carry(here, there)
    assert [message.keys for message in there.pushed] == [["a", "a", "b"]] * 2


async def test_the_key_of_a_large_value_gets_no_number() -> None:
    """Small frames overtake large ones, so a number that a large one defines might be used too early."""
    here, there = End(), End()
    here.calls.pushes.push(push(("a", LARGE)))
    here.calls.pushes.push(push(("b", np.float32(1))))
    here.calls.pushes.push(push(("a", np.float32(2))))
    assert [wire[2] for wire, _ in here.sent] == ["a", "b", "a"]
    here.sent.append(here.sent.pop(0))  # overtaken by both
    here.calls.pushes.push(push(("a", np.float32(3)), ("b", LARGE)))
    carry(here, there)
    assert [message.keys for message in there.pushed] == [["b"], ["a"], ["a"], ["a", "b"]]


async def test_the_key_of_a_long_header_gets_no_number() -> None:
    """It goes with the large ones, and small frames overtake it, too."""
    long = np.array([b"x" * 10**5], object)
    here, there = End(), End()
    messages = [push(("a", long)), push(("b", np.float32(1))), push(("b", np.float32(2)))]
    for message in messages:
        here.calls.pushes.push(message)
    here.sent.append(here.sent.pop(0))
    carry(here, there)
    assert [message.keys for message in there.pushed] == [["b"], ["b"], ["a"]]
    here.calls.pushes.push(push(("a", np.float32(3))))
    carry(here, there)
    assert there.pushed[-1].keys == ["a"]


async def test_keys_beyond_the_limit_travel_as_text() -> None:
    here, there = End(), End()
    keys = [f"key {number}" for number in range(pushes.MAX_KEYS + 1)]
    for at in range(0, len(keys), 1000):  # a frame of all of them would go by the bulk lane, which numbers none
        here.calls.pushes.push(push(*[(key, np.float32(1)) for key in keys[at : at + 1000]]))
    here.calls.pushes.push(push(*[(key, np.float32(1)) for key in keys[-2:]]))
    assert here.sent[-1][0][2::3] == [pushes.MAX_KEYS - 1, keys[-1]]
    carry(here, there)
    assert there.pushed[-1].keys == keys[-2:]


# -- values that are lent --------------------------------------------------------------------------
class Lender:
    """Lends lists of numbers, and notes what becomes of the loans."""

    def __init__(self) -> None:
        self.lent: dict[bytes, Any] = {}
        self.taken: Callable[[bytes], Any] = lambda ticket: list(self.lent[ticket])

    def lend(self, array: Any) -> bytes | None:
        ticket = b"ticket %d" % len(self.lent)
        self.lent[ticket] = array
        return ticket

    def take(self, device: str, ticket: bytes) -> Any:
        assert device == f"{THERE}/device:LIST:1"
        return self.taken(ticket)

    def release(self, ticket: bytes) -> None:
        del self.lent[ticket]


class Numbers(list[float]):
    """An array of the device."""

    nbytes, shape = 1 << 20, (3,)


HERE, THERE = (f"/job:worker/replica:0/task:{index}" for index in range(2))


def lent_key(edge: int = 0, device: str = "LIST:1") -> str:
    return f"{HERE}/device:LIST:0;{7:016x};{THERE}/device:{device};edge_{edge}_y:0;0:0"


def lender_of_lists() -> Lender:
    """Registers a device type whose arrays are lent."""
    lender = Lender()
    arrays: Any = mock.Mock(to_host=np.array)

    class Lists(DeviceFactory):
        kernels = DeviceKernels(arrays=lambda device: arrays, rows={}, family="lists", lending=lender)

    register_device_factory("LIST", Lists())
    return lender


@pytest.fixture
def lender(registrations: None) -> Lender:
    return lender_of_lists()


def lent_values(count: int = 1) -> list[Any]:
    convert = lending.conversion_to(f"{HERE}/device:LIST:0", f"{THERE}/device:LIST:1")
    assert convert is not None
    return [convert(Numbers([1.0, 2.0, edge])) for edge in range(count)]


def lending_ends() -> tuple[End, End]:
    here, there = End(), End()
    here.lent, there.lent = {}, {}
    return here, there


async def test_what_is_lent_is_copied_and_returned(lender: Lender) -> None:
    here, there = lending_ends()
    pushed = push((lent_key(), lent_values()[0]), (lent_key(1), np.float32(3.0)), (lent_key(2), None))
    here.calls.pushes.push(pushed)
    assert [wire[0] for wire, _ in here.sent] == [LEND, PUSH]
    carry(here, there)
    assert [*lender.lent] == [b"ticket 0"]
    assert there.take()[0][0] == RETURNED
    assert [(m.keys, m.values, m.dead) for m in there.pushed] == [
        ([lent_key()], [[1.0, 2.0, 0]], [False]),
        ([lent_key(1), lent_key(2)], [3.0, None], [False, True]),
    ]
    here.receive(RETURNED, *(here.lent or ()))
    assert (here.lent, lender.lent) == ({}, {})


async def test_what_cannot_be_read_is_pushed_and_the_devices_lend_nothing_any_more(lender: Lender) -> None:
    here, there = lending_ends()
    lender.taken = lambda ticket: None if ticket == b"ticket 0" else 5.0
    first, second, third = lent_values(3)
    here.calls.pushes.push(push((lent_key(), first), (lent_key(1), second)))
    exchange(here, there)
    assert [(m.keys, m.values) for m in there.pushed] == [([lent_key(1)], [5.0])]
    assert lender.lent == {}
    here.calls.pushes.push(push((lent_key(2), third)))
    assert [wire[0] for wire, _ in here.sent] == [PUSH, PUSH]
    carry(here, there)
    assert told(there.pushed)[1:] == told([push((lent_key(), [1.0, 2.0])), push((lent_key(2), [1.0, 2.0]))])


@for_each(
    "error, kind",
    [(errors.OutOfRangeError("why"), errors.OutOfRangeError), (MemoryError("why"), errors.ResourceExhaustedError)],
)
async def test_a_copy_that_fails_is_an_error_of_the_step_and_is_returned(error: Exception, kind: Any) -> None:
    with registration_scope():
        lender = lender_of_lists()
        lender.taken = mock.Mock(side_effect=error)
        here, there = lending_ends()
        here.calls.pushes.push(push(*[(lent_key(edge), value) for edge, value in enumerate(lent_values(2))]))
        exchange(here, there)
        ((step_id, lost),) = there.lost
        assert (step_id, type(lost), lost.node, lost.device) == (9, kind, "y", f"{THERE}/device:LIST:1")
        assert "the value of y:0 cannot be taken from /job:worker/replica:0/task:0/device:LIST:0: " in lost.message
        assert "why" in lost.message
        assert (there.pushed, here.lent, lender.lent) == ([], {}, {})


async def test_what_was_copied_when_the_link_was_lost_is_not_used(lender: Lender) -> None:
    """Its memory may have been written to before."""
    here, there = lending_ends()
    there.reads_peer = False
    here.calls.pushes.push(push((lent_key(), lent_values()[0])))
    exchange(here, there)
    assert [(step, type(lost)) for step, lost in there.lost] == [(9, errors.UnavailableError)]
    assert there.pushed == []


@for_each("device", ["CPU:0", "OTHER:0"])
async def test_a_device_that_lends_nothing_takes_nothing(device: str) -> None:
    end = End()
    end.receive(LEND, 9, 0.0, 0, lent_key(device=device), 1, b"ticket")
    assert [type(lost) for _, lost in end.lost] == [errors.FailedPreconditionError]
    end.receive(LEND, 9, 0.0, 0, "no key", 2, b"ticket")
    assert [type(lost) for _, lost in end.lost[1:]] == [errors.InvalidArgumentError]
    assert end.take() == [[RETURNED, 1], [RETURNED, 2]]


async def test_what_fails_as_it_is_lent_is_an_error_of_its_node(lender: Lender) -> None:
    here, _ = lending_ends()
    values = lent_values(2)
    here.calls.pushes.push(push((lent_key(), values[0])))
    here.take()
    lender.lend = mock.Mock(side_effect=RuntimeError("why"))  # type: ignore[method-assign]
    words = "the value of y:0 cannot be sent to .*/task:1/device:LIST:1: RuntimeError: why"
    with pytest.raises(errors.OpError, match=words) as raised:
        here.calls.pushes.push(push((lent_key(1), values[1])))
    assert (raised.value.node, raised.value.device) == ("y", f"{HERE}/device:LIST:0")
    assert here.sent == []


async def test_what_cannot_be_sent_is_lent_no_longer(lender: Lender) -> None:
    here, _ = lending_ends()
    here.error = errors.UnavailableError("lost")
    with pytest.raises(errors.UnavailableError, match="lost"):
        here.calls.pushes.push(push((lent_key(), lent_values()[0])))
    assert (here.lent, lender.lent) == ({}, {})


# -- what a peer must not do -----------------------------------------------------------------------
@for_each(
    "wire, words",
    [
        ([RUN_STEP, 1], "a program, a limit and a request"),
        ([RUN_GRAPH, 1, 2, None], "a program, a limit and a request"),
        ([RUN_GRAPH, 1, "x", None, None], "a program, a limit and a request"),
        ([RUN_STEP, 1, 2, -1.0, None], "a number of seconds"),
        ([RUN_STEP, 1, 2, float("nan"), None], "a number of seconds"),
        ([RUN_STEP, 1, 2, float("inf"), None], "a number of seconds"),
        ([RUN_STEP, 1, 2, "soon", None], "a number of seconds"),
        ([RUN_STEP, 1, 2, True, None], "a number of seconds"),
        ([RUN_STEP, 1, 2, None, 0], "a request has 6 parts"),
        ([RUN_STEP, 1, 2, None, b""], "cannot decode"),
        ([RUN_GRAPH, 1, 2, None, 0], "a request has 4 parts"),
        ([RUN_GRAPH, 1, 2, None, b""], "cannot decode"),
        ([PARTIAL_RUN, 1, 2, None], "a run has a program, a limit and a request"),
        ([PARTIAL_RUN, 1, 2, None, None], "a request has 2 parts"),
        ([RUN_STEP, 1, 2, None, None, b"x"], "pairs of items"),
        ([DONE, 1], "a run that is done has values"),
        ([DONE, 1, None, b"x"], "pairs of items"),
        ([FAIL, 1], "a failed run has one error"),
        ([PUSH, 1, "key"], "three items for each value"),
        ([PUSH, 1, 0, None, None], "one of 0 numbers, found 0"),
        ([PUSH, 1, None, None, None], "one of 0 numbers, found None"),
        ([PUSH, 1, "key", None, 5], "a form and a content"),
        *[
            ([TRACED_PUSH, 1, *found, "key", None, None], "a moment and a number of bytes")
            for found in ([], [1.0], [None, 0], [1, 0], [-1.0, 0], [float("nan"), 0], [1e11, 0], [1.0, -1], [1.0, 0.0])
        ],
        *[
            ([LEND, 1, 0.0, 0, *item], "a key, a number and a ticket")
            for item in (["key"], ["key", 1], [0, 1, b""], ["key", 1.0, b""], ["key", True, b""], ["key", 1, "ticket"])
        ],
        ([LEND, 1, 0.0], "a moment and a number of bytes"),
        *[([kind, number], "nothing is lent as number") for kind in (RETURNED, REFUSED) for number in (0, 2**62)],
        ([RETURNED, 1, None], "nothing is lent as number"),
        ([TRACED_PUSH, 1, 1.0], "a moment and a number of bytes"),
        ([TRACED_PUSH, 1, 1.0, 0, "key"], "three items for each value"),
        ([5, 1], "unknown kind of step frame: 5"),
        (["run", 1], "unknown kind of step frame: 'run'"),
    ],
)
async def test_a_malformed_frame_is_a_protocol_error(wire: list[Any], words: str) -> None:
    end = End()
    with pytest.raises(errors.ProtocolError) as info:
        end.receive(*wire)
    assert words in str(info.value)
    assert (end.sent, end.pushed, len(end.calls.served)) == ([], [], 0)


@for_each("named", [True, 1.0, 2, -1, None])
async def test_only_a_number_that_was_given_names_a_key(named: Any) -> None:
    end = End()
    value = [None, None]  # dead
    end.receive(PUSH, 1, "a", *value, "b", *value)
    end.receive(PUSH, 2, 1, *value)
    with pytest.raises(errors.ProtocolError) as info:
        end.receive(PUSH, 3, 0, *value, named, *value)
    assert str(info.value) == f"a key is text or one of 2 numbers, found {named!r}"
    assert [message.keys for message in end.pushed] == [["a", "b"], ["b"]]


async def test_a_call_must_not_be_used_twice_at_the_same_time() -> None:
    end = End()
    number = end.calls.served.register(Program())
    end.receive(RUN_GRAPH, 1, number, None, None)
    with pytest.raises(errors.ProtocolError, match="run 1 is requested twice"):
        end.receive(RUN_GRAPH, 1, number, None, None)


async def test_answers_to_runs_that_nobody_waits_for_are_dropped() -> None:
    end = End()
    end.receive(DONE, 1, None)
    end.receive(GONE, 2)
    assert end.sent == []
