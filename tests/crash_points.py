"""Crash points: whatever writes files is killed at each of its system calls, and what is left is looked at.

A scenario is a piece of work on a folder, with what has to hold whenever it was cut off. ``run_scenario`` runs it
in a process of its own, which forks a child for each point: the n-th call that changes files (open, half of a
write, sync, rename, link, removal, new folder) is the child's last, by SIGKILL. Then the scenario looks at
the folder, does the same work again without a fault, and looks once more: nothing may be lost, and nothing
left behind.

A soak calls ``run_scenario``. The tests do the same with ``run_scenarios``, where one child is not killed but copies
the folder at each call: a killed process leaves what it gave to the kernel, which is what the copy has. That
files are synced before they get their names, and folders before anything is removed, is what ``unsynced``
looks for in the list of calls.

Run by itself, ``python -m tests.crash_points SCENARIO[=POINTS] ...`` prints a report of each as a line of JSON.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import gc
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

__all__ = ["SCENARIOS", "Report", "Scenario", "run_scenario", "run_scenarios", "unsynced"]

_ROOT = Path(__file__).resolve().parent.parent
# Seconds for a run_scenario; one point takes some milliseconds.
_LIMIT = 900.0
# In memory where there is such a place: a sync takes tens of milliseconds on a disk that others use.
_PLACE = "/dev/shm" if os.path.isdir("/dev/shm") else None
# A scenario that has more points than this does not end.
_MOST = 2000


# -- the calls -------------------------------------------------------------------------------------


class Calls:
    """Every call of this process that changes files, from now on; one of them may be its last.

    Args:
        last: the number of the call, from 1 on, in the middle of which the process is killed; 0 for none.
        copy: where to keep what would be left at each call; from a folder to one named after the number.
    """

    def __init__(self, last: int = 0, copy: tuple[Path, Path] | None = None) -> None:
        self.made: list[tuple[str, str]] = []
        self._last = last
        self._copy = copy
        self._copies = False

    def note(self, call: str, path: Any) -> bool:
        """Takes a call down; whether something happens in the middle of it."""
        if self._copies:
            return False
        self.made.append((call, os.fsdecode(path)))
        return self._copy is not None or len(self.made) == self._last

    def happen(self) -> None:
        """Ends the process, or copies what it would leave."""
        if self._copy is None:
            os.kill(os.getpid(), signal.SIGKILL)
            return
        self._copies = True
        try:
            shutil.copytree(self._copy[0], self._copy[1] / str(len(self.made)), symlinks=True)
        finally:
            self._copies = False

    def install(self) -> None:
        """Has ``os`` and ``open`` tell of their calls; for the rest of the life of the process."""
        for name in ("replace", "rename", "unlink", "remove", "rmdir", "mkdir", "link"):
            setattr(os, name, self._counted(name, getattr(os, name)))
        paths: dict[int, str] = {}
        os_open, sync, plain_open = os.open, os.fsync, io.open

        def open_descriptor(path: Any, flags: int, *more: Any, **options: Any) -> int:
            where = _absolute(path, options.get("dir_fd"))
            if flags & os.O_CREAT and self.note("open", where):
                self.happen()
            descriptor = os_open(path, flags, *more, **options)
            paths[descriptor] = where
            return descriptor

        def sync_descriptor(fd: Any) -> None:
            if self.note("fsync", paths.get(fd, "?")):
                self.happen()
            sync(fd)

        def open_file(path: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
            if not set(mode) & set("wxa") or (isinstance(path, int) and path not in paths):
                return plain_open(path, mode, *more, **options)
            opener = options.get("opener")
            if not isinstance(path, int) and opener is None and self.note("open", path):
                self.happen()
            name = paths[path] if isinstance(path, int) else _absolute(path, None)
            raw = _Written(path, mode.replace("b", "").replace("t", ""), self, name, opener)
            paths[raw.fileno()] = name
            if options.get("buffering", more[0] if more else -1) == 0:
                return raw
            buffered = io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding="utf-8")

        os.open, os.fsync = open_descriptor, sync_descriptor
        builtins.open = io.open = os.fdopen = open_file  # type: ignore[assignment]

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(path: Any, *more: Any, **options: Any) -> Any:
            at = options.get("src_dir_fd", options.get("dir_fd"))
            target = _absolute(path, at)
            if _has_two(name):
                target += f" -> {_absolute(more[0], options.get('dst_dir_fd'))}"
            if self.note(name, target):
                self.happen()
            return call(path, *more, **options)

        return counted


def _absolute(path: Any, folder: int | None) -> str:
    """The path that a name in an open folder stands for."""
    where = os.readlink(f"/proc/self/fd/{folder}") if folder is not None else ""
    return os.path.abspath(os.path.join(where, os.fsdecode(path)))


def _has_two(name: str) -> bool:
    return name in ("replace", "rename", "link")


class _Written(io.FileIO):
    """A file whose writes are counted; half is written when something happens in the middle of one."""

    def __init__(self, path: Any, mode: str, calls: Calls, name: str, opener: Any) -> None:
        super().__init__(path, mode, opener=opener)
        self._calls, self._path = calls, name

    def write(self, data: Any) -> int:
        if self._calls.note("write", self._path):
            view = memoryview(data).cast("B")
            half = super().write(view[: len(view) // 2]) or 0
            self._calls.happen()
            return half + (super().write(view[half:]) or 0)
        return super().write(data) or 0


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
        synced: whether a crash of the machine must lose nothing either, so that calls come in an order.
    """

    prepare: Callable[[Path], None]
    work: Callable[[Path], None]
    look: Callable[[Path], list[str]]
    whole: Callable[[Path], list[str]]
    synced: bool = True


