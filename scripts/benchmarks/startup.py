"""How long a program takes to start: imports, and the first answer of two workers. Run it by itself.

    .venv/bin/python scripts/benchmarks/startup.py [--times 5]

What importing takes is processor time beside that of numpy in the same process; the first answer is the
time on the clock from the start of a program that starts two local workers to the value that both computed.
Medians are printed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

IMPORT = """
import time
start = time.process_time()
import numpy
between = time.process_time()
import {what}
print(between - start, time.process_time() - between)
"""

FIRST_ANSWER = """
import asyncio
import actorsession as acts

async def main():
    with acts.device("/job:worker/task:0"):
        a = acts.constant(1.0)
    with acts.device("/job:worker/task:1"):
        b = a + acts.constant(2.0)
    async with acts.LocalCluster({"worker": 2}) as cluster:
        async with acts.AsyncSession(cluster.target("worker")) as session:
            assert await session.run(b) == 3.0
            print("answered", flush=True)

asyncio.run(main())
"""


def imports(what: str, times: int) -> tuple[float, float]:
    """Return the median seconds of importing numpy, and of importing something of ours after it."""
    found = []
    for _ in range(times):
        command = [sys.executable, "-c", IMPORT.format(what=what)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append([float(word) for word in done.stdout.split()])
    numpy, ours = (statistics.median(column) for column in zip(*found, strict=True))
    return numpy, ours


def first_answer(times: int) -> float:
    """Return the median seconds until two local workers have answered, from the start of the program."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        with subprocess.Popen([sys.executable, "-c", FIRST_ANSWER], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "answered\n"
            found.append(time.perf_counter() - start)
    return statistics.median(found)


def main(times: int) -> None:
    """Print all figures."""
    for what in ("actorsession", "actorsession.session.sync_session", "actorsession.cluster.launch.child"):
        numpy, ours = imports(what, times)
        print(f"import {what:40} {ours:6.3f} s beside {numpy:.3f} s of numpy")
    print(f"{'first answer of two local workers':47} {first_answer(times):6.3f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How long a program takes to start.")
    parser.add_argument("--times", type=int, default=5, help="runs of which the median is printed")
    main(parser.parse_args().times)
