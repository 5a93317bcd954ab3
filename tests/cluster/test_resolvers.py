"""Resolvers: what they read, and that servers ask them again."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from actorsession import (
    AsyncSession,
    ClusterResolver,
    ClusterSpec,
    FileClusterResolver,
    Graph,
    Server,
    SimpleClusterResolver,
    TFConfigClusterResolver,
    ops,
)
from actorsession.actors import Deadline
from actorsession.cluster import read_cluster
from actorsession.cluster.resolvers import TF_CONFIG, ask_resolver
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError
from tests.cluster.kit import PS0, W0, W1, W2, chain, eventually, soon
from tests.host_names import resolve_names
from tests.ports import HoldPorts

TWO = {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}


# -- a fixed cluster -------------------------------------------------------------------------------


def test_a_simple_resolver_says_what_it_was_given() -> None:
    spec = ClusterSpec({"worker": ["a:1", "b:2"]})
    resolver = SimpleClusterResolver(spec, task_type="worker", task_id=1)
    assert isinstance(resolver, ClusterResolver)
    assert resolver.cluster_spec() == spec
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)
    resolver.task_type, resolver.task_id = "ps", 0
    assert (resolver.task_type, resolver.task_id) == ("ps", 0)


def test_the_master_of_a_simple_resolver_is_the_one_given_or_the_task_named() -> None:
    resolver = SimpleClusterResolver(ClusterSpec({"worker": ["a:1", "b:2"]}), "m:9")
    assert resolver.master() == "m:9"
    assert resolver.master("worker", 1) == "b:2"
    assert resolver.master("worker", 1, "tls") == "tls://b:2"
    with pytest.raises(ValueError, match="no task 7"):
        resolver.master("worker", 7)
    assert SimpleClusterResolver(ClusterSpec({}), rpc_layer="tcp").master() == ""


def test_a_simple_resolver_takes_a_spec_and_nothing_else() -> None:
    with pytest.raises(TypeError, match="cluster_spec is a ClusterSpec"):
        SimpleClusterResolver({"worker": ["a:1"]})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="master is a string"):
        SimpleClusterResolver(ClusterSpec({}), 5)  # type: ignore[arg-type]


# -- TF_CONFIG -------------------------------------------------------------------------------------


def of_variable(monkeypatch: Any, value: Any, **given: Any) -> TFConfigClusterResolver:
    text = value if isinstance(value, str) else json.dumps(value)
    monkeypatch.setenv(TF_CONFIG, text)
    return TFConfigClusterResolver(**given)


def test_tf_config_names_the_cluster_and_the_task(monkeypatch: Any) -> None:
    resolver = of_variable(monkeypatch, TWO)
    assert isinstance(resolver, ClusterResolver)
    assert resolver.cluster_spec() == ClusterSpec({"worker": ["a:1", "b:2"]})
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)
    assert (resolver.rpc_layer, resolver.cluster_id) == (None, "")
    assert resolver.master() == "b:2"


@pytest.mark.parametrize("value", [None, "", "{}"])
def test_without_tf_config_there_is_no_cluster(monkeypatch: Any, value: str | None) -> None:
    monkeypatch.delenv(TF_CONFIG, raising=False)
    if value is not None:
        monkeypatch.setenv(TF_CONFIG, value)
    resolver = TFConfigClusterResolver()
    assert resolver.cluster_spec() == ClusterSpec({})
    assert (resolver.task_type, resolver.task_id) == (None, None)
    assert resolver.master() == ""


def test_what_is_given_goes_before_tf_config(monkeypatch: Any) -> None:
    resolver = of_variable(monkeypatch, TWO, task_type="ps", task_id=3, rpc_layer="tls")
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer) == ("ps", 3, "tls")
    resolver.task_type, resolver.task_id = "worker", 0
    assert resolver.master() == "tls://a:1"
    assert resolver.master("worker", 1, "tcp") == "tcp://b:2"


def test_tf_config_is_read_again_at_each_question(monkeypatch: Any) -> None:
    resolver = of_variable(monkeypatch, TWO)
    assert resolver.task_id == 1
    monkeypatch.setenv(TF_CONFIG, json.dumps({**TWO, "task": {"type": "worker", "index": "0"}}))
    assert resolver.task_id == 0


def test_a_sparse_job_in_tf_config_has_numbers_in_strings(monkeypatch: Any) -> None:
    resolver = of_variable(monkeypatch, {"cluster": {"worker": {"1": "b:2"}}, "rpc_layer": "tls"})
    assert resolver.cluster_spec().as_dict() == {"worker": {1: "b:2"}}
    assert resolver.rpc_layer == "tls"


def test_the_master_of_one_task_is_that_task_itself(monkeypatch: Any) -> None:
    assert of_variable(monkeypatch, {"cluster": {"worker": ["a:1"]}}).master() == ""


def test_a_session_master_goes_before_the_tasks(monkeypatch: Any) -> None:
    assert of_variable(monkeypatch, {**TWO, "session_master": "x:9"}).master() == "x:9"


def test_a_master_needs_a_task_that_is_said(monkeypatch: Any) -> None:
    with pytest.raises(ValueError, match="TF_CONFIG does not say which task this is"):
        of_variable(monkeypatch, {"cluster": TWO["cluster"]}).master()


@pytest.mark.parametrize(
    ("value", "error", "complaint"),
    [
        ("nonsense", ValueError, "TF_CONFIG is not JSON"),
        ("[]", TypeError, "TF_CONFIG is an object"),
        ({"cluster": 5}, TypeError, "TF_CONFIG: a cluster is a dict"),
        ({"cluster": {"w/x": []}}, ValueError, "TF_CONFIG: a job name"),
        ({"cluster": None}, TypeError, "TF_CONFIG: a cluster is a dict"),
    ],
)
def test_a_cluster_in_another_form_names_the_variable(
    monkeypatch: Any, value: Any, error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        of_variable(monkeypatch, value).cluster_spec()


@pytest.mark.parametrize(("task", "error"), [(5, TypeError), ({"index": "x"}, ValueError), ({"index": 1.5}, TypeError)])
def test_a_task_in_another_form_names_the_variable(monkeypatch: Any, task: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="TF_CONFIG: the task"):
        _ = of_variable(monkeypatch, {"task": task}).task_id


def test_a_type_that_is_no_string_is_refused(monkeypatch: Any) -> None:
    with pytest.raises(TypeError, match="the task's type is a string, got 5"):
        _ = of_variable(monkeypatch, {"task": {"type": 5}}).task_type


# -- a file ----------------------------------------------------------------------------------------

TOML = """
    cluster_id = "ours"
    [cluster]
    ps = ["c:3"]
    worker = {1 = "b:2"}
    [task]
    type = "worker"
    index = 1
