"""Random numbers: ops that draw anew in each step, and the rules for their seeds.

Each session and node has one generator (``ctx.state``), so a step continues the sequence where the last step
ended, and every new session starts the same sequence if a seed is set. The sequence depends only on the two
seeds and the draws, never on the device; it is not TensorFlow's sequence.

Seeds follow TensorFlow 1: an op has the graph's seed and its own. With only the graph's seed, the op's seed
is the number of operations built before it; with only its own, the graph's seed is a fixed number; with
neither, the sequence is new in every session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, bfloat16, float16, float32, float64, int32, int64
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, graph_of, make_one
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import (
    Ints,
    constant_ints,
    described_shape,
    elements,
    ints,
    require_index,
    shape_operand,
)
from transports.host import current_host

__all__ = [
    "Draw",
    "checked_dims",
    "drawn_shape",
    "floats_shape",
    "generator_of",
    "get_seed",
    "normal_numbers",
    "random_normal",
    "random_uniform",
    "seed_attrs",
    "set_random_seed",
    "truncated_normal",
    "truncated_normal_numbers",
    "uniform_numbers",
]

# TensorFlow's value for the graph's seed where only the op has one.
_DEFAULT_GRAPH_SEED = 87654321
_MAX_INT32 = 2**31 - 1
_WORD = 2**64 - 1

# Truncated normal numbers this many deviations from the mean are drawn again.
_TRUNCATED_AT = 2.0

# Microseconds per element (ziggurat in float32).
_COST = 0.007


# -- seeds -----------------------------------------------------------------------------------------


def set_random_seed(seed: int | None) -> None:
    """Set the seed of the default graph, for all random ops built from now on.

    Args:
        seed: an integer, or ``None`` for a new sequence in every session.
    """
    get_default_graph().seed = None if seed is None else int(seed)


def get_seed(op_seed: int | None, graph: Graph | None = None) -> tuple[int | None, int | None]:
    """Return the two seeds that an op built now should have.

    Args:
        op_seed: the op's own seed, if it was given one.
        graph: the graph of the op; the default graph if left out.

    Returns:
        The graph's and the op's seed; ``(None, None)`` for a new sequence in every session.
    """
    home = get_default_graph() if graph is None else graph
    if home.seed is None:
        return (None, None) if op_seed is None else (_DEFAULT_GRAPH_SEED, int(op_seed))
    own = len(home.nodes) if op_seed is None else int(op_seed)
    # (0, 0) means that an op has no seed.
    return (0, _MAX_INT32) if (home.seed, own) == (0, 0) else (home.seed, own)


def seed_attrs(op_seed: int | None, graph: Graph) -> dict[str, Any]:
    """Return the seed attributes of a random op built now."""
    first, second = get_seed(op_seed, graph)
    return {"seed": first or 0, "seed2": second or 0}


def generator_of(ctx: KernelContext) -> np.random.Generator:
    """Return the node's generator in this session."""
    seeds = [ctx.attrs["seed"] & _WORD, ctx.attrs["seed2"] & _WORD]

    def make() -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(seeds if any(seeds) else current_host().entropy.randbits(128)))

    generator: np.random.Generator = ctx.state(make)
    return generator


# -- public functions ------------------------------------------------------------------------------


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw normally distributed random numbers.

    Args:
        shape: wanted shape.
        mean: mean of the numbers, anything that broadcasts to ``shape``.
        stddev: standard deviation of the numbers, likewise.
        dtype: a floating type.
        seed: the op's own seed.
    """
    return _normal("RandomStandardNormal", shape, mean, stddev, dtype, seed, name or "random_normal")


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw normally distributed random numbers less than two deviations from the mean.

    Numbers farther out are drawn again; the arguments are those of ``random_normal``.
    """
    return _normal("TruncatedNormal", shape, mean, stddev, dtype, seed, name or "truncated_normal")


