"""The benchmarks: that they run, check what they measure, and end; no figure is judged here."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.benchmarks import bert, cnn, command, compare, lstm, mlp, side
from scripts.benchmarks.case import Effort, SyncCase
from scripts.benchmarks.command import main
from scripts.benchmarks.install_size import installed_bytes
from scripts.benchmarks.questions import (
    QUESTIONS,
    Question,
    WrongAnswerError,
    in_process,
    layered,
    open_sessions,
    plans,
)
from scripts.benchmarks.result import OURS, Result, Times, growth
from scripts.benchmarks.rows import GROUPS, ROWS, SLOPES, Budget, Row
from scripts.benchmarks.side_actorsession import Library, builders
from scripts.benchmarks.side_process import SideError, SideProcess
from scripts.benchmarks.training import trained

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "scripts" / "benchmarks"
TIMED = {row.question for row in ROWS if row.group != "install"}
# The rows that the tests run with their own smaller questions, or not at all: processes cost seconds.
LARGE = {row.name for row in ROWS if row.one_core} | {"ps-sgd-4"}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the driver to its end, from another directory."""
    return subprocess.run(
        [sys.executable, BENCHMARKS, *arguments], cwd="/", capture_output=True, text=True, timeout=100, check=False
    )


# --- the table


def test_rows_have_names_of_their_own_and_known_groups() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {row.group for row in ROWS} == set(GROUPS)


def test_every_row_that_can_run_has_a_question_and_each_side_answers_it() -> None:
    """TensorFlow's has the programs that are given a library, and none is ours alone."""
    assert set(QUESTIONS) == TIMED
    on_torch = {row.name for row in ROWS if row.group == "torch"}
    assert set(builders(Library())) in (TIMED, TIMED - on_torch)
    assert set(side.builders(Library(), torch=Library().tf)) == TIMED


def rows_in(name: str) -> set[str]:
    """The rows that a peer answers, read from the source because the peers are not here."""
    answered: set[str] = set()
    for node in ast.walk(ast.parse((BENCHMARKS / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            answered |= {str(ast.literal_eval(key)) for key in node.value.keys if key}
    return answered


@pytest.mark.parametrize("peer", ["ray", "pyzmq", "torch"])
def test_a_peer_answers_the_rows_that_have_a_budget_beside_it(peer: str) -> None:
    answered = rows_in(f"side_{peer}.py")
    assert answered <= TIMED
    beside = {row.question for row in ROWS for budget in row.budgets if budget.unit == peer}
    assert beside
    assert beside <= answered


def test_each_remote_row_has_the_same_on_one_core_after_it() -> None:
    remote = [row for row in ROWS if row.group == "remote" and row.unit == "s"]
    for free, bound in zip(remote[::2], remote[1::2], strict=True):
        assert (bound.name, bound.question) == (f"{free.name}-one-core", free.name)
        assert (free.one_core, bound.one_core) == (False, True)
        assert bound.budgets == free.budgets


def test_rows_that_no_peer_is_measured_in_have_smaller_ones_that_it_is() -> None:
    """A peer that takes ten minutes for a graph shows in a smaller one how its costs grow."""
    alone = [row.name for row in ROWS if row.alone]
    assert alone
    by_name = {row.name: row for row in ROWS}
    for name in alone:
        smaller = [slope for slope in SLOPES if slope.small == f"{name.rpartition('-')[0]}-2000"]
        assert [slope.large for slope in smaller] == [name.removesuffix("0"), name]
        assert not by_name[name.removesuffix("0")].alone


def test_a_peer_is_not_asked_for_a_row_that_is_ours_alone() -> None:
    class Sides:
        def __init__(self, name: str) -> None:
            self.name = name

        def answers(self, row: Row) -> bool:
            return True

        def process(self, row: Row) -> Any:
            return self

        def ask(self, *question: Any, **options: Any) -> Any:
            raise SideError("asked")

    rows = [Row("row", "growth", "", alone=alone) for alone in (False, True)]
    sides: Any = [Sides(OURS), Sides("tensorflow")]
    results = command._measured(rows, sides, command.Rounds(1, 0.0, 1))
    assert [result.errors for result in results] == [[f"{OURS}: asked", "tensorflow: asked"], [f"{OURS}: asked"]]


def test_slopes_are_those_of_rows() -> None:
    names = {row.name for row in ROWS}
    assert all({slope.small, slope.large} <= names for slope in SLOPES)


def test_the_page_on_benchmarks_explains_every_row() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert [row.name for row in ROWS if f"`{row.question}`" not in page] == []


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
                "f1": (0, 1, 0, 1),
                "b1": (1,),
                "f2": (4, 2, 1, 2),
                "b2": (0,),
                "w3": (40, 2),
                "b3": (3,),
                "w": (1, 7),
                "b": (9,),
            },
        ),
        (cnn, cnn.first_weights(2, 3), {"f2": (4, 2, 1, 2), "w": (40, 7)}),
        (
            bert,
            bert.first_weights(),
            {
                **{name: (3, 5) for name in bert.first_weights() if name.startswith("w_")},
                **{name: (9,) for name in bert.first_weights() if name.startswith(("b_", "gain", "shift"))},
                "words": (bert.batch(4)["x"][1, 2], 7),
                "places": (60, 100),
            },
        ),
        (lstm, lstm.first_weights(), {"kernel": (30, 200), "bias": (90,), "w": (1, 7), "b": (9,)}),
    ],
)
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
    case = SyncCase(step=lambda: made.append("step"), answers=list, whole=True, after=lambda: made.append("after"))
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
    result = Result(Row("row", "local", "", budget), {OURS: Times([[ours]])})
    if peer is not None:
        result.sides["tensorflow"] = Times([[peer]])
    assert result.verdict(budget) == verdict


