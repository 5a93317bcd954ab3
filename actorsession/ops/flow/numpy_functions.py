"""Functions of numpy arrays in graphs, under their later name: ``numpy_function``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.flow.script import py_func

__all__ = ["numpy_function"]


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Tensor | list[Tensor] | Operation | Callable[..., Any]:
    """Call a function of arrays as ``py_func`` does, or return a decorator if the function is left out.

    Args:
        func: a function with a numpy array for each input.
        inp: a list of tensors; left out in a decorator.
        Tout: a dtype, or a list of them.
        stateful: whether two calls with the same inputs may differ.
        name: wanted name.

    Raises:
        ValueError: for inputs without a function.
    """
    if func is not None:
        return py_func(func, () if inp is None else inp, Tout, stateful, name)
    if inp is not None:
        raise ValueError("numpy_function: inputs are given with a function")

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        def of_tensors(*tensors: Any) -> Any:
            return py_func(function, list(tensors), Tout, stateful, name)

        return of_tensors

    return decorated
