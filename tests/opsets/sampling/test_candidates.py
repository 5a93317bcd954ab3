"""Samplers of classes: what they draw, how often they expect it, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import (
    IndexedSlices,
    Variable,
    constant,
    float32,
    float64,
    global_variables_initializer,
    gradients,
    int64,
    nn,
    placeholder,
    set_random_seed,
)
from actorsession.errors import InvalidArgumentError
from actorsession.extend import NOT_DIFFERENTIABLE
from actorsession.graph.registry import lookup
from actorsession.train import AdagradOptimizer
from tests.ops.interpreter import Variables, check_gradient, evaluate, source
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


# -- classes that are drawn by how often they were true --------------------------------------------


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


# -- losses over true classes and a sample ---------------------------------------------------------

RNG = np.random.RandomState(0)
TABLE = RNG.randn(7, 3).astype(np.float32)
BIASES = RNG.randn(7).astype(np.float32)
INPUTS = RNG.randn(2, 3).astype(np.float32)
SAMPLED = np.array([0, 4, 6])
ONE = (np.array([[1], [4]]), np.array([[0.5], [0.3]], np.float32))
TWO = (np.array([[1, 2], [4, 0]]), np.array([[0.5, 0.4], [0.3, 0.7]], np.float32))
COUNTS = np.array([0.7, 0.3, 0.2], np.float32)


def built(which: str, case: Any, remove: bool, tables: Any = None) -> Any:
    true, counts = case
    make: Any = nn.nce_loss if which == "nce" else nn.sampled_softmax_loss
    weights, biases = (constant(TABLE), constant(BIASES)) if tables is None else tables
    values = (constant(SAMPLED), constant(counts), constant(COUNTS))
    return make(
        weights,
        biases,
        constant(true),
        constant(INPUTS),
        3,
        7,
        true.shape[1],
        sampled_values=values,
        remove_accidental_hits=remove,
    )


@for_each(
    "which, remove, case, wanted",
    [
        ("nce", False, ONE, [6.7282, 9.392]),
        ("nce", False, TWO, [11.4387, 9.657]),
        ("nce", True, ONE, [6.7282, 9.065]),
        ("nce", True, TWO, [11.4387, 8.8983]),
        ("softmax", False, ONE, [0.0449, 8.3065]),
        ("softmax", False, TWO, [3.1434, 8.1402]),
        ("softmax", True, ONE, [0.0449, 8.3063]),
        ("softmax", True, TWO, [3.1434, 8.1396]),
    ],
)
def test_losses_are_those_of_tensorflow(which: str, remove: bool, case: Any, wanted: Any) -> None:
    np.testing.assert_allclose(evaluate([built(which, case, remove)])[0], wanted, atol=6e-5)


@pytest.mark.parametrize("which", ["nce", "softmax"])
def test_gradients_are_those_of_finite_differences(which: str) -> None:
    make: Any = nn.nce_loss if which == "nce" else nn.sampled_softmax_loss
    values = (SAMPLED, ONE[1], COUNTS)

    def f(weights: Any, biases: Any, inputs: Any) -> Any:
        given = tuple(constant(v) for v in values)
        true = constant(ONE[0])
        return make(weights, biases, true, inputs, 3, 7, 1, given, remove_accidental_hits=False)

    check_gradient(f, *(np.asarray(v, float) for v in (TABLE, BIASES, INPUTS)))


def test_tables_may_be_cut_into_parts() -> None:
    parts = [[constant(table[i::2]) for i in range(2)] for table in (TABLE, BIASES)]
    found = evaluate([built("nce", ONE, False, parts), built("nce", ONE, False)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_only_the_rows_of_the_sample_and_of_the_truth_get_a_gradient() -> None:
    w, b = Variable(TABLE), Variable(BIASES)
    slopes = gradients(built("nce", ONE, False, (w, b)), [w, b])
    assert all(isinstance(slope, IndexedSlices) for slope in slopes)
    assert evaluate([slopes[0].indices])[0].tolist() == [1, 4, 0, 4, 6]


@pytest.mark.parametrize("which", ["nce", "softmax"])
def test_a_sample_is_drawn_if_none_is_given(which: str) -> None:
    """Training with samples brings the true class up among all classes."""
    set_random_seed(1)
    make: Any = nn.nce_loss if which == "nce" else nn.sampled_softmax_loss
    w, b = Variable(np.zeros([20, 3])), Variable(np.zeros(20))
    x = constant(INPUTS.astype(float), float64)
    loss = make(w, b, constant([[5], [17]]), x, num_sampled=6, num_classes=20)
    move = AdagradOptimizer(0.5).minimize(loss)
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    for _ in range(60):
        evaluate([move], None, state)
    table, biases = evaluate([w, b], None, state)
    assert (INPUTS @ table.T + biases).argmax(1).tolist() == [5, 17]
