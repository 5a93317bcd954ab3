"""``doctor``, ``check-tf1`` and ``--resolver``: what they find of a machine, a program and a task."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
from pathlib import Path
from string import Template
from typing import Any

import pytest

from actorsession import ClusterSpec, FileClusterResolver, __version__, cli
from actorsession.cli import servers
from actorsession.ops import blas_threads
from tests.cli.kit import called

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


def test_each_finding_says_what_to_do(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_costs_speed_is_advice(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_lack_of_files_or_sockets_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_failed_examination_hides_none(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(which: int) -> tuple[int, int]:
        raise OSError("no such limit")

    monkeypatch.setattr(resource, "getrlimit", fail)
    found = findings(capsys, 0)
    assert found["descriptors"]["found"] == "could not be examined: OSError: no such limit"
    assert {"numpy", "clock"} <= {*found}


STEP = {
    "SLURM_STEP_NODELIST": "127.0.0.[1-2]",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_PROCID": "3",
}


def options_of(*words: str) -> Any:
    """The options of the process that a command line starts."""
    parser, _ = cli._parser(with_demo=False)
    return servers._worker_options(parser.parse_args(["worker", *words]))


def task_of(options: Any) -> tuple[str, int, str]:
    """Job, index and address of the task that a process is."""
    resolver = options.cluster
    job, index = resolver.task_type, resolver.task_id
    return job, index, resolver.cluster_spec().task_address(job, index)


def test_srun_starts_one_command_for_all_tasks(monkeypatch: Any) -> None:
    for name, value in STEP.items():
        monkeypatch.setenv(name, value)
    found = options_of("--resolver", "slurm", "--jobs", "ps=1,worker=3", "--port", "7000")
    assert task_of(found) == ("worker", 2, "127.0.0.2:7001")
    assert task_of(options_of("--resolver", "slurm")) == ("worker", 3, "127.0.0.2:8889")
    monkeypatch.setenv("POD_NAMESPACE", "ns")
    monkeypatch.setenv("POD_NAME", "digits-ps-0")
    found = options_of(*("--resolver", "kubernetes", "--jobs", "ps=1,worker=2", "--prefix", "digits-"))
    assert task_of(found) == ("ps", 0, "digits-ps-0.digits-ps.ns.svc.cluster.local:7000")


def test_a_description_that_is_given_goes_before_a_resolver() -> None:
    found = options_of(*("--resolver", "slurm", "--cluster", '{"worker": ["127.0.0.1:7000"]}', "--task", "0"))
    assert found.cluster.cluster_spec().as_dict() == {"worker": ["127.0.0.1:7000"]}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--resolver mesos", "--resolver: invalid choice: 'mesos'"),
        ("--resolver slurm", "--resolver: SLURM_STEP_NODELIST or SLURM_JOB_NODELIST or"),
        ("--resolver slurm --jobs ps", "--jobs: jobs are written as NAME=COUNT"),
        ("--resolver slurm --port 65536", "--port: expected a port from 0 to 65535, got '65536'"),
        ("--resolver slurm --selector a=b=c", "--selector: is for --resolver kubernetes"),
        ("--resolver slurm --prefix a-", "--prefix: is for --resolver kubernetes"),
        ("--jobs ps=1", "--jobs: is for --resolver slurm or kubernetes"),
        ("--resolver kubernetes", "--resolver: needs --jobs ps=1,worker=2 or --selector"),
        ("--resolver kubernetes --selector worker", "--selector: a selector is written as JOB="),
        ("--resolver kubernetes --jobs worker=2 --job worker --task 0", "--resolver: /var/run/"),
        ("--probe-port -1", "--probe-port: expected a whole number from 0, got '-1'"),
    ],
)
def test_a_resolver_that_cannot_answer_is_a_wrong_call(words: str, complaint: str, monkeypatch: Any) -> None:
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    for name in STEP:
        monkeypatch.delenv(name, raising=False)
    code, out, err = called("worker", *words.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"actorsession worker: {complaint}"), err


FOLDER = Path(__file__).resolve().parents[2] / "examples" / "operate"


def tasks_of(commands: list[str]) -> list[tuple[str, int]]:
    """The job and task of each command, read as the program reads them."""
    parser, _ = cli._parser(with_demo=False)
    found = []
    for command in commands:
        options = parser.parse_args(command.split()[1:])
        assert options.command == "worker"
        found.append((options.job, options.task))
    return found


def test_the_unit_starts_a_task_that_its_variables_name() -> None:
    (start,) = re.findall(r"^ExecStart=(.+)$", (FOLDER / "actorsession@.service").read_text(encoding="utf-8"), re.M)
    for task in ClusterSpec(FileClusterResolver(str(FOLDER / "cluster.toml")).cluster_spec()).tasks():
        _, job, _, index = task.split("/")
        named = {"JOB": job.partition(":")[2], "TASK": index.partition(":")[2]}
        assert tasks_of([Template(start).substitute(named)]) == [(named["JOB"], int(named["TASK"]))]


def test_the_services_are_the_tasks_of_their_cluster() -> None:
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    services = re.findall(r"^  (\w+):\n    <<: \*task\n    command: (.+)$", text, re.M)
    (described,) = re.findall(r"TF_CONFIG: '(.+)'", text)
    cluster = ClusterSpec(json.loads(described)["cluster"])
    expected = [
        (cluster.task_address(job, task), job, task) for job in cluster.jobs for task in cluster.task_indices(job)
    ]
    tasks = tasks_of([command for _, command in services])
    assert [(f"{name}:7000", *task) for (name, _), task in zip(services, tasks, strict=True)] == expected


PROGRAM = """\
import tensorflow as tf
x = tf.placeholder(tf.float32)
y = tf.nn.reluu(x)
"""


def test_all_names_are_listed_and_missing_ones_explained(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    code, out, err = called("check-tf1", str(file))
    assert (code, err) == (1, "")
    missing, place = [line for line in out.splitlines() if "relu" in line or ":3" in line]
    assert out.splitlines() == [
        "tf.float32 1",
        missing,
        place,
        "tf.placeholder 1",
        "1 files use 3 names of TensorFlow; 1 are missing",
    ]
    assert missing.startswith("tf.nn.reluu 1 missing: tensorflow has no nn.reluu here; did you mean")
    assert place == f"    {file}:3"
    assert called("check-tf1", "--missing", str(tmp_path))[1].splitlines() == [
        missing,
        place,
        "1 files use 3 names of TensorFlow; 1 are missing",
    ]


def test_nothing_missing_is_success(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import tensorflow.compat.v1 as tf\ntf.Session()\n")
    said = "tf.Session 1\n1 files use 1 names of TensorFlow; 0 are missing\n"
    assert called("check-tf1", str(tmp_path)) == (0, said, "")
    # A program of python 2 is named.
    (tmp_path / "old.py").write_text("import tensorflow\nprint 'hello'\n")
    code, out, _ = called("check-tf1", str(tmp_path))
    assert code == 1
    assert f"{tmp_path / 'old.py'}:2: no program of Python 3: " in out
    # A path that is not there fails.
    code, out, err = called("check-tf1", str(tmp_path / "nothing"))
    assert (code, out) == (1, "")
    assert "No such file or directory" in err


def test_findings_as_json(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    code, out, _ = called("check-tf1", "--json", str(file))
    found = json.loads(out)
    assert code == 1
    assert found["names"]["placeholder"] == {"uses": [[str(file), 2]], "missing": None}
    assert found["names"]["nn.reluu"]["missing"].startswith("tensorflow has no nn.reluu")
    assert (found["files"], found["unreadable"]) == (1, {})
