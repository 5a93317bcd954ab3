"""A ``Session`` in cells of a notebook, by a real kernel; and the rule that tells cells from coroutines."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, InteractiveSession, Session, ops
from actorsession.session.notebooks import CellCalls, is_cell
from tests.session.notebook_kit import Notebook, open_notebook

ROOT = Path(__file__).resolve().parents[2]


# -- with a kernel ---------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    """A notebook in which all tests of this module share one kernel, each with a graph of its own."""
    with open_notebook() as opened:
        opened.run(
            """
            import asyncio, signal, threading, time, warnings
            import actorsession as acts
            from actorsession.session.notebooks import CellWarning
            # A machine may be so busy that any step takes long. A test that expects the warning asks for it.
            warnings.simplefilter("ignore", CellWarning)

            def same(found, expected):
                assert found == expected, (found, expected)
            """
        )
        yield opened


@pytest.mark.process
def test_a_session_runs_in_a_cell_with_and_without_a_block(notebook: Notebook) -> None:
    notebook.run(
        """
        x = acts.placeholder("float32", [])
        asyncio.get_running_loop()  # there is one
        with acts.Session() as session:
            same(session.run(x * 2.0, {x: 3.0}), 6.0)
            same((x * 3.0).eval({x: 2.0}), 6.0)
            same(session.make_callable(x * 4.0, [x])(2.0), 8.0)
            session.warm_up(x * 5.0, [x])
            same(session.run(x * 5.0, {x: 1.0}, timeout=40.0), 5.0)
            same(len(session.list_devices()), 1)
            assert "No step" in str(session.why())
            assert x.op.name in session.placement()
        assert session.closed
        """,
        """
        session = acts.Session()
        handle = session.partial_run_setup([x + 1.0, x + 2.0], [x])
        """,
        """
        with session.partial([y := x * 2.0, z := x * 3.0], [x]) as part:
            same(part.run(y, {x: 2.0}), 4.0)
            same(part.run(z), 6.0)
        session.close()
        asyncio.get_running_loop()  # still
        """,
    )


@pytest.mark.process
def test_a_cell_that_ends_with_an_object_shows_its_tables_and_drawings(notebook: Notebook) -> None:
    notebook.run(
        """
        with acts.Graph().as_default() as graph:
            x = acts.placeholder("float32", [None, 2], name="x")
            w = acts.Variable(acts.ones([2, 1]), name="w")
            loss = acts.reduce_mean(acts.square(acts.matmul(x, w)), name="loss")
            train = acts.train.GradientDescentOptimizer(0.1).minimize(loss)
            start = acts.global_variables_initializer()
        session = acts.Session(graph=graph)
        session.run(start)
        report = acts.RunMetadata()
        traced = acts.RunOptions(trace_level=acts.RunOptions.FULL_TRACE, output_partition_graphs=True)
        session.run(loss, {x: [[1.0, 2.0]]}, options=traced, run_metadata=report)
        result = acts.train.fit(session, train, [{x: [[1.0, 2.0]]}] * 3, loss=loss, progress=lambda report: None).run()
        cluster = acts.LocalCluster({"worker": 1})
        """
    )
    drawings = {
        "graph": 1,
        "session": 1,
        "session.statistics()": 0,
        "report": 2,
        "report.step_stats": 1,
        "graph.as_graph_def()": 1,
        "result": 1,
        "cluster": 0,
    }
    for shown, count in drawings.items():
        (output,) = notebook.outputs(shown)
        html, text = ("".join(output["data"][kind]) for kind in ("text/html", "text/plain"))
        assert html.startswith('<div class="acts">'), shown
        assert html.count("<svg") == count, shown
        assert text.partition("\n")[0] in html, shown
    notebook.run("session.close()")


@pytest.mark.process
def test_an_interactive_session_serves_eval_in_later_cells_until_it_is_closed(notebook: Notebook) -> None:
    """Also one of a cell with an ``await``, which the kernel runs in an asyncio child."""
    evaluate = "same((v * 2.0).eval(), 6.0)"
    notebook.run(
        """
        v = acts.Variable(3.0)
        interactive = acts.InteractiveSession()
        v.initializer.run()
        """,
        evaluate,
        f"await asyncio.sleep(0)\n{evaluate}",
        """
        interactive.close()
        assert acts.get_default_session() is None
        await asyncio.sleep(0)
        interactive = acts.InteractiveSession()
        v.initializer.run()
        """,
        evaluate,
        """
        with acts.Session() as inner:
            assert acts.get_default_session() is inner
        assert acts.get_default_session() is interactive
        interactive.close()
        assert acts.get_default_session() is None
        """,
    )


@pytest.mark.process
def test_tensorflows_sessions_run_in_a_cell(notebook: Notebook) -> None:
    notebook.run(
        """
        import actorsession.compat.v1 as tf

        with tf.Graph().as_default(), tf.Session() as sess:
            a = tf.placeholder(tf.float32, [None])
            same(sess.run(tf.reduce_sum(a), {a: [1.0, 2.0]}), 3.0)
        named = tf.Graph()
        sess = tf.InteractiveSession(graph=named)
        """,
        """
        assert tf.get_default_graph() is named
        w = tf.Variable(2.0)
        tf.global_variables_initializer().run()
        same(w.eval(), 2.0)
        sess.close()
        assert tf.get_default_graph() is not named
        """,
    )


@pytest.mark.process
def test_a_program_for_tensorflow_runs_cell_by_cell_as_it_stands(notebook: Notebook) -> None:
    """With the session's block as one cell, as a notebook made of a program has it."""
    program = (ROOT / "examples" / "tensorflow1.py").read_text(encoding="utf-8")
    cells = re.split(r"\n(?=\S)", program.strip())
    assert len(cells) > 10
    notebook.run(
        "veteran = acts.Graph().as_default()\nveteran.__enter__()",
        *cells,
        """
        with tf.Session() as sess:
            tf.global_variables_initializer().run()
            same(bool(accuracy.eval(feeds) > 0.9), False)
            for _ in range(200):
                train.run(feeds)
            same(bool(accuracy.eval(feeds) > 0.95), True)
        veteran.__exit__(None, None, None)
        """,
    )


