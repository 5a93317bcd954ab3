"""Changes of a cluster at any moment of a restart, on simulated machines.

No machine ever has two processes of a task at once: a ``SimulatedMachine`` refuses that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from actorsession import Graph, errors, ops
from actorsession.cluster import TaskEnd
from actorsession.testing import SimulatedCluster
from tests.cluster.kit import W0, W1, W2, eventually, on
from tests.rows import few_of

W3 = "/job:worker/replica:0/task:3"
# Virtual seconds from the death of a process: before its parent knows, in the pause, while the next one starts, after.
MOMENTS = (0.0, 0.001, 0.05, 0.11, 0.2, 0.3, 1.0)
# Virtual seconds in which whatever was to come has come: longer than the window of a limit.
LONG = 100.0
# More deaths than a test brings about.
OFTEN = 1000


def run(main: Callable[[SimulatedCluster], Coroutine[Any, Any, None]], workers: int = 2, **options: Any) -> None:
    SimulatedCluster(1, {"worker": workers}, **options).run(main)


def running(cluster: SimulatedCluster) -> list[str]:
    """The machines on which a process of a task runs, whether the cluster knows it or not."""
    return [name for name in ("worker-0", "worker-1", "worker-2") if cluster.has_process(name)]


@pytest.fixture(params=few_of(MOMENTS, 2))
def moment(request: Any) -> float:
    return float(request.param)


async def restarting(cluster: SimulatedCluster, moment: float) -> None:
    """Kill the second worker some time ago."""
    cluster.task("worker", 1).crash()
    await asyncio.sleep(moment)


def test_a_cluster_that_is_stopped_during_a_restart_leaves_nothing(moment: float) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            await restarting(cluster, moment)
            await cluster.stop()
            assert running(cluster) == []
        await asyncio.sleep(LONG)
        assert running(cluster) == []

    run(main, restart=3)


def test_a_task_that_is_removed_during_its_restart_does_not_come_back(moment: float) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            await restarting(cluster, moment)
            await cluster.remove("worker", 1)
            await asyncio.sleep(LONG)
            assert running(cluster) == ["worker-0"]
            assert list(cluster.spec.tasks()) == [W0]
            assert list(cluster.restarts) == [W0]
            _ = await cluster.add("worker")
            assert running(cluster) == ["worker-0", "worker-1"]
            assert cluster.restarts == {W0: 0, W1: 0}

    run(main, restart=3)


def test_a_restart_by_hand_takes_the_place_of_one_that_is_under_way(moment: float) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            address = cluster.target("worker", 1)
            await restarting(cluster, moment)
            process = await cluster.restart("worker", 1)
            await asyncio.sleep(LONG)
            assert cluster.process("worker", 1) is process
            assert process.alive
            assert process.address == address

    run(main, restart=3)


def test_a_cluster_that_is_killed_during_a_restart_starts_nothing(moment: float) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            await restarting(cluster, moment)
            cluster.kill_now()
            with pytest.raises(errors.FailedPreconditionError, match="was stopped"):
                await cluster.restart("worker", 1)
            await asyncio.sleep(LONG)
            assert running(cluster) == []

    run(main, restart=3)


def test_a_cluster_that_is_stopped_during_a_restart_by_hand_leaves_nothing(moment: float) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            by_hand = asyncio.ensure_future(cluster.restart("worker", 1))
            await asyncio.sleep(moment)
            was_done = by_hand.done()
            await cluster.stop()
            assert running(cluster) == []
            if not was_done:
                with pytest.raises((errors.UnavailableError, errors.FailedPreconditionError)):
                    _ = await by_hand
            await asyncio.sleep(LONG)
            assert running(cluster) == []

    run(main, restart=3)


def test_a_process_that_dies_while_its_task_is_changed_is_not_started_twice(moment: float) -> None:
    """Restarts by hand, two at once, and a removal, each some time after a death."""

    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            await restarting(cluster, moment)
            both = await asyncio.gather(cluster.restart("worker", 1), cluster.restart("worker", 1))
            assert cluster.process("worker", 1) is both[1]
            await restarting(cluster, moment)
            await cluster.remove("worker", 1)
            await asyncio.sleep(LONG)
            assert running(cluster) == ["worker-0", "worker-2"]
            assert sorted(cluster.processes) == [W0, W2]

    run(main, 3, restart=OFTEN)


def test_a_task_that_is_started_again_knows_those_that_have_joined(moment: float) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        with Graph().as_default() as graph:
            y = on(W1, lambda: ops.constant(1.0) + 1.0)
            z = on(W2, lambda: y * 2.0)
        async with cluster:
            await restarting(cluster, moment)
            _ = await cluster.add("worker")
            async with cluster.session(graph, "worker", 1) as session:
                assert await session.run(z) == 4.0

    run(main, restart=3)


def test_a_task_whose_start_fails_each_time_is_given_up_and_named() -> None:
    """1. The limit is reached. 2. Steps fail at once and say so. 3. ``restart`` brings it back."""
    ends: list[TaskEnd] = []

    async def main(cluster: SimulatedCluster) -> None:
        with Graph().as_default() as graph:
            y = on(W1, lambda: ops.constant(1.0) + 1.0)
        async with cluster, cluster.session(graph) as session:
            assert await session.run(y) == 2.0
            former = cluster.task("worker", 1)
            former.disk.fail()
            former.crash()
            await asyncio.sleep(LONG / 2)
            assert [(end.task, end.restarts, end.clean) for end in ends] == [
                (W1, True, False),
                (W1, True, False),
                (W1, False, False),
            ]
            again = "it is started again ({} of 2 times in 60 s)"
            assert ends[0].message == f"{W1} has ended: killed by SIGKILL; {again.format(1)}"
            assert ends[1].message.startswith(f"{W1} could not be started: the process did not come up: exit code 1")
            assert f"; {again.format(2)}" in ends[1].message
            assert "; it was started again 2 times in 60 s, the limit" in ends[2].message
            assert cluster.restarts == {W0: 0, W1: 2}
            began = cluster.loop.now
            with pytest.raises(errors.UnavailableError) as info:
                await session.run(y)
            assert info.value.message.startswith(
                f"{W1} (on worker-1) was killed by SIGKILL; it was started again 2 times in 60 s, the limit, "
                "the last time without success: the process did not come up: exit code 1"
            )
            assert cluster.loop.now - began < 1.0  # it does not wait for the task
            with pytest.raises(errors.UnavailableError, match="did not come up: exit code 1"):
                await cluster.restart("worker", 1)
            former.disk.heal()
            _ = await cluster.restart("worker", 1)
            assert await session.run(y) == 2.0
            cluster.task("worker", 1).crash()
            await asyncio.sleep(1.0)
            assert await session.run(y) == 2.0
            assert cluster.restarts[W1] == 3

    run(main, restart=2, snapshot_every=60.0, on_end=ends.append)


def test_a_process_that_was_asked_to_end_is_not_started_again() -> None:
    ends: list[TaskEnd] = []

    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            process = cluster.task("worker", 1)
            process.terminate()
            await process.wait_ended()
            await asyncio.sleep(LONG)
            assert ends == [TaskEnd(W1, f"{W1} has ended: exit code 0", clean=True, restarts=False)]
            assert cluster.restarts == {W0: 0, W1: 0}
            assert cluster.process("worker", 1) is process
            assert running(cluster) == ["worker-0"]

    run(main, restart=3, on_end=ends.append)


def test_without_restarts_the_ends_are_reported_all_the_same() -> None:
    ends: list[TaskEnd] = []

    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            cluster.task("worker", 1).crash()
            await asyncio.sleep(1.0)
        assert ends == [TaskEnd(W1, f"{W1} has ended: killed by SIGKILL", clean=False, restarts=False)]

    run(main, on_end=ends.append)


def test_a_callback_that_fails_does_not_keep_a_task_from_coming_back(caplog: pytest.LogCaptureFixture) -> None:
    def on_end(end: TaskEnd) -> None:
        raise RuntimeError(f"no more of {end.task}")

    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            former = cluster.task("worker", 1)
            former.crash()
            await asyncio.sleep(1.0)
            assert cluster.process("worker", 1) is not former
            assert cluster.process("worker", 1).alive

    run(main, restart=1, on_end=on_end)
    failed = [record.message for record in caplog.records if record.exc_info is not None]
    assert failed == [f"the callback for the end of {W1} has failed"]


def test_tasks_are_added_removed_and_counted() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        with Graph().as_default() as graph:
            here = on(W0, lambda: ops.constant(3.0) + 1.0)
        async with cluster, cluster.session(graph) as session:
            assert await session.run(here) == 4.0
            added = await cluster.add("worker")
            assert (added.task, added.alive) == (W2, True)
            with graph.as_default():
                there = on(W2, lambda: here * 10.0)
            assert await session.run(there) == 40.0
            await cluster.remove("worker", 2)
            assert not added.alive
            assert sorted(cluster.spec.tasks()) == [W0, W1]
            with pytest.raises(errors.InvalidArgumentError, match="has left the cluster"):
                await session.run(there)
            assert await session.run(here) == 4.0
            assert (await cluster.add("worker")).task == W2
            assert await session.run(there) == 40.0
            with pytest.raises(ValueError, match="no task 7 in job 'worker'"):
                await cluster.remove("worker", 7)
            await cluster.scale("worker", 1)
            assert sorted(cluster.status()) == [W0]
            assert await session.run(here) == 4.0
            with pytest.raises(ValueError, match="is the last task; stop the cluster instead"):
                await cluster.remove("worker")
            assert running(cluster) == ["worker-0"]

    run(main)


def _numbered(task: str) -> Any:
    return ops.constant(1.0) + float(task[-1])


def test_tasks_that_are_added_at_once_have_indices_of_their_own() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        with Graph().as_default() as graph:
            sums = [on(task, partial(_numbered, task)) for task in (W1, W2)]
        async with cluster:
            await cluster.scale("worker", 3)
            assert sorted(cluster.spec.tasks()) == [W0, W1, W2]
            for index in range(3):  # each of them knows both
                async with cluster.session(graph, "worker", index) as session:
                    assert await session.run(sums) == [2.0, 3.0]

    run(main, 1)


# -- what tasks are told that do not answer ----------------------------------------------------------
Change = Callable[[SimulatedCluster], Coroutine[Any, Any, Any]]


async def _add(cluster: SimulatedCluster) -> None:
    _ = await cluster.add("worker")


async def _remove(cluster: SimulatedCluster) -> None:
    await cluster.remove("worker", 1)


def _part(cluster: SimulatedCluster) -> None:
    cluster.network.part("client", "worker-0")


def _stall(cluster: SimulatedCluster) -> None:
    cluster.task("worker").stall()


async def _changed_without_the_first(cluster: SimulatedCluster, change: Change, limit: float | None) -> None:
    """Change the cluster while its first task hears nothing, until the change says so or is given up."""
    match = None if limit else f"could not be told of the change: {W0}: "
    with pytest.raises(TimeoutError if limit else errors.UnavailableError, match=match):
        async with asyncio.timeout(limit):
            await change(cluster)


def _telling() -> list[str]:
    return [child.get_name() for child in asyncio.all_tasks() if child.get_name() == f"tell {W0} of its cluster"]


@pytest.mark.parametrize("limit", [None, 2.0])
@pytest.mark.parametrize("change", [_add, _remove])
@pytest.mark.parametrize("cut_off", [_part, _stall])
def test_a_task_hears_of_a_change_when_it_answers_again(
    cut_off: Callable[[SimulatedCluster], None], change: Change, limit: float | None
) -> None:
    """The change is made, so it is not enough that its program was told or has given up: nobody else tells the task.

    1. A task is cut off from the program. 2. A change is made, which another task hears of at once. 3. Long after it
    has failed, or was given up, the task is there again. 4. It knows the tasks, within the time that four tries take.
    """

    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            cut_off(cluster)
            await _changed_without_the_first(cluster, change, limit)
            assert _known(cluster, 2) == sorted(cluster.spec.tasks()) != _known(cluster, 0)
            await asyncio.sleep(LONG)
            cluster.network.heal()
            cluster.task("worker").go_on()
            async with asyncio.timeout(4.0):
                await eventually(lambda: _known(cluster, 0) == sorted(cluster.spec.tasks()))
            await eventually(lambda: not _telling())

    run(main, 3)


def _known(cluster: SimulatedCluster, index: int) -> list[str]:
    return _known_at(cluster.task("worker", index))


def _known_at(process: Any) -> list[str]:
    return sorted(process.server._cluster_view.tasks())


def test_a_task_that_does_not_answer_hears_all_changes_together_and_once() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            _stall(cluster)
            for change in (_add, _remove, _add):
                await _changed_without_the_first(cluster, change, 2.0)
                assert len(_telling()) == 1
            cluster.task("worker").go_on()
            await eventually(lambda: _known(cluster, 0) == sorted(cluster.spec.tasks()))

    run(main, 3)


def test_a_new_task_hears_of_a_change_that_comes_while_it_is_told_of_another() -> None:
    """1. A task joins. 2. Another leaves meanwhile, so the new one is told again. 3. When it knows that and is about to
    say so, or has just done so, one more leaves: the new one is none of those that all changes are sent to yet.
    """

    async def main(cluster: SimulatedCluster, moment: float) -> None:
        async with cluster:
            adding = asyncio.ensure_future(cluster.add("worker"))
            await eventually(lambda: bool(cluster._tasks.starting))
            (new,) = cluster._tasks.starting
            await new.announced()
            await asyncio.sleep(0.0)  # its list is on its way
            removing = [asyncio.ensure_future(cluster.remove("worker", 3))]
            while W3 in _known_at(new):  # noqa: ASYNC110
                await asyncio.sleep(1e-5)
            await asyncio.sleep(moment)
            removing.append(asyncio.ensure_future(cluster.remove("worker", 2)))
            # The call may complain that it could not tell one of those that leave.
            _ = await asyncio.gather(adding, *removing, return_exceptions=True)
            assert _known_at(new) == sorted(cluster.spec.tasks()) == [W0, W1, new.task]

    for tenth in range(10):
        run(partial(main, moment=tenth * 1e-4), 4)


@pytest.mark.parametrize("end", ["crash", "restart", "remove", "stop"])
def test_nobody_tells_a_task_whose_process_has_ended(end: str) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            _stall(cluster)
            await _changed_without_the_first(cluster, _add, 2.0)
            await asyncio.sleep(1.0)
            assert len(_telling()) == 1
            match end:
                case "crash":
                    cluster.task("worker").crash()
                case "restart":
                    await cluster.restart("worker")
                    assert _known(cluster, 0) == sorted(cluster.spec.tasks())
                case "remove":
                    await cluster.remove("worker")
                case "stop":
                    await cluster.stop(0.0)
                    assert not _telling()
            await eventually(lambda: not _telling())

    run(main)


def test_a_cluster_that_was_stopped_starts_no_processes() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            await cluster.stop()
            for call in (cluster.restart("worker"), cluster.add("worker")):
                with pytest.raises(errors.FailedPreconditionError, match="the cluster was stopped"):
                    await call
            assert running(cluster) == []

    run(main)


# -- starts and stops --------------------------------------------------------------------------------
# Callbacks of all hosts from the call on: a start takes some ninety, a stop as many.
CALLBACKS = range(1, 120, 7)


@pytest.mark.parametrize("callbacks", few_of(CALLBACKS, 4))
@pytest.mark.parametrize("how", ["cancelled", "stopped", "killed"])
def test_a_start_that_is_given_up_at_any_moment_leaves_no_process(how: str, callbacks: int) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        starting = asyncio.ensure_future(cluster.start())
        moment = asyncio.Event()
        cluster.loop.after(callbacks, lambda: cluster.loop.call_soon(moment.set))
        await asyncio.wait([starting, asyncio.ensure_future(moment.wait())], return_when=asyncio.FIRST_COMPLETED)
        if how == "cancelled":
            starting.cancel()
        elif how == "stopped":
            await cluster.stop()
        else:
            cluster.kill_now()
        (outcome,) = await asyncio.gather(starting, return_exceptions=True)
        assert outcome is None or isinstance(
            outcome, asyncio.CancelledError | errors.FailedPreconditionError | errors.UnavailableError
        )
        await cluster.stop()
        await asyncio.sleep(LONG)
        assert running(cluster) == []
        with pytest.raises(errors.FailedPreconditionError):
            await cluster.start()

    run(main)


@pytest.mark.parametrize("callbacks", few_of(CALLBACKS, 4))
def test_a_stop_that_is_cancelled_at_any_moment_leaves_no_process(callbacks: int) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        await cluster.start()
        cluster.task("worker").stall()
        stopping = asyncio.ensure_future(cluster.stop(grace=LONG))
        await asyncio.sleep(0)  # until it has begun
        cluster.loop.after(callbacks, stopping.cancel)
        _ = await asyncio.gather(stopping, return_exceptions=True)
        assert running(cluster) == []

    run(main)


def test_a_start_that_takes_too_long_leaves_no_process() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        with pytest.raises(errors.DeadlineExceededError, match="the processes of the cluster"):
            await cluster.start()
        assert running(cluster) == []

    run(main, start_timeout=0.01)


def test_a_process_that_does_not_end_by_itself_is_killed() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            cluster.task("worker").stall()
            began = cluster.loop.now
            await cluster.stop(grace=0.1)
            assert cluster.loop.now - began < 1.0
            assert cluster.process("worker").fate == "killed by SIGKILL, by the program that had started it"
            assert cluster.process("worker", 1).fate == "exit code 0"

    run(main)
