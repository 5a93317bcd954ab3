"""A server: its life, its address, who may talk to it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import threading
import weakref
from collections import Counter
from typing import Any

import pytest

from actorsession import AsyncSession, ClusterSpec, Graph, Server, ServerSettings, errors, ops
from actorsession.actors import registry
from actorsession.cluster import read_statistics
from actorsession.config import ConfigProto
from actorsession.rpc.security import TOKEN_VARIABLE
from tests.cluster.kit import PS0, W0, W1, InProcess, chain, eventually, in_process, on, soon
from tests.cluster.script import script
from tests.leaks import take_holdings
from tests.ports import HoldPorts
from transports import Hello, WrongPeer, connect

ONE = {"worker": ["127.0.0.1:0"]}
WAITS_FOR_ALL = ConfigProto(wait_for_all_tasks=True)


# -- life ------------------------------------------------------------------------------------------
async def test_a_server_on_port_0_says_which_port_it_has() -> None:
    async with Server(ONE, "worker") as server:
        host, _, port = server.target.rpartition(":")
        assert host == "tcp://127.0.0.1"
        assert int(port) > 0
        assert server.task == W0
        assert repr(server) == f"<Server {W0} at {server.target}>"


async def test_a_server_has_no_address_before_it_is_started() -> None:
    server = Server(ONE, "worker")
    with pytest.raises(errors.FailedPreconditionError, match="not started"):
        _ = server.target
    with pytest.raises(errors.FailedPreconditionError, match="not started"):
        server.statistics()
    await server.stop()


async def test_a_server_is_started_once() -> None:
    async with Server(ONE, "worker") as server:
        with pytest.raises(errors.FailedPreconditionError, match="started already"):
            await server.start()


async def test_each_call_of_a_server_has_a_defined_effect_in_each_state() -> None:
    server = Server(ONE, "worker")
    await server.stop()  # there is nothing to stop

    async def keep() -> None:
        server.keep(1.0)

    for call in (server.serve_forever, keep):
        with pytest.raises(errors.FailedPreconditionError, match="was not started"):
            await call()
    starting = asyncio.create_task(server.start())
    await asyncio.sleep(0)
    for again in (server.start, server.__aenter__):
        with pytest.raises(errors.FailedPreconditionError, match="is being started"):
            await again()
    await soon(starting)
    for again in (server.start, server.__aenter__):
        with pytest.raises(errors.FailedPreconditionError, match="was started already"):
            await again()
    async with AsyncSession(server.target, graph=Graph()) as session:
        assert await session.list_devices()
    await soon(server.stop())
    await server.stop()
    await soon(server.serve_forever())
    for again in (server.start, server.__aenter__):
        with pytest.raises(errors.FailedPreconditionError, match=r"was stopped; .* make another one"):
            await again()
    with pytest.raises(errors.FailedPreconditionError, match="was stopped"):
        server.keep(1.0)


async def test_a_stop_during_the_start_of_a_server_ends_it() -> None:
    for turns in range(1, 6):
        server = Server(ONE, "worker")
        starting = asyncio.create_task(server.start())
        for _ in range(turns):
            await asyncio.sleep(0)
        await soon(server.stop())
        with contextlib.suppress(errors.FailedPreconditionError):  # unless it was started by then
            await soon(starting)
        assert not server.is_serving
        await soon(server.serve_forever())
        with pytest.raises(errors.FailedPreconditionError, match="was stopped"):
            await server.start()


async def test_a_port_that_is_taken_is_an_unknown_error_that_names_it() -> None:
    async with Server(ONE, "worker") as server:
        second = Server({"worker": [server.target]}, "worker")
        with pytest.raises(errors.UnknownError, match=f"{W0} cannot listen at {server.target}"):
            await second.start()
    await second.start()  # it is free now
    await second.stop()


async def test_more_than_loopback_needs_a_token() -> None:
    with pytest.raises(errors.UnknownError, match="no token"):
        await Server({"worker": ["0.0.0.0:0"]}, "worker").start()


async def test_an_unknown_kind_of_device_is_not_found() -> None:
    with pytest.raises(errors.NotFoundError, match="TPU"):
        await Server(ONE, "worker", settings=ServerSettings(config=ConfigProto(device_count={"TPU": 1}))).start()


async def test_stopping_twice_and_at_the_same_time_is_fine() -> None:
    server = Server(ONE, "worker")
    await server.start()
    await soon(asyncio.gather(server.stop(), server.stop()))
    await server.stop()
    await soon(server.serve_forever())


async def test_serving_for_ever_ends_when_the_server_is_stopped() -> None:
    async with Server(ONE, "worker") as server:
        serving = asyncio.create_task(server.serve_forever())
        await asyncio.sleep(0)
        assert not serving.done()
        await server.stop()
        await soon(serving)


async def test_a_stop_that_was_cancelled_is_finished_by_the_next() -> None:
    for turns in range(6):
        server = Server(ONE, "worker")
        await server.start()
        async with AsyncSession(server.target, graph=Graph()):
            stopping = asyncio.create_task(server.stop())
            for _ in range(turns):
                await asyncio.sleep(0)
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)
            await soon(server.stop())
        assert registry.lookup(server.target) is None


# Rounds before the first count: caches fill, and each library opens what it keeps.
WARM_UP = 20


@pytest.mark.usefixtures("over_links")
@pytest.mark.slow
@pytest.mark.whole  # one life is looked at after each test
async def test_a_hundred_lives_on_one_port_leave_nothing_behind(graph: Graph, hold_ports: HoldPorts) -> None:
    """Descriptors, children, threads and memory are as many after 110 lives as before."""
    (port,) = hold_ports(1)
    a = ops.placeholder("float32", [])
    x = a + 1.0
    before: Counter[str] = Counter()
    for number in range(WARM_UP + 110):
        if number == WARM_UP:
            before = held()
        async with Server({"worker": [f"127.0.0.1:{port}"]}) as server:
            async with AsyncSession(server.target, graph=graph) as session:
                assert await session.run(x, {a: float(number)}) == number + 1.0
    grown = held() - before
    # A life leaves hundreds of objects if it leaves anything; a few of caches may come and go.
    assert {what: count for what, count in grown.items() if count >= 100} == {}
    assert not {"descriptors", "threads", "children", "processes"} & grown.keys()


def held() -> Counter[str]:
    """How many things of each kind this process holds."""
    gc.collect()
    out = Counter(type(thing).__qualname__ for thing in gc.get_objects())
    now = take_holdings()
    del out["FrameSummary"]  # debug mode notes where each timer was made that still has to run out
    out["descriptors"] = len(now.descriptors)
    out["processes"] = len(now.processes)
    out["threads"] = threading.active_count()  # those that end with the process included
    out["children"] = len(asyncio.all_tasks())
    return out


async def test_what_was_stopped_is_collected(over_links: Any, graph: Graph) -> None:
    a = ops.placeholder("float32", [])
    end = chain(a, 2)
    stopped: list[weakref.ref[Any]] = []
    for _ in range(3):
        async with in_process() as cluster:
            stopped += map(weakref.ref, cluster.servers)
            async with AsyncSession(cluster.target(), graph=graph) as session:
                await session.run(end, {a: 1.0})
    del cluster, session
    await asyncio.sleep(0)
    gc.collect()
    assert [server() for server in stopped] == [None] * 6


# -- which task ------------------------------------------------------------------------------------
TWO = {"ps": ["127.0.0.1:0"], "worker": ["127.0.0.1:0", "127.0.0.1:0"]}


@pytest.mark.parametrize(
    ("cluster", "given", "task"),
    [
        (ONE, {}, W0),
        (TWO, {"job_name": "ps"}, PS0),
        ({"worker": {1: "127.0.0.1:0"}}, {}, W1),
        ({"worker": ["127.0.0.1:0"] * 2}, {"task_index": 1}, W1),
        (ClusterSpec(ONE), {}, W0),
        (ClusterSpec(ONE).as_cluster_def(), {}, W0),
    ],
)
async def test_what_can_be_one_job_or_task_only_need_not_be_said(cluster: Any, given: Any, task: str) -> None:
    assert Server(cluster, **given).task == task


@pytest.mark.parametrize(
    ("cluster", "given", "complaint"),
    [
        (TWO, {}, r"which job is this\? give job_name, one of \['ps', 'worker'\]"),
        (TWO, {"task_index": 0}, "which job"),
        (TWO, {"job_name": "worker"}, r"which task of job 'worker' .* one of \[0, 1\]"),
        ({}, {}, "which job"),
        ({"worker": []}, {}, "which task"),
    ],
)
async def test_what_could_be_several_must_be_said(cluster: Any, given: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Server(cluster, **given)


@pytest.mark.parametrize(
    ("job", "index", "complaint"),
    [
        ("chief", 0, r"no job 'chief' in the cluster; it has \['worker'\]"),
        ("chief", None, "no job 'chief'"),
        ("worker", 3, r"no task 3 in job 'worker'; it has \[0\]"),
        ("worker", -1, "no task -1"),
    ],
)
async def test_a_task_outside_the_cluster_is_an_internal_error(job: str, index: int | None, complaint: str) -> None:
    with pytest.raises(errors.InternalError, match=complaint):
        Server(ONE, job, index)


@pytest.mark.parametrize(
    ("cluster", "given"),
    [
        (5, {}),
        (None, {}),
        ({"worker": 5}, {}),
        (ONE, {"job_name": 5}),
        (ONE, {"task_index": "0"}),
        (ONE, {"task_index": 0.0}),
        (ONE, {"task_index": True}),
    ],
)
async def test_other_forms_are_type_errors(cluster: Any, given: Any) -> None:
    with pytest.raises(TypeError):
        Server(cluster, **given)


@pytest.mark.parametrize("address", ["localhost", "", "localhost:abc", "localhost:99999", "tcp://h"])
@pytest.mark.parametrize("whose", [0, 1])
async def test_an_address_without_a_port_is_an_invalid_argument_that_names_its_task(address: str, whose: int) -> None:
    addresses = ["127.0.0.1:0", "127.0.0.1:0"]
    addresses[whose] = address
    with pytest.raises(errors.InvalidArgumentError, match="is not an address") as info:
        Server({"worker": addresses}, "worker", 0)
    assert info.value.task == (W0, W1)[whose]


async def test_a_protocol_that_nothing_speaks_is_not_found() -> None:
    with pytest.raises(errors.NotFoundError, match="'carrier-pigeon'; there are abstract, inproc, tcp"):
        Server(ONE, settings=ServerSettings(protocol="carrier-pigeon"))
    with pytest.raises(errors.NotFoundError, match="'pigeon' of 'pigeon://roof'; there are abstract, inproc, tcp"):
        Server({"worker": ["pigeon://roof"]})


async def test_a_protocol_is_the_scheme_of_addresses_that_have_none(tmp_path: Any) -> None:
    async with Server({"worker": [f"{tmp_path}/socket"]}, settings=ServerSettings(protocol="unix")) as server:
        assert server.target == f"unix://{tmp_path}/socket"


# -- a socket that is open already -----------------------------------------------------------------
@pytest.mark.parametrize("listens", [False, True])
async def test_a_server_serves_at_a_socket_that_it_is_given(graph: Graph, listens: bool) -> None:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    if listens:
        sock.listen()
    port = sock.getsockname()[1]
    a = ops.placeholder("float32", [])
    async with Server(ONE, settings=ServerSettings(listening_socket=sock)) as server:
        assert server.target == f"tcp://127.0.0.1:{port}"
        assert await _run(server.target, graph, a + 1.0, {a: 1.0}) == 2.0
    assert sock.fileno() == -1


async def test_clients_that_came_before_the_server_are_served(over_links: Any, graph: Graph) -> None:
    """A service manager opens the socket first, and nobody is refused while the server starts."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        target = f"tcp://127.0.0.1:{sock.getsockname()[1]}"
        a = ops.placeholder("float32", [])
        running = asyncio.create_task(_run(target, graph, a + 1.0, {a: 1.0}))
        await asyncio.sleep(0)
        async with Server(ONE, settings=ServerSettings(listening_socket=sock)):
            assert await soon(running) == 2.0


