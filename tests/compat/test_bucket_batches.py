"""Batches of examples of like length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

training: Any = tf.contrib.training


def batches(found: Any) -> list[Any]:
    """All that come until the examples end."""
    got = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while True:
                got.append(sess.run(found))
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads, stop_grace_period_secs=30)
    return got


def test_examples_of_like_length_come_together() -> None:
    numbers = np.array([1, 5, 2, 9, 6, 3, 2, 8], np.int32)
    (number,) = tf.train.slice_input_producer([numbers], num_epochs=1, shuffle=False)
    example = {"x": tf.fill([number], number), "n": number}
    lengths, found = training.bucket_by_sequence_length(
        number, example, 2, [4, 7], dynamic_pad=True, allow_smaller_final_batch=True
    )
    assert found["x"].shape.as_list() == [None, None]
    got = batches([lengths, found])
    kinds = [{(n >= 4) + (n >= 7) for n in lengths} for lengths, _ in got]
    assert all(len(kind) == 1 for kind in kinds)
    assert sorted(n for lengths, _ in got for n in lengths) == sorted(numbers)
    for lengths, batch in got:
        assert batch["n"].tolist() == lengths.tolist()
        assert batch["x"].shape == (len(lengths), max(lengths))
        assert [row[:n].tolist() for row, n in zip(batch["x"], lengths, strict=True)] == [[n] * n for n in lengths]


def test_a_bucket_of_its_own_size_and_no_more_than_whole_batches() -> None:
    numbers = np.arange(12, dtype=np.int32)
    (number,) = tf.train.slice_input_producer([numbers], num_epochs=1, shuffle=False)
    which, (found,) = training.bucket([number], number % 2, [2, 4], 2, keep_input=number < 10)
    got = batches([which, found])
    assert sorted(x for bucket, batch in got if bucket == 0 for x in batch) == [0, 2, 4, 6]
    assert [batch.tolist() for bucket, batch in got if bucket == 1] == [[1, 3, 5, 7]]
    with pytest.raises(ValueError, match="num_buckets must be > 1"):
        training.bucket([1], 0, 2, 1)
    with pytest.raises(ValueError, match="3 buckets, 2 batch sizes"):
        training.bucket([1], 0, [2, 2], 3)
    with pytest.raises(ValueError, match="increasing"):
        training.bucket_by_sequence_length(1, [1], 2, [4, 4])
