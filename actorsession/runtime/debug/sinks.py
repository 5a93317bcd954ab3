"""Debug sinks, the destinations of watched values: the session's memory, files, or a user's function.

A URL names the destination; ``sink_for`` finds or refuses it before the step runs. A sink belongs to one run
and is called by one thread at a time. The caller logs or raises its exceptions. In a session of a master,
files are written by the workers, under their file roots; memory and functions belong to the client's process.

Files: each run makes its own directory below the one named, with ``manifest.json`` (the run),
``tensors.jsonl`` (one line per value, written after the value, so that a program that crashes leaves what it
has seen), one ``.npy`` per value, and ``graph_<n>.json`` per device for the first run of a plan. Nothing is
pickled: strings are stored as bytes preceded by their lengths, bfloat16 as its bits. Everything has a
checksum: manifests and lines their own, and lines that of the file with the value.
"""

from __future__ import annotations

import contextlib
import json
import stat
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

import numpy as np

from actorsession.checkpoints.atomic import PRIVATE, PRIVATE_FOLDER
from actorsession.checkpoints.seals import seal_json
from actorsession.config import DebugOptions
from actorsession.config.file_roots import ANYWHERE, FileRoots, Folder
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.node import GraphDef, tensor_name
from actorsession.runtime.debug.dump import DebugDump, DumpStore
from transports.host import current_host

__all__ = [
    "DebugSink",
    "FileSink",
    "FunctionSink",
    "MemorySink",
    "check_url",
    "register_debug_sink",
    "sink_for",
    "unregister_debug_sink",
]

_FUNCTIONS: dict[str, Callable[[DebugDump], Any]] = {}
_LOCK = threading.Lock()


def register_debug_sink(name: str, function: Callable[[DebugDump], Any]) -> None:
    """Make a function available as ``sink://name``.

    Args:
        name: letters, digits, ``_``, ``-`` and ``.``.
        function: called with each watched value, in the thread that runs the step: the caller's, or one of
            the kernel pool; by one thread at a time for each run. Its exceptions are logged and counted,
            unless the run has ``raise_sink_errors``.

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
    """Remove a sink; runs that began before still call it.

    Raises:
        KeyError: if there is none with that name.
    """
    with _LOCK:
        if name not in _FUNCTIONS:
            raise KeyError(f"no debug sink {name!r} is registered; there are {sorted(_FUNCTIONS)}")
        del _FUNCTIONS[name]


class DebugSink(ABC):
    """A destination for the values of one run."""

    def begin(self, metadata: Mapping[str, Any]) -> None:  # noqa: B027 - most sinks need none
        """Handle the begin of the run."""

    def take_graph(self, graph: GraphDef, device: str) -> None:  # noqa: B027
        """Handle the decorated graph of one device."""

    @abstractmethod
    def take(self, dump: DebugDump) -> bool:
        """Handle a value; return ``False`` if a limit forbids keeping it."""

    def end(self, summary: Mapping[str, Any]) -> None:  # noqa: B027
        """Handle the end of the run."""

    @property
    def keeps(self) -> bool:
        """Whether the sink keeps values itself, so that they count against the run's limit."""
        return True


class MemorySink(DebugSink):
    """A sink that keeps values in the session's store.

    Args:
        store: the session's store.
        options: options of the run, for the limit.
    """

    def __init__(self, store: DumpStore, options: DebugOptions) -> None:
        self._store = store
        self._limit = options.memory_byte_usage_limit

    def take(self, dump: DebugDump) -> bool:
        """Keep a value; return ``False`` if the store is full."""
        return self._store.keep(dump, self._limit)


class FunctionSink(DebugSink):
    """A sink that passes values to a function.

    Args:
        function: the user's function.
    """

    def __init__(self, function: Callable[[DebugDump], Any]) -> None:
        self._function = function

    def take(self, dump: DebugDump) -> bool:
        """Call the function with a value; its exceptions propagate."""
        self._function(dump)
        return True

    @property
    def keeps(self) -> bool:
        """``False``: the function decides what becomes of the values."""
        return False


