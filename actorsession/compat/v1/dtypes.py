"""``tf.dtypes``: element types and the functions that convert between them."""

from __future__ import annotations

from actorsession.graph.dtypes import qint8, qint16, qint32, quint8, quint16
from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.compat.v1.graphs.forms": "as_dtype",
    "actorsession.graph.dtypes": (
        "DType bfloat16 bool_=bool complex64 complex128 float16 float16=half float32 float64 "
        "float64=double int8 int16 int32 int64 qint8 qint16 qint32 quint8 quint16 resource string "
        "uint8 uint16 uint32 uint64 variant"
    ),
    "actorsession.ops": "cast complex saturate_cast",
    "actorsession.opsets": "as_string",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
__all__ += ["QUANTIZED_DTYPES"]

QUANTIZED_DTYPES = frozenset({qint8, qint16, qint32, quint8, quint16})
