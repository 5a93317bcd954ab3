"""File contents as values: files are read, written and matched where the node runs.

Owns ``ReadFile``, ``WriteFile`` and ``MatchingFiles``. Disk accesses may take any time, so none of these ops
runs on an event loop.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from actorsession.checkpoints.atomic import file_errors, overwrite
from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.rows import checked, no_outputs, op, scalar
from actorsession.ops.shape_operands import boxed
from actorsession.opsets.parsing.file_parts import whole_file
from actorsession.opsets.text.kernels import string_array

__all__ = ["matching_files", "read_file", "write_file"]


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Return the contents of a file.

    Args:
        filename: path of the file, a string scalar.
        name: wanted name.

    Returns:
        A string scalar. At run time a NotFoundError is raised if there is no such file.

    Raises:
        ValueError: for another rank.
    """
    return raw.ReadFile(filename, name=name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Create or replace a file, and create missing folders.

    Args:
        filename: path of the file, a string scalar.
        contents: the new contents, a string scalar.
        name: wanted name.

    Raises:
        ValueError: for another rank.
    """
    return raw.WriteFile(filename, contents, name=name)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Return the sorted paths of the files that match a pattern.

    Args:
        pattern: a string, or a vector of them. ``*``, ``?`` and ``[...]`` match within one name of the path,
            including names that begin with a dot.
        name: wanted name.

    Returns:
        A vector of strings, empty if nothing matches.

    Raises:
        ValueError: for another rank.
    """
    return raw.MatchingFiles(pattern, name=name)


def _matched(ctx: InferContext) -> Sequence[TensorShape]:
    shape = ctx.inputs[0].shape
    if shape.rank not in (None, 0, 1):
        raise ValueError(f"{ctx.op} takes a scalar or vector as pattern; got shape {shape}")
    return [TensorShape([None])]


# -- kernels ---------------------------------------------------------------------------------------


def _one(op: str, value: Any) -> bytes:
    """Return the string of a scalar value."""
    array = boxed(value)
    if array.ndim:
        raise InvalidArgumentError(f"{op} takes a string scalar, got shape {list(array.shape)}")
    text = array.item()
    assert isinstance(text, bytes)
    return text


def _read_kernel(ctx: KernelContext) -> Kernel:
    op, host = ctx.op, ctx.resources

    def read(filename: Any) -> bytes:
        return whole_file(os.fsdecode(_one(op, filename)), host.files.opener)

    return read


def _write_kernel(ctx: KernelContext) -> Kernel:
    op, host = ctx.op, ctx.resources

    def write(filename: Any, contents: Any) -> None:
        path, data = os.fsdecode(_one(op, filename)), _one(op, contents)
        with file_errors(f"cannot write {path!r}"):
            overwrite(path, lambda file: file.write(data), make=True, files=host.files)

    return write


def _matching_kernel(ctx: KernelContext) -> Kernel:
    op, host = ctx.op, ctx.resources

    def matching(pattern: Any) -> Any:
        array = boxed(pattern)
        if array.ndim > 1:
            raise InvalidArgumentError(f"{op} takes a string or a vector of them, got shape {list(array.shape)}")
        paths = sorted(os.fsencode(path) for text in array.flat for path in host.files.matching(os.fsdecode(text)))
        return string_array(paths, (len(paths),))

    return matching


for _name, _shapes, _kernel in (
    ("ReadFile", checked(scalar, 0), _read_kernel),
    ("WriteFile", checked(no_outputs, 0, 0), _write_kernel),
    ("MatchingFiles", checked(_matched), _matching_kernel),
):
    op(_name, _shapes, kernel=_kernel, grad=NOT_DIFFERENTIABLE, blocks=True, opens_files=True)
