"""Every node remembers the user's line that built it."""

from __future__ import annotations

import functools
import sys
from typing import Any

import tests.graph.kit  # noqa: F401 - registers KitNothing
from actorsession import Graph
from actorsession.graph.source_location import user_line


def line() -> int:
    """The number of the line that calls this."""
    return sys._getframe(1).f_lineno


def module(name: str, text: str) -> dict[str, Any]:
    """What a module of that name and text would define."""
    namespace: dict[str, Any] = {"__name__": name}
    exec(compile(text, f"{name}.py", "exec"), namespace)  # noqa: S102 - a text of this file
    return namespace


CALL = "def call(f, *args):\n    return f(*args)\n"


def test_a_node_points_at_the_line_that_asked_for_it() -> None:
    op, here = Graph().create_op("KitNothing"), line()
    assert op.source == f"{__file__}:{here}"
    inside = module("actorsession.ops.made_up", CALL)["call"]
    op, here = inside(Graph().create_op, "KitNothing"), line()
    assert op.source == f"{__file__}:{here}"
    # Calls too deep inside the library have no line.
    text = "def dive(f, depth):\n    return dive(f, depth - 1) if depth else f()\n"
    dive = module("actorsession.made_up", text)["dive"]
    assert dive(user_line, 5) == f"{__file__}:{line()}"
    assert dive(user_line, 60) == ""


def test_what_the_library_calls_itself_through_is_no_user() -> None:
    """A constant made for an operand is built inside a generator that contextlib calls."""
    inside = module(
        "actorsession.ops.made_up",
        "import contextlib\n"
        "@contextlib.contextmanager\n"
        "def building(create):\n"
        "    yield create('KitNothing')\n"
        "def build(create):\n"
        "    with building(create) as op:\n"
        "        return op\n",
    )["build"]
    op, here = inside(functools.partial(Graph().create_op)), line()
    assert op.source == f"{__file__}:{here}"


def test_the_demo_is_a_user_like_any_other() -> None:
    call = module("actorsession.demo.made_up", CALL)["call"]
    assert call(Graph().create_op, "KitNothing").source == "actorsession.demo.made_up.py:2"


def test_a_program_whose_name_begins_like_ours_is_a_user() -> None:
    call = module("actorsession_examples", CALL)["call"]
    assert call(Graph().create_op, "KitNothing").source == "actorsession_examples.py:2"
