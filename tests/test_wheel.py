"""The distributions that ``python -m build`` makes: they install, and run, where nothing of this tree is.

So the first hour of a web developer is walked here: install, run an example, train, serve, lose the process,
go on.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
import venv
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.examples.kit import served

ROOT = Path(__file__).resolve().parents[1]
# The wheel has it beside the packages.
PLUG_IN = ROOT / "actorsession/testing/plugin/actorsession_pytest.py"
PATIENCE = 300.0
# The environment of a user who has set nothing.
PLAIN = {"PATH": "/usr/bin:/bin"}

# What `pip install aiohttp` brings.
WEB = [
    "aiohttp",
    "aiohappyeyeballs",
    "aiosignal",
    "attrs",
    "frozenlist",
    "idna",
    "multidict",
    "propcache",
    "typing_extensions",
    "yarl",
]

TAG = "9.8.7"

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the files of this one, as they are now, in one commit."""
    folder = tmp_path_factory.mktemp("repository")
    for name in run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).splitlines():
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    run("git", "init", "--quiet", cwd=folder)
    run("git", "add", "--all", cwd=folder)
    author = ("-c", "user.name=a test", "-c", "user.email=test@example.com")
    run("git", *author, "commit", "--quiet", "--message", "all", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def built(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a source distribution of a tag, and of the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("dist")
    run("git", "tag", f"v{TAG}", cwd=repository)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(repository))
    return folder


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=PLAIN, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def needed() -> list[str]:
    """The names of what the project needs to run, without any extra."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.split(r"[><=;~]", requirement)[0].strip() for requirement in table["dependencies"]]


def parts_of(name: str) -> Iterator[Path]:
    """The files and folders that a distribution has in site-packages."""
    found = metadata.distribution(name)
    tops = {path.parts[0] for path in found.files or () if path.parts[0] not in ("..", "__pycache__")}
    for top in tops:
        yield Path(str(found.locate_file(top)))


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has the wheel, what it needs, a web framework, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in [*needed(), *WEB]:
        for part in parts_of(name):
            (packages / part.name).symlink_to(part)
    (wheel,) = built.glob("*.whl")
    python = str(folder / "bin" / "python")
    options = ("--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, str(wheel))
    return folder


@pytest.mark.parametrize("example", ["quickstart.py", "two_workers.py"])
def test_the_wheel_runs_the_examples(example: str, installed: Path, tmp_path: Path) -> None:
    program = tmp_path / example
    program.write_bytes((ROOT / "examples" / example).read_bytes())
    assert run(str(installed / "bin" / "python"), "-W", "error", example, cwd=tmp_path) != ""


def test_the_wheel_has_the_command_line_and_the_version(installed: Path, tmp_path: Path) -> None:
    said = run(str(installed / "bin" / "actorsession"), "--version", cwd=tmp_path)
    assert said == f"actorsession {TAG}\n"
    asked = "import actorsession; print(actorsession.__version__)"
    assert run(str(installed / "bin" / "python"), "-c", asked, cwd=tmp_path) == f"{TAG}\n"


def test_distributions_have_the_version_of_their_tag(built: Path) -> None:
    names = {path.name for path in built.iterdir()}
    assert names == {f"actorsession-{TAG}.tar.gz", f"actorsession-{TAG}-py3-none-any.whl"}


def test_the_wheel_has_the_packages_and_their_types_and_no_tests(installed: Path) -> None:
    (packages,) = installed.glob("lib/python*/site-packages")
    for package in ("actorsession", "transports"):
        assert (packages / package / "py.typed").exists()
        files = [*(ROOT / package).rglob("*.py"), *(ROOT / package).rglob("assets/**/*.*")]
        in_tree = {path.relative_to(ROOT) for path in files if path.parent != PLUG_IN.parent}
        assert {path for path in in_tree if not (packages / path).exists()} == set()
    assert (packages / PLUG_IN.name).read_bytes() == PLUG_IN.read_bytes()
    assert not (packages / "tests").exists()


def ask(url: str, body: object = None) -> Any:
    """What a service answers."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=PATIENCE) as answer:
        return json.load(answer)


def until_health(url: str, condition: Callable[[Any], bool]) -> Any:
    """What the service says of itself once it is what is wanted; each question takes its time there."""
    while not condition(seen := ask(f"{url}/health")):
        assert not seen.get("error"), seen
    return seen


def test_a_service_is_trained_and_killed_and_goes_on_from_what_it_saved(installed: Path, tmp_path: Path) -> None:
    program = shutil.copytree(ROOT / "examples" / "serve", tmp_path / "serve") / "with_aiohttp.py"
    saves = tmp_path / "saved"
    python = [str(installed / "bin" / "python"), "-W", "error", str(program)]
    command = [*python, "--port=0", f"--checkpoints={saves}"]
    points = {"points": [[0, 2], [-2, -1], [2, -1]]}
    with served([*command, "--steps=200", "--save-every=100"], saves, PLAIN) as first:
        saved = until_health(first.url, lambda seen: seen["saved"] == 200)
        before = ask(f"{first.url}/predict", points)
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
    with served([*command, "--steps=0"], saves, PLAIN) as second:
        after = ask(f"{second.url}/predict", points)
        assert second.end(signal.SIGTERM) == 0
    assert saved["saved"] == after["step"] == 200
    assert before["labels"] == after["labels"] == [0, 1, 2]
    assert after["probabilities"] == before["probabilities"]