"""


def test_a_file_is_json_or_toml_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(TWO))
    (tmp_path / "c.toml").write_text(TOML)
    as_json, as_toml = (FileClusterResolver(tmp_path / f"c.{kind}") for kind in ("json", "toml"))
    assert isinstance(as_json, ClusterResolver)
    assert as_json.cluster_spec() == ClusterSpec({"worker": ["a:1", "b:2"]})
    assert as_toml.cluster_spec() == ClusterSpec({"ps": ["c:3"], "worker": {1: "b:2"}})
    assert (as_toml.task_type, as_toml.task_id, as_toml.cluster_id) == ("worker", 1, "ours")
    assert FileClusterResolver(as_toml.path, "ps", 0).master() == "c:3"


def test_a_file_is_read_again_at_each_question(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    resolver = FileClusterResolver(path, "worker", 0)
    with pytest.raises(FileNotFoundError):
        resolver.cluster_spec()
    for address in ("a:1", "b:2"):
        path.write_text(json.dumps({"cluster": {"worker": [address]}}))
        assert resolver.cluster_spec().task_address("worker", 0) == address


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("c.json", "{", "c.json is not JSON"),
        ("c.toml", "=", "c.toml is not TOML"),
        ("c.json", '{"clutser": {}}', r"c.json: \['clutser'\] mean nothing here; .*'cluster'"),
    ],
)
def test_a_file_in_another_form_is_named(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=complaint):
        FileClusterResolver(tmp_path / name).cluster_spec()


# -- asking without waiting for ever ---------------------------------------------------------------


class Asked:
    """A resolver whose answer a test chooses."""

    task_type: str | None = "worker"
    task_id: int | None = 0

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.questions = 0
        self.gate = threading.Event()
        self.gate.set()

    def cluster_spec(self) -> ClusterSpec:
        self.questions += 1
        assert self.gate.wait(20)
        if isinstance(self.spec, Exception):
            raise self.spec
        return ClusterSpec(self.spec)

    def __repr__(self) -> str:
        return "the resolver of this test"


async def test_an_answer_comes_from_another_thread() -> None:
    spec = await ask_resolver(Asked({"worker": ["a:1"]}), Deadline.after(20))
    assert spec == ClusterSpec({"worker": ["a:1"]})


async def test_a_resolver_that_fails_is_unavailable_and_says_why() -> None:
    with pytest.raises(UnavailableError, match="this test was asked in vain: OSError: no disk"):
        await ask_resolver(Asked(OSError("no disk")), Deadline.after(20))


async def test_a_resolver_that_hangs_ends_with_the_deadline() -> None:
    resolver = Asked({"worker": ["a:1"]})
    resolver.gate.clear()
    with pytest.raises(DeadlineExceededError, match="an answer of the resolver of this test"):
        await ask_resolver(resolver, Deadline.after(0.05))
    resolver.gate.set()
    await eventually(lambda: not any("of this test" in t.name for t in threading.enumerate()))


# -- servers ---------------------------------------------------------------------------------------


async def test_a_resolver_says_which_task_a_server_is() -> None:
    resolver = SimpleClusterResolver(ClusterSpec({"ps": ["127.0.0.1:0"], "worker": ["h:1"]}))
    resolver.task_type = "ps"
    assert Server(resolver).task == PS0
    assert Server(resolver, "worker").task == W0


async def test_what_is_neither_cluster_nor_resolver_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="a ClusterSpec, what one can be made of, or a resolver"):
        Server("worker0:1")  # type: ignore[arg-type]


def write(path: Path, addresses: Any) -> None:
    """Changes a file as its users should: nobody reads half of it."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"cluster": {"worker": addresses}}))
    os.replace(new, path)


