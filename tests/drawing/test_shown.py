"""What objects show of themselves, at a terminal and in a notebook: the same facts, and every name as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Explanation, Graph, LocalCluster, RunMetadata, RunOptions, Session
from actorsession.config import NodeStats, PartRecord, StepRecord, StepStats, TransferStats
from actorsession.drawing import counters, picture
from actorsession.graph import GraphDef, NodeDef
from actorsession.observe import critical_path
from actorsession.train import FitReport, FitResult
from tests.drawing.test_html import read

HOSTILE = "<script>alert(1)</script>\x1b[2J"


def small_graph() -> Graph:
    graph = Graph()
    with graph.as_default():
        x = acts.placeholder("float32", [2], name="x")
        with acts.device("/cpu:1"):
            y = acts.multiply(x, 2.0, name="y")
        with acts.device("/cpu:0"):
            acts.add(y, 1.0, name="z")
    return graph


def large_graph(layers: int = 20) -> Graph:
    graph = Graph()
    with graph.as_default():
        value = acts.placeholder("float32", [None, 8], name="x")
        for number in range(layers):
            with acts.name_scope(f"layer{number % 10}"):
                value = acts.nn.relu(acts.matmul(value, acts.Variable(acts.zeros([8, 8]), name="w")))
    return graph


def metadata() -> RunMetadata:
    report = RunMetadata()
    graph = small_graph()
    options = RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True)
    with Session(graph=graph, config=ConfigProto(device_count={"CPU": 2})) as session:
        session.run("z:0", {"x:0": [1.0, 2.0]}, options=options, run_metadata=report)
    return report


def statistics() -> Any:
    with Session(graph=large_graph(1)) as session:
        session.run("layer0/Relu:0", {"layer0/MatMul:0": [[1.0] * 8]})
        return session.statistics()


def fit_result() -> FitResult:
    reports = tuple(
        FitReport(
            epoch=1,
            step=10 * n,
            loss=1 / n,
            metric=None if n == 1 else 0.1 * n,
            best=n == 3,
            checkpoint=None,
            seconds=n,
        )
        for n in range(1, 4)
    )
    return FitResult(reports=reports, best=reports[-1], stopped_early=False)


def step_stats() -> StepStats:
    stats = metadata().step_stats
    assert stats is not None
    return stats


def step_record() -> StepRecord:
    with Session(graph=small_graph(), config=ConfigProto(device_count={"CPU": 2}, kept_steps=1)) as session:
        session.run("z:0", {"x:0": [1.0, 2.0]})
        (record,) = session.last_steps()
    return record


def explanation() -> Explanation:
    with Session(graph=small_graph(), config=ConfigProto(device_count={"CPU": 2})) as session:
        return session.explain("z:0", ["x:0"])


def hostile_record() -> StepRecord:
    parts = (PartRecord(HOSTILE, 1.0, 2.0, 0.5),)
    return StepRecord(step_id=7, session=HOSTILE, task=HOSTILE, began=1.0, took=1.0, fetches=(HOSTILE,), parts=parts)


def hostile_graph() -> GraphDef:
    nodes = [NodeDef(name=f"{HOSTILE}/{n}", op=HOSTILE, device=HOSTILE, source=HOSTILE) for n in range(3)]
    return GraphDef((*nodes, NodeDef(name="a", op="b", inputs=((nodes[0].name, 0),), control_inputs=(nodes[1].name,))))


def hostile_step() -> RunMetadata:
    stats = StepStats(7, [NodeStats(HOSTILE, HOSTILE, HOSTILE, 1.0, 2.0, HOSTILE, 3)])
    stats.transfers += [TransferStats(kind, HOSTILE, f"{HOSTILE}{kind}", 1.5, 8) for kind in ("send", "recv")]
    return RunMetadata(step_stats=stats, partition_graphs=[hostile_graph(), hostile_graph()])


def hostile_statistics() -> Any:
    real = statistics()
    return replace(real, errors={HOSTILE: 2}, devices=(replace(real.devices[0], device=HOSTILE),))


# What is made, what its text has, and how many drawings its HTML has.
SHOWN: dict[str, tuple[Callable[[], Any], str, int]] = {
    "graph": (small_graph, r"Graph of 5 operations\n.*placeholders: +1: x\n.*Mul +1\n", 1),
    "empty graph": (Graph, r"Graph of 0 operations$", 0),
    "graph definition": (lambda: small_graph().as_graph_def(), r"GraphDef of 5 nodes\n", 1),
    "large graph": (large_graph, r".*variables: +20: layer0/w, .*, and 12 more\n.*scopes:\n    scope .*layer0 +7\n", 1),
    "session": (lambda: Session(graph=small_graph()), r"Session\n  target: +this process\n  state: +open\n", 1),
    "statistics": (statistics, r"SessionStatistics\n  runs: +1\n.*devices:\n    device .*seconds\n", 0),
    "step": (metadata, r"RunMetadata of step \d+\n  took: .*Mul .*transfers:.*partitions:.*CPU:1 +4", 2),
    "critical path": (lambda: critical_path(step_stats()), r"critical path of .*\nkind +where", 1),
    "step that was kept": (step_record, r"Step \d+, a run\n  took: .*fetches: +z:0\n.*parts:.*CPU:1 .*transfers:", 1),
    "explanation": (explanation, r"A step that fetches z:0, fed with x:0 float32\[2\]\n.*Generated source\n", 1),
    "no step": (RunMetadata, r"RunMetadata$", 0),
    "fit": (fit_result, r"FitResult of 30 steps\n  best: +epoch 1, step 30.*reports:", 2),
    "hostile graph": (hostile_graph, r"GraphDef of 4 nodes\n.*<script>alert\(1\)</script>\\x1b", 1),
    "hostile statistics": (
        hostile_statistics,
        r"SessionStatistics\n.*errors: +<script>alert\(1\)</script>\\x1b.* 2\n",
        0,
    ),
    "hostile kept step": (hostile_record, r"Step 7, a run\n.*<script>alert\(1\)</script>\\x1b", 1),
    "hostile step": (hostile_step, r"RunMetadata of step 7\n.*<script>alert\(1\)</script>\\x1b", 2),
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_object_shows_its_facts_at_a_terminal_and_with_drawings_in_a_notebook(name: str) -> None:
    make, expected, drawings = SHOWN[name]
    shown = make()
    text, html = str(shown), shown._repr_html_()
    assert re.match(expected, text, re.DOTALL), text
    assert "\x1b" not in text + html
    page = read(html)
    assert "script" not in page.tags
    assert page.tags.count("svg") == drawings
    assert page.text.startswith(text.partition("\n")[0])
    if isinstance(shown, AsyncSession | Session):
        shown.close()


def test_live_objects_stay_a_line_in_messages_and_values_are_printed_whole() -> None:
    graph = small_graph()
    assert "\n" not in repr(graph)
    with Session(graph=graph) as session:
        assert "\n" not in repr(session)
        why = session.why()
    assert re.fullmatch(r"<StepRecord \d+: z:0, [\d.]+ [mu]?s>", repr(step_record()))
    for value in (metadata(), step_stats(), critical_path(step_stats()), explanation(), why, fit_result()):
        assert repr(value) == str(value)


def test_the_drawing_of_an_object_is_svg_of_its_own() -> None:
    graph = small_graph()
    assert graph.to_svg() in graph._repr_html_()
    assert graph.to_svg().startswith("<svg ")
    for empty in (Graph(), statistics()):
        with pytest.raises(ValueError, match="has no drawing"):
            empty.to_svg()


def test_ipython_prints_an_object_whole_and_as_a_line_inside_another() -> None:
    pretty = pytest.importorskip("IPython.lib.pretty").pretty
    graph = small_graph()
    assert pretty(graph) == str(graph)
    assert pretty([graph]) == f"[{graph!r}]"


async def test_a_session_and_a_cluster_show_themselves_without_asking_anybody() -> None:
    async with AsyncSession(graph=small_graph(), name="trainer") as session:
        assert "AsyncSession" in session._repr_html_()
        assert str(session).startswith("AsyncSession\n  name:    trainer\n")
    assert "state:   closed" in str(session)
    cluster = LocalCluster({"worker": 2})
    assert str(cluster) == "LocalCluster\n  processes:  0 of 0 alive"
    assert "LocalCluster" in cluster._repr_html_()


@pytest.mark.process
async def test_a_cluster_shows_its_tasks() -> None:
    async with LocalCluster({"worker": 1}) as cluster:
        assert re.search(r"/job:worker/replica:0/task:0 .* it runs +0", str(cluster)), str(cluster)
        (counted,) = (await cluster.statistics()).values()
        assert re.match(
            r"ServerStatistics\n  task: +/job:worker.*\n.*memory: +\d+\.?\d* MiB\n", str(counted), re.DOTALL
        )
        assert read(counted._repr_html_()).text.startswith("ServerStatistics")


# -- counters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("bytes_sent", 2048, "2.0 KiB"),
        ("peak_memory", 2**30, "1.0 GiB"),
        ("loop_lag", 0.0005, "500 us"),
        ("seconds", 2, "2 s"),
        ("steps", 2, 2),
        ("seconds", True, True),
        ("seconds", "none", "none"),
    ],
)
def test_a_counter_has_the_unit_that_its_name_tells(name: str, value: object, expected: object) -> None:
    assert counters.quantity(name, value) == expected


def test_counters_within_counters_are_a_line_of_those_that_have_counted() -> None:
    @dataclass
    class Link:
        peer: str = "a"
        calls_sent: int = 0
        bytes_sent: int = 2048

    @dataclass
    class Whole:
        link: Link | None = None

    assert counters.counters_sheet(Whole(Link())).facts == {"link": "peer a, bytes sent 2.0 KiB"}
    assert counters.counters_sheet(Whole()).facts == {}


# -- pictures of graphs ----------------------------------------------------------------------------


def test_a_graph_is_drawn_by_scope_where_it_is_large() -> None:
    drawn = large_graph(10).as_graph_def().picture()
    assert [box.label for box in drawn.boxes if not box.group][-9:] == [f"layer{number}" for number in range(1, 10)]
    inside = [(*box.group, box.label) for box in drawn.boxes if box.group]
    assert inside[:3] == [("layer0", "zeros"), ("layer0", "w", "w"), ("layer0", "w", "Assign")]
    assert sum(int(box.lines[0].split()[0]) if box.kind == "scope" else 1 for box in drawn.boxes) == 71


def test_scopes_that_are_alike_are_one_box_where_they_are_many() -> None:
    drawn = large_graph(40).as_graph_def().picture()
    assert [box.label for box in drawn.boxes] == ["x", "10 x layer#", "30 x layer#_#"]


def test_many_nodes_without_scopes_are_drawn_by_type() -> None:
    nodes = tuple(NodeDef(name=f"n{n}", op=f"Type{n % 3}") for n in range(99))
    drawn = GraphDef(nodes).picture()
    assert [box.label for box in drawn.boxes] == ["33 x Type0", "33 x Type1", "33 x Type2"]
    drawn = GraphDef(tuple(NodeDef(name=f"n{n}", op=f"Type{n}") for n in range(99))).picture()
    assert len(drawn.boxes) == 18
    assert drawn.boxes[-1].label == "others"


def test_partitions_are_frames_by_task_and_device_with_arrows_from_sends_to_receives() -> None:
    graphs = metadata().partition_graphs
    drawn: picture.Picture = graphs[0].picture(*graphs[1:])
    assert {box.group[:2] for box in drawn.boxes} == {
        ("/job:localhost/replica:0/task:0", f"device:CPU:{number}") for number in (0, 1)
    }
    labels = {box.name: box.label for box in drawn.boxes}
    transfers = {(labels[one.source], labels[one.target]) for one in drawn.arrows if one.kind == "transfer"}
    assert transfers == {("_send/edge_feed_0__arg/x/0:0", "_arg/x/0"), ("_send/edge_0_y:0", "_recv/edge_0_y:0")}
