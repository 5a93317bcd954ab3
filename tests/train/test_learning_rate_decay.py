"""Global steps, rates that decay by their formulas, and moving averages, against the numbers of TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import (
    Graph,
    GraphKeys,
    Session,
    Variable,
    as_dtype,
    constant,
    float32,
    float64,
    global_variables,
    global_variables_initializer,
    int32,
    int64,
    placeholder,
    reduce_mean,
    set_random_seed,
    train,
    trainable_variables,
    variable_scope,
    variables_initializer,
)
from actorsession.train import (
    ExponentialMovingAverage,
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from scripts.differentials.families.training import RATES
from tests.ops.interpreter import Variables, evaluate, source
from tests.ops.uses import each_use, equals
from tests.rows import for_each, refusing

EVERY = pytest.mark.parametrize("name", RATES)


@EVERY
def test_a_rate_follows_the_global_step_of_training(name: str) -> None:
    w, step = Variable([1.0]), train.get_or_create_global_step()
    rate = RATES[name](train, step)
    move = train.GradientDescentOptimizer(rate).apply_gradients([([1.0], w)], step)
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    rates = []
    for _ in range(2):
        rates.append(evaluate([rate], None, state)[0])
        evaluate([move], None, state)
    np.testing.assert_allclose(evaluate([w], None, state)[0], [1 - sum(rates)], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("decay", ["exponential", "inverse_time", "natural_exp"])
def test_a_rate_has_the_type_of_the_first_one(decay: str, dtype: str) -> None:
    assert getattr(train, f"{decay}_decay")(constant(0.1, dtype), 5, 10, 0.5).dtype is as_dtype(dtype)
    for other in ("polynomial", "cosine", "linear_cosine", "noisy_linear_cosine"):
        assert getattr(train, f"{other}_decay")(constant(0.1, dtype), 5, 10).dtype is as_dtype(dtype)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("exponential", "ExponentialDecay"),
        ("natural_exp", "ExponentialDecay"),
        ("inverse_time", "InverseTimeDecay"),
        ("polynomial", "PolynomialDecay"),
        ("cosine_restarts", "SGDRDecay"),
        ("linear_cosine", "LinearCosineDecay"),
        ("noisy", "NoisyLinearCosineDecay"),
    ],
)
def test_rates_are_named_as_in_tensorflow(name: str, wanted: str) -> None:
    assert RATES[name](train, 1).op.name == wanted


def test_a_boundary_belongs_to_the_value_before_it() -> None:
    step = source(float64, [])
    rate = train.piecewise_constant(step, [constant(1.5, float64)], [3, 7])
    assert rate.dtype is int32
    assert [int(evaluate([rate], {step: value})[0]) for value in (1.4, 1.5, 1.6)] == [3, 3, 7]
    # Its standard deviation is that of the formula; the draws are those of the seed.
    set_random_seed(3)
    step = source(int64, [])
    rate = train.noisy_linear_cosine_decay(1.0, step, 1000, num_periods=0.0, beta=0.0)
    state = Variables()
    spread = [np.std([evaluate([rate], {step: at}, state)[0] for _ in range(150)]) for at in (0, 100)]
    np.testing.assert_allclose(spread, [1.0, 101**-0.275], rtol=0.15)


NEEDED = "needs a global_step, got None"
test_a_rate_needs_a_step_and_boundaries_that_fit_its_values = refusing(
    *[(lambda make=make: make(train, None), NEEDED) for name, make in RATES.items() if name != "piecewise"],
    (lambda: train.piecewise_constant(constant(1), [1.5], [1.0, 2.0]), "of x, int32; got float32"),
    (lambda: train.piecewise_constant(constant(1.0), [1.5], [1.0, 2]), "same dtype, got float32, int32"),
    (lambda: train.piecewise_constant_decay(constant(1.0), [1.5], [1.0, 2.0, 3.0]), "got 3 values and 1 boundaries"),
)


def test_it_is_an_int64_scalar_that_starts_at_zero_and_is_not_trained(graph: Graph) -> None:
    with graph.name_scope("somewhere"):
        step = get_or_create_global_step()
    assert step.name == "global_step:0"
    assert step.dtype is int64
    assert step.shape == []
    assert global_variables() == [step]
    assert trainable_variables() == []
    state = Variables()
    evaluate([step.initializer], None, state)
    assert evaluate([step], None, state) == [0]


def test_a_variable_of_that_name_is_found(graph: Graph) -> None:
    Variable(0, name="global_step_2")
    assert get_global_step() is None
    step = Variable(0, name="global_step", trainable=False)
    assert get_global_step() is step
    assert get_or_create_global_step() is step


def test_several_are_one_too_many(graph: Graph) -> None:
    for _ in range(2):
        graph.add_to_collection(GraphKeys.GLOBAL_STEP, Variable(0))
    with pytest.raises(ValueError, match="2 global steps"):
        get_global_step()


def test_a_second_one_is_refused() -> None:
    create_global_step()
    with pytest.raises(ValueError, match="already exists"):
        create_global_step()


def test_every_graph_has_its_own() -> None:
    step = get_or_create_global_step()
    other = Graph()
    assert get_or_create_global_step(other) is not step
    assert get_global_step(other).graph is other


@pytest.mark.parametrize("value", [0.0, [0, 1]])
def test_it_is_an_integer_scalar(graph: Graph, value: object) -> None:
    graph.add_to_collection(GraphKeys.GLOBAL_STEP, Variable(value))
    with pytest.raises(TypeError, match="integer scalar"):
        get_global_step()


def test_it_belongs_to_the_variable_scope_in_which_it_is_made() -> None:
    with variable_scope("a"):
        step = create_global_step()
    assert step.name == "a/global_step:0"
    assert get_global_step() is step


def test_what_counts_steps_is_an_integer_scalar() -> None:
    assert_global_step(Variable(1))
    assert_global_step(constant(1, int64))
    for wrong in (Variable([1, 2]), constant(1.0), 3):
        with pytest.raises(TypeError, match="global step"):
            assert_global_step(wrong)


@for_each(
    "options, wanted",
    [
        ([], [[[1.1, 1.9], [0.2, -0.2]], [[1.29, 1.71], [0.58, -0.18]], [[1.561, 1.439], [1.122, 0.038]]]),
        (
            ["num_updates"],
            [[[1.9, 1.1], [1.8, -1.8]], [[2.8, 0.2], [3.6, -0.32727279]], [[3.7, -0.7], [5.4, 1.4181818]]],
        ),
        (
            ["zero_debias"],
            [
                [[1.1, 1.9], [2, -2]],
                [[1.29, 1.71], [3.0526316, -0.94736832]],
                [[1.561, 1.439], [4.1402206, 0.14022142]],
            ],
        ),
    ],
)
def test_averages_are_those_of_tensorflow(session: Session, options: list[str], wanted: Any) -> None:
    """Of a variable that goes up and down by one, and of a tensor, over three updates."""
    w, x, n = Variable([1.0, 2.0], name="w"), placeholder(float32, [2]), placeholder(int64, [])
    y = x * 2.0
    given: dict[str, Any] = {key: n if key == "num_updates" else True for key in options}
    ema = ExponentialMovingAverage(0.9, **given)
    update, move = ema.apply([w, y]), w.assign_add([1.0, -1.0])
    session.run(global_variables_initializer())
    for k in range(3):
        session.run(move)
        session.run(update, {x: [k + 1.0, k - 1.0], n: k})
        np.testing.assert_allclose(session.run([ema.average(w), ema.average(y)]), wanted[k], rtol=1e-5, atol=1e-6)


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


def _averaged(start: Any, moved: Any, decay: Any = 0.5, times: int = 1, **options: Any) -> Any:
    """The average of a variable after updates, and how many variables there are."""
    w = Variable(start, **options)
    ema = ExponentialMovingAverage(decay)
    updates, move = [ema.apply([w]) for _ in range(times)], w.assign(moved)
    with Session() as session:
        session.run(global_variables_initializer())
        for step in (move, *updates):
            session.run(step)
        return session.run(ema.average(w)).tolist(), len(global_variables())


def _started_late() -> Any:
    w = Variable([1.0])
    with Session() as session:
        session.run(w.assign([7.0]))
        ema = ExponentialMovingAverage(0.5)
        ema.apply([w])
        average: Any = ema.average(w)
        session.run(variables_initializer([average]))
        return session.run(average).tolist()


USES: list[Any] = [
    # Averages are made once and updated by every call.
    equals(lambda: _averaged([1.0], [3.0], times=2), ([2.5], 2)),
    # The decay may be a variable, and values of other floating types.
    equals(lambda: _averaged([1.0], [2.0], Variable(0.5, trainable=False), dtype=float64), ([1.5], 3)),
    # The average of a variable that has a value starts from it.
    equals(_started_late, [7.0]),
    # Nothing to average is nothing to do.
    equals(lambda: ExponentialMovingAverage(0.5).apply([]).type, "NoOp"),
    (lambda: ExponentialMovingAverage(0.5).apply([Variable(1)]), TypeError, "types can be averaged, got <Variable"),
    (
        lambda: ExponentialMovingAverage(0.5).apply([placeholder(float32, [None])]),
        ValueError,
        "must be known to average it",
    ),
]


test_averages_do_what_their_rows_say = each_use(USES)


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


def test_variables_are_restored_from_their_averages() -> None:
    w, plain = Variable([1.0], name="w"), Variable([1.0], trainable=False, name="plain")
    ema = ExponentialMovingAverage(0.9)
    ema.apply([w])
    average = ema.average(w)
    assert ema.variables_to_restore() == {"w/ExponentialMovingAverage": w, "plain": plain}
    assert ema.variables_to_restore([]) == {"w": w, "plain": plain, "w/ExponentialMovingAverage": average}
    assert ExponentialMovingAverage(0.9, name="mean").variables_to_restore([w])["w/mean"] is w
