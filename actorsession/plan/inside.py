"""What is inside loops and conds, as far as placing and checking a graph needs to know.

Called by ``place``; the functions themselves are described in ``graph/function``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from actorsession.errors import InvalidArgumentError
from actorsession.graph.function import CONSTRUCTS, function_fault, nodes_inside
from actorsession.graph.node import NodeDef

__all__ = ["asking_inside", "check_functions"]


def check_functions(nodes: Iterable[NodeDef]) -> None:
    """Refuse loops and conds whose functions nobody could run.

    Raises:
        InvalidArgumentError: naming the node and what is wrong with it.
    """
    for node in nodes:
        fault = function_fault(node)
        if fault is not None:
            raise InvalidArgumentError(
                f"node {node.name!r} {fault}", node=node.name, source=node.source
            )


def asking_inside(construct: NodeDef) -> Iterator[NodeDef]:
    """The nodes inside a loop or cond that ask for a device of their own; none for other nodes.

    One that asks for what the construct asks for follows it, and one that takes a resource goes where
    that is, as outside. A construct without inputs stands for one that was placed before.
    """
    if construct.op not in CONSTRUCTS or not construct.inputs:
        return
    for node, takes_resource in nodes_inside(construct):
        if node.device not in ("", construct.device) and not takes_resource:
            yield node
