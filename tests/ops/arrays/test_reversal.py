"""Reading backwards, and moving round."""

from __future__ import annotations

import numpy as np
import pytest

import actorsession as acts
from actorsession import reverse
from actorsession import reverse as reverse_v2
from tests.ops.cases import expect, f32
from tests.ops.interpreter import source

M = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_reverse_has_two_names() -> None:
    assert reverse_v2 is reverse
    expect(lambda x: reverse(x, [-1]), M[:, ::-1], M)


def test_reverse_sequence_reverses_along_one_axis() -> None:
    wanted = f32([[1, 0, 2], [3, 4, 5]])
    expect(lambda x: acts.arrays.reverse_sequence(x, [2, 1], 1, 0), wanted, M)


def test_sequences_and_batch_are_two_axes_that_exist() -> None:
    with pytest.raises(ValueError, match="two axes"):
        acts.arrays.reverse_sequence(M, [1, 2], seq_axis=0)
    with pytest.raises(ValueError, match=r"axis 2 is not in \[0, 2\)"):
        acts.arrays.reverse_sequence(M, [1, 2], seq_axis=2)
    with pytest.raises(ValueError, match="axis -1"):
        acts.arrays.reverse_sequence(source("float32"), [1, 2], seq_axis=-1)


def test_roll_adds_up_shifts_along_one_axis() -> None:
    expect(lambda x: acts.arrays.roll(x, [1, 1], [1, 1]), np.roll(M, 2, 1), M)
    expect(lambda x: acts.arrays.roll(x, 0, 0), M, M)