def _normal(op_type: str, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: int | None, name: str) -> Tensor:
    graph = graph_of(*_parts(shape), mean, stddev)
    element_type = as_dtype(dtype)
    with graph.name_scope(name) as scope:
        dims = shape_operand(shape, graph)
        factor = _unless(1, stddev, element_type, "stddev", graph)
        shift = _unless(0, mean, element_type, "mean", graph)
        attrs = {"dtype": element_type, **seed_attrs(seed, graph)}
        return _scaled(op_type, dims, attrs, factor, shift, scope)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw uniformly distributed random numbers in ``[minval, maxval)``.

    Args:
        shape: wanted shape.
        minval: the lower end; a scalar for integers.
        maxval: the upper end; 1 if left out; required for integers.
        dtype: a floating type, int32 or int64.
        seed: the op's own seed.

    Raises:
        ValueError: for integers without ``maxval``, or another dtype.
    """
    element_type = as_dtype(dtype)
    if not element_type.is_floating and element_type not in (int32, int64):
        raise ValueError(f"random_uniform draws a floating type, int32 or int64, got dtype {element_type.name}")
    if maxval is None and element_type.is_integer:
        raise ValueError("random_uniform needs a maxval for an integer dtype")
    upper = 1 if maxval is None else maxval
    graph = graph_of(*_parts(shape), minval, upper)
    with graph.name_scope(name or "random_uniform") as scope:
        dims = shape_operand(shape, graph)
        if element_type.is_integer:
            low = convert_to_tensor(minval, element_type, "min", graph=graph)
            high = convert_to_tensor(upper, element_type, "max", graph=graph)
            return raw.RandomUniformInt(dims, low, high, name=scope, **seed_attrs(seed, graph))
        attrs = {"dtype": element_type, **seed_attrs(seed, graph)}
        shift = _unless(0, minval, element_type, "min", graph)
        if shift is None:
            factor = _unless(1, upper, element_type, "max", graph)
        elif not _symbolic(upper) and not _symbolic(minval):
            factor = _unless(1, np.subtract(upper, minval), element_type, "sub", graph)
        else:
            factor = convert_to_tensor(upper, element_type, "max", graph=graph) - shift
        return _scaled("RandomUniform", dims, attrs, factor, shift, scope)


def _scaled(
    op_type: str, dims: Tensor, attrs: dict[str, Any], factor: Tensor | None, shift: Tensor | None, scope: str
) -> Tensor:
    """Return the draw times ``factor`` plus ``shift``; the last op that is needed has the name."""
    # A uniform draw keeps the name that TensorFlow gives it within its scope.
    last = scope if factor is None and shift is None and op_type != "RandomUniform" else None
    value = make_one(op_type, [dims], attrs, last)
    if factor is not None:
        whole = None if op_type == "RandomUniform" else scope
        value = raw.Mul(value, factor, name=whole if shift is None else "mul")
    if shift is not None:
        value = raw.AddV2(value, shift, name=scope)
    return value


def _unless(neutral: float, value: Any, dtype: DType, name: str, graph: Graph) -> Tensor | None:
    """Return a value as a tensor, or ``None`` if it is a plain number that changes nothing."""
    if not _symbolic(value) and np.ndim(value) == 0 and value == neutral:
        return None
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.astype(dtype.np_dtype)
    return convert_to_tensor(value, dtype, name, graph=graph)


def _symbolic(value: Any) -> bool:
    return hasattr(value, "_as_graph_element")


def _parts(shape: Any) -> Sequence[Any]:
    return shape if isinstance(shape, (list, tuple)) else [shape]


# -- shapes ----------------------------------------------------------------------------------------


def drawn_shape(ctx: InferContext) -> TensorShape:
    """Return the static shape that the first operand describes."""
    require_index(ctx, 0, rank=1)
    return described_shape(ctx, 0)


def floats_shape(ctx: InferContext) -> list[TensorShape]:
    """The first operand is the shape of the output, of a floating type."""
    dtype = as_dtype(ctx.attrs["dtype"])
    if not dtype.is_floating:
        raise TypeError(f"{ctx.op} draws a floating type, got {dtype.name}")
    return [drawn_shape(ctx)]


def _integers_shape(ctx: InferContext) -> list[TensorShape]:
    for spec in ctx.inputs[1:]:
        if spec.shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op}: the ends are scalars, got shape {spec.shape}")
    return [drawn_shape(ctx)]


# -- kernels ---------------------------------------------------------------------------------------

Draw = Callable[[np.random.Generator, Ints, Any], Array]


def checked_dims(shape: Any) -> Ints:
    """Return the entries of a shape.

    Raises:
        InvalidArgumentError: if one is below 0.
    """
    dims = ints(shape)
    if min(dims, default=0) < 0:
        raise InvalidArgumentError(f"dimensions are at least 0, got {list(dims)}")
    return dims


def _drawing(draw: Draw) -> Callable[[KernelContext], Kernel]:
    """Return the kernel factory of an op that draws floating-point numbers."""

    def kernel(ctx: KernelContext) -> Kernel:
        generator, dims = generator_of(ctx), constant_ints(ctx, 0)
        dtype = ctx.outputs[0].dtype
        if dims is not None:
            return lambda _shape: draw(generator, dims, dtype)
        return lambda shape: draw(generator, checked_dims(shape), dtype)

    return kernel


def normal_numbers(generator: np.random.Generator, dims: Ints, dtype: DType) -> Array:
    """Draw normally distributed numbers."""
    if dtype is float64:
        return generator.standard_normal(dims)
    drawn: Array = generator.standard_normal(dims, np.float32)
    return drawn if dtype is float32 else drawn.astype(dtype.np_dtype)


def truncated_normal_numbers(generator: np.random.Generator, dims: Ints, dtype: DType) -> Array:
    """Draw normally distributed numbers; those beyond two deviations are drawn again."""
    wide = np.float64 if dtype is float64 else np.float32
    drawn: Array = np.asarray(generator.standard_normal(dims, wide))
    flat = drawn.reshape(-1)
    outside = np.flatnonzero(np.abs(flat) >= _TRUNCATED_AT)
    while outside.size:
        again = generator.standard_normal(outside.size, wide)
        flat[outside] = again
        outside = outside[np.abs(again) >= _TRUNCATED_AT]
    return drawn if dtype in (float32, float64) else drawn.astype(dtype.np_dtype)


def uniform_numbers(generator: np.random.Generator, dims: Ints, dtype: DType) -> Array:
    """Draw numbers from 0 to 1, excluding 1."""
    if dtype is float64:
        return generator.random(dims)
    if dtype is float32:
        return generator.random(dims, np.float32)
    # As many random bits as the type has digits: rounding a wider number could give 1.
    steps = {float16: 2**11, bfloat16: 2**8}[dtype]
    drawn = generator.integers(0, steps, dims, np.uint16)
    return (drawn.astype(np.float32) / np.float32(steps)).astype(dtype.np_dtype)


def _integers_kernel(ctx: KernelContext) -> Kernel:
    generator, fixed = generator_of(ctx), constant_ints(ctx, 0)
    dtype: Any = ctx.outputs[0].dtype.np_dtype

    def kernel(shape: Any, low: Any, high: Any) -> Any:
        if low >= high:
            raise InvalidArgumentError(f"minval lies below maxval, got {low} and {high}")
        dims = checked_dims(shape) if fixed is None else fixed
        return generator.integers(low, high, dims, dtype)

    return kernel


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    return 2.0 + _COST * elements(outputs[0])


_DRAWN: dict[str, Any] = {"grad": NOT_DIFFERENTIABLE, "cost": _cost, "sized_by": (0,)}

op("RandomStandardNormal", floats_shape, kernel=_drawing(normal_numbers), **_DRAWN)
op("TruncatedNormal", floats_shape, kernel=_drawing(truncated_normal_numbers), **_DRAWN)
op("RandomUniform", floats_shape, kernel=_drawing(uniform_numbers), **_DRAWN)
op("RandomUniformInt", _integers_shape, kernel=_integers_kernel, **_DRAWN)
