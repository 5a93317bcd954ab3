"""Processes that tests start, as forks of one that has imported the package.

Importing takes a process several tenths of a second of a core, and the tests start many hundreds. Here a start of
this interpreter that runs the package, or a program that uses it, becomes a fork of a template: a process with the
same options, the same variables that an interpreter reads, and the package already imported. What is started so is
a child of the test's process as any other: that waits for it, signals it, and gets its status. It has the command
line, variables, folder, descriptors, session and import path that it was asked to have; all of a process, but the
variables that ``/proc`` shows for it, and the seed of its hashes, which the forks of one template share.

``install`` puts this under ``subprocess`` and uvloop, for this process alone: what its children start, starts as
ever. So does all that a template would not be equal to: see ``_Request.of`` and ``_standing``. Needs Linux: a fork
becomes a child of the test's process as the orphan of a process between, see ``_Template.fork``.

The file is also the program of a template: ``python OPTIONS tests/template.py SOCKET``. It imports nothing of the
tests.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import ctypes
import fcntl
import gc
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["FIRST", "PROCESSES", "cold_starts", "install", "wait_for_templates"]

ROOT = Path(__file__).resolve().parents[1]

PROCESSES: dict[int, int] = {}
"""The ids of the templates, which are children of this process until it ends, with its descriptors of theirs."""

# Templates of one process; each takes the memory of a worker. Starts of further kinds are as ever.
_MOST = 3
# The start of a kind at which a template is made, which takes a core as long as seven starts.
FIRST = 8
# Options of an interpreter that a template can have as well as its forks. Others are the subject of their tests.
_OPTIONS = frozenset(("-B", "-P", "-u", "-b", "-bb"))
# Variables that an interpreter or a library reads when it begins, by their first letters: a template has them too.
_READ_EARLY = ("PYTHON", "OPENBLAS_", "OMP_", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_", "TZ")
# Except this one: a fork sets the number of threads itself. A template has one, because threads do not survive forks.
_THREADS = "OPENBLAS_NUM_THREADS"
# What a process inherits and cannot be told afterwards, as /proc/thread-self/status names it.
_INHERITED = ("Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "CapEff", "NoNewPrivs", "Seccomp", "Cpus_allowed")
_PR_SET_CHILD_SUBREAPER = 36
_SHOWN = 1 << 14  # bytes of a command line that /proc shows of a fork
_LONGEST = 1 << 20  # bytes of a message; the longest command lines have a tenth of that


class _Request(NamedTuple):
    """A start that a template can serve.

    Attributes:
        options: of the interpreter.
        words: the rest of the command line.
        early: the variables that the template must have.
    """

    options: tuple[str, ...]
    words: tuple[str, ...]
    early: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, words: Sequence[Any], env: Mapping[str, str]) -> _Request | None:
        """The request that a command line is; ``None`` for one that starts as ever."""
        if not words or words[0] != sys.executable or not all(isinstance(word, str) for word in words):
            return None
        options, rest = list[str](), list(words[1:])
        while rest and rest[0].startswith("-") and rest[0] not in ("-c", "-m"):
            option = rest.pop(0)
            if option not in _OPTIONS and not option.startswith("-W"):
                return None
            options += [option, *([rest.pop(0)] if option == "-W" and rest else [])]
        if not rest or not _uses_package(rest):
            return None
        early = sorted((k, v) for k, v in env.items() if k.startswith(_READ_EARLY) and k != _THREADS)
        return cls(tuple(options), tuple(rest), tuple(early))


def _uses_package(words: Sequence[str]) -> bool:
    """Whether a program runs this package, or imports it."""
    if words[0] == "-m":
        return len(words) > 1 and words[1].startswith(("actorsession", "tests."))
    if words[0] == "-c":
        return len(words) > 1 and "actorsession" in words[1]
    with contextlib.suppress(OSError, ValueError):
        return "actorsession" in Path(words[0]).read_text(encoding="utf-8")
    return False


def _standing() -> bytes:
    """What a child of this thread would inherit beside what its start says."""
    lines = Path("/proc/thread-self/status").read_bytes().splitlines()
    found = [line for line in lines if line.split(b":")[0].decode() in _INHERITED]
    return b"\n".join(
        [*found, Path("/proc/self/limits").read_bytes(), str(os.getpriority(os.PRIO_PROCESS, 0)).encode()]
    )


# ------------------------------------------------------------------------------------------ in the test's process


class _Template:
    """A template, as the process of the tests sees it.

    Args:
        request: the first of those that it can serve.
    """

    def __init__(self, request: _Request, env: Mapping[str, str], standing: bytes) -> None:
        self.standing = standing
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        own = {**{k: v for k, v in env.items() if not k.startswith(_READ_EARLY)}, **dict(request.early), _THREADS: "1"}
        with theirs, cold_starts():
            self._process = subprocess.Popen(
                [sys.executable, *request.options, __file__, str(theirs.fileno()), " " * _SHOWN],
                cwd=ROOT,
                env=own,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        PROCESSES[self._process.pid] = self._socket.fileno()
        atexit.register(self.close)
        self._works: bool | None = None

    def works(self, *, wait: bool = False) -> bool:
        """Whether forks can be had by now; the process that asks does not stand still for the imports."""
        if self._works is None:
            with contextlib.suppress(BlockingIOError):
                self._works = self._socket.recv(_LONGEST, 0 if wait else socket.MSG_DONTWAIT) == b"ready"
        return self._works is True

    def close(self) -> None:
        """End the template; its forks go on."""
        self._socket.close()
        self._process.wait()

    def fork(self, start: Mapping[str, Any], descriptors: Sequence[int]) -> int:
        """Start a fork and return its id.

        The template forks a process that forks the one that was asked for and ends. An orphan goes to the nearest
        of its ancestors that takes them, and that is this process for as long as the one between takes to end.
        """
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        self._socket.sendmsg([json.dumps(start).encode()], rights)
        pid = int(self._socket.recv(_LONGEST))
        before = _children()
        _take_orphans(True)
        try:
            self._socket.send(b"leave")
            assert self._socket.recv(_LONGEST) == b"left"
        finally:
            _take_orphans(False)
        for stranger in _children() - before - {pid}:
            _let_go(stranger, before=pid)
        self._socket.send(b"go")
        return pid


def _children() -> set[int]:
    found: set[int] = set()
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            found.update(map(int, Path(f"/proc/self/task/{thread}/children").read_bytes().split()))
    return found


def _let_go(pid: int, *, before: int) -> None:
    """Wait for an orphan that came to this process by chance; such a one has begun before the fork was adopted."""

    def began(process: int) -> tuple[int, int]:  # its id decides between two of the same hundredth of a second
        return int(Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[19]), process

    with contextlib.suppress(OSError):
        if began(pid) < began(before):
            threading.Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()


def _take_orphans(whether: bool) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(whether), 0, 0, 0)


_lock = threading.RLock()
_asked: dict[_Request, int] = {}
_templates: dict[_Request, _Template] = {}
_cold = False


def _template_for(request: _Request, env: Mapping[str, str]) -> _Template | None:
    """The template for a start; made when a kind is asked for often."""
    kind = request._replace(words=())
    standing = _standing()
    found = _templates.get(kind)
    if found is None:
        _asked[kind] = _asked.get(kind, 0) + 1
        if _asked[kind] < FIRST or len(_templates) >= _MOST:
            return None
        found = _templates[kind] = _Template(request, env, standing)
    return found if found.standing == standing and found.works() else None


def wait_for_templates() -> None:
    """Wait until all templates have imported what they share; until then processes start as ever."""
    for found in _templates.values():
        assert found.works(wait=True)


@contextlib.contextmanager
def cold_starts() -> Iterator[None]:
    """Start all processes as ever until the end of the block."""
    global _cold
    before, _cold = _cold, True
    try:
        yield
    finally:
        _cold = before


def _environment(listed: Sequence[bytes] | None) -> dict[str, str]:
    if listed is None:
        return dict(os.environ)
    pairs = (os.fsdecode(line).partition("=") for line in listed)
    return {name: value for name, _, value in pairs}


_fork_exec: Callable[..., int] = getattr(subprocess, "_fork_exec")  # noqa: B009 - which is private


def _start(*given: Any) -> int:
    """Start a process, as ``subprocess`` does: from a template where one is equal to it."""
    with _lock:
        pid = None if _cold else _start_from_template(*given)
        return _fork_exec(*given) if pid is None else pid


def _start_from_template(
    words: Sequence[Any],
    executables: Sequence[bytes],
    close_fds: bool,
    kept: Sequence[int],
    folder: Any,
    listed: Sequence[bytes] | None,
    read0: int,
    write0: int,
    read1: int,
    write1: int,
    read2: int,
    write2: int,
    errors: int,
    errors_end: int,
    restore_signals: bool,
    new_session: bool,
    group: int,
    gid: Any,
    gids: Any,
    uid: Any,
    umask: int,
    before_exec: Any,
    *_: Any,
) -> int | None:
    if not close_fds or not restore_signals or before_exec or umask >= 0 or [gid, gids, uid] != [None] * 3:
        return None
    env = _environment(listed)
    request = _Request.of(words, env)
    if request is None or executables[0] != os.fsencode(sys.executable):
        return None
    folder = os.path.abspath(os.fsdecode(folder or "."))
    passed = [number for number in kept if number != errors_end]
    standard = [own if given < 0 else given for own, given in enumerate((read0, write1, write2))]
    if not os.access(folder, os.X_OK) or not all(os.path.exists(f"/proc/self/fd/{number}") for number in standard):
        return None
    template = _template_for(request, env)
    if template is None:
        return None
    start = {
        "line": [sys.executable, *request.options, *request.words],
        "words": request.words,
        "folder": folder,
        "env": env,
        "passed": passed,
        "session": new_session,
        "group": group,
    }
    return template.fork(start, [*standard, *passed])


def install() -> None:
    """Start processes from templates from now on, where this system can."""
    if sys.platform != "linux":
        return
    setattr(subprocess, "_fork_exec", _start)  # noqa: B010 - the seam under Popen, and under asyncio's processes
    setattr(subprocess, "_USE_POSIX_SPAWN", False)  # noqa: B010 - which 3.13 would call in place of it
    try:
        import uvloop
    except ImportError:
        return
    own = uvloop.Loop.subprocess_exec

    async def subprocess_exec(loop: Any, protocol_factory: Any, program: Any, *args: Any, **options: Any) -> Any:
        """Start a process from a template as asyncio's own loop does, which does it by ``subprocess``."""
        env = options.get("env")
        if _cold or _Request.of([program, *args], os.environ if env is None else env) is None:
            return await own(loop, protocol_factory, program, *args, **options)
        return await _subprocess_exec(loop, protocol_factory, (program, *args), **options)

    setattr(uvloop.Loop, "subprocess_exec", subprocess_exec)  # noqa: B010 - likewise


