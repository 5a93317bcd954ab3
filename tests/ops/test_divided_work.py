"""Which operation types divide large work over several threads: what their rows say, and what their kernels call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import Graph, as_dtype, gradients
from actorsession.extend import registered_ops
from actorsession.graph.registry import lookup
from actorsession.ops import blas
from actorsession.ops.indexed_slices import to_dense
from tests.ops.holders import Shared
from tests.ops.interpreter import Program, source
from tests.ops.table.elsewhere import ELSEWHERE
from tests.ops.table.row import Row
from tests.ops.test_table import ROWS
from tests.ops.training.test_training_updates import CASES, given, held, kernel_of

DIVIDERS = {f.__code__ for f in (blas.batch_product, blas.in_blocks, blas.product, blas.share_products)}
# What multiplies matrices by an operator of Python gives them to BLAS all the same, unseen.
BY_OPERATOR = {
    "BatchCholeskyGrad", "BlockLSTM", "BlockLSTMGrad", "BlockLSTMGradV2", "BlockLSTMV2", "CholeskyGrad", "GRUBlockCell",
    "GRUBlockCellGrad", "LSTMBlockCell", "LSTMBlockCellGrad",
}  # fmt: skip


class Divided:
    """The operation types whose kernels call what divides work, or LAPACK."""

    def __init__(self) -> None:
        self.types: set[str] = set()

    def watched(self, op_type: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, which notes its type."""

        def called(frame: Any, event: str, _: object) -> None:
            if event == "call" and (frame.f_code in DIVIDERS or "numpy/linalg/_" in frame.f_code.co_filename):
                self.types.add(op_type)

        def watched(*inputs: Any) -> Any:
            before = sys.getprofile()
            sys.setprofile(called)
            try:
                return function(*inputs)
            finally:
                sys.setprofile(before)

        return watched

    def run(self, row: Row, inputs: tuple[Any, ...], *, back: bool) -> None:
        """Run a case of a row, or its gradients, without static shapes."""
        with Graph().as_default():
            arrays = [np.asarray(value) for value in inputs]
            feeds = {source(as_dtype(array.dtype)): array for array in arrays}
            made = row.build(*feeds)
            fetches = list(made) if isinstance(made, (list, tuple)) else [made]
            if back:
                by = [tensor for tensor in feeds if tensor.dtype.is_floating or tensor.dtype.is_complex]
                fetches = [to_dense(grad) for grad in gradients(fetches, by) if grad is not None]
            program = Program(fetches, tuple(feeds))
            steps = program._steps
            program._steps = [(op, self.watched(op.type, function), None, None) for op, function, *_ in steps]
            program.run(feeds)


def test_what_divides_its_work_is_marked_and_nothing_else() -> None:
    divided = Divided()
    for row in [row for row in ROWS if not row.needs]:
        for inputs in row.inputs[:2]:
            divided.run(row, inputs, back=False)
        for inputs in row.smooth:
            divided.run(row, inputs, back=True)
    for case in CASES:
        values, _ = given(case, "float32", (64,))
        inputs_of_case, _ = held(case, values, Shared)
        divided.watched(f"ResourceApply{case.split()[0]}", kernel_of("ResourceApply", case))(*inputs_of_case)
    marked = {name for name in registered_ops() if lookup(name).divides}
    assert sorted(divided.types - marked) == []
    assert sorted(marked - divided.types - BY_OPERATOR - set(ELSEWHERE)) == []
