"""A registry of one factory, which a program may replace: the common part of the debugger's registries."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

__all__ = ["FactoryRegistry"]


class FactoryRegistry:
    """The base of registries that are classes; each subclass has a factory of its own. Thread-safe."""

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _factory: ClassVar[Any] = None

    @classmethod
    def _replace(cls, factory: Any) -> Any:
        """Set the factory, and return the previous one."""
        with cls._lock:
            before, cls._factory = cls._factory, factory
        return before

    @classmethod
    def _registered(cls) -> Any:
        """Return the factory; ``None`` if none is registered."""
        return cls._factory
