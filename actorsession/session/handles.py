"""Tensor handles as users see them, and the session's work for them in feeds and fetches.

``TensorHandle`` stands for a value that a local session keeps. ``HandleKeeper`` belongs to one session. It
saves the values of fetched handles in the session's store, moves a value to the device of the placeholder
that its handle is fed to, and deletes the values of handles whose Python objects were collected.

Nothing here adds to the user's graph, which may be finalised: values are read and deleted in the store
itself, and moves run on a small private graph of the keeper. Finalisers only append to a queue and remove
dictionary entries, so they may run in any thread and at any point.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, string
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import identity
from actorsession.ops.variables.session_ops import (
    SESSION_HANDLE,
    UnsavedHandle,
    get_session_tensor,
    handle_device,
    handle_dtype,
)
from actorsession.plan.signature import RunSignature
from actorsession.process_bound import ProcessBound
from actorsession.runtime.tensor_store import TensorStore
from actorsession.session.feeds import Converter, converter

if TYPE_CHECKING:
    from actorsession.session.session_interface import LocalSession, SessionPlan

__all__ = ["HandleKeeper", "TensorHandle"]

# Collected handles whose values are deleted in one batch, as in TensorFlow.
_BATCH = 10


class TensorHandle(ProcessBound):
    """A value that a session keeps on a device, so that later steps use it without a transfer.

    Fetching ``get_session_handle`` makes one. Fed to an ordinary tensor, it stands for its value, by
    reference. The placeholder of ``get_session_tensor`` is fed the string ``handle`` instead. The value is
    deleted by ``delete``, or some time after the last reference to this object is gone.

    Args:
        handle: ``node;number;device``.
        dtype: element type of the value.
        keeper: the keeper of the session that has the value.
    """

    instead = "fetch the value with eval() and send that"

    def __init__(self, handle: str, dtype: DType, keeper: HandleKeeper) -> None:
        self._handle = handle
        self._dtype = dtype
        self._keeper = keeper
        self._finalizer = weakref.finalize(self, keeper.dead.add, handle)
        self._finalizer.atexit = False

    @property
    def handle(self) -> str:
        """The string that identifies the value in the session."""
        return self._handle

    @property
    def dtype(self) -> DType:
        """Element type of the value."""
        return self._dtype

    def eval(self) -> Any:
        """Return the value as a fetch would; does not wait in either kind of session.

        Raises:
            TypeError: if this object no longer manages the lifetime of the value.
            InvalidArgumentError: if the value was deleted otherwise.
            RuntimeError: if the session is closed.
        """
        self._check_managed()
        value = self._keeper.value(self._handle)
        return value.copy() if isinstance(value, np.ndarray) else value

    def delete(self) -> None:
        """Delete the value now.

        Raises:
            TypeError: if this object no longer manages the lifetime of the value.
            InvalidArgumentError: if the value was deleted otherwise.
            RuntimeError: if the session is closed.
        """
        self._check_managed()
        self._finalizer.detach()
        self._keeper.delete(self._handle)

    def get_raw_handle(self) -> str:
        """Return the string and leave the lifetime of the value to the caller: it stays until
        ``delete_session_tensor`` deletes it or the session ends."""
        self._finalizer.detach()
        return self._handle

    def to_numpy_array(self) -> Any:
        """Return the string as an array of rank 0, to be fed to the placeholder of
        ``get_session_tensor``."""
        return np.array(self._handle.encode(), object)

    def _check_managed(self) -> None:
        if not self._finalizer.alive:
            raise TypeError(
                f"persistent tensor {self._handle} may have been deleted already: delete() or "
                "get_raw_handle() was called"
            )

    def _feed_value(self, tensor: Tensor, owner: object) -> Any:
        """Return the value to feed to ``tensor`` in place of this object; borrowed, never changes."""
        if owner is not self._keeper:
            raise InvalidArgumentError(
                f"handle {self._handle!r} belongs to another session than the one that is fed: fetch "
                "the value there (`handle.eval()`) and feed that"
            )
        value = self._keeper.value(self._handle)
        if tensor.dtype.base_dtype is not self._dtype:
            hint = "; feed its string, `.handle`" if tensor.dtype is string else ""
            raise InvalidArgumentError(
                f"{tensor.name!r} is a {tensor.dtype.name} tensor; handle {self._handle!r} stands for a "
                f"{self._dtype.name} value{hint}"
            )
        return value

    def __str__(self) -> str:
        return self._handle

    def __repr__(self) -> str:
        return f"<TensorHandle {self._handle!r} dtype={self._dtype.name}>"


class _DeadHandles:
    """The queue of handles whose Python objects were collected. It refers to no session, so it keeps none
    alive."""

    def __init__(self, store: TensorStore) -> None:
        self._store = store
        self._names: deque[str] = deque()

    def add(self, handle: str) -> None:
        """Add a handle, and delete a batch if it is full; called by finalisers."""
        self._names.append(handle)
        if len(self._names) >= _BATCH:
            self._delete_batch()

    def _delete_batch(self) -> None:
        with contextlib.suppress(IndexError):  # another thread may take some of them
            for _ in range(_BATCH):
                self._store.discard(self._names.popleft())


class HandleKeeper:
    """The tensor handles of one session.

    Args:
        session: the session that keeps the values.
        check_usable: raises if the user's session object can no longer be used.

    Attributes:
        dead: handles whose Python objects were collected.
    """

    def __init__(self, session: LocalSession[Any], check_usable: Callable[[], None]) -> None:
        self._session = session
        self._check_usable = check_usable
        self._store = session.tensors
        self._devices = frozenset(d.name for d in session.list_devices())
        self.dead = _DeadHandles(self._store)
        self._lock = threading.Lock()
        self._mover: _Mover | None = None

    # -- fetches -------------------------------------------------------------------------------

    def wrap(self, tensor: Tensor) -> Callable[[Any], Any] | None:
        """Return the function that makes a ``TensorHandle`` of a tensor's fetched value, if the tensor is a
        handle."""
        if tensor.op.type != SESSION_HANDLE:
            return None
        dtype = tensor.op.inputs[0].dtype

        def claim(value: Any) -> TensorHandle:
            if not isinstance(value, UnsavedHandle):  # fed, not computed: there is no value to save
                return TensorHandle(_text(value), dtype, self)
            handle = _text(value)
            self._store.save(handle, value.value)
            del value.value  # the string may stay alive as the value of another fetch
            return TensorHandle(handle, dtype, self)

        return claim

    # -- feeds ---------------------------------------------------------------------------------

    def converter(self, tensor: Tensor) -> Converter:
        """Return the function that converts a fed value for ``tensor``.

        If ``tensor`` is a placeholder for handles, the values of fed handles are moved to its device first.
        """
        convert = converter(tensor, self)
        dtype = handle_dtype(tensor)
        if dtype is None:
            return convert

        device = tensor.op.device

        def convert_handle(value: Any) -> Any:
            if isinstance(value, TensorHandle):
                raise InvalidArgumentError(
                    f"{tensor.name!r} is fed the string of a tensor handle: feed `.handle` of {value!r}"
                )
            text = _text(convert(value))
            source = handle_device(text)
            if source != device and self._is_to_move(text, source, device, dtype):
                self._move(text, source, device, dtype)
            return np.array(text.encode(), object)

        return convert_handle

    def _is_to_move(self, handle: str, source: str, target: str, dtype: DType) -> bool:
        there = self._store.devices(handle)
        if not there or target in there or target not in self._devices:
            return False  # the node that reads an unknown handle refuses it
        kept = getattr(self._store.get(handle, source), "dtype", string.np_dtype)
        return bool(kept == dtype.np_dtype)  # the node refuses another dtype, too

    def _move(self, handle: str, source: str, target: str, dtype: DType) -> None:
        with self._lock:
            if self._mover is None:
                self._mover = _Mover(self._session)
        self._store.copy_to(handle, target, self._mover.run(handle, source, target, dtype))

    # -- values --------------------------------------------------------------------------------

    def value(self, handle: str) -> Any:
        """Return the value behind a handle; borrowed, never changes."""
        self._check_usable()
        return self._store.get(handle, handle.rpartition(";")[2])

    def delete(self, handle: str) -> None:
        """Delete the value behind a handle."""
        self._check_usable()
        self._store.remove(handle)


class _Mover:
    """Moves kept values between devices by steps of a private graph.

    Each triple of source, destination and dtype has one plan, made when first needed.
    """

    def __init__(self, session: LocalSession[Any]) -> None:
        self._session = session
        self._graph = Graph()
        self._plan_of: Callable[[RunSignature], SessionPlan] = session.planner_for(self._graph)
        self._plans: dict[tuple[str, str, DType], SessionPlan] = {}
        self._lock = threading.Lock()  # held while a plan is made

    def run(self, handle: str, source: str, target: str, dtype: DType) -> Any:
        """Return the value as it arrives on the device ``target``."""
        key = (source, target, dtype)
        plan = self._plans.get(key)
        if plan is None:
            with self._lock:
                plan = self._plans.get(key)
                if plan is None:
                    plan = self._plans[key] = self._plan(handle, target, dtype)
        [value] = self._session.run_here(plan, [handle.encode()])
        return value

    def _plan(self, handle: str, target: str, dtype: DType) -> SessionPlan:
        with self._graph.as_default():
            holder, value = get_session_tensor(handle, dtype)
            with self._graph.device(target):
                moved = identity(value)
        return self._plan_of(RunSignature((holder.name,), (moved.name,), ()))


def _text(value: Any) -> str:
    """Return a handle that was fetched or fed as a string.

    Raises:
        ValueError: unless it is one string.
    """
    if isinstance(value, np.ndarray):
        if value.size != 1:
            raise ValueError(f"one tensor handle is fed at a time, got shape {tuple(value.shape)}")
        value = value.reshape(())[()]
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
