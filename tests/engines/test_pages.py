"""The commands on the pages of engines do what they say, and show what is shown below them.

The blocks of a page run as they stand, each in a folder with the examples and scripts of the repository. Some
programs have stand-ins: nothing is installed, ``ray stop`` ends no Ray but that of its block, ``ray job``
tries again until Ray takes jobs, and those of Docker and Kubernetes check that the files and names are there
that they would need.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.cluster.script import ROOT, environment
from tests.engines.processes import QUIET_ENGINES, RAY_DID_NOT_START, RAY_STARTS, engine_folder, kill_processes_of
from tests.engines.test_slurm import MISSING, SEARCHED

# Ray starts in seconds on a quiet machine, and in a minute on a busy one.
_LIMIT = 540.0
# Of what keeps a Ray cluster together, of its dashboard, and of what takes jobs, which never does without it.
_RAY_PORTS = (6379, 8265, 52365)
_OTHERS = 200.0  # seconds for the Ray of another test to leave them

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]

TOOLS = {
    "actorsession": 'exec "{python}" -m actorsession "$@"',
    "python": 'exec "{python}" "$@"',
    "pip": 'exec "{python}" -m tests.engines.stand_ins pip "$@"',
    "docker": 'exec "{python}" -m tests.engines.stand_ins docker "$@"',
    "kubectl": 'exec "{python}" -m tests.engines.stand_ins kubectl "$@"',
    "ray": 'case "$1" in stop | job) exec "{python}" -m tests.engines.stand_ins ray "$@" ;; esac\n'
    'exec "{python}" -m ray.scripts.scripts "$@"',
}


def blocks(page: str) -> list[str]:
    """The blocks of a page that show commands and what they print."""
    return re.findall(r"^```console\n(.*?)^```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.M | re.S)


def block_with(page: str, words: str) -> str:
    (found,) = [block for block in blocks(page) if words in block]
    return found


def check_output(block: str, said: str) -> None:
    """Check that all that a block shows was said, in order; numbers may be others."""
    shown = [s for s in block.splitlines() if s and not s.startswith("$ ") and s != "..."]
    lines = iter(re.sub(r"\x1b\[\d*m", "", said).splitlines())
    for line in shown:
        words = re.sub(r"\d[\d,.]*", "0", re.escape(line).replace(r"\.", ".").replace(r"\,", ","))
        wanted = re.sub(r"raysubmit_\w+", r"\\w+", words).replace("0", r"\d[\d,.]*")
        wanted = re.sub(r"(?:\\ )+", r"\\s+", wanted)
        assert any(re.search(wanted, found) for found in lines), f"{line!r} is not in\n{said}"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with programs, and with the folders of the repository that commands name."""
    with engine_folder() as name:
        place = Path(name)
        tools = place / "tools"
        tools.mkdir()
        for tool, text in TOOLS.items():
            (tools / tool).write_text(f"#!/bin/sh\n{text.format(python=sys.executable)}\n")
            (tools / tool).chmod(0o755)
        for folder in ("docs", "examples", "scripts"):
            (place / folder).symlink_to(ROOT / folder)
        yield place


def run(block: str, place: Path, **more: str) -> str:
    """Run a block, check what it says, and return that. Whatever is left of it is ended."""
    limit = time.monotonic() + _LIMIT
    for _ in range(RAY_STARTS):
        code, said = run_once(block, place, limit - time.monotonic(), **more)
        if not code or RAY_DID_NOT_START not in said:
            break
        kill_processes_of(str(place))
    else:
        pytest.skip(f"ray does not start on this machine: {RAY_DID_NOT_START}")
    if code:
        kill_processes_of(str(place))
    assert code == 0, said
    check_output(block, said)
    return said


