"""What a later vocabulary takes over of an earlier one: places in files, and rows of a saved matrix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.errors import InvalidArgumentError
from tests.rows import refused


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def remapping(folder: Path, **attrs: Any) -> Any:
    (folder / "old").write_text("a\nb\nc\n")
    (folder / "new").write_text("c\nz\na\nb\n")
    return tf.raw_ops.GenerateVocabRemapping(
        new_vocab_file=str(folder / "new"), old_vocab_file=str(folder / "old"), **attrs
    )


def test_words_of_a_new_vocabulary_are_found_in_the_old_one(session: tf.Session, tmp_path: Path) -> None:
    found = session.run(remapping(tmp_path, new_vocab_offset=0, num_new_vocab=4))
    assert (found.remapping.tolist(), found.num_present) == ([2, -1, 0, 1], 3)
    short = session.run(remapping(tmp_path, new_vocab_offset=2, num_new_vocab=2, old_vocab_size=1))
    assert (short.remapping.tolist(), short.num_present) == ([0, -1], 1)
    with pytest.raises(InvalidArgumentError, match="has 4 lines; 5 are needed"):
        session.run(remapping(tmp_path, new_vocab_offset=1, num_new_vocab=4))


def test_a_saved_matrix_is_loaded_with_its_rows_and_columns_in_other_places(
    session: tf.Session, tmp_path: Path
) -> None:
    saved = tf.get_variable("m", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
    session.run(saved.initializer)
    path = tf.train.Saver().save(session, str(tmp_path / "model"))

    def load(rows: Any, columns: Any, initial: Any, shape: tuple[int, int]) -> Any:
        return session.run(
            tf.raw_ops.LoadAndRemapMatrix(
                ckpt_path=path,
                old_tensor_name="m",
                row_remapping=np.array(rows, np.int64),
                col_remapping=np.array(columns, np.int64),
                num_rows=shape[0],
                num_cols=shape[1],
                initializing_values=np.array(initial, np.float32),
            )
        )

    assert load([2, -1, 0], [], [8, 9], (3, 2)).tolist() == [[4, 5], [8, 9], [0, 1]]
    assert load([1, -1], [1, -1], [7, 8, 9], (2, 2)).tolist() == [[3, 7], [8, 9]]
    refused(lambda: load([2, -1], [], [8], (2, 2)), InvalidArgumentError, "2 values have no old place")
    refused(lambda: load([2, 2], [], [], (2, 2)), InvalidArgumentError, "used once at most")
