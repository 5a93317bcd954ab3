"""What the modules of ``tensorflow.python.framework`` and ``eager`` have beyond ``tf``."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession import interop
from actorsession.compat.v1.graphs.devices import DeviceSpec
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.profiler.flops import OpStats, RegisterStatistics, get_stats_for_node_def
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.default_session import DEFAULT_SESSIONS, get_default_session
from actorsession.graph.dimension import as_dimension
from actorsession.graph.dtypes import as_dtype, reference_dtype
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE
from actorsession.graph.shape import TensorShape as _TensorShape
from actorsession.graph.shape import as_shape, broadcast_shapes
from actorsession.interop.collections import register_proto_function
from actorsession.interop.signatures import GRAPH_DEF_VERSION
from actorsession.interop.tensors import make_ndarray
from actorsession.ops import IndexedSlices
from actorsession.ops.build import convert_to_tensor, register_tensor_conversion_function
from actorsession.ops.derivatives.registry import NotDifferentiable, gradient_of, named_gradient, named_gradients
from actorsession.ops.randomness.numbers import get_seed
from actorsession.opsets import SparseTensor, SparseTensorValue

__all__ = [
    "DEFAULT_GRAPH_SEED",
    "EAGER_MODE",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "GRAPH_MODE",
    "DeviceSpecV1",
    "DeviceSpecV2",
    "EagerTensor",
    "MakeNdarray",
    "NoGradient",
    "OpStats",
    "RegisterShape",
    "RegisterStatistics",
    "ShapeEquals",
    "TensorShapeProtoToList",
    "as_dimension",
    "as_shape",
    "broadcast_shape",
    "canonical_name",
    "check_valid",
    "constant_value",
    "constant_value_as_shape",
    "context",
    "convert_n_to_tensor",
    "copy_scoped_meta_graph",
    "create_meta_graph_def",
    "eager_mode",
    "enabled",
    "executing_eagerly",
    "executing_eagerly_outside_functions",
    "export_scoped_meta_graph",
    "get_all_collection_keys",
    "get_default_session",
    "get_gradient_function",
    "get_name_scope",
    "get_seed",
    "get_stats_for_node_def",
    "graph_mode",
    "import_scoped_meta_graph",
    "import_scoped_meta_graph_with_return_elements",
    "in_eager_mode",
    "in_graph_mode",
    "init_scope",
    "inside_function",
    "internal_convert_n_to_tensor",
    "internal_convert_to_tensor",
    "is_broadcast_compatible",
    "is_dense_tensor_like",
    "is_device_spec",
    "is_sparse",
    "is_tf_type",
    "matrix",
    "merge_device",
    "name_from_scope_name",
    "num_gpus",
    "prepend_name_scope",
    "read_meta_graph_file",
    "register_proto_function",
    "register_tensor_conversion_function",
    "scalar",
    "set_shapes_for_outputs",
    "strip_name_scope",
    "uid",
    "unchanged_shape",
    "unknown_shape",
    "vector",
]

DeviceSpecV1 = DeviceSpecV2 = DeviceSpec

DEFAULT_GRAPH_SEED = 87654321
"""The seed of graphs for operations that have only their own."""

GRAPH_MODE, EAGER_MODE = 0, 1

GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0

NoGradient = NotDifferentiable
MakeNdarray = make_ndarray
constant_value = get_static_value
internal_convert_to_tensor = convert_to_tensor
_uids = itertools.count()

# -- framework.ops -----------------------------------------------------------------------------


def uid() -> int:
    """Return a number that was not returned before in this process."""
    return next(_uids)


def get_name_scope() -> str:
    """Return the name scope in which the default graph names operations, without a slash behind."""
    return str(get_default_graph().get_name_scope())


def name_from_scope_name(name: str) -> str:
    """Return the name of a scope without the slash behind."""
    return name.removesuffix("/")


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Return a name without the scope in front of it, if it stands in that scope."""
    if not export_scope:
        return name
    scope = export_scope.removesuffix("/") + "/"
    mark = name[: len(name) - len(name.lstrip("^"))]
    rest = name[len(mark) :]
    if rest.startswith("loc:@"):
        return "loc:@" + rest.removeprefix("loc:@").removeprefix(scope)
    return mark + rest.removeprefix(scope)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Return a name within a scope."""
    if not import_scope:
        return name
    scope = import_scope.removesuffix("/") + "/"
    for mark in "^", "loc:@":
        if name.startswith(mark):
            return mark + scope + name.removeprefix(mark)
    return scope + name


def set_shapes_for_outputs(op: Operation) -> None:
    """Do nothing: outputs have their shapes when an operation is made."""


def convert_n_to_tensor(
    values: Sequence[Any], dtype: Any = None, name: str | None = None, preferred_dtype: Any = None
) -> list[Tensor]:
    """Return each value as a tensor.

    Args:
        values: the values.
        dtype: element type that all of them must have.
        name: name of the constants that are made; each has its index behind it.
        preferred_dtype: element type of constants, if the value fits it.

    Raises:
        TypeError: if they are no sequence.
    """
    if not isinstance(values, Sequence):
        raise TypeError(f"values must be a sequence, got {values!r:.100}")
    return [
        convert_to_tensor(value, dtype, name and f"{name}_{index}", preferred_dtype)
        for index, value in enumerate(values)
    ]


internal_convert_n_to_tensor = convert_n_to_tensor


def get_all_collection_keys() -> list[Any]:
    """Return the names of all collections of the default graph."""
    return list(get_default_graph().get_all_collection_keys())


def get_gradient_function(op: Operation) -> Callable[..., Any] | None:
    """Return the gradient function of an operation; ``None`` if it is not differentiable.

    Raises:
        LookupError: if its type has no gradient.
    """
    gradient: Any = gradient_of(op)
    return None if gradient is NOT_DIFFERENTIABLE else gradient


class _GradientRegistry(Mapping[str, Any]):
    """The gradients of operation types and those under other names, for programs that look for one."""

    @property
    def _registry(self) -> _GradientRegistry:
        return self

    def __getitem__(self, name: str) -> Any:
        gradient = named_gradient(name)
        if gradient is None:
            raise KeyError(name)
        return gradient

    def __iter__(self) -> Iterator[str]:
        return iter(named_gradients())

    def __len__(self) -> int:
        return len(named_gradients())

    def lookup(self, name: str) -> Any:
        """Return the gradient that is registered under a name.

        Raises:
            LookupError: if there is none.
        """
        gradient = named_gradient(name)
        if gradient is None:
            raise LookupError(f"gradient registry has no entry for: {name}")
        return gradient

    def list(self) -> Any:
        """Return the names."""
        return list(self)


_gradient_registry = _GradientRegistry()
NULL_CONTEXT = contextlib.nullcontext()
_USE_C_API = _USE_C_SHAPES = True  # how later versions of TensorFlow 1 are, which some programs ask


def tensor_id(tensor: Any) -> int:
    """Return the number of a tensor, which no other has."""
    return id(tensor)


def maybe_set_static_shape(tensor: Any, shape: Any) -> None:
    """Give a tensor what is known of a shape that may be a tensor itself."""
    if not tensor.shape.is_fully_defined():
        known = constant_value_as_shape(shape) if isinstance(shape, Tensor) else shape
        tensor.set_shape(known)


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return whether readers of a date can be relied on: always, since files say their version."""
    return True


