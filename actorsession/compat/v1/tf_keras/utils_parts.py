"""``tensorflow.python.keras.utils`` as Keras 2.3 finds it, and its ``tf_utils``."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from actorsession.compat.v1.ops.operations import Variable
from actorsession.graph.operation import Operation, Tensor

__all__ = ["get_reachable_from_inputs"]


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name == "tf_utils":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(importlib.import_module("keras.utils"), name)


def get_reachable_from_inputs(inputs: Sequence[Any], targets: Sequence[Any] | None = None) -> set[Any]:
    """Return the tensors and operations that depend on some tensors, those themselves among them.

    Args:
        inputs: tensors, variables and operations; what is none of these has nothing that depends on it.
        targets: where the search may end, once all of them are found.
    """
    reached: set[Any] = set(inputs)
    left = set(targets or ())
    open_ = list(inputs)
    while open_ and not (targets and not left - reached):
        item = open_.pop()
        if isinstance(item, Operation):
            following: Sequence[Any] = item.outputs
        elif isinstance(item, Variable):
            following = [item.op]
        elif isinstance(item, Tensor):
            following = item.consumers()
        else:
            following = ()
        fresh = [one for one in following if one not in reached]
        reached.update(fresh)
        open_ += fresh
    return reached
