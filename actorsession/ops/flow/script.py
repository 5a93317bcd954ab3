"""Nodes that call the user's Python functions: ``py_func``, and ``async_py_func`` for coroutine functions.

Owns ``PyFunc``, ``PyFuncStateless`` and ``AsyncPyFunc``, and the table of their functions. A Python function
cannot be sent to another process, so the node carries a *token*: a name that only this process can resolve to
the function. Nothing is imported or executed by a name that was received; a process that does not hold the
token refuses it with an error that names the process that does.

A function exists as long as the node that calls it: the token object in the node's attributes holds the
function, and the table holds the token weakly. So functions are freed with their graph, although most of them
refer to the graph themselves.

The function gets copies of the input arrays, which it may change and keep. Its results become the runtime's:
an array is copied unless there is no other reference to it.
"""

from __future__ import annotations

import itertools
import re
import sys
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any

import numpy as np

from actorsession.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.build import convert_to_tensor, graph_of, make
from actorsession.ops.rows import op
from transports.host import current_host

__all__ = ["async_py_func", "numpy_function", "py_func"]


def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: Any, stateful: bool = True, name: str | None = None
) -> Tensor | list[Tensor] | Operation:
    """Call a Python function in each step that needs its results.

    It runs in the process that built the graph and nowhere else, in a thread of the session. It may run other
    sessions. No gradient flows through it.

    Args:
        func: a function with a numpy array (a numpy scalar or bytes for rank 0) for each input, which it may
            change and keep. It returns a value for each entry of ``Tout`` in a list or tuple, or a single
            value, or nothing. Values must have exactly the dtypes of ``Tout``: float64 is not accepted for
            float32. Strings may be str, which are encoded as UTF-8.
        inp: a list of tensors, or of values that convert to tensors.
        Tout: a dtype, or a list of them; empty for a function that is called for its effects.
        stateful: whether two calls with the same inputs may differ. A function that is not stateful may be
            called fewer times than its node is needed.
        name: wanted name.

    Returns:
        A tensor of unknown shape, a list of them if ``Tout`` is a list, or the operation if that is empty.

    Raises:
        ValueError: if ``func`` cannot be called.
        TypeError: if ``inp`` is not a list, or an entry of ``Tout`` is not a dtype.
    """
    result: Tensor | list[Tensor] | Operation = _build(
        "PyFunc" if stateful else "PyFuncStateless", func, inp, Tout, name
    )
    return result


