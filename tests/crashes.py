"""Crash points: whatever writes files is killed at each of its system calls, and what is left is looked at.

A scenario is a piece of work on a folder, with what has to hold whenever it was cut off. ``storm`` runs it in
a process of its own, which forks a child for each point: the n-th call that changes files (open, half of a
write, sync, rename, link, removal, new folder) is the child's last, by SIGKILL. Then the scenario looks at
the folder, does the same work again without a fault, and looks once more: nothing may be lost, and nothing
left behind.

The tests run each scenario; a soak may call ``storm`` for as many as it likes. A killed process loses nothing
that it gave to the kernel; that files are synced before they get their names, and folders before anything is
removed, is what ``unsynced`` looks for in the list of calls.

Run by itself, ``python -m tests.crashes SCENARIO[=POINTS] ...`` prints a report of each as a line of JSON.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from actorsession import checkpoints
from actorsession.errors import OpError

__all__ = ["SCENARIOS", "Report", "Scenario", "storm", "storms", "unsynced"]

_ROOT = Path(__file__).resolve().parent.parent
# Seconds for a storm; one point takes some milliseconds.
_LIMIT = 300.0
# In memory where there is such a place: a sync takes tens of milliseconds on a disk that others use.
_PLACE = "/dev/shm" if os.path.isdir("/dev/shm") else None
# A scenario that has more points than this does not end.
_MOST = 2000


# -- the calls -------------------------------------------------------------------------------------


class Calls:
    """Every call of this process that changes files, from now on; one of them may be its last.

    Args:
        last: the number of the call, from 1 on, in the middle of which the process is killed; 0 for none.
    """

    def __init__(self, last: int = 0) -> None:
        self.made: list[tuple[str, str]] = []
        self._last = last

    def note(self, call: str, path: Any) -> bool:
        """Takes a call down; whether it is the last."""
        self.made.append((call, os.fsdecode(path)))
        return len(self.made) == self._last

    def install(self) -> None:
        """Has ``os`` and ``open`` tell of their calls; for the rest of the life of the process."""
        for name in ("replace", "rename", "unlink", "remove", "rmdir", "mkdir", "link"):
            setattr(os, name, self._counted(name, getattr(os, name)))
        paths: dict[int, str] = {}
        os_open, sync, plain_open = os.open, os.fsync, io.open

        def open_descriptor(path: Any, flags: int, *more: Any, **options: Any) -> int:
            if flags & os.O_CREAT and self.note("open", path):
                _die()
            descriptor = os_open(path, flags, *more, **options)
            paths[descriptor] = os.fsdecode(path)
            return descriptor

        def sync_descriptor(fd: Any) -> None:
            if self.note("fsync", paths.get(fd, "?")):
                _die()
            sync(fd)

        def open_file(path: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
            if isinstance(path, int) or options.get("opener") or not set(mode) & set("wxa"):
                return plain_open(path, mode, *more, **options)
            if self.note("open", path):
                _die()
            raw = _Written(path, mode.replace("b", "").replace("t", ""), self)
            paths[raw.fileno()] = os.fsdecode(path)
            buffered = io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding="utf-8")

        os.open, os.fsync = open_descriptor, sync_descriptor
        builtins.open = io.open = open_file  # type: ignore[assignment]

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(path: Any, *more: Any, **options: Any) -> Any:
            target = f"{os.fsdecode(path)} -> {os.fsdecode(more[0])}" if _has_two(name) else path
            if self.note(name, target):
                _die()
            return call(path, *more, **options)

        return counted


def _has_two(name: str) -> bool:
    return name in ("replace", "rename", "link")


class _Written(io.FileIO):
    """A file whose writes are counted; the last of a process writes half."""

    def __init__(self, path: Any, mode: str, calls: Calls) -> None:
        super().__init__(path, mode)
        self._calls = calls

    def write(self, data: Any) -> int:
        if self._calls.note("write", self.name):
            view = memoryview(data).cast("B")
            super().write(view[: len(view) // 2])
            _die()
        return super().write(data) or 0


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def unsynced(made: Sequence[tuple[str, str]]) -> list[str]:
    """What a crash of the machine might lose: files that are renamed before their content is synced, and
    removals before the folder is synced with what came in their place."""
    wrong = []
    clean: set[str] = set()
    renamed: set[str] = set()  # folders with names that are not synced
    for call, path in made:
        if call == "write":
            clean.discard(path)
        elif call == "fsync":
            clean.add(path)
            renamed.discard(os.path.abspath(path))
        elif _has_two(call):
            source, _, target = path.partition(" -> ")
            if source in {p for c, p in made if c == "write"} and source not in clean:
                wrong.append(f"{source} gets its name unsynced")
            renamed.add(os.path.dirname(os.path.abspath(target)))
        elif call in ("unlink", "remove") and renamed:
            wrong.append(f"{path} is removed before {', '.join(sorted(renamed))} is synced")
    return wrong + [f"{folder} is never synced" for folder in sorted(renamed)]


# -- scenarios -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scenario:
    """Work that writes files.

    Attributes:
        prepare: makes what is there before, in an empty folder.
        work: does the work; it is what is cut off.
        look: what is wrong with the folder when the work was cut off anywhere.
        whole: what is wrong with it after the work was done again, to its end.
    """

    prepare: Callable[[Path], None]
    work: Callable[[Path], None]
    look: Callable[[Path], list[str]]
    whole: Callable[[Path], list[str]]


@dataclass(slots=True)
class Report:
    """What a storm has seen.

    Attributes:
        scenario: its name.
        points: how many times a process was killed.
        faults: what did not hold, with the call that was the last.
        lost: of these, how many points left nothing that could be restored.
    """

    scenario: str
    points: int = 0
    faults: list[str] = field(default_factory=list)
    lost: int = 0


def storm(scenario: str, points: int | None = None) -> Report:
    """Kills the work of a scenario at each of its crash points, in a process of its own.

    Args:
        scenario: a key of ``SCENARIOS``.
        points: at how many points at most, evenly spread; at all of them if left out.

    Raises:
        AssertionError: if the process of the storm itself fails.
    """
    (report,) = storms({scenario: points}).values()
    return report


def storms(scenarios: Mapping[str, int | None]) -> dict[str, Report]:
    """Does the same for several scenarios, each in a fork of one process.

    Args:
        scenarios: at how many points at most, by scenario.
    """
    words = [f"{name}={points or 0}" for name, points in scenarios.items()]
    command = [sys.executable, "-m", "tests.crashes", *words]
    ended = subprocess.run(
        command, cwd=_ROOT, capture_output=True, text=True, timeout=_LIMIT, check=False
    )
    assert ended.returncode == 0, ended.stderr
    reports = [Report(**json.loads(line)) for line in ended.stdout.splitlines()]
    return {report.scenario: report for report in reports}


def _storm(name: str, points: int) -> Report:
    scenario, report = SCENARIOS[name], Report(name)
    with tempfile.TemporaryDirectory(dir=_PLACE) as place:
        folder = Path(place) / "at"
        before = Path(place) / "before"
        folder.mkdir()
        # In a child: what it leaves in the process, such as who is saving, is none of the work's.
        assert _forked(lambda: scenario.prepare(folder)) == 0
        shutil.copytree(folder, before)
        calls, modules = _calls_of(scenario, folder)
        for module in modules:  # which each child would else import again
            importlib.import_module(module)
        report.faults += unsynced(calls)
        count = len(calls)
        step = max(1, -(-count // points)) if points else 1
        for last in range(1, count + 1, step):
            shutil.rmtree(folder)
            shutil.copytree(before, folder)
            assert _forked(lambda: _work(scenario, folder, last)) == -signal.SIGKILL  # noqa: B023
            report.points += 1
            wrong = scenario.look(folder)
            report.lost += bool(wrong)
            assert _forked(lambda: scenario.work(folder)) == 0
            wrong += [f"afterwards: {words}" for words in scenario.whole(folder)]
            report.faults += [f"call {last} of {count}: {words}" for words in wrong]
    return report


def _calls_of(scenario: Scenario, folder: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """The calls of a run that nothing cuts off, and the modules that it imports."""
    said = folder.with_name("calls")
    known = set(sys.modules)

    def run() -> None:
        calls = _work(scenario, folder, 0)
        said.write_text(json.dumps([calls, [name for name in sys.modules if name not in known]]))

    assert _forked(run) == 0
    calls, modules = json.loads(said.read_text())
    found: list[tuple[str, str]] = [tuple(call) for call in calls]
    assert 0 < len(found) < _MOST, len(found)
    return found, modules


def _work(scenario: Scenario, folder: Path, last: int) -> list[tuple[str, str]]:
    calls = Calls(last)
    calls.install()
    scenario.work(folder)
    return list(calls.made)


def _forked(work: Callable[[], Any]) -> int:
    """Does something in a child; its exit code."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# -- checkpoints -----------------------------------------------------------------------------------

