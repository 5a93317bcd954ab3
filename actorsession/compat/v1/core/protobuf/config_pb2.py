"""``tensorflow.core.protobuf.config_pb2``: the settings of sessions, runs and callables."""

from __future__ import annotations

from actorsession.compat.v1.callables import CallableOptions, TensorConnection
from actorsession.compat.v1.runs import RunMetadata, RunOptions
from actorsession.compat.v1.settings import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    ThreadPoolOptionProto,
)

__all__ = [
    "CallableOptions", "ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunMetadata",
    "RunOptions", "TensorConnection", "ThreadPoolOptionProto",
]  # fmt: skip
