"""``tf.profiler``: parameters, float operations, time and memory of a graph, by scope, type or line."""

from __future__ import annotations

import sys
from typing import Any

from actorsession.interop.tabled import message_class
from actorsession.lazy_names import lazy_names

_NAMES = {
    ".logs": "merge_default_with_oplog write_op_log",
    ".model_analyzer": "ALL_ADVICE Profiler advise profile",
    ".options": "ProfileOptionBuilder",
}
_MESSAGES = ("AdviceProto", "GraphNodeProto", "MultiGraphNodeProto", "OpLogProto")

__all__, _load, _names = lazy_names(__name__, _NAMES)
__all__ += list(_MESSAGES)


def __getattr__(name: str) -> Any:
    if name in _MESSAGES:
        value = message_class(name)
        setattr(sys.modules[__name__], name, value)
        return value
    return _load(name)


def __dir__() -> list[str]:
    return sorted({*_names(), *_MESSAGES})
