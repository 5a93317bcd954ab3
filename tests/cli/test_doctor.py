"""``actorsession doctor``: what it finds on this machine, and what it says of one with faults."""

from __future__ import annotations

import json
import os
import resource
import socket
from typing import Any

import pytest

from actorsession import __version__, cli
from actorsession.ops import blas_threads

VARIABLES = (
    "ACTORSESSION_TOKEN",
    "ACTORSESSION_TLS_CA",
    "ACTORSESSION_TLS_CERT",
    "ACTORSESSION_TLS_KEY",
    "ACTORSESSION_SHARED_MEMORY",
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def findings(capsys: pytest.CaptureFixture[str], status: int) -> dict[str, dict[str, str]]:
    """What is printed as JSON, by subject."""
    assert cli.main(["doctor", "--json"]) == status
    out, err = capsys.readouterr()
    assert err == ""
    return {finding["subject"]: finding for finding in json.loads(out)}


def test_a_machine_on_which_the_tests_run_has_no_faults(capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(capsys, 0)
    assert found["actorsession"]["found"].startswith(__version__)
    assert {"Python", "numpy", "event loop", "BLAS", "shared memory", "open files", "clock"} <= set(found)
    assert {"tcp on 127.0.0.1", "unix sockets", "token", "TLS"} <= set(found)
    for finding in found.values():
        assert bool(finding["do"]) == (finding["state"] != "ok"), finding
    # The version is that of the package.
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"actorsession {__version__}\n"


def test_each_finding_is_a_line_with_what_to_do_below_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTORSESSION_TOKEN", "short")
    assert cli.main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (place,) = [i for i, line in enumerate(lines) if line.split()[:2] == ["fault", "token"]]
    assert lines[place + 1].split() == ["->", "export", "ACTORSESSION_TOKEN=$(actorsession", "token)"]
    # Half of the tls files is a fault.
    monkeypatch.setenv("ACTORSESSION_TLS_CA", "/nowhere/ca.pem")
    found = findings(capsys, 1)["TLS"]
    assert found["state"] == "fault"
    assert "three files" in found["found"]


def test_what_costs_speed_or_capacity_is_advice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTORSESSION_SHARED_MEMORY", "0")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, 4096))
    monkeypatch.setattr(blas_threads, "core_type", lambda: "Katmai")
    found = findings(capsys, 0)
    for subject, says, do in (
        ("shared memory", "switched off", "unset ACTORSESSION_SHARED_MEMORY"),
        ("open files", "256 of at most 4,096", "ulimit -n 4096"),
        ("BLAS", "kernels", "export OPENBLAS_CORETYPE=Katmai"),
    ):
        assert found[subject]["state"] == "advice"
        assert says in found[subject]["found"]
        assert do in found[subject]["do"]


def test_without_memory_files_or_sockets_it_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> Any:
        raise OSError("not permitted here")

    monkeypatch.setattr(os, "memfd_create", refuse, raising=False)
    monkeypatch.setattr(socket.socket, "bind", refuse)
    found = findings(capsys, 1)
    states = {"shared memory": "advice", "tcp on 127.0.0.1": "fault", "tcp on ::1": "advice", "unix sockets": "fault"}
    for subject, state in states.items():
        assert found[subject]["state"] == state
        assert "not permitted here" in found[subject]["found"]
        assert found[subject]["do"]


def test_an_examination_that_fails_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(which: int) -> tuple[int, int]:
        raise OSError("no such limit")

    monkeypatch.setattr(resource, "getrlimit", fail)
    found = findings(capsys, 0)
    assert found["descriptors"]["found"] == "could not be examined: OSError: no such limit"
    assert {"numpy", "clock"} <= {*found}