@dataclass(slots=True)
class Report:
    """What a run_scenario has seen.

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


def run_scenario(scenario: str) -> Report:
    """Kills the work of a scenario at each of its crash points, in a process of its own.

    Args:
        scenario: a key of ``SCENARIOS``.

    Raises:
        AssertionError: if the process of the run_scenario itself fails.
    """
    (report,) = _reports([scenario])
    return report


def run_scenarios(scenarios: Mapping[str, int]) -> dict[str, Report]:
    """Does the same for several scenarios in one process, with copies in place of killed processes.

    Args:
        scenarios: at how many points at most, evenly spread, by scenario.
    """
    reports = _reports([f"{name}={points}" for name, points in scenarios.items()])
    return {report.scenario: report for report in reports}


def _reports(words: Sequence[str]) -> list[Report]:
    command = [sys.executable, "-m", "tests.crash_points", *words]
    ended = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_LIMIT, check=False)
    assert ended.returncode == 0, ended.stderr
    return [Report(**json.loads(line)) for line in ended.stdout.splitlines()]


def _run_scenario(name: str, points: int) -> Report:
    scenario, report = SCENARIOS[name], Report(name)
    with tempfile.TemporaryDirectory(dir=_PLACE) as place:
        folder = Path(place) / "at"
        before = Path(place) / "before"
        folder.mkdir()
        # In children: what the work leaves in a process, such as who is saving, is none of the next one's.
        _asked(folder, lambda: scenario.prepare(folder))
        shutil.copytree(folder, before, symlinks=True)
        left = Path(place) / "left"
        left.mkdir()
        copy = (folder, left) if points else None
        calls = _asked(folder, lambda: _work(scenario, folder, copy=copy))
        assert 0 < len(calls) < _MOST, len(calls)
        report.faults += unsynced([tuple(call) for call in calls]) if scenario.synced else []
        count = len(calls)
        step = max(1, -(-count // points)) if points else 1
        for last in range(1, count + 1, step):
            shutil.rmtree(folder)
            if points:
                (left / str(last)).rename(folder)
            else:
                shutil.copytree(before, folder, symlinks=True)
                assert _forked(lambda: _work(scenario, folder, last)) == -signal.SIGKILL  # noqa: B023
            report.points += 1
            lost, wrong = _asked(folder, lambda: _looks(scenario, folder))
            report.lost += lost
            report.faults += [f"call {last} of {count}: {words}" for words in wrong]
    return report


def _looks(scenario: Scenario, folder: Path) -> tuple[bool, list[str]]:
    """Looks at what is left, does the work without a fault, and looks once more; whether something was lost,
    and all that is wrong."""
    lost = scenario.look(folder)
    scenario.work(folder)
    return bool(lost), [*lost, *[f"afterwards: {words}" for words in scenario.whole(folder)]]


def _asked(folder: Path, work: Callable[[], Any]) -> Any:
    """Does something in a child, and returns its result; what it imports, the next need not."""
    said = folder.with_name("said")
    known = set(sys.modules)

    def run() -> None:
        result = work()
        said.write_text(json.dumps([result, [name for name in sys.modules if name not in known]]))

    assert _forked(run) == 0
    result, modules = json.loads(said.read_text())
    for module in modules:
        with contextlib.suppress(ImportError):  # made by another module, not imported
            importlib.import_module(module)
    gc.freeze()  # what a collection does not touch stays shared with the children
    return result


def _work(
    scenario: Scenario, folder: Path, last: int = 0, copy: tuple[Path, Path] | None = None
) -> list[tuple[str, str]]:
    calls = Calls(last, copy)
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


_SHARDED_FILES = ["m.safetensors.index.json", *[f"m*-{i:05d}-of-{_SHARDS:05d}.safetensors" for i in range(_SHARDS)]]


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
        _train([1, 2], sharded=sharded),
        _train([3, 4], sharded=sharded),
        _latest([2, 3, 4]),
        _ends_with(*_KEPT, *[f.format(step) for step in (3, 4) for f in forms]),
    )


# -- the others ------------------------------------------------------------------------------------


def _snapshot(value: float) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        from actorsession import TensorShape, float64
        from actorsession.cluster.server.snapshots import Saved, Snapshot, SnapshotStore
        from actorsession.extend import TensorSpec

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
        checkpoints.save_bundle(str(folder / "m"), _NAMES, [""] * _SHARDS, [_value(value)] * _SHARDS)

    return work


def _merged_bundle(value: float, basename: str | None = None) -> Callable[[Path], None]:
    """What savers do with a name of the save's own, and graphs of TensorFlow with a folder."""

    def work(folder: Path) -> None:
        prefix = str(folder / "m")
        with checkpoints.saving(prefix) as own:
            start = own if basename is None else str(folder / basename)
            shards = [checkpoints.sharded_name(start, i, _SHARDS) for i in range(_SHARDS)]
            for name, shard in zip(_NAMES, shards, strict=True):
                checkpoints.save_bundle(shard, [name], [""], [_value(value)])
            checkpoints.merge_bundles(shards, prefix)

    return work