async def _subprocess_exec(
    loop: Any,
    protocol_factory: Any,
    words: Sequence[str],
    stdin: Any = subprocess.PIPE,
    stdout: Any = subprocess.PIPE,
    stderr: Any = subprocess.PIPE,
    **options: Any,
) -> Any:
    from asyncio import unix_events

    protocol, waiter = protocol_factory(), loop.create_future()
    transport: Any = unix_events._UnixSubprocessTransport(  # type: ignore[attr-defined]
        loop, protocol, words, False, stdin, stdout, stderr, waiter=waiter, **{"bufsize": 0, **options}
    )
    process = transport._proc

    def tell_end() -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lambda: transport._process_exited(process.wait()))
            return
        process.wait()

    threading.Thread(target=tell_end, name=f"end of {process.pid}", daemon=True).start()
    await waiter
    return transport, protocol


# ------------------------------------------------------------------------------------------------ in the template


def _serve(asked: socket.socket) -> dict[str, Any]:
    """Fork on request; returns the request, in the fork. Ends when nobody can ask any more."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(asked, _LONGEST, 64)
        if not message:
            sys.exit(0)
        go, told, leave = os.pipe(), os.pipe(), os.pipe()
        between = os.fork()
        if not between:
            child = os.fork()
            if child:
                os.write(told[1], str(child).encode())
                os.read(leave[0], 1)
                os._exit(0)
            os.read(go[0], 1)
            for end in (*go, *told, *leave, asked.fileno()):
                os.close(end)
            asked.detach()
            return {**json.loads(message), "descriptors": descriptors}
        for number in descriptors:
            os.close(number)
        asked.send(os.read(told[0], 100))
        asked.recv(100)
        os.write(leave[1], b"!")
        os.waitpid(between, 0)
        asked.send(b"left")
        asked.recv(100)
        os.write(go[1], b"!")
        for end in (*go, *told, *leave):
            os.close(end)


def _become(start: Mapping[str, Any]) -> None:
    """Make a fork the process that was asked for."""
    if start["session"]:
        os.setsid()
    elif start["group"] >= 0:
        os.setpgid(0, start["group"])
    os.chdir(start["folder"])
    # First away from the numbers that are wanted, which others of them may have.
    wanted = [0, 1, 2, *start["passed"]]
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, max(wanted) + 1) for number in start["descriptors"]]
    for number in start["descriptors"]:
        os.close(number)
    for number, descriptor in zip(wanted, moved, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(start["env"])
    sys.orig_argv[:] = start["line"]
    _show(start["line"])
    _open_standard_streams()


def _show(line: Sequence[str]) -> None:
    """Write a command line to where the kernel finds that of this process."""
    fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    text = b"".join(os.fsencode(word) + b"\0" for word in line)[: end - begin - 1]
    ctypes.memmove(begin, text.ljust(end - begin, b"\0"), end - begin)


def _open_standard_streams() -> None:
    """Open the streams on what they are now, as the interpreter did on what they were."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before, mode = getattr(sys, name), "rb" if number == 0 else "wb"
        unbuffered = before.write_through
        binary: Any = open(number, mode, 0 if unbuffered else -1, closefd=False)  # noqa: SIM115 - for all its life
        getattr(binary, "raw", binary).name = f"<{name}>"
        text = io.TextIOWrapper(
            binary,
            before.encoding,
            before.errors,
            newline="\n",
            line_buffering=not unbuffered and (number == 2 or binary.isatty()),
            write_through=unbuffered,
        )
        text.mode = mode[0]  # type: ignore[misc]
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


