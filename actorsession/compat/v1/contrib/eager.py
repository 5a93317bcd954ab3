"""``tf.contrib.eager``: what means something in graphs, for libraries that ask whether to execute eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.compat.v1.graphs.behavior import enable_eager_execution, executing_eagerly
from actorsession.compat.v1.internals.framework import in_eager_mode, in_graph_mode, num_gpus
from actorsession.compat.v1.internals.test_util import run_in_graph_and_eager_modes as run_test_in_graph_and_eager_modes
from actorsession.compat.v1.train.checkpoints.checkpoint import Checkpoint
from actorsession.ops.variables.variable import Variable

__all__ = [
    "Checkpoint",
    "Variable",
    "defun",
    "enable_eager_execution",
    "executing_eagerly",
    "in_eager_mode",
    "in_graph_mode",
    "num_gpus",
    "run_test_in_graph_and_eager_modes",
]


def defun(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Return a function that builds its operations where it is called, or a decorator that does so.

    Args:
        func: the function.
        **options: accepted for compatibility and ignored.
    """
    return func if func is not None else lambda function: function
