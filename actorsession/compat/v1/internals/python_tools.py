"""What the modules of ``tensorflow.python.util`` give a program beside ``tf``: decorators and inspection."""

from __future__ import annotations

import collections.abc as collections_abc
import functools
import importlib
import inspect
import traceback
from collections.abc import Callable, Iterable
from inspect import (
    FullArgSpec,
    currentframe,
    getcallargs,
    getdoc,
    getfile,
    getfullargspec,
    getmembers,
    getmodule,
    getmro,
    getsource,
    getsourcefile,
    getsourcelines,
    isbuiltin,
    isclass,
    isdatadescriptor,
    isframe,
    isfunction,
    isgenerator,
    isgeneratorfunction,
    ismethod,
    ismethoddescriptor,
    ismodule,
    isroutine,
    signature,
    stack,
)
from types import ModuleType
from typing import Any, NamedTuple

__all__ = [
    "ArgSpec", "FullArgSpec", "LazyLoader", "TFDecorator", "collections_abc", "currentframe",
    "deprecated", "deprecated_alias", "deprecated_arg_values", "deprecated_args",
    "deprecated_argument_lookup", "deprecated_endpoints", "extract_stack", "fn_args",
    "get_func_name", "get_symbol_from_name", "getargspec", "getcallargs", "getdoc", "getfile",
    "getfullargspec", "getmembers", "getmodule", "getmro", "getsource", "getsourcefile",
    "getsourcelines", "has_arg", "has_kwargs", "isbuiltin", "isclass", "isdatadescriptor",
    "isframe", "isfunction", "isgenerator", "isgeneratorfunction", "ismethod", "ismethoddescriptor",
    "ismodule", "isroutine", "keyword_args_only", "make_all", "make_decorator",
    "remove_undocumented", "rewrap", "should_use_result", "signature", "silence", "stack",
    "tf_export", "unwrap",
]  # fmt: skip


class ArgSpec(NamedTuple):
    """The arguments of a function."""

    args: Any
    varargs: Any
    keywords: Any
    defaults: Any


def getargspec(obj: Any) -> Any:
    """Return the arguments of a function: ``args``, ``varargs``, ``keywords`` and ``defaults``."""
    full = inspect.getfullargspec(obj)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def fn_args(fn: Any) -> tuple[str, ...]:
    """Return the names of the arguments of a function, without ``self`` and those that are bound."""
    return tuple(
        name
        for name, parameter in inspect.signature(fn).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    )


def has_kwargs(fn: Any) -> bool:
    """Return whether a function takes any arguments by name."""
    return inspect.getfullargspec(fn).varkw is not None


def get_func_name(func: Any) -> str:
    """Return the name of a function, also of a partial one."""
    inner = func.func if isinstance(func, functools.partial) else func
    return str(getattr(inner, "__name__", type(inner).__name__))


def extract_stack(limit: int = -1) -> Any:
    """Return the frames of the caller, the innermost last."""
    return traceback.extract_stack(inspect.currentframe().f_back)  # type: ignore[union-attr]


def has_arg(fn: Any, name: str) -> bool:
    """Return whether a function can be called with a keyword."""
    return name in fn_args(fn) or has_kwargs(fn)


class LazyLoader(ModuleType):
    """A module that is imported when a name of it is used first.

    Args:
        local_name: the name under which the program has it.
        parent_module_globals: the names of the program, which get the module.
        name: the module's own name.
    """

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str) -> None:
        super().__init__(name)
        self._local_name, self._parent_module_globals = local_name, parent_module_globals

    def __getattr__(self, item: str) -> Any:
        module = importlib.import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        return getattr(module, item)