async def test_a_socket_of_another_kind_than_the_address_is_refused_and_closed() -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server = Server(ONE, settings=ServerSettings(listening_socket=sock))
    with pytest.raises(errors.InvalidArgumentError, match=f"{W0} cannot listen .* a stream socket"):
        await server.start()
    assert sock.fileno() == -1


async def test_a_socket_that_others_can_reach_needs_a_token() -> None:
    sock = socket.socket()
    sock.bind(("0.0.0.0", 0))
    with pytest.raises(errors.UnknownError, match="no token"):
        await Server(ONE, settings=ServerSettings(listening_socket=sock)).start()
    assert sock.fileno() == -1


async def test_a_socket_stays_the_caller_s_until_the_server_is_started() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        await Server(ONE, settings=ServerSettings(listening_socket=sock)).stop()
        assert sock.fileno() != -1


# -- finding each other ----------------------------------------------------------------------------
async def test_servers_find_each_other_at_fixed_addresses_in_any_order(graph: Graph, hold_ports: HoldPorts) -> None:
    spec = ClusterSpec({"worker": [f"127.0.0.1:{port}" for port in hold_ports(2)]})
    a = ops.placeholder("float32", [])
    end = chain(a, 4)
    async with Server(spec, "worker", 0) as first:
        connecting = asyncio.create_task(_run(first.target, graph, end, {a: 1.0}))
        await eventually(lambda: first.statistics().links == () and not connecting.done())
        async with Server(spec, "worker", 1) as second:
            assert await soon(connecting) == 5.0
            assert await _run(second.target, graph, end, {a: 2.0}) == 6.0


