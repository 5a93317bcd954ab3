"""Modules that programs import from ``tensorflow.core``: the files of messages, such as ``graph_pb2``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from actorsession.compat.v1.module_paths import add_modules
from actorsession.interop.tabled import file_list, file_names
from actorsession.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {f".{name}": f"*={name}" for name in ("example", "framework", "profiler", "protobuf", "util")},
)

add_modules(__name__)


class _File(ModuleType):
    """The messages of one file, which are made when the first of them is asked for."""

    def __init__(self, name: str, file: str) -> None:
        super().__init__(name, f"The messages of TensorFlow's file ``{file}.proto``.")
        self._file = file

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__.update(file_names(self._file))
        if name in self.__dict__:
            return self.__dict__[name]
        known = ", ".join(sorted(file_names(self._file)))
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}; it has {known}")

    def __dir__(self) -> list[str]:
        return sorted(file_names(self._file))


def files_of(folder: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return the names, ``__getattr__`` and ``__dir__`` of a folder of files, and make its modules.

    Args:
        folder: its name, such as ``protobuf``.
    """
    made: dict[str, ModuleType] = {}
    for file in file_list():
        within, _, name = file.partition(".")
        if within == folder:
            module = f"{__name__}.{folder}.{name}_pb2"
            made[f"{name}_pb2"] = sys.modules.setdefault(module, _File(module, file))

    def found(name: str) -> Any:
        if name in made:
            return made[name]
        raise AttributeError(
            f"there is no {name!r} in {folder}; there are {', '.join(sorted(made))}"
        )

    return sorted(made), found, lambda: sorted(made)
