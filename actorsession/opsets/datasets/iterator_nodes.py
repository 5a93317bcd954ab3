"""The op types of iterators and of optional values.

Iterators are state behind a handle, as queues are. An optional value is a variant: an element, or the
knowledge that there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, OutOfRangeError
from actorsession.graph.completion import Completed, Completion
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.rows import checked, no_outputs, op, scalar
from actorsession.ops.shared_state import check_handle_of
from actorsession.opsets.datasets.compiled import Kept
from actorsession.opsets.datasets.nodes import announced, functions_of, only
from actorsession.opsets.datasets.position import IteratorState, by_handle, check_specs
from actorsession.opsets.datasets.runs import Run
from actorsession.opsets.datasets.stages import Opaque, Stage

__all__: list[str] = []

# -- iterators -------------------------------------------------------------------------------------


def _types(attrs: Mapping[str, Any]) -> list[Any]:
    return [as_dtype(t) for t in attrs["output_types"]]


def _shapes(attrs: Mapping[str, Any]) -> list[TensorShape]:
    return [TensorShape(shape) for shape in attrs["output_shapes"]]


def _iterator_kernel(ctx: KernelContext) -> Kernel:
    shared, types, shapes = ctx.attrs["shared_name"], _types(ctx.attrs), _shapes(ctx.attrs)
    host, device = ctx.resources, ctx.device
    name = shared or ctx.name
    first = None
    if ctx.op == "OneShotIterator":
        (factory,) = functions_of(ctx)

        def first() -> Any:
            return factory(Run(host, device))[0]

    def new() -> IteratorState:
        return IteratorState(f"iterator {name!r}", types, shapes, host, device, first)

    if shared:
        spec = f"an iterator of {', '.join([t.name for t in types])}"
        state = host.lookup_or_create(ctx.attrs["container"], name, "iterator", new, spec)
    else:
        # Beside the states of the function's nodes.
        kept = ctx.state(Kept)
        state = kept.get("") or kept.setdefault("", new())
    return lambda: state


class _Anonymous(dict[str, IteratorState]):
    """The iterators that a node has made and that were not destroyed, by their handles."""

    def session_ended(self) -> None:
        """End them; see ``KernelContext.state``."""
        for state in list(self.values()):
            state.session_ended()
        self.clear()


def _anonymous_kernel(ctx: KernelContext) -> Kernel:
    types, shapes, kept = _types(ctx.attrs), _shapes(ctx.attrs), ctx.state(_Anonymous)

    def iterator() -> IteratorState:
        label = f"iterator {ctx.name!r}"
        state = IteratorState(label, types, shapes, ctx.resources, ctx.device)
        kept[state.handle] = state
        state.on_clear = lambda: kept.pop(state.handle, None)
        return state

    return iterator


def _destroy(resource: Any) -> None:
    resource.clear()


def _begin(dataset: Any, iterator: IteratorState) -> None:
    if not isinstance(dataset, Stage):
        raise InvalidArgumentError(f"MakeIterator takes a dataset, got {dataset!r:.100}")
    if "output_types" in dataset.values and "output_shapes" in dataset.values:
        types, shapes = _types(dataset.values), _shapes(dataset.values)
        check_specs(iterator.types, iterator.shapes, types, shapes)
    iterator.initialise(dataset)


def _of_iterator(ctx: InferContext) -> Sequence[TensorShape]:
    check_handle_of(ctx, "an iterator")
    return announced(ctx)


def _one_of_iterator(ctx: InferContext) -> Sequence[TensorShape]:
    check_handle_of(ctx, "an iterator")
    return [scalar_shape]


def _saved(ctx: InferContext) -> Sequence[TensorShape]:
    check_handle_of(ctx, "an iterator")
    return [TensorShape([None])]


def _boxed(state: bytes) -> Array:
    box = np.empty(1, object)
    box[0] = state
    return box


def _position(state: Any) -> bytes:
    states = np.asarray(state, object).reshape(-1)
    if states.size != 1 or not isinstance(states[0], bytes):
        raise InvalidArgumentError(f"{state!r:.100} is no position of an iterator")
    return bytes(states[0])


def _next_kernel(ctx: KernelContext) -> Kernel:
    def get_next(iterator: IteratorState) -> Completion:
        return iterator.get_next()

    return get_next


def _handle_kernel(ctx: KernelContext) -> Kernel:
    types, shapes = _types(ctx.attrs), _shapes(ctx.attrs)
    return lambda handle: by_handle(handle, types, shapes)


def _optional_kernel(ctx: KernelContext) -> Kernel:
    """The next element, or nothing at the end."""

    def try_next(iterator: IteratorState) -> Completion:
        try:
            inner = iterator.get_next()
        except OutOfRangeError:
            return Completed(OptionalValue(None))
        outer = Completion(lambda _: inner.abandon())

        def done(inner: Completion) -> None:
            if isinstance(inner.error, OutOfRangeError):
                outer.complete(OptionalValue(None))
            elif inner.error is not None:
                outer.fail(inner.error)
            else:
                values = inner.values
                outer.complete(OptionalValue(values if type(values) is tuple else (values,)), inner.put_back)

        inner.listen(done)
        return outer

    return try_next


for _name in ("Iterator", "IteratorV2", "OneShotIterator"):
    op(_name, scalar, kernel=_iterator_kernel, grad=NOT_DIFFERENTIABLE, aliases=True, once=True)
op("AnonymousIterator", scalar, kernel=_anonymous_kernel, grad=NOT_DIFFERENTIABLE, aliases=True)
op("DestroyResourceOp", no_outputs, _destroy, NOT_DIFFERENTIABLE)
op(
    "MakeIterator",
    no_outputs,
    lambda dataset, iterator: _begin(dataset, iterator),
    NOT_DIFFERENTIABLE,
    keeps=frozenset({0}),
)
for _name in ("IteratorGetNext", "IteratorGetNextSync"):
    op(_name, _of_iterator, kernel=_next_kernel, grad=NOT_DIFFERENTIABLE, suspends=True, aliases=True, opens_files=True)
op(
    "IteratorGetNextAsOptional",
    _one_of_iterator,
    kernel=_optional_kernel,
    grad=NOT_DIFFERENTIABLE,
    suspends=True,
    aliases=True,
    opens_files=True,
)
op("IteratorToStringHandle", checked(scalar), lambda iterator: iterator.handle.encode(), NOT_DIFFERENTIABLE)
for _name in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    op(_name, checked(scalar, 0), kernel=_handle_kernel, grad=NOT_DIFFERENTIABLE, aliases=True)
# Saving waits until the element that is being made is complete.
op("SerializeIterator", _saved, lambda iterator: _boxed(iterator.save()), NOT_DIFFERENTIABLE, blocks=True)
op(
    "DeserializeIterator",
    checked(no_outputs),
    lambda iterator, state: iterator.load(_position(state)),
    NOT_DIFFERENTIABLE,
    blocks=True,
)


# -- optional values -------------------------------------------------------------------------------


class OptionalValue(Opaque):
    """An element that may be missing.

    Args:
        components: the components of the element; ``None`` if it is missing.
    """

    __slots__ = ("components",)

    def __init__(self, components: tuple[Any, ...] | None) -> None:
        self.components = components


def _value_kernel(ctx: KernelContext) -> Kernel:
    count = len(ctx.outputs)

    def value(optional: Any) -> Any:
        components = _optional(optional).components
        if components is None:
            raise InvalidArgumentError("The given optional does not have a value.")
        if len(components) != count:
            raise InvalidArgumentError(f"the given optional has {len(components)} components, {count} were asked for")
        return only(components)

    return value


def _optional(value: Any) -> OptionalValue:
    if not isinstance(value, OptionalValue):
        raise InvalidArgumentError(f"an optional value is needed, got {value!r:.100}")
    return value


op(
    "OptionalFromValue",
    scalar,
    lambda *components: OptionalValue(components),
    NOT_DIFFERENTIABLE,
    aliases=True,
    keeps=frozenset(range(64)),
)
op("OptionalNone", scalar, lambda: OptionalValue(None), NOT_DIFFERENTIABLE)
op(
    "OptionalHasValue",
    scalar,
    lambda optional: np.bool_(_optional(optional).components is not None),
    NOT_DIFFERENTIABLE,
)
op("OptionalGetValue", announced, kernel=_value_kernel, grad=NOT_DIFFERENTIABLE, aliases=True)
