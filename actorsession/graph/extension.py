"""Extension points: what a lower room leaves to rooms above it, which fill it when they are imported.

Each is declared in the module that reads it, with the name of the room that fills it, and stands in
``EXTENSION_POINTS``. Registries that users fill as well (ops, passes, devices, transports, session factories)
are not among them.
"""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["EXTENSION_POINTS", "ExtensionPoint"]

V = TypeVar("V")

EXTENSION_POINTS: dict[str, ExtensionPoint[object]] = {}


class ExtensionPoint(Generic[V]):
    """Values by key, each given once.

    Args:
        name: what is left open.
        filled_by: the package that fills it.
    """

    __slots__ = ("_values", "filled_by", "name")

    def __init__(self, name: str, filled_by: str) -> None:
        self.name = name
        self.filled_by = filled_by
        self._values: dict[str, V] = {}
        EXTENSION_POINTS[name] = self  # type: ignore[assignment]

    def fill(self, key: str, value: V) -> None:
        """Give the value of a key; a module that is loaded anew gives it again."""
        self._values[key] = value

    def find(self, key: str) -> V | None:
        """Return the value of a key, or ``None`` before it was given."""
        return self._values.get(key)

    def get(self, key: str) -> V:
        """Return the value of a key.

        Raises:
            RuntimeError: before it was given, with the package to import.
        """
        try:
            return self._values[key]
        except KeyError:
            raise RuntimeError(
                f"{self.name}: there is no {key!r} before {self.filled_by} is imported"
            ) from None

    def items(self) -> list[tuple[str, V]]:
        """Return all keys with their values, in the order in which they were given."""
        return list(self._values.items())
