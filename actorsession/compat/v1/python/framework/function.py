"""``tensorflow.python.framework.function``: named functions of a graph."""

from __future__ import annotations

from actorsession.ops.functions import Defun

__all__ = ["Defun"]
