"""Loops that gradients go back through, in TensorFlow's form and back."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession import Graph, Session, import_graph_def, ops
from actorsession.interop import graph_def_of

pytestmark = pytest.mark.usefixtures("graph")


def nested(x: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        inner = ops.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * ops.sin(a)), [0, a])[1]
        return i + 1, ops.cond(a > 0.5, lambda: ops.sin(inner), lambda: inner * x)

    return ops.while_loop(lambda i, a: i < 3, body, [0, x])[1]


def test_gradients_of_loops_are_written_out_with_first_values_for_every_variable(graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    grad = ops.identity(ops.gradients(nested(x), x)[0], name="grad")
    with Session() as session:
        wanted = session.run(grad, {x: 0.7})
    written = graph_def_of(graph)
    loops = [node for node in written.node if node.op == "While"]
    assert loops
    for node in loops:
        assert len([name for name in node.input if name[0] != "^"]) == len(node.attr["T"].list.type)
    with Graph().as_default():
        import_graph_def(written, name="")
        with Session() as session:
            assert session.run("grad:0", {"x:0": 0.7}) == wanted


def test_gradients_go_through_loops_that_were_read_in(graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    y = ops.identity(nested(x), name="y")
    with Session() as session:
        wanted = session.run(ops.gradients(y, x)[0], {x: 0.7})
    written = graph_def_of(graph)
    with Graph().as_default():
        found = import_graph_def(written, name="", return_elements=["x:0", "y:0"])
        assert found is not None
        x, y = found
        with Session() as session:
            assert session.run(ops.gradients(y, x)[0], {x: 0.7}) == pytest.approx(wanted)
