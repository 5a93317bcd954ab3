"""File contents as values: files are read, written and matched where the node runs.

Owns ``ReadFile``, ``WriteFile`` and ``MatchingFiles``. Disk accesses may take any time, so none of these ops
runs on an event loop.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from actorsession.checkpoints import file_errors
from actorsession.config.file_roots import FileRoots
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import string
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, graph_of, make
from actorsession.ops.shape_operands import boxed
from actorsession.ops.text.kernels import require_string, string_array

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
    return raw.ReadFile(convert_to_tensor(filename, string, "filename"), name=name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Create or replace a file, and create missing folders.

    Args:
        filename: path of the file, a string scalar.
        contents: the new contents, a string scalar.
        name: wanted name.

    Raises:
        ValueError: for another rank.
    """
    graph = graph_of(filename, contents)
    inputs = [
        convert_to_tensor(filename, string, "filename", graph=graph),
        convert_to_tensor(contents, string, "contents", graph=graph),
    ]
    return make("WriteFile", inputs, None, name, graph)


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
    return raw.MatchingFiles(convert_to_tensor(pattern, string, "pattern"), name=name)


def _infer(shapes: Sequence[TensorSpec], most: int) -> Callable[[InferContext], list[TensorSpec]]:
    def infer(ctx: InferContext) -> list[TensorSpec]:
        require_string(ctx, *range(len(ctx.inputs)))
        for i, spec in enumerate(ctx.inputs):
            if spec.shape.rank is not None and spec.shape.rank > most:
                what = "a scalar" if not most else "a scalar or vector"
                raise ValueError(f"{ctx.op}: input {i} is {what}, got shape {spec.shape}")
        return list(shapes)

    return infer


# -- kernels ---------------------------------------------------------------------------------------


def _one(op: str, value: Any) -> bytes:
    """Return the string of a scalar value."""
    array = boxed(value)
    if array.ndim:
        raise InvalidArgumentError(f"{op} takes a string scalar, got shape {list(array.shape)}")
    found = array.item()
    assert isinstance(found, bytes)
    return found


def _read_kernel(ctx: KernelContext) -> Kernel:
    op, host = ctx.op, ctx.resources

    def read(filename: Any) -> bytes:
        path = os.fsdecode(_one(op, filename))
        with (
            file_errors(f"cannot read {path!r}"),
            open(path, "rb", opener=host.files.opener) as file,
        ):
            return file.read()

    return read


def _write_kernel(ctx: KernelContext) -> Kernel:
    op, host = ctx.op, ctx.resources

    def write(filename: Any, contents: Any) -> None:
        path, data = os.fsdecode(_one(op, filename)), _one(op, contents)
        with file_errors(f"cannot write {path!r}"):
            real = host.files.real(path)
            os.makedirs(os.path.dirname(os.path.abspath(real)), exist_ok=True)
            with open(real, "wb", opener=host.files.opener) as file:
                file.write(data)

    return write


def _matching_kernel(ctx: KernelContext) -> Kernel:
    op, host = ctx.op, ctx.resources

    def matching(pattern: Any) -> Any:
        array = boxed(pattern)
        if array.ndim > 1:
            raise InvalidArgumentError(
                f"{op} takes a string or a vector of them, got shape {list(array.shape)}"
            )
        found = sorted(
            os.fsencode(path) for text in array.flat for path in _fitting(text, host.files)
        )
        return string_array(found, (len(found),))

    return matching


def _fitting(pattern: bytes, files: FileRoots) -> Iterator[str]:
    """Yield the paths that match a pattern; ``glob`` would skip names with a dot and search folders."""
    head, name = os.path.split(os.fsdecode(pattern))
    if not _has_marks(head + name):
        path = os.fsdecode(pattern)
        if os.path.lexists(files.prefix(path)):
            yield path
        return
    folders = list(_fitting(os.fsencode(head), files)) if _has_marks(head) else [head]
    for folder in folders:
        try:
            names = os.listdir(files.real(folder or "."))
        except (FileNotFoundError, NotADirectoryError):
            continue
        for found in fnmatch.filter(names, name) if name else [""]:
            yield os.path.join(folder, found)


def _has_marks(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[")


for _name, _kernel, _shapes, _most in (
    ("ReadFile", _read_kernel, (TensorSpec(string, scalar_shape),), 0),
    ("WriteFile", _write_kernel, (), 0),
    ("MatchingFiles", _matching_kernel, (TensorSpec(string, TensorShape([None])),), 1),
):
    register(
        OpDef(
            name=_name,
            infer=_infer(_shapes, _most),
            kernel=_kernel,
            gradient=NOT_DIFFERENTIABLE,
            # The contents of a file are not a function of its name.
            blocks=True,
            opens_files=True,
        )
    )
