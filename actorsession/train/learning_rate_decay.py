"""Decaying learning rates: functions from a step to a rate.

Each builds a scalar of the dtype of ``learning_rate`` that is computed anew in each step and is passed to an
optimiser in place of a number. The formulas and names are TensorFlow's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from actorsession.graph.dtypes import int32, int64
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import stack
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements import arithmetic, comparison, elementwise
from actorsession.ops.elements.cast import cast
from actorsession.ops.randomness.numbers import random_normal
from actorsession.ops.reductions.reduction import reduce_sum

__all__ = [
    "cosine_decay",
    "cosine_decay_restarts",
    "exponential_decay",
    "inverse_time_decay",
    "linear_cosine_decay",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
]


# -- powers and fractions ------------------------------------------------------------------------


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return ``learning_rate * decay_rate ** (global_step / decay_steps)``.

    Args:
        learning_rate: the rate at step 0: a floating number or scalar.
        global_step: the step: a number, tensor or variable.
        decay_steps: number of steps after which the rate is multiplied by ``decay_rate``.
        decay_rate: the factor.
        staircase: whether the quotient is rounded down, so that the rate falls in steps.
        name: wanted name.

    Raises:
        ValueError: without ``global_step``.
    """
    with _rate("ExponentialDecay", learning_rate, global_step, name) as (rate, step, scope):
        fraction = _fraction(rate, step, decay_steps, staircase)
        factor = arithmetic.pow(_like(decay_rate, rate), fraction)
        return arithmetic.multiply(rate, factor, name=scope)


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the rate ``learning_rate * exp(-decay_rate * global_step / decay_steps)``.

    The arguments are those of ``exponential_decay``.
    """
    _check_step(global_step)
    natural = elementwise.exp(elementwise.negative(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, natural, staircase, name)


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the rate ``learning_rate / (1 + decay_rate * global_step / decay_steps)``.

    The arguments are those of ``exponential_decay``.
    """
    with _rate("InverseTimeDecay", learning_rate, global_step, name) as (rate, step, scope):
        fraction = _fraction(rate, step, decay_steps, staircase)
        return arithmetic.divide(rate, 1.0 + _like(decay_rate, rate) * fraction, name=scope)


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return a rate that falls to ``end_learning_rate`` as ``(1 - global_step / decay_steps) ** power``.

    Args:
        learning_rate: the rate at step 0: a floating number or scalar.
        global_step: the step: a number, tensor or variable.
        decay_steps: number of steps until the end is reached; the rate is constant from then on.
        end_learning_rate: the rate at the end.
        power: exponent of the polynomial; 1 is a straight line.
        cycle: whether the rate rises again after the end, to fall over a longer time: twice ``decay_steps``,
            then three times, and so on, all counted from step 0.
        name: wanted name.

    Raises:
        ValueError: without ``global_step``.
    """
    with _rate("PolynomialDecay", learning_rate, global_step, name) as (rate, step, scope):
        end, steps = _like(end_learning_rate, rate), _like(decay_steps, rate)
        if cycle:
            times = elementwise.ceil(step / steps)
            one = convert_to_tensor(1.0, rate.dtype, graph=rate.graph)
            steps = steps * comparison.where_v2(comparison.equal(step, 0.0), one, times)
        else:
            step = arithmetic.minimum(step, steps)
        left = arithmetic.pow(1.0 - step / steps, _like(power, rate))
        return arithmetic.add((rate - end) * left, end, name=scope)


# -- cosines -------------------------------------------------------------------------------------


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0, name: str | None = None
) -> Tensor:
    """Return a rate that falls to ``alpha`` times its start by half a cosine (Loshchilov and Hutter, 2016).

    Args:
        learning_rate: the rate at step 0: a floating number or scalar.
        global_step: the step: a number, tensor or variable.
        decay_steps: number of steps until the end is reached; the rate is constant from then on.
        alpha: the rate at the end, as a fraction of the first.
        name: wanted name.

    Raises:
        ValueError: without ``global_step``.
    """
    with _rate("CosineDecay", learning_rate, global_step, name) as (rate, step, scope):
        steps = _like(decay_steps, rate)
        wave = _wave(arithmetic.minimum(step, steps) / steps)
        lowest = _like(alpha, rate)
        return arithmetic.multiply(rate, (1.0 - lowest) * wave + lowest, name=scope)


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Return the rate of successive periods of ``cosine_decay``, each starting when the last has ended.

    Args:
        learning_rate: the rate at step 0: a floating number or scalar.
        global_step: the step: a number, tensor or variable.
        first_decay_steps: length of the first period.
        t_mul: factor by which each period is longer than the previous one.
        m_mul: factor by which each period's initial rate exceeds the previous one.
        alpha: the lowest rate, as a fraction of the first.
        name: wanted name.

    Raises:
        ValueError: without ``global_step``.
    """
    with _rate("SGDRDecay", learning_rate, global_step, name) as (rate, step, scope):
        longer = _like(t_mul, rate)
        restarts, fraction = _restarted(step / _like(first_decay_steps, rate), longer)
        height = arithmetic.pow(_like(m_mul, rate), restarts)
        lowest = _like(alpha, rate)
        return arithmetic.multiply(rate, (1.0 - lowest) * (height * _wave(fraction)) + lowest, name=scope)