_SHARDS = 3
_NAMES = [f"v{i}" for i in range(_SHARDS)]
OLD, NEW = 1.0, 2.0


def _value(value: float) -> Any:
    # More than the buffer of a file holds, so that there is a write for each tensor.
    return np.full(3000, value)


def _shards(folder: Path, value: float, basename: str) -> list[str]:
    """What the save ops of several tasks write."""
    prefixes = [checkpoints.sharded_name(basename, i, _SHARDS) for i in range(_SHARDS)]
    for name, prefix in zip(_NAMES, prefixes, strict=True):
        checkpoints.save(prefix, [name], [""], [_value(value)])
    return prefixes


def _save_sharded(value: float) -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        prefix = str(folder / "m")
        with checkpoints.saving(prefix) as basename:
            checkpoints.merge(_shards(folder, value, basename), prefix)

    return save


def _save_named_plainly(value: float) -> Callable[[Path], None]:
    """As graphs do that know nothing of a save of its own: the shards have the same names each time."""

    def save(folder: Path) -> None:
        prefix = str(folder / "m")
        checkpoints.merge(_shards(folder, value, prefix), prefix)

    return save


def _save_elsewhere(value: float) -> Callable[[Path], None]:
    """As graphs of TensorFlow do: the shards are written to a folder of their own."""

    def save(folder: Path) -> None:
        prefix = str(folder / "m")
        checkpoints.merge(_shards(folder, value, str(folder / "m_temp" / "part")), prefix)

    return save