@pytest.mark.process
def test_fit_trains_in_a_cell_with_either_kind_of_session(notebook: Notebook) -> None:
    """Its own coroutine stands between the cell and the session, and is none of the user's."""
    notebook.run(
        """
        count = acts.Variable(0.0)
        arguments = count.assign_add(1.0), [None] * 3
        session = acts.Session()
        session.run(acts.global_variables_initializer())
        from unittest import mock
        with mock.patch("IPython.display.display", wraps=display) as shown:
            same(acts.train.fit(session, *arguments, loss=count).run().steps, 3)
        (bar,) = shown.call_args.args
        assert "step 3 of 3" in bar._repr_html_() and "epoch 1, step 3" in repr(bar), bar
        same([r.step for r in acts.train.fit(session, *arguments, loss=count, every=1)], [1, 2, 3])
        """,
        """
        for report in acts.train.fit(session, *arguments, loss=count, every=1):
            break
        same(session.run(count), 7.0)

        async def blocking():
            for call in (lambda: fitting.run(), lambda: list(fitting)):
                try:
                    call()
                except RuntimeError as error:
                    assert "use AsyncSession" in str(error), error
                else:
                    raise AssertionError("a coroutine of the user has blocked its loop")

        fitting = acts.train.fit(session, *arguments, loss=count)
        await blocking()
        same(session.run(count), 7.0)
        session.close()
        """,
        """
        async with acts.AsyncSession() as session:
            await session.run(acts.global_variables_initializer())
            same((await acts.train.fit(session, *arguments, loss=count)).steps, 3)
        """,
    )


@pytest.mark.process
def test_a_step_that_waits_for_another_thread_ends_in_a_cell(notebook: Notebook) -> None:
    """The step of the cell suspends; a thread of the program, as a queue runner has them, lets it go on."""
    notebook.run(
        """
        x = acts.placeholder("float32", [])
        queue = acts.FIFOQueue(1, "float32", [[]])
        put, get = queue.enqueue([x]), queue.dequeue()
        session = acts.Session()
        thread = threading.Thread(target=lambda: [session.run(put, {x: n}) for n in range(3)])
        thread.start()
        same([session.run(get) for _ in range(3)], [0.0, 1.0, 2.0])
        thread.join()
        same(session.run(queue.size()), 0)
        session.close()
        """
    )


@pytest.mark.process
def test_functions_in_the_graph_may_run_sessions_in_a_cell(notebook: Notebook) -> None:
    notebook.run(
        """
        def inner():
            with acts.Graph().as_default(), acts.Session() as session:
                return session.run(acts.constant(2.0) + 1.0)

        outer = acts.py_func(inner, [], "float32")
        with acts.Session() as session:
            same(session.run(outer), 3.0)
        """
    )