class FileSink(DebugSink):
    """A sink that writes values below a directory, which is made when the run begins.

    Args:
        directory: the parent of the runs' directories.
        store: counts the session's bytes on disk.
        options: options of the run, for the limit.
        files: the directories in which files may be written.
    """

    def __init__(self, directory: Path, store: DumpStore, options: DebugOptions, files: FileRoots = ANYWHERE) -> None:
        self._directory = directory
        self._store = store
        self._files = files
        self._open = partial(files.opener, mode=PRIVATE)
        self._limit = options.disk_byte_usage_limit
        self._run: Path | None = None
        self._metadata: dict[str, Any] = {}
        self._count = self._values = self._graphs = 0

    def begin(self, metadata: Mapping[str, Any]) -> None:
        """Make the run's directory and its manifest."""
        self._metadata = {"form": 2, "begin": current_host().clock.time(), **metadata}
        with self._files.folder(str(self._directory), make=PRIVATE_FOLDER) as parent:
            name = _new_directory(parent, int(metadata["session_run_index"]))
        self._run = self._directory / name
        self._write("manifest.json", self._metadata)

    def take_graph(self, graph: GraphDef, device: str) -> None:
        """Write the nodes of a graph, without the values of constants."""
        nodes = [
            {
                "name": n.name,
                "op": n.op,
                "source": n.source,
                "inputs": [tensor_name(*ref) for ref in n.inputs],
                "control_inputs": list(n.control_inputs),
            }
            for n in graph.nodes
        ]
        content = {"device": device, "nodes": nodes}
        if self._store.take_disk(len(json.dumps(content)), self._limit):
            self._write(f"graph_{self._graphs}.json", content)
            self._graphs += 1

    def take(self, dump: DebugDump) -> bool:
        """Write a value; return ``False`` if the session's limit on disk is reached."""
        run = self._directory_of_run()
        if not self._store.take_disk(dump.nbytes, self._limit):
            return False
        name = f"{self._count:08d}.npy"
        self._count += 1
        stored, entry = _stored(dump)
        with current_host().files.open_file(run / name, "wb", opener=self._open) as file:
            summed = _Summed(file)
            np.save(summed, stored, allow_pickle=False)  # which only writes
        line = seal_json({"file": name, "file_crc32": summed.crc32, **entry})
        with current_host().files.open_file(run / "tensors.jsonl", "ab", opener=self._open) as manifest:
            manifest.write(line + b"\n")
        self._values += 1
        return True

    def end(self, summary: Mapping[str, Any]) -> None:
        """Complete the manifest."""
        complete = {"end": current_host().clock.time(), "values": self._values, **summary}
        self._write("manifest.json", {**self._metadata, **complete})

    def _directory_of_run(self) -> Path:
        if self._run is None:
            raise FileNotFoundError(f"the run has no directory below {self._directory}")
        return self._run

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        run = self._directory_of_run()
        # Renamed into place, so that a reader finds the old file or the new one.
        part = f"{name}.part"
        with current_host().files.open_file(run / part, "wb", opener=self._open) as file:
            file.write(seal_json(content))
        with self._files.folder(str(run)) as folder:
            folder.replace(part, folder, name)


class _Summed:
    """A file whose checksum is computed while it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.crc32 = 0

    def write(self, data: Any) -> int:
        self.crc32 = zlib.crc32(data, self.crc32)
        return self._file.write(data)


def _new_directory(parent: Folder, index: int) -> str:
    """Make a new directory that no other run has, not even in another process, and return its name."""
    for attempt in range(1_000_000):
        name = f"run_{index:08d}_{current_host().processes.getpid()}_{attempt}"
        try:
            parent.mkdir(name, PRIVATE_FOLDER)
        except FileExistsError:
            continue
        return name
    raise FileExistsError(f"no name is left for run {index} below {parent}")


def _stored(dump: DebugDump) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """Return a value in its stored form, and its line of the manifest."""
    value = dump.value
    dtype = as_dtype(value.dtype)
    entry = {
        "node_name": dump.node_name,
        "output_slot": dump.output_slot,
        "debug_op": dump.debug_op,
        "op_type": dump.op_type,
        "device_name": dump.device_name,
        "timestamp": dump.timestamp,
        "dtype": dtype.name,
        "shape": list(value.shape),
    }
    if dtype.name == "bfloat16":
        value = value.view(np.uint16)
    elif dtype.kind == "s":
        items = [bytes(item) for item in value.flat]
        lengths = np.array([len(item) for item in items], "<i8").tobytes()
        value = np.frombuffer(lengths + b"".join(items), np.uint8)
    return value, entry


def check_url(url: str) -> bool:
    """Return whether a URL names a directory, which may be that of another host.

    Raises:
        InvalidArgumentError: for a URL of ``file`` that names none.
    """
    if not url.startswith("file://"):
        return False
    _path_of(url)
    return True


def sink_for(url: str, store: DumpStore, options: DebugOptions, files: FileRoots = ANYWHERE) -> DebugSink:
    """Return the sink of a URL for one run; it writes nothing before the run begins.

    Args:
        url: the URL.
        store: the session's store.
        options: options of the run.
        files: the directories in which files may be written.

    Raises:
        InvalidArgumentError: for an unknown scheme, or an impossible place; the message names valid ones.
        PermissionDeniedError: for a directory outside of ``files``.
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
        return FileSink(_directory(url, files), store, options, files)
    raise InvalidArgumentError(
        f"debug URL {url!r} has no scheme that is known: use memory://, file:///directory or sink://name"
    )


def _directory(url: str, files: FileRoots) -> Path:
    path = files.real(_path_of(url))
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(files.stat(path).st_mode):
            raise InvalidArgumentError(f"debug URL {url!r} names a file, not a directory")
    return Path(path)


def _path_of(url: str) -> str:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise InvalidArgumentError(f"debug URL {url!r} names no directory of this machine: write file:///directory")
    return unquote(parts.path)
