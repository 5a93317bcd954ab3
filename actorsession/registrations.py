"""Scopes for registrations: what a program registers in one is forgotten at its end.

A registry says how its table is restored, with ``on_scope`` or ``scoped``, when its module is imported. The
module imports nothing of this library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias, TypeVar

__all__ = ["on_scope", "registration_scope", "scoped"]

D = TypeVar("D", bound=dict[str, Any])

Snapshot: TypeAlias = Callable[[], Callable[[], object]]
"""A function that remembers the state of a registry, and returns a function that restores it."""

_SNAPSHOTS: list[Snapshot] = []


def on_scope(snapshot: Snapshot) -> None:
    """Have scopes restore a registry.

    Args:
        snapshot: remembers the state of the registry when a scope begins.
    """
    _SNAPSHOTS.append(snapshot)


def scoped(table: D, keeps: Callable[[str], bool] = lambda key: False) -> D:
    """Have scopes restore a table of registrations, and return it.

    Args:
        table: the table, which is changed in place.
        keeps: whether a key stays at the end of a scope, for registrations of the library's own modules,
            which are imported once.
    """

    def snapshot() -> Callable[[], object]:
        before = table.copy()

        def restore() -> None:
            kept = {key: value for key, value in table.items() if key not in before and keeps(key)}
            table.clear()
            table.update(before | kept)

        return restore

    on_scope(snapshot)
    return table


@contextmanager
def registration_scope() -> Iterator[None]:
    """Forget at the end of a ``with`` block what was registered within it, for the tests of an extension.

    Operation types with their signatures and gradients, device types, graph passes, kinds of session and
    conversions are forgotten; a transport is removed by ``unregister_transport``. Sessions that use one are
    closed before the block ends, and no other thread registers anything meanwhile.
    """
    with ExitStack() as restoring:
        for snapshot in _SNAPSHOTS:
            restoring.callback(snapshot())
        yield
