"""Processes from a template are what they would be if they had been started as ever."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import template
from tests.template import cold_starts, wait_for_templates

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="only there are starts from a template"),
]

PATIENCE = 60

# Says as JSON what a process is; its variables in /proc are those of its template.
SAYS = """
import actorsession, json, os, resource, signal, sys
print(json.dumps({
    "template": b"OPENBLAS_NUM_THREADS=1" in open("/proc/self/environ", "rb").read().split(b"\\0"),
    "shown": open("/proc/self/cmdline").read().rstrip("\\0"),
    "parent": os.getppid(),
    "argv": sys.argv,
    "orig_argv": sys.orig_argv,
    "path": sys.path,
    "folder": os.getcwd(),
    "env": dict(os.environ),
    "session": os.getsid(0) == os.getpid(),
    "group": os.getpgid(0) == os.getpid(),
    "streams": [[s.name, s.mode, s.encoding, s.errors, s.line_buffering] for s in (sys.stdin, sys.stdout, sys.stderr)],
    "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
    "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "flags": str(sys.flags),
    "main": sorted(set(globals()) - {"__cached__"}),
    "read": sys.stdin.read(),
}))
"""


OF_TEMPLATE = b"OPENBLAS_NUM_THREADS=1"
IS_FORK = f"import actorsession; print({OF_TEMPLATE!r} in open('/proc/self/environ', 'rb').read(), flush=True)"


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """Make the template before the first test: it usually comes after some starts of a kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template, "FIRST", 1)
        subprocess.run([sys.executable, "-c", "import actorsession"], check=True, timeout=PATIENCE)
    assert template.PROCESSES
    wait_for_templates()


