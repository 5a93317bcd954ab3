"""Tensor handles as ops: keep a value in the session, read it in a later step, delete it.

Owns the three op types and the functions that build them. The kernels look up the session's tensor store as a
resource of their device; on a device without one, as on a server, they fail. A handle is a string,
``node;number;device``. Its value is kept only once a session has fetched the handle; until then the value is
an attribute of the string (``UnsavedHandle``), and is released with it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from actorsession.errors import (
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
)  # fmt: skip
from actorsession.graph.device import DeviceSpec
from actorsession.graph.dtypes import DType, as_dtype, string
from actorsession.graph.graph import get_default_graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    TENSOR_STORE,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)  # fmt: skip
from actorsession.graph.shape import scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import make_one

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
        return make_one(SESSION_HANDLE, [data], None, name)


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
    wanted = as_dtype(dtype)
    with get_default_graph().device(handle_device(handle)):
        holder = _holder(wanted)
        return holder, raw.GetSessionTensor(holder, dtype=wanted, name=name)


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
        raise ValueError(
            f"not a tensor handle: {text!r:.200}; one is 'node;number;device name': {exc}"
        ) from None
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
            raise InvalidArgumentError(
                f"{ctx.op} takes one handle, got an array of shape {list(handle.shape)}"
            )
        handle = handle.reshape(())[()]
    text: str = handle.decode(errors="replace") if isinstance(handle, bytes) else str(handle)
    return text


def _infer_handle(ctx: InferContext) -> list[TensorSpec]:
    if ctx.inputs[0].dtype.kind == "r":
        raise TypeError(f"{ctx.op} keeps values, not resource handles")
    return [TensorSpec(string, scalar_shape)]


def _handle_kernel(ctx: KernelContext) -> Kernel:
    found = _store_of(ctx)
    if found is None:
        return _refused(ctx)
    store, node, device = found, ctx.name, ctx.device

    def keep(value: Any) -> UnsavedHandle:
        handle = UnsavedHandle(store.new_handle(node, device).encode())
        handle.value = value
        return handle

    return keep


register(
    OpDef(
        name=SESSION_HANDLE,
        infer=_infer_handle,
        kernel=_handle_kernel,
        gradient=NOT_DIFFERENTIABLE,
        keeps=frozenset({0}),
        cost=lambda inputs, outputs: 0.7,
    )
)


def _infer_holder(ctx: InferContext) -> None:
    holder = ctx.inputs[0]
    if holder.dtype is not string:
        raise TypeError(f"{ctx.op} takes a handle's string, got a {holder.dtype.name} tensor")
    if not holder.shape.is_compatible_with(scalar_shape):
        raise ValueError(f"{ctx.op} takes one handle, got a tensor of shape {holder.shape}")


def _infer_tensor(ctx: InferContext) -> list[TensorSpec]:
    _infer_holder(ctx)
    return [TensorSpec(as_dtype(ctx.attrs["dtype"]), unknown_shape)]


def _tensor_kernel(ctx: KernelContext) -> Kernel:
    found = _store_of(ctx)
    if found is None:
        return _refused(ctx)
    store, device, dtype = found, ctx.device, ctx.outputs[0].dtype

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


register(
    OpDef(
        name="GetSessionTensor",
        infer=_infer_tensor,
        kernel=_tensor_kernel,
        gradient=NOT_DIFFERENTIABLE,
        aliases=True,
        cost=lambda inputs, outputs: 0.7,
    )
)


def _infer_delete(ctx: InferContext) -> list[TensorSpec]:
    _infer_holder(ctx)
    return []


def _delete_kernel(ctx: KernelContext) -> Kernel:
    found = _store_of(ctx)
    if found is None:
        return _refused(ctx)
    store = found
    return lambda holder: store.remove(_as_text(ctx, holder))


register(
    OpDef(
        name="DeleteSessionTensor",
        infer=_infer_delete,
        kernel=_delete_kernel,
        gradient=NOT_DIFFERENTIABLE,
        cost=lambda inputs, outputs: 0.7,
    )
)
