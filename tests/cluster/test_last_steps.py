"""What servers and sessions remember: their last steps and errors, their log, their variables."""

from __future__ import annotations

import asyncio
import logging
import time

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Session, Tensor, cluster, io, ops
from actorsession.config import ConfigProto, RunExperimental, RunOptions, StepRecord, merge_records
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from tests.cluster.kit import PATIENCE, PS0, W0, W1, Gate, eventually, in_process, on, soon

X = np.linspace(-1, 1, 4, dtype=np.float32)


def device(task: str, number: int = 0) -> str:
    return f"{task}/device:CPU:{number}"


def two_tasks() -> tuple[Tensor, Tensor, Tensor]:
    x = ops.placeholder("float32", [4], name="x")
    there = on(W1, lambda: ops.multiply(x, 2.0, name="there"))
    end = on(W0, lambda: ops.add(there, 1.0, name="end"))
    return x, there, end


def failing() -> Tensor:
    """A node of the second worker that fails when it runs."""
    return on(W1, lambda: io.read_file("/no/such/file", name="missing"))


def parts(step: StepRecord) -> list[str]:
    return [part.device for part in step.parts]


# -- of a session with a target --------------------------------------------------------------------
async def test_a_step_over_two_workers_is_remembered_with_both_parts_and_its_transfer(graph: Graph) -> None:
    x, _, end = two_tasks()
    before = time.time()
    async with in_process() as servers, AsyncSession(servers.target(), graph) as session:
        for _ in range(3):
            await soon(session.run(end, {x: X}))
        steps = await soon(session.last_steps())
    assert len(steps) == 3
    assert len({step.step_id for step in steps}) == 3
    for step in steps:
        assert (step.task, step.kind, step.error) == (W0, "run", "")
        assert (step.feeds, step.fetches) == (("x:0",), ("end:0",))
        assert parts(step) == [device(W0), device(W1)]
        assert before - 1 < step.began < step.ended < time.time() + 1
        (sent, received) = step.transfers
        assert [(t.kind, t.device, t.nbytes) for t in (sent, received)] == [
            ("send", device(W1), X.nbytes),
            ("recv", device(W0), X.nbytes),
        ]
        assert sent.key == received.key
        # The first waits, unless the value of the second is there before it begins; the second has none to wait for.
        assert step.parts[1].waited == 0.0


async def test_the_slow_device_worked_and_the_other_one_waited(graph: Graph) -> None:
    """The kernel on the second worker takes as long as the test wants, which is most of the step."""
    gate = Gate("slow-device")
    x = ops.placeholder("float32", [4])
    end = on(W0, lambda: ops.add(on(W1, lambda: gate(x)), 1.0))
    async with in_process() as servers, AsyncSession(servers.target(), graph) as session:
        running = asyncio.create_task(session.run(end, {x: X}))
        await gate.wait_entered()
        begun = time.monotonic()
        (under_way,) = await soon(cluster.read_steps(servers.target(), running=True))
        held = time.monotonic() - begun
        gate.open()
        await soon(running)
        (step,) = await soon(session.last_steps())
    assert under_way.is_running
    assert under_way.step_id == step.step_id
    here, there = step.parts
    assert here.waited >= held
    assert there.waited < here.waited
    assert (there.ended - there.began) - there.waited >= held


async def test_only_the_latest_are_given_and_only_the_slow_ones_if_asked_for(graph: Graph) -> None:
    gate = Gate("one-slow-step")
    x, _, end = two_tasks()
    slow = on(W0, lambda: gate(x))
    async with in_process() as servers, AsyncSession(servers.target(), graph) as session:
        gate.open()
        for fetch in (end, slow, end):
            await soon(session.run(fetch, {x: X}))
        steps = await soon(session.last_steps())
        assert [s.step_id for s in await soon(session.last_steps(2))] == [s.step_id for s in steps[1:]]
        longest = max(steps, key=lambda step: step.took)
        assert [s.step_id for s in await soon(session.last_steps(slower_than=longest.took))] == [longest.step_id]
        assert await soon(session.last_steps(0)) == []
        for wrong in ((-1, 0.0), (1, -1.0), (1, float("nan"))):
            with pytest.raises(ValueError, match="0 or more"):
                await session.last_steps(*wrong)


