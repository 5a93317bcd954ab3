"""Functions of square matrices: exponential, logarithm, square root.

The exponential is composed of products, one solution and squarings, as in TensorFlow: N. Higham, The scaling
and squaring method for the matrix exponential revisited. The other two need Schur's form of a matrix, which
numpy does not have, so they are computed by scipy.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import bfloat16, complex128, float16, float64, int32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext, OpDef, register
from actorsession.ops.arithmetic import maximum
from actorsession.ops.arithmetic import pow as pow_
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.cast import cast
from actorsession.ops.comparison import greater, less
from actorsession.ops.control_flow import while_loop
from actorsession.ops.dimensions import shape_tensor
from actorsession.ops.elementwise import abs as abs_
from actorsession.ops.elementwise import ceil, log
from actorsession.ops.fills import ones_like
from actorsession.ops.matmul import matmul
from actorsession.ops.matrices import (
    adjoint,
    cubic_cost,
    matrix_dtype,
    matrix_kernel,
    require_square,
)
from actorsession.ops.matrix_diagonals import matrix_diag, matrix_diag_part
from actorsession.ops.operands import scalar_like
from actorsession.ops.reduction import reduce_max, reduce_sum
from actorsession.ops.scipy_kernels import require_scipy
from actorsession.ops.selection import where_v2
from actorsession.ops.shape import expand_dims, reshape
from actorsession.ops.solving import matrix_solve

__all__ = ["expm", "logm", "matrix_square_root"]
