"""The distributions that ``python -m build`` makes: they install, and run, where nothing of this tree is."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

import actorsession

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 300.0

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a source distribution, and of the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    return folder


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
        timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def needed() -> list[str]:
    """The names of what the project needs to run, without any extra."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.split(r"[><=;~]", requirement)[0].strip() for requirement in table["dependencies"]]


def parts_of(name: str) -> Iterator[Path]:
    """The files and folders that a distribution has in site-packages."""
    found = metadata.distribution(name)
    tops = {
        path.parts[0] for path in found.files or () if path.parts[0] not in ("..", "__pycache__")
    }
    for top in tops:
        yield Path(str(found.locate_file(top)))


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has the wheel, what it needs, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in needed():
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
    assert said == f"actorsession {actorsession.__version__}\n"
    asked = "import importlib.metadata as m; print(m.version('actorsession'))"
    told = run(str(installed / "bin" / "python"), "-c", asked, cwd=tmp_path)
    assert told.strip() == actorsession.__version__


def test_the_wheel_has_the_packages_and_their_types_and_no_tests(installed: Path) -> None:
    (packages,) = installed.glob("lib/python*/site-packages")
    for package in ("actorsession", "transports"):
        assert (packages / package / "py.typed").exists()
        in_tree = {p.relative_to(ROOT) for p in (ROOT / package).rglob("*.py")}
        assert {path for path in in_tree if not (packages / path).exists()} == set()
    assert not (packages / "tests").exists()
