"""``model_summary``: the layers of a graph with the shapes of their outputs and their numbers of parameters.

Layers take note of their calls with ``note_call``, in a collection of their graph; nothing else is kept for it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from actorsession.drawing.shown import ShownValue
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.graph_keys import GraphKeys
from actorsession.records import dataclass
from actorsession.train.layers import nests

if TYPE_CHECKING:
    from actorsession.drawing.sheet import Sheet
    from actorsession.train.layers.layer import Layer

__all__ = ["LayerSummary", "ModelSummary", "model_summary", "note_call"]

_KEY = ("actorsession", "layers")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSummary:
    """One layer of a graph.

    Attributes:
        name: the name of its variable scope.
        kind: its class.
        outputs: the shapes of the outputs of its first call.
        calls: how often it was called.
        parameters: the number of numbers in its variables that no layer before it has.
        trainable: how many of them optimisers update.
    """

    name: str
    kind: str
    outputs: tuple[TensorShape, ...]
    calls: int
    parameters: int
    trainable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary(ShownValue):
    """The layers of a graph; printed it is a table.

    Attributes:
        layers: in the order of their first calls.
        parameters: the number of numbers in all variables of the graph, those without a layer included.
        trainable: how many of them optimisers update.
        unknown: the names of variables of an unknown shape, which are not counted.
    """

    layers: tuple[LayerSummary, ...]
    parameters: int
    trainable: int
    unknown: tuple[str, ...]

    def _sheet(self) -> Sheet:
        from actorsession.drawing.sheet import Sheet, Table

        others = self.parameters - sum(layer.parameters for layer in self.layers)
        facts = {
            "parameters": f"{self.parameters:,}",
            "trainable": f"{self.trainable:,}",
            "of no layer": f"{others:,}" if others else None,
            "of unknown shape": ", ".join(self.unknown),
        }
        return Sheet(f"model of {len(self.layers)} layers", facts, [Table("layers", _HEADINGS, self._rows(), 3)])

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (one.name, one.kind, ", ".join(map(str, one.outputs)), one.calls, f"{one.parameters:,}")
            for one in self.layers
        ]

    def __repr__(self) -> str:
        from actorsession.drawing import text
        from actorsession.drawing.sheet import Sheet

        # A sheet shows the first rows of a table; of a model all are asked for.
        sheet = self._sheet()
        facts = Sheet(sheet.title, sheet.facts).text()
        return "\n".join([facts, *text.table([_HEADINGS, *self._rows()], 3, "  ")])

    __str__ = __repr__


_HEADINGS = ("layer", "class", "outputs", "calls", "parameters")


def note_call(layer: Layer, outputs: Any) -> None:
    """Take note of a call of a layer in the default graph.

    Args:
        layer: the layer.
        outputs: what it has returned: a tensor, or a structure of tensors.
    """
    get_default_graph().get_collection_ref(_KEY).append((layer, outputs))


def model_summary(graph: Graph | None = None) -> ModelSummary:
    """Return the layers that were called in a graph, with the shapes of their outputs and their parameters.

    Args:
        graph: the graph; the default graph if left out.
    """
    graph = get_default_graph() if graph is None else graph
    first_outputs: dict[Layer, Any] = {}
    calls: dict[Layer, int] = {}
    for layer, outputs in graph.get_collection(_KEY):
        first_outputs.setdefault(layer, outputs)
        calls[layer] = calls.get(layer, 0) + 1
    trained = {id(variable) for variable in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    counted: set[int] = set()

    def count(variables: list[Any]) -> tuple[int, int]:
        """Return how many numbers variables hold that were not counted before, and how many are trained."""
        new = [variable for variable in variables if id(variable) not in counted]
        counted.update(map(id, new))
        return sum(map(_size, new)), sum(_size(variable) for variable in new if id(variable) in trained)

    layers = []
    for layer, outputs in first_outputs.items():
        parameters, trainable = count(layer.weights)
        layers.append(
            LayerSummary(
                name=layer.scope_name,
                kind=type(layer).__name__,
                outputs=tuple(leaf.shape for leaf in nests.flatten(outputs) if isinstance(leaf, Tensor)),
                calls=calls[layer],
                parameters=parameters,
                trainable=trainable,
            )
        )
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    others, others_trainable = count(variables)
    return ModelSummary(
        layers=tuple(layers),
        parameters=others + sum(layer.parameters for layer in layers),
        trainable=others_trainable + sum(layer.trainable for layer in layers),
        unknown=tuple(v.op.name for v in variables if not TensorShape(v.shape).is_fully_defined()),
    )


def _size(variable: Any) -> int:
    """Return the number of numbers in a variable; 0 if its shape is not known."""
    shape = TensorShape(variable.shape)
    return math.prod(size or 0 for size in shape.sizes or ()) if shape.is_fully_defined() else 0
