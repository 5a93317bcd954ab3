"""``--resolver``: the cluster and task that schedulers give a worker; the files of examples/operate."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template
from typing import Any

import pytest

from actorsession import ClusterSpec, FileClusterResolver, cli
from actorsession.cli import servers
from tests.cli.kit import called

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
    unit = (FOLDER / "actorsession@.service").read_text(encoding="utf-8")
    (start,) = re.findall(r"^ExecStart=(.+)$", unit, re.M)
    cluster = FileClusterResolver(str(FOLDER / "cluster.toml")).cluster_spec()
    for task in ClusterSpec(cluster).tasks():
        _, job, _, index = task.split("/")
        named = {"JOB": job.partition(":")[2], "TASK": index.partition(":")[2]}
        words = Template(start).substitute(named)
        assert tasks_of([words]) == [(named["JOB"], int(named["TASK"]))]


def test_the_services_are_the_tasks_of_their_cluster() -> None:
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    services = re.findall(r"^  (\w+):\n    <<: \*task\n    command: (.+)$", text, re.M)
    (described,) = re.findall(r"TF_CONFIG: '(.+)'", text)
    cluster = ClusterSpec(json.loads(described)["cluster"])
    expected = [
        (cluster.task_address(job, task), job, task) for job in cluster.jobs for task in cluster.task_indices(job)
    ]
    tasks = tasks_of([command for _, command in services])
    found = [(f"{name}:7000", *task) for (name, _), task in zip(services, tasks, strict=True)]
    assert found == expected
