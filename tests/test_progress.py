"""A line in the terminal while something takes long, and nothing anywhere else."""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, LocalCluster, Session
from actorsession.progress import claimed_terminal, shown_while
from tests.cluster.kit import W1, in_process
from tests.loops import cancelled
from tests.rows import few_of

PATIENCE = 30.0


class Terminal(io.StringIO):
    """A terminal that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        size = super().write(text)
        self.written.set()
        return size


def test_a_line_says_what_is_done_and_is_gone_at_the_end() -> None:
    with contextlib.redirect_stderr(Terminal()) as terminal:
        with shown_while("saving\x07 model-100", lambda: (3, 8), patience=0.0):
            assert terminal.written.wait(PATIENCE)
        assert "progress" not in " ".join(thread.name for thread in threading.enumerate())
    assert terminal.getvalue().startswith("\r\x1b[Ksaving\\x07 model-100: 3 of 8, 0 s")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_what_ends_soon_shows_nothing() -> None:
    with contextlib.redirect_stderr(Terminal()) as terminal, shown_while("saving", patience=PATIENCE):
        pass
    assert terminal.getvalue() == ""


def test_in_a_file_nothing_is_shown_and_no_thread_is_started() -> None:
    threads = threading.active_count()
    with contextlib.redirect_stderr(io.StringIO()) as file, shown_while("saving", patience=0.0):
        assert threading.active_count() == threads
    assert file.getvalue() == ""


def test_one_line_is_shown_at_a_time_and_none_beside_a_bar() -> None:
    with contextlib.redirect_stderr(Terminal()) as terminal:
        with claimed_terminal(), shown_while("hidden", patience=0.0):
            assert "actorsession-progress" not in {thread.name for thread in threading.enumerate()}
        with shown_while("outer", patience=0.0), shown_while("inner", patience=0.0):
            assert terminal.written.wait(PATIENCE)
    assert "outer" in terminal.getvalue()
    assert not {"inner", "hidden"} & set(terminal.getvalue().replace(":", " ").split())


def test_a_terminal_that_is_gone_does_no_harm() -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            super().write(text)
            raise OSError("gone")

    with contextlib.redirect_stderr(Gone()) as terminal, shown_while("saving", patience=0.0):
        assert terminal.written.wait(PATIENCE)


def test_an_error_of_the_block_goes_on() -> None:
    with contextlib.redirect_stderr(Terminal()), pytest.raises(KeyError), shown_while("saving", patience=0.0):
        raise KeyError
    with contextlib.redirect_stderr(Terminal()) as terminal, shown_while("again", patience=0.0):
        assert terminal.written.wait(PATIENCE)


# -- what shows such a line ------------------------------------------------------------------------
class Slow:
    """A session each run of which takes until the terminal shows something."""

    def __init__(self, session: Session, terminal: Terminal) -> None:
        self.graph, self._session, self._terminal = session.graph, session, terminal

    def run(self, *words: Any) -> Any:
        assert self._terminal.written.wait(PATIENCE)
        return self._session.run(*words)


class SlowAsync:
    """The same of an ``AsyncSession``."""

    def __init__(self, session: AsyncSession, terminal: Terminal) -> None:
        self.graph, self._session, self._terminal = session.graph, session, terminal

    async def run(self, *words: Any) -> Any:
        assert await asyncio.to_thread(self._terminal.written.wait, PATIENCE)
        return await self._session.run(*words)


async def given_up_when_shown(work: Awaitable[Any], terminal: Terminal) -> None:
    """Await what would take for ever until the terminal shows something."""
    begun = asyncio.ensure_future(work)
    assert await asyncio.to_thread(terminal.written.wait, PATIENCE)
    await cancelled(begun)


def save_and_restore_here(terminal: Terminal, folder: Path, save: bool) -> None:
    with Graph().as_default(), Session() as session:
        session.run(acts.Variable(1.0).initializer)
        saver, slow = acts.train.Saver(), Slow(session, terminal)
        path = saver.save(slow if save else session, str(folder / "model"))
        saver.restore(session if save else slow, path)


async def save_and_restore(terminal: Terminal, folder: Path, save: bool) -> None:
    await asyncio.to_thread(save_and_restore_here, terminal, folder, save)


async def save_and_restore_async(terminal: Terminal, folder: Path, save: bool) -> None:
    with Graph().as_default():
        v, saver = acts.Variable(1.0), acts.train.Saver()
        async with AsyncSession() as session:
            await session.run(v.initializer)
            slow = SlowAsync(session, terminal)
            path = await saver.save_async(slow if save else session, str(folder / "model"))
            await saver.restore_async(session if save else slow, path)


async def import_nodes(terminal: Terminal, _: Path) -> None:
    class SlowMap(dict[str, Any]):
        def items(self) -> Any:
            assert terminal.written.wait(PATIENCE)
            return super().items()

    with Graph().as_default():
        acts.import_graph_def(Graph().as_graph_def(), input_map=SlowMap())


async def connect(terminal: Terminal, _: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        session = AsyncSession(f"127.0.0.1:{silent.getsockname()[1]}", graph=Graph())
        await given_up_when_shown(session.list_devices(), terminal)
        await session.close()


async def wait_for_a_task(terminal: Terminal, _: Path) -> None:
    async with in_process({"worker": 2}) as cluster, AsyncSession(cluster.target(), graph=Graph()) as session:
        await session.list_devices()
        await cluster.server(W1).stop()
        await given_up_when_shown(session.wait_for(W1), terminal)


async def start_tasks(terminal: Terminal, folder: Path) -> None:
    (folder / "stands_still.py").write_text("import signal\nsignal.pause()\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        await given_up_when_shown(LocalCluster({"worker": 2}, imports=["stands_still"]).start(), terminal)


LONG: dict[str, tuple[str, Callable[[Terminal, Path], Awaitable[None]]]] = {
    "import": ("importing a graph: ", import_nodes),
    "save": ("saving {}/model: ", partial(save_and_restore, save=True)),
    "restore": ("restoring {}/model: ", partial(save_and_restore, save=False)),
    "async save": ("saving {}/model: ", partial(save_and_restore_async, save=True)),
    "async restore": ("restoring {}/model: ", partial(save_and_restore_async, save=False)),
    "connect": ("connecting to 127.0.0.1:", connect),
    "wait": (f"waiting for {W1}: ", wait_for_a_task),
    "start": ("starting the tasks of the cluster: 0 of 2, ", start_tasks),
}


@pytest.mark.process
@pytest.mark.parametrize("name", few_of(LONG, 2))
async def test_what_takes_above_a_second_says_so_in_a_terminal(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    words, work = LONG[name]
    with contextlib.redirect_stderr(Terminal()) as terminal:
        await work(terminal, tmp_path)
    assert terminal.getvalue().startswith(f"\r\x1b[K{words.format(tmp_path)}")
    assert terminal.getvalue().endswith("\r\x1b[K")
