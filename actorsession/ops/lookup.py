"""TensorFlow's ``tf.lookup`` namespace; the folder ``tables`` defines its classes and functions."""

from __future__ import annotations

from actorsession.ops.tables.initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from actorsession.ops.tables.tables import (
    HashTable,
    MutableHashTable,
    StaticHashTable,
    StaticVocabularyTable,
)
from actorsession.ops.tables.vocabularies import (
    index_table_from_file,
    index_table_from_tensor,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
)

__all__ = [
    "HashTable", "KeyValueTensorInitializer", "MutableHashTable", "StaticHashTable",
    "StaticVocabularyTable", "TextFileIndex", "TextFileInitializer", "index_table_from_file",
    "index_table_from_tensor", "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]  # fmt: skip
