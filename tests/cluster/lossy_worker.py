"""A worker process that loses what it should send to others.

Run as ``python -m tests.cluster.lossy_worker worker ...``: the command line of the package, with pushes that go
nowhere. The network itself cannot lose one message of a stream, so the loss is put where a fault of ours
would be: between the step and the link.
"""

from __future__ import annotations

import sys
from typing import Any

from actorsession.cli import main
from actorsession.cluster.worker_cache import WorkerCache


def _drop(cache: WorkerCache, task: str, message: Any) -> None:
    """Sends nothing."""


if __name__ == "__main__":
    setattr(WorkerCache, "push", _drop)  # noqa: B010 - the fault that this process is for
    sys.exit(main())