async def _run(target: str, graph: Graph, fetch: Any, feeds: Any) -> Any:
    async with AsyncSession(target, graph=graph) as session:
        return await session.run(fetch, feeds)


@pytest.mark.usefixtures("way", "hasty_masters")
async def test_a_session_that_waits_for_a_cluster_that_is_not_complete_names_the_missing_task(
    graph: Graph, hold_ports: HoldPorts
) -> None:
    spec = {"worker": ["127.0.0.1:0", f"127.0.0.1:{hold_ports(1)[0]}"]}
    async with Server(spec, "worker", 0) as server:
        session = AsyncSession(server.target, graph=graph, config=WAITS_FOR_ALL)
        with pytest.raises(errors.DeadlineExceededError) as info:
            await soon(session.list_devices())
        assert f"1 of 2 tasks did not answer in time: {W1} at tcp://{spec['worker'][1]}" in str(info.value)
        assert "attempts, last: cannot reach" in info.value.message
        assert "ECONNREFUSED" in info.value.message
        assert info.value.task == W1
        async with Server(spec, "worker", 1):
            assert len(await soon(session.list_devices())) == 2  # the same session tries anew
        await session.close()
        assert server.statistics().sessions == 0


@pytest.mark.parametrize("where", ["unix://{}/", "abstract://{}/", "inproc://{}/"])
async def test_servers_speak_other_transports_too(graph: Graph, where: str, tmp_path: Any) -> None:
    where = where.format(tmp_path)
    spec = {"worker": [f"{where}{i}" for i in range(2)]}
    a = ops.placeholder("float32", [])
    end = chain(a, 4)
    async with Server(spec, "worker", 0) as first, Server(spec, "worker", 1):
        assert await _run(first.target, graph, end, {a: 1.0}) == 5.0


