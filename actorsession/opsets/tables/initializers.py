"""Initializers of static lookup tables: from two tensors, or from the lines of a text file.

``tables`` calls ``initialize`` when it makes a table. The operation is added to the collection
``TABLE_INITIALIZERS``, and the name of its file to ``ASSET_FILEPATHS``, which saved models take along.
"""

from __future__ import annotations

from typing import Any, Protocol

from actorsession.graph.dtypes import DType, as_dtype, int64, string
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.graph_keys import GraphKeys
from actorsession.opsets.tables.kernels import LINE_NUMBER, WHOLE_LINE
from actorsession.opsets.text.kernels import text_of

__all__ = ["KeyValueTensorInitializer", "TableInitializer", "TextFileIndex", "TextFileInitializer"]


class HasHandle(Protocol):
    """The part of a table that an initializer needs."""

    @property
    def resource_handle(self) -> Tensor:
        """The table's handle."""


class TableInitializer(Protocol):
    """The interface of initializers, which fill a table."""

    @property
    def key_dtype(self) -> DType:
        """The dtype of keys."""

    @property
    def value_dtype(self) -> DType:
        """The dtype of values."""

    def initialize(self, table: HasHandle) -> Operation:
        """Add and return the operation that fills the table."""


def _registered(op: Operation) -> Operation:
    op.graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, op)
    return op


class KeyValueTensorInitializer:
    """An initializer that fills a table from two tensors.

    Args:
        keys: a vector of keys.
        values: their values.
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        name: name of the operation.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        self._name = name or "key_value_init"
        self._keys = convert_to_tensor(keys, key_dtype, "keys")
        self._values = convert_to_tensor(values, value_dtype, "values", graph=self._keys.graph)

    @property
    def key_dtype(self) -> DType:
        """The dtype of keys."""
        return self._keys.dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of values."""
        return self._values.dtype

    def initialize(self, table: HasHandle) -> Operation:
        """Add and return the operation that fills the table."""
        with table.resource_handle.graph.name_scope(self._name):
            handle = table.resource_handle
            return _registered(raw.LookupTableImportV2(handle, self._keys, self._values))


class TextFileIndex:
    """Special column indices of a text file."""

    WHOLE_LINE = WHOLE_LINE
    LINE_NUMBER = LINE_NUMBER


class TextFileInitializer:
    """An initializer that fills a table from the lines of a text file.

    Args:
        filename: a string scalar.
        key_dtype: dtype of the keys.
        key_index: their column, or one of ``TextFileIndex``: ``WHOLE_LINE`` for strings, ``LINE_NUMBER`` for
            int64.
        value_dtype: dtype of the values.
        value_index: their column, likewise.
        vocab_size: number of lines to read; all if left out.
        delimiter: the character between columns.
        name: name of the operation.
        value_index_offset: offset added to line numbers used as values.

    Raises:
        ValueError: if a dtype does not fit ``WHOLE_LINE`` or ``LINE_NUMBER``.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        self._filename = filename
        self._types = as_dtype(key_dtype), as_dtype(value_dtype)
        for dtype, column in zip(self._types, (key_index, value_index), strict=True):
            if column == LINE_NUMBER and dtype is not int64:
                raise ValueError(f"line numbers have the dtype int64, got {dtype.name}")
            if column == WHOLE_LINE and dtype is not string:
                raise ValueError(f"whole lines have the dtype string, got {dtype.name}")
        self._name = name or "text_file_init"
        self._attrs: dict[str, Any] = {
            "key_index": int(key_index),
            "value_index": int(value_index),
            "vocab_size": -1 if vocab_size is None else int(vocab_size),
            "delimiter": text_of(delimiter),
            "offset": int(value_index_offset),
        }

    @property
    def key_dtype(self) -> DType:
        """The dtype of keys."""
        return self._types[0]

    @property
    def value_dtype(self) -> DType:
        """The dtype of values."""
        return self._types[1]

    def initialize(self, table: HasHandle) -> Operation:
        """Add and return the operation that fills the table."""
        graph = table.resource_handle.graph
        with graph.name_scope(self._name):
            name = convert_to_tensor(self._filename, string, "asset_filepath", graph=graph)
            handle = table.resource_handle
            operation = _registered(raw.InitializeTableFromTextFileV2(handle, name, **self._attrs))
        if name.op.type == "Const":  # else its file is not known before a step runs
            graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, name)
        return operation
