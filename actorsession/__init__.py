"""A runtime for stateful dataflow graphs: sessions, feeds and fetches on asyncio actors.

The public names, each once; ``import actorsession as acts`` gives a program everything that it needs.
The rooms below never import this file.
"""

from __future__ import annotations

import logging

from actorsession import errors, interop, ops, train
from actorsession.cluster import (
    ClusterResolver,
    ClusterSpec,
    FileClusterResolver,
    LocalCluster,
    SecurityConfig,
    Server,
    SimpleClusterResolver,
    TFConfigClusterResolver,
)
from actorsession.config import (
    ConfigProto,
    DebugOptions,
    DebugTensorWatch,
    Experimental,
    GraphOptions,
    JitLevel,
    OptimizerOptions,
    OptLevel,
    RPCOptions,
    RunMetadata,
    RunOptions,
    SessionMetadata,
    StepStats,
    ThreadPoolOptionProto,
    TraceLevel,
)
from actorsession.graph.default_scopes import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
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
    variant,
)
from actorsession.graph.graph import Graph, get_default_graph, reset_default_graph
from actorsession.graph.node import GraphDef, NodeDef
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.graph.static_value import get_static_value
from actorsession.interop import graph_util, import_graph_def, make_ndarray, make_tensor_proto
from actorsession.observe import timeline
from actorsession.ops import *  # noqa: F403 - its __all__ is the list, and a test compares it
from actorsession.plan.passes.registry import (
    GraphPass,
    PassContext,
    PassGroup,
    PassStatistics,
    PlacedGraph,
)
from actorsession.plan.passes.registry import register_pass as register_graph_pass
from actorsession.plan.passes.registry import registered_passes as registered_graph_passes
from actorsession.plan.passes.registry import unregister_pass as unregister_graph_pass
from actorsession.runtime.debug.dump import DebugDump, DebugReport
from actorsession.runtime.debug.sinks import register_debug_sink, unregister_debug_sink
from actorsession.runtime.debug.state import DebuggerState, DebuggerStateRegistry
from actorsession.runtime.devices import (
    Device,
    DeviceFactory,
    new_incarnation,
    register_device_factory,
)
from actorsession.session import (
    AsyncInteractiveSession,
    AsyncSession,
    GraphGrowthWarning,
    GraphMutationWarning,
    InteractiveSession,
    Session,
    SessionFactory,
    SessionOptions,
    get_default_session,
)
from actorsession.session import register_factory as register_session_factory
from actorsession.session.conversions import register_session_run_conversion_functions
from actorsession.session.handles import TensorHandle
from actorsession.train import AdamOptimizer, GradientDescentOptimizer, MomentumOptimizer

__version__ = "0.1.0"

__all__ = [
    "AdamOptimizer",
    "AsyncInteractiveSession",
    "AsyncSession",
    "ClusterResolver",
    "ClusterSpec",
    "ConfigProto",
    "DType",
    "DebugDump",
    "DebugOptions",
    "DebugReport",
    "DebugTensorWatch",
    "DebuggerState",
    "DebuggerStateRegistry",
    "Device",
    "DeviceAttributes",
    "DeviceFactory",
    "DeviceSpec",
    "Experimental",
    "FileClusterResolver",
    "GradientDescentOptimizer",
    "Graph",
    "GraphDef",
    "GraphGrowthWarning",
    "GraphMutationWarning",
    "GraphOptions",
    "GraphPass",
    "InteractiveSession",
    "JitLevel",
    "LocalCluster",
    "MomentumOptimizer",
    "NodeDef",
    "Operation",
    "OptLevel",
    "OptimizerOptions",
    "PassContext",
    "PassGroup",
    "PassStatistics",
    "PlacedGraph",
    "RPCOptions",
    "RunMetadata",
    "RunOptions",
    "SecurityConfig",
    "Server",
    "Session",
    "SessionFactory",
    "SessionMetadata",
    "SessionOptions",
    "SimpleClusterResolver",
    "StepStats",
    "TFConfigClusterResolver",
    "Tensor",
    "TensorHandle",
    "TensorShape",
    "ThreadPoolOptionProto",
    "TraceLevel",
    "add_to_collection",
    "add_to_collections",
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
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_static_value",
    "graph_util",
    "import_graph_def",
    "int8",
    "int16",
    "int32",
    "int64",
    "interop",
    "make_ndarray",
    "make_tensor_proto",
    "name_scope",
    "new_incarnation",
    "ops",
    "register_debug_sink",
    "register_device_factory",
    "register_graph_pass",
    "register_session_factory",
    "register_session_run_conversion_functions",
    "registered_graph_passes",
    "reset_default_graph",
    "resource",
    "string",
    "timeline",
    "train",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unregister_debug_sink",
    "unregister_graph_pass",
    "variant",
]
__all__ += ops.__all__

# A library is silent unless the program asks for its log; ACTORSESSION_LOG does on the command line.
for _name in ("actorsession", "transports"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
