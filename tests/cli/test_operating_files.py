"""The files of examples/operate: this version takes their commands, for tasks that their clusters have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template

from actorsession import ClusterSpec, FileClusterResolver, cli

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
