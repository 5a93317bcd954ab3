"""The functions of a graph by name: those that ``Defun`` defines, and the gradients of their calls.

A call carries the body of its function itself, so that plans and peers need no library. The library is for
building graphs: each name denotes one function, and the gradient of a call is found by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actorsession.graph.function import FunctionDef
from actorsession.graph.names import free_name
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.graph.operation import Operation, Tensor

__all__ = ["FunctionLibrary", "LibraryFunction"]


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """One function of a graph.

    Attributes:
        name: its name in the library.
        definition: its body.
        captures: tensors of the graph that the body reads beside its arguments.
        before: operations that every call runs after.
        groups: colocation groups that every call is in.
        stateful: whether anything in it has state or effects.
        gradient: from a call and the gradients of its outputs to those of its inputs; ``None`` for the
            gradient of the body.
    """

    name: str
    definition: FunctionDef
    captures: tuple[Tensor, ...] = ()
    before: tuple[Operation, ...] = ()
    groups: tuple[str, ...] = ()
    stateful: bool = False
    gradient: Callable[..., Any] | None = None


class FunctionLibrary:
    """The named functions of one graph; it only grows."""

    def __init__(self) -> None:
        self._functions: dict[str, LibraryFunction] = {}
        self._given: set[str] = set()

    def add(self, function: LibraryFunction) -> None:
        """Add a function.

        Raises:
            ValueError: if another one has its name.
        """
        known = self._functions.setdefault(function.name, function)
        if known is not function:
            raise ValueError(
                f"cannot add function {function.name!r}: a different function with the same name is in the graph"
            )

    def get(self, name: str) -> LibraryFunction | None:
        """Return the function of that name, if there is one."""
        return self._functions.get(name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all functions, in the order they were added."""
        return tuple(self._functions)

    def unique_name(self, base: str) -> str:
        """Return a name that is not used yet: the wanted one, with ``_1``, ``_2``, ... if it is taken."""
        name = free_name(base, self._functions, self._given)
        self._given.add(name)
        return name
