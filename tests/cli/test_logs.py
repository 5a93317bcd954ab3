"""What commands log: warnings without being asked, once a minute of each peer, and more when asked."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import select
import signal
import stat
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from actorsession import AsyncSession, ConfigProto, Graph, cli, ops
from actorsession.cli.logs import OncePerMinute, _file_handler, set_up_logging
from actorsession.cluster import read_statistics, stop_server
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, UnavailableError
from actorsession.rpc.security import TOKEN_VARIABLE, shared_token
from tests.cli.kit import ends_in_silence, line_of, rest, serving
from tests.cluster.kit import PATIENCE, W0
from tests.cluster.script import command, environment
from tests.loops import run_to_end

ONE = json.dumps({"worker": ["127.0.0.1:0"]})
LOG = "ACTORSESSION_LOG"


def stderr_until(process: subprocess.Popen[str], *wanted: str) -> str:
    """What a process has said on standard error by the time that all of these stand there."""
    assert process.stderr is not None
    said, end = "", time.monotonic() + PATIENCE
    while not all(re.search(words, said) for words in wanted):
        left = end - time.monotonic()
        assert left > 0, f"only this was said: {said}"
        if select.select([process.stderr], [], [], left)[0]:
            more = os.read(process.stderr.fileno(), 65536).decode()
            assert more, f"it has ended and said: {said}"
            said += more
    return said


@pytest.mark.process
def test_a_refused_login_is_said_once_a_minute_and_a_good_one_not_at_all() -> None:

    async def ask(address: str) -> None:
        for _ in range(2):
            with pytest.raises(UnavailableError, match="wrong token"):
                await read_statistics(address, token="wrong")
        assert (await read_statistics(address, token="secret")).task == W0
        await stop_server(address, token="secret")

    with serving("worker", "--cluster", ONE, **{TOKEN_VARIABLE: "secret"}) as (process, said):
        run_to_end(ask(said["address"]))
        code, out, err = rest(process)
    assert (code, out) == (0, "")
    (line,) = err.splitlines()
    assert "WARNING transports tcp://127.0.0.1:" in line
    assert "refused a connection from tcp://127.0.0.1:" in line
    assert "wrong token" in line
    assert "secret" not in err


@pytest.mark.process
def test_at_info_sessions_peers_snapshots_and_refusals_are_logged(tmp_path: Path) -> None:
    more = {LOG: "info", TOKEN_VARIABLE: "secret"}
    words = ["worker", "--cluster", ONE, "--snapshot-dir", str(tmp_path)]
    graph = Graph()
    with graph.as_default():
        v = ops.Variable(1.0, name="v")

    async def use(target: str) -> None:
        async with AsyncSession(target, graph=graph) as session:
            await session.run(v.initializer)
        for _ in range(3):
            await read_statistics(target)
        with pytest.raises(UnavailableError, match="wrong token"):
            await read_statistics(target, token="wrong")
        await stop_server(target)

    with serving(*words, **more) as (process, said), pytest.MonkeyPatch.context() as patch:
        patch.setenv(TOKEN_VARIABLE, "secret")
        run_to_end(use(said["address"]))
        process.wait(timeout=PATIENCE)
        assert process.stderr is not None
        told = process.stderr.read()
    for wanted in (
        f"{W0} serves at {said['address']}",
        f"{W0} has a link to client at tcp://127.0.0.1:",
        f"{W0} has opened session ",
        f"{W0} works for session ",
        "closing session ",
        f"{W0} has no link to client at ",
        "refused a connection from",
        "was asked to stop by",
        f"1 variables are in the snapshot {tmp_path}",
    ):
        assert wanted in told, told
    assert told.count("has a link to client") == told.count("has no link to client") == 1, told


@pytest.mark.process
def test_a_description_that_names_a_task_of_another_cluster_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    """Both have a worker 0: the rows of the two must not be taken for one."""
    w1 = W0.replace("task:0", "task:1")

    def said(*words: str) -> tuple[int, str, str]:
        return cli.main(list(words)), *capsys.readouterr()

    with serving("worker", "--cluster", ONE, "--cluster-id", "theirs") as (_, theirs):
        ours_words = ["worker", "--cluster", json.dumps({"worker": ["127.0.0.1:0", theirs["address"]]}), "--task", "0"]
        with serving(*ours_words, "--cluster-id", "ours") as (process, ours):
            code, out, err = said("status", "--all", ours["address"])
            processes = out.split("\n\n")[0]
            rows = {line.split("  ")[0].strip(): line for line in processes.splitlines()[1:]}
            assert list(rows) == [W0, f"? {w1}"]
            assert ours["address"] in rows[W0]
            assert theirs["address"] in rows[f"? {w1}"]
            assert code == 1
            assert err == (
                f"actorsession status: {w1} at {theirs['address']} is another server: {W0} of cluster "
                "'theirs'; this is cluster 'ours'\n"
            )
            code, out, _ = said("status", "--all", ours["address"], "--json")
            found = json.loads(out)
            assert code == 1
            assert list(found["tasks"]) == [W0]
            assert found["wrong"][theirs["address"]]["task"] == w1

            code, out, err = said("why", ours["address"])
            assert code == 1
            assert "wrong cluster" in out + err
            code, out, err = said("stop", "--all", ours["address"])
            assert code == 1
            assert f"{W0} at {ours['address']} has ended" in out
            assert "wrong cluster" in err
            assert rest(process)[:2] == (0, "")
        assert said("status", theirs["address"])[0] == 0  # it was not ours to stop


@pytest.mark.process
def test_a_server_says_that_an_address_of_its_description_is_somebody_else_s() -> None:
    with serving("worker", "--cluster", ONE, "--cluster-id", "theirs") as (_, theirs):
        cluster = {"worker": ["127.0.0.1:0", theirs["address"]]}
        words = ["worker", "--cluster", json.dumps(cluster), "--task", "0", "--cluster-id", "ours"]
        with serving(*words) as (process, ours):

            async def use() -> None:
                config = ConfigProto(operation_timeout_in_ms=3_000, wait_for_all_tasks=True)
                session = AsyncSession(ours["address"], graph=Graph(), config=config)
                with pytest.raises(DeadlineExceededError, match="wrong cluster"):
                    await session.list_devices()
                await session.close()

            run_to_end(use())
            told = stderr_until(process, "wrong cluster")
            assert f"{W0} does not use {theirs['address']}: " in told


@pytest.mark.process
def test_a_plug_in_that_cannot_be_loaded_is_said_by_the_command_that_meets_it(tmp_path: Path) -> None:
    made = tmp_path / "broken-1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text("[actorsession.graph_passes]\nodd = nowhere:Pass\n")
    path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    words = command("worker", "--cluster", ONE, "--json")
    with subprocess.Popen(
        words,
        env=environment(PYTHONPATH=path),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            target = json.loads(line_of(process))["address"]
            graph = Graph()
            with graph.as_default():
                y = ops.constant(1.0) + 1.0

            async def use() -> Any:
                async with AsyncSession(target, graph=graph) as session:
                    return await session.run(y)

            assert run_to_end(use()) == 2.0
            told = stderr_until(process, "odd")
            named = "plug-in odd = nowhere:Pass of broken 1.0 (group actorsession.graph_passes)"
            assert f"PluginWarning: {named} cannot be used: ModuleNotFoundError" in told
        finally:
            process.kill()


@pytest.mark.process
def test_a_log_file_takes_the_lines_and_is_made_anew_after_it_was_renamed(tmp_path: Path) -> None:
    """Whoever renames logs sends SIGHUP, which ends nothing; the next line is in a new file."""
    path, renamed = tmp_path / "log", tmp_path / "log.1"
    path.write_text("an earlier line\n")
    with serving("worker", "--cluster", ONE, "--log-file", str(path), **{LOG: "info"}) as (process, said):
        started = f"{W0} serves at {said['address']}"
        lines = lines_until(path, started)
        assert lines[0] == "an earlier line"
        assert f" {process.pid} INFO actorsession.cluster {started}" in lines[-1]
        path.rename(renamed)
        process.send_signal(signal.SIGHUP)
        run_to_end(stop_server(said["address"]))
        assert rest(process) == (0, "", "")
    assert "was asked to stop" in path.read_text()
    assert "was asked to stop" not in renamed.read_text()


@pytest.mark.process
def test_the_processes_of_a_cluster_share_a_log_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    words = ["cluster", "--jobs", "worker=2", "--log-file", str(path)]
    with serving(*words, **{LOG: "info"}) as (process, said):
        for task in said["tasks"].values():
            started = f"serves at {task['address']}"
            (line,) = [line for line in lines_until(path, started) if started in line]
            assert f" {task['pid']} INFO actorsession.cluster " in line
        ends_in_silence(process)


def test_lines_of_clusters_that_share_a_log_file_stay_whole(tmp_path: Path) -> None:
    """However long they are: a name of a peer may be."""
    path, count, length = tmp_path / "log", 100, 50_000

    def write(letter: str) -> None:
        handler = _file_handler(str(path))
        for _ in range(count):
            handler.emit(logging.makeLogRecord({"msg": letter * length}))
        handler.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, "abcd"))
    assert Counter(path.read_text().splitlines()) == {letter * length: count for letter in "abcd"}


def test_a_log_file_is_private_and_an_unread_fifo_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = os.umask(0)
    try:
        handler = _file_handler(str(tmp_path / "log"))
    finally:
        os.umask(before)
    handler.close()
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600
    os.mkfifo(tmp_path / "fifo")
    assert cli.main(["worker", "--cluster", ONE, "--log-file", str(tmp_path / "fifo")]) == 2
    assert "--log-file: " in capsys.readouterr().err
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    try:
        handler = _file_handler(str(tmp_path / "fifo"))
        handler.emit(logging.makeLogRecord({"msg": "a line"}))
        handler.close()
        assert os.read(reader, 100) == b"a line\n"
    finally:
        os.close(reader)


def lines_until(path: Path, wanted: str) -> list[str]:
    """The lines of a file once one of them has these words."""
    end = time.monotonic() + PATIENCE
    while wanted not in path.read_text():
        assert time.monotonic() < end, f"{wanted!r} is not in {path.read_text()!r}"
        time.sleep(0.01)
    return path.read_text().splitlines()


def test_a_level_that_is_none_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(LOG, "loud")
    assert cli.main(["status", "127.0.0.1:1"]) == 2
    assert capsys.readouterr() == (
        "",
        "actorsession status: ACTORSESSION_LOG must be one of debug, info, warning, error and critical, got 'loud'\n",
    )


def test_a_token_is_long_enough_and_another_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert [cli.main(["token"]) for _ in range(2)] == [0, 0]
    first, second = capsys.readouterr().out.split()
    assert first != second
    assert min(len(first), len(second)) >= 32


def test_a_token_in_a_file_is_one_that_servers_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "token"
    old = os.umask(0)
    try:
        assert cli.main(["token", "--out", str(path)]) == 0
    finally:
        os.umask(old)
    monkeypatch.setenv("ACTORSESSION_TOKEN_FILE", str(path))
    token = path.read_text().strip()
    assert shared_token() == token
    assert len(token) >= 32
    assert token not in "".join(capsys.readouterr())
    assert cli.main(["token", "--out", str(path)]) == 1
    assert "exists" in capsys.readouterr().err
    assert shared_token() == token


@pytest.mark.parametrize(("mode", "said"), [(0o644, "use --out FILE"), (0o602, "use --out FILE"), (0o600, "")])
def test_a_token_that_is_redirected_to_a_file_which_servers_refuse_says_so(
    mode: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "token"
    path.touch(mode)
    path.chmod(mode)
    with path.open("w") as file:
        done = subprocess.run(
            command("token"), env=environment(), stdout=file, stderr=subprocess.PIPE, text=True, check=True
        )
    assert said in done.stderr
    assert bool(done.stderr) is bool(said)
    monkeypatch.setenv("ACTORSESSION_TOKEN_FILE", str(path))
    with pytest.raises(InvalidArgumentError) if said else contextlib.nullcontext():
        shared_token()


class Said:
    """A logger with the filter, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self.logger = logging.Logger("of the test")  # noqa: LOG001 - nobody else has it
        handler = logging.Handler()
        handler.emit = lambda record: self.lines.append(record.getMessage())  # type: ignore[method-assign]
        handler.addFilter(OncePerMinute(lambda: self.now))
        self.logger.addHandler(handler)

    def refuse(self, peer: str, attempt: int = 0) -> None:
        self.logger.warning("refused %s, attempt %d", peer, attempt, extra={"peer": peer})