class TFDecorator:
    """A decorated function and what it decorates.

    Args:
        decorator_name: the name of the decorator.
        target: what it decorates.
        decorator_doc: its documentation.
        decorator_argspec: the arguments that the decorated function takes.
    """

    def __init__(
        self, decorator_name: str, target: Callable[..., Any], decorator_doc: str = "", decorator_argspec: Any = None
    ) -> None:
        self.decorator_name = decorator_name
        self.decorated_target = target
        self.decorator_doc = decorator_doc
        self.decorator_argspec = decorator_argspec
        functools.update_wrapper(self, target)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call what is decorated."""
        return self.decorated_target(*args, **kwargs)


def make_decorator(
    target: Callable[..., Any],
    decorator_func: Callable[..., Any],
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Callable[..., Any]:
    """Return a function that is to be called in place of another one, with the other's name and text.

    Args:
        target: the function.
        decorator_func: the function that calls it.
        decorator_name: the name of the decorator; that of the caller if omitted.
        decorator_doc: its documentation.
        decorator_argspec: the arguments that it takes.
    """
    name = decorator_name or inspect.currentframe().f_back.f_code.co_name  # type: ignore[union-attr]
    decorated: Any = decorator_func
    decorated._tf_decorator = TFDecorator(name, target, decorator_doc, decorator_argspec)
    for attribute in "__name__", "__qualname__", "__module__", "__doc__":
        if hasattr(target, attribute):
            setattr(decorated, attribute, getattr(target, attribute))
    decorated.__wrapped__ = target
    result: Callable[..., Any] = decorated
    return result


def unwrap(maybe_tf_decorator: Any) -> tuple[list[TFDecorator], Any]:
    """Return the decorators around a function, the outermost first, and the function itself."""
    decorators: list[TFDecorator] = []
    function = maybe_tf_decorator
    while True:
        decorator = function if isinstance(function, TFDecorator) else None
        decorator = decorator or getattr(function, "_tf_decorator", None)
        if decorator is None:
            return decorators, function
        decorators.append(decorator)
        function = decorator.decorated_target


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """Put another function in the place of one that is decorated.

    Args:
        decorator_func: the outermost decorator.
        previous_target: what it decorates.
        new_target: what it decorates from now on.
    """
    decorators, target = unwrap(decorator_func)
    if target is not previous_target or not decorators:
        return new_target
    decorators[-1].decorated_target = new_target
    return decorator_func


# -- deprecation -------------------------------------------------------------------------------


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[..., Any]:
    """Return a decorator for functions that are to be avoided; they are called as they are.

    Args:
        date: when they go.
        instructions: what to use in their place.
        warn_once: how often TensorFlow would warn.
    """
    return lambda function: function


def deprecated_args(date: str | None, instructions: str, *names: Any, **kwargs: Any) -> Any:
    """Return a decorator for functions with arguments that are to be avoided; see ``deprecated``."""
    return lambda function: function


deprecated_arg_values = deprecated_args


def deprecated_endpoints(*args: str) -> Callable[..., Any]:
    """Return a decorator for functions with names that are to be avoided; see ``deprecated``."""
    return lambda function: function


def deprecated_alias(deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True) -> Any:
    """Return a function or class under another name."""
    return func_or_class


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Return the value of an argument that has an older name, too.

    Raises:
        ValueError: if both are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old_value


class silence:
    """A block without warnings of ``deprecated``, which there are not anyway."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *raised: object) -> None:
        """Do nothing."""


def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function take arguments by name alone."""

    @functools.wraps(func)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"The function {func.__name__} must be called with keyword arguments only.")
        return func(**kwargs)

    return checked


def tf_export(*args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Return a decorator that leaves what it decorates as it is."""
    return lambda function: function


def should_use_result(fn: Any = None, **kwargs: Any) -> Any:
    """Return the function itself, or a decorator that does so."""
    return fn if fn is not None else lambda function: function


def get_symbol_from_name(name: str) -> Any:
    """Return what has a name of TensorFlow's; ``None`` if nothing has."""
    from actorsession.compat.alias import find_name

    try:
        return find_name(name.removeprefix("tf."))
    except LookupError:
        return None


def make_all(module_name: str, doc_string_modules: Iterable[Any] | None = None) -> list[str]:
    """Return the public names of a module."""
    import sys

    return [name for name in dir(sys.modules[module_name]) if not name.startswith("_")]


def remove_undocumented(module_name: str, *args: Any, **kwargs: Any) -> None:
    """Do nothing: no name is removed."""
