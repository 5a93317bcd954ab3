"""How tests of array ops run a case: once with the static shapes known, once with them hidden.

Kernels are specialised for what is known early, so each case has two ways to go wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession import ConfigProto, Graph, Session, Tensor, as_dtype, global_variables_initializer
from tests.ops.interpreter import evaluate, source

__all__ = ["computed", "f32", "i32", "i64", "run", "run_initialised", "static_shape"]


def f32(value: Any) -> Any:
    """A float32 array."""
    return np.array(value, np.float32)


def i32(value: Any) -> Any:
    """An int32 array."""
    return np.array(value, np.int32)


def i64(value: Any) -> Any:
    """An int64 array."""
    return np.array(value, np.int64)


def computed(f: Callable[..., Any], *values: Any, known: bool = True) -> Any:
    """What ``f`` computes from the values: an array, or a list of them for several outputs."""
    arrays = [np.asarray(v) for v in values]
    with Graph().as_default():
        inputs = [source(as_dtype(a.dtype), a.shape if known else None) for a in arrays]
        made = f(*inputs)
        several = isinstance(made, (list, tuple))
        fetches = list(made) if several else [made]
        results = evaluate(fetches, dict(zip(inputs, arrays, strict=True)))
    return results if several else results[0]


def static_shape(f: Callable[..., Any], *shapes: Sequence[int | None] | None) -> Any:
    """The static shape of what ``f`` makes of float32 tensors of partly known shapes."""
    with Graph().as_default():
        made = f(*(source("float32", shape) for shape in shapes))
    assert isinstance(made, Tensor)
    return None if made.shape.rank is None else made.shape.as_list()


def run(fetches: Any, feeds: Any = None, devices: int = 1) -> Any:
    """What a session of its own gives."""
    with Session(config=ConfigProto(device_count={"CPU": devices})) as session:
        return session.run(fetches, feeds)


def run_initialised(fetches: Any, feeds: Any = None, devices: int = 1) -> Any:
    """The same once all variables have their first values."""
    with Session(config=ConfigProto(device_count={"CPU": devices})) as session:
        session.run(global_variables_initializer())
        return session.run(fetches, feeds)
