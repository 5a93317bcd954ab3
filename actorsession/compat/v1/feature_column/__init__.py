"""``tf.feature_column``: descriptions of features, and the tensors that models make of them.

``base`` has what all columns share and the cache of transformed features, ``dense`` the columns that are
numbers, ``categorical`` those that are ids, ``sequences`` both for sequences, and ``models`` what takes
columns: ``input_layer``, ``linear_model`` and ``make_parse_example_spec``.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".categorical": (
        "categorical_column_with_hash_bucket categorical_column_with_identity "
        "categorical_column_with_vocabulary_file categorical_column_with_vocabulary_list "
        "crossed_column weighted_categorical_column"
    ),
    ".dense": ("bucketized_column embedding_column indicator_column numeric_column shared_embedding_columns"),
    ".models": "input_layer linear_model make_parse_example_spec",
    ".sequences": (
        "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
        "sequence_categorical_column_with_vocabulary_file "
        "sequence_categorical_column_with_vocabulary_list sequence_numeric_column"
    ),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
