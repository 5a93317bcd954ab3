"""Interpreters of our own programs: they find the modules that their parent finds, and have its flags."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from actorsession.cluster.launch import interpreter
from tests.cluster.script import ROOT, environment
from tests.rows import few_of

pytestmark = pytest.mark.process

# What a program says of its interpreter, and what one says that it has started.
SHOW = """
import json, sys
flags = {name: getattr(sys.flags, name) for name in dir(sys.flags) if name[0] != "_" and name[:2] != "n_"}
flags = {name: value for name, value in flags.items() if isinstance(value, (int, bool))}
print(json.dumps([flags, sys.path, sys.warnoptions, sys._xoptions, sys.argv[1:]]))
"""
PARENT = f"""
import subprocess, sys
sys.path[:0] = {[str(ROOT)]!r}
from actorsession.cluster.launch import interpreter
sys.path[:0] = sys.argv[1:2]
import show
sys.stdout.flush()
raise SystemExit(subprocess.call(interpreter.command("show", *sys.argv[1:])))
"""
# In the folder where a program is started: names that ours import.
SHADOWS = ("queue.py", "json/__init__.py", "runpy.py", "asyncio.py", "msgpack.py")


def with_shadows(folder: Path) -> Path:
    folder.mkdir()
    for name in SHADOWS:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise ImportError('a module of the current folder')\n")
    return folder


@pytest.mark.parametrize(
    "flags",
    [
        ["-I"],
        ["-P", "-s", "-B", "-OO", "-b", "-X", "utf8", "-X", "no_debug_ranges", "-W", "error::UserWarning"],
        ["-E", "-X", "dev", "-O"],
    ],
    ids=" ".join,
)
def test_a_child_has_the_flags_and_the_import_path_of_its_parent(tmp_path: Path, flags: list[str]) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "show.py").write_text(SHOW)
    program = tmp_path / "program.py"
    program.write_text(PARENT)
    ran = subprocess.run(
        [sys.executable, *flags, str(program), str(modules), "an ärgument"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env=environment(),
        cwd=with_shadows(tmp_path / "started in"),
    )
    assert ran.returncode == 0, ran.stderr
    parent, child = map(json.loads, ran.stdout.splitlines())
    assert child[0] == {**parent[0], "safe_path": True}
    assert child[1] == list(dict.fromkeys(parent[1]))
    assert set(child[2]) == set(parent[2])
    assert child[3:] == parent[3:]


def test_the_package_is_found_last_by_a_child_whose_parent_found_it_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [folder for folder in sys.path if folder != str(ROOT)]
    monkeypatch.setattr(sys, "path", own)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert interpreter.import_path()[-1] == str(ROOT)


def test_what_a_program_adds_to_pythonpath_is_for_its_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert interpreter.import_path()[0] == str(tmp_path)


def test_another_interpreter_has_a_path_of_its_own() -> None:
    words = interpreter.command("some.module", "--more", python="/usr/bin/another")
    assert words[0] == "/usr/bin/another"
    assert words[-4:] == ["-P", "-m", "some.module", "--more"]


@pytest.mark.parametrize("flags", few_of([[], ["-I"]], 2), ids=["plain", "isolated"])
def test_workers_start_in_a_folder_with_modules_of_other_names(tmp_path: Path, flags: list[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys; sys.path.append({str(ROOT)!r})\n"
        "import actorsession as acts\n"
        "with acts.LocalCluster({'worker': 1}) as cluster, acts.Session(cluster.target('worker')) as sess:\n"
        "    print(sess.run(acts.constant(1.0) + 1.0))\n"
    )
    plain = {k: v for k, v in environment().items() if k != "PYTHONPATH"}
    ran = subprocess.run(
        [sys.executable, *flags, str(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=plain,
        cwd=with_shadows(tmp_path / "started in"),
    )
    assert (ran.returncode, ran.stdout) == (0, "2.0\n"), ran.stderr
