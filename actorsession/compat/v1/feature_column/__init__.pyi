# Written by scripts/generated.py.
"""``tf.feature_column``: descriptions of features, and the tensors that models make of them.

``base`` has what all columns share and the cache of transformed features, ``dense`` the columns that are
numbers, ``categorical`` those that are ids, ``sequences`` both for sequences, and ``models`` what takes
columns: ``input_layer``, ``linear_model`` and ``make_parse_example_spec``.
"""

from actorsession.compat.v1.feature_column.categorical import (
categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
categorical_column_with_identity as categorical_column_with_identity,
categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list, crossed_column
as crossed_column, weighted_categorical_column as weighted_categorical_column
)
from actorsession.compat.v1.feature_column.dense import (
bucketized_column as bucketized_column, embedding_column as embedding_column, indicator_column as
indicator_column, numeric_column as numeric_column, shared_embedding_columns as
shared_embedding_columns
)
from actorsession.compat.v1.feature_column.models import (
input_layer as input_layer, linear_model as linear_model, make_parse_example_spec as
make_parse_example_spec
)
from actorsession.compat.v1.feature_column.sequences import (
sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
sequence_categorical_column_with_vocabulary_file as
sequence_categorical_column_with_vocabulary_file, sequence_categorical_column_with_vocabulary_list
as sequence_categorical_column_with_vocabulary_list, sequence_numeric_column as
sequence_numeric_column
)


__all__ = [
"bucketized_column", "categorical_column_with_hash_bucket", "categorical_column_with_identity",
"categorical_column_with_vocabulary_file", "categorical_column_with_vocabulary_list",
"crossed_column", "embedding_column", "indicator_column", "input_layer", "linear_model",
"make_parse_example_spec", "numeric_column", "sequence_categorical_column_with_hash_bucket",
"sequence_categorical_column_with_identity", "sequence_categorical_column_with_vocabulary_file",
"sequence_categorical_column_with_vocabulary_list", "sequence_numeric_column",
"shared_embedding_columns", "weighted_categorical_column"
]
