"""Objects that consist of variables and of each other, and their description in a checkpoint.

A node of the description is an object: its children by their names in it, its values by their keys in the
checkpoint, and for an optimiser its slots. The key of a value is the shortest path from the root to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from actorsession import ops
from actorsession.checkpoints import CheckpointReader
from actorsession.errors import NotFoundError
from actorsession.graph.graph import get_default_graph
from actorsession.interop.tabled import message_class
from actorsession.records import dataclass
from actorsession.train.layers.layer import Layer
from actorsession.train.optimizer import Optimizer

__all__ = [
    "GRAPH_KEY",
    "AutoTrackable",
    "Matching",
    "Tracked",
    "children_of",
    "is_trackable",
    "names_to_keys",
    "parts_of",
    "read_description",
    "tracked",
]

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The tensor of a checkpoint that holds the description."""

_VALUE = "VARIABLE_VALUE"

# Attributes of the library's own classes.
_INTERNAL = frozenset({"_counter", "_counting", "_saver"})


class AutoTrackable:
    """An object whose attributes are saved with it, as far as they are variables or objects of such."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...


def is_trackable(value: Any) -> bool:
    """Return whether a value is a variable, or an object that may consist of some."""
    return isinstance(value, (ops.Variable, Layer, Optimizer, AutoTrackable)) or hasattr(
        value, "_checkpoint_dependencies"
    )


def children_of(parent: Any) -> list[tuple[str, Any]]:
    """Return what an object consists of, with the names of the parts in it."""
    own = getattr(parent, "_checkpoint_dependencies", None)
    if own is not None:
        return [(each[0], each[1]) for each in own]
    if isinstance(parent, ops.Variable):
        return []
    if isinstance(parent, Optimizer):
        graph = get_default_graph()
        variables = {name: each for (name, of), each in parent._non_slots.items() if of is graph}
        return sorted(variables.items())
    if isinstance(parent, Layer):
        return list(dict(_of_layer(parent)).items())
    return list(parts_of(parent))


def parts_of(parent: Any) -> Iterator[tuple[str, Any]]:
    """Yield the items of a list or a mapping, or the attributes of an object, that are saved with it."""
    if isinstance(parent, list):
        items: Iterable[tuple[Any, Any]] = ((str(i), each) for i, each in enumerate(parent))
    else:
        items = (parent if isinstance(parent, Mapping) else vars(parent)).items()
    for name, value in items:
        if not isinstance(name, str) or name in _INTERNAL:
            continue
        if isinstance(value, (list, dict)) or is_trackable(value):
            yield name, value


def _of_layer(layer: Layer) -> Iterator[tuple[str, Any]]:
    """Yield the weights that a layer has made, and the cells in a cell; its attributes are not saved."""
    scope = layer._scope
    prefix = "" if scope is None or not scope.name else f"{scope.name}/"
    for variable, _ in layer._kept():
        yield variable.op.name.removeprefix(prefix), variable
    inner = getattr(layer, "_cells", None)
    if isinstance(inner, (list, tuple)):
        yield from ((f"cell-{number}", cell) for number, cell in enumerate(inner))
    inner = getattr(layer, "_cell", None)
    if isinstance(inner, Layer):
        yield "cell", inner


# -- describing ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tracked:
    """An object with all that it consists of.

    Attributes:
        objects: the root, then all others, the nearer ones first, then the slots of optimisers.
        names: their paths from the root.
        message: the description.
        keys: the variables by their keys in a checkpoint.
    """

    objects: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    message: Any = None
    keys: dict[str, Any] = field(default_factory=dict)


def tracked(root: Any) -> Tracked:
    """Return an object with all that it consists of, and its description."""
    parts = Tracked([root], [""])
    ids = {id(root): 0}
    references: list[list[tuple[int, str]]] = []
    ahead = deque([0])
    while ahead:
        number = ahead.popleft()
        references.append([])
        for name, child in children_of(parts.objects[number]):
            if id(child) not in ids:
                ids[id(child)] = len(parts.objects)
                ahead.append(len(parts.objects))
                parts.objects.append(child)
                above = parts.names[number]
                parts.names.append(f"{above}/{_escaped(name)}" if above else _escaped(name))
            references[number].append((ids[id(child)], name))
    slots = list(_slots_of(parts, ids))
    node = message_class("TrackableObjectGraph.TrackableObject")
    reference = message_class("TrackableObjectGraph.TrackableObject.ObjectReference")
    nodes = []
    for number, each in enumerate(parts.objects):
        children = references[number] if number < len(references) else []
        described = node(children=[reference(node_id=at, local_name=name) for at, name in children])
        if isinstance(each, ops.Variable):
            key = f"{parts.names[number]}/.ATTRIBUTES/{_VALUE}"
            parts.keys[key] = each
            described.attributes.add(name=_VALUE, full_name=each.op.name, checkpoint_key=key)
        nodes.append(described)
    for optimizer, variable, name, slot in slots:
        nodes[optimizer].slot_variables.add(
            original_variable_node_id=variable, slot_name=name, slot_variable_node_id=slot
        )
    parts.message = message_class("TrackableObjectGraph")(nodes=nodes)
    return parts


def _slots_of(parts: Tracked, ids: dict[int, int]) -> Iterator[tuple[int, int, str, int]]:
    """Yield optimiser, variable, name and slot, the objects as numbers; slots become objects on the way."""
    plain = list(enumerate(parts.objects))
    for number, optimizer in plain:
        if not hasattr(optimizer, "get_slot_names"):
            continue
        for name in optimizer.get_slot_names():
            for at, variable in plain:
                slot = optimizer.get_slot(variable, name) if isinstance(variable, ops.Variable) else None
                if slot is not None:
                    ids[id(slot)] = len(parts.objects)
                    parts.objects.append(slot)
                    path = f"{parts.names[at]}/.OPTIMIZER_SLOT/{parts.names[number]}"
                    parts.names.append(f"{path}/{_escaped(name)}")
                    yield number, at, name, ids[id(slot)]


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


# -- matching --------------------------------------------------------------------------------------


def read_description(reader: CheckpointReader) -> Any:
    """Return the description of the objects in a checkpoint; ``None`` if it has none."""
    try:
        content = reader.get_tensor(GRAPH_KEY)
    except NotFoundError:
        return None
    return message_class("TrackableObjectGraph").FromString(content)


def names_to_keys(message: Any) -> dict[str, str]:
    """Return the key of each value in a checkpoint by the full name of its variable."""
    return {attribute.full_name: attribute.checkpoint_key for node in message.nodes for attribute in node.attributes}


class Matching:
    """Which objects of a program are which ones of a checkpoint.

    Args:
        root: the root of the objects.
        message: the description in the checkpoint.
        warn: is called with what is contradictory.
    """

    def __init__(self, root: Any, message: Any, warn: Callable[[str], None]) -> None:
        self.message = message
        self.objects: dict[int, Any] = {0: root}
        ids = {id(root): 0}
        ahead = deque([0])
        while ahead:
            number = ahead.popleft()
            ours = dict(children_of(self.objects[number]))
            for child in message.nodes[number].children:
                mine = ours.get(child.local_name)
                if mine is None:
                    continue
                known = self.objects.get(child.node_id)
                if known is None and id(mine) not in ids:
                    self.objects[child.node_id] = mine
                    ids[id(mine)] = child.node_id
                    ahead.append(child.node_id)
                elif known is not mine or ids[id(mine)] != child.node_id:
                    warn(
                        "Inconsistent references when loading the checkpoint into this object graph: "
                        f"{child.local_name!r} of {type(self.objects[number]).__name__} is one object here "
                        "and another one there; the first that is found is taken."
                    )
        self.unresolved_slots: list[str] = []
        for number, optimizer in list(self.objects.items()):
            for reference in message.nodes[number].slot_variables:
                variable = self.objects.get(reference.original_variable_node_id)
                slot = None
                if variable is not None and hasattr(optimizer, "get_slot"):
                    slot = optimizer.get_slot(variable, reference.slot_name)
                if slot is None:
                    self.unresolved_slots.append(reference.slot_name)
                else:
                    self.objects[reference.slot_variable_node_id] = slot

    def values(self) -> dict[str, Any]:
        """Return the variables that have a value in the checkpoint, by its key."""
        return {
            attribute.checkpoint_key: each
            for number, each in sorted(self.objects.items())
            for attribute in self.message.nodes[number].attributes
            if attribute.name == _VALUE and isinstance(each, ops.Variable)
        }
