"""Variables by name: new ones, shared ones, first values, collections and losses."""

from __future__ import annotations

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
from tests.rows import for_each, refused


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
        (None, {"name": "w", "shape": [2]}, r"w already exists.*reuse=True or reuse=tf.AUTO_REUSE"),
        (True, {"name": "q", "shape": [2]}, r"q does not exist.*AUTO_REUSE"),
        (True, {"name": "v", "shape": []}, r"was not created with tf.get_variable"),
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
