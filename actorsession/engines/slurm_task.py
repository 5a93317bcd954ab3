"""The program of one task in a Slurm step: ``python -m actorsession.engines.slurm_task FILE``.

It reads its order from a file that ``slurm_launcher`` has written, prints a line of JSON about the step that
it is, and serves until it is told to end, or until nothing has asked for it for some time (``Server.keep``).
The server prints its address, as every worker process does, and a last line says that the end was in order:
``srun`` returns 0 for a step whose node was lost. The token comes from the file that the environment names,
and is in none of these.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from actorsession.actors.loops import run
from actorsession.cluster import ClusterSpec, SecurityConfig, ServerSettings
from actorsession.cluster.launch.child import WorkerOptions, make_guard, serve
from actorsession.config import ConfigProto
from actorsession.engines.launcher import TaskOrder
from actorsession.errors import DataLossError, UnknownError
from actorsession.terminal_text import VisibleFormatter

__all__ = ["ENDED", "GRACE", "main", "order_text"]

GRACE = 3.0
"""Seconds that a task has for an orderly end, besides the time for a last snapshot."""

ENDED = b"actorsession: the task has ended in order"
"""The last line of a task on standard output."""

LOST = b"actorsession: lost: "
"""The beginning of that line if the last snapshot could not be written."""


def order_text(order: TaskOrder) -> str:
    """Return an order as JSON, without the token."""
    names = (
        "job index cluster_id cluster scheme keep devices restart_wait snapshot_dir snapshot_every file_roots imports"
    )
    fields: dict[str, Any] = {name: getattr(order, name) for name in names.split()}
    tls = order.security
    fields["security"] = None if tls is None else asdict(tls)
    fields["cluster"] = ClusterSpec(order.cluster).as_dict()
    return json.dumps(fields)


def main(path: str) -> None:
    """Serve the task whose order a file has.

    Raises:
        ImportError: if a module that the order names cannot be imported.
        OpError: for what ``Server`` raises.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(VisibleFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    order = json.loads(Path(path).read_text(encoding="utf-8"))
    host = os.environ["SLURMD_NODENAME"]
    for name in order["imports"]:
        importlib.import_module(name)
    _say({"step": os.environ["SLURM_STEP_ID"], "node": host})
    former = urlsplit(ClusterSpec(order["cluster"]).task_address(order["job"], order["index"]))
    if former.port and former.hostname == host:
        try:
            return _serve(order, host, former.port)
        except UnknownError:
            logging.getLogger("actorsession.cluster").info("port %s is taken", former.port)
    return _serve(order, host, 0)


def _serve(order: Mapping[str, Any], host: str, port: int) -> None:
    job, index = order["job"], order["index"]
    own = {job: {index: f"{order['scheme']}://{host}:{port}"}}
    cluster = ClusterSpec(order["cluster"])
    tasks = {**cluster.tasks(order["scheme"]), **ClusterSpec(own).tasks()}
    tls = order["security"]
    settings = ServerSettings(
        cluster_id=order["cluster_id"],
        config=ConfigProto(device_count=order["devices"]),
        snapshot_dir=order["snapshot_dir"],
        snapshot_every=order["snapshot_every"],
        file_roots=order["file_roots"] or None,
        restart_wait=order["restart_wait"],
        security=None if tls is None else SecurityConfig(**tls),
    )
    options = WorkerOptions(
        job=job,
        index=index,
        cluster=ClusterSpec.of_tasks(tasks),
        settings=settings,
        json=True,
        grace=GRACE,
        keep=order["keep"],
    )
    guard = make_guard(options)
    try:
        run(serve(options, guard))
    except DataLossError as error:
        sys.stdout.buffer.write(LOST + error.message.encode() + b"\n")
        sys.stdout.flush()
        raise
    finally:
        guard.close()
    sys.stdout.buffer.write(ENDED + b"\n")
    sys.stdout.flush()


def _say(value: Mapping[str, str]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
