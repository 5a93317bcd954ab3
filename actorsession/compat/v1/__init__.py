"""TensorFlow 1's API: ``import actorsession.compat.v1 as tf``.

Names, arguments, defaults and error classes are those of ``tensorflow.compat.v1``; the implementation is this
library. Importing the package starts nothing and changes no policy; its modules are imported when they are
first used.
"""

from __future__ import annotations

import sys
from typing import Any

from actorsession import ops as _ops
from actorsession import opsets as _opsets
from actorsession.compat.absent import saying_why as _saying_why
from actorsession.compat.v1.ops.arguments import older_names as _older_names

# By the file that has them; see ``lazy_names``. The stub beside this file is made from it.
_NAMES = {
    # The operations that ``tf`` takes over from the library, which are imported one by one, too.
    "actorsession.ops": " ".join(name for name in _ops.__all__ if name != "while_loop"),
    "actorsession.opsets": " ".join(_opsets.__all__),
    "actorsession.errors": "OpError",
    "actorsession.graph.constant_value": "get_static_value",
    "actorsession.graph.default_session": "get_default_session",
    "actorsession.graph.dimension": "Dimension dimension_value",
    "actorsession.graph.dtypes": (
        "DType bfloat16 bool_=bool complex128 complex64 float16 float16=half float32 float64 "
        "float64=double int16 int32 int64 int8 qint16 qint32 qint8 quint16 quint8 "
        "resource string uint16 uint32 uint64 uint8 variant"
    ),
    "actorsession.graph.graph": (
        "add_to_collection add_to_collections control_dependencies get_collection get_collection_ref"
    ),
    "actorsession.graph.operation": "Operation Tensor",
    "actorsession.graph.shape": "dimension_at_index",
    "actorsession.interop": ("AttrValue GraphDef MetaGraphDef NodeDef import_graph_def make_ndarray make_tensor_proto"),
    "actorsession.interop.event_protos": ("Event HistogramProto LogMessage SessionLog Summary SummaryMetadata"),
    "actorsession.interop.graph_util": "*=graph_util",
    "actorsession.interop.meta_protos": "TensorInfo",
    "actorsession.namespaces.audio": "*=audio",
    "actorsession.namespaces.image": "*=image",
    "actorsession.namespaces.linalg": "*=linalg",
    "actorsession.namespaces.lookup": "*=lookup",
    "actorsession.namespaces.math": "*=math",
    "actorsession.namespaces.quantization": "*=quantization",
    "actorsession.namespaces.random": "*=random",
    "actorsession.namespaces.sets": "*=sets",
    "actorsession.namespaces.signal": "*=signal",
    "actorsession.namespaces.sparse": "*=sparse",
    "actorsession.namespaces.strings": "*=strings",
    "actorsession.ops.elements.bitwise": "*=bitwise",
    "actorsession.ops.neural.losses": "*=losses",
    "actorsession.ops.variables.initializers": "*=initializers",
    "actorsession.opsets.images.patches": "extract_volume_patches",
    "actorsession.opsets.quantisation.conversions": "dequantize quantize quantize_v2",
    "actorsession.opsets.quantisation.neural": "quantized_concat",
    "actorsession.opsets.text.printing": "print_=print",
    ".app": "*=app",
    ".autograph": "*=autograph",
    ".graphs.behavior": (
        "COMPILER_VERSION CXX11_ABI_FLAG GIT_VERSION GRAPH_DEF_VERSION "
        "GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER MONOLITHIC_BUILD VERSION "
        "__compiler_version__ __cxx11_abi_flag__ __git_version__ __monolithic_build__ __version__ "
        "control_flow_v2_enabled disable_control_flow_v2 disable_eager_execution "
        "disable_resource_variables disable_v2_behavior disable_v2_tensorshape enable_eager_execution "
        "enable_resource_variables enable_v2_tensorshape executing_eagerly "
        "resource_variables_enabled"
    ),
    ".config": "*=config",
    ".contrib": "*=contrib",
    ".ops.control_flow": "while_loop",
    ".core": "*=core",
    ".data": "*=data",
    ".debugging": "*=debugging",
    ".graphs.devices": "DeviceSpec",
    ".distributions": "*=distributions",
    ".dtypes": "*=dtypes QUANTIZED_DTYPES",
    ".errors": "*=errors",
    ".estimator": "*=estimator",
    ".examples": "*=examples",
    ".feature_column": "*=feature_column",
    ".flags": "*=flags",
    ".graphs.forms": "TensorShape as_dtype colocate_with container device name_scope op_scope",
    ".gfile": "*=gfile",
    ".graphs.graph": "Graph get_default_graph reset_default_graph",
    ".internals.files": "*=resource_loader",
    ".internals.framework": "init_scope register_tensor_conversion_function",
    ".internals.nest": "*=nest",
    ".io": "*=io",
    ".ops.legacy_ops": (
        "all_variables arg_max arg_min batch_matmul extract_image_patches initialize_all_tables "
        "initialize_all_variables initialize_local_variables initialize_variables mul neg pack sub "
        "to_bfloat16 to_complex128 to_complex64 to_double to_float to_int32 to_int64 unpack"
    ),
    ".layers": "*=layers",
    ".logging": "*=logging get_logger",
    ".manip": "*=manip",
    ".sessions.messages": ("ConfigProto GPUOptions GraphOptions NameAttrList OptimizerOptions RunMetadata RunOptions"),
    ".metrics": "*=metrics",
    ".ops.module": "Module",
    ".nn": "*=nn",
    ".profiler": "*=profiler",
    ".python": "*=python",
    ".ops.py_functions": "py_function",
    ".python_io": "*=python_io",
    ".queue": "*=queue",
    ".raw_ops": "*=raw_ops",
    ".saved_model": "*=saved_model",
    ".sessions.session": "InteractiveSession Session",
    ".spectral": "*=spectral",
    ".summary": "*=summary",
    ".ops.template": "make_template",
    ".graphs.tensors": (
        "assert_proper_iterable assert_same_float_dtype convert_to_tensor_or_indexed_slices "
        "convert_to_tensor_or_sparse_tensor is_numeric_tensor is_symbolic_tensor is_tensor newaxis"
    ),
    ".test": "*=test",
    ".compat": "*=compat as_bytes as_str as_str_any as_text",
    ".ops.traced_functions": "function",
    ".train": "*=train",
    ".graphs.type_specs": "IndexedSlicesSpec SparseTensorSpec TensorSpec TypeSpec",
    ".version": "*=version",
}

