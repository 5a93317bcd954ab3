"""``print_``: what is written, and where."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.opsets.text.printing import print_

MATRIX = np.array([[1, 2], [3, 4]], np.int32)


def printed(capfd: Any, *inputs: Any, **options: Any) -> str:
    """What a step writes to standard output. Lines are written by a thread of their own."""
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as session:
        made = [ops.constant(x) if isinstance(x, np.ndarray) else x for x in inputs]
        made = [{"k": ops.constant(MATRIX)} if x is dict else x for x in made]
        session.run(print_(*made, output_stream=sys.stdout, end="|", **options))
    sys.stdout.flush()
    found: str = capfd.readouterr().out
    return found


@pytest.mark.parametrize(
    ("inputs", "options", "said"),
    [
        (("x", MATRIX, 1.5), {}, "x [[1 2]\n [3 4]] 1.5|"),
        (("a", "b"), {"sep": ""}, "ab|"),
        ((np.array(b"st", object), np.array(True), np.float64(2.5)), {}, '"st" 1 2.5|'),
        (([0, 1], ("q",)), {}, "[0, 1] ('q',)|"),
        ((np.arange(20),), {}, "[0 1 2 ... 17 18 19]|"),
        ((np.arange(5),), {"summarize": -1}, "[0 1 2 3 4]|"),
        ((dict,), {}, "{'k': [[1 2]\n [3 4]]}|"),
    ],
)
def test_a_step_writes_tensors_and_values(capfd: Any, inputs: Any, options: Any, said: str) -> None:
    assert printed(capfd, *inputs, **options) == said


def test_another_stream_is_refused() -> None:
    with acts.Graph().as_default(), pytest.raises(ValueError, match=r"sys\.stderr or sys\.stdout"):
        print_("x", output_stream="nowhere")
