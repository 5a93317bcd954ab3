"""Debugged runs over a master: what only a cluster can show.

``test_debugger_specification`` runs the specification of local sessions again.
"""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, GraphDef, LocalCluster, NodeDef, Server, Session, errors, ops
from actorsession.actors import CallContext, registry
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.cluster.master import debug_runs as master_debug_runs
from actorsession.cluster.master.client_graph import ClientGraph, TaskPart
from actorsession.cluster.worker import debug_runs as worker_debug_runs
from actorsession.cluster.worker.worker import Worker
from actorsession.cluster.worker.worker_session import BindPart
from actorsession.config import CallableOptions, DebugOptions
from actorsession.extend import RunSignature
from actorsession.messages.session import TakeStepValues
from actorsession.messages.step_frames import RUN_STEP, StepRequest
from actorsession.observe.debug import DebugDumpDir
from actorsession.rpc.local_calls import LocalCalls, LocalValues
from actorsession.runtime.debug.dump import ENTRY_BYTES
from actorsession.runtime.debug.task_debugger import PlanSurvey, TaskWatches, dump_from_wire
from actorsession.runtime.debug.watched_step import DebugRunDef
from actorsession.session.remote.remote_debugger import RemoteDebugger
from tests.cluster.kit import W0, W1, Gate, InProcess, Outcome, eventually, in_process, on, plan_of, soon, until_all
from tests.session.debugger_kit import BREAK, debug_sink, hearing, registered, watch, watch_all

CPU0, CPU1 = (f"{task}/device:CPU:0" for task in (W0, W1))
DECORATORS = acts.debugging.DebugGraphDecoratorRegistry


class Hop:
    """x on the first task, y = x + 1 there, and z = log(y) on the second."""

    def __init__(self) -> None:
        self.x = ops.placeholder("float32", [None], name="x")
        self.y = on(W0, lambda: ops.add(self.x, 1.0, name="y"))
        self.z = on(W1, lambda: ops.log(self.y, name="z"))


@pytest.fixture
def hop(graph: Graph) -> Hop:
    return Hop()


def devices_of(session: Any) -> dict[str, str]:
    return {dump.node_name: dump.device_name for dump in session.debug_dumps()}


def values_in(session: Any) -> dict[str, Any]:
    return {dump.tensor_name: dump.value.tolist() for dump in session.debug_dumps()}


def kept_at_workers(cluster: InProcess) -> int:
    """How many debugged steps workers and masters keep."""
    count = 0
    for server in cluster.servers:
        masters, workers = server.actors.master._sessions.values(), worker_of(server)._sessions
        count += sum(len(session.steps.debug_runs) for session in masters)
        count += sum(len(session.steps.debug_runs) for session in workers.sessions)
    return count


def worker_of(server: Server) -> Worker:
    return server.actors.worker


# -- values ----------------------------------------------------------------------------------------
async def test_watch_keys_carry_the_device(cluster: InProcess, hop: Hop, way: str) -> None:
    async with AsyncSession(cluster.target(), graph=hop.x.graph) as session:
        found = await session.run(hop.z, {hop.x: [0.0]}, watch("y", "z", global_step=7))
        assert found.tolist() == [0.0]
        y, z = session.debug_dumps()
    assert y.key == acts.debugging.DebugNodeKey(CPU0, "y", 0, "DebugIdentity")
    assert z.key == acts.debugging.DebugNodeKey(CPU1, "z", 0, "DebugIdentity")
    assert str(z.key) == f"{CPU1};z:0:DebugIdentity"
    assert (y.watch_key, y.op_type, y.global_step, y.session_run_index) == ("y:0:DebugIdentity", "AddV2", 7, 0)
    assert not y.value.flags.writeable


