"""Variable scopes: blocks in which variables share names and defaults.

Owns ``variable_scope`` and the current scope. Names of variables come from the stack of these scopes alone.
Entering one enters a name scope as well, but name scopes are made unique and variable scopes are not.
``variables.settings`` has the scope object.

The current scope and the counts for ``default_name`` are context variables per graph, as name scopes are:
threads and asyncio children do not see each other's. Outside all scopes a graph has one scope per thread,
whose settings are kept.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

from actorsession.graph.dtypes import as_dtype
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.reentrant import Reentrant, reentrant
from actorsession.graph.scopes import DeviceFunction, scope_of
from actorsession.ops.build import graph_of
from actorsession.ops.variables.settings import Getter, VariableScope
from actorsession.ops.variables.store import AUTO_REUSE, Reuse

__all__ = ["AUTO_REUSE", "VariableScope", "get_variable_scope", "no_regularizer", "variable_op_scope", "variable_scope"]


# -- the current scope -----------------------------------------------------------------------------


class _Present(NamedTuple):
    """The current scope of a graph, and how often each name was entered, for ``default_name``."""

    scope: VariableScope
    entered: dict[str, int]

    def count_from_zero(self) -> None:
        """Count the names inside anew, for when the scope is entered again."""
        for name in self.entered:
            if name.startswith(f"{self.scope.name}/"):
                self.entered[name] = 0


class _Roots(threading.local):
    """The scope of a thread outside all variable scopes of a graph."""

    def __init__(self) -> None:
        self.present = _Present(VariableScope(False), {})


_KEY = ("actorsession", "variable scopes")
_PRESENT: ContextVar[Mapping[Graph, _Present]] = ContextVar("actorsession_variable_scopes")
_EMPTY: Mapping[Graph, _Present] = {}


def _present(graph: Graph) -> _Present:
    present = _PRESENT.get(_EMPTY).get(graph)
    if present is not None:
        return present
    kept = graph.get_collection_ref(_KEY)
    if not kept:
        kept.append(_Roots())
    root: _Present = kept[0].present
    return root


def get_variable_scope() -> VariableScope:
    """Return the current variable scope of the default graph."""
    return _present(get_default_graph()).scope


def no_regularizer(_: Any) -> None:
    """Return no loss: a regulariser for variables in a scope that has another one."""


class variable_scope(Reentrant[VariableScope]):
    """A block whose variables have a common prefix and common defaults.

    Args:
        name_or_scope: a name, relative to the current scope; or a ``VariableScope``, which is entered again
            under its full name.
        default_name: a name used if ``name_or_scope`` is ``None``, made unique in the current scope.
        values: tensors that determine the graph.
        initializer: default initialiser; if left out, this and the following are inherited from the enclosing
            scope, or from the scope that is entered again.
        regularizer: default regulariser.
        caching_device: default device of copies.
        partitioner: default partitioner.
        custom_getter: called first; its getter is the custom getter of the enclosing scope.
        reuse: ``True`` or ``AUTO_REUSE``; sharing is inherited and cannot be revoked.
        dtype: default element type.
        use_resource: without effect.
        constraint: default constraint.
        auxiliary_name_scope: whether a name scope is entered as well.

    Raises:
        TypeError: without any name, or for a wrong kind of argument.
        ValueError: for another ``reuse``, or for sharing with a default name.
    """

    def __init__(
        self,
        name_or_scope: str | VariableScope | None,
        default_name: str | None = None,
        values: Iterable[Any] | None = None,
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        caching_device: str | DeviceFunction | None = None,
        partitioner: Any = None,
        custom_getter: Getter | None = None,
        reuse: Reuse = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        _check_scope(name_or_scope, default_name, reuse, auxiliary_name_scope)
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._reuse = reuse or None
        self._custom_getter = custom_getter
        self._changes = {
            "_initializer": initializer,
            "_regularizer": regularizer,
            "_caching_device": caching_device,
            "_partitioner": partitioner,
            "_dtype": None if dtype is None else as_dtype(dtype),
            "_use_resource": use_resource,
            "_constraint": constraint,
        }
        self._names = auxiliary_name_scope
        self._graph = graph_of(*(values or ()))

    def _open(self) -> tuple[contextlib.AbstractContextManager[Any], VariableScope]:
        graph, outer = self._graph, _present(self._graph)
        with contextlib.ExitStack() as stack:
            if get_default_graph() is not graph:
                stack.enter_context(graph.as_default())
            if isinstance(self._name_or_scope, VariableScope):
                scope, counts = self._entered_again(self._name_or_scope, outer, stack)
            else:
                scope, counts = self._entered_anew(self._name_or_scope, outer, stack)
            names = stack.pop_all()
        block, present = contextlib.ExitStack(), _Present(scope, counts)
        if not isinstance(self._name_or_scope, VariableScope):
            block.callback(present.count_from_zero)
        block.push(names)
        block.callback(_PRESENT.reset, _PRESENT.set({**_PRESENT.get(_EMPTY), graph: present}))
        return block, scope

    def _entered_anew(
        self, name: str | None, outer: _Present, stack: contextlib.ExitStack
    ) -> tuple[VariableScope, dict[str, int]]:
        if name is None:
            default = self._default_name
            assert default is not None, "checked when the block was made"
            name_scope = self._enter_names(default, stack)
            name = _unique(default, outer)
        else:
            name_scope = self._enter_names(name, stack)
        scope = copy.copy(outer.scope)
        scope._name = f"{outer.scope.name}/{name}" if outer.scope.name else name
        scope._name_scope = name_scope
        self._change(scope, outer.scope)
        outer.entered[scope.name] = outer.entered.get(scope.name, 0) + 1
        return scope, outer.entered

    def _entered_again(
        self, known: VariableScope, outer: _Present, stack: contextlib.ExitStack
    ) -> tuple[VariableScope, dict[str, int]]:
        self._enter_names(known.name.rsplit("/", 1)[-1], stack)
        scope = copy.copy(known)
        self._change(scope, known)
        counts = dict(outer.entered)  # scopes entered inside do not count outside
        counts[scope.name] = counts.get(scope.name, 0) + 1
        return scope, counts

    def _enter_names(self, name: str, stack: contextlib.ExitStack) -> str:
        """Enter a name scope if requested, and return its full name."""
        if self._names and name:
            return stack.enter_context(self._graph.name_scope(name))
        present = scope_of(self._graph).name
        return f"{present}/" if present and not self._names else ""

    def _change(self, scope: VariableScope, around: VariableScope) -> None:
        scope._reuse = self._reuse or around.reuse
        for attribute, value in self._changes.items():
            if value is not None:
                setattr(scope, attribute, value)
        if self._custom_getter is not None:
            scope._custom_getter = _chained(self._custom_getter, around.custom_getter)


def _check_scope(name_or_scope: Any, default_name: str | None, reuse: Reuse, auxiliary_name_scope: Any) -> None:
    if name_or_scope is None and default_name is None:
        raise TypeError("a variable_scope needs a name_or_scope or a default_name")
    if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
        raise TypeError(f"name_or_scope is a string or a VariableScope, got {name_or_scope!r:.100}")
    if reuse not in (True, False, None, AUTO_REUSE):
        raise ValueError(f"reuse is True, False, None or AUTO_REUSE, got {reuse!r:.100}")
    if name_or_scope is None and reuse:
        raise ValueError(
            f"reuse={reuse!r} needs a name_or_scope: a default_name is made unique, so that there is nothing to share"
        )
    if not isinstance(auxiliary_name_scope, bool):
        raise TypeError(f"auxiliary_name_scope is True or False, got {auxiliary_name_scope!r:.100}")


def _unique(name: str, present: _Present) -> str:
    """Return the name, with ``_1``, ``_2``, ... if a scope of that name was entered in this one."""
    prefix = f"{present.scope.name}/" if present.scope.name else ""
    unique, number = name, 0
    while present.entered.get(prefix + unique):
        number += 1
        unique = f"{name}_{number}"
    return unique


def _chained(inner: Getter, outer: Getter | None) -> Getter:
    """Return a custom getter whose getter is that of the enclosing scope."""
    if outer is None:
        return inner

    def chained(getter: Getter, *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return chained


@reentrant
def variable_op_scope(
    values: Iterable[Any],
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    caching_device: str | DeviceFunction | None = None,
    partitioner: Any = None,
    custom_getter: Getter | None = None,
    reuse: Reuse = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Callable[..., Any] | None = None,
) -> Iterator[VariableScope]:
    """Enter a ``variable_scope`` by its older signature, with the values first."""
    with variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        caching_device,
        partitioner,
        custom_getter,
        reuse,
        dtype,
        use_resource,
        constraint,
    ) as scope:
        yield scope
