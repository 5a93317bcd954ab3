"""The generated source, plain and traced: a line per node, and no copy that is not needed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, NodeDef, Tensor, ops
from actorsession.extend import Partition
from actorsession.graph.node import spec
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.codegen.segment import Line, Segment
from actorsession.plan.prune import ARG
from tests.plan.kit import CPU, Made, call, node
from tests.rows import for_each


@pytest.fixture
def x(graph: Graph) -> Tensor:
    return ops.placeholder("float32", [3], name="x")


def body(made: Made, part: int = 0, segment: int = 0) -> list[str]:
    """The lines between head and tail, with values renamed by the order in which they appear."""
    return renamed(made.source(part, segment))[1:-1]


def tail(made: Made) -> str:
    return renamed(made.source())[-1]


def renamed(lines: list[str]) -> list[str]:
    """``v17`` and ``k17`` become ``a``, ``b``, ...: the numbers are nobody's business."""
    names: dict[str, str] = {}

    def letter(match: re.Match[str]) -> str:
        name = names.setdefault(match[2], chr(ord("a") + len(names)))
        return {"v": name, "k": f"{name}_kernel", "c": f"{name}_const"}[match[1]] + match[3]

    return [re.sub(r"\b([vkc])(\d+)(_\d+)?\b", lambda m: letter(_full(m)), line) for line in lines]


def _full(match: re.Match[str]) -> Any:
    return {1: match[1], 2: match[2], 3: match[3] or ""}


# -- nodes -----------------------------------------------------------------------------------------


def test_each_node_is_one_line_with_its_name_type_and_source(graph: Graph, x: Tensor) -> None:
    y = call(graph, np.negative, x, name="minus").outputs[0]
    lines = Made(graph, [y], [x]).linked[0].compiled.segments[0].lines
    assert lines[0] == "def segment_0(C, v0):"
    assert lines[1] == f"    v1 = k1(v0)  # minus (KitCall) {y.op.source}"
    assert lines[-1] == "    return (v1, )"


def test_cheap_ops_stand_inline_and_constants_by_name(graph: Graph, x: Tensor) -> None:
    made = Made(graph, [x * 2.0, -x], [x])
    assert made.source()[1:] == ["v2 = (v0 * c1)", "v3 = (-v0)", "del v0", "return (v2, v3, )"]
    assert set(made.linked[0].compiled.segments[0].bindings) == {"c1"}


def test_several_outputs_are_unpacked_and_none_needs_no_name(graph: Graph, x: Tensor) -> None:
    both = call(graph, lambda v: (v + 1, v + 2), x, shapes=([3], [3]))
    done = call(graph, lambda v: None, both.outputs[1], shapes=())
    made = Made(graph, [both.outputs[0]], [x], [done])
    assert body(made)[0] == "(b, b_1) = b_kernel(a)"
    assert body(made)[2:] == ["c_kernel(b_1)", "del b_1"]
    assert [v.tolist() for v in made.run(np.zeros(3, np.float32))] == [[1, 1, 1]]


def test_dear_nodes_look_for_a_cancellation_first(graph: Graph, x: Tensor) -> None:
    z = call(graph, np.negative, call(graph, np.negative, x, op="KitDear").outputs[0]).outputs[0]
    assert body(Made(graph, [z], [x])) == ["C.check()", "b = b_kernel(a)", "del a", "c = c_kernel(b)", "del b"]
    # A node that may be dear for all we know looks as well.
    unknown, known = ops.placeholder("float32", [None]), ops.placeholder("float32", [3])
    a = call(graph, np.negative, unknown, op="KitSizedCost").outputs[0]
    b = call(graph, np.negative, known, op="KitSizedCost").outputs[0]
    source = Made(graph, [a, b, call(graph, np.negative, unknown).outputs[0]], [unknown, known]).source()
    assert source.count("C.check()") == 1
    assert source[1] == "C.check()"


EVIL = ["a.py:1\nraise SystemExit", "a.py:1\rraise SystemExit", "a\x0bb", "a\x0cb", "a\x1cb",
        "a\u2028b", "a\x85b", "a\0b", "\ud800", "a\\\nb", "'''", "# coding: latin-9"]  # fmt: skip


