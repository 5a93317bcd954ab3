"""The methods for partial runs that ``AsyncSession`` and ``Session`` inherit.

Structures of fetches and feed keys are mapped to names here, once per setup and once per form of call. The
rest is the work of the session's ``PartialRuns``.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import Coroutine, Hashable, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from actorsession.actors import ownership
from actorsession.actors.ownership import Owner
from actorsession.config import RunOptions
from actorsession.errors import CancelledError, InvalidArgumentError, OpError
from actorsession.graph.operation import Tensor
from actorsession.plan.signature import RunSignature
from actorsession.process_bound import ProcessBound
from actorsession.session.blocking import IN_LOOP
from actorsession.session.feeds import feed_tensor, flatten_feed_keys, flatten_feeds
from actorsession.session.fetches import check_not_empty, map_fetches
from actorsession.session.notebooks import CellCalls, blocks_loop, without_loop
from actorsession.session.partial.partial_runs import PartialRuns
from actorsession.session.request import Request, fetch_key

if TYPE_CHECKING:
    from actorsession.session.base import BaseSession as _Base
else:
    _Base = object

__all__ = ["AsyncPartialRun", "AsyncPartialRuns", "PartialRun", "SyncPartialRuns"]


class _PartialRunMethods(_Base):
    """The common base of both APIs."""

    def _partial_runs(self) -> PartialRuns[Any]:
        """Return the session's partial runs, of a direct or a remote session, if it is usable."""
        self._check_usable()
        runs = self._session.partial_runs
        if runs is None:  # a kind of session from another distribution
            raise self._local_only("makes no partial runs")
        return runs

    def _partial_plan(
        self, fetches: Any, feeds: Any
    ) -> tuple[PartialRuns[Any], Any, Hashable | None, RunSignature | None]:
        """Return the partial runs, the kept plan of a setup, its key, and the signature if no plan is kept."""
        graph, runs = self._graph, self._session.partial_runs
        if runs is None or self._owner.loop is not asyncio._get_running_loop():
            runs = self._partial_runs()
        self._begin_run()
        keys = () if feeds is None else feeds if isinstance(feeds, (list, tuple)) else (feeds,)
        shape = fetch_key(fetches) if _PLAIN.issuperset(map(type, keys)) else None
        # The restrictions are in the key, because a growing graph may forbid feeds.
        key = (_SETUP, graph.restrictions, shape, *keys) if shape is not None else None
        plan = None if key is None else runs.requests.get(key)
        if plan is not None:
            return runs, plan, key, None
        check_not_empty(graph)
        tensors = [feed_tensor(graph, k) for k in flatten_feed_keys(keys)]
        mapped = map_fetches(graph, fetches)
        signature = RunSignature(
            tuple(t.name for t in tensors),
            tuple(t.name for t in mapped.tensors),
            tuple(op.name for op in mapped.targets),
        )
        return runs, None, key, signature

    def _partial_request(
        self, handle: Any, fetches: Any, feed_dict: Mapping[Any, Any] | None
    ) -> tuple[PartialRuns[Any], Request, list[Any]]:
        """Return the partial runs, one call reduced to names, and its feeds.

        The call is kept where ``fetch_key`` has a key for the fetches.

        Raises:
            TypeError: if the handle is no string.
            RuntimeError: if an operation is fetched.
        """
        runs = self._session.partial_runs
        if (
            runs is None
            or self._closed
            or self._forks != ownership.forks
            or self._owner.loop is not asyncio._get_running_loop()
        ):
            runs = self._partial_runs()
        if feed_dict:
            feed_dict = flatten_feeds(feed_dict)
        if not isinstance(handle, str):
            raise TypeError(
                f"the handle of a partial run is the string that partial_run_setup returned, got "
                f"{type(handle).__name__}"
            )
        shape = fetch_key(fetches)
        restrictions = self._graph.restrictions
        key = None if shape is None else (restrictions, shape, *(feed_dict or ()))
        request: Request | None = None if key is None else runs.requests.get(key)
        if request is None:
            request = self._requests.make(fetches, tuple(feed_dict or ()))
            if request.signature.targets:
                raise RuntimeError(
                    "partial_run() takes no operations among its fetches, got "
                    f"{', '.join(request.signature.targets)}: name them in partial_run_setup, where they "
                    "run as soon as their inputs are there"
                )
            runs.remember(key, request)
        return runs, request, request.feeds(tuple(feed_dict.values())) if feed_dict else []


def _partial_options(options: RunOptions) -> RunOptions | None:
    """Return the options of a partial run, if they request anything.

    Raises:
        TypeError: for anything but ``RunOptions``.
        InvalidArgumentError: for an option that does not act in partial runs.
    """
    if not isinstance(options, RunOptions):
        raise TypeError(f"options is a RunOptions, got {type(options).__name__}")
    asked, plain = options.to_wire(), RunOptions().to_wire()
    others = [
        f"{name}={getattr(options, name)!r}" for name in plain if name != "debug_options" and asked[name] != plain[name]
    ]
    if others:
        raise InvalidArgumentError(
            f"a partial run takes debug_options and no other options, got {', '.join(others)}; "
            "operation_timeout_in_ms of the session limits its calls, and run() can be traced"
        )
    return options if options.debug_options.active else None