__all__, _load, __dir__ = _older_names(__name__, _NAMES)
_load = _saying_why(_load)


def _is_imported() -> bool:
    """Whether a statement asks for a name: ``from tf import name`` would drop an ``AttributeError``."""
    asking = sys._getframe(2).f_code
    return (asking.co_name, asking.co_filename) == ("_handle_fromlist", "<frozen importlib._bootstrap>")


def _keras() -> Any:
    """The module of Keras, which is no name of this package where Keras is not installed."""
    import importlib

    from actorsession.compat.found_keras import missing_because

    if missing_because() is not None:
        raise AttributeError(f"module {__name__!r} has no attribute 'keras'", name="keras")
    return importlib.import_module(f"{__name__}.tf_keras")


def __getattr__(name: str) -> Any:
    try:
        value = _keras() if name == "keras" else _load(name)
    except AttributeError:
        from actorsession.compat.absent import reason_for

        reason = reason_for(name)
        if reason is None:
            raise
        said = f"module {__name__!r} has no attribute {name!r}: {reason}"
        if _is_imported():
            raise ImportError(said, name=name) from None
        raise AttributeError(said, name=name) from None
    # Who asks for a name is about to build, most often in the thread's own graph.
    from actorsession.compat.v1.graphs.graph import adopt_fallback

    adopt_fallback()
    return value
