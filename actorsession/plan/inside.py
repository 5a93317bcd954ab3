"""Checks and device requests of the nodes inside functional control flow operations, for placement.

Called by ``place``; the functions themselves are described in ``graph/function``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from actorsession.errors import InvalidArgumentError
from actorsession.graph.function import CONSTRUCTS, function_fault, nodes_inside
from actorsession.graph.node import NodeDef

__all__ = ["asking_inside", "check_functions"]


def check_functions(nodes: Iterable[NodeDef]) -> None:
    """Refuse functional control flow operations whose functions cannot run.

    Raises:
        InvalidArgumentError: naming the node and the fault.
    """
    for node in nodes:
        fault = function_fault(node)
        if fault is not None:
            raise InvalidArgumentError(
                f"node {node.name!r} {fault}", node=node.name, source=node.source
            )


def asking_inside(construct: NodeDef) -> Iterator[NodeDef]:
    """Yield the nodes inside a functional control flow operation that request a device of their own.

    There are none for other nodes. A node that requests the device of the operation follows the operation,
    and one that takes a resource goes where that is, as outside. An operation without inputs represents
    one that was placed before.
    """
    if construct.op not in CONSTRUCTS or not construct.inputs:
        return
    for node, takes_resource in nodes_inside(construct):
        if node.device not in ("", construct.device) and not takes_resource:
            yield node
