"""Runs one program with an API module and records the results as plain JSON.

A record has ``static`` (dtype, shape and, if requested, name of each fetched tensor), ``facts``, and
``steps``: a value or an error for each run. If the graph could not be built it has ``error`` instead. Errors
are recorded as the names of their class and its bases, so that a class of actorsession that corresponds to
two of TensorFlow's is recognised.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .program import Plan, Program, Step

__all__ = ["record"]

# Milliseconds for a run; only a program that would wait for ever exceeds them.
_LIMIT = 20_000
# Values are transferred as text, which suffices for small programs.
_MOST_ELEMENTS = 20_000
_MESSAGE = 400


def record(program: Program, face: Any) -> dict[str, Any]:
    """Build and run a program.

    Args:
        program: the program.
        face: ``compat.v1`` of either library.

    Returns:
        The record, which is serialisable as JSON.
    """
    out: dict[str, Any] = {"name": program.name, "steps": []}
    graph = face.Graph()
    with graph.as_default():
        try:
            built = program.build(face, np)
            plan = built if isinstance(built, Plan) else Plan(built)
            out["static"] = [_static(fetch, plan.names) for fetch in _leaves(plan.fetches)]
            out["facts"] = plan.facts
            prepared = _initializers(face) if plan.initialize else []
        except Exception as error:
            out["error"] = _error(error)
            return out
    out["random"], out["tolerance"] = plan.random, plan.tolerance
    with face.Session(graph=graph, config=face.ConfigProto(operation_timeout_in_ms=_LIMIT)) as session:
        if prepared:
            session.run(prepared)
        out["steps"] = [_step(run) for run in _runs(plan, session)]
    return out


def _initializers(face: Any) -> list[Any]:
    out = []
    if face.global_variables():
        out.append(face.global_variables_initializer())
    if face.local_variables():
        out.append(face.local_variables_initializer())
    return out


def _runs(plan: Plan, session: Any) -> Iterator[Callable[[], Any]]:
    if plan.drive is not None:
        yield from plan.drive(session)
        return
    steps = plan.steps
    if steps is None:
        steps = [] if plan.fetches is None else [Step(plan.fetches, plan.feeds)]
    for step in steps:
        yield functools.partial(session.run, step.fetches, step.feeds)


def _step(run: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"value": _value(run())}
    except Exception as error:
        return {"error": _error(error)}


def _error(error: Exception) -> dict[str, Any]:
    classes = [cls.__name__ for cls in type(error).__mro__]
    message = str(error)
    # TensorFlow's message starts with the place where each node was built.
    message = message.rpartition("\nNode: ")[2][:_MESSAGE]
    return {"classes": classes[: classes.index("Exception")], "message": message}


def _leaves(fetches: Any) -> Iterator[Any]:
    """Yield the tensors and variables among fetches, in order."""
    if isinstance(fetches, Mapping):
        for key in fetches:
            yield from _leaves(fetches[key])
    elif isinstance(fetches, (list, tuple)):
        for fetch in fetches:
            yield from _leaves(fetch)
    elif hasattr(fetches, "indices"):
        return  # sparse: only its values are compared, because its components have names of their own
    elif hasattr(fetches, "dtype") and hasattr(fetches, "shape") and hasattr(fetches, "name"):
        yield fetches


def _static(fetch: Any, named: bool) -> dict[str, Any]:
    shape = fetch.shape
    sizes = None if shape.rank is None else shape.as_list()
    out = {"dtype": fetch.dtype.name.removesuffix("_ref"), "shape": sizes}
    if named:
        out["node"] = fetch.name
    return out


def _value(value: Any) -> Any:
    """Return a fetched value for JSON: its structure, and dtype, shape and elements of each array."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not _is_numpy(value)):
        return {"kind": type(value).__name__, "data": value}
    if isinstance(value, bytes) and not _is_numpy(value):
        return {"kind": "bytes", "data": value.decode("latin-1")}
    if isinstance(value, Mapping):
        items = {str(key): _value(item) for key, item in value.items()}
        return {"kind": type(value).__name__, "items": items}
    if isinstance(value, (list, tuple)):
        parts = {str(index): _value(item) for index, item in enumerate(value)}
        return {"kind": type(value).__name__, "items": parts}
    return _array(value)


def _is_numpy(value: Any) -> bool:
    return isinstance(value, np.generic)


def _array(value: Any) -> dict[str, Any]:
    array = np.asarray(value)
    if array.size > _MOST_ELEMENTS:
        raise ValueError(f"{array.size} elements are too many; {_MOST_ELEMENTS} at most")
    kind = "array" if isinstance(value, np.ndarray) else "scalar"
    flat = array.ravel()
    data: list[Any]
    if array.dtype.kind == "c":
        data = [[number.real, number.imag] for number in flat.tolist()]
    elif array.dtype.kind in "OSU":
        data = [_text(item) for item in flat.tolist()]
    elif array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        data = flat.astype(np.float64).tolist()
    else:
        data = flat.tolist()
    return {"kind": kind, "dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def _text(item: Any) -> str:
    return item.decode("latin-1") if isinstance(item, bytes) else repr(item)