@for_each("text", EVIL)
@for_each("where", ["name", "source"])
def test_a_name_or_source_cannot_leave_its_comment(text: str, where: str) -> None:
    """A worker generates code from graphs that came over the wire."""
    x = node("x", op=ARG, index=0, outputs=(spec("float32", ()),))
    fields = {"name": "n", "source": "file:1", where: text}
    evil = NodeDef(op="Neg", inputs=(("x", 0),), outputs=x.outputs, **fields)  # type: ignore[arg-type]
    (segment,) = compile_partition(Partition(CPU[0], (x, evil), ((0, fields["name"], 0),))).segments
    text = "\n".join(segment.lines) + "\n"
    assert len(text.splitlines()) == len(segment.lines) == 3
    namespace: dict[str, Any] = {"out": lambda v: v}
    exec(compile(text, "<test>", "exec"), namespace)  # noqa: S102 - what link does
    assert namespace["segment_0"](None, 2.0) == (-2.0,)


def test_an_array_is_dropped_after_its_last_use(graph: Graph, x: Tensor) -> None:
    a = call(graph, np.negative, x).outputs[0]
    b = call(graph, np.add, a, x).outputs[0]
    lines = body(Made(graph, [call(graph, np.add, b, b).outputs[0]], [x]))
    assert lines == ["b = b_kernel(a)", "c = c_kernel(b, a)", "del b, a", "d = d_kernel(c, c)", "del c"]
    # An array that nobody reads is dropped at once. It could be a variable's own, which an update could then not
    # change in place.
    assert body(Made(graph, [], [x], [call(graph, np.negative, x)])) == ["b = b_kernel(a)", "del a, b"]
    # An array that leaves is not dropped.
    a = call(graph, np.negative, x).outputs[0]
    b = call(graph, np.negative, a).outputs[0]
    made = Made(graph, [a, b], [x])
    assert body(made) == ["b = b_kernel(a)", "del a", "c = c_kernel(b)"]
    assert tail(made) == "return (b, c, )"
    # Scalars are not worth dropping.
    s = ops.placeholder("float32", [])
    a = call(graph, lambda v: -v, s, shapes=[()]).outputs[0]
    b = call(graph, lambda v: -v, a, shapes=[()]).outputs[0]
    assert not any("del" in line for line in Made(graph, [b], [s]).source())


# -- ownership of fetches --------------------------------------------------------------------------


def fetched(graph: Graph, x: Tensor, *fetches: Tensor, **options: Any) -> str:
    """The expressions that leave, without the value's number."""
    line = Made(graph, fetches, [x], **options).source()[-1]
    return re.sub(r"v\d+", "v", re.sub(r"c\d+", "c", line)).removeprefix("return ")


def test_what_leaves_is_copied_where_somebody_else_has_it(graph: Graph, x: Tensor) -> None:
    assert fetched(graph, x, call(graph, np.negative, x).outputs[0]) == "(v, )"
    k = ops.constant([1.0, 2.0])
    view = call(graph, lambda v: v[:2], x, op="KitView", shapes=[[2]]).outputs[0]
    assert fetched(graph, x, x) == "(own(v), )"
    assert fetched(graph, x, view) == "(own(v), )"
    assert fetched(graph, x, k) == "(own(c), )"
    # What is made once for the plan is copied.
    assert fetched(graph, x, call(graph, lambda: np.zeros(3, np.float32), op="KitOnce").outputs[0]) == "(own(c), )"
    # A value and a view of it do not leave together.
    a = call(graph, np.negative, x).outputs[0]
    view = call(graph, lambda v: v[:2], a, op="KitView", shapes=[[2]]).outputs[0]
    assert fetched(graph, x, a, view) == "(v, own(v), )"
    # A value asked for twice leaves once and as a copy.
    a = call(graph, np.negative, x).outputs[0]
    assert fetched(graph, x, a, a) == "(v, own(v), )"
    # A server that encodes what leaves needs no copies.
    a = call(graph, np.negative, x).outputs[0]
    assert fetched(graph, x, x, a, a, own_fetches=False) == "(v, v, v, )"


