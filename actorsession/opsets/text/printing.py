"""``print_``: a node that writes tensors and values to a stream, in each step that runs it."""

from __future__ import annotations

import os
import sys
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.flow.streams import write_line
from actorsession.ops.rows import checked, no_outputs, op
from actorsession.opsets.text.joining import string_format

__all__ = ["print_"]

# A text that no template has by chance.
_PLACEHOLDER = "\x00tensor\x00"
_STREAMS = {"stderr": "stderr", "stdout": "stdout", "log(info)": "stderr", "log(warning)": "stderr"}


def print_(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int | None = 3,
    sep: str = " ",
    end: str | None = os.linesep,
    name: str | None = None,
) -> Operation:
    """Write tensors and other values in each step that runs the operation.

    Args:
        *inputs: tensors, variables, structures of these, and any other values, whose text is written.
        output_stream: ``sys.stderr``, which is the default, or ``sys.stdout``.
        summarize: number of entries written at either end of each axis; all for -1 or ``None``.
        sep: what stands between two inputs.
        end: what stands at the end.
        name: wanted name of the operation.

    Raises:
        ValueError: for another stream.
    """
    stream = _stream(output_stream)
    tensors: list[Tensor] = []
    template = sep.join([_template(value, tensors, top=True) for value in inputs])
    most = -1 if summarize is None else summarize
    text = string_format(template, tensors, _PLACEHOLDER, most) if tensors else convert_to_tensor(template)
    return raw.PrintV2(text, output_stream=stream, end="" if end is None else end, name=name)


def _stream(stream: Any) -> str:
    if stream is None or stream is sys.stderr:
        return "stderr"
    if stream is sys.stdout:
        return "stdout"
    if isinstance(stream, str) and stream in _STREAMS:
        return stream
    raise ValueError(f"an output stream is sys.stderr or sys.stdout, got {stream!r:.100}")


def _template(value: Any, tensors: list[Tensor], *, top: bool = False) -> str:
    """Return the text of a value with a placeholder for each tensor, which is added to the list."""
    if isinstance(value, dict):
        items = [f"{key!r}: {_template(item, tensors)}" for key, item in value.items()]
        return f"{{{', '.join(items)}}}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join([_template(item, tensors) for item in value])
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if hasattr(value, "_operand"):
        tensors.append(convert_to_tensor(value))
        return _PLACEHOLDER
    return str(value) if top else repr(value)


def _print_kernel(ctx: KernelContext) -> Kernel:
    stream, end = ctx.attrs["output_stream"], ctx.attrs["end"]

    def write(text: Any) -> None:
        said = f"{bytes(text).decode(errors='replace')}{end}"
        out = sys.stdout if _STREAMS[stream] == "stdout" else sys.stderr
        if said.endswith("\n"):
            write_line(out, said.removesuffix("\n"))
        else:
            out.write(said)
            out.flush()

    return write


op("PrintV2", checked(no_outputs, 0), kernel=_print_kernel, grad=NOT_DIFFERENTIABLE)
