"""What TensorFlow's files say of operation types beyond their signatures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["FROM_HANDLE", "GRAPH_DEF_VERSION", "OF_TENSORFLOW", "PRIVATE"]

# The version of ``VersionDef`` in TensorFlow 2.21.
GRAPH_DEF_VERSION = 2474

# The prefix of attributes that only this library has. TensorFlow keeps such attributes and never reads them.
PRIVATE = "_acts_"
# Attributes that operations on variables, queues and accumulators derive from their handle here; TensorFlow's
# operations have only some of them.
FROM_HANDLE = ("dtype", "shape", "component_types", "shapes", "pads")

# Attributes that nodes of TensorFlow's graphs do not have, and that theirs would say.
OF_TENSORFLOW: Mapping[str, Mapping[str, Any]] = {"SaveV2": {"bundle": True}}
