"""``tf.data``: datasets and iterators."""

from __future__ import annotations

from actorsession.compat.v1.ops.arguments import older_names

_NAMES = {
    "actorsession.opsets.datasets.dataset": "Dataset",
    "actorsession.opsets.datasets.files": ("FixedLengthRecordDataset TFRecordDataset TextLineDataset"),
    "actorsession.opsets.datasets.iterators": "Iterator",
    "actorsession.opsets.datasets.elements": "DatasetSpec",
    "actorsession.opsets.datasets.options": "AUTOTUNE Options ThreadingOptions",
    ".experimental": "*=experimental",
    ".structures": (
        "INFINITE_CARDINALITY UNKNOWN_CARDINALITY get_output_classes get_output_shapes "
        "get_output_types make_initializable_iterator make_one_shot_iterator"
    ),
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)
