"""What holds for every optimiser however it is run, its slots, and what each one refuses.

The numbers of TensorFlow are those of the family ``optimisers`` of the differential programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import (
    Graph,
    IndexedSlices,
    Session,
    Variable,
    constant,
    float64,
    global_variables_initializer,
    int64,
    placeholder,
    train,
)
from scripts.differentials.families.training import DENSE_START, INDICES, OPTIMISERS, SLOPES, SPARSE_START, rows_of
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import refusing

EVERY = pytest.mark.parametrize("name", OPTIMISERS)


def started() -> Variables:
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    return state


# -- values --------------------------------------------------------------------------------------


def moved(name: str, *, inline: bool, sparse: bool = False) -> list[Any]:
    """The variable after each step, as a session or the evaluator of tests runs it."""
    with Graph().as_default() as graph:
        w = Variable(SPARSE_START if sparse else DENSE_START, dtype=float64)
        shape = [3, 2] if sparse else [3]
        fed = source(float64, shape) if inline else placeholder(float64, shape)
        grad = IndexedSlices(fed, constant(INDICES), constant([4, 2])) if sparse else fed
        move = OPTIMISERS[name](acts).apply_gradients([(grad, w)])
        feeds = [{fed: rows_of(slopes) if sparse else slopes} for slopes in SLOPES]
        if inline:
            state, found = started(), []
            for feed in feeds:
                evaluate([move], feed, state)
                found.append(evaluate([w], None, state)[0])
            return found
        with Session(graph=graph) as session:
            session.run(global_variables_initializer())
            return [session.run(w) for feed in feeds if session.run(move, feed) is None]


@EVERY
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_sessions_give_the_numbers_of_steps_without_them(name: str, sparse: bool) -> None:
    """They update in place, and run an update as part of a plan."""
    inline = moved(name, inline=True, sparse=sparse)
    for found, wanted in zip(moved(name, inline=False, sparse=sparse), inline, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


@EVERY
def test_sparse_gradients_need_not_say_how_large_the_whole_is(name: str) -> None:
    w = Variable(SPARSE_START, dtype=float64)
    grad = IndexedSlices(constant([[1.0, 1.0]], float64), constant([1]))
    move = OPTIMISERS[name](acts).apply_gradients([(grad, w)])
    state = started()
    evaluate([move], None, state)
    found = evaluate([w], None, state)[0]
    assert found[0].tolist() == [1.0, -1.0]
    assert (found[1] != [2.0, 0.0]).all()


@EVERY
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_smaller_floating_types_move_about_as_far(name: str, dtype: str) -> None:
    w = Variable(DENSE_START, dtype=dtype)
    make: Any = OPTIMISERS[name]
    if name == "adam" and dtype == "bfloat16":  # which has no 0.999
        make = lambda tf: tf.train.AdamOptimizer(0.1, beta2=0.99)  # noqa: E731
    move = make(acts).apply_gradients([(constant(SLOPES[0], dtype), w)])
    state = started()
    evaluate([move], None, state)
    found = evaluate([w], None, state)[0].astype(float)
    limit = {"float32": 1e-5, "float16": 1e-2, "bfloat16": 6e-2}[dtype]
    # In float16 the epsilons of Adam and Adadelta are 0, which makes 0 / 0 of a slope of 0.
    wanted = moved(name, inline=True)[0]
    np.testing.assert_allclose(found[:2], wanted[:2], rtol=limit, atol=limit)


@EVERY
def test_variables_of_open_shape_are_trained(name: str) -> None:
    w = Variable(np.array(DENSE_START), validate_shape=False)
    move = OPTIMISERS[name](acts).apply_gradients([(constant(SLOPES[0], float64), w)])
    state = started()
    evaluate([move], None, state)
    wanted = moved(name, inline=True)[0]
    np.testing.assert_allclose(evaluate([w], None, state)[0], wanted, rtol=1e-12, atol=1e-15)


# -- slots ---------------------------------------------------------------------------------------


def test_the_slots_of_ftrl_may_be_named_and_those_of_dual_averaging_have_names() -> None:
    w = Variable(DENSE_START, name="w")
    optimizer = train.FtrlOptimizer(0.1, accum_name="squares", linear_name="sum")
    optimizer.apply_gradients([(constant(SLOPES[0]), w)])
    assert [v.name for v in optimizer.variables()] == ["w/squares:0", "w/sum:0"]
    dual = train.AdagradDAOptimizer(0.1, constant(0, int64))
    dual.apply_gradients([(constant(SLOPES[0]), w)])
    assert [v.name for v in dual.variables()] == ["w/AdagradDA:0", "w/AdagradDA_1:0"]
    assert dual.get_slot_names() == ["gradient_accumulator", "gradient_squared_accumulator"]


def test_the_ops_are_those_of_tensorflow(graph: Graph) -> None:
    w = Variable(SPARSE_START, dtype=float64)
    dense = constant(np.ones([4, 2]))
    sparse = IndexedSlices(constant([[1.0, 1.0]], float64), constant([1]))
    for name in ("adagrad_da", "rmsprop", "rmsprop_centered", "ftrl", "ftrl_shrinkage"):
        for grad in (dense, sparse):
            OPTIMISERS[name](acts).apply_gradients([(grad, w)])
    kinds = ("AdagradDA", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2")
    wanted = [f"Resource{how}{kind}" for kind in kinds for how in ("Apply", "SparseApply")]
    assert [op.type for op in graph.get_operations() if "Apply" in op.type] == wanted


# -- what is refused -----------------------------------------------------------------------------


def _ftrl(**given: Any) -> Any:
    return lambda: train.FtrlOptimizer(0.1, **given)


STRENGTHS = [f"{name}_regularization_strength" for name in ("l1", "l2", "l2_shrinkage")]
test_numbers_out_of_range_are_refused = refusing(
    (lambda: train.AdagradOptimizer(0.1, 0.0), ValueError, "initial_accumulator_value must be positive"),
    (lambda: train.ProximalAdagradOptimizer(0.1, -1.0), ValueError, "initial_accumulator_value must be positive"),
    (lambda: train.AdagradDAOptimizer(0.1, 0, 0.0), ValueError, "squared_accumulator_value must be positive"),
    (_ftrl(learning_rate_power=0.5), ValueError, "learning_rate_power must be at most 0, got 0.5"),
    (_ftrl(initial_accumulator_value=-1.0), ValueError, "at least 0"),
    *[(_ftrl(**{name: -1.0}), ValueError, f"{name} must be at least 0") for name in STRENGTHS],
)
