"""The command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from actorsession import cli
from tests.cluster.script import command, environment

ONE = json.dumps({"worker": ["127.0.0.1:0"]})
TWO = json.dumps({"ps": ["127.0.0.1:0"], "worker": ["127.0.0.1:0", "127.0.0.1:0"]})


def worker(*words: str) -> int:
    return cli.main(["worker", *words])


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said on standard error about a command that was called wrongly."""
    with pytest.raises(SystemExit) as info:
        worker(*words)
    assert info.value.code == 2
    return capsys.readouterr().err


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one line on standard error about a command that could not do its work."""
    assert worker(*words) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("actorsession worker: ")
    assert err.count("\n") == 1
    return err


def test_without_a_command_the_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert "worker" in out
    assert "demo" in out
    assert err == ""


def test_a_worker_needs_a_cluster(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert worker("--job", "worker") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "actorsession worker: no cluster was described; pass --cluster or --config, or set TF_CONFIG\n"
    )


@pytest.mark.parametrize(
    ("cluster", "complaint"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ('["127.0.0.1:0"]', "a cluster is a JSON object from job name to addresses"),
        ("5", "a cluster is a JSON object from job name to addresses, got 5"),
    ],
)
def test_a_cluster_that_is_no_cluster_is_called_wrongly(
    capsys: pytest.CaptureFixture[str], cluster: str, complaint: str
) -> None:
    said = refused(capsys, "--job", "worker", "--cluster", cluster)
    assert f"argument --cluster: {complaint}" in said


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--job", "chief", "--cluster", ONE], "no job 'chief' in the cluster; it has ['worker']"),
        (["--job", "worker", "--task", "4", "--cluster", ONE], "no task 4 in job 'worker'"),
        (["--job", "worker", "--cluster", '{"worker": 5}'], "a list or dict of addresses, got 5"),
        (["--job", "worker", "--cluster", '{"worker": [5]}'], "task 0 is a string, got 5"),
        (["--cluster", '{"worker": {"first": "127.0.0.1:0"}}'], "tasks have numbers, got 'first'"),
        (["--cluster", TWO], "which job is this? give job_name, one of ['ps', 'worker']"),
        (["--job", "worker", "--cluster", TWO], "give task_index, one of [0, 1]"),
        (["--config", "/no/such/file"], "No such file or directory: '/no/such/file'"),
        (["--cluster", ONE, "--port-file", "/no/such/folder/file"], "No such file or directory"),
        (
            ["--job", "worker", "--cluster", '{"worker": ["host"]}'],
            "'tcp://host' is not an address",
        ),
        (["--job", "worker", "--cluster", '{"worker": ["x://y"]}'], "x"),
        (["--job", "worker", "--cluster", '{"worker": ["0.0.0.0:0"]}'], "there is no token"),
        (["--job", "worker", "--cluster", ONE, "--devices", "0"], "at least one CPU"),
        (["--job", "worker", "--cluster", ONE, "--devices", "-1"], "at least 0, got -1"),
    ],
)
def test_a_worker_that_cannot_serve_says_why_in_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    assert complaint in failed(capsys, *words)


@pytest.mark.parametrize("name", ["worker", "master", "cluster", "status", "stop"])
def test_help_says_what_a_command_does_and_how_it_ends(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
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
    done = subprocess.run(
        command("--help"), env=environment(), capture_output=True, text=True, check=True
    )
    for line in (
        "serve one task of a cluster",
        "stop a server",
        "exit status: 0 success, 1 failure",
    ):
        assert line in done.stdout
    assert done.stderr == ""


@pytest.mark.process
def test_workers_start_without_the_demo() -> None:
    code = (
        "import sys; from actorsession import cli; "
        f"cli.main(['worker', '--job', 'chief', '--cluster', '{ONE}']); "
        "print([m for m in sys.modules if m.startswith(('actorsession.demo', 'matplotlib', 'rich'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
