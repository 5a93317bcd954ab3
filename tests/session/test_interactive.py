"""Default sessions: who runs ``tensor.eval()`` and ``operation.run()``, per thread and asyncio child."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops


# -- eval and run ----------------------------------------------------------------------------------
def test_eval_and_run_use_the_default_session(graph: acts.Graph) -> None:
    a = ops.placeholder("float32", [])
    v = ops.Variable(3.0)
    with acts.Session(graph=graph):
        assert (a + 1.0).eval({a: 2}) == 3.0
        v.initializer.run()
        assert v.eval() == 3.0
        assert v.assign_add(1.0).eval() == 4.0
        assert ops.no_op().run() is None


async def test_eval_and_run_of_an_asynchronous_session_are_awaited(graph: acts.Graph) -> None:
    v = ops.Variable(3.0)
    async with acts.AsyncSession(graph=graph):
        await v.initializer.run()
        assert await (v * 2.0).eval() == 6.0


def test_a_session_may_be_named_instead(graph: acts.Graph) -> None:
    x = ops.constant(5.0)
    with acts.Session(graph=graph) as named:
        pass_on = named
        assert x.eval(session=pass_on) == 5.0
        x.op.run(session=pass_on)
        with acts.Session(graph=acts.Graph()):
            assert x.eval(session=named) == 5.0


def test_without_a_session_eval_is_refused(graph: acts.Graph) -> None:
    x = ops.constant(5.0, name="x")
    with pytest.raises(ValueError, match=r"Cannot evaluate tensor using `eval\(\)`: No default"):
        x.eval()
    with pytest.raises(ValueError, match=r"using `run\(\)`: No default session.*run\(session=sess\)"):
        x.op.run()


def test_a_session_of_another_graph_is_refused(graph: acts.Graph) -> None:
    x = ops.constant(5.0)
    with acts.Session(graph=acts.Graph()) as other:
        with pytest.raises(ValueError, match="Cannot use the default session to evaluate tensor"):
            x.eval()
        with pytest.raises(ValueError, match="Cannot use the session that was passed"):
            x.eval(session=other)


# -- as_default and with ---------------------------------------------------------------------------
def test_defaults_nest_and_the_innermost_counts(graph: acts.Graph) -> None:
    with acts.Session(graph=graph) as outer:
        assert acts.get_default_session() is outer
        with acts.Session(graph=graph) as inner:
            assert acts.get_default_session() is inner
            with outer.as_default():
                assert acts.get_default_session() is outer
            assert acts.get_default_session() is inner
        assert acts.get_default_session() is outer
    assert acts.get_default_session() is None


def test_with_makes_the_graph_default_too_and_closes_also_on_an_error() -> None:
    graph = acts.Graph()
    session = acts.Session(graph=graph)

    def fail() -> None:
        assert acts.get_default_graph() is graph
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), session:
        fail()
    assert session.closed
    assert acts.get_default_graph() is not graph
    assert acts.get_default_session() is None


def test_as_default_changes_no_graph_and_closes_nothing() -> None:
    session = acts.Session(graph=acts.Graph())
    with session.as_default():
        assert acts.get_default_graph() is not session.graph
    assert not session.closed
    session.close()


def test_with_is_not_re_entrant_but_a_closed_session_may_be_entered_again(graph: acts.Graph) -> None:
    x = ops.constant(1.0)
    with acts.Session(graph=graph) as session, pytest.raises(RuntimeError, match=r"not re-entrant: use as_default\(\)"):
        session.__enter__()
    with session, pytest.raises(RuntimeError, match="closed Session"):
        session.run(x)


def test_each_thread_has_its_own_default(graph: acts.Graph) -> None:
    seen: list[Any] = []
    with acts.Session(graph=graph) as session:
        thread = threading.Thread(target=lambda: seen.append(acts.get_default_session()))
        thread.start()
        thread.join(10)
        assert acts.get_default_session() is session
    assert seen == [None]


async def test_each_child_has_its_own_default(graph: acts.Graph) -> None:
    """Two children enter sessions in turn; neither sees the other's."""
    both_in = asyncio.Barrier(2)

    async def child() -> bool:
        async with acts.AsyncSession(graph=graph) as session:
            await both_in.wait()
            return acts.get_default_session() is session

    assert all(await asyncio.gather(child(), child()))
    assert acts.get_default_session() is None


def test_children_and_threads_that_a_child_starts_see_its_default(graph: acts.Graph) -> None:
    """A thread of the program's own starts without one; ``asyncio.to_thread`` and children inherit."""

    async def main() -> None:
        async with acts.AsyncSession(graph=graph) as session:

            async def child() -> Any:
                return acts.get_default_session()

            assert await asyncio.create_task(child()) is session
            assert await asyncio.to_thread(acts.get_default_session) is session

    asyncio.run(main())


async def test_a_session_may_be_entered_in_one_child_and_left_in_another(graph: acts.Graph) -> None:
    """As fixtures do, whose setup and teardown are children of their own."""
    session = acts.AsyncSession(graph=acts.Graph())
    await asyncio.create_task(session.__aenter__())
    assert acts.get_default_session() is None  # it was the default of that child alone
    async with acts.AsyncSession(graph=graph) as inner:
        await session.__aexit__(None, None, None)
        assert session.closed
        assert acts.get_default_session() is inner
        assert acts.get_default_graph() is graph


def test_a_session_may_be_entered_in_one_thread_and_left_in_another() -> None:
    session = acts.Session(graph=acts.Graph())
    thread = threading.Thread(target=session.__enter__)
    thread.start()
    thread.join(10)
    session.__exit__(None, None, None)
    assert session.closed


# -- interactive sessions --------------------------------------------------------------------------
def test_an_interactive_session_is_the_default_until_it_is_closed(graph: acts.Graph) -> None:
    x = ops.constant([1.0, 2.0])
    session = acts.InteractiveSession(graph=graph)
    np.testing.assert_array_equal((x * 2.0).eval(), [2.0, 4.0])
    session.close()
    session.close()
    assert acts.get_default_session() is None
    with pytest.raises(ValueError, match="No default session"):
        x.eval()


def test_its_graph_becomes_the_default_if_it_was_named() -> None:
    graph = acts.Graph()
    with acts.InteractiveSession(graph=graph) as session:
        assert acts.get_default_graph() is graph
        assert ops.constant(4).eval() == 4
    assert session.closed
    assert acts.get_default_graph() is not graph


def test_interactive_sessions_may_be_closed_in_any_order(graph: acts.Graph, caplog: pytest.LogCaptureFixture) -> None:
    first = acts.InteractiveSession(graph=graph)
    assert caplog.messages == []
    second = acts.InteractiveSession(graph=graph)
    assert "another interactive session is open" in caplog.text
    first.close()
    assert acts.get_default_session() is second
    second.close()
    assert acts.get_default_session() is None


async def test_an_asynchronous_interactive_session_serves_await_eval(graph: acts.Graph) -> None:
    v = ops.Variable(1.0)
    session = acts.AsyncInteractiveSession(graph=graph)
    await v.initializer.run()
    assert await v.assign_add(2.0).eval() == 3.0
    await session.close()
    assert acts.get_default_session() is None
    async with acts.AsyncInteractiveSession(graph=graph) as again:
        assert acts.get_default_session() is again
    assert again.closed