async def test_a_step_inside_a_span_is_remembered_with_its_trace(graph: Graph) -> None:
    x, _, end = two_tasks()
    trace = "0af7651916cd43dd8448eb211c80319c"
    options = RunOptions(experimental=RunExperimental(trace_parent=f"00-{trace}-b7ad6b7169203331-01"))
    async with in_process() as servers, AsyncSession(servers.target(), graph) as session:
        await soon(session.run(end, {x: X}, options=options))
        await soon(session.run(end, {x: X}))
        assert [step.trace_id for step in await soon(session.last_steps())] == [trace, ""]


async def test_a_session_is_not_told_of_the_steps_of_another(graph: Graph) -> None:
    x, there, end = two_tasks()
    async with in_process() as servers, AsyncSession(servers.target(), graph) as session:
        await soon(session.run(end, {x: X}))
        async with AsyncSession(servers.target(), graph) as other:
            await soon(other.run(there, {x: X}))
            assert [step.fetches for step in await soon(other.last_steps())] == [("there:0",)]
        assert [step.fetches for step in await soon(session.last_steps())] == [("end:0",)]
        assert len(await soon(cluster.read_steps(servers.target()))) == 2


async def test_a_step_that_failed_is_remembered_with_its_error_as_an_error_of_both_tasks(graph: Graph) -> None:
    missing = failing()
    async with in_process() as servers, AsyncSession(servers.target(), graph) as session:
        with pytest.raises(NotFoundError):
            await soon(session.run(missing))
        (step,) = await soon(session.last_steps())
        told = [await soon(cluster.read_errors(servers.target(task))) for task in (W0, W1)]
    assert step.error.startswith("NotFoundError: ")
    assert "/no/such/file" in step.error
    for errors, task in zip(told, (W0, W1), strict=True):
        assert errors.task == task
        (error,) = errors.errors
        assert (error.code, error.subject, error.step_id, error.task) == ("NotFoundError", "step", step.step_id, W1)
        assert errors.counts == {"NotFoundError": 1}
        assert errors.since < error.when


async def test_a_partial_run_is_one_step(graph: Graph) -> None:
    x, there, end = two_tasks()
    async with in_process() as servers, AsyncSession(servers.target(), graph) as session:
        handle = await soon(session.partial_run_setup([there, end], [x]))
        (open_run,) = await soon(cluster.read_steps(servers.target(), running=True))
        assert (open_run.kind, open_run.is_running) == ("partial", True)
        await soon(session.partial_run(handle, [there, end], {x: X}))
        (step,) = await soon(session.last_steps())
    assert (step.kind, step.step_id, step.is_running) == ("partial", open_run.step_id, False)
    assert set(step.fetches) == {"there:0", "end:0"}
    assert parts(step) == [device(W0), device(W1)]


async def test_a_partial_run_that_was_aborted_is_remembered_as_that(graph: Graph) -> None:
    x, there, _ = two_tasks()
    missing = failing()
    async with in_process() as servers, AsyncSession(servers.target(), graph) as session:
        handle = await soon(session.partial_run_setup([there, missing], [x]))
        with pytest.raises(NotFoundError):
            await soon(session.partial_run(handle, [there, missing], {x: X}))
        (step,) = await soon(session.last_steps())
    assert step.kind == "partial"
    assert step.error.startswith("NotFoundError: ")


async def test_a_server_keeps_as_many_steps_as_it_is_told_to(graph: Graph) -> None:
    x, _, end = two_tasks()
    async with in_process(kept_steps=5) as servers, AsyncSession(servers.target(), graph) as session:
        for _ in range(23):
            await soon(session.run(end, {x: X}))
        steps = await soon(session.last_steps(100))
        assert 5 <= len(steps) < 10
        assert steps[-1].parts
    async with in_process(kept_steps=0) as servers, AsyncSession(servers.target(), graph) as session:
        await soon(session.run(end, {x: X}))
        for asking in (session.last_steps(), cluster.read_steps(servers.target())):
            with pytest.raises(FailedPreconditionError, match="kept_steps"):
                await soon(asking)
    with pytest.raises(InvalidArgumentError, match="kept_steps is 0 or more"):
        async with in_process(kept_steps=-1):
            pass


async def test_what_several_tasks_remember_of_a_step_is_put_together(graph: Graph) -> None:
    x, _, end = two_tasks()
    async with in_process() as servers, AsyncSession(servers.target(), graph) as session:
        await soon(session.run(end, {x: X}))
        own = await soon(cluster.read_steps(servers.target(W0)))
        other = await soon(cluster.read_steps(servers.target(W1)))
        (whole,) = await soon(session.last_steps())
    assert [step.is_whole for step in (*own, *other)] == [True, False]
    (merged,) = merge_records([*other, *own])
    assert parts(merged) == parts(whole)
    assert merged.fetches == whole.fetches


