"""``tf.data.experimental``: further steps of pipelines."""

from __future__ import annotations

from actorsession.compat.v1.ops.arguments import older_names

_NAMES = {
    "actorsession.compat.v1.data.structures": (
        "INFINITE_CARDINALITY UNKNOWN_CARDINALITY from_list from_variant get_structure to_variant"
    ),
    "actorsession.opsets.datasets.combining": (
        "Counter RandomDataset Reducer assert_cardinality bucket_by_sequence_length cardinality "
        "choose_from_datasets copy_to_device dense_to_sparse_batch enumerate_dataset "
        "get_single_element group_by_reducer group_by_window ignore_errors map_and_batch "
        "map_and_batch=map_and_batch_with_legacy_function parallel_interleave "
        "parse_example_dataset prefetch_to_device rejection_resample sample_from_datasets scan "
        "shuffle_and_repeat take_while unbatch unique"
    ),
    "actorsession.opsets.datasets.files": ("CsvDataset make_batched_features_dataset make_csv_dataset"),
    "actorsession.opsets.datasets.optionals": "Optional get_next_as_optional",
    "actorsession.opsets.datasets.options": (
        "AUTOTUNE AutoShardPolicy AutotuneAlgorithm AutotuneOptions DistributeOptions "
        "ExternalStatePolicy MapVectorizationOptions OptimizationOptions StatsOptions "
        "ThreadingOptions"
    ),
    "actorsession.train.iterator_saving": "make_saveable_from_iterator",
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)
