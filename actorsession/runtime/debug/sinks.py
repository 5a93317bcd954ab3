"""Where watched values go: the session's memory, files in a directory, or a function of the user's.

A URL names the place; ``sink_for`` finds or refuses it before the step runs. Sinks belong to one run and
are called by one thread at a time. What they raise is the caller's to log or pass on.

Files: each run makes a directory of its own below the one named, with ``manifest.json`` (the run),
``tensors.jsonl`` (a line per value, written behind the value, so that a program that dies leaves what it
saw), one ``.npy`` per value, and ``graph_<n>.json`` per device for the first run of a plan. Nothing is
pickled: strings are bytes with their lengths before them, bfloat16 is stored as its bits.
"""

from __future__ import annotations

import json
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from actorsession.config import DebugOptions
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.node import GraphDef, tensor_name
from actorsession.runtime.debug.dump import DebugDump, DumpStore

__all__ = [
    "DebugSink", "FileSink", "FunctionSink", "MemorySink", "register_debug_sink", "sink_for",
    "unregister_debug_sink",
]  # fmt: skip

_FUNCTIONS: dict[str, Callable[[DebugDump], Any]] = {}
_LOCK = threading.Lock()


def register_debug_sink(name: str, function: Callable[[DebugDump], Any]) -> None:
    """Make a function reachable as ``sink://name``.

    Args:
        name: letters, digits, ``_``, ``-`` and ``.``.
        function: called with each watched value, in the thread that runs the step: the caller's, or one
            of the kernel pool; by one thread at a time for each run. What it raises is logged and
            counted, unless the run says ``raise_sink_errors``.

    Raises:
        ValueError: for another name.
        KeyError: if the name is taken.
    """
    if not name or not all(c.isalnum() or c in "_-." for c in name):
        raise ValueError(f"the name of a sink is letters, digits, '_', '-' and '.', got {name!r}")
    with _LOCK:
        if name in _FUNCTIONS:
            raise KeyError(f"a debug sink {name!r} is registered already")
        _FUNCTIONS[name] = function


def unregister_debug_sink(name: str) -> None:
    """Forget a sink; run that began before go on calling it.

    Raises:
        KeyError: if there is none of that name.
    """
    with _LOCK:
        if name not in _FUNCTIONS:
            raise KeyError(f"no debug sink {name!r} is registered; there are {sorted(_FUNCTIONS)}")
        del _FUNCTIONS[name]


class DebugSink(ABC):
    """Takes what one run watches."""

    def begin(self, metadata: Mapping[str, Any]) -> None:  # noqa: B027 - most sinks need none
        """Hear of the run before it starts."""

    def take_graph(self, graph: GraphDef, device: str) -> None:  # noqa: B027
        """Hear of the decorated graph of one device."""

    @abstractmethod
    def take(self, dump: DebugDump) -> bool:
        """Take a value; ``False`` if a limit forbids keeping it."""

    def end(self, summary: Mapping[str, Any]) -> None:  # noqa: B027
        """Hear how the run ended."""

    @property
    def keeps(self) -> bool:
        """Whether what it takes stays with us, and so counts against the run's limit."""
        return True


class MemorySink(DebugSink):
    """Keeps values in the session's store.

    Args:
        store: the session's.
        options: of the run, for the limit.
    """

    def __init__(self, store: DumpStore, options: DebugOptions) -> None:
        self._store = store
        self._limit = options.memory_byte_usage_limit

    def take(self, dump: DebugDump) -> bool:
        """Take a value; ``False`` if the store is full."""
        return self._store.keep(dump, self._limit)


class FunctionSink(DebugSink):
    """Hands values to a function.

    Args:
        function: the user's.
    """

    def __init__(self, function: Callable[[DebugDump], Any]) -> None:
        self._function = function

    def take(self, dump: DebugDump) -> bool:
        """Take a value; raise what the function raises."""
        self._function(dump)
        return True

    @property
    def keeps(self) -> bool:
        """What becomes of the values is the function's business."""
        return False


