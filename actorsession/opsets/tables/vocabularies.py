"""Vocabularies: tables from words to ids and back, from a file or a list.

Composed of ``tables``; TensorFlow 1 has these functions in its ``lookup`` module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.dtypes import as_dtype, int64, string
from actorsession.ops.arrays.dimensions import size
from actorsession.ops.arrays.fills import range_
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.opsets.tables.initializers import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from actorsession.opsets.tables.tables import StaticHashTable, StaticVocabularyTable

__all__ = [
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    *,
    key_dtype: Any = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> StaticHashTable | StaticVocabularyTable:
    """Return a table from the words of a file, one per line, to their line numbers.

    Args:
        vocabulary_file: name of the file.
        num_oov_buckets: number of buckets for other words.
        vocab_size: number of lines to read; all if left out.
        default_value: id of other words if there are no buckets.
        key_dtype: string, or an integer type.
        name: name of the table's node.
        key_column_index: column of the words.
        value_column_index: column of the ids.
        delimiter: the character between columns.

    Raises:
        ValueError: without a file, or for a negative number of buckets or a ``vocab_size`` below 1.
    """
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    _check_buckets(num_oov_buckets)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    key_type = as_dtype(key_dtype)
    init = TextFileInitializer(
        vocabulary_file,
        int64 if key_type.is_integer else key_type,
        key_column_index,
        int64,
        value_column_index,
        vocab_size,
        delimiter,
    )
    if num_oov_buckets:
        return StaticVocabularyTable(init, num_oov_buckets, key_type, name)
    return StaticHashTable(init, default_value, name)


def index_table_from_tensor(
    vocabulary_list: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    *,
    dtype: Any = string,
    name: str | None = None,
) -> StaticHashTable | StaticVocabularyTable:
    """Return a table from words to their positions in a list.

    Args:
        vocabulary_list: a vector of words.
        num_oov_buckets: number of buckets for other words.
        default_value: id of other words if there are no buckets.
        dtype: string, or an integer type.
        name: name of the table's node.

    Raises:
        ValueError: without a list, or for a negative number of buckets.
        TypeError: if ``dtype`` is another, or not that of the list.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` must be specified.")
    _check_buckets(num_oov_buckets)
    word_type = as_dtype(dtype)
    if word_type.kind not in "iu" and word_type is not string:
        raise TypeError(f"words are strings or integers, got {word_type.name}")
    words = convert_to_tensor(vocabulary_list, word_type)
    keys = words if word_type is string else cast(words, int64)
    with words.graph.as_default():
        known = words.shape.num_elements()
        ids: Any = cast(range_(size(words)), int64) if known is None else np.arange(known)
        init = KeyValueTensorInitializer(keys, ids, value_dtype=int64)
        if num_oov_buckets:
            return StaticVocabularyTable(init, num_oov_buckets, word_type, name)
        return StaticHashTable(init, default_value, name)


def _check_buckets(count: int) -> None:
    if count < 0:
        raise ValueError(f"`num_oov_buckets` must be greater than or equal to 0, got {count}.")


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """Return a table from line numbers to the words of a file, one per line.

    Args:
        vocabulary_file: name of the file.
        vocab_size: number of lines to read; all if left out.
        default_value: the word of other numbers.
        name: name of the table's node.
        key_column_index: column of the ids.
        value_column_index: column of the words.
        delimiter: the character between columns.

    Raises:
        ValueError: without a file, or for a ``vocab_size`` below 1.
    """
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    init = TextFileInitializer(
        vocabulary_file, int64, key_column_index, string, value_column_index, vocab_size, delimiter
    )
    return StaticHashTable(init, default_value, name)


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """Return a table from positions in a list to the words.

    Args:
        vocabulary_list: a vector of words.
        default_value: the word of other numbers.
        name: name of the table's node.

    Raises:
        ValueError: without a list.
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` must be specified.")
    words = convert_to_tensor(vocabulary_list, string)
    with words.graph.as_default():
        known = words.shape.num_elements()
        ids: Any = cast(range_(size(words)), int64) if known is None else np.arange(known)
        init = KeyValueTensorInitializer(ids, words, key_dtype=int64)
        return StaticHashTable(init, default_value, name)
