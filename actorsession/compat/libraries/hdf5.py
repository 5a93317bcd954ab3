"""``h5py`` as programs for TensorFlow 1 knew it: files of version 2, whose texts were bytes.

``run-tf1`` changes h5py when a program imports it; what it was is kept where programs do not depend on it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Empty", "Text", "restore_version_2"]


class Text(str):
    """A text of an attribute that can be decoded once more, as the bytes that programs expect."""

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the text itself."""
        return str(self)


class Empty(np.ndarray[Any, Any]):
    """An empty array of an attribute, which is false as it was before numpy 2.2."""

    def __bool__(self) -> bool:
        return False


def restore_version_2(h5py: Any) -> str:
    """Give h5py the behaviour of its version 2.

    Args:
        h5py: the module.

    Returns:
        What was done; empty if nothing had to be.
    """
    if int(h5py.__version__.partition(".")[0]) < 3:
        return ""
    attributes, file, dataset = h5py.AttributeManager, h5py.File, h5py.Dataset
    attributes.__getitem__ = _read_text(h5py, attributes.__getitem__)
    attributes.create = _written_as_bytes(attributes.create)
    file.__init__ = _opened_for_writing(file.__init__)
    dataset.__getitem__ = _as_texts(h5py, dataset.__getitem__)
    if not hasattr(dataset, "value"):
        dataset.value = property(lambda self: self[()], doc="All elements.")
    if not hasattr(file, "fid"):
        file.fid = property(lambda self: self.id, doc="The object of the lower level.")
    return (
        "attributes are bytes where they were written so, texts of datasets are str, files are opened for "
        "writing where no mode is given, Dataset.value and File.fid are there"
    )


def _read_text(h5py: Any, getitem: Any) -> Any:
    @functools.wraps(getitem)
    def read(self: Any, name: Any) -> Any:
        value = getitem(self, name)
        if isinstance(value, np.ndarray) and not value.size:
            return value.view(Empty)
        if isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype == object):
            kind = h5py.check_string_dtype(self.get_id(name).dtype)
            if kind is not None and kind.length is None:
                ascii = kind.encoding == "ascii"
                return _each(value, lambda x: os.fsencode(x) if ascii else Text(x))
        return value

    return read


def _each(texts: Any, change: Callable[[Any], Any]) -> Any:
    """Return a text, or an array of texts, with each of them changed."""
    if not isinstance(texts, np.ndarray):
        return change(texts)
    changed = np.empty(texts.size, object)
    changed[:] = [change(x) for x in texts.flat]
    return changed.reshape(texts.shape)


def _written_as_bytes(create: Any) -> Any:
    @functools.wraps(create)
    def write(self: Any, name: Any, data: Any, *args: Any, **named: Any) -> Any:
        if isinstance(data, (list, tuple)) and data and all(isinstance(x, bytes) for x in data):
            data = np.asarray(data)  # of a fixed length, as numpy's own type of bytes
        return create(self, name, data, *args, **named)

    return write


def _opened_for_writing(init: Any) -> Any:
    @functools.wraps(init)
    def opened(self: Any, name: Any, mode: str | None = None, *args: Any, **named: Any) -> None:
        if mode is None and isinstance(name, (str, bytes, os.PathLike)):
            path = Path(os.fsdecode(name))
            mode = "r" if path.exists() and not os.access(path, os.W_OK) else "a"
        init(self, name, *(() if mode is None else (mode,)), *args, **named)

    return opened


def _as_texts(h5py: Any, getitem: Any) -> Any:
    @functools.wraps(getitem)
    def read(self: Any, *args: Any, **named: Any) -> Any:
        value = getitem(self, *args, **named)
        kind = h5py.check_string_dtype(self.dtype)
        texts = isinstance(value, bytes) or (isinstance(value, np.ndarray) and value.dtype == object)
        if kind is None or kind.length is not None or kind.encoding != "utf-8" or not texts:
            return value
        return _each(value, lambda x: x.decode("utf-8", "surrogateescape"))

    return read
