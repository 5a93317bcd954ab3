"""What a debugged run needs before it begins, and what happens with its values at its end.

A ``RunDebugger`` is asked before each run of a session whether, and how, the run is watched, and is called
after a watched one. ``sessions`` and ``hooks`` call it: the former around the runs of a session, the latter
around the steps of a monitored session.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from actorsession.checkpoints.atomic import make_private_folder
from actorsession.compat.v1.debug.watches import WatchOptions, watch_graph
from actorsession.compat.v1.sessions.messages import RunOptions
from actorsession.errors import OpError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.graph import Graph
from actorsession.observe import debug as ours

__all__ = ["DebugDumpDir", "Dumper", "RunDebugger", "WatchFn", "empty_directory", "has_inf_or_nan", "watching"]

WatchFn: TypeAlias = Callable[[Any, Any], Any]


class RunDebugger(Protocol):
    """Decides about the runs of a session, one after the other."""

    def begin(self, graph: Graph, fetches: Any, feed_dict: Any, options: Any) -> Any:
        """Return the options of a run with its watches; ``None`` if it is not watched."""

    def end(self, error: OpError | None) -> None:
        """Take note of the end of a watched run."""


class DebugDumpDir(ours.DebugDumpDir):
    """The values that watched runs wrote to a directory; see ``actorsession.observe.debug.DebugDumpDir``.

    Args:
        dump_root: the directory of a run.
        partition_graphs: not needed: the directory has the graphs.
        validate: likewise.
    """

    def __init__(self, dump_root: str, partition_graphs: Any = None, validate: bool = True) -> None:
        super().__init__(dump_root)

    @property
    def t0(self) -> float:
        """When the first value was recorded, in seconds; 0 without values."""
        return min((datum.timestamp for datum in self.dumped_tensor_data), default=0.0)

    def debug_watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """Return the watches of a node, as ``node:slot:op``.

        Args:
            node_name: name of the node.
            device_name: only of this device.
        """
        return self.watch_keys(node_name, device_name)

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Return whether values of a node were recorded.

        Args:
            node_name: name of the node.
            device_name: only of this device.
        """
        return bool(self.watch_keys(node_name, device_name))

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """Return the operation type of a watched node.

        Args:
            node_name: name of the node.
            device_name: only of this device.

        Raises:
            ValueError: if no value of the node was recorded.
        """
        for datum in self.dumped_tensor_data:
            if datum.node_name == node_name and device_name in (None, datum.device_name):
                return datum.op_type
        raise ValueError(f"no value of a node {node_name!r} was recorded; see nodes()")


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """Return whether a value has a NaN or an infinity; a filter for ``DebugDumpDir.find`` and the prompt.

    Args:
        datum: the description of the value, which is not looked at.
        tensor: the value.
    """
    kept = np.asarray(tensor)
    return as_dtype(kept.dtype).kind in "fc" and not bool(np.isfinite(kept).all())


def watching(options: Any, graph: Graph, url: str, watches: WatchOptions) -> Any:
    """Return options of a run with watches added.

    Args:
        options: the program's options, which are copied; ``None`` for the default.
        graph: the graph.
        url: where the values go.
        watches: what is watched.
    """
    asked = RunOptions()
    if options is not None:
        asked.CopyFrom(options)
    watch_graph(
        asked,
        graph,
        watches.debug_ops,
        url,
        watches.node_name_regex_whitelist,
        watches.op_type_regex_whitelist,
        watches.tensor_dtype_regex_whitelist,
        watches.tolerate_debug_op_creation_failures,
    )
    return asked


def empty_directory(path: str, what: str) -> Path:
    """Make a directory unless it is there, and return it.

    Args:
        path: of the directory.
        what: the argument that names it.

    Raises:
        ValueError: if it is a file, or not empty.
    """
    if os.path.isfile(path):
        raise ValueError(f"{what} path points to a file: {path}")
    if os.path.isdir(path) and os.listdir(path):
        raise ValueError(f"{what} path points to a non-empty directory: {path}")
    make_private_folder(path)
    return Path(path).absolute()


class Dumper:
    """Writes the values of each run to a directory of its own.

    Args:
        root: the directory above these, which must be new or empty.
        watch_fn: gets the fetches and feeds of a run, and returns the ``WatchOptions`` for it, or the names
            of debug ops and the first of these patterns; all values are written without it.

    Raises:
        ValueError: for a directory that is a file or not empty.
    """

    def __init__(self, root: str, watch_fn: WatchFn | None) -> None:
        if watch_fn is not None and not callable(watch_fn):
            raise TypeError("watch_fn is not callable")
        self._root = empty_directory(root, "session_root")
        self._watch_fn = watch_fn
        self._counter = itertools.count(1)

    def begin(self, graph: Graph, fetches: Any, feed_dict: Any, options: Any) -> Any:
        """Return the options of a run with its watches."""
        watches = WatchOptions()
        if self._watch_fn is not None:
            answer = self._watch_fn(fetches, feed_dict)
            watches = answer if isinstance(answer, WatchOptions) else WatchOptions(*_listed(answer))
        directory = self._root / f"run_{time.time_ns() // 1000}_{next(self._counter)}"
        directory.mkdir(0o700)
        return watching(options, graph, directory.as_uri(), watches)

    def end(self, error: OpError | None) -> None:
        """See ``RunDebugger.end``."""


def _listed(answer: Any) -> Sequence[Any]:
    return (answer,) if isinstance(answer, str) else tuple(answer)
