"""Rows of what savers need beside files; saving and restoring itself is tested elsewhere."""

from __future__ import annotations

import numpy as np

from actorsession.ops.variables.checkpointing import sharded_filename, sharded_filespec
from tests.ops.table.row import Fault, Row

PREFIX = np.array(b"folder/model", object)

ROWS = [
    Row(
        "ShardedFilename",
        sharded_filename,
        lambda base, shard, count: np.array(b"%s-%05d-of-%05d" % (base.item(), int(shard), int(count)), object),
    ).on(
        [(PREFIX, np.int32(0), np.int32(2)), (np.array(b"", object), np.int32(7), np.int32(123456))],
        faults=[
            Fault(
                (np.array([b"a", b"b"], object), np.int32(0), np.int32(2)),
                r"one string here, got shape \[2\]",
                "takes a scalar as basename",
            )
        ],
    ),
    Row(
        "ShardedFilespec",
        sharded_filespec,
        lambda base, count: np.array(b"%s-?????-of-%05d" % (base.item(), int(count)), object),
    ).on(
        [(PREFIX, np.int32(2)), (np.array(b"", object), np.int32(123456))],
        faults=[
            Fault(
                (np.array([b"a", b"b"], object), np.int32(2)),
                r"one string here, got shape \[2\]",
                "takes a scalar as basename",
            )
        ],
    ),
]
