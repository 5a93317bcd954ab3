"""Checkpoints in the library's own format as sources: one safetensors file, or several behind an index.

This module defines the names of files. A checkpoint is identified by its *prefix*, as in TensorFlow:

- ``prefix.safetensors`` is a whole checkpoint;
- ``prefix.safetensors.index.json`` names the files of one that several devices wrote, in the form that other
  users of the format read: ``weight_map`` from tensor to file. Its ``metadata`` holds, under
  ``actorsession``, the checksum of each file's header; files of two checkpoints are never read as one.

The file that the prefix leads to is written last and replaced atomically, so that a checkpoint exists
completely or not at all. Shards are ``prefix.NONCE-00000-of-00002.safetensors`` and so on, with the nonce of
their save: they never overwrite those of an earlier checkpoint, which are removed once the new index exists.
Shards of saves that ended without an index are removed by the next save. Shards of an older form have no
nonce.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from actorsession.checkpoints import nonce as nonces
from actorsession.checkpoints.atomic import (
    UNFINISHED,
    drop_files,
    file_errors,
    files_beginning,
    keep_file,
    open_file,
    remove_abandoned,
    remove_unused,
    replace_file,
    write_whole,
)
from actorsession.checkpoints.entry import Entry, PieceOf, add_piece
from actorsession.checkpoints.safetensors import SUFFIX, VERSION, SafetensorsFile, Stored, write_file
from actorsession.checkpoints.seals import check_unsealed, is_sealed, seal
from actorsession.checkpoints.slices import Extent, parse_spec
from actorsession.config.file_roots import ANYWHERE, FileRoots
from actorsession.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError
from actorsession.json_text import read_json
from transports.host import current_host

__all__ = [
    "BUNDLE_SUFFIX",
    "INDEX_SUFFIX",
    "NativeCheckpoint",
    "check_prefix",
    "main_files",
    "merge",
    "remove_files_of",
    "remove_remains",
    "save",
    "saving",
    "sharded_name",
    "stored_name",
]

INDEX_SUFFIX = SUFFIX + ".index.json"
# The file that a prefix leads to in TensorFlow's format.
BUNDLE_SUFFIX = ".index"
_OURS = "actorsession"
# The beginning of an index, before its checksum.
_BEGIN = b'{\n "metadata": {\n  "own_crc32": "'
_SHARD = re.compile(rf"(?:\.(?P<nonce>{nonces.FORM}))?-\d{{5}}-of-\d{{5}}")
# What follows the prefix of a shard in the formats of TensorFlow, whose shards have other names in the end.
_OTHER_SUFFIXES = r"(?:\.index|\.data-\d{5}-of-\d{5}|)"
_NONCES = re.compile(rf"\.{nonces.FORM}(?=-\d{{5}}-of-\d{{5}}\.safetensors)".encode())
# Seconds after which a shard without an index counts as left over, if nothing else decides: no step takes as
# long.
_FORGOTTEN = 86400.0


def sharded_name(basename: str, shard: int, num_shards: int) -> str:
    """Return the prefix of one shard: ``basename-00000-of-00002``."""
    return f"{basename}-{shard:05d}-of-{num_shards:05d}"


@contextlib.contextmanager
def saving(prefix: str) -> Iterator[str]:
    """Open a save of a checkpoint in shards, which is in progress for the length of the block.

    If the block fails, the shards that it has written are removed.

    Args:
        prefix: of the checkpoint.

    Yields:
        The beginning of the prefixes of its shards, see ``sharded_name``.
    """
    with nonces.nonce_held() as nonce:
        try:
            yield f"{prefix}.{nonce}"
        except BaseException:
            remove_remains(prefix, abandoned=lambda other, *_: other == nonce)
            raise


def main_files(prefix: str) -> list[str]:
    """Return the files that a prefix may lead to, in any format; of several the latest one counts."""
    return [prefix, prefix + SUFFIX, prefix + INDEX_SUFFIX, prefix + BUNDLE_SUFFIX]


def stored_name(name: str, spec: str) -> str:
    """Return the name of a tensor in a file; for a slice its place follows."""
    # No node has a space in its name, so slices and whole tensors cannot collide.
    return f"{name} {spec}" if spec else name


# -- writing ---------------------------------------------------------------------------------------


def save(
    prefix: str, names: Sequence[str], specs: Sequence[str], values: Sequence[Any], files: FileRoots = ANYWHERE
) -> None:
    """Write tensors as the one file of a prefix, replacing the checkpoint that it led to.

    Args:
        prefix: of the checkpoint, or of a shard for ``merge``.
        names: of the tensors.
        specs: the ``shape_and_slice`` of each; empty for a whole tensor.
        values: arrays; borrowed.
        files: the folders in which files may be written.

    Raises:
        InvalidArgumentError: for a tensor that occurs twice, or does not fit its slice.
        OpError: if the file system refuses.
    """
    check_prefix(prefix)
    remove_remains(prefix, files)
    tensors: dict[str, Any] = {}
    parts: dict[str, tuple[str, str]] = {}
    for name, spec, value in zip(names, specs, values, strict=True):
        part = parse_spec(spec)
        if part is not None and part[1].sizes != getattr(value, "shape", ()):
            raise InvalidArgumentError(
                f"{name!r} is saved as the slice {spec!r}, which has shape "
                f"{list(part[1].sizes)}, but the tensor has shape "
                f"{list(getattr(value, 'shape', ()))}"
            )
        partial = part is not None and part[1] != Extent.whole(part[0])
        key = stored_name(name, spec if partial else "")
        if key in tensors:
            raise InvalidArgumentError(f"{key!r} would be saved twice in {prefix!r}")
        tensors[key] = value
        if partial:
            parts[key] = (name, spec)
    old = _shards_named(prefix, files)
    write_file(prefix + SUFFIX, tensors, parts, main_files(prefix), files)
    drop_files(prefix + INDEX_SUFFIX, *old, files=files)


def check_prefix(prefix: str, *, nameless: bool = False) -> None:
    """Refuse a prefix that names no file.

    Args:
        prefix: the beginning of the names of a checkpoint's files.
        nameless: whether it may be a folder, whose files have suffixes alone for names, as in TensorFlow.

    Raises:
        InvalidArgumentError: for one that is empty or ends in a slash.
    """
    if not (prefix if nameless else os.path.basename(prefix)):
        raise InvalidArgumentError(
            f"{prefix!r} names a folder; the prefix of a checkpoint must end in a name, as in 'folder/model'"
        )


def merge(prefixes: Sequence[str], destination: str, delete_old_dirs: bool = True, files: FileRoots = ANYWHERE) -> None:
    """Make one checkpoint of shards that were saved under prefixes of their own.

    Shards that do not have the name of a shard of the destination with a nonce are moved to one; the tensors
    are not read. The previous checkpoint of the destination is removed once the new one is complete.

    Args:
        prefixes: of the shards.
        destination: prefix of the whole.
        delete_old_dirs: whether folders that the shards leave empty are removed.
        files: the folders in which files may be moved, and none of which is removed.

    Raises:
        InvalidArgumentError: if there is no shard, or two have the same tensor.
        NotFoundError: if a shard is missing.
        AbortedError: if another process removes a shard.
        DataLossError: if one is damaged.
    """
    check_prefix(destination)
    if not prefixes:
        raise InvalidArgumentError(f"no shards were given for {destination!r}")
    remove_remains(destination, files)
    with nonces.nonce_held() as nonce:
        try:
            with contextlib.ExitStack() as held:
                for prefix in prefixes:
                    held.enter_context(keep_file(prefix + SUFFIX, files))
                targets = [
                    _place(prefix, sharded_name(f"{destination}.{nonce}", number, len(prefixes)), destination)
                    for number, prefix in enumerate(prefixes)
                ]
                old = set(_shards_named(destination, files)) - set(targets)
                _install(prefixes, targets, destination, files)
        except BaseException:
            remove_remains(destination, files, lambda other, *_: other == nonce)
            raise
    drop_files(destination + SUFFIX, *sorted(old), files=files)
    if delete_old_dirs:
        remove_empty_folders(prefixes, destination, files)


def remove_empty_folders(prefixes: Sequence[str], destination: str, files: FileRoots) -> None:
    """Remove the folders that shards have left empty, other than that of the whole."""
    for folder in set(map(os.path.dirname, prefixes)) - {os.path.dirname(destination)}:
        files.remove_empty(folder)


def _place(prefix: str, name: str, destination: str) -> str:
    """Return the final file of a shard, which keeps its place if no other save can use that name."""
    start = os.path.abspath(destination)
    own = os.path.abspath(prefix)
    match = _SHARD.fullmatch(own[len(start) :]) if own.startswith(start) else None
    return (prefix if match is not None and match["nonce"] else name) + SUFFIX


def _without_nonces(text: bytes) -> bytes:
    """Return the part of an index that its checksum is of: shards may get other names, in it and on disk."""
    return _NONCES.sub(b"", text)


def _install(prefixes: Sequence[str], targets: Sequence[str], destination: str, files: FileRoots) -> None:
    """Move shards to their places and write the index, which makes them the checkpoint."""
    entries: dict[str, Entry] = {}
    weights: dict[str, str] = {}
    headers: dict[str, str] = {}
    total = 0
    for prefix, target in zip(prefixes, targets, strict=True):
        file = SafetensorsFile(prefix + SUFFIX, files)
        file.close()
        for name, stored in file.header.tensors.items():
            if name in weights:
                raise InvalidArgumentError(f"two shards of {destination!r} contain {name!r}")
            _add(entries, name, stored, file)
            weights[name] = os.path.basename(target)
            total += stored.end - stored.begin
        headers[os.path.basename(target)] = f"{file.header.crc:08x}"
    for prefix, target in zip(prefixes, targets, strict=True):
        if prefix + SUFFIX != target:
            replace_file(prefix + SUFFIX, target, files)
    index = {
        "metadata": {
            "own_crc32": "0" * 8,
            "total_size": total,
            _OURS: json.dumps({"version": VERSION, "headers": headers}),
        },
        "weight_map": weights,
    }
    text = seal(json.dumps(index, indent=1).encode(), _BEGIN, _without_nonces)
    index_file, others = destination + INDEX_SUFFIX, main_files(destination)
    write_whole(index_file, lambda file: file.writelines([text]), others, files=files)


# -- removing --------------------------------------------------------------------------------------


def remove_files_of(prefix: str) -> None:
    """Remove the files of a checkpoint in the library's format, beginning with the one the prefix leads to.

    Raises:
        OpError: if the file system refuses.
    """
    drop_files(prefix + INDEX_SUFFIX, prefix + SUFFIX, *[path for path, _ in _shards(prefix)])
    remove_remains(prefix)


def _shards(prefix: str, files: FileRoots = ANYWHERE, suffix: str = re.escape(SUFFIX)) -> list[tuple[str, str | None]]:
    """Return the existing shards of a prefix, of any checkpoint, with their nonces."""
    matches = files_beginning(prefix, _SHARD.pattern + suffix, files)
    return [(path, match["nonce"]) for path, match in matches]


def _shards_named(prefix: str, files: FileRoots) -> list[str]:
    """Return the shards of a prefix that its index names."""
    try:
        named = set(_read_index(prefix + INDEX_SUFFIX, files)[0].values())
    except (NotFoundError, DataLossError):
        return []
    return [path for path, _ in _shards(prefix, files) if os.path.basename(path) in named]


def _is_abandoned(nonce: str | None, path: str, files: FileRoots) -> bool:
    """Return whether a shard is known to be of a save that has ended; ``False`` for one without a nonce."""
    if nonce is None or nonces.has_ended(nonce):
        return nonce is not None
    with contextlib.suppress(OSError):
        return current_host().clock.time() - files.stat(path).st_mtime > _FORGOTTEN
    return False


def remove_remains(
    prefix: str, files: FileRoots = ANYWHERE, abandoned: Callable[[str | None, str, FileRoots], bool] = _is_abandoned
) -> None:
    """Remove the files of saves of a prefix that ended, or were killed, without a checkpoint.

    Args:
        prefix: of the checkpoint, of any format, or of a shard of it.
        files: the folders in which files may be removed.
        abandoned: from the nonce and the path of a shard to whether its save has ended.
    """
    prefix = re.sub(rf"{_SHARD.pattern}\Z", "", prefix)

    def is_named() -> bool:
        try:
            return os.path.basename(path) in _read_index(prefix + INDEX_SUFFIX, files)[0].values()
        except NotFoundError:
            return False
        except OpError:
            return True  # unknown, so the shard stays

    folder, name = os.path.split(prefix)
    suffixes = rf"({re.escape(SUFFIX)}(\.index\.json)?|{_OTHER_SUFFIXES})"
    form = rf"\.{re.escape(name)}({_SHARD.pattern})?{suffixes}{UNFINISHED}"
    remove_abandoned(folder, re.compile(form), files)
    for path, nonce in _shards(prefix, files):
        if abandoned(nonce, path, files):
            remove_unused(path, is_named, files)
    for path, nonce in _shards(prefix, files, _OTHER_SUFFIXES):
        if nonce is not None and abandoned(nonce, path, files):
            remove_unused(path, files=files)


# -- reading ---------------------------------------------------------------------------------------


class NativeCheckpoint:
    """An open checkpoint in the library's own format; a ``Source``.

    Args:
        path: a safetensors file, or the index of several.
        files: the folders in which files may be opened.

    Raises:
        DataLossError: if a file is damaged, missing from the index or of another checkpoint.
        NotFoundError: if ``path`` does not exist.
    """

    def __init__(self, path: str, files: FileRoots = ANYWHERE) -> None:
        self.path = path
        self._roots = files
        self.entries: dict[str, Entry] = {}
        self._files: list[SafetensorsFile] = []
        try:
            if path.endswith(INDEX_SUFFIX):
                self._open_index(path)
            else:
                self._add_file(SafetensorsFile(path, files))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the files; may be called twice."""
        for file in self._files:
            file.close()

    def _add_file(self, file: SafetensorsFile) -> None:
        self._files.append(file)
        for name, stored in file.header.tensors.items():
            _add(self.entries, name, stored, file)

    def _open_index(self, path: str) -> None:
        weights, headers = _read_index(path, self._roots)
        for name in sorted(set(weights.values())):
            try:
                beside = os.path.join(os.path.dirname(path), name)
                file = SafetensorsFile(beside, self._roots)
            except NotFoundError as exc:
                raise DataLossError(f"{path!r} names the file {name!r}, which is missing") from exc
            header = headers.get(name)
            if header is not None and header != f"{file.header.crc:08x}":
                raise DataLossError(
                    f"{file.path!r} is not the file that {path!r} was written with; saving was "
                    "interrupted, or one of the files was replaced"
                )
            self._add_file(file)
        held = {name for file in self._files for name in file.header.tensors}
        missing = sorted(set(weights) - held)
        if missing:
            raise DataLossError(f"{path!r} lists {missing[0]!r}, which is in no file")


