"""Classes that are drawn by how often they were true: what a session learns, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import actorsession as acts
from actorsession import constant, int64, nn, placeholder
from actorsession.errors import InvalidArgumentError
from tests.rows import refused


def test_each_true_class_weighs_one_more_in_the_steps_after() -> None:
    """As TensorFlow 2.21 counts: 4 draws of 5 classes, of which class 1 is true twice a step."""
    made = nn.learned_unigram_candidate_sampler(np.array([[1], [1]]), 1, 4, False, 5)
    with acts.Session() as sess:
        for weight, total in ((1, 5), (3, 7), (5, 9)):
            drawn, of_true, of_drawn = sess.run(made)
            np.testing.assert_allclose(of_true, np.full((2, 1), 4 * weight / total), 1e-6)
            wanted = np.where(drawn == 1, weight, 1) * 4 / total
            np.testing.assert_allclose(of_drawn, wanted, 1e-6)


def test_what_was_learned_belongs_to_the_session_and_all_of_its_plans() -> None:
    made = nn.learned_unigram_candidate_sampler(np.array([[1]]), 1, 2, False, 4, seed=3)
    for _ in range(2):
        with acts.Session() as sess:
            first = sess.run(made.true_expected_count)
            second = sess.run([made.true_expected_count, made.sampled_candidates])[0]
        np.testing.assert_allclose([first[0, 0], second[0, 0]], [2 / 4, 2 * 2 / 5], 1e-6)


def test_frequent_classes_are_drawn_frequently() -> None:
    true = np.full((50, 1), 7)
    made = nn.learned_unigram_candidate_sampler(true, 1, 200, False, 10, seed=1)
    with acts.Session() as sess:
        sess.run(made)
        drawn = sess.run(made)[0]
    assert 130 < (drawn == 7).sum() < 200


def test_different_classes_are_drawn_on_request() -> None:
    made = nn.learned_unigram_candidate_sampler(np.array([[1]]), 1, 5, True, 5)
    with acts.Session() as sess:
        assert sorted(sess.run(made)[0].tolist()) == [0, 1, 2, 3, 4]
        more = nn.learned_unigram_candidate_sampler(np.array([[1]]), 1, 6, True, 5)
        refused(lambda: sess.run(more), InvalidArgumentError, "6 different classes cannot be drawn from 5")


def test_true_classes_are_in_range_and_of_one_shape() -> None:
    x = placeholder(int64, [None, 1])
    made = nn.learned_unigram_candidate_sampler(x, 1, 2, False, 5)
    with acts.Session() as sess, pytest.raises(InvalidArgumentError, match=r"got 7"):
        sess.run(made, {x: [[7]]})
    with pytest.raises(ValueError, match=r"shape \[batch, 2\]"):
        nn.learned_unigram_candidate_sampler(np.array([[1]]), 2, 2, False, 5)
    refused(lambda: nn.learned_unigram_candidate_sampler(constant([[1]]), 1, 2, False, 5), TypeError, "int64")
    with pytest.raises(ValueError, match="range_max is at least 1"):
        nn.learned_unigram_candidate_sampler(np.array([[1]]), 1, 2, False, 0)