async def test_the_setting_of_a_session_in_this_process_is_refused_with_a_target(graph: Graph) -> None:
    async with in_process() as servers:
        with pytest.raises(InvalidArgumentError, match="servers remember the last steps"):
            AsyncSession(servers.target(), graph, ConfigProto(kept_steps=10))


# -- of a session in this process ------------------------------------------------------------------
async def test_a_session_in_this_process_remembers_steps_if_it_is_told_to(graph: Graph) -> None:
    x = ops.placeholder("float32", [4], name="x")
    y = ops.add(x, 1.0, name="y")
    with graph.device("/cpu:1"):
        z = ops.multiply(y, 2.0, name="z")
    config = ConfigProto(kept_steps=10, device_count={"CPU": 2})
    async with AsyncSession(graph=graph, config=config) as session:
        await session.run(y, {x: X})
        await session.run(z, {x: X})
        one, two = await session.last_steps()
    assert (one.feeds, one.fetches, len(one.parts), one.transfers) == (("x:0",), ("y:0",), 1, ())
    assert two.fetches == ("z:0",)
    assert [part.device.rpartition("/")[2] for part in two.parts] == ["device:CPU:0", "device:CPU:1"]
    assert [transfer.kind for transfer in two.transfers].count("send") == 1
    assert sum(transfer.nbytes for transfer in two.transfers if transfer.kind == "send") == X.nbytes


async def test_a_step_in_this_process_that_waited_for_an_element_says_so(graph: Graph) -> None:
    queue = ops.FIFOQueue(1, ["float32"], [[]])
    put, taken = queue.enqueue(1.0), queue.dequeue()
    async with AsyncSession(graph=graph, config=ConfigProto(kept_steps=10)) as session:
        waiting = asyncio.create_task(session.run(taken))
        await eventually(lambda: session.statistics().steps == 1)
        await soon(session.run(put))
        await soon(waiting)
        steps = await session.last_steps()
    (step,) = [step for step in steps if step.fetches == (taken.name,)]
    (part,) = step.parts
    assert part.waited > 0.0


def test_steps_of_a_session_in_the_thread_of_its_caller_are_remembered_with_their_errors(graph: Graph) -> None:
    x = ops.placeholder("float32", [4])
    total = ops.reduce_sum(x)
    missing = io.read_file("/no/such/file")
    with Session(graph=graph, config=ConfigProto(kept_steps=2)) as session:
        for _ in range(11):
            session.run(total, {x: X})
        with pytest.raises(NotFoundError):
            session.run(missing)
        steps = session.last_steps()
        handle = session.partial_run_setup([total], [x])
        session.partial_run(handle, [total], {x: X})
        last = session.last_steps(1)
    assert 2 <= len(steps) < 4
    assert steps[-1].error.startswith("NotFoundError: ")
    assert [step.kind for step in last] == ["partial"]


def test_a_session_in_this_process_remembers_nothing_by_default(graph: Graph) -> None:
    one = ops.constant(1.0)
    with Session(graph=graph) as session:
        session.run(one)
        with pytest.raises(FailedPreconditionError, match="kept_steps=1000"):
            session.last_steps()
    with pytest.raises(InvalidArgumentError, match="kept_steps"):
        ConfigProto(kept_steps=-1)


# -- errors, logs and variables of a server --------------------------------------------------------
async def test_what_a_server_logs_as_a_warning_is_remembered_as_an_error_and_can_be_read(graph: Graph) -> None:
    log = logging.getLogger("actorsession.cluster")
    async with in_process({"worker": 1}) as servers:
        try:
            raise OSError("disk full")
        except OSError:
            log.exception("no snapshot is written for \x1b[31m%s", "somebody\nFATAL all is lost")
        log.warning("only that it is said, not why", extra={"hint": True})
        told = await soon(cluster.read_errors(servers.target()))
        read = await soon(cluster.read_log(servers.target()))
    (error,) = told.errors
    assert (error.code, error.task) == ("OSError", W0)
    assert error.message == r"no snapshot is written for \x1b[31msomebody\nFATAL all is lost"
    first, *traceback, hint = read.lines
    assert first.endswith(r"ERROR actorsession.cluster no snapshot is written for \x1b[31msomebody\nFATAL all is lost")
    assert traceback[-1] == "OSError: disk full"
    assert hint.endswith("only that it is said, not why")
    assert (read.task, read.last) == (W0, len(read.lines))