def test_each_budget_is_held_against_its_own_peer() -> None:
    sides = {OURS: Times([[1.0]]), "tensorflow": Times([[4.0]]), "ray": Times([[0.5]])}
    row = Row("row", "remote", "", Budget(0.5), others=(Budget(1.0, "ray"), Budget(0.8, "pyzmq")))
    result = Result(row, sides)
    assert [result.verdict(budget) for budget in row.budgets] == ["ok", "over by 100%", ""]


def test_a_slope_is_the_growth_of_the_cost_beside_that_of_the_size() -> None:
    """Of the three that have rows here, one has only one of them."""
    sides = [{OURS: Times([[1.0]]), "ray": Times([[1.0]])}, {OURS: Times([[150.0]])}]
    rows = [Row("build-2000", "growth", ""), Row("build-200000", "growth", "", alone=True)]
    lonely = Result(Row("step-2000", "growth", ""), sides[0])
    (slope,) = growth([*map(Result, rows, sides), lonely])
    assert (slope.slope.name, slope.sides) == ("build-200000", {OURS: 1.5})
    assert slope.verdict == "over by 25%"


def test_sizes_are_held_against_a_budget_in_megabytes() -> None:
    budget = Budget(100, "MB")
    row = Row("row", "install", "", budget)
    assert Result(row, {OURS: Times([[90_000_000]])}).verdict(budget) == "ok"
    sides = {OURS: Times([[150_000_000]]), "tensorflow": Times([[300_000_000]])}
    assert Result(row, sides).verdict(budget) == "over by 50%"
    assert Result(row, sides).ratio("tensorflow") == 0.5


def test_the_installed_size_is_that_of_a_distribution_and_all_that_it_requires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_distribution(tmp_path, "bench-top", size=1000, requires=["bench_low>=1; python_version>'3'"])
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
        [tmp_path / "scripts" / "bench", "--help"], cwd="/", capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("usage: scripts/bench ")
    assert not (tmp_path / ".venv").exists()


def test_help_of_the_driver_names_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    out, err = capsys.readouterr()
    assert (ended.value.code, err) == (0, "")
    options = ("--peer", "--peer-ray", "--peer-zmq", "--group", "--rows", "--rounds", "--quick")
    for option in (*options, "--json", "--compare", "--list", "--device", "--at-most"):
        assert option in out


