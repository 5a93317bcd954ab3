"""Tensor handles as ops: keep a value in the session, read it in a later step, delete it.

Owns the three op types and the functions that build them. The kernels look up the session's tensor store as a
resource of their device; on a device without one, as on a server, they fail. A handle is a string,
``node;number;device``. Its value is kept only once a session has fetched the handle; until then the value is
an attribute of the string (``UnsavedHandle``), and is released with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from actorsession.errors import FailedPreconditionError, InternalError, InvalidArgumentError, NotFoundError
from actorsession.graph.device import DeviceSpec
from actorsession.graph.dtypes import DType, as_dtype, string
from actorsession.graph.graph import get_default_graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, TENSOR_STORE, Kernel, KernelContext
from actorsession.graph.shape import unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import make_one
from actorsession.ops.rows import checked, no_outputs, op, scalar

# The public functions; sessions use the other names as well.
__all__ = ["delete_session_tensor", "get_session_handle", "get_session_tensor"]

SESSION_HANDLE = "GetSessionHandle"
"""The op type whose output, when a session fetches it, becomes a ``TensorHandle``."""

# Attribute of a placeholder for handles: the dtype of their values.
_HANDLE_OF = "_handle_of"


class UnsavedHandle(bytes):
    """A handle in the step that made it, with its value.

    Attributes:
        value: the value, to which there is no other mutable reference; deleted after it was kept.
    """

    value: Any


class _Store(Protocol):
    """The part of the session's tensor store that the kernels use."""

    def new_handle(self, node: str, device: str) -> str:
        """Return a handle that was never returned before."""

    def get(self, handle: str, device: str) -> Any:
        """Return the value of a handle; InvalidArgumentError if there is none."""

    def remove(self, handle: str) -> None:
        """Delete a value; InvalidArgumentError if there is none."""


# -- building ------------------------------------------------------------------------------------


def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """Return a handle of a value that is kept in the session, on the device where it was computed.

    Fetching it keeps the value and returns a ``TensorHandle``. Only local sessions keep values.

    Args:
        data: the tensor whose value to keep.
        name: wanted name, the first component of the handle.

    Returns:
        A string scalar.

    Raises:
        TypeError: if ``data`` is not a tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"data is a Tensor, got {type(data).__name__}: {data!r:.100}")
    with data.graph.colocate_with(data):
        return raw.GetSessionHandle(data, name=name)


def get_session_tensor(handle: Any, dtype: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the value that a handle refers to, as a tensor on the device where it is kept.

    Args:
        handle: a handle of that device, as a string or ``TensorHandle``; the feed determines which handle is
            read.
        dtype: element type of the value.
        name: wanted name of the read.

    Returns:
        A placeholder for the handle's string, and the value. The value of a fed handle of another device is
        first moved to this device.

    Raises:
        ValueError: if the handle does not end with the name of a device.
        TypeError: if ``dtype`` is not a dtype.
    """
    element_type = as_dtype(dtype)
    with get_default_graph().device(handle_device(handle)):
        holder = _holder(element_type)
        return holder, raw.GetSessionTensor(holder, dtype=element_type, name=name)


def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """Return an operation that deletes the value of a handle.

    Args:
        handle: a handle of the same device, as a string or ``TensorHandle``.
        name: wanted name of the deletion.

    Returns:
        A placeholder for the handle's string, and the operation that deletes its value.

    Raises:
        ValueError: if the handle does not end with the name of a device.
    """
    with get_default_graph().device(handle_device(handle)):
        holder = _holder(None)
        return holder, raw.DeleteSessionTensor(holder, name=name)


def _holder(of: DType | None) -> Tensor:
    attrs: dict[str, Any] = {"dtype": string, "shape": unknown_shape}
    if of is not None:
        attrs[_HANDLE_OF] = of.name
    return make_one("Placeholder", (), attrs)


def handle_device(handle: Any) -> str:
    """Return the device at the end of a handle, in canonical form.

    Raises:
        ValueError: if it ends with anything else.
    """
    text = handle.decode(errors="replace") if isinstance(handle, bytes) else str(handle)
    try:
        spec = DeviceSpec.parse(text.rpartition(";")[2])
    except ValueError as exc:
        raise ValueError(f"not a tensor handle: {text!r:.200}; one is 'node;number;device name': {exc}") from None
    return str(spec)


def handle_dtype(placeholder: Tensor) -> DType | None:
    """Return the dtype of the values of a placeholder's handles; ``None`` for any other placeholder."""
    name = placeholder.op.attrs.get(_HANDLE_OF)
    return None if name is None else as_dtype(name)


# -- kernels -------------------------------------------------------------------------------------


def _store_of(ctx: KernelContext) -> _Store | None:
    try:
        store: _Store = ctx.resources.lookup(*TENSOR_STORE)
    except NotFoundError:
        return None
    return store


def _refused(ctx: KernelContext) -> Kernel:
    message = (
        f"{ctx.op} {ctx.name!r}: tensor handles are kept by sessions in the client's own process; "
        f"{ctx.device} belongs to a server, which keeps none: use a variable there"
    )

    def refuse(value: Any) -> Any:
        raise FailedPreconditionError(message)

    return refuse


def _as_text(ctx: KernelContext, handle: Any) -> str:
    if isinstance(handle, np.ndarray):
        if handle.size != 1:
            raise InvalidArgumentError(f"{ctx.op} takes one handle, got an array of shape {list(handle.shape)}")
        handle = handle.reshape(())[()]
    return handle.decode(errors="replace") if isinstance(handle, bytes) else str(handle)


def _handle_kernel(ctx: KernelContext) -> Kernel:
    store_or_none = _store_of(ctx)
    if store_or_none is None:
        return _refused(ctx)
    store, node, device = store_or_none, ctx.name, ctx.device

    def keep(value: Any) -> UnsavedHandle:
        handle = UnsavedHandle(store.new_handle(node, device).encode())
        handle.value = value
        return handle

    return keep


def _tensor_kernel(ctx: KernelContext) -> Kernel:
    store_or_none = _store_of(ctx)
    if store_or_none is None:
        return _refused(ctx)
    store, device, dtype = store_or_none, ctx.device, ctx.outputs[0].dtype

    def read(holder: Any) -> Any:
        value = store.get(_as_text(ctx, holder), device)
        # A string scalar is plain bytes.
        kept = getattr(value, "dtype", string.np_dtype)
        if kept != dtype.np_dtype:
            raise InternalError(
                f"the value behind the handle is {as_dtype(kept).name}; {ctx.name!r} was built to "
                f"read {dtype.name}: give get_session_tensor the dtype that was kept"
            )
        return value

    return read


def _delete_kernel(ctx: KernelContext) -> Kernel:
    store_or_none = _store_of(ctx)
    if store_or_none is None:
        return _refused(ctx)
    store = store_or_none
    return lambda holder: store.remove(_as_text(ctx, holder))


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    return 0.7


op(SESSION_HANDLE, scalar, kernel=_handle_kernel, grad=NOT_DIFFERENTIABLE, keeps=frozenset({0}), cost=_cost)
op(
    "GetSessionTensor",
    checked(lambda ctx: [unknown_shape], 0),
    kernel=_tensor_kernel,
    grad=NOT_DIFFERENTIABLE,
    aliases=True,
    cost=_cost,
)
op("DeleteSessionTensor", checked(no_outputs, 0), kernel=_delete_kernel, grad=NOT_DIFFERENTIABLE, cost=_cost)
