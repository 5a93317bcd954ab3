"""Strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

strings = Family("strings")
FAMILIES = [strings]

_TEXTS: dict[str, Callable[[Any], Any]] = {
    "constant": lambda tf: [tf.constant("abc"), tf.constant([b"a", b"\xff\x00"]), tf.constant(["ä", "b\x00"])],
    "equal": lambda tf: [tf.equal(["a", "b"], "a"), tf.not_equal(["a", "b"], ["a", "c"])],
    "shapes": lambda tf: [
        tf.reshape(["a", "b"], [2, 1]),
        tf.concat([["a"], ["b"]], 0),
        tf.gather(["a", "b"], [1, 1]),
        tf.stack(["a", "b"]),
    ],
    "plus": lambda tf: tf.constant(["a", "b"]) + "c",
    "add-n": lambda tf: tf.add_n(["a", "b"]),
    "where": lambda tf: tf.where([True, False], ["a", "b"], ["c", "d"]),
    "one-hot-text": lambda tf: tf.one_hot([0, 2], 3, "on", "off", dtype=tf.string),
    "less": lambda tf: tf.less("a", "b"),
    "cast": lambda tf: tf.cast("1", tf.float32),
    "zeros": lambda tf: tf.zeros([2], tf.string),
    "fill": lambda tf: tf.fill([2], "x"),
    "pad": lambda tf: tf.pad(["a"], [[1, 0]], constant_values="x"),
    "sparse-dense": lambda tf: tf.sparse_to_dense([1], [3], ["a"], "x"),
    "as-string": lambda tf: [tf.as_string([1, 2]), tf.as_string([1.5, 2.0], precision=2)],
    "to-number": lambda tf: tf.string_to_number(["1.5", "-2"]),
    "to-no-number": lambda tf: tf.string_to_number(["a"]),
    "join": lambda tf: tf.string_join([["a", "b"], ["c", "d"]], "-"),
    "reduce-join": lambda tf: tf.reduce_join([["a", "b"], ["c", "d"]], 1),
    "split": lambda tf: tf.string_split(["a b", "c"]),
    "hash": lambda tf: tf.string_to_hash_bucket_fast(["a", "b", ""], 100),
    "hash-strong": lambda tf: tf.string_to_hash_bucket_strong(["a"], 100, [1, 2]),
    "length": lambda tf: tf.strings.length(["abc", "ä"]),
    "substr": lambda tf: tf.substr(["hello", "world"], 1, 3),
    "substr-outside": lambda tf: tf.substr("abc", 9, 1),
    "lower": lambda tf: tf.strings.lower(["ABc"]),
    "upper": lambda tf: tf.strings.upper(["ABc"]),
    "strip": lambda tf: tf.strings.strip(["  a ", "b\n"]),
    "replace": lambda tf: tf.regex_replace(["a1b22", "c"], "[0-9]+", "#"),
    "match": lambda tf: tf.strings.regex_full_match(["a1", "b"], "a.*"),
    "raw": lambda tf: tf.decode_raw(["\x01\x00\x02\x00"], tf.int16),
    "base64": lambda tf: tf.encode_base64(["hello?", ""]),
    "from-base64": lambda tf: tf.decode_base64(["aGVsbG8_"]),
    "csv": lambda tf: tf.decode_csv(["1,a,2.5", "2,,"], [[0], ["x"], [0.5]]),
    "format": lambda tf: tf.strings.format("{} and {}", [tf.constant(1), tf.constant([1, 2])]),
}
strings.each(_TEXTS, lambda call: lambda tf, np: call(tf))


@strings("one-hot-of-fed-text")
def _fed(tf: Any, np: Any) -> Plan:
    on = tf.placeholder(tf.string, [])
    return Plan(tf.one_hot([0, 2], 3, on, "off"), {on: "on"})
