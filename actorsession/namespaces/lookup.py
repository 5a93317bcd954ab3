"""Lookup tables and vocabularies."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.opsets.tables.initializers": ("KeyValueTensorInitializer TextFileIndex TextFileInitializer"),
    "actorsession.opsets.tables.tables": ("HashTable MutableHashTable StaticHashTable StaticVocabularyTable"),
    "actorsession.opsets.tables.vocabularies": (
        "index_table_from_file index_table_from_tensor index_to_string_table_from_file "
        "index_to_string_table_from_tensor"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
