"""Variables by name: new ones, shared ones, first values, collections and losses."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import (
    AUTO_REUSE,
    Graph,
    GraphKeys,
    Tensor,
    Variable,
    bool_,
    complex64,
    constant,
    float16,
    float32,
    float64,
    get_variable,
    int32,
    int64,
    ops,
    string,
)
from actorsession import variable_scope as scoped
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each, refused, refusing


def first_value(variable: Variable) -> Any:
    return evaluate([variable.initial_value])[0]


# -- sharing ---------------------------------------------------------------------------------------


def test_a_shared_variable_is_the_same_object() -> None:
    with scoped("a", reuse=AUTO_REUSE):
        w = get_variable("w", [2])
        assert get_variable("w", [2]) is w
    with scoped("a", reuse=True):
        assert get_variable("w") is w
        assert get_variable("w", initializer=constant([1.0, 2.0, 3.0])) is w


@for_each(
    "reuse, arguments, match",
    [
        (None, {"name": "w", "shape": [2]}, r"w already exists.*reuse=True or reuse=AUTO_REUSE"),
        (True, {"name": "q", "shape": [2]}, r"q does not exist.*AUTO_REUSE"),
        (True, {"name": "v", "shape": []}, r"was not created with get_variable"),
        (True, {"name": "w", "shape": [3]}, r"specified shape \(3,\) and found shape \(2,\)"),
        (True, {"name": "w", "shape": [2], "dtype": int32}, "specified dtype int32 and found dtype float32"),
        (True, {"name": "w", "shape": [2], "dtype": float64}, "specified dtype float64"),
    ],
)
def test_who_shares_asks_for_what_is_there(reuse: Any, arguments: dict[str, Any], match: str) -> None:
    Variable(1.0, name="v")
    get_variable("w", [2])
    with scoped("", reuse=reuse), pytest.raises(ValueError, match=match):
        get_variable(**arguments)


def test_several_threads_that_ask_for_one_name_get_one_variable(graph: Graph) -> None:
    found: list[Any] = []
    together = threading.Barrier(8)

    def ask() -> None:
        together.wait()
        with graph.as_default(), scoped("a", reuse=AUTO_REUSE):
            found.append(get_variable("w", [2]))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), len(set(found))) == (8, 1)


# -- first values ----------------------------------------------------------------------------------


def test_floats_start_as_glorot_says_and_others_as_zeros() -> None:
    assert get_variable("f", [2]).initial_value.name.startswith("f/Initializer/random_uniform")
    for name, dtype in (("i", int32), ("b", bool_), ("l", int64)):
        assert first_value(get_variable(name, [2], dtype)).tolist() == [0, 0]
    assert first_value(get_variable("s", [2], string)).tolist() == [b"", b""]
    refused(lambda: get_variable("c", [2], complex64), ValueError, "complex64 needs an initializer")


@for_each(
    "initializer",
    [
        ops.ones_initializer,
        ops.ones_initializer(),
        lambda shape, dtype: ops.ones(shape, dtype),
        lambda shape, dtype, partition_info: ops.ones(shape, dtype),
        lambda shape, **keywords: ops.ones(shape, keywords["dtype"]),
    ],
    ids=["class", "instance", "two", "three", "keywords"],
)
def test_an_initialiser_is_a_class_or_a_function_of_shape_and_dtype(initializer: Any) -> None:
    with scoped("a", partitioner=None):
        w = get_variable("w", [2], float64, initializer)
    assert w.dtype is float64
    assert first_value(w).tolist() == [1.0, 1.0]


@for_each(
    "value, dtype, shape",
    [
        ([1.0, 2.0], float32, [2]),
        (3, int32, []),
        (np.zeros((2, 1)), float64, [2, 1]),
        ("text", string, []),
        (lambda: np.zeros(3), float64, [3]),
        (lambda: constant([1.0, 2.0]), float32, [2]),
        (lambda: Variable([1.0, 2.0]), float32, [2]),
    ],
)
def test_a_value_brings_its_own_shape_and_dtype(value: Any, dtype: Any, shape: Any) -> None:
    w = get_variable("w", initializer=value)
    assert (w.dtype, w.shape) == (dtype, shape)


def test_a_plain_value_takes_the_dtype_asked_for_if_it_fits() -> None:
    assert get_variable("w", dtype=int64, initializer=[1, 2]).dtype is int64
    with pytest.raises(ValueError, match="does not fit the dtype asked for"):
        get_variable("v", dtype=int32, initializer=[1.0, 2.0])
    with pytest.raises(ValueError, match="holds float32, asked is dtype int32"):
        get_variable("v", dtype=int32, initializer=constant([1.0]))


@for_each(
    "arguments, match",
    [
        ({}, "did not get an initializer, so its `shape`"),
        ({"shape": [None, 2]}, r"\(w\) must be fully defined, got \(None, 2\)"),
        ({"shape": [2], "initializer": [1.0, 2.0]}, "do not specify shape"),
        ({"shape": [], "initializer": 3.0}, "do not specify shape"),
        ({"initializer": ops.zeros_initializer()}, "needs shape="),
        ({"shape": [2], "initializer": lambda shape, dtype: ops.zeros([3])}, r"\(3,\)"),
        ({"shape": [2], "collections": "mine"}, "list, tuple or set"),
    ],
)
def test_what_cannot_become_a_variable_is_refused(arguments: dict[str, Any], match: str) -> None:
    refused(lambda: get_variable("w", **arguments), ValueError, match)
    assert (ops.global_variables(), get_variable("w", [2]).shape) == ([], [2])


def test_without_validation_the_shape_of_a_first_value_may_be_unknown() -> None:
    refused(lambda: get_variable("v", initializer=source(float32)), ValueError, "no fully known shape")
    w = get_variable("w", initializer=source(float32), validate_shape=False)
    assert w.shape.rank is None


def test_making_a_variable_waits_for_nothing_around(graph: Graph) -> None:
    with graph.control_dependencies([constant(1.0)]):
        w = get_variable("w", [2], regularizer=ops.reduce_sum)
    assert w.initializer.control_inputs == ()
    assert graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)[0].op.control_inputs == ()


# -- collections and losses ------------------------------------------------------------------------


def test_variables_join_collections_as_asked() -> None:
    v = get_variable("v", [1])
    w = get_variable("w", [1], collections=["mine"], trainable=False)
    assert (ops.global_variables(), ops.trainable_variables(), w.graph.get_collection("mine")) == ([v], [v], [w])


def test_local_variables_are_neither_global_nor_trained() -> None:
    v = acts.variables.get_local_variable("v", [1])
    w = acts.variables.get_local_variable("w", [1], collections=["mine"])
    assert (ops.local_variables(), ops.global_variables(), ops.trainable_variables()) == ([v, w], [], [])
    assert v.graph.get_collection("mine") == [w]


def test_a_regulariser_makes_one_loss_where_the_variable_is_made(graph: Graph) -> None:
    with scoped("a", regularizer=ops.reduce_sum, reuse=AUTO_REUSE), graph.device("/cpu:0"):
        w = get_variable("w", [2], initializer=ops.ones_initializer())
        get_variable("w", [2])
        get_variable("v", [2], regularizer=lambda v: None)
    losses = graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)
    assert ([loss.name for loss in losses], losses[0].op.groups()) == (["a/w/Regularizer/Sum:0"], ("loc:@a/w",))
    state = Variables()
    evaluate([w.initializer], None, state)
    assert evaluate(losses, None, state) == [2.0]


def test_a_loss_asked_for_inside_a_loop_can_be_used_outside(graph: Graph) -> None:
    def body(i: Tensor) -> Tensor:
        step = get_variable("c", [], int32, ops.ones_initializer(), regularizer=lambda v: ops.cast(v, float32))
        total: Tensor = i + step
        return total

    ops.while_loop(lambda i: i < 5, body, [constant(0)])
    (loss,) = graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)
    state = Variables()
    evaluate([ops.global_variables_initializer()], None, state)
    assert evaluate([loss], None, state) == [1.0]


def test_a_constraint_and_a_caching_device_reach_the_variable() -> None:
    w = get_variable("w", [2], constraint=ops.abs, caching_device="/device:CPU:0")
    assert w.constraint is ops.abs
    copy = w.value()
    assert (copy.name, copy.device) == ("w/Read/Identity:0", "/device:CPU:0")
    assert (w + 1.0).op.inputs[0] is copy
    assert w.read_value().op.type == "ReadVariableOp"


def test_a_variable_may_be_left_out_of_the_losses_of_its_scope(graph: Graph) -> None:
    with scoped("a", regularizer=ops.reduce_sum):
        get_variable("v", [2], regularizer=ops.no_regularizer)
        get_variable("w", [2])
    losses = graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)
    assert [loss.op.name for loss in losses] == ["a/w/Regularizer/Sum"]


# -- scopes of variables ---------------------------------------------------------------------------


def op_name() -> str:
    """The name that a node gets here."""
    return constant(1.0, name="x").op.name


# -- names -----------------------------------------------------------------------------------------


def test_a_name_entered_again_is_the_same_for_variables_and_a_new_one_for_nodes() -> None:
    with scoped("a"):
        op_name()
    with scoped("a") as again:
        assert (again.name, again.original_name_scope, op_name()) == ("a", "a_1/", "a_1/x")
        assert get_variable("w", [2]).name == "a/w:0"


def test_a_scope_entered_again_keeps_its_name_anywhere() -> None:
    with scoped("a") as first:
        pass
    with scoped("b"), scoped(first) as again:
        assert again is not first
        assert (again.name, again.original_name_scope, op_name()) == ("a", "a/", "b/a/x")
        assert get_variable("w", [2]).name == "a/w:0"


def test_without_an_auxiliary_scope_nodes_keep_the_names_around() -> None:
    with scoped("a") as first, scoped("c", auxiliary_name_scope=False) as inner:
        assert (inner.name, inner.original_name_scope, op_name()) == ("a/c", "a/", "a/x")
    with scoped(first, auxiliary_name_scope=False):
        assert op_name() == "x"


def test_scopes_of_names_do_not_name_variables(graph: Graph) -> None:
    with graph.name_scope("ns"):
        assert get_variable("v", [2]).name == "v:0"
        with scoped("vs") as scope:
            assert (scope.name, scope.original_name_scope, op_name()) == ("vs", "ns/vs/", "ns/vs/x")
        with scoped(scope):
            assert op_name() == "ns/vs_1/x"
        with scoped(acts.variables.get_variable_scope()) as root:
            assert (root.name, op_name()) == ("", "ns/x")
        with scoped(""):
            assert op_name() == "ns/x_1"


# -- default names ---------------------------------------------------------------------------------


def test_default_names_are_made_unique() -> None:
    names = []
    for _ in range(3):
        with scoped(None, "d") as scope:
            names.append((scope.name, scope.original_name_scope))
    with scoped("d_3"):
        pass
    with scoped(None, "d") as scope:
        names.append((scope.name, scope.original_name_scope))
    assert names == [("d", "d/"), ("d_1", "d_1/"), ("d_2", "d_2/"), ("d_4", "d_4/")]


def test_default_names_count_anew_each_time_the_scope_around_is_entered_by_name() -> None:
    found = []
    for _ in range(2):
        with scoped("o"):
            for _ in range(2):
                with scoped(None, "d") as scope:
                    found.append((scope.name, scope.original_name_scope))
    assert found == [("o/d", "o/d/"), ("o/d_1", "o/d_1/"), ("o/d", "o_1/d/"), ("o/d_1", "o_1/d_1/")]


def test_what_is_entered_in_a_scope_entered_again_does_not_count_outside() -> None:
    with scoped("o") as outer:
        with scoped(None, "d"):
            pass
        with scoped(outer), scoped(None, "d") as inside:
            assert inside.name == "o/d_1"
        with scoped(None, "d") as outside:
            assert outside.name == "o/d_1"


def test_a_name_wins_over_the_default_name() -> None:
    with scoped("given", "default") as scope:
        assert scope.name == "given"


def test_the_older_spelling_takes_values_first() -> None:
    with ops.variable_op_scope([constant(1.0)], None, "op") as scope:
        assert scope.name == "op"
    with ops.variable_op_scope([constant(1.0)], "given", "op", reuse=AUTO_REUSE) as scope:
        assert (scope.name, scope.reuse) == ("given", AUTO_REUSE)


def test_values_say_which_graph_is_meant() -> None:
    other = Graph()
    with other.as_default():
        value = constant(1.0)
    with scoped("a", values=[value]):
        assert get_variable("w", [2]).graph is other
        assert acts.variables.get_variable_scope().name == "a"
    assert acts.variables.get_variable_scope().name == ""


# -- what is refused -------------------------------------------------------------------------------


test_arguments_of_another_kind_are_refused = refusing(
    ({"name_or_scope": None}, TypeError, "name_or_scope or a default_name"),
    ({"name_or_scope": 3}, TypeError, "string or a VariableScope, got 3"),
    ({"name_or_scope": "a", "reuse": "x"}, ValueError, "reuse is True, False, None"),
    ({"name_or_scope": None, "default_name": "d", "reuse": True}, ValueError, "needs a name_or_scope"),
    ({"name_or_scope": "a", "auxiliary_name_scope": 3}, TypeError, "True or False, got 3"),
    of=lambda arguments: scoped(**arguments),
)


def test_a_malformed_name_or_an_error_in_the_block_leaves_no_scope_behind() -> None:
    with pytest.raises(ValueError, match="not a valid root scope name"), scoped("bad name"):
        pass
    with pytest.raises(KeyError), scoped("a"):
        raise KeyError("mine")
    refused(lambda: get_variable("w", [2], custom_getter=3), ValueError, "custom_getter is a function, got 3")  # type: ignore[arg-type]
    assert (acts.variables.get_variable_scope().name, op_name()) == ("", "x")


# -- what is inherited -----------------------------------------------------------------------------


def test_settings_are_inherited_and_replaced_one_by_one() -> None:
    ones, zeros = ops.ones_initializer(), ops.zeros_initializer()
    with scoped("a", initializer=ones, dtype=float64, constraint=ops.abs, use_resource=True):
        with scoped("b", initializer=zeros) as inner:
            assert inner.initializer is zeros
            assert inner.dtype is float64
            assert inner.constraint is ops.abs
            assert inner.use_resource is True
            v = get_variable("v", [2])
        w = get_variable("w", [2])
    assert (v.dtype, v.constraint, v.initial_value.op.type) == (float64, ops.abs, "Const")
    assert w.initial_value.name.startswith("a/w/Initializer/ones")
    assert get_variable("u", [2]).dtype is float32


def test_one_block_may_be_entered_several_times() -> None:
    block = scoped("a", reuse=AUTO_REUSE)
    found = []
    for _ in range(2):
        with block as scope:
            found.append((get_variable("w", [2]), scope.original_name_scope))
    assert found == [(found[0][0], "a/"), (found[0][0], "a_1/")]


def test_a_finalized_graph_still_shares_its_variables(graph: Graph) -> None:
    with scoped("a"):
        w = get_variable("w", [2])
    graph.finalize()
    with scoped("a", reuse=True):
        assert get_variable("w") is w
        refused(lambda: get_variable("v", [2]), ValueError, "does not exist")
    with scoped("a", reuse=AUTO_REUSE), pytest.raises(RuntimeError, match="finalized"):
        get_variable("v", [2])


def test_settings_can_be_changed_while_the_scope_is_entered() -> None:
    with scoped("a") as scope:
        scope.set_dtype(float16)
        scope.set_initializer(ops.zeros_initializer())
        scope.set_regularizer(ops.reduce_sum)
        scope.set_caching_device("/cpu:0")
        scope.set_partitioner(None)
        scope.set_custom_getter(None)
        scope.set_use_resource(False)
        v = get_variable("v", [2])
        assert (v.dtype.base_dtype, v.op.type, v.value().op.type) == (float16, "VariableV2", "Identity")
        assert (scope.use_resource, scope.partitioner) == (False, None)
    assert get_variable("v", [2]).dtype is float32


def test_a_scope_entered_again_brings_its_settings_along() -> None:
    with scoped("a", dtype=float64) as first:
        pass
    with scoped("b", dtype=float16, reuse=True), scoped(first) as again:
        assert (again.dtype, again.reuse) == (float64, False)
    with scoped(first, dtype=float16, reuse=AUTO_REUSE) as changed:
        assert (changed.dtype, changed.reuse) == (float16, AUTO_REUSE)
    assert (first.dtype, first.reuse) == (float64, False)


def test_sharing_is_inherited_and_cannot_be_taken_back() -> None:
    with scoped("a", reuse=True):
        with scoped("b", reuse=False) as inner:
            assert inner.reuse is True
        with scoped("b", reuse=AUTO_REUSE) as inner:
            assert inner.reuse is AUTO_REUSE
    with scoped("a") as again:
        assert again.reuse is False


def test_sharing_may_begin_in_the_middle_of_a_scope() -> None:
    with scoped("a") as scope:
        v = get_variable("v", [2])
        scope.reuse_variables()
        assert get_variable("v") is v
    with scoped("a") as again:
        assert again.reuse is False


def test_outside_all_scopes_settings_stay() -> None:
    v = get_variable("v", [2])
    acts.variables.get_variable_scope().reuse_variables()
    assert get_variable("v") is v
    with Graph().as_default():
        assert get_variable("v", [2]) is not v


def test_the_mode_of_making_what_is_not_there_has_a_telling_repr() -> None:
    assert repr(AUTO_REUSE) == "ReuseMode.AUTO_REUSE"
    assert repr(acts.variables.VariableScope(AUTO_REUSE, "a")) == "<VariableScope 'a' reuse=ReuseMode.AUTO_REUSE>"


# -- custom getters --------------------------------------------------------------------------------


def test_custom_getters_are_asked_from_the_inside_out() -> None:
    log: list[tuple[str, str]] = []

    def outer(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        log.append(("outer", name))
        return getter(name, *args, **kwargs)

    def inner(getter: Any, *args: Any, **kwargs: Any) -> Any:
        log.append(("inner", kwargs["name"]))
        return getter(*args, **{**kwargs, "trainable": False})

    with scoped("o", custom_getter=outer), scoped("i", custom_getter=inner):
        v = get_variable("w", [2])
        assert (v.name, v.trainable, log) == ("o/i/w:0", False, [("inner", "o/i/w"), ("outer", "o/i/w")])
        log.clear()
        get_variable("w2", [2], custom_getter=lambda getter, **kwargs: getter(**kwargs))
        assert log == []


# -- what was made in a scope ----------------------------------------------------------------------


def test_a_scope_knows_its_variables() -> None:
    get_variable("ab", [1])
    with scoped("a") as scope:
        v = get_variable("v", [1])
        w = get_variable("w", [1], trainable=False)
        local = ops.get_local_variable("l", [1])
    assert (scope.global_variables(), scope.trainable_variables(), scope.local_variables()) == ([v, w], [v], [local])
    assert scope.get_collection(ops.GraphKeys.GLOBAL_VARIABLES) == [v, w]
    assert len(acts.variables.VariableScope(False).global_variables()) == 3


# -- who sees them ---------------------------------------------------------------------------------


def test_threads_do_not_see_the_scopes_of_each_other(graph: Graph) -> None:
    seen = []

    def other() -> None:
        with graph.as_default():
            seen.append(acts.variables.get_variable_scope().name)
            with scoped("b"):
                seen.append(get_variable("w", [1]).name)

    with scoped("a"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert acts.variables.get_variable_scope().name == "a"
    assert seen == ["", "b/w:0"]


async def test_children_do_not_see_the_scopes_of_each_other() -> None:
    entered = asyncio.Event()

    async def one() -> str:
        with scoped("a"):
            entered.set()
            await asyncio.sleep(0)
            return acts.variables.get_variable_scope().name

    async def two() -> str:
        await entered.wait()
        with scoped("b"):
            return acts.variables.get_variable_scope().name

    assert list(await asyncio.gather(one(), two())) == ["a", "b"]


def test_a_graph_that_is_let_go_takes_its_variables_along() -> None:
    import gc
    import weakref

    graph = Graph()
    with graph.as_default(), scoped("a"):
        get_variable("w", [1])
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None