forward_compatibility_horizon = contextlib.nullcontext


def inside_function() -> bool:
    """Return whether operations are being added to the body of a function."""
    return bool(getattr(get_default_graph(), "building_function", False))


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Make a block whose operations wait for none of the control inputs around it."""
    with get_default_graph().control_dependencies(None):
        yield


def is_dense_tensor_like(value: Any) -> bool:
    """Return whether a value is a tensor or a variable."""
    return hasattr(value, "_operand") or hasattr(value, "_as_graph_element")


is_tf_type = is_dense_tensor_like
_TensorLike = Tensor, SparseTensor, IndexedSlices  # what programs ask ``isinstance`` for


def _as_graph_element(obj: Any) -> Any:
    """Return the tensor or operation that an object stands for, ``None`` if it does not say so."""
    function = getattr(obj, "_as_graph_element", None)
    return function() if callable(function) else None


class EagerTensor:
    """The class of tensors of eager execution, of which there are none."""


def _get_graph_from_inputs(op_input_list: Sequence[Any], graph: Any = None) -> Any:
    """Return the graph to which operands belong.

    Args:
        op_input_list: the operands.
        graph: the graph to which they have to belong.

    Raises:
        ValueError: if they belong to others.
    """
    common = graph
    for operand in op_input_list:
        home = getattr(operand, "graph", None)
        if home is not None and common is not None and home is not common:
            raise ValueError(f"{operand!r:.100} is not from the passed-in graph, or from that of the others")
        common = common if home is None else home
    return get_default_graph() if common is None else common


class RegisterShape:
    """Returns a decorator that leaves shape functions as they are: operations have theirs.

    Args:
        op_type: the type of the operation.
    """

    def __init__(self, op_type: str) -> None:
        self.op_type = op_type

    def __call__(self, f: Any) -> Any:
        """Return the function."""
        return f


class _SessionStack:
    """The default sessions of this thread."""

    def get_default(self) -> Any:
        """Return the innermost one, or ``None``."""
        return get_default_session()

    def reset(self) -> None:
        """Forget all of them."""
        while (session := get_default_session()) is not None:
            DEFAULT_SESSIONS.remove(session)


_default_session_stack = _SessionStack()


class _DeviceAttributes:
    """A device, as ``Session.list_devices`` describes it.

    Args:
        name: its name.
        device_type: its type.
        memory_limit_bytes: how much memory it has.
        incarnation: a number that a device of that name had not before.
    """

    def __init__(self, name: str, device_type: str, memory_limit_bytes: int, incarnation: int) -> None:
        self.name = canonical_name(name)
        self.device_type, self.incarnation = device_type, incarnation
        self.memory_limit_bytes = memory_limit_bytes

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


# -- eager.context -----------------------------------------------------------------------------


def executing_eagerly() -> bool:
    """Return whether operations run immediately: always ``False``."""
    return False


executing_eagerly_outside_functions = in_eager_mode = executing_eagerly


enabled = executing_eagerly


def in_graph_mode() -> bool:
    """Return whether operations are added to graphs: always ``True``."""
    return True


def __getattr__(name: str) -> Any:
    # The types of references: float32_ref.
    base, ref, rest = name.partition("_ref")
    if ref and not rest:
        with contextlib.suppress(TypeError):  # another name that ends so
            return reference_dtype(as_dtype(base))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Make a block that is in graph mode, as all others are."""
    yield