class FileSink(DebugSink):
    """Writes values below a directory, which is made when the run begins.

    Args:
        directory: where the directories of runs are.
        store: counts the session's bytes on disk.
        options: of the run, for the limit.
    """

    def __init__(self, directory: Path, store: DumpStore, options: DebugOptions) -> None:
        self._directory = directory
        self._store = store
        self._limit = options.disk_byte_usage_limit
        self._run: Path | None = None
        self._metadata: dict[str, Any] = {}
        self._count = self._graphs = 0

    def begin(self, metadata: Mapping[str, Any]) -> None:
        """Make the run's directory and its manifest."""
        self._metadata = {"form": 1, "begin": time.time(), **metadata}
        self._directory.mkdir(parents=True, exist_ok=True)
        self._run = _new_directory(self._directory, int(metadata["session_run_index"]))
        self._write("manifest.json", self._metadata)

    def take_graph(self, graph: GraphDef, device: str) -> None:
        """Write the nodes of a graph, without the values of constants."""
        nodes = [
            {
                "name": n.name, "op": n.op, "source": n.source,
                "inputs": [tensor_name(*ref) for ref in n.inputs],
                "control_inputs": list(n.control_inputs),
            }
            for n in graph.nodes
        ]  # fmt: skip
        content = {"device": device, "nodes": nodes}
        if self._store.take_disk(len(json.dumps(content)), self._limit):
            self._write(f"graph_{self._graphs}.json", content)
            self._graphs += 1

    def take(self, dump: DebugDump) -> bool:
        """Write a value; ``False`` if the session may write no more."""
        run = self._directory_of_run()
        if not self._store.take_disk(dump.nbytes, self._limit):
            return False
        name = f"{self._count:08d}.npy"
        self._count += 1
        stored, entry = _stored(dump)
        np.save(run / name, stored, allow_pickle=False)
        with open(run / "tensors.jsonl", "a", encoding="utf-8") as manifest:
            manifest.write(json.dumps({"file": name, **entry}) + "\n")
        return True

    def end(self, summary: Mapping[str, Any]) -> None:
        """Complete the manifest."""
        self._write("manifest.json", {**self._metadata, "end": time.time(), **summary})

    def _directory_of_run(self) -> Path:
        if self._run is None:
            raise FileNotFoundError(f"the run has no directory below {self._directory}")
        return self._run

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        path = self._directory_of_run() / name
        # Renamed into place: a reader finds the old one or the new one.
        part = path.with_suffix(".part")
        part.write_text(json.dumps(content, indent=1), encoding="utf-8")
        part.replace(path)


def _new_directory(parent: Path, index: int) -> Path:
    """A directory that no other run has, also of another process that writes to the same place."""
    for attempt in range(1_000_000):
        path = parent / f"run_{index:08d}_{os.getpid()}_{attempt}"
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"no name is left for run {index} below {parent}")


def _stored(dump: DebugDump) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """A value as a file holds it, and its line of the manifest."""
    value = dump.value
    dtype = as_dtype(value.dtype)
    entry = {
        "node_name": dump.node_name, "output_slot": dump.output_slot, "debug_op": dump.debug_op,
        "op_type": dump.op_type, "device_name": dump.device_name, "timestamp": dump.timestamp,
        "dtype": dtype.name, "shape": list(value.shape),
    }  # fmt: skip
    if dtype.name == "bfloat16":
        value = value.view(np.uint16)
    elif dtype.kind == "s":
        items = [bytes(item) for item in value.flat]
        lengths = np.array([len(item) for item in items], "<i8").tobytes()
        value = np.frombuffer(lengths + b"".join(items), np.uint8)
    return value, entry


def sink_for(url: str, store: DumpStore, options: DebugOptions) -> DebugSink:
    """Return the sink that a URL names, for one run; touches nothing yet.

    Raises:
        InvalidArgumentError: for an unknown scheme, or a place that cannot be; it says what is valid.
    """
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "memory":
        if rest:
            raise InvalidArgumentError(f"memory:// names no place, got {url!r}")
        return MemorySink(store, options)
    if separator and scheme == "sink":
        with _LOCK:
            function, known = _FUNCTIONS.get(rest), sorted(_FUNCTIONS)
        if function is None:
            raise InvalidArgumentError(
                f"no debug sink is registered for {url!r}; registered: {', '.join(known) or 'none'} "
                "(register_debug_sink)"
            )
        return FunctionSink(function)
    if separator and scheme == "file":
        return FileSink(_directory(url), store, options)
    raise InvalidArgumentError(
        f"debug URL {url!r} has no scheme that is known: use memory://, file:///directory or sink://name"
    )


def _directory(url: str) -> Path:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise InvalidArgumentError(
            f"debug URL {url!r} names no directory of this machine: write file:///directory"
        )
    path = Path(unquote(parts.path))
    if path.exists() and not path.is_dir():
        raise InvalidArgumentError(f"debug URL {url!r} names a file, not a directory")
    return path
