"""Checkpoints on a machine that loses power at any call of its disk: the old one or the new one is there, whole.

The scenarios are those of ``tests/crash_points.py``, where a process is killed, and what it wrote stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from pathlib import Path
from random import Random

import numpy as np
import pytest

import actorsession as acts
from actorsession import errors
from actorsession.checkpoints import main_file, write_whole
from actorsession.config.file_roots import FileRoots
from actorsession.testing import HostCrash, SimulatedCluster, SimulatedDisk, SimulatedHost, SimulatedLoop
from tests.crash_points import SCENARIOS
from transports.host import on_host

NAMES = [name for name in SCENARIOS if name.startswith(("sharded", "one file", "TensorFlow's", "saver"))]
FOLDER = Path("/proc/simulated")  # where no real file could be made


def life(disk: SimulatedDisk, seed: int) -> SimulatedHost:
    """The next process of a machine with a disk."""
    return SimulatedHost(SimulatedLoop(seed), "machine", files=disk)


def prepared(name: str, seed: int) -> SimulatedDisk:
    """A disk with an old checkpoint."""
    disk = SimulatedDisk()
    with on_host(life(disk, -1 - seed)):
        write_whole(str(FOLDER / "other"), lambda file: file.write(b"of somebody else"))
        SCENARIOS[name].prepare(FOLDER)
    return disk


def names(disk: SimulatedDisk) -> list[str]:
    """What is in the folder; a whole checkpoint that no state file names any more stays, when it is not removed."""
    return [name for name in disk.listdir(FOLDER) if not name.startswith(("m-1.", "m-2."))]


def assert_old_or_new(name: str, every: int = 1) -> None:
    """Check a scenario whose machine loses power after 0, ``every``, twice ``every`` ... calls, until it does not."""
    scenario, disk = SCENARIOS[name], prepared(name, 0)
    for number in (1, 2):
        with on_host(life(disk, number)):
            scenario.work(FOLDER)
    usual, calls, is_over = len(names(disk)), 0, False
    while not is_over:
        disk, random = prepared(name, calls), Random(calls)
        disk.crash_after(calls, lambda disk=disk, random=random: disk.crash(random))  # type: ignore[misc]
        try:
            with on_host(life(disk, calls)):
                scenario.work(FOLDER)
        except HostCrash:
            pass
        else:
            is_over = True
            disk.heal()
            disk.crash(random)
        with on_host(life(disk, 1000 + calls)):
            assert scenario.look(FOLDER) == [], f"after {calls} calls"
            scenario.work(FOLDER)
            assert scenario.look(FOLDER) == [], f"after {calls} calls, and again"
        assert len(names(disk)) == usual, f"after {calls} calls: {names(disk)}"
        calls += every
    assert calls > 5


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_of_power_leaves_the_old_checkpoint_or_the_new_one(name: str) -> None:
    assert_old_or_new(name, every=4)


@pytest.mark.parametrize("seed", range(6))
def test_a_checkpoint_that_a_task_has_acknowledged_is_there_after_a_loss_of_its_power(seed: int) -> None:
    with acts.Graph().as_default() as graph, acts.device("/job:ps/task:0"):
        v = acts.Variable(np.zeros(300, np.float32), name="v")
        add = v.assign_add(np.ones(300, np.float32))
        saver = acts.train.Saver(max_to_keep=0)
    saved = 0

    async def train(session: acts.AsyncSession) -> None:
        nonlocal saved
        for step in itertools.count(1):
            await session.run(add)
            await saver.save_async(session, f"{FOLDER}/m", global_step=step)
            saved = step

    async def program(cluster: SimulatedCluster) -> None:
        async with cluster:
            process = cluster.process("ps")
            process.disk.crash_after(Random(seed).randrange(60), process.power_off)
            async with cluster.session(graph) as session:
                await session.run(v.initializer)
                with pytest.raises((errors.UnavailableError, errors.WorkerRestartedError)):
                    await train(session)
            await asyncio.sleep(10.0)  # until the machine is back
            async with cluster.session(graph) as session:
                for step in range(1, saved + 1):
                    await saver.restore_async(session, f"{FOLDER}/m-{step}")
                    assert set(await session.run(v)) == {float(step)}
                # The one that was being written is there whole, or not at all.
                with contextlib.suppress(ValueError):
                    await saver.restore_async(session, f"{FOLDER}/m-{saved + 1}")
                    assert set(await session.run(v)) == {float(saved + 1)}

    settings = acts.ServerSettings(file_roots=[FOLDER])
    SimulatedCluster(seed, {"ps": 1}, restart=1, settings=settings).run(program)


def test_a_disk_that_fails_is_not_taken_for_one_without_the_checkpoint() -> None:
    """Below the folders of a server, whose paths are opened folder by folder."""
    disk = prepared("one file", 0)
    with on_host(life(disk, 1)):
        prefix, roots = str(FOLDER / "m"), FileRoots([FOLDER])
        assert main_file(prefix, roots) == f"{prefix}.safetensors"
        disk.fail()
        with pytest.raises(errors.DataLossError, match="cannot look for '/proc/simulated/m': Input/output error"):
            main_file(prefix, roots)
        disk.heal()
        assert main_file(prefix, roots) == f"{prefix}.safetensors"