def eager_mode() -> Any:
    """Refuse eager execution.

    Raises:
        UnimplementedError: always.
    """
    from actorsession.compat.v1.graphs.behavior import enable_eager_execution

    return enable_eager_execution()


def num_gpus() -> int:
    """Return how many GPUs sessions have without asking for them."""
    from actorsession.compat.v1.config.devices import list_logical_devices

    return len(list_logical_devices("GPU"))


class _Context:
    """The context of eager execution, which says that there is none."""

    executing_eagerly = staticmethod(executing_eagerly)
    in_eager_mode = staticmethod(executing_eagerly)
    in_graph_mode = staticmethod(in_graph_mode)
    num_gpus = staticmethod(num_gpus)


def context() -> _Context:
    """Return the context of eager execution, which says that there is none."""
    return _Context()


# -- framework.tensor_shape, tensor_util and common_shapes -------------------------------------


def unknown_shape(rank: Any = None, **kwargs: Any) -> Any:
    """Return a shape of unknown sizes.

    Args:
        rank: how many; an unknown number if left out. For an operation, a list of such shapes is returned,
            one for each output, because shape functions have this name, too.
        **kwargs: ``ndims``, the older name of ``rank``.
    """
    if isinstance(rank, Operation):
        return [_TensorShape(None) for _ in rank.outputs]
    count = kwargs.pop("ndims", rank)
    return _TensorShape(None if count is None else [None] * count)


