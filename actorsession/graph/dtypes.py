"""Element types of tensors, by TensorFlow's names.

This module holds the one table between a dtype's name, its numpy dtype and its kind. Types are sent by name,
because ``numpy.dtype.str`` of bfloat16 is an anonymous ``<V2``. ``string`` tensors are object arrays of
bytes; ``resource`` tensors hold a handle that never leaves its device; ``variant`` tensors hold an immutable
value of a class of its own, such as a list of tensors. Quantised types are integers whose range stands in
other tensors; their arrays have one field, named after the type, so that they are told from integers. Every
package uses this module; it imports nothing of the library.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

__all__ = [
    "DType", "DTypeLike", "accumulation_dtype", "as_dtype", "bfloat16", "bool_", "complex64",
    "complex128", "dtype_or_reference", "float16", "float32", "float64", "int8", "int16", "int32",
    "int64", "qint8", "qint16", "qint32", "quint8", "quint16", "reference_dtype", "refuse_none", "resource",
    "show_types_as", "string", "uint8", "uint16", "uint32", "uint64", "variant",
]  # fmt: skip


def refuse_none(value: Any) -> None:
    """Refuse a value of a tensor of numbers that has ``None`` in it, which numpy reads as NaN or ``False``.

    Args:
        value: an array, or plain Python at any depth.

    Raises:
        TypeError: if there is one.
    """
    if isinstance(value, np.ndarray):
        parts: Any = value.flat if value.dtype == object else ()
    else:
        parts = value if isinstance(value, (list, tuple)) else (value,)
    kinds = set(map(type, parts))
    if type(None) in kinds:
        raise TypeError("None is no number: write float('nan') for a missing one, or leave it out")
    if not kinds.isdisjoint((list, tuple, np.ndarray)):
        for part in parts:
            refuse_none(part)


class DType:
    """An element type; instances are unique, and ``is`` compares them.

    Args:
        type_enum: TensorFlow's number of a type, or anything else that ``as_dtype`` accepts.
        handle_data: without effect.

    Attributes:
        name: TensorFlow's name, such as ``float32``.
        np_dtype: the numpy dtype of arrays that hold it (``object`` for strings, resources, variants).
        kind: one of ``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float, ``c`` complex, ``q`` quantised,
            ``s`` string, ``r`` resource, ``v`` variant.
        as_datatype_enum: TensorFlow's number of the type, as in its files.

    Raises:
        TypeError: if there is no such type.
    """

    __slots__ = ("as_datatype_enum", "kind", "name", "np_dtype")

    name: str
    np_dtype: np.dtype[Any]
    kind: str
    as_datatype_enum: int

    def __new__(cls, type_enum: Any, handle_data: Any = None) -> DType:
        """Return the one instance of the type."""
        return dtype_or_reference(type_enum)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self!r} is immutable: {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        """Return whether the other is this type, or denotes it, such as its name."""
        if isinstance(other, DType):
            return self is other
        if other is None:
            return False
        return _found(other) is self.base_dtype and _is_reference(other) is self._is_ref_dtype

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{_shown_prefix}{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are the same instance, also in copies of objects that hold one.
        return dtype_or_reference, (self.name,)

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The numpy scalar type; ``object`` where arrays hold objects."""
        if self.kind == "q":
            return self.np_dtype  # type: ignore[return-value] # as in TensorFlow
        return object if self.kind in "srv" else self.np_dtype.type

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
    def is_quantized(self) -> bool:
        """Whether numbers are kept as integers with a range."""
        return self.kind == "q"

    @property
    def integers(self) -> np.dtype[Any]:
        """The numpy dtype of the integers of a quantised type; ``np_dtype`` of every other."""
        return self.np_dtype[0] if self.kind == "q" else self.np_dtype

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether arrays can hold such elements outside of a step."""
        return self.kind not in "rv"

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
        """The type that a reference type refers to; every other type itself."""
        return _BY_NUMBER[self.as_datatype_enum % _REFERENCES_FROM]

    @property
    def _is_ref_dtype(self) -> bool:
        """Whether values are references to variables."""
        return self.as_datatype_enum > _REFERENCES_FROM

    @property
    def _as_ref(self) -> DType:
        """The type of references to variables of this type."""
        return reference_dtype(self)

    @property
    def real_dtype(self) -> DType:
        """The type of the real part."""
        base = self.base_dtype
        return {complex64: float32, complex128: float64}.get(base, base)

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
        """The range from 0 to full intensity, which is 1, or the greatest integer.

        Raises:
            ValueError: for a type that images are not kept in.
        """
        if self.is_integer:
            return 0, self.max
        if self.base_dtype not in (float32, float64, bool_):
            raise ValueError(f"{self.name} has no limits; integers, float32, float64 and bool have")
        return 0, 1

    def _extremes(self) -> tuple[Any, Any]:
        if self.is_integer:
            whole = np.iinfo(self.np_dtype)
            return whole.min, whole.max
        if not self.is_floating:
            raise TypeError(f"{self.name} has no least and greatest number; integers and floats have")
        finfo: Any = ml_dtypes.finfo  # has no annotations
        real = finfo(self.np_dtype)
        return real.min, real.max

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether values of another type are of this one, which holds only for the same type."""
        return as_dtype(other) is self.base_dtype


