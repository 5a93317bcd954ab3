"""Checkpoints on a machine that loses power at any call of its disk: the old one or the new one is there, whole.

The scenarios are those of ``tests/crash_points.py``, where a process is killed, and what it wrote stays.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from actorsession.checkpoints.atomic import make_folder
from actorsession.testing.simulation.disk import SimulatedDisk
from actorsession.testing.simulation.host import HostCrash, SimulatedEntropy
from tests.crash_points import SCENARIOS
from transports.host import Host, on_host

NAMES = [name for name in SCENARIOS if name.startswith(("sharded", "one file", "TensorFlow's", "saver"))]
FOLDER = Path("/proc/simulated")  # where no real file could be made


def life(disk: SimulatedDisk, seed: object) -> Host:
    """The next process of a machine with a disk."""
    return Host("machine", files=disk, entropy=SimulatedEntropy(Random(str(seed))))


def prepared(name: str, seed: object) -> SimulatedDisk:
    """A disk with an old checkpoint."""
    disk = SimulatedDisk()
    with on_host(life(disk, f"{seed} prepare")):
        make_folder(str(FOLDER))
        SCENARIOS[name].prepare(FOLDER)
    return disk


def names(disk: SimulatedDisk) -> list[str]:
    """What is in the folder; a whole checkpoint that no state file names any more stays, when it is not removed."""
    return [name for name in disk.listdir(FOLDER) if not name.startswith(("m-1.", "m-2."))]


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * ("saver" in n)) for n in NAMES])
def test_a_loss_of_power_leaves_the_old_checkpoint_or_the_new_one(name: str) -> None:
    scenario, disk = SCENARIOS[name], prepared(name, "whole")
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
        with on_host(life(disk, f"{calls} again")):
            assert scenario.look(FOLDER) == [], f"after {calls} calls"
            scenario.work(FOLDER)
            assert scenario.look(FOLDER) == [], f"after {calls} calls, and again"
        assert len(names(disk)) == usual, f"after {calls} calls: {names(disk)}"
        calls += 1
    assert calls > 5
