"""A runtime for stateful dataflow graphs: sessions, feeds and fetches on asyncio actors.

The public names, each once; ``import actorsession as acts`` gives a program everything that it needs.
The packages below never import this file.
"""

from __future__ import annotations

import logging

from actorsession.collector import pause_collector
from actorsession.extras import INCOMPLETE
from actorsession.lazy_names import lazy_names

try:
    with pause_collector():
        import numpy  # noqa: F401 - first: without it ml_dtypes writes a traceback

        from actorsession import ops  # noqa: F401 - registers the operation types
        from actorsession.graph import extension
except ImportError as exc:
    # A package that this one needs is missing or broken. The names below say so when they are asked for, and
    # the command line, which is part of this package, can say what is wrong.
    if (exc.name or "").startswith("actorsession"):
        raise
    INCOMPLETE.append(exc)

# By the file that has them; see ``lazy_names``. The stub beside this file is made from it.
_NAMES = {
    ".cluster": (
        "ClusterResolver ClusterSpec FileClusterResolver LocalCluster SecurityConfig Server "
        "ServerSettings "
        "SimpleClusterResolver TFConfigClusterResolver"
    ),
    ".config": (
        "*=config ConfigProto GPUOptions GraphOptions OptimizerOptions RPCOptions RunMetadata RunOptions TraceLevel"
    ),
    ".errors": "*=errors",
    ".graph.constant_value": "get_static_value",
    ".graph.device": "DeviceSpec",
    ".graph.dtypes": (
        "DType as_dtype bfloat16 bool_ complex128 complex64 float16 float32 float64 int16 int32 "
        "int64 int8 string uint16 uint32 uint64 uint8"
    ),
    ".graph.graph": (
        "Graph add_to_collection colocate_with control_dependencies device get_collection "
        "get_default_graph name_scope reset_default_graph"
    ),
    ".graph.node": "GraphDef NodeDef",
    ".graph.operation": "Operation Tensor",
    ".graph.shape": "TensorShape",
    ".interop": "import_graph_def",
    ".interop.graph_util": "*=graph_util",
    ".namespaces.arrays": "*=arrays",
    ".namespaces.autodiff": "*=autodiff",
    ".namespaces.collective": "*=collective",
    ".namespaces.data": "*=data",
    ".namespaces.debugging": "*=debugging",
    ".namespaces.flow": "*=flow",
    ".namespaces.image": "*=image",
    ".namespaces.io": "*=io",
    ".namespaces.layers": "*=layers",
    ".namespaces.linalg": "*=linalg",
    ".namespaces.lookup": "*=lookup",
    ".namespaces.math": "*=math",
    ".namespaces.nn": "*=nn",
    ".namespaces.plugins": "*=plugins",
    ".namespaces.quantization": "*=quantization",
    ".namespaces.queue": "*=queue",
    ".namespaces.random": "*=random",
    ".namespaces.sets": "*=sets",
    ".namespaces.signal": "*=signal",
    ".namespaces.sparse": "*=sparse",
    ".namespaces.strings": "*=strings",
    ".namespaces.variables": "*=variables",
    ".observe.timeline": "*=timeline",
    ".ops.arrays.array": (
        "concat fill identity ones ones_like pad placeholder placeholder_with_default "
        "range_=range split stack stop_gradient tile transpose unstack zeros zeros_like"
    ),
    ".ops.arrays.gather": "gather gather_nd one_hot",
    ".ops.arrays.masks": "boolean_mask",
    ".ops.arrays.reversal": "reverse",
    ".ops.arrays.shape": "broadcast_to expand_dims reshape shape size squeeze",
    ".ops.arrays.slicing": "slice_=slice",
    ".ops.build": "constant convert_to_tensor",
    ".ops.derivatives.custom_gradients": "custom_gradient",
    ".ops.derivatives.gradients": "gradients",
    ".ops.derivatives.registry": "RegisterGradient",
    ".ops.elements.arithmetic": "add add_n divide maximum minimum multiply pow subtract",
    ".ops.elements.bitwise": "*=bitwise",
    ".ops.elements.cast": "cast",
    ".ops.elements.clip": "clip_by_global_norm clip_by_norm clip_by_value",
    ".ops.elements.comparison": (
        "equal greater greater_equal less less_equal logical_and logical_not logical_or not_equal where"
    ),
    ".ops.elements.elementwise": "abs cos exp floor log negative sign sin sqrt square",
    ".ops.flow.control": "group no_op tuple_=tuple",
    ".ops.flow.control_flow": "cond while_loop",
    ".ops.flow.mapping": "map_fn",
    ".ops.flow.script": "async_py_func py_func",
    ".ops.graph_keys": "GraphKeys",
    ".ops.indexed_slices": "IndexedSlices",
    ".ops.linear.contractions": "eye",
    ".ops.linear.einsum": "einsum",
    ".ops.linear.matmul": "matmul",
    ".ops.lists.tensor_array": "TensorArray",
    ".ops.neural.activations": "sigmoid tanh",
    ".ops.neural.losses": "*=losses",
    ".ops.queues.queues": "FIFOQueue RandomShuffleQueue",
    ".ops.randomness.numbers": "random_normal random_uniform set_random_seed truncated_normal",
    ".ops.reductions.argmax": "argmax argmin",
    ".ops.reductions.reduction": ("reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum"),
    ".ops.variables.assignment": "assign assign_add assign_sub",
    ".ops.variables.get_variable": "get_variable",
    ".ops.variables.initializers": "*=initializers",
    ".ops.variables.lists": (
        "global_variables global_variables_initializer local_variables "
        "local_variables_initializer trainable_variables variables_initializer"
    ),
    ".ops.variables.scope": "AUTO_REUSE variable_scope",
    ".ops.variables.session_ops": "delete_session_tensor get_session_handle get_session_tensor",
    ".ops.variables.variable": "Variable",
    ".opsets.sparse.basics": "SparseTensor",
    ".opsets.tables.tables": "tables_initializer",
    ".plan.explain.explanation": "Explanation",
    ".session": ("AsyncInteractiveSession AsyncSession InteractiveSession Session get_default_session"),
    ".session.handles": "TensorHandle",
    ".train": "*=train",
    ".version": "__version__",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)

if INCOMPLETE:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        raise ImportError(f"{__name__}.{name} cannot be imported: {INCOMPLETE[0]}") from INCOMPLETE[0]


# What ``interop`` adds to packages below it, which is imported when it is asked for.
for _module, _keys in {
    "proto_views": "OpDef Operation.node_def Operation.get_attr TensorShape.as_proto",
    "collections": "Variable.to_proto Variable.from_proto",
    "training_protos": "QueueRunner.to_proto",
}.items():
    if not INCOMPLETE:
        extension.defer(extension.PROTO_VIEWS.name, dict.fromkeys(_keys.split(), f"{__name__}.interop.{_module}"))

# A library is silent unless the program asks for its log; ACTORSESSION_LOG does on the command line.
for _name in ("actorsession", "transports"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
