"""The peer's side: all rows with TensorFlow in graph mode; only the peer's Python runs it."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

import numpy as np

from .library_tensorflow import Library
from .side import Side, builders, serve
from .tensorflow_module import tf

__all__ = ["main"]


def main(out: int) -> None:
    """Answer the driver until it has no more requests.

    Args:
        out: the descriptor for the replies.
    """
    library = Library()
    (distribution, *_) = metadata.packages_distributions()["tensorflow"]
    side = Side((distribution, []), _describe, builders(library), library.close)
    serve(side, sys.stdin, out)


def _describe() -> dict[str, str]:
    return {
        "name": "TensorFlow",
        "version": tf.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