# -- strangers -------------------------------------------------------------------------------------
def hello(task: str, cluster_id: str = "") -> Hello:
    return Hello(cluster_id=cluster_id, task=task, incarnation=5, pid=1)


@pytest.mark.usefixtures("hasty_masters")
async def test_a_server_of_another_task_at_an_address_is_refused_with_both_names(graph: Graph) -> None:
    async with in_process() as cluster:
        first = cluster.server(W0)
        first.learn_peers({"worker": [first.target, first.target]})
        with pytest.raises(errors.DeadlineExceededError, match=f"expects task '{W1}', found the listener {W0}"):
            await soon(AsyncSession(first.target, graph=graph, config=WAITS_FOR_ALL).list_devices())


@pytest.mark.usefixtures("hasty_masters")
async def test_a_server_of_another_cluster_is_refused_with_both_names(graph: Graph) -> None:
    async with in_process(cluster_id="ours") as ours, in_process(cluster_id="theirs") as theirs:
        ours.servers[0].learn_peers({"worker": [ours.target(W0), theirs.target(W1)]})
        session = AsyncSession(ours.target(), graph=graph, config=WAITS_FOR_ALL)
        with pytest.raises(errors.DeadlineExceededError, match="cluster 'ours'") as info:
            await soon(session.list_devices())
        assert "cluster 'theirs'" in info.value.message