async def test_each_call_of_a_callable_shows_what_its_options_watch(session: AsyncSession, hop: Hop) -> None:
    options = CallableOptions(feed=[hop.x.name], fetch=[hop.z.name], run_options=watch("y", "z"))
    call = session.make_callable_from_options(options)
    for value in (0.0, 1.0):
        (found,) = await call(np.array([value], np.float32))
        np.testing.assert_allclose(found, [np.log(value + 1.0)], rtol=1e-6)
        assert devices_of(session) == {"y": CPU0, "z": CPU1}
        assert values_in(session)["y:0"] == [value + 1.0]


async def test_what_tasks_read_together_is_dumped_once(session: AsyncSession) -> None:
    x = ops.placeholder("float32", [], name="x")
    two = ops.constant(2.0, name="two")
    ends = []
    for number, task in enumerate((W0, W1)):
        with on(task):
            ends.append(ops.multiply(x, two, name=f"end{number}"))
    assert await session.run(ends, {x: 3.0}, watch_all()) == [6.0, 6.0]
    names = sorted(dump.node_name for dump in session.debug_dumps())
    assert names == ["end0", "end1", "two", "x"]
    (report,) = session.debug_reports()
    assert (report.seen, report.kept, report.lost) == (4, 4, ())


async def test_named_watches_reach_the_tasks_that_have_their_nodes(session: AsyncSession, hop: Hop) -> None:
    await session.run(hop.z, {hop.x: [0.0]}, watch("z", "x", slot=-1))
    assert devices_of(session) == {"x": CPU0, "z": CPU1}
    await session.run(hop.z, {"y:0": [1.0]}, watch("x", "y"))
    assert session.debug_reports()[1].not_run == ("x:0",)
    assert [d.tensor_name for d in session.debug_dumps()][2:] == ["y:0"]


