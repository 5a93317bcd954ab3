"""A network that fails without a word: cut, cut one way, slow, or with half of a connection gone.

Every fault here takes a lease to be noticed, or to prove that it is none. So all of them are brought about at
once in one cluster of processes, each at a worker of its own with a proxy of its own before it; the tests
look at what became of them. No run has a limit in time that a user has set. What a step waits for is an
element of a queue, which comes when the test says so and takes no processor.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Operation, Tensor, ops
from actorsession.actors import Deadline
from actorsession.cluster import update_cluster
from actorsession.config import CONNECT_TIMEOUT, ConfigProto
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError, WorkerRestartedError
from actorsession.graph.device import task_name
from actorsession.rpc.liveness.lease import LEASE_SECONDS
from actorsession.testing.faults import Proxy, Way
from tests.cluster.kit import PS0, W0, W1, W2, is_empty, on, silent_address, until_all
from tests.loops import run_to_end
from tests.ports import held_ports
from transports.shm.lane import SHARED_VARIABLE

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]

# For what comes without anybody's help, such as thirteen processes that start at once on a busy machine.
PATIENCE = 90.0
# A transfer that takes longer than silence may last: 4 bytes for each of these numbers.
NUMBERS = 500_000
SLOW_SECONDS = 1.5 * LEASE_SECONDS


@dataclass
class Outcome:
    """What became of a step that a fault befell, and of its session afterwards."""

    seconds: float = 0.0
    value: Any = None
    error: OpError | None = None
    again: Any = None


class Scene:
    """A master on worker 0, a ps, and more workers, each with a proxy before it."""

    def __init__(self, cluster: LocalCluster, proxies: dict[str, Proxy]) -> None:
        self.cluster = cluster
        self.proxies = proxies

    def target(self, task: str) -> str:
        return self.cluster.processes[task].address

    def signal(self, task: str, number: signal.Signals) -> None:
        self.cluster.processes[task].send_signal(number)

    async def until_at_work(self, task: str) -> None:
        await until_all([self.target(task)], lambda seen: seen.steps == 1)


@dataclass
class Fault:
    """A fault of a task, and what ends it."""

    befalls: Callable[[Scene, str], None]
    ends: Callable[[Scene, str], Awaitable[None]]


async def heals(scene: Scene, task: str) -> None:
    scene.proxies[task].heal()


async def goes_on(scene: Scene, task: str) -> None:
    scene.signal(task, signal.SIGCONT)


async def comes_back(scene: Scene, task: str) -> None:
    """Another process at the same address, once its network is there again."""
    scene.proxies[task].heal()
    await scene.cluster.restart("worker", int(task.rpartition(":")[2]))


def loses_its_host(scene: Scene, task: str) -> None:
    """Nothing of what the kernel says at the end of the process reaches anybody."""
    scene.proxies[task].lose_host()
    scene.signal(task, signal.SIGKILL)


FAULTS = {
    "cut both ways": Fault(lambda s, t: s.proxies[t].swallow(), heals),
    "nothing reaches it": Fault(lambda s, t: s.proxies[t].swallow(Way.THERE), heals),
    "nothing comes from it": Fault(lambda s, t: s.proxies[t].swallow(Way.BACK), heals),
    "stopped": Fault(lambda s, t: s.signal(t, signal.SIGSTOP), goes_on),
    "its host is lost": Fault(loses_its_host, comes_back),
}
# Those that befall one worker, those between two workers, and the one that is none.
CUT, NEVER_PUSHED, LOST_ON_ITS_WAY = list(FAULTS)[:3], "never pushed", "lost on its way"
SLOW = "slow"
# And a session that waits for a cluster which never comes together.
MISSING = "missing"
WAITS_FOR_ALL = ConfigProto(wait_for_all_tasks=True)


def task_of(index: int) -> str:
    return task_name("worker", index)


FIRST_PAIR, SECOND_PAIR = ((task_of(n + 1), task_of(n + 2)) for n in (len(FAULTS), len(FAULTS) + 2))
SLOW_TASK = task_of(len(FAULTS) + 5)


class Outcomes:
    """What became of each fault; what went wrong with one is raised where that one is looked at."""

    def __init__(self, found: dict[str, Outcome | BaseException]) -> None:
        self._found = found

    def __getitem__(self, name: str) -> Outcome:
        found = self._found[name]
        if isinstance(found, BaseException):
            raise found
        return found


def waiting(name: str) -> tuple[Tensor, Operation]:
    """A value that a step waits for, and what gives it, which is 8; one step gets it."""
    queue = ops.FIFOQueue(1, "float32", [[]], name=name)
    return queue.dequeue(), queue.enqueue(8.0)


async def run_into(
    scene: Scene, session: AsyncSession, end: Tensor, at_work: str, fault: Callable[[], Awaitable[None]]
) -> Outcome:
    """Runs a step that a fault befalls when a task is at work on it."""
    outcome = Outcome()
    run = asyncio.create_task(session.run(end))
    await scene.until_at_work(at_work)
    start = time.monotonic()
    await fault()
    try:
        outcome.value = await run
    except OpError as error:
        outcome.error = error
    outcome.seconds = time.monotonic() - start
    return outcome


async def once_more(session: AsyncSession, fetches: Any, give: Any) -> Any:
    """The values once what they wait for is given, if it is not there, or the error."""
    try:
        await session.run(give)
        return await session.run(fetches)
    except OpError as error:
        return error


async def befalls_a_worker(scene: Scene, fault: Fault, task: str) -> Outcome:
    """The task waits for the ps when the fault befalls it; then the fault ends."""
    with Graph().as_default() as graph:
        awaited, give = on(PS0, lambda: waiting("for_" + task.replace("/", ".").replace(":", "_").strip(".")))
        with on(task):
            there = awaited + 1.0
            v = ops.Variable(3.0, name="v")
        end = on(W0, lambda: ops.reduce_sum(there))

    async def befall() -> None:
        fault.befalls(scene, task)

    async with AsyncSession(scene.target(W0), graph=graph) as session:
        await session.run(give)
        await session.run([end, v.initializer])
        outcome = await run_into(scene, session, end, task, befall)
        await fault.ends(scene, task)
        outcome.again = await once_more(session, [end, v], give)
    return outcome


async def never_pushed(scene: Scene) -> Outcome:
    """Two workers lose each other, while the master reaches both, before a value goes from one to the other."""
    giver, taker = FIRST_PAIR
    with Graph().as_default() as graph:
        awaited, give = on(PS0, lambda: waiting("for_the_giver"))
        given = on(giver, lambda: awaited + 1.0)
        end = on(taker, lambda: ops.reduce_sum(given))

    async def befall() -> None:
        scene.proxies[taker].swallow(of=giver)
        scene.proxies[giver].swallow(of=taker)

    async with AsyncSession(scene.target(W0), graph=graph) as session:
        await session.run(give)
        await session.run(end)
        outcome = await run_into(scene, session, end, taker, befall)
        for task in FIRST_PAIR:
            scene.proxies[task].heal()
        outcome.again = await once_more(session, end, give)
    return outcome


async def lost_on_its_way(scene: Scene) -> Outcome:
    """1. The link between two workers swallows what is sent. 2. One gets what it has waited for and pushes a
    value to the other, and its part of the step ends well. 3. The link is reset, and there is another one."""
    giver, taker = SECOND_PAIR
    with Graph().as_default() as graph:
        given, give = on(giver, lambda: waiting("to_be_pushed"))
        end = on(taker, lambda: ops.reduce_sum(given + 1.0))

    async def befall() -> None:
        scene.proxies[taker].swallow(of=giver)
        scene.proxies[giver].swallow(of=taker)
        await session.run(give)
        await until_all([scene.target(giver)], lambda s: s.runs == 4 and not s.steps)
        for task in SECOND_PAIR:
            scene.proxies[task].heal()

    async with AsyncSession(scene.target(W0), graph=graph) as session:
        await session.run(give)
        await session.run(end)
        outcome = await run_into(scene, session, end, taker, befall)
        # Nobody has got what was taken and lost on its way: it is there again.
        outcome.again = await once_more(session, end, [])
    return outcome


async def goes_slowly(scene: Scene) -> Outcome:
    """A transfer takes longer than silence may last."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [])
        many = on(SLOW_TASK, lambda: ops.fill([NUMBERS], x + 1.0))
        end = on(W0, lambda: ops.reduce_sum(many))
    async with AsyncSession(scene.target(W0), graph=graph) as session:
        await session.run(x + 1.0, {x: 1.0})
        scene.proxies[SLOW_TASK].slow(4 * NUMBERS / SLOW_SECONDS)
        start = time.monotonic()
        outcome = Outcome(value=await session.run(end, {x: 1.0}))
        outcome.seconds = time.monotonic() - start
        outcome.again = await session.run(x * 2.0, {x: 1.0})
    return outcome


