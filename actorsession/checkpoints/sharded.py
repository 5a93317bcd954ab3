"""Checkpoints of ours as sources: one safetensors file, or several behind an index.

Owns the names of files. A checkpoint is known by its *prefix*, as in TensorFlow:

- ``prefix.safetensors`` is a whole checkpoint;
- ``prefix.safetensors.index.json`` names the files of one that several devices wrote, in the form that
  other users of the format know: ``weight_map`` from tensor to file. Its ``metadata`` holds, under
  ``actorsession``, the checksum of each file's header; files of two checkpoints are never read as one.

The file that the prefix leads to is written last and replaced in one go, so that a checkpoint is there whole
or not at all. Shards are ``prefix-00000-of-00002.safetensors`` and so on.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from actorsession.checkpoints.atomic import UNFINISHED, file_errors, replace_file, write_whole
from actorsession.checkpoints.entry import Entry, Piece, add_piece
from actorsession.checkpoints.safetensors import SUFFIX, SafetensorsFile, Stored, write_file
from actorsession.checkpoints.slices import Extent, parse_spec
from actorsession.config.file_roots import Opener
from actorsession.errors import DataLossError, InvalidArgumentError, NotFoundError

__all__ = [
    "INDEX_SUFFIX", "NativeCheckpoint", "files_of", "merge", "save", "sharded_name", "stored_name",
]  # fmt: skip

INDEX_SUFFIX = SUFFIX + ".index.json"
_OURS = "actorsession"
_SHARD = re.compile(r"-\d{5}-of-\d{5}\Z")


def sharded_name(basename: str, shard: int, num_shards: int) -> str:
    """The prefix of one shard: ``basename-00000-of-00002``."""
    return f"{basename}-{shard:05d}-of-{num_shards:05d}"


def stored_name(name: str, spec: str) -> str:
    """What a tensor is called in a file: a slice has its place behind its name."""
    # No node has a space in its name, so that slices and whole tensors cannot collide.
    return f"{name} {spec}" if spec else name


# -- writing ---------------------------------------------------------------------------------------


def save(prefix: str, names: Sequence[str], specs: Sequence[str], values: Sequence[Any]) -> None:
    """Writes tensors as the one file of a prefix, in the place of whatever it led to.

    Args:
        prefix: of the checkpoint, or of a shard that ``merge`` is to make one of.
        names: of the tensors.
        specs: the ``shape_and_slice`` of each; empty for a whole tensor.
        values: arrays; borrowed.

    Raises:
        InvalidArgumentError: for a tensor that stands there twice, or does not fit its slice.
        OpError: if the file system refuses.
    """
    check_prefix(prefix)
    tensors: dict[str, Any] = {}
    parts: dict[str, tuple[str, str]] = {}
    for name, spec, value in zip(names, specs, values, strict=True):
        part = parse_spec(spec)
        if part is not None and part[1].sizes != getattr(value, "shape", ()):
            raise InvalidArgumentError(
                f"{name!r} is saved as the slice {spec!r}, which has shape {list(part[1].sizes)}; the "
                f"tensor has shape {list(getattr(value, 'shape', ()))}"
            )
        partial = part is not None and part[1] != Extent.whole(part[0])
        key = stored_name(name, spec if partial else "")
        if key in tensors:
            raise InvalidArgumentError(f"{key!r} is to be saved twice in {prefix!r}")
        tensors[key] = value
        if partial:
            parts[key] = (name, spec)
    write_file(prefix + SUFFIX, tensors, parts)
    _drop(prefix + INDEX_SUFFIX)


def check_prefix(prefix: str) -> None:
    """Refuses a prefix that names no file.

    Raises:
        InvalidArgumentError: for one that is empty or ends in a slash.
    """
    if not os.path.basename(prefix):
        raise InvalidArgumentError(
            f"{prefix!r} names a folder: a checkpoint's prefix ends in a name, as in 'folder/model'"
        )


def merge(prefixes: Sequence[str], destination: str, delete_old_dirs: bool = True) -> None:
    """Makes one checkpoint of shards that were saved under prefixes of their own.

    The files are moved to the names that shards of the destination have; the tensors are not read.

    Args:
        prefixes: of the shards.
        destination: prefix of the whole.
        delete_old_dirs: whether folders that the shards leave empty are removed.

    Raises:
        InvalidArgumentError: if there is no shard, or two have the same tensor.
        NotFoundError: if a shard is missing.
        DataLossError: if one is damaged.
    """
    check_prefix(destination)
    if not prefixes:
        raise InvalidArgumentError(f"no shards were given to make {destination!r} of")
    entries: dict[str, Entry] = {}
    weights: dict[str, str] = {}
    headers: dict[str, str] = {}
    moves: list[tuple[str, str]] = []
    total = 0
    for number, prefix in enumerate(prefixes):
        file = SafetensorsFile(prefix + SUFFIX)
        file.close()
        target = sharded_name(destination, number, len(prefixes)) + SUFFIX
        for name, stored in file.header.tensors.items():
            if name in weights:
                raise InvalidArgumentError(f"two shards of {destination!r} have {name!r}")
            _add(entries, name, stored, file)
            weights[name] = os.path.basename(target)
            total += stored.end - stored.begin
        headers[os.path.basename(target)] = f"{file.header.crc:08x}"
        if os.path.abspath(file.path) != os.path.abspath(target):
            moves.append((file.path, target))
    for source, target in moves:
        replace_file(source, target)
    index = {
        "metadata": {"total_size": total, _OURS: json.dumps({"version": 1, "headers": headers})},
        "weight_map": weights,
    }
    text = json.dumps(index, indent=1).encode()
    write_whole(destination + INDEX_SUFFIX, lambda file: _ignore(file.write(text)))
    _drop(destination + SUFFIX)
    if delete_old_dirs:
        for folder in {os.path.dirname(source) for source, _ in moves} - {""}:
            with contextlib.suppress(OSError):  # it is not empty, and stays
                os.rmdir(folder)


def _ignore(count: int) -> None:
    """The number of bytes written, which is all of them."""


def _drop(path: str) -> None:
    """Removes what a prefix led to before; readers prefer the younger, should this not come about."""
    with file_errors(f"cannot remove {path!r}"), contextlib.suppress(FileNotFoundError):
        os.unlink(path)


# -- reading ---------------------------------------------------------------------------------------


class NativeCheckpoint:
    """A checkpoint of ours that is open; a ``Source``.

    Args:
        path: a safetensors file, or the index of several.
        opener: opens each of them, as that of ``open``.

    Raises:
        DataLossError: if a file is damaged, missing from the index or of another checkpoint.
        NotFoundError: if ``path`` does not exist.
    """

    def __init__(self, path: str, opener: Opener | None = None) -> None:
        self.path = path
        self._opener = opener
        self.entries: dict[str, Entry] = {}
        self._files: list[SafetensorsFile] = []
        try:
            if path.endswith(INDEX_SUFFIX):
                self._open_index(path)
            else:
                self._add_file(SafetensorsFile(path, opener))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Lets go of the files; may be called twice."""
        for file in self._files:
            file.close()

    def _add_file(self, file: SafetensorsFile) -> None:
        self._files.append(file)
        for name, stored in file.header.tensors.items():
            _add(self.entries, name, stored, file)

    def _open_index(self, path: str) -> None:
        weights, headers = _read_index(path, self._opener)
        for name in sorted(set(weights.values())):
            try:
                beside = os.path.join(os.path.dirname(path), name)
                file = SafetensorsFile(beside, self._opener)
            except NotFoundError as exc:
                raise DataLossError(f"{path!r} names the file {name!r}, which is missing") from exc
            wanted = headers.get(name)
            if wanted is not None and int(wanted, 16) != file.header.crc:
                raise DataLossError(
                    f"{file.path!r} is not the file that {path!r} was written with: saving the two was "
                    "interrupted, or one was replaced"
                )
            self._add_file(file)
        held = {name for file in self._files for name in file.header.tensors}
        missing = sorted(set(weights) - held)
        if missing:
            raise DataLossError(f"{path!r} promises {missing[0]!r}, which no file has")