@pytest.mark.process
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize(("ratio", "status"), [("1e-6", 1), ("1e6", 0)])
def test_rows_that_take_longer_than_a_peer_may_fail_a_run_on_a_device_that_is_named(ratio: str, status: int) -> None:
    beside = ["--peer-torch", sys.executable, "--at-most", ratio, "--device", "TORCH_CPU"]
    run = bench("--quick", *beside, "--rows", "torch-mlp-sgd")
    assert (run.returncode, run.stdout.count("torch-mlp-sgd")) == (status, 1)
    assert ("scripts/bench: above 1e-06 times a peer's: torch-mlp-sgd\n" in run.stderr) is bool(status)
    unknown = bench("--quick", "--device", "MOON", "--rows", "torch-mlp-sgd")
    assert unknown.returncode == 1
    assert "no device type 'MOON' here" in unknown.stdout


@pytest.mark.process
@pytest.mark.parametrize("group", ["local", "remote"])
def test_a_quick_run_measures_every_row_of_a_group_and_says_on_what(tmp_path: Path, group: str) -> None:
    saved = tmp_path / "bench.json"
    names = [row.name for row in ROWS if row.group == group and row.name not in LARGE]
    run = bench("--quick", "--json", str(saved), "--rows", *names)
    assert (run.returncode, run.stderr) == (0, "")
    whole = json.loads(saved.read_text(encoding="utf-8"))
    assert whole["sides"][OURS]["numpy"] == np.__version__
    assert [row["name"] for row in whole["rows"]] == names
    for row in whole["rows"]:
        assert row["name"] in run.stdout
        assert row["status"] == "measured"
        assert 0 <= row["sides"][OURS]["median"] <= row["sides"][OURS]["p99"]


@pytest.mark.parametrize(
    ("row", "question"),
    [
        ("build-2000", plans(2)),
        ("first-run-2000", layered(2)),
        ("step-2000", layered(2)),
        ("new-plan-2000", plans(2)),
        ("in-process-10", in_process(3)),
        ("memory-session", open_sessions(2)),
        ("memory-plan", plans(2, count=2)),
        pytest.param("memory-server", open_sessions(2), marks=pytest.mark.process),
    ],
)
def test_rows_about_growth_run_with_small_questions(row: str, question: Question) -> None:
    with contextlib.closing(Library()) as library:
        case = builders(library)[row](question)
        try:
            question.check(case.answer())
            assert case.times(Effort(seconds=0.0, least=1))
        finally:
            case.close()


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_the_process_of_rows_on_one_core_is_bound_to_it() -> None:
    core = max(os.sched_getaffinity(0))
    side = SideProcess(OURS, sys.executable, os.environ, core)
    with contextlib.closing(side):
        assert side.ask("describe", 60.0)["cores"] == 1


def test_an_unknown_row_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rows", "feed-add", "no-such-row"]) == 2
    assert "no row 'no-such-row'" in capsys.readouterr().err


# --- what has changed since an earlier run


def report(ours: list[float], peer: list[float] | None = None) -> compare.Report:
    """The report of a run with one row, of which these are the medians of the rounds."""
    sides = {OURS: {"round_medians": ours}}
    if peer is not None:
        sides["tensorflow"] = {"round_medians": peer}
    return {"date": "then", "rows": [{"name": "hops", "unit": "s", "sides": sides}]}


