"""Reading a checkpoint of either format by its prefix, and the files that belong to a prefix.

This module holds ``CheckpointReader``, through which users and the restore op read. It determines the format
by the existing files: the library's own (``sharded``) or TensorFlow's (``bundle``, ``slice_table``). Where a
prefix has files of several, the one that was written last counts. Values are loaded on access.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from actorsession.checkpoints import slice_table
from actorsession.checkpoints.atomic import drop_files, if_there
from actorsession.checkpoints.entry import Entry, Source
from actorsession.checkpoints.safetensors import SUFFIX
from actorsession.checkpoints.sharded import BUNDLE_SUFFIX, INDEX_SUFFIX, NativeCheckpoint, remove_files_of
from actorsession.checkpoints.slices import Extent
from actorsession.config.file_roots import ANYWHERE, FileRoots, path_text
from actorsession.errors import InvalidArgumentError, NotFoundError
from actorsession.graph.dtypes import DType
from transports.host import current_host

__all__ = [
    "BUNDLE_SUFFIX",
    "MISSING",
    "CheckpointReader",
    "are_bundles",
    "checkpoint_exists",
    "main_file",
    "open_checkpoint",
    "remove_files",
]

# The beginning of the error for a prefix without files; a saver distinguishes it from a missing tensor by
# that.
MISSING = "there is no checkpoint "


def _candidates(prefix: str, files: FileRoots = ANYWHERE) -> list[tuple[str, Callable[[], Source]]]:
    """Return the files that a prefix may lead to, with a function to open each."""
    candidates: list[tuple[str, Callable[[], Source]]] = [
        (path, functools.partial(NativeCheckpoint, path, files)) for path in (prefix + SUFFIX, prefix + INDEX_SUFFIX)
    ]
    candidates.append((prefix + BUNDLE_SUFFIX, functools.partial(_open_bundle, prefix, files)))
    oldest = slice_table.files_of(prefix, files)
    if oldest:
        candidates.append((oldest[0], functools.partial(slice_table.SliceTable, prefix, files)))
    if prefix.endswith((SUFFIX, INDEX_SUFFIX)):
        candidates.append((prefix, lambda: NativeCheckpoint(prefix, files)))
    return candidates


def _open_bundle(prefix: str, files: FileRoots) -> Source:
    # Imported here because most programs never read one.
    from actorsession.checkpoints.bundle import TensorBundle

    return TensorBundle(prefix, files)


def _chosen(prefix: str, files: FileRoots = ANYWHERE) -> tuple[str, Callable[[], Source]] | None:
    ages: list[tuple[int, int]] = []
    candidates = _candidates(prefix, files)
    for number, (path, _) in enumerate(candidates):
        with if_there(path):
            status = files.stat(path)
            ages.append((status.st_mtime_ns, -number))
    return candidates[-max(ages)[1]] if ages else None


def main_file(prefix: str, files: FileRoots = ANYWHERE) -> str | None:
    """Return the file that a prefix leads to; ``None`` if there is none."""
    chosen = _chosen(prefix, files)
    return None if chosen is None else chosen[0]


def checkpoint_exists(prefix: str) -> bool:
    """Return whether a prefix leads to a checkpoint of either format; it is not opened."""
    return _chosen(prefix) is not None


def are_bundles(prefixes: Sequence[str], files: FileRoots = ANYWHERE) -> bool:
    """Return whether the shards of a checkpoint are in TensorFlow's format."""
    return all((main_file(prefix, files) or "").endswith(BUNDLE_SUFFIX) for prefix in prefixes)


def open_checkpoint(prefix: str, files: FileRoots = ANYWHERE) -> Source:
    """Open the checkpoint that a prefix leads to.

    Args:
        prefix: the prefix.
        files: the folders in which files may be opened.

    Raises:
        NotFoundError: if there is none.
        DataLossError: if it is damaged.
    """
    chosen = _chosen(prefix, files)
    if chosen is None:
        raise NotFoundError(f"{MISSING}{prefix!r}: neither {prefix + SUFFIX!r} nor {prefix + BUNDLE_SUFFIX!r} exists")
    return chosen[1]()


