"""A reference evaluator for graphs, and the check of gradients against finite differences.

Owns no semantics of its own: it walks a graph in building order and calls each kernel, so that op
tests need neither plans nor sessions. It is strict where an executor trusts: values must have the
static dtype and a shape that fits the static one, kernels see read-only inputs, an output shares
memory with an input only where the op says so, and the inline expression and the form that writes into
an array must agree with the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession import Graph, Operation, Tensor, TensorShape, as_dtype, gradients
from actorsession.config.file_roots import ANYWHERE
from actorsession.errors import FailedPreconditionError
from actorsession.extend import NOT_DIFFERENTIABLE, REQUIRED, Array, OpDef, TensorSpec, VariableHolder
from actorsession.extend import register_op as register
from actorsession.graph.graph import constant_value
from actorsession.graph.node import spec
from actorsession.graph.shape import ShapeLike
from actorsession.ops.indexed_slices import to_dense
from actorsession.ops.lists.values import TensorList
from tests.nodes import make_one

__all__ = ["Holder", "Program", "Variables", "check_gradient", "evaluate", "source"]


def _no_value(ctx: Any) -> Any:
    raise AssertionError(f"{ctx.name!r} is a source of the test: feed it")


register(
    OpDef(
        name="TestSource",
        infer=lambda ctx: [spec(ctx.attrs["dtype"], ctx.attrs["shape"])],
        kernel=_no_value,
        gradient=NOT_DIFFERENTIABLE,
        attrs={"dtype": REQUIRED, "shape": None},
    )
)


def source(dtype: Any, shape: ShapeLike = None, graph: Graph | None = None) -> Tensor:
    """A tensor that gets its value from ``feeds``; its shape is unknown unless given."""
    return make_one("TestSource", (), {"dtype": as_dtype(dtype), "shape": shape}, None, graph)


class Holder:
    """State of one variable; never updates in place, so that borrowed values stay as they were."""

    by_reference = False

    def __init__(self) -> None:
        self._value: Any = None

    @property
    def initialized(self) -> bool:
        return self._value is not None

    @property
    def shape(self) -> tuple[int, ...] | None:
        return None if self._value is None else np.shape(self._value)

    def declare(self, shape: tuple[int, ...]) -> None:
        self.by_reference = True

    def read(self) -> Any:
        if self._value is None:
            raise FailedPreconditionError("the variable is uninitialised")
        return self._value

    lend = read

    def assign(self, value: Any) -> None:
        self._value = np.array(value)

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        old = self.read()
        self._value = np.asarray(function(old, *operands, out=np.empty_like(old)))

    def access(self, function: Callable[[Any], Any]) -> None:
        self._value = np.asarray(function(np.array(self.read())))


class Variables:
    """What outlives one evaluation: variables and the state of stateful kernels."""

    def __init__(self) -> None:
        self.holders: dict[tuple[str, str], Holder] = {}
        self.states: dict[str, Any] = {}
        self.files = ANYWHERE

    def variable(self, container: str, name: str, spec: TensorSpec) -> VariableHolder:
        return self.holders.setdefault((container, name), Holder())


class _Context:
    """The ``KernelContext`` of one node."""

    device = "/job:localhost/replica:0/task:0/device:CPU:0"

    def __init__(self, op: Operation, fed: frozenset[Tensor], resources: Variables) -> None:
        self.name = op.name
        self.op = op.type
        self.attrs = op.attrs
        self.inputs = tuple(t.spec for t in op.inputs)
        self.outputs = tuple(t.spec for t in op.outputs)
        self.resources = resources
        self._constants = [None if t in fed else constant_value(t) for t in op.inputs]

    def constant(self, index: int) -> Array | None:
        return self._constants[index]

    def state(self, make: Callable[[], Any]) -> Any:
        states = self.resources.states
        if self.name not in states:
            states[self.name] = make()
        return states[self.name]


class Program:
    """Nodes that compute ``fetches``, linked once and run many times.

    Args:
        fetches: tensors, operations or anything that stands for one.
        fed: tensors whose value is given to ``run``; their producers do not run.
        variables: state to run on; fresh if left out.
    """

    def __init__(self, fetches: Sequence[Any], fed: Sequence[Any] = (), variables: Variables | None = None) -> None:
        self.fetches = [f._as_graph_element() for f in fetches]
        self.fed = frozenset(f._as_graph_element() for f in fed)
        resources = variables if variables is not None else Variables()
        self._steps: list[tuple[Operation, Callable[..., Any], Any, Any]] = []
        for op in _needed(self.fetches, self.fed):
            context: Any = _Context(op, self.fed, resources)
            _check_cost(op)
            forms = _inline(op, context), _into(op, context)
            self._steps.append((op, op.op_def.kernel(context), *forms))

    def run(self, feeds: Mapping[Any, Any] | None = None) -> list[Any]:
        """Values of the fetches, ``None`` for operations."""
        values: dict[Tensor, Any] = {}
        for tensor, value in (feeds or {}).items():
            element = tensor._as_graph_element()
            assert element in self.fed, f"{element!r} was not announced as fed"
            values[element] = _checked(element, _as_fed(value, element))
        with np.errstate(all="ignore"):
            for op, function, inline, into in self._steps:
                inputs = [values[t] for t in op.inputs]
                result = function(*inputs)
                results = result if len(op.outputs) > 1 else (result,) * len(op.outputs)
                assert len(results) == len(op.outputs), f"{op!r} gave {len(results)} values"
                for tensor, value in zip(op.outputs, results, strict=True):
                    # A fed output of a node that runs for another output keeps the fed value.
                    values.setdefault(tensor, _checked(tensor, value))
                    _check_alias(op, inputs, value)
                if inline is not None:
                    _check_inline(op, inline(*inputs), result)
                if into is not None:
                    _check_into(op, into, inputs, result)
                if op.op_def.joins is not None:
                    _check_joins(op, op.op_def.joins, inputs, result)
        return [values[f] if isinstance(f, Tensor) else None for f in self.fetches]

    def run_on(self, tensors: Sequence[Tensor], values: Sequence[Any]) -> list[Any]:
        """The same with the feeds in two lists."""
        return self.run(dict(zip(tensors, values, strict=True)))

    def run_again_on(self, tensors: Sequence[Tensor], values: Sequence[Any]) -> list[Any]:
        """The values alone, of a program that was run on much the same: nothing is checked once more."""
        known = {t: _as_fed(v, t) for t, v in zip(tensors, values, strict=True)}
        with np.errstate(all="ignore"):
            for op, function, _, _ in self._steps:
                result = function(*[known[t] for t in op.inputs])
                results = result if len(op.outputs) > 1 else (result,) * len(op.outputs)
                for tensor, value in zip(op.outputs, results, strict=True):
                    known.setdefault(tensor, value)
        return [known[f] if isinstance(f, Tensor) else None for f in self.fetches]


def evaluate(
    fetches: Sequence[Any], feeds: Mapping[Any, Any] | None = None, variables: Variables | None = None
) -> list[Any]:
    """Runs what ``fetches`` need and returns their values.

    Args:
        fetches: tensors (a value each) or operations (``None`` each).
        feeds: values by tensor, converted to the tensor's dtype.
        variables: state to keep from call to call; fresh if left out.
    """
    return Program(fetches, tuple(feeds or ()), variables).run(feeds)


def _needed(fetches: Sequence[Any], fed: frozenset[Tensor]) -> list[Operation]:
    """The operations to run, producers first (building order is such an order)."""
    found: set[Operation] = set()
    waiting = [f if isinstance(f, Operation) else f.op for f in fetches if f not in fed]
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting.extend(t.op for t in op.inputs if t not in fed)
            waiting.extend(op.control_inputs)
    return sorted(found, key=lambda op: op.number)


def _as_fed(value: Any, tensor: Tensor) -> Any:
    if tensor.dtype.kind in "sr":
        return value
    return np.array(value, dtype=tensor.dtype.np_dtype)


def _checked(tensor: Tensor, value: Any) -> Any:
    """The value as a read-only view, once it is known to fit the static type."""
    if tensor.dtype.kind in "rv" or isinstance(value, (bytes, str)):
        assert tensor.dtype.kind in "srv", f"{tensor!r} got {value!r}"
        return value
    assert isinstance(value, (np.ndarray, np.generic)), f"{tensor!r} got {type(value)}: {value!r}"
    assert value.dtype == tensor.dtype.np_dtype, f"{tensor!r} got dtype {value.dtype}"
    assert tensor.shape.is_compatible_with(value.shape), f"{tensor!r} got shape {value.shape}"
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def _check_alias(op: Operation, inputs: Sequence[Any], value: Any) -> None:
    if op.op_def.aliases or not isinstance(value, np.ndarray):
        return
    for i, given in enumerate(inputs):
        shared = isinstance(given, np.ndarray) and np.may_share_memory(given, value)
        assert not shared, f"an output of {op!r} shares memory with input {i}: set aliases=True"
    # Whoever reads it last may write over it.
    assert value.flags.writeable or not value.ndim, f"an output of {op!r} is read-only"


def _check_cost(op: Operation) -> None:
    if op.op_def.cost is not None:

        def filled(tensor: Tensor) -> TensorSpec:
            dims = tensor.shape.sizes or ()
            return TensorSpec(tensor.dtype, TensorShape([1 if d is None else d for d in dims]))

        cost = op.op_def.cost([filled(t) for t in op.inputs], [filled(t) for t in op.outputs])
        assert cost >= 0, f"the cost of {op!r} is {cost}"


def _inline(op: Operation, context: Any) -> Callable[..., Any] | None:
    if op.op_def.emit is None:
        return None
    names = [f"v{i}" for i in range(len(op.inputs))]
    text = op.op_def.emit(context, names)
    if text is None:
        return None
    # Without builtins: such an expression may use its arguments and literals, nothing else.
    made: Callable[..., Any] = eval(  # noqa: S307 - the text is the op's own
        f"lambda {', '.join(names)}: ({text})", {"__builtins__": {}}
    )
    return made


def _check_inline(op: Operation, value: Any, expected: Any) -> None:
    assert _checked(op.outputs[0], value) is not None
    if isinstance(value, TensorList):
        value, expected = list(value.items), list(expected.items)
    np.testing.assert_array_equal(value, expected, err_msg=f"inline form of {op!r}")


def _into(op: Operation, context: Any) -> Callable[..., Any] | None:
    return None if op.op_def.into is None else op.op_def.into(context)


def _check_into(op: Operation, function: Callable[..., Any], inputs: Sequence[Any], expected: Any) -> None:
    """What an op writes into an array, over an input if it may, is what its kernel gives."""
    if not isinstance(expected, np.ndarray) or not expected.ndim:
        return
    full = all(v.shape in (expected.shape, ()) for v in inputs)
    if not (full or isinstance(function, np.ufunc)):
        return  # nobody asks that of it
    places = [np.empty_like(expected, order="C")]
    if isinstance(function, np.ufunc):
        like = expected.shape, expected.dtype
        places += [v for v in inputs if (v.shape, v.dtype) == like]
    for place in places:
        arrays = [np.array(v) if v is place else v for v in inputs]
        out = next((a for a, v in zip(arrays, inputs, strict=True) if v is place), place)
        function(*arrays, out)
        np.testing.assert_array_equal(out, expected, err_msg=f"{op!r} into an array")


def _check_joins(op: Operation, function: Callable[..., Any], inputs: Sequence[Any], expected: Any) -> None:
    if len(inputs) > 1 and expected.ndim:
        total = function(*inputs[:2])
        for value in inputs[2:]:
            function(total, value, total)
        np.testing.assert_array_equal(total, expected, err_msg=f"{op!r} one by one")


# -- gradients -----------------------------------------------------------------------------------


def check_gradient(
    f: Callable[..., Any],
    *arrays: Any,
    wrt: Sequence[int] | None = None,
    unknown_shapes: Sequence[bool] = (False, True),
    step: float = 1e-5,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    seed: int = 0,
) -> None:
    """Compares the gradient of ``f`` with central finite differences, in float64.

    The outputs are weighted with random numbers and summed, so that one pass checks all of them.

    Args:
        f: takes one tensor per array and returns a tensor or a sequence of tensors.
        *arrays: where to differentiate; floats become float64, other values keep their type.
        wrt: which arguments to differentiate by; all floating ones if left out. An argument that
            ``f`` does not depend on must have the gradient ``None``, and derivative 0.
        unknown_shapes: whether the static shapes of the arguments are hidden; each value is tried.
        step: of the finite differences.
        rtol: relative tolerance.
        atol: absolute tolerance.
        seed: of the random weights.
    """
    values = [_double(a) for a in arrays]
    chosen = [i for i, v in enumerate(values) if v.dtype.kind == "f"] if wrt is None else wrt
    # The values, and by argument their finite differences: hidden shapes must give the same values.
    first: list[Any] = []
    expected: dict[int, Array] = {}
    for hidden in unknown_shapes:
        graph = Graph()
        with graph.as_default():
            xs = [source(as_dtype(v.dtype), None if hidden else v.shape) for v in values]
            made = f(*xs)
        ys = list(made) if isinstance(made, (list, tuple)) else [made]
        shown = "hidden" if hidden else "known"
        rng = np.random.default_rng(seed)
        program = Program(ys, xs)
        found = program.run_on(xs, values)
        weights = [rng.normal(size=np.shape(v)) for v in found]
        if not first:
            first = found
            for i in chosen:
                expected[i] = _differences(program, xs, values, i, weights, step)
        for value, other in zip(found, first, strict=True):
            np.testing.assert_array_equal(value, other, err_msg=f"static shapes {shown}")
        for i, slope in zip(chosen, _derivatives(ys, xs, values, chosen, weights), strict=True):
            np.testing.assert_allclose(slope, expected[i], rtol, atol, err_msg=f"argument {i}, static shapes {shown}")


def _derivatives(
    ys: Sequence[Tensor], xs: Sequence[Tensor], values: Sequence[Array], chosen: Sequence[int], weights: Sequence[Array]
) -> list[Array]:
    """The gradients that the graph gives, zeros where nothing flows."""
    grad_ys = [source(y.dtype, y.shape, y.graph) for y in ys]
    tensors = gradients(ys, [xs[i] for i in chosen], grad_ys)
    found = []
    for i, tensor in zip(chosen, tensors, strict=True):
        out = np.zeros_like(values[i])
        if tensor is not None:
            assert tensor.dtype is xs[i].dtype, f"gradient of argument {i}: {tensor!r}"
            fed = [*xs, *grad_ys]
            [out] = Program([to_dense(tensor)], fed).run_on(fed, [*values, *weights])
            assert out.shape == values[i].shape, f"gradient of argument {i}"
        found.append(out)
    return found


def _double(value: Any) -> Array:
    array = np.array(value)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _differences(
    program: Program, xs: Sequence[Tensor], values: Sequence[Array], index: int, weights: Sequence[Array], step: float
) -> Array:
    def total(argument: Array) -> float:
        given = [argument if i == index else v for i, v in enumerate(values)]
        results = program.run_again_on(xs, given)
        return float(sum(np.sum(w * r) for w, r in zip(weights, results, strict=True)))

    out = np.zeros_like(values[index])
    for position in np.ndindex(*out.shape):
        above, below = values[index].copy(), values[index].copy()
        above[position] += step
        below[position] -= step
        out[position] = (total(above) - total(below)) / (2 * step)
    return out
