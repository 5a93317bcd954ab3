"""The reader of the files that debugged runs wrote under a ``file://`` URL.

``DebugDumpDir`` reads a directory that runs wrote to, of one process or many: the runs, the watches in each,
and the values, which are loaded on access. Nothing is unpickled, and no file outside the directory is opened,
regardless of its manifests. If the process of a run was killed, the run is listed with the values that it had
written by then. This module is for users; it imports nothing that runs graphs.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from actorsession.checkpoints.atomic import read_regular
from actorsession.checkpoints.seals import open_json
from actorsession.config.file_roots import path_text
from actorsession.errors import DataLossError, MissingFileError, OpError
from actorsession.graph.dtypes import as_dtype
from actorsession.records import dataclass
from actorsession.runtime.debug.dump import DebugNodeKey

__all__ = ["DebugDumpDir", "DebugTensorDatum", "DumpedRun", "has_inf_or_nan"]

Array: TypeAlias = "np.ndarray[Any, Any]"
_VALUE_FILE = re.compile(r"[0-9]+\.npy")
_FORMS = (1, 2)  # the first had no checksums


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugTensorDatum:
    """One value on disk.

    Attributes:
        node_name: name of the node that made it, or of the tensor's node if it was fed.
        output_slot: which of the node's outputs.
        debug_op: the debug operation that made the stored value.
        op_type: the node's operation type.
        device_name: full name of the device.
        timestamp: wall-clock seconds.
        dtype: name of the element type.
        shape: shape of the stored value.
        file_path: the file with the value.
        session_run_index: the run that it belongs to.
        crc32: checksum of that file; ``None`` in files of earlier versions.
    """

    node_name: str
    output_slot: int
    debug_op: str
    op_type: str
    device_name: str
    timestamp: float
    dtype: str
    shape: tuple[int, ...]
    file_path: Path
    session_run_index: int
    crc32: int | None = None

    @property
    def key(self) -> DebugNodeKey:
        """Device, tensor and debug op."""
        return DebugNodeKey(self.device_name, self.node_name, self.output_slot, self.debug_op)

    @property
    def tensor_name(self) -> str:
        """The tensor's name, ``node:slot``."""
        return f"{self.node_name}:{self.output_slot}"

    @property
    def watch_key(self) -> str:
        """Tensor and debug op, ``node:slot:op``."""
        return self.key.debug_node_name

    def get_tensor(self) -> Array:
        """Read the value.

        Raises:
            DataLossError: if the file is missing or holds something else.
        """
        try:
            content = read_regular(self.file_path)
            if self.crc32 is not None and zlib.crc32(content) != self.crc32:
                raise ValueError("it does not have its checksum, so it is damaged")
            stored = np.load(io.BytesIO(content), allow_pickle=False)
            return _restored(stored, self.dtype, self.shape)
        except Exception as exc:  # numpy reads the header of a file with Python's tokenizer
            raise DataLossError(
                f"{self.file_path} does not contain the {self.dtype} of shape "
                f"{list(self.shape)} that its manifest lists: {exc}"
            ) from exc


def _restored(stored: Array, dtype: str, shape: tuple[int, ...]) -> Array:
    kind = as_dtype(dtype)
    if kind.kind == "s":
        return _strings(stored, shape)
    restored = stored.view(kind.np_dtype) if dtype == "bfloat16" else stored
    if restored.dtype != kind.np_dtype or restored.shape != shape:
        raise ValueError(f"found {restored.dtype} of shape {list(restored.shape)}")
    return restored


