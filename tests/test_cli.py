"""The command line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from actorsession import cli
from tests.cluster.script import command, environment

ONE = json.dumps({"worker": ["127.0.0.1:0"]})


def test_without_a_command_the_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert "worker" in out
    assert "demo" in out
    assert err == ""


@pytest.mark.parametrize("name", ["worker", "master", "cluster", "status", "stop"])
def test_help_says_what_a_command_does_and_how_it_ends(capsys: pytest.CaptureFixture[str], name: str) -> None:
    with pytest.raises(SystemExit) as info:
        cli.main([name, "--help"])
    out, err = capsys.readouterr()
    assert (info.value.code, err) == (0, "")
    assert f"usage: actorsession {name}" in out
    assert "exit status: 0 " in out
    assert "; 1 " in out
    assert "2\ninvalid arguments" in out or "2 invalid arguments" in out


@pytest.mark.process
def test_the_package_is_a_command() -> None:
    done = subprocess.run(command("--help"), env=environment(), capture_output=True, text=True, check=True)
    for line in ("serve one task of a cluster", "stop a server", "exit status: 0 success, 1 failure"):
        assert line in done.stdout
    assert done.stderr == ""


@pytest.mark.process
def test_workers_start_without_the_demo() -> None:
    code = (
        "import sys; from actorsession import cli; "
        f"cli.main(['worker', '--job', 'chief', '--cluster', '{ONE}']); "
        "print([m for m in sys.modules if m.startswith(('actorsession.demo', 'matplotlib', 'rich'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
