"""A session after a fork: whatever the child calls says that the session is its parent's, and why."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from actorsession import Graph, Session, ops
from actorsession.opsets.summaries.event_files import EventFileWriter
from actorsession.process_bound import finalize_here
from tests.forks import in_a_child

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")]


def test_each_call_of_a_forked_child_is_refused_with_the_reason(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    v = ops.Variable(1.0)
    with Session(graph=graph) as session:
        session.run(v.initializer)
        call = session.make_callable(y, [x])
        assert call(1) == 2
        handle = session.partial_run_setup(y, x)
        kept = session.run(ops.get_session_handle(v.value()))
        found = in_a_child(
            {
                "run": lambda: session.run(y, {x: 1}),
                "eval": lambda: v.eval(session=session),
                "callable": lambda: call(1),
                "partial_run_setup": lambda: session.partial_run_setup(y, x),
                "partial_run": lambda: session.partial_run(handle, y, {x: 1}),
                "list_devices": session.list_devices,
                "placement": session.placement,
                "handle": kept.eval,
            }
        )
        assert len(found) == 8
        for said in found.values():
            assert said.startswith(f"RuntimeError: this session was made in process {os.getpid()}")
            assert "Make a session after the fork" in said
        assert session.partial_run(handle, y, {x: 1}) == 2  # the parent goes on


def test_a_forked_child_may_ask_for_counts_and_close(graph: Graph) -> None:
    y = ops.constant(1.0) + 1.0
    with Session(graph=graph) as session:
        session.run(y)
        found = in_a_child({"plans": lambda: session.statistics().cache.plans, "close": session.close})
        assert found == {"plans": "returned 1", "close": "returned None"}
        assert session.run(y) == 2


def test_what_a_child_leaves_or_ends_is_not_written_or_removed_twice(tmp_path: Path) -> None:
    """Files and folders of the parent, at the end of a child that ends as a program does."""
    events = EventFileWriter(str(tmp_path))
    events.write(b"an event")
    folder = tempfile.mkdtemp(dir=tmp_path)
    finalizer = finalize_here(events, os.rmdir, folder)
    found = in_a_child({"flush": events.flush, "close": events.close, "end": finalizer})
    assert found == dict.fromkeys(("flush", "close", "end"), "returned None")
    assert os.path.exists(folder)
    assert b"an event" not in Path(events.path).read_bytes()
    events.close()
    assert Path(events.path).read_bytes().count(b"an event") == 1
    finalizer()
    assert not os.path.exists(folder)
