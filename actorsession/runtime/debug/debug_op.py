"""Debug ops: functions that are applied to a watched value before it is kept.

A debug op has a name, settings in brackets after it, the element types that it accepts, and a function from a
value to a new array. The meaning and layout of the results are TensorFlow's. Called by ``debug.graph`` to
check watches and by ``debug.debugger`` for each value; safe in any thread.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType
from actorsession.records import dataclass

__all__ = ["DebugOp", "debug_op", "identity"]

Array: TypeAlias = "np.ndarray[Any, Any]"

# TensorFlow's numbers of element types, which the numeric summary contains.
_DTYPE_NUMBERS: Mapping[str, int] = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}
_WRITTEN = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_BOOLS = {"true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True, slots=True)
class DebugOp:
    """A debug op with its settings.

    Attributes:
        name: its name without settings, as in dumps.
        text: its text in the watch.
        kinds: the kinds of element type that it accepts.
        settings: values of its settings.
        compute: maps a value, its type and the settings to a new array, or to ``None`` to keep nothing of
            this value.
    """

    name: str
    text: str
    kinds: str
    settings: Mapping[str, Any]
    compute: Callable[[Any, DType, Mapping[str, Any]], Array | None]

    def takes(self, dtype: DType) -> bool:
        """Return whether it accepts a type."""
        return dtype.kind in self.kinds

    def apply(self, value: Any, dtype: DType) -> Array | None:
        """Return the read-only array to keep for a value; ``None`` to keep nothing."""
        kept = self.compute(value, dtype, self.settings)
        if kept is not None:
            kept.flags.writeable = False
        return kept


def identity(value: Any, dtype: DType) -> Array:
    """Return a copy that shares no memory."""
    return np.array(value, dtype=dtype.np_dtype, order="C", copy=True)


def _identity(value: Any, dtype: DType, _: Mapping[str, Any]) -> Array:
    return identity(value, dtype)


def _nan_count(value: Any, dtype: DType, _: Mapping[str, Any]) -> Array:
    count = np.count_nonzero(np.isnan(value)) if dtype.kind in "fc" else 0
    return np.array([count], np.int64)


def _numeric_summary(value: Any, dtype: DType, settings: Mapping[str, Any]) -> Array | None:
    """Return TensorFlow's fourteen numbers and the shape.

    These are: 1 for a value that exists, the counts of elements, NaN, at or below the lower bound, negative,
    zero, positive, and at or above the upper bound; then minimum, maximum, mean and variance of the finite
    elements; the number of the type, the rank and each dimension.
    """
    array = np.asarray(value)
    data = array.astype(np.float64).ravel()
    finite = data[np.isfinite(data)]
    nans = int(np.count_nonzero(np.isnan(data)))
    low = data <= settings["lower_bound"]
    high = (data >= settings["upper_bound"]) & ~low
    if settings["mute_if_healthy"] and not (nans or low.any() or high.any()):
        return None
    between = data[~(low | high)]
    counts = [nans, low.sum(), (between < 0).sum(), (between == 0).sum(), (between > 0).sum(), high.sum()]
    moments = (
        [finite.min(), finite.max(), finite.mean(), finite.var()] if finite.size else [np.inf, -np.inf, np.nan, np.nan]
    )
    head = [1, data.size, *counts, *moments, _DTYPE_NUMBERS[dtype.name], array.ndim]
    return np.array([*head, *array.shape], np.float64)


def _bound(text: str) -> float:
    return float(text)


def _flag(text: str) -> bool:
    return _BOOLS[text.lower()]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A registered debug op: accepted types, function, and the parser and default of each setting."""

    kinds: str
    compute: Callable[[Any, DType, Mapping[str, Any]], Array | None]
    settings: Mapping[str, tuple[Callable[[str], Any], Any]]


_KINDS: Mapping[str, _Kind] = {
    "DebugIdentity": _Kind("biufcs", _identity, {}),
    "DebugNanCount": _Kind("biufc", _nan_count, {}),
    "DebugNumericSummary": _Kind(
        "biuf",
        _numeric_summary,
        {"lower_bound": (_bound, -np.inf), "upper_bound": (_bound, np.inf), "mute_if_healthy": (_flag, False)},
    ),
}


def debug_op(text: str) -> DebugOp:
    """Return the debug op for a watch's text, such as ``DebugNumericSummary(lower_bound=-1.0)``.

    Raises:
        InvalidArgumentError: for an unknown op or setting, or a value that cannot be parsed; the message
            names the valid ones.
    """
    match = _WRITTEN.fullmatch(text)
    kind = _KINDS.get(match[1]) if match else None
    if match is None or kind is None:
        near = difflib.get_close_matches(text, _KINDS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InvalidArgumentError(f"there is no debug op {text!r}; there are {', '.join(_KINDS)}{hint}")
    settings = {name: default for name, (_, default) in kind.settings.items()}
    for part in (match[2] or "").split(";"):
        if part.strip():
            name, value = _setting(text, kind, part)
            settings[name] = value
    return DebugOp(match[1], text, kind.kinds, settings, kind.compute)


def _setting(text: str, kind: _Kind, part: str) -> tuple[str, Any]:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    if not equals or name not in kind.settings:
        known = ", ".join(kind.settings) or "none"
        raise InvalidArgumentError(
            f"debug op {text!r} has no setting {name!r}; its settings are: {known}, written "
            "'name=value' with ';' between them"
        )
    read, default = kind.settings[name]
    try:
        return name, read(value)
    except (ValueError, KeyError):
        expected = "true or false" if isinstance(default, bool) else "a number"
        raise InvalidArgumentError(f"setting {name} of debug op {text!r} is {expected}, got {value!r}") from None