# Feed keys that always stand for the same tensor.
_PLAIN = frozenset({Tensor, str})
# Begins the cache keys of setups; those of calls begin with the restrictions of the graph.
_SETUP = "setup"


class SyncPartialRuns(_PartialRunMethods):
    """The partial runs of a ``Session``."""

    if TYPE_CHECKING:
        _cells: CellCalls

        def _wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any: ...

    def partial_run_setup(self, fetches: Any, feeds: Any = None, options: RunOptions | None = None) -> str:
        """Start a step that will be fed and fetched in several calls.

        Operations that need no feed run before this call returns. The run ends when all its feeds are given
        and all its fetches are returned, or when it has not been continued for
        ``ConfigProto.partial_run_idle_limit_in_ms``.

        Args:
            fetches: everything that will be fetched, as in ``run``. Operations among the fetches run as soon
                as their inputs are available.
            feeds: a list of everything that will be fed: tensors, names, or objects that stand for tensors.
            options: of the run; only its ``debug_options`` may be set.

        Returns:
            A handle, new each time.

        Raises:
            RuntimeError: if the session is closed or the graph empty.
            TypeError: for a feed key or fetch of a wrong type.
            ValueError: for an unknown fetch, or a tensor that may not be fed.
            InvalidArgumentError: if nothing is fetched, or a tensor is fed twice, or fed and fetched; for
                other options, and for debug options that name what does not exist.
            OpError: in a remote session, if a task refuses its partitions or cannot be reached.
        """
        if asyncio._get_running_loop() is not None:
            if blocks_loop():
                raise RuntimeError(IN_LOOP)
            return without_loop(partial(self.partial_run_setup, fetches, feeds, options))
        options = None if options is None else _partial_options(options)
        with self._naming_operations():
            runs, plan = self._made_partial_plan(fetches, feeds)
            if runs.needs_loop(plan):
                handle: str = self._wait(runs.open(plan, options))
                return handle
            return runs.open_here(plan, self._limit, options)

    def _made_partial_plan(self, fetches: Any, feeds: Any) -> tuple[PartialRuns[Any], Any]:
        runs, plan, key, signature = self._partial_plan(fetches, feeds)
        return runs, plan if signature is None else runs.remember(key, runs.plan(signature))

    def partial_run(self, handle: str, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Continue a partial run with feeds, and return fetches.

        Each value is computed once per handle, so all calls agree, on random numbers too. A wrong call
        changes nothing, and the handle stays valid. After an error inside the step the handle is invalid,
        but the session stays usable.

        Args:
            handle: a result of ``partial_run_setup``.
            fetches: tensors among the fetches of the setup; ``[]`` to feed only.
            feed_dict: values for feeds of the setup.

        Returns:
            The structure of ``fetches`` with values; arrays are the caller's own.

        Raises:
            RuntimeError: if the session is closed, or an operation is fetched.
            TypeError: for a bad feed key.
            ValueError: for an unknown fetch, or a value whose shape does not fit.
            InvalidArgumentError: for a handle that is unknown or finished, a feed or fetch that was not
                named at setup or was used before, or a fetch that needs missing feeds.
            FailedPreconditionError: inside a function (``py_func``) of the same run.
            DeadlineExceededError: if ``operation_timeout_in_ms`` has passed. The handle is then invalid,
                unless the time was spent waiting for another thread's call on it.
            OpError: the step's first error.
        """
        if asyncio._get_running_loop() is not None:
            if blocks_loop():
                raise RuntimeError(IN_LOOP)
            return self._cells.step(partial(self.partial_run, handle, fetches, feed_dict))
        runs, request, feeds = self._partial_request(handle, fetches, feed_dict)
        signature = request.signature
        arguments = handle, signature.feeds, feeds, signature.fetches, self._limit
        try:
            if runs.is_on_loop(handle):
                return request.result(feeds, self._wait(runs.call(*arguments)))
            return request.result(feeds, runs.call_here(*arguments))
        except OpError as error:
            self._name_operation(error)
            raise

    def partial(self, fetches: Any, feeds: Any = None, options: RunOptions | None = None) -> PartialRun:
        """Return a partial run as a context manager.

        It is used as ``with session.partial(fetches, feeds) as p: p.run(...)``. Leaving the block aborts an
        incomplete run, and so does dropping the object.

        Args:
            fetches: as in ``partial_run_setup``.
            feeds: as in ``partial_run_setup``.
            options: as in ``partial_run_setup``.
        """
        return PartialRun(self, fetches, feeds, options)


class AsyncPartialRuns(_PartialRunMethods):
    """The partial runs of an ``AsyncSession``."""

    async def partial_run_setup(self, fetches: Any, feeds: Any = None, options: RunOptions | None = None) -> str:
        """Start a step that will be fed and fetched in several calls; see
        ``Session.partial_run_setup``."""
        options = None if options is None else _partial_options(options)
        try:
            runs, plan = await self._made_partial_plan(fetches, feeds)
            return await runs.open(plan, options)
        except OpError as error:
            self._name_operation(error)
            raise

    async def _made_partial_plan(self, fetches: Any, feeds: Any) -> tuple[PartialRuns[Any], Any]:
        runs, plan, key, signature = self._partial_plan(fetches, feeds)
        return runs, plan if signature is None else runs.remember(key, await runs.prepare(signature))

    async def partial_run(self, handle: str, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Continue a partial run with feeds, and return fetches; see ``Session.partial_run``.

        Cancelling the call aborts this run between two nodes; the session stays usable. Several calls of one
        run may wait at the same time.
        """
        runs, request, feeds = self._partial_request(handle, fetches, feed_dict)
        signature = request.signature
        arguments = handle, signature.feeds, feeds, signature.fetches, self._limit
        try:
            return request.result(feeds, await runs.call(*arguments))
        except OpError as error:
            self._name_operation(error)
            raise

    def partial(self, fetches: Any, feeds: Any = None, options: RunOptions | None = None) -> AsyncPartialRun:
        """Return a partial run as an asynchronous context manager; see ``Session.partial``.

        It is used as ``async with session.partial(fetches, feeds) as p: await p.run(...)``.
        """
        return AsyncPartialRun(self, fetches, feeds, options)


class _PartialRun(ProcessBound):
    """A partial run that is aborted when its ``with`` block is left, or when the object is dropped."""

    instead = "set the run up with a session of the other process"

    def __init__(self, session: Any, fetches: Any, feeds: Any, options: RunOptions | None) -> None:
        self._session = session
        self._asked = fetches, feeds, options
        self._handle: str | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None

    @property
    def handle(self) -> str:
        """The handle for ``partial_run``; available once the block is entered.

        Raises:
            RuntimeError: before the block was entered.
        """
        if self._handle is None:
            raise RuntimeError("the partial run has not begun: enter it with a with statement")
        return self._handle

    @property
    def _runs(self) -> PartialRuns[Any]:
        runs: PartialRuns[Any] = self._session._session.partial_runs
        return runs

    def _check_new(self) -> None:
        if self._handle is not None:
            raise RuntimeError("a partial run is entered once: ask the session for another one")

    def _set_handle(self, handle: str) -> None:
        self._handle = handle
        owner = self._session._owner
        self._finalizer = weakref.finalize(self, _abort_dropped, weakref.ref(self._runs), handle, owner)
        self._finalizer.atexit = False

    def _exit_error(self) -> CancelledError:
        """Return the error that ends the run when the block is left; the finaliser has no more to do."""
        if self._finalizer is not None:
            self._finalizer.detach()
        return CancelledError(f"the block of partial run {self._handle!r} was left")

    def __repr__(self) -> str:
        state = "not entered" if self._handle is None else repr(self._handle)
        return f"<{type(self).__name__} {state}>"


def _abort_dropped(runs: weakref.ref[PartialRuns[Any]], handle: str, owner: Owner) -> None:
    dropped = runs()
    if dropped is not None and not owner.is_forked:
        dropped.abort_here(handle, CancelledError(f"partial run {handle!r} was dropped"))


class PartialRun(_PartialRun):
    """A partial run of a ``Session``; made by ``Session.partial``."""

    def __enter__(self) -> PartialRun:
        self._check_new()
        self._set_handle(self._session.partial_run_setup(*self._asked))
        return self

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Continue the run with feeds, and return fetches; see ``Session.partial_run``."""
        return self._session.partial_run(self.handle, fetches, feed_dict)

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        runs, error = self._runs, self._exit_error()
        if self._session._owner.is_forked:
            return  # the run is the parent's
        if not runs.is_on_loop(self.handle):
            runs.abort_here(self.handle, error)
        elif not self._session.closed:
            # Another thread may have closed the session and so ended the run.
            with contextlib.suppress(OpError):
                self._session._wait(runs.abort(self.handle, error))


class AsyncPartialRun(_PartialRun):
    """A partial run of an ``AsyncSession``; made by ``AsyncSession.partial``."""

    async def __aenter__(self) -> AsyncPartialRun:
        self._session._check_usable()
        self._check_new()
        self._set_handle(await self._session.partial_run_setup(*self._asked))
        return self

    async def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Continue the run with feeds, and return fetches; see ``Session.partial_run``."""
        return await self._session.partial_run(self.handle, fetches, feed_dict)

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        owner = self._session._owner
        if not owner.loop_has_ended and not owner.is_forked:
            owner.check()
            await self._runs.abort(self.handle, self._exit_error())
