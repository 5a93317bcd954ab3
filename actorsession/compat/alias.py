"""``install_alias``: programs that import ``tensorflow`` find this library under that name.

A finder answers for ``tensorflow`` and all that begins with it. Each of its modules stands before one of
``actorsession.compat.v1`` and has the same names, so ``tensorflow``, ``tensorflow.compat.v1`` and both as
``tf`` are one and the same. A name that does not exist is an error that says where it was used, and what may
have been meant or why it is absent.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from actorsession.compat import found_keras
from actorsession.compat.absent import explain
from actorsession.compat.v1.internals.module_paths import inside_contrib

__all__ = [
    "DEVICE",
    "MissingAttributeError",
    "MissingModuleError",
    "find_name",
    "install_alias",
    "remove_alias",
    "shim_folder",
]

DEVICE = "ACTORSESSION_TF1_DEVICE"
"""The environment variable with the device type that processes of a program prefer; empty for the usual one."""

_ROOT, _TARGET = "tensorflow", "actorsession.compat.v1"
_SAME = "compat.v1"  # where TensorFlow has the same names once more
# They stand before protobuf's, which do not know our messages.
_FORMATS = ("google.protobuf.json_format", "google.protobuf.text_format")
# What stands for libraries that TensorFlow 1 brought along, if they are not installed.
_LIBRARIES = {
    "google": "actorsession.compat.libraries",
    "google.protobuf": "actorsession.compat.libraries",
    "google.protobuf.message": "actorsession.interop.message",
    **{name: f"actorsession.compat.libraries.{name.rpartition('.')[2]}" for name in _FORMATS},
    "absl": "actorsession.compat.libraries",
    "absl.app": "actorsession.compat.v1.app",
    "absl.flags": "actorsession.compat.v1.flags",
    "absl.logging": "actorsession.compat.v1.logging",
    "absl.testing": "actorsession.compat.libraries",
    "absl.testing.absltest": "actorsession.compat.v1.test",
    "absl.testing.parameterized": "actorsession.compat.libraries.parameterized",
    "six": "actorsession.compat.libraries.six",
    "pkg_resources": "actorsession.compat.libraries.pkg_resources",
    "distutils": "actorsession.compat.libraries",
    **{f"distutils.{name}": "actorsession.compat.libraries.distutils" for name in ("spawn", "util", "version")},
}


def install_alias() -> None:
    """Make ``import tensorflow`` and imports of its submodules find this library in this process.

    Call it before the first such import. A second call does nothing.

    Raises:
        RuntimeError: if TensorFlow itself has been imported.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    tf = sys.modules.get(_ROOT)
    # The package of the same name that child processes find imports itself while it is being imported.
    if tf is not None and not str(tf.__file__).startswith(str(shim_folder())):
        raise RuntimeError(
            f"tensorflow is imported already, from {tf.__file__}; call install_alias() before the first import of it"
        )
    sys.meta_path.insert(0, _Finder())
    sys.meta_path.append(_LIBRARY_FINDER)


def remove_alias() -> None:
    """Undo ``install_alias``: the modules that it made are forgotten, as far as nobody holds them."""
    ours = (_Finder, _LibraryFinder)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, ours)]
    for name, module in list(sys.modules.items()):
        if isinstance(module, _Module) or name.startswith(f"{_ROOT}.keras."):
            del sys.modules[name]
    _modules.clear()


def shim_folder() -> Path:
    """Return the folder whose package ``tensorflow`` installs the alias, for ``PYTHONPATH`` of children."""
    return Path(__file__).with_name("shim")


def find_name(name: str) -> Any:
    """Return what a name of TensorFlow stands for here.

    Args:
        name: a dotted name without ``tensorflow`` in front, such as ``nn.relu``.

    Raises:
        LookupError: if there is none, with the reason.
    """
    value: Any = importlib.import_module(_TARGET)
    parts = _without_same(name)
    inside = found_keras.reach(".".join(parts))
    if inside is not None and found_keras.missing_because() is None:
        try:
            return found_keras.find(inside)
        except AttributeError as exc:
            raise LookupError(f"tensorflow has no {'.'.join(parts)} here: {exc.args[0]}") from None
    for done, part in enumerate(parts):
        holder, value = value, getattr(value, part, _NOTHING)
        if value is _NOTHING and part == "python" and done == 2 and parts[0] == "contrib":
            value = inside_contrib(parts[1])
        if value is _NOTHING:
            raise LookupError(explain(parts[:done], part, holder))
    return value


_NOTHING = object()


def _without_same(name: str) -> list[str]:
    """The parts of a dotted name, without ``compat.v1`` in front."""
    return [part for part in f"{name}.".removeprefix(f"{_SAME}.").removesuffix(".").split(".") if part]


def _find_module(name: str) -> Any:
    """What a name stands for; a module, where a function and its module share the name."""
    value = find_name(name)
    full = f"{_TARGET}.{'.'.join(_without_same(name))}"
    return value if isinstance(value, ModuleType) else sys.modules.get(full, value)


