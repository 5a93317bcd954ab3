"""``tf.py_function``: Python functions of tensors that have their values, called from a graph.

The function gets its inputs as arrays with what programs expect of tensors that have values: ``numpy()`` and
``get_shape()``. It may use operations on them: what it returns may be tensors, which are then computed in a
graph of its own. Everything else is ``py_func``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.graphs.graph import Graph
from actorsession.compat.v1.sessions.session import Session
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.shape import TensorShape

__all__ = ["KnownTensor", "py_function"]


class KnownTensor(np.ndarray[Any, Any]):
    """An array that can be asked for its value as a tensor of eager execution can."""

    def numpy(self) -> Any:
        """Return the value: an array, or a scalar if it has no dimensions, bytes for a string."""
        value: Any = self.view(np.ndarray)[()]
        return bytes(value) if isinstance(value, bytes) else value

    def __getitem__(self, index: Any) -> Any:
        return _known(super().__getitem__(index))

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return _known(array)

    def get_shape(self) -> TensorShape:
        """Return the shape, which is known."""
        return TensorShape(self.shape)


def _known(value: Any) -> Any:
    return np.asarray(value).view(KnownTensor)


def py_function(
    func: Callable[..., Any] | None = None, inp: Sequence[Any] | None = None, Tout: Any = None, name: str | None = None
) -> Any:
    """Call a Python function of values in each step that needs its results, or decorate one.

    Unlike ``tf.py_func`` it may use operations, which are computed when it returns. No gradient flows
    through it.

    Args:
        func: a function with a ``KnownTensor`` for each input. It returns a value or tensor for each entry
            of ``Tout`` in a list or tuple, of which more are ignored, or a single one, or nothing.
        inp: a list of tensors, or of values that convert to tensors; left out in a decorator.
        Tout: a dtype, or a list of them; empty for a function that is called for its effects.
        name: wanted name.

    Returns:
        A tensor of unknown shape, a list of them if ``Tout`` is a list, or the operation if that is empty.

    Raises:
        ValueError: for inputs without a function.
    """
    if func is not None:
        called = _with_values(func, Tout)
        return ops.py_func(called, () if inp is None else inp, Tout, name=name or "EagerPyFunc")
    if inp is not None:
        raise ValueError("py_function: inputs are given with a function")
    return lambda decorated: lambda *tensors: py_function(decorated, list(tensors), Tout, name)


def _with_values(func: Callable[..., Any], Tout: Any) -> Callable[..., Any]:
    dtypes = [as_dtype(dtype) for dtype in (Tout if isinstance(Tout, (list, tuple)) else [Tout])]

    def call(*values: Any) -> Any:
        with Graph().as_default() as graph:
            results = func(*map(_known, values))
            listed = list(results) if isinstance(results, (list, tuple)) else [results]
            if graph.nodes.order:
                with Session(graph=graph) as sess:
                    listed = [_computed(sess, v) for v in listed]
        if results is None:
            return ()
        return [_as_array(v, dtype) for v, dtype in zip(listed, dtypes, strict=False)]

    return call


def _computed(session: Any, value: Any) -> Any:
    return _known(session.run(value)) if hasattr(value, "_as_graph_element") else value


def _as_array(value: Any, dtype: Any) -> Any:
    """Return a value as an array of the type that is asked for; a tensor has its type, which is checked."""
    array = np.asarray(value)
    if isinstance(value, KnownTensor) or array.dtype.kind not in "biuf":
        return array
    if array.dtype.kind == "f" and dtype.np_dtype.kind in "biu":
        raise TypeError(f"Cannot convert {value!r:.100} to a tensor of {dtype.name}")
    return array if dtype.np_dtype.kind in "SO" else array.astype(dtype.np_dtype)
