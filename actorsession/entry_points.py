"""Entry points: what other installed distributions bring, by group.

The registries of operations, passes, devices, transports and session factories call this module when
something is wanted that they do not have, never at import time. ``importlib.metadata`` reads a file of every
installed distribution, which takes some 30 ms. Here that is done once per process and search path, for all
groups together.

A plug-in that cannot be used is a ``PluginWarning``, once per process, and everything else goes on. No lock
is held while a plug-in is imported: an import may wait for one that another thread has begun.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["PluginWarning", "Plugins", "entry_points", "origin_of", "warn_unusable"]

_OURS = "actorsession."
_LOCK = threading.RLock()
_WARNED: set[str] = set()


class PluginWarning(UserWarning):
    """A plug-in that cannot be used: its distribution, its entry point and the reason."""


def entry_points(group: str) -> Sequence[EntryPoint]:
    """Return the entry points of a group in an order that does not depend on the file system."""
    return _found(tuple(sys.path)).get(group, ())


@functools.lru_cache(4)
def _found(path: tuple[str, ...]) -> Mapping[str, Sequence[EntryPoint]]:
    """Return the entry points of all groups of this library, as found on a search path."""
    from importlib import metadata  # a tenth of the time that importing the package takes

    every = metadata.entry_points()
    return {
        group: tuple(sorted(every.select(group=group), key=_identity))
        for group in every.groups
        if group.startswith(_OURS)
    }


def origin_of(entry: EntryPoint) -> str:
    """Return what an entry point is called in messages, with its distribution."""
    of = f" of {entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
    return f"plug-in {entry.name} = {entry.value}{of}"


def _identity(entry: EntryPoint) -> str:
    """Return what tells an entry point from others, without reading the file of its distribution."""
    folder = "" if entry.dist is None else entry.dist.locate_file("")
    return f"{entry.group} {entry.name} {entry.value} {folder}"


def warn_unusable(entry: EntryPoint, reason: object) -> None:
    """Warn of a plug-in that cannot be used, once per process.

    Args:
        entry: its entry point.
        reason: an error, or words.
    """
    identity = _identity(entry)
    with _LOCK:
        if identity in _WARNED:
            return
        _WARNED.add(identity)
    if isinstance(reason, BaseException):
        # A KeyError has its message in quotes.
        text = reason.args[0] if isinstance(reason, KeyError) and reason.args else reason
        reason = f"{type(reason).__name__}: {text}"
    warnings.warn(f"{origin_of(entry)} (group {entry.group}) cannot be used: {reason}", PluginWarning, stacklevel=3)


class Plugins:
    """The plug-ins of a group, each of which is loaded once per process.

    Args:
        group: the group of entry points.
        use: called with an entry point and the object that it names, once; registers the object, or raises
            to say why it cannot.
    """

    def __init__(self, group: str, use: Callable[[EntryPoint, Any], None]) -> None:
        self._group = group
        self._use = use
        self._done: set[str] = set()
        self._loading: set[int] = set()  # identifiers of threads

    def load(self, name: str | None = None) -> None:
        """Load the plug-ins that have not been loaded.

        A plug-in that calls this while it is imported finds what is there so far.

        Args:
            name: the name of the entry points; any if left out.
        """
        thread = threading.get_ident()
        if thread in self._loading:
            return
        self._loading.add(thread)
        try:
            for entry in entry_points(self._group):
                if name in (None, entry.name) and _identity(entry) not in self._done:
                    self._load(entry)
        finally:
            self._loading.discard(thread)

    def _load(self, entry: EntryPoint) -> None:
        identity = _identity(entry)
        try:
            plugin = entry.load()
            with _LOCK:
                if identity not in self._done:  # another thread may have been faster
                    self._done.add(identity)
                    self._use(entry, plugin)
        except (Exception, SystemExit) as exc:
            # A plug-in may raise anything while it is imported, and must not affect the others.
            self._done.add(identity)
            warn_unusable(entry, exc)
