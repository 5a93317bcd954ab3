"""The evaluator is the oracle's hand: it must notice what it is there to notice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, constant, float32
from actorsession.extend import OpDef
from actorsession.extend import register_op as register
from actorsession.graph.node import spec
from tests.nodes import make_one
from tests.ops.interpreter import Program, check_gradient, evaluate, source
from tests.rows import for_each, refused


def faulty(name: str, function: Any, **fields: Any) -> str:
    """Registers an op of one float32 vector that does something wrong."""
    fields.setdefault("infer", lambda ctx: [ctx.inputs[0]])
    register(OpDef(name=name, kernel=lambda ctx: function, **fields))
    return name


@for_each(
    "op, message",
    [
        (faulty("TestWidens", lambda x: x.astype(np.float64)), "got dtype float64"),
        (faulty("TestGrows", lambda x: np.append(x, x)), "got shape"),
        (faulty("TestAliases", lambda x: x[:]), "aliases=True"),
        (faulty("TestUnboxed", lambda x: 1.0, infer=lambda ctx: [spec("float32", ())]), "float"),
        (faulty("TestInline", lambda x: x + 1, emit=lambda ctx, args: f"{args[0]} + {args[0]}"), "inline"),
    ],
)
def test_a_kernel_that_breaks_its_word_is_noticed(op: str, message: str) -> None:
    refused(lambda: evaluate([make_one(op, [constant([1.0, 2.0])])]), AssertionError, message)


def test_a_kernel_that_writes_to_its_input_is_noticed() -> None:
    def negate(x: Any) -> Any:
        x *= -1
        return x.copy()

    refused(lambda: evaluate([make_one(faulty("TestWrites", negate), [constant([1.0])])]), ValueError, "read-only")


def test_a_wrong_gradient_is_noticed() -> None:
    faulty("TestTwice", lambda x: x * 2, gradient=lambda op, grad: [grad])
    with pytest.raises(AssertionError, match="argument 0, static shapes known"):
        check_gradient(lambda x: make_one("TestTwice", [x]), np.ones(2))


def test_a_program_runs_only_what_its_fetches_need() -> None:
    x = source(float32, (2,))
    unneeded = source(float32, (2,)) + x
    [found] = Program([x + 1], [x]).run({x: [1, 2]})
    np.testing.assert_array_equal(found, [2, 3])
    refused(lambda: evaluate([unneeded], {x: [1, 2]}), AssertionError, "feed it")


def test_control_inputs_run_first_and_operations_give_none(graph: Graph) -> None:
    order: list[str] = []

    def noted(x: Any) -> Any:
        order.append("first")
        return x + 0

    before = make_one(faulty("TestNotes", noted), [constant([1.0])])
    with graph.control_dependencies([before]):
        after = constant([2.0])
    assert (evaluate([after.op]), order) == ([None], ["first"])