def _strings(stored: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of bytes from the lengths of its elements and, behind them, the elements."""
    count = int(np.prod(shape, dtype=np.int64))
    blob = stored.tobytes()
    lengths = np.frombuffer(blob[: 8 * count], "<i8")
    if len(lengths) != count or (lengths < 0).any() or lengths.sum() != len(blob) - 8 * count:
        raise ValueError(f"found {len(blob)} bytes that are not {count} strings")
    strings = np.empty(count, object)
    begin = 8 * count
    for i, length in enumerate(lengths.tolist()):
        strings[i] = blob[begin : begin + length]
        begin += length
    return strings.reshape(shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedRun:
    """One run that was debugged.

    Attributes:
        path: its directory.
        session_run_index: which of its session's debugged runs.
        executor_step_index: which run of its plan.
        global_step: the caller's own count of steps; -1 for none.
        input_names: the tensors that were fed.
        output_names: the tensors that were fetched.
        target_names: the operations that ran as targets.
        begin: wall-clock seconds at its start.
        complete: whether its end was written, so that the process did not end before.
        error: the error that it ended with; empty for none.
        left_out: number of values that were not kept because of a limit.
        data: the values, in the order in which they were recorded.
        graphs: the decorated graph of each device as plain values, for the first run of a plan.
    """

    path: Path
    session_run_index: int
    executor_step_index: int
    global_step: int
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    target_names: tuple[str, ...]
    begin: float
    complete: bool
    error: str
    left_out: int
    data: tuple[DebugTensorDatum, ...]
    graphs: Mapping[str, list[Any]]


Predicate: TypeAlias = Callable[[DebugTensorDatum, Array], bool]


def has_inf_or_nan(datum: DebugTensorDatum, tensor: Array) -> bool:
    """Return whether a watched value has a NaN or an infinity; a predicate for ``DebugDumpDir.find``."""
    is_value = datum.debug_op == "DebugIdentity"  # summaries have infinities of their own
    return is_value and as_dtype(datum.dtype).kind in "fc" and not bool(np.isfinite(tensor).all())


class DebugDumpDir:
    """The runs below a directory.

    Each worker of a session over a master writes its part of a run by itself, so a run over several tasks of
    one host is several runs here, with the same ``session_run_index``.

    Args:
        path: the directory in the ``file://`` URL of watches.

    Attributes:
        runs: the runs, in the order in which they began.

    Raises:
        FileNotFoundError: if there is no such directory.
        DataLossError: if a manifest cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path_text(path))
        if not os.path.isdir(self.path):
            raise MissingFileError(f"there is no directory {self.path}")
        runs = [_run(p.parent) for p in self.path.glob("run_*/manifest.json")]
        self.runs: tuple[DumpedRun, ...] = tuple(sorted(runs, key=lambda run: (run.begin, run.session_run_index)))

    @property
    def dumped_tensor_data(self) -> tuple[DebugTensorDatum, ...]:
        """All values of all runs, in order."""
        return tuple([datum for run in self.runs for datum in run.data])

    @property
    def size(self) -> int:
        """The number of values."""
        return sum([len(run.data) for run in self.runs])

    def nodes(self) -> list[str]:
        """Return the names of the nodes that were watched, sorted."""
        return sorted({datum.node_name for datum in self.dumped_tensor_data})

    def devices(self) -> list[str]:
        """Return the full names of the devices where values were watched, sorted."""
        return sorted({datum.device_name for datum in self.dumped_tensor_data})

    def keys(self) -> list[DebugNodeKey]:
        """Return the watches with their devices, sorted."""
        return sorted({datum.key for datum in self.dumped_tensor_data})

    def watch_keys(self, node_name: str | None = None, device_name: str | None = None) -> list[str]:
        """Return the watches, as ``node:slot:op``, sorted.

        Args:
            node_name: only of this node.
            device_name: only of this device.
        """
        return sorted(
            {
                d.watch_key
                for d in self.dumped_tensor_data
                if node_name in (None, d.node_name) and device_name in (None, d.device_name)
            }
        )

    def watch_key_to_data(self, watch_key: str, device_name: str | None = None) -> list[DebugTensorDatum]:
        """Return the values of a watch, in order; an empty list for an unknown watch.

        Args:
            watch_key: the watch, ``node:slot:op``.
            device_name: only of this device.
        """
        return [d for d in self.dumped_tensor_data if d.watch_key == watch_key and device_name in (None, d.device_name)]

    def get_tensors(
        self,
        node_name: str,
        output_slot: int = 0,
        debug_op: str = "DebugIdentity",
        *,
        session_run_index: int | None = None,
        device_name: str | None = None,
    ) -> list[Array]:
        """Read the stored values of a tensor.

        Args:
            node_name: name of its node.
            output_slot: which output.
            debug_op: the debug operation.
            session_run_index: only of this run.
            device_name: only of this device.

        Raises:
            ValueError: if that was not watched; the message names existing watches.
            DataLossError: if a file cannot be read.
        """
        key = f"{node_name}:{output_slot}:{debug_op}"
        data = self.watch_key_to_data(key, device_name)
        if not data:
            keys = self.watch_keys(device_name=device_name)
            near = difflib.get_close_matches(key, keys, n=3) or keys[:3]
            where = f" on {device_name}" if device_name else ""
            raise ValueError(f"{key!r} was not watched{where}; the directory has {len(keys)} watches, such as {near}")
        runs = {d.session_run_index for d in data}
        if session_run_index is not None and session_run_index not in runs:
            raise ValueError(f"{key!r} was not watched in run {session_run_index}, but in {sorted(runs)}")
        return [d.get_tensor() for d in data if session_run_index in (None, d.session_run_index)]

    def find(
        self,
        predicate: Predicate,
        first_n: int = 0,
        device_name: str | None = None,
        exclude_node_names: str | None = None,
    ) -> list[DebugTensorDatum]:
        """Return the values for which a predicate holds, in the order in which they were recorded.

        Args:
            predicate: from the description of a value, and the value.
            first_n: maximum number of results; 0 for all.
            device_name: only of this device.
            exclude_node_names: regular expression; nodes whose name matches from its beginning are left out.
        """
        data = []
        excluded = re.compile(exclude_node_names) if exclude_node_names else None
        for datum in self.dumped_tensor_data:
            if device_name not in (None, datum.device_name):
                continue
            if excluded is not None and excluded.match(datum.node_name):
                continue
            if predicate(datum, datum.get_tensor()):
                data.append(datum)
                if len(data) == first_n:
                    break
        return data


