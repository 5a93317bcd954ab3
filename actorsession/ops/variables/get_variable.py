"""Variables by name, in the current variable scope: ``get_variable`` and ``get_local_variable``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from actorsession.graph.dtypes import as_dtype, float32
from actorsession.graph.graph import get_default_graph
from actorsession.graph.scopes import DeviceFunction
from actorsession.graph.shape import ShapeLike, as_shape
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables.creation import VariableAggregation, VariableSynchronization
from actorsession.ops.variables.scope import get_variable_scope, variable_scope
from actorsession.ops.variables.settings import Getter
from actorsession.ops.variables.store import VariableRequest, store_of

__all__ = ["create_partitioned_variables", "get_local_variable", "get_variable"]


def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: str | DeviceFunction | None = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Getter | None = None,
    constraint: Callable[..., Any] | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Return the variable of a name in the current variable scope, made or shared as the scope determines.

    Args:
        name: name, relative to that of the scope.
        shape: shape of the value; left out where the initialiser is a value, or a function without arguments.
        dtype: element type; that of an initial value, else the scope's.
        initializer: a value, or a function of shape and dtype that returns one, such as
            ``zeros_initializer()``; the scope's if left out, else ``glorot_uniform_initializer`` for floats
            and zeros for others.
        regularizer: a function of the variable that returns a loss, which joins
            ``GraphKeys.REGULARIZATION_LOSSES``, or ``None``; called when the variable is made.
        trainable: whether optimisers change it; true if left out.
        collections: names of collections to join; ``GraphKeys.GLOBAL_VARIABLES`` if left out.
        caching_device: a device with a copy from which readers get the value.
        partitioner: a function of ``shape`` and ``dtype`` that returns a number of parts per axis.
        validate_shape: whether the initial value's shape must be known.
        use_resource: without effect.
        custom_getter: called instead of the getter, and instead of the scope's.
        constraint: a function that optimisers apply to the updated value.
        synchronization: without effect.
        aggregation: without effect.

    Returns:
        A ``Variable``, or with a partitioner a ``PartitionedVariable``.

    Raises:
        ValueError: if the name must be new and is not, or must exist and does not; for another shape or dtype
            than that of the variable; or if a new one cannot be made with these arguments.
    """
    return get_variable_scope().get_variable(
        store_of(get_default_graph()),
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def get_local_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = False,
    collections: Iterable[str] | None = None,
    caching_device: str | DeviceFunction | None = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Getter | None = None,
    constraint: Callable[..., Any] | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Return a process-local variable, never trained and in ``LOCAL_VARIABLES``; see ``get_variable``."""
    return get_variable(
        name, shape, dtype, initializer, regularizer, False,
        [*(collections or ()), GraphKeys.LOCAL_VARIABLES], caching_device, partitioner,
        validate_shape, use_resource, custom_getter, constraint, synchronization, aggregation,
    )  # fmt: skip


def create_partitioned_variables(
    shape: ShapeLike,
    slicing: Sequence[int],
    initializer: Any,
    dtype: Any = float32,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    name: str | None = None,
    reuse: bool | None = None,
) -> list[Any]:
    """Return the variables that hold the parts of one value: what a partitioner makes, as a list.

    Args:
        shape: shape of the whole.
        slicing: number of parts per axis, all but one of them 1.
        initializer: a value for the whole, or a function of the shape of a part.
        dtype: element type.
        trainable: whether optimisers change them.
        collections: names of collections to join; ``GraphKeys.GLOBAL_VARIABLES`` if left out.
        name: the scope of the parts; ``PartitionedVariable``, made unique, if left out.
        reuse: whether parts of that name are shared.

    Raises:
        ValueError: if the value cannot be cut in this way, or the name is taken or, with ``reuse``, unknown.
    """
    whole, parts = as_shape(shape), list(slicing)
    if whole.rank != len(parts) or not parts:
        raise ValueError(
            f"slicing has a number of parts for each axis of a shape of rank 1 or more; got slicing {parts} "
            f"for shape {whole}"
        )
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        asked = VariableRequest(
            name=scope.name,
            shape=whole,
            dtype=as_dtype(dtype),
            initializer=initializer,
            regularizer=scope.regularizer,
            reuse=scope.reuse,
            trainable=trainable,
            collections=collections,
            caching_device=scope.caching_device,
            partitioner=lambda **_: parts,
            use_resource=scope.use_resource,
            constraint=scope.constraint,
        )
        return list(store_of(get_default_graph()).get(asked))
