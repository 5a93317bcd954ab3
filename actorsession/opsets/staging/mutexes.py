"""Mutexes, which one step holds at a time, and critical sections, whose parts run one after another.

A node takes the lock, as a value, and waits while another holds it; further nodes come after that one. The
lock is given back by the node that consumes it, or when the step ends before. A node that waits holds no
thread, and gets the lock in the order of asking.

Invariant: of a mutex at most one lock is held.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.graph.completion import Completion, Loan
from actorsession.graph.dtypes import resource
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext
from actorsession.graph.scopes import scope_of
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.arrays.array import identity
from actorsession.ops.flow.control import group, tuple_
from actorsession.ops.rows import checked, no_outputs, op
from actorsession.ops.shared_state import check_handle_of, register_state
from actorsession.ops.structures import flatten, pack
from actorsession.process_bound import GraphBound
from actorsession.records import description

__all__ = ["CRITICAL_SECTIONS", "CRITICAL_SECTION_EXECUTIONS", "CriticalSection"]

CRITICAL_SECTIONS = "critical_sections"
"""The collection of critical sections."""

CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"
"""The collection of what runs in them."""


# -- the state -------------------------------------------------------------------------------------


class MutexState:
    """A mutex; its methods are thread-safe, and none of them waits.

    Args:
        label: name of the mutex in messages.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self._guard = threading.Lock()
        self._waiting: OrderedDict[Completion, None] = OrderedDict()
        self._held: Lock | None = None

    def lock(self) -> Loan:
        """Return the completion with the lock."""
        loan = Loan(self._forget)
        with self._guard:
            self._waiting[loan] = None
        self._serve()
        return loan

    def _forget(self, loan: Completion) -> None:
        with self._guard:
            self._waiting.pop(loan, None)

    def release(self, lock: Lock) -> None:
        """Give a lock back; nothing happens if it was before."""
        with self._guard:
            if self._held is not lock:
                return
            self._held = None
        self._serve()

    def _serve(self) -> None:
        with self._guard:
            if self._held is not None or not self._waiting:
                return
            loan, _ = self._waiting.popitem(last=False)
            self._held = lock = Lock(self)
        loan.complete(lock, lock.release)

    def clear(self) -> None:
        """Reset the mutex: whoever waits for it fails with CancelledError."""
        with self._guard:
            waiting, self._waiting = self._waiting, OrderedDict()
        for loan in waiting:
            loan.fail(CancelledError(f"{self.label} was reset"))


class Lock:
    """A mutex that is held, until this is given back.

    Args:
        mutex: the mutex.
    """

    __slots__ = ("_mutex",)

    def __init__(self, mutex: MutexState) -> None:
        self._mutex = mutex

    def release(self) -> None:
        """Give the lock back."""
        self._mutex.release(self)


# -- op types --------------------------------------------------------------------------------------


def _locked(ctx: InferContext) -> Sequence[TensorShape]:
    check_handle_of(ctx, "a mutex")
    return [scalar_shape]


def _consume(lock: Any) -> None:
    if not isinstance(lock, Lock):
        raise InvalidArgumentError(f"Expected input to be a mutex lock, got {lock!r:.100}")
    lock.release()


register_state("MutexV2", "mutex", "Mutex", lambda label, attrs: MutexState(label))
op("MutexLock", _locked, lambda mutex: mutex.lock(), NOT_DIFFERENTIABLE, suspends=True, takes=True)
op("ConsumeMutexLock", checked(no_outputs), _consume, NOT_DIFFERENTIABLE)


# -- critical sections -----------------------------------------------------------------------------


class Execution(NamedTuple):
    """Something that runs in a critical section.

    Attributes:
        op: the operation that takes the lock.
        handle: the section's mutex.
        resources: handles that it uses.
        exclusive_resource_access: whether no other section may use them.
    """

    op: Operation
    handle: Tensor
    resources: list[Tensor]
    exclusive_resource_access: bool


