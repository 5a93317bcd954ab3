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
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import numpy as np

from actorsession import AsyncSession, Graph, Session
from actorsession.cluster import read_statistics
from actorsession.engines import DaskCluster, EngineCluster, RayCluster, SlurmCluster
from actorsession.errors import OpError, ResourceExhaustedError
from actorsession.rpc.security import shared_token
from tests.cluster.kit import PATIENCE, PS0, W1
from tests.engines.kit import model, reattached

FED = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
Make = Callable[..., EngineCluster]
TOKENS: list[str] = []  # of the clusters so far


async def tour(make: Make, too_much: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Use a cluster as a program does, kill a task, and return what was seen."""
    ends: list[str] = []
    seen: dict[str, Any] = {"ends": ends}
    graph = Graph()
    v, fed, out = model(graph)
    async with make({"ps": 1, "worker": 1}, restart=3, on_end=lambda e: ends.append(e.message)) as cluster:
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
            former = await incarnation(cluster)
            await cluster.restart("worker", 1)
            seen["by_hand"] = await incarnation(cluster) != former
            await cluster.scale("worker", 1)
            seen["shrunk"] = cluster.spec.task_indices("worker")
            seen["last"] = float(np.sum(await session.run(v)))
        seen["token_shown"] = cluster.token in json.dumps(seen)
        TOKENS.append(cluster.token)
        seen["gone"] = list(cluster.spec.tasks().values())
    seen["answering"] = [address for address in seen["gone"] if await answers(address)]
    try:
        async with make({"worker": 1}, resources=too_much, start_timeout=4.0):
            seen["refused"] = ""
    except ResourceExhaustedError as error:
        seen["refused"] = error.message
    return seen


async def incarnation(cluster: EngineCluster) -> int:
    """Return the incarnation of the second worker."""
    async with AsyncSession(cluster.target("worker", 1)) as session:
        found = {d.name: d.incarnation for d in await session.list_devices()}
    return found[f"{W1}/device:CPU:0"]


async def on_another_node(
    make: Make, wanted: dict[str, float], lose: Callable[[EngineCluster], Awaitable[None]]
) -> dict[str, Any]:
    """Lose the node of a parameter server that needs what only some nodes have."""
    graph = Graph()
    v, fed, out = model(graph)
    ends: list[str] = []
    async with make(
        {"ps": 1, "worker": 1}, resources={"ps": wanted}, restart=1, on_end=lambda end: ends.append(end.message)
    ) as cluster:
        async with AsyncSession(cluster.target("worker"), graph=graph) as session:
            await session.run(v.initializer)
            seen: dict[str, Any] = {"node": cluster.status()[PS0].node}
            TOKENS.append(cluster.token)
            await lose(cluster)
            seen["again"] = float(np.sum(await reattached(cluster, session, v, v)))
            seen["out"] = float(await session.run(out, {fed: FED}))
        seen["node_again"] = cluster.status()[PS0].node
        seen["restarts"] = cluster.restarts[PS0]
    return {**seen, "ends": ends}


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
    with make({"ps": 1, "worker": 1}) as cluster, Session(cluster.target("worker"), graph=graph) as session:
        session.run(v.initializer)
        return float(session.run(out, {fed: FED}))


def killed(*words: str) -> list[str]:
    """Start a driver, kill it, and return the addresses of its tasks that still answer in the end."""

    async def kill() -> list[str]:
        driver = await asyncio.create_subprocess_exec(
            sys.executable, "-m", __spec__.name, *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert driver.stdout is not None
        line = b""
        while not line.startswith(b"{"):  # engines write lines of their own
            line = await driver.stdout.readline()
        left = list(json.loads(line)["tasks"].values())
        driver.kill()
        await driver.wait()
        limit = time.monotonic() + 4 * PATIENCE
        while left and time.monotonic() < limit:
            left = [address for address in left if await answers(address)]
        return left

    return asyncio.run(kill())


def drive(make: Make) -> None:
    """Start a cluster and wait to be killed, or for the end of the process that started this one."""
    with make({"ps": 1, "worker": 1}) as cluster:
        write({"tasks": cluster.spec.tasks()})
        sys.stdin.read()


def on_ray() -> dict[str, Any]:
    """The tour on a Ray cluster of this machine, to which nodes with a disk come, and one of them is lost."""
    import ray
    from ray.cluster_utils import Cluster as Nodes

    def groups() -> list[dict[str, Any]]:
        return list(ray.util.placement_group_table().values())

    head = {
        "num_cpus": 4,
        "include_dashboard": False,
        # Any port: another Ray on this machine, such as that of a page, takes no jobs without its own.
        "dashboard_agent_listen_port": 0,
    }
    nodes = Nodes(initialize_head=True, head_node_args=head)
    ray.init(nodes.address, log_to_driver=False)
    try:
        seen = asyncio.run(tour(RayCluster, {"worker": {"num_gpus": 3}}))
        seen["synchronous"] = synchronous(RayCluster)
        seen["still_connected"] = ray.is_initialized()
        seen["left"] = killed("ray", "driver", nodes.address)
        lost = nodes.add_node(num_cpus=1, resources={"disk": 1})

        async def lose(_: EngineCluster) -> None:
            seen["groups"] = [group for group in groups() if group["state"] == "CREATED"]
            nodes.add_node(num_cpus=1, resources={"disk": 1})
            await asyncio.to_thread(nodes.remove_node, lost, allow_graceful=False)

        spread = partial(RayCluster, strategy="SPREAD")
        seen["moved"] = asyncio.run(on_another_node(spread, {"num_cpus": 0.5, "disk": 1.0}, lose))
        seen["groups_left"] = [group for group in groups() if group["state"] != "REMOVED"]
    finally:
        ray.shutdown()
        nodes.shutdown()
    return seen


def on_dask() -> dict[str, Any]:
    """The tour on a Dask cluster of this machine."""
    import distributed

    offers = {"SLOT": 2}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, resources=offers) as there,
        distributed.Client(there) as client,
    ):

        async def asynchronously() -> dict[str, Any]:
            async with distributed.Client(there.scheduler_address, asynchronous=True, set_as_default=False) as ours:

                def make(jobs: dict[str, int], **settings: Any) -> EngineCluster:
                    return DaskCluster(jobs, ours, **settings)

                with_disk = partial(distributed.Nanny, there.scheduler_address, nthreads=1, resources={"DISK": 1})
                seen = await tour(make, {"worker": {"SLOT": 3}})
                async with with_disk() as one, with_disk() as other:
                    disks = {one.worker_address: one, other.worker_address: other}

                    async def lose(cluster: EngineCluster) -> None:
                        await disks[cluster.status()[PS0].node].close()

                    seen["disks"] = sorted(disks)
                    seen["moved"] = await on_another_node(make, {"DISK": 1}, lose)
                return seen

        seen = asyncio.run(asynchronously())
        seen["synchronous"] = synchronous(DaskCluster)
        seen["still_connected"] = client.status == "running"
        seen["left"] = killed("dask", "driver", there.scheduler_address)
    return seen


def on_slurm() -> dict[str, Any]:
    """The tour on the Slurm that ``SLURM_CONF`` names."""
    seen = asyncio.run(tour(SlurmCluster, {"worker": {"cpus": 1000}}))
    seen["synchronous"] = synchronous(SlurmCluster)
    seen["left"] = killed("slurm", "driver")
    seen["still_connected"] = True  # there is no connection
    return seen


def write(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def main(engine: str, what: str, address: str = "") -> None:
    if what == "tour":
        write({**{"ray": on_ray, "dask": on_dask, "slurm": on_slurm}[engine](), "tokens": TOKENS})
    elif engine == "ray":
        drive(lambda jobs: RayCluster(jobs, address=address))
    elif engine == "slurm":
        drive(lambda jobs: SlurmCluster(jobs, keep=10.0))
    else:
        drive(lambda jobs: DaskCluster(jobs, address))


if __name__ == "__main__":
    main(*sys.argv[1:])
