"""Functions of datasets, traced: called once while the graph is built, with placeholders for an element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession.graph.dtypes import variant
from actorsession.graph.function import FunctionDef
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.scopes import entered
from actorsession.ops.build import make_one
from actorsession.ops.flow.constructs import ConstructBuilder
from actorsession.ops.flow.functions import with_effects
from actorsession.opsets.datasets.elements import flat_specs, leaves, like, packed, spec_of
from actorsession.records import dataclass

__all__ = ["Traced", "as_arguments", "factory_of", "trace", "traced"]

# Stateful operations that a one-shot iterator may run: they read files, and check what was found.
_READS = frozenset({"Assert", "MatchingFiles", "ReadFile"})


@dataclass(frozen=True, slots=True)
class Traced:
    """A function as plain data.

    Attributes:
        definition: its body.
        captures: tensors of the graph that it reads beside its arguments.
        before: operations that it runs after.
        groups: colocation groups that it is in.
    """

    definition: FunctionDef
    captures: tuple[Tensor, ...]
    before: tuple[Operation, ...]
    groups: tuple[str, ...]


def traced(
    build: Callable[[list[Tensor]], Sequence[Tensor]], specs: Sequence[TensorSpec], graph: Graph, name: str
) -> Traced:
    """Return a function of tensors.

    Args:
        build: builds the results from placeholders.
        specs: static types of the arguments.
        graph: the graph.
        name: the wanted name of the scope in which it is built.
    """
    scope = graph.unique_name(name)
    # As in a separate graph: the scopes around the call do not apply to the function.
    around = entered(graph, name=scope, devices=(), control=(), colocation=())
    with around, graph.as_default(), ConstructBuilder(graph, scope, is_loop=False) as builder:
        body = builder.function()
        body.by_value = True
        with body.building():
            for k, spec in enumerate(specs):
                attrs = {"dtype": spec.dtype, "shape": spec.shape}
                body.parameters.append(make_one("Placeholder", (), attrs, f"arg_{k}", graph))
            results = with_effects(body, list(build(list(body.parameters))), graph)
        captures = body.captured(results)
        return Traced(
            body.define(results, captures),
            tuple(captures),
            tuple(body.waits_for(results)),
            tuple(sorted(body.tied_to(results))),
        )


def as_arguments(element: Any) -> list[Any]:
    """Return the arguments that a function gets for an element: the items of a plain tuple."""
    return list(element) if type(element) is tuple else [element]


def trace(func: Callable[..., Any], arguments: Sequence[Any], graph: Graph, name: str) -> tuple[Traced, Any]:
    """Trace a function of the user.

    Args:
        func: the function.
        arguments: the structure of each of its arguments.
        graph: the graph.
        name: wanted name.

    Returns:
        The function, and the structure of its result, with the shapes that are known.

    Raises:
        ValueError: if it cannot be called.
    """
    if not callable(func):
        raise ValueError(f"Argument `func` must be a callable. Received func={func!r:.100} (of type {type(func)})")
    structures: list[Any] = []

    def build(parameters: list[Tensor]) -> list[Tensor]:
        returned = func(*packed(tuple(arguments), parameters))
        # As of an operation with several results: they need not have one shape.
        structure, tensors = spec_of(tuple(returned) if isinstance(returned, list) else returned)
        structures.append(structure)
        return tensors

    function = traced(build, flat_specs(tuple(arguments)), graph, name)
    specs = function.definition.output_specs()
    known = [
        spec if isinstance(leaf, TensorSpec) else leaf for leaf, spec in zip(leaves(structures[0]), specs, strict=True)
    ]
    return function, like(structures[0], known)


def factory_of(dataset: Tensor) -> FunctionDef:
    """Return the function that makes a dataset out of nothing, for an iterator that needs no initialisation.

    Raises:
        ValueError: if the dataset depends on a placeholder or on state.
    """
    operations: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        if op in operations:
            return
        what = f"(name:{op.name}, type:{op.type}) by value."
        if op.type.startswith("Placeholder") and op.type != "PlaceholderWithDefault":
            raise ValueError(f"Cannot capture a placeholder {what}")
        is_dataset = op.outputs and op.outputs[0].dtype is variant
        if op.op_def.is_stateful and op.type not in _READS and not is_dataset:
            raise ValueError(f"Cannot capture a stateful node {what}")
        for tensor in op.inputs:
            visit(tensor.op)
        for before in op.control_inputs:
            visit(before)
        operations[op] = None

    visit(dataset.op)
    nodes = tuple([op.plain for op in operations])
    return FunctionDef((), (), nodes, (dataset._ref,))
