"""Tests on several processes, which are forks of the one that has collected them: ``pytest --workers N``.

Collecting takes a process some twenty seconds of a core, which the workers of ``pytest-xdist`` spend once each;
forks share what is collected, and most of its memory. The tests of a file stay together, because they may share
fixtures of module scope. Files wait in a pipe, the longest first, and a worker that has ended one takes the next, so
that no core is idle while another has several to go.

``conftest.py`` registers this as a plugin. What the workers report, the process that has collected the tests hands
to its plugins as if it had run them itself, so that all options of pytest mean what they always do. It does not go
on when a worker dies: the test that was running is reported as failed. What a module of tests draws or asks at its
import, such as the id of its process, is that of the process that has collected it.
"""

from __future__ import annotations

import json
import mmap
import os
import selectors
import struct
import traceback
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

# A number of a file in the pipe of those that wait; a pipe takes 64 KiB before somebody reads.
_WAITING = struct.Struct("=H")
_MOST_FILES = 1 << 15
_READ_BYTES = 1 << 16

# Seconds of a core that a test is likely to take, by its marks: medians of the whole suite, rounded.
_USUAL_SECONDS = 0.02
_PROCESS_SECONDS = 0.4
_SLOW_SECONDS = 2.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--workers``."""
    parser.addoption("--workers", type=int, default=0, metavar="N", help="run the tests in N forks of this process")


def longest_first(items: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
    """Return tests by their files, the files that are likely to take longest first."""
    files: defaultdict[object, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[item.path].append(item)
    return sorted(files.values(), key=lambda file: -sum(map(_likely_seconds, file)))


def _likely_seconds(item: pytest.Item) -> float:
    if item.get_closest_marker("slow") is not None:
        return _SLOW_SECONDS
    return _PROCESS_SECONDS if item.get_closest_marker("process") is not None else _USUAL_SECONDS


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in workers, where the command line asks for some and there are tests for them."""
    options = session.config.option
    if options.workers < 1 or options.collectonly or options.usepdb or session.testsfailed or not session.items:
        return None
    getattr(session.config, "_tmp_path_factory").getbasetemp()  # noqa: B009 - one folder for all, which this process owns
    files = longest_first(session.items)
    waiting, give = os.pipe()
    for number in range(len(files)):
        os.write(give, _WAITING.pack(number))
    os.close(give)
    stop = mmap.mmap(-1, 1)
    workers = list[_Worker]()
    try:
        for number in range(min(options.workers, len(files))):
            workers.append(_Worker.start(number, session, files, waiting, stop))
        _listen(session, workers)
    finally:
        stop[0] = 1
        os.close(waiting)
        for worker in workers:
            worker.close()
    return True


# ----------------------------------------------------------------------------------------------- in the first process


@dataclass(kw_only=True, slots=True, eq=False)
class _Worker:
    """A worker, as the process that started it sees it, and as pytest shows those of pytest-xdist.

    Attributes:
        pid: its id.
        reports: the end of the pipe by which it reports.
        gateway: has its name.
        running: the test that it runs, with its place.
        unread: the beginning of a line that has not come whole.
    """

    pid: int
    reports: int
    gateway: SimpleNamespace
    _workerinfocache: str
    running: Sequence[Any] | None = None
    unread: bytes = b""
    status: int | None = None

    @classmethod
    def start(
        cls, number: int, session: pytest.Session, files: Sequence[Sequence[pytest.Item]], waiting: int, stop: mmap.mmap
    ) -> _Worker:
        """Fork one. In the fork this does not return."""
        reports, own = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reports)
            _work(session, files, waiting, stop, own)
        os.close(own)
        name = f"worker {number}"
        return cls(pid=pid, reports=reports, gateway=SimpleNamespace(id=name), _workerinfocache=f"[{name}]")

    def read(self) -> list[Any] | None:
        """Return what has come; ``None`` at the end."""
        found = os.read(self.reports, _READ_BYTES)
        *lines, self.unread = (self.unread + found).split(b"\n")
        return [json.loads(line) for line in lines] if found else None

    def wait(self) -> int:
        """Wait for its end, and return its exit status; below zero for a signal."""
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def close(self) -> None:
        """Wait for its end, which comes with that of the test that it runs."""
        while self.read() is not None:
            pass
        os.close(self.reports)
        self.wait()


