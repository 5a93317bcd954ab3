"""A TensorFlow 1 program on several processes goes on when a worker of it is killed and comes back."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.script import environment
from tests.ports import HoldPorts

pytestmark = pytest.mark.process

PATIENCE = 60.0

PROGRAM = """
import json, os, sys
import tensorflow as tf

spec, job, index, enough = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
server = tf.train.Server(spec, job_name=job, task_index=index)
if job == "ps":
    server.join()

worker = "/job:worker/task:%d" % index
with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=tf.train.ClusterSpec(spec))):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.square(w - 1.0), global_step=step)


class StopWhenEnough(tf.train.SessionRunHook):
    def after_run(self, run_context, run_values):
        if os.path.exists(enough):
            run_context.request_stop()


with tf.train.MonitoredTrainingSession(
    server.target, is_chief=index == 0, hooks=[StopWhenEnough()],
    config=tf.ConfigProto(device_filters=["/job:ps", worker]),
) as session:
    done = 0
    while not session.should_stop():
        done = session.run([step, train])[0]
        print("step", done, flush=True)
print("done", flush=True)
"""


class Task:
    """The process of one task, whose output is in a file."""

    def __init__(self, words: list[str], out: Path) -> None:
        self.out = out
        with open(out, "ab") as file:
            self.process = subprocess.Popen(
                words, stdout=file, stderr=subprocess.STDOUT, env=environment(), cwd=out.parent
            )

    @property
    def lines(self) -> list[str]:
        return self.out.read_text(encoding="utf-8").splitlines()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def until(condition: Callable[[], bool], tasks: list[Task]) -> None:
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, [task.lines[-5:] for task in tasks]
        time.sleep(0.02)


@pytest.fixture
def start(tmp_path: Path, hold_ports: HoldPorts) -> Iterator[Callable[[str, int], Task]]:
    """Starts a task of one parameter server and two workers."""
    ports = [f"127.0.0.1:{port}" for port in hold_ports(3)]
    spec = json.dumps({"ps": ports[:1], "worker": ports[1:]})
    (tmp_path / "train.py").write_text(PROGRAM)
    begin = [sys.executable, "-m", "actorsession", "run-tf1", str(tmp_path / "train.py"), spec]
    with ExitStack() as stack:

        def started(job: str, index: int) -> Task:
            task = Task([*begin, job, str(index), str(tmp_path / "enough")], tmp_path / f"{job}{index}.txt")
            stack.callback(task.end)
            return task

        yield started


def test_training_goes_on_when_a_worker_is_killed(start: Callable[[str, int], Task], tmp_path: Path) -> None:
    tasks = [start("ps", 0), start("worker", 0), start("worker", 1)]
    _, chief, other = tasks
    until(lambda: len(chief.lines) > 5 and len(other.lines) > 5, tasks)
    other.process.send_signal(signal.SIGKILL)
    other.process.wait()
    before, seen = len(chief.lines), len(other.lines)
    until(lambda: len(chief.lines) > before + 5, tasks)
    back = start("worker", 1)
    until(lambda: len(back.lines) > seen + 5, tasks)
    first = int(back.lines[seen].split()[1])
    assert first > 5  # the parameter server has kept what was trained
    (tmp_path / "enough").touch()
    until(lambda: chief.lines[-1:] == back.lines[-1:] == ["done"], tasks)
    assert (chief.process.wait(PATIENCE), back.process.wait(PATIENCE)) == (0, 0)
