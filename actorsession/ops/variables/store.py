"""The variables of a graph by name, which ``get_variable`` shares.

Owns the rules of sharing: whether a name must be new or must exist, and that a request for an existing
variable must have its shape and dtype. Each graph has one store, kept in its collections and thus as long as
the graph. ``variables.scope`` calls it with full names; the store is independent of scopes.
"""

from __future__ import annotations

import enum
import inspect
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from actorsession.graph.dtypes import DType, as_dtype, string
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.graph.scopes import DeviceFunction
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays.slicing import slice_
from actorsession.ops.build import convert_to_tensor, to_array
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables.creation import VariableAggregation, VariableSynchronization
from actorsession.ops.variables.initializers import glorot_uniform_initializer, zeros_initializer
from actorsession.ops.variables.partitioned import PartitionedVariable, PartitionInfo, called_partitioner, cuts
from actorsession.ops.variables.save_slices import SaveSliceInfo
from actorsession.ops.variables.variable import Variable
from actorsession.records import dataclass

__all__ = ["AUTO_REUSE", "Reuse", "ReuseMode", "VariableRequest", "request_dtype", "store_of"]

_KEY = ("actorsession", "variable store")


class ReuseMode(enum.Enum):
    """How a scope treats names, besides ``True`` (must exist) and ``False`` or ``None`` (must be new)."""

    AUTO_REUSE = 1

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


AUTO_REUSE = ReuseMode.AUTO_REUSE
Reuse: TypeAlias = bool | ReuseMode | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableRequest:
    """A request for a variable, completed with the settings of scopes; see ``get_variable``."""

    name: str
    shape: TensorShape
    dtype: DType
    initializer: Any = None
    regularizer: Callable[[Tensor], Any] | None = None
    reuse: Reuse = None
    trainable: bool | None = None
    collections: Iterable[str] | None = None
    caching_device: str | DeviceFunction | None = None
    partitioner: Any = None
    validate_shape: bool = True
    use_resource: bool | None = None
    constraint: Callable[[Tensor], Any] | None = None
    synchronization: VariableSynchronization = VariableSynchronization.AUTO
    aggregation: VariableAggregation = VariableAggregation.NONE


