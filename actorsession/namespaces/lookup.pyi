# Written by scripts/generated.py.
"""Lookup tables and vocabularies."""

from actorsession.opsets.tables.initializers import (
KeyValueTensorInitializer as KeyValueTensorInitializer, TextFileIndex as TextFileIndex,
TextFileInitializer as TextFileInitializer
)
from actorsession.opsets.tables.tables import (
HashTable as HashTable, MutableHashTable as MutableHashTable, StaticHashTable as StaticHashTable,
StaticVocabularyTable as StaticVocabularyTable
)
from actorsession.opsets.tables.vocabularies import (
index_table_from_file as index_table_from_file, index_table_from_tensor as index_table_from_tensor,
index_to_string_table_from_file as index_to_string_table_from_file,
index_to_string_table_from_tensor as index_to_string_table_from_tensor
)


__all__ = [
"HashTable", "KeyValueTensorInitializer", "MutableHashTable", "StaticHashTable",
"StaticVocabularyTable", "TextFileIndex", "TextFileInitializer", "index_table_from_file",
"index_table_from_tensor", "index_to_string_table_from_file", "index_to_string_table_from_tensor"
]
