"""The loop that each node of a graph with primitive control flow belongs to.

A frame is a loop, identified by its name and the frame from which it is entered. A node belongs to the frame
of its outputs: an Enter to the inner one, an Exit to the outer one. All inputs of a node are in one frame, or
the graph is no valid dataflow program. ``distributed_loops`` and ``functionalize`` call this for whole step
graphs, ``dataflow_partition`` for partitions, and ``ops.flow.stand_ins`` for the nodes that a gradient
differentiates.
"""

from __future__ import annotations

from collections.abc import Mapping

from actorsession.errors import InvalidArgumentError
from actorsession.graph.control_flow_ops import ENTERS, EXITS, is_back_edge
from actorsession.graph.node import NodeDef
from actorsession.records import dataclass

__all__ = ["ROOT", "Frame", "frames_of", "input_frame"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A loop.

    Attributes:
        name: the frame name of its Enters; empty for the root.
        parent: the frame from which it is entered; ``None`` for the root.
    """

    name: str
    parent: Frame | None = None

    @property
    def outwards(self) -> tuple[Frame, ...]:
        """The frame and those around it, without the root."""
        frames: list[Frame] = []
        at: Frame | None = self
        while at is not None and at.parent is not None:
            frames.append(at)
            at = at.parent
        return tuple(frames)


ROOT = Frame("")


def frames_of(nodes: Mapping[str, NodeDef]) -> dict[str, Frame]:
    """Return the frame of each node.

    Args:
        nodes: by name, producers before consumers except on back edges.

    Raises:
        InvalidArgumentError: for a node that reads from several frames, or an Exit in none.
    """
    frames: dict[str, Frame] = {}
    for node in nodes.values():
        inside = _read(node, nodes, frames)
        if node.op in ENTERS:
            frames[node.name] = Frame(node.attrs["frame_name"], inside)
        elif node.op in EXITS:
            if inside.parent is None:
                raise InvalidArgumentError(
                    f"{node.name!r} is an Exit, but its input is not inside a loop", node=node.name, source=node.source
                )
            frames[node.name] = inside.parent
        else:
            frames[node.name] = inside
    for node in nodes.values():
        for name, _ in node.inputs:
            if is_back_edge(node.op, nodes[name].op) and frames[name] != frames[node.name]:
                raise _mixed(node, name, frames[name], node.name, frames[node.name])
    return frames


def input_frame(node: NodeDef, frames: Mapping[str, Frame]) -> Frame:
    """Return the frame of a node's inputs."""
    own = frames[node.name]
    if node.op in ENTERS:
        assert own.parent is not None
        return own.parent
    return frames[node.inputs[0][0]] if node.op in EXITS else own


def _read(node: NodeDef, nodes: Mapping[str, NodeDef], frames: Mapping[str, Frame]) -> Frame:
    read: tuple[str, Frame] | None = None
    data = [name for name, _ in node.inputs if not is_back_edge(node.op, nodes[name].op)]
    for name in (*data, *node.control_inputs):
        frame = frames[name]
        if read is None:
            read = name, frame
        elif read[1] != frame:
            raise _mixed(node, name, frame, *read)
    return ROOT if read is None else read[1]


def _mixed(node: NodeDef, one: str, frame: Frame, other: str, there: Frame) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{node.name!r} has inputs from different frames: {other!r} is in frame {there.name!r}, {one!r} "
        f"in frame {frame.name!r}. Values enter a loop by Enter and leave it by Exit",
        node=node.name,
        source=node.source,
    )
