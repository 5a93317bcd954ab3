"""The op types of datasets and iterators.

All datasets are nodes of one type, ``Dataset``, whose attribute ``kind`` says what it does; their values are
``Stage`` objects, which stay on their device. ``settings`` names the inputs behind the datasets that a node
reads: a name with a star may occur several times. Behind these are the values that its functions capture, as
many as each of them takes. Iterators are state behind a handle, as queues are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, OutOfRangeError
from actorsession.graph.dtypes import as_dtype, resource
from actorsession.graph.function import FunctionDef
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.rows import checked, no_outputs, op, scalar
from actorsession.ops.shape_operands import boxed
from actorsession.ops.shared_state import check_handle_of
from actorsession.opsets.datasets import parallel, sources, transforms  # noqa: F401 - each registers kinds of datasets
from actorsession.opsets.datasets.compiled import Compiled, Kept
from actorsession.opsets.datasets.position import IteratorState, by_handle, elsewhere
from actorsession.opsets.datasets.runs import Run
from actorsession.opsets.datasets.stages import Function, Stage

__all__: list[str] = []

# The number of inputs that a node keeps without a copy; the others are copied.
_MOST = 64


def _own(values: Sequence[Any]) -> list[Any]:
    copied = [v.copy() if isinstance(v, np.ndarray) else v for v in values[_MOST:]]
    return [*values[:_MOST], *copied]


# -- datasets --------------------------------------------------------------------------------------


def _functions(ctx: KernelContext, key: str = "functions") -> list[Compiled]:
    found = ctx.attrs[key]
    given = [found] if isinstance(found, FunctionDef) else found
    return [Compiled(function, ctx, number) for number, function in enumerate(given)]


def _captured(compiled: Sequence[Compiled], values: Sequence[Any], at: int) -> list[Function]:
    """Return functions with their captures, which begin at a place among the inputs."""
    made = []
    for function in compiled:
        made.append(Function(function, values[at : at + function.captures]))
        at += function.captures
    return made


def _dataset_kernel(ctx: KernelContext) -> Kernel:
    attrs = ctx.attrs
    kind, count, names, layout = attrs["kind"], attrs["sources"], attrs["settings"], attrs["layout"]
    compiled = _functions(ctx)

    def dataset(*given: Any) -> Stage:
        values = _own(given)
        settings: dict[str, Any] = {n[:-1]: () for n in names if n.endswith("*")}
        for name, value in zip(names, values[count:], strict=False):
            if name.endswith("*"):
                settings[name[:-1]] += (value,)
            else:
                settings[name] = value
        functions = _captured(compiled, values, count + len(names))
        return Stage(kind, values[:count], settings, functions, layout)

    return dataset


def _dataset_shape(ctx: InferContext) -> Sequence[TensorShape]:
    count = ctx.attrs["sources"]
    for k, spec in enumerate(ctx.inputs):
        if k < count and spec.dtype is not resource:
            raise TypeError(f"{ctx.op}: input {k} is a dataset, got a {spec.dtype.name} tensor")
    return [scalar_shape]


op(
    "Dataset", _dataset_shape, kernel=_dataset_kernel, grad=NOT_DIFFERENTIABLE, aliases=True,
    keeps=frozenset(range(_MOST)),
)  # fmt: skip


def _announced(ctx: InferContext) -> Sequence[TensorShape]:
    return [TensorShape(shape) for shape in ctx.attrs["output_shapes"]]


def _only(found: Sequence[Any]) -> Any:
    return found[0] if len(found) == 1 else tuple(found)


def _element_kernel(ctx: KernelContext) -> Kernel:
    host = ctx.resources

    def element(dataset: Stage) -> Future[Any]:
        def work(run: Run) -> Any:
            cursor = dataset.begin(run)
            found = next(cursor, None)
            if found is None:
                raise InvalidArgumentError("Dataset was empty.")
            if next(cursor, None) is not None:
                raise InvalidArgumentError("Dataset had more than one element.")
            return _only(found)

        return elsewhere(host, work)

    return element


def _reduce_kernel(ctx: KernelContext) -> Kernel:
    host, states = ctx.resources, len(ctx.attrs["output_types"])
    (compiled,) = _functions(ctx)

    def reduce(dataset: Stage, *given: Any) -> Future[Any]:
        function = Function(compiled, given[states:])

        def work(run: Run) -> Any:
            state = tuple(given[:states])
            for element in dataset.begin(run):
                run.check()
                state = function(run, *state, *element)
            return _only(state)

        return elsewhere(host, work)

    return reduce


for _name, _kernel in (("DatasetElement", _element_kernel), ("DatasetReduce", _reduce_kernel)):
    op(
        _name, _announced, kernel=_kernel, grad=NOT_DIFFERENTIABLE, suspends=True, aliases=True,
        opens_files=True, keeps=frozenset(range(_MOST)),
    )  # fmt: skip
op(
    "DatasetCardinality", scalar, lambda dataset: np.int64(dataset.cardinality()), NOT_DIFFERENTIABLE,
)  # fmt: skip


# -- iterators -------------------------------------------------------------------------------------


def _types(attrs: Mapping[str, Any]) -> list[Any]:
    return [as_dtype(t) for t in attrs["output_types"]]


def _iterator_kernel(ctx: KernelContext) -> Kernel:
    shared, host, types = ctx.attrs["shared_name"], ctx.resources, _types(ctx.attrs)
    name = shared or ctx.name
    first = None
    if ctx.op == "OneShotIterator":
        (factory,) = _functions(ctx, "dataset_factory")

        def first() -> Any:
            return factory(Run(host))[0]

    def new() -> IteratorState:
        return IteratorState(f"iterator {name!r}", types, host, first)

    if shared:
        spec = f"an iterator of {', '.join([t.name for t in types])}"
        state = host.lookup_or_create(ctx.attrs["container"], name, "iterator", new, spec)
    else:
        # Beside the states of the function's nodes.
        kept = ctx.state(Kept)
        state = kept.get("") or kept.setdefault("", new())
    return lambda: state


def _make(ctx: InferContext) -> Sequence[TensorShape]:
    if ctx.inputs[0].dtype is not resource:
        raise TypeError(
            f"{ctx.op} takes a dataset as input 0, got a {ctx.inputs[0].dtype.name} tensor"
        )
    return []


def _of_iterator(ctx: InferContext) -> Sequence[TensorShape]:
    check_handle_of(ctx, "an iterator")
    return _announced(ctx) if "output_shapes" in ctx.attrs else [scalar_shape]


def _next_kernel(ctx: KernelContext) -> Kernel:
    def get_next(iterator: IteratorState) -> Future[Any]:
        return iterator.get_next()

    return get_next


def _found_kernel(ctx: KernelContext) -> Kernel:
    types = _types(ctx.attrs)
    return lambda handle: by_handle(handle, types)


def _attempt(ctx: InferContext) -> Sequence[TensorShape]:
    return [scalar_shape, *_of_iterator(ctx)]


def _attempt_kernel(ctx: KernelContext) -> Kernel:
    """The next element behind ``True``, or nothings behind ``False`` at the end."""
    nothings = [_nothing(spec) for spec in ctx.outputs[1:]]

    def try_next(iterator: IteratorState) -> Future[Any]:
        inner, outer = iterator.get_next(), Future[Any]()

        def done(future: Future[Any]) -> None:
            if future.cancelled() or not outer.set_running_or_notify_cancel():
                return
            error = future.exception()
            if isinstance(error, OutOfRangeError):
                outer.set_result((np.False_, *nothings))
            elif error is not None:
                outer.set_exception(error)
            else:
                found = future.result()
                outer.set_result((np.True_, *([found] if len(nothings) == 1 else found)))

        inner.add_done_callback(done)
        outer.add_done_callback(lambda future: future.cancelled() and inner.cancel())
        return outer

    return try_next


def _nothing(spec: TensorSpec) -> Any:
    """Return a value of a static type, as small as possible."""
    if spec.dtype is resource:
        return Stage("elements", values={"elements": []})
    shape = [size or 0 for size in spec.shape.sizes or ()]
    made = (
        np.full(shape, b"", object)
        if spec.dtype.kind == "s"
        else np.zeros(shape, spec.dtype.np_dtype)
    )
    return made if shape else made[()]


for _name in ("IteratorV2", "OneShotIterator"):
    op(_name, scalar, kernel=_iterator_kernel, grad=NOT_DIFFERENTIABLE, aliases=True, once=True)
op(
    "MakeIterator", _make, lambda dataset, iterator: iterator.initialise(dataset), NOT_DIFFERENTIABLE,
    keeps=frozenset({0}),
)  # fmt: skip
for _name in ("IteratorGetNext", "IteratorGetNextSync"):
    op(
        _name, _of_iterator, kernel=_next_kernel, grad=NOT_DIFFERENTIABLE, suspends=True, aliases=True,
        opens_files=True,
    )  # fmt: skip
op(
    "IteratorTryNext", _attempt, kernel=_attempt_kernel, grad=NOT_DIFFERENTIABLE, suspends=True,
    aliases=True, opens_files=True,
)  # fmt: skip
op(
    "IteratorToStringHandle", checked(scalar), lambda iterator: iterator.handle.encode(), NOT_DIFFERENTIABLE,
)  # fmt: skip
op(
    "IteratorFromStringHandleV2", checked(scalar, 0), kernel=_found_kernel, grad=NOT_DIFFERENTIABLE,
    aliases=True,
)  # fmt: skip
# Saving waits until the element that is being made is complete.
op(
    "SaveIterator", _of_iterator, lambda iterator: iterator.save(), NOT_DIFFERENTIABLE, blocks=True,
)  # fmt: skip
op(
    "RestoreIterator", checked(no_outputs, None, 0),
    lambda iterator, state: iterator.load(boxed(state).item()), NOT_DIFFERENTIABLE, blocks=True,
)  # fmt: skip