def _oldest(value: float) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        checkpoints.save_slices(str(folder / "m"), _NAMES, [""] * _SHARDS, [_value(value)] * _SHARDS)

    return work


def _none_or_new(folder: Path) -> list[str]:
    """Whoever writes to an empty folder leaves nothing that looks like a checkpoint, or a whole one."""
    return _is_new(folder) if checkpoints.checkpoint_exists(str(folder / "m")) else []


# -- what programs of TensorFlow write -------------------------------------------------------------


def _saved_again(version: int, sharded: bool, value: float) -> Callable[[Path], None]:
    """One name for all checkpoints, as programs have it that count no steps."""

    def work(folder: Path) -> None:
        import actorsession.compat.v1 as tf

        with tf.Graph().as_default(), tf.Session() as session:
            for name in _NAMES:
                tf.get_variable(name, initializer=_value(value))
            session.run(tf.global_variables_initializer())
            tf.train.Saver(sharded=sharded, write_version=version).save(session, str(folder / "m"))

    return work


def _latest_of_one_name(*values: float) -> Callable[[Path], list[str]]:
    def look(folder: Path) -> list[str]:
        from actorsession.train import latest_checkpoint

        path = latest_checkpoint(str(folder))
        if path is None:
            return ["lost: there is no latest checkpoint"]
        try:
            with checkpoints.CheckpointReader(path) as reader:
                seen = {float(e) for name in _NAMES for e in np.unique(reader.get_tensor(name))}
        except OpError as exc:
            return [f"lost: {exc}"]
        return [] if seen in [{value} for value in values] else [f"{path} has {sorted(seen)}"]

    return look


