"""``actorsession doctor``: what is wrong with this machine or installation, and what to do."""

from __future__ import annotations

import argparse
import importlib
import mmap
import os
import resource
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from actorsession.cli.console import FAILURE, SUCCESS, print_json, print_line, raw
from actorsession.extras import INCOMPLETE
from transports.host import current_host

__all__ = ["add_to"]

OK, ADVICE, FAULT = "ok", "advice", "fault"

_EPILOG = """\
Each line is a finding: `ok`; `advice`, which costs speed or capacity; or `fault`, with which sessions or
servers do not work. Below the latter two stands what to do.

exit status: 0 no fault was found; 1 a fault; 2 invalid arguments.
"""
# Packages that every installation has, and the one without which the loop is asyncio's own.
_PACKAGES = ("numpy", "msgpack", "ml_dtypes")
# Descriptors for a server with some hundred sessions: connections, and the memory of each peer on its host.
_DESCRIPTORS = 4096
# Seconds between two readings of a clock that is good enough for deadlines of milliseconds.
_RESOLUTION = 1e-3
# Ports of this machine for its own ends of connections.
_PORTS = 10_000
_PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


class Finding(NamedTuple):
    """What was found out about one subject.

    Attributes:
        subject: what was examined.
        state: ``OK``, ``ADVICE`` or ``FAULT``.
        found: what it is.
        do: what to do about it; empty for ``OK``.
    """

    subject: str
    state: str
    found: str
    do: str = ""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "doctor",
        help="examine this machine and installation",
        description="Examine versions, event loop, BLAS, shared memory, limits, clock, ports and secrets.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    examinations = ALONE if INCOMPLETE else EXAMINATIONS
    findings = [finding for examine in examinations for finding in _examined(examine)]
    if options.json:
        print_json([finding._asdict() for finding in findings])
    else:
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            print_line(f"{finding.state:<7} {finding.subject:<{width}}  {finding.found}")
            if finding.do:
                print_line(f"{'':<7} {'':<{width}}  -> {finding.do}")
    return FAILURE if any(finding.state == FAULT for finding in findings) else SUCCESS


