"""``AsyncSession``: the native session API, for programs on an event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine, Mapping, Sequence
from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any

from actorsession.config import CONNECT_TIMEOUT, CallableOptions, ConfigProto, RunMetadata, RunOptions
from actorsession.config.step_record import StepRecord
from actorsession.graph.device import DeviceAttributes
from actorsession.plan.place import Placed
from actorsession.runtime.hang_report import HangReport
from actorsession.session.base import (
    BaseSession,
    check_hang_report,
    check_last_steps,
    check_wait_for,
    container_names,
    in_time,
    own_limit,
    reset_options,
)
from actorsession.session.callables import AsyncCallable, MakeError, closed_error, closed_error_of_callables
from actorsession.session.factory import get_factory
from actorsession.session.feeds import flatten_feeds
from actorsession.session.partial.api import AsyncPartialRuns
from actorsession.session.reattach import Reattached
from actorsession.session.request import Request
from actorsession.session.restore_after_loss import call_restore, parts_to_run
from actorsession.session.session_interface import SessionPlan

if TYPE_CHECKING:
    from actorsession.plan.explain.explanation import Explanation

__all__ = ["AsyncSession"]


class AsyncSession(AsyncPartialRuns, BaseSession):
    """A session whose methods are awaited wherever they may wait.

    The constructor does no I/O. Entering the session (``async with``) or the first call connects. Any number
    of runs may be in flight at once.

    A session belongs to the event loop on which it was first used; calls on another are refused at once with
    RuntimeError, which names both. When that loop has ended, a session in this process goes on with the next
    loop that uses it, and one with a target can only be closed, on any loop. In a forked process closing does
    nothing and all else is refused: the session is the parent's.

    Args:
        target: "" or "local" for this process, or the address of a master such as ``tcp://host:port``, or
            several addresses separated by commas, of which the first master that answers is taken.
        graph: the graph to run; the default graph if left out.
        config: settings.
        name: its name in status reports and in the ``RunMetadata`` of its runs, which no other open session of
            its process, or of its master, may have; the one of ``config`` if left out.

    Raises:
        TypeError: for an argument of a wrong type.
        ValueError: for a name if ``config`` has another one.
        NotFoundError: if no session factory accepts the target, or a device does not exist.
        InvalidArgumentError: for a malformed address in the target, and settings that cannot be met.
    """

    _thread = -1  # the one in which the session's loop was first seen

    async def __aenter__(self) -> AsyncSession:
        self._check_usable()
        self._enter_defaults()
        try:
            await self._session.connect()
        except BaseException:
            self._leave_defaults()
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        try:
            await self.close()
        finally:
            if self._closed:  # it is open where this is not its loop
                self._leave_defaults()

    async def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the limit is the step's, wherever it runs
    ) -> Any:
        """Run everything that the fetches need and return their values.

        Cancelling the call aborts the step between two nodes; the session stays usable.

        Args:
            fetches: a tensor, operation, variable or name, or a nested list, tuple, dict, attrs or
                dataclass object of such.
            feed_dict: values for tensors, by tensor or name. Arrays are borrowed until the call returns.
            options: of this run.
            run_metadata: filled with what ``options`` request.
            timeout: the limit of this run in seconds, in place of ``options.timeout_in_ms``; by default that
                of the session's config.

        Returns:
            The structure of ``fetches`` with numpy values; ``None`` for operations. Arrays are the
            caller's own and writable.

        Raises:
            RuntimeError: if the session is closed.
            TypeError: for a bad feed key or a fetch of a wrong type.
            ValueError: for an unknown fetch, a value whose shape does not fit, or a limit that is not one.
            InvalidArgumentError: for a placeholder that is needed but not fed, and for values that a
                kernel rejects.
            DeadlineExceededError: if the step took too long.
            OpError: the step's first error, with node, device, task and source line.
        """
        if feed_dict:
            feed_dict = flatten_feeds(feed_dict)
        self._begin_run()
        request = self._requests.find(fetches, feed_dict)
        values = tuple(feed_dict.values()) if feed_dict else ()
        if timeout is not None:
            options = self._limited(options, timeout)
        return await self._run_request(request, values, options, run_metadata)

    def _check_usable(self, make_closed_error: MakeError = closed_error) -> None:
        if self._closed:
            raise make_closed_error()
        self._owner.check(moves=self._local is not None)
        self._thread = self._owner.thread

    async def _prepare(self, request: Request, limit: float | None) -> SessionPlan:
        self._check_usable()
        plan: SessionPlan = await in_time(self._session.prepare(request.signature), limit)
        return plan

    def _run_plan(
        self, plan: SessionPlan, feeds: Sequence[Any], options: RunOptions | None, run_metadata: RunMetadata | None
    ) -> Coroutine[Any, Any, Sequence[Any]]:
        # A step that does not suspend belongs to no loop, and of two loops in one thread only one runs at a
        # time; the comparison of threads takes a twentieth of the time.
        if self._thread != get_ident() or (plan.needs_loop and self._owner.loop is not asyncio._get_running_loop()):
            self._check_usable()
        limit = self._limit if options is None else own_limit(options) or self._limit
        return self._session.run(plan, feeds, limit, options, run_metadata)

    async def warm_up(self, fetches: Any, feeds: Any = None, *, partial: bool = False) -> None:
        """Do everything that the first run of some fetches does before its step begins, and run nothing.

        The session is extended with the new nodes of the graph, and the step is pruned, placed,
        optimised, partitioned and compiled. A master registers the partitions with its workers. The next run
        of the same fetches and feeds, in any order, finds its plan. No kernel runs, no state changes, and
        placeholders need no values. A large graph is planned in a thread, so that the event loop stays
        responsive. If the call is cancelled, planning that has begun goes on for later runs.

        Args:
            fetches: as in ``run``.
            feeds: the keys that the run will feed, as in its ``feed_dict``: a list, or a dict whose values
                are ignored.
            partial: whether the run will be a partial run whose setup names the same fetches and feeds.

        Raises:
            RuntimeError: if the session is closed.
            TypeError: for a bad feed key or a fetch of a wrong type.
            ValueError: for an unknown fetch.
            InvalidArgumentError: if the run cannot be planned, for example because a placeholder is not
                fed.
            OpError: in a remote session, if a task refuses its partitions or cannot be reached.
        """
        self._check_usable()
        if partial:
            _, plan = await self._made_partial_plan(fetches, feeds)
        else:
            self._begin_run()
            request = self._requests.of_later_run(fetches, feeds)
            if not request.needs_step:
                return
            plan = await self._bound_plan(request)
        with self._naming_operations():
            await self._session.warm_up(plan.signature, partial=partial)

    async def explain(self, fetches: Any, feeds: Any = None) -> Explanation:
        """Return what a step would do, and run nothing.

        The step is planned as its first run would plan it: what pruning keeps and why the rest is not needed, the
        device of each node with the reason and the refused alternatives, what is sent to whom, what the passes
        did, the generated source, the expected cost, what is missing, and what would make it slow. No plan is
        kept, nothing is registered at workers and nothing is counted; at most the session is extended with the new
        nodes of the graph, as by any run. Of a session with a target the master explains, and asks the tasks of
        the step for their round trips and for variables without a value.

        Args:
            fetches: as in ``run``.
            feeds: a feed dict, whose values say how large everything is; or the keys alone, as a list.

        Returns:
            The explanation, which prints as a page and shows itself in a notebook. What is missing (feeds,
            values, tasks, a plan) is in it and no error.

        Raises:
            RuntimeError: if the session is closed.
            TypeError: for a bad feed key or a fetch of a wrong type.
            ValueError: for an unknown fetch, or a value whose shape does not fit.
            UnimplementedError: for a kind of session of another distribution that does not explain.
            OpError: in a session with a target, if the master cannot be reached.
        """
        self._check_usable()
        return await self._session.explain(*self._requests.to_explain(fetches, feeds))

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> AsyncCallable:
        """Prepare a run once, so that calls do no graph work.

        Args:
            fetches: as in ``run``.
            feed_list: the keys that the callable's arguments feed, in order; as in ``run``'s feed dict.
            accept_options: whether calls may pass ``options`` and ``run_metadata``.

        Returns:
            A function of the feed values whose result is awaited. Many children may call it at once. It is
            released when the session closes.

        Raises:
            TypeError: for a bad feed list or key, or a fetch of a wrong type.
            ValueError: for an unknown fetch.
            InvalidArgumentError: if there is nothing to run.
        """
        request, arguments = self._requests.of_callable(fetches, feed_list)
        prepared = AsyncCallable(self, request, arguments, accept_options=accept_options)
        self._keep(prepared)
        return prepared

    def make_callable_from_options(self, options: CallableOptions) -> AsyncCallable:
        """Prepare a run that is described by names; tensors may be connected and placed for it.

        Args:
            options: the names of its feeds, fetches and targets, the options of each call, tensors in whose
                place others are used, and devices at which feeds enter and fetches leave the step.

        Returns:
            A function of the values of ``options.feed``, whose result is awaited: the list of the values of
            ``options.fetch``. Calls may pass ``run_metadata``. It is released when the session closes.

        Raises:
            TypeError: if ``options`` is none, or names a tensor that can never be fed or fetched.
            InvalidArgumentError: for an unknown tensor, one that is fed twice, or both fed and fetched,
                connections that do not fit or form a cycle, devices that do not exist, or nothing to run.
                Devices of a remote session are checked by its master, at the first call.
            NotFoundError: for an unknown target, or an unknown tensor to connect to.
            ValueError: for a tensor that may not be fed, or not be fetched.
        """
        request, arguments = self._prepared_from(options)
        prepared = AsyncCallable(self, request, arguments, own_options=options.run_options)
        self._keep(prepared)
        return prepared

    async def list_devices(self) -> list[DeviceAttributes]:
        """Return the devices that the session may use, the client device first.

        Raises:
            CancelledError: if the session is closed.
        """
        self._check_usable(closed_error_of_callables)
        return await self._session.devices()

    async def placement(self) -> dict[str, Placed]:
        """Return the device of every node of the graph, with the reason for it.

        In a session with a target the master reports it, for the nodes that it has placed so far.

        Raises:
            UnimplementedError: for a kind of session of another distribution that does not report it.
        """
        self._check_usable()
        return await self._session.find_placement()

    @staticmethod
    async def reset(target: str, containers: Sequence[str] | None = None, config: ConfigProto | None = None) -> None:
        """Close every session of a target, aborting its steps, and clear containers.

        Args:
            target: as for the session.
            containers: names of the containers to clear; the default one if left out.
            config: settings that select the session factory.

        Raises:
            TypeError: for an argument of a wrong type.
            NotFoundError: if no session factory accepts the target.
            InvalidArgumentError: for a malformed address in the target.
            UnimplementedError: if sessions of that kind cannot be reset.
        """
        options = reset_options(target, config)
        await get_factory(options).reset(options, container_names(containers))

    async def reattach(self, restore: Any = None) -> Reattached:
        """Continue after workers or the master of a remote session have restarted.

        The graph is registered again wherever that is needed. Plans and callables stay valid. Variables of
        a process that ended are lost; ``restore`` restores those and no others.

        Args:
            restore: operations or a function. Of operations that write variables, such as initialisers,
                only those run that write nothing but lost variables; a group
                (``global_variables_initializer()``) is split into its members. Operations that write no
                variable, such as the initialiser of a table, run if a task has restarted. A function, which
                may be a coroutine function, is called if variables are lost: with the session, and with
                their names as second argument if it takes two.

        Returns:
            What has changed, with the names of the lost variables: those of restarted tasks that have no
            value now. After the loss of the master these are all variables without a value. If restoring
            fails, the next call reports the same variables again.

        Raises:
            FailedPreconditionError: for an operation that writes a lost variable and cannot run without
                overwriting a variable that still has its value. The message names that variable.
            UnimplementedError: for a session in this process, which has no tasks to lose.
            UnavailableError: if the master cannot be reached.
            DeadlineExceededError: if tasks do not answer; it names every such task that the graph uses.
        """
        self._check_usable()
        lost = await self._session.reattach()
        if callable(restore):
            restored = call_restore(restore, self, lost.lost) if lost.lost else None
            if inspect.isawaitable(restored):
                await restored
        elif restore is not None and (lost.lost or lost.restarted):
            await self.run(parts_to_run(self._graph, restore, lost.lost))
        return lost

    async def wait_for(
        self,
        tasks: str,
        count: int | None = None,
        *,
        timeout: float = CONNECT_TIMEOUT,  # noqa: ASYNC109 - as everywhere in this interface
    ) -> list[str]:
        """Wait until tasks of the cluster answer, for programs that begin before their cluster is complete.

        No step needs this call: a step that is placed on a task that does not answer waits for it within
        its own limit, and other steps do not. Tasks that join the cluster while the call waits count.

        Args:
            tasks: a partial device name that selects tasks, such as ``/job:worker``.
            count: how many of these tasks have to answer; all that the cluster has if left out.
            timeout: seconds that this may take.

        Returns:
            The names of the tasks that answer, in the order of the cluster: at least ``count``. A session in
            this process has one task, which answers.

        Raises:
            TypeError: for an argument of a wrong type.
            ValueError: for a number that is not positive.
            InvalidArgumentError: for a malformed name; without ``count``, if the cluster has no such task.
            DeadlineExceededError: if too few answer in time; it names those that answer, and the others with
                the attempts to reach them.
            UnavailableError: if the master cannot be reached.
        """
        self._check_usable()
        check_wait_for(tasks, count, timeout)
        return await self._session.wait_for(tasks, count, timeout)

    async def last_steps(self, count: int = 20, slower_than: float = 0.0) -> list[StepRecord]:
        """Return what is remembered of the session's last steps, in the order of their ends.

        The servers of a cluster remember the last thousand steps of all their sessions, unless they are started
        with another number: the master each step as a whole, each worker what it ran of it, when, and which values
        it sent and received. This puts them together. A session in this process remembers its steps if it was made
        with ``ConfigProto(kept_steps=...)``.

        Args:
            count: how many steps at most.
            slower_than: only steps that took so many seconds or more.

        Raises:
            RuntimeError: if the session is closed.
            ValueError: for a negative number of steps or seconds.
            FailedPreconditionError: if the session, or the server of its master, keeps none.
            OpError: if the master does not answer.
        """
        self._check_usable()
        check_last_steps(count, slower_than)
        return await self._session.last_steps(count, slower_than)

    async def why(self, within: float = 2.0) -> HangReport:
        """Report why steps hang: what each waits for, which task should send it, and the root cause.

        Every task is queried. Busy tasks answer too, and tasks that do not answer are named. The text of
        the report begins with the root cause.

        Args:
            within: seconds to wait for the tasks' answers.

        Raises:
            RuntimeError: if the session is closed.
            ValueError: unless ``within`` is above 0.
        """
        self._check_usable()
        check_hang_report(within)
        return await self._session.why(within)

    async def close(self) -> None:
        """Cancel running steps and release everything; bounded in time, may be called twice.

        When the session's loop has ended, any other may call it. In a forked process only this object is
        closed: loop, threads and connections are the parent's.

        Raises:
            RuntimeError: on another loop than that of the session; the session stays open.
        """
        if self._closed:
            return
        if self._owner.is_forked:
            self._closed = True
            return
        close = self._session.close
        if self._owner.loop_has_ended:
            close = self._session.abandon
        else:
            self._owner.check()
        self._closed = True
        self._release()
        await close()