def _run(words: Sequence[str]) -> None:
    """Run a program as an interpreter does that has its words on its command line."""
    import runpy

    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    main.__dict__.update(__builtins__=sys.modules["builtins"], __annotations__={})
    kind, *rest = words
    if kind == "-m":
        sys.argv = ["-m", *rest[1:]]
        if not sys.flags.safe_path:
            sys.path.insert(0, os.getcwd())
        runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]
        return
    if kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        if not sys.flags.safe_path:
            sys.path.insert(0, "")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)  # noqa: S102 - a test's own
        return
    sys.argv = [*words]
    if not sys.flags.safe_path:
        sys.path.insert(0, os.path.dirname(os.path.realpath(kind)))
    main.__file__ = os.path.abspath(kind)
    exec(compile(Path(kind).read_bytes(), main.__file__, "exec"), main.__dict__)  # noqa: S102 - likewise


def _import_package() -> None:
    """Import what workers, commands and programs use."""
    import pkgutil
    from importlib import import_module

    import actorsession.compat.v1
    import transports
    from actorsession import cluster, runtime, session, train
    from actorsession.compat.v1 import graphs, sessions

    import_module("actorsession.cli")  # which imports its commands
    for package in (cluster, runtime, session, train, graphs, sessions, transports):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    from actorsession.ops.op_modules import OP_MODULES

    for name in actorsession.__all__:
        getattr(actorsession, name)
    for module in sorted({module for module in OP_MODULES.values() if module.startswith("actorsession.ops.")}):
        import_module(module)