@pytest.mark.process
def test_ctrl_c_in_a_step_of_a_cell_leaves_kernel_and_session_usable(notebook: Notebook) -> None:
    notebook.run(
        """
        interrupted = acts.py_func(lambda: signal.raise_signal(signal.SIGINT), [], [])
        session = acts.Session()
        try:
            session.run(interrupted)
        except KeyboardInterrupt:
            ended = True
        assert ended
        asyncio.get_running_loop()
        """,
        "await asyncio.sleep(0)\nsame(session.run(acts.constant(1.0) + 1.0), 2.0)\nsession.close()",
    )


@pytest.mark.process
def test_a_coroutine_of_the_user_is_refused_in_a_notebook_and_the_advice_works(notebook: Notebook) -> None:
    notebook.run(
        """
        x = acts.placeholder("float32", [])
        y = x * 2.0
        interactive = acts.InteractiveSession()

        async def refused():
            try:
                y.eval({x: 1.0})
            except RuntimeError as error:
                assert "use AsyncSession" in str(error)
                return await asyncio.to_thread(y.eval, {x: 2.0})

        async def advised():
            async with acts.AsyncSession() as session:
                return await session.run(y, {x: 3.0})

        same(await refused(), 4.0)
        same(await asyncio.create_task(refused()), 4.0)
        same(await advised(), 6.0)
        same(y.eval({x: 4.0}), 8.0)  # in the cell itself, although it awaits
        interactive.close()
        """
    )


@pytest.mark.process
def test_a_step_that_holds_the_kernels_loop_for_long_is_warned_of_once(notebook: Notebook) -> None:
    notebook.run(
        """
        slow = acts.py_func(lambda: time.sleep(0.06), [], [])
        with acts.Session() as session, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(4):
                session.run(slow)
        same([w.category for w in caught], [CellWarning])
        assert "await session.run" in str(caught[0].message)
        assert "ipykernel" in caught[0].filename, caught[0].filename  # the line of the cell
        """
    )


@pytest.mark.process
def test_a_session_of_a_cluster_runs_in_a_cell(notebook: Notebook) -> None:
    """One cell starts the processes on the kernel's loop, and others block this loop while they run steps."""
    notebook.run(
        """
        cluster = acts.LocalCluster({"worker": 2})
        await cluster.start()
        remote = acts.Session(cluster.target("worker"))
        """,
        """
        x = acts.placeholder("float32", [])
        with acts.device("/job:worker/task:1"):
            y = x * 5.0
            v = acts.Variable(1.0)
        same(remote.run(y, {x: 2.0}), 10.0)
        remote.run(v.initializer)
        same(len(remote.list_devices()), 2)
        assert "No step" in str(remote.why())
        with remote.partial([y], [x]) as part:
            same(part.run(y, {x: 3.0}), 15.0)
        same(remote.make_callable(y, [x])(4.0), 20.0)
        with acts.InteractiveSession(cluster.target("worker")):
            same(y.eval({x: 1.0}), 5.0)
        remote.close()
        assert remote.closed
        """,
        "await cluster.stop()",
    )


# -- the rule --------------------------------------------------------------------------------------
def code_of(module: str, source: str) -> dict[str, Any]:
    """The names of a module that stands for one of the kernel or of the user."""
    names: dict[str, Any] = {"__name__": module}
    exec(source, names)  # noqa: S102 - a test's own
    return names


PLAIN = "def call(work):\n    return work()\n"
AWAITED = "async def run(work):\n    return work()\n"
AWAITING = "async def run(work):\n    return await work\n"


def driven(coroutine: Any) -> Any:
    """The result of a coroutine that does not suspend."""
    with pytest.raises(StopIteration) as returned:
        coroutine.send(None)
    return returned.value.value


def here() -> bool:
    return is_cell(sys._getframe(1))


def in_run_code(work: Callable[[], Any]) -> Any:
    """What a cell without ``await`` is called by."""
    return driven(code_of("IPython.core.interactiveshell", AWAITED)["run"](work))


def test_what_the_kernel_calls_is_a_cell_through_all_plain_calls() -> None:
    plain = code_of("__main__", PLAIN)["call"]
    assert in_run_code(here)
    assert in_run_code(lambda: plain(lambda: next(here() for _ in [0])))
    assert driven(code_of("ipykernel.kernelbase", AWAITED)["run"](lambda: plain(here)))


def test_a_coroutine_of_the_user_is_no_cell_whoever_awaits_it() -> None:
    own = code_of("__main__", AWAITED)["run"]
    assert not driven(own(here))
    assert not in_run_code(lambda: driven(own(here)))
    assert not driven(code_of("ipykernel.comm", AWAITING)["run"](own(here)))
    around = code_of("__main__", AWAITING)["run"]
    assert not driven(code_of("IPython.core.interactiveshell", AWAITING)["run"](around(own(here))))
    assert not driven(code_of("IPythonish", AWAITED)["run"](here))


