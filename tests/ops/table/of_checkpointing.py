"""Rows of what savers need beside files; saving and restoring itself is tested elsewhere."""

from __future__ import annotations

import numpy as np

from actorsession.ops.variables.checkpointing import sharded_filename, sharded_filespec
from tests.ops.table.row import Fault, Row

PREFIX = np.array(b"folder/model", object)

ROWS = [
    Row(
        op="ShardedFilename",
        build=sharded_filename,
        numpy=lambda base, shard, count: np.array(b"%s-%05d-of-%05d" % (base.item(), int(shard), int(count)), object),
        inputs=[(PREFIX, np.int32(0), np.int32(2)), (np.array(b"", object), np.int32(7), np.int32(123456))],
        no_gradient="strings have none; TensorFlow marks it so",
        faults=[
            Fault(
                (np.array([b"a", b"b"], object), np.int32(0), np.int32(2)),
                r"one string here, got shape \[2\]",
                static="takes a scalar as basename",
            )
        ],
    ),
    Row(
        op="ShardedFilespec",
        build=sharded_filespec,
        numpy=lambda base, count: np.array(b"%s-?????-of-%05d" % (base.item(), int(count)), object),
        inputs=[(PREFIX, np.int32(2)), (np.array(b"", object), np.int32(123456))],
        no_gradient="strings have none; TensorFlow marks it so",
        faults=[
            Fault(
                (np.array([b"a", b"b"], object), np.int32(2)),
                r"one string here, got shape \[2\]",
                static="takes a scalar as basename",
            )
        ],
    ),
]
