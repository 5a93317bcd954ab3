"""A worker process: a server that runs until a signal, a stop request or the end of its parent.

Run by ``python -m actorsession worker`` and ``master``. With ``--announce`` it is a child of a
``LocalCluster`` and exchanges lines of JSON with it: it writes its real address to standard output, reads the
whole cluster from standard input, writes that it has registered the cluster, and serves until that input
ends. The input ends when the parent closes it or ends for any reason. A parent that closes it writes
``LAST_WORD`` before.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from actorsession.checkpoints.atomic import regular, write_whole
from actorsession.cluster.launch.process_guard import ProcessGuard
from actorsession.cluster.launch.socket_folder import remove_orphaned_folder
from actorsession.cluster.launch.worker_process import LAST_WORD
from actorsession.cluster.resolvers import ClusterResolver
from actorsession.cluster.server.server import Server
from actorsession.cluster.server.settings import ServerSettings
from actorsession.cluster.spec import ClusterSpec
from actorsession.errors import DataLossError, OpError
from actorsession.ops.flow.streams import relay_standard_streams, serve_others
from actorsession.records import dataclass
from actorsession.terminal_text import write_lines

__all__ = ["WorkerOptions", "make_guard", "serve"]

# Seconds in addition for writing a last snapshot: a gigabyte takes some seconds, on a slow disk a minute.
_SAVING = 120.0
# Seconds that the interpreter has to end the process after the grace period; then its guard kills it.
_MORE = 1.0
# The signals that end a process.
_ENDING = (signal.SIGTERM, signal.SIGINT)
# Seconds between checks of the parent's process id; usually the pipe shows at once that the parent has ended.
_LOOK = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The options of a worker process from its command line.

    Attributes:
        job: its job; ``None`` to take it from the cluster.
        index: its index in the job, likewise.
        cluster: the tasks and their addresses, or a resolver of them.
        settings: those of its server.
        announce: whether it is the child of a local cluster.
        role: ``worker`` or ``master``: how it describes itself.
        json: whether to print its address as JSON.
        port_file: the file to which it writes its address once it is bound.
        probe_port: the port at which it answers probes of liveness and readiness, if it does.
        keep: seconds that it serves without being asked for, see ``Server.keep``; 0 for no limit.
        grace: seconds for an orderly end after the parent is gone or a signal was received; then the process
            ends anyway.
    """

    job: str | None
    index: int | None
    cluster: ClusterSpec | Mapping[str, Any] | ClusterResolver
    settings: ServerSettings
    announce: bool = False
    role: str = "worker"
    json: bool = False
    port_file: str | None = None
    probe_port: int | None = None
    keep: float = 0.0
    grace: float = 3.0


def make_guard(options: WorkerOptions) -> ProcessGuard:
    """Start the guard of this process; must be called before the process has threads."""
    return ProcessGuard(options.grace + _MORE, with_parent=options.announce)


async def serve(options: WorkerOptions, guard: ProcessGuard) -> None:
    """Serve one task until a signal, the end of the parent, or a request to stop.

    Args:
        options: the options of the process.
        guard: the guard of this process.

    Raises:
        ValueError: for a task that is not given, or an invalid message of the parent.
        TypeError: for a cluster in another form.
        OpError: for an address file that cannot be written, and what ``Server`` raises: for an address that
            cannot be bound, or a ``DataLossError`` for a last snapshot that could not be written.
    """
    relay_standard_streams()
    serve_others()
    loop = asyncio.get_running_loop()
    server = Server(options.cluster, options.job, options.index, options.settings)
    ended = asyncio.Event()

    def end(why: str) -> None:
        server.end_reason = server.end_reason or why
        ended.set()

    parent = _Parent(loop, server, end, options.grace)
    with _ended_by_signals(loop, end), guard.watching(_ENDING), _probes(options, loop, server) as probe_port:
        async with server:
            server_address = server.target
            if options.keep:
                server.keep(options.keep)
            with _port_file(options.port_file, server_address):
                if options.announce:
                    _say_json({"address": server.target, "pid": os.getpid()})
                    parent.start()
                else:
                    _introduce(server, options, probe_port)
                await _until_ended(server, ended)
            if server.keeps_snapshots:
                guard.wait_for_snapshot(_SAVING)
                if options.announce:
                    _say_at_end({"saving": True})
            _end_in(options.grace, server, announce=options.announce)
    if options.announce and parent.is_gone:
        remove_orphaned_folder(server_address)
    if server.lost:
        if options.announce:
            _say_at_end({"lost": server.lost})
        raise DataLossError(server.lost)
    if parent.nonsense:
        raise ValueError(f"the parent should tell the cluster as JSON; {parent.nonsense}")


@contextlib.contextmanager
def _ended_by_signals(loop: asyncio.AbstractEventLoop, end: Callable[[str], None]) -> Iterator[None]:
    """Call a function on SIGTERM and Ctrl-C; restore the handler of Ctrl-C afterwards."""
    on_interrupt = signal.getsignal(signal.SIGINT)
    for number in _ENDING:
        loop.add_signal_handler(number, end, f"by {number.name}")
    try:
        yield
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)
        if callable(on_interrupt):  # asyncio's runner restores it only over its own
            signal.signal(signal.SIGINT, on_interrupt)


async def _until_ended(server: Server, ended: asyncio.Event) -> None:
    """Wait until this process should end, or the server was asked to stop."""

    async def watch() -> None:
        await server.serve_forever()
        ended.set()

    async with asyncio.TaskGroup() as group:
        watching = group.create_task(watch(), name="told to stop")
        await ended.wait()
        watching.cancel()


