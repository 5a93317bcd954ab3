"""``tf.dtypes``: element types and the functions that convert between them."""

from __future__ import annotations

from actorsession.compat.v1.graphs.forms import as_dtype
from actorsession.graph.dtypes import (
    DType,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    qint8,
    qint16,
    qint32,
    quint8,
    quint16,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
    variant,
)
from actorsession.graph.dtypes import bool_ as bool
from actorsession.ops import cast, complex, saturate_cast
from actorsession.opsets import as_string

__all__ = [
    "QUANTIZED_DTYPES",
    "DType",
    "as_dtype",
    "as_string",
    "bfloat16",
    "bool",
    "cast",
    "complex",
    "complex64",
    "complex128",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "qint8",
    "qint16",
    "qint32",
    "quint8",
    "quint16",
    "resource",
    "saturate_cast",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "variant",
]  # fmt: skip

double, half = float64, float16
QUANTIZED_DTYPES = frozenset({qint8, qint16, qint32, quint8, quint16})
