"""Element types of tensors, by TensorFlow's names.

Owns the one table between a dtype's name, its numpy dtype and its kind. Types travel by name,
because ``numpy.dtype.str`` of bfloat16 is an anonymous ``<V2``. ``string`` tensors are object
arrays of bytes; ``resource`` tensors hold a handle that never leaves its device; ``variant`` tensors hold
a value of a class of its own that is never changed, such as a list of tensors. Every room uses it; it
imports nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

__all__ = [
    "DType", "as_dtype", "bfloat16", "bool_", "complex64", "complex128", "float16", "float32",
    "float64", "int8", "int16", "int32", "int64", "resource", "string", "uint8", "uint16", "uint32",
    "uint64", "variant",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type; instances are unique, so they compare by identity.

    Attributes:
        name: TensorFlow's name, such as ``float32``.
        np_dtype: the numpy dtype of arrays that hold it (``object`` for strings, resources, variants).
        kind: one of ``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float, ``c`` complex, ``s``
            string, ``r`` resource, ``v`` variant.
    """

    name: str
    np_dtype: np.dtype[Any]
    kind: str

    def __repr__(self) -> str:
        return f"actorsession.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are the same instance, also in copies of what holds one.
        return as_dtype, (self.name,)

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The numpy scalar type, as ``tf.DType.as_numpy_dtype``."""
        return self.np_dtype.type

    @property
    def is_floating(self) -> bool:
        """Whether this is a real floating type, bfloat16 included."""
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer type (not bool)."""
        return self.kind in "iu"

    @property
    def is_complex(self) -> bool:
        """Whether this is a complex type."""
        return self.kind == "c"

    @property
    def is_bool(self) -> bool:
        """Whether this is the boolean type."""
        return self.kind == "b"

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined: integers, floats and complex numbers."""
        return self.kind in "iufc"

    @property
    def is_unsigned(self) -> bool:
        """Whether this is an integer type without negative numbers."""
        return self.kind == "u"

    @property
    def itemsize(self) -> int:
        """Bytes per element as stored."""
        return int(self.np_dtype.itemsize)

    @property
    def size(self) -> int:
        """Bytes per element, 0 where elements have no size of their own."""
        return 0 if self.kind in "srv" else self.itemsize

    @property
    def base_dtype(self) -> DType:
        """This type: there are no reference types."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part."""
        return {complex64: float32, complex128: float64}.get(self, self)

    @property
    def min(self) -> Any:
        """The least number.

        Raises:
            TypeError: for a type that has none.
        """
        return self._extremes()[0]

    @property
    def max(self) -> Any:
        """The greatest number.

        Raises:
            TypeError: for a type that has none.
        """
        return self._extremes()[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """From 0 to the number that stands for full intensity: 1, or the greatest whole number.

        Raises:
            ValueError: for a type that images are not kept in.
        """
        if self.is_integer:
            return 0, self.max
        if self not in (float32, float64, bool_):
            raise ValueError(f"{self.name} has no limits; integers, float32, float64 and bool have")
        return 0, 1

    def _extremes(self) -> tuple[Any, Any]:
        if self.is_integer:
            whole = np.iinfo(self.np_dtype)
            return whole.min, whole.max
        if not self.is_floating:
            raise TypeError(
                f"{self.name} has no least and greatest number; integers and floats have"
            )
        finfo: Any = ml_dtypes.finfo  # has no annotations
        real = finfo(self.np_dtype)
        return real.min, real.max

    def is_compatible_with(self, other: Any) -> bool:
        """Whether values of another type are of this one: when it is the same."""
        return as_dtype(other) is self


float16 = DType("float16", np.dtype(np.float16), "f")
float32 = DType("float32", np.dtype(np.float32), "f")
float64 = DType("float64", np.dtype(np.float64), "f")
bfloat16 = DType("bfloat16", np.dtype(ml_dtypes.bfloat16), "f")
int8 = DType("int8", np.dtype(np.int8), "i")
int16 = DType("int16", np.dtype(np.int16), "i")
int32 = DType("int32", np.dtype(np.int32), "i")
int64 = DType("int64", np.dtype(np.int64), "i")
uint8 = DType("uint8", np.dtype(np.uint8), "u")
uint16 = DType("uint16", np.dtype(np.uint16), "u")
uint32 = DType("uint32", np.dtype(np.uint32), "u")
uint64 = DType("uint64", np.dtype(np.uint64), "u")
bool_ = DType("bool", np.dtype(np.bool_), "b")
complex64 = DType("complex64", np.dtype(np.complex64), "c")
complex128 = DType("complex128", np.dtype(np.complex128), "c")
string = DType("string", np.dtype(object), "s")
resource = DType("resource", np.dtype(object), "r")
variant = DType("variant", np.dtype(object), "v")

_BY_NAME: dict[str, DType] = {
    t.name: t
    for t in (
        float16, float32, float64, bfloat16, int8, int16, int32, int64, uint8, uint16, uint32,
        uint64, bool_, complex64, complex128, string, resource, variant,
    )
}  # fmt: skip
# Spellings that TensorFlow takes beside the names.
_ALIASES = {"half": float16, "double": float64, "float": float32}
# TensorFlow's types for numbers kept as integers with a range; refused by name.
_QUANTISED = frozenset({"qint8", "quint8", "qint16", "quint16", "qint32"})
_BY_NUMPY: dict[np.dtype[Any], DType] = {
    t.np_dtype: t for t in _BY_NAME.values() if t.kind not in "srv"
}
_BY_PYTHON: dict[object, DType] = {
    float: float32, int: int32, bool: bool_, complex: complex128, str: string, bytes: string,
    object: string,
}  # fmt: skip


def as_dtype(value: Any) -> DType:
    """Finds the dtype that a name, numpy dtype, numpy scalar type or Python type stands for.

    Python's ``float`` and ``int`` mean float32 and int32, as constants of them do. Byte order does
    not matter, and numpy's string and object types mean ``string``.

    Raises:
        TypeError: if nothing fits; the message lists the valid names.
    """
    if isinstance(value, DType):
        return value
    found = _BY_NAME.get(value) or _ALIASES.get(value) if isinstance(value, str) else _other(value)
    if found is None:
        if isinstance(value, str) and value in _QUANTISED:
            raise TypeError(
                f"{value} is a quantised type, and those are not supported: keep the integers in "
                f"{value.removeprefix('q')} and their scale beside them; "
                f"valid names: {', '.join(_BY_NAME)}"
            )
        raise TypeError(f"cannot convert {value!r} to a dtype; valid names: {', '.join(_BY_NAME)}")
    return found


def _other(value: Any) -> DType | None:
    if isinstance(value, type):
        # numpy takes any class for "object".
        if not issubclass(value, np.generic):
            return _BY_PYTHON.get(value)
    elif not isinstance(value, np.dtype):
        return None  # numpy takes None for float64, and asks any object for its ``dtype``
    elif value in _BY_NUMPY:
        # Each tensor that travels comes here; a new byte order costs 1.5 us.
        return _BY_NUMPY[value]
    np_dtype = np.dtype(value).newbyteorder("=")
    return string if np_dtype.kind in "SUO" else _BY_NUMPY.get(np_dtype)
