"""Strings; what one operation type does with them is compared by the rows of ``tests/ops/table``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family

__all__ = ["FAMILIES"]

strings = Family("strings")
FAMILIES = [strings]

_TEXTS: dict[str, Callable[[Any], Any]] = {
    "constant": lambda tf: [tf.constant("abc"), tf.constant([b"a", b"\xff\x00"]), tf.constant(["ä", "b\x00"])],
    "add-n": lambda tf: tf.add_n(["a", "b"]),
    "less": lambda tf: tf.less("a", "b"),
    "cast": lambda tf: tf.cast("1", tf.float32),
    "zeros": lambda tf: tf.zeros([2], tf.string),
    "pad": lambda tf: tf.pad(["a"], [[1, 0]], constant_values="x"),
    "sparse-dense": lambda tf: tf.sparse_to_dense([1], [3], ["a"], "x"),
    "as-string": lambda tf: [tf.as_string([1, 2]), tf.as_string([1.5, 2.0], precision=2)],
    "reduce-join": lambda tf: tf.reduce_join([["a", "b"], ["c", "d"]], 1),
    "replace": lambda tf: tf.regex_replace(["a1b22", "c"], "[0-9]+", "#"),
    "csv": lambda tf: tf.decode_csv(["1,a,2.5", "2,,"], [[0], ["x"], [0.5]]),
    "format": lambda tf: tf.strings.format("{} and {}", [tf.constant(1), tf.constant([1, 2])]),
}
strings.each(_TEXTS, lambda call: lambda tf, np: call(tf))
