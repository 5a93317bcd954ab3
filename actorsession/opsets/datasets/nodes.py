"""The op types of datasets, and of what is made of a whole one.

They are TensorFlow's, one for each kind of dataset. The value of a dataset is a ``Stage``; its kernel follows
from the row of the op type in the table of signatures: inputs that are variants are the datasets it reads,
those named ``other_arguments`` are what its functions capture, and all others, with the attributes, are its
settings. What a dataset does is the cursor of its type (see ``stages.KINDS``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.completion import Completion
from actorsession.graph.function import FunctionDef
from actorsession.graph.op_signatures import bind, input_args, signature_of
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.rows import op, scalar
from actorsession.opsets.datasets import parallel, sources, transforms  # noqa: F401 - each registers kinds of datasets
from actorsession.opsets.datasets.compiled import Compiled
from actorsession.opsets.datasets.position import elsewhere
from actorsession.opsets.datasets.runs import Run
from actorsession.opsets.datasets.stages import KINDS, Function, Stage

__all__ = ["announced", "function_attrs", "functions_of", "is_capture", "only"]

# The number of inputs that a node keeps without a copy; the others are copied.
_MOST = 64


def _own(values: Sequence[Any]) -> list[Any]:
    copied = [v.copy() if isinstance(v, np.ndarray) else v for v in values[_MOST:]]
    return [*values[:_MOST], *copied]


# -- datasets --------------------------------------------------------------------------------------

# What only says how TensorFlow is to run a dataset: the dataset itself.
_SAME = [
    "AssertNextDataset",
    "ExperimentalAssertNextDataset",
    "ExperimentalMaxIntraOpParallelismDataset",
    "ExperimentalPrivateThreadPoolDataset",
    "MaxIntraOpParallelismDataset",
    "ModelDataset",
    "NonSerializableDataset",
    "OptimizeDataset",
    "OptimizeDatasetV2",
    "OptionsDataset",
    "PrivateThreadPoolDataset",
    "RewriteDataset",
]


class Parts(NamedTuple):
    """What a stage consists of, beside its kind."""

    sources: Sequence[Stage]
    values: Mapping[str, Any]
    functions: Sequence[Function]


def _shuffled_and_repeated(parts: Parts) -> Stage:
    shuffled = Stage("ShuffleDataset", parts.sources, parts.values)
    return Stage("RepeatDataset", [shuffled], parts.values)


def _mapped_and_joined(parts: Parts) -> Stage:
    return Stage("BatchDatasetV2", [Stage("ParallelMapDatasetV2", *parts)], parts.values)


# Two steps in one, by op type.
_BOTH: Mapping[str, Callable[[Parts], Stage]] = {
    "ShuffleAndRepeatDataset": _shuffled_and_repeated,
    "ShuffleAndRepeatDatasetV2": _shuffled_and_repeated,
    "MapAndBatchDataset": _mapped_and_joined,
    "ExperimentalMapAndBatchDataset": _mapped_and_joined,
}


@functools.cache
def function_attrs(op_type: str) -> tuple[str, ...]:
    """Return the attributes of an op type that are functions, in order."""
    signature = signature_of(op_type)
    assert signature is not None
    return tuple([attr.name for attr in signature.attrs.values() if attr.type == "func"])


def is_capture(name: str) -> bool:
    """Return whether an input of an op type has what a function captures, by its name."""
    return name.endswith(("other_arguments", "other_args"))


def functions_of(ctx: KernelContext) -> list[Compiled]:
    """Return the functions of a node, compiled for its device.

    Raises:
        InvalidArgumentError: if it has none where there should be one.
    """
    functions = []
    for number, key in enumerate(function_attrs(ctx.op)):
        function = ctx.attrs.get(key)
        if not isinstance(function, FunctionDef):
            raise InvalidArgumentError(f"{ctx.name!r} has no function as its attribute {key!r}")
        functions.append(Compiled(function, ctx, number))
    return functions


def _parts_of(ctx: KernelContext) -> Callable[[Sequence[Any]], Parts]:
    """Return the function from the values of a node's inputs to what its dataset consists of."""
    signature = signature_of(ctx.op)
    assert signature is not None
    compiled = functions_of(ctx)
    args = input_args(ctx.op, len(ctx.inputs), ctx.attrs)
    functions = set(function_attrs(ctx.op))
    fixed = {key: value for key, value in ctx.attrs.items() if key not in functions}
    fixed |= bind(signature.inputs, [s.dtype for s in ctx.inputs], ctx.attrs, signature.attrs) or {}
    fixed |= {arg.name: () for arg in signature.inputs if arg.number or arg.is_list}
    captures = [arg.name for arg in signature.inputs if is_capture(arg.name)]
    several = {arg.name for arg in signature.inputs if arg.number or arg.is_list}

    def parts(values: Sequence[Any]) -> Parts:
        settings = dict(fixed)
        stages: list[Stage] = []
        for arg, value in zip(args, values, strict=True):
            if arg.type == "variant":
                stages.append(_dataset(ctx, value))
            elif arg.name in several:
                settings[arg.name] += (value,)
            else:
                settings[arg.name] = value
        functions = [
            Function(function, settings.pop(name), ctx.name) for function, name in zip(compiled, captures, strict=True)
        ]
        return Parts(stages, settings, functions)

    return parts


