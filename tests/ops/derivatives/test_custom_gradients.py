"""Gradients that users give, and second derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, ops
from actorsession.extend import OpDef
from actorsession.extend import register_op as register
from tests.nodes import make_one
from tests.ops.cases import run_initialised as run
from tests.rows import for_each, refused

for name in ("TestNoGradientA", "TestNoGradientB"):
    register(OpDef(name=name, infer=lambda ctx: [ctx.inputs[0]], kernel=lambda ctx: lambda x: x, aliases=True))


@pytest.fixture(autouse=True)
def graph(registrations: None) -> Iterator[Graph]:
    """Gradients that a test registers are forgotten after it."""
    with Graph().as_default() as made:
        yield made


# -- registering -----------------------------------------------------------------------------------


def test_an_op_type_without_gradient_can_be_given_one() -> None:
    x = ops.constant(2.0)
    y = make_one("TestNoGradientA", [x * 3.0])
    refused(lambda: ops.gradients(y, x), LookupError, r"no gradient is defined for .*TestNoGradientA")

    @ops.RegisterGradient("TestNoGradientA")
    def double(op: Any, grad: Any) -> Any:
        return grad * 2.0

    assert callable(double)
    assert run(ops.gradients(y, x)) == [6.0]
    assert ops.gradients(make_one("TestNoGradientB", [ops.constant(1.0)]), x) == [None]


def test_an_op_type_can_be_said_to_have_none() -> None:
    ops.NotDifferentiable("TestNoGradientA")
    ops.NoGradient("TestNoGradientB")
    x = ops.constant(2.0)
    for op_type in ("TestNoGradientA", "TestNoGradientB"):
        assert ops.gradients(make_one(op_type, [x]), x) == [None]


def test_registering_twice_is_a_key_error_that_says_where_the_first_was() -> None:
    ops.NotDifferentiable("TestNoGradientA")
    with pytest.raises(KeyError, match=r"is registered already at .*test_custom_gradients.py"):
        ops.RegisterGradient("TestNoGradientA")(lambda op, grad: grad)
    refused(lambda: ops.RegisterGradient("Sin")(lambda op, grad: grad), KeyError, "'Sin' is registered already")
    refused(lambda: ops.NotDifferentiable("Shape"), KeyError, "'Shape'")


@pytest.mark.parametrize("function", [ops.RegisterGradient, ops.NotDifferentiable])
def test_the_name_of_an_op_type_is_a_string(function: Any) -> None:
    refused(lambda: function(3), TypeError, "op_type must be a string, got 3")


def test_operations_in_a_block_can_have_another_gradient_than_their_type(graph: Graph) -> None:
    ops.RegisterGradient("Sevenfold")(lambda op, grad: 7.0 * grad)
    x = ops.constant(2.0)
    with graph.gradient_override_map({"Identity": "Sevenfold", "Sin": "Cos"}):
        y = ops.identity(x)
        z = ops.sin(x)
    assert y.op.get_attr("_gradient_op_type") == b"Sevenfold"
    assert "_gradient_op_type" not in ops.identity(x).op.attrs
    assert run(ops.gradients([y, ops.identity(x)], x)) == [8.0]
    assert run(ops.gradients(z, x)) == [pytest.approx(-np.sin(np.float32(2)))]


def test_a_name_without_gradient_is_a_lookup_error(graph: Graph) -> None:
    x = ops.constant(2.0)
    with graph.gradient_override_map({"Identity": "NobodyKnows"}):
        y = ops.identity(x)
    refused(lambda: ops.gradients(y, x), LookupError, "no gradient is defined for operation 'Identity'")


@for_each("given", [3, {"Sin": 3}, {3: "Sin"}, [("Sin", "Cos")]])
def test_a_gradient_override_map_is_from_strings_to_strings(graph: Graph, given: Any) -> None:
    with pytest.raises(TypeError, match="dictionary from strings"):
        with graph.gradient_override_map(given):
            pass


def test_a_registered_gradient_gives_one_value_for_each_input() -> None:
    ops.RegisterGradient("TestNoGradientA")(lambda op, grad: [grad, grad])
    x = ops.constant(2.0)
    refused(lambda: ops.gradients(make_one("TestNoGradientA", [x]), x), ValueError, "gave 2 values for 1 inputs")


def test_a_registered_gradient_gets_zeros_for_outputs_that_nothing_depends_on(graph: Graph) -> None:
    ops.RegisterGradient("Joined")(lambda op, *grads: [None, ops.concat(grads, 0)])
    x = ops.constant([1.0, 2.0, 3.0, 4.0])
    with graph.gradient_override_map({"Split": "Joined"}):
        first, _ = ops.split(x, 2)
    (found,) = run(ops.gradients(first * 5.0, x))
    assert found.tolist() == [5.0, 5.0, 0.0, 0.0]


# -- custom_gradient -------------------------------------------------------------------------------


def test_a_function_can_have_a_gradient_of_its_own() -> None:
    @ops.custom_gradient
    def log1pexp(x: Any) -> Any:
        e = ops.exp(x)
        return ops.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    x = ops.constant(100.0)
    assert (log1pexp(x).op.type, run(ops.gradients(log1pexp(x), x))) == ("IdentityN", [1.0])


def test_several_arguments_and_results_have_their_gradients() -> None:
    @ops.custom_gradient
    def both(x: Any, y: Any) -> Any:
        return [ops.sin(x), ops.cos(y)], lambda dx, dy: (dx * 5.0, dy * 3.0)

    x, y = ops.constant(1.0), ops.constant(2.0)
    a, b = both(x, y)
    assert (run(ops.gradients([a, b], [x, y])), run(ops.gradients(a, [x, y]))) == ([5.0, 3.0], [5.0, 0.0])
    assert run(ops.gradients(both(x, 3.0), x)) == [5.0]


def test_variables_that_are_read_inside_have_gradients_given_by_the_user() -> None:
    v = ops.Variable(3.0)

    @ops.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            assert variables == [v]
            return dy * 5.0, [dy * 11.0]

        return x * v, grad

    x = ops.constant(2.0)
    assert run([scaled(x), *ops.gradients(scaled(x), [x, v])]) == [6.0, 5.0, 11.0]


def test_a_gradient_that_does_not_take_the_variables_is_a_type_error() -> None:
    v = ops.Variable(3.0)
    with pytest.raises(TypeError, match="takes them as its argument 'variables'"):
        ops.custom_gradient(lambda x: (x * v, lambda dy: dy))(ops.constant(1.0))


def test_another_number_of_gradients_than_of_arguments_is_a_value_error() -> None:
    x = ops.constant(1.0)
    y = ops.custom_gradient(lambda x: (ops.sin(x), lambda dy: (dy, dy)))(x)
    refused(lambda: ops.gradients(y, x), ValueError, "gave 2 gradients of 1 arguments")
    v = ops.Variable(3.0)
    z = ops.custom_gradient(lambda x: (x * v, lambda dy, variables: (dy, [dy, dy])))(x)
    refused(lambda: ops.gradients(z, x), ValueError, "gave 2 gradients of 1 variables")


def test_custom_gradients_work_in_loops_and_conds() -> None:
    twice = ops.custom_gradient(lambda a: (a * a, lambda dy: dy * 3.0))
    x = ops.constant(2.0)
    _, y = ops.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, twice(a)), [0, x])
    z = ops.cond(x > 1.0, lambda: twice(x), lambda: x)
    assert run([y, z, *ops.gradients(y, x), *ops.gradients(z, x)]) == [16, 4, 9, 3]


def test_a_function_can_pass_gradients_as_if_it_were_not_there() -> None:
    x = ops.constant([0.2, 1.7])
    y = ops.grad_pass_through(ops.round)(x) * 2.0
    assert [v.tolist() for v in run([y, *ops.gradients(y, x)])] == [[0, 4], [2, 2]]


# -- hessians, aggregation -------------------------------------------------------------------------


def test_hessians_have_the_shape_of_x_twice() -> None:
    m = ops.constant([[1.0, 2.0], [3.0, 4.0]])
    (found,) = ops.hessians(ops.reduce_sum(m**3), m)
    assert found.shape.as_list() == [2, 2, 2, 2]
    assert run(found).reshape(4, 4).tolist() == np.diag([6.0, 12.0, 18.0, 24.0]).tolist()


def test_hessians_go_through_loops() -> None:
    x = ops.constant([1.0, 2.0])
    _, y = ops.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), [0, x])
    assert run(ops.hessians(ops.reduce_sum(y), [x]))[0].tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_hessians_of_what_does_not_depend_on_x_are_a_value_error() -> None:
    refused(lambda: ops.hessians(ops.constant(1.0), [ops.constant(2.0)]), ValueError, "do not depend on")


def test_contributions_are_added_up_alike_by_each_method() -> None:
    x = ops.constant(3.0)
    y = x * x + x * x
    method = ops.AggregationMethod
    assert method.DEFAULT == method.ADD_N
    for each in (0, method.EXPERIMENTAL_TREE, method.EXPERIMENTAL_ACCUMULATE_N, None):
        assert run(ops.gradients(y, x, aggregation_method=each)) == [12.0]
    refused(lambda: ops.gradients(y, x, aggregation_method="x"), ValueError, r"is one of \[0, 1, 2\], got 'x'")
