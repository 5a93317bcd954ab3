"""Resolvers: what they read, and that servers ask them again."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import trustme

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
from actorsession.cluster import KubernetesClusterResolver, SlurmClusterResolver, read_cluster
from actorsession.cluster.node_lists import expand_counts, expand_node_list
from actorsession.cluster.resolvers import TF_CONFIG, ask_resolver
from actorsession.errors import (
    DeadlineExceededError,
    OpError,
    PermissionDeniedError,
    UnauthenticatedError,
    UnavailableError,
)
from tests.cluster.kit import PS0, W0, W1, W2, chain, eventually, soon
from tests.cluster.kubernetes_api import NAMESPACE, Api, pod, refusal, served
from tests.host_names import resolve_names
from tests.ports import HoldPorts
from tests.rows import for_each

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


async def test_a_worker_that_moved_to_other_ports_is_found(tmp_path: Path, graph: Graph, hold_ports: HoldPorts) -> None:
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


async def test_a_waiting_session_finds_a_task_that_moved(tmp_path: Path, graph: Graph, hold_ports: HoldPorts) -> None:
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


async def test_a_new_session_sees_a_worker_new_in_the_file(tmp_path: Path, graph: Graph, hold_ports: HoldPorts) -> None:
    ports = hold_ports(2)
    path = tmp_path / "cluster.json"
    write(path, [f"127.0.0.1:{ports[0]}"])
    async with Server(FileClusterResolver(path, "worker", 0)) as first:
        async with AsyncSession(first.target, graph=graph) as session:
            assert [d.task for d in await session.list_devices()] == [W0]
        write(path, [f"127.0.0.1:{port}" for port in ports])
        async with Server(FileClusterResolver(path, "worker", 1)), AsyncSession(first.target, graph=graph) as session:
            assert [d.task for d in await session.list_devices()] == [W0, W1]


async def test_a_resolver_is_asked_for_each_session_and_dial_not_each_step(graph: Graph, hold_ports: HoldPorts) -> None:
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


async def test_a_resolver_in_trouble_leaves_the_last_addresses_to_try(graph: Graph, hold_ports: HoldPorts) -> None:
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
        with pytest.raises(UnavailableError, match=f"cannot reach {W1} at tcp://127.0.0.1:") as info:
            await server._cache.links.link(W1, Deadline.after(20))
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


STEP = {
    "SLURM_STEP_NODELIST": "n[1-2],big",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2),2",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_PROCID": "2",
}


def within(monkeypatch: Any, variables: Mapping[str, str | None]) -> None:
    """Gives this process the environment of a Slurm job."""
    for name in [name for name in os.environ if name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        if value is not None:
            monkeypatch.setenv(name, value)


def test_the_ranks_are_split_among_the_jobs_in_order(monkeypatch: Any) -> None:
    within(monkeypatch, STEP)
    resolver = SlurmClusterResolver({"ps": 1, "worker": 3})
    assert isinstance(resolver, ClusterResolver)
    spec = {"ps": ["n1:8888"], "worker": ["n2:8888", "big:8888", "big:8889"]}
    assert resolver.cluster_spec() == ClusterSpec(spec)
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)
    assert resolver.master() == "big:8888"
    assert resolver.master("worker", 0, "tls") == "tls://n2:8888"


def test_without_jobs_all_ranks_are_workers(monkeypatch: Any) -> None:
    within(monkeypatch, STEP)
    resolver = SlurmClusterResolver(port_base=7000)
    hosts = ["n1:7000", "n2:7000", "big:7000", "big:7001"]
    assert resolver.cluster_spec() == ClusterSpec({"worker": hosts})
    assert resolver.task_id == 2
    assert SlurmClusterResolver(task_type="worker", task_id=0).task_id == 0


def test_the_batch_script_sees_the_cluster_of_its_job(monkeypatch: Any) -> None:
    within(monkeypatch, {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_NTASKS": "4"})
    resolver = SlurmClusterResolver({"ps": 2, "worker": 2})
    assert resolver.cluster_spec().task_address("worker", 1) == "n2:8889"
    assert (resolver.task_type, resolver.task_id) == (None, None)


# Rank by rank the nodes on which a real ``srun -N2 -n5`` has placed them.
@pytest.mark.parametrize(
    ("kind", "plane", "counts", "nodes"),
    [
        (None, None, "4,1", "00001"),
        ("block", None, "4,1", "00001"),
        ("block,pack", None, "4,1", "00001"),
        ("cyclic", None, "4,1", "01000"),
        ("cyclic:block", None, "3,2", "01010"),
        ("plane", "2", "4,1", "00100"),
        ("plane", "1", "3,2", "01010"),
    ],
)
def test_ranks_are_on_the_nodes_of_their_distribution(
    monkeypatch: Any, kind: str | None, plane: str | None, counts: str, nodes: str
) -> None:
    within(
        monkeypatch,
        {
            "SLURM_STEP_NODELIST": "n[0-1]",
            "SLURM_STEP_TASKS_PER_NODE": counts,
            "SLURM_DISTRIBUTION": kind,
            "SLURM_DIST_PLANESIZE": plane,
        },
    )
    addresses = SlurmClusterResolver().cluster_spec().job_tasks("worker")
    assert "".join(str(address)[1] for address in addresses) == nodes
    assert len(set(addresses)) == 5


@for_each(
    "changed, complaint",
    [
        (
            {"SLURM_STEP_NODELIST": None},
            "SLURM_STEP_NODELIST or SLURM_JOB_NODELIST or SLURM_NODELIST is not set, .* names such as n",
        ),
        ({"SLURM_STEP_NODELIST": "n[2-1]"}, r"SLURM_STEP_NODELIST is 'n\[2-1\]': the range .*; valid is names"),
        ({"SLURM_STEP_TASKS_PER_NODE": None}, "SLURM_TASKS_PER_NODE is not set"),
        ({"SLURM_STEP_TASKS_PER_NODE": "two"}, "SLURM_STEP_TASKS_PER_NODE is 'two': .* valid is"),
        (
            {"SLURM_STEP_TASKS_PER_NODE": "4"},
            r"SLURM_STEP_TASKS_PER_NODE is '4', which is 1 nodes, and SLURM_STEP_NODELIST is n\[1-2\],big, "
            "which is 3",
        ),
        (
            {"SLURM_STEP_NUM_TASKS": "5"},
            r"SLURM_STEP_NUM_TASKS is 5, and SLURM_STEP_TASKS_PER_NODE is 1\(x2\),2, which is 4 tasks",
        ),
        ({"SLURM_STEP_NUM_TASKS": "many"}, "SLURM_STEP_NUM_TASKS is 'many': .*such as 8"),
        ({"SLURM_PROCID": "4"}, "SLURM_PROCID is 4, and the ranks are 0 to 3"),
        ({"SLURM_PROCID": "-1"}, "SLURM_PROCID is '-1': .* valid is the rank"),
        ({"SLURM_DISTRIBUTION": "arbitrary"}, "SLURM_DISTRIBUTION is 'arbitrary'; valid is block"),
        ({"SLURM_DISTRIBUTION": "plane"}, "SLURM_DIST_PLANESIZE is not set"),
    ],
)
def test_a_variable_that_is_wrong_is_named_with_its_value(
    monkeypatch: Any, changed: Mapping[str, str | None], complaint: str
) -> None:
    within(monkeypatch, {**STEP, **changed})
    with pytest.raises(ValueError, match=complaint):
        SlurmClusterResolver().cluster_spec()


def test_jobs_of_another_size_say_what_to_ask_slurm_for(monkeypatch: Any) -> None:
    within(monkeypatch, STEP)
    with pytest.raises(ValueError, match="have 8 tasks, and Slurm has started 4; ask for --ntasks 8"):
        SlurmClusterResolver({"ps": 1, "worker": 7}).cluster_spec()


@pytest.mark.parametrize("jobs", [{}, {"worker": 0}, {"ps": -1, "worker": 2}])
def test_a_cluster_has_a_task(jobs: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least one task"):
        SlurmClusterResolver(jobs)


def test_ports_exist(monkeypatch: Any) -> None:
    within(monkeypatch, STEP)
    with pytest.raises(ValueError, match="port_base is a port from 1 to 65535, got 0"):
        SlurmClusterResolver(port_base=0)
    with pytest.raises(ValueError, match="port_base is 65535, and a node has 2 tasks"):
        SlurmClusterResolver(port_base=65535).cluster_spec()


LISTS = [
    ("n1", "n1"),
    ("a,b,c", "a b c"),
    ("n[1-3]", "n1 n2 n3"),
    ("n[5]", "n5"),
    ("n[8-11]", "n8 n9 n10 n11"),
    ("n[01-03,5]", "n01 n02 n03 n5"),
    ("n[08-11]", "n08 n09 n10 n11"),
    ("n[098-101]", "n098 n099 n100 n101"),
    ("a,b[1-2],c", "a b1 b2 c"),
    ("n[3,1-2]", "n3 n1 n2"),
    ("n[1-2]s[1-2]", "n1s1 n1s2 n2s1 n2s2"),
    ("rack[0-1]node[07-08],login", "rack0node07 rack0node08 rack1node07 rack1node08 login"),
    ("n[0-1][2-3]", "n02 n03 n12 n13"),
    ("[1-2]", "1 2"),
    ("10.0.0.[1-2]", "10.0.0.1 10.0.0.2"),
]
SUFFIXES = [
    ("n[1-2]-ib", "n1-ib n2-ib"),
    ("n[1-2].cluster,login.cluster", "n1.cluster n2.cluster login.cluster"),
    ("n[1-2]r[0,2]x", "n1r0x n1r2x n2r0x n2r2x"),
]


@for_each("text, names", LISTS + SUFFIXES)
def test_a_node_list_is_its_names_in_order(text: str, names: str) -> None:
    assert expand_node_list(text) == names.split()


@for_each(
    "text, complaint",
    [
        ("", "a name of nodes is missing"),
        ("n1,", "a name of nodes is missing"),
        (",n1", "',n1' is no name of nodes"),
        ("a,,b", "',b' is no name of nodes"),
        ("n[1-2", "'n\\[1-2' is no name of nodes"),
        ("n1]", "'n1\\]' is no name of nodes"),
        ("n[1-[2-3]]", "is no name of nodes"),
        ("n1 n2", "'n1 n2' is no name of nodes"),
        ("n[]", "'' in 'n\\[\\]' is no number or range"),
        ("n[1,,2]", "'' in"),
        ("n[a-b]", "'a-b' in 'n\\[a-b\\]' is no number or range"),
        ("n[1-2-3]", "'1-2-3' in"),
        ("n[-1]", "'-1' in"),
        ("n[\u0661-\u0662]", "is no number or range"),
        ("n[3-1]", "the range '3-1' in .* ends before it begins"),
        ("n[1-9999999]", "more than 65536 nodes"),
        ("n[1-2000]m[1-2000]", "more than 65536 nodes"),
        ("n[1-65530],m[1-9]", "more than 65536 nodes"),
    ],
)
def test_a_node_list_in_another_form_says_which_part(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        expand_node_list(text)


@pytest.mark.parametrize(
    ("text", "counts"), [("1", [1]), ("4(x2),1", [4, 4, 1]), ("2,3(x1),2(x3)", [2, 3, 2, 2, 2]), ("0,1", [0, 1])]
)
def test_repeated_numbers_are_one_for_each_node(text: str, counts: list[int]) -> None:
    assert expand_counts(text) == counts


@pytest.mark.parametrize("text", ["", "x", "2,", "2(3)", "2(x)", "2(x0)", "-1", "2(x9999999)"])
def test_numbers_in_another_form_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no number or repeated number, such as 3 or 4"):
        expand_counts(text)


WORKERS = "app=digits,role=worker"


@pytest.fixture
def account(tmp_path: Path, monkeypatch: Any) -> Path:
    """A folder for the files of a service account, in a pod without variables of its own."""
    for name in ("POD_NAME", "POD_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def api(account: Path, monkeypatch: Any) -> Iterator[Api]:
    with served(account) as (api, port):
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(port))
        yield api


def resolver(
    jobs: dict[str, int | str], account: Path, pod: str = "driver", **options: Any
) -> KubernetesClusterResolver:
    return KubernetesClusterResolver(jobs, pod=pod, service_account=account, **options)


# -- names -----------------------------------------------------------------------------------------
def test_the_pods_of_a_stateful_set_have_fixed_names(account: Path) -> None:
    found = resolver({"ps": 1, "worker": 2}, account, "worker-1", namespace="ns")
    assert isinstance(found, ClusterResolver)
    assert found.cluster_spec().as_dict() == {
        "ps": ["ps-0.ps.ns.svc.cluster.local:7000"],
        "worker": [f"worker-{i}.worker.ns.svc.cluster.local:7000" for i in range(2)],
    }
    assert (found.task_type, found.task_id) == ("worker", 1)


def test_prefix_domain_and_port_are_those_of_the_manifests(account: Path) -> None:
    found = resolver({"Big_PS": 1}, account, "digits-big-ps-0", namespace="ns", prefix="digits-", domain="svc", port=80)
    assert found.cluster_spec().as_dict() == {"Big_PS": ["digits-big-ps-0.digits-big-ps.ns.svc:80"]}
    assert (found.task_type, found.task_id) == ("Big_PS", 0)


def test_a_pod_beside_the_cluster_is_none_of_its_tasks(account: Path) -> None:
    found = resolver({"worker": 2}, account, "driver-x2x41", namespace="ns")
    assert (found.task_type, found.task_id) == (None, None)
    assert found.master("worker", 1, "tcp") == "tcp://worker-1.worker.ns.svc.cluster.local:7000"


def test_namespace_and_pod_are_of_variables_or_of_the_service_account(account: Path, monkeypatch: Any) -> None:
    (account / "namespace").write_text("of-the-account\n")
    found = KubernetesClusterResolver({"worker": 1}, service_account=account)
    assert found.cluster_spec().task_address("worker", 0).split(".")[2] == "of-the-account"
    monkeypatch.setenv("POD_NAMESPACE", "of-a-variable")
    monkeypatch.setenv("POD_NAME", "worker-0")
    assert found.cluster_spec().task_address("worker", 0).split(".")[2] == "of-a-variable"
    assert found.task_id == 0


def test_outside_of_a_pod_the_missing_file_is_named(account: Path) -> None:
    with pytest.raises(UnavailableError, match=r"namespace cannot be read \(No such file.*no pod"):
        resolver({"worker": 1}, account).cluster_spec()


@pytest.mark.parametrize(
    ("jobs", "error", "complaint"),
    [
        ({}, ValueError, "at least one job"),
        ({"worker": -1}, ValueError, "0 tasks or more, or a label selector, got -1"),
        ({"worker": ""}, ValueError, "or a label selector, got ''"),
        ({"worker": 1.5}, TypeError, "a number of tasks or a label selector, got 1.5"),
        ({"worker": True}, TypeError, "a number of tasks or a label selector, got True"),
    ],
)
def test_a_job_is_a_number_or_a_selector(jobs: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        KubernetesClusterResolver(jobs)


def test_the_port_exists() -> None:
    with pytest.raises(ValueError, match="port is a port from 1 to 65535, got 65536"):
        KubernetesClusterResolver({"worker": 1}, 65536)


# -- pods found through the API --------------------------------------------------------------------
def test_a_selector_finds_the_pods_that_run_and_are_ready(api: Api, account: Path) -> None:
    api.pods[WORKERS] = [
        pod("worker-2", "10.1.0.4"),
        pod("worker-0", "10.1.0.2"),
        pod("worker-1", "10.1.0.3", ready=False),
        pod("worker-3", "10.1.0.5", phase="Pending"),
        pod("worker-4", "10.1.0.6", deletionTimestamp="2026-01-01T00:00:00Z"),
        pod("worker-5", "10.1.0.7", phase="Failed"),
        pod("worker-6", "fd00::8"),
    ]
    found = resolver({"ps": 1, "worker": WORKERS}, account)
    assert found.cluster_spec() == ClusterSpec(
        {
            "ps": [f"ps-0.ps.{NAMESPACE}.svc.cluster.local:7000"],
            "worker": {0: "10.1.0.2:7000", 2: "10.1.0.4:7000", 6: "[fd00::8]:7000"},
        }
    )


def test_a_pod_finds_itself_before_it_is_ready(api: Api, account: Path) -> None:
    """Otherwise none would ever be: it is ready once it serves, and serves once it knows which task it is."""
    api.pods[WORKERS] = [pod("worker-0", "10.1.0.2", ready=False), pod("worker-1", "10.1.0.3")]
    found = resolver({"worker": WORKERS}, account, "worker-0")
    assert found.cluster_spec().as_dict() == {"worker": ["10.1.0.2:7000", "10.1.0.3:7000"]}
    assert (found.task_type, found.task_id) == ("worker", 0)


def test_the_api_is_asked_again_each_time_with_the_token_of_that_moment(api: Api, account: Path) -> None:
    found = resolver({"worker": WORKERS}, account)
    for address in ("10.1.0.2", "10.1.0.9"):
        api.token = f"the token when the pod had {address}"
        (account / "token").write_text(api.token)
        api.pods[WORKERS] = [pod("worker-0", address)]
        assert found.cluster_spec().task_address("worker", 0) == f"{address}:7000"


def test_a_long_answer_comes_in_pages(api: Api, account: Path) -> None:
    api.page = 2
    api.pods[WORKERS] = [pod(f"worker-{i}", f"10.1.0.{i + 1}") for i in range(5)]
    assert resolver({"worker": WORKERS}, account).cluster_spec().num_tasks("worker") == 5
    assert len(api.asked) == 3


INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.mark.parametrize(
    ("found", "index"),
    [
        (pod("a-x", "10.1.0.2", labels={"apps.kubernetes.io/pod-index": "3"}), 3),
        (pod("a-x", "10.1.0.2", owner="Job", labels={INDEX: "4"}), 4),
        (pod("a-x", "10.1.0.2", owner="Job", annotations={INDEX: "5"}), 5),
        (pod("a-x", "10.1.0.2", owner="TFJob", labels={"training.kubeflow.org/replica-index": "6"}), 6),
        (pod("worker-7", "10.1.0.2"), 7),
        (pod("worker-8", "10.1.0.2", owner=""), 8),
    ],
)
def test_the_index_of_a_pod_is_that_of_its_controller(api: Api, account: Path, found: Any, index: int) -> None:
    api.pods[WORKERS] = [found]
    assert resolver({"worker": WORKERS}, account).cluster_spec().task_indices("worker") == [index]


def test_pods_of_a_deployment_have_no_index(api: Api, account: Path) -> None:
    api.pods[WORKERS] = [pod("worker-5d9f7-4242", "10.1.0.2", owner="ReplicaSet")]
    complaint = r"worker-5d9f7-4242 \(of ReplicaSet\) has no index; pods of a StatefulSet"
    with pytest.raises(ValueError, match=complaint):
        resolver({"worker": WORKERS}, account).cluster_spec()


def test_two_pods_of_one_index_are_named(api: Api, account: Path) -> None:
    api.pods[WORKERS] = [pod("a-1", "10.1.0.2"), pod("b-1", "10.1.0.3")]
    with pytest.raises(ValueError, match=r"the pods a-1 and b-1, .* both have index 1"):
        resolver({"worker": WORKERS}, account).cluster_spec()


# -- errors of the API -----------------------------------------------------------------------------
FORBIDDEN = 'pods is forbidden: User "system:serviceaccount:training:default" cannot list resource "pods"'


@pytest.mark.parametrize(
    ("answer", "error", "complaint"),
    [
        (
            (403, refusal(403, "Forbidden", FORBIDDEN)),
            PermissionDeniedError,
            "answers 403 to GET /api/v1/namespaces/training/pods.*pods is forbidden.*; a Role with the verb list",
        ),
        ((410, refusal(410, "Expired", "too old")), UnavailableError, "answers 410 .*: too old"),
        ((500, b"no json"), UnavailableError, "answers 500 .*: Internal Server Error"),
        ((200, b"{}"), UnavailableError, "answers no PodList to GET .*: b'{}'"),
        ((200, b"[]"), UnavailableError, "answers no PodList"),
    ],
)
def test_an_api_error_is_named(api: Api, account: Path, answer: Any, error: type[OpError], complaint: str) -> None:
    api.answer = answer
    with pytest.raises(error, match=complaint):
        resolver({"worker": WORKERS}, account).cluster_spec()


def test_a_token_that_is_refused_is_not_repeated(api: Api, account: Path) -> None:
    (account / "token").write_text("the token of yesterday")
    with pytest.raises(UnauthenticatedError, match=r"answers 401 .*: Unauthorized") as caught:
        resolver({"worker": WORKERS}, account).cluster_spec()
    assert "yesterday" not in str(caught.value)


def test_an_api_of_another_ca_is_not_asked(api: Api, account: Path) -> None:
    (account / "ca.crt").write_bytes(trustme.CA().cert_pem.bytes())
    with pytest.raises(UnavailableError, match=r"does not answer: .*certificate"):
        resolver({"worker": WORKERS}, account).cluster_spec()
    assert not api.asked


def test_an_api_that_is_gone_is_unavailable(account: Path, monkeypatch: Any, hold_ports: Any) -> None:
    with served(account):
        pass
    (port,) = hold_ports(1)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(port))
    with pytest.raises(UnavailableError, match=rf"127.0.0.1:{port} does not answer: .*refused"):
        resolver({"worker": WORKERS}, account).cluster_spec()
