"""Strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

strings = Family("strings")
FAMILIES = [strings]


strings.add(
    "constant",
    lambda tf, np: Plan(
        [tf.constant("abc"), tf.constant([b"a", b"\xff\x00"]), tf.constant(["ä", "b\x00"])]
    ),
)
strings.add(
    "equal", lambda tf, np: [tf.equal(["a", "b"], "a"), tf.not_equal(["a", "b"], ["a", "c"])]
)
strings.add(
    "shapes",
    lambda tf, np: [
        tf.reshape(["a", "b"], [2, 1]),
        tf.concat([["a"], ["b"]], 0),
        tf.gather(["a", "b"], [1, 1]),
        tf.stack(["a", "b"]),
    ],
)
strings.add("plus", lambda tf, np: tf.constant(["a", "b"]) + "c")
strings.add("add-n", lambda tf, np: tf.add_n(["a", "b"]))
strings.add("where", lambda tf, np: tf.where([True, False], ["a", "b"], ["c", "d"]))
strings.add("one-hot-text", lambda tf, np: tf.one_hot([0, 2], 3, "on", "off", dtype=tf.string))
strings.add("less", lambda tf, np: tf.less("a", "b"))
strings.add("cast", lambda tf, np: tf.cast("1", tf.float32))
strings.add("zeros", lambda tf, np: tf.zeros([2], tf.string))
strings.add("fill", lambda tf, np: tf.fill([2], "x"))
strings.add("pad", lambda tf, np: tf.pad(["a"], [[1, 0]], constant_values="x"))
strings.add("sparse-dense", lambda tf, np: tf.sparse_to_dense([1], [3], ["a"], "x"))
_TEXTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "as-string": (
        "as_string",
        lambda tf: [tf.as_string([1, 2]), tf.as_string([1.5, 2.0], precision=2)],
    ),
    "to-number": ("string_to_number", lambda tf: tf.string_to_number(["1.5", "-2"])),
    "to-no-number": ("string_to_number", lambda tf: tf.string_to_number(["a"])),
    "join": ("string_join", lambda tf: tf.string_join([["a", "b"], ["c", "d"]], "-")),
    "reduce-join": ("reduce_join", lambda tf: tf.reduce_join([["a", "b"], ["c", "d"]], 1)),
    "split": ("string_split", lambda tf: tf.string_split(["a b", "c"])),
    "hash": (
        "string_to_hash_bucket_fast",
        lambda tf: tf.string_to_hash_bucket_fast(["a", "b", ""], 100),
    ),
    "hash-strong": (
        "string_to_hash_bucket_strong",
        lambda tf: tf.string_to_hash_bucket_strong(["a"], 100, [1, 2]),
    ),
    "length": ("strings.length", lambda tf: tf.strings.length(["abc", "ä"])),
    "substr": ("substr", lambda tf: tf.substr(["hello", "world"], 1, 3)),
    "substr-outside": ("substr", lambda tf: tf.substr("abc", 9, 1)),
    "lower": ("strings.lower", lambda tf: tf.strings.lower(["ABc"])),
    "upper": ("strings.upper", lambda tf: tf.strings.upper(["ABc"])),
    "strip": ("strings.strip", lambda tf: tf.strings.strip(["  a ", "b\n"])),
    "replace": ("regex_replace", lambda tf: tf.regex_replace(["a1b22", "c"], "[0-9]+", "#")),
    "match": (
        "strings.regex_full_match",
        lambda tf: tf.strings.regex_full_match(["a1", "b"], "a.*"),
    ),
    "raw": ("decode_raw", lambda tf: tf.decode_raw(["\x01\x00\x02\x00"], tf.int16)),
    "base64": ("encode_base64", lambda tf: tf.encode_base64(["hello?", ""])),
    "from-base64": ("decode_base64", lambda tf: tf.decode_base64(["aGVsbG8_"])),
    "csv": ("decode_csv", lambda tf: tf.decode_csv(["1,a,2.5", "2,,"], [[0], ["x"], [0.5]])),
    "format": (
        "strings.format",
        lambda tf: tf.strings.format("{} and {}", [tf.constant(1), tf.constant([1, 2])]),
    ),
}
for _name, (_need, _text) in _TEXTS.items():
    strings.add(_name, lambda tf, np, text=_text: text(tf), _need)
