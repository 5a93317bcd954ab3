"""Conversions: casts, constants of Python's and numpy's values, and operands of two dtypes."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import choices, wholes
from scripts.differentials.program import Build, Family

__all__ = ["FAMILIES"]

mixed = Family("promotion")
FAMILIES = [mixed]

_DTYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int32",
    "int64",
    "uint8",
    "bool",
    "complex64",
    "bfloat16",
]


def _cast(source: str, target: str) -> Build:
    def build(tf: Any, np: Any) -> Any:
        numbers = choices(np, (4,), "int32") if source == "bool" else wholes(np, (4,), 0, 100)
        return tf.cast(tf.cast(tf.constant(numbers), source), target)

    return build


for _source in _DTYPES:
    for _target in _DTYPES:
        if _source != _target:
            mixed.add(f"cast-{_source}-{_target}", _cast(_source, _target))


def _sum_of(left: str, right: str) -> Build:
    return lambda tf, np: tf.constant([1, 2], left) + tf.constant([1, 0], right)


for _left, _right in [
    ("float32", "float64"),
    ("int32", "int64"),
    ("float32", "int32"),
    ("uint8", "int32"),
    ("complex64", "float32"),
    ("float16", "float32"),
]:
    mixed.add(f"sum-{_left}-{_right}", _sum_of(_left, _right))

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
for _name, _value in _PYTHON.items():
    mixed.add(f"constant-of-{_name}", lambda tf, np, value=_value: tf.constant(value))
    for _dtype in ("float32", "int32"):
        mixed.add(
            f"convert-{_name}-to-{_dtype}",
            lambda tf, np, value=_value, dtype=_dtype: tf.convert_to_tensor(value, dtype),
        )
    mixed.add(f"float32-plus-{_name}", lambda tf, np, value=_value: tf.constant([1.0, 2.0]) + value)
    mixed.add(f"int32-times-{_name}", lambda tf, np, value=_value: tf.constant([1, 2]) * value)
for _dtype in (
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "bool",
):
    mixed.add(
        f"numpy-{_dtype}", lambda tf, np, dtype=_dtype: tf.constant(np.ones((2, 1), dtype)) + 0
    )
    mixed.add(
        f"saturate-to-{_dtype}",
        lambda tf, np, dtype=_dtype: tf.saturate_cast(tf.constant([-300.0, 0.5, 70000.0]), dtype),
    )
for _source, _target in [
    ("float32", "int32"),
    ("int64", "float64"),
    ("int32", "uint8"),
    ("uint8", "int16"),
    ("float32", "float64"),
    ("complex64", "float32"),
]:
    mixed.add(
        f"bitcast-{_source}-{_target}",
        lambda tf, np, source=_source, target=_target: tf.bitcast(
            tf.cast(tf.constant([[1, 2], [3, 4]]), source), getattr(tf, target)
        ),
    )
