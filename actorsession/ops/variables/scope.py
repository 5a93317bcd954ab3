"""Scopes of variables: blocks in which names are shared on purpose and defaults are common.

Owns ``variable_scope`` and which scope is present. Names of variables come from the stack of these scopes
alone; entering one enters a scope of names as well, but those are made unique and these are not.
``variable_settings`` says what a scope is.

The present scope and the counts behind ``default_name`` are context variables per graph, as scopes of names
are: threads and asyncio children do not see each other's. Outside all scopes a graph has one scope per
thread, whose settings stay.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, NamedTuple

from actorsession.graph.dtypes import as_dtype
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.scopes import DeviceFunction, scope_of
from actorsession.ops.build import graph_of
from actorsession.ops.variables.settings import Getter, VariableScope
from actorsession.ops.variables.store import AUTO_REUSE, Reuse

__all__ = [
    "AUTO_REUSE", "VariableScope", "get_variable_scope", "no_regularizer", "variable_op_scope",
    "variable_scope",
]  # fmt: skip


# -- the present scope -----------------------------------------------------------------------------


class _Present(NamedTuple):
    """The present scope of a graph, and how often each name was entered, for ``default_name``."""

    scope: VariableScope
    entered: dict[str, int]


class _Roots(threading.local):
    """What a thread has outside all scopes of a graph."""

    def __init__(self) -> None:
        self.present = _Present(VariableScope(False), {})


_KEY = ("actorsession", "variable scopes")
_PRESENT: ContextVar[Mapping[Graph, _Present]] = ContextVar("actorsession_variable_scopes")
_EMPTY: Mapping[Graph, _Present] = {}


def _present(graph: Graph) -> _Present:
    found = _PRESENT.get(_EMPTY).get(graph)
    if found is not None:
        return found
    kept = graph.get_collection_ref(_KEY)
    if not kept:
        kept.append(_Roots())
    root: _Present = kept[0].present
    return root


def get_variable_scope() -> VariableScope:
    """Return the present variable scope of the default graph."""
    return _present(get_default_graph()).scope


def no_regularizer(_: Any) -> None:
    """A regulariser without a loss, for variables in a scope that has another one."""


class variable_scope(contextlib.AbstractContextManager[VariableScope]):
    """A block whose variables have a common prefix and common defaults.

    Args:
        name_or_scope: a name, under that of the present scope; or a ``VariableScope``, which is entered
            again as it is, wherever that is.
        default_name: a name for when ``name_or_scope`` is ``None``, made unique among the scopes here.
        values: tensors; the graph is theirs.
        initializer: default initialiser; this and the following are those of the scope around, or of the
            scope that is entered again, if left out.
        regularizer: default regulariser.
        caching_device: default device of copies.
        partitioner: default partitioner.
        custom_getter: called before that of the scope around, which is its getter.
        reuse: ``True`` or ``AUTO_REUSE``; sharing is inherited and cannot be taken back.
        dtype: default element type.
        use_resource: accepted for TensorFlow's sake.
        constraint: default constraint.
        auxiliary_name_scope: whether a scope of names is entered as well.

    Raises:
        TypeError: without any name, or for a wrong kind of argument.
        ValueError: for another ``reuse``, or to share with a default name.
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
        self._token: Token[Mapping[Graph, _Present]] | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> VariableScope:
        graph, outer = self._graph, _present(self._graph)
        with contextlib.ExitStack() as stack:
            if get_default_graph() is not graph:
                stack.enter_context(graph.as_default())
            if isinstance(self._name_or_scope, VariableScope):
                scope, counts = self._entered_again(self._name_or_scope, outer, stack)
            else:
                scope, counts = self._entered_anew(self._name_or_scope, outer, stack)
            self._stack = stack.pop_all()
        present = _Present(scope, counts)
        self._token = _PRESENT.set({**_PRESENT.get(_EMPTY), graph: present})
        return scope

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._token is not None, "a variable scope is left that was not entered"
        inside = _present(self._graph)
        _PRESENT.reset(self._token)
        self._stack.close()
        if not isinstance(self._name_or_scope, VariableScope):
            # Inner names count anew when this one is entered again.
            for name in inside.entered:
                if name.startswith(f"{inside.scope.name}/"):
                    inside.entered[name] = 0

    def _entered_anew(
        self, name: str | None, outer: _Present, stack: contextlib.ExitStack
    ) -> tuple[VariableScope, dict[str, int]]:
        if name is None:
            wanted = self._default_name
            assert wanted is not None, "checked when the block was made"
            name_scope = self._enter_names(wanted, stack)
            name = _unique(wanted, outer)
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
        counts = dict(outer.entered)  # what is entered inside does not count outside
        counts[scope.name] = counts.get(scope.name, 0) + 1
        return scope, counts

    def _enter_names(self, name: str, stack: contextlib.ExitStack) -> str:
        """Enter a scope of names if there is to be one; returns the present one's full name."""
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


def _check_scope(
    name_or_scope: Any, default_name: str | None, reuse: Reuse, auxiliary_name_scope: Any
) -> None:
    if name_or_scope is None and default_name is None:
        raise TypeError("a variable_scope needs a name_or_scope or a default_name")
    if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
        raise TypeError(f"name_or_scope is a string or a VariableScope, got {name_or_scope!r:.100}")
    if reuse not in (True, False, None, AUTO_REUSE):
        raise ValueError(f"reuse is True, False, None or tf.AUTO_REUSE, got {reuse!r:.100}")
    if name_or_scope is None and reuse:
        raise ValueError(
            f"reuse={reuse!r} needs a name_or_scope: a default_name is made unique, so that there is "
            "nothing to share"
        )
    if not isinstance(auxiliary_name_scope, bool):
        raise TypeError(f"auxiliary_name_scope is True or False, got {auxiliary_name_scope!r:.100}")


def _unique(name: str, present: _Present) -> str:
    """Return the name, with ``_1``, ``_2``, ... if a scope of that name was entered here."""
    prefix = f"{present.scope.name}/" if present.scope.name else ""
    found, number = name, 0
    while present.entered.get(prefix + found):
        number += 1
        found = f"{name}_{number}"
    return found


def _chained(inner: Getter, outer: Getter | None) -> Getter:
    """A custom getter whose getter is the one of the scope around."""
    if outer is None:
        return inner

    def chained(getter: Getter, *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return chained


@contextlib.contextmanager
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
    """``variable_scope`` with the values first, its older spelling."""
    with variable_scope(
        name_or_scope, default_name, values, initializer, regularizer, caching_device, partitioner,
        custom_getter, reuse, dtype, use_resource, constraint,
    ) as scope:  # fmt: skip
        yield scope