def test_of_each_peer_a_warning_is_said_once_a_minute_with_how_often_it_was_not() -> None:
    said = Said()
    for attempt in range(100):
        said.now = attempt * 0.5
        said.refuse("a", attempt)
    said.refuse("b")
    said.now = 61.0
    said.refuse("a", 100)
    said.refuse("a", 101)
    assert said.lines == [
        "refused a, attempt 0",
        "refused b, attempt 0",
        "refused a, attempt 100 (and 99 more times since the last such line)",
    ]


def test_warnings_of_no_peer_are_told_apart_by_their_words_and_news_are_not_held_back() -> None:
    said = Said()
    for _ in range(2):
        for number in (1, 2):
            said.logger.warning("disk %d is full", number)
        said.logger.info("a session")
    assert said.lines == ["disk 1 is full", "disk 2 is full", "a session", "a session"]
    # What is remembered of peers is bounded.
    said = Said()
    for peer in range(5000):
        said.refuse(str(peer))
    (handler,) = said.logger.handlers
    (kept,) = handler.filters
    assert isinstance(kept, OncePerMinute)
    assert len(kept._logged) <= 4096


def test_how_long_a_kernel_took_is_no_warning_unless_a_level_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for level, shown in (("", False), ("warning", True)):
        monkeypatch.setenv(LOG, level)
        begun: dict[str, Any] = {}
        monkeypatch.setattr(logging, "basicConfig", begun.update)
        set_up_logging()
        (handler,) = begun["handlers"]
        assert begun["level"] == "WARNING"
        record = logging.makeLogRecord({"msg": "slow", "levelno": logging.WARNING, "hint": True})
        assert bool(handler.filter(record)) is shown