def unchanged_shape(op: Operation) -> list[_TensorShape]:
    """Return the shape of the first input of an operation, as shape functions do."""
    return [op.inputs[0].shape]


def scalar() -> _TensorShape:
    """Return the shape of a scalar."""
    return _TensorShape([])


def vector(length: Any) -> _TensorShape:
    """Return the shape of a vector."""
    return _TensorShape([length])


def matrix(rows: Any, cols: Any) -> _TensorShape:
    """Return the shape of a matrix."""
    return _TensorShape([rows, cols])


def constant_value_as_shape(tensor: Any) -> _TensorShape:
    """Return the shape that a vector of numbers stands for, as far as its elements are known."""
    value = get_static_value(tensor, partial=True)
    if value is None:
        length = tensor.shape.as_list()[0] if tensor.shape.rank == 1 else None
        return _TensorShape(None if length is None else [None] * length)
    return _TensorShape([None if n is None or n < 0 else int(n) for n in np.ravel(value).tolist()])


def TensorShapeProtoToList(shape: Any) -> list[int]:
    """Return the sizes of a shape as a message."""
    return [dim.size for dim in shape.dim]


def ShapeEquals(tensor_proto: Any, shape: Any) -> bool:
    """Return whether a tensor as a message has a shape.

    Args:
        tensor_proto: the tensor.
        shape: the shape, as a message or a list of sizes.
    """
    expected = TensorShapeProtoToList(shape) if hasattr(shape, "dim") else list(shape)
    return TensorShapeProtoToList(tensor_proto.tensor_shape) == expected


def broadcast_shape(shape_x: _TensorShape, shape_y: _TensorShape) -> _TensorShape:
    """Return the shape of a result of two operands that are broadcast.

    Raises:
        ValueError: if they cannot be.
    """
    return broadcast_shapes(shape_x, shape_y)


def is_broadcast_compatible(shape_x: _TensorShape, shape_y: _TensorShape) -> bool:
    """Return whether two shapes of known rank can be broadcast."""
    if shape_x.rank is None or shape_y.rank is None:
        return False
    try:
        broadcast_shapes(shape_x, shape_y)
    except ValueError:
        return False
    return True


def is_sparse(x: Any) -> bool:
    """Return whether a value is a ``SparseTensor`` or the value of one."""
    return isinstance(x, (SparseTensor, SparseTensorValue))


# -- framework.device --------------------------------------------------------------------------


def check_valid(spec: str) -> None:
    """Check the text of a device.

    Raises:
        ValueError: if it is malformed.
    """
    DeviceSpec.from_string(spec)


def is_device_spec(obj: Any) -> bool:
    """Return whether a value is a ``DeviceSpec``."""
    return hasattr(obj, "to_string") and hasattr(obj, "device_type")


def canonical_name(device: Any) -> str:
    """Return the full text of a device; "" for ``None``."""
    if device is None:
        return ""
    spec: Any = device if is_device_spec(device) else DeviceSpec.from_string(device)
    return str(spec.to_string())


def merge_device(spec: Any) -> Callable[[Any], str]:
    """Return a device function in which a device of a node takes precedence over this one.

    Args:
        spec: a device, as text or a ``DeviceSpec``.
    """
    outer: Any = spec if is_device_spec(spec) else DeviceSpec.from_string(spec or "")

    def device_function(node: Any) -> str:
        merged: Any = DeviceSpec.from_string(outer.to_string())
        merged.merge_from(DeviceSpec.from_string(node.device or ""))
        return str(merged.to_string())

    return device_function


# -- framework.meta_graph ----------------------------------------------------------------------


