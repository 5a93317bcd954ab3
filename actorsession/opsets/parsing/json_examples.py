"""``decode_json_example``: conversion of examples in protobuf's JSON form to messages.

Owns ``DecodeJSONExample``. Names of fields may be spelled ``int64List`` or ``int64_list``; integers may be
strings, floats ``"NaN"`` and ``"Infinity"``; byte strings are base64.
"""

from __future__ import annotations

import base64
import binascii
import functools
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE
from actorsession.json_text import read_json
from actorsession.ops import raw
from actorsession.ops.rows import checked, op, same
from actorsession.opsets.text.kernels import each
from actorsession.protobuf.wire import length_field, write_tag, write_varint

__all__ = ["decode_json_example"]


def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Convert examples in protobuf's JSON form to serialized messages for ``parse_example``.

    Args:
        json_examples: strings, each an example.
        name: wanted name.

    Returns:
        Strings of the same shape. At run time an InvalidArgumentError is raised for invalid examples.
    """
    return raw.DecodeJSONExample(json_examples, name=name)


def _bytes_value(value: Any) -> bytes:
    text = value.translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    return length_field(1, base64.b64decode(text + "=" * (-len(text) % 4), validate=True))


def _float_value(value: Any) -> bytes:
    if isinstance(value, bool):
        raise ValueError(f"a number is wanted, got {value!r}")
    with np.errstate(over="ignore"):
        return write_tag(1, 5) + struct.pack("<f", np.float32(float(value)))


def _int_value(value: Any) -> bytes:
    number = int(value)
    if isinstance(value, bool) or number != float(value) or not -(2**63) <= number < 2**63:
        raise ValueError(f"a whole number of 64 bits is wanted, got {value!r:.100}")
    return write_tag(1, 0) + write_varint(number & 0xFFFFFFFFFFFFFFFF)


# By list: the number of its field in a feature, and the function that encodes a value.
_LISTS: Mapping[str, tuple[int, Callable[[Any], bytes]]] = {
    "bytes_list": (1, _bytes_value),
    "float_list": (2, _float_value),
    "int64_list": (3, _int_value),
}
_SPELLINGS = {"bytesList": "bytes_list", "floatList": "float_list", "int64List": "int64_list"}


def _fields(value: Any, *names: str) -> dict[str, Any]:
    """Return the fields present in a message, by their names in ``.proto`` files."""
    if not isinstance(value, dict):
        raise ValueError(f"a message is an object, got {value!r:.100}")
    names_of = {str(key): _SPELLINGS.get(str(key), str(key)) for key in value}
    present = {names_of[key]: item for key, item in value.items() if item is not None}
    unknown = sorted(present.keys() - set(names))
    if unknown:
        raise ValueError(f"no such field: {unknown[0]!r}; {', '.join(names)} are fields here")
    return present


def _feature(value: Any) -> bytes:
    out = b""
    lists = _fields(value, *_LISTS)
    if len(lists) > 1:
        raise ValueError(f"a feature is one list, got {', '.join(lists)}")
    for key, content in lists.items():
        number, write = _LISTS[key]
        values = _fields(content, "value").get("value", [])
        if not isinstance(values, list):
            raise ValueError(f"values are a list, got {values!r:.100}")
        out += length_field(number, b"".join([write(each) for each in values]))
    return out


def _example(text: bytes) -> bytes:
    try:
        features = _fields(read_json(text), "features").get("features")
        if features is None:
            return b""
        by_key = _fields(features, "feature").get("feature", {})
        if not isinstance(by_key, dict):
            raise ValueError(f"features by key are an object, got {by_key!r:.100}")
        entries = [
            length_field(1, length_field(1, key.encode()) + length_field(2, _feature(value)))
            for key, value in by_key.items()
        ]
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, binascii.Error) as exc:
        raise InvalidArgumentError(f"DecodeJSONExample: Error while parsing JSON: {exc} (in {text!r:.100})") from None
    return length_field(1, b"".join(entries))


op("DecodeJSONExample", checked(same), functools.partial(each, _example), NOT_DIFFERENTIABLE)
