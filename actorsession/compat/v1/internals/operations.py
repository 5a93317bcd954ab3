"""What the modules of ``tensorflow.python.ops`` and ``training`` have beyond ``tf``."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.internals import nest
from actorsession.compat.v1.nn import rnn_cell as rnn_cell_impl
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import as_shape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.flow.control import tuple_, with_dependencies
from actorsession.ops.flow.dataflow import enter, exit_, merge, next_iteration, switch
from actorsession.ops.queues.base import QueueBase
from actorsession.ops.variables import initializers
from actorsession.ops.variables.creation import CreatedByScope
from actorsession.ops.variables.partitioned import PartitionedVariable
from actorsession.ops.variables.reference_variable import ReferenceVariable
from actorsession.ops.variables.store import store_of
from actorsession.ops.variables.variable import Variable
from actorsession.opsets.staging.areas import BaseStagingArea
from actorsession.train.slot_names import mark_as_part, name_beside

__all__ = [
    "BaseStagingArea", "Constant", "Enter", "Exit", "GetContainingXLAContext", "GlorotNormal",
    "GlorotUniform", "GraphOrParentsInXlaContext", "Identity", "InXlaContext", "IsInXLAContext",
    "Merge", "NextIteration", "Ones", "Orthogonal", "PartitionedVariable", "QueueBase",
    "RandomNormal", "RandomUniform", "RefVariable", "ResourceVariable", "Switch",
    "TruncatedNormal", "UniformUnitScaling", "Variable", "VariableV1", "VarianceScaling", "Zeros",
    "_concat", "_deduplicate_indexed_slices", "_get_default_variable_store", "_pure_variable_scope",
    "_sum_rows", "_zero_state_tensors",
    "assert_broadcastable", "assert_like_rnncell", "assign_moving_average", "broadcast_weights",
    "create_slot", "create_slot_with_initializer", "create_zeros_slot", "enter", "exit",
    "global_variables", "he_normal", "he_uniform", "initialize_resources", "is_resource_variable",
    "lecun_normal", "lecun_uniform", "local_resources", "merge", "next_iteration", "rank_internal",
    "report_uninitialized_resources", "rnn_cell_impl", "shape_internal", "shape_tensor",
    "shared_resources",
    "size_internal", "switch", "tuple", "variable", "weighted_moving_average", "with_dependencies",
]  # fmt: skip

_WEIGHTS_VARIABLE_NAME, _BIAS_VARIABLE_NAME = "kernel", "bias"
# Each class and function under the name that it has in its module.
Constant, Zeros, Ones = (
    initializers.constant_initializer,
    initializers.zeros_initializer,
    initializers.ones_initializer,
)
RandomNormal, RandomUniform = (initializers.random_normal_initializer, initializers.random_uniform_initializer)
TruncatedNormal = initializers.truncated_normal_initializer
UniformUnitScaling = initializers.uniform_unit_scaling_initializer
VarianceScaling = initializers.variance_scaling_initializer
GlorotNormal, GlorotUniform = (initializers.glorot_normal_initializer, initializers.glorot_uniform_initializer)
Identity, Orthogonal = initializers.identity_initializer, initializers.orthogonal_initializer
he_normal, he_uniform = initializers.he_normal_initializer, initializers.he_uniform_initializer
lecun_normal, lecun_uniform = (initializers.lecun_normal_initializer, initializers.lecun_uniform_initializer)
VariableV1 = variable = Variable
RefVariable = ReferenceVariable


class _ResourceKind(CreatedByScope):
    """The metaclass of ``ResourceVariable``: a kind of ``Variable``, not a class of its own."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new resource variable, whatever the graph makes by default."""
        return type.__call__(Variable, *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        """Return whether something is a resource variable."""
        return isinstance(instance, Variable) and instance._is_resource


class ResourceVariable(Variable, metaclass=_ResourceKind):
    """Variables that are reached through a handle; arguments as of ``Variable``."""


Enter, Exit, Merge, NextIteration, Switch = enter, exit_, merge, next_iteration, switch
exit, tuple = exit_, tuple_
global_variables = ops.global_variables

# -- variables and resources -------------------------------------------------------------------


def is_resource_variable(var: Any) -> bool:
    """Return whether a value is a variable that is read through a handle."""
    return isinstance(var, Variable) and not var.dtype.name.endswith("_ref") and hasattr(var, "handle")


def shared_resources() -> list[Any]:
    """Return the resources of the default graph that all sessions of a server share."""
    return list(get_default_graph().get_collection("resources"))


def local_resources() -> list[Any]:
    """Return the resources of the default graph that each session has for itself."""
    return list(get_default_graph().get_collection("local_resources"))


def initialize_resources(resource_list: Sequence[Any], name: str = "init") -> Operation:
    """Return an operation that initialises resources.

    Args:
        resource_list: the resources, of which each has an operation ``create``.
        name: its name.
    """
    if resource_list:
        return ops.group(*(resource.create for resource in resource_list), name=name)
    return ops.no_op(name=name)


def report_uninitialized_resources(resource_list: Any = None, name: str = "report_uninitialized_resources") -> Tensor:
    """Return a tensor of the names of resources that are not initialised.

    Args:
        resource_list: the resources; all of the default graph if omitted.
        name: its name.
    """
    resources = shared_resources() + local_resources() if resource_list is None else list(resource_list)
    if not resources:
        return ops.constant([], dtype=as_dtype("string"), shape=[0], name=name)
    ready = ops.stack([resource.is_initialized for resource in resources])
    names = ops.constant([resource.handle.name for resource in resources])
    return ops.boolean_mask(names, ops.logical_not(ready), name=name)


# -- slots and averages ------------------------------------------------------------------------


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True, **kwargs: Any) -> Any:
    """Return a variable that belongs to another one, and begins with a value.

    Args:
        primary: the other one.
        val: the value.
        name: what its own name ends with.
        colocate_with_primary: whether it is where the other one is.
        **kwargs: accepted for compatibility and ignored.
    """
    return create_slot_with_initializer(
        primary, lambda: convert_to_tensor(val), None, None, name, colocate_with_primary
    )