def _made(name: str, np_dtype: np.dtype[Any], kind: str, number: int) -> DType:
    dtype = object.__new__(DType)
    values = {"name": name, "np_dtype": np_dtype, "kind": kind, "as_datatype_enum": number}
    for attribute, value in values.items():
        object.__setattr__(dtype, attribute, value)
    return dtype


float16 = _made("float16", np.dtype(np.float16), "f", 19)
float32 = _made("float32", np.dtype(np.float32), "f", 1)
float64 = _made("float64", np.dtype(np.float64), "f", 2)
bfloat16 = _made("bfloat16", np.dtype(ml_dtypes.bfloat16), "f", 14)
int8 = _made("int8", np.dtype(np.int8), "i", 6)
int16 = _made("int16", np.dtype(np.int16), "i", 5)
int32 = _made("int32", np.dtype(np.int32), "i", 3)
int64 = _made("int64", np.dtype(np.int64), "i", 9)
uint8 = _made("uint8", np.dtype(np.uint8), "u", 4)
uint16 = _made("uint16", np.dtype(np.uint16), "u", 17)
uint32 = _made("uint32", np.dtype(np.uint32), "u", 22)
uint64 = _made("uint64", np.dtype(np.uint64), "u", 23)
bool_ = _made("bool", np.dtype(np.bool_), "b", 10)
complex64 = _made("complex64", np.dtype(np.complex64), "c", 8)
complex128 = _made("complex128", np.dtype(np.complex128), "c", 18)
qint8, quint8, qint16, quint16, qint32 = (
    _made(name, np.dtype([(name, name.removeprefix("q"))]), "q", number)
    for name, number in (("qint8", 11), ("quint8", 12), ("qint16", 15), ("quint16", 16), ("qint32", 13))
)
string = _made("string", np.dtype(object), "s", 7)
resource = _made("resource", np.dtype(object), "r", 20)
variant = _made("variant", np.dtype(object), "v", 21)

ALL_TYPES = (
    float16, float32, float64, bfloat16, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    bool_, complex64, complex128, qint8, quint8, qint16, quint16, qint32, string, resource, variant,
)  # fmt: skip
"""Every element type."""

