"""The name of the kernels that numpy's OpenBLAS uses in this process.

The name comes from the library itself, because ``OPENBLAS_CORETYPE`` only holds the requested kernels. numpy
has no function for it.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

__all__ = ["blas_kernel"]

# The symbols have different names in different wheels of numpy.
_NAMES = (
    "scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename64_",
    "openblas_get_corename",
)  # fmt: skip


def blas_kernel() -> str:
    """Return the name of the kernels, such as ``SkylakeX``; ``unknown`` if numpy has no OpenBLAS."""
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        for file in sorted(folder.glob("*openblas*")) if folder.is_dir() else ():
            name = _core_name(ctypes.CDLL(str(file)))
            if name:
                return name
    return "unknown"


def _core_name(library: ctypes.CDLL) -> str | None:
    for name in _NAMES:
        function = getattr(library, name, None)
        if function is not None:
            function.argtypes, function.restype = [], ctypes.c_char_p
            value = function()
            return value.decode() if isinstance(value, bytes) else None
    return None
