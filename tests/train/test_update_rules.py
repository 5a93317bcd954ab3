"""Every optimiser over several steps against the numbers of TensorFlow, and what each one refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import (
    Graph,
    IndexedSlices,
    Session,
    Variable,
    constant,
    float64,
    global_variables_initializer,
    placeholder,
    train,
)
from actorsession.train import Optimizer
from tests.ops.interpreter import Variables, evaluate, source
from tests.train.tensorflow_numbers import (
    DENSE_START,
    FOUND,
    INDICES,
    SLOPES,
    SPARSE_START,
    STEPS,
    rows_of,
)


def double(value: float) -> Any:
    return constant(value, float64)


def step(value: int) -> Any:
    return constant(value, "int64")


MAKERS: dict[str, Callable[[], Optimizer]] = {
    "sgd": lambda: train.GradientDescentOptimizer(0.1),
    "momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: train.AdamOptimizer(0.1),
    "adagrad": lambda: train.AdagradOptimizer(0.1),
    "adagrad_start": lambda: train.AdagradOptimizer(0.1, initial_accumulator_value=1.0),
    "adagrad_da": lambda: train.AdagradDAOptimizer(0.1, step(0)),
    "adagrad_da_l1": lambda: train.AdagradDAOptimizer(
        0.1, step(2), l1_regularization_strength=0.05, l2_regularization_strength=0.1
    ),
    "adadelta": lambda: train.AdadeltaOptimizer(),
    "adadelta_fast": lambda: train.AdadeltaOptimizer(1.0, 0.9, 1e-2),
    "rmsprop": lambda: train.RMSPropOptimizer(0.1),
    "rmsprop_momentum": lambda: train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3),
    "rmsprop_centered": lambda: train.RMSPropOptimizer(0.1, 0.8, 0.5, 1e-3, centered=True),
    "ftrl": lambda: train.FtrlOptimizer(0.1),
    "ftrl_l1_l2": lambda: train.FtrlOptimizer(
        0.1, l1_regularization_strength=0.3, l2_regularization_strength=0.2
    ),
    "ftrl_power": lambda: train.FtrlOptimizer(
        0.1, learning_rate_power=-0.25, l1_regularization_strength=0.3
    ),
    "ftrl_shrinkage": lambda: train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.4),
    "ftrl_beta": lambda: train.FtrlOptimizer(0.1, beta=0.5, l2_regularization_strength=0.2),
    "proximal_sgd": lambda: train.ProximalGradientDescentOptimizer(
        double(0.1), double(0.0), double(0.5)
    ),
    "proximal_sgd_l1": lambda: train.ProximalGradientDescentOptimizer(
        double(0.1), double(0.3), double(0.5)
    ),
    "proximal_adagrad": lambda: train.ProximalAdagradOptimizer(
        double(0.1), 0.1, double(0.0), double(0.5)
    ),
    "proximal_adagrad_l1": lambda: train.ProximalAdagradOptimizer(
        double(0.1), 0.1, double(0.3), double(0.5)
    ),
}
SLOTS = {
    "adadelta": {"accum": "w/Adadelta:0", "accum_update": "w/Adadelta_1:0"},
    "adagrad": {"accumulator": "w/Adagrad:0"},
    "adagrad_da": {
        "gradient_accumulator": "w/AdagradDA:0",
        "gradient_squared_accumulator": "w/AdagradDA_1:0",
    },
    "ftrl": {"accum": "w/Ftrl:0", "linear": "w/Ftrl_1:0"},
    "proximal_adagrad": {"accumulator": "w/ProximalAdagrad:0"},
    "proximal_sgd": {},
    "rmsprop": {"momentum": "w/RMSProp_1:0", "rms": "w/RMSProp:0"},
    "rmsprop_centered": {
        "mg": "w/RMSProp_1:0", "momentum": "w/RMSProp_2:0", "rms": "w/RMSProp:0",
    },
}  # fmt: skip
EVERY = pytest.mark.parametrize("name", MAKERS)


def started() -> Variables:
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    return state


# -- values --------------------------------------------------------------------------------------


@EVERY
def test_dense_steps_give_the_numbers_of_tensorflow(name: str) -> None:
    w, grad = Variable(DENSE_START, dtype=float64), source(float64, [3])
    move = MAKERS[name]().apply_gradients([(grad, w)])
    state, found = started(), []
    for slopes in SLOPES:
        evaluate([move], {grad: slopes}, state)
        found.append(evaluate([w], None, state)[0])
    for number, wanted in zip(STEPS, FOUND[f"{name}/dense"], strict=True):
        np.testing.assert_allclose(found[number], wanted, rtol=1e-12, atol=1e-15)


@EVERY
def test_sparse_steps_give_the_numbers_of_tensorflow(name: str) -> None:
    """Rows with one index are added up, and rows without gradient stay, except where momenta move them."""
    w, rows = Variable(SPARSE_START, dtype=float64), source(float64, [3, 2])
    grad = IndexedSlices(rows, constant(INDICES), constant([4, 2]))
    move = MAKERS[name]().apply_gradients([(grad, w)])
    state, found = started(), []
    for slopes in SLOPES:
        evaluate([move], {rows: rows_of(slopes)}, state)
        found.append(evaluate([w], None, state)[0].reshape(-1))
    for number, wanted in zip(STEPS, FOUND[f"{name}/sparse"], strict=True):
        np.testing.assert_allclose(found[number], wanted, rtol=1e-12, atol=1e-15)


@EVERY
def test_sparse_gradients_need_not_say_how_large_the_whole_is(name: str) -> None:
    w = Variable(SPARSE_START, dtype=float64)
    grad = IndexedSlices(constant([[1.0, 1.0]], float64), constant([1]))
    move = MAKERS[name]().apply_gradients([(grad, w)])
    state = started()
    evaluate([move], None, state)
    found = evaluate([w], None, state)[0]
    assert found[0].tolist() == [1.0, -1.0]
    assert (found[1] != [2.0, 0.0]).all()


@EVERY
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_smaller_floating_types_move_about_as_far(name: str, dtype: str) -> None:
    w = Variable(DENSE_START, dtype=dtype)
    make: Any = MAKERS[name]
    if name == "adam" and dtype == "bfloat16":  # which has no 0.999
        make = lambda: train.AdamOptimizer(0.1, beta2=0.99)  # noqa: E731
    move = make().apply_gradients([(constant(SLOPES[0], dtype), w)])
    state = started()
    evaluate([move], None, state)
    found = evaluate([w], None, state)[0].astype(float)
    limit = {"float32": 1e-5, "float16": 1e-2, "bfloat16": 6e-2}[dtype]
    # In float16 the epsilons of Adam and Adadelta are 0, which makes 0 / 0 of a slope of 0.
    wanted = FOUND[f"{name}/dense"][0]
    np.testing.assert_allclose(found[:2], wanted[:2], rtol=limit, atol=limit)


@EVERY
def test_variables_of_open_shape_are_trained(name: str) -> None:
    w = Variable(np.array(DENSE_START), validate_shape=False)
    move = MAKERS[name]().apply_gradients([(constant(SLOPES[0], float64), w)])
    state = started()
    evaluate([move], None, state)
    wanted = FOUND[f"{name}/dense"][0]
    np.testing.assert_allclose(evaluate([w], None, state)[0], wanted, rtol=1e-12, atol=1e-15)


@EVERY
def test_sessions_give_the_same_numbers(name: str, graph: Graph) -> None:
    """They update in place, and run an update as part of a plan."""
    w, grad = Variable(DENSE_START, dtype=float64), placeholder(float64, [3])
    move = MAKERS[name]().apply_gradients([(grad, w)])
    with Session(graph=graph) as session:
        session.run(global_variables_initializer())
        for slopes in SLOPES:
            session.run(move, {grad: slopes})
        found = session.run(w)
    np.testing.assert_allclose(found, FOUND[f"{name}/dense"][-1], rtol=1e-12, atol=1e-15)


# -- slots ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SLOTS)
def test_slots_are_called_as_in_tensorflow(name: str) -> None:
    w = Variable(DENSE_START, name="w")
    optimizer = MAKERS[name]()
    grads = constant(SLOPES[0])
    optimizer.apply_gradients([(grads, w)])
    slots = {slot: optimizer.get_slot(w, slot) for slot in optimizer.get_slot_names()}
    assert {key: slot.name for key, slot in slots.items() if slot is not None} == SLOTS[name]
    assert [v.name for v in optimizer.variables()] == sorted(SLOTS[name].values())


def test_slots_start_from_the_numbers_that_were_given() -> None:
    w = Variable(DENSE_START, name="w")
    adagrad = train.AdagradOptimizer(0.1, 0.25)
    rms = train.RMSPropOptimizer(0.1)
    for optimizer in (adagrad, rms):
        optimizer.apply_gradients([(constant(SLOPES[0]), w)])
    slots = [adagrad.get_slot(w, "accumulator"), rms.get_slot(w, "rms")]
    found = evaluate(slots, None, started())
    assert [f.tolist() for f in found] == [[0.25] * 3, [1.0] * 3]


def test_the_slots_of_ftrl_may_be_named() -> None:
    w = Variable(DENSE_START, name="w")
    optimizer = train.FtrlOptimizer(0.1, accum_name="squares", linear_name="sum")
    optimizer.apply_gradients([(constant(SLOPES[0]), w)])
    assert [v.name for v in optimizer.variables()] == ["w/squares:0", "w/sum:0"]


def test_the_ops_are_those_of_tensorflow(graph: Graph) -> None:
    w = Variable(SPARSE_START, dtype=float64)
    dense = constant(np.ones([4, 2]))
    sparse = IndexedSlices(constant([[1.0, 1.0]], float64), constant([1]))
    for name in ("adagrad_da", "rmsprop", "rmsprop_centered", "ftrl", "ftrl_shrinkage"):
        for grad in (dense, sparse):
            MAKERS[name]().apply_gradients([(grad, w)])
    kinds = ("AdagradDA", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2")
    wanted = [f"Resource{how}{kind}" for kind in kinds for how in ("Apply", "SparseApply")]
    assert [op.type for op in graph.get_operations() if "Apply" in op.type] == wanted


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: train.AdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive"),
        (lambda: train.ProximalAdagradOptimizer(0.1, -1.0), "initial_accumulator_value must be positive"),
        (
            lambda: train.AdagradDAOptimizer(0.1, 0, 0.0),
            "initial_gradient_squared_accumulator_value must be positive",
        ),
        (lambda: train.FtrlOptimizer(0.1, 0.5), "learning_rate_power must be at most 0, got 0.5"),
        (lambda: train.FtrlOptimizer(0.1, initial_accumulator_value=-1.0), "at least 0"),
        (
            lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0),
            "l1_regularization_strength must be at least 0",
        ),
        (
            lambda: train.FtrlOptimizer(0.1, l2_regularization_strength=-1.0),
            "l2_regularization_strength must be at least 0",
        ),
        (
            lambda: train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=-1.0),
            "l2_shrinkage_regularization_strength must be at least 0",
        ),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(make: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make()
