"""The ``checkpoint`` file of a folder, which lists the checkpoints and names the latest.

Owns the format of the file, protobuf text of TensorFlow's CheckpointState, which TensorFlow reads and writes
as well, and the queries on it. Savers keep it up to date; the file is replaced atomically. Paths in it may be
relative to its folder. These functions work in the calling process, wherever a session runs its steps.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from actorsession import checkpoints
from actorsession.checkpoints import file_errors
from actorsession.checkpoints.atomic import read_regular
from actorsession.checkpoints.seals import open_text, seal_text
from actorsession.config.file_roots import path_text
from actorsession.errors import OpError
from actorsession.records import dataclass
from transports.host import current_host

__all__ = [
    "CheckpointState",
    "checkpoint_exists",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "latest_checkpoint",
    "meta_graph_filename",
    "remove_checkpoint",
    "update_checkpoint_state",
]

_log = logging.getLogger("actorsession.train")

DEFAULT_FILENAME = "checkpoint"


@dataclass(slots=True)
class CheckpointState:
    """The checkpoints of a folder.

    Attributes:
        model_checkpoint_path: prefix of the latest checkpoint.
        all_model_checkpoint_paths: prefixes of all checkpoints that are kept, the oldest first.
        all_model_checkpoint_timestamps: time at which each was written, in seconds since 1970; may be empty.
        last_preserved_timestamp: time of the last checkpoint that is kept permanently; 0 if unknown.
    """

    model_checkpoint_path: str = ""
    all_model_checkpoint_paths: list[str] = field(default_factory=list)
    all_model_checkpoint_timestamps: list[float] = field(default_factory=list)
    last_preserved_timestamp: float = 0.0

    def to_text(self) -> str:
        """Return the state as protobuf text."""
        lines = []
        if self.model_checkpoint_path:
            lines.append(f"model_checkpoint_path: {_quoted(self.model_checkpoint_path)}")
        paths = self.all_model_checkpoint_paths
        lines += [f"all_model_checkpoint_paths: {_quoted(path)}" for path in paths]
        times = self.all_model_checkpoint_timestamps
        lines += [f"all_model_checkpoint_timestamps: {float(time)!r}" for time in times]
        if self.last_preserved_timestamp:
            lines.append(f"last_preserved_timestamp: {float(self.last_preserved_timestamp)!r}")
        return "".join(line + "\n" for line in lines)

    @classmethod
    def from_text(cls, text: str) -> CheckpointState:
        """Parse protobuf text.

        Raises:
            ValueError: for text of another form.
        """
        state = cls()
        for name, value in _text_fields(text):
            if name == "model_checkpoint_path":
                state.model_checkpoint_path = _as_text(name, value)
            elif name == "all_model_checkpoint_paths":
                state.all_model_checkpoint_paths.append(_as_text(name, value))
            elif name == "all_model_checkpoint_timestamps":
                state.all_model_checkpoint_timestamps.append(_as_number(name, value))
            elif name == "last_preserved_timestamp":
                state.last_preserved_timestamp = _as_number(name, value)
            else:
                raise ValueError(f"a checkpoint state has no field {name!r}")
        return state


# -- protobuf text ---------------------------------------------------------------------------------

_SPACE = r"(?:\s|#[^\n]*(?:\n|\Z))*"
_STRING = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_FIELD = re.compile(
    rf"{_SPACE}(?P<name>[A-Za-z_]\w*){_SPACE}:{_SPACE}"
    rf"(?P<value>{_STRING}(?:{_SPACE}{_STRING})*|[-+.\w]+){_SPACE}[,;]?{_SPACE}"
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def _quoted(text: str) -> str:
    """Return a string as protobuf text, with bytes beyond ASCII as octal escapes, as TensorFlow does."""
    simple = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}
    data = os.fsencode(text)
    return '"' + "".join(simple.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in data) + '"'


def _text_fields(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text) and text[position:].strip():
        match = _FIELD.match(text, position)
        if match is None:
            if re.fullmatch(_SPACE, text[position:]):
                return
            line = text.count("\n", 0, position) + 1
            raise ValueError(f"line {line} is not a field of a protobuf text: {text[position:]!r:.60}")
        yield match["name"], match["value"]
        position = match.end()


def _as_text(name: str, value: str) -> str:
    if value[0] not in "\"'":
        raise ValueError(f"{name} must be a string, got {value!r:.60}")
    parts = re.findall(_STRING, value)
    return os.fsdecode(b"".join(_ESCAPE.sub(_unescaped, os.fsencode(p[1:-1])) for p in parts))


def _unescaped(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, plain = match.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 255])
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    return _ESCAPES.get(plain, plain)


def _as_number(name: str, value: str) -> float:
    try:
        return float(value.rstrip("fF") if value[-1:] in "fF" and "n" not in value else value)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {value!r:.60}") from None


# -- the file --------------------------------------------------------------------------------------


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """Return the state of a folder, with paths relative to it where the folder's own is relative.

    Args:
        save_dir: the folder.
        model_checkpoint_path: prefix of the latest checkpoint; added to the others unless it is the last of
            them.
        all_model_checkpoint_paths: prefixes of all checkpoints that are kept.
        all_model_checkpoint_timestamps: time at which each was written, the latest included.
        last_preserved_timestamp: time of the last checkpoint that is kept permanently.

    Raises:
        ValueError: if there are timestamps, but not one for each path.
    """
    paths = list(all_model_checkpoint_paths or ())
    times = list(all_model_checkpoint_timestamps or ())
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    if times and len(times) != len(paths):
        raise ValueError(
            f"timestamps must be given for every checkpoint or for none: got {len(times)} "
            f"timestamps for {len(paths)} checkpoints"
        )
    if not os.path.isabs(save_dir):
        model_checkpoint_path = _relative(model_checkpoint_path, save_dir)
        paths = [_relative(path, save_dir) for path in paths]
    return CheckpointState(model_checkpoint_path, paths, times, last_preserved_timestamp or 0.0)


def _relative(path: str, folder: str) -> str:
    return path if os.path.isabs(path) else os.path.relpath(path, folder or ".")


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the state file of a folder atomically, as TensorFlow does, with a checksum in a comment.

    Args:
        save_dir: the folder; made if it is missing.
        model_checkpoint_path: as for ``generate_checkpoint_state_proto``.
        all_model_checkpoint_paths: likewise.
        latest_filename: name of the state file; ``checkpoint`` if left out.
        all_model_checkpoint_timestamps: as for ``generate_checkpoint_state_proto``.
        last_preserved_timestamp: likewise.

    Raises:
        ValueError: if the timestamps do not fit the paths.
        RuntimeError: if the checkpoint has the name of the state file.
        OpError: if the file system reports an error.
    """
    write_state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        latest_filename,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def write_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None,
    latest_filename: str | None = None,
    timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    *,
    relative: bool = False,
) -> None:
    """Do the work of ``update_checkpoint_state``.

    With ``relative`` absolute paths become relative too.
    """
    file = _state_file(save_dir, latest_filename)
    model_checkpoint_path = path_text(model_checkpoint_path, "model_checkpoint_path")
    paths = list(all_model_checkpoint_paths or ())
    if relative:
        folder = os.path.abspath(save_dir)
        model_checkpoint_path = os.path.relpath(os.path.abspath(model_checkpoint_path), folder)
        paths = [os.path.relpath(os.path.abspath(path), folder) for path in paths]
        state = generate_checkpoint_state_proto(
            folder, model_checkpoint_path, paths, timestamps, last_preserved_timestamp
        )
    else:
        state = generate_checkpoint_state_proto(
            save_dir, model_checkpoint_path, paths, timestamps, last_preserved_timestamp
        )
    if file == model_checkpoint_path:
        raise RuntimeError(
            f"the checkpoint {model_checkpoint_path!r} has the same name as the state "
            "file in its folder; choose another name, or another latest_filename"
        )
    text = seal_text(state.to_text().encode("ascii"))

    def write(out: Any) -> None:
        out.write(text)

    _warn_of_another_writer(file)
    checkpoints.write_whole(file, write)
    current_host().own(_written)[os.path.abspath(file)] = _identity(file)


