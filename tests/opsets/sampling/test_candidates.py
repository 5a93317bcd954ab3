"""Samplers of classes: what they draw, how often they expect it, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import constant, float32, int64, nn, set_random_seed
from actorsession.errors import InvalidArgumentError
from actorsession.extend import NOT_DIFFERENTIABLE
from actorsession.graph.registry import lookup
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each, refused, refusing

TRUE = np.array([[0, 3], [5, 1]])
UNIGRAMS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def uniform(count: int, unique: bool, size: int = 10, seed: int | None = 3) -> Any:
    return nn.uniform_candidate_sampler(TRUE, 2, count, unique, size, seed=seed)


def log_uniform(count: int, unique: bool, size: int = 10, seed: int | None = 3) -> Any:
    return nn.log_uniform_candidate_sampler(TRUE, 2, count, unique, size, seed=seed)


def fixed(count: int, unique: bool, size: int = 6, seed: int | None = 3, **more: Any) -> Any:
    more = {"unigrams": UNIGRAMS, **more}
    return nn.fixed_unigram_candidate_sampler(TRUE, 2, count, unique, size, seed=seed, **more)


SAMPLERS: dict[str, tuple[Callable[..., Any], Any]] = {
    "uniform": (uniform, np.full(10, 0.1)),
    "log_uniform": (log_uniform, np.log(np.arange(2, 12) / np.arange(1, 11)) / np.log(11)),
    "fixed": (fixed, np.arange(1, 7) / 21),
}
EVERY = pytest.mark.parametrize("name", SAMPLERS)


# -- what is drawn ---------------------------------------------------------------------------------


@EVERY
def test_classes_are_drawn_by_their_probabilities(name: str) -> None:
    make, chance = SAMPLERS[name]
    drawn = evaluate([make(40000, False).sampled_candidates])[0]
    found = np.bincount(drawn, minlength=chance.size) / 40000
    np.testing.assert_allclose(found, chance, atol=0.015)


@EVERY
def test_counts_of_a_sample_with_repetitions_are_multiples_of_the_probability(name: str) -> None:
    make, chance = SAMPLERS[name]
    drawn, true, sampled = evaluate(list(make(5, False)))
    np.testing.assert_allclose(true, 5 * chance[TRUE], rtol=1e-6)
    np.testing.assert_allclose(sampled, 5 * chance[drawn], rtol=1e-6)


@EVERY
def test_unique_classes_differ_and_are_counted_by_the_tries(name: str) -> None:
    """``1 - (1 - p) ** tries``, the same tries for all: any one class tells how many there were."""
    make, chance = SAMPLERS[name]
    count = chance.size - 1
    drawn, true, sampled = (np.asarray(v) for v in evaluate(list(make(count, True))))
    assert len(set(drawn.tolist())) == count
    tries = np.round(np.log1p(-true[0, 0].astype(float)) / np.log1p(-chance[0]))
    assert tries > count
    np.testing.assert_allclose(true, 1 - (1 - chance[TRUE]) ** tries, rtol=1e-4)
    np.testing.assert_allclose(sampled, 1 - (1 - chance[drawn]) ** tries, rtol=1e-4)


@EVERY
def test_unique_classes_come_in_the_order_of_their_draws(name: str) -> None:
    """Over many samples the first one is drawn by its probability, as if it were the only one."""
    make, chance = SAMPLERS[name]
    sample, state = make(3, True).sampled_candidates, Variables()
    first = [evaluate([sample], None, state)[0][0] for _ in range(1500)]
    found = np.bincount(first, minlength=chance.size) / 1500
    np.testing.assert_allclose(found, chance, atol=0.06)


@EVERY
def test_all_classes_can_be_drawn(name: str) -> None:
    make, chance = SAMPLERS[name]
    drawn = evaluate([make(chance.size, True).sampled_candidates])[0]
    assert sorted(drawn.tolist()) == list(range(chance.size))


def test_classes_of_tiny_weights_are_drawn_in_the_end() -> None:
    """They stand for more draws than could be made; of each other they are drawn by their weights."""
    tiny = [1.0, 2e-30, 1e-30, 1e-300, 0.0, 0.0]
    drawn, _, sampled = evaluate(list(fixed(4, True, unigrams=tiny)))
    assert drawn.tolist() in ([0, 1, 2, 3], [0, 2, 1, 3])
    assert sampled[0] == sampled[1] == 1.0
    made, state = fixed(2, True, unigrams=[*tiny[:3], 0.0, 0.0, 0.0]), Variables()
    drawn = [evaluate([made.sampled_candidates], None, state)[0].tolist() for _ in range(300)]
    assert {row[0] for row in drawn} == {0}
    np.testing.assert_allclose(np.mean([row[1] == 1 for row in drawn]), 2 / 3, atol=0.1)


@EVERY
def test_a_seed_repeats_a_sequence_and_steps_go_on_in_it(name: str) -> None:
    make = SAMPLERS[name][0]
    sample = make(4, False, seed=11).sampled_candidates
    runs = []
    for _ in range(2):
        state = Variables()
        runs.append([evaluate([sample], None, state)[0].tolist() for _ in range(5)])
    assert runs[0] == runs[1]
    assert len({tuple(draw) for draw in runs[0]}) > 1


def test_the_seed_of_the_graph_counts_too() -> None:
    set_random_seed(5)
    a, b = uniform(20, False, seed=None), uniform(20, False, seed=None)
    assert a[0].op.attrs["seed"] == b[0].op.attrs["seed"] == 5
    assert a[0].op.attrs["seed2"] != b[0].op.attrs["seed2"]


def test_large_ranges_take_few_draws() -> None:
    sample = nn.log_uniform_candidate_sampler(TRUE, 2, 2000, True, 10**9, seed=1)
    drawn = evaluate([sample.sampled_candidates])[0]
    assert len(set(drawn.tolist())) == 2000
    assert drawn.min() >= 0
    assert drawn.max() < 10**9


def test_the_sampler_of_all_classes_expects_each_once() -> None:
    sample = nn.all_candidate_sampler(TRUE, 2, 6, True)
    drawn, true, sampled = evaluate(list(sample))
    assert (drawn.tolist(), true.tolist()) == ([0, 1, 2, 3, 4, 5], [[1.0, 1.0], [1.0, 1.0]])
    assert sampled.tolist() == [1.0] * 6


# -- weights ---------------------------------------------------------------------------------------


@for_each(
    "size, more, wanted",
    [
        (6, {}, [[1 / 7, 4 / 7], [6 / 7, 2 / 7]]),
        (6, {"distortion": 0.5}, [[0.27696171, 0.55392343], [0.67841488, 0.39168298]]),
        (6, {"distortion": 0.0}, [[0.5, 0.5], [0.5, 0.5]]),
        (6, {"num_reserved_ids": 2, "unigrams": UNIGRAMS[2:]}, [[0.0, 2 / 3], [1.0, 0.0]]),
    ],
    ids=["plain", "distorted", "flat", "reserved"],
)
def test_expected_counts_are_those_of_tensorflow(size: int, more: Any, wanted: Any) -> None:
    np.testing.assert_allclose(evaluate([fixed(3, False, size, **more)[1]])[0], wanted, rtol=1e-6)


def test_a_shard_has_every_so_manieth_class_under_numbers_of_its_own() -> None:
    true = constant([[0, 2], [1, 1]], int64)
    sample = nn.fixed_unigram_candidate_sampler(true, 2, 3, True, 3, num_shards=2, shard=1, unigrams=UNIGRAMS)
    assert sorted(evaluate([sample[0]])[0].tolist()) == [0, 1, 2]
    sample = nn.fixed_unigram_candidate_sampler(true, 2, 3, False, 3, num_shards=2, shard=1, unigrams=UNIGRAMS)
    assert evaluate([sample[1]])[0].tolist() == [[0.5, 1.5], [1.0, 1.0]]


def test_weights_may_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("".join(f"word{i},{w}\n" for i, w in enumerate(UNIGRAMS)) + "\n")
    sample = fixed(3, False, unigrams=(), vocab_file=str(path))
    assert sample[0].op.attrs["vocab_file"] == ""
    np.testing.assert_allclose(evaluate([sample[1]])[0], [[1 / 7, 4 / 7], [6 / 7, 2 / 7]], 1e-6)
    path.write_text("word\n")
    refused(lambda: fixed(3, False, unigrams=(), vocab_file=str(path)), ValueError, "ends in a weight")


# -- static types and refusals ---------------------------------------------------------------------


@EVERY
def test_shapes_are_known_while_building(name: str) -> None:
    sample = SAMPLERS[name][0](4, False)
    assert [(t.shape.as_list(), t.dtype) for t in sample] == [([4], int64), ([2, 2], float32), ([4], float32)]
    assert lookup(sample[0].op.type).gradient is NOT_DIFFERENTIABLE


def test_an_unknown_batch_stays_unknown() -> None:
    sample = nn.uniform_candidate_sampler(source(int64, [None, 2]), 2, 3, False, 9)
    assert sample.true_expected_count.shape.as_list() == [None, 2]


test_numbers_that_cannot_be_are_refused_while_building = refusing(
    (lambda: uniform(0, True), ValueError, "num_sampled is at least 1, got 0"),
    (lambda: log_uniform(2, True, 0), ValueError, "range_max is at least 1, got 0"),
    (lambda: nn.uniform_candidate_sampler(TRUE, 0, 1, True, 9), ValueError, "num_true is at least 1, got 0"),
    (lambda: nn.uniform_candidate_sampler(TRUE, 3, 1, True, 9), ValueError, r"\[batch, 3\], got \(2, 2\)"),
    (lambda: nn.all_candidate_sampler([1, 2], 1, 1, True), ValueError, r"got \(2,\)"),
    (lambda: fixed(3, False, unigrams=()), ValueError, "one of the two"),
    (lambda: fixed(3, False, vocab_file="words"), ValueError, "one of the two"),
)


@for_each(
    "make, match",
    [
        (lambda: uniform(11, True), "11 different classes cannot be drawn from 10"),
        (
            lambda: fixed(6, True, num_reserved_ids=1, unigrams=UNIGRAMS[1:]),
            "6 different classes cannot be drawn from 5",
        ),
        (lambda: uniform(3, True, 5), r"true classes lie in \[0, 5\), got 5"),
        (lambda: nn.all_candidate_sampler(TRUE, 2, 4, True), r"true classes lie in \[0, 4\)"),
        (lambda: fixed(3, False, 7), "range_max 7 for 6 classes"),
        (lambda: fixed(3, False, unigrams=[0.0] * 6), "one of them above"),
        (lambda: fixed(3, False, unigrams=[-1.0, 1, 1, 1, 1, 1]), "at least 0"),
        (lambda: fixed(3, False, num_shards=2, shard=2), "got shard 2 of 2"),
    ],
)
def test_numbers_that_cannot_be_are_refused_by_the_step(make: Any, match: str) -> None:
    refused(lambda: evaluate(list(make())), InvalidArgumentError, match)


def test_true_classes_of_another_shape_are_refused_by_the_step() -> None:
    true = source(int64)
    sample = nn.uniform_candidate_sampler(true, 2, 3, False, 9)
    with pytest.raises(InvalidArgumentError, match=r"shape \[batch, 2\], got \[2, 1\]"):
        evaluate([sample[0]], {true: [[1], [2]]})