def async_py_func(func: Callable[..., Awaitable[Any]], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """Await a Python function in each step that needs its results, without blocking a thread.

    It runs on the event loop of the step (an ``AsyncSession``'s; a ``Session`` has a separate loop for it),
    in the process that built the graph and nowhere else; inside loops and branches a thread waits for it. A
    step that ends early cancels it. No gradient flows through it.

    Args:
        func: an ``async`` function with the arguments and results of a ``py_func``.
        inp: as for ``py_func``.
        Tout: as for ``py_func``.
        name: wanted name.

    Returns:
        As ``py_func``.

    Raises:
        ValueError: if ``func`` cannot be called.
        TypeError: if ``inp`` is not a list, or an entry of ``Tout`` is not a dtype.
    """
    return _build("AsyncPyFunc", func, inp, Tout, name)


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


def _build(op_type: str, func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None) -> Any:
    if not callable(func):
        raise ValueError(f"py_func takes something that can be called; got {func!r:.100} of type {type(func).__name__}")
    several = isinstance(Tout, (list, tuple))
    dtypes = [as_dtype(t) for t in (Tout if several else [Tout])]
    values = list(inp)
    graph = graph_of(*values)
    with graph.name_scope(name or op_type) as scope:
        tensors = [convert_to_tensor(value, name=f"input_{i}", graph=graph) for i, value in enumerate(values)]
        attrs = {"token": _Token(func), "Tin": [t.dtype for t in tensors], "Tout": dtypes}
        op = make(op_type, tensors, attrs, scope, graph)
    if not dtypes:
        return op
    return list(op.outputs) if several else op.outputs[0]


# -- tokens ----------------------------------------------------------------------------------------


def _token_numbers() -> Iterator[int]:
    return itertools.count()


def _secret() -> str:
    # A peer that guessed a token could run a function that is not meant for it.
    return current_host().entropy.token_hex(16)


_FORM = re.compile(r"(pyfunc_\d{1,20}) of (process \d{1,20} on [\w.:-]{1,255}) [0-9a-f]{32}")


class _Token(str):
    """The name of a function, which it keeps alive; a received token is plain text."""

    __slots__ = ("__weakref__", "function")

    function: Callable[..., Any]

    def __new__(cls, function: Callable[..., Any]) -> _Token:
        host = current_host()
        name = f"pyfunc_{next(host.own(_token_numbers))}"
        token = super().__new__(cls, f"{name} of {_this_process()} {host.own(_secret)}")
        token.function = function
        _TOKENS[str(token)] = token
        return token


_TOKENS: weakref.WeakValueDictionary[str, _Token] = weakref.WeakValueDictionary()


def _this_process() -> str:
    host = re.sub(r"[^\w.:-]", "-", current_host().network.gethostname(), flags=re.ASCII)[:255] or "?"
    return f"process {current_host().processes.getpid()} on {host}"


def _function(token: Any) -> Callable[..., Any]:
    """Return the function of a token.

    Raises:
        InvalidArgumentError: if this process does not have it.
    """
    known = _TOKENS.get(token) if isinstance(token, str) else None
    if known is not None:
        return known.function
    form = _FORM.fullmatch(token) if isinstance(token, str) else None
    if form is None:
        raise InvalidArgumentError(f"{token!r:.100} stands for no function of any process")
    name, owner = form.groups()
    if token.endswith(current_host().own(_secret)):
        raise InvalidArgumentError(f"the graph that {name} belongs to is gone, and {name} with it")
    raise InvalidArgumentError(
        f"{name} is a Python function of {owner} and cannot be called by {_this_process()}: functions "
        "do not travel, so put the node on a device of the process that built the graph"
    )


def _label(token: Any) -> str:
    return str(token).partition(" ")[0][:32] if isinstance(token, str) else "py_func"


# -- the call --------------------------------------------------------------------------------------


def _kernel(ctx: KernelContext) -> Kernel:
    token, outputs = ctx.attrs["token"], ctx.outputs
    label = _label(token)

    def py_func(*inputs: Any) -> Any:
        # Looked up in each call: a plan must not keep a function alive after its graph.
        function = _function(token)
        try:
            return _taken(function(*[_given(x) for x in inputs]), outputs, label)
        except _Refused as exc:
            raise exc.error from exc.__cause__
        except BaseException as exc:
            if isinstance(exc, KeyboardInterrupt) and _is_main_thread():
                raise  # the user's Ctrl-C: it ends the session call, not only the step
            raise _as_op_error(exc, label) from exc

    return py_func


def _async_kernel(ctx: KernelContext) -> Kernel:
    token, outputs = ctx.attrs["token"], ctx.outputs
    label = _label(token)

    def begin(*inputs: Any) -> Coroutine[Any, Any, Any]:
        function = _function(token)
        arguments = [_given(x) for x in inputs]

        async def call() -> Any:
            try:
                return _taken(await function(*arguments), outputs, label)
            except _Refused as exc:
                raise exc.error from exc.__cause__
            except Exception as exc:
                raise _as_op_error(exc, label) from exc

        return call()

    return begin


class _Refused(Exception):
    """The function's result cannot be accepted; distinguishes that from exceptions of the function."""

    def __init__(self, error: OpError) -> None:
        super().__init__(error.message)
        self.error = error


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


# TensorFlow's table (tensorflow/python/lib/core/py_func.cc); the first match counts. Errors of this runtime
# are converted as well: they may come from another session that the function ran.
_CODES: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (ValueError, InvalidArgumentError),
    (TypeError, InvalidArgumentError),
    (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
)


def _as_op_error(exc: BaseException, label: str) -> OpError:
    kind = next((ours for theirs, ours in _CODES if isinstance(exc, theirs)), UnknownError)
    return kind(f"{type(exc).__name__}: {exc} (raised by the function of {label})")


def _given(value: Any) -> Any:
    """Return an input as a new array for the function, or as a scalar."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.ndim else value[()]
    return value


# -- results ---------------------------------------------------------------------------------------


def _taken(result: Any, specs: Sequence[TensorSpec], label: str) -> Any:
    """Return the function's results as the kernel's result."""
    values = list(result) if isinstance(result, (list, tuple)) else [result]
    if result is None:
        values.clear()
    del result
    if len(values) != len(specs):
        raise _Refused(
            InvalidArgumentError(f"{label} returns {len(values)} values, but expects to see {len(specs)} values.")
        )
    for i, spec in enumerate(specs):
        _take(values, i, spec, label)
    return values[0] if len(values) == 1 else tuple(values)


def _take(values: list[Any], i: int, spec: TensorSpec, label: str) -> None:
    """Replace a returned value by an array or scalar that the runtime owns."""
    alone = _is_ours_alone(values, i)
    array = values[i]
    if not alone or array.dtype != spec.dtype.np_dtype or array.dtype == object:
        array = _converted(array, i, spec.dtype, label)
    if not spec.shape.is_compatible_with(array.shape):
        # The user promised the shape with set_shape, and other kernels rely on it.
        raise _Refused(
            InvalidArgumentError(
                f"{i}-th value returned by {label} has shape {TensorShape(array.shape)}, but {spec.shape} was promised"
            )
        )
    values[i] = array if array.ndim else array[()]


def _converted(value: Any, i: int, expected: DType, label: str) -> Array:
    """Return a new array of a returned value."""
    array = np.asarray(value)
    if array.dtype.kind in "SU" and array is not value:
        # As objects, not as numpy's strings of one length, which drop trailing zero bytes.
        array = np.asarray(value, dtype=object)
    if array.dtype.kind in "SUO":
        strings = [_as_bytes(x) for x in array.astype(object).flat]
    actual = _dtype_of(array)
    if actual is not expected:
        raise _Refused(
            InvalidArgumentError(f"{i}-th value returned by {label} is {actual.name}, but expects {expected.name}")
        )
    if expected.kind != "s":
        return np.array(array, expected.np_dtype, order="C")
    out = np.empty(array.shape, object)
    out.reshape(-1)[:] = strings
    return out


def _dtype_of(array: Array) -> DType:
    # Internal errors, here and below, because programs catch the errors that TensorFlow raises.
    try:
        return as_dtype(array.dtype)
    except TypeError:
        raise _Refused(InternalError(f"Unsupported numpy data type {array.dtype}")) from None


def _as_bytes(item: Any) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if not isinstance(item, bytes):
        raise _Refused(InternalError(f"Unsupported object type {type(item).__name__}"))
    return bytes(item)


def _is_ours_alone(values: list[Any], i: int) -> bool:
    """Return whether only the list refers to an array, and the array owns its memory."""
    value_type, alone = type(values[i]), _holders(values, i) <= _ALONE
    if value_type is not np.ndarray or not alone:
        return False
    flags = values[i].flags
    return bool(flags.owndata and flags.writeable and flags.c_contiguous)


def _holders(values: list[Any], i: int) -> int:
    return sys.getrefcount(values[i])


# How many references the count itself adds differs between Python versions, so it is measured.
_ALONE = _holders([np.zeros(1)], 0)


# -- registration ----------------------------------------------------------------------------------


def _unknown(ctx: InferContext) -> Sequence[TensorShape]:
    return [unknown_shape for _ in ctx.attrs["Tout"]]


for _name in ("PyFunc", "PyFuncStateless"):
    op(_name, _unknown, kernel=_kernel, grad=NOT_DIFFERENTIABLE, blocks=True, calls_python=True)
op("AsyncPyFunc", _unknown, kernel=_async_kernel, grad=NOT_DIFFERENTIABLE, suspends=True, calls_python=True)