def _add(entries: dict[str, Entry], name: str, stored: Stored, file: SafetensorsFile) -> None:
    """Add the tensor stored under ``name`` in a file to the tensors of a checkpoint."""
    shape, extent = stored.meant, Extent.whole(stored.meant)
    if stored.part_of is not None:
        name_of_whole, spec = stored.part_of
        try:
            part = parse_spec(spec)
        except InvalidArgumentError as exc:
            raise DataLossError(f"the header of {file.path!r} is damaged: {exc.message}") from exc
        if part is None or part[1].sizes != stored.meant:
            raise DataLossError(f"{file.path!r} has {name!r} as the slice {spec!r} of shape {list(stored.meant)}")
        shape, extent = part
        name_of_whole = str(name_of_whole)
    else:
        name_of_whole = name
    piece = PieceOf(extent, lambda: file.load(name))
    kind = stored.dtype.name if stored.dtype is not None else stored.kind
    add_piece(entries, name_of_whole, Entry(stored.dtype, kind, shape, [piece]), file.path)


def _read_index(path: str, files: FileRoots = ANYWHERE) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the maps from tensor to file, and from file to the checksum of its header."""
    with file_errors(f"cannot read {path!r}"), open_file(path, files) as file:
        text = file.read()
    try:
        index = read_json(text)
        metadata = index.get("metadata", {})
        sealed = is_sealed(text, _BEGIN, _without_nonces)
        if not sealed:
            check_unsealed(text, metadata)
        weights = dict(index["weight_map"])
        ours = read_json(metadata.get(_OURS, "{}"))
        headers = dict(ours.get("headers", {}))
        for name in weights.values():
            # An index must not lead out of its folder.
            if not isinstance(name, str) or os.path.basename(name) != name or name in ("", ".."):
                raise ValueError(f"{name!r} is not the name of a file beside the index")
            if b"\0" in os.fsencode(name):
                raise ValueError(f"{name!r} is the name of no file")
            if sealed and name not in headers:
                raise ValueError(f"{name!r} has no checksum there")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as exc:
        raise DataLossError(f"the index {path!r} is damaged: {exc}") from exc
    return weights, headers