def _saver_of_one_name(version: int, sharded: bool, *forms: str) -> Scenario:
    new = _latest_of_one_name(NEW)
    return Scenario(
        _saved_again(version, sharded, OLD),
        _saved_again(version, sharded, NEW),
        _latest_of_one_name(OLD, NEW),
        lambda folder: new(folder) + _only(folder, "checkpoint", "m.meta", *forms),
    )


def _managed(values: Sequence[float]) -> Callable[[Path], None]:
    """Goes on from the latest checkpoint, and keeps two."""

    def work(folder: Path) -> None:
        import actorsession.compat.v1 as tf

        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", initializer=0.0, use_resource=True)
            checkpoint = tf.train.Checkpoint(v=v)
            manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=2)
            session.run([v.initializer, checkpoint.save_counter.initializer])
            manager.restore_or_initialize()
            for value in values:
                session.run(v.assign(value))
                manager.save()

    return work


def _look_at_managed(*values: float) -> Callable[[Path], list[str]]:
    def look(folder: Path) -> list[str]:
        from actorsession.train import get_checkpoint_state, latest_checkpoint

        path, state = latest_checkpoint(str(folder)), get_checkpoint_state(str(folder))
        if path is None or state is None:
            return ["lost: there is no latest checkpoint"]
        with checkpoints.CheckpointReader(path) as reader:
            found = float(reader.get_tensor("v/.ATTRIBUTES/VARIABLE_VALUE"))
        return [f"{path} has the value {found:g}"] * (found not in values)

    return look


def _export(folder: Path) -> None:
    """A model for serving; what a killed export left is removed first, as there is no old one."""
    import actorsession.compat.v1 as tf

    place = folder / "model"
    if place.exists() and not tf.saved_model.contains_saved_model(str(place)):
        shutil.rmtree(place)
    if place.exists():
        return
    (folder / "words").write_text("word " * 9)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [], name="x")
        y = x * tf.get_variable("v", initializer=NEW, dtype=tf.float64)
        words = tf.constant(str(folder / "words"))
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(str(place))
        signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(session, ["serve"], {"y": signature}, [words])
        builder.save()


def _model_or_none(folder: Path) -> list[str]:
    import actorsession.compat.v1 as tf

    place = folder / "model"
    if not tf.saved_model.contains_saved_model(str(place)):
        return []
    words = (place / "assets" / "words").read_text()
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.saved_model.load(session, ["serve"], str(place))
        y = found.signature_def["y"].outputs["y"].name
        right = words == "word " * 9 and session.run(y, {"x:0": 2.0}) == 2 * NEW
    return [] if right else ["the model computes something else"]


