"""Names that numpy and Python have removed since programs for TensorFlow 1 were written.

``run-tf1`` gives them back to the program, where they are missing, before it starts.
"""

from __future__ import annotations

import collections
import collections.abc
import fractions
import functools
import importlib
import inspect
import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["restore_older_names"]

_log = logging.getLogger("actorsession.compat")


ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def _getargspec(func: Any) -> Any:
    full = inspect.getfullargspec(func)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def _former() -> list[tuple[Any, dict[str, Any]]]:
    """Modules with what they had."""
    trapezoid = getattr(np, "trapezoid", None) or getattr(np, "trapz", None)
    return [
        (np, {
            "Inf": np.inf, "Infinity": np.inf, "NAN": np.nan, "NINF": -np.inf, "NZERO": -0.0,
            "NaN": np.nan, "PINF": np.inf, "PZERO": 0.0, "alltrue": np.all,
            "asscalar": lambda a: np.asarray(a).item(), "bool": bool, "cfloat": np.complex128,
            "complex": complex, "complex_": np.complex128, "cumproduct": np.cumprod,
            "float": float, "float_": np.float64, "in1d": np.isin, "infty": np.inf, "int": int,
            "long": int, "mat": np.asmatrix, "msort": functools.partial(np.sort, axis=0),
            "object": object, "product": np.prod, "round_": np.round, "row_stack": np.vstack,
            "sometrue": np.any, "str": str, "string_": np.bytes_, "trapz": trapezoid,
            "unicode": str, "unicode_": np.str_,
        }),
        (collections, {
            name: getattr(collections.abc, name)
            for name in (
                "Callable", "Container", "Hashable", "ItemsView", "Iterable", "Iterator", "KeysView",
                "Mapping", "MutableMapping", "MutableSequence", "MutableSet", "Sequence", "Set",
                "Sized", "ValuesView",
            )
        }),
        (fractions, {"gcd": math.gcd}),
        (inspect, {"ArgSpec": ArgSpec, "getargspec": _getargspec}),
        (time, {"clock": time.perf_counter}),
    ]  # fmt: skip


def _without_copy(array: Callable[..., Any]) -> Callable[..., Any]:
    """``numpy.array`` whose ``copy=False`` copies where it must, as it did before numpy 2."""

    @functools.wraps(array)
    def older(*args: Any, copy: bool | None = True, **named: Any) -> Any:
        return array(*args, copy=None if copy is False else copy, **named)

    return older


# What gave lists before numpy 2, and gives tuples since.
_OF_LISTS = ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "gradient", "meshgrid")


def _as_list(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numpy whose several arrays are a list, as before numpy 2."""

    @functools.wraps(function)
    def older(*args: Any, **named: Any) -> Any:
        found = function(*args, **named)
        return list(found) if isinstance(found, tuple) else found

    return older


# Names of resampling filters of Pillow, and what they are now.
_FILTERS = {"ANTIALIAS": "LANCZOS", "CUBIC": "BICUBIC", "LINEAR": "BILINEAR"}


def _filters(image: Any) -> str:
    """Give Pillow's module of images the names of filters that it had."""
    for former, name in _FILTERS.items():
        if not hasattr(image, former):
            setattr(image, former, getattr(image, name))
    return "filters have their former names"


def _version_2(h5py: Any) -> str:
    from actorsession.compat.companions.hdf5 import restore_version_2

    return restore_version_2(h5py)


def _loader(yaml: Any) -> str:
    """Give PyYAML's ``load`` the default that it had, in the form of its version 5: one that runs nothing."""
    load = yaml.load
    yaml.load = lambda stream, Loader=yaml.FullLoader: load(stream, Loader)
    return "load() needs no Loader"


# Modules of TensorFlow whose names ``keras.backend`` had, as its file for TensorFlow imports them.
_OF_BACKEND = {
    "control_flow_ops": "ops.control_flow_ops", "ctc": "ops.ctc_ops", "device_lib": "client.device_lib",
    "functional_ops": "ops.functional_ops", "moving_averages": "training.moving_averages",
    "tensor_array_ops": "ops.tensor_array_ops", "tf_ops": "framework.ops",
}  # fmt: skip


def _whole_backend(backend: Any) -> str:
    """Give Keras' backend all names of its file for TensorFlow, as before Keras 2.2.5."""
    own = getattr(backend, "tensorflow_backend", None)
    if own is None:
        return ""
    for name, value in vars(own).items():
        if not name.startswith("_") and not hasattr(backend, name):
            setattr(backend, name, value)
    for name, path in _OF_BACKEND.items():
        if not hasattr(backend, name):
            setattr(backend, name, importlib.import_module(f"tensorflow.python.{path}"))
    return "all names of its file for TensorFlow are there"


# Modules that need not be installed, and what changes them when a program imports them and says what it did.
_CHANGED: dict[str, Callable[[Any], str]] = {
    "PIL.Image": _filters,
    "h5py": _version_2,
    "keras.backend": _whole_backend,
    "yaml": _loader,
}


class _Changing(Loader):
    """Loads a module of somebody else, and gives it what it had."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return what the module's own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Load the module, then change it."""
        self._loader.exec_module(module)
        if done := _CHANGED[module.__name__](module):
            _log.info("%s: %s", module.__name__, done)


class _FindsChanged(MetaPathFinder):
    """Finds modules that are changed when a program imports them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load such a module; ``None`` for all others."""
        spec = PathFinder.find_spec(fullname, path) if fullname in _CHANGED else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader)
        return spec


def restore_older_names() -> list[str]:
    """Give modules the names back that they had when programs for TensorFlow 1 were written.

    Returns:
        The names that were missing, such as ``numpy.float``.
    """
    restored = []
    if not any(isinstance(finder, _FindsChanged) for finder in sys.meta_path):
        sys.meta_path.insert(0, _FindsChanged())
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0" and isinstance(np.array, BuiltinFunctionType):
        np.array = _without_copy(np.array)
        restored.append("numpy.array")
        for name in _OF_LISTS:
            setattr(np, name, _as_list(getattr(np, name)))
            restored.append(f"numpy.{name}")
    for module, names in _former():
        for name, value in names.items():
            if name not in vars(module) and value is not None:
                setattr(module, name, value)
                restored.append(f"{module.__name__}.{name}")
    return restored
