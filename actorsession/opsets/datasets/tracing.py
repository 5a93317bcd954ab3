"""Functions of datasets, traced: called once while the graph is built, with placeholders for an element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from actorsession.graph.dtypes import variant
from actorsession.graph.function import FunctionDef
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.scopes import entered
from actorsession.ops.build import make_one
from actorsession.ops.flow.constructs import ConstructBuilder
from actorsession.ops.flow.functions import with_effects
from actorsession.records import dataclass

__all__ = ["Traced", "factory_of", "traced"]

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
    build: Callable[[list[Tensor]], Sequence[Tensor]],
    specs: Sequence[TensorSpec],
    graph: Graph,
    name: str,
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
            body.define(results, captures), tuple(captures), tuple(body.waits_for(results)),
            tuple(sorted(body.tied_to(results))),
        )  # fmt: skip


def factory_of(dataset: Tensor) -> FunctionDef:
    """Return the function that makes a dataset out of nothing, for an iterator that needs no initialisation.

    Raises:
        ValueError: if the dataset depends on a placeholder or on state.
    """
    found: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        if op in found:
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
        found[op] = None

    visit(dataset.op)
    nodes = tuple([op.plain for op in found])
    return FunctionDef((), (), nodes, (dataset._ref,))
