"""TensorFlow's enumerations, by name and number, and the mapping of its element types to ``DType``."""

from __future__ import annotations

from collections.abc import Mapping

from actorsession.graph.dtypes import ALL_TYPES, DType

__all__ = ["DATA_TYPES", "ENUMS", "EnumType", "dtype_number", "dtype_of", "label_of"]

# In the order of their numbers; the number of a reference type is that of the type plus 100.
_TYPES = (
    "INVALID", "FLOAT", "DOUBLE", "INT32", "UINT8", "INT16", "INT8", "STRING", "COMPLEX64", "INT64",
    "BOOL", "QINT8", "QUINT8", "QINT32", "BFLOAT16", "QINT16", "QUINT16", "UINT16", "COMPLEX128",
    "HALF", "RESOURCE", "VARIANT", "UINT32", "UINT64", "FLOAT8_E5M2", "FLOAT8_E4M3FN",
    "FLOAT8_E4M3FNUZ", "FLOAT8_E4M3B11FNUZ", "FLOAT8_E5M2FNUZ", "INT4", "UINT4", "INT2", "UINT2",
    "FLOAT4_E2M1FN",
)  # fmt: skip

DATA_TYPES: Mapping[str, int] = {
    **{f"DT_{name}": number for number, name in enumerate(_TYPES)},
    **{f"DT_{name}_REF": number + 100 for number, name in enumerate(_TYPES) if number},
}

_CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
    "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip

# Those of the tables of messages are added when the tables are read.
ENUMS: dict[str, Mapping[str, int]] = {
    "DataType": DATA_TYPES,
    "SaverDef.CheckpointFormatVersion": {"LEGACY": 0, "V1": 1, "V2": 2},
    "Code": {name: number for number, name in enumerate(_CODES)},
    "LogMessage.Level": {"UNKNOWN": 0, "DEBUGGING": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50},
    "SessionLog.SessionStatus": {"STATUS_UNSPECIFIED": 0, "START": 1, "STOP": 2, "CHECKPOINT": 3},
    "DataClass": {
        f"DATA_CLASS_{name}": number for number, name in enumerate(("UNKNOWN", "SCALAR", "TENSOR", "BLOB_SEQUENCE"))
    },
    "VariableSynchronization": {
        f"VARIABLE_SYNCHRONIZATION_{name}": number
        for number, name in enumerate(("AUTO", "NONE", "ON_WRITE", "ON_READ"))
    },
    "VariableAggregation": {
        f"VARIABLE_AGGREGATION_{name}": number
        for number, name in enumerate(("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"))
    },
}

_BY_NUMBER: Mapping[int, DType] = {dtype.as_datatype_enum: dtype for dtype in ALL_TYPES}
_OURS = ", ".join(dtype.name for dtype in ALL_TYPES)


def label_of(enum: str, number: int) -> str | None:
    """Return the name of a value of an enumeration, if it has one."""
    return next((label for label, each in ENUMS[enum].items() if each == number), None)


class EnumType:
    """An enumeration as an object, with protobuf's methods and its values as attributes.

    Args:
        name: its name in schemas.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _shown(self) -> str:
        return self._name.rpartition(".")[2]

    def __getattr__(self, name: str) -> int:
        number = ENUMS[self._name].get(name)
        if number is None:
            raise AttributeError(self._unknown(name))
        return number

    def _unknown(self, name: object) -> str:
        known = ", ".join(ENUMS[self._name])
        return f"Enum {self._shown} has no value defined for name {name!r}; it has {known}"

    def Name(self, number: int) -> str:
        """Return the name of a value.

        Raises:
            ValueError: for a number without a name.
            TypeError: for anything but a number.
        """
        if not isinstance(number, int):
            raise TypeError(f"Enum value for {self._shown} must be an int, got {number!r:.100}")
        label = label_of(self._name, number)
        if label is None:
            raise ValueError(f"Enum {self._shown} has no name defined for value {number}")
        return label

    def Value(self, name: str) -> int:
        """Return the value of a name.

        Raises:
            ValueError: for an unknown name.
        """
        number = ENUMS[self._name].get(name)
        if number is None:
            raise ValueError(self._unknown(name))
        return number

    def keys(self) -> list[str]:
        """Return the names."""
        return list(ENUMS[self._name])

    def values(self) -> list[int]:
        """Return the values."""
        return list(ENUMS[self._name].values())

    def items(self) -> list[tuple[str, int]]:
        """Return names and values."""
        return list(ENUMS[self._name].items())


def dtype_number(dtype: DType) -> int:
    """Return TensorFlow's number of an element type."""
    return dtype.as_datatype_enum


def dtype_of(number: int) -> DType:
    """Return the element type with TensorFlow's number; for a reference type, the type that it refers to.

    Raises:
        ValueError: for types that this library does not have.
    """
    dtype = _BY_NUMBER.get(number - 100 if number > 100 else number)
    if dtype is None:
        label = label_of("DataType", number) or "an unknown type"
        raise ValueError(f"element type {number} ({label}) is not supported; supported types are {_OURS}")
    return dtype
