"""Explanations of plans: what was kept and why, what is sent, what is missing, and what would make a step slow."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import (
    ConfigProto,
    Explanation,
    Graph,
    GraphOptions,
    NodeDef,
    OptimizerOptions,
    Tensor,
    TensorShape,
    errors,
    ops,
)
from actorsession.compat import v1 as tf
from actorsession.config import OptLevel
from actorsession.extend import DeviceAttributes, DeviceSet, RunSignature, TensorSpec
from actorsession.plan.execution_state import GraphExecutionState
from actorsession.plan.explain.explain import Circumstances, Feeds, explain, feeds_from_wire, plan_step
from actorsession.plan.explain.findings import FINDINGS
from tests.ops.raw_control import raw_cond, raw_while
from tests.plan.kit import CPU, device_set, node
from tests.rows import for_each

T = TypeVar("T")

PS, W0, W1 = (f"/job:{job}/replica:0/task:{index}" for job, index in [("ps", 0), ("worker", 0), ("worker", 1)])
CLUSTER = [f"{task}/device:CPU:0" for task in (W0, W1, PS)]
PLACES = {"/cpu:0": CPU[0], "/cpu:1": CPU[1]}


def cluster() -> DeviceSet:
    return DeviceSet([DeviceAttributes(name=name, device_type="CPU", incarnation=1) for name in CLUSTER])


def explained(
    graph: Graph | Sequence[NodeDef],
    fetches: Sequence[Any] = (),
    feeds: Sequence[Any] | Mapping[Any, Sequence[int]] = (),
    *,
    targets: Sequence[str] = (),
    devices: DeviceSet | None = None,
    config: ConfigProto | None = None,
    **known: Any,
) -> Explanation:
    """The explanation of a step; feeds may have the shapes of their values."""
    nodes = graph.as_graph_def().nodes if isinstance(graph, Graph) else graph
    state = GraphExecutionState(config or ConfigProto(), devices or device_set(2), lambda: None)
    names = [getattr(fetch, "name", fetch) for fetch in fetches]
    types: Feeds = dict.fromkeys([getattr(key, "name", key) for key in feeds])
    if isinstance(feeds, Mapping):
        types = {key.name: TensorSpec(key.dtype, TensorShape(shape)) for key, shape in feeds.items()}
    signature = RunSignature(tuple(types), tuple(names), tuple(targets))
    step = plan_step(state, signature, types, lambda: state.extend(nodes))
    return explain(step, Circumstances(**known))


def why(explanation: Explanation, name: str) -> tuple[str, str]:
    """The stage that left a node out, and the reason."""
    return next((d.stage, d.why) for d in explanation.dropped if d.name == name)


def kinds(explanation: Explanation) -> list[str]:
    return sorted(finding.kind for finding in explanation.findings)


def only(explanation: Explanation, kind: str) -> Any:
    """The one finding of a kind."""
    (finding,) = [finding for finding in explanation.findings if finding.kind == kind]
    return finding


# -- what runs -------------------------------------------------------------------------------------
CHAIN = [
    node("x", op="Placeholder"),
    node("a", "x", op="Exp"),
    node("b", "a", op="Exp", device="/cpu:1"),
    node("unread", "a", op="Exp"),
]


def test_a_node_that_does_not_run_has_a_reason() -> None:
    step = explained([*CHAIN, node("apart")], ["b:0"], ["a:0"])
    assert why(step, "a") == ("prune", "'a:0' is fed, so nothing has to make it")
    assert why(step, "x") == ("prune", "is needed for 'a:0' alone, which is fed")
    assert step.dropped_more == 2  # what is not near
    near = explained(CHAIN, ["b:0"], ["x:0"])
    assert why(near, "unread") == ("prune", "reads 'a', but nothing that is fetched needs it")
    with pytest.raises(KeyError, match="nothing that is fetched needs it"):
        near.node("unread")


def test_the_optimiser_says_what_became_of_a_node(graph: Graph) -> None:
    x = ops.placeholder("float32", [3], name="x")
    same = [ops.exp(x, name=f"exp{k}") for k in range(2)]
    folded = ops.add(ops.constant(1.0), 2.0, name="folded")
    passed = ops.identity(x * folded, name="passed")
    total = ops.add_n([*same, passed, ops.ones_like(x) * x], name="total")
    step = explained(graph, [total], [x])
    assert why(step, "exp1") == ("optimise", "computes the same as 'exp0', which is read in its place")
    assert why(step, "passed") == ("optimise", "only passes its input on: its readers read 'mul:0'")
    assert step.node("folded").op == "Const"
    (done,) = [p for p in step.passes if p.name == "optimise"]
    assert "exp1" in done.removed
    assert "folded" in done.changed
    assert done.before > done.after


def test_a_node_has_a_device_with_the_reason_and_refused_alternatives() -> None:
    step = explained(CHAIN, ["b:0"], ["x:0"])
    b, a = step.node("b"), step.node("a")
    assert (b.device, b.reason) == (CPU[1], "requested /device:CPU:1")
    assert [(r.why, r.devices) for r in b.refused] == [("is not /device:CPU:1, which was requested", (CPU[0],))]
    assert [(r.why, r.devices) for r in a.refused] == [
        ("would do, but: no device requested: the client device", (CPU[1],))
    ]
    assert (b.line, b.inputs) == ("b.py:1", ("a:0",))


def test_devices_that_are_refused_for_one_reason_are_counted() -> None:
    many = DeviceSet(
        [DeviceAttributes(name=f"{W0}/device:CPU:{k}", device_type="CPU", incarnation=1) for k in range(9)]
    )
    (refused,) = explained([node("a")], targets=["a"], devices=many).node("a").refused
    assert (len(refused.devices), refused.more) == (4, 4)


def test_shapes_of_feeds_give_the_bytes_of_what_is_sent(graph: Graph) -> None:
    x = ops.placeholder("float32", [None, 4], name="x")
    with graph.device("/cpu:0"):
        y = ops.exp(x, name="y")
    with graph.device("/cpu:1"):
        z = ops.matmul(y, ops.ones([4, 2]), name="z")
    without, known = explained(graph, [z], [x]), explained(graph, [z], {x: [10, 4]})
    assert [t.tensor.nbytes for t in without.transfers] == [None]
    (sent,) = known.transfers
    assert (sent.tensor.name, sent.tensor.shape, sent.tensor.nbytes) == ("y:0", (10, 4), 160)
    assert (sent.producer, sent.readers, sent.source, sent.target) == ("y", ("z",), CPU[0], CPU[1])
    assert known.node("z").flops == 2 * 10 * 4 * 2
    assert known.node("z").known
    assert not without.node("z").known
    assert known.seconds > without.seconds


def test_a_control_edge_between_devices_is_a_transfer_of_one_byte() -> None:
    step = explained([node("a"), node("b", after=["a"], device="/cpu:1")], targets=["b"])
    assert [(t.tensor.name, t.tensor.nbytes, t.producer, t.readers) for t in step.transfers] == [("^a", 1, "a", ("b",))]
    assert step.node("b").inputs == ("^a",)


def test_segments_have_their_source_with_the_node_and_line_of_each_line(graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    with graph.device("/cpu:1"):
        y = ops.exp(x, name="y")
    with graph.device("/cpu:0"):
        z = ops.tanh(y, name="z")
    step = explained(graph, [z], [x])
    (first,) = [part for part in step.partitions if part.device == CPU[1]]
    assert (first.engine, first.feeds, first.fetches) == ("segments", ("x:0",), ())
    lines = {line.node: line for segment in first.segments for line in segment.lines}
    assert "# y (Exp)" in lines["y"].text
    assert lines["y"].line == y.op.source
    (second,) = [part for part in step.partitions if part.device == CPU[0]]
    assert second.segments[0].waits == (step.transfers[0].key,)
    assert "def segment_0" in second.segments[0].source
    assert step.source.count("def segment_0") == 2
    compile(step.source, "explained", "exec")


# -- what is missing -------------------------------------------------------------------------------
def test_what_is_not_fed_is_missing_and_no_error() -> None:
    step = explained(CHAIN, ["b:0"])
    assert [(m.kind, m.name, m.line) for m in step.missing] == [("feed", "x", "x.py:1")]
    assert {n.name for n in step.nodes} == {"x", "a", "b"}


def test_variables_without_a_value_are_missing_unless_the_step_assigns_them(graph: Graph) -> None:
    v = ops.Variable(1.0, name="v")
    read = explained(graph, [v.value()], unset=frozenset({"v"}))
    assert [(m.kind, m.name) for m in read.missing] == [("value", "v")]
    assert explained(graph, targets=[v.initializer.name], unset=frozenset({"v"})).missing == ()


def test_tasks_that_do_not_answer_are_missing() -> None:
    step = explained([node("a")], targets=["a"], silent={W1: "no route"})
    assert [(m.kind, m.name, m.what) for m in step.missing] == [("task", W1, f"{W1} does not answer: no route")]


@for_each(
    "nodes, fetch, match",
    [
        ([node("a", device="/gpu:7")], "a", "requests device /device:GPU:7"),
        ([node("a", "b"), node("b", "a")], "a", "cycle"),
        ([node("a")], "b", "not an operation of the graph"),
    ],
)
def test_a_step_without_a_plan_says_why(nodes: list[NodeDef], fetch: str, match: str) -> None:
    step = explained(nodes, targets=[fetch])
    (missing,) = step.missing
    assert missing.kind == "plan"
    assert match in missing.what
    assert match in str(step)
    assert step.partitions == ()


def test_a_fault_leaves_the_stages_before_it() -> None:
    state = GraphExecutionState(ConfigProto(), device_set(2), lambda: None)
    state.extend(CHAIN)
    state.use_devices(device_set(1))
    step = plan_step(state, RunSignature(("x:0",), ("b:0",)), {"x:0": None})
    left = explain(step, Circumstances())
    assert [m.kind for m in left.missing] == ["plan"]
    assert [p.name for p in left.passes] == ["prune"]
    assert {n.name for n in left.nodes} == {"a", "b"}
    assert "which has left the cluster" in left.missing[0].what


@for_each("types", [[["float32"]], [[None, None]], [3], [["float32", [1]], ["float32", [1]]]])
def test_a_request_with_other_types_is_refused(types: list[Any]) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="dtype and shape"):
        feeds_from_wire(["x:0"], types)


# -- what planning sees of it ----------------------------------------------------------------------
@for_each("pruned", [False, True])
def test_explaining_changes_nothing_that_a_later_planning_sees(pruned: bool) -> None:
    config = ConfigProto(graph_options=GraphOptions(place_pruned_graph=pruned))
    nodes = [node("v", op="VarHandleOp", outputs=ops.Variable(1.0, name="w").handle.op.plain.outputs), *CHAIN]
    state = GraphExecutionState(config, device_set(2), lambda: None)
    state.extend(nodes)
    before = dict(state.placed), state.pass_statistics()
    for _ in range(2):
        plan_step(state, RunSignature(("x:0",), ("b:0",), ("v",)), {})
    assert (dict(state.placed), state.pass_statistics()) == before


# -- findings --------------------------------------------------------------------------------------
def at(graph: Graph, task: str, build: Callable[[], T]) -> T:
    with graph.device(task):
        return build()


def to_and_fro(graph: Graph) -> Explanation:
    x = ops.placeholder("float32", [1000, 100], name="x")
    a = at(graph, W0, lambda: ops.exp(x, name="a"))
    b = at(graph, W1, lambda: ops.tanh(a, name="b"))
    c = at(graph, W0, lambda: ops.matmul(b, a, transpose_a=True, name="c"))
    return explained(graph, [c], [x], devices=cluster())


def slow_link(graph: Graph) -> Explanation:
    x = ops.placeholder("float32", [10], name="x")
    a = at(graph, W1, lambda: ops.exp(x, name="a"))
    b = at(graph, W1, lambda: ops.exp(a, name="b"))
    c = at(graph, W0, lambda: ops.tanh(b, name="c"))
    return explained(graph, [c], [x], devices=cluster(), home=W0, round_trips={W1: 0.05})


def large_transfer(graph: Graph) -> Explanation:
    x = ops.placeholder("float32", [1024, 1024], name="x")
    a = at(graph, W1, lambda: ops.exp(ops.tanh(x), name="a"))
    return explained(graph, [at(graph, W0, lambda: ops.reduce_sum(a, name="c"))], [x], devices=cluster())


def read_twice(graph: Graph) -> Explanation:
    v = at(graph, PS, lambda: ops.Variable(np.ones(3, np.float32), name="v"))
    x = ops.placeholder("float32", [3], name="x")
    return explained(graph, [at(graph, W0, lambda: ops.add(x * v.value(), v.value()))], [x], devices=cluster())


def constant(graph: Graph) -> Explanation:
    c = at(graph, W1, lambda: ops.constant(np.ones(10_000, np.float32), name="c"))
    x = ops.placeholder("float32", [10_000], name="x")
    return explained(graph, [at(graph, W0, lambda: ops.add(x, c))], [x], devices=cluster())


def alone(graph: Graph) -> Explanation:
    x = ops.placeholder("float32", [], name="x")
    a = at(graph, W1, lambda: ops.exp(x, name="a"))
    return explained(graph, [at(graph, W0, lambda: ops.tanh(a))], [x], devices=cluster())


def dataflow(graph: Graph) -> Explanation:
    def body(turn: Sequence[Tensor], _: Sequence[Tensor]) -> list[Tensor]:
        return [at(graph, "/cpu:1", lambda: ops.add(turn[0], 1, name="counted"))]

    (count,) = raw_while(lambda v, c: v[0] < c[0], body, [ops.constant(0)], [ops.constant(3)])
    return explained(graph, [count])


def python(graph: Graph) -> Explanation:
    return explained(graph, [tf.py_func(lambda: np.float32(1.0), [], tf.float32, name="called")])


def one_thread(graph: Graph) -> Explanation:
    x = ops.placeholder("int32", [100_000], name="x")
    return explained(graph, [tf.as_string(x, name="texts")], [x])


def slow_node(graph: Graph) -> Explanation:
    x = ops.placeholder("float32", [2000, 2000], name="x")
    return explained(graph, [ops.matmul(x, x, name="product")], [x])


def copied(graph: Graph) -> Explanation:
    x = ops.placeholder("float32", [None, 1024], name="x")
    a = at(graph, W1, lambda: ops.exp(ops.tanh(x), name="a"))
    c = at(graph, W0, lambda: ops.reduce_sum(a, name="c"))
    return explained(graph, [c], {x: [1024, 1024]}, devices=cluster())


FAULTS: dict[str, tuple[Callable[[Graph], Explanation], str, str]] = {
    "to-and-fro": (
        to_and_fro,
        "b",
        "a:0 goes from /job:worker/task:0/CPU:0 to /job:worker/task:1/CPU:0 (391 KiB), and b:0",
    ),
    "slow-link": (slow_link, "b", "the link to /job:worker/task:1 answers after 50 ms; 1 values go over it"),
    "large-transfer": (
        large_transfer,
        "a",
        "a:0 is sent from /job:worker/task:1/CPU:0 to /job:worker/task:0/CPU:0 (4.0 MiB)",
    ),
    "read-twice": (read_twice, "ReadVariableOp_1", "the variable 'v' is read 2 times, and each value is sent to"),
    "constant": (constant, "c", "the constant 'c' is sent"),
    "alone": (alone, "a", "'a' (Exp) is alone on /job:worker/task:1"),
    "dataflow": (dataflow, "raw_while/Enter", "it runs on several devices: 'raw_while/counted"),
    "python": (python, "called", "'called' (PyFunc) calls a function of the program"),
    "one-thread": (one_thread, "texts", "'texts' (AsString) makes texts one by one"),
    "slow-node": (slow_node, "product", "'product' (MatMul) on"),
    "copy": (copied, "a", "a:0 (4.0 MiB) is copied before it is sent"),
}


@for_each("kind", list(FINDINGS))
def test_what_makes_a_step_slow_is_found_with_the_node_and_the_line(graph: Graph, kind: str) -> None:
    build, name, words = FAULTS[kind]
    step = build(graph)
    finding = only(step, kind)
    assert finding.node == name
    assert words in finding.what
    assert "test_explain.py:" in finding.line or "raw_control.py:" in finding.line
    assert finding.advice
    page = " ".join(str(step).split())
    assert " ".join(finding.what.split()) in page
    assert finding.line in page


def test_a_step_without_faults_has_no_findings(graph: Graph) -> None:
    x = ops.placeholder("float32", [10], name="x")
    v = at(graph, PS, lambda: ops.Variable(np.zeros(10, np.float32), name="v").value())
    loss = at(graph, W0, lambda: ops.reduce_sum(ops.exp(x) * v, name="loss"))
    assert explained(graph, [loss], [x], devices=cluster(), home=W0, round_trips={PS: 0.0004}).findings == ()


def test_training_with_variables_on_a_server_is_no_fault(graph: Graph) -> None:
    """What goes out is the value of a variable, and what comes back updates it: both ends are tied to the state."""
    x = ops.placeholder("float32", [10], name="x")
    with graph.device(PS):
        v = ops.Variable(np.zeros(10, np.float32), name="v")
    gradient = at(graph, W0, lambda: ops.multiply(v.value(), ops.exp(x), name="gradient"))
    update = at(graph, PS, lambda: v.assign_sub(gradient, read_value=False))
    step = explained(graph, (), [x], targets=[update.name], devices=cluster())
    assert len(step.transfers) == 2
    assert "to-and-fro" not in kinds(step)


def test_a_large_node_on_one_thread_is_found_unless_it_divides_its_work(graph: Graph) -> None:
    x = ops.placeholder("float32", [2000, 2000], name="x")
    product = ops.matmul(x, x[:, :50], name="product")
    alone, cumulated = ops.exp(x, name="alone"), tf.cumsum(x, name="cumulated")
    step = explained(graph, [alone, product, cumulated, tf.cumsum(x[0], name="small")], [x])
    found = sorted([f.node for f in step.findings if f.kind == "one-thread"])
    assert step.node("product").seconds > step.node("alone").seconds
    assert found == ["alone", "cumulated"]
    assert "'cumulated' (Cumsum) runs on one thread of " in str(step)


@for_each("sizes, shared", [([1000, 2000], False), ([2000, 2000], True)], ids=str)
def test_nodes_that_are_computed_in_blocks_are_on_one_thread_if_they_are_small(
    graph: Graph, sizes: list[int], shared: bool
) -> None:
    """Shapes may be those of the feeds; the graph need not say them."""
    x = ops.placeholder("float32", [None, sizes[1]], name="x")
    last = ops.tanh(ops.exp(ops.negative(x, name="first")), name="last")
    step = explained(graph, [last], {x: sizes})
    assert kinds(step).count("one-thread") == (0 if shared else 3)


def fetched_inside(graph: Graph) -> tuple[Any, str]:
    kept: list[Tensor] = []

    def body(turn: Sequence[Tensor], _: Sequence[Tensor]) -> list[Tensor]:
        kept.append(ops.add(turn[0], 1, name="inside"))
        return kept

    raw_while(lambda v, c: v[0] < c[0], body, [ops.constant(0)], [ops.constant(3)])
    return kept[0], "'raw_while/inside' in it is fetched"


def calls_python(graph: Graph) -> tuple[Any, str]:
    def body(turn: Sequence[Tensor], _: Sequence[Tensor]) -> list[Tensor]:
        return [ops.reshape(tf.py_func(lambda n: n + 1, turn, tf.int32, name="called"), [])]

    (count,) = raw_while(lambda v, c: v[0] < c[0], body, [ops.constant(0)], [ops.constant(3)])
    return count, "/called' (PyFunc) in it waits, or runs the user's code"


def branch_of_python(graph: Graph) -> tuple[Any, str]:
    p = ops.placeholder("bool", [], name="p")
    x = ops.constant(1.0)

    def called(values: Sequence[Tensor]) -> list[Any]:
        return [tf.py_func(lambda number: number, values, tf.float32, name="called")]

    (merged,) = raw_cond(p, called, lambda v: v, [x])
    return merged, "/called' (PyFunc) in it waits, or runs the user's code"


@for_each("build", [fetched_inside, calls_python, branch_of_python])
def test_a_loop_on_the_dataflow_engine_says_why_it_is_there(graph: Graph, build: Any) -> None:
    fetch, reason = build(graph)
    step = explained(graph, [fetch])
    assert [part.engine for part in step.partitions] == ["dataflow"]
    assert reason in only(step, "dataflow").what


def test_a_loop_is_not_compiled_where_the_settings_forbid_it(graph: Graph) -> None:
    (count,) = raw_while(lambda v, c: v[0] < c[0], lambda v, _: [v[0] + 1], [ops.constant(0)], [ops.constant(3)])
    options = GraphOptions(optimizer_options=OptimizerOptions(opt_level=OptLevel.L0))
    off = explained(graph, [count], config=ConfigProto(graph_options=options))
    assert "switched off by the optimizer options" in only(off, "dataflow").what
    on = explained(graph, [count])
    assert "dataflow" not in kinds(on)
    assert why(on, "raw_while/NextIteration") == ("functionalize", "became part of 'raw_while/Switch'") or any(
        d.stage == "functionalize" for d in on.dropped
    )


# -- the value -------------------------------------------------------------------------------------
@given(st.builds(Explanation))
def test_an_explanation_comes_back_from_json(explanation: Explanation) -> None:
    assert Explanation.from_json(explanation.to_json()) == explanation
    assert isinstance(str(explanation), str)


@for_each(
    "text",
    ["", "[]", "{", '{"feeds": 1}', '{"nodes": [{"name": 1}]}', '{"feeds": [{"dtype": ""}]}', '{"seconds": true}'],
)
def test_other_json_is_no_explanation(text: str) -> None:
    with pytest.raises(ValueError, match="an explanation"):
        Explanation.from_json(text)


@for_each("kind", list(FINDINGS))
def test_an_explanation_is_drawn_and_shown(graph: Graph, kind: str) -> None:
    step = FAULTS[kind][0](graph)
    assert Explanation.from_json(step.to_json()) == step
    svg, dot, html = step.to_svg(), step.to_dot(), step._repr_html_()
    assert svg.startswith("<svg")
    assert "<script" not in svg
    for name in (step.nodes[-1].name, *[feed.name for feed in step.feeds]):
        assert name in svg
        assert name in dot
        assert name in html
    assert max(map(len, str(step).split("\n"))) <= 120


def test_names_that_are_hostile_stay_text() -> None:
    hostile = "a<script>\x1b[31m\u202e"
    step = explained([node(hostile), node("b", hostile)], ["b:0"])
    for text in (step.to_svg(), step._repr_html_(), str(step)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script" not in step.to_svg() + step._repr_html_()
    assert json.loads(step.to_json())["nodes"][0]["name"] == hostile


def test_a_large_step_is_drawn_by_scopes() -> None:
    names = [f"s{k // 50}/a{k}" for k in range(400)]
    nodes = [node(names[0], op="Placeholder"), *[node(b, a, op="Exp") for a, b in itertools.pairwise(names)]]
    step = explained(nodes, [f"{names[-1]}:0"])
    assert len(step.nodes) == 400
    assert [step.to_svg().count(f">{size} nodes<") for size in (50, 49)] == [7, 1]  # the first one has a placeholder
    assert "... and 370 more nodes" in str(step)


def test_lists_of_what_is_alike_are_shortened_on_the_page_alone(graph: Graph) -> None:
    variables = [ops.Variable(1.0, name=f"v{number}") for number in range(20)]
    step = explained(graph, [ops.add_n([v.value() for v in variables])], unset=frozenset(v.op.name for v in variables))
    assert len(step.missing) == 20
    lines = [line.strip() for line in str(step).splitlines()]
    assert sum(line.startswith("value: variable 'v") for line in lines) == 8
    assert "value: ... and 12 more: explanation.missing has all" in lines
    many = dataclasses.replace(step, findings=slow_node(graph).findings[:1] * 50)
    assert str(many).count("\n     -> ") == 30
    assert "... and 20 more, which cost less: explanation.findings has all" in str(many)


def test_an_explanation_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        explained([node("a")], targets=["a"]).seconds = 1.0  # type: ignore[misc]
