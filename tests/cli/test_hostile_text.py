"""What commands show of names and messages that others choose: every character, and no line of theirs.

One text with all kinds of characters that act or hide goes through each field of what a peer sends, and
through each command.
"""

from __future__ import annotations

import collections.abc
import io
import json
import logging
import os
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Union

import pytest

from actorsession import cli
from actorsession.cli import console, status
from actorsession.cli.logs import set_up_logging
from actorsession.cluster import ServerStatistics, TaskEnd
from actorsession.errors import UnavailableError
from actorsession.metrics import HistogramCounts
from actorsession.runtime.hang_report import HangReport
from actorsession.runtime.hang_report_format import _VERDICTS
from actorsession.runtime.wait_graph import HELD, RUNS, UNBEGUN
from tests.cli.kit import called
from tests.rows import for_each
from tests.template import cold_starts

HOSTILE = "\x1b[31m\x07\x7f\x9b\u202e\u2066\u200b\u2028\x85\r\nroot cause: nobody\t\x00\ufeff"
PLAIN = "name"
WAYS_TO_BREAK = (HOSTILE, HOSTILE + "\udcff\ud800")
DEVICE = "/job:w/replica:0/task:0/device:CPU:0"
KEY = f"{DEVICE};0000000000000001;{DEVICE};edge_1_{{}};0:0"


def filled(kind: Any, text: str) -> Any:
    """A value of a type with a text in every string that it has, at any depth."""
    if kind is str:
        return text
    if kind is Any or kind is int:
        return 1
    if kind in (float, bool):
        return kind(1)
    if kind is HistogramCounts:  # which holds numbers alone
        return kind()
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return filled(next(one for one in arguments if one is not type(None)), text)
    if origin is tuple:
        given = arguments[:1] if arguments[1:] == (...,) else arguments
        return tuple(filled(one, text) for one in given)
    if origin in (Mapping, dict, collections.abc.Mapping):
        return {filled(arguments[0], text): filled(arguments[1], text)}
    assert is_dataclass(kind), kind
    hints = typing.get_type_hints(kind)
    values = {f.name: filled(hints[f.name], text) for f in fields(kind) if f.init}
    keys = {"keys", "chain", "key"} & set(values)
    for name in keys:
        key = KEY.format(text.replace(";", ""))
        values[name] = key if isinstance(values[name], str) else (key,)
    made: Any = kind
    return made(**values)


def reports(text: str) -> Iterator[HangReport]:
    """A report for every kind of cause and every state of a part of a step."""
    whole = filled(HangReport, text)
    step = whole.steps[0]
    for kind in [*_VERDICTS, "follows"]:
        for state in (RUNS, HELD, UNBEGUN):
            tasks = (replace(step.tasks[0], state=state),)
            cause = replace(step.causes[0], kind=kind)
            yield replace(whole, steps=(replace(step, causes=(cause,), tasks=tasks),))
            yield replace(whole, steps=(replace(step, causes=(cause,), tasks=tasks, partial=None),))
    yield replace(whole, steps=())
    yield replace(whole, steps=(), silent={})


def check(text: str, lines: int | None = None) -> None:
    """Check that a text has no character that acts, and as many lines as it has with harmless names."""
    found = text.split("\n")
    assert [line for line in found if not line.isprintable()] == []
    assert lines is None or len(found) == lines


def test_why_shows_no_line_that_a_name_has_made(answers: Callable[..., None]) -> None:
    for plain, hostile in zip(reports(PLAIN), reports(HOSTILE), strict=True):
        check(str(hostile), str(plain).count("\n") + 1)

        async def ask(*_: Any, report: HangReport = hostile, **__: Any) -> HangReport:
            return report

    answers(read_why=ask)
    for form, lines in ([], str(plain).count("\n") + 2), (["--json"], 2):
        _, out, err = called("why", "h:1", *form)
        assert err == ""
        check(out, lines)


