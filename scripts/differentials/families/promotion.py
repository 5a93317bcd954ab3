"""Conversions: casts, constants of Python's and numpy's values, and operands of two dtypes."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import choices, wholes
from scripts.differentials.program import Family, words

__all__ = ["FAMILIES"]

mixed = Family("promotion")
FAMILIES = [mixed]

_DTYPES = words("float16 float32 float64 int8 int32 int64 uint8 bool complex64 bfloat16")


def _cast(tf: Any, np: Any, source: str, target: str) -> Any:
    numbers = choices(np, (4,), "int32") if source == "bool" else wholes(np, (4,), 0, 100)
    return tf.cast(tf.cast(tf.constant(numbers), source), target)


for _source in _DTYPES:
    _others = [dtype for dtype in _DTYPES if dtype != _source]
    mixed.over("cast-{source}-{target}", _cast, source=[_source], target=_others)
for _left, _right in (
    ("float32", "float64"),
    ("int32", "int64"),
    ("float32", "int32"),
    ("uint8", "int32"),
    ("complex64", "float32"),
    ("float16", "float32"),
):
    mixed.over(
        "sum-{left}-{right}",
        lambda tf, np, left, right: tf.constant([1, 2], left) + tf.constant([1, 0], right),
        left=[_left],
        right=[_right],
    )

_PYTHON: dict[str, Any] = {
    "int": 3,
    "float": 2.5,
    "bool": True,
    "complex": 1 + 2j,
    "large": 2**40,
    "negative": -1,
    "text": "a",
    "list": [1, 2],
    "mixed-list": [1, 2.5],
    "none": None,
    "nested": [[1, 2], [3, 4]],
    "ragged": [[1], [2, 3]],
    "empty": [],
    "bytes": b"ab",
    "list-of-bool": [True, False],
    "bool-and-int": [True, 2],
    "text-and-int": ["a", 1],
    "tuple": (1.0, 2),
    "too-large": 2**70,
    "dict": {"a": 1},
}
mixed.over("constant-of-{value}", lambda tf, np, value: tf.constant(value), value=_PYTHON)
mixed.over(
    "convert-{value}-to-{dtype}",
    lambda tf, np, value, dtype: tf.convert_to_tensor(value, dtype),
    value=_PYTHON,
    dtype=("float32", "int32"),
)
mixed.over("float32-plus-{value}", lambda tf, np, value: tf.constant([1.0, 2.0]) + value, value=_PYTHON)
mixed.over("int32-times-{value}", lambda tf, np, value: tf.constant([1, 2]) * value, value=_PYTHON)
_NUMPY = words("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 bool")
mixed.over("numpy-{dtype}", lambda tf, np, dtype: tf.constant(np.ones((2, 1), dtype)) + 0, dtype=_NUMPY)
mixed.over(
    "saturate-to-{dtype}",
    lambda tf, np, dtype: tf.saturate_cast(tf.constant([-300.0, 0.5, 70000.0]), dtype),
    dtype=_NUMPY,
)
for _source, _target in (
    ("float32", "int32"),
    ("int64", "float64"),
    ("int32", "uint8"),
    ("uint8", "int16"),
    ("float32", "float64"),
    ("complex64", "float32"),
):
    mixed.over(
        "bitcast-{source}-{target}",
        lambda tf, np, source, target: tf.bitcast(tf.cast(tf.constant([[1, 2], [3, 4]]), source), getattr(tf, target)),
        source=[_source],
        target=[_target],
    )
