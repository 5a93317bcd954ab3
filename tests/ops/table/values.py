"""Arrays that rows of several families take."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
M = np.array([[1.5, np.nan], [-np.inf, 0.0]], np.float32)
TRUTH = np.array([[True, False], [False, True]])
COMPLEX = np.array([[1 + 2j, 3], [0, -1j]], np.complex64)
BRAIN = np.array([[1.5, -2.0], [0.0, 3.0]], ml_dtypes.bfloat16)
WORDS = np.array([[b"a", b"bc"], [b"", b"d\0"]], object)
WORD = np.array(b"word", object)
EMPTY = np.zeros([0, 3], np.float32)
ONE = np.float32(2.5)


def ints(*values: Any) -> Any:
    return np.array(values, np.int32)


def longs(*values: Any) -> Any:
    return np.array(values, np.int64)