def _leave_out(modules: Mapping[str, Any]) -> None:
    """Let the interpreter end without taking modules apart that a fork shares: that is most of the work of its end."""
    sys.modules.update(dict.fromkeys(modules))  # type: ignore[arg-type]


def _main() -> None:
    shared: dict[str, Any] = {}
    atexit.register(_leave_out, shared)  # what is registered first is called last
    path = sys.path[0 if sys.flags.safe_path else 1 :]
    sys.path[:] = path
    on_interrupt = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()
    _import_package()
    from actorsession.ops.blas_threads import loaded_libraries

    libraries = loaded_libraries()
    shared |= {name: module for name, module in sys.modules.items() if name not in ("__main__", "builtins", "sys")}
    kept: list[Any] = [shared]
    kept.append(kept)  # a cycle that is frozen lives as long as its process
    gc.enable()
    gc.collect()
    gc.freeze()
    # Threads do not survive a fork, and of another tree the forks would not run what was asked for.
    alone = len(os.listdir("/proc/self/task")) == 1
    ours = Path(sys.modules["actorsession"].__file__ or "").is_relative_to(ROOT)
    asked.send(b"ready" if alone and ours else b"of no use")
    start = _serve(asked)
    signal.signal(signal.SIGINT, on_interrupt)
    _become(start)
    sys.path[:] = path
    threads = int(os.environ.get(_THREADS) or len(os.sched_getaffinity(0)))
    for library in libraries:
        if library.asked() != threads:
            library.changed(threads)
    _run(start["words"])


if __name__ == "__main__":
    _main()
