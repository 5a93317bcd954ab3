"""actorsession's side: all rows, and the process that answers the driver.

It uses the library as a user does. The driver starts it with the ``OPENBLAS_CORETYPE`` of worker processes.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession as acts
import actorsession.compat.v1
from actorsession.actors.loops import new_event_loop
from actorsession.ops.blas_threads import loaded_libraries
from actorsession.ops.flow import dataflow

from . import side
from .case import Case, SyncCase
from .library_actorsession import Library
from .questions import ITERATIONS, Question
from .side import Side, serve

__all__ = ["builders", "main"]


def main(out: int) -> None:
    """Answer the driver until it has no more requests.

    Args:
        out: the descriptor for the replies.
    """
    library = Library()
    packages = ["actorsession", "transports"]
    serve(Side(("actorsession", packages), _describe, builders(library), library.close), sys.stdin, out)


def builders(library: Library) -> dict[str, Callable[[Question], Case]]:
    """Return what builds the case of each row."""
    return side.builders(library, actorsession.compat.v1) | {"raw-loop": _raw_loop}


def _describe() -> dict[str, str]:
    loop = new_event_loop()
    loop.close()
    return {
        "name": "actorsession",
        "version": acts.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "loop": type(loop).__module__.split(".")[0],
        "blas": next((library.kernels for library in loaded_libraries()), "unknown"),
        "coretype": os.environ.get("OPENBLAS_CORETYPE", ""),
    }


def _raw_loop(question: Question) -> Case:
    """Build the loop from the primitive operations of control flow, of which TensorFlow's always consists."""
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [])
        entered = [dataflow.enter(first, "loop") for first in (acts.constant(0), x)]
        end, factor, term = (
            dataflow.enter(acts.constant(value), "loop", is_constant=True)
            for value in (ITERATIONS, question.given["factor"], question.given["term"])
        )
        i, value = (dataflow.merge([first, first]).output for first in entered)
        condition = dataflow.loop_cond(i < end)
        switched = [dataflow.switch(variable, condition) for variable in (i, value)]
        with acts.control_dependencies([switched[0].output_true]):
            following = switched[0].output_true + 1, switched[1].output_true * factor + term
        for variable, after in zip((i, value), following, strict=True):
            dataflow.close_loop(variable, dataflow.next_iteration(after))
        result = dataflow.exit_(switched[1].output_false)
    session, feeds = acts.Session(graph=graph), {x: question.given["x"]}

    def run() -> Any:
        return session.run(result, feeds)

    return SyncCase(run, lambda: [run()], closes=session.close)
