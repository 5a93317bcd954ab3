"""``tf.test.create_local_cluster``: a cluster of servers in the process of a test."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from actorsession.compat.v1.train.server import Server

__all__ = ["create_local_cluster"]


def create_local_cluster(
    num_workers: int, num_ps: int, protocol: str = "grpc", worker_config: Any = None, ps_config: Any = None
) -> tuple[list[Server], list[Server]]:
    """Start a cluster of servers in this process, for tests, and return workers and parameter servers.

    Args:
        num_workers: the number of tasks of job ``worker``.
        num_ps: the number of tasks of job ``ps``.
        protocol: as for ``tf.train.Server``.
        worker_config: settings of the workers.
        ps_config: settings of the parameter servers.
    """
    counts = {"worker": num_workers, "ps": num_ps}
    with contextlib.ExitStack() as held:
        jobs = {job: [_free_address(held) for _ in range(n)] for job, n in counts.items() if n}
    configs = {"worker": worker_config, "ps": ps_config}
    servers = {
        job: [Server(jobs, job, index, protocol=protocol, config=configs[job]) for index in range(count)]
        for job, count in counts.items()
    }
    return servers["worker"], servers["ps"]


def _free_address(held: contextlib.ExitStack) -> str:
    probe = held.enter_context(socket.socket())
    probe.bind(("127.0.0.1", 0))
    return f"localhost:{probe.getsockname()[1]}"
