"""Clusters on real engines: Ray and Dask, started on this machine once for all tests of each.

One program per engine does all there is to see (``program``), and each test reads one part of that. What an
engine has no part in is in ``test_engine_cluster``. An engine that is not installed is skipped by its name.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import subprocess
import sys
import textwrap
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from actorsession.engines import DaskCluster, RayCluster
from actorsession.errors import InvalidArgumentError
from tests.cluster.kit import PS0, W0
from tests.cluster.script import ROOT, environment
from tests.engines.processes import QUIET_ENGINES, RAY_DID_NOT_START, RAY_STARTS, engine_folder, kill_processes_of
from tests.engines.program import FED

# Ray starts in seconds on a quiet machine, and in a minute on a busy one.
_LIMIT = 540.0
_PACKAGES = {"ray": "ray", "dask": "distributed"}
EXPECTED = float(np.sum(np.arange(4, dtype=np.float32) * FED))
SUM = float(np.sum(np.arange(4)))

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]


def _run(*words: str) -> tuple[str, bytes]:
    limit = time.monotonic() + _LIMIT
    for _ in range(RAY_STARTS):
        run, logs = _run_once(limit - time.monotonic(), *words)
        if RAY_DID_NOT_START not in run.stderr:
            break
    else:
        pytest.skip(f"ray does not start on this machine: {RAY_DID_NOT_START}")
    assert run.returncode == 0, run.stderr[-5000:]
    return run.stdout, b"".join([run.stderr.encode(), *logs])


def _run_once(limit: float, *words: str) -> tuple[subprocess.CompletedProcess[str], list[bytes]]:
    with engine_folder() as home:
        # Ray writes a secret into the home folder, and sockets into the temporary one.
        more = {
            **QUIET_ENGINES,
            "HOME": home,
            "RAY_TMPDIR": home,
            "RAY_AUTH_MODE": "disabled",
            # A node that is gone is noticed after five of these, and not after five times 3 s.
            "RAY_health_check_period_ms": "500",
        }
        run = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit,
            env=environment(**more),
            check=False,
        )
        if RAY_DID_NOT_START in run.stderr:
            kill_processes_of(home)
        logs = []
        for path in Path(home).rglob("*"):
            with contextlib.suppress(OSError):  # a folder or socket, or gone by now
                logs.append(path.read_bytes())
    return run, logs


@pytest.fixture(scope="module")
def seen(engine: str) -> dict[str, Any]:
    said, logged = _run("-m", "tests.engines.program", engine, "tour")
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    found["engines_logs"] = logged
    return found


@pytest.fixture(params=sorted(_PACKAGES), scope="module")
def engine(request: pytest.FixtureRequest) -> str:
    if importlib.util.find_spec(_PACKAGES[request.param]) is None:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


def test_a_step_runs_over_tasks_that_the_engine_has_placed(seen: dict[str, Any]) -> None:
    assert sorted(seen["tasks"]) == [PS0, W0]
    assert (seen["first"], seen["synchronous"]) == (EXPECTED, EXPECTED)
    assert len(seen["nodes"]) == 2
    assert all(seen["nodes"])
    # Each listens at the address of its node: in Ray's words that address, in Dask's that of a worker there.
    for address in seen["tasks"].values():
        assert any(str(urlsplit(address).hostname) in node for node in seen["nodes"]), seen


def test_a_task_whose_process_is_killed_comes_back_and_the_session_goes_on(engine: str, seen: dict[str, Any]) -> None:
    assert (seen["again"], seen["last"]) == (SUM, SUM)
    assert (seen["other_process"], seen["restarts"]) == (True, 1)
    said = f"{PS0} has ended: {engine.capitalize()} says: "
    assert [end.startswith(said) for end in seen["ends"]] == [True]


def test_jobs_grow_and_shrink_and_tasks_restart_by_hand(seen: dict[str, Any]) -> None:
    assert (seen["grown"], seen["by_hand"], seen["shrunk"]) == ([0, 1], True, [0])


def test_a_task_moves_to_a_node_that_has_what_it_needs_when_its_own_is_lost(engine: str, seen: dict[str, Any]) -> None:
    """Ray's first actor in place of the lost one dies with the node: that is no restart of its own."""
    moved = seen["moved"]
    assert (moved["again"], moved["out"], moved["restarts"]) == (SUM, EXPECTED, 1)
    assert [end.startswith(f"{PS0} has ended: ") for end in moved["ends"]] == [True], moved["ends"]
    if engine == "dask":
        assert sorted([moved["node"], moved["node_again"]]) == seen["disks"]


