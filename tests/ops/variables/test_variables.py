"""Variables as users hold them: names, static types, places, reads, updates and collections."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from actorsession.errors import FailedPreconditionError
from actorsession.graph.dtypes import bool_, float32, float64, int32, int64, resource, string
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables import lists
from actorsession.ops.variables.variable import Variable
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each, refusing


def started(*variables: Variable) -> Variables:
    """State in which the variables have their first values."""
    state = Variables()
    evaluate([lists.variables_initializer(variables)], None, state)
    return state


def value_of(variable: Variable, state: Variables) -> Any:
    return evaluate([variable], None, state)[0]


# -- construction --------------------------------------------------------------------------------


@for_each("value, dtype", [(1, int32), (1.5, float32), (True, bool_), ("text", string), (np.float64(1), float64)])
def test_the_dtype_follows_the_rules_for_constants_unless_it_is_given(value: Any, dtype: Any) -> None:
    assert Variable(value).dtype is dtype
    assert Variable(1, dtype=float64).dtype is float64


def test_the_name_is_that_of_the_handle() -> None:
    w = Variable(1.0, name="w")
    assert w.name == "w:0"
    assert w.op.name == "w"
    assert w.op.type == "VarHandleOp"
    assert w.handle.dtype is resource


def test_the_nodes_of_a_variable_are_named_after_it(graph: Graph) -> None:
    Variable([1.0], name="w")
    assert [op.name for op in graph.get_operations()] == [
        "w/Initializer/initial_value",
        "w",
        "w/Assign",
        "w/Read/ReadVariableOp",
    ]


def test_a_tensor_as_first_value_is_used_as_it_is() -> None:
    first = constant([1.0, 2.0])
    assert Variable(first).initial_value is first


def test_a_function_builds_the_first_value_inside_the_scope_of_the_variable() -> None:
    w = Variable(lambda: constant([1.0, 2.0], name="start"), name="w")
    assert w.initial_value.op.name == "w/Initializer/start"
    assert w.shape == [2]
    np.testing.assert_array_equal(value_of(w, started(w)), [1.0, 2.0])


def test_making_a_variable_ignores_the_control_dependencies_around_it(graph: Graph) -> None:
    with graph.control_dependencies([constant(1.0, name="before")]):
        w = Variable(lambda: constant([1.0]), name="w")
    for op in graph.get_operations():
        assert op.control_inputs == ()
    assert w.initializer.control_inputs == ()


def test_a_variable_belongs_to_the_graph_of_its_first_value() -> None:
    with Graph().as_default() as other:
        first = constant(1.0)
    w = Variable(first)
    assert w.graph is other
    assert other.get_collection(GraphKeys.GLOBAL_VARIABLES) == [w]


def test_an_asked_shape_may_leave_dimensions_open() -> None:
    w = Variable([[1.0, 2.0]], shape=[None, 2])
    assert w.shape.sizes == (None, 2)
    grown = w.assign([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(evaluate([grown])[0], [[1.0, 2.0], [3.0, 4.0]])


def test_without_validation_the_shape_may_change() -> None:
    w = Variable([1.0], validate_shape=False)
    assert w.shape.sizes is None
    assert evaluate([w.assign([[1.0, 2.0]])])[0].shape == (1, 2)


def test_state_goes_into_the_container_of_the_scope(graph: Graph) -> None:
    with graph.container("box"):
        w = Variable(1.0, name="w")
    assert set(started(w).holders) == {("box", "w")}


# -- places --------------------------------------------------------------------------------------


def test_reads_and_updates_are_placed_where_the_handle_is(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        w = Variable([1.0, 2.0], name="w")
    with graph.device("/job:worker/task:0"):
        added = w.assign_add([1.0, 1.0])
        ops = [w.initializer, w.value().op, added.op, w.is_initialized().op]
        ops.extend(added.op.control_inputs)
    assert len(ops) == 5
    for op in ops:
        assert op.device == "/job:ps/task:1"
        assert op.groups() == ("loc:@w",)


def test_a_first_value_whose_type_is_known_beforehand_is_made_beside_the_handle() -> None:
    w = Variable(lambda: constant([1.0, 2.0]), name="w", dtype=float32, shape=[2])
    assert w.initial_value.op.groups() == ("loc:@w",)
    np.testing.assert_array_equal(value_of(w, started(w)), [1.0, 2.0])


def test_a_variable_may_be_placed_beside_another(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        w = Variable(1.0, name="w")
    with graph.colocate_with(w.op):
        slot = Variable(lambda: constant(0.0), name="slot", dtype=float32, shape=())
    assert slot.device == "/job:ps/task:1"
    assert slot.op.groups() == ("loc:@w",)
    assert slot.value().op.groups() == ("loc:@w",)


# -- reading -------------------------------------------------------------------------------------


def test_a_variable_stands_for_one_read_as_element_of_its_graph(graph: Graph) -> None:
    w = Variable(1.0)
    element = graph.as_graph_element(w)
    assert isinstance(element, Tensor)
    assert element is graph.as_graph_element(w)
    assert element.op.type == "ReadVariableOp"


def test_every_value_is_a_read_of_its_own() -> None:
    w = Variable(1.0)
    reads = {w.value(), w.value(), w.read_value(), w._operand(), w._as_graph_element()}
    assert len(reads) == 5
    assert {read.op.type for read in reads} == {"ReadVariableOp"}


def test_variables_compare_by_identity_and_have_a_telling_repr() -> None:
    a, b = Variable(1.0, name="a"), Variable(1.0)
    assert a != b
    assert repr(a) == "<Variable 'a:0' shape=() dtype=float32>"
    assert len({a, b, a}) == 2


def test_a_read_under_a_control_dependency_gives_the_value_after_it(graph: Graph) -> None:
    w = Variable(1.0)
    state = started(w)
    with graph.control_dependencies([w.assign(5.0, read_value=False)]):
        after = convert_to_tensor(w)
    assert evaluate([after], None, state) == [5.0]


# -- updates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_an_update_without_reading_is_an_operation(method: str) -> None:
    w = Variable(1.0)
    update = getattr(w, method)(2.0, name="change", read_value=False)
    assert isinstance(update, Operation)
    assert update.name == "change"


# -- collections ---------------------------------------------------------------------------------


def test_variables_join_the_collections_that_programs_look_into() -> None:
    a = Variable(1.0)
    b = Variable(1.0, trainable=False)
    c = Variable(1.0, collections=[GraphKeys.LOCAL_VARIABLES], trainable=False)
    assert lists.global_variables() == [a, b]
    assert lists.trainable_variables() == [a]
    assert lists.local_variables() == [c]


def test_a_trainable_variable_joins_the_trainable_ones_in_any_case() -> None:
    a = Variable(1.0, collections=["mine"])
    assert lists.trainable_variables() == [a]
    assert lists.global_variables() == []


def test_collections_can_be_narrowed_to_a_scope(graph: Graph) -> None:
    with graph.name_scope("a"):
        inside = Variable(1.0)
    Variable(1.0)
    assert lists.global_variables("a/") == [inside]


def test_initializers_give_first_values_to_what_exists_when_they_are_built() -> None:
    a = Variable([1.0, 2.0])
    local = Variable(3.0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
    state = Variables()
    evaluate([lists.global_variables_initializer()], None, state)
    assert value_of(a, state).tolist() == [1.0, 2.0]
    with pytest.raises(FailedPreconditionError):
        value_of(local, state)
    evaluate([lists.local_variables_initializer()], None, state)
    assert value_of(local, state) == 3.0


def test_variables_without_value_are_reported_by_name() -> None:
    a, b, c = (Variable(1.0, name=n) for n in "abc")
    state = started(b)
    everything, some = (lists.report_uninitialized_variables(), lists.report_uninitialized_variables([b, c]))
    assert evaluate([everything], None, state)[0].tolist() == [b"a", b"c"]
    assert evaluate([some], None, state)[0].tolist() == [b"c"]
    evaluate([a.initializer, c.initializer], None, state)
    assert evaluate([everything], None, state)[0].shape == (0,)
    assert evaluate([lists.report_uninitialized_variables([])])[0].shape == (0,)
    assert evaluate([lists.variables_initializer([])]) == [None]


def test_an_update_by_any_op_is_placed_beside_the_variable(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        w = Variable([1.0], name="w")
    rate, slope = constant(0.5), constant([1.0])
    update = w.add_update("ResourceApplyGradientDescent", [rate, slope], "step", use_locking=True)
    assert (update.name, update.device) == ("step", "/job:ps/task:1")
    assert evaluate([w.read_after(update)], None, started(w))[0].tolist() == [0.5]


def test_the_lists_of_variables_are_collections_that_can_be_narrowed(graph: Graph) -> None:
    found = {
        GraphKeys.MODEL_VARIABLES: lists.model_variables,
        GraphKeys.MOVING_AVERAGE_VARIABLES: lists.moving_average_variables,
    }
    for key, function in found.items():
        a, b = (Variable(1.0, name="a", collections=[key]), Variable(1.0, name="b", collections=[key]))
        assert function() == [a, b]
        assert function("b") == [b]


def test_a_tensor_of_ranks_fails_while_a_variable_has_no_value() -> None:
    assert lists.assert_variables_initialized() is None
    a, b = Variable([1.0]), Variable([[1.0]])
    both, one = lists.assert_variables_initialized(), lists.assert_variables_initialized([a])
    with pytest.raises(FailedPreconditionError):
        evaluate([both], None, started(a))
    assert evaluate([one], None, started(a)) == [1]
    assert evaluate([both], None, started(a, b))[0].tolist() == [1, 2]


test_what_makes_no_variable_or_does_not_fit_it_is_refused = refusing(
    (lambda: Variable(1.5, dtype=int32), TypeError, "int32"),
    (lambda: Variable(), ValueError, "initial_value"),
    (lambda: Variable(source(float32)), ValueError, r"shape=.*validate_shape=False"),
    (lambda: Variable([1.0, 2.0], shape=[3]), ValueError, r"has shape \(2,\), asked was shape \(3,\)"),
    (lambda: Variable(Variable(1.0).handle), TypeError, "resource"),
    (lambda: Variable(1, dtype=int64).assign(constant(1.0)), TypeError, "float32"),
    (lambda: Variable([1.0]).scatter_add(cast("Any", constant([1.0]))), TypeError, "take IndexedSlices, got Tensor"),
    (lambda: bool(Variable([1.0])), TypeError, "no truth value"),
)
