"""Slurm: what needs a real one, set up by scripts/slurm, and errors of a machine that has none."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.cluster import TaskEnd, read_statistics
from actorsession.cluster.node_lists import expand_node_list
from actorsession.engines import SlurmCluster
from actorsession.errors import DeadlineExceededError, ResourceExhaustedError, UnavailableError
from tests.cli.kit import line_of
from tests.cluster.kit import PATIENCE, PS0
from tests.cluster.script import ROOT, environment, script
from tests.cluster.test_resolvers import LISTS
from tests.engines.processes import QUIET_ENGINES

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch")
SEARCHED = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
MISSING = [name for name in PROGRAMS if shutil.which(name, path=SEARCHED) is None]

pytestmark = pytest.mark.timeout(600)  # Slurm has limits of its own for all that it does

with_slurm = pytest.mark.skipif(
    bool(MISSING), reason=f"Slurm is not installed (no {', '.join(MISSING)}): scripts/slurm install"
)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Slurm of two nodes on this machine, to which commands and clusters of these tests go."""
    folder = tmp_path_factory.mktemp("s")
    tool = str(ROOT / "scripts" / "slurm")
    subprocess.run([tool, "start", str(folder)], check=True, timeout=PATIENCE + 30, stdin=subprocess.DEVNULL)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("SLURM_")]:
            patch.delenv(name)
        patch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        try:
            yield folder
        finally:
            subprocess.run([tool, "stop", str(folder)], check=True, timeout=PATIENCE)


def said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(2 * PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def no_job_is_left() -> bool:
    return not said("squeue", "--noheader")


def all_nodes_are_idle() -> bool:
    """Which they are some time after the end of the last job."""
    states = said("sinfo", "--noheader", "--Node", "--format=%t").split()
    return states == ["idle", "idle"] and no_job_is_left()


@with_slurm
def test_node_lists_are_those_that_scontrol_prints(slurm: Path) -> None:
    for text, _ in LISTS:
        assert expand_node_list(text) == said("scontrol", "show", "hostnames", text).split()


@with_slurm
@pytest.mark.process
@pytest.mark.parametrize("kind", ["block", "cyclic"])
def test_all_ranks_of_a_step_see_the_same_cluster_and_each_its_own_task(slurm: Path, kind: str) -> None:
    program = (
        "import json, os; from actorsession.cluster import SlurmClusterResolver as R;"
        "r = R({'ps': 1, 'worker': 2});"
        "node = os.environ['SLURMD_NODENAME'];"
        "print(json.dumps([r.task_type, r.task_id, node, r.cluster_spec().as_dict()]))"
    )
    words = ["srun", "-N2", "-n3", f"--distribution={kind}", sys.executable, "-c", program]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=True)
    ranks = [json.loads(line) for line in done.stdout.splitlines()]
    cluster = ranks[0][3]
    hosts = {
        (job, index): address.partition(":")[0]
        for job, addresses in cluster.items()
        for index, address in enumerate(addresses)
    }
    assert sorted(rank[:2] for rank in ranks) == [["ps", 0], ["worker", 0], ["worker", 1]]
    assert [rank[3] for rank in ranks] == [cluster] * 3
    assert {(job, index): node for job, index, node, _ in ranks} == hosts
    assert len({address for addresses in cluster.values() for address in addresses}) == 3


def sum_of_squares(first: str, second: str) -> tuple[acts.Graph, Any, Any, Any]:
    """A graph over two tasks: its feed, its initializer and its result; the variable is on the first."""
    graph = acts.Graph()
    with graph.as_default():
        x = acts.placeholder("float32", [4])
        with acts.device(first):
            scale = acts.Variable(2.0, name="scale")
        with acts.device(second):
            y = acts.reduce_sum(x * x) * scale
    return graph, x, scale.initializer, y


def command_lines_and_environments() -> Iterator[bytes]:
    """Those of all processes of this user."""
    for folder in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                yield (folder / name).read_bytes()
            except OSError:
                continue