class CriticalSection(GraphBound):
    """A section of the graph whose parts run one after another, also those of concurrent steps.

    Args:
        name: wanted name.
        shared_name: name of the mutex on its device; ``name`` if left out.
        critical_section_def: not supported, as in TensorFlow.
        import_scope: likewise.

    Raises:
        ValueError: for a definition and a name.
        NotImplementedError: for a definition.
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None:
            if name is not None:
                raise ValueError("critical_section_def and shared_name are mutually exclusive.")
            raise NotImplementedError("Not yet implemented")
        graph = get_default_graph()
        with graph.name_scope(name or "CriticalSection") as scope:
            shared = scope.rstrip("/") if shared_name is None else shared_name
            container = scope_of(graph).container
            self._handle = raw.MutexV2(shared_name=shared, container=container, name=scope)
        graph.add_to_collection(CRITICAL_SECTIONS, self)

    def __repr__(self) -> str:
        return description(self, self.name)

    @property
    def name(self) -> str:
        """The name of the mutex's node."""
        return self._handle.op.name

    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """Build something that runs in the section.

        Args:
            fn: builds it, from no arguments, and returns at least one tensor or operation.
            exclusive_resource_access: whether no other section may use the variables and other handles of it.
            name: wanted name of the scope.

        Returns:
            What ``fn`` returned, after the section was left.

        Raises:
            ValueError: if it uses the section itself, or what another section uses alone.
        """
        graph = self._handle.graph
        with graph.name_scope(name or "critical_section_execute"):
            lock = raw.MutexLock(self._handle)
            before = len(graph.get_operations())
            with graph.control_dependencies([lock]):
                result = fn()
            built = graph.get_operations()[before:]
            self._lock_after_arguments(built, lock.op)
            used = [t for each in built for t in each.inputs if t.dtype.base_dtype is resource]
            used = list({id(t): t for t in used}.values())
            if any(self._is_own(handle) for handle in used):
                raise ValueError(
                    "The function fn attempts to directly access the CriticalSection in which it would "
                    "be running.  This is illegal and would cause deadlocks."
                )
            self._check_exclusive(used, exclusive_resource_access)
            leaves = [_passed(leaf) for leaf in flatten(result)]
            with graph.control_dependencies(leaves):
                with graph.colocate_with(self._handle):
                    left = raw.ConsumeMutexLock(lock)
                leaves = tuple_(leaves)
            with graph.control_dependencies([left]):
                passed = pack(result, [_passed(leaf) for leaf in leaves])
            graph.add_to_collection(
                CRITICAL_SECTION_EXECUTIONS, Execution(lock.op, self._handle, used, exclusive_resource_access)
            )
        return passed

    def _lock_after_arguments(self, built: Sequence[Operation], lock: Operation) -> None:
        """Take the lock after everything that was built before and is used in the section."""
        inside = {*built, lock, *lock.control_inputs, *[t.op for t in lock.inputs]}
        sources = [t.op for each in built for t in each.inputs]
        sources += [source for each in built for source in each.control_inputs]
        outside = [source for source in dict.fromkeys(sources) if source not in inside]
        if outside:
            lock._add_control_input(group(*outside))

    def _is_own(self, handle: Tensor) -> bool:
        mutex, own = handle.op, self._handle.op
        if mutex.type != "MutexV2" or not mutex.attrs["shared_name"]:
            return False
        return bool(mutex.attrs["shared_name"] == own.attrs["shared_name"] and mutex.device == own.device)

    def _check_exclusive(self, used: Sequence[Tensor], alone: bool) -> None:
        for other in self._handle.graph.get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_own(other.handle) or not (alone or other.exclusive_resource_access):
                continue
            both = [t for t in used if any(t is theirs for theirs in other.resources)]
            if both:
                raise ValueError(
                    f"This execution would access resources: {both}.  Either this lock (CriticalSection: "
                    f"{self._handle}) or lock '{other}' (CriticalSection: {other.handle}) requested "
                    "exclusive resource access of this resource.  Did you mean to call execute with "
                    "keyword argument exclusive_resource_access=False?"
                )


def _passed(value: Any) -> Any:
    """Return a value as an operation that comes after what the scope says."""
    if hasattr(value, "identity") and callable(value.identity):
        return value.identity()
    return group(value) if isinstance(value, Operation) else identity(value)
