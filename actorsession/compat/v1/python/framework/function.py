"""``tensorflow.python.framework.function``: named functions of a graph."""

from __future__ import annotations

from actorsession.ops.flow.functions import Defun

__all__ = ["Defun"]
