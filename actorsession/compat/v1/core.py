"""Modules that programs import from ``tensorflow.core``: the files of messages, such as ``graph_pb2``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.interop.tabled import file_list, file_names

__all__ = ["example", "framework", "profiler", "protobuf", "util"]
__path__: list[str] = []  # the modules are made from the tables of messages


class _Made(ModuleType):
    """A module with the names that a function returns.

    Args:
        name: its name below this one.
        doc: its documentation.
        names: returns the names and what they are, when the first of them is asked for.
    """

    def __init__(self, name: str, doc: str, names: Callable[[], dict[str, Any]]) -> None:
        super().__init__(f"{__name__}.{name}", doc)
        self._names = names
        sys.modules[self.__name__] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__.update(self._names())
        if name in self.__dict__:
            return self.__dict__[name]
        known = ", ".join(dir(self))
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}; it has {known}")

    def __dir__(self) -> list[str]:
        self.__dict__.update(self._names())
        return sorted(name for name in vars(self) if not name.startswith("_"))


def _folder(folder: str) -> ModuleType:
    """A module with a module for each file of a folder."""
    package = _Made(folder, f"Modules that programs import from ``tensorflow.core.{folder}``.", dict[str, Any])
    front = f"{folder}."
    for file in file_list():
        if file.startswith(front):
            doc = f"The messages of TensorFlow's file ``{file}.proto``."
            module = _Made(f"{file}_pb2", doc, functools.partial(file_names, file))
            setattr(package, f"{file.removeprefix(front)}_pb2", module)
    return package


example, framework, profiler, protobuf, util = map(_folder, __all__)

add_modules(__name__)