def _written() -> dict[str, tuple[int, int, int] | None]:
    """Return the state files that a process has written, each as it was left: device, inode, time."""
    return {}


def _identity(file: str) -> tuple[int, int, int] | None:
    try:
        status = current_host().files.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _warn_of_another_writer(file: str) -> None:
    """Say if another process writes the same state file: each lists only the checkpoints of its own saver."""
    former, now = current_host().own(_written).get(os.path.abspath(file)), _identity(file)
    if former is not None and now is not None and former != now:
        _log.warning(
            "another process writes the state file %r, too: it lists only the checkpoints of the one that "
            "wrote last; give each saver a folder of its own",
            file,
        )


def _state_file(folder: str, latest_filename: str | None) -> str:
    return os.path.join(path_text(folder), latest_filename or DEFAULT_FILENAME)


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> CheckpointState | None:
    """Return the state of a folder, with paths that the caller can open.

    Args:
        checkpoint_dir: the folder.
        latest_filename: name of the state file; ``checkpoint`` if left out.

    Returns:
        The state, or ``None`` if there is no state file or it cannot be read; the reason is then logged.

    Raises:
        DataLossError: if it does not have the checksum that it was written with.
    """
    file = _state_file(path_text(checkpoint_dir, "checkpoint_dir"), latest_filename)
    try:
        text = open_text(read_regular(file), file).decode("utf-8", "surrogateescape")
        state = CheckpointState.from_text(text)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, OpError, ValueError) as exc:
        _log.warning("the state file %r is ignored: %s", file, exc)
        return None

    def absolute(path: str) -> str:
        return path if os.path.isabs(path) else os.path.join(os.path.dirname(file), path)

    state.model_checkpoint_path = absolute(state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [absolute(p) for p in state.all_model_checkpoint_paths]
    return state


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """Return the prefix of a folder's latest checkpoint.

    Args:
        checkpoint_dir: the folder.
        latest_filename: name of the state file; ``checkpoint`` if left out.

    Returns:
        The prefix, or ``None`` if no state file names one or its files do not exist.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not state.model_checkpoint_path:
        return None
    if checkpoint_exists(state.model_checkpoint_path):
        return state.model_checkpoint_path
    _log.error("the files of the checkpoint %r do not exist", state.model_checkpoint_path)
    return None


# -- the files of a checkpoint ---------------------------------------------------------------------


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Return whether a prefix belongs to a checkpoint, in our format or in TensorFlow's.

    Args:
        checkpoint_prefix: prefix of its files, as returned by ``Saver.save``.
    """
    return checkpoints.checkpoint_exists(path_text(checkpoint_prefix, "checkpoint_prefix"))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """Return the modification times of checkpoints in seconds since 1970; missing ones are left out.

    Args:
        checkpoint_prefixes: prefixes of the checkpoints.
    """
    times = []
    for prefix in checkpoint_prefixes:
        path = checkpoints.main_file(path_text(prefix))
        if path is not None:
            with contextlib.suppress(FileNotFoundError):
                times.append(current_host().files.stat(path).st_mtime)
    return times


def remove_checkpoint(checkpoint_prefix: str, meta_graph_suffix: str = "meta") -> None:
    """Remove the files of a checkpoint; missing files are no error.

    Args:
        checkpoint_prefix: prefix of the files.
        meta_graph_suffix: suffix of the file with the graph.

    Raises:
        OpError: if the file system reports an error.
    """
    prefix = path_text(checkpoint_prefix, "checkpoint_prefix")
    checkpoints.remove_files(prefix)
    meta = meta_graph_filename(prefix, meta_graph_suffix)
    with file_errors(f"cannot remove {meta!r}"), contextlib.suppress(FileNotFoundError):
        current_host().files.unlink(meta)


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Return the name of the file that holds the graph of a checkpoint.

    Args:
        checkpoint_filename: prefix of the checkpoint, or of a shard of it.
        meta_graph_suffix: suffix of the file, after a dot.
    """
    return f"{re.sub('-[0-9?]+-of-[0-9]+$', '', checkpoint_filename)}.{meta_graph_suffix}"
