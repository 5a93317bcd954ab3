"""The simulated disk behaves as a folder of Linux does, and forgets at a crash what was not synced."""

from __future__ import annotations

import os
import stat
import tempfile
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from actorsession.testing.simulation.disk import SimulatedDisk
from transports.host import Files

PATHS = ["a", "b", "a/x", "a/y", "b/x", "a/x/z", "a/./x", "a/../b", "missing/x", "n" * 256]
PATH = st.sampled_from(PATHS)
WHICH = st.integers(0, 3)
ACCESS = st.sampled_from([os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
FLAGS = st.sampled_from([0, os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_TRUNC, os.O_CREAT | os.O_TRUNC, os.O_APPEND])
NUMBER = st.integers(-1, 600)
DATA = st.binary(max_size=40) | st.just(b"x" * 700)

# A call: its name, and its arguments; paths are strings, and numbers of open files stand in ``Which``.
Step: TypeAlias = tuple[Any, ...]
STEP = st.one_of(
    st.tuples(st.just("open"), PATH, st.builds(int.__or__, ACCESS, FLAGS)),
    st.tuples(st.just("close"), WHICH),
    st.tuples(st.just("dup"), WHICH),
    st.tuples(st.just("read"), WHICH, st.integers(0, 50)),
    st.tuples(st.just("write"), WHICH, DATA),
    st.tuples(st.just("ftruncate"), WHICH, NUMBER),
    st.tuples(st.just("fsync"), WHICH),
    st.tuples(st.just("fstat"), WHICH),
    st.tuples(st.just("fchmod"), WHICH, st.sampled_from([0o600, 0o644])),
    st.tuples(st.just("lock"), WHICH, st.booleans()),
    st.tuples(st.just("unlock"), WHICH),
    st.tuples(st.just("open_file"), PATH, st.sampled_from(["rb", "wb", "xb", "ab", "r+b", "w+b", "a+b"]), DATA),
    st.tuples(st.just("stat"), PATH),
    st.tuples(st.just("listdir"), PATH),
    st.tuples(st.just("utime"), PATH, st.integers(0, 10**18)),
    st.tuples(st.just("mkdir"), PATH),
    st.tuples(st.just("rmdir"), PATH),
    st.tuples(st.just("unlink"), PATH),
    st.tuples(st.just("link"), PATH, PATH),
    st.tuples(st.just("replace"), PATH, PATH),
)


class Caller:
    """Makes calls of one kind of files, and says what comes of them."""

    def __init__(self, files: Files, root: str) -> None:
        self.files = files
        self.root = root
        self.opened: list[int] = []

    def __call__(self, name: str, *args: Any) -> Any:
        try:
            return self._result(name, *args)
        except OSError as exc:
            paths = [str(path).removeprefix(self.root) for path in (exc.filename, exc.filename2)]
            # The error of ``os.utime`` names no file.
            return exc.errno, paths if isinstance(exc.filename, str) and name != "utime" else None
        except ValueError as exc:  # such as reading of a file that is open for writing
            return type(exc)

    def _result(self, name: str, *args: Any) -> Any:
        call = getattr(self.files, name)
        match name, *args:
            case "open", path, flags:
                self.opened.append(call(self._path(path), flags, 0o644))
            case "open_file", path, mode, data:
                with call(self._path(path), mode) as file:
                    return file.read(3), file.write(data), file.tell(), file.seek(1), file.read()
            case "listdir" | "mkdir" | "rmdir" | "unlink", path:
                result = call(self._path(path))
                return sorted(result) if name == "listdir" else result
            case "stat", path:
                return _told(call(self._path(path)))
            case "utime", path, time:
                call(self._path(path), ns=(time, time))
                return self.files.stat(self._path(path)).st_mtime_ns
            case "link" | "replace", path, other:
                return call(self._path(path), self._path(other))
            case _, int(which), *rest if which < len(self.opened):
                descriptor = self.opened[which]
                if name == "close":
                    del self.opened[which]
                result = call(descriptor, shared=rest[0]) if name == "lock" else call(descriptor, *rest)
                if name == "dup":
                    self.opened.append(result)
                    return None
                return _told(result) if name == "fstat" else result
        return None

    def _path(self, path: str) -> str:
        return f"{self.root}/{path}"

    def close(self) -> None:
        for descriptor in self.opened:
            self.files.close(descriptor)


def _told(status: os.stat_result) -> Any:
    """Return what does not depend on the file system."""
    links = None if stat.S_ISDIR(status.st_mode) else status.st_nlink
    return status.st_mode, links, 0 if stat.S_ISDIR(status.st_mode) else status.st_size


@given(st.lists(STEP, max_size=40))
@settings(max_examples=300, deadline=None)
def test_the_disk_answers_each_call_as_a_real_folder_does(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        real, simulated = Caller(Files(), folder), Caller(SimulatedDisk(), "")
        before = os.umask(0o022)
        try:
            for step in steps:
                assert simulated(*step) == real(*step), step
        finally:
            os.umask(before)
            real.close()