async def never_comes_together() -> Outcome:
    """One task of three is there; nobody is at the address of another, and the last is silent."""
    outcome = Outcome()
    with silent_address() as silent, held_ports(1) as (port,):
        async with LocalCluster({"worker": 1}) as cluster:
            tasks = {W1: f"tcp://127.0.0.1:{port}", W2: silent}
            await update_cluster(cluster.target("worker"), {**cluster.spec.tasks(), **tasks})
            outcome.value = tasks
            start = time.monotonic()
            session = AsyncSession(cluster.target("worker"), graph=Graph(), config=WAITS_FOR_ALL)
            try:
                await session.list_devices()
            except OpError as error:
                outcome.error = error
            await session.close()
            outcome.seconds = time.monotonic() - start
    return outcome


async def play() -> Outcomes:
    """Has everything happen at once."""
    async with asyncio.TaskGroup() as group:
        missing = group.create_task(never_comes_together())
        others = group.create_task(play_faults())
    return Outcomes({**others.result(), MISSING: missing.result()})


async def play_faults() -> dict[str, Outcome | BaseException]:
    workers = int(SLOW_TASK.rpartition(":")[2]) + 1
    async with contextlib.AsyncExitStack() as stack:
        made = LocalCluster({"ps": 1, "worker": workers}, protocol="tcp", start_timeout=PATIENCE)
        cluster = await stack.enter_async_context(made)
        proxies = {}
        for index in range(1, workers):
            proxy = Proxy(cluster.target("worker", index))
            proxies[task_of(index)] = await stack.enter_async_context(proxy)
        scene = Scene(cluster, proxies)
        told = {**cluster.spec.tasks(), **{t: p.address for t, p in proxies.items()}}
        for address in cluster.spec.tasks().values():
            await update_cluster(address, told, deadline=Deadline.after(PATIENCE))
        calls: list[Coroutine[Any, Any, Outcome]] = [
            *[befalls_a_worker(scene, f, task_of(i)) for i, f in enumerate(FAULTS.values(), 1)],
            never_pushed(scene),
            lost_on_its_way(scene),
            goes_slowly(scene),
        ]
        names = [*FAULTS, NEVER_PUSHED, LOST_ON_ITS_WAY, SLOW]
        ended = await asyncio.gather(*calls, return_exceptions=True)
        await until_all(cluster.spec.tasks().values(), is_empty)
        return dict(zip(names, ended, strict=True))


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SHARED_VARIABLE, "0")  # arrays take the network that is to fail
        return run_to_end(play())


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_says_nothing_is_noticed_within_two_leases(fault: str, outcomes: Outcomes) -> None:
    found = outcomes[fault]
    task = task_of(1 + list(FAULTS).index(fault))
    assert isinstance(found.error, UnavailableError)
    # Where two tasks lose each other, the one that is heard first names the other.
    named = PS0 if found.error.task == PS0 and fault in CUT else task
    assert found.error.task == named
    assert named in found.error.message
    assert found.seconds < 2 * LEASE_SECONDS


