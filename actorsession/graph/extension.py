"""Extension points: values that higher packages provide to a lower package when they are imported.

Each is declared in the module that reads it, or here if several do, with the name of the package that fills
it, and is listed in ``EXTENSION_POINTS``. Registries that users fill as well (ops, passes, devices,
transports, session factories) are not among them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

__all__ = ["EXTENSION_POINTS", "PROTO_VIEWS", "ExtensionPoint", "defer"]

V = TypeVar("V")

EXTENSION_POINTS: dict[str, ExtensionPoint[object]] = {}


# Modules by the name of a point and the key that they fill.
_deferred: dict[str, Mapping[str, str]] = {}


def defer(point: str, modules: Mapping[str, str]) -> None:
    """Defer the import of modules, each of which fills a key of an extension point, until the key is read.

    Args:
        point: the name of the point, which need not exist yet.
        modules: full names of modules by key.
    """
    _deferred[point] = {**_deferred.get(point, {}), **modules}


class ExtensionPoint(Generic[V]):
    """Values by key, each set once.

    Args:
        name: a description of the values.
        filled_by: the package that fills it.
    """

    __slots__ = ("_values", "filled_by", "name")

    def __init__(self, name: str, filled_by: str) -> None:
        self.name = name
        self.filled_by = filled_by
        self._values: dict[str, V] = {}
        EXTENSION_POINTS[name] = self  # type: ignore[assignment]

    def fill(self, key: str, value: V) -> None:
        """Set the value of a key; a module that is reloaded sets it again."""
        self._values[key] = value

    def find(self, key: str) -> V | None:
        """Return the value of a key, or ``None`` before it is set."""
        if key not in self._values:
            module = _deferred.get(self.name, {}).get(key)
            if module is not None:
                importlib.import_module(module)
        return self._values.get(key)

    def get(self, key: str) -> V:
        """Return the value of a key.

        Raises:
            RuntimeError: before it is set, with the package to import.
        """
        value = self.find(key)
        if value is None:
            raise RuntimeError(f"{self.name}: there is no {key!r} before {self.filled_by} is imported")
        return value

    def keys(self) -> list[str]:
        """Return all keys, including those whose values are deferred."""
        return list({**self._values, **_deferred.get(self.name, {})})


PROTO_VIEWS: ExtensionPoint[Callable[..., Any]] = ExtensionPoint("TensorFlow's messages", "actorsession.interop")
"""Functions that convert objects to TensorFlow's protobuf messages and back, which graphs know nothing of.

The keys are the methods that call them, with the same arguments: ``Operation.node_def``,
``Operation.get_attr``, ``TensorShape.as_proto``, ``Variable.to_proto``, ``Variable.from_proto`` and
``QueueRunner.to_proto``; and ``OpDef``, for the message of an operation type.
"""