@for_each("form", ["table", "json", "prometheus"])
def test_status_shows_no_line_that_a_name_has_made(answers: Callable[..., None], form: str) -> None:
    lines = set()
    for text in (PLAIN, HOSTILE):
        counters = replace(filled(ServerStatistics, text), loop_lag=9.0, overdue=1, snapshot_age=9e9)

        async def ask(*_: Any, text: str = text, counters: Any = counters, **__: Any) -> list[Any]:
            return [
                status.TaskAnswer(text, "tcp://h:1", counters),
                status.TaskAnswer(text, "tcp://h:2", counters, fault=text),
                status.TaskAnswer(text, text, None, fault=text),
            ]

        answers(ask_cluster=ask)
        _, out, err = called("status", "h:1", "--all", "--format", form)
        check(out)
        check(err)
        lines.add((out.count("\n"), err.count("\n")))
        if form == "json":
            assert text in json.loads(out)["tasks"]
    assert len(lines) == 1


@for_each("form", [[], ["--json"]])
def test_stop_shows_no_line_that_a_name_has_made(answers: Callable[..., None], form: list[str]) -> None:
    class View:
        task = cluster_id = HOSTILE
        tasks = {HOSTILE: "tcp://h:1", HOSTILE + "2": "tcp://h:2"}

    async def read(*_: Any, **__: Any) -> Any:
        return View

    async def stop(where: str, **_: Any) -> str:
        if where == "tcp://h:1":
            return HOSTILE
        raise UnavailableError(HOSTILE)

    answers(read_cluster=read, stop_server=stop)
    code, out, err = called("stop", "h:1", "--all", *form)
    assert code == 1
    check(out, 2)
    check(err, 2)


@for_each("text", WAYS_TO_BREAK, ids=["control", "surrogates"])
@for_each(
    "say",
    [
        lambda text: console.print_line(text),
        lambda text: console.print_json({text: [text]}),
        lambda text: console.fail(text, UnavailableError(text, node=text, task=text)),
        lambda text: console.run_command(text, lambda: (_ for _ in ()).throw(OSError(1, text, text))),
        lambda text: console.run_command(text, lambda: (_ for _ in ()).throw(ImportError(text))),
        lambda text: console.Parser(prog=text, description=text).print_help(),
        lambda text: cli.cluster._Ends(silent=False).add(TaskEnd(task=text, message=text, clean=False, restarts=False)),
    ],
)
def test_what_a_command_says_is_seen(capsys: pytest.CaptureFixture[str], say: Callable[[str], Any], text: str) -> None:
    say(text)
    out, err = capsys.readouterr()
    assert out or err
    check(out)
    check(err)


@for_each("text", WAYS_TO_BREAK, ids=["control", "surrogates"])
@for_each(
    "words",
    [
        ["{}"], ["--{}"], ["status", "{}"], ["why", "{}"], ["stop", "{}"], ["status", "h:1", "{}"],
        ["status", "h:1", "--timeout={}"], ["worker", "--cluster", "{}"], ["worker", "--config", "{}"],
        ["worker", "--job", "{}"], ["worker", "--import={}"], ["worker", "--file-root={}"],
        ["master", "--listen={}"], ["cluster", "--jobs", "{}"], ["certs", "--out", "file/{}"],
        ["certs", "--out=x", "--hosts={}"], ["run-tf1", "{}"], ["check-tf1", "{}"], ["demo", "--steps={}"],
    ],
)  # fmt: skip
def test_arguments_that_a_command_quotes_are_visible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    code, out, err = called(*[word.format(text.replace("\0", "")) for word in words])
    assert code in (1, 2)
    check(out)
    check(err, 2)


