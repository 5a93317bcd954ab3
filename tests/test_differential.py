"""The differential programs without TensorFlow: our side builds and runs them; how they are judged."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from scripts.differentials import recorded, rows
from scripts.differentials.command import main
from scripts.differentials.compare import KINDS, Difference, differences
from scripts.differentials.families import programs
from scripts.differentials.program import Program
from scripts.differentials.reasons import REASONS, Reason
from scripts.differentials.record import record
from scripts.differentials.report import Outcome, judge, stale, table
from scripts.differentials.whole import output_difference, whole_programs

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = programs()
NAMES = [program.name for program in PROGRAMS] + rows.names("*")


def differential(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the driver to its end."""
    return subprocess.run(
        [sys.executable, "-m", "scripts.differentials", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


# --- the programs


def test_there_are_at_least_six_hundred_and_each_has_a_name_of_its_own() -> None:
    assert len(PROGRAMS) >= 600
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    assert not [program.name for program in PROGRAMS if set(program.name) & set(" \t\n")]


def test_records_of_other_programs_stay_when_some_are_made_anew(tmp_path: Path) -> None:
    first = {name: a_record() | {"name": name} for name in ("x/a", "x/b")}
    recorded.save("x", ["x/a", "x/b"], first, tmp_path)
    again = {"x/b": a_record(data=[0.1, 2.0]) | {"name": "x/b"}}
    recorded.save("x", ["x/a", "x/b", "x/c"], again, tmp_path)
    assert recorded.load("x", tmp_path) == first | again
    recorded.save("x", ["x/b"], {}, tmp_path)
    assert recorded.load("x", tmp_path) == again


def test_no_program_imports_a_library() -> None:
    for file in (ROOT / "scripts" / "differentials" / "families").glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "import tensorflow" not in text, file.name
        assert "actorsession" not in text, file.name


def test_cases_of_the_table_of_ops_are_programs_that_give_what_numpy_does(tmp_path: Path) -> None:
    """What is wrong is refused by the kernel, and a smooth case has its gradients too."""
    rows.export(str(tmp_path / "rows"), "rows/FloorDiv*/*")
    rows.export(str(tmp_path / "smooth"), "rows/AddV2/smooth-0")
    made = rows.programs(str(tmp_path / "rows"))
    assert [program.name for program in made] == rows.names("rows/FloorDiv*/*")
    found = {program.name: record(program, tf)["steps"] for program in made}
    assert found["rows/FloorDiv/4"][0]["value"]["items"]["0"]["shape"] == [0, 3]
    assert "InvalidArgumentError" in found["rows/FloorDiv/fault-0"][0]["error"]["classes"]
    (smooth,) = rows.programs(str(tmp_path / "smooth"))
    assert len(record(smooth, tf)["steps"][0]["value"]["items"]) == 3


# --- the reasons


def test_each_reason_names_programs_and_kinds_that_exist() -> None:
    for reason in REASONS:
        assert any(reason.matches(name) for name in NAMES), reason.programs
        assert set(reason.kinds) <= set(KINDS), reason.programs
        assert reason.why.endswith("."), reason.programs


# --- judging


def a_record(**parts: Any) -> dict[str, Any]:
    """A record of a program that fetched one float32 vector."""
    value = {"kind": "array", "dtype": "float32", "shape": [2], "data": [1.0, 2.0]} | parts
    return {"name": "x/y", "static": [], "facts": None, "random": False, "tolerance": None, "steps": [{"value": value}]}


def refused(*classes: str, running: bool = False) -> dict[str, Any]:
    """A record of a program that failed."""
    error = {"classes": list(classes), "message": ""}
    return a_record() | ({"steps": [{"error": error}]} if running else {"error": error, "steps": []})


def test_rounding_is_no_difference_and_another_number_is() -> None:
    assert differences(a_record(), a_record(data=[1.0, 2.000001])) == []
    (found,) = differences(a_record(), a_record(data=[1.0, 2.1]))
    assert found.kind == "value"


def test_nan_equals_nan_and_nothing_else() -> None:
    nan = float("nan")
    assert differences(a_record(data=[1.0, nan]), a_record(data=[1.0, nan])) == []
    assert differences(a_record(data=[1.0, nan]), a_record()) != []


def test_of_drawn_numbers_only_dtype_and_shape_count() -> None:
    drawn = {"random": True}
    assert differences(a_record() | drawn, a_record(data=[7.0, 8.0]) | drawn) == []
    (found,) = differences(a_record() | drawn, a_record(dtype="float64") | drawn)
    assert found.kind == "dtype"


def test_our_error_may_be_a_kind_of_theirs_but_not_the_other_way_round() -> None:
    both = refused("LostError", "NotFoundError", "OpError")
    assert differences(both, refused("NotFoundError", "OpError")) == []
    assert [d.kind for d in differences(refused("OpError"), both)] == ["error"]


def test_an_error_at_another_moment_is_a_difference() -> None:
    found = differences(refused("ValueError"), refused("ValueError", running=True))
    assert [d.kind for d in found] == ["moment"]


def test_an_error_on_one_side_is_a_difference() -> None:
    assert [d.kind for d in differences(a_record(), refused("ValueError"))] == ["error"]
    assert [d.kind for d in differences(refused("ValueError", running=True), a_record())] == ["error"]


def test_a_difference_without_reason_is_told_in_full() -> None:
    outcome = judge(Program("x/y", lambda tf, np: None), a_record(), a_record(shape=[1], data=[1.0]))
    assert outcome.verdict == Outcome.DIFFERS
    assert "reason: NONE" in outcome.told()
    assert "x" in table([outcome]).splitlines()[1]


def test_a_reason_whose_difference_is_gone_is_stale() -> None:
    """All programs agree here, so that every reason is."""
    agreed = [Outcome(Program(name, lambda tf, np: None), Outcome.SAME) for name in NAMES]
    assert len(stale(agreed, NAMES)) == len(REASONS)
    assert stale(agreed[:1], NAMES) == [r for r in REASONS if r.matches(NAMES[0])]


def test_a_reason_covers_the_kinds_that_it_names_only() -> None:
    reason = next(r for r in REASONS if len(r.kinds) > 1)
    name = next(name for name in NAMES if reason.matches(name))
    program = Program(name, lambda tf, np: None)
    meant: list[tuple[Difference, Reason | None]] = [(Difference(kind, "", "", ""), reason) for kind in reason.kinds]
    assert reason not in stale([Outcome(program, Outcome.MEANT, meant)], [name])
    assert reason in stale([Outcome(program, Outcome.MEANT, meant[:1])], [name])


# --- the command


@pytest.mark.process
def test_list_names_the_programs_of_a_family() -> None:
    listed = differential("--list", "--only", "schedules").stdout.split()
    assert listed == [program.name for program in PROGRAMS if program.family == "schedules"]


def test_whole_programs_are_listed_and_each_has_a_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--only", "programs"]) == 0
    assert capsys.readouterr().out.split() == [program.name for program in whole_programs()]
    for program in whole_programs():
        assert ast.get_docstring(ast.parse(program.path.read_text(encoding="utf-8")))


def test_numbers_may_be_rounded_and_all_else_that_is_printed_is_equal() -> None:
    assert output_difference("loss= 0.12345\nv_1:0", "loss=  0.12341 v_1:0") is None
    assert output_difference("step 10 of 0.5", "step 11 of 0.5") == ("after 'step': expected '10', found '11'")
    assert output_difference("a 1.0", "a 1.1") is not None
    assert output_difference("a b c", "a") == "missing: 'b c'"
    assert output_difference("a", "a nan") == "too much: 'nan'"


@pytest.mark.parametrize(("options", "said"), [(["--only", "nothing"], ""), ([], "--peer")])
def test_wrong_options_are_told_with_status_2(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(options) == 2
    assert said in capsys.readouterr().err


@pytest.mark.process
def test_a_peer_that_is_no_program_is_told_with_status_2() -> None:
    ended = differential("--peer", os.devnull, "--only", "schedules/global-step")
    assert ended.returncode == 2
    assert "did not start" in ended.stderr


@pytest.mark.process
def test_help_says_how_to_use_it() -> None:
    run = subprocess.run(
        [ROOT / "scripts" / "differential", "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0
    assert run.stdout.startswith("usage: scripts/differential ")
