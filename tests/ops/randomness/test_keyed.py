"""Random numbers by key and counter or by a generator in a variable: distributions, and how generators move on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.errors import InvalidArgumentError
from actorsession.ops import raw
from tests.rows import for_each

KEY, COUNTER, ALG = np.array([7], np.uint64), np.array([1, 2], np.uint64), np.int32(1)


def test_a_shuffle_keeps_all_rows(session: acts.Session) -> None:
    value = np.arange(12).reshape(6, 2)
    found = session.run(raw.StatelessShuffle(value, KEY, COUNTER, ALG))
    assert sorted(found.tolist()) == value.tolist()


def test_gamma_numbers_have_the_mean_of_their_parameter_and_a_gradient(session: acts.Session) -> None:
    alpha = acts.constant(np.array([0.5, 3.0]))
    drawn = raw.StatelessRandomGammaV3(np.array([20_000, 2], np.int32), KEY, COUNTER, ALG, alpha)
    np.testing.assert_allclose(session.run(drawn).mean(0), [0.5, 3.0], rtol=0.1)
    (slope,) = acts.gradients(acts.reduce_mean(drawn, 0), alpha)
    np.testing.assert_allclose(session.run(slope), [1.0, 1.0], rtol=0.1)


def test_binomial_numbers_are_successes(session: acts.Session) -> None:
    shape, seed = np.array([5000, 2], np.int32), np.array([1, 2])
    drawn = raw.StatelessRandomBinomial(shape, seed, np.array([10.0, 4.0]), np.array([0.3, 1.0]))
    found = session.run(drawn)
    np.testing.assert_allclose(found.mean(0), [3.0, 4.0], rtol=0.05)


@for_each("ends", [(-1.0, 2.0), (3.0, 4.0), (-np.inf, -8.0), (7.0, np.inf), (-np.inf, np.inf)], ids=repr)
def test_truncated_numbers_are_between_their_ends_and_as_likely_as_normal_ones(ends: Any) -> None:
    """The mean of a normal number between two ends is the difference of densities over the probability."""
    low, high = np.array(ends)
    with acts.Session() as session:
        given = (np.array([0.0, 5.0]), np.array([1.0, 2.0]))
        ranges = (given[0] + given[1] * low, given[0] + given[1] * high)
        shape = np.array([2, 10_000], np.int32)
        by_batch = raw.ParameterizedTruncatedNormal(shape, *given, *ranges, seed=1)
        by_seed = raw.StatelessParameterizedTruncatedNormal(shape[::-1].copy(), np.array([1, 2]), *given, *ranges)
        for drawn in (session.run(by_batch), session.run(by_seed).T):
            scaled = (drawn - given[0][:, None]) / given[1][:, None]
            assert ((scaled >= low) & (scaled <= high)).all()
            grid = np.linspace(max(low, -12), min(high, 12), 200_001)
            density = np.exp(-(grid**2) / 2 + min(grid**2) / 2)
            wanted = (grid * density).sum() / density.sum()
            np.testing.assert_allclose(scaled.mean(1), wanted, atol=0.04)


def test_generators_in_variables_move_on(session: acts.Session) -> None:
    state = acts.Variable(np.array([0, 0, 5]), name="state", use_resource=True)
    session.run(state.initializer)
    shape, alg = np.array([3]), np.int64(1)
    draws = [
        raw.StatefulUniform(state.handle, alg, shape),
        raw.StatefulStandardNormalV2(state.handle, alg, shape),
        raw.StatefulTruncatedNormal(state.handle, alg, shape),
        raw.StatefulUniformInt(state.handle, alg, shape, np.int64(0), np.int64(9)),
        raw.StatefulUniformFullInt(state.handle, alg, shape),
        raw.StatefulRandomBinomial(state.handle, alg, shape, np.float64(4), np.float64(0.5)),
    ]
    for draw in draws:
        first, second = session.run(draw), session.run(draw)
        assert first.shape == (3,)
        assert not np.array_equal(first, second) or draw.dtype.is_integer
    before = session.run(state)
    assert session.run(raw.RngReadAndSkip(state.handle, np.int32(1), np.uint64(2))).tolist() == before.tolist()
    session.run(raw.RngSkip(state.handle, alg, np.int64(1)))
    assert (session.run(state) - before).tolist() == [3 * 256, 0, 0]


def test_a_state_of_another_size_is_refused(session: acts.Session) -> None:
    state = acts.Variable(np.array([0, 0]), name="state", use_resource=True)
    session.run(state.initializer)
    with pytest.raises(InvalidArgumentError, match="size of state"):
        session.run(raw.StatefulUniform(state.handle, np.int64(1), np.array([3])))


def test_integers_of_chance_differ(session: acts.Session) -> None:
    drawn = raw.NonDeterministicInts(np.array([4]))
    assert session.run(drawn).tolist() != session.run(drawn).tolist()


def test_the_time_is_that_of_the_run(session: acts.Session) -> None:
    now = raw.Timestamp()
    assert session.run(now) <= session.run(now)
