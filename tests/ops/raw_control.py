"""Loops and conditionals of single operations, built as TensorFlow 1 builds them, for tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import actorsession as acts
from actorsession.ops.flow import dataflow

__all__ = ["raw_cond", "raw_while"]

_FRAMES = itertools.count()
Values = Sequence[acts.Tensor]


def raw_while(
    condition: Callable[[Values, Values], acts.Tensor],
    body: Callable[[Values, Values], Values],
    loop_vars: Values,
    captured: Values = (),
    *,
    parallel_iterations: int = 10,
    name: str = "raw_while",
) -> list[acts.Tensor]:
    """A loop; both functions get its variables and what is the same in all iterations."""
    with acts.control_dependencies(None), acts.name_scope(name):
        frame = f"{name}_{next(_FRAMES)}"
        entered = [dataflow.enter(v, frame, parallel_iterations=parallel_iterations) for v in loop_vars]
        constants = [
            dataflow.enter(v, frame, is_constant=True, parallel_iterations=parallel_iterations) for v in captured
        ]
        merged = [dataflow.merge([e, e]).output for e in entered]
        with acts.control_dependencies([merged[0].op]):
            goes_on = dataflow.loop_cond(condition(merged, constants))
        switched = [dataflow.switch(m, goes_on) for m in merged]
        with acts.control_dependencies([acts.identity(switched[0].output_true)]):
            # What a body makes of nothing belongs to the iteration, and what it hands on unchanged too.
            made = body([acts.identity(s.output_true) for s in switched], constants)
        for m, value in zip(merged, made, strict=True):
            dataflow.close_loop(m, dataflow.next_iteration(value))
        return [dataflow.exit_(s.output_false) for s in switched]


def raw_cond(
    predicate: acts.Tensor,
    true_fn: Callable[[Values], Values],
    false_fn: Callable[[Values], Values],
    inputs: Values,
    *,
    name: str = "raw_cond",
) -> list[acts.Tensor]:
    """A conditional; both functions get the inputs."""
    with acts.control_dependencies(None), acts.name_scope(name):
        pivots = dataflow.switch(predicate, predicate)
        switched = [dataflow.switch(v, predicate) for v in inputs]
        with acts.control_dependencies([acts.identity(pivots.output_true)]):
            yes = [acts.identity(v) for v in true_fn([s.output_true for s in switched])]
        with acts.control_dependencies([acts.identity(pivots.output_false)]):
            no = [acts.identity(v) for v in false_fn([s.output_false for s in switched])]
        return [dataflow.merge([n, y]).output for n, y in zip(no, yes, strict=True)]