def _listen(session: pytest.Session, workers: Sequence[_Worker]) -> None:
    """Hand on what workers report, until they end or the run does.

    Raises:
        pytest.Session.Failed: after as many failures as the command line allows.
        pytest.Session.Interrupted: a worker has died.
    """
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.reports, selectors.EVENT_READ, worker)
        while selector.get_map():
            for key, _ in selector.select():
                worker = key.data
                messages = worker.read()
                if messages is None:
                    selector.unregister(key.fd)
                    if worker.wait():
                        _report_death(session, worker)
                for message in messages or ():
                    _hand_on(session.config, worker, message)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)


def _hand_on(config: pytest.Config, worker: _Worker, message: Mapping[str, Any]) -> None:
    match message:
        case {"began": began}:
            worker.running = began  # without a word to plugins: the terminal would begin a line
        case {"ended": (nodeid, location)}:
            worker.running = None
            config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=tuple(location))
        case {"report": data}:
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            report.location = tuple(report.location)  # which JSON has as a list, as it has the reason of a skip
            if isinstance(report.longrepr, list):
                report.longrepr = tuple(report.longrepr)
            report.node = worker
            config.hook.pytest_runtest_logreport(report=report)
        case {"warning": (category, text, filename, line), "when": when, "nodeid": nodeid, "location": location}:
            given = warnings.WarningMessage(UserWarning(f"{category}: {text}"), UserWarning, filename, line)
            config.hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": given, "when": when, "nodeid": nodeid, "location": location}
            )


def _report_death(session: pytest.Session, worker: _Worker) -> None:
    said = f"a worker ended with status {worker.status}"
    session.shouldstop = said
    if worker.running is None:
        return
    nodeid, location = worker.running
    report = pytest.TestReport(nodeid, tuple(location), {}, "failed", f"{said} while it ran this test", "call")
    session.config.hook.pytest_runtest_logreport(report=report)


# ---------------------------------------------------------------------------------------------------------- in a fork


class _Reporter:
    """Sends what a worker does to the process that hands it on.

    Args:
        pipe: the end of the pipe for it.
        config: the configuration of the run.
    """

    def __init__(self, pipe: int, config: pytest.Config) -> None:
        self._pipe, self._config = pipe, config

    def _send(self, **message: Any) -> None:
        line = memoryview(json.dumps(message).encode() + b"\n")
        while line:
            line = line[os.write(self._pipe, line) :]

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str, location: Sequence[Any]) -> None:
        self._send(began=[str(nodeid), location])

    @pytest.hookimpl
    def pytest_runtest_logfinish(self, nodeid: str, location: Sequence[Any]) -> None:
        self._send(ended=[str(nodeid), location])

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._send(report=self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    @pytest.hookimpl
    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Sequence[Any] | None
    ) -> None:
        said = warning_message
        self._send(
            warning=[said.category.__name__, str(said.message), said.filename, said.lineno],
            when=when,
            nodeid=str(nodeid),
            location=location,
        )


def _work(
    session: pytest.Session, files: Sequence[Sequence[pytest.Item]], waiting: int, stop: mmap.mmap, reports: int
) -> NoReturn:
    """Run the tests of files that wait, and end this process."""
    status = 1
    try:
        config, plugins = session.config, session.config.pluginmanager
        terminal = cast(Any, plugins.get_plugin("terminalreporter"))
        terminal._tw._file = open(os.devnull, "w")  # noqa: SIM115 - for the life of this process
        capture = cast(Any, plugins.get_plugin("capturemanager"))
        capture.stop_global_capturing()  # whose files have positions that the forks would share
        capture.start_global_capturing()
        capture.suspend_global_capture()
        plugins.register(_Reporter(reports, config))
        try:
            for item, following in _tests_of(files, waiting):
                if stop[0] or session.shouldfail or session.shouldstop:
                    break
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        finally:
            session._setupstate.teardown_exact(None)
        status = 0
    except KeyboardInterrupt:
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _tests_of(files: Sequence[Sequence[pytest.Item]], waiting: int) -> Iterator[tuple[pytest.Item, Any]]:
    """The tests of this worker, each with what stays set up after it: what the next of its file needs, or all has."""
    while len(number := os.read(waiting, _WAITING.size)) == _WAITING.size:
        file = files[_WAITING.unpack(number)[0]]
        for item, following in zip(file, [*file[1:], None], strict=True):
            yield item, following or item.session
