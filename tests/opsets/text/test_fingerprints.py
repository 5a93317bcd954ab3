"""Fingerprints: numbers that TensorFlow 2.21 gives, for each way in which lengths are mixed."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession as acts
from actorsession import Graph, uint8
from actorsession.opsets.text.fingerprints import farmhash64
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each, refused

# By the length of bytes that count up from 0.
KNOWN = {
    0: 0x9AE16A3B2F90404F,
    1: 0xBE6056EDF5E94B54,
    3: 0x94A13D22E9EBA49A,
    4: 0x82BFFD898958E540,
    7: 0xA2E0BFF20DB0A6A1,
    8: 0xAD5A13E1E8E93B98,
    16: 0x0EFD25A0A34156D4,
    17: 0xBBB6A6F8F20D1F1C,
    32: 0x1A9D8199972CDF49,
    33: 0xE8756EC1CB75524E,
    64: 0xF58504BB53DECC4B,
    65: 0xC6A3282C3E793DBE,
    128: 0x1C484C95F0EA5DD3,
    200: 0x074C7FCC26D66FB3,
}


@for_each("size", KNOWN)
def test_each_length_has_the_fingerprint_of_tensorflow(size: int) -> None:
    assert farmhash64(bytes(range(size))) == KNOWN[size]


def _numbers(data: Any) -> list[int]:
    with Graph().as_default():
        [found] = evaluate([acts.strings.fingerprint(data)])
    return [int.from_bytes(row.tobytes(), "little") for row in found]


def test_rows_of_numbers_are_hashed_by_their_bytes() -> None:
    rows = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert _numbers(rows) == [0x34A4D98923E761E2, 0x51B11570D6F7CD87]


def test_rows_of_several_strings_are_hashed_by_the_fingerprints_of_each() -> None:
    assert _numbers([["a", "b"], ["c", ""]]) == [0x53373C88A93B407A, 0x871DC03407E15B65]
    assert _numbers([["a"], ["b"]]) == _numbers(["a", "b"]) == [farmhash64(b"a"), farmhash64(b"b")]


def test_a_fingerprint_has_8_bytes() -> None:
    known = acts.strings.fingerprint(source("float32", [3, None]))
    assert (known.dtype, known.shape.as_list()) == (uint8, [3, 8])
    assert acts.strings.fingerprint(source("float32")).shape.as_list() == [None, 8]


def test_scalars_and_other_methods_are_refused() -> None:
    refused(lambda: acts.strings.fingerprint(1), ValueError, "rank at least 1")
    refused(lambda: acts.strings.fingerprint([1], method="md5"), ValueError, "farmhash64, got b'md5'")
