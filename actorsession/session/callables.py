"""Callables: a run prepared once, so that calling it does no work on structures, names or graphs.

``make_callable`` and ``make_callable_from_options`` of the session API make them. Many threads or asyncio
children may call one at once. A callable keeps its plan however many others are made, and releases it when
its session closes.
"""

from __future__ import annotations

from collections.abc import Callable as CallableType
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from actorsession.config import RunMetadata, RunOptions
from actorsession.errors import CancelledError, InvalidArgumentError, RequestTypeError
from actorsession.process_bound import ProcessBound
from actorsession.records import dataclass
from actorsession.session.blocking import complete
from actorsession.session.feeds import flatten_feeds
from actorsession.session.notebooks import CellCalls

if TYPE_CHECKING:
    from actorsession.session.base import BaseSession
    from actorsession.session.request import Request

__all__ = [
    "Arguments",
    "AsyncCallable",
    "Callable",
    "MakeError",
    "checked_feed_list",
    "closed_error",
    "closed_error_of_callables",
]

MakeError: TypeAlias = CallableType[[], RuntimeError | CancelledError]


def closed_error() -> RuntimeError:
    """Return the error of a run in a closed session."""
    return RuntimeError("Attempted to use a closed Session.")


def closed_error_of_callables() -> CancelledError:
    """Return the error of a callable without feeds in a closed session, and of ``list_devices``.

    TensorFlow's code paths raise two error classes, which programs may distinguish.
    """
    return CancelledError("Session has been closed.")


def checked_feed_list(feed_list: object) -> tuple[Any, ...]:
    """Return the feed keys of a callable.

    Raises:
        TypeError: if they are neither a list nor a tuple.
    """
    if feed_list is None:
        return ()
    if not isinstance(feed_list, (list, tuple)):
        raise TypeError(
            f"`feed_list` must be a list or tuple of tensors, got {type(feed_list).__name__}: {feed_list!r:.100}"
        )
    return tuple(feed_list)


@dataclass(frozen=True, slots=True)
class Arguments:
    """The tensors that the arguments of a callable feed.

    Attributes:
        keys: the feed list.
        names: a name for each key, for messages.
        plain: whether each key is a single tensor.
        exact: whether there must be one value for each key, and none beyond.
    """

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    plain: bool
    exact: bool = False

    def values(self, given: Sequence[Any]) -> Sequence[Any]:
        """Return one value per fed tensor.

        Raises:
            InvalidArgumentError: if values are missing; or if there are too many, where ``exact``.
            TypeError: if there are values and no feed list.
        """
        if len(given) != len(self.keys):
            self._check(given)
        if self.plain:
            return given
        return tuple(flatten_feeds(dict(zip(self.keys, given, strict=False))).values())

    def _check(self, given: Sequence[Any]) -> None:
        if self.exact:
            named = f", for {', '.join(self.names)}" if self.names else ""
            raise InvalidArgumentError(
                f"the callable takes {len(self.keys)} values{named}, got {len(given)}: its options feed no others"
            )
        if not self.keys:
            raise RequestTypeError(
                f"the callable takes no values, got {len(given)}: name the tensors that they feed in "
                "make_callable(fetches, feed_list)"
            )
        if len(given) < len(self.keys):
            raise InvalidArgumentError(
                f"the callable takes {len(self.keys)} values, for {', '.join(self.names)}, got "
                f"{len(given)}: You must feed a value for {self.names[len(given)]!r}"
            )


_NO_OPTIONS = RunOptions()


class _Prepared(ProcessBound):
    """The common base of both kinds of callables.

    Args:
        session: the session.
        request: the run; released on close.
        arguments: the tensors that the arguments feed.
        accept_options: whether calls may pass run options.
        own_options: the options of every call, for a callable that was made from options; its calls may pass
            run metadata, and no options.
        cells: the steps of the session in cells of a notebook; ``None`` for one whose calls are awaited.
    """

    instead = "make the callable with a session of the other process"

    __slots__ = (
        "__weakref__",
        "_accepts",
        "_arguments",
        "_cells",
        "_closed_error",
        "_own_options",
        "_request",
        "_session",
    )

    def __init__(
        self,
        session: BaseSession,
        request: Request,
        arguments: Arguments,
        *,
        accept_options: bool = False,
        own_options: RunOptions | None = None,
        cells: CellCalls | None = None,
    ) -> None:
        self._session = session
        self._request: Request | None = request
        self._arguments = arguments
        # As in TensorFlow, a callable with a feed list always accepts options.
        self._accepts = accept_options or bool(arguments.keys)
        self._own_options = own_options
        self._cells = cells
        self._closed_error: MakeError = (
            closed_error if arguments.keys and own_options is None else closed_error_of_callables
        )

    def release(self) -> None:
        """Release the plan. Every later call raises the error of a closed session."""
        self._request = None

    def _start(
        self, values: Sequence[Any], options: RunOptions | None, run_metadata: RunMetadata | None
    ) -> Coroutine[Any, Any, Any]:
        """Return the run of one call, which has not begun."""
        request = self._request
        if request is None:
            raise self._closed_error()
        self._session._begin_run(self._closed_error)
        own = self._own_options
        if own is not None:
            if options is not None:
                raise TypeError("the callable was made from options and takes no others: set their run_options")
            # Runs without options take a shorter way.
            options = None if own == _NO_OPTIONS else own
        elif (options is not None or run_metadata is not None) and not self._accepts:
            raise TypeError("the callable takes no options: make it with make_callable(..., accept_options=True)")
        return self._session._run_request(request, self._arguments.values(values), options, run_metadata)

    def __repr__(self) -> str:
        state = "released" if self._request is None else str(self._request.signature)
        return f"<{type(self).__name__} {state}>"


class Callable(_Prepared):
    """A prepared run of a ``Session``."""

    __slots__ = ()

    def __call__(self, *values: Any, options: RunOptions | None = None, run_metadata: RunMetadata | None = None) -> Any:
        """Run the step; see ``Session.run``.

        Args:
            values: the feeds in the order of the feed list. Surplus values are ignored, as in TensorFlow;
                without a feed list none are allowed.
            options: of this run; only with ``accept_options`` or a feed list. Callables that were made from
                options have their own.
            run_metadata: filled with what ``options`` request.

        Returns:
            The structure of the fetches with values.

        Raises:
            InvalidArgumentError: if values are missing; or if there are too many, for one made from options.
            TypeError: for values without a feed list, and for options that the callable does not accept.
            CancelledError: if the session is closed (RuntimeError for one with a feed list).
            RuntimeError: in a coroutine of a running event loop, unless it is a cell of a notebook.
        """
        return complete(self._start(values, options, run_metadata), self._cells)


class AsyncCallable(_Prepared):
    """A prepared run of an ``AsyncSession``."""

    __slots__ = ()

    async def __call__(
        self, *values: Any, options: RunOptions | None = None, run_metadata: RunMetadata | None = None
    ) -> Any:
        """Run the step; see ``AsyncSession.run`` and ``Callable``."""
        return await self._start(values, options, run_metadata)