async def test_a_peer_of_another_cluster_gets_no_connection() -> None:
    async with in_process({"worker": 1}, cluster_id="ours") as cluster:
        with pytest.raises(WrongPeer, match=r"'ours'.*'theirs'"):
            await connect(cluster.target(), hello(W1, "theirs"))


async def test_a_client_that_gives_itself_the_name_of_a_task_gets_no_tensors(graph: Graph) -> None:
    a = ops.placeholder("float32", [])
    end = chain(a, 3)
    async with in_process(cluster_id="ours") as cluster:
        stranger = await connect(cluster.target(W0), hello(W1))
        assert await _run(cluster.target(W0), graph, end, {a: 1.0}) == 4.0
        stranger.abort()


async def test_a_token_is_asked_for_of_peers_and_clients(over_links: Any, graph: Graph, monkeypatch: Any) -> None:
    a = ops.placeholder("float32", [])
    end = chain(a, 3)
    async with in_process(token="secret") as cluster:
        with pytest.raises(errors.UnauthenticatedError, match="token"):
            await soon(AsyncSession(cluster.target(), graph=graph).list_devices())
        with pytest.raises(errors.UnavailableError, match="token"):
            await read_statistics(cluster.target())
        monkeypatch.setenv(TOKEN_VARIABLE, "secret")
        assert await _run(cluster.target(), graph, end, {a: 1.0}) == 4.0
        assert (await read_statistics(cluster.target())).task == W0
        monkeypatch.setenv(TOKEN_VARIABLE, "wrong")
        with pytest.raises(errors.UnauthenticatedError, match="token"):
            await soon(AsyncSession(cluster.target(), graph=graph).list_devices())


@pytest.mark.usefixtures("over_links")
async def test_the_environment_s_token_is_a_server_s_own_if_it_is_given_none(graph: Graph, monkeypatch: Any) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    async with Server(ONE, "worker") as server:
        monkeypatch.delenv(TOKEN_VARIABLE)
        with pytest.raises(errors.UnauthenticatedError, match="token"):
            await soon(AsyncSession(server.target, graph=graph).list_devices())