def run_once(block: str, place: Path, limit: float, **more: str) -> tuple[int, str]:
    commands = "\n".join(line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ "))
    path = os.pathsep.join([str(place / "tools"), str(Path(sys.executable).parent), SEARCHED])
    settings = {
        **QUIET_ENGINES,
        "PATH": path,
        "HOME": str(place),
        "RAY_TMPDIR": str(place),
        "MPLCONFIGDIR": os.environ.get("MPLCONFIGDIR", str(place)),
        **more,
    }
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=place,
        text=True,
        start_new_session=True,
        env=environment(**settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        said, _ = process.communicate(timeout=limit)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, said


def check_demo(said: str, place: Path) -> list[str]:
    """Check what each demo leaves behind, and return the heads and the first words of its table."""
    for name in ("trace.json", "learning.png"):
        assert (place / "actorsession-demo" / name).stat().st_size > 1000
    rows = said.rpartition("messages/step\n")[2].splitlines()[:2]
    return [row[:17].rstrip() for row in rows]


def need(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


needs_slurm = pytest.mark.skipif(
    bool(MISSING), reason=f"Slurm is not installed (no {', '.join(MISSING)}): scripts/slurm install"
)


@pytest.fixture(scope="module")
def slurm() -> Iterator[str]:
    """The configuration of a Slurm of two nodes on this machine."""
    tool = str(ROOT / "scripts" / "slurm")
    with engine_folder() as folder:
        subprocess.run([tool, "start", folder], check=True, timeout=120, stdin=subprocess.DEVNULL)
        try:
            yield f"{folder}/slurm.conf"
        finally:
            subprocess.run([tool, "stop", folder], check=True, timeout=60)


@pytest.mark.timeout(_LIMIT + 2 * _OTHERS)
@pytest.mark.parametrize(
    ("page", "package"), [("engines.md", ""), ("ray.md", "ray"), ("dask.md", "distributed"), ("slurm.md", "slurm")]
)
def test_the_demo_shows_the_same_on_each_engine(
    page: str, package: str, place: Path, request: pytest.FixtureRequest
) -> None:
    more = {}
    if package == "slurm":
        if MISSING:
            pytest.skip("Slurm is not installed: scripts/slurm install")
        more["SLURM_CONF"] = request.getfixturevalue("slurm")
    elif package:
        need(package)
    with ray_alone() if package == "ray" else contextlib.nullcontext():
        said = run(block_with(page, "actorsession demo"), place, **more)
    assert check_demo(said, place) == ["one process", "1 ps + 2 workers"]


def test_parts_of_a_dask_array_are_fed_where_they_lie(place: Path) -> None:
    need("distributed")
    assert "weights: [1.0, 2.0, 3.0]\n" in run(block_with("dask.md", "feed_from_dask.py"), place)


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def ray_alone(*ports: int) -> Iterator[None]:
    """Be the only test of this user whose Ray takes the ports that it takes by itself; some must be free."""
    limit = time.monotonic() + _OTHERS
    name = f"actorsession-tests-of-ray-{os.getuid()}"
    with (Path(tempfile.gettempdir()) / name).open("a") as file:
        while not is_locked(file) or any(is_taken(port) for port in ports):
            if time.monotonic() > limit:
                pytest.skip(f"something else has ports of {ports}, as a Ray cluster does")
            time.sleep(0.1)
        yield


def is_locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.mark.timeout(_LIMIT + 2 * _OTHERS)
def test_a_program_runs_on_a_ray_cluster_and_as_its_job(place: Path) -> None:
    need("ray")
    need("aiohttp_cors")  # of ray[default]
    with ray_alone(*_RAY_PORTS):
        said = run(block_with("ray.md", "ray job submit"), place)
    assert said.count("weights: [1.0, 2.0, 3.0]\n") == 2


@needs_slurm
def test_a_slurm_of_this_machine_starts_and_stops(place: Path) -> None:
    run(block_with("slurm.md", "scripts/slurm start"), place)


@needs_slurm
def test_a_job_script_trains_on_its_own_tasks(place: Path, slurm: str) -> None:
    page = (ROOT / "docs" / "slurm.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```bash\n(.*?)^```", page, re.M | re.S)
    assert len(script.splitlines()) <= 11
    (place / "train.sh").write_text(script)
    run(block_with("slurm.md", "sbatch"), place, SLURM_CONF=slurm)
    assert not list(place.glob(".actorsession-*"))  # the token


@needs_slurm
def test_a_program_asks_slurm_for_a_cluster(place: Path, slurm: str) -> None:
    page = (ROOT / "docs" / "slurm.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    (place / "program.py").write_text(program)
    assert "127.0.0.1" in run("$ python program.py\n6.0\n", place, SLURM_CONF=slurm)


def test_the_commands_for_kubernetes_name_what_there_is(place: Path) -> None:
    need("yaml")
    run(block_with("kubernetes.md", "kubectl apply"), place, PYTHONPATH=str(ROOT))
    pages = {name: len(blocks(f"{name}.md")) for name in ("engines", "ray", "dask", "slurm", "kubernetes")}
    assert pages == {"engines": 1, "ray": 2, "dask": 2, "slurm": 3, "kubernetes": 1}
    said = "one process  2,000\nweights: [1.0, 2.0]\n"
    check_output("$ a\none process      500\n...\nweights: [1.0, 2.0]\n", said)
    for shown in ("weights: 1\n", "weights: [1.0, 2.0]\none process 1\n"):
        with pytest.raises(AssertionError, match="is not in"):
            check_output(shown, said)
