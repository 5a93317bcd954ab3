"""Python functions of one step that wait for each other."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ConfigProto, ops

LIMIT = 20.0


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("depends", [False, True])
def test_a_function_may_wait_for_another_of_its_step(threads: int, depends: bool) -> None:
    arrived = threading.Event()
    seen: list[bool] = []

    def waits(*_: object) -> np.int64:
        seen.append(arrived.wait(LIMIT))
        return np.int64(1)

    def signals() -> np.int64:
        arrived.set()
        return np.int64(2)

    with acts.Graph().as_default() as graph:
        before: list[Any] = [ops.py_func(lambda: np.int64(0), [], acts.int64)] if depends else []
        first: Any = ops.py_func(waits, before, acts.int64)
        second = ops.py_func(signals, [], acts.int64)
        with acts.Session(graph=graph, config=ConfigProto(inter_op_parallelism_threads=threads)) as session:
            assert session.run([first, second, first + second]) == [1, 2, 3]
    assert seen == [True]


def test_functions_that_depend_on_each_other_run_one_after_the_other() -> None:
    order: list[int] = []

    def step(x: np.int64) -> np.int64:
        order.append(int(x))
        return np.int64(x + 1)

    with acts.Graph().as_default() as graph:
        last: Any = ops.constant(0, acts.int64)
        for _ in range(4):
            last = ops.py_func(step, [last], acts.int64)
        with acts.Session(graph=graph) as session:
            assert session.run(last) == 4
    assert order == [0, 1, 2, 3]