# -- statistics ------------------------------------------------------------------------------------
@pytest.mark.usefixtures("over_links")
async def test_the_statistics_count_sessions_graphs_runs_pushes_and_links(cluster: InProcess, graph: Graph) -> None:
    a = ops.placeholder("float32", [])
    end = chain(a, 2)
    async with AsyncSession(cluster.target(), graph=graph) as session:
        await session.run(end, {a: 1.0})
        before = cluster.statistics()
        for _ in range(10):
            await session.run(end, {a: 1.0})
        after = cluster.statistics()
        assert [s.sessions for s in after.values()] == [1, 0]
        assert [s.worker_sessions for s in after.values()] == [1, 1]
        assert [s.graphs for s in after.values()] == [1, 1]
        assert [after[t].runs - before[t].runs for t in (W0, W1)] == [10, 10]
        assert [after[t].pushes - before[t].pushes for t in (W0, W1)] == [10, 0]
        (there,) = after[W0].peers
        (back,) = after[W1].peers
        assert (there.peer, back.peer) == (W1, W0)
        assert there.bytes_sent == back.bytes_received > 0
        assert there.frames_sent == back.frames_received > 20
        assert [link.peer for link in after[W0].links] == [W1, "client"]
    await cluster.until_idle()


async def test_the_statistics_of_a_server_can_be_asked_for_by_anyone(cluster: InProcess) -> None:
    found = await read_statistics(cluster.target(W1))
    (own,) = [link for link in found.links if link.peer == "client"]
    assert own.calls_received == 1
    assert found == type(found).from_wire(found.to_wire())
    assert (found.task, found.sessions, found.idle) == (W1, 0, True)


async def test_the_statistics_of_nobody_are_unavailable() -> None:
    with pytest.raises(errors.UnavailableError, match=r"no statistics of tcp://127\.0\.0\.1:1"):
        await read_statistics("tcp://127.0.0.1:1")


async def test_variables_of_two_servers_in_one_process_are_apart(graph: Graph) -> None:
    v = on(W0, lambda: ops.Variable(1.0, name="v"))
    async with in_process() as one, in_process() as other, AsyncSession(one.target(), graph=graph) as session:
        await session.run(v.initializer)
        await session.run(v.assign_add(1.0))
        async with AsyncSession(other.target(), graph=graph) as second:
            await second.run(v.initializer)
            assert await second.run(v) == 1.0
        assert await session.run(v) == 2.0


FORKS = """
    import asyncio, os, signal, sys
    import actorsession as acts
    from actorsession.actors import loops

    folder = os.getcwd()
    v = acts.Variable(1.0)
    more = v.assign_add(1.0)

    def status_of(child):
        signal.alarm(60)
        return os.waitpid(child, 0)[1] >> 8

    async def main():
        where = {"worker": [f"unix://{folder}/socket"]}
        settings = acts.ServerSettings(snapshot_dir=folder + "/snapshots")
        async with acts.Server(where, "worker", settings=settings) as server:
            async with acts.AsyncSession(server.target) as session:
                await session.run(v.initializer)
                await session.run(more)
                child = os.fork()
                if not child:
                    signal.alarm(60)
                    sys.exit(7)
                print("left", await asyncio.to_thread(status_of, child))
                print("step", await session.run(more), os.path.exists("socket"))
            kept = [name for name in os.listdir("snapshots") if name.endswith(".snapshot")]
            async with acts.AsyncSession(server.target) as other:
                print("another", await other.run(more), kept)
        print("end", os.path.exists("socket"), len(os.listdir("snapshots")))
"""


@pytest.mark.process
@pytest.mark.parametrize("run", ["loops", "asyncio"], ids=["ours", "stock"])
def test_a_forked_child_leaves_the_server_of_its_parent_alone(tmp_path: Any, run: str) -> None:
    """It leaves the blocks of server and session: nothing is said to anybody, written or removed."""
    with script(tmp_path, f"{FORKS}\n    {run}.run(main())") as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out == "left 7\nstep 3.0 True\nanother 4.0 []\nend False 1\n"


async def test_tasks_are_known_before_the_server_has_begun_to_learn_them() -> None:
    """A client that dials a task again and again may be served in the moment at which the task starts to listen."""
    server = Server({"worker": ["tcp://127.0.0.1:5001", "127.0.0.1:5002"]}, "worker", 0)
    assert server._cluster_view.tasks() == {W0: "tcp://127.0.0.1:5001", W1: "tcp://127.0.0.1:5002"}