async def run(target: str, graph: Graph, fetch: Any, feeds: Any) -> Any:
    async with AsyncSession(target, graph=graph) as session:
        return await soon(session.run(fetch, feeds))


async def test_a_worker_that_moved_to_another_port_is_found_there(
    tmp_path: Path, graph: Graph, hold_ports: HoldPorts
) -> None:
    """1. two workers run steps; 2. one of them ends, and comes back at another port, which a file says;
    3. the other, whose link is lost, asks the file again, and runs steps with it."""
    ports = hold_ports(3)
    path = tmp_path / "cluster.json"
    a = ops.placeholder("float32", [])
    end = chain(a, 4)

    def move(second: int) -> None:
        write(path, [f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[second]}"])

    move(1)
    async with Server(FileClusterResolver(path, "worker", 0)) as first:
        async with Server(FileClusterResolver(path, "worker", 1)):
            assert await run(first.target, graph, end, {a: 1.0}) == 5.0
        move(2)
        async with Server(FileClusterResolver(path, "worker", 1)) as moved:
            assert moved.target.endswith(str(ports[2]))
            assert await run(first.target, graph, end, {a: 2.0}) == 6.0
            assert await run(moved.target, graph, end, {a: 3.0}) == 7.0
            assert (await read_cluster(first.target)).tasks[W1] == moved.target


async def test_a_session_that_waits_for_a_task_finds_it_at_its_new_address(
    tmp_path: Path, graph: Graph, hold_ports: HoldPorts
) -> None:
    """The file changes while the master tries the address that it had at first."""
    ports = hold_ports(3)
    path = tmp_path / "cluster.json"
    a = ops.placeholder("float32", [])
    end = chain(a, 4)
    write(path, [f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}"])
    async with Server(FileClusterResolver(path, "worker", 0)) as first:
        running = asyncio.create_task(run(first.target, graph, end, {a: 1.0}))
        await eventually(lambda: first.statistics().links != () or first._cache.links._dialling != {})
        write(path, [f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[2]}"])
        spec = {"worker": ["127.0.0.1:1", f"127.0.0.1:{ports[2]}"]}  # it knows nothing of the first
        async with Server(spec, "worker", 1):
            assert await running == 5.0


async def test_a_new_session_sees_the_worker_that_a_file_has_gained(
    tmp_path: Path, graph: Graph, hold_ports: HoldPorts
) -> None:
    ports = hold_ports(2)
    path = tmp_path / "cluster.json"
    write(path, [f"127.0.0.1:{ports[0]}"])
    async with Server(FileClusterResolver(path, "worker", 0)) as first:
        async with AsyncSession(first.target, graph=graph) as session:
            assert [d.task for d in await session.list_devices()] == [W0]
        write(path, [f"127.0.0.1:{port}" for port in ports])
        async with Server(FileClusterResolver(path, "worker", 1)), AsyncSession(first.target, graph=graph) as session:
            assert [d.task for d in await session.list_devices()] == [W0, W1]


async def test_a_resolver_is_asked_for_each_session_and_dial_and_not_for_each_step(
    graph: Graph, hold_ports: HoldPorts
) -> None:
    ports = hold_ports(2)
    resolver = Asked({"worker": [f"127.0.0.1:{port}" for port in ports]})
    a = ops.placeholder("float32", [])
    end = chain(a, 2)
    async with Server(resolver) as first:
        made = resolver.questions
        async with Server(resolver.spec, "worker", 1):
            async with AsyncSession(first.target, graph=graph) as session:
                await session.run(end, {a: 1.0})
                assert resolver.questions == made + 2
                for _ in range(20):
                    await session.run(end, {a: 1.0})
                assert resolver.questions == made + 2
            assert await run(first.target, graph, end, {a: 1.0}) == 3.0
            assert resolver.questions == made + 3  # the link stands
        await eventually(lambda: not first.statistics().peers)
        async with Server(resolver.spec, "worker", 1):
            assert await run(first.target, graph, end, {a: 1.0}) == 3.0
        assert resolver.questions == made + 5


async def test_what_a_resolver_says_goes_before_what_a_master_has_told(graph: Graph, hold_ports: HoldPorts) -> None:
    """A master without a resolver tells its workers where it believes that everybody is."""
    ports = hold_ports(3)
    spec = {"worker": [f"127.0.0.1:{port}" for port in ports[:2]]}
    a = ops.placeholder("float32", [])
    end = chain(a, 3)
    async with Server(Asked(spec)) as first, Server(spec, "worker", 1) as second:
        assert await run(second.target, graph, end, {a: 1.0}) == 4.0
        first._cache.learn({W1: f"tcp://127.0.0.1:{ports[2]}"})
        await second.stop()
        await eventually(lambda: not first.statistics().peers)
        async with Server(spec, "worker", 1):
            assert await run(first.target, graph, end, {a: 1.0}) == 4.0


async def test_what_a_server_is_told_holds_until_its_resolver_says_something_new(hold_ports: HoldPorts) -> None:
    ports = hold_ports(3)
    addresses = [f"127.0.0.1:{port}" for port in ports]
    resolver = Asked({"worker": addresses[:1]})
    async with Server(resolver) as server, Server({"worker": addresses}, "worker", 1):
        server.learn_peers({"worker": addresses[:2]})
        await server._cache.links.link(W1, Deadline.after(20))
        assert list((await read_cluster(server.target)).tasks) == [W0, W1]
        resolver.spec = {"worker": addresses}
        with pytest.raises(UnavailableError, match=f"cannot reach {W2}"):
            await server._cache.links.link(W2, Deadline.after(20))
        assert list((await read_cluster(server.target)).tasks) == [W0, W1, W2]


async def test_a_resolver_that_cannot_change_is_not_asked_again(graph: Graph, hold_ports: HoldPorts) -> None:
    spec = ClusterSpec({"worker": [f"127.0.0.1:{port}" for port in hold_ports(2)]})
    a = ops.placeholder("float32", [])
    async with Server(SimpleClusterResolver(spec, task_type="worker", task_id=0)) as first:
        async with Server(spec, "worker", 1):
            assert await run(first.target, graph, chain(a, 2), {a: 1.0}) == 3.0
        assert not first._cluster_view.changes


async def test_a_resolver_in_trouble_leaves_the_last_known_addresses_to_be_tried(
    graph: Graph, hold_ports: HoldPorts
) -> None:
    spec = {"worker": [f"127.0.0.1:{port}" for port in hold_ports(2)]}
    resolver = Asked(spec)
    a = ops.placeholder("float32", [])
    end = chain(a, 2)
    async with Server(resolver) as first, Server(spec, "worker", 1):
        resolver.spec = OSError("no disk")
        assert await run(first.target, graph, end, {a: 1.0}) == 3.0


async def test_a_task_that_cannot_be_reached_is_told_with_the_resolver_s_trouble(hold_ports: HoldPorts) -> None:
    spec = {"worker": [f"127.0.0.1:{port}" for port in hold_ports(2)]}
    resolver = Asked(spec)
    async with Server(resolver) as server:
        resolver.spec = {"worker": {1: "127.0.0.1:1"}}  # this task is not in it
        with pytest.raises(UnavailableError) as info:
            await server._cache.links.link(W1, Deadline.after(20))
        assert f"cannot reach {W1} at tcp://127.0.0.1:" in info.value.message
        assert "that address may be old: the resolver of this test" in info.value.message
        assert f"{W0} is not a task of the new cluster" in info.value.message


async def test_a_task_that_a_resolver_drops_is_dialled_no_more(hold_ports: HoldPorts) -> None:
    ports = hold_ports(2)
    resolver = Asked({"worker": [f"127.0.0.1:{port}" for port in ports]})
    async with Server(resolver) as server:
        resolver.spec = {"worker": [f"127.0.0.1:{ports[0]}"]}
        with pytest.raises(OpError, match=f"no address is known for {W1}"):
            await server._cache.links.link(W1, Deadline.after(20))
        assert list((await read_cluster(server.target)).tasks) == [W0]


async def test_a_host_name_is_looked_up_at_each_dial(graph: Graph, monkeypatch: Any, hold_ports: HoldPorts) -> None:
    """The name of a worker means another address after its restart, as with a scheduler's DNS."""
    (port,) = hold_ports(1)
    where = {"worker1.test": "127.0.0.1"}
    asked: list[str] = []

    def look_up(host: str) -> list[str] | None:
        if host not in where:
            return None
        asked.append(where[host])
        return [where[host]]

    resolve_names(monkeypatch, look_up)
    spec = {"worker": ["127.0.0.1:0", f"worker1.test:{port}"]}
    a = ops.placeholder("float32", [])
    end = chain(a, 2)
    async with Server(spec, "worker", 0) as first:
        for host in ("127.0.0.1", "127.0.0.2"):
            where["worker1.test"] = host
            async with Server(spec, "worker", 1) as second:
                assert second.target == f"tcp://{host}:{port}"
                assert await run(first.target, graph, end, {a: 1.0}) == 3.0
            await eventually(lambda: not first.statistics().peers)
    assert asked.count("127.0.0.1") >= 2  # to bind, and to dial
    assert asked.count("127.0.0.2") >= 2


async def test_the_address_in_the_cluster_is_what_others_are_told(hold_ports: HoldPorts) -> None:
    (port,) = hold_ports(1)
    async with Server({"worker": [f"localhost:{port}"]}) as server:
        view = await read_cluster(server.target)
        assert view.tasks == {W0: f"tcp://localhost:{port}"}