def remove_files(prefix: str) -> None:
    """Remove the files of a checkpoint of either format, beginning with the one that the prefix leads to.

    Raises:
        OpError: if the file system refuses.
    """
    oldest = slice_table.files_of(prefix)
    remove_files_of(prefix)
    drop_files(*oldest)
    index = prefix + BUNDLE_SUFFIX
    if current_host().files.isfile(index):
        from actorsession.checkpoints.bundle import data_files

        drop_files(index, *data_files(prefix))


class CheckpointReader:
    """A reader of the tensors of a checkpoint, of the library's own format or TensorFlow's.

    Files stay mapped until the reader is closed or garbage-collected.

    Args:
        prefix: the beginning of the names of the checkpoint's files.
        files: the folders in which files may be opened.

    Raises:
        NotFoundError: if there is no checkpoint of that prefix.
        DataLossError: if it is damaged.
    """

    def __init__(self, prefix: str, files: FileRoots = ANYWHERE) -> None:
        self._prefix = path_text(prefix, "prefix")
        self._source = open_checkpoint(self._prefix, files)

    def __enter__(self) -> CheckpointReader:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release the files; may be called twice."""
        self._source.close()

    @property
    def entries(self) -> Mapping[str, Entry]:
        """What is stored, by the names of tensors."""
        return self._source.entries

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shape of each tensor, by name."""
        return {name: list(entry.shape) for name, entry in self.entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return the element type of each tensor, by name, without unsupported ones."""
        entries = self.entries.items()
        return {name: entry.dtype for name, entry in entries if entry.dtype is not None}

    def has_tensor(self, tensor_str: str) -> bool:
        """Return whether there is a tensor of that name."""
        return _text(tensor_str) in self._source.entries

    def get_tensor(self, tensor_str: str) -> Any:
        """Return the value of a tensor: a new array; a numpy scalar or bytes for rank 0.

        Raises:
            NotFoundError: if there is none of that name; the message lists the nearest names.
            DataLossError: if it is damaged.
            UnimplementedError: for an element type that the library does not support.
        """
        value = self.read(tensor_str)
        return value if value.ndim else value[()]

    def debug_string(self) -> bytes:
        """Return one line for each tensor: name, element type and shape."""
        lines = [f"{name} ({entry.stored}) {list(entry.shape)}\n" for name, entry in sorted(self.entries.items())]
        return "".join(lines).encode()

    def entry(self, name: str) -> Entry:
        """Return the entry of a tensor.

        Raises:
            NotFoundError: if there is none of that name; the message lists the nearest names.
        """
        entries = self._source.entries
        entry = entries.get(name) or entries.get(name := _text(name))
        if entry is None:
            import difflib

            near = difflib.get_close_matches(name, self._source.entries, n=3, cutoff=0.5)
            hint = f"the most similar are {', '.join(map(repr, near))}" if near else "no name is similar"
            raise NotFoundError(
                f"the checkpoint {self._prefix!r} has no tensor {name!r}; of its {len(self._source.entries)} {hint}"
            )
        return entry

    def read(self, name: str, shape_and_slice: tuple[tuple[int, ...], Extent] | None = None) -> Any:
        """Return a tensor, or a slice of it, as a new array.

        Args:
            name: of the tensor.
            shape_and_slice: shape that the whole must have, and the part to read; all if left out.

        Raises:
            InvalidArgumentError: if the whole has another shape.
            NotFoundError: as for ``get_tensor``, whose other errors are possible too.
        """
        entry = self.entry(name)
        if shape_and_slice is None:
            return entry.read(name, self._prefix)
        shape, extent = shape_and_slice
        if shape != entry.shape:
            raise InvalidArgumentError(
                f"a slice of {name!r} of shape {list(shape)} was requested; in the checkpoint "
                f"{self._prefix!r} it has shape {list(entry.shape)}"
            )
        return entry.read(name, self._prefix, extent)

    def __repr__(self) -> str:
        return f"<CheckpointReader of {self._prefix!r} with {len(self._source.entries)} tensors>"


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)
