"""Exponential moving averages, against the numbers of TensorFlow 2.21."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import (
    Graph,
    GraphKeys,
    Session,
    Variable,
    constant,
    float32,
    float64,
    global_variables,
    global_variables_initializer,
    int64,
    placeholder,
    reduce_mean,
    trainable_variables,
    variable_scope,
    variables_initializer,
)
from actorsession.train import ExponentialMovingAverage
from tests.rows import refusing


def averages(session: Session, kind: str) -> list[Any]:
    """Of a variable that goes up and down by one, and of a tensor, over three updates."""
    w, x, n = Variable([1.0, 2.0], name="w"), placeholder(float32, [2]), placeholder(int64, [])
    y = x * 2.0
    kinds: dict[str, dict[str, Any]] = {"plain": {}, "counted": {"num_updates": n}, "debiased": {"zero_debias": True}}
    ema = ExponentialMovingAverage(0.9, **kinds[kind])
    update, move = ema.apply([w, y]), w.assign_add([1.0, -1.0])
    session.run(global_variables_initializer())
    found = []
    for k in range(3):
        session.run(move)
        session.run(update, {x: [k + 1.0, k - 1.0], n: k})
        found.append(session.run([ema.average(w), ema.average(y)]))
    return found


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("plain", [[[1.1, 1.9], [0.2, -0.2]], [[1.29, 1.71], [0.58, -0.18]], [[1.561, 1.439], [1.122, 0.038]]]),
        ("counted", [[[1.9, 1.1], [1.8, -1.8]], [[2.8, 0.2], [3.6, -0.32727279]], [[3.7, -0.7], [5.4, 1.4181818]]]),
        (
            "debiased",
            [
                [[1.1, 1.9], [2.0, -2.0]],
                [[1.29, 1.71], [3.0526316, -0.94736832]],
                [[1.561, 1.439], [4.1402206, 0.14022142]],
            ],
        ),
    ],
    ids=["plain", "counted", "debiased"],
)
def test_averages_are_those_of_tensorflow(session: Session, kind: str, wanted: Any) -> None:
    np.testing.assert_allclose(np.array(averages(session, kind)), wanted, rtol=1e-5, atol=1e-6)


def test_averages_are_named_after_what_they_average(graph: Graph) -> None:
    w = Variable([1.0, 2.0], name="w")
    ema = ExponentialMovingAverage(0.9)
    assert ema.average(w) is None
    assert ema.average_name(w) == "w/ExponentialMovingAverage"
    update = ema.apply()
    average = ema.average(w)
    assert average is not None
    assert (average.op.name, ema.average_name(w)) == ("w/ExponentialMovingAverage",) * 2
    assert (update.type, update.name) == ("NoOp", "ExponentialMovingAverage")
    assert ExponentialMovingAverage(0.9).average_name(w) == "w/ExponentialMovingAverage_1"
    assert ExponentialMovingAverage(0.9, name="mean").average_name(w) == "w/mean"
    assert graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES) == [w]
    assert trainable_variables() == [w]
    assert global_variables() == [w, average]


def test_averages_stand_below_the_scope_in_which_they_are_built() -> None:
    """And what takes the start away from them below it once more, as checkpoints of TensorFlow have it."""
    with variable_scope("net"):
        w = Variable([1.0, 2.0], name="w")
        mean = reduce_mean(w, name="mean")
    with variable_scope("train"):
        ExponentialMovingAverage(0.9, zero_debias=True).apply([w, mean])
    assert [v.op.name for v in global_variables()] == [
        "net/w",
        "train/net/w/ExponentialMovingAverage",
        "train/net/mean/ExponentialMovingAverage",
        "train/train/net/mean/ExponentialMovingAverage/local_step",
        "train/train/net/mean/ExponentialMovingAverage/biased",
    ]


def test_averages_are_made_once_and_updated_by_every_call(session: Session) -> None:
    w = Variable([1.0])
    ema = ExponentialMovingAverage(0.5)
    first, second = ema.apply([w]), ema.apply([w])
    average, move = ema.average(w), w.assign([3.0])
    session.run(global_variables_initializer())
    session.run(move)
    session.run(first)
    session.run(second)
    assert session.run(average).tolist() == [2.5]
    assert len(global_variables()) == 2


def test_the_average_of_a_variable_that_has_a_value_starts_from_it(session: Session) -> None:
    w = Variable([1.0])
    session.run(w.assign([7.0]))
    ema = ExponentialMovingAverage(0.5)
    ema.apply([w])
    average = ema.average(w)
    assert average is not None
    session.run(variables_initializer([average]))
    assert session.run(average).tolist() == [7.0]


def test_averages_are_beside_their_variable(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        w = Variable([1.0], name="w")
    with graph.device("/job:worker/task:0"):
        ema = ExponentialMovingAverage(0.5)
        ema.apply([w])
    average = ema.average(w)
    assert average is not None
    assert average.device == "/job:ps/task:1"
    assert average.op.groups() == ("loc:@w",)


def test_the_decay_may_be_a_variable_and_values_of_other_floating_types(session: Session) -> None:
    decay, w = Variable(0.5, trainable=False), Variable([1.0], dtype=float64)
    ema = ExponentialMovingAverage(decay)
    update, move = ema.apply([w]), w.assign([2.0])
    session.run(global_variables_initializer())
    session.run(move)
    session.run(update)
    assert session.run(ema.average(w)) == [1.5]


def test_variables_are_restored_from_their_averages() -> None:
    w, plain = Variable([1.0], name="w"), Variable([1.0], trainable=False, name="plain")
    ema = ExponentialMovingAverage(0.9)
    ema.apply([w])
    average = ema.average(w)
    assert ema.variables_to_restore() == {"w/ExponentialMovingAverage": w, "plain": plain}
    assert ema.variables_to_restore([]) == {"w": w, "plain": plain, "w/ExponentialMovingAverage": average}
    fresh = ExponentialMovingAverage(0.9, name="mean")
    assert fresh.variables_to_restore([w])["w/mean"] is w


def test_nothing_to_average_is_nothing_to_do() -> None:
    constant(1.0)
    assert ExponentialMovingAverage(0.5).apply([]).type == "NoOp"


test_what_has_no_average_is_refused = refusing(
    (lambda: ExponentialMovingAverage(0.5).apply([Variable(1)]), TypeError, "types can be averaged, got <Variable"),
    (
        lambda: ExponentialMovingAverage(0.5).apply([placeholder(float32, [None])]),
        ValueError,
        "must be known to average it",
    ),
)