def test_what_is_sent_as_well_is_copied(graph: Graph, x: Tensor) -> None:
    a = call(graph, np.negative, x).outputs[0]
    with graph.device("/cpu:1"):
        call(graph, np.negative, a, name="far")
    far = graph.get_tensor_by_name("far:0")
    assert fetched(graph, x, a, far, devices=2) == "(own(v), )"
    view = call(graph, lambda v: v[:2], a, op="KitView", shapes=[[2]]).outputs[0]
    assert fetched(graph, x, a, view, far, devices=2) == "(own(v), own(v), )"
    # What has arrived is copied.
    with graph.device("/cpu:1"):
        far = call(graph, np.negative, x).outputs[0]
    made = Made(graph, [call(graph, lambda v: v, far, op="KitView").outputs[0]], [x], devices=2)
    assert made.source(part=0)[-1] == "return (own(v1), )"


def test_a_value_of_rank_0_leaves_as_a_scalar(graph: Graph, x: Tensor) -> None:
    for shape, expected in (((), "(out(v), )"), (None, "(out(v), )"), ((1,), "(v, )")):
        assert fetched(graph, x, call(graph, np.sum, x, shapes=[shape]).outputs[0]) == expected


# -- ownership of what is kept ---------------------------------------------------------------------


def kept(graph: Graph, x: Tensor, value: Tensor, *fetches: Tensor) -> str:
    """The line of a node that keeps ``value``."""
    keep = call(graph, lambda v: None, value, op="KitKeep", shapes=())
    return re.sub(r"\d+", "", next(s for s in Made(graph, fetches, [x], [keep]).source() if s.startswith("k")))


def test_what_is_kept_is_copied_unless_its_only_use_hands_it_over(graph: Graph, x: Tensor) -> None:
    a = call(graph, np.negative, x).outputs[0]
    keep = call(graph, lambda v: None, a, op="KitKeep", shapes=())
    assert body(Made(graph, [], [x], [keep]))[2:] == ["c_kernel(b)", "del b"]
    # A value kept twice by one node is copied.
    a = call(graph, np.negative, x).outputs[0]
    keep = call(graph, lambda v, w: None, a, a, op="KitKeep", shapes=())
    assert body(Made(graph, [], [x], [keep]))[2] == "c_kernel(own(b), b)"
    # A kept feed view or constant is copied.
    k = ops.constant([1.0, 2.0])
    for value in (x, call(graph, lambda v: v, x, op="KitView").outputs[0], k):
        assert "own(" in kept(graph, x, value)
    # A kept value that is read or fetched as well is copied.
    a = call(graph, np.negative, x).outputs[0]
    assert kept(graph, x, a, a) == "k(own(v))"
    assert kept(graph, x, a, call(graph, np.negative, a).outputs[0]) == "k(own(v))"
    assert kept(graph, x, a) == "k(v)"


def test_a_kept_value_of_another_segment_is_copied(graph: Graph, x: Tensor) -> None:
    """The step holds it in a slot until every reader has run."""
    a = call(graph, np.negative, x).outputs[0]
    with graph.device("/cpu:1"):
        far = call(graph, np.negative, x, name="far")
    with graph.control_dependencies([far]):
        keep = call(graph, lambda v: None, a, op="KitKeep", shapes=())
    assert body(Made(graph, [], [x], [keep], devices=2), part=0, segment=1)[0].endswith("_kernel(own(a))")


def segment(*code: Line, cost: float = 1.0) -> Segment:
    return Segment("segment_0", code, {}, (), (), (), (), cost, True)


CODE = (
    Line("def segment_0(C, v0):"),
    Line("    C.check()", 1),
    Line("    v1 = k1(v0)", 1, "v1"),
    Line("    del v0"),
    Line("    k2(v1)", 2, "None"),
    Line("    return (v1, )"),
)


def test_the_plain_code_is_its_lines() -> None:
    made = segment(*CODE)
    assert made.lines == tuple(line.text for line in CODE)
    assert made.line_nodes == (None, 1, 1, None, 2, None)
    # A segment is light up to a few microseconds.
    assert segment(cost=1.0).is_light
    assert not segment(cost=100.0).is_light


def test_traced_code_notes_the_time_and_the_value_of_each_node() -> None:
    made = segment(*CODE)
    assert made.traced_lines == (
        "def segment_0(C, v0):",
        "    C.check()",
        "    t = clock()",
        "    v1 = k1(v0)",
        "    C.note(1, t, v1)",
        "    del v0",
        "    t = clock()",
        "    k2(v1)",
        "    C.note(2, t, None)",
        "    return (v1, )",
    )
    assert made.traced_line_nodes == (None, 1, 1, 1, 1, None, 2, 2, 2, None)
