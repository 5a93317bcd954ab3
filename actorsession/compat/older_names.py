"""What numpy, scipy, other libraries and Python have removed since programs for TensorFlow 1 were written.

``run-tf1`` gives it back to the program, where it is missing, before it starts; what belongs to a library
that need not be installed, when the program imports that. The log says what was done.
"""

from __future__ import annotations

import base64
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
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from actorsession.compat import older_conversions

__all__ = ["restore_older_names"]

_log = logging.getLogger("actorsession.compat")


ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def _getargspec(func: Any) -> Any:
    full = inspect.getfullargspec(func)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


class _Cast:
    """``numpy.cast``, which has a function for each type."""

    def __getitem__(self, dtype: Any) -> Callable[[Any], Any]:
        """Return the function that makes arrays of a type."""
        return lambda x: np.asarray(x).astype(dtype)


def _former() -> list[tuple[Any, dict[str, Any]]]:
    """Modules with what they had."""
    trapezoid = getattr(np, "trapezoid", None) or getattr(np, "trapz", None)
    scalars = {"int": np.signedinteger, "uint": np.unsignedinteger, "float": np.floating, "complex": np.complexfloating}
    return [
        (np, {
            **{name: getattr(np.exceptions, name) for name in np.exceptions.__all__},
            "alen": len, "cast": _Cast(), "issubsctype": lambda a, b: np.issubdtype(a, b), "math": math,
            "sctypes": {
                name: [each for each in dict.fromkeys(np.sctypeDict.values()) if issubclass(each, kind)]
                for name, kind in scalars.items()
            },
            "warnings": warnings,
            "Inf": np.inf, "Infinity": np.inf, "NAN": np.nan, "NINF": -np.inf, "NZERO": -0.0,
            "NaN": np.nan, "PINF": np.inf, "PZERO": 0.0, "alltrue": np.all, "asfarray": _as_floats,
            "asscalar": lambda a: np.asarray(a).item(), "bool": bool, "bool8": np.bool_,
            "cfloat": np.complex128, "complex": complex, "complex_": np.complex128,
            "cumproduct": np.cumprod, "find_common_type": lambda a, b: np.result_type(*a, *b),
            "float": float, "float_": np.float64, "in1d": np.isin, "infty": np.inf, "int": int,
            "int0": np.intp,
            "long": int, "mat": np.asmatrix, "msort": functools.partial(np.sort, axis=0),
            "object": object, "product": np.prod, "round_": np.round, "row_stack": np.vstack,
            "rank": np.ndim, "sometrue": np.any, "str": str, "string_": np.bytes_, "trapz": trapezoid,
            "typeDict": np.sctypeDict, "uint0": np.uintp, "unicode": str, "unicode_": np.str_,
        }),
        (base64, {"decodestring": base64.decodebytes, "encodestring": base64.encodebytes}),
        (np.lib, {"pad": np.pad}),
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


def _as_floats(a: Any, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    """``numpy.asfarray``: integers become float64."""
    kind = np.dtype(dtype)
    return np.asarray(a, kind if np.issubdtype(kind, np.inexact) else np.float64)


# Whose arrays of ragged rows stay errors: they ask whether there are such.
_STRICT = frozenset({"actorsession", "numpy", "scipy", "tensorflow"})


def _as_before(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes arrays, as in numpy 1.

    With ``copy=False`` it copies where it must, rows of unlike lengths are objects, as before numpy 1.24, and
    integers out of a type's range wrap around.
    """

    @functools.wraps(make)
    def older(*args: Any, **named: Any) -> Any:
        if named.get("copy") is False:
            named["copy"] = None
        try:
            return make(*args, **named)
        except (OverflowError, ValueError) as error:
            more = {key: value for key, value in named.items() if key not in ("a", "dtype", "object")}
            items = args[0] if args else named.get("object", named.get("a"))
            dtype = args[1] if len(args) > 1 else named.get("dtype")
            if isinstance(error, OverflowError) and dtype is not None:
                return make(items, None, *args[2:], **more).astype(dtype)
            frame = sys._getframe(1)
            caller = frame.f_globals.get("__name__", "")
            strict = caller.partition(".")[0] in _STRICT or dtype is not None
            if strict or "inhomogeneous" not in str(error):
                raise
            _note_ragged(f"{caller}:{frame.f_lineno}")
            return make(items, object, *args[2:], **more)

    return older


@functools.cache
def _note_ragged(place: str) -> None:
    _log.info("%s: rows of unlike lengths are an array of objects, as before numpy 1.24", place)


def _from_bytes(fromstring: Callable[..., Any]) -> Callable[..., Any]:
    """``numpy.fromstring``, which read bytes before numpy 2.3 where no separator is given."""

    @functools.wraps(fromstring)
    def older(string: Any, dtype: Any = float, count: int = -1, sep: str = "", **named: Any) -> np.ndarray[Any, Any]:
        if sep:
            array: np.ndarray[Any, Any] = fromstring(string, dtype, count, sep=sep, **named)
            return array
        content = string.encode("latin-1") if isinstance(string, str) else string
        return np.frombuffer(content, dtype, count).copy()

    return older


def _summed(total: Callable[..., Any]) -> Callable[..., Any]:
    """``numpy.sum``, which adds what a generator gives, as before numpy 2.4."""

    @functools.wraps(total)
    def older(a: Any, *args: Any, **named: Any) -> Any:
        return sum(a) if isinstance(a, Generator) else total(a, *args, **named)

    return older


def _renamed(function: Callable[..., Any], former: str, name: str) -> Callable[..., Any]:
    """A function of numpy that takes an argument by its former name."""

    @functools.wraps(function)
    def older(*args: Any, **named: Any) -> Any:
        if former in named:
            named[name] = named.pop(former)
        return function(*args, **named)

    return older


# Arguments of functions of numpy that have other names now.
_RENAMED = {
    "histogram": ("normed", "density"),
    "percentile": ("interpolation", "method"),
    "quantile": ("interpolation", "method"),
    "reshape": ("newshape", "shape"),
}


# What gave lists before numpy 2, and gives tuples since.
_OF_LISTS = ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "gradient", "meshgrid")


def _as_list(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numpy whose several arrays are a list, as before numpy 2."""

    @functools.wraps(function)
    def older(*args: Any, **named: Any) -> Any:
        arrays = function(*args, **named)
        return list(arrays) if isinstance(arrays, tuple) else arrays

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
    from actorsession.compat.libraries.hdf5 import restore_version_2

    return restore_version_2(h5py)


def _loader(yaml: Any) -> str:
    """Give PyYAML's ``load`` the default that it had, in the form of its version 5: one that runs nothing."""
    load = yaml.load
    yaml.load = lambda stream, Loader=yaml.FullLoader: load(stream, Loader)
    return "load() needs no Loader"


# Modules of TensorFlow whose names ``keras.backend`` had, as its file for TensorFlow imports them.
_OF_BACKEND = {
    "control_flow_ops": "ops.control_flow_ops",
    "ctc": "ops.ctc_ops",
    "device_lib": "client.device_lib",
    "functional_ops": "ops.functional_ops",
    "moving_averages": "training.moving_averages",
    "tensor_array_ops": "ops.tensor_array_ops",
    "tf_ops": "framework.ops",
}


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


def _images(misc: Any) -> str:
    """Give ``scipy.misc`` its functions of images, and those that live elsewhere now."""
    import scipy.special

    from actorsession.compat.libraries import scipy_images

    elsewhere = ("comb", "factorial", "factorial2", "factorialk", "logsumexp")
    functions = {name: getattr(scipy_images, name) for name in scipy_images.__all__}
    functions |= {name: getattr(scipy.special, name) for name in elsewhere}
    missing = _add_missing(misc, functions)
    return f"{', '.join(missing)} are there" if missing else ""


def _integrals(integrate: Any) -> str:
    def simps(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1, even: Any = None) -> Any:
        return integrate.simpson(y, x=x, dx=dx, axis=axis)

    trapezoid, cumulative = integrate.trapezoid, integrate.cumulative_trapezoid
    missing = _add_missing(integrate, {"cumtrapz": cumulative, "simps": simps, "trapz": trapezoid})
    return f"{', '.join(missing)} are there" if missing else ""


def _windows(signal: Any) -> str:
    missing = _add_missing(signal, {name: getattr(signal.windows, name) for name in signal.windows.__all__})
    return f"{', '.join(missing)} are those of signal.windows" if missing else ""


def _inverse(linalg: Any) -> str:
    return "pinv2 is pinv" if _add_missing(linalg, {"pinv2": linalg.pinv}) else ""


def _add_missing(module: Any, members: Mapping[str, Any]) -> list[str]:
    """Add the names that a module does not have; return them."""
    missing = [name for name in members if name not in vars(module)]
    vars(module).update({name: members[name] for name in missing})
    return missing


# Modules that need not be installed, and what changes them when a program imports them and says what it did.
_CHANGED: dict[str, Callable[[Any], str]] = {
    "PIL.Image": _filters,
    "h5py": _version_2,
    "keras.backend": _whole_backend,
    "scipy.integrate": _integrals,
    "scipy.linalg": _inverse,
    "scipy.misc": _images,
    "scipy.signal": _windows,
    "yaml": _loader,
}

# Modules that are gone, and where their names are.
_MOVED = {
    "scipy.misc.pilutil": "scipy.misc",
    "numpy.linalg.linalg": "numpy.linalg",
    "numpy.testing.utils": "numpy.testing",
    "scipy.sparse.linalg.eigen": "scipy.sparse.linalg",
    "scipy.sparse.linalg.eigen.arpack": "scipy.sparse.linalg",
    "xml.etree.cElementTree": "xml.etree.ElementTree",
}


class _Standing(Loader):
    """Makes a module that is gone, with the names of another."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Let Python make a new module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Give the module the other's names."""
        source = importlib.import_module(_MOVED[module.__name__])
        names = {name: value for name, value in vars(source).items() if not name.startswith("__")}
        vars(module).update(names)
        _log.info("%s is gone: its names are those of %s", module.__name__, source.__name__)


_STANDING = _Standing()


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
        if fullname in _MOVED:
            return ModuleSpec(fullname, _STANDING, is_package=True)
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
        if older_conversions.are_needed():
            # Before Python's own, and behind those that find TensorFlow's modules.
            place = sys.meta_path.index(PathFinder)
            sys.meta_path.insert(place, older_conversions.FindsProgram())
            restored.append("conversions and methods of arrays")
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0" and isinstance(np.array, BuiltinFunctionType):
        for name in ("array", "asarray", "asanyarray"):
            setattr(np, name, _as_before(getattr(np, name)))
        for name, (former, new) in _RENAMED.items():
            setattr(np, name, _renamed(getattr(np, name), former, new))
        np.fromstring = _from_bytes(np.fromstring)
        np.sum = _summed(np.sum)
        changed = ("array", "asarray", "asanyarray", "fromstring", "sum", *_RENAMED)
        restored += [f"numpy.{name}" for name in changed]
        for name in _OF_LISTS:
            setattr(np, name, _as_list(getattr(np, name)))
            restored.append(f"numpy.{name}")
    for module, names in _former():
        for name, value in names.items():
            if name not in vars(module) and value is not None:
                setattr(module, name, value)
                restored.append(f"{module.__name__}.{name}")
    if restored:
        _log.info("there again: %s", ", ".join(restored))
    return restored