_BY_NAME: dict[str, DType] = {t.name: t for t in ALL_TYPES}
# What stands before the names of types where they are shown.
_shown_prefix = "actorsession."
# Spellings that TensorFlow accepts beside the names.
_ALIASES = {"half": float16, "double": float64, "float": float32}
# The types of references to variables, made when they are asked for. ``as_dtype`` reads them as the types
# that they refer to, because a value has no other.
_BY_NUMBER: dict[int, DType] = {t.as_datatype_enum: t for t in _BY_NAME.values()}
_REFERENCE = "_ref"
_REFERENCES_FROM = 100
_REFERENCE_TO: dict[DType, DType] = {}
_BY_NUMPY: dict[np.dtype[Any], DType] = {t.np_dtype: t for t in _BY_NAME.values() if t.kind not in "srv"}
_BY_PYTHON: dict[object, DType] = {
    float: float32,
    int: int32,
    bool: bool_,
    complex: complex128,
    str: string,
    bytes: string,
    object: string,
}


DTypeLike: TypeAlias = "DType | np.dtype[Any] | type | str | int"
"""What ``as_dtype`` takes."""


def as_dtype(value: Any) -> DType:
    """Return the dtype that a name, number, numpy dtype, numpy scalar type or Python type denotes.

    Numbers are TensorFlow's; reference types count as the types they refer to. Python's ``float`` and ``int``
    mean float32 and int32, as in constants. Byte order does not matter, and numpy's string and object types
    mean ``string``.

    Raises:
        TypeError: if nothing fits; the message lists the valid names.
    """
    if isinstance(value, DType):
        return value.base_dtype if value.as_datatype_enum > _REFERENCES_FROM else value
    # What is first found here is what each tensor of a message has.
    dtype = _BY_NAME.get(value) if type(value) is str else None
    if dtype is None and isinstance(value, np.dtype):
        dtype = _BY_NUMPY.get(value)
    dtype = dtype or _found(value)
    if dtype is None:
        raise TypeError(f"cannot convert {value!r} to a dtype; valid names: {', '.join(_BY_NAME)}")
    return dtype


def show_types_as(prefix: str) -> None:
    """Choose what stands before the names of element types in their text, for the whole process.

    Args:
        prefix: such as ``"actorsession."``, which it is at first.
    """
    global _shown_prefix
    _shown_prefix = prefix


def reference_dtype(dtype: DType) -> DType:
    """Return the type of references to variables of a type, such as ``float32_ref``."""
    if dtype.as_datatype_enum > _REFERENCES_FROM:
        return dtype
    reference = _REFERENCE_TO.get(dtype)
    if reference is None:
        name, number = f"{dtype.name}{_REFERENCE}", dtype.as_datatype_enum + _REFERENCES_FROM
        reference = _REFERENCE_TO.setdefault(dtype, _made(name, dtype.np_dtype, dtype.kind, number))
    return reference


def dtype_or_reference(value: Any) -> DType:
    """Return what ``as_dtype`` does, but the type of references for a name or number of one."""
    if isinstance(value, DType):
        return value
    dtype = as_dtype(value)
    return reference_dtype(dtype) if _is_reference(value) else dtype


def _is_reference(value: Any) -> bool:
    """Return whether a name or number is one of a type of references."""
    if isinstance(value, str):
        return value.endswith(_REFERENCE)
    return isinstance(value, int) and value > _REFERENCES_FROM


def accumulation_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which numbers of a dtype are added up: float32 for 16-bit floats.

    A float16 of 2048 plus 1, or a bfloat16 of 256 plus 1, is rounded to the same number again.
    """
    return np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


def _found(value: Any) -> DType | None:
    if isinstance(value, str):
        name = value.removesuffix(_REFERENCE)
        return _BY_NAME.get(name) or _ALIASES.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return _BY_NUMBER.get(value - _REFERENCES_FROM if value > _REFERENCES_FROM else value)
    return _other(value)


def _other(value: Any) -> DType | None:
    if isinstance(value, type):
        # numpy takes any class for "object".
        if not issubclass(value, np.generic):
            return _BY_PYTHON.get(value)
    elif not isinstance(value, np.dtype):
        return None  # numpy reads None as float64, and reads ``dtype`` of any object
    np_dtype = np.dtype(value).newbyteorder("=")
    return string if np_dtype.kind in "SUO" else _BY_NUMPY.get(np_dtype)
