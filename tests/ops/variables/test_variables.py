"""Variables as users hold them: how they are made, named, placed, read, updated, copied, loaded and listed."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.errors import FailedPreconditionError
from actorsession.graph.dtypes import resource
from actorsession.ops.variables import lists
from actorsession.ops.variables.updates import batch_places
from tests.ops.interpreter import Variables, evaluate, source
from tests.ops.uses import each_use, equals, gives
from tests.rows import refused


def started(*variables: acts.Variable) -> Variables:
    """State in which the variables have their first values."""
    state = Variables()
    evaluate([lists.variables_initializer(variables)], None, state)
    return state


def values(*fetches: Any, of: Any = ()) -> list[Any]:
    """Plain values of fetches, with the first values of variables: those fetched, or others."""
    state = started(*(of or [f for f in fetches if isinstance(f, acts.Variable)]))
    return [np.asarray(v).tolist() for v in evaluate(list(fetches), None, state)]


def _in(block: Any, build: Any) -> Any:
    with block:
        return build()


def _ps(**given: Any) -> acts.Variable:
    return cast(
        acts.Variable,
        _in(acts.get_default_graph().device("/job:ps/task:1"), lambda: acts.Variable([1.0], name="w", **given)),
    )


# -- names, types, places --------------------------------------------------------------------------


def _named() -> Any:
    w = acts.Variable(1.0, name="w")
    return w.name, w.op.name, w.op.type, w.handle.dtype


def _nodes() -> Any:
    acts.Variable([1.0], name="w")
    return [op.name for op in acts.get_default_graph().get_operations()]


def _function() -> Any:
    w = acts.Variable(lambda: acts.constant([1.0, 2.0], name="start"), name="w")
    return w.initial_value.op.name, w.shape.as_list(), *values(w)


def _around() -> Any:
    """Control dependencies around a variable are none of its nodes."""
    with acts.get_default_graph().control_dependencies([acts.constant(1.0, name="before")]):
        acts.Variable(lambda: acts.constant([1.0]), name="w")
    return {op.control_inputs for op in acts.get_default_graph().get_operations()}


def _elsewhere() -> Any:
    """A variable belongs to the graph of its first value."""
    with acts.Graph().as_default() as other:
        first = acts.constant(1.0)
    w = acts.Variable(first)
    return w.graph is other, other.get_collection(acts.GraphKeys.GLOBAL_VARIABLES) == [w], w.initial_value is first


def _open(**given: Any) -> Any:
    """What is known of the shape of a variable, and that of a larger value."""
    w = acts.Variable([[1.0, 2.0]], **given)
    return w.shape.sizes, evaluate([w.assign([[1.0, 2.0], [3.0, 4.0]])])[0].shape


def _container() -> Any:
    return set(started(_in(acts.get_default_graph().container("box"), lambda: acts.Variable(1.0, name="w"))).holders)


def _places() -> Any:
    """Of reads and updates, which are made elsewhere."""
    w = _ps()
    with acts.get_default_graph().device("/job:worker/task:0"):
        added = w.assign_add([1.0])
        found = [w.initializer, w.value().op, added.op, w.is_initialized().op, *added.op.control_inputs]
    return len(found), {(op.device, op.groups()) for op in found}


def _beside() -> Any:
    w = acts.Variable(lambda: acts.constant([1.0, 2.0]), name="w", dtype=acts.float32, shape=[2])
    return w.initial_value.op.groups(), *values(w)


def _slot() -> Any:
    make = lambda: acts.Variable(lambda: acts.constant(0.0), name="slot", dtype=acts.float32, shape=())  # noqa: E731
    slot = _in(acts.get_default_graph().colocate_with(_ps().op), make)
    return slot.device, slot.op.groups(), slot.value().op.groups()


MADE: list[Any] = [
    *(
        equals(lambda value=value: acts.Variable(value).dtype, dtype)
        for value, dtype in (
            (1, acts.int32),
            (1.5, acts.float32),
            (True, acts.bool_),
            ("text", acts.string),
            (np.float64(1), acts.float64),
        )
    ),
    equals(lambda: acts.Variable(1, dtype=acts.float64).dtype, acts.float64),
    equals(_named, ("w:0", "w", "VarHandleOp", resource)),
    equals(_nodes, ["w/Initializer/initial_value", "w", "w/Assign", "w/Read/ReadVariableOp"]),
    equals(_function, ("w/Initializer/start", [2], [1.0, 2.0])),
    equals(_around, {()}),
    equals(_elsewhere, (True, True, True)),
    equals(lambda: _open(shape=[None, 2]), ((None, 2), (2, 2))),
    equals(lambda: _open(validate_shape=False), (None, (2, 2))),
    equals(_container, {("box", "w")}),
    equals(_places, (5, {("/job:ps/task:1", ("loc:@w",))})),
    # A first value whose type is known beforehand is made beside the handle; a variable may be placed beside another.
    equals(_beside, (("loc:@w",), [1.0, 2.0])),
    equals(_slot, ("/job:ps/task:1", ("loc:@w",), ("loc:@w",))),
    equals(lambda: repr(acts.Variable(1.0, name="a")), "<Variable 'a:0' shape=() dtype=float32>"),
    equals(lambda: acts.Variable(1.0) == acts.Variable(1.0), False),
    # Variables are trained unless their copies are only read together, and remember what was asked for.
    equals(lambda: [v.trainable for v in _synchronized()], [True, False, True]),
    equals(
        lambda: acts.Variable(1.0, aggregation=acts.variables.VariableAggregation.MEAN).aggregation,
        acts.variables.VariableAggregation.MEAN,
    ),
    equals(lambda: acts.Variable(1.0).synchronization, acts.variables.VariableSynchronization.AUTO),
    equals(lambda: acts.variables.VariableAggregation(3), acts.variables.VariableAggregation.ONLY_FIRST_REPLICA),
    (lambda: acts.Variable(1.5, dtype=acts.int32), TypeError, "int32"),
    (lambda: acts.Variable(), ValueError, "initial_value"),
    (lambda: acts.Variable(source(acts.float32)), ValueError, r"shape=.*validate_shape=False"),
    (lambda: acts.Variable([1.0, 2.0], shape=[3]), ValueError, r"has shape \(2,\), asked was shape \(3,\)"),
    (lambda: acts.Variable(acts.Variable(1.0).handle), TypeError, "resource"),
    (lambda: acts.Variable(1.0, constraint=cast("Any", 3)), ValueError, "constraint is a function or None, got 3"),
    (lambda: acts.Variable(1.0, variable_def=object()), ValueError, "are mutually exclusive"),
    (lambda: acts.Variable(1.0, collections="mine"), ValueError, "list, tuple or set"),
    (lambda: bool(acts.Variable([1.0])), TypeError, "no truth value"),
]


def _synchronized() -> Any:
    on_read = acts.variables.VariableSynchronization.ON_READ
    yield from (acts.Variable(1.0), acts.Variable(1.0, synchronization=on_read))
    yield acts.Variable(1.0, trainable=True, synchronization=on_read)


# -- reads and updates -----------------------------------------------------------------------------


def _element() -> Any:
    """A variable stands for one read as an element of its graph; every value is a read of its own."""
    w = acts.Variable(1.0)
    element = w.graph.as_graph_element(w)
    assert isinstance(element, acts.Tensor)
    reads = {w.value(), w.value(), w.read_value(), w._operand(), w._as_graph_element()}
    return element is w.graph.as_graph_element(w), len(reads), {read.op.type for read in (*reads, element)}


def _after() -> Any:
    w = acts.Variable(1.0)
    with acts.get_default_graph().control_dependencies([w.assign(5.0, read_value=False)]):
        return values(acts.convert_to_tensor(w), of=[w])


def _update(method: str) -> Any:
    update = getattr(acts.Variable(1.0), method)(2.0, name="change", read_value=False)
    return isinstance(update, acts.Operation), update.name


def _any_op() -> Any:
    w = _ps()
    update = w.add_update(
        "ResourceApplyGradientDescent", [acts.constant(0.5), acts.constant([1.0])], "step", use_locking=True
    )
    return update.name, update.device, *values(w.read_after(update), of=[w])


def _copied() -> Any:
    """What readers take is one copy, on a device of its own."""
    v = _ps(caching_device="/job:worker/task:0")
    copy = v.value()
    assert copy is v.value()
    assert (copy.op.groups(), copy.op.inputs[0].op.type) == ((), "ReadVariableOp")
    kinds = [t.op.type for t in (copy, v.assign_add([1.0]))]
    return kinds, [t.device for t in (copy, copy.op.inputs[0], v.read_value())]


def _slope() -> Any:
    v = acts.Variable([1.0, 2.0], caching_device="/cpu:0")
    return values(*ops.gradients(ops.reduce_sum(v * v), [v]), of=[v])


def _chosen() -> Any:
    return acts.Variable(1.0, caching_device=lambda op: "/cpu:0" if op.type == "Identity" else "").value().device


def _rows() -> Any:
    v = acts.Variable([[1.0, 2.0], [3.0, 4.0]])
    return values(v.sparse_read([1]), v.gather_nd([[0, 1]]), of=[v])


def _narrowed(*shapes: Any) -> acts.Variable:
    v = acts.Variable(source(acts.float32), validate_shape=False)
    for shape in shapes:
        v.set_shape(shape)
    assert v.shape == v.value().shape == v.get_shape()
    return v


def _in_place(operator: str) -> Any:
    v: Any = acts.Variable(1.0)
    getattr(v, operator)(1.0)


USED: list[Any] = [
    equals(_element, (True, 5, {"ReadVariableOp"})),
    equals(_after, [5.0]),
    *(equals(lambda m=m: _update(m), (True, "change")) for m in ("assign", "assign_add", "assign_sub")),
    equals(_any_op, ("step", "/job:ps/task:1", [0.5])),
    equals(_copied, (["Identity", "ReadVariableOp"], ["/job:worker/task:0", "/job:ps/task:1", "/job:ps/task:1"])),
    equals(_chosen, "/device:CPU:0"),
    equals(_slope, [[2.0, 4.0]]),
    equals(_rows, [[[3.0, 4.0]], [2.0]]),
    equals(lambda: _narrowed([None, 2], [3, None]).shape.as_list(), [3, 2]),
    (lambda: _narrowed([3, 2], [4, 2]), ValueError, "not compatible"),
    (lambda: _narrowed([3, 2]).assign([1.0]), ValueError, r"\(3, 2\)"),
    (lambda: acts.Variable(1, dtype=acts.int64).assign(acts.constant(1.0)), TypeError, "float32"),
    (lambda: acts.Variable([1.0]).scatter_add(cast("Any", acts.constant([1.0]))), TypeError, "take IndexedSlices, got"),
    (lambda: _in_place("__iadd__"), RuntimeError, r"variable \+= value.*assign_add"),
    (lambda: _in_place("__isub__"), RuntimeError, r"variable -= value.*assign_sub"),
    (lambda: acts.Variable([1.0]).load([1.0]), ValueError, "No default session"),
    # Positions of a batch stand before the indices.
    equals(lambda: values(batch_places(acts.constant([[5, 6], [7, 8]]))), [[[[0, 5], [0, 6]], [[1, 7], [1, 8]]]]),
    (lambda: batch_places(source("int32")), ValueError, "known rank"),
]


# -- collections -----------------------------------------------------------------------------------


def _listed() -> Any:
    a, b = acts.Variable(1.0), acts.Variable(1.0, trainable=False)
    c = acts.Variable(1.0, collections=[acts.GraphKeys.LOCAL_VARIABLES], trainable=False)
    return lists.global_variables() == [a, b], lists.trainable_variables() == [a], lists.local_variables() == [c]


def _mine() -> Any:
    """A trainable variable joins the trainable ones in any case, and a collection named twice is joined once."""
    a = acts.Variable(1.0, collections=["mine", "mine"])
    return lists.trainable_variables() == a.graph.get_collection("mine") == [a], lists.global_variables()


def _scoped() -> Any:
    inside = _in(acts.get_default_graph().name_scope("a"), lambda: acts.Variable(1.0))
    acts.Variable(1.0)
    return lists.global_variables("a/") == [inside]


def _other_lists() -> Any:
    for key, function in (
        (acts.GraphKeys.MODEL_VARIABLES, lists.model_variables),
        (acts.GraphKeys.MOVING_AVERAGE_VARIABLES, lists.moving_average_variables),
    ):
        a, b = (acts.Variable(1.0, name=name, collections=[key]) for name in "ab")
        yield function() == [a, b] and function("b") == [b]


LISTED: list[Any] = [
    equals(_listed, (True, True, True)),
    equals(_mine, (True, [])),
    equals(_scoped, True),
    equals(lambda: [*_other_lists()], [True, True]),
    gives(lambda: lists.report_uninitialized_variables([]), np.zeros(0, object)),
    equals(lambda: evaluate([lists.variables_initializer([])]), [None]),
    equals(lambda: lists.assert_variables_initialized(), None),
]


test_variables_do_what_their_rows_say = each_use([*MADE, *USED, *LISTED])


def test_initializers_give_first_values_to_what_exists_when_they_are_built() -> None:
    a, state = acts.Variable([1.0, 2.0]), Variables()
    local = acts.Variable(3.0, trainable=False, collections=[acts.GraphKeys.LOCAL_VARIABLES])
    evaluate([lists.global_variables_initializer()], None, state)
    assert evaluate([a], None, state)[0].tolist() == [1.0, 2.0]
    refused(lambda: evaluate([local], None, state), FailedPreconditionError)
    evaluate([lists.local_variables_initializer()], None, state)
    assert evaluate([local], None, state) == [3.0]


def test_variables_without_value_are_reported_by_name_and_fail_a_tensor_of_ranks() -> None:
    a, b, c = (acts.Variable(1.0, name=n) for n in "abc")
    everything, some = lists.report_uninitialized_variables(), lists.report_uninitialized_variables([b, c])
    ranks = lists.assert_variables_initialized([a, b])
    state = started(b)
    assert [v.tolist() for v in evaluate([everything, some], None, state)] == [[b"a", b"c"], [b"c"]]
    refused(lambda: evaluate([ranks], None, state), FailedPreconditionError)
    evaluate([a.initializer, c.initializer], None, state)
    assert [v.tolist() for v in evaluate([everything, ranks], None, state)] == [[], [0, 0]]


# -- in sessions -----------------------------------------------------------------------------------


def test_a_value_is_loaded_into_one_session() -> None:
    v = acts.Variable([1.0, 2.0])
    with acts.Session() as one, acts.Session() as other:
        other.run(v.initializer)
        v.load([3.0, 4.0], one)
        assert (v.eval(one).tolist(), v.eval(other).tolist()) == ([3.0, 4.0], [1.0, 2.0])
        with one.as_default():
            v.load(np.array([5.0, 6.0]))
            assert v.eval().tolist() == [5.0, 6.0]
        refused(lambda: v.load([1.0, 2.0, 3.0], one), ValueError, "shape")


async def test_loading_can_be_awaited() -> None:
    v = acts.Variable([1.0, 2.0])
    async with acts.AsyncSession() as sess:
        await v.load([3.0, 4.0], sess)
        assert (await sess.run(v)).tolist() == [3.0, 4.0]


def test_the_first_value_stands_in_for_a_value_that_is_not_there_yet() -> None:
    v = acts.Variable(ops.random_normal([3]))
    w = acts.Variable(v.initialized_value() * 2.0)
    with acts.Session() as sess:
        sess.run(ops.global_variables_initializer())
        assert (sess.run(w) == 2.0 * sess.run(v)).all()
        sess.run(v.assign([7.0, 8.0, 9.0]))
        sess.run(w.initializer)
        assert sess.run(w).tolist() == [14.0, 16.0, 18.0]


def test_a_first_value_made_of_another_variable_is_had_in_the_same_step() -> None:
    """Reads and updates of one variable run in the order in which they were built."""
    v = acts.Variable(ops.random_normal([200, 200]))
    w = acts.Variable(ops.matmul(v, v))
    x = acts.Variable(w + v)
    with acts.Session() as sess:
        sess.run(ops.global_variables_initializer())
        first, product, total = sess.run([v, w, x])
    np.testing.assert_array_equal(total, product + first)


# -- who has a say when a variable is made ---------------------------------------------------------


def test_creators_are_asked_from_the_inside_out() -> None:
    log: list[str] = []

    def outer(next_creator: Any, **kwargs: Any) -> Any:
        log.append(f"outer {kwargs['name']} {kwargs['trainable']}")
        return next_creator(**kwargs)

    def inner(next_creator: Any, **kwargs: Any) -> Any:
        log.append("inner")
        return next_creator(**{**kwargs, "trainable": False})

    with acts.variables.variable_creator_scope(outer), acts.variables.variable_creator_scope(inner):
        v = acts.Variable(1.0, name="v")
        w = acts.get_variable("w", [2])
    assert (v.trainable, w.trainable, acts.Variable(1.0).trainable) == (False, False, True)
    assert log == ["inner", "outer v False", "inner", "outer w False"]


def test_a_creator_gets_every_argument_by_name() -> None:
    seen: dict[str, Any] = {}

    def creator(next_creator: Any, **kwargs: Any) -> Any:
        seen.update(kwargs)
        return next_creator(**kwargs)

    with acts.variables.variable_creator_scope(creator):
        acts.Variable(1.0, False, ["mine"], dtype="float64")
    assert sorted(seen) == [
        "aggregation", "caching_device", "collections", "constraint", "dtype", "expected_shape",
        "import_scope", "initial_value", "name", "shape", "synchronization", "trainable",
        "use_resource", "validate_shape", "variable_def",
    ]  # fmt: skip
    assert (seen["initial_value"], seen["trainable"], seen["collections"]) == (1.0, False, ["mine"])
    assert (seen["dtype"], seen["validate_shape"], seen["shape"]) == ("float64", True, None)


def test_a_creator_may_make_something_else() -> None:
    with acts.variables.variable_creator_scope(lambda next_creator, **kwargs: "anything"):
        made: list[Any] = [acts.Variable(1.0), acts.get_variable("w", [2])]
    assert made == ["anything", "anything"]


def test_creators_belong_to_a_graph_and_a_block() -> None:
    with acts.variables.variable_creator_scope(lambda next_creator, **kwargs: "anything"):
        with acts.Graph().as_default():
            assert isinstance(acts.Variable(1.0), acts.Variable)
        with pytest.raises(KeyError), acts.variables.variable_creator_scope(lambda make, **kwargs: "other"):
            raise KeyError
        made: Any = acts.Variable(1.0)
        assert made == "anything"
    assert isinstance(acts.Variable(1.0), acts.Variable)


def test_kinds_of_variables_have_their_own_making() -> None:
    class Mine(acts.Variable):
        pass

    with acts.variables.variable_creator_scope(lambda next_creator, **kwargs: "anything"):
        assert isinstance(Mine(1.0), Mine)


@pytest.mark.parametrize("use_resource", [True, False])
def test_an_initial_value_from_inside_a_loop_is_refused(use_resource: bool) -> None:
    def made(lazily: bool) -> Any:
        first = acts.zeros([])
        value = (lambda: acts.zeros([])) if lazily else first
        return acts.Variable(value, use_resource=use_resource).read_value()

    def looped(lazily: bool) -> Any:
        return acts.while_loop(lambda i, _: i < 3, lambda i, _: (i + 1, made(lazily)), [0, 0.0])

    with acts.Graph().as_default():
        refused(lambda: looped(False), ValueError, "inside a control-flow construct, 'while'")
        assert len(looped(True)) == 2


def test_a_variable_is_made_of_the_names_of_its_nodes() -> None:
    with acts.Graph().as_default():
        first = acts.Variable(3.0, trainable=False)
        again: Any = acts.Variable(variable_def=first.to_proto())
        assert (again.name, again.trainable) == (first.name, False)