class MissingAttributeError(AttributeError):
    """A module of TensorFlow has no such name here.

    Its text is made when it is shown: ``hasattr`` only asks.

    Args:
        module: the parts of the module's name, without ``tensorflow``.
        name: the name.
        holder: our module.
        used: the file and line.
    """

    __module__, __qualname__ = "builtins", "AttributeError"

    def __init__(self, module: list[str], name: str, holder: object, used: str) -> None:
        super().__init__(module, name, holder, used, name=name)

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        return AttributeError, (str(self),)

    def __str__(self) -> str:
        module, name, holder, used = self.args
        return f"{used}: {explain(module, name, holder)}"


class MissingModuleError(ModuleNotFoundError):
    """TensorFlow's module, or the name that is imported from one, does not exist here."""

    __module__, __qualname__ = "builtins", "ModuleNotFoundError"


# Unit tests of programs replace functions of this module, by either path, and look at what hooks say.
_LOGGING = ("actorsession.compat.v1.logging", "actorsession.compat.v1.python.platform.tf_logging")


class _Module(ModuleType):
    """Stands before one of our modules under TensorFlow's name."""

    def __init__(self, name: str, target: ModuleType) -> None:
        super().__init__(name, target.__doc__)
        self._alias_of = target
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        try:
            # Below python and contrib it is found by its whole name.
            full = f"{self.__name__}.{name}".removeprefix(f"{_ROOT}.")
            value = find_name(full) if name == "keras" else getattr(self._alias_of, name)
        except (AttributeError, LookupError):
            raise MissingAttributeError(
                _without_same(self.__name__.partition(".")[2]), name, self._alias_of, _used()
            ) from None
        if isinstance(value, ModuleType) and value.__name__.startswith("actorsession."):
            value = _module(f"{self.__name__}.{name}", value)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # importlib sets a module that was imported, also where its package has a function of that name.
        hidden = isinstance(value, ModuleType) and name != "_alias_of"
        if hidden and not isinstance(getattr(self._alias_of, name, value), ModuleType):
            return
        super().__setattr__(name, value)
        if self._alias_of.__name__ in _LOGGING and callable(value):
            setattr(sys.modules[_LOGGING[0]], name, value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._alias_of), *_own_names(self)})

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # a module's is no property
        """Its names, all of which are loaded: programs look through them for classes, for example."""
        for name in dir(self._alias_of):
            # A module looks for its annotations in this dictionary.
            if name != "__annotations__" and name not in _own_names(self):
                with contextlib.suppress(AttributeError, ImportError):
                    getattr(self, name)
        return _own_names(self)


def _own_names(module: ModuleType) -> dict[str, Any]:
    names: dict[str, Any] = vars(ModuleType)["__dict__"].__get__(module)
    return names


_modules: dict[str, _Module] = {}


def _module(name: str, target: ModuleType) -> _Module:
    return _modules.setdefault(name, _Module(name, target))


def _used() -> str:
    """The file and line that asked for a name: of the first frame that is neither here nor importlib's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (
        frame.f_code.co_filename == __file__ or "importlib" in frame.f_code.co_filename
    ):
        frame = frame.f_back
    file = frame.f_code.co_filename
    near = os.path.relpath(file) if os.path.isabs(file) else file
    return f"{file if near.startswith('..') else near}:{frame.f_lineno}"


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of TensorFlow."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module of TensorFlow; ``None`` for those of others.

        Raises:
            MissingModuleError: if there is none.
        """
        root, _, name = fullname.partition(".")
        if fullname in _FORMATS:
            return _LIBRARY_FINDER.find_spec(fullname, path)
        if root != _ROOT:
            return None
        try:
            module = _find_module(name)
        except LookupError as exc:
            # Without a name in the error, ``from MODULE import NAME`` shows it as it stands.
            raise MissingModuleError(f"{_used()}: {exc.args[0]}") from None
        if not isinstance(module, ModuleType):
            raise MissingModuleError(f"{_used()}: {fullname} is not a module: {module!r:.80}")
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of that name; one of Keras is itself."""
        module = _find_module(spec.name.partition(".")[2])
        if module.__name__.partition(".")[0] == "keras":
            spec.loader_state = module.__spec__
            return module  # type: ignore[no-any-return]
        return _module(spec.name, module)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing but for Keras' modules, which keep their own specifications."""
        if module.__spec__ is not None and module.__spec__.loader_state is not None:
            module.__spec__ = module.__spec__.loader_state


class _LibraryFinder(MetaPathFinder, Loader):
    """Finds what stands for a library that is not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module of ours in place of one that nobody else has found."""
        # The real six finds its moved modules itself, after this finder: it appends its own when imported.
        ours = isinstance(sys.modules.get("six"), _Module)
        moved = ours and (fullname == "six.moves" or fullname.startswith("six.moves."))
        if fullname in _LIBRARIES or moved:
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of that name."""
        if spec.name in _LIBRARIES:
            return _module(spec.name, importlib.import_module(_LIBRARIES[spec.name]))
        module: Any = importlib.import_module(_LIBRARIES["six"])
        for part in spec.name.split(".")[1:]:
            module = getattr(module, part)
        return module  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: its names are found when they are used."""


_LIBRARY_FINDER = _LibraryFinder()
