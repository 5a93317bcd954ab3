"""``tf.contrib.lookup``: the tables of ``tf.lookup`` under their first names."""

from __future__ import annotations

import sys
from typing import Any

from actorsession.graph.dtypes import string
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops import Assert, convert_to_tensor, identity, not_equal, reduce_all
from actorsession.opsets.tables import vocabularies
from actorsession.opsets.tables.initializers import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from actorsession.opsets.tables.tables import HashTable, MutableHashTable, StaticVocabularyTable

__all__ = [
    "HashTable",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "MutableDenseHashTable",
    "MutableHashTable",
    "TextFileIndex",
    "TextFileInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
    "lookup_ops",
    "string_to_index",
    "string_to_index_table_from_file",
    "string_to_index_table_from_tensor",
]

lookup_ops = sys.modules[__name__]  # the name of its own module
index_to_string_table_from_file = vocabularies.index_to_string_table_from_file
index_to_string_table_from_tensor = vocabularies.index_to_string_table_from_tensor


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = None,
    key_dtype: Any = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Return a table from the words of a file to their line numbers; see ``tf.lookup``.

    Args:
        vocabulary_file: as there, like the arguments that follow.
        num_oov_buckets: the number of buckets for other words.
        vocab_size: the number of lines to read.
        default_value: the id of other words if there are no buckets.
        hasher_spec: accepted; there is one hash function.
        key_dtype: string, or an integer type.
        name: the name of the table's node.
        key_column_index: the column of the words.
        value_column_index: the column of the ids.
        delimiter: the character between columns.
    """
    del hasher_spec
    return vocabularies.index_table_from_file(
        vocabulary_file,
        num_oov_buckets,
        vocab_size,
        default_value,
        key_dtype=key_dtype,
        name=name,
        key_column_index=key_column_index,
        value_column_index=value_column_index,
        delimiter=delimiter,
    )


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = None,
    dtype: Any = string,
    name: str | None = None,
) -> Any:
    """Return a table from words to their positions in a list; see ``index_table_from_file``."""
    del hasher_spec
    if mapping is None:
        raise ValueError("`mapping` must be specified.")
    return vocabularies.index_table_from_tensor(mapping, num_oov_buckets, default_value, dtype=dtype, name=name)


def string_to_index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: Any = None,
    name: str | None = None,
) -> Any:
    """Return what ``index_table_from_file`` returns; an older name."""
    return index_table_from_file(vocabulary_file, num_oov_buckets, vocab_size, default_value, hasher_spec, name=name)


def string_to_index_table_from_tensor(
    mapping: Any, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: Any = None, name: str | None = None
) -> Any:
    """Return what ``index_table_from_tensor`` returns; an older name."""
    return index_table_from_tensor(mapping, num_oov_buckets, default_value, hasher_spec, name=name)


def string_to_index(tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None) -> Any:
    """Return the position of each word of a tensor in a list; the table is made anew."""
    table = index_table_from_tensor(mapping, default_value=default_value)
    return table.lookup(tensor, name)


def index_to_string(tensor: Any, mapping: Any, default_value: Any = "UNK", name: str | None = None) -> Any:
    """Return the word of a list at each position of a tensor; the table is made anew."""
    table = index_to_string_table_from_tensor(mapping, default_value)
    return table.lookup(tensor, name)


class IdTableWithHashBuckets(StaticVocabularyTable):
    """A table with buckets for keys that another table does not have; see ``StaticVocabularyTable``.

    Args:
        table: the other table, or ``None``.
        num_oov_buckets: the number of buckets.
        hasher_spec: accepted; there is one hash function.
        name: the name of the table's node.
        key_dtype: dtype of the keys.
    """

    def __init__(
        self, table: Any, num_oov_buckets: int, hasher_spec: Any = None, name: str | None = None, key_dtype: Any = None
    ) -> None:
        del hasher_spec
        super().__init__(None, num_oov_buckets, key_dtype or getattr(table, "key_dtype", None), name)
        self._table = table


class MutableDenseHashTable(MutableHashTable):
    """A table that steps may change, in which two keys have a meaning and cannot be inserted.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        default_value: value for missing keys.
        empty_key: a key that marks free places in TensorFlow's table.
        deleted_key: one that marks places of removed keys; another one than ``empty_key``.
        initial_num_buckets: accepted; the table grows as it must.
        name: name of the table's node.
        checkpoint: accepted; tables are not saved with variables.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        del initial_num_buckets
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
        self._reserved = [convert_to_tensor(key, self.key_dtype) for key in (empty_key, deleted_key)]

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Insert entries, replacing those with the same key.

        Args:
            keys: keys of any shape, none of them one of the two.
            values: a value for each key.
            name: name of the operation.
        """
        return super().insert(self._allowed(keys), values, name)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """Remove entries; missing keys are ignored."""
        return super().remove(self._allowed(keys), name)

    def _allowed(self, keys: Any) -> Tensor:
        checked = convert_to_tensor(keys, self.key_dtype)
        checks = [
            Assert(reduce_all(not_equal(checked, key)), [f"the {what} key of a table cannot be used"])
            for key, what in zip(self._reserved, ("empty", "deleted"), strict=True)
        ]
        with control_dependencies(checks):
            return identity(checked)
