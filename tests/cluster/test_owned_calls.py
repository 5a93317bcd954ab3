"""What is awaited of sessions, clusters and servers: on another loop, after the end of theirs, after a fork.

The calls are read off the classes: a coroutine that is added to one of them is tried by itself.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import actorsession
from actorsession import (
    AsyncInteractiveSession,
    AsyncSession,
    Graph,
    LocalCluster,
    Server,
    cluster,
    engines,
    ops,
    session,
    train,
)
from actorsession.cluster.launch.worker_process import WorkerProcess
from actorsession.engines import EngineCluster
from actorsession.engines.engine_process import EngineProcess
from actorsession.runtime.loop_thread import LoopThread
from actorsession.session.callables import AsyncCallable
from actorsession.session.partial.api import AsyncPartialRun
from tests.cluster.kit import PATIENCE, reach_over_links
from tests.engines.kit import DeskCluster
from tests.forks import in_a_child
from tests.loops import new_event_loop
from tests.rows import for_each

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")]

# The classes whose objects are made here; a process stands for those of its cluster.
SUBJECTS = (
    AsyncSession,
    AsyncInteractiveSession,
    AsyncCallable,
    AsyncPartialRun,
    Server,
    LocalCluster,
    DeskCluster,
    WorkerProcess,
    EngineProcess,
)
# Public classes with coroutines of which no object is made, with the reason.
ELSEWHERE = {
    **dict.fromkeys((cluster.Cluster, engines.Launcher, engines.Placement, session.SessionFactory), "an interface"),
    train.Saver: "works through the session that it is given, see below",
    train.QueueRunner: "works through the session that it is given, see below",
}
# What ends an object: it may be called once the loop has ended, and does nothing in a forked child.
ENDS = {"__aexit__", "close", "stop"}
# What opens connections of its own, or only reads what is there.
ANYWHERE = {
    ("LocalCluster", "logs"),
    ("LocalCluster", "statistics"),
    ("DeskCluster", "statistics"),
    ("WorkerProcess", "log"),
    ("WorkerProcess", "last_words"),
    ("EngineProcess", "last_words"),
}


def coroutines(kind: type) -> list[str]:
    """The names of what is awaited of the objects of a class."""
    found = []
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if not name.startswith("_") or name in ("__aenter__", "__aexit__", "__call__"):
            is_async = inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member)
            found += [name] * (is_async and not isinstance(member, staticmethod))
    return found


CALLS = [(kind.__name__, name) for kind in SUBJECTS for name in coroutines(kind)]


class Things:
    """One object of each class, all of which have been used on one loop."""

    def __init__(self) -> None:
        self.graph = Graph()
        with self.graph.as_default():
            self.fed = ops.placeholder("float32", [])
            self.more = self.fed + 1.0
            self.value = ops.constant(1.0) + 1.0
            v = ops.Variable(1.0)
            self.initializer = v.initializer
            queue = ops.FIFOQueue(1, "float32")
            self.waiting = queue.dequeue()
            runner = train.QueueRunner(queue, [queue.enqueue([self.value])])
            train.add_queue_runner(runner)
            self.saver = train.Saver([v])
        self.runner = runner
        self.of: dict[str, Any] = {}

    async def make(self) -> None:
        server = Server({"worker": ["127.0.0.1:0"]}, "worker")
        await server.start()
        remote = AsyncSession(server.target, graph=self.graph)
        interactive = AsyncInteractiveSession(graph=self.graph)
        for one in (remote, interactive):
            await one.run(self.initializer)
            assert await one.run(self.value) == 2.0
        here, there = LocalCluster({"worker": 1}), DeskCluster({"worker": 1})
        for made in (here, there):
            await made.start()
        partial_run = remote.partial([self.more], [self.fed])
        await partial_run.__aenter__()
        self.of = {
            "AsyncPartialRun": partial_run,
            "AsyncCallable": remote.make_callable(self.value),
            "AsyncSession": remote,
            "AsyncInteractiveSession": interactive,
            "WorkerProcess": here.process("worker"),
            "EngineProcess": there.process("worker"),
            "LocalCluster": here,
            "DeskCluster": there,
            "Server": server,
        }

    def call(self, kind: str, name: str) -> Any:
        """A coroutine of an object, with arguments that it takes."""
        given: dict[str, tuple[Any, ...]] = {
            "run": (self.more, {self.fed: 1.0}) if kind == "AsyncPartialRun" else (self.value,),
            **dict.fromkeys(("warm_up", "explain"), (self.value,)),
            "wait_for": ("/job:worker", 1),
            "partial_run_setup": ([self.more], [self.fed]),
            "partial_run": ("a handle", self.more),
            "scale": ("worker", 1),
            "tell_cluster": (lambda: ({}, ()),),
            "__aexit__": (None, None, None),
            **dict.fromkeys(("restart", "add", "remove", "logs"), ("worker",)),
        }
        if name == "stop" and kind.endswith("Process"):
            given["stop"] = (0.0,)
        if name == "start" and kind == "WorkerProcess":
            given["start"] = ({}, "", 1)
        return getattr(self.of[kind], name)(*given.get(name, ()))

    async def check(self) -> None:
        """All of them are as they were."""
        of = self.of
        for one in (of["AsyncSession"], of["AsyncInteractiveSession"]):
            assert await one.run(self.value) == 2.0
        assert await of["AsyncCallable"]() == 2.0
        assert await of["AsyncPartialRun"].run(self.more, {self.fed: 1.0}) == 2.0
        for made in (of["LocalCluster"], of["DeskCluster"]):
            assert [process.alive for process in made.processes.values()] == [True]
            assert len(await made.statistics()) == 1
        assert of["Server"].is_serving

    async def end(self) -> None:
        of = self.of
        await of["AsyncPartialRun"].__aexit__(None, None, None)
        for name in ("AsyncSession", "AsyncInteractiveSession"):
            await of[name].close()
        for name in ("LocalCluster", "DeskCluster", "Server"):
            await of[name].stop()


@pytest.fixture(scope="module")
def owner() -> Iterator[LoopThread]:
    thread = LoopThread("owner")
    yield thread
    thread.stop()


@pytest.fixture(scope="module")
def things(owner: LoopThread) -> Iterator[Things]:
    """Objects that belong to a loop in a thread, and that are unchanged by all that is refused."""
    made = Things()
    with pytest.MonkeyPatch.context() as patch:
        reach_over_links(patch)
        owner.wait(made.make())
    yield made
    owner.wait(made.check())
    owner.wait(made.end())


def test_every_public_class_with_coroutines_is_tried() -> None:
    public = {
        member
        for package in (actorsession, cluster, engines, session, train)
        for name in package.__all__
        if inspect.isclass(member := getattr(package, name)) and coroutines(member)
    }
    assert {kind for kind in public if not issubclass(kind, (*SUBJECTS, EngineCluster))} == set(ELSEWHERE)


def drive(call: Callable[[], Any]) -> Any:
    """What a coroutine comes to on a loop of this thread."""

    async def run() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await call()

    return asyncio.run(run())


@for_each("kind, name", CALLS)
def test_on_another_loop_a_call_is_refused_at_once_and_names_both_loops(
    things: Things, owner: LoopThread, kind: str, name: str
) -> None:
    call = partial(things.call, kind, name)
    if (kind, name) in ANYWHERE:
        drive(call)
        return
    with pytest.raises(RuntimeError) as info:
        drive(call)
    said = str(info.value)
    assert f"({id(owner._loop):#x}, of thread 'owner')" in said
    assert "was called on the event loop " in said
    assert "of thread 'MainThread'" in said


@for_each("kind, name", CALLS)
def test_where_no_loop_runs_a_call_is_refused(things: Things, kind: str, name: str) -> None:
    coroutine = things.call(kind, name)
    if (kind, name) in ANYWHERE:
        coroutine.close()
        return
    with pytest.raises(RuntimeError, match="was called where no event loop runs"):
        coroutine.send(None)


def test_in_a_forked_child_a_call_does_nothing_or_says_whose_the_object_is(things: Things) -> None:
    in_order = sorted(CALLS, key=lambda call: call[1] in ENDS)
    found = in_a_child({f"{kind}.{name}": partial(things.call, kind, name) for kind, name in in_order})
    assert len(found) == len(CALLS)
    for (kind, name), said in zip(in_order, found.values(), strict=True):
        if name in ENDS:
            assert said == "returned None", (kind, name)
        elif (kind, name) not in ANYWHERE:
            assert said.startswith("RuntimeError: this "), (kind, name, said)
            assert "it belongs to the parent process" in said, (kind, name)


def check_on_a_second_loop_of_the_thread(things: Things, own: asyncio.AbstractEventLoop) -> None:
    """Whatever could wait is refused as in another thread, at once and by the names of both loops; a step in
    this process that does not suspend belongs to no loop."""
    in_order = sorted(CALLS, key=lambda call: call[1] in ENDS)
    refused = [c for c in in_order if c not in ANYWHERE and c != ("AsyncInteractiveSession", "run")]
    for kind, name in refused:
        with pytest.raises(RuntimeError, match=rf"\({id(own):#x}, of .* called on the event loop"):
            drive(partial(things.call, kind, name))
    session = things.of["AsyncInteractiveSession"]
    assert drive(partial(session.run, things.value)) == 2.0
    with pytest.raises(RuntimeError, match=rf"\({id(own):#x}, of .* called on the event loop"):
        drive(partial(session.run, things.waiting))


# A loop that is closed tells of what was left open.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("make_loop", [new_event_loop, asyncio.new_event_loop], ids=["ours", "stock"])
def test_after_the_end_of_the_loop_only_ends_are_possible(
    make_loop: Callable[[], asyncio.AbstractEventLoop], monkeypatch: Any
) -> None:
    reach_over_links(monkeypatch)
    things = Things()
    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(things.make())
        check_on_a_second_loop_of_the_thread(things, runner.get_loop())
    calls = [call for call in CALLS if call[1] not in ENDS and call not in ANYWHERE]
    for kind, name in calls:
        if kind == "AsyncInteractiveSession":
            continue  # a session in this process goes on with the next loop
        with pytest.raises(RuntimeError, match=r"has ended: only closing the .* is possible"):
            drive(partial(things.call, kind, name))
    assert drive(partial(things.call, "AsyncInteractiveSession", "run")) == 2.0
    drive(things.end)
    assert not any(process.alive for process in things.of["LocalCluster"].processes.values())


def test_what_works_through_a_session_is_refused_with_it(things: Things, tmp_path: Any) -> None:
    remote = things.of["AsyncSession"]

    async def filled() -> None:
        async with train.running_queues(remote):
            raise AssertionError("entered")

    for call in (
        lambda: things.saver.save_async(remote, tmp_path / "model"),
        lambda: things.saver.restore_async(remote, str(tmp_path / "model")),
        lambda: things.runner.fill(remote),
        filled,
    ):
        with pytest.raises(RuntimeError, match="this session belongs to the event loop"):
            drive(call)
