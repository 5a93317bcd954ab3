"""Every node remembers the user's line that built it."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import Any

from actorsession.graph.graph import Graph
from actorsession.graph.source import user_line


def line() -> int:
    """The number of the line that calls this."""
    return sys._getframe(1).f_lineno


def as_module(name: str, text: str, **names: Any) -> dict[str, Any]:
    """Runs source as if it stood in a module of that name."""
    namespace: dict[str, Any] = {"__name__": name, **names}
    exec(compile(text, f"{name}.py", "exec"), namespace)  # noqa: S102 - a text of this file
    return namespace


CALLER = "def call(f, *args):\n    return f(*args)\n"


def test_a_node_points_at_the_line_that_asked_for_it() -> None:
    graph = Graph()
    op, here = graph.create_op("NoOp"), line()
    assert op.source == f"{__file__}:{here}"


def test_calls_through_the_library_point_at_its_user() -> None:
    inside = as_module("actorsession.ops.made_up", CALLER)["call"]
    graph = Graph()
    op, here = inside(graph.create_op, "NoOp"), line()
    assert op.source == f"{__file__}:{here}"


def test_context_managers_and_partial_functions_of_the_library_are_not_its_users() -> None:
    """A constant made for an operand is built inside a generator that contextlib calls."""
    graph = Graph()

    @contextlib.contextmanager
    def building() -> Iterator[Any]:
        yield inside(graph.create_op, "NoOp")

    inside = as_module("actorsession.ops.made_up", CALLER)["call"]
    building.__wrapped__.__globals__  # noqa: B018 - the generator itself stands in this module
    outer = as_module(
        "actorsession.ops.made_up_too",
        "import contextlib\n"
        "@contextlib.contextmanager\n"
        "def building(f):\n"
        "    yield f('NoOp')\n"
        "def build(f):\n"
        "    with building(f) as op:\n"
        "        return op\n",
    )["build"]
    op, here = outer(functools.partial(graph.create_op)), line()
    assert op.source == f"{__file__}:{here}"


def test_the_demo_is_a_user_like_any_other() -> None:
    call = as_module("actorsession.demo.made_up", CALLER)["call"]
    assert call(user_line, 0) == f"{__file__}:{line()}" or call(user_line, 1).endswith("up.py:2")
    assert call(Graph().create_op, "NoOp").source == "actorsession.demo.made_up.py:2"


def test_a_program_whose_name_begins_like_ours_is_a_user() -> None:
    call = as_module("actorsession_examples", CALLER)["call"]
    assert call(Graph().create_op, "NoOp").source == "actorsession_examples.py:2"


def test_a_call_from_nowhere_has_no_line() -> None:
    namespace = as_module("actorsession.made_up", "def deep(f, n):\n    return deep(f, n - 1) if n else f()\n")
    assert namespace["deep"](user_line, 60) == "", "sixty calls up is too far"
    assert namespace["deep"](user_line, 5) == f"{__file__}:{line()}"
