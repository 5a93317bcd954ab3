# Written by scripts/generated.py.
"""Lookup tables and vocabularies."""

from actorsession.opsets.tables.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from actorsession.opsets.tables.initializers import TextFileIndex as TextFileIndex
from actorsession.opsets.tables.initializers import TextFileInitializer as TextFileInitializer
from actorsession.opsets.tables.tables import HashTable as HashTable
from actorsession.opsets.tables.tables import MutableHashTable as MutableHashTable
from actorsession.opsets.tables.tables import StaticHashTable as StaticHashTable
from actorsession.opsets.tables.tables import StaticVocabularyTable as StaticVocabularyTable
from actorsession.opsets.tables.vocabularies import index_table_from_file as index_table_from_file
from actorsession.opsets.tables.vocabularies import index_table_from_tensor as index_table_from_tensor
from actorsession.opsets.tables.vocabularies import index_to_string_table_from_file as index_to_string_table_from_file
from actorsession.opsets.tables.vocabularies import index_to_string_table_from_tensor as index_to_string_table_from_tensor

__all__ = [
"HashTable", "KeyValueTensorInitializer", "MutableHashTable", "StaticHashTable",
"StaticVocabularyTable", "TextFileIndex", "TextFileInitializer", "index_table_from_file",
"index_table_from_tensor", "index_to_string_table_from_file", "index_to_string_table_from_tensor"
]
