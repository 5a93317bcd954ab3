"""``slim.model_analyzer``: the sizes of the variables and tensors of a model."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

from actorsession.graph.shape import TensorShape

__all__ = ["analyze_ops", "analyze_vars", "tensor_description"]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def tensor_description(var: Any) -> str:
    """Return the dtype and shape of a tensor or variable as text: ``(float32_ref 3x4)``."""
    sizes = TensorShape(var.shape).sizes or ()
    shape = "x".join("?" if size is None else str(size) for size in sizes)
    return f"({var.dtype.name} {shape or '()'})"


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """Return the number of elements and of bytes of variables.

    Args:
        variables: the variables.
        print_info: whether each is printed.
    """
    elements = size = 0
    if print_info:
        _say("---------")
        _say("Variables: name (type shape) [size]")
        _say("---------")
    for variable in variables:
        count = math.prod(variable.shape.as_list())
        taken = count * variable.dtype.base_dtype.size
        elements, size = elements + count, size + taken
        if print_info:
            _say(f"{variable.name} {tensor_description(variable)} [{count}, bytes: {taken}]")
    if print_info:
        _say(f"Total size of variables: {elements}")
        _say(f"Total bytes of variables: {size}")
    return elements, size


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """Return the number of elements of all outputs of a graph whose shape is known.

    Args:
        graph: the graph.
        print_info: whether each operation is printed.
    """
    total = 0
    for operation in graph.get_operations():
        count = 0
        for output in operation.outputs:
            sizes = TensorShape(output.shape).sizes
            if sizes is not None and None not in sizes:
                count += math.prod(size for size in sizes if size is not None)
        total += count
        if print_info:
            shown = ", ".join(tensor_description(output) for output in operation.outputs)
            _say(f"{operation.name}\t->\t{shown} [{count}]")
    return total
