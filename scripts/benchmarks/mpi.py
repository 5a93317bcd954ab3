"""Measures how long MPI takes for the rows of collectives, for comparison.

PYTHON scripts/benchmarks/mpi.py    measures; that Python needs mpi4py and numpy, and mpiexec beside it

Each row is an all-reduce of float32 arrays by processes of this machine over Open MPI's shared memory. The
answer is checked against numpy. Printed is the median of the times of rank 0.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

# Bytes of an array and repetitions, by the name in the rows.
_SIZES = {"4kb": (4 * 2**10, 2000), "1mb": (2**20, 300), "64mb": (64 * 2**20, 11)}
# Processes that wait give the core to others: there may be more of them than cores.
_SETTINGS = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def _measure() -> dict[str, float]:
    """Return the median seconds of an all-reduce of each size, in each of the processes."""
    mpi: Any = import_module("mpi4py.MPI")
    everyone = mpi.COMM_WORLD
    found = {}
    for name, (nbytes, times) in _SIZES.items():
        value = np.arange(nbytes // 4, dtype="f4") * (everyone.Get_rank() + 1)
        total = np.empty_like(value)
        seconds = []
        for _ in range(times):
            everyone.Barrier()
            began = time.perf_counter()
            everyone.Allreduce(value, total)
            seconds.append(time.perf_counter() - began)
        members = everyone.Get_size()
        expected = np.arange(nbytes // 4, dtype="f4") * (members * (members + 1) / 2)
        assert np.allclose(total, expected), name
        found[name] = statistics.median(seconds)
    return found


def _main() -> None:
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        found = _measure()
        if os.environ["OMPI_COMM_WORLD_RANK"] == "0":
            print(json.dumps(found))
        return
    for tasks in (2, 4):
        command = [
            str(Path(sys.executable).parent / "mpiexec"),
            "-n",
            str(tasks),
            "--oversubscribe",
            sys.executable,
            __file__,
        ]
        run = subprocess.run(command, env=os.environ | _SETTINGS, stdout=subprocess.PIPE, text=True, check=True)
        for name, seconds in json.loads(run.stdout.splitlines()[-1]).items():
            print(f"reduce-{name}-{tasks}  {1e3 * seconds:9.3f} ms")


if __name__ == "__main__":
    _main()