async def test_values_of_many_pieces_all_arrive_and_those_of_a_device_in_order(
    cluster: InProcess, graph: Graph, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers return some MiB at a time; here each value is a piece of its own."""
    for limit in ("_MOST", "_LEAST"):
        monkeypatch.setattr(master_debug_runs, limit, 1)
    x = ops.placeholder("float32", [100_000], name="x")
    y = x
    for number in range(12):
        with on((W0, W1)[number // 6]):
            y = ops.add(y, 1.0, name=f"y{number}")
    options = watch(*[f"y{number}" for number in range(12)])
    async with AsyncSession(cluster.target(), graph=graph) as session:
        await session.run(y, {x: np.zeros(100_000, np.float32)}, options)
        values = {d.node_name: d.value[-1] for d in session.debug_dumps()}
        assert values == {f"y{number}": number + 1 for number in range(12)}
        on_w1 = [name for name, device in devices_of(session).items() if device == CPU1]
        assert on_w1 == [f"y{number}" for number in range(6, 12)]
        assert kept_at_workers(cluster) == 0


async def test_what_a_worker_keeps_for_the_client_is_bounded(session: AsyncSession, hop: Hop) -> None:
    one = ENTRY_BYTES + 4
    await session.run(hop.z, {hop.x: [0.0]}, watch("x", "y", "z", run_byte_usage_limit=one))
    # Of x and y the first task keeps one, the second keeps z, and the client one of these two.
    (report,) = session.debug_reports()
    assert (report.seen, report.kept, report.left_out) == (3, 1, 2)
    assert len(session.debug_dumps()) == 1


# -- where values go -------------------------------------------------------------------------------
@pytest.mark.usefixtures("way")
async def test_files_are_written_by_the_worker_of_each_device(cluster: InProcess, hop: Hop, tmp_path: Path) -> None:
    options = watch("y", "z", debug_urls=[f"file://{tmp_path}"], global_step=4)
    async with AsyncSession(cluster.target(), graph=hop.x.graph) as session:
        for _ in range(2):
            await session.run(hop.z, {hop.x: [0.0]}, options)
        assert session.debug_dumps() == []
        assert [(r.seen, r.kept) for r in session.debug_reports()] == [(2, 2), (2, 2)]
    found = DebugDumpDir(tmp_path)
    assert found.devices() == [CPU0, CPU1]
    key = acts.debugging.DebugNodeKey
    assert found.keys() == [key(CPU0, "y", 0, "DebugIdentity"), key(CPU1, "z", 0, "DebugIdentity")]
    assert found.watch_keys(device_name=CPU1) == ["z:0:DebugIdentity"]
    assert [v.tolist() for v in found.get_tensors("y", device_name=CPU0)] == [[1.0], [1.0]]
    with pytest.raises(ValueError, match=f"'y:0:DebugIdentity' was not watched on {CPU1}"):
        found.get_tensors("y", device_name=CPU1)
    assert sorted(run.session_run_index for run in found.runs) == [0, 0, 1, 1]
    assert {run.global_step for run in found.runs} == {4}
    assert {device for run in found.runs if run.session_run_index == 0 for device in run.graphs} == {CPU0, CPU1}
    assert all(run.input_names == ("x:0",) and run.complete for run in found.runs)


async def test_files_stay_below_the_file_roots_of_their_server(hop: Hop, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    async with in_process(file_roots=[root]) as cluster, AsyncSession(cluster.target(), graph=hop.x.graph) as session:
        with pytest.raises(errors.PermissionDeniedError, match="is outside the file roots") as refused:
            await session.run(hop.z, {hop.x: [0.0]}, watch("z", debug_urls=[f"file://{outside}"]))
        assert refused.value.task == W1
        assert session.debug_reports() == []  # no step has run
        await session.run(hop.z, {hop.x: [0.0]}, watch("z", debug_urls=[f"file://{root}/new/dumps"]))
        assert session.debug_reports()[0].kept == 1
    assert not outside.exists()
    assert DebugDumpDir(root / "new" / "dumps").get_tensors("z")[0].tolist() == [0.0]


async def test_a_directory_that_cannot_be_made_is_counted_by_its_worker(
    cluster: InProcess, hop: Hop, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    url = f"file://{tmp_path}/file/below"
    async with AsyncSession(cluster.target(), graph=hop.x.graph) as session:
        await session.run(hop.z, {hop.x: [0.0]}, watch("z", debug_urls=[url, "memory://"]))
        (report,) = session.debug_reports()
        assert len(session.debug_dumps()) == 1
        assert report.failures > 0
        assert f"debug sink {url} failed" in report.last_failure
        options = watch("z", debug_urls=[url], raise_sink_errors=True)
        with pytest.raises(errors.OpError, match=f"debug sink {url} failed"):
            await session.run(hop.z, {hop.x: [0.0]}, options)


@pytest.mark.usefixtures("way")
async def test_functions_are_called_in_the_process_of_the_client(session: AsyncSession, hop: Hop) -> None:
    taken: list[str] = []
    with debug_sink("cluster", lambda dump: taken.append(dump.node_name)) as url:
        await session.run(hop.z, {hop.x: [0.0]}, watch("y", "z", debug_urls=[url]))
    # They were called before the run returned.
    assert taken == ["y", "z"]
    with pytest.raises(errors.InvalidArgumentError, match="no debug sink is registered for 'sink://no'"):
        await session.run(hop.z, {hop.x: [0.0]}, watch("y", debug_urls=["sink://no"]))


async def test_a_function_may_run_the_session_itself(cluster: InProcess, hop: Hop) -> None:
    inner: list[Any] = []
    session = Session(cluster.target(), graph=hop.x.graph)

    def ask(dump: acts.debugging.DebugDump) -> None:
        inner.append(session.run(hop.z, {hop.x: [0.0]}, watch("y")).tolist())

    with debug_sink("ask", ask) as url:
        await soon(asyncio.to_thread(session.run, hop.z, {hop.x: [0.0]}, watch("z", debug_urls=[url])))
    assert inner == [[0.0]]
    assert [report.failures for report in session.debug_reports()] == [0, 0]
    await asyncio.to_thread(session.close)


# -- registries ------------------------------------------------------------------------------------
async def test_a_state_of_the_client_hears_of_runs_graphs_values_and_ends(
    cluster: InProcess, hop: Hop, tmp_path: Path, way: str
) -> None:
    """It replaces the whole mechanism, so no worker writes a file."""
    url = f"file://{tmp_path}"
    with hearing() as heard:
        async with AsyncSession(cluster.target(), graph=hop.x.graph) as session:
            for _ in range(2):
                await session.run(hop.z, {hop.x: [0.0]}, watch("y", "z", debug_urls=[url]))
    for entry in heard:
        if entry[0] == "graph":
            entry[2][:] = [name for name in entry[2] if name.startswith("__dbg")]
    graphs = [("graph", CPU0, ["__dbg_y:0"]), ("graph", CPU1, ["__dbg_z:0"])]
    values = [("tensor", CPU0, "y:0:DebugIdentity", url), ("tensor", CPU1, "z:0:DebugIdentity", url), ("end", None)]
    first, second = (("run", -1, number, number, ("x:0", "z:0")) for number in range(2))
    assert heard == [first, *graphs, *values, second, *values]
    assert list(tmp_path.iterdir()) == []


class Numbers(acts.debugging.DebugGraphDecoratorInterface):
    """Adds a check of numbers behind each logarithm, after the debug nodes."""

    published: list[tuple[str, int]]

    def __init__(self, default: acts.debugging.DebugGraphDecoratorInterface, published: list[Any]) -> None:
        self._default = default
        self.published = published

    def decorate_graph(self, graph_def: GraphDef, device: str) -> GraphDef:
        nodes = list(self._default.decorate_graph(graph_def, device).nodes)
        for node in [node for node in nodes if node.op == "Log"]:
            check = NodeDef(
                name=f"numbers/{node.name}",
                op="CheckNumerics",
                inputs=((node.name, 0),),
                attrs={"T": node.outputs[0].dtype, "message": "checked"},
                outputs=node.outputs,
            )
            nodes.insert(nodes.index(node) + 1, check)
        return GraphDef(tuple(nodes))

    def publish_graph(self, graph_def: GraphDef, device: str) -> None:
        self.published.append((device, len(graph_def.nodes)))


async def test_a_registered_decorator_decorates_the_partitions_of_each_worker(cluster: InProcess, hop: Hop) -> None:
    published: list[Any] = []
    with registered(DECORATORS, lambda options, default: Numbers(default, published)):
        async with AsyncSession(cluster.target(), graph=hop.x.graph) as session:
            with pytest.raises(errors.InvalidArgumentError, match="checked") as error:
                await session.run(hop.z, {hop.x: [-1.0]}, watch("y", "z"))
            assert (error.value.node, error.value.task) == ("numbers/z", W1)
            # The default decorator was delegated to, and what was seen before the error is there.
            assert {d.tensor_name for d in session.debug_dumps()} >= {"y:0"}
            assert await session.run(hop.z, {hop.x: [-1.0]}) == -np.inf
    assert sorted(device for device, _ in published) == [CPU0, CPU1]


async def test_what_a_decorator_breaks_is_refused_with_the_reason(session: AsyncSession, hop: Hop) -> None:
    class Wrong(acts.debugging.DebugGraphDecoratorInterface):
        def decorate_graph(self, graph_def: GraphDef, device: str) -> GraphDef:
            return GraphDef(tuple(n for n in graph_def.nodes if n.op not in ("_Send", "_Recv")))

    with registered(DECORATORS, lambda options, default: Wrong()):
        with pytest.raises(errors.InvalidArgumentError, match=r"sends or receives of .* were changed"):
            await session.run(hop.z, {hop.x: [0.0]}, watch("y"))


# -- breaks ----------------------------------------------------------------------------------------
@pytest.mark.usefixtures("way")
async def test_a_break_names_node_device_and_task_and_shows_what_was_seen(session: AsyncSession, hop: Hop) -> None:
    options = watch("y", "z", break_on="nan_or_inf")
    with pytest.raises(errors.InvalidArgumentError, match=r"'z' \(Log\) made a NaN or Inf") as error:
        await session.run(hop.z, {hop.x: [-1.0]}, options)
    assert (error.value.node, error.value.device, error.value.task) == ("z", CPU1, W1)
    assert error.value.op is hop.z.op
    assert "inputs: y:0 (float32[1]) min 0.0, max 0.0" in error.value.message
    assert values_in(session) == {"y:0": [0.0], "z:0": [-np.inf]}
    assert "'z' (Log)" in session.debug_reports()[0].error
    assert (await session.run(hop.z, {hop.x: [0.0]}, options)).tolist() == [0.0]


async def test_a_break_inside_a_loop_of_a_worker_names_the_node_of_the_body(session: AsyncSession) -> None:
    x = ops.placeholder("float32", [], name="x")
    end = on(W1, lambda: ops.while_loop(lambda i: i > -2.0, lambda i: ops.log(i, name="inner") - 1.0, [x]))
    with pytest.raises(errors.InvalidArgumentError, match="made a NaN or Inf") as error:
        await session.run(end, {x: 1.0}, BREAK)
    assert "inner" in (error.value.node or "")
    assert error.value.device == CPU1


# -- partial runs ----------------------------------------------------------------------------------
@pytest.mark.usefixtures("way")
async def test_a_partial_run_over_tasks_shows_values_as_their_feeds_come(cluster: InProcess, graph: Graph) -> None:
    x, y = (ops.placeholder("float32", [], name=name) for name in "xy")
    first = on(W1, lambda: ops.add(x, 1.0, name="first"))
    second = on(W0, lambda: ops.multiply(first, y, name="second"))
    async with AsyncSession(cluster.target(), graph=graph) as session:
        watching = watch("x", "y", "first", "second")
        async with session.partial([first, second], [x, y], watching) as run:
            assert await run.run(first, {x: 1.0}) == 2.0
            assert devices_of(session) == {"x": CPU1, "first": CPU1}
            assert await run.run(second, {y: 5.0}) == 10.0
            assert devices_of(session) == {"x": CPU1, "first": CPU1, "y": CPU0, "second": CPU0}
        (report,) = session.debug_reports()
        assert (report.seen, report.error) == (4, "")
        assert kept_at_workers(cluster) == 0


# -- failures --------------------------------------------------------------------------------------
@pytest.mark.usefixtures("patient_clients")
@pytest.mark.parametrize("how", ["late", "cancelled"])
async def test_a_step_that_ends_early_shows_what_it_has_seen(session: AsyncSession, how: str) -> None:
    gate = Gate(how)
    x = ops.placeholder("float32", [], name="x")
    y = on(W1, lambda: ops.add(x, 1.0, name="y"))
    z = on(W0, lambda: gate(y) + 1.0)
    try:
        gate.open()
        await session.run(z, {x: 0.0}, watch("y"))  # planned and registered
        session.clear_debug_dumps()
        gate.close()
        options = replace(watch("y"), timeout_in_ms=1500 if how == "late" else 0)
        run = asyncio.create_task(session.run(z, {x: 1.0}, options))
        await gate.wait_entered(2)
        if how == "cancelled":
            run.cancel()
        with pytest.raises(errors.DeadlineExceededError if how == "late" else asyncio.CancelledError):
            await soon(run)
        await eventually(lambda: bool(session.debug_reports()))
        said = "exceeded the run's limit of 1.5 s" if how == "late" else "cancelled by its caller"
        assert said in session.debug_reports()[0].error
        assert values_in(session) == {"y:0": 2.0}
    finally:
        gate.open()


@pytest.mark.process
async def test_over_processes_a_worker_that_dies_in_a_watched_step_is_named(graph: Graph, tmp_path: Path) -> None:
    """Values travel from other processes, and files are written there. 1. A step is watched in memory and in files on
    two processes. 2. A second step waits in a dequeue on worker 1, which is killed. 3. The values that worker 0 has
    seen are there, what worker 1 has written is read back, and the report says that the rest is lost; the session runs
    on where it needs worker 1 no more."""
    x = ops.placeholder("float32", [], name="x")
    y = on(W0, lambda: ops.add(x, 1.0, name="y"))
    with on(W1):
        z = ops.multiply(y, 2.0, name="z")
        queue = ops.FIFOQueue(1, "float32", [[]], name="q")
        with graph.control_dependencies([z.op]):
            never = queue.dequeue(name="never")
    options = watch("y", "z", debug_urls=["memory://", f"file://{tmp_path}"])
    async with LocalCluster({"worker": 2}) as cluster, AsyncSession(cluster.target("worker"), graph=graph) as session:
        assert await soon(session.run(z, {x: 1.0}, options)) == 4.0
        assert devices_of(session) == {"y": CPU0, "z": CPU1}
        assert session.debug_reports()[0].kept == 4
        assert DebugDumpDir(tmp_path).devices() == [CPU0, CPU1]
        run = asyncio.create_task(session.run(never, {x: 2.0}, options))
        await until_all([cluster.target("worker", 1)], lambda seen: seen.steps == 1)
        await eventually(lambda: len(DebugDumpDir(tmp_path).get_tensors("z")) == 2)
        cluster.process("worker", 1).send_signal(signal.SIGKILL)
        with pytest.raises(errors.UnavailableError) as error:
            await soon(run)
        assert error.value.task == W1
        report = session.debug_reports()[1]
        assert [lost.partition(": ")[0] for lost in report.lost] == [W1]
        later = [d for d in session.debug_dumps() if d.session_run_index == 1]
        assert [(d.node_name, d.value.tolist()) for d in later] == [("y", 3.0)]
        found = DebugDumpDir(tmp_path)
        (unfinished,) = [run for run in found.runs if not run.complete]
        assert [datum.node_name for datum in unfinished.data] == ["z"]
        assert await soon(session.run(y, {x: 1.0}, watch("y"))) == 2.0


class Silent:
    """A worker that does not answer."""

    async def ask(self, message: object, deadline: Deadline) -> Any:
        raise errors.DeadlineExceededError("no answer in 2 s")


async def test_a_task_that_does_not_answer_for_its_values_is_named() -> None:
    survey = PlanSurvey(tasks=(), not_run=("x:0",), refused=())
    parts = [TaskPart(task, [], (), ()) for task in (W0, W1)]
    graph = ClientGraph(RunSignature(), parts, survey=survey)
    workers: Any = {W0: Silent()}
    runs = master_debug_runs.DebugRuns("s", workers)
    runs.add("r", 7, graph, lambda: True)
    found = await runs.take(TakeStepValues(session_handle="s", run="r", last=True))
    assert found.lost == {W0: "no answer in 2 s", W1: "it has left the cluster"}
    assert (found.tasks, found.not_run, found.over) == ({}, ["x:0"], True)
    assert len(runs) == 0
    again = await runs.take(TakeStepValues(session_handle="s", run="r", last=True))
    assert (again.tasks, again.lost, again.over) == ({}, {}, True)


async def test_masters_and_workers_keep_few_runs_that_nobody_asks_for(
    cluster: InProcess, hop: Hop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client of a session may be written by others, and never take what it has watched."""
    monkeypatch.setattr(RemoteDebugger, "_take", _take_nothing)
    async with AsyncSession(cluster.target(), graph=hop.x.graph) as session:
        for _ in range(master_debug_runs.MOST_KEPT + 1):
            await session.run(hop.z, {hop.x: [0.0]}, watch("z"))
        assert kept_at_workers(cluster) == master_debug_runs.MOST_KEPT + 2 * worker_debug_runs.MOST_KEPT
    await eventually(lambda: kept_at_workers(cluster) == 0)


async def _take_nothing(*_: Any, **__: Any) -> bool:
    return True


# -- what it costs ---------------------------------------------------------------------------------
async def test_a_plain_step_costs_nothing_more(session: AsyncSession, cluster: InProcess, hop: Hop) -> None:
    """A plain run uses the graph that it has registered, and nothing of it is kept, also beside a watched one."""
    feeds = {hop.x: [0.0]}
    await session.run(hop.z, feeds)
    graphs = {s.task: s.statistics().graphs for s in cluster.servers}
    await session.run(hop.z, feeds, watch("z"))
    await session.run(hop.z, feeds, watch("z", global_step=9))  # another run of the same plan
    more = {s.task: s.statistics().graphs for s in cluster.servers}
    assert more == {task: count + 1 for task, count in graphs.items()}
    await session.run(hop.z, feeds)
    assert {s.task: s.statistics().graphs for s in cluster.servers} == more
    assert len(session.debug_reports()) == 2
    assert kept_at_workers(cluster) == 0


async def test_plans_of_other_watches_are_kept_apart(session: AsyncSession, hop: Hop) -> None:
    for node in ("y", "z", "y"):
        await session.run(hop.z, {hop.x: [0.0]}, watch(node))
    assert [d.node_name for d in session.debug_dumps()] == ["y", "z", "y"]
    indices = [(r.session_run_index, r.executor_step_index) for r in session.debug_reports()]
    assert indices == [(0, 0), (1, 0), (2, 1)]


# -- peers that send nonsense ----------------------------------------------------------------------
@pytest.mark.parametrize(
    "read",
    [
        TaskWatches.from_wire,
        DebugRunDef.from_wire,
        lambda wire: dump_from_wire(
            wire, DebugRunDef(session_run_index=0, executor_step_index=0, options=DebugOptions())
        ),
    ],
    ids=["watches", "run", "value"],
)
@pytest.mark.parametrize("wire", [None, [], [1, 2], {}, [{}, ["a"], {"a": 1}, [], [], [], []]])
def test_malformed_wire_forms_are_protocol_errors(read: Any, wire: Any) -> None:
    with pytest.raises(errors.ProtocolError, match="this is not the wire form of"):
        read(wire)


async def test_steps_whose_options_and_debugged_run_do_not_agree_are_refused(cluster: InProcess, hop: Hop) -> None:
    async with AsyncSession(cluster.target(), graph=hop.x.graph) as session:
        await session.run(hop.z, {hop.x: [0.0]})
        remote: Any = session._session
        calls = LocalCalls(registry.lookup(cluster.target()), "")  # type: ignore[arg-type]
        feed = np.zeros(1, np.float32)
        for options, debug_run in ((watch("z").to_wire(), None), ({}, [0, 0, {}, False])):
            plan, outcome = plan_of(remote.connection.handle, ["z:0"], ["x:0"], options=options), Outcome()
            asked = StepRequest(plan=plan, debug_run=debug_run)
            number = next(remote.steps.calls)
            calls.request(RUN_STEP, number, number, None, asked, LocalValues.of([feed]), outcome)
            with pytest.raises(errors.InvalidArgumentError, match="debug_options and a debug_run"):
                await outcome


async def test_a_worker_refuses_a_debugged_graph_whose_step_names_no_run(cluster: InProcess, hop: Hop) -> None:
    async with AsyncSession(cluster.target(), graph=hop.x.graph) as session:
        await session.run(hop.z, {hop.x: [0.0]}, watch("z"))
        sessions = worker_of(cluster.server(W1))._sessions.sessions
        (work,) = [s for s in sessions if s.graphs]
        (handle,) = work.graphs._graphs
        bind = BindPart(work.handle, handle)
        begin = worker_of(cluster.server(W1)).submit(bind, CallContext(NEVER))
        with pytest.raises(errors.InvalidArgumentError, match="its steps need a debug_run"):
            begin(1, [], None, None)