@with_slurm
@pytest.mark.process
@pytest.mark.slow
async def test_a_cluster_on_slurm_survives_the_loss_of_a_node(slurm: Path, tmp_path: Path) -> None:
    """1. one job holds both nodes for three tasks; 2. a session runs over them, and the token is in no
    command line, environment, job or log; 3. the node of a worker is lost, and the worker comes back on the
    other one, in a job of its own; 4. the session goes on; 5. at the end the tasks save their variables, and
    no job is left, and no folder."""
    private, snapshots = tmp_path / "private", tmp_path / "snapshots"
    private.mkdir()
    lines: list[str] = []
    ends: list[TaskEnd] = []
    x = np.arange(4, dtype=np.float32)
    async with SlurmCluster(
        {"ps": 1, "worker": 2},
        folder=private,
        progress=lines.append,
        start_timeout=PATIENCE,
        snapshot_dir=snapshots,
        snapshot_every=3600.0,
        options=["--nodes=2", "--ntasks-per-node=2"],
        restart=5,
        on_end=ends.append,
    ) as cluster:
        (job,) = cluster.slurm_jobs
        assert lines[-1] == f"Slurm job {job} is running"
        check_folder(private, cluster.token)
        # The master and the variable are on the node that stays.
        lost = next(p for p in cluster.processes.values() if p.node == "127.0.0.2")
        kept = next(p for p in cluster.processes.values() if p.node == "127.0.0.1")
        graph, feed, initializer, y = sum_of_squares(kept.task, lost.task)
        async with acts.AsyncSession(kept.address, graph) as session:
            await session.run(initializer)
            assert await session.run(y, {feed: x}) == pytest.approx(2 * np.sum(x * x))
            check_secret(cluster.token.encode(), slurm)

            pid = (await read_statistics(lost.address)).pid
            said("scontrol", "update", "nodename=127.0.0.2", "state=down", "reason=test")
            try:
                with contextlib.suppress(ProcessLookupError):  # the node may have ended it by now
                    os.kill(pid, signal.SIGKILL)
                await until(lambda: bool(cluster.restarts[lost.task]) and cluster.status()[lost.task].alive)
                assert await session.run(y, {feed: x}) == pytest.approx(2 * np.sum(x * x))
            finally:
                said("scontrol", "update", "nodename=127.0.0.2", "state=resume")
        status = cluster.status()[lost.task]
        assert (status.node, status.restarts) == ("127.0.0.1", 1)
        assert [end.task for end in ends] == [lost.task]
        assert "has ended: its step was lost" in ends[0].message
        assert len(cluster.slurm_jobs) == 2
    assert list(private.iterdir()) == []
    assert list(snapshots.iterdir()), "the tasks were not given the time to end in order"
    await until(no_job_is_left)


def check_folder(parent: Path, token: str) -> None:
    """Nobody else may enter the folder of a cluster, or read its files."""
    (folder,) = parent.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir() if "new" not in path.name}
    assert modes == {"token": 0o600, "lease": 0o600, "job.sh": 0o600}
    assert (folder / "token").read_text() == token


def check_secret(secret: bytes, slurm: Path) -> None:
    """No command line, environment, log or description of a job has the token."""
    logs = [path.read_bytes() for path in slurm.glob("*.log")]
    jobs = [path.read_bytes() for path in (slurm / "state").glob("**/*") if path.is_file()]
    shown = said("scontrol", "show", "job", "--details").encode()
    found = [*command_lines_and_environments(), *logs, *jobs, shown]
    assert len(found) > 10
    assert not any(secret in text for text in found)


@with_slurm
@pytest.mark.process
@pytest.mark.slow
def test_a_cluster_on_slurm_does_what_one_on_ray_or_dask_does(slurm: Path, tmp_path: Path) -> None:
    """1. a killed task comes back, and the session goes on with ``reattach``; 2. a job grows and shrinks, and
    a task restarts by hand; 3. a program without a loop has one; 4. nothing is left of a driver that was
    killed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.program", "slurm", "tour"],
        cwd=ROOT,
        text=True,
        env=environment(HOME=str(tmp_path)),
        capture_output=True,
        timeout=9 * PATIENCE,
        check=True,
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    assert (seen["first"], seen["synchronous"]) == (20.0, 20.0)
    assert (seen["again"], seen["last"], seen["other_process"], seen["restarts"]) == (6.0, 6.0, True, 1)
    assert [end.partition(";")[0] for end in seen["ends"]] == [f"{PS0} has ended: killed by SIGKILL"]
    assert (seen["grown"], seen["by_hand"], seen["shrunk"]) == ([0, 1], True, [0])
    assert "asks for --ntasks=1 --cpus-per-task=1000, and there are " in seen["refused"]
    assert (seen["answering"], seen["left"], seen["token_shown"]) == ([], [], False)
    assert not any(token in done.stderr for token in seen["tokens"])
    (folder,) = tmp_path.iterdir()  # of the driver that was killed
    assert folder.stat().st_mode & 0o777 == 0o700


JOBQUEUE = """
    import sys

    import dask_jobqueue
    import distributed

    import actorsession as acts
    from actorsession.engines import DaskCluster

    on_slurm = dask_jobqueue.SLURMCluster(
        cores=1, memory="1GB", python=sys.executable, log_directory=".", local_directory=".",
        worker_extra_args=["--resources", "SLOT=1"], scheduler_options={"dashboard_address": ":0"},
    )
    with on_slurm as there, distributed.Client(there) as client:
        there.scale(2)
        client.wait_for_workers(2)
        slot = {"SLOT": 1}
        with DaskCluster({"ps": 1, "worker": 1}, client, resources={"ps": slot, "worker": slot}) as cluster:
            with acts.device("/job:ps/task:0"):
                v = acts.Variable(2.0)
            with acts.device("/job:worker/task:0"):
                y = v * 3.0
            with acts.Session(cluster.target("worker")) as session:
                session.run(v.initializer)
                print(session.run(y), len({status.node for status in cluster.status().values()}))