@contextlib.contextmanager
def _port_file(path: str | None, address: str) -> Iterator[None]:
    """Keep a file with the address while the server serves; readers never see half of it."""
    if path is None:
        yield
        return
    owner, text = os.getpid(), f"{address}\n".encode("ascii")
    write_whole(path, lambda file: file.write(text), private=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, OpError):
            with open(path, "rb", opener=regular()) as file:
                own = file.read(len(text) + 1) == text
            # And not that of a server which was started after this one, or of the parent of a fork.
            if own and owner == os.getpid():
                os.unlink(path)


@contextlib.contextmanager
def _probes(options: WorkerOptions, loop: asyncio.AbstractEventLoop, server: Server) -> Iterator[int | None]:
    """Answer probes from before the server starts until it has stopped.

    Returns:
        The port; ``None`` if no probes are answered.
    """
    if options.probe_port is None:
        yield None
        return
    from actorsession.cluster.server.probes import Probes  # which most workers do without

    with Probes(options.probe_port, loop, lambda: server.is_serving) as probes:
        yield probes.port


def _introduce(server: Server, options: WorkerOptions, probe_port: int | None) -> None:
    path = server.restored_from
    if options.json:
        probed = {} if probe_port is None else {"probe_port": probe_port}
        metered = {"metrics": server.metrics_url} if server.metrics_url else {}
        restored = {"restored_from": path} if path else {}
        _say_json(
            {
                "task": server.task,
                "role": options.role,
                "address": server.target,
                "pid": os.getpid(),
                **probed,
                **metered,
                **restored,
            }
        )
        return
    what = "serves" if options.role == "worker" else "is a master"
    _say(f"{server.task} {what} at {server.target}; Ctrl-C ends it")
    if server.metrics_url:
        _say(f"{server.task} has metrics at {server.metrics_url}")
    if path:
        _say(f"{server.task} has the variables of {path}")


def _say_json(value: dict[str, Any]) -> None:
    _say(json.dumps(value))


def _say(line: str) -> None:
    """Write a line to standard output; a reader that is gone is ignored."""
    write_lines(sys.stdout, [line])


def _say_at_end(value: dict[str, Any]) -> None:
    """Report to the parent that the last snapshot is being written (``saving``), or what is ``lost``."""
    # Not through sys.stdout, which would report an error at the end of the process if the reader is gone.
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(value).encode() + b"\n")


class _Parent:
    """Reads standard input, which the parent holds, in a thread.

    The end of the parent must be noticed even while the event loop is held by a kernel.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, server: Server, ended: Callable[[str], None], grace: float
    ) -> None:
        self._loop = loop
        self._server = server
        self._ended = ended
        self._grace = grace
        self._pid = os.getppid()
        self._broke_off = False  # the pipe has ended without ``LAST_WORD``
        self.nonsense = ""  # why a message of the parent is invalid

    @property
    def is_gone(self) -> bool:
        """Whether the parent has ended; the pipe shows that a little before this process is reparented."""
        return self._broke_off or os.getppid() != self._pid

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._listen, name="actorsession-parent", daemon=True).start()

    def _listen(self) -> None:
        # Not sys.stdin: this thread would hold its lock while the interpreter shuts down.
        with os.fdopen(os.dup(0), "rb") as pipe:
            line = pipe.readline()
            if line != LAST_WORD and (not line or self._understands(line)):
                self._broke_off = not self._hears_last_word(pipe.fileno())
        _end_in(self._grace, self._server, announce=True)
        parent = f"process {self._pid}, which had started it"
        how = f"because {parent}, is gone" if self.is_gone else f"by {parent}"
        self._loop.call_soon_threadsafe(self._ended, how)

    def _understands(self, line: bytes) -> bool:
        try:
            cluster = ClusterSpec(json.loads(line))
        except (ValueError, TypeError) as exc:
            self.nonsense = f"it said {line[:100]!r}: {exc}"
            return False
        self._loop.call_soon_threadsafe(self._learn, cluster)
        return True

    def _learn(self, cluster: ClusterSpec) -> None:
        self._server.learn_peers(cluster)
        _say_json({"ready": True})

    def _hears_last_word(self, pipe: int) -> bool:
        """Wait until the parent has sent ``LAST_WORD``, and return true; return false if it is gone.

        A process that the parent forked holds the pipe open beyond the parent's end. Therefore the id of the
        parent is checked, too.
        """
        while not self.is_gone:
            readable, _, _ = select.select([pipe], [], [], _LOOK)
            if readable:
                return os.read(pipe, len(LAST_WORD)) == LAST_WORD
        return False


def _end_in(seconds: float, server: Server, *, announce: bool = False) -> None:
    """End the process after ``seconds``, even if it hangs, because nothing else would.

    A last snapshot is written before, even if the server's loop is blocked. If that fails, the exit status is
    1 and standard error, or the parent of a child, has what is lost.
    """

    def end() -> None:
        lost = [f"the last snapshot was not written within {_SAVING:g} s"]

        def save() -> None:
            lost[0] = server.take_last_snapshot()

        saving = threading.Thread(target=save, daemon=True)
        saving.start()
        saving.join(_SAVING)
        if lost[0]:
            if announce:
                _say_at_end({"lost": lost[0]})
            with contextlib.suppress(OSError):
                os.write(2, f"actorsession: {lost[0]}\n".encode())
        os._exit(1 if lost[0] else 0)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
