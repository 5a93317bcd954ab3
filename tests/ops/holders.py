"""Variables as kernels see them, outside a graph: with and without somebody else who has the value."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession import as_dtype
from actorsession.extend import Kernel
from actorsession.graph.registry import lookup

__all__ = ["Context", "InPlace", "Shared", "arrays", "close", "double", "kernel"]


class InPlace:
    """A holder that updates in place, as the runtime's does when nobody else has the value."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.lock = threading.Lock()
        self.initialized = True

    def read(self) -> Any:
        return self.value

    def assign(self, value: Any) -> None:
        self.value = value

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        with self.lock:
            if isinstance(self.value, np.ndarray):
                function(self.value, *operands, out=self.value)
            else:
                self.value = function(self.value, *operands)

    def access(self, function: Callable[[Any], Any]) -> None:
        with self.lock:
            self.value = function(self.value)


class Shared(InPlace):
    """A holder of a value that somebody else has too: it must not be written to."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        if isinstance(value, np.ndarray):
            value.flags.writeable = False

    def update(self, function: Callable[..., Any], *operands: Any) -> None:
        if isinstance(self.value, np.ndarray):
            out = np.empty_like(self.value)
            function(self.value, *operands, out=out)
            self.value = out
        else:
            self.value = function(self.value, *operands)

    def access(self, function: Callable[[Any], Any]) -> None:
        self.value = function(np.array(self.value))


class Context:
    """As much of a kernel context as these kernels look at."""

    def __init__(self, op: str, **attrs: Any) -> None:
        self.op = op
        self.attrs = {**lookup(op).attrs, **attrs}


def kernel(op: str, **attrs: Any) -> Kernel:
    context: Any = Context(op, **attrs)
    return lookup(op).kernel(context)


def arrays(shape: Sequence[int], dtype: Any, count: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.5, 2, shape).astype(as_dtype(dtype).np_dtype) for _ in range(count)]


def close(found: Any, expected: Any, dtype: str) -> None:
    limit = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-2, "bfloat16": 1e-1}[dtype]
    assert found.dtype == as_dtype(dtype).np_dtype
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=limit, atol=limit)


def double(*values: Any) -> list[Any]:
    return [np.asarray(v, np.float64) for v in values]
