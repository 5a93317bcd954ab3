"""The exchanges of files, our side with itself; ``scripts/differential`` runs them with TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from scripts.differentials.interchange import differences_of
from scripts.differentials.interchange_side import EXCHANGES, plain

# Its other side is TensorFlow's own descriptors.
ALONE = [each for each in EXCHANGES if type(each).__name__ != "Fields"]


@pytest.mark.parametrize("exchange", ALONE, ids=lambda each: type(each).__name__)
def test_what_our_side_writes_it_reads(exchange: Any, tmp_path: Path) -> None:
    with tf.Graph().as_default():
        exchange.write(tf, str(tmp_path))
    found = []
    for _ in range(2):
        with tf.Graph().as_default():
            found.append(plain(exchange.read(tf, str(tmp_path))))
    assert found[0]
    assert list(differences_of(*found)) == []


def test_differences_are_named_with_their_place() -> None:
    one = {"a": [1.0, 2.0], "b": "x", "c": 1, "n": float("nan")}
    other = {"a": [1.0, 2.5], "b": "y", "d": 1, "n": float("nan")}
    assert list(differences_of(one, one)) == []
    assert list(differences_of(one, other, "it")) == [
        "it/a[1]: expected 2.0, found 2.5",
        "it/b: expected 'x', found 'y'",
        "it/c: not found",
        "it/d: only found",
    ]