def read_meta_graph_file(filename: str) -> Any:
    """Return the graph of a file, with its collections; the errors are those of ``import_meta_graph``."""
    return interop.read_meta_graph(filename)


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Any = None,
    graph: Any = None,
    **kwargs: Any,
) -> Any:
    """Return a graph with its collections as a message; see ``tf.train.export_meta_graph``."""
    from actorsession.compat.v1 import train

    return train.export_meta_graph(None, meta_info_def, graph_def, saver_def, collection_list, graph=graph, **kwargs)


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Any = None,
    graph: Any = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    **kwargs: Any,
) -> tuple[Any, dict[str, Any]]:
    """Return a graph with its collections, and the variables in it by name.

    Args:
        filename: the file to write it to.
        graph_def: the graph as a message.
        graph: the graph; the default graph if omitted.
        export_scope: the name scope that is exported, whose name is left out.
        as_text: whether the file is in text form.
        unbound_inputs_col_name: the collection for names of what is read from outside the scope, if any.
        **kwargs: further arguments of ``tf.train.export_meta_graph``.
    """
    home = graph or get_default_graph()
    meta_graph = interop.export_meta_graph(
        filename,
        graph_def=graph_def,
        graph=home,
        export_scope=export_scope,
        as_text=as_text,
        unbound=unbound_inputs_col_name,
        **kwargs,
    )
    return meta_graph, _variables_below(home, export_scope)


def _variables_below(graph: Any, scope: str | None) -> dict[str, Any]:
    """Return the variables of a graph below a scope, by their names in it."""
    before = f"{scope.rstrip('/')}/" if scope else ""
    variables = graph.get_collection("variables", re.escape(before) or None)
    return {variable.name.removeprefix(before): variable for variable in variables}


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Any = None,
    import_scope: str | None = None,
    input_map: Any = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
    return_elements: Any = None,
) -> tuple[dict[str, Any], Any]:
    """Add a graph with its collections to a graph; return its variables by name, and what is asked for.

    Args:
        meta_graph_or_file: the graph, or the file that has it.
        clear_devices: whether devices of nodes are left out.
        graph: the graph to add to; the default graph if omitted.
        import_scope: the name scope for what is added.
        input_map: tensors to read instead of others of the graph.
        unbound_inputs_col_name: the collection of the names that ``input_map`` must have, if any.
        restore_collections_predicate: which collections are restored, by their names.
        return_elements: names of operations and tensors of the graph.
    """
    home = graph or get_default_graph()
    with home.as_default():
        imported = interop.import_meta_graph(
            meta_graph_or_file,
            clear_devices,
            import_scope,
            input_map,
            return_elements=return_elements,
            unbound=unbound_inputs_col_name,
            restores=restore_collections_predicate,
        )
    return _variables_below(home, imported.import_scope), imported.elements


def import_scoped_meta_graph(meta_graph_or_file: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return the variables alone of ``import_scoped_meta_graph_with_return_elements``.

    Args:
        meta_graph_or_file: the graph, or the file that has it.
        *args: the further arguments of that.
        **kwargs: likewise.
    """
    return import_scoped_meta_graph_with_return_elements(meta_graph_or_file, *args, **kwargs)[0]


def copy_scoped_meta_graph(
    from_scope: str, to_scope: str, from_graph: Any = None, to_graph: Any = None
) -> dict[str, Any]:
    """Copy what is below a name scope, with its collections, and return the new variables by name.

    Args:
        from_scope: the name scope.
        to_scope: the name scope of the copy.
        from_graph: the graph; the default graph if omitted.
        to_graph: the graph of the copy; likewise.

    Raises:
        ValueError: if both scopes and graphs are the same, or something outside the scope is read.
    """
    source, target = (graph or get_default_graph() for graph in (from_graph, to_graph))
    if source is target and from_scope == to_scope:
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same graph. "
            f"Received: 'from_scope': {from_scope}, 'to_scope': {to_scope}."
        )
    meta_graph, _ = export_scoped_meta_graph(graph=source, export_scope=from_scope)
    return import_scoped_meta_graph(meta_graph, graph=target, import_scope=to_scope)