"""


@with_slurm
@pytest.mark.process
@pytest.mark.slow
def test_a_cluster_on_the_workers_of_dask_jobqueue_needs_no_code_of_ours(slurm: Path, tmp_path: Path) -> None:
    if importlib.util.find_spec("dask_jobqueue") is None:
        pytest.skip("dask-jobqueue is not installed")
    (tmp_path / "program.py").write_text(textwrap.dedent(JOBQUEUE))
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environment(**QUIET_ENGINES),
        text=True,
        capture_output=True,
        timeout=9 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["6.0 2"]), done.stderr[-5000:]


KILLED = """
    import actorsession as acts
    from actorsession.engines import SlurmCluster

    with SlurmCluster({"worker": 1}, folder=".", start_timeout=240, keep=10.0) as cluster:
        with acts.Session(cluster.target("worker")) as session:
            print(session.run(acts.constant(2.0) * 3.0), flush=True)
            input()
"""


@with_slurm
@pytest.mark.process
async def test_the_jobs_of_a_program_that_is_killed_end_by_themselves(slurm: Path, tmp_path: Path) -> None:
    with script(tmp_path, KILLED) as program:
        assert line_of(program) == "6.0\n"
        assert not no_job_is_left()
        program.kill()
        program.wait()
    await until(no_job_is_left)


THERE = "2 idle nodes of 64 processors in all"


@with_slurm
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--partition=none"], "Slurm refuses a job with --ntasks=1 --partition=none: .*; it has "),
        (["--cpus-per-task=1000"], r"is pending \(PartitionConfig\) .*=1000, and there are "),
    ],
)
async def test_what_cannot_be_had_is_said_with_what_there_is(
    slurm: Path, tmp_path: Path, options: list[str], complaint: str
) -> None:
    await until(all_nodes_are_idle)
    cluster = SlurmCluster({"worker": 1}, options=options, folder=tmp_path)
    with pytest.raises(ResourceExhaustedError, match=complaint + THERE):
        await cluster.start()
    assert list(tmp_path.iterdir()) == []


@with_slurm
async def test_a_job_that_waits_too_long_is_cancelled_with_its_reason(slurm: Path, tmp_path: Path) -> None:
    await until(all_nodes_are_idle)
    complaint = r"job \d+ is pending \(BeginTime\) .*--ntasks=2 --begin=now\+1hour, and there are "
    for limit in (0.3, 3.0, 30.0):  # on a busy machine sbatch itself takes that long
        cluster = SlurmCluster({"worker": 2}, options=["--begin=now+1hour"], folder=tmp_path, start_timeout=limit)
        with contextlib.suppress(DeadlineExceededError):
            with pytest.raises(ResourceExhaustedError, match=complaint + THERE):
                await cluster.start()
            break
    else:
        raise AssertionError(f"sbatch took more than {limit} s")
    assert no_job_is_left()


async def test_a_resource_without_a_word_of_slurm_is_refused(tmp_path: Path) -> None:
    cluster = SlurmCluster({"worker": 1}, resources={"worker": {"num_cpus": 1}}, folder=tmp_path)
    with pytest.raises(ResourceExhaustedError, match="may want cpus, memory, gpus, got num_cpus"):
        await cluster.start()


async def test_a_machine_without_slurm_is_said_to_have_none(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="sbatch is not on the PATH; a SlurmCluster is made"):
        await SlurmCluster({"worker": 1}, folder=tmp_path).start()
    assert list(tmp_path.iterdir()) == []
