"""What ``gradients`` builds: values against closed forms, and the structure of the graph."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, IndexedSlices, Tensor, float64, gradients, ops
from actorsession.extend import OpDef
from actorsession.extend import register_op as register
from actorsession.ops.indexed_slices import to_dense
from tests.nodes import make_one
from tests.ops.cases import f32, i32
from tests.ops.interpreter import Variables, evaluate, source
from tests.ops.uses import back, dims, each_use, equals, gives, nodes
from tests.rows import for_each, refused


def _register(name: str, gradient: Any) -> None:
    def kernel(ctx: Any) -> Any:
        return lambda x: np.array(x)

    register(OpDef(name=name, infer=lambda ctx: [ctx.inputs[0]], kernel=kernel, gradient=gradient))


_register("TestNoGradient", None)
_register("TestFails", lambda op, grad: 1 / 0)
_register("TestWrongCount", lambda op, grad: [grad, grad])
_register("TestWrongType", lambda op, grad: [ops.cast(grad, float64)])
_register("TestWrongShape", lambda op, grad: [ops.constant([1.0, 2.0, 3.0])])

THREE, PAIR = f32(3), f32([1, 2])
DRAWN = np.random.default_rng(0)
X, W, T = (DRAWN.normal(size=s) for s in [(5, 3), (3, 2), (5, 2)])
COLUMN = np.ones((3, 1))
NO_TENSORS: list[Any] = ["x", 1.0, 3, [[]]]


def _frozen(x: Any) -> Any:
    return make_one("TestNoGradient", [x])


def _slices(rows: Any, indices: Any, *shape: Any) -> IndexedSlices:
    return IndexedSlices(ops.constant(rows), ops.constant(indices), *[ops.constant(s) for s in shape])


GIVEN = [
    gives(lambda x: gradients(ops.square(ops.square(x)), x), [f32(4 * 3**3)], THREE),
    gives(lambda x: gradients(x * x + x * 3.0 + ops.exp(x), [x]), [2 * PAIR + 3 + np.exp(PAIR)], PAIR, rtol=1e-6),
    gives(lambda x: gradients(ops.add_n([x * float(i) for i in range(10)]), x), [45.0], THREE),
    gives(lambda x: gradients([x * 2.0, ops.square(x), x], x), [9.0], THREE),
    gives(lambda a, b: gradients(a * b, [b, a, b]), [2.0, 5.0, 2.0], f32(2), f32(5)),
    gives(lambda a: [g for b in [a * 2.0] for g in gradients(a + b, [a, b])], [3.0, 1.0], THREE),
    gives(lambda x: gradients(x, x), [f32([1, 1])], PAIR),
    gives(lambda x: gradients(x, x, grad_ys=ops.constant([5.0, 6.0])), [f32([5, 6])], PAIR),
    gives(lambda x: gradients([x * 2.0] * 2, x), [4.0], THREE),
    gives(lambda x: gradients([x * x, x], x, grad_ys=[[10.0, 100.0], None]), [[21.0, 401.0]], PAIR),
    gives(lambda x: gradients(gradients(x * x * x, x)[0], x), [12.0], f32(2)),
    gives(lambda w: gradients(ops.square(ops.matmul(X, w) - T), w), [2 * X.T @ (X @ W - T)], W, rtol=1e-12),
    # A long chain needs no recursion.
    gives(lambda x: gradients(functools.reduce(lambda y, _: -y, range(2000), x), x), [1.0], f32(1)),
    equals(lambda: dims(*[g for x in [source("float32", [2, 3])] for g in gradients(ops.exp(x), x)]), [2, 3]),
    equals(lambda: dims(*[g for x in [source("float32", [None, 3])] for g in gradients(x * x, x)]), [None, 3]),
    gives(lambda x: gradients(x * _frozen(ops.constant(5.0)), x), [5.0], THREE),
    gives(lambda a: [g for b in [a * 2.0] for g in gradients(a + b, [a, b], stop_gradients=[a, b])], [1.0, 1.0], THREE),
    gives(lambda a: [g for b in [a * 2.0] for g in gradients(b * a, a, stop_gradients=b)], [6.0], THREE),
    gives(
        lambda a: [g for p, q in [ops.unstack(a, 2)] for g in gradients(p * p * q, [a, p], stop_gradients=p)],
        [[0, 9], 30],
        f32([3, 5]),
    ),
    gives(lambda a: [g for b in [_frozen(a)] for g in gradients(b * b, b, stop_gradients=b)], [6.0], THREE),
    # A grad_y with as many elements is arranged as its y, and a scalar is for all.
    gives(
        lambda x: [
            gradients(ops.reshape(x * x, [4]), x, grad_ys=ops.constant(g, float64))[0]
            for g in ([[1.0, 2.0, 3.0, 4.0]], 2.0)
        ],
        [[[2.0, 8.0], [18.0, 32.0]], [[4.0, 8.0], [12.0, 16.0]]],
        np.array([[1.0, 2.0], [3.0, 4.0]]),
    ),
    # Slices of several lookups, with a dense gradient, through another operation, and as what it starts from.
    back(
        lambda w: ops.reduce_sum(ops.gather(w, [0, 1]) * 2.0) + ops.reduce_sum(ops.gather(w, [1]) * 5.0),
        [[2, 2], [7, 7], [0, 0], [0, 0]],
        np.zeros((4, 2)),
    ),
    back(lambda w: ops.reduce_sum(ops.gather(w, [2])) + ops.reduce_sum(w * w), [[2], [2], [3]], COLUMN),
    back(lambda w: ops.gather(w * 3.0, [0, 0]), [[6], [0], [0]], COLUMN),
    gives(lambda x: gradients(x * 2.0, x, grad_ys=_slices([[7.0]], [1], [2, 1])), [[[0], [14]]], f32([[1], [2]])),
    *(equals(lambda x=x: gradients(ops.constant(1.0), [x]), [None]) for x in NO_TENSORS),
    back(lambda x, y: x * 2.0, [2.0, None], THREE, THREE),
    back(lambda x: ops.cast(x, "float32"), None, i32(2)),
    equals(lambda: [g for w in [ops.Variable(3.0)] for g in gradients(ops.constant(1.0) * 2.0, w)], [None]),
    # What an update added does not carry gradients.
    equals(lambda: [g for x in [ops.constant(1.0)] for g in gradients(ops.Variable(3.0).assign_add(x), x)], [None]),
]


def _at(x: Any, **options: Any) -> Any:
    """The gradient of a tensor by itself."""
    given = ops.constant(x)
    return gradients(given, given, **options)


def _other_graph() -> Any:
    with Graph().as_default():
        return ops.constant(1.0)


REFUSED = [
    (lambda: gradients(None, ops.constant(1.0)), TypeError, "got None"),
    (lambda: _at(1.0, unconnected_gradients="nothing"), ValueError, "nothing"),
    (lambda: gradients(source("float64", [2]), [], grad_ys=[_slices([1.0], [0])]), TypeError, "has dtype float32"),
    (lambda: _at([1.0, 2.0], grad_ys=ops.constant([1.0, 2.0, 3.0])), ValueError, r"grad_ys\[0\] has shape \(3,\)"),
    (lambda: gradients(ops.constant(1.0), [None]), ValueError, "None values not supported"),
    (lambda: gradients(ops.constant(1.0), [object()]), TypeError, "cannot make a tensor of object"),
    (lambda: gradients(ops.constant(1.0), _other_graph()), ValueError, "different graphs"),
    (lambda: _at(1j), TypeError, "complex"),
    (lambda: _at("a"), TypeError, "string"),
]


test_gradients_are_what_their_rows_say = each_use([*GIVEN, *REFUSED])


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
    x = ops.constant([1.0, 2.0])
    with pytest.raises(error, match=message) as caught:
        gradients(make_one(op_type, [x], name="odd"), x)
    assert f"'odd' (op type {op_type})" in caught.value.__notes__[0]


# -- what is promised by name in the page on semantics ---------------------------------------------


def test_an_x_on_which_no_y_depends_has_no_gradient() -> None:
    x, other = ops.constant(1.0), ops.constant(2.0)
    assert gradients(x * 2.0, [other]) == [None]


def test_zeros_are_given_for_it_on_request() -> None:
    other, w = ops.constant([1.0, 2.0]), ops.Variable([[1.0]])
    for wish in ("zero", ops.UnconnectedGradients.ZERO):
        found = gradients(ops.constant(1.0), [other, w], unconnected_gradients=wish)
        assert [z.tolist() for z in evaluate(found)] == [[0.0, 0.0], [[0.0]]]


def test_paths_through_integers_are_not_connected() -> None:
    x = ops.constant(2.0)
    assert gradients(ops.cast(ops.cast(x, "int32"), "float32"), x) == [None]


def test_paths_through_stop_gradient_are_not_connected() -> None:
    x = ops.constant(3.0)
    assert (gradients(ops.stop_gradient(x), x), evaluate(gradients(x * ops.stop_gradient(x), x))) == ([None], [3.0])


def test_comparisons_are_not_connected() -> None:
    x = ops.constant(3.0)
    assert gradients(ops.cast(x < 4.0, "float32"), x) == gradients(x < 4.0, x) == [None]


def test_another_number_of_grad_ys_is_a_value_error() -> None:
    refused(lambda: _at(1.0, grad_ys=[1.0, 1.0]), ValueError, "2 grad_ys for 1 ys")


def test_a_grad_y_of_another_dtype_is_a_type_error() -> None:
    refused(lambda: _at(1.0, grad_ys=ops.constant(1.0, float64)), TypeError, "float64")


def test_an_operation_on_a_path_without_gradient_is_a_lookup_error_that_names_it() -> None:
    x = ops.constant(1.0)
    y = x.graph.create_op("TestNoGradient", [x], {}, "odd").outputs[0]
    refused(lambda: gradients(y * 2.0, x), LookupError, r"'odd' \(op type TestNoGradient\).*test_gradients\.py")


def _state(variable: Any) -> Variables:
    state = Variables()
    evaluate([variable.initializer], None, state)
    return state


def test_the_gradient_of_a_lookup_in_a_variable_is_its_rows() -> None:
    w = ops.Variable(np.arange(8.0).reshape(4, 2))
    found = gradients(ops.gather(w.value(), [3, 1, 3]) * [[1.0], [2.0], [3.0]], w)[0]
    assert isinstance(found, IndexedSlices)
    values, indices, dense = evaluate([found.values, found.indices, to_dense(found)], None, _state(w))
    assert (indices.tolist(), values.tolist()) == ([3, 1, 3], [[1, 1], [2, 2], [3, 3]])
    assert dense.tolist() == [[0, 0], [2, 2], [0, 0], [4, 4]]


# -- variables, and the graph that is built --------------------------------------------------------


def test_the_gradient_of_a_variable_is_that_of_all_its_reads_and_of_one_read_leaves_the_others_out() -> None:
    w = ops.Variable(3.0)
    read = w.value()
    both = [*gradients(w * w.value() + w.read_value() * 2.0, w), *gradients(read * w.value() * 2.0, read)]
    assert evaluate(both, None, _state(w)) == [8.0, 6.0]


def test_slices_stay_slices_alone_and_become_dense_beside_a_dense_gradient(graph: Graph) -> None:
    w = ops.constant(COLUMN)
    alone = gradients(ops.reduce_sum(ops.gather(w, [0])) + ops.reduce_sum(ops.gather(w, [1])), w)[0]
    assert isinstance(alone, IndexedSlices)
    assert alone.shape == [3, 1]
    assert isinstance(gradients(ops.reduce_sum(ops.gather(w, [2])) + ops.reduce_sum(w * w), w)[0], Tensor)


def test_ten_uses_are_summed_by_one_node() -> None:
    x = ops.constant(2.0)
    y = ops.add_n([x * float(i) for i in range(10)])
    assert list(nodes(lambda: gradients(y, x)).values()).count("AddN") == 1


def test_new_nodes_stand_in_the_name_scope(graph: Graph) -> None:
    x = ops.constant(1.0)
    with graph.name_scope("layer"):
        y = ops.exp(x, name="e")
    names = list(nodes(lambda: gradients(y, x)))
    assert all(name.startswith("gradients/") for name in names)
    assert any(name.startswith("gradients/layer/e_grad/") for name in names)
    assert gradients([x * x], [x], name=None)[0].op.name.startswith("gradients")


def test_new_nodes_can_be_placed_beside_those_that_they_belong_to(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        x = ops.constant(1.0)
        y = ops.exp(x, name="e")
    free, tied = gradients(y, x)[0].op, gradients(y, x, colocate_gradients_with_ops=True)[0].op
    assert (free.device, tied.device, tied.groups()) == ("", "/job:ps/task:1", ("loc:@e",))


def test_gated_gradients_of_one_operation_are_ready_together() -> None:
    a, b = ops.constant(2.0), ops.constant(5.0)
    free, gated = gradients(a * b, [a, b]), gradients(a * b, [a, b], gate_gradients=True)
    assert evaluate(gated) == evaluate(free) == [5.0, 2.0]
    assert [bool(g.op.control_inputs) for g in (*free, *gated)] == [False, False, True, True]


def test_gradients_are_built_in_the_graph_of_their_tensors(graph: Graph) -> None:
    x = ops.constant(2.0)
    with Graph().as_default() as other:
        found = gradients(x * x, x)
    assert found[0].graph is graph
    assert other.get_operations() == []
