"""TensorFlow 1's API: ``import actorsession.compat.v1 as tf``.

Names, arguments, defaults and error classes are those of ``tensorflow.compat.v1``; the implementation is this
library. Importing the package starts nothing and changes no policy. Layers, datasets, summaries and readers
are not included.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from actorsession.compat.v1 import (
    app,
    contrib,
    debugging,
    distributions,
    dtypes,
    errors,
    flags,
    gfile,
    io,
    logging,
    manip,
    metrics,
    nn,
    operations,
    python,
    python_io,
    queue,
    saved_model,
    spectral,
    test,
    train,
)
from actorsession.compat.v1 import text as compat
from actorsession.compat.v1.devices import DeviceSpec
from actorsession.compat.v1.forms import (
    as_dtype,
    colocate_with,
    container,
    device,
    name_scope,
    op_scope,
)
from actorsession.compat.v1.graphs import Graph, get_default_graph
from actorsession.compat.v1.legacy_ops import batch_matmul, mul, neg, pack, sub, unpack
from actorsession.compat.v1.operations import *  # noqa: F403 - its __all__ is the list
from actorsession.compat.v1.python.client import timeline as _timeline  # noqa: F401 - tf.python.client.timeline
from actorsession.compat.v1.runs import RunMetadata, RunOptions
from actorsession.compat.v1.sessions import InteractiveSession, Session
from actorsession.compat.v1.settings import ConfigProto, GPUOptions, GraphOptions, OptimizerOptions
from actorsession.compat.v1.template import make_template
from actorsession.compat.v1.tensors import (
    assert_proper_iterable,
    assert_same_float_dtype,
    convert_to_tensor_or_indexed_slices,
    convert_to_tensor_or_sparse_tensor,
    is_numeric_tensor,
    is_symbolic_tensor,
    is_tensor,
    newaxis,
)
from actorsession.compat.v1.text import as_bytes, as_str, as_str_any, as_text
from actorsession.errors import OpError, UnimplementedError
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.default_session import get_default_session
from actorsession.graph.dimension import Dimension, dimension_value
from actorsession.graph.dtypes import (
    QUANTISED,
    DType,
    bfloat16,
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
from actorsession.graph.dtypes import bool_ as bool
from actorsession.graph.graph import (
    add_to_collection,
    add_to_collections,
    control_dependencies,
    get_collection,
    get_collection_ref,
    reset_default_graph,
)
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape, dimension_at_index, use_dimensions
from actorsession.interop import (
    AttrValue,
    GraphDef,
    MetaGraphDef,
    NodeDef,
    graph_util,
    import_graph_def,
    make_ndarray,
    make_tensor_proto,
)
from actorsession.lazy_names import NoAttributeError
from actorsession.namespaces import (
    image,
    linalg,
    lookup,
    math,
    random,
    sets,
    signal,
    sparse,
    strings,
)
from actorsession.ops import raw as raw_ops
from actorsession.ops.elements import bitwise
from actorsession.ops.neural import losses
from actorsession.ops.variables import initializers

__all__ = [
    "AttrValue", "ConfigProto", "DType", "DeviceSpec", "Dimension", "GPUOptions", "Graph",
    "GraphDef", "GraphOptions", "InteractiveSession", "MetaGraphDef", "NodeDef", "OpError",
    "Operation", "OptimizerOptions", "RunMetadata", "RunOptions", "Session", "Tensor",
    "TensorShape", "VERSION", "__version__", "add_to_collection", "add_to_collections", "app",
    "as_bytes", "as_dtype", "as_str", "as_str_any", "as_text", "assert_proper_iterable",
    "assert_same_float_dtype", "batch_matmul", "bfloat16", "bitwise", "bool", "colocate_with",
    "compat", "complex128", "complex64", "container", "contrib", "control_dependencies",
    "convert_to_tensor_or_indexed_slices", "convert_to_tensor_or_sparse_tensor", "debugging",
    "device", "dimension_at_index", "dimension_value", "disable_control_flow_v2",
    "disable_eager_execution", "disable_resource_variables", "disable_v2_behavior",
    "disable_v2_tensorshape", "distributions", "double", "dtypes", "enable_eager_execution",
    "enable_v2_tensorshape", "errors", "executing_eagerly", "flags", "float16", "float32",
    "float64", "get_collection", "get_collection_ref", "get_default_graph", "get_default_session",
    "get_static_value", "gfile", "graph_util", "half", "image", "import_graph_def", "initializers",
    "int16", "int32", "int64", "int8", "io", "is_numeric_tensor", "is_symbolic_tensor", "is_tensor",
    "linalg", "logging", "lookup", "losses", "make_ndarray", "make_template", "make_tensor_proto",
    "manip", "math", "metrics", "mul", "name_scope", "neg", "newaxis", "nn", "op_scope", "pack",
    "python", "python_io", "queue", "random", "raw_ops", "reset_default_graph", "resource",
    "saved_model", "sets", "signal", "sparse", "spectral", "string", "strings", "sub", "test",
    "train", "uint16", "uint32", "uint64", "uint8", "unpack", "variant",
    *operations.__all__,
]  # fmt: skip

__version__ = VERSION = "1.15.0"
"""The version of TensorFlow's API that the names follow, for programs that check it."""

double, half = float64, float16


def disable_eager_execution() -> None:
    """Do nothing: this library has only graphs."""


disable_control_flow_v2 = disable_eager_execution
disable_resource_variables = disable_eager_execution


def disable_v2_tensorshape() -> None:
    """Make the shapes of tensors consist of ``Dimension`` objects, for the whole process.

    A program then reads a dimension as ``x.shape[0].value``.
    """
    use_dimensions(True)


disable_v2_behavior = disable_v2_tensorshape


def enable_v2_tensorshape() -> None:
    """Make the shapes of tensors consist of ints and ``None``, which is the initial setting."""
    use_dimensions(False)


def executing_eagerly() -> Any:
    """Return whether operations run immediately: always ``False``."""
    return False


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Refuse eager execution: operations are added to a graph, which a session runs.

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError(
        "there is no eager execution here; build operations in a Graph and run them with a Session"
    )


def __getattr__(name: str) -> Any:
    # TensorFlow has these types, so the error says what to use instead.
    if name in QUANTISED:
        try:
            as_dtype(name)
        except TypeError as exc:
            raise AttributeError(str(exc)) from None
    inner = {
        ours: found.__name__ for ours, found in globals().items() if isinstance(found, ModuleType)
    }
    raise NoAttributeError(__name__, name, __all__, inner)
