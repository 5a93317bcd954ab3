"""``scripts/famous``: its signs, its table, and runs of small repositories that the tests make."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from scripts.repositories import run as running
from scripts.repositories.command import by_device, main, markdown
from scripts.repositories.row import Row
from scripts.repositories.run import Outcome
from scripts.repositories.sign import Falls, Reaches, Sign
from scripts.repositories.table import ROWS

LOSS = Falls("loss", r"loss (\S+)", to=0.5)

# What a repository's program may be: it learns a number, and prints its loss.
TRAINS = """
import tensorflow as tf
STEPS = 20
w = tf.Variable(5.0)
loss = tf.square(w - 1.0)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(STEPS):
        print("loss", sess.run([loss, train])[0])
"""


def losses(*numbers: float) -> str:
    """What a program prints."""
    return "".join(f"loss {number}\n" for number in numbers)


# --- signs


def test_a_loss_has_fallen_when_its_last_tenth_is_a_fraction_of_its_first() -> None:
    assert LOSS.read(losses(*range(20, 0, -1))) == (True, "loss 19.5 → 1.5")
    assert not LOSS.read(losses(*range(20, 10, -1))).learnt


@pytest.mark.parametrize("worst", ["nan", "inf", "-inf"])
def test_a_loss_that_was_not_finite_once_has_not_fallen(worst: str) -> None:
    assert not LOSS.read(losses(9, 8, float(worst), 2, 1, 0.5)).learnt


def test_few_losses_prove_nothing() -> None:
    assert LOSS.read(losses(9, 1)) == (False, "loss: 2 of 5 numbers")


def test_an_accuracy_is_that_of_the_last_tenth() -> None:
    sign = Reaches("accuracy", r"loss (\S+)", least=0.8)
    assert sign.read(losses(0.1, 0.2, 0.9)) == (True, "accuracy 0.9")
    assert not sign.read(losses(0.9, 0.2)).learnt
    assert sign.read("") == (False, "accuracy: 0 of 1 numbers")
    assert not Reaches("error", r"loss (\S+)", most=0.1).read(losses(0.2)).learnt
    assert not sign.read(losses(float("nan"))).learnt


# --- the table


def test_each_row_names_a_commit_and_differs_from_all_others() -> None:
    assert len({(row.repository, row.what) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert len(row.commit) == 40, row.repository
        assert set(row.commit) <= set("0123456789abcdef"), row.repository
        assert row.repository.count("/") == 1
        assert "|" not in row.what + row.figure


def test_the_drivers_of_rows_exist_and_all_are_used() -> None:
    folder = Path(running.__file__).parent / "drivers"
    used = {
        word.removeprefix("DRIVERS/")
        for row in ROWS
        for program in row.programs
        for word in program.split()
        if word.startswith("DRIVERS/")
    }
    assert used == {path.name for path in folder.glob("*.py")}


def test_the_page_has_all_rows_of_the_table() -> None:
    page = (Path(running.__file__).parents[2] / "docs" / "tensorflow1.md").read_text(encoding="utf-8")
    for row in ROWS:
        assert f"[{row.repository}]({row.url}) | `{row.commit[:8]}` | {row.what} |" in page
    compared = set(re.findall(r"(?m)^\| ([^\s\[]+/\S+) \| (.*?) \| ", page.partition("## With torch's kernels")[2]))
    assert len({repository for repository, _ in compared}) >= 10
    assert compared <= {(row.repository, row.what) for row in ROWS}


def test_a_row_of_markdown_has_our_figures_and_those_of_tensorflow() -> None:
    row = Row(source=f"a/b@{40 * '0'}", what="x", programs=(), sign=LOSS, figure="0.8, the paper")
    ours, theirs = Outcome(True, "loss 2 → 1", 3.0), Outcome(True, "loss 2 → 0.9", 3.0)
    assert markdown([(row, [ours], None)]).splitlines()[-1] == (
        "| [a/b](https://github.com/a/b) | `00000000` | x | loss 2 → 1 | 0.8, the paper |"
    )
    assert markdown([(row, [ours], theirs)]).endswith("| loss 2 → 0.9, TensorFlow 2.21 |")


def test_a_row_of_markdown_that_compares_devices_has_the_figures_and_the_time_of_a_step_on_each() -> None:
    row = Row(source=f"a/b@{40 * '0'}", what="x", programs=(), sign=LOSS)
    outcomes = [Outcome(True, "loss 2 → 1", 3.0, step=0.0125), Outcome(False, "loss 2 → 3", 3.0)]
    assert by_device([(row, outcomes, None)], ["cpu", "torch-cpu"]).splitlines() == [
        "| repository | what is run | cpu | torch-cpu | ms, cpu | ms, torch-cpu |",
        "| --- | --- | --- | --- | --- | --- |",
        "| a/b | x | loss 2 → 1 | **loss 2 → 3** | 12.5 | - |",
    ]


# --- runs


def clone(folder: Path, program: str) -> str:
    """Make a repository of one program, and return its commit."""
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(program)
    git = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "-q"], ["add", "train.py"], ["commit", "-q", "-m", "m"]):
        subprocess.run([*git, *command], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def row_of(commit: str, **changed: object) -> Row:
    """A row that runs the one program."""
    fixed = {"source": f"a/b@{commit}", "what": "x", "programs": ("train.py",), "sign": LOSS}
    return Row(**{**fixed, **changed})  # type: ignore[arg-type]


def test_a_missing_clone_is_named_with_the_command_that_makes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)], [row_of("0" * 40)]) == 2
    assert f"missing: git clone https://github.com/a/b {tmp_path}/a/b\n" in capsys.readouterr().out


@pytest.mark.process
def test_what_is_committed_is_run_and_the_clone_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = clone(tmp_path / "a" / "b", TRAINS)
    (tmp_path / "a" / "b" / "train.py").write_text("raise SystemExit(3)")
    assert main([str(tmp_path)], [row_of(commit)]) == 0
    assert "a/b: learnt, loss" in capsys.readouterr().out
    assert (tmp_path / "a" / "b" / "train.py").read_text() == "raise SystemExit(3)"


@pytest.mark.process
def test_each_device_is_named_with_what_was_learnt_on_it_and_the_time_of_a_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    commit = clone(tmp_path / "a" / "b", TRAINS + "    print('torch', str(sess.list_devices()).count('TORCH_CPU:0'))")
    asked = [str(tmp_path), "--device", "cpu", "torch-cpu", "--markdown"]
    assert main(asked, [row_of(commit, sign=Reaches("torch", r"torch (\d)", least=0))]) == 0
    numpys, torchs, *rest = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"a/b: learnt, torch 0 \(\d+ s, \S+ ms a step\)", numpys)
    assert re.fullmatch(r"a/b on torch-cpu: learnt, torch 1 \(\d+ s, \S+ ms a step\)", torchs)
    assert "1 of 1 have learnt; 0 clones are missing." in rest
    assert rest[-1].startswith("| a/b | x | torch 0 | torch 1 | ")


@pytest.mark.process
def test_programs_with_one_seed_have_the_same_random_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draws = (
        "import random\nimport numpy as np\nimport tensorflow as tf\n"
        "with tf.Graph().as_default(), tf.Session() as sess:\n"
        "    print('sum', random.random() + np.random.rand() + sess.run(tf.random_uniform([])))\n"
    )
    row = row_of(clone(tmp_path / "a" / "b", draws), sign=Reaches("sum", r"sum (\S+)"))
    sums = []
    for seed in ("1", "1", "2"):
        assert main([str(tmp_path), "--seed", seed], [row]) == 0
        sums.append(re.findall(r"learnt, (sum \S+)", capsys.readouterr().out))
    assert sums[0] == sums[1] != sums[2]


@pytest.mark.process
@pytest.mark.parametrize(
    ("program", "sign", "said"),
    [
        (TRAINS, Falls("loss", r"loss (\S+)", to=0.0), "NOT LEARNT, loss"),
        (TRAINS + "raise SystemExit(3)", LOSS, "NOT LEARNT, exit status 3; loss"),
    ],
    ids=["not learnt", "failed"],
)
def test_one_that_has_not_learnt_makes_the_command_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str, sign: Sign, said: str
) -> None:
    commit = clone(tmp_path / "a" / "b", program)
    assert main([str(tmp_path)], [row_of(commit, sign=sign)]) == 1
    assert said in capsys.readouterr().out


@pytest.mark.process
def test_a_program_of_chance_is_run_until_it_learns_or_has_had_its_attempts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = tmp_path / "again"
    commit = clone(
        tmp_path / "a" / "b",
        TRAINS + f"open({str(again)!r}, 'a').write('.')\nprint('runs', len(open({str(again)!r}).read()))",
    )
    third = Reaches("runs", r"runs (\d+)", least=3)
    assert main([str(tmp_path)], [row_of(commit, attempts=2, sign=Falls("loss", r"loss (\S+)", to=0.0))]) == 1
    assert len(again.read_text()) == 2
    assert main([str(tmp_path)], [row_of(commit, attempts=2, sign=third)]) == 0
    assert len(again.read_text()) == 3
    assert capsys.readouterr().out.count("NOT LEARNT") == 2


@pytest.mark.process
def test_constants_of_a_row_and_its_data_are_in_the_working_copy_alone(tmp_path: Path) -> None:
    commit = clone(tmp_path / "a" / "b", TRAINS + "print(STEPS, open('data').read())")
    row = row_of(
        commit,
        constants={"train.py": {"STEPS": "7"}},
        data=lambda folder: (folder / "data").write_text("given"),
        sign=Reaches("steps", r"(\d+) given", least=7, most=7),
    )
    assert main([str(tmp_path)], [row]) == 0
    assert not (tmp_path / "a" / "b" / "data").exists()


@pytest.mark.process
def test_an_endless_program_is_stopped_when_it_has_learnt_and_any_other_at_its_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = clone(tmp_path / "a" / "b", TRAINS + "import time\ntime.sleep(1000)")
    began = time.monotonic()
    assert main([str(tmp_path)], [row_of(commit, endless=True, seconds=500)]) == 0
    assert time.monotonic() - began < 500
    assert main([str(tmp_path)], [row_of(commit, seconds=0.1)]) == 1
    assert "not done after 0.1 s" in capsys.readouterr().out


def test_a_constant_or_a_commit_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit = clone(tmp_path / "a" / "b", TRAINS)
    assert main([str(tmp_path)], [row_of(commit, constants={"train.py": {"EPOCHS": "1"}})]) == 1
    assert "no line sets EPOCHS" in capsys.readouterr().out
    assert main([str(tmp_path)], [row_of("0" * 40)]) == 1
    assert "NOT LEARNT, fatal: not a tree object" in capsys.readouterr().out