def create_slot_with_initializer(
    primary: Any, initializer: Any, shape: Any, dtype: Any, name: str, colocate_with_primary: bool = True, **kwargs: Any
) -> Any:
    """Return a variable that belongs to another one, and begins with what an initialiser returns.

    Args:
        primary: the other one.
        initializer: takes a shape and an element type; nothing if there is no shape.
        shape: the shape.
        dtype: the element type.
        name: what its own name ends with.
        colocate_with_primary: whether it is where the other one is.
        **kwargs: accepted for compatibility and ignored.
    """
    graph = primary.graph
    begins = initializer if shape is None else lambda: initializer(as_shape(shape).as_list(), dtype)
    with graph.as_default(), graph.name_scope(None):
        place: Any = contextlib.nullcontext()
        with graph.colocate_with(primary.op) if colocate_with_primary else place:
            slot = ops.Variable(begins, trainable=False, name=name_beside(primary.op.name, name))
    if isinstance(primary, ops.Variable):
        mark_as_part(slot, primary)
    return slot


def create_zeros_slot(
    primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True, **kwargs: Any
) -> Any:
    """Return a variable of zeros that belongs to another one; see ``create_slot_with_initializer``."""
    return create_slot_with_initializer(
        primary,
        initializers.zeros_initializer(),
        primary.shape,
        as_dtype(dtype or primary.dtype),
        name,
        colocate_with_primary,
    )


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Move a variable towards a value by ``1 - decay`` of the distance.

    Args:
        variable: the average.
        value: the new value.
        decay: how much of the average stays.
        zero_debias: whether the start at zero is corrected, as ``ExponentialMovingAverage`` does.
        name: the name of the operation.
    """
    graph = variable.graph
    with graph.name_scope(name or "AssignMovingAvg"), graph.colocate_with(variable.op):
        moved = ops.cast(1.0 - convert_to_tensor(decay, name="decay"), variable.dtype.base_dtype)
        now = convert_to_tensor(value)
        if not zero_debias:
            return ops.assign_sub(variable, (variable.value() - now) * moved)
        with ops.variable_scope(variable.op.name, auxiliary_name_scope=False) as scope:
            biased, steps = (
                ops.get_variable(
                    _unused(scope, name),
                    shape,
                    variable.dtype.base_dtype,
                    initializers.zeros_initializer(),
                    trainable=False,
                )
                for name, shape in (("biased", variable.shape), ("local_step", []))
            )
        plain = ops.assign_sub(biased, (biased.value() - now) * moved)
        share = 1.0 - ops.pow(1.0 - moved, ops.assign_add(steps, 1.0))
        return ops.assign(variable, plain / share)


def _unused(scope: Any, name: str) -> str:
    """Return a name below a scope which no variable has, unless the scope shares its variables."""
    taken = {variable.op.name for variable in scope.global_variables()}
    names = [name, *(f"{name}_{number}" for number in range(1, len(taken) + 1))]
    free = (each for each in names if f"{scope.name}/{each}" not in taken)
    return name if scope.reuse else next(free)


def weighted_moving_average(
    value: Any, decay: Any, weight: Any, truediv: bool = True, collections: Any = None, name: str | None = None
) -> Tensor:
    """Return the average of a value over steps, in which each step has a weight.

    Args:
        value: the value.
        decay: how much of the average stays.
        weight: the weight of this step.
        truediv: whether integers are divided as numbers with fractions.
        collections: where the two variables that it makes belong.
        name: the name of the scope.
    """
    tensor = convert_to_tensor(value)
    with ops.variable_scope(name, "WeightedMovingAvg"):
        zeros = initializers.zeros_initializer()
        amount = convert_to_tensor(weight, dtype_hint=tensor.dtype)
        sums = ops.get_variable(
            "value_x_weight", tensor.shape, tensor.dtype, zeros, trainable=False, collections=collections
        )
        weights = ops.get_variable(
            "weight", amount.shape, amount.dtype, zeros, trainable=False, collections=collections
        )
        top = assign_moving_average(sums, tensor * amount, decay, False)
        bottom = assign_moving_average(weights, amount, decay, False)
        return ops.truediv(top, bottom) if truediv else ops.div(top, bottom)


# -- control flow ------------------------------------------------------------------------------


def IsInXLAContext(op: Any = None) -> bool:
    """Return whether an operation is compiled: none is."""
    return False


InXlaContext = GraphOrParentsInXlaContext = IsInXLAContext


def GetContainingXLAContext(ctxt: Any) -> None:
    """Return the compiled part that a loop or branch is in: there is none."""


# -- weights, cells ----------------------------------------------------------------------------


def assert_broadcastable(weights: Any, values: Any) -> Operation:
    """Check that weights are a scalar, or have the sizes of values or 1 in each dimension.

    Returns:
        An operation that checks what is not known while the graph is built.

    Raises:
        ValueError: if they are known not to fit.
    """
    weight, value = convert_to_tensor(weights), convert_to_tensor(values)
    if weight.shape.rank == 0:
        return ops.no_op(name="static_scalar_check_success")
    if weight.shape.rank is not None and value.shape.rank is not None:
        if weight.shape.rank != value.shape.rank:
            raise ValueError(
                f"weights can not be broadcast to values. values.rank={value.shape.rank}. "
                f"weights.rank={weight.shape.rank}. values.shape={value.shape}. "
                f"weights.shape={weight.shape}."
            )
        pairs = list(zip(weight.shape.as_list(), value.shape.as_list(), strict=True))
        if any(None not in pair and pair[0] not in (1, pair[1]) for pair in pairs):
            raise ValueError(
                f"weights can not be broadcast to values. values.shape={value.shape}. weights.shape={weight.shape}."
            )
        if all(None not in pair for pair in pairs):
            return ops.no_op(name="static_dims_check_success")
    shape, of = ops.shape(weight), ops.shape(value)
    fits = ops.reduce_all(ops.logical_or(ops.equal(shape, 1), ops.equal(shape, of)))
    return ops.Assert(fits, ["weights can not be broadcast to values.", shape, of])


def broadcast_weights(weights: Any, values: Any) -> Tensor:
    """Return weights in the shape of values; see ``assert_broadcastable``."""
    value = convert_to_tensor(values)
    weight = convert_to_tensor(weights, dtype=None, dtype_hint=value.dtype)
    if (
        value.shape.is_fully_defined()
        and weight.shape.is_fully_defined()
        and (weight.shape.as_list() == value.shape.as_list())
    ):
        return weight
    with get_default_graph().control_dependencies([assert_broadcastable(weight, value)]):
        return ops.multiply(weight, ops.ones_like(value, dtype=weight.dtype), name="broadcast_weights")


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Check that a value can be used as a recurrent cell.

    Raises:
        TypeError: if it has not what cells have.
    """
    properties = ("output_size", "state_size", "zero_state")
    missing = [name for name in properties if not hasattr(cell, name)]
    if missing or not callable(cell):
        raise TypeError(
            f"The argument {cell_name!r} ({cell}) is not an RNNCell: "
            + ", ".join(f"{name!r} property is missing" for name in missing)
            + ("" if callable(cell) else ", is not callable")
        )