async def test_new_lines_of_a_log_are_read_after_the_old_ones() -> None:
    log = logging.getLogger("actorsession.cluster")
    async with in_process({"worker": 1}) as servers:
        for number in range(5):
            log.warning("line %d", number)
        read = await soon(cluster.read_log(servers.target(), 2))
        assert [line[-6:] for line in read.lines] == ["line 3", "line 4"]
        log.warning("line 5")
        more = await soon(cluster.read_log(servers.target(), 100, read.last))
        assert [line[-6:] for line in more.lines] == ["line 5"]
        assert (await soon(cluster.read_log(servers.target(), 100, more.last))).lines == []


async def test_a_peer_that_tries_for_ever_takes_the_place_of_nothing_else() -> None:
    log = logging.getLogger("actorsession.cluster")
    async with in_process({"worker": 1}) as servers:
        log.warning("disk full")
        for number in range(300):
            log.warning("attempt %d of a peer was refused", number, extra={"peer": "tcp://mallory:1"})
        read = await soon(cluster.read_log(servers.target(), 1000))
        told = await soon(cluster.read_errors(servers.target()))
    assert [line.partition("actorsession.cluster ")[2] for line in read.lines] == [
        "disk full",
        "attempt 0 of a peer was refused",
    ]
    assert [error.message for error in told.errors] == ["disk full", "attempt 0 of a peer was refused"]


async def test_no_handler_of_a_log_is_left_when_the_last_server_has_stopped() -> None:
    before = list(logging.getLogger("actorsession").handlers)
    async with in_process():
        assert len(logging.getLogger("actorsession").handlers) == len(before) + 1
    assert logging.getLogger("actorsession").handlers == before


async def test_the_variables_of_a_task_are_listed_by_size(graph: Graph) -> None:
    with on(PS0):
        small = ops.Variable(np.zeros(3, np.float32), name="small")
        large = ops.Variable(np.zeros((30, 2), np.float32), name="large")
        unset = ops.Variable(np.zeros(2, np.float32), name="unset")
        is_set = ops.is_variable_initialized(unset)
    async with in_process({"ps": 1, "worker": 1}) as servers, AsyncSession(servers.target(), graph) as session:
        await soon(session.run([small.initializer, large.initializer]))
        assert not await soon(session.run(is_set))
        there = await soon(cluster.read_variables(servers.target(PS0)))
        here = await soon(cluster.read_variables(servers.target(W0)))
    assert here == []
    assert [(v.name, v.dtype, v.shape, v.nbytes, v.initialised) for v in there[:2]] == [
        ("large", "float32", (30, 2), 240, True),
        ("small", "float32", (3,), 12, True),
    ]
    assert [(v.name, v.nbytes, v.initialised) for v in there[2:]] in ([], [("unset", 0, False)])
    assert {v.device for v in there} == {device(PS0)}
    assert {v.session for v in there} == {""}


async def test_variables_that_a_session_has_for_itself_are_told_from_shared_ones(graph: Graph) -> None:
    mine = on(W0, lambda: ops.Variable([1.0, 2.0], name="mine"))
    config = ConfigProto(isolate_session_state=True)
    async with in_process({"worker": 1}) as servers:
        async with AsyncSession(servers.target(), graph, config) as session:
            await soon(session.run(mine.initializer))
            (listed,) = await soon(cluster.read_variables(servers.target()))
            (opened,) = servers.server(W0).statistics().open_sessions
            assert (listed.name, listed.session) == ("mine", opened.session_handle)
        assert await soon(cluster.read_variables(servers.target())) == []


@pytest.mark.process
async def test_a_task_that_was_started_again_knows_how_often_and_how_its_process_ended() -> None:
    async with asyncio.timeout(4 * PATIENCE), LocalCluster({"worker": 1}, kept_steps=0) as servers:
        with pytest.raises(FailedPreconditionError, match="kept_steps"):
            await cluster.read_steps(servers.target("worker"))
        fresh = await cluster.read_errors(servers.target("worker"))
        assert (fresh.restarts, fresh.predecessor, fresh.errors) == (0, "", ())
        for times in (1, 2):
            await servers.restart("worker", 0)
            told = await cluster.read_errors(servers.target("worker"))
            assert told.restarts == times
            assert "killed by SIGKILL" in told.predecessor
            (error,) = told.errors
            assert error.subject == "task"
            assert told.predecessor in error.message
