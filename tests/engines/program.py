"""A program that trains on a cluster of an engine and writes what it saw: run in a process of its own.

Engines leave threads and connections in the process that uses them, so tests do not. ``python -m
tests.engines.program ENGINE tour`` starts the engine and writes one object of JSON; ``... ENGINE driver
ADDRESS`` starts a cluster on a running engine, writes where its tasks are, and waits to be killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.cluster import read_statistics
from actorsession.engines import DaskCluster, EngineCluster, RayCluster
from actorsession.errors import OpError, ResourceExhaustedError
from actorsession.graph.graph import Graph
from actorsession.rpc.security import shared_token
from actorsession.session import AsyncSession, Session
from tests.cluster.kit import PATIENCE, PS0
from tests.engines.kit import model, reattached

FED = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
Make = Callable[..., EngineCluster]


async def tour(make: Make, too_much: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Use a cluster as a program does, kill a task, and return what was seen."""
    ends: list[str] = []
    seen: dict[str, Any] = {"ends": ends}
    graph = Graph()
    v, fed, out = model(graph)
    async with make(
        {"ps": 1, "worker": 1}, restart=3, on_end=lambda e: ends.append(e.message)
    ) as cluster:
        seen["tasks"] = cluster.spec.tasks()
        seen["nodes"] = sorted(status.node for status in cluster.status().values())
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await session.run(v.initializer)
            seen["first"] = float(await session.run(out, {fed: FED}))
            before = (await cluster.statistics())[PS0]
            seen["logs"] = list(await cluster.logs("ps"))
            os.kill(before.pid, signal.SIGKILL)
            seen["again"] = float(np.sum(await reattached(cluster, session, v, v)))
            seen["other_process"] = (await cluster.statistics())[PS0].pid != before.pid
            seen["restarts"] = cluster.restarts[PS0]
            await cluster.scale("worker", 2)
            seen["grown"] = cluster.spec.task_indices("worker")
            await cluster.scale("worker", 1)
            seen["shrunk"] = cluster.spec.task_indices("worker")
            seen["last"] = float(np.sum(await session.run(v)))
        seen["token_shown"] = cluster.token in json.dumps(seen)
        seen["gone"] = list(cluster.spec.tasks().values())
    seen["answering"] = [address for address in seen["gone"] if await answers(address)]
    try:
        async with make({"worker": 1}, resources=too_much, start_timeout=4.0):
            seen["refused"] = ""
    except ResourceExhaustedError as error:
        seen["refused"] = error.message
    return seen


async def answers(address: str) -> bool:
    """Return whether something serves at an address."""
    try:
        await read_statistics(address, token=shared_token(address) or "none of this cluster")
    except OpError as error:
        return "token" in error.message
    return True


def synchronous(make: Make) -> float:
    """Use a cluster in a program without an event loop."""
    graph = Graph()
    v, fed, out = model(graph)
    with make({"ps": 1, "worker": 1}) as cluster:
        with Session(cluster.target("worker"), graph=graph) as session:
            session.run(v.initializer)
            return float(session.run(out, {fed: FED}))


def killed(*words: str) -> list[str]:
    """Start a driver, kill it, and return the addresses of its tasks that still answer in the end."""

    async def kill() -> list[str]:
        driver = await asyncio.create_subprocess_exec(
            sys.executable, "-m", __spec__.name, *words, stdout=asyncio.subprocess.PIPE
        )
        assert driver.stdout is not None
        line = b""
        while not line.startswith(b"{"):  # engines write lines of their own
            line = await driver.stdout.readline()
        left = list(json.loads(line)["tasks"].values())
        driver.kill()
        await driver.wait()
        limit = time.monotonic() + PATIENCE
        while left and time.monotonic() < limit:
            left = [address for address in left if await answers(address)]
        return left

    return asyncio.run(kill())


def drive(make: Make) -> None:
    """Start a cluster and wait to be killed."""
    with make({"ps": 1, "worker": 1}) as cluster:
        write({"tasks": cluster.spec.tasks()})
        signal.pause()


def on_ray() -> dict[str, Any]:
    """The tour on a Ray cluster of this machine, which this program starts itself."""
    import ray

    context = ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    try:
        seen = asyncio.run(tour(RayCluster, {"worker": {"num_gpus": 3}}))
        seen["synchronous"] = synchronous(RayCluster)
        seen["still_connected"] = ray.is_initialized()
        seen["left"] = killed("ray", "driver", context.address_info["address"])
    finally:
        ray.shutdown()
    return seen


def on_dask() -> dict[str, Any]:
    """The tour on a Dask cluster of this machine."""
    import distributed

    offers = {"SLOT": 2}
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, resources=offers
        ) as there,
        distributed.Client(there) as client,
    ):

        async def asynchronously() -> dict[str, Any]:
            async with distributed.Client(
                there.scheduler_address, asynchronous=True, set_as_default=False
            ) as ours:
                return await tour(
                    lambda jobs, **settings: DaskCluster(jobs, ours, **settings),
                    {"worker": {"SLOT": 3}},
                )

        seen = asyncio.run(asynchronously())
        seen["synchronous"] = synchronous(DaskCluster)
        seen["still_connected"] = client.status == "running"
        seen["left"] = killed("dask", "driver", there.scheduler_address)
    return seen


def write(found: dict[str, Any]) -> None:
    """Write a line of JSON."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def main(engine: str, what: str, address: str = "") -> None:
    """Do what the command line says."""
    if what == "tour":
        write({"ray": on_ray, "dask": on_dask}[engine]())
    elif engine == "ray":
        drive(lambda jobs: RayCluster(jobs, address=address))
    else:
        drive(lambda jobs: DaskCluster(jobs, address))


if __name__ == "__main__":
    main(*sys.argv[1:])