def shape_internal(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = None) -> Tensor:
    """Return the shape of a tensor or sparse tensor, as a constant where it is known.

    Args:
        input: the tensor.
        name: wanted name.
        optimize: whether a shape that is known becomes a constant.
        out_type: int32, which is the default, or int64.
    """
    dtype = as_dtype("int32" if out_type is None else out_type)
    if hasattr(input, "dense_shape"):
        return ops.cast(input.dense_shape, dtype, name=name)
    value = convert_to_tensor(input)
    if optimize and value.shape.is_fully_defined():
        return ops.constant(value.shape.as_list(), dtype, [value.shape.rank], name=name or "Shape")
    return ops.shape(value, name=name, out_type=dtype)


def size_internal(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = None) -> Tensor:
    """Return the number of elements of a tensor or sparse tensor; see ``shape_internal``."""
    dtype = as_dtype("int32" if out_type is None else out_type)
    if hasattr(input, "dense_shape"):
        return ops.reduce_prod(ops.cast(input.dense_shape, dtype), name=name)
    value = convert_to_tensor(input)
    if optimize and value.shape.is_fully_defined():
        return ops.constant(value.shape.num_elements(), dtype, name=name or "Size")
    return ops.size(value, name=name, out_type=dtype)


def _pure_variable_scope(name_or_scope: Any, *args: Any, **kwargs: Any) -> contextlib.AbstractContextManager[Any]:
    """Return a variable scope that opens no name scope; the arguments are those of ``variable_scope``."""
    names = ("reuse", "initializer", "regularizer", "caching_device", "partitioner", "custom_getter")
    settings = {**dict(zip(names, args, strict=False)), **kwargs}
    old = settings.pop("old_name_scope", None)
    del old
    return ops.variable_scope(name_or_scope, auxiliary_name_scope=False, **settings)