class VariableStore:
    """The variables of one graph that were made by ``get_variable``; thread-safe.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._lock = threading.RLock()
        self._variables: dict[str, Any] = {}
        self._partitioned: dict[str, PartitionedVariable] = {}

    @property
    def _vars(self) -> dict[str, Any]:
        """The variables by name, under TensorFlow's name: programs look for one there."""
        return self._variables

    def get(self, asked: VariableRequest) -> Any:
        """Return the variable of a name, which is made if it is new and may be new.

        Returns:
            A ``Variable``, or with a partitioner a ``PartitionedVariable``.

        Raises:
            ValueError: if the name must exist and does not, or must be new and is not; for another shape,
                dtype or partitioning than that of the variable; or if a new one cannot be made with these
                arguments.
        """
        scalar = asked.shape.rank == 0
        with self._lock, self._graph.name_scope(None):
            if asked.partitioner is not None and not scalar:
                if not callable(asked.partitioner):
                    raise ValueError(f"a partitioner is a function, got {asked.partitioner!r:.100}")
                return self._get_partitioned(asked)
            if asked.reuse is True and asked.name in self._partitioned:
                return self._get_partitioned(asked)
            if f"{asked.name}/part_0" in self._variables:
                raise ValueError(
                    f"variable {asked.name!r} was made in parts, such as '{asked.name}/part_0'; it is "
                    "asked for without a partitioner: give it the one that it was made with, or share it "
                    "with reuse=True"
                )
            return self._get_single(asked, None)

    # -- single variables ----------------------------------------------------------------------

    def _get_single(self, asked: VariableRequest, part: PartitionInfo | None) -> Any:
        shared = self._variables.get(asked.name)
        if shared is not None:
            _check_may_share(asked, shared, "Variable")
            return shared
        if asked.reuse is True:
            raise ValueError(_unknown("Variable", asked.name))
        initial_value, dtype, shape = _initial(asked, part)
        variable = Variable(
            initial_value=initial_value,
            trainable=asked.trainable,
            collections=asked.collections,
            validate_shape=asked.validate_shape,
            caching_device=asked.caching_device,
            name=asked.name,
            dtype=dtype,
            constraint=asked.constraint,
            use_resource=asked.use_resource,
            synchronization=asked.synchronization,
            aggregation=asked.aggregation,
            shape=shape,
        )
        self._variables[asked.name] = variable
        if asked.regularizer is not None:
            self._regularize(asked.name, variable, asked.regularizer)
        return variable

    def _regularize(self, name: str, variable: Any, regularizer: Callable[[Tensor], Any]) -> None:
        # Outside of loops and branches, like the variable itself.
        with (
            self._graph.control_dependencies(None),
            self._graph.colocate_with(variable.op),
            self._graph.name_scope(f"{name}/Regularizer/"),
        ):
            loss = regularizer(variable)
        if loss is not None:
            self._graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    # -- partitioned variables -----------------------------------------------------------------

    def _get_partitioned(self, asked: VariableRequest) -> PartitionedVariable:
        name = asked.name
        if name in self._variables:
            raise ValueError(f"variable {name!r} was made in one piece; it is asked for with a partitioner")
        if isinstance(asked.initializer, Tensor):
            asked = replace(asked, shape=asked.shape.merge_with(asked.initializer.shape))
        elif asked.initializer is not None and not callable(asked.initializer):
            value = convert_to_tensor(asked.initializer, asked.dtype, graph=self._graph)
            asked = replace(asked, initializer=value, shape=asked.shape.merge_with(value.shape))
        partitions = None
        if asked.partitioner is not None:
            partitions = called_partitioner(asked.partitioner, asked.shape, asked.dtype)
        shared = self._partitioned.get(name)
        if shared is not None:
            _check_may_share(asked, shared, "Partitioned variable")
            if partitions is not None and shared._get_partitions() != partitions:
                raise ValueError(
                    f"partitioned variable {name!r} is cut as {shared._get_partitions()}; it is asked for "
                    f"as {partitions}"
                )
            return shared
        if asked.reuse is True:
            raise ValueError(_unknown("PartitionedVariable", name))
        assert partitions is not None, "without a partitioner only known variables are asked for"
        variable = self._make_parts(asked, partitions)
        self._partitioned[name] = variable
        return variable

    def _make_parts(self, asked: VariableRequest, partitions: list[int]) -> PartitionedVariable:
        full, parts = asked.shape.as_tuple(), []
        for number, (offset, extent) in enumerate(cuts(full, partitions)):
            name, initializer = f"{asked.name}/part_{number}", asked.initializer
            shape = TensorShape(extent)
            if isinstance(initializer, Tensor):
                with self._graph.name_scope(f"{name}/PartitionedInitializer"):
                    initializer = slice_(initializer, offset, extent)
                shape = TensorShape(None)
            request = replace(asked, name=name, shape=shape, initializer=initializer)
            part = self._get_single(request, PartitionInfo(full, offset))
            part._set_save_slice_info(SaveSliceInfo(asked.name, full, offset, extent))
            parts.append(part)
        return PartitionedVariable(asked.name, asked.shape, parts[0].dtype, parts, partitions)


def _unknown(kind: str, name: str) -> str:
    prefix = get_default_graph().shown_prefix
    return (
        f"{kind} {name} does not exist, or was not created with {prefix}get_variable(). Did you mean to set "
        f"reuse={prefix}AUTO_REUSE in VarScope?"
    )