def _save_alone(value: float) -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        values = [_value(value)] * _SHARDS
        checkpoints.save(str(folder / "m"), _NAMES, [""] * _SHARDS, values)

    return save


def _look(folder: Path) -> list[str]:
    """A whole checkpoint, the old one or the new."""
    try:
        with checkpoints.CheckpointReader(str(folder / "m")) as reader:
            found = [reader.get_tensor(name) for name in _NAMES]
    except OpError as exc:
        return [f"lost: {exc}"]
    seen = {float(element) for array in found for element in np.unique(array)}
    return [] if seen in ({OLD}, {NEW}) else [f"a mixture of {sorted(seen)}"]


def _is_new(folder: Path) -> list[str]:
    with checkpoints.CheckpointReader(str(folder / "m")) as reader:
        seen = {float(e) for name in _NAMES for e in np.unique(reader.get_tensor(name))}
    return [] if seen == {NEW} else [f"the checkpoint has {sorted(seen)}"]


def _whole(*forms: str) -> Callable[[Path], list[str]]:
    """The new checkpoint, and the files of these many patterns alone."""

    def look(folder: Path) -> list[str]:
        return _is_new(folder) + _only(folder, *forms)

    return look


def _only(folder: Path, *forms: str) -> list[str]:
    """Files that are none of these, each of which is there once."""
    found = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))
    wanted = [[p for p in found if Path(p).match(form)] for form in forms]
    extra = set(found) - {p for paths in wanted for p in paths}
    missing = [form for form, paths in zip(forms, wanted, strict=True) if len(paths) != 1]
    return [f"left behind: {sorted(extra)}"] * bool(extra) + [f"missing: {missing}"] * bool(missing)


_SHARDED_FILES = [
    "m.safetensors.index.json",
    *[f"m*-{i:05d}-of-{_SHARDS:05d}.safetensors" for i in range(_SHARDS)],
]


# -- a saver ---------------------------------------------------------------------------------------


def _train(steps: Sequence[int], *, sharded: bool) -> Callable[[Path], None]:
    """Saves the numbers of some steps, of which the last two checkpoints are kept."""

    def work(folder: Path) -> None:
        import actorsession as acts

        with acts.Graph().as_default():
            v = acts.Variable(0.0, name="v")
            value = acts.placeholder("float32", [])
            assign = v.assign(value)
            saver = acts.train.Saver(sharded=sharded, max_to_keep=2)
            with acts.Session() as session:
                state = acts.train.get_checkpoint_state(str(folder))
                if state is not None:
                    saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
                for step in steps:
                    session.run(assign, {value: float(step)})
                    saver.save(session, str(folder / "m"), global_step=step)

    return work


def _latest(steps: Sequence[int]) -> Callable[[Path], list[str]]:
    def look(folder: Path) -> list[str]:
        from actorsession.train import latest_checkpoint

        path = latest_checkpoint(str(folder))
        if path is None:
            return ["lost: there is no latest checkpoint"]
        try:
            with checkpoints.CheckpointReader(path) as reader:
                found = float(reader.get_tensor("v"))
        except OpError as exc:
            return [f"lost: {exc}"]
        right = path.endswith(f"m-{found:g}") and found in steps
        return [] if right else [f"{path} has the value {found:g}"]

    return look