def _run(path: Path) -> DumpedRun:
    try:
        manifest = _object(path / "manifest.json")
        if manifest["form"] not in _FORMS:
            raise ValueError(f"the manifest has version {manifest['form']!r}; this library reads versions {_FORMS}")
        index = int(manifest["session_run_index"])
        graphs = [_object(p) for p in sorted(path.glob("graph_*.json"))]
        data = tuple(_data(path, index))
        if len(data) != manifest.get("values", len(data)):
            raise ValueError(f"it has {len(data)} values, and said that it has {manifest['values']}")
        return DumpedRun(
            path=path,
            session_run_index=index,
            executor_step_index=int(manifest["executor_step_index"]),
            global_step=int(manifest["global_step"]),
            input_names=tuple(manifest["input_names"]),
            output_names=tuple(manifest["output_names"]),
            target_names=tuple(manifest["target_names"]),
            begin=float(manifest["begin"]),
            complete="end" in manifest,
            error=str(manifest.get("error", "")),
            left_out=int(manifest.get("left_out", 0)),
            data=data,
            graphs={g["device"]: g["nodes"] for g in graphs},
        )
    except (OSError, OpError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as exc:
        raise DataLossError(f"{path} is not a run of the debugger: {exc!r}") from exc


def _object(path: Path) -> dict[str, Any]:
    return open_json(read_regular(path), str(path))


def _data(path: Path, index: int) -> Iterator[DebugTensorDatum]:
    """Yield the values of a run, without an unfinished last line."""
    lines = path / "tensors.jsonl"
    if not lines.exists():
        return
    for line in read_regular(lines).split(b"\n")[:-1]:
        entry = open_json(line, "its line")
        name = str(entry["file"])
        if not _VALUE_FILE.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a file with a value")
        yield DebugTensorDatum(
            node_name=str(entry["node_name"]),
            output_slot=int(entry["output_slot"]),
            debug_op=str(entry["debug_op"]),
            op_type=str(entry["op_type"]),
            device_name=str(entry["device_name"]),
            timestamp=float(entry["timestamp"]),
            dtype=as_dtype(entry["dtype"]).name,
            shape=tuple(map(int, entry["shape"])),
            file_path=path / name,
            session_run_index=index,
            crc32=entry.get("file_crc32"),
        )
