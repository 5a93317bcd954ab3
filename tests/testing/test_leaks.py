"""The leak check sees what is left, waits for what is going, and tells which is which."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading

import pytest

from tests.leaks import end_processes, take_holdings, wait_for_release


def test_nothing_is_held_beyond_a_moment_ago() -> None:
    assert wait_for_release(take_holdings()).describe() == []


def test_an_open_socket_is_held_until_it_is_closed() -> None:
    before = take_holdings()
    with socket.socket() as held:
        (line,) = wait_for_release(before, patience=0).describe()
        assert line.startswith(f"descriptor {held.fileno()} -> socket:")
    assert wait_for_release(before).describe() == []


def test_a_descriptor_number_used_again_for_something_else_is_held() -> None:
    first = socket.socket()
    before = take_holdings()
    first.close()
    with socket.socket() as second:
        (line,) = wait_for_release(before, patience=0).describe()
        assert line.startswith(f"descriptor {second.fileno()} -> ")


def test_a_thread_that_keeps_the_interpreter_alive_is_held_and_a_daemon_is_not() -> None:
    before = take_holdings()
    end = threading.Event()
    threads = [threading.Thread(target=end.wait, name=f"daemon {daemon}", daemon=daemon) for daemon in (False, True)]
    for thread in threads:
        thread.start()
    assert wait_for_release(before, patience=0).describe() == ["thread daemon False"]
    end.set()
    for thread in threads:
        thread.join()
    assert wait_for_release(before).describe() == []


def test_a_thread_on_its_way_out_is_waited_for() -> None:
    before = take_holdings()
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    threading.Timer(0.05, end.set).start()
    assert wait_for_release(before, patience=30).describe() == []


@pytest.mark.process
def test_a_child_process_is_held_until_somebody_has_waited_for_it() -> None:
    before = take_holdings()
    runs = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(runs, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()  # while it is being started, it has no command line to be seen
        left = wait_for_release(before, patience=0)
        assert left.processes == {child.pid}
        assert any(f"child process {child.pid}: {sys.executable} -c" in x for x in left.describe())

        child.stdin.close()
        child.stdout.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended; nobody has reaped it
        assert wait_for_release(before, patience=0).describe() == [
            f"child process {child.pid}: ended, but nobody waited for it"
        ]
        child.wait()
        assert wait_for_release(before).describe() == []


@pytest.mark.process
def test_leaked_processes_are_killed_and_reaped() -> None:
    before = take_holdings()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.send_signal(signal.SIGSTOP)
    end_processes(frozenset({child.pid}))
    child.stdin.close()
    assert take_holdings().beyond(before).processes == frozenset()
    child.wait()  # tells the Popen object; the process is gone