def _ends_with(*forms: str) -> Callable[[Path], list[str]]:
    def look(folder: Path) -> list[str]:
        # A whole checkpoint that was to be removed, when it was not in the state file any more, stays.
        for old in folder.glob("m-[12].*"):
            old.unlink()
        return _latest([4])(folder) + _only(folder, *forms)

    return look


_KEPT = ["checkpoint", "m-3.meta", "m-4.meta"]


def _saver(sharded: bool, *forms: str) -> Scenario:
    return Scenario(
        _train([1, 2], sharded=sharded), _train([3, 4], sharded=sharded), _latest([2, 3, 4]),
        _ends_with(*_KEPT, *[f.format(step) for step in (3, 4) for f in forms]),
    )  # fmt: skip


# -- the others ------------------------------------------------------------------------------------


def _snapshot(value: float) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        from actorsession.cluster.server.snapshots import Saved, Snapshot, SnapshotStore
        from actorsession.graph.dtypes import float64
        from actorsession.graph.node import TensorSpec
        from actorsession.graph.shape import TensorShape

        spec = TensorSpec(float64, TensorShape([3000]))
        saved = [Saved("CPU:0", "localhost", name, spec, _value(value)) for name in _NAMES]
        store = SnapshotStore(folder, "/job:ps/replica:0/task:0")
        for _ in range(2):  # the second removes what came before the first
            store.write(Snapshot(7, 1, True, saved))

    return work


def _look_at_snapshots(*values: float) -> Callable[[Path], list[str]]:
    def look(folder: Path) -> list[str]:
        from actorsession.cluster.server.snapshots import SnapshotStore

        found = SnapshotStore(folder, "/job:ps/replica:0/task:0").latest()
        if found is None:
            return ["lost: there is no snapshot"]
        seen = {float(e) for v in found.variables for e in np.unique(v.value)}
        right = len(found.variables) == _SHARDS and seen in [{value} for value in values]
        return [] if right else [f"{len(found.variables)} variables of {sorted(seen)}"]

    return look


def _two_snapshots(folder: Path) -> list[str]:
    count = len(list(folder.iterdir()))
    return _look_at_snapshots(NEW)(folder) + [f"{count} files"] * (count != 2)


def _bundle(value: float) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        from actorsession.checkpoints.bundle_writer import write_bundle
        from actorsession.graph.dtypes import float64

        write_bundle(str(folder / "m"), [(name, float64, _value(value)) for name in _NAMES])

    return work


def _none_or_new(folder: Path) -> list[str]:
    """Whoever writes to an empty folder leaves nothing that looks like a checkpoint, or a whole one."""
    return _is_new(folder) if checkpoints.checkpoint_exists(str(folder / "m")) else []


SCENARIOS: dict[str, Scenario] = {
    "sharded": Scenario(_save_sharded(OLD), _save_sharded(NEW), _look, _whole(*_SHARDED_FILES)),
    "sharded, shards named plainly": Scenario(
        _save_named_plainly(OLD), _save_named_plainly(NEW), _look, _whole(*_SHARDED_FILES)
    ),
    "sharded, shards from elsewhere": Scenario(
        _save_elsewhere(OLD), _save_elsewhere(NEW), _look, _whole(*_SHARDED_FILES)
    ),
    "sharded over one file": Scenario(
        _save_alone(OLD), _save_sharded(NEW), _look, _whole(*_SHARDED_FILES)
    ),
    "one file over sharded": Scenario(
        _save_sharded(OLD), _save_alone(NEW), _look, _whole("m.safetensors")
    ),
    "one file": Scenario(_save_alone(OLD), _save_alone(NEW), _look, _whole("m.safetensors")),
    "saver": _saver(False, "m-{}.safetensors"),
    "sharded saver": _saver(
        True, "m-{}.safetensors.index.json", "m-{}*-00000-of-00001.safetensors"
    ),
    "snapshots": Scenario(
        _snapshot(OLD), _snapshot(NEW), _look_at_snapshots(OLD, NEW), _two_snapshots
    ),
    "TensorFlow's format": Scenario(
        lambda folder: None, _bundle(NEW), _none_or_new,
        _whole("m.index", "m.data-00000-of-00001"),
    ),
}  # fmt: skip


def _main(words: Sequence[str]) -> int:
    for word in words:
        name, _, points = word.partition("=")
        if failed := _forked(lambda: _print_report(name, int(points or 0))):  # noqa: B023
            return failed
    return 0


def _print_report(name: str, points: int) -> None:
    sys.stdout.write(json.dumps(dataclasses.asdict(_storm(name, points))) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
