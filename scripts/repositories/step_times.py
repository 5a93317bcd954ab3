"""Runs ``actorsession run-tf1``, and writes how much processor time the runs of its sessions took.

The file ``step-times-PID.json`` of the folder ``$ACTORSESSION_STEP_TIMES`` is renewed each second, since a program
without end is killed. It has the times of the runs that took most in all: those of the step that trains.
With a number in ``$ACTORSESSION_SEED`` all random numbers begin with it, unless the program has a seed of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from actorsession.cli import main
from actorsession.graph.graph import Graph
from actorsession.session.base import BaseSession

__all__ = ["FOLDER", "SEED", "median_step"]

FOLDER, SEED = "ACTORSESSION_STEP_TIMES", "ACTORSESSION_SEED"
_PREFIX = "step-times-"
_PERIOD = 1.0


def median_step(folder: Path) -> float | None:
    """Return the median of the step that took most of all programs in a folder, in seconds; ``None`` without any."""
    steps: Iterable[list[float]] = (json.loads(file.read_text()) for file in folder.glob(f"{_PREFIX}*.json"))
    longest = max(steps, key=sum, default=[])
    return median(longest) if longest else None


def _record(file: Path) -> None:
    times: defaultdict[Any, list[float]] = defaultdict(list)
    run_request = BaseSession._run_request
    written = time.monotonic()

    def write() -> None:
        nonlocal written
        written = time.monotonic()
        part = file.with_suffix(".part")
        part.write_text(json.dumps(max(times.values(), key=sum, default=[])))
        part.replace(file)

    async def timed(self: BaseSession[Any], request: Any, *more: Any) -> Any:
        began = time.process_time()
        try:
            return await run_request(self, request, *more)
        finally:
            times[request.signature].append(time.process_time() - began)
            if time.monotonic() > written + _PERIOD:
                write()

    BaseSession._run_request = timed  # type: ignore[method-assign]
    atexit.register(write)


def _begin_with(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    make_graph = Graph.__init__

    def seeded(self: Graph, *arguments: Any, **more: Any) -> None:
        make_graph(self, *arguments, **more)
        self.seed = seed

    Graph.__init__ = seeded  # type: ignore[method-assign]


if __name__ == "__main__":
    if os.environ.get(SEED):
        _begin_with(int(os.environ[SEED]))
    _record(Path(os.environ[FOLDER]) / f"{_PREFIX}{os.getpid()}.json")
    sys.exit(main(["run-tf1", *sys.argv[1:]]))
