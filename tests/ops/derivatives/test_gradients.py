"""What ``gradients`` builds: values against closed forms, and the structure of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import (
    Graph,
    IndexedSlices,
    Tensor,
    Variable,
    cast,
    constant,
    float32,
    float64,
    gather,
    gradients,
    int32,
    matmul,
    reduce_sum,
    reshape,
    unstack,
)
from actorsession.extend import OpDef
from actorsession.extend import register_op as register
from actorsession.graph.node import spec
from actorsession.ops.arrays import array
from actorsession.ops.elements import arithmetic, elementwise
from actorsession.ops.indexed_slices import to_dense
from tests.nodes import make_one
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each


def _like_input(ctx: Any) -> Any:
    return [ctx.inputs[0]]


def _register(name: str, gradient: Any) -> None:
    register(OpDef(name=name, infer=_like_input, kernel=lambda ctx: lambda x: np.array(x), gradient=gradient))


_register("TestNoGradient", None)
_register("TestFails", lambda op, grad: 1 / 0)
_register("TestWrongCount", lambda op, grad: [grad, grad])
_register("TestWrongType", lambda op, grad: [cast(grad, float64)])
_register("TestWrongShape", lambda op, grad: [constant([1.0, 2.0, 3.0])])


# -- values --------------------------------------------------------------------------------------


def test_the_gradient_of_a_chain_is_the_product_of_derivatives() -> None:
    x = constant(3.0)
    y = elementwise.square(elementwise.square(x))
    assert evaluate(gradients(y, x)) == [4 * 3.0**3]


def test_contributions_along_several_paths_are_summed() -> None:
    x = constant([1.0, 2.0])
    y = x * x + x * 3.0 + elementwise.exp(x)
    found = evaluate(gradients(y, [x]))[0]
    np.testing.assert_allclose(found, 2 * np.array([1, 2]) + 3 + np.exp([1, 2]), rtol=1e-6)


def test_ten_uses_are_summed_by_one_node(graph: Graph) -> None:
    x = constant(2.0)
    y = arithmetic.add_n([x * float(i) for i in range(10)])
    before = len(graph.get_operations())
    assert evaluate(gradients(y, x)) == [45.0]
    added = [op for op in graph.get_operations()[before:] if op.type == "AddN"]
    assert [len(op.inputs) for op in added] == [10]


def test_several_ys_are_differentiated_as_their_sum() -> None:
    x = constant(3.0)
    assert evaluate(gradients([x * 2.0, elementwise.square(x), x], x)) == [2.0 + 6.0 + 1.0]


def test_there_is_one_gradient_per_x_in_the_order_asked() -> None:
    a, b = constant(2.0), constant(5.0)
    assert evaluate(gradients(a * b, [b, a, b])) == [2.0, 5.0, 2.0]


def test_the_gradient_of_an_x_includes_its_way_through_another_x() -> None:
    a = constant(3.0)
    b = a * 2.0
    assert evaluate(gradients(a + b, [a, b])) == [3.0, 1.0]


def test_an_x_that_is_a_y_has_the_gradient_it_starts_from() -> None:
    x = constant([1.0, 2.0])
    assert evaluate(gradients(x, x))[0].tolist() == [1.0, 1.0]
    assert evaluate(gradients(x, x, grad_ys=constant([5.0, 6.0])))[0].tolist() == [5.0, 6.0]


def test_a_y_given_twice_counts_twice() -> None:
    x = constant(3.0)
    y = x * 2.0
    assert evaluate(gradients([y, y], x)) == [4.0]


def test_gradients_start_from_grad_ys() -> None:
    x = constant([1.0, 2.0])
    y = x * x
    found = gradients([y, x], x, grad_ys=[[10.0, 100.0], None])
    np.testing.assert_array_equal(evaluate(found)[0], [21.0, 401.0])


def test_the_gradient_of_a_gradient_is_the_second_derivative() -> None:
    x = constant(2.0)
    first = gradients(x * x * x, x)[0]
    assert evaluate(gradients(first, x)) == [12.0]


def test_a_network_agrees_with_its_closed_form() -> None:
    rng = np.random.default_rng(0)
    x, w, t = (rng.normal(size=s) for s in [(5, 3), (3, 2), (5, 2)])
    weights = constant(w)
    difference = matmul(constant(x), weights) - constant(t)
    loss = reduce_sum(elementwise.square(difference))
    np.testing.assert_allclose(evaluate(gradients(loss, weights))[0], 2 * x.T @ (x @ w - t), rtol=1e-12)


def test_a_long_chain_needs_no_recursion() -> None:
    x = constant(1.0)
    y = x
    for _ in range(2000):
        y = -y
    assert evaluate(gradients(y, x)) == [1.0]


def test_a_gradient_has_the_static_shape_of_its_x() -> None:
    x = source(float32, [None, 3])
    assert gradients(reduce_sum(x * x), x)[0].shape.is_compatible_with([None, 3])
    fixed = source(float32, [2, 3])
    assert gradients(elementwise.exp(fixed), fixed)[0].shape == [2, 3]


# -- what is not connected -----------------------------------------------------------------------


def test_an_x_on_which_no_y_depends_has_no_gradient() -> None:
    x, other = constant(1.0), constant(2.0)
    assert gradients(x * 2.0, [other]) == [None]


def test_zeros_are_given_for_it_on_request() -> None:
    other, w = constant([1.0, 2.0]), Variable([[1.0]])
    for wish in ("zero", acts.autodiff.UnconnectedGradients.ZERO):
        found = gradients(constant(1.0), [other, w], unconnected_gradients=wish)
        assert [z.tolist() for z in evaluate(found)] == [[0.0, 0.0], [[0.0]]]


def test_another_wish_for_it_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        gradients(constant(1.0), constant(1.0), unconnected_gradients="nothing")


def test_paths_through_integers_are_not_connected() -> None:
    x = constant(2.0)
    assert gradients(cast(cast(x, int32), float32), x) == [None]


def test_integer_xs_are_not_connected() -> None:
    x = constant(2)
    assert gradients(cast(x, float32), x) == [None]


def test_paths_through_stop_gradient_are_not_connected() -> None:
    x = constant(3.0)
    assert gradients(array.stop_gradient(x), x) == [None]
    assert evaluate(gradients(x * array.stop_gradient(x), x)) == [3.0]


def test_comparisons_are_not_connected() -> None:
    x = constant(3.0)
    assert gradients(cast(x < 4.0, float32), x) == [None]
    assert gradients(x < 4.0, x) == [None]


def test_an_operation_without_gradient_off_the_paths_is_no_error() -> None:
    x = constant(3.0)
    frozen = make_one("TestNoGradient", [constant(5.0)])
    assert evaluate(gradients(x * frozen, x)) == [5.0]


def test_stop_gradients_are_taken_as_constant() -> None:
    a = constant(3.0)
    b = a * 2.0
    assert evaluate(gradients(a + b, [a, b], stop_gradients=[a, b])) == [1.0, 1.0]
    assert evaluate(gradients(b * a, a, stop_gradients=b)) == [6.0]


def test_one_of_several_outputs_of_an_operation_may_be_stopped() -> None:
    a = constant([3.0, 5.0])
    p, q = unstack(a)
    by_a, by_p = evaluate(gradients(p * p * q, [a, p], stop_gradients=p))
    assert (by_a.tolist(), by_p) == ([0.0, 9.0], 30.0)


def test_nothing_is_built_behind_what_is_stopped(graph: Graph) -> None:
    a = constant(3.0)
    b = make_one("TestNoGradient", [a])
    assert evaluate(gradients(b * b, b, stop_gradients=b)) == [6.0]


# -- variables -----------------------------------------------------------------------------------


def test_the_gradient_of_a_variable_is_that_of_all_its_reads() -> None:
    w = Variable(3.0)
    state = Variables()
    evaluate([w.initializer], None, state)
    loss = w * w.value() + w.read_value() * 2.0
    assert evaluate(gradients(loss, w), None, state) == [8.0]


def test_the_gradient_of_one_read_leaves_the_others_out() -> None:
    w = Variable(3.0)
    state = Variables()
    evaluate([w.initializer], None, state)
    read = w.value()
    assert evaluate(gradients(read * w.value() * 2.0, read), None, state) == [6.0]


def test_a_variable_that_was_not_read_has_no_gradient() -> None:
    w = Variable(3.0)
    assert gradients(constant(1.0) * 2.0, w) == [None]


def test_what_an_update_added_does_not_carry_gradients() -> None:
    x, w = constant(1.0), Variable(3.0)
    assert gradients(w.assign_add(x), x) == [None]


# -- slices --------------------------------------------------------------------------------------


def test_the_gradient_of_a_lookup_in_a_variable_is_its_rows() -> None:
    w = Variable(np.arange(8.0).reshape(4, 2))
    state = Variables()
    evaluate([w.initializer], None, state)
    rows = gather(w.value(), [3, 1, 3])
    found = gradients(rows * [[1.0], [2.0], [3.0]], w)[0]
    assert isinstance(found, IndexedSlices)
    values, indices, dense = evaluate([found.values, found.indices, to_dense(found)], None, state)
    assert indices.tolist() == [3, 1, 3]
    assert values.tolist() == [[1, 1], [2, 2], [3, 3]]
    assert dense.tolist() == [[0, 0], [2, 2], [0, 0], [4, 4]]


def test_slices_of_several_lookups_are_put_behind_each_other() -> None:
    w = constant(np.zeros((4, 2)))
    y = reduce_sum(gather(w, [0, 1]) * 2.0) + reduce_sum(gather(w, [1]) * 5.0)
    found = gradients(y, w)[0]
    assert isinstance(found, IndexedSlices)
    assert found.shape == [4, 2]
    assert evaluate([to_dense(found)])[0].tolist() == [[2, 2], [7, 7], [0, 0], [0, 0]]


def test_slices_and_a_dense_gradient_become_dense() -> None:
    w = constant(np.ones((3, 1)))
    found = gradients(reduce_sum(gather(w, [2])) + reduce_sum(w * w), w)[0]
    assert isinstance(found, Tensor)
    assert evaluate([found])[0].tolist() == [[2], [2], [3]]


def test_slices_pass_through_other_operations_as_dense_gradients() -> None:
    w = constant(np.ones((3, 1)))
    found = gradients(gather(w * 3.0, [0, 0]), w)[0]
    assert evaluate([found])[0].tolist() == [[6], [0], [0]]


def test_slices_may_be_given_as_grad_ys() -> None:
    x = constant([[1.0], [2.0]])
    start = IndexedSlices(constant([[7.0]]), constant([1]), constant([2, 1]))
    assert evaluate(gradients(x * 2.0, x, grad_ys=start))[0].tolist() == [[0], [14]]


# -- the graph that is built ---------------------------------------------------------------------


def test_a_loss_that_is_missing_is_refused() -> None:
    with pytest.raises(TypeError, match="got None"):
        gradients(None, constant(1.0))


def test_no_name_is_the_usual_name(graph: Graph) -> None:
    x = constant(2.0)
    [found] = gradients([x * x], [x], name=None)
    assert found is not None
    assert found.op.name.startswith("gradients/")


def test_new_nodes_stand_in_the_name_scope(graph: Graph) -> None:
    x = constant(1.0)
    with graph.name_scope("layer"):
        y = elementwise.exp(x, name="e")
    before = len(graph.get_operations())
    gradients(y, x)
    names = [op.name for op in graph.get_operations()[before:]]
    assert all(name.startswith("gradients/") for name in names)
    assert any(name.startswith("gradients/layer/e_grad/") for name in names)


def test_new_nodes_can_be_placed_beside_those_that_they_belong_to(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        x = constant(1.0)
        y = elementwise.exp(x, name="e")
    free = gradients(y, x)[0]
    tied = gradients(y, x, colocate_gradients_with_ops=True)[0]
    assert free.op.device == ""
    assert tied.op.device == "/job:ps/task:1"
    assert tied.op.groups() == ("loc:@e",)


def test_gated_gradients_of_one_operation_are_ready_together() -> None:
    a, b = constant(2.0), constant(5.0)
    free = gradients(a * b, [a, b])
    gated = gradients(a * b, [a, b], gate_gradients=True)
    assert evaluate(gated) == evaluate(free) == [5.0, 2.0]
    assert all(not g.op.control_inputs for g in free)
    assert all(g.op.control_inputs for g in gated)


def test_gradients_are_built_in_the_graph_of_their_tensors(graph: Graph) -> None:
    x = constant(2.0)
    y = x * x
    with Graph().as_default() as other:
        found = gradients(y, x)
    assert found[0].graph is graph
    assert other.get_operations() == []


# -- what does not fit ---------------------------------------------------------------------------


def test_another_number_of_grad_ys_is_a_value_error() -> None:
    x = constant(1.0)
    with pytest.raises(ValueError, match="2 grad_ys for 1 ys"):
        gradients(x, x, grad_ys=[1.0, 1.0])


def test_a_grad_y_of_another_dtype_is_a_type_error() -> None:
    x = constant(1.0)
    with pytest.raises(TypeError, match="float64"):
        gradients(x, x, grad_ys=constant(1.0, float64))
    rows = IndexedSlices(constant([1.0]), constant([0]))
    y = source("float64", [2])
    with pytest.raises(TypeError, match="has dtype float32"):
        gradients(y, y, grad_ys=[rows])


def test_a_grad_y_of_another_shape_is_a_value_error() -> None:
    x = constant([1.0, 2.0])
    with pytest.raises(ValueError, match=r"grad_ys\[0\] has shape \(3,\)"):
        gradients(x, x, grad_ys=constant([1.0, 2.0, 3.0]))


def test_an_operation_on_a_path_without_gradient_is_a_lookup_error_that_names_it() -> None:
    x = constant(1.0)
    y = make_one("TestNoGradient", [x], name="odd")
    with pytest.raises(LookupError, match=r"'odd' \(op type TestNoGradient\).*test_gradients\.py"):
        gradients(y * 2.0, x)


@for_each(
    "op_type, error, message",
    [
        ("TestFails", ZeroDivisionError, "division"),
        ("TestWrongCount", ValueError, "gave 2 values for 1 inputs"),
        ("TestWrongType", TypeError, "gave float64 for input 0"),
        ("TestWrongShape", ValueError, r"gave shape \(3,\) for input 0"),
    ],
)
def test_an_error_in_a_gradient_names_the_operation(op_type: str, error: type[Exception], message: str) -> None:
    x = constant([1.0, 2.0])
    with pytest.raises(error, match=message) as caught:
        gradients(make_one(op_type, [x], name="odd"), x)
    assert f"'odd' (op type {op_type})" in caught.value.__notes__[0]


@for_each("x", ["x", 1.0, 3, [[]]])
def test_nothing_depends_on_a_value_that_is_no_tensor(x: Any) -> None:
    assert gradients(constant(1.0), [x]) == [None]


def test_what_is_no_value_has_no_gradient() -> None:
    with pytest.raises(ValueError, match="None values not supported"):
        gradients(constant(1.0), [None])
    with pytest.raises(TypeError, match="cannot make a tensor of object"):
        gradients(constant(1.0), [object()])


def test_tensors_of_two_graphs_are_a_value_error() -> None:
    with Graph().as_default():
        other = constant(1.0)
    with pytest.raises(ValueError, match="different graphs"):
        gradients(constant(1.0), other)


def test_a_complex_y_needs_a_grad_y() -> None:
    y = source("complex64", [])
    with pytest.raises(TypeError, match="complex"):
        gradients(y, y)


def test_a_y_that_is_no_number_has_no_gradient() -> None:
    y = make_one("TestSource", (), {"dtype": spec("string", []).dtype})
    with pytest.raises(TypeError, match="string"):
        gradients(y, y)


def test_a_grad_y_with_as_many_elements_is_arranged_as_its_y_and_a_scalar_is_for_all() -> None:
    x = source("float64", [2, 2])
    y = reshape(x * x, [4])
    fed: Any = {x: np.array([[1.0, 2.0], [3.0, 4.0]])}
    arranged = gradients(y, x, grad_ys=constant([[1.0, 2.0, 3.0, 4.0]], float64))
    same = gradients(y, x, grad_ys=constant(2.0, float64))
    np.testing.assert_allclose(evaluate(arranged, fed)[0], [[2.0, 8.0], [18.0, 32.0]])
    np.testing.assert_allclose(evaluate(same, fed)[0], [[4.0, 8.0], [12.0, 16.0]])
