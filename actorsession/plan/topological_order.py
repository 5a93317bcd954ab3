"""The topological order of nodes: producers first, and otherwise as they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from actorsession.errors import PicklableError

__all__ = ["CycleError", "producers_first"]


class CycleError(PicklableError, ValueError):
    """Error for nodes that wait for each other.

    Attributes:
        names: the nodes of the cycle, each before one that it reads.
    """

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"a cycle through {', '.join(names)}")
        self.names = names


def producers_first(names: Iterable[str], before: Callable[[str], Iterable[str]]) -> list[str]:
    """Return names in an order in which each comes after those that it reads.

    Args:
        names: of nodes.
        before: returns the names that a node reads or runs after, all of them among ``names``.

    Raises:
        CycleError: if there is no such order.
    """
    order: list[str] = []
    done: dict[str, bool] = {}  # False while its producers are being visited
    for root in names:
        stack = [root]
        while stack:
            name = stack[-1]
            if done.get(name):
                stack.pop()
                continue
            waiting = [producer for producer in before(name) if not done.get(producer)]
            if not waiting:
                done[name] = True
                order.append(name)
                stack.pop()
            elif name in done:
                path = [visited for visited, ended in done.items() if not ended]  # in their order
                raise CycleError(path[path.index(name) :])
            else:
                done[name] = False
                stack.extend(reversed(waiting))
    return order