def test_a_cell_with_an_await_is_a_coroutine_that_ipython_awaits() -> None:
    names: dict[str, Any] = {"__name__": "__main__", "here": here}
    source = "async def nothing(): pass\nawait nothing()\nfound = here()"
    compiled = compile(source, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert compiled.co_flags & inspect.CO_COROUTINE
    cell = types.FunctionType(compiled, names)()
    driven(code_of("IPython.core.interactiveshell", AWAITING)["run"](cell))
    assert names["found"]


def test_without_a_coroutine_on_the_stack_there_is_no_cell() -> None:
    assert not here()
    assert not code_of("IPython.core.interactiveshell", PLAIN)["call"](here)
    assert not is_cell(None)


async def test_a_callback_of_the_loop_is_no_cell() -> None:
    asked: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(lambda: asked.set_result(here()))
    assert not await asked


# -- what follows from it --------------------------------------------------------------------------
async def test_in_an_application_a_session_is_refused_and_either_advice_works(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = x * 2.0
    session = Session(graph=graph)
    calls: list[Callable[[], object]] = [
        lambda: session.run(y, {x: 1.0}),
        lambda: y.eval({x: 1.0}, session),
        lambda: session.make_callable(y, [x])(1.0),
        lambda: session.warm_up(y, [x]),
        lambda: session.partial_run_setup(y, [x]),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=r"use AsyncSession and .*asyncio\.to_thread"):
            call()
    assert await asyncio.to_thread(session.run, y, {x: 2.0}) == 4.0
    session.close()
    async with AsyncSession(graph=graph) as advised:
        assert await advised.run(y, {x: 3.0}) == 6.0


async def test_a_cell_sees_no_loop_while_a_step_runs_and_has_it_back_also_on_an_error(graph: Graph) -> None:
    seen = []
    failing = [False]

    def look() -> float:
        seen.append(asyncio._get_running_loop())
        if failing[0]:
            raise ValueError("on purpose")
        return 1.0

    y = ops.py_func(look, [], "float64")
    loop = asyncio.get_running_loop()
    with Session(graph=graph) as session:
        assert in_run_code(lambda: session.run(y)) == 1.0
        assert asyncio.get_running_loop() is loop
        failing[0] = True
        with pytest.raises(Exception, match="on purpose"):
            in_run_code(lambda: session.run(y))
        assert asyncio.get_running_loop() is loop
    assert seen == [None, None]


def held(calls: CellCalls, seconds: float) -> list[str]:
    """The warnings of a step that takes some seconds by a clock of the test's own."""
    calls.clock = iter([10.0, 10.0 + seconds]).__next__
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert calls.step(lambda: 1) == 1
    assert all(w.category is acts.debugging.CellWarning for w in caught)
    return [str(w.message) for w in caught]


def test_the_first_step_that_takes_above_50_ms_is_warned_of() -> None:
    calls, others = CellCalls(), CellCalls()
    assert held(calls, 0.049) == []
    (told,) = held(calls, 0.12)
    assert "held the notebook's event loop for 0.12 s" in told
    assert held(calls, 0.12) == []
    assert len(held(others, 0.12)) == 1, "once for each session"


def linger() -> float:
    """Holds the loop for twice as long as a step in a cell may without a warning."""
    end = time.perf_counter() + 0.1
    while time.perf_counter() < end:
        pass
    return 1.0


def test_a_step_that_is_planned_first_is_not_warned_of(graph: Graph) -> None:
    x = ops.py_func(linger, [], "float64")

    async def main() -> None:
        with Session(graph=graph) as session:
            assert in_run_code(lambda: session.run(x)) == 1.0
            with pytest.warns(acts.debugging.CellWarning, match=r"event loop for \d"):
                assert in_run_code(lambda: session.run(x)) == 1.0

    asyncio.run(main())


async def test_an_interactive_session_of_a_cell_is_the_default_of_all_children(graph: Graph) -> None:
    x = ops.constant(2.0)
    session = in_run_code(InteractiveSession)

    async def child() -> Any:
        return in_run_code(x.eval)

    assert await asyncio.create_task(child()) == 2.0
    assert await asyncio.to_thread(x.eval) == 2.0
    session.close()
    with pytest.raises(ValueError, match=r"[Nn]o default session"):
        in_run_code(x.eval)
