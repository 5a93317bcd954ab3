"""Functions under their names from before TensorFlow 1.0.

``tf`` provides them under the old names; they build the same operations as the functions with the newer
names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession import ops, opsets
from actorsession.graph.dtypes import DType, bfloat16, complex64, complex128, float32, float64, int32, int64
from actorsession.graph.operation import Tensor
from actorsession.namespaces.image import extract_patches

__all__ = [
    "all_variables", "arg_max", "arg_min", "batch_matmul", "extract_image_patches",
    "initialize_all_tables", "initialize_all_variables", "initialize_local_variables",
    "initialize_variables", "mul", "neg", "pack", "sub", "to_bfloat16", "to_complex64",
    "to_complex128", "to_double", "to_float", "to_int32", "to_int64", "unpack",
]  # fmt: skip

mul, neg, sub = ops.multiply, ops.negative, ops.subtract
all_variables, initialize_all_variables = ops.global_variables, ops.global_variables_initializer
initialize_local_variables = ops.local_variables_initializer
initialize_variables, initialize_all_tables = ops.variables_initializer, opsets.tables_initializer


def arg_max(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    """Return the index of the largest element along an axis, like ``argmax``."""
    return ops.argmax(input, dimension, name, output_type)


def arg_min(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    """Return the index of the smallest element along an axis, like ``argmin``."""
    return ops.argmin(input, dimension, name, output_type)


def _conversion(dtype: DType, label: str) -> Callable[..., Tensor]:
    def convert(x: Any, name: str = label) -> Tensor:
        return ops.cast(x, dtype, name)

    convert.__doc__ = f"Return ``x`` as {dtype.name}."
    convert.__name__ = convert.__qualname__ = f"to_{label[2:].lower()}"
    return convert


to_float, to_double = _conversion(float32, "ToFloat"), _conversion(float64, "ToDouble")
to_int32, to_int64 = _conversion(int32, "ToInt32"), _conversion(int64, "ToInt64")
to_bfloat16 = _conversion(bfloat16, "ToBFloat16")
to_complex64, to_complex128 = (_conversion(complex64, "ToComplex64"), _conversion(complex128, "ToComplex128"))


def batch_matmul(
    x: Any, y: Any, adj_x: bool | None = None, adj_y: bool | None = None, name: str | None = None
) -> Tensor:
    """Return the products of matrices, one for each member of a batch, like ``matmul``.

    Args:
        x: a tensor of rank 2 or more.
        y: a tensor of the rank and dtype of ``x``.
        adj_x: whether to conjugate and transpose the matrices of ``x`` first.
        adj_y: the same for ``y``.
        name: the name of the operation.
    """
    return ops.matmul(x, y, adjoint_a=bool(adj_x), adjoint_b=bool(adj_y), name=name)


def pack(values: Any, axis: int = 0, name: str = "pack") -> Tensor:
    """Return tensors of one shape stacked along a new axis, like ``stack``."""
    return ops.stack(values, axis, name)


def unpack(value: Any, num: int | None = None, axis: int = 0, name: str = "unpack") -> Any:
    """Return the slices of a tensor along an axis, which is removed, like ``unstack``."""
    return ops.unstack(value, num, axis, name)


def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """Return patches of images; see ``tf.image.extract_patches``, whose ``sizes`` are ``ksizes`` here.

    Raises:
        ValueError: if the sizes were given under both names.
        TypeError: if they, the strides, the rates or the padding are missing.
    """
    if ksizes is not None and sizes is not None:
        raise ValueError("Cannot specify both 'ksizes' and 'sizes'.")
    extents = sizes if ksizes is None else ksizes
    if None in (extents, strides, rates, padding):
        raise TypeError("extract_image_patches needs ksizes, strides, rates and padding")
    return extract_patches(images, extents, strides, rates, padding, name)