def _get_default_variable_store() -> Any:
    """Return the variables that ``get_variable`` has made in the default graph."""
    return store_of(get_default_graph())


def _concat(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Return two shapes in one: as a tensor, or as a list of sizes.

    Args:
        prefix: the first sizes: a size, a shape, or a tensor.
        suffix: the last sizes, likewise.
        static: whether a list is wanted, with ``None`` for what the graph does not know.
    """
    if static:
        return [size for part in (prefix, suffix) for size in _sizes(part)]
    parts = [
        ops.reshape(convert_to_tensor(part), [-1])
        if isinstance(part, Tensor)
        else ops.constant(_sizes(part), as_dtype("int32"), [len(_sizes(part))])
        for part in (prefix, suffix)
    ]
    return ops.concat(parts, 0)


def _sizes(part: Any) -> list[int | None]:
    if isinstance(part, Tensor):
        known = get_static_value(part)
        count = part.shape.num_elements()
        return [None] * (count or 0) if known is None else [int(n) for n in np.ravel(known)]
    return [part] if isinstance(part, int) else as_shape(part).as_list()


def _sum_rows(x: Any) -> Tensor:
    """Return the sums of the rows of a matrix."""
    return ops.reshape(ops.matmul(x, ops.ones(ops.stack([ops.shape(x)[1], 1]), x.dtype)), [-1])


def _deduplicate_indexed_slices(values: Any, indices: Any) -> Any:
    """Return the sums of rows of one index, and the indices, of which each occurs once."""
    once, places = ops.unique(indices)
    return ops.unsorted_segment_sum(values, places, ops.shape(once)[0]), once


def shape_tensor(shape: Any) -> Tensor:
    """Return a shape, or a list of sizes of which some are tensors, as a tensor."""
    if isinstance(shape, (list, builtins.tuple)) and not any(isinstance(s, Tensor) for s in shape):
        return ops.constant([int(size) for size in shape], as_dtype("int32"), [len(shape)])
    return convert_to_tensor(shape)


def _zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Return zeros for each shape of a structure, with the size of the batch in front.

    Args:
        state_size: a structure of sizes or shapes.
        batch_size: the size of the batch, a number or a tensor.
        dtype: the dtype of the zeros.
    """

    def zeros(size: Any) -> Tensor:
        inner = as_shape([size] if isinstance(size, int) else size).as_list()
        if isinstance(batch_size, int):
            return ops.zeros([batch_size, *inner], dtype)
        filled = ops.zeros(ops.concat([ops.reshape(batch_size, [1]), inner], 0), dtype)
        filled.set_shape([None, *inner])
        return filled

    return nest.map_structure(zeros, state_size)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Tensor:
    """Return the number of dimensions of a tensor or sparse tensor; see ``shape_internal``."""
    if hasattr(input, "dense_shape"):
        return ops.size(input.dense_shape, name=name)
    value = convert_to_tensor(input)
    if optimize and value.shape.rank is not None:
        return ops.constant(value.shape.rank, as_dtype("int32"), name=name or "Rank")
    return ops.rank(value, name=name)
