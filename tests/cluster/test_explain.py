"""``session.explain`` of a master: what the tasks know is asked, and nothing is registered, run or counted there."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from actorsession import (
    AsyncSession,
    ClusterSpec,
    Explanation,
    Graph,
    LocalCluster,
    RunMetadata,
    RunOptions,
    Session,
    TraceLevel,
    ops,
)
from actorsession.actors import Deadline
from actorsession.errors import InvalidArgumentError
from actorsession.messages import ExplainStep, StepExplained
from actorsession.testing.faults import Proxy
from actorsession.testing.strategies import Recipe, graphs
from tests.cluster.kit import PATIENCE, PS0, W0, W1, InProcess, in_process, on, soon
from tests.cluster.script import ROOT, environment
from tests.cluster.test_warm_up import runs
from tests.rows import for_each

FED = np.ones((5, 2), np.float32)
TRACED = RunOptions(trace_level=TraceLevel.FULL_TRACE, output_partition_graphs=True)

# Seconds on a slow link each way; timers of a loop may end a millisecond early.
DELAY = 0.02
THERE_AND_BACK = 2 * DELAY - 0.002


def three_tasks() -> tuple[Any, Any, Any]:
    """A product with a variable of the ps, on one worker, of which the other makes the sum."""
    x = ops.placeholder("float32", [None, 2], name="x")
    v = on(PS0, lambda: ops.Variable(np.ones((2, 2), np.float32), name="v"))
    y = on(W1, lambda: ops.matmul(x, v, name="y"))
    return x, v, on(W0, lambda: ops.reduce_sum(y, name="z"))


def agree(step: Explanation, metadata: RunMetadata) -> None:
    """The devices, keys and bytes of an explanation are those of the traced run."""
    stats = metadata.step_stats
    assert stats is not None
    assert {t.key: t.tensor.nbytes for t in step.transfers} == {t.key: t.nbytes for t in stats.transfers}
    device_of = {node.name: node.device for node in step.nodes}
    ran = {node.node: node.device for node in stats.nodes if not node.node.startswith("_")}
    assert {name: device_of[name] for name in ran} == ran


@pytest.mark.process
@for_each("face", [AsyncSession, Session])
async def test_over_processes_it_agrees_with_the_run(processes: LocalCluster, graph: Graph, face: Any) -> None:
    await AsyncSession.reset(processes.target("worker"))  # other tests have a v there, too
    x, v, z = three_tasks()
    made = face(processes.target("worker"), graph=graph)

    async def call(method: str, *args: Any, **options: Any) -> Any:
        if face is AsyncSession:
            return await soon(getattr(made, method)(*args, **options))
        return await soon(asyncio.to_thread(getattr(made, method), *args, **options))

    try:
        step = await call("explain", z, {x: FED})
        assert [(m.kind, m.name) for m in step.missing] == [("value", v.op.name)]
        await call("run", v.initializer)
        step = await call("explain", z, {x: FED})
        assert step.missing == ()
        assert {link.task for link in step.links} == {PS0, W1}
        assert {part.task for part in step.partitions} == {PS0, W0, W1}
        metadata = RunMetadata()
        assert await call("run", z, {x: FED}, options=TRACED, run_metadata=metadata) == 20.0
        agree(step, metadata)
    finally:
        await call("close") if face is AsyncSession else await asyncio.to_thread(made.close)


@pytest.mark.process
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(recipe=graphs())
def test_the_explanation_of_a_random_graph_agrees_with_its_run(processes: LocalCluster, recipe: Recipe) -> None:
    graph = Graph()
    with Session(processes.target("worker", 0), graph=graph) as session:
        placeholders, tensors = recipe.build(graph, lambda place: graph.device([W0, W1, PS0][place]))
        fed = dict(zip(placeholders, recipe.fed(), strict=True))
        step = session.explain(tensors, fed)
        metadata = RunMetadata()
        session.run(tensors, fed, options=TRACED, run_metadata=metadata)
    agree(step, metadata)


@pytest.mark.usefixtures("way")
async def test_nothing_is_registered_and_nothing_runs(cluster: InProcess, graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    y = on(W0, lambda: x + 1.0)
    z = on(W1, lambda: y * 2.0)
    async with AsyncSession(cluster.target(), graph=graph) as session:
        first = await soon(session.explain(z, {x: 1.0}))
        assert (await soon(session.explain(z, {x: 1.0}))).partitions == first.partitions
        assert [s.graphs for s in cluster.statistics().values()] == [0, 0]
        assert runs(cluster) == 0
        assert session.statistics().runs == 0
        assert await soon(session.run(z, {x: 1.0})) == 4.0
        assert [s.graphs for s in cluster.statistics().values()] == [1, 1]
        await soon(session.explain(z, {x: 1.0}))
        assert [s.graphs for s in cluster.statistics().values()] == [1, 1]


@pytest.mark.usefixtures("over_links")
async def test_a_slow_link_is_measured_and_found(graph: Graph) -> None:
    x = ops.placeholder("float32", [3], name="x")
    y = on(W1, lambda: ops.exp(x, name="y"))
    z = on(W0, lambda: ops.tanh(y, name="z"))
    async with in_process() as cluster, Proxy(cluster.target(W1)) as proxy:
        spec = ClusterSpec({"worker": [cluster.target(W0), proxy.address]})
        cluster.server(W0).learn_peers(spec)
        proxy.delay(DELAY)
        async with AsyncSession(cluster.target(), graph=graph) as session:
            step = await soon(session.explain(z, [x]))
    (link,) = step.links
    assert link.task == W1
    assert link.round_trip >= THERE_AND_BACK
    (finding,) = [f for f in step.findings if f.kind == "slow-link"]
    assert "the link to /job:worker/task:1 answers after" in finding.what
    assert finding.seconds >= THERE_AND_BACK
    assert step.critical[-1].ended == step.seconds >= THERE_AND_BACK


@pytest.mark.usefixtures("over_links")
async def test_a_task_that_is_gone_is_missing_and_no_error(graph: Graph) -> None:
    y = on(W1, lambda: ops.exp(ops.placeholder("float32", [], name="x"), name="y"))
    async with in_process() as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        assert (await soon(session.explain(y, ["x:0"]))).missing == ()
        await cluster.server(W1).stop()
        step = await soon(session.explain(y, ["x:0"]))
    assert [(m.kind, m.name) for m in step.missing] == [("task", W1)]
    assert step.node("y").device == f"{W1}/device:CPU:0"


async def test_a_graph_that_cannot_be_taken_in_has_no_plan(session: AsyncSession) -> None:
    await soon(session.list_devices())
    y = on("/job:worker/task:7", lambda: ops.exp(ops.constant(1.0), name="y"))
    step = await soon(session.explain(y))
    assert [m.kind for m in step.missing] == ["plan"]
    assert "task:7" in step.missing[0].what


@for_each(
    "fields, match",
    [({"types": [3]}, "dtype and shape"), ({"feeds": ["x:0"], "types": [["float32", [1]]]}, "dtype and shape")],
)
async def test_a_malformed_request_is_refused(session: AsyncSession, fields: dict[str, Any], match: str) -> None:
    on(W0, lambda: ops.constant(1.0, name="c"))
    await soon(session.explain("c:0"))
    with pytest.raises(InvalidArgumentError, match=match):
        await ask(session, **fields)


async def test_unknown_names_of_a_request_are_part_of_the_answer(session: AsyncSession) -> None:
    on(W0, lambda: ops.constant(1.0, name="c"))
    await soon(session.explain("c:0"))
    for fields in ({"fetches": ["none:0"]}, {"feeds": ["none:0"]}, {"targets": ["none"]}):
        step = Explanation.from_json((await ask(session, **fields)).explanation)
        assert [m.kind for m in step.missing] == ["plan"]


async def ask(session: AsyncSession, **fields: Any) -> StepExplained:
    """What a client gets for a request of its own."""
    connection: Any = session._session.connection  # type: ignore[attr-defined]
    given = {"feeds": [], "types": [], "fetches": [], "targets": []} | fields
    answer: StepExplained = await soon(
        connection.ask(ExplainStep(session_handle=connection.handle, **given), Deadline.after(10), StepExplained)
    )
    return answer


@pytest.mark.process
@pytest.mark.whole  # as are the tests of other examples
def test_a_cluster_that_is_slow_on_purpose_is_understood_from_the_explanation_and_from_the_trace(
    tmp_path: Path,
) -> None:
    picture, trace = tmp_path / "step.svg", tmp_path / "trace.json"
    program = [sys.executable, "-W", "error", str(ROOT / "examples" / "operate" / "slow_cluster.py")]
    done = subprocess.run(
        [*program, "--steps", "1", "--delay", "0.05", "--picture", str(picture), "--trace", str(trace)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    slow = " ".join(done.stdout.partition("What would make it slow")[2].partition("The longest chain")[0].split())
    for words in (
        "'expensive' (MatMul) on /job:worker/task:0/CPU:0 takes",
        "hidden:0 goes from /job:worker/task:0/CPU:0 to /job:worker/task:1/CPU:0 (1000 KiB), and activation:0,",
        "the link to /job:worker/task:1 answers after",
        "-> place 'activation' and what it feeds on /job:worker/task:0/CPU:0",
        "slow_cluster.py:",
    ):
        assert words in slow
    assert "hidden:0, 1000 KiB" in picture.read_text()
    rows = [line.split() for line in done.stdout.partition("critical path of")[2].splitlines()]
    there, back = "/job:worker/task:0 > /job:worker/task:1", "/job:worker/task:1 > /job:worker/task:0"
    for words in (f"wire {there} hidden:0,", f"wire {back} activation:0,", "work /job:worker/task:0 CPU:0 expensive"):
        assert [row for row in rows if row[: len(words.split())] == words.split()] != []
    assert json.loads(trace.read_text())["traceEvents"] != []
    assert trace.with_suffix(".svg").read_text().startswith("<svg")