def _dataset(ctx: KernelContext, value: Any) -> Stage:
    if not isinstance(value, Stage):
        raise InvalidArgumentError(f"{ctx.name!r} takes a dataset, got {value!r:.100}")
    return value


def _dataset_kernel(ctx: KernelContext) -> Kernel:
    if ctx.op in _SAME:
        return lambda dataset, *rest: dataset
    make, both = _parts_of(ctx), _BOTH.get(ctx.op)

    def dataset(*inputs: Any) -> Stage:
        parts = make(_own(inputs))
        return Stage(ctx.op, *parts) if both is None else both(parts)

    return dataset


for _name in (*KINDS, *_SAME, *_BOTH):
    if signature_of(_name) is not None:
        op(_name, scalar, kernel=_dataset_kernel, grad=NOT_DIFFERENTIABLE, aliases=True, keeps=frozenset(range(_MOST)))

# On other devices TensorFlow hands datasets on in an envelope; here they need none.
for _name in ("UnwrapDatasetVariant", "WrapDatasetVariant"):
    op(_name, scalar, lambda dataset: dataset, NOT_DIFFERENTIABLE, aliases=True)

# What TensorFlow keeps orders and elements in, from one iterator to the next; here a dataset does.
for _name in ("DummyMemoryCache", "DummySeedGenerator"):
    op(_name, scalar, kernel=lambda ctx: lambda: b"", grad=NOT_DIFFERENTIABLE, aliases=True, once=True)


# -- results ---------------------------------------------------------------------------------------


def announced(ctx: InferContext) -> Sequence[TensorShape]:
    """The outputs have the shapes that an attribute says."""
    return [TensorShape(shape) for shape in ctx.attrs["output_shapes"]]


def only(components: Sequence[Any]) -> Any:
    """Return what a kernel returns for the values of its outputs."""
    return components[0] if len(components) == 1 else tuple(components)


def _element_kernel(ctx: KernelContext) -> Kernel:
    def element(dataset: Stage) -> Completion:
        def work(run: Run) -> Any:
            cursor = _dataset(ctx, dataset).begin(run)
            components = next(cursor, None)
            if components is None:
                raise InvalidArgumentError("Dataset was empty.")
            if next(cursor, None) is not None:
                raise InvalidArgumentError("Dataset had more than one element.")
            return only(components)

        return elsewhere(ctx, work)

    return element


def _reduce_kernel(ctx: KernelContext) -> Kernel:
    make = _parts_of(ctx)

    def reduce(*inputs: Any) -> Completion:
        whole = make(inputs)

        def work(run: Run) -> Any:
            state = whole.values["initial_state"]
            for element in whole.sources[0].begin(run):
                run.check()
                state = whole.functions[0](run, *state, *element)
            return only(state)

        return elsewhere(ctx, work)

    return reduce


for _name, _kernel in (("DatasetToSingleElement", _element_kernel), ("ReduceDataset", _reduce_kernel)):
    op(
        _name,
        announced,
        kernel=_kernel,
        grad=NOT_DIFFERENTIABLE,
        suspends=True,
        aliases=True,
        opens_files=True,
        keeps=frozenset(range(_MOST)),
    )
for _name in ("DatasetCardinality", "ExperimentalDatasetCardinality"):
    op(_name, scalar, lambda dataset: np.int64(dataset.cardinality()), NOT_DIFFERENTIABLE)
