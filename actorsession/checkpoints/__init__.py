"""Checkpoints on disk: the formats, without any graph.

This package holds the library's own format (safetensors files, and an index where several devices wrote) and
the reading and writing of TensorFlow's. The save and restore ops use it, and so does ``train`` in the
caller's process. It imports the errors and the dtypes of the graph package, and nothing of ops.
"""

from __future__ import annotations

from actorsession.checkpoints.atomic import file_errors, write_whole
from actorsession.checkpoints.bundle_writer import merge_bundles, save_bundle
from actorsession.checkpoints.reader import (
    BUNDLE_SUFFIX,
    MISSING,
    CheckpointReader,
    are_bundles,
    checkpoint_exists,
    main_file,
    remove_files,
)
from actorsession.checkpoints.sharded import merge, save, saving, sharded_name
from actorsession.checkpoints.slice_table import filespec, join_tables, save_slices
from actorsession.checkpoints.slices import parse_spec, write_spec

__all__ = [
    "BUNDLE_SUFFIX", "MISSING", "CheckpointReader", "are_bundles", "checkpoint_exists", "file_errors",
    "filespec", "join_tables", "main_file", "merge", "merge_bundles", "parse_spec", "remove_files", "save",
    "save_bundle", "save_slices", "saving", "sharded_name", "write_spec", "write_whole",
]  # fmt: skip
