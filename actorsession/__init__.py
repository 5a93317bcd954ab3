"""A runtime for stateful dataflow graphs: sessions, feeds and fetches on asyncio actors.

The public names, each once; ``import actorsession as acts`` gives a program everything that it needs.
The rooms below never import this file.
"""

from __future__ import annotations

import logging

from actorsession import errors, ops, train
from actorsession.cluster import ClusterSpec, LocalCluster, Server
from actorsession.config import ConfigProto, RunMetadata, RunOptions, StepStats, TraceLevel
from actorsession.graph.defaults import (
    add_to_collection,
    colocate_with,
    control_dependencies,
    device,
    get_collection,
    name_scope,
)
from actorsession.graph.device import DeviceAttributes, DeviceSpec
from actorsession.graph.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from actorsession.graph.graph import Graph, get_default_graph, reset_default_graph
from actorsession.graph.node import GraphDef, NodeDef
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import *  # noqa: F403 - its __all__ is the list, and a test compares it
from actorsession.session import AsyncSession, Session, get_default_session
from actorsession.train import AdamOptimizer, GradientDescentOptimizer, MomentumOptimizer

__version__ = "0.1.0"

__all__ = [
    "AdamOptimizer",
    "AsyncSession",
    "ClusterSpec",
    "ConfigProto",
    "DType",
    "DeviceAttributes",
    "DeviceSpec",
    "GradientDescentOptimizer",
    "Graph",
    "GraphDef",
    "LocalCluster",
    "MomentumOptimizer",
    "NodeDef",
    "Operation",
    "RunMetadata",
    "RunOptions",
    "Server",
    "Session",
    "StepStats",
    "Tensor",
    "TensorShape",
    "TraceLevel",
    "add_to_collection",
    "as_dtype",
    "bfloat16",
    "bool_",
    "colocate_with",
    "complex64",
    "complex128",
    "control_dependencies",
    "device",
    "errors",
    "float16",
    "float32",
    "float64",
    "get_collection",
    "get_default_graph",
    "get_default_session",
    "int8",
    "int16",
    "int32",
    "int64",
    "name_scope",
    "ops",
    "reset_default_graph",
    "resource",
    "string",
    "train",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
__all__ += ops.__all__

# A library is silent unless the program asks for its log; ACTORSESSION_LOG does on the command line.
for _name in ("actorsession", "transports"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
