"""One task of a TensorFlow cluster: a ``tf.train.Server`` that ends with the process that started it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from .tensorflow_module import tf

__all__ = ["main"]


def main(out: int, arguments: Sequence[str]) -> None:
    """Serve one task until standard input ends.

    Args:
        out: the file descriptor on which to report that the server runs.
        arguments: the cluster as JSON, the job, and the index in the job.
    """
    cluster, job, index = arguments
    spec = tf.train.ClusterSpec(json.loads(cluster))
    leader = "/job:worker/replica:0/task:0"  # without one, its tasks do not meet in collectives
    experimental = tf.ConfigProto.Experimental(collective_group_leader=leader)
    config = tf.ConfigProto(experimental=experimental)
    server = tf.train.Server(spec, job_name=job, task_index=int(index), config=config)
    os.write(out, server.target.encode() + b"\n")
    sys.stdin.read()
    os._exit(0)  # the server's own threads cannot be ended
