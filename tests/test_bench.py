"""The benchmarks: that they run, check what they measure, and end; no figure is judged here."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.benchmarks import cnn, lstm, mlp
from scripts.benchmarks.case import Effort, SyncCase
from scripts.benchmarks.cluster_actorsession import ClusterRows
from scripts.benchmarks.command import main
from scripts.benchmarks.install_size import installed_bytes
from scripts.benchmarks.questions import QUESTIONS, Question, WrongAnswerError
from scripts.benchmarks.result import Result, Times
from scripts.benchmarks.rows import GROUPS, ROWS, Budget, Row
from scripts.benchmarks.side_actorsession import LOCAL
from scripts.benchmarks.training import trained

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "scripts" / "benchmarks"
TIMED = {row.name for row in ROWS if row.group != "install"}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the driver to its end, from another directory."""
    return subprocess.run(
        [sys.executable, BENCHMARKS, *arguments],
        cwd="/", capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip


# --- the table


def test_rows_have_names_of_their_own_and_known_groups() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {row.group for row in ROWS} == set(GROUPS)


def test_every_row_that_can_run_has_a_question_and_our_side_answers_it() -> None:
    assert set(QUESTIONS) == TIMED
    assert set(LOCAL) | set(ClusterRows().builders) == TIMED


def test_the_peer_answers_the_same_rows() -> None:
    """Read from the source, because TensorFlow is not here."""
    answered = set()
    for name in ("side_tensorflow.py", "cluster_tensorflow.py"):
        for node in ast.walk(ast.parse((BENCHMARKS / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
                answered |= {key.value for key in node.value.keys if isinstance(key, ast.Constant)}
    assert answered == TIMED


def test_the_page_on_benchmarks_explains_every_row() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert [row.name for row in ROWS if f"`{row.name}`" not in page] == []


# --- questions and answers


@pytest.mark.parametrize(
    ("got", "says"),
    [
        ([[1.0, 2.5]], "answer 0 is off by up to 0.5"),
        ([[1.0, np.nan]], "answer 0 is off by up to nan"),
        ([[1.0]], r"answer 0 has shape \(1,\), not \(2,\)"),
        ([], "0 answers instead of 1"),
    ],
)
def test_a_wrong_answer_is_refused(got: list[Any], says: str) -> None:
    with pytest.raises(WrongAnswerError, match=says):
        Question({}, [[1.0, 2.0]]).check(got)


def test_a_right_answer_may_be_rounded_as_float32_is() -> None:
    Question({}, [np.array([1.0, 2.0])]).check([np.array([1.00001, 2.0], np.float32)])


@pytest.mark.parametrize(
    ("network", "weights", "places"),
    [
        (mlp, mlp.first_weights(), {"w1": (3, 5), "b1": (7,), "w2": (11, 4), "b2": (9,)}),
        (
            cnn,
            cnn.first_weights(2, 3, 4),
            {
                "f1": (0, 1, 0, 1), "b1": (1,), "f2": (4, 2, 1, 2), "b2": (0,),
                "w3": (40, 2), "b3": (3,), "w": (1, 7), "b": (9,),
            },
        ),
        (cnn, cnn.first_weights(2, 3), {"f2": (4, 2, 1, 2), "w": (40, 7)}),
        (lstm, lstm.first_weights(), {"kernel": (30, 200), "bias": (90,), "w": (1, 7), "b": (9,)}),
    ],
)  # fmt: skip
def test_a_network_s_gradient_is_the_slope_of_its_loss(
    network: Any, weights: Any, places: dict[str, tuple[int, ...]]
) -> None:
    weights = {key: value.astype("f8") for key, value in weights.items()}
    data = network.batch(4)
    _, gradients = network.loss_and_gradients(weights, data)
    for name, index in places.items():

        def loss_at(step: float, name: str = name, index: tuple[int, ...] = index) -> float:
            moved = {key: value.copy() for key, value in weights.items()}
            moved[name][index] += step
            return float(network.loss_and_gradients(moved, data)[0])

        slope = (loss_at(1e-5) - loss_at(-1e-5)) / 2e-5
        assert slope == pytest.approx(gradients[name][index], rel=1e-4, abs=1e-9)


def test_steps_of_training_take_the_weights_where_numpy_s_gradient_says() -> None:
    weights, data = mlp.first_weights(), mlp.batch(8)
    loss, gradients = mlp.loss_and_gradients(weights, data)
    got, *after = trained(mlp.loss_and_gradients, weights, data, 0.5, 1, adam=False)
    assert got == pytest.approx(loss, rel=1e-6)
    for (name, before), now in zip(weights.items(), after, strict=True):
        np.testing.assert_allclose(now, before - 0.5 * gradients[name], rtol=1e-5, atol=1e-7)


# --- timing


def test_a_round_has_at_least_as_many_steps_as_asked_however_slow_they_are() -> None:
    steps: list[int] = []
    case = SyncCase(step=lambda: steps.append(0), answers=list)
    assert len(case.times(Effort(seconds=0.0, least=3))) == 3
    assert len(steps) == 6  # those that warm up are not among the times


def test_a_round_ends_at_its_most_steps_however_fast_they_are() -> None:
    case = SyncCase(step=lambda: None, answers=list)
    assert len(case.times(Effort(seconds=10.0, least=2, most=40))) == 40


def test_a_whole_step_is_made_once_and_cleared_away_after_its_time() -> None:
    made: list[str] = []
    case = SyncCase(
        step=lambda: made.append("step"), answers=list, whole=True,
        after=lambda: made.append("after"),
    )  # fmt: skip
    assert len(case.times(Effort(seconds=1.0, least=5))) == 1
    assert made == ["step", "after"]


def test_the_median_is_that_of_the_rounds_so_a_disturbed_round_does_not_count() -> None:
    times = Times([[1.0, 1.0], [9.0, 9.0, 9.0, 9.0, 9.0], [2.0]])
    assert times.median == 2.0


@pytest.mark.parametrize(("steps", "p99"), [(1, 1.0), (50, 50.0), (100, 99.0), (1000, 990.0)])
def test_the_99th_percentile_is_the_slowest_of_few(steps: int, p99: float) -> None:
    assert Times([[float(i) for i in range(1, steps + 1)]]).p99 == p99


@pytest.mark.parametrize(
    ("budget", "ours", "peer", "verdict"),
    [
        (Budget(0.5), 1.0, 2.0, "ok"),
        (Budget(0.5), 1.5, 2.0, "over by 50%"),
        (Budget(0.5), 1.0, None, ""),
        (Budget(1.5, "s"), 1.2, None, "ok"),
        (Budget(1.5, "s"), 3.0, 1.0, "over by 100%"),
    ],
)
def test_a_budget_is_held_against_the_peer_or_is_absolute(
    budget: Budget, ours: float, peer: float | None, verdict: str
) -> None:
    result = Result(Row("row", "local", "", budget), Times([[ours]]))
    if peer is not None:
        result.peer.rounds.append([peer])
    assert result.verdict == verdict


def test_sizes_are_held_against_a_budget_in_megabytes() -> None:
    row = Row("row", "install", "", Budget(100, "MB"))
    assert Result(row, sizes=[90_000_000]).verdict == "ok"
    assert Result(row, sizes=[150_000_000, 300_000_000]).verdict == "over by 50%"
    assert Result(row, sizes=[150_000_000, 300_000_000]).ratio == 0.5


def test_the_installed_size_is_that_of_a_distribution_and_all_that_it_requires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_distribution(
        tmp_path, "bench-top", size=1000, requires=["bench_low>=1; python_version>'3'"]
    )
    add_distribution(tmp_path, "bench-low", size=200, requires=["bench-top", "bench-absent"])
    add_distribution(tmp_path, "bench-other", size=70)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert installed_bytes("bench-top", []) == 1200


def add_distribution(folder: Path, name: str, size: int, requires: list[str] | None = None) -> None:
    """Installs a distribution of one file; its metadata are not in its list of files."""
    plain = name.replace("-", "_")
    info = folder / f"{plain}-1.dist-info"
    info.mkdir()
    (folder / f"{plain}.bin").write_bytes(bytes(size))
    (info / "RECORD").write_text(f"{plain}.bin,,\n")
    needs = "".join(f"Requires-Dist: {line}\n" for line in requires or ())
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{needs}")


# --- the program


@pytest.mark.process
def test_help_of_the_script_says_how_to_use_it_and_makes_nothing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    run = subprocess.run(
        [tmp_path / "scripts" / "bench", "--help"],
        cwd="/", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("usage: scripts/bench ")
    assert not (tmp_path / ".venv").exists()


def test_help_of_the_driver_names_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    out, err = capsys.readouterr()
    assert (ended.value.code, err) == (0, "")
    for option in ("--peer", "--group", "--rows", "--rounds", "--quick", "--json", "--list"):
        assert option in out


@pytest.mark.process
def test_a_quick_run_measures_every_row_of_some_groups_and_says_on_what(tmp_path: Path) -> None:
    saved = tmp_path / "bench.json"
    groups = {"local", "remote"}
    run = bench("--quick", "--group", "local", "--group", "remote", "--json", str(saved))
    assert (run.returncode, run.stderr) == (0, "")
    whole = json.loads(saved.read_text(encoding="utf-8"))
    assert whole["ours"]["numpy"] == np.__version__
    rows = {row["name"]: row for row in whole["rows"]}
    assert set(rows) == {row.name for row in ROWS if row.group in groups}
    for row in ROWS:
        if row.group not in groups:
            continue
        assert row.name in run.stdout
        ours = rows[row.name]["ours"]
        assert rows[row.name]["status"] == "measured"
        assert 0 < ours["median_us"] <= ours["p99_us"]


def test_an_unknown_row_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rows", "feed-add", "no-such-row"]) == 2
    assert "no row 'no-such-row'" in capsys.readouterr().err


@pytest.mark.process
def test_a_peer_that_does_not_come_up_is_quoted(tmp_path: Path) -> None:
    peer = tmp_path / "python"
    peer.write_text("#!/bin/sh\necho 'no tensorflow here' >&2\nexit 3\n")
    peer.chmod(0o755)
    run = bench("--quick", "--rows", "constant", "--peer", str(peer))
    assert run.returncode == 1
    assert "the process of tensorflow ended while it was asked to describe" in run.stderr
    assert "no tensorflow here" in run.stderr


@pytest.mark.process
def test_ctrl_c_ends_it_at_once_and_leaves_nothing() -> None:
    """The suite's own look for lost processes sees to the second half."""
    with subprocess.Popen(
        [sys.executable, BENCHMARKS, "--rows", "constant", "--rounds", "10000"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    ) as run:  # fmt: skip
        assert run.stdout is not None
        while not run.stdout.readline().startswith(b"row"):
            pass
        os.killpg(run.pid, signal.SIGINT)
        output, errors = run.communicate(timeout=60)  # all rounds would take many minutes
    assert (run.returncode, output.splitlines()[-1:], errors) == (130, [b"Stopped."], b"")


def counted(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The script that counts calls, run to its end."""
    return subprocess.run(
        [sys.executable, "scripts/benchmarks/calls.py", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_the_calls_of_a_step_are_counted_and_listed_by_folder() -> None:
    """A collective of two workers calls what its step without it calls, and more."""
    found = counted("--steps", "3", "--rooms", "reads-two-workers", "reduce-4kb-2")
    assert (found.returncode, found.stderr) == (0, "")
    heading, *lines = found.stdout.splitlines()
    assert heading.split() == ["step", "own", "calls", "C", "calls", "processor", "us"]
    totals = {words[0]: words[1:] for line in lines if len(words := line.split()) == 4}
    plain, reduced = (int(totals[name][0]) for name in ("reads-two-workers", "reduce-4kb-2"))
    assert reduced > plain > 100
    folders = [line.split()[0] for line in lines if line.startswith("  ")]
    assert "actorsession/cluster/master" in folders
    assert folders.count("actorsession/runtime/collective") == 1


def test_a_kind_of_step_that_does_not_exist_is_named() -> None:
    found = counted("local", "remote")
    assert found.returncode == 2
    assert "no scenario remote; there are local, suspending" in found.stderr


def test_the_time_until_a_killed_task_is_named_is_measured() -> None:
    found = subprocess.run(
        [sys.executable, "scripts/benchmarks/loss.py", "--repeats", "1", "--signals", "SIGKILL"],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "")
    figure, error = found.stdout.splitlines()
    assert re.fullmatch(r"SIGKILL: [\d,]+ ms \(median of 1\)", figure)
    assert re.match(r"  /job:worker/replica:0/task:1 \(pid \d+\) was killed by SIGKILL; ", error)
    assert "'awaited' there, built at " in error