def _check_may_share(asked: VariableRequest, shared: Any, kind: str) -> None:
    if not asked.reuse:
        raise ValueError(
            f"{kind} {asked.name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse={get_default_graph().shown_prefix}AUTO_REUSE in VarScope?"
        )
    if not asked.shape.is_compatible_with(shared.shape):
        raise ValueError(
            f"Trying to share {kind.lower()} {asked.name}, but specified shape {asked.shape} and found shape "
            f"{shared.shape}."
        )
    if asked.dtype is not as_dtype(shared.dtype):
        raise ValueError(
            f"Trying to share {kind.lower()} {asked.name}, but specified dtype {asked.dtype.name} and found "
            f"dtype {shared.dtype.name}."
        )


# -- initial values --------------------------------------------------------------------------------


def _initial(asked: VariableRequest, part: PartitionInfo | None) -> tuple[Any, DType | None, TensorShape | None]:
    """Return the initial value of a new variable, and the dtype and shape that it does not define itself."""
    initializer, shape = asked.initializer, asked.shape
    if initializer is None:
        initializer = _default_initializer(asked)
    if isinstance(initializer, type):
        initializer = initializer()
    if not callable(initializer):
        if shape.rank is not None:
            raise ValueError(
                f"If initializer is a constant, do not specify shape: {asked.name!r} is asked for with shape {shape}"
            )
        return initializer, asked.dtype, None
    if not asked.shape.is_fully_defined():
        if shape.rank is not None:
            raise ValueError(f"the shape of a new variable ({asked.name}) must be fully defined, got {shape}")
        if _takes_arguments(initializer):
            raise ValueError(
                f"variable {asked.name!r}: an initializer that takes a shape needs shape=..., fully "
                "defined; one without arguments makes a value of its own shape"
            )
        return initializer, None, None
    keywords: dict[str, Any] = {"dtype": asked.dtype}
    if "partition_info" in (_parameters(initializer) or ()):
        keywords["partition_info"] = part
    return lambda: initializer(list(shape), **keywords), asked.dtype, shape


def _default_initializer(asked: VariableRequest) -> Any:
    if asked.shape.rank is None:
        raise ValueError(f"Variable {asked.name} did not get an initializer, so its `shape` argument must be specified")
    if asked.dtype.is_floating:
        return glorot_uniform_initializer()
    if asked.dtype.kind in "iubs":
        return zeros_initializer()
    raise ValueError(
        f"variable {asked.name!r} of dtype {asked.dtype.name} needs an initializer: there is none by default"
    )


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function of an extension module without a signature
        return None


def _takes_arguments(function: Callable[..., Any]) -> bool:
    """Return whether a function requires arguments."""
    parameters = _parameters(function)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameters is None or any(
        p.default is inspect.Parameter.empty and p.kind not in variadic for p in parameters.values()
    )


# -- the store of a graph --------------------------------------------------------------------------


def store_of(graph: Graph) -> VariableStore:
    """Return the store of a graph, which is made at first use."""
    kept = graph.get_collection_ref(_KEY)
    if not kept:
        kept.append(VariableStore(graph))
    store: VariableStore = kept[0]
    return store


def request_dtype(dtype: Any, initializer: Any, default: DType) -> DType:
    """Return the requested dtype: the given one, else that of an initial value, else the default.

    Raises:
        ValueError: if a value does not fit the dtype given.
    """
    asked = None if dtype is None else as_dtype(dtype)
    if initializer is None or callable(initializer):
        return asked or default
    try:
        own = initializer.dtype if hasattr(initializer, "_operand") else _dtype_of(initializer, asked)
    except TypeError as exc:
        raise ValueError(f"the initializer does not fit the dtype asked for: {exc}") from exc
    if asked is not None and own is not asked:
        raise ValueError(f"the initializer holds {own.name}, asked is dtype {asked.name}")
    return as_dtype(own)


def _dtype_of(value: Any, dtype: DType | None) -> DType:
    try:
        array = to_array(value, dtype)
    except TypeError:
        if dtype is not None:
            raise
        return convert_to_tensor(value).dtype  # a list that holds tensors
    return string if array.dtype == object else as_dtype(array.dtype)