@pytest.mark.parametrize("engine", ["ray"], indirect=True)
def test_ray_reserves_what_each_job_needs_in_one_group_and_gets_it_back(seen: dict[str, Any]) -> None:
    (group,) = seen["groups"]
    assert group["strategy"] == "SPREAD"
    assert sorted(group["bundles"].values(), key=len) == [{"CPU": 1.0}, {"CPU": 0.5, "disk": 1.0}]
    assert seen["groups_left"] == []


def test_logs_come_from_the_engine_and_show_no_token(seen: dict[str, Any]) -> None:
    assert any(f"{PS0} serves at {seen['tasks'][PS0]}" in line for line in seen["logs"])
    assert seen["token_shown"] is False
    # Of each cluster but that of the driver that is killed.
    assert len(seen["tokens"]) >= 2
    assert not any(token.encode() in seen["engines_logs"] for token in seen["tokens"])


@pytest.mark.parametrize("engine", ["ray"], indirect=True)
def test_ray_writes_logs_in_which_a_token_would_be_found(seen: dict[str, Any]) -> None:
    assert b"_RayTask" in seen["engines_logs"]


def test_nothing_is_left_of_a_cluster_that_has_ended_and_the_engine_stays(seen: dict[str, Any]) -> None:
    assert (seen["answering"], seen["still_connected"]) == ([], True)


def test_nothing_is_left_of_a_cluster_whose_driver_was_killed(seen: dict[str, Any]) -> None:
    assert seen["left"] == []


def test_resources_that_cannot_be_had_are_named_with_those_that_there_are(engine: str, seen: dict[str, Any]) -> None:
    asked, there = {
        "ray": (f"{W0}: {{'CPU': 1.0, 'GPU': 3}}; strategy PACK", "The cluster has CPU 4"),
        "dask": (f"{W0}, which needs {{'SLOT': 3}}", "{'SLOT': 2}"),
    }[engine]
    assert asked in seen["refused"]
    assert there in seen["refused"]


def test_partitions_of_a_dask_dataframe_are_fed_where_they_lie() -> None:
    """The parts of an array are in ``test_pages``: an example of the page feeds them."""
    for package in ("distributed", "pandas", "pyarrow"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    run, _ = _run_once(_LIMIT, "-m", "tests.engines.frames")
    assert (run.returncode, run.stdout) == (0, "{'DataFrame'} [1.0, 2.0, 3.0]\n"), run.stderr[-5000:]


@pytest.mark.parametrize(("cluster", "extra"), [(RayCluster, "ray"), (DaskCluster, "dask")])
async def test_an_absent_engine_names_its_extra(uninstall: Callable[[str], None], cluster: Any, extra: str) -> None:
    uninstall({"dask": "distributed"}.get(extra, extra))
    with pytest.raises(ImportError, match=rf"pip install 'actorsession\[{extra}\]'"):
        await cluster({"worker": 1}).start()


def test_engines_are_no_part_of_the_core() -> None:
    """Neither installed with it, nor imported with the clusters that use them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[><=;~ ]", one)[0] for one in project["dependencies"]}
    assert needed == {"uvloop", "msgpack", "numpy", "ml_dtypes"}
    program = """
        import sys
        from actorsession.engines import DaskCluster, RayCluster, SlurmCluster
        for cluster in (DaskCluster, RayCluster, SlurmCluster):
            cluster({"worker": 1})
        print(sorted({"ray", "dask", "distributed"} & sys.modules.keys()))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout == "[]\n"


def test_a_strategy_that_ray_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"one of PACK, SPREAD, .*; got 'WIDE'"):
        RayCluster({"worker": 1}, strategy="WIDE")  # type: ignore[arg-type]
