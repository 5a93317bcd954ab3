"""``arg_scope``: defaults for arguments of functions, in a block of the program."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

__all__ = ["add_arg_scope", "arg_scope", "arg_scoped_arguments", "current_arg_scope", "has_arg_scope"]

_Scope = Mapping[str, Mapping[str, Any]]
_Function = TypeVar("_Function", bound=Callable[..., Any])

_PRESENT: ContextVar[_Scope] = ContextVar("actorsession_arg_scope")
# The names of the arguments with a default of each decorated function, by its key.
_KNOWN: dict[str, tuple[str, ...]] = {}


def current_arg_scope() -> _Scope:
    """Return the defaults that hold here, by the key of each function."""
    return _PRESENT.get({})


def _key_of(function: Any) -> str:
    return str(getattr(function, "_key_op", function))


@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[_Scope]:
    """Give arguments of functions other defaults inside the block.

    Args:
        list_ops_or_scope: functions that are decorated with ``add_arg_scope``; or what such a block gave, to
            have its defaults again.
        kwargs: the arguments; those of an enclosing block hold on.

    Yields:
        All defaults of the block, for another block.

    Raises:
        TypeError: for anything else.
        ValueError: for a function that is not decorated, or a block's defaults together with arguments.
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        scope: _Scope = dict(list_ops_or_scope)
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
        changed = dict(current_arg_scope())
        for function in list_ops_or_scope:
            key = _key_of(function)
            if key not in _KNOWN:
                name = getattr(function, "__name__", function)
                raise ValueError(f"{name} is not decorated with @add_arg_scope")
            changed[key] = {**changed.get(key, {}), **kwargs}
        scope = changed
    token = _PRESENT.set(scope)
    try:
        yield scope
    finally:
        _PRESENT.reset(token)


def add_arg_scope(func: _Function) -> _Function:
    """Let a function take defaults of its arguments from ``arg_scope``: a decorator."""

    @functools.wraps(func)
    def func_with_args(*args: Any, **kwargs: Any) -> Any:
        defaults = current_arg_scope().get(key)
        return func(*args, **({**defaults, **kwargs} if defaults else kwargs))

    key = f"{func.__module__}.{func.__qualname__} at {id(func_with_args):#x}"
    decorated: Any = func_with_args
    decorated._key_op = key
    _KNOWN[key] = _defaulted(func)
    typed: _Function = decorated
    return typed


def _defaulted(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters: Iterable[inspect.Parameter] = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(p.name for p in parameters if p.default is not inspect.Parameter.empty)


def has_arg_scope(func: Any) -> bool:
    """Return whether a function takes defaults from ``arg_scope``."""
    return _key_of(func) in _KNOWN


def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """Return the names of the arguments that ``arg_scope`` may give a function.

    Raises:
        ValueError: for a function that is not decorated.
    """
    if not has_arg_scope(func):
        raise ValueError(f"{getattr(func, '__name__', func)} is not decorated with @add_arg_scope")
    return _KNOWN[_key_of(func)]