def test_a_program_that_fails_and_what_its_files_are_called_is_visible(tmp_path: Path) -> None:
    name = HOSTILE.replace("\0", "").replace("/", "")
    program = tmp_path / f"{name}.py"
    program.write_text(f"import tensorflow as tf\ntf.no_such_name\nraise ValueError({HOSTILE!r})\n")
    command = [sys.executable, "-m", "actorsession", "run-tf1", str(program)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert "no_such_name" in ended.stderr
    check(ended.stdout)
    check(ended.stderr)


def test_lines_of_a_log_quote_peers_visibly(tmp_path: Path) -> None:
    path = tmp_path / "log"
    root = logging.getLogger()
    kept, level = root.handlers[:], root.level
    try:
        set_up_logging(str(path))
        log = logging.getLogger("actorsession.test")
        log.warning("the peer %s says %r", HOSTILE, HOSTILE)
        log.warning("half: %s", "\udcff")
        try:
            raise UnavailableError(HOSTILE)
        except UnavailableError:
            log.exception("failed")
    finally:
        for handler in set(root.handlers) - set(kept):
            handler.close()
        root.handlers[:], root.level = kept, level
    text = path.read_text(encoding="utf-8")
    check(text)
    assert r"\x1b[31m\x07\x7f\x9b\u202e" in text
    assert r"half: \udcff" in text


@contextmanager
def unread_pipe() -> Iterator[int]:
    """The writing end of a pipe whose reader is gone."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


@for_each(
    "words, status_of_it",
    [
        (["--help"], 0),
        (["--version"], 0),
        (["status", "--help"], 0),
        (["token"], 0),
        (["why", "h:1"], 1),
        (["why", "h:1", "--json"], 1),
        (["status", "h:1"], 1),
        (["status", "h:1", "--json"], 1),
        (["status", "h:1", "--watch"], 1),
        (["stop", "h:1"], 0),
        (["stop", "h:1", "--json"], 0),
        (["doctor"], None),
        (["doctor", "--json"], None),
        ([], 2),
    ],
)
def test_a_command_whose_reader_has_seen_enough_ends_with_its_own_status_and_says_nothing(
    answers: Callable[..., None], words: list[str], status_of_it: int | None
) -> None:
    async def ask(*_: Any, **__: Any) -> list[Any]:
        return [status.TaskAnswer("", "h:1", filled(ServerStatistics, PLAIN), fault="another")]

    async def why(*_: Any, **__: Any) -> HangReport:
        return filled(HangReport, PLAIN)

    async def stop(*_: Any, **__: Any) -> str:
        return PLAIN

    answers(ask_cluster=ask, read_why=why, stop_server=stop)
    err = io.StringIO()
    with unread_pipe() as writing, open(os.dup(writing), "w", encoding="utf-8") as out:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code: Any = cli.main(words)
            except SystemExit as ended:
                code = ended.code
    assert "Broken pipe" not in err.getvalue()
    assert "Traceback" not in err.getvalue()
    assert code == status_of_it or status_of_it is None


@pytest.mark.process
def test_a_process_whose_reader_is_gone_ends_in_silence() -> None:
    for words in (["token"], ["--help"]):
        with unread_pipe() as writing:
            ended = subprocess.run(
                [sys.executable, "-m", "actorsession", *words],
                stdout=writing,
                stderr=subprocess.PIPE,
                text=True,
                timeout=120,
                check=False,
            )
        assert (ended.returncode, ended.stderr) == (0, "")


WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
from actorsession import cli
for words in {!r}:
    try:
        code = cli.main(words)
    except SystemExit as ended:
        code = ended.code
    print("status", code)
"""


@pytest.mark.process
@pytest.mark.parametrize("package", ["numpy", "msgpack"])
def test_without_a_package_help_and_doctor_work_and_all_else_is_one_line(package: str) -> None:
    commands = [["--help"], ["worker", "--help"], ["--version"], ["token"], ["doctor"], ["status", "h:1"], []]
    command = [sys.executable, "-c", WITHOUT.format(commands), package]
    with cold_starts():  # which have not imported it yet
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0
    statuses = [line for line in ended.stdout.splitlines() if line.startswith("status ")]
    assert statuses == [f"status {code}" for code in (0, 0, 0, 0, 1, 1, 1)]
    assert f"fault   {package} " in ended.stdout
    assert f"-> pip install {package}" in ended.stdout
    assert "usage: actorsession worker" in ended.stdout
    lines = ended.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.endswith("; actorsession doctor shows what is missing") for line in lines)
    assert all(package in line for line in lines)