def _estimate(folder: Path) -> None:
    import actorsession.compat.v1 as tf

    def model(features: Any, labels: Any, mode: str) -> Any:
        y = features["x"] * tf.get_variable("v", initializer=NEW, dtype=tf.float64)
        step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        return tf.estimator.EstimatorSpec(mode, {"y": y}, loss=tf.reduce_sum(y), train_op=step)

    def receive() -> Any:
        x = tf.placeholder(tf.float64, [None], name="x")
        return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

    estimator = tf.estimator.Estimator(model, str(folder / "run"))
    if not (folder / "run" / "checkpoint").exists():
        estimator.train(lambda: ({"x": tf.constant([1.0], tf.float64)}, None), steps=1)
    if (folder / "words").exists():
        estimator.export_saved_model(str(folder / "models"), receive, assets_extra={"words": str(folder / "words")})
    else:
        (folder / "words").write_text("word")


def _exports(folder: Path) -> list[Path]:
    return [p for p in (folder / "models").glob("*") if not p.name.startswith("temp-")]


def _whole_exports(folder: Path) -> list[str]:
    import actorsession.compat.v1 as tf

    for place in _exports(folder):
        if (place / "assets.extra" / "words").read_text() != "word":
            return [f"{place} lacks a file"]
        with tf.Graph().as_default(), tf.Session() as session:
            tf.saved_model.load(session, ["serve"], str(place))
            if session.run("mul:0", {"x:0": [2.0]}).tolist() != [2 * NEW]:
                return [f"{place} computes something else"]
    return []


# -- graphs, events, dumps -------------------------------------------------------------------------


def _graphs(value: float) -> Callable[[Path], None]:
    """Graphs in every form that there is."""

    def work(folder: Path) -> None:
        import actorsession.compat.v1 as tf
        from actorsession.train.graph_file import write_graph

        with tf.Graph().as_default() as graph:
            tf.constant(_value(value)[:9], name="c")
            write_graph(str(folder / "own"), graph)
            tf.train.write_graph(graph, str(folder), "g.pb", as_text=False)
            tf.train.write_graph(graph, str(folder), "g.pbtxt")
            tf.train.export_meta_graph(str(folder / "m"))
            tf.train.export_meta_graph(str(folder / "m.pbtxt"), as_text=True)

    return work


def _look_at_graphs(*values: float) -> Callable[[Path], list[str]]:
    def look(folder: Path) -> list[str]:
        import actorsession.compat.v1 as tf
        from actorsession import GraphDef
        from actorsession.interop import text_format

        (own,) = GraphDef.from_bytes((folder / "own").read_bytes()).nodes
        found = [own.attrs["value"]]
        for name in ("g.pb", "g.pbtxt", "m", "m.pbtxt"):
            with tf.Graph().as_default() as graph, tf.Session() as session:
                if name.startswith("m"):
                    tf.train.import_meta_graph(str(folder / name))
                else:
                    content = (folder / name).read_bytes()
                    made = tf.GraphDef()
                    if name == "g.pb":
                        made.ParseFromString(content)
                    else:
                        text_format.Parse(content, made)
                    tf.import_graph_def(made, name="")
                found.append(session.run(graph.get_tensor_by_name("c:0")))
        wrong = [np.unique(each).tolist() for each in found]
        return [f"graphs of {wrong}"] * any(each not in [[v] for v in values] for each in wrong)

    return look


# One file each, by the call that writes it; the content is one character.
_TEXT = {OLD: "o", NEW: "n"}
_LONG = 20_000  # more than one write has


def _files(value: float) -> Callable[[Path], None]:
    """Every other file that is written as a whole, by whatever writes one."""

    def work(folder: Path) -> None:
        import actorsession.compat.v1 as tf
        from actorsession.compat.v1.internals.files import atomic_write_string_to_file, write_string_to_file

        text = _TEXT[value] * _LONG
        source = folder / f"source-{value:g}"
        with tf.Graph().as_default(), tf.Session() as session:
            session.run(tf.write_file(str(folder / "op"), text))
        tf.gfile.Copy(str(source), str(folder / "link"), overwrite=True)
        tf.io.gfile.copy(str(source), str(folder / "newer"), overwrite=True)
        write_string_to_file(str(folder / "string"), text)
        atomic_write_string_to_file(str(folder / "atomic"), text)
        learn = tf.contrib.learn
        words = learn.preprocessing.CategoricalVocabulary()
        words.add(text)
        processor = learn.preprocessing.VocabularyProcessor(4, vocabulary=words)
        processor.save(folder / "words")
        tf.train.update_checkpoint_state(str(folder), f"{folder}/{text[:40]}")

    return work