def _add(entries: dict[str, Entry], name: str, stored: Stored, file: SafetensorsFile) -> None:
    """Adds what a file stores under ``name`` to the tensors of a checkpoint."""
    shape, extent = stored.meant, Extent.whole(stored.meant)
    if stored.part_of is not None:
        name_of_whole, spec = stored.part_of
        try:
            part = parse_spec(spec)
        except InvalidArgumentError as exc:
            raise DataLossError(f"the header of {file.path!r} is damaged: {exc.message}") from exc
        if part is None or part[1].sizes != stored.meant:
            raise DataLossError(
                f"{file.path!r} has {name!r} as the slice {spec!r} of shape {list(stored.meant)}"
            )
        shape, extent = part
        name_of_whole = str(name_of_whole)
    else:
        name_of_whole = name
    piece = Piece(extent, lambda: file.load(name))
    kind = stored.dtype.name if stored.dtype is not None else stored.kind
    add_piece(entries, name_of_whole, Entry(stored.dtype, kind, shape, [piece]), file.path)


def _read_index(path: str, opener: Opener | None) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """From tensor to file, and from file to the checksum of its header."""
    with file_errors(f"cannot read {path!r}"), open(path, "rb", opener=opener) as file:
        text = file.read()
    try:
        index = json.loads(text)
        weights = dict(index["weight_map"])
        ours = json.loads(index.get("metadata", {}).get(_OURS, "{}"))
        headers = dict(ours.get("headers", {}))
        for name in weights.values():
            # An index must not lead out of its folder.
            if not isinstance(name, str) or os.path.basename(name) != name or name in ("", ".."):
                raise ValueError(f"{name!r} is no name of a file beside the index")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
        raise DataLossError(f"the index {path!r} is damaged: {exc}") from exc
    return weights, headers


def files_of(prefix: str) -> list[str]:
    """The files that belong to a checkpoint of ours, that which the prefix leads to first."""
    shards = [
        path
        for path in glob.glob(f"{glob.escape(prefix)}-*-of-*{SUFFIX}")
        if _SHARD.match(path[len(prefix) : -len(SUFFIX)])
    ]
    found = [path for path in (prefix + INDEX_SUFFIX, prefix + SUFFIX) if os.path.isfile(path)]
    return found + sorted(shards) + _unfinished(prefix)


def _unfinished(prefix: str) -> list[str]:
    """What writers of a checkpoint left behind that were killed."""
    folder, name = os.path.split(prefix)
    form = re.compile(
        rf"\.{re.escape(name)}(-\d{{5}}-of-\d{{5}})?{re.escape(SUFFIX)}(\.index\.json)?{UNFINISHED}"
    )
    with contextlib.suppress(OSError):
        entries = sorted(os.listdir(folder or "."))
        return [os.path.join(folder, entry) for entry in entries if form.fullmatch(entry)]
    return []
