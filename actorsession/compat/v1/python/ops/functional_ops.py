"""``tensorflow.python.ops.functional_ops``: operations that take functions as arguments."""

from __future__ import annotations

from actorsession.ops.flow.functional import (
    For,
    Gradient,
    If,
    While,
    remote_call,
    symbolic_gradient,
)
from actorsession.ops.flow.mapping import foldl, foldr, scan

__all__ = [
    "For", "Gradient", "If", "While", "foldl", "foldr", "remote_call", "scan", "symbolic_gradient",
]  # fmt: skip
