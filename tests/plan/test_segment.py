"""A segment tells its code, plain or traced, and which line is whose."""

from __future__ import annotations

from actorsession.plan.codegen.segment import Line, Segment


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
