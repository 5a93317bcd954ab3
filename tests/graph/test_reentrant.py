"""Scopes are values: each may be entered again and again, nested, as a decorator, in threads and children."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

import actorsession as acts
from actorsession.compat import v1 as tf
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

GPU = "/job:a/task:0/device:CPU:1"


def in_other_graph() -> AbstractContextManager[Any]:
    return acts.Graph().as_default()


# A scope, and what tells whether an operation that is built now is inside.
SCOPES: dict[str, tuple[Callable[[], AbstractContextManager[Any]], Callable[[acts.Operation], object]]] = {
    "device": (lambda: acts.device(GPU), lambda op: op.device),
    "name_scope": (lambda: acts.name_scope("a"), lambda op: op.name.rpartition("/")[0]),
    "variable_scope": (lambda: tf.variable_scope("v"), lambda op: tf.get_variable_scope().name),
    "variable_op_scope": (lambda: tf.variable_op_scope([], "v"), lambda op: tf.get_variable_scope().name),
    "control_dependencies": (
        lambda: acts.control_dependencies(iter([acts.constant(1.0, name="before")])),
        lambda op: len(op.control_inputs),
    ),
    "colocate_with": (
        lambda: tf.colocate_with(acts.constant(1.0, name="anchor")),
        lambda op: op.colocation_groups() == [b"loc:@anchor"],
    ),
    "gradient_override_map": (
        lambda: tf.get_default_graph().gradient_override_map({"Const": "Other"}),
        lambda op: "_gradient_op_type" in op.node_def.attr,
    ),
    "container": (lambda: tf.container("c"), lambda op: acts.Variable(1.0, name="held").op.get_attr("container")),
    "as_default": (in_other_graph, lambda op: id(op.graph)),
    "default session": (
        lambda: acts.Session(graph=acts.Graph()).as_default(),
        lambda op: acts.get_default_session() is not None,
    ),
}


def built() -> acts.Operation:
    return acts.constant(1.0).op


@for_each("scope", SCOPES)
def test_a_scope_is_entered_again_and_again_and_inside_itself(graph: acts.Graph, scope: str) -> None:
    make, told = SCOPES[scope]
    on = make()
    outside = told(built())
    inside = []
    for _ in range(2):
        with on:
            inside.append(told(built()))
        assert told(built()) == outside
    with on:
        with on:
            inside.append(told(built()))
        inside.append(told(built()))
    assert told(built()) == outside
    assert outside not in inside


def test_a_name_scope_that_is_entered_again_has_another_name() -> None:
    scope = acts.name_scope("layer")
    names = []
    for _ in range(2):
        with scope as name:
            names.append(name)
    assert names == ["layer/", "layer_1/"]
    variables = tf.variable_scope("layer", reuse=tf.AUTO_REUSE)
    with variables:
        first = tf.get_variable("w", [2])
    with variables:
        assert tf.get_variable("w", [2]) is first


def test_a_scope_is_a_decorator() -> None:
    @acts.device(GPU)
    def build() -> str:
        return built().device

    assert [build(), build()] == [GPU, GPU]
    assert built().device == ""


def test_a_block_that_fails_leaves_its_scope() -> None:
    on = acts.device(GPU)
    with pytest.raises(ValueError, match="inside"), on:
        raise ValueError("inside")
    assert built().device == ""
    with on:
        assert built().device == GPU
    with pytest.raises(RuntimeError, match="not entered here"):
        acts.device(GPU).__exit__(None, None, None)


def test_threads_enter_one_scope_at_once(graph: acts.Graph) -> None:
    on, meet, found = acts.device(GPU), threading.Barrier(2, timeout=30), []

    def build(leaves_first: bool) -> None:
        with graph.as_default():
            with on:
                meet.wait()
                if not leaves_first:
                    meet.wait()
                found.append(built().device)
            if leaves_first:
                meet.wait()
            found.append(built().device)

    threads = [threading.Thread(target=build, args=(first,)) for first in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == ["", "", GPU, GPU]


async def test_asyncio_children_enter_one_scope_and_leave_it_in_any_order(graph: acts.Graph) -> None:
    on = acts.device(GPU)
    entered, left = asyncio.Event(), asyncio.Event()

    async def first() -> str:
        with on:
            await entered.wait()
        left.set()
        return built().device

    async def second() -> str:
        with on:
            entered.set()
            await left.wait()
            return built().device

    assert list(await asyncio.gather(first(), second())) == ["", GPU]
