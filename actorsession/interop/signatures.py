"""What TensorFlow's files say of operation types beyond their signatures."""

from __future__ import annotations

__all__ = ["FROM_HANDLE", "GRAPH_DEF_VERSION", "PRIVATE"]

# The version of ``VersionDef`` in TensorFlow 2.21.
GRAPH_DEF_VERSION = 2474

# The prefix of attributes that only this library has. TensorFlow keeps such attributes and never reads them.
PRIVATE = "_acts_"
# Attributes that operations on variables derive from their handle here; TensorFlow's operations have only
# some of them.
FROM_HANDLE = ("dtype", "shape")
