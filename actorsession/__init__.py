"""A runtime for stateful dataflow graphs: sessions, feeds and fetches on asyncio actors.

The public names, each once; ``import actorsession as acts`` gives a program everything that it needs.
The rooms below never import this file.
"""

from __future__ import annotations

import logging

from actorsession import ops
from actorsession.graph import extension
from actorsession.lazy_names import lazy_names

__version__ = "0.1.0"

# By the file that has them; see ``lazy_names``. The stub beside this file is made from it.
_NAMES = {
    ".cluster": (
        "ClusterResolver ClusterSpec FileClusterResolver LocalCluster SecurityConfig Server "
        "SimpleClusterResolver TFConfigClusterResolver"
    ),
    ".config": (
        "ConfigProto DebugOptions DebugTensorWatch Experimental GraphOptions JitLevel "
        "OptimizerOptions OptLevel RPCOptions RunMetadata RunOptions SessionMetadata StepStats "
        "ThreadPoolOptionProto TraceLevel"
    ),
    ".errors": "*=errors",
    ".graph.constant_value": "get_static_value",
    ".graph.device": "DeviceAttributes DeviceSpec",
    ".graph.dtypes": (
        "DType as_dtype bfloat16 bool_ complex64 complex128 float16 float32 float64 int8 int16 "
        "int32 int64 resource string uint8 uint16 uint32 uint64 variant"
    ),
    ".graph.graph": (
        "Graph add_to_collection add_to_collections colocate_with control_dependencies device "
        "get_collection get_collection_ref get_default_graph name_scope reset_default_graph"
    ),
    ".graph.node": "GraphDef NodeDef",
    ".graph.operation": "Operation Tensor",
    ".graph.shape": "TensorShape",
    ".interop": "*=interop import_graph_def make_ndarray make_tensor_proto",
    ".interop.graph_util": "*=graph_util",
    ".observe.timeline": "*=timeline",
    ".ops": "*=ops",
    ".plan.passes.registry": (
        "GraphPass PassContext PassGroup PassStatistics PlacedGraph "
        "register_pass=register_graph_pass registered_passes=registered_graph_passes "
        "unregister_pass=unregister_graph_pass"
    ),
    ".runtime.debug.dump": "DebugDump DebugReport",
    ".runtime.debug.sinks": "register_debug_sink unregister_debug_sink",
    ".runtime.debug.state": "DebuggerState DebuggerStateRegistry",
    ".runtime.devices": "Device DeviceFactory new_incarnation register_device_factory",
    ".session": (
        "AsyncInteractiveSession AsyncSession GraphGrowthWarning GraphMutationWarning "
        "InteractiveSession Session SessionFactory SessionOptions get_default_session "
        "register_factory=register_session_factory"
    ),
    ".session.conversions": "register_session_run_conversion_functions",
    ".session.handles": "TensorHandle",
    ".train": "*=train AdamOptimizer GradientDescentOptimizer MomentumOptimizer",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES, ops)

# What ``interop`` adds to rooms below it, which is imported when it is asked for.
for _module, _keys in {
    "proto_views": "OpDef Operation.node_def Operation.get_attr TensorShape.as_proto",
    "collections": "Variable.to_proto Variable.from_proto",
    "training_protos": "QueueRunner.to_proto",
}.items():
    extension.defer(
        extension.PROTO_VIEWS.name,
        dict.fromkeys(_keys.split(), f"{__name__}.interop.{_module}"),
    )

# A library is silent unless the program asks for its log; ACTORSESSION_LOG does on the command line.
for _name in ("actorsession", "transports"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