@pytest.mark.parametrize("fault", [*CUT, "stopped"])
def test_a_session_goes_on_after_the_fault_and_variables_are_as_they_were(fault: str, outcomes: Outcomes) -> None:
    """The worker had dropped its side of the session; it is opened there again by the next step."""
    assert outcomes[fault].again == [9.0, 3.0]


def test_a_host_that_comes_back_from_a_loss_is_another_one(outcomes: Outcomes) -> None:
    """The old connection had stayed open at the master alone."""
    error = outcomes["its host is lost"].again
    assert isinstance(error, WorkerRestartedError)
    assert "Variables lost: v" in error.message


def test_a_cut_between_two_workers_fails_the_step_that_crosses_it(outcomes: Outcomes) -> None:
    """The master hears both of them, so only they can know."""
    found = outcomes[NEVER_PUSHED]
    giver, _ = FIRST_PAIR
    assert isinstance(found.error, UnavailableError)
    assert f"waits for values of {giver}: " in found.error.message
    assert found.seconds < 2 * LEASE_SECONDS
    assert found.again == 9.0


def test_a_value_that_was_lost_with_a_link_is_not_waited_for(outcomes: Outcomes) -> None:
    found = outcomes[LOST_ON_ITS_WAY]
    giver, _ = SECOND_PAIR
    assert isinstance(found.error, UnavailableError)
    assert f"values of {giver} for step " in found.error.message
    assert "were lost on their way" in found.error.message
    assert found.again == 9.0


def test_a_slow_link_only_takes_longer(outcomes: Outcomes) -> None:
    """Beats are not starved by a transfer that is longer than a lease."""
    found = outcomes[SLOW]
    assert (found.error, found.value, found.again) == (None, 2.0 * NUMBERS, 2.0)
    assert found.seconds > LEASE_SECONDS


def test_a_session_whose_cluster_does_not_come_together_says_which_tasks_are_missing(outcomes: Outcomes) -> None:
    """Within 30 s by default: each with its address, the number of attempts and the last error."""
    found = outcomes[MISSING]
    assert isinstance(found.error, DeadlineExceededError)
    said = found.error.message
    assert "2 of 3 tasks did not answer in time: " in said
    assert f"{W1} at {found.value[W1]} (" in said
    assert "ECONNREFUSED" in said
    assert f"{W2} at {found.value[W2]} (" in said
    assert said.count(" attempts, last: ") == 2
    assert found.seconds < CONNECT_TIMEOUT + 1.0
