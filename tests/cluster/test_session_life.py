"""The life of a session from creation to reset, the same over every transport, in processes of their own."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, LocalCluster, SecurityConfig, Server, ops
from actorsession.actors import CallContext
from actorsession.cluster import read_statistics, stop_server
from actorsession.config import ConfigProto, RPCOptions
from actorsession.errors import AbortedError, CancelledError, OpError, UnavailableError
from actorsession.messages import CloseSession
from actorsession.rpc import exit_reports
from actorsession.testing import SimulatedCluster
from tests.cluster.kit import PATIENCE, W0, W1, eventually, on, simulated, soon
from tests.cluster.script import command, environment, running
from tests.cluster.test_child import line_of
from tests.loops import cancelled, run_to_end
from tests.ports import HoldPorts
from tests.transports.authority import Authority


class Life:
    """A graph over two workers, and what a session does with it from beginning to end."""

    def __init__(self) -> None:
        self.graph = Graph()
        with self.graph.as_default():
            self.a, self.b = ops.placeholder("float32", []), ops.placeholder("float32", [])
            with on(W1):
                self.v = ops.Variable(1.0, name="v")
                self.first = self.v + self.a
            self.second = on(W0, lambda: self.first * self.b)

    async def lead(self, target: str, config: ConfigProto) -> None:
        """Create, run, extend, callable, partial run, list of devices, close; then reset."""
        async with AsyncSession(target, graph=self.graph, config=config) as session:
            await session.run(self.v.initializer)
            assert await session.run(self.second, {self.a: 2.0, self.b: 2.0}) == 6.0
            with self.graph.as_default(), on(W1):
                more = self.second + 1.0
            assert await session.run(more, {self.a: 2.0, self.b: 2.0}) == 7.0
            prepared = session.make_callable(more, [self.a, self.b])
            assert await prepared(3.0, 2.0) == 9.0
            async with session.partial([self.first, more], [self.a, self.b]) as step:
                seen = await step.run(self.first, {self.a: 4.0})
                assert await step.run(more, {self.b: seen * 10.0}) == 251.0
            assert [device.task for device in await session.list_devices()] == [W0, W1]
        lasting = AsyncSession(target, graph=self.graph, config=config)
        assert await lasting.run(self.v) == 1.0
        await AsyncSession.reset(target, config=config)
        with pytest.raises(AbortedError):
            await lasting.run(self.v)
        await lasting.close()


def options(files: SecurityConfig | None = None, *, wire: bool = False) -> ConfigProto:
    named = (
        {}
        if files is None
        else {"ca_file": files.ca_file, "certificate_file": files.certificate_file, "key_file": files.key_file}
    )
    return ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=wire, **named))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SecurityConfig:
    return Authority(tmp_path_factory.mktemp("authority") / "ca").files()


@pytest.fixture
def addresses(scheme: str, tmp_path: Path, hold_ports: HoldPorts) -> list[str]:
    if scheme == "unix":
        return [f"unix://{tmp_path}/{index}" for index in range(2)]
    return [f"{scheme}://127.0.0.1:{port}" for port in hold_ports(2)]


@pytest.fixture
def workers(addresses: list[str], scheme: str, files: SecurityConfig) -> Iterator[list[str]]:
    """Two worker processes that listen at the addresses."""
    secured = files.to_environment() if scheme == "tls" else {}
    words = ["worker", "--job", "worker", "--cluster", json.dumps({"worker": addresses})]

    def start(index: int) -> Any:
        return running(command(*words, "--task", str(index)), env=environment(**secured))

    with start(0) as first, start(1) as second:
        for process in (first, second):
            line_of(process)
        yield addresses


@pytest.mark.process
@pytest.mark.parametrize("scheme", ["tcp", "tls", "unix"])
def test_a_session_lives_the_same_life_over_every_wire(scheme: str, workers: list[str], files: SecurityConfig) -> None:
    run_to_end(Life().lead(workers[0], options(files if scheme == "tls" else None)))


@pytest.mark.process
@pytest.mark.parametrize("scheme", ["tcp", "tls"])
async def test_a_killed_server_of_the_command_line_is_named_with_its_process_and_signal(
    scheme: str, workers: list[str], files: SecurityConfig
) -> None:
    """The program of the session has not started it; whoever did has not collected its status yet. 1. The master names
    the task that a step waits for. 2. The client names the master, at each call."""
    security = files if scheme == "tls" else None
    pids = [(await read_statistics(address, security=security)).pid for address in workers]
    graph = Graph()
    with graph.as_default(), on(W1):
        taken = ops.FIFOQueue(1, "float32", shapes=[[]]).dequeue()
    async with AsyncSession(workers[0], graph, options(security)) as session:
        waiting = asyncio.create_task(session.run(taken))
        async with asyncio.timeout(PATIENCE):
            while not (await read_statistics(workers[1], security=security)).steps:
                pass
        os.kill(pids[1], signal.SIGKILL)
        error = await raised(waiting)
        assert error.message.startswith(f"{W1} (pid {pids[1]}) was killed by SIGKILL: the connection to")
        os.kill(pids[0], signal.SIGKILL)
        for _ in range(2):
            error = await raised(session.list_devices())
            assert error.message.startswith(f"{W0} (pid {pids[0]}) was killed by SIGKILL: ")


@pytest.mark.parametrize("wire", [False, True])
async def test_a_session_lives_the_same_life_within_one_process(wire: bool) -> None:
    """Its master is called directly, or dialled by its name."""
    spec = {"worker": [f"inproc://life-{os.getpid()}-{index}" for index in range(2)]}
    async with Server(spec, "worker", 0) as master, Server(spec, "worker", 1):
        await Life().lead(master.target, options(wire=wire))


# -- how sessions end ------------------------------------------------------------------------------
class Calls:
    """A session and everything that its user may call, by name; each makes a coroutine."""

    def __init__(self, target: str, *, wire: bool) -> None:
        graph = self._graph = Graph()
        with graph.as_default():
            x = ops.placeholder("float32", [], name="x")
            self._y = x + 1.0
            self._taken = ops.FIFOQueue(3, "float32", shapes=[[]]).dequeue()
        self._fed = {x: 1.0}
        rpc = RPCOptions(use_rpc_for_inprocess_master=wire)
        self.session = AsyncSession(target, graph, ConfigProto(rpc_options=rpc))
        self._x = x
        self.waiting: asyncio.Task[Any] | None = None

    async def begin(self) -> None:
        """Use the session in every way, and leave a step that waits."""
        for _ in range(2):  # the second is a run of a step program
            assert await soon(self.session.run(self._y, self._fed)) == 2.0
        self._callable = self.session.make_callable(self._y, [self._x])
        self._handle = await self.session.partial_run_setup([self._y], [self._x])
        self.waiting = asyncio.create_task(self.session.run(self._taken))
        await eventually(lambda: self.session.statistics().steps > 0)

    def long(self) -> dict[str, Callable[[], Awaitable[Any]]]:
        """Those that ask the master more than once, because it does not know a node or the session."""
        session = self.session
        with self._graph.as_default():
            new = self._y * 2.0
        return {
            "run": lambda: session.run(new, self._fed),
            "callable": lambda: session.make_callable(new, [self._x])(1.0),
            "setup": lambda: session.partial_run_setup([new], [self._x]),
            "warm_up": lambda: session.warm_up(new, [self._x]),
            "explain": lambda: session.explain(new, self._fed),
            "placement": session.placement,
            "list_devices": session.list_devices,
            "wait_for": lambda: session.wait_for("/job:worker"),
            "reattach": session.reattach,
            "why": session.why,
            "last_steps": session.last_steps,
        }

    async def errors(self) -> dict[str, OpError]:
        """The error of each call but ``close`` and ``reattach``."""
        session = self.session
        with self._graph.as_default():
            new = self._y * 2.0
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "run": lambda: session.run(self._y, self._fed),
            "run again": lambda: session.run(self._y, self._fed),
            "partial run": lambda: session.partial_run(self._handle, self._y, self._fed),
            "setup": lambda: session.partial_run_setup([self._y], [self._x]),
            "extend": lambda: session.run(new, self._fed),
            "callable": lambda: self._callable(1.0),
            "list_devices": session.list_devices,
        }
        return {name: await raised(call()) for name, call in calls.items()}


async def raised(call: Awaitable[Any]) -> OpError:
    """The error of a call that must fail."""
    with pytest.raises(OpError) as caught:
        await soon(call)
    return caught.value


async def ask_to_stop(server: Server) -> None:
    await stop_server(server.target, reason="maintenance")


async def let_the_lease_end(server: Server) -> None:
    server.keep(1e-3)
    await eventually(lambda: server.stopping)
    await server.stop()


async def reset(server: Server) -> None:
    await AsyncSession.reset(server.target)


async def let_it_idle(server: Server) -> None:
    master: Any = server.actors.master
    master._idle_limit = 7.0
    for session in master._sessions.values():
        session.idle_for = lambda now: 8.0
    master._collect_idle()


async def close_by_another(server: Server) -> None:
    for handle in list(server.actors.master._sessions):
        await server.actors.master.submit(CloseSession(session_handle=handle), CallContext())


OWN = "in order by its own program, process {pid}"
ASKED = "in order at the request of client at .*: maintenance"
# How a session ends, the class of the errors from then on, and words in all of them.
ENDINGS: dict[str, tuple[Callable[[Server], Awaitable[Any]], type[OpError], str]] = {
    "its server is stopped": (Server.stop, UnavailableError, OWN),
    "a client stops its server": (ask_to_stop, UnavailableError, ASKED),
    "the lease of its server ends": (let_the_lease_end, UnavailableError, "because nothing had asked"),
    "the master is reset": (reset, AbortedError, "the master was reset by"),
    "it is idle": (let_it_idle, AbortedError, "was idle for 7 s"),
    "another client closes it": (close_by_another, AbortedError, "was closed by"),
}


@pytest.mark.parametrize("wire", [False, True], ids=["direct", "link"])
@pytest.mark.parametrize(("end", "kind", "words"), ENDINGS.values(), ids=list(ENDINGS))
async def test_every_call_after_the_end_of_a_session_says_what_has_happened(
    end: Any, kind: type[OpError], words: str, wire: bool
) -> None:
    """1. A session has been used in every way; then it ends at its master, with a step that waits. 2. Each call names
    what has happened, in a class that may be tried again, however often it is made. 3. ``reattach`` goes on at a master
    that lives. Else it fails, and all calls go on to name both. 4. Closing it raises nothing, and is the only thing
    that is different afterwards."""
    async with Server({"worker": ["127.0.0.1:0"]}, "worker") as server:
        calls = Calls(server.target, wire=wire)
        await calls.begin()
        await end(server)
        words = words.format(pid=os.getpid())
        assert calls.waiting is not None
        errors = {"in flight": await raised(calls.waiting), **await calls.errors()}
        for name, error in errors.items():
            found = type(error), re.search(words, error.message) is not None
            assert found == (kind, True), (name, error)
        if kind is AbortedError:
            await soon(calls.session.reattach())
            assert await soon(calls.session.list_devices())
        else:
            exit_reports.register_exit_reporter(server.target, nothing_known, lambda: True)
            for _ in range(2):
                failed = await raised(calls.session.reattach())
                for name, error in {"reattach": failed, **await calls.errors()}.items():
                    assert isinstance(error, UnavailableError), (name, error)
                    assert re.search(words, error.message), (name, error)
                    assert "no master answers" in error.message, (name, error)
            exit_reports.unregister_exit_reporter(server.target)
        await soon(calls.session.close())
        with pytest.raises(RuntimeError, match="closed Session"):
            await calls.session.run([])


LONG = tuple(Calls("tcp://127.0.0.1:1", wire=False).long())


@pytest.mark.parametrize("wire", [False, True], ids=["direct", "link"])
@pytest.mark.parametrize("name", LONG)
async def test_a_call_says_that_its_session_is_closed_meanwhile(name: str, wire: bool) -> None:
    """1. A call begins, of a session that its master knows or not. 2. After so many turns of the loop the session is
    closed. 3. The call has an answer, or says that the session is closed, and never that the master has lost it."""
    async with Server({"worker": ["127.0.0.1:0"]}, "worker") as server:
        for is_known in (True, False):
            for turns in itertools.count(1, 3 if wire else 1):
                calls = Calls(server.target, wire=wire)
                if is_known:
                    await soon(calls.session.list_devices())
                call = asyncio.ensure_future(calls.long()[name]())
                for _ in range(turns):
                    await asyncio.sleep(0)
                in_time = not call.done()
                await soon(calls.session.close())
                await soon(asyncio.wait([call]))
                error = call.exception()
                expected = error is None or (type(error), str(error)) == (CancelledError, "Session has been closed.")
                assert expected, (is_known, turns, error)
                if not in_time:
                    break


@simulated({"worker": 1})
async def test_runs_that_wait_for_each_other_say_that_their_session_is_closed(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """1. Many runs have new nodes for a master that stands still: one sends its nodes, the others wait for their turn,
    each longer than closing the session takes. 2. The session is closed, and the link is lost, so that nothing is left
    to wait for. 3. Every run says so, and none is cancelled whose caller was not, or was before."""
    x = ops.placeholder("float32", [])
    session = cluster.session(graph)
    assert await session.run(x + 1.0, {x: 1.0}) == 2.0

    async def run_after_a_cancellation() -> None:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.Event().wait()
        await session.run(x * 100.0, {x: 1.0})

    cluster.task("worker").stall()
    given_up, *running = [asyncio.create_task(session.run(x * float(n), {x: 1.0})) for n in range(12)]
    running.append(asyncio.create_task(run_after_a_cancellation()))
    await asyncio.sleep(0.1)
    running[-1].cancel()
    await asyncio.sleep(0.1)
    await cancelled(given_up)
    closing = asyncio.create_task(session.close())
    await asyncio.sleep(0.1)
    cluster.task("worker").crash()
    await soon(closing)
    for run in running:
        error = await raised(run)
        assert (type(error), str(error)) == (CancelledError, "Session has been closed.")


async def nothing_known(task: str | None) -> str:
    return ""


@pytest.mark.process
async def test_every_call_after_the_end_of_a_process_says_who_has_ended_it() -> None:
    """Each task of a cluster ends in another way, with a session at it; the one that is restarted goes on."""

    async def signalled(index: int, number: signal.Signals) -> None:
        process = cluster.process("worker", index)
        process.send_signal(number)
        await soon(process.wait_ended())

    owner = f"process {os.getpid()}, which had started it"
    async with LocalCluster({"worker": 4}) as cluster:
        ends: list[tuple[Callable[[], Awaitable[Any]], str]] = [
            (lambda: signalled(0, signal.SIGTERM), "in order by SIGTERM"),
            (lambda: signalled(1, signal.SIGINT), "in order by SIGINT"),
            (lambda: cluster.restart("worker", 2), f"SIGKILL, by the program that had|in order by {owner}"),
            (cluster.stop, f"in order by {owner}"),
        ]
        made = [Calls(cluster.target("worker", index), wire=True) for index in range(len(ends))]
        for calls in made:
            await calls.begin()
        for calls, (end, words) in zip(made, ends, strict=True):
            await end()
            assert calls.waiting is not None
            errors = {"in flight": await raised(calls.waiting), **await calls.errors()}
            for name, error in errors.items():
                found = type(error), re.search(words, error.message) is not None
                assert found == (UnavailableError, True), (name, error)
            if calls is made[2]:
                await soon(calls.session.reattach())
                assert await soon(calls.session.list_devices())
        for calls in made:
            await calls.session.close()