def _restarted(fraction: Tensor, longer: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of completed periods, and the completed fraction of the current one.

    Both formulas are built. With periods of equal length the other one divides 0 by 0, and its result is not
    selected.
    """
    even = elementwise.floor(fraction)
    ended = elementwise.floor(elementwise.log(1.0 - fraction * (1.0 - longer)) / elementwise.log(longer))
    grown = arithmetic.pow(longer, ended)
    passed = (fraction - (1.0 - grown) / (1.0 - longer)) / grown
    same = comparison.equal(longer, 1.0)
    return comparison.where_v2(same, even, ended), comparison.where_v2(same, fraction - even, passed)


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """Return the rate ``learning_rate * ((alpha + linear) * cosine + beta)`` (Bello and others, 2017).

    Args:
        learning_rate: the rate at step 0: a floating number or scalar.
        global_step: the step: a number, tensor or variable.
        decay_steps: number of steps in which ``linear`` falls from 1 to 0; the rate is constant from then on.
        num_periods: number of periods of the cosine until then.
        alpha: see the formula.
        beta: see the formula.
        name: wanted name.

    Raises:
        ValueError: without ``global_step``.
    """
    with _rate("LinearCosineDecay", learning_rate, global_step, name) as (rate, step, scope):
        line, wave = _line_and_wave(rate, step, decay_steps, num_periods)
        decayed = (_like(alpha, rate) + line) * wave + _like(beta, rate)
        return arithmetic.multiply(rate, decayed, name=scope)


def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """Return ``linear_cosine_decay`` with noise added to ``linear``.

    The variance of the noise is ``initial_variance / (1 + step) ** variance_decay``; the other arguments are
    those of ``linear_cosine_decay``.
    """
    with _rate("NoisyLinearCosineDecay", learning_rate, global_step, name) as (rate, step, scope):
        line, wave = _line_and_wave(rate, step, decay_steps, num_periods)
        seen = 1.0 + arithmetic.minimum(step, _like(decay_steps, rate))
        variance = _like(initial_variance, rate) / arithmetic.pow(seen, _like(variance_decay, rate))
        noise = random_normal([], dtype=rate.dtype) * elementwise.sqrt(variance)
        decayed = (_like(alpha, rate) + (line + noise)) * wave + _like(beta, rate)
        return arithmetic.multiply(rate, decayed, name=scope)


def _line_and_wave(rate: Tensor, step: Tensor, decay_steps: Any, num_periods: Any) -> tuple[Tensor, Tensor]:
    steps = _like(decay_steps, rate)
    step = arithmetic.minimum(step, steps)
    wave = _wave(2.0 * _like(num_periods, rate) * (step / steps))
    return (steps - step) / steps, wave


def _wave(fraction: Tensor) -> Tensor:
    """Return a cosine wave that falls from 1 to 0 as ``fraction`` goes to 1, and rises again beyond."""
    return 0.5 * (1.0 + elementwise.cos(math.pi * fraction))


# -- steps ---------------------------------------------------------------------------------------


def piecewise_constant(x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None) -> Tensor:
    """Return one value up to the first boundary, the next up to the second, and so on.

    Args:
        x: the step: a number, tensor or variable.
        boundaries: numbers of the dtype of ``x``, ascending; int32 ones fit an int64 ``x`` too.
        values: one more than there are boundaries, of one dtype. A boundary belongs to the value before it.
        name: wanted name.

    Raises:
        ValueError: if the dtypes differ, or for another count of values.
    """
    graph = graph_of(x, *boundaries, *values)
    with graph.as_default(), graph.name_scope(name or "PiecewiseConstant") as scope:
        step = convert_to_tensor(x)
        ends = [_boundary(b, step) for b in boundaries]
        parts = [convert_to_tensor(v) for v in values]
        if len({part.dtype for part in parts}) > 1:
            dtypes = ", ".join(part.dtype.name for part in parts)
            raise ValueError(f"all values must have the same dtype, got {dtypes}")
        if len(parts) != len(ends) + 1:
            raise ValueError(
                f"there must be one more value than boundaries, got {len(parts)} values and {len(ends)} boundaries"
            )
        passed = cast(comparison.greater(step, stack(ends)), int32)
        return gather(stack(parts), reduce_sum(passed), name=scope)


piecewise_constant_decay = piecewise_constant


def _boundary(value: Any, step: Tensor) -> Tensor:
    tensor = convert_to_tensor(value)
    if tensor.dtype is step.dtype:
        return tensor
    if tensor.dtype is int32 and step.dtype is int64:
        return cast(tensor, int64)
    raise ValueError(f"boundaries must have the dtype of x, {step.dtype.name}; got {tensor.dtype.name}: {value!r}")


# -- helpers -------------------------------------------------------------------------------------


@contextmanager
def _rate(base: str, learning_rate: Any, global_step: Any, name: str | None) -> Iterator[tuple[Tensor, Tensor, str]]:
    """Enter the name scope, and yield the initial rate, the step in its dtype, and the scope."""
    _check_step(global_step)
    graph = graph_of(learning_rate, global_step)
    with graph.as_default(), graph.name_scope(name or base) as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        yield rate, _like(global_step, rate), scope


def _check_step(global_step: Any) -> None:
    if global_step is None:
        raise ValueError("a learning rate decay needs a global_step, got None")


def _like(value: Any, rate: Tensor) -> Tensor:
    if isinstance(value, (int, float, np.number)):
        return convert_to_tensor(rate.dtype.np_dtype.type(value), graph=rate.graph)
    return cast(value, rate.dtype)


def _fraction(rate: Tensor, step: Tensor, decay_steps: Any, staircase: bool) -> Tensor:
    fraction = step / _like(decay_steps, rate)
    return elementwise.floor(fraction) if staircase else fraction