def _first_files(folder: Path) -> None:
    for value, letter in _TEXT.items():
        (folder / f"source-{value:g}").write_text(letter * _LONG)
    (folder / "link").symlink_to("copy")
    _files(OLD)(folder)


def _look_at_files(*values: float) -> Callable[[Path], list[str]]:
    def look(folder: Path) -> list[str]:
        import actorsession.compat.v1 as tf

        found = {name: (folder / name).read_text() for name in ("op", "copy", "link", "newer", "string", "atomic")}
        processor = tf.contrib.learn.preprocessing.VocabularyProcessor.restore(folder / "words")
        found["words"] = processor.vocabulary_.reverse(1)
        state = tf.train.get_checkpoint_state(str(folder))
        found["state"] = os.path.basename(state.model_checkpoint_path) * (_LONG // 40)
        whole = [_TEXT[value] * _LONG for value in values]
        assert (folder / "link").is_symlink()
        return [
            f"{name} has {len(text)} characters: {text[:9]!r}" for name, text in found.items() if text not in whole
        ] + [f"left behind: {p}" for p in folder.iterdir() if p.suffix == ".tmp" and len(values) < 2]

    return look


def _certify(folder: Path) -> None:
    """Certificates, which are never written over others: what a killed command left is removed first."""
    from actorsession.cluster.admin.certs import make_certificates

    for file in folder.iterdir():
        if not file.name.startswith("."):
            file.unlink()
    make_certificates(folder, [])


def _are_whole(folder: Path) -> list[str]:
    """Every file that there is ends as such a file does."""
    cut = [p.name for p in folder.glob("*.pem") if not p.read_text().endswith("-----\n")]
    return [f"cut off: {cut}"] * bool(cut)


_EVENTS = 40


def _events(folder: Path) -> None:
    from actorsession.compat.v1 import Event
    from actorsession.opsets.summaries.event_files import EventFileWriter

    writer = EventFileWriter(folder / "log", max_queue=7)
    for step in range(_EVENTS):
        writer.write(Event(step=step, file_version="x" * 999).SerializeToString())
    writer.close()


def _steps(path: Path) -> list[int]:
    """The steps in an event file; those before its end if that is in the middle of an event."""
    import actorsession.compat.v1 as tf
    from actorsession.errors import DataLossError

    found: list[int] = []
    with contextlib.suppress(DataLossError):
        found.extend(event.step for event in tf.train.summary_iterator(str(path)))
    return found


def _look_at_events(folder: Path) -> list[str]:
    """The old file is whole, and the new one has a beginning of the events."""
    steps = sorted(_steps(path) for path in (folder / "log").iterdir())
    expected = [0, *range(_EVENTS)]
    wrong = [found for found in steps if found != expected[: len(found)]]
    return [f"other events: {wrong}"] * bool(wrong) + ["lost events"] * (steps[-1] != expected)


def _records(value: float) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        import actorsession.compat.v1 as tf

        with tf.io.TFRecordWriter(str(folder / f"records-{value:g}")) as writer:
            for number in range(_EVENTS):
                writer.write(b"%d" % number * 9999)

    return work


def _look_at_records(folder: Path) -> list[str]:
    import actorsession.compat.v1 as tf

    expected = [b"%d" % number * 9999 for number in range(_EVENTS)]
    wrong = []
    for path in folder.iterdir():
        found: list[bytes] = []
        with contextlib.suppress(tf.errors.DataLossError):
            found.extend(tf.io.tf_record_iterator(str(path)))
        whole = path.name == f"records-{OLD:g}"
        if found != (expected if whole else expected[: len(found)]):
            wrong.append(f"{path.name} has {len(found)} records")
    return wrong


def _dump(value: float) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        import actorsession as acts
        from actorsession.config import DebugOptions, DebugTensorWatch

        with acts.Graph().as_default(), acts.Session() as session:
            v = acts.constant(_value(value), name="v")
            watch = DebugTensorWatch(node_name="v", debug_urls=(f"file://{folder}/dumps",))
            options = DebugOptions(debug_tensor_watch_opts=(watch,))
            session.run(v, options=acts.RunOptions(debug_options=options))

    return work


def _look_at_dumps(*values: float) -> Callable[[Path], list[str]]:
    """Runs that ended before are whole, and of the one that was cut off all is readable that is there."""

    def look(folder: Path) -> list[str]:
        from actorsession.observe.debug import DebugDumpDir

        seen = set()
        for datum in DebugDumpDir(folder / "dumps").dumped_tensor_data:
            seen |= {float(e) for e in np.unique(datum.get_tensor())}
        return [] if set(values) <= seen <= {OLD, NEW} else [f"the dumps have {sorted(seen)}"]

    return look


def _trace(value: float) -> Callable[[Path], None]:
    def work(folder: Path) -> None:
        import actorsession as acts
        from actorsession.config import TraceLevel
        from actorsession.observe.trace import write_trace

        with acts.Graph().as_default(), acts.Session() as session:
            metadata = acts.RunMetadata()
            v = acts.random.uniform([9], 0.0, value, name=f"v{value:g}")
            options = acts.RunOptions(trace_level=TraceLevel.FULL_TRACE)
            session.run(v, options=options, run_metadata=metadata)
            assert metadata.step_stats is not None
            write_trace(folder / "trace.json", metadata.step_stats)

    return work


def _look_at_trace(*values: float) -> Callable[[Path], list[str]]:
    def look(folder: Path) -> list[str]:
        names = {event["name"] for event in json.loads((folder / "trace.json").read_text())["traceEvents"]}
        found = [value for value in (OLD, NEW) if any(f"v{value:g}" in name for name in names)]
        return [] if found in [[value] for value in values] else [f"the trace has {sorted(names)}"]

    return look


_BUNDLE_FILES = ("m.index", "m.data-00000-of-00001")
_MERGED_FILES = ("m.index", *[f"m.data-{i:05d}-of-{_SHARDS:05d}" for i in range(_SHARDS)])

SCENARIOS: dict[str, Scenario] = {
    "sharded": Scenario(_save_sharded(OLD), _save_sharded(NEW), _look, _whole(*_SHARDED_FILES)),
    "sharded, shards named plainly": Scenario(
        _save_named_plainly(OLD), _save_named_plainly(NEW), _look, _whole(*_SHARDED_FILES)
    ),
    "sharded, shards from elsewhere": Scenario(
        _save_elsewhere(OLD), _save_elsewhere(NEW), _look, _whole(*_SHARDED_FILES)
    ),
    "sharded over one file": Scenario(_save_alone(OLD), _save_sharded(NEW), _look, _whole(*_SHARDED_FILES)),
    "one file over sharded": Scenario(_save_sharded(OLD), _save_alone(NEW), _look, _whole("m.safetensors")),
    "one file": Scenario(_save_alone(OLD), _save_alone(NEW), _look, _whole("m.safetensors")),
    "one file over TensorFlow's format": Scenario(
        _bundle(OLD), _save_alone(NEW), _look, _whole("m.safetensors", *_BUNDLE_FILES)
    ),
    "saver": _saver(False, "m-{}.safetensors"),
    "sharded saver": _saver(True, "m-{}.safetensors.index.json", "m-{}*-00000-of-00001.safetensors"),
    "snapshots": Scenario(_snapshot(OLD), _snapshot(NEW), _look_at_snapshots(OLD, NEW), _two_snapshots),
    "TensorFlow's format": Scenario(
        lambda folder: None, _bundle(NEW), _none_or_new, _whole("m.index", "m.data-00000-of-00001")
    ),
    "TensorFlow's format, again": Scenario(_bundle(OLD), _bundle(NEW), _look, _whole(*_BUNDLE_FILES)),
    "TensorFlow's format, sharded": Scenario(_merged_bundle(OLD), _merged_bundle(NEW), _look, _whole(*_MERGED_FILES)),
    "TensorFlow's format, shards named plainly": Scenario(
        _merged_bundle(OLD, "m"), _merged_bundle(NEW, "m"), _look, _whole(*_MERGED_FILES)
    ),
    "TensorFlow's format, shards from elsewhere": Scenario(
        _merged_bundle(OLD, "m_temp/part"), _merged_bundle(NEW, "m_temp/part"), _look, _whole(*_MERGED_FILES)
    ),
    "TensorFlow's format, sharded over one file": Scenario(
        _bundle(OLD), _merged_bundle(NEW), _look, _whole(*_MERGED_FILES)
    ),
    "TensorFlow's format, one file over sharded": Scenario(
        _merged_bundle(OLD), _bundle(NEW), _look, _whole(*_BUNDLE_FILES)
    ),
    "TensorFlow's format over the library's": Scenario(
        _save_alone(OLD), _bundle(NEW), _look, _whole("m.safetensors", *_BUNDLE_FILES)
    ),
    "TensorFlow's first format": Scenario(_oldest(OLD), _oldest(NEW), _look, _whole("m")),
    "saver of one name": _saver_of_one_name(2, False, *_BUNDLE_FILES),
    "sharded saver of one name": _saver_of_one_name(2, True, *_BUNDLE_FILES),
    "first saver of one name": _saver_of_one_name(1, False, "m"),
    "first sharded saver of one name": _saver_of_one_name(1, True, "m-00000-of-00001"),
    "managed checkpoints": Scenario(
        _managed([1.0, 2.0]), _managed([3.0, 4.0]), _look_at_managed(2.0, 3.0, 4.0), _look_at_managed(4.0)
    ),
    "saved model": Scenario(
        lambda folder: None,
        _export,
        _model_or_none,
        lambda folder: _model_or_none(folder) or ["lost"] * (not (folder / "model").exists()),
    ),
    "exports of an estimator": Scenario(
        _estimate,
        _estimate,
        _whole_exports,
        lambda folder: _whole_exports(folder) or ["lost"] * (not _exports(folder)),
        synced=False,
    ),
    "graphs": Scenario(_graphs(OLD), _graphs(NEW), _look_at_graphs(OLD, NEW), _look_at_graphs(NEW)),
    "other files": Scenario(_first_files, _files(NEW), _look_at_files(OLD, NEW), _look_at_files(NEW)),
    "certificates": Scenario(
        lambda folder: None,
        _certify,
        _are_whole,
        lambda folder: _are_whole(folder) + _only(folder, "ca.pem", "ca-key.pem", "cert.pem", "key.pem"),
    ),
    "event files": Scenario(_events, _events, _look_at_events, _look_at_events, synced=False),
    "records": Scenario(_records(OLD), _records(NEW), _look_at_records, _look_at_records, synced=False),
    "dumps": Scenario(_dump(OLD), _dump(NEW), _look_at_dumps(OLD), _look_at_dumps(OLD, NEW), synced=False),
    "trace": Scenario(_trace(OLD), _trace(NEW), _look_at_trace(OLD, NEW), _look_at_trace(NEW)),
}


def _main(words: Sequence[str]) -> int:
    for word in words:
        name, _, points = word.partition("=")
        report = _run_scenario(name, int(points or 0))
        sys.stdout.write(json.dumps(dataclasses.asdict(report)) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
