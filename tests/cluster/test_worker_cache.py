"""The links of one task to the others: one per pair, dialled again when lost, pushes that never wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from actorsession import errors
from actorsession.actors import Actor, CallContext, Deadline, handles
from actorsession.cluster.peer_links import LinkOptions
from actorsession.cluster.worker_cache import WorkerCache
from actorsession.messages import WORKER, CleanupGraph, GetStatus, WorkerStatus
from actorsession.rpc.pushes import Pushed, PushTimes
from tests.actors.kit import turns
from tests.cluster.kit import PS0, W0, W1, W2, eventually, silent_address, soon
from tests.loops import cancelled
from transports import Hello, Listener, connect, listen


class Post(Actor):
    """Stands for a worker: says who it is and keeps what is pushed."""

    def __init__(self, task: str) -> None:
        super().__init__(f"worker {task}")
        self.task = task
        self.pushed: list[Pushed] = []

    @handles(GetStatus)
    def on_get_status(self, message: GetStatus, call: CallContext) -> WorkerStatus:
        return WorkerStatus(task=self.task, incarnation=1, devices=[], statistics={}, restored=None)

    def take_push(
        self, peer: str, step_id: int, keys: Any, values: Any, dead: Any, times: PushTimes | None = None
    ) -> None:
        sent = () if times is None else (times.sent, times.queued)
        self.pushed.append(Pushed(step_id, keys, values, dead, *sent))


class Task:
    """A task with a cache, a listener and a post."""

    def __init__(self, name: str, incarnation: int = 1, cluster_id: str = "c") -> None:
        self.name = name
        self.post = Post(name)
        self.lost: list[tuple[int, errors.OpError]] = []
        self.cache = WorkerCache(
            name,
            Hello(cluster_id=cluster_id, task=name, incarnation=incarnation, pid=1),
            {WORKER: self.post.ref},
            lambda step_id, error: self.lost.append((step_id, error)),
            LinkOptions(),
        )
        self.listener: Listener | None = None

    async def start(self, address: str = "tcp://127.0.0.1:0") -> None:
        self.listener = await listen(address, self.cache.links.hello, self.cache.links.serve)

    @property
    def address(self) -> str:
        assert self.listener is not None
        return self.listener.address

    async def stop(self) -> None:
        await self.cache.aclose(1.0)
        if self.listener is not None:
            await self.listener.aclose(grace=1.0)
        await self.post.stop()

    def peers(self) -> list[str]:
        return [link.peer for link in self.cache.statistics()]


@asynccontextmanager
async def tasks(*made: Task) -> AsyncIterator[tuple[Task, ...]]:
    for task in made:
        await task.start()
    addresses = {task.name: task.address for task in made}
    for task in made:
        task.cache.learn(addresses)
    try:
        yield made
    finally:
        for task in made:
            await task.stop()


def push(step_id: int, value: Any = 1.0) -> Pushed:
    return Pushed(step_id=step_id, keys=["k"], values=[value], dead=[False])


async def test_one_link_serves_both_directions() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b):
        assert (await soon(a.cache.worker(W1).ask(GetStatus()))).task == W1
        await eventually(lambda: b.cache.links.in_use.get(W0) is not None)
        assert (await soon(b.cache.worker(W0).ask(GetStatus()))).task == W0
        assert a.peers() == [W1]
        assert b.peers() == [W0]


async def test_calls_at_the_same_time_share_one_attempt_to_dial() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b):
        asks = [a.cache.worker(W1).ask(GetStatus()) for _ in range(20)]
        await soon(asyncio.gather(*asks))
        assert b.peers() == [W0]


async def test_both_dialling_at_the_same_time_is_fine() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b):
        for _ in range(3):
            answers = await soon(
                asyncio.gather(a.cache.worker(W1).ask(GetStatus()), b.cache.worker(W0).ask(GetStatus()))
            )
            assert [answer.task for answer in answers] == [W1, W0]


async def test_a_link_that_was_lost_is_dialled_again() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, _):
        ref = a.cache.worker(W1)
        await soon(ref.ask(GetStatus()))
        link: Any = a.cache.links.in_use.get(W1)
        await link.aclose(1.0)
        assert a.cache.links.in_use.get(W1) is None
        assert (await soon(ref.ask(GetStatus()))).task == W1


async def test_who_gives_up_waiting_for_a_link_does_not_end_the_attempt_for_others() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, _):
        first = asyncio.create_task(a.cache.worker(W1).ask(GetStatus()))
        second = asyncio.create_task(a.cache.worker(W1).ask(GetStatus()))
        await asyncio.sleep(0)
        first.cancel()
        assert (await soon(second)).task == W1
        assert first.cancelled()


async def test_a_task_that_is_not_there_is_named_with_its_address() -> None:
    async with tasks(Task(W0)) as (a,):
        with pytest.raises(errors.UnavailableError, match=f"no address is known for {W1}") as info:
            await soon(a.cache.worker(W1).ask(GetStatus()))
        a.cache.learn({W1: "tcp://127.0.0.1:1"})
        with pytest.raises(errors.UnavailableError, match=f"cannot reach {W1} at tcp://127.0.0.1:1") as info:
            await soon(a.cache.worker(W1).ask(GetStatus()))
        assert info.value.task == W1
        with pytest.raises(errors.UnavailableError, match=f"no link to {W1}"):
            a.cache.worker(W1).tell(CleanupGraph(step_id=1, error=None))


async def test_waiting_for_a_task_that_does_not_answer_ends_at_the_deadline() -> None:
    with silent_address() as address:
        async with tasks(Task(W0)) as (a,):
            a.cache.learn({W1: address})
            with pytest.raises(errors.DeadlineExceededError, match=f"a connection to {W1} at {address}"):
                await soon(a.cache.worker(W1).ask(GetStatus(), Deadline.after(0.05)))


async def test_who_waits_for_a_task_gets_the_link_that_it_dials_meanwhile() -> None:
    """1. A task is dialled, and the process that is reached answers nothing, or its machine is gone. 2. The next
    process of the task dials us. 3. Whoever waits, or asks from now on, need not wait for the end of the attempt."""
    with silent_address() as address:
        async with tasks(Task(W0), Task(W1, incarnation=2)) as (a, b):
            a.cache.learn({W1: address})
            asking = [asyncio.create_task(a.cache.worker(W1).ask(GetStatus())) for _ in range(3)]
            await eventually(lambda: W1 in a.cache.links._arrivals)
            await soon(b.cache.worker(W0).ask(GetStatus()))
            assert [answer.task for answer in await soon(asyncio.gather(*asking))] == [W1] * 3
            with pytest.raises(errors.WorkerRestartedError):
                await soon(a.cache.worker(W1, 1).ask(GetStatus()))
            assert a.peers() == [W1]


# -- lives of a task -------------------------------------------------------------------------------
async def test_another_life_of_a_task_is_not_the_one_that_was_meant() -> None:
    async with tasks(Task(W0), Task(W1, incarnation=2)) as (a, _):
        assert (await soon(a.cache.worker(W1, 2).ask(GetStatus()))).task == W1
        with pytest.raises(errors.WorkerRestartedError, match=f"{W1} has restarted") as info:
            await soon(a.cache.worker(W1, 1).ask(GetStatus()))
        assert info.value.task == W1


async def test_nothing_is_submitted_to_another_life_over_the_link_to_it() -> None:
    async with tasks(Task(W0), Task(W1, incarnation=2)) as (a, _):
        await soon(a.cache.worker(W1).ask(GetStatus()))
        with pytest.raises(errors.WorkerRestartedError, match=f"{W1} has restarted"):
            a.cache.worker(W1, 1).submit(GetStatus(), CallContext(Deadline.after(1.0)))


async def test_the_link_of_a_task_that_came_back_takes_the_place_of_the_old_one() -> None:
    async with tasks(Task(W0), Task(W1, incarnation=1)) as (a, b):
        await soon(b.cache.worker(W0).ask(GetStatus()))
        await eventually(lambda: a.cache.links.in_use.get(W1) is not None)
        again = Task(W1, incarnation=2)
        again.cache.learn({W0: a.address})
        await soon(again.cache.worker(W0).ask(GetStatus()))
        await eventually(lambda: a.peers() == [W1])
        link: Any = a.cache.links.in_use.get(W1)
        assert link.peer.incarnation == 2
        await again.stop()


async def test_the_link_of_a_life_that_ended_in_its_handshake_takes_no_place() -> None:
    """1. The task has come back. 2. Our side of the handshake with its former life ends, late: nobody answers there any
    more. 3. The link to the living one stays in use, and what waits for its answer gets it."""
    async with tasks(Task(W0), Task(W1, incarnation=2)) as (a, b):
        await soon(b.cache.worker(W0).ask(GetStatus()))
        await eventually(lambda: a.cache.links.in_use.get(W1) is not None)
        link = a.cache.links.in_use[W1]
        dead = await connect(a.address, Hello(cluster_id="c", task=W1, incarnation=1, pid=1))
        await eventually(lambda: a.peers() == [W1, W1])
        assert (await soon(a.cache.worker(W1, 2).ask(GetStatus()))).task == W1
        dead.abort()
        await eventually(lambda: a.peers() == [W1])
        assert a.cache.links.in_use[W1] is link
        assert not link.closed


async def test_only_tasks_of_the_cluster_are_taken_for_peers() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, _):
        hello = Hello(cluster_id="", task=W1, incarnation=9, pid=1)
        stranger = await connect(a.address, hello)
        await eventually(lambda: a.peers() == [W1])
        assert a.cache.links.in_use.get(W1) is None
        stranger.abort()


# -- pushes ----------------------------------------------------------------------------------------
async def test_pushes_before_and_after_the_link_stands_arrive_in_order() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b):
        for step_id in range(5):
            a.cache.push(W1, push(step_id))
        assert a.cache.links.in_use.get(W1) is None
        await eventually(lambda: len(b.post.pushed) == 5)
        for step_id in range(5, 10):
            a.cache.push(W1, push(step_id))
        await eventually(lambda: len(b.post.pushed) == 10)
        assert [message.step_id for message in b.post.pushed] == list(range(10))
        assert a.cache.pushes == 10
        assert a.lost == []


async def test_pushes_of_two_tasks_that_dial_each_other_at_once_arrive_in_order() -> None:
    """Two links come of it; what was pushed before they stand and after goes by the same one."""
    large = np.zeros(500_000)
    async with tasks(Task(W0), Task(W1)) as (a, b):
        for step_id in range(3):
            a.cache.push(W1, push(step_id, large))
            b.cache.push(W0, push(step_id, large))
        for one, other in ((a, W1), (b, W0)):
            # The first turn in which they have a link; nothing announces it.
            while one.cache.links.in_use.get(other) is None or other in one.cache._waiting.messages:  # noqa: ASYNC110
                await asyncio.sleep(0)
            one.cache.push(other, push(3, large))
        await eventually(lambda: len(a.post.pushed) == len(b.post.pushed) == 4)
        for task in (a, b):
            assert [pushed.step_id for pushed in task.post.pushed] == [0, 1, 2, 3]


async def test_pushes_to_a_task_that_is_not_there_are_reported_by_step() -> None:
    async with tasks(Task(W0)) as (a,):
        a.cache.learn({W1: "tcp://127.0.0.1:1"})
        a.cache.push(W1, push(1))
        a.cache.push(W1, push(2))
        await eventually(lambda: len(a.lost) == 2)
        assert [step_id for step_id, _ in a.lost] == [1, 2]
        for _, error in a.lost:
            assert isinstance(error, errors.UnavailableError)
            assert error.task == W1
        a.cache.push(W1, push(3))  # tried anew
        await eventually(lambda: len(a.lost) == 3)


async def test_a_value_that_does_not_travel_is_reported_for_its_step_alone() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b):
        await soon(a.cache.worker(W1).ask(GetStatus()))
        a.cache.push(W1, push(1, object()))
        a.cache.push(W1, push(2))
        ((step_id, error),) = a.lost
        assert step_id == 1
        assert isinstance(error, errors.InvalidArgumentError)
        await eventually(lambda: [m.step_id for m in b.post.pushed] == [2])


# -- sessions with a cluster of their own ----------------------------------------------------------
async def test_a_session_has_links_of_its_own_which_peers_use_for_nothing_else() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b):
        own = a.cache.for_session("s", PS0, {PS0: a.address, W2: b.address})
        assert (await soon(own.worker(W2).ask(GetStatus()))).task == W1
        assert own.worker(PS0) is a.post.ref
        await eventually(lambda: b.peers() == [f"{W0} for session 's'"])
        assert a.peers() == [W2]
        assert a.cache.links.in_use.get(W1) is None
        assert b.cache.links.in_use.get(W0) is None
        own.push(W2, push(1))
        await eventually(lambda: [m.step_id for m in b.post.pushed] == [1])
        assert a.cache.pushes == 1


async def test_the_links_of_a_session_end_with_the_last_who_holds_them() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b):
        addresses = {PS0: a.address, W1: b.address}
        by_master, by_worker = (a.cache.for_session("s", PS0, addresses) for _ in range(2))
        other = a.cache.for_session("t", PS0, addresses)
        assert by_master is by_worker is not other
        for cache in (by_master, other):
            await soon(cache.worker(W1).ask(GetStatus()))
        by_master.release()
        assert (await soon(by_worker.worker(W1).ask(GetStatus()))).task == W1
        by_worker.release()
        await eventually(lambda: len(a.peers()) == len(b.peers()) == 1)
        assert (await soon(other.worker(W1).ask(GetStatus()))).task == W1
        other.release()
        await eventually(lambda: not a.peers() and not b.peers())


async def test_what_comes_after_the_end_of_a_session_dials_nobody() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b):
        own = a.cache.for_session("s", PS0, {PS0: a.address, W1: b.address})
        own.release()
        with pytest.raises(errors.UnavailableError, match=f"session of the link to {W1} has ended"):
            await soon(own.worker(W1).ask(GetStatus()))
        own.push(W1, push(1))
        again = a.cache.for_session("s", PS0, {PS0: a.address, W1: b.address})
        assert again is not own
        assert (await soon(again.worker(W1).ask(GetStatus()))).task == W1
        assert len(b.peers()) == 1
        assert b.post.pushed == []


async def test_who_waits_for_a_link_when_the_session_ends_is_told_and_not_cancelled() -> None:
    with silent_address() as address:
        async with tasks(Task(W0)) as (a,):
            own = a.cache.for_session("s", PS0, {PS0: a.address, W1: address})
            waiting = [asyncio.create_task(own.worker(W1).ask(GetStatus())) for _ in range(3)]
            await turns()
            await cancelled(waiting.pop(0))
            own.release()
            for ask in waiting:
                with pytest.raises(errors.AbortedError, match=f"links of {W0} for session 's' are closed") as info:
                    await soon(ask)
                assert info.value.task == W1


async def test_the_links_of_sessions_end_with_the_server() -> None:
    async with tasks(Task(W0), Task(W1)) as (a, b):
        own = a.cache.for_session("s", PS0, {PS0: a.address, W1: b.address})
        await soon(own.worker(W1).ask(GetStatus()))
        await a.cache.aclose(1.0)
        assert a.peers() == []
        await eventually(lambda: b.peers() == [])