SAME = "  1 rows have not changed by more than the noise"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (report([1.0, 2.0, 3.0]), report([2.5, 3.0, 4.0]), SAME),
        (report([2.0, 2.5, 3.0]), report([4.0, 5.0, 6.0]), "  hops: 2.00 times more, 2.5 (2 to 3) -> 5 (4 to 6) s"),
        (report([4.0, 5.0, 6.0]), report([2.0, 2.5, 3.0]), "  hops: 2.00 times less, 5 (4 to 6) -> 2.5 (2 to 3) s"),
        # The machine is half as fast as it was, for both sides.
        (report([1.0] * 3, [10.0] * 3), report([2.0] * 3, [20.0] * 3), SAME),
        (
            report([1.0] * 3, [10.0] * 3),
            report([1.0] * 3, [5.0] * 3),
            "  hops: 2.00 times more, 0.1 (0.1 to 0.1) -> 0.2 (0.2 to 0.2) x TensorFlow",
        ),
        # Without the peer in both runs, times are compared.
        (report([1.0] * 3, [10.0] * 3), report([1.0] * 3), SAME),
        (report([1.0] * 2), report([9.0] * 3), "  not known with fewer than 3 rounds in both runs: hops"),
    ],
)
def test_a_change_is_named_if_it_is_more_than_the_noise_of_both_runs(
    old: compare.Report, new: compare.Report, says: str
) -> None:
    heading, *lines = compare.lines(old, new)[1:]
    assert heading == "since then:"
    assert says in lines
    assert says == SAME or SAME not in lines


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot read"),
        ("{", "was not written by --json of this version"),
        ('{"rows": [{"name": "hops", "ours": {}}]}', "was not written by --json of this version"),
    ],
)
def test_a_file_to_compare_with_that_is_no_report_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, says: str
) -> None:
    old = tmp_path / "old.json"
    if text is not None:
        old.write_text(text, encoding="utf-8")
    assert main(["--rows", "constant", "--compare", str(old)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("scripts/bench: --compare: ")
    assert str(old) in error
    assert says in error


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
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as run:
        assert run.stdout is not None
        while not run.stdout.readline().startswith(b"row"):
            pass
        os.killpg(run.pid, signal.SIGINT)
        output, errors = run.communicate(timeout=60)  # all rounds would take many minutes
    assert (run.returncode, output.splitlines()[-1:], errors) == (130, [b"Stopped."], b"")


def measured(*command: str) -> subprocess.CompletedProcess[str]:
    """A script that measures something on its own, run to its end."""
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_the_calls_of_a_step_are_counted_and_listed_by_folder() -> None:
    """A collective of two workers calls what its step without it calls, and more."""
    found = measured("scripts/benchmarks/calls.py", "--steps", "3", "--rooms", "reads-two-workers", "reduce-4kb-2")
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
    found = measured("scripts/benchmarks/calls.py", "local", "remote")
    assert found.returncode == 2
    assert "no scenario remote; there are local, suspending" in found.stderr


def test_the_time_until_a_killed_task_is_named_is_measured() -> None:
    found = measured("scripts/benchmarks/loss.py", "--repeats", "1", "--signals", "SIGKILL")
    assert (found.returncode, found.stderr) == (0, "")
    figure, error = found.stdout.splitlines()
    assert re.fullmatch(r"SIGKILL: [\d,]+ ms \(median of 1\)", figure)
    assert re.match(r"  /job:worker/replica:0/task:1 \(pid \d+\) was killed by SIGKILL; ", error)
    assert "'awaited' there, built at " in error


def test_costs_per_worker_are_measured_in_one_process_and_over_processes() -> None:
    found = measured("scripts/benchmarks/scale.py", "--in-process", "2", "--processes", "2", "--repeats", "1")
    assert (found.returncode, found.stderr) == (0, "")
    servers, heading, one, processes, _, other = found.stdout.splitlines()
    assert servers == "servers in one process, over TCP; in brackets, per worker"
    assert processes == "processes; in brackets, per worker"
    assert [cell.strip() for cell in heading.split("|")] == ["workers", "start s", "step ms", "broadcast ms", "lost ms"]
    for row in (one, other):
        workers, *figures = [float(cell.split()[0]) for cell in row.split("|")]
        assert workers == 2
        assert min(figures) > 0.0


@pytest.mark.skipif(os.cpu_count() == 1, reason="the parameter server needs a core of its own")
def test_the_load_of_a_parameter_server_is_measured_for_each_number_of_workers() -> None:
    found = measured("-m", "scripts.benchmarks.ps_load", "--workers", "1", "2", "--seconds", "0.2")
    assert (found.returncode, found.stderr) == (0, "")
    heading, *rows = found.stdout.splitlines()
    assert [cell.strip() for cell in heading.split("|")] == [
        "optimizer",
        "workers",
        "updates/s",
        "us of the ps each",
        "of its core",
    ]
    cells = [[cell.strip(" %") for cell in row.split("|")] for row in rows]
    assert [row[:2] for row in cells] == [[o, n] for o in ("sgd", "adam") for n in ("1", "2")]
    assert all(float(cell.replace(",", "")) > 0.0 for row in cells for cell in row[2:])