def _examined(examine: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Return the findings of an examination; one that fails is a finding itself."""
    try:
        yield from examine()
    except Exception as exc:
        subject = examine.__name__.strip("_").replace("_", " ")
        yield Finding(
            subject,
            ADVICE,
            f"could not be examined: {type(exc).__name__}: {exc}",
            "report this, with the versions above",
        )


def _advised(subject: str, found: str, do: str, *, unless: bool) -> Finding:
    """Return a finding that is ``OK`` under a condition, and otherwise says what to do."""
    return Finding(subject, OK, found) if unless else Finding(subject, ADVICE, found, do)


# -- examinations ----------------------------------------------------------------------------------


def _versions() -> Iterator[Finding]:
    import platform
    from importlib import metadata

    from actorsession.version import installed_version

    yield Finding("actorsession", OK, f"{installed_version()} at {os.path.dirname(os.path.dirname(__file__))}")
    where = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield Finding("Python", OK, f"{platform.python_implementation()} {platform.python_version()} on {where}")
    for package in _PACKAGES:
        try:
            if package == "ml_dtypes":  # which would write a traceback of its own
                importlib.import_module("numpy")
            importlib.import_module(package)
            yield Finding(package, OK, metadata.version(package))
        except ImportError as exc:  # PackageNotFoundError is one
            reason = (str(exc).strip() or type(exc).__name__).splitlines()[0]
            yield Finding(package, FAULT, f"cannot be imported: {reason}", f"pip install {package}")


def _event_loop() -> Iterator[Finding]:
    from importlib import metadata

    from actorsession.actors.loops import loop_factory

    if loop_factory().__module__.partition(".")[0] == "uvloop":
        yield Finding("event loop", OK, f"uvloop {metadata.version('uvloop')}")
    else:
        yield Finding("event loop", ADVICE, "asyncio's own", "pip install uvloop: distributed steps are faster with it")


def _blas() -> Iterator[Finding]:
    from actorsession.ops.blas_threads import core_type, loaded_libraries

    libraries = loaded_libraries()
    if not libraries:
        yield Finding(
            "BLAS",
            ADVICE,
            "numpy has no OpenBLAS that was found",
            "install numpy from PyPI: processes can share out the threads of OpenBLAS only",
        )
    better = core_type()
    for library in libraries:
        text = f"OpenBLAS with {library.kernels} kernels, {library.get()} threads"
        if better is not None and better.lower() != library.kernels.lower():
            yield Finding(
                "BLAS",
                ADVICE,
                text,
                f"export OPENBLAS_CORETYPE={better} before Python starts, as worker processes have it",
            )
        elif library.get() > (cores := current_host().processes.processors()):
            yield Finding(
                "BLAS",
                ADVICE,
                f"{text} for {cores} cores",
                f"export OPENBLAS_NUM_THREADS={cores}: threads that share a core wait for each other",
            )
        else:
            yield Finding("BLAS", OK, text)


def _shared_memory() -> Iterator[Finding]:
    subject, variable = "shared memory", "ACTORSESSION_SHARED_MEMORY"
    if os.environ.get(variable) == "0":
        yield Finding(
            subject,
            ADVICE,
            f"switched off by {variable}=0",
            f"unset {variable}, unless processes of this machine may not share memory",
        )
        return
    try:
        descriptor = os.memfd_create("actorsession doctor")
        try:
            os.ftruncate(descriptor, mmap.PAGESIZE)
            with mmap.mmap(descriptor, mmap.PAGESIZE) as memory:
                memory[:2] = b"ok"
        finally:
            os.close(descriptor)
    except (AttributeError, OSError) as exc:
        yield Finding(
            subject,
            ADVICE,
            f"not available: {exc}",
            "large arrays pass through sockets between processes of this machine; Linux has memfd_create",
        )
    else:
        yield Finding(subject, OK, "available")


def _descriptors() -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = ["unlimited" if limit == resource.RLIM_INFINITY else f"{limit:,}" for limit in (soft, hard)]
    text = f"{limits[0]} of at most {limits[1]}"
    yield _advised(
        "open files",
        text,
        f"ulimit -n {_DESCRIPTORS}, or LimitNOFILE= of the service: each peer and session takes some",
        unless=soft == resource.RLIM_INFINITY or soft >= _DESCRIPTORS,
    )


def _clock() -> Iterator[Finding]:
    clock = time.get_clock_info("monotonic")
    text = f"{clock.implementation}, resolution {clock.resolution:g} s"
    yield _advised(
        "clock",
        text,
        "limits below some milliseconds are not kept; choose another clock source",
        unless=clock.resolution <= _RESOLUTION and not clock.adjustable,
    )


def _ports() -> Iterator[Finding]:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as server:
                server.bind((host, 0))
                server.listen()
                with socket.socket(family, socket.SOCK_STREAM) as client:
                    client.settimeout(5.0)
                    client.connect(server.getsockname()[:2])
        except OSError as exc:
            needed = family == socket.AF_INET
            yield Finding(
                f"tcp on {host}",
                FAULT if needed else ADVICE,
                f"cannot listen and connect: {exc}",
                "allow loopback in the firewall or container, or use protocol='unix'"
                if needed
                else "use addresses of IPv4, or unix://",
            )
        else:
            yield Finding(f"tcp on {host}", OK, "listens and connects")
    try:
        with open(_PORT_RANGE, encoding="ascii") as file:
            first, last = map(int, file.read().split())
    except OSError:  # another system
        return
    text = f"{last - first + 1:,} ({first} to {last})"
    yield _advised(
        "ports for connections",
        text,
        "sysctl -w net.ipv4.ip_local_port_range='32768 60999'",
        unless=last - first >= _PORTS,
    )


def _sockets() -> Iterator[Finding]:
    from actorsession.cluster.launch.socket_folder import SocketFolder
    from actorsession.errors import ResourceExhaustedError

    try:
        folder = SocketFolder()
    except ResourceExhaustedError as exc:
        yield Finding("unix sockets", FAULT, exc.message, "set TMPDIR to a folder of yours with a short name")
        return
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(folder.address("doctor").partition("://")[2])
    except OSError as exc:
        yield Finding("unix sockets", FAULT, f"{folder.path}: {exc}", "set TMPDIR to another folder")
    else:
        yield Finding("unix sockets", OK, f"in {os.path.dirname(folder.path)}")
    finally:
        folder.remove()


def _secrets() -> Iterator[Finding]:
    from actorsession.rpc.security import check_files, is_guessable, shared_security, shared_token

    token = shared_token()
    if token is None:
        yield Finding("token", OK, "none; servers accept their own user, on this machine")
    elif is_guessable(token):
        yield Finding(
            "token",
            FAULT,
            f"{len(token)} characters: too short for servers beyond loopback",
            "export ACTORSESSION_TOKEN=$(actorsession token)",
        )
    else:
        yield Finding("token", OK, f"{len(token)} characters")
    try:
        security = shared_security()
        if security is not None:
            check_files(security)
    except Exception as exc:
        yield Finding("TLS", FAULT, f"{exc}", "actorsession certs makes the files; name all three in the environment")
    else:
        yield Finding("TLS", OK, "no files" if security is None else "its files can be used")


EXAMINATIONS = (_versions, _event_loop, _blas, _shared_memory, _descriptors, _clock, _ports, _sockets, _secrets)
ALONE = (_versions, _shared_memory, _descriptors, _clock, _ports)
"""Those that need no other package, where one is missing."""