def started(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """A process that has come to its end."""
    given = {"input": "a line", "capture_output": True, "text": True, "timeout": PATIENCE, **options}
    return subprocess.run([sys.executable, *words], check=False, **given)


@pytest.mark.parametrize(
    ("kind", "session"), [("text", {}), ("file", {"start_new_session": True}), ("module", {"process_group": 0})]
)
def test_a_fork_is_told_all_that_a_start_says(kind: str, session: dict[str, Any], tmp_path: Path) -> None:
    program = tmp_path / "actorsession_says.py"
    program.write_text(SAYS)
    reader, writer = os.pipe()
    words = {"text": ["-c", SAYS], "file": [str(program)], "module": ["-m", "actorsession_says"]}[kind]
    options: dict[str, Any] = {
        "cwd": tmp_path,
        "env": {**os.environ, "OF_THE_TEST": "ä"},
        "pass_fds": [reader],
        **session,
    }
    try:
        fork = started(*words, "one", "two words", **options)
        with cold_starts():
            spawned = started(*words, "one", "two words", **options)
    finally:
        os.close(reader)
        os.close(writer)
    assert (fork.returncode, fork.stderr) == (spawned.returncode, spawned.stderr) == (0, "")
    said, wanted = json.loads(fork.stdout), json.loads(spawned.stdout)
    assert (said.pop("template"), wanted.pop("template")) == (True, False)
    assert said == wanted
    assert said["parent"] == os.getpid()
    assert (said["argv"][1:], said["read"], said["env"]["OF_THE_TEST"]) == (["one", "two words"], "a line", "ä")


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ("sys.exit(7)", 7),
        ("sys.exit('a word')", 1),
        ("1 / 0", 1),
        ("os._exit(3)", 3),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_a_fork_ends_as_its_program_does(ends: str, status: int) -> None:
    code = f"import actorsession, atexit, os, sys; atexit.register(print, 'at exit'); {ends}"
    fork = started("-c", code)
    with cold_starts():
        spawned = started("-c", code)
    assert fork.returncode == spawned.returncode == status
    assert fork.stdout == spawned.stdout
    last = [done.stderr.splitlines()[-1:] for done in (fork, spawned)]
    assert last[0] == last[1]


def test_a_fork_is_stopped_continued_interrupted_and_waited_for_as_any_child() -> None:
    code = "import actorsession, time; print('up', flush=True); time.sleep(100)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert OF_TEMPLATE in Path(f"/proc/{process.pid}/environ").read_bytes()
        for number, event in (
            (signal.SIGSTOP, os.WSTOPPED),
            (signal.SIGCONT, os.WCONTINUED),
            (signal.SIGINT, os.WEXITED | os.WNOWAIT),
        ):
            process.send_signal(number)
            found = os.waitid(os.P_PID, process.pid, event)
            assert found is not None
            assert found.si_pid == process.pid
        assert process.wait(PATIENCE) == -signal.SIGINT


@pytest.mark.parametrize("ends", ["kill", "terminate"])
async def test_asyncio_s_processes_are_forks_too_on_either_loop(ends: str) -> None:
    """That of uvloop starts its own in C, which is no way to a template."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", f"{IS_FORK}; input()"), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert await process.stdout.readline() == b"True\n"
        getattr(process, ends)()
        assert await process.wait() == process.returncode == -(signal.SIGKILL if ends == "kill" else signal.SIGTERM)
        assert await process.stdout.read() == b""


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["-I", "-c", IS_FORK], {}),
        (["-X", "importtime", "-c", IS_FORK], {"stderr": subprocess.DEVNULL, "capture_output": False}),
        (["-c", IS_FORK], {"preexec_fn": os.getpid}),
        (["-c", IS_FORK], {"close_fds": False}),
        (["-c", IS_FORK], {"umask": 0o077}),
        (["-c", IS_FORK], {"env": {**os.environ, "PYTHONHASHSEED": "7"}}),
        (["-c", IS_FORK], {"env": {**os.environ, "OPENBLAS_OF_THIS_TEST": "1"}}),
    ],
    ids=lambda value: str([*value, ""])[:40],
)
def test_what_a_template_is_not_equal_to_starts_as_ever(words: list[str], options: dict[str, Any]) -> None:
    if "capture_output" in options:
        options = {**options, "stdout": subprocess.PIPE}
    assert started(*words, **options).stdout == "False\n"
    assert started("-c", IS_FORK).stdout == "True\n"


@pytest.mark.parametrize("inherited", ["umask", "ignored signal", "blocked signal"])
def test_what_a_process_inherits_of_the_test_s_is_not_lost(inherited: str) -> None:
    code = "import actorsession; print(open('/proc/self/status').read())"

    def standing() -> list[str]:
        lines = started("-c", code).stdout.splitlines()
        return [line for line in lines if line.startswith(("Umask", "SigIgn", "SigBlk"))]

    before = standing()
    mask, handler = os.umask(0o22), signal.getsignal(signal.SIGUSR2)
    os.umask(0o27 if inherited == "umask" else mask)
    try:
        if inherited == "ignored signal":
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        if inherited == "blocked signal":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        assert sum(a != b for a, b in zip(before, standing(), strict=True)) == 1
    finally:
        os.umask(mask)
        signal.signal(signal.SIGUSR2, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])
    assert standing() == before


def test_a_folder_or_program_that_is_not_there_is_the_error_that_it_was(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        started("-c", IS_FORK, cwd=tmp_path / "nowhere")
    missing = started(str(tmp_path / "actorsession.py"))
    assert missing.returncode == 2
    assert "can't open file" in missing.stderr


def test_no_two_forks_have_drawn_the_same() -> None:
    code = "from actorsession.cluster.master.step_parts import step_ids\n"
    code += "from transports.host import current_host\n"
    code += "print(next(current_host().own(step_ids)), current_host().entropy.randbits(64))\n"
    one, two = (started("-c", code).stdout.split() for _ in range(2))
    assert len(one) == 2
    assert all(a != b for a, b in zip(one, two, strict=True))


def test_nothing_is_drawn_at_an_import() -> None:
    """Looks for assignments of modules that call for random bits, which all forks would share."""
    found = set()
    for folder in ("actorsession", "transports"):
        for file in (template.ROOT / folder).rglob("*.py"):
            source = file.read_text(encoding="utf-8")
            if not re.search(r"entropy\.|secrets\.|random\.|uuid\.|os\.urandom", source):
                continue
            tree = ast.parse(source)
            for node in [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]:
                names = [ast.unparse(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)]
                if any(
                    ".entropy." in name or name.startswith(("secrets.", "random.", "np.random.", "uuid.", "os.urandom"))
                    for name in names
                ):
                    module = ".".join(file.relative_to(template.ROOT).with_suffix("").parts)
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    found |= {(module, ast.unparse(target)) for target in targets}
    assert found == set()


def test_an_orphan_that_comes_to_the_tests_process_by_chance_is_waited_for() -> None:
    sleeps = "sleep 100 >/dev/null 2>&1 & echo $!"
    template._take_orphans(True)
    try:
        orphan = int(subprocess.run(["sh", "-c", sleeps], stdout=subprocess.PIPE, check=True, timeout=PATIENCE).stdout)
    finally:
        template._take_orphans(False)
    assert orphan in template._children()
    fork = subprocess.Popen([sys.executable, "-c", "import actorsession; input()"], stdin=subprocess.PIPE)
    with fork:
        template._let_go(orphan, before=fork.pid)
        os.kill(orphan, signal.SIGKILL)
        fork.communicate(b"\n", timeout=PATIENCE)
    assert fork.returncode == 0  # and the orphan, if it is not waited for, is what this test leaves behind
