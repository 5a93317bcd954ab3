"""Sessions that accept TensorFlow's settings; the rest is ``actorsession.Session``."""

from __future__ import annotations

import warnings
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Any

import actorsession.session as ours
from actorsession import interop
from actorsession.compat.v1.graphs.graph import as_compat_graph, get_default_graph
from actorsession.compat.v1.sessions.error_texts import reword
from actorsession.compat.v1.sessions.runs import fill_metadata
from actorsession.compat.v1.sessions.settings import as_session_settings, as_settings
from actorsession.config import ConfigProto, RunMetadata
from actorsession.errors import DeadlineExceededError, NotFoundError, OpError, UnavailableError
from actorsession.graph.graph import Graph
from actorsession.interop.message import Message
from actorsession.session.callables import Callable
from actorsession.session.targets import is_local

__all__ = ["InteractiveSession", "Session"]


# Programs run the same with each of them.
_EXECUTORS = frozenset({"", "DEFAULT", "SINGLE_THREADED_EXECUTOR"})


def _executor_of(config: Any) -> str:
    return config.experimental.executor_type if isinstance(config, Message) else ""


class _Face(ours.Session):
    """What both kinds of session have beside the methods of ``actorsession.Session``."""

    _executor = ""

    def _run_request(
        self, request: Any, values: Sequence[Any], options: Any, run_metadata: Any
    ) -> Coroutine[Any, Any, Any]:
        options = self._own_options(options)
        if isinstance(run_metadata, Message):
            running = self._run_reporting(request, values, options, run_metadata)
        else:
            running = super()._run_request(request, values, options, run_metadata)
        return running if is_local(self.target) else self._run_in_time(running, options)

    def _own_options(self, options: Any) -> Any:
        return as_settings(options) if isinstance(options, Message) else options

    async def _run_in_time(self, running: Coroutine[Any, Any, Any], options: Any) -> Any:
        """Await a run; that no master answers within its limit in time is TensorFlow's error for that."""
        try:
            return await running
        except UnavailableError as exc:
            limit = options.timeout_in_ms if options is not None else 0
            if exc.message.startswith("no master answers") and (limit or self._config.operation_timeout_in_ms):
                raise DeadlineExceededError(exc.message) from exc
            raise

    async def _run_reporting(self, request: Any, values: Sequence[Any], options: Any, message: Message) -> Any:
        """Run a request, and fill a message with its report."""
        if type(message).__qualname__ != "RunMetadata":
            raise TypeError(f"run_metadata is a RunMetadata, got {type(message).__name__}")
        report = RunMetadata()
        try:
            return await super()._run_request(request, values, options, report)
        finally:
            fill_metadata(message, report)

    async def _prepare(self, request: Any, limit: float | None) -> Any:
        self._check_executor()
        return await super()._prepare(request, limit)

    def _made_partial_plan(self, fetches: Any, feeds: Any) -> Any:
        self._check_executor()
        return super()._made_partial_plan(fetches, feeds)

    def _check_executor(self) -> None:
        """Refuse the kind of executor that the settings ask for, unless it is one of TensorFlow's."""
        if self._executor not in _EXECUTORS:
            raise NotFoundError(
                "No executor factory registered for the given executor type: "
                f"{self._executor} Registered factories are {{{', '.join(sorted(_EXECUTORS))}}}."
            )

    def _name_operation(self, error: OpError) -> None:
        super()._name_operation(error)
        reword(error, local=is_local(self.target))

    @staticmethod
    def _limited(options: Any, timeout: float) -> Any:
        return ours.Session._limited(as_settings(options), timeout)

    def partial_run_setup(self, fetches: Any, feeds: Any = None, options: Any = None) -> Any:
        """Set up a partial run; see ``actorsession.Session.partial_run_setup``.

        Args:
            fetches: everything that will be fetched.
            feeds: everything that will be fed.
            options: of the run.
        """
        return super().partial_run_setup(fetches, feeds, as_settings(options))

    def list_devices(self) -> list[Any]:
        """Return the devices that the session may use, as TensorFlow describes them."""
        from actorsession.compat.v1.internals.framework import _DeviceAttributes

        return [_DeviceAttributes(d.name, d.device_type, d.memory_limit, d.incarnation) for d in super().list_devices()]

    @property
    def graph_def(self) -> interop.GraphDef:
        """The graph as TensorFlow's message, with shapes if ``graph_options.infer_shapes`` is set."""
        shapes = self._config.graph_options.infer_shapes
        return interop.graph_def_of(self.graph, add_shapes=shapes)

    @property
    def sess_str(self) -> bytes:
        """The target of the session, as bytes, which is how TensorFlow gives it."""
        return self.target.encode()

    def _make_callable_from_options(self, callable_options: Any) -> Callable:
        """Prepare a run that a ``CallableOptions`` describes; see ``make_callable_from_options``."""
        return self.make_callable_from_options(callable_options)

    def make_callable_from_options(self, options: Any) -> Callable:
        """Prepare a run that a ``CallableOptions`` describes.

        Args:
            options: the message, or the library's own options.
        """
        return super().make_callable_from_options(as_settings(options))

    @staticmethod
    def reset(target: str, containers: Sequence[str] | None = None, config: Any = None) -> None:
        """Close every session of a target, aborting its steps, and clear containers.

        Args:
            target: "" for this process, or the address of a master.
            containers: names of the containers to clear; the default one if omitted.
            config: settings that select the session factory, and the time limit.

        Raises:
            TypeError: for an argument of a wrong type.
            NotFoundError: if no session factory accepts the target.
        """
        ours.Session.reset(target, containers, as_settings(config))


def _check(graph: Any, config: Any) -> None:
    """Refuse what is no graph and no settings, in TensorFlow's words."""
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"')
    if config is not None and not isinstance(config, (Message, ConfigProto)):
        raise TypeError(f'Argument `config` must be a tf.ConfigProto, but got "{type(config).__name__}"')


class Session(_Face):
    """``actorsession.Session`` with mutable settings.

    Args:
        target: as for ``actorsession.Session``; ``grpc://`` means ``tcp://``.
        graph: the graph to run; the default graph if omitted.
        config: settings.
    """

    def __init__(self, target: str | bytes = "", graph: Graph | None = None, config: Any = None) -> None:
        _check(graph, config)
        graph = get_default_graph() if graph is None else as_compat_graph(graph)
        super().__init__(_text(target), graph, as_session_settings(config))
        self._executor = _executor_of(config)


def _text(target: Any) -> Any:
    """Return a target as text; ``sess_str`` of a session, and some programs' own, are bytes."""
    return target.decode() if isinstance(target, bytes) else target


class InteractiveSession(_Face, ours.InteractiveSession):
    """``actorsession.InteractiveSession`` with mutable settings.

    As in TensorFlow, only the nodes that a run needs are placed, so an invalid device elsewhere in a notebook
    does no harm.

    Args:
        target: as for ``Session``.
        graph: as for ``Session``.
        config: as for ``Session``.
    """

    def __init__(self, target: str | bytes = "", graph: Graph | None = None, config: Any = None) -> None:
        _check(graph, config)
        get_default_graph()  # converts the default graph, which the session may use
        settings = as_session_settings(config)
        place = _text(target)
        if isinstance(place, str) and is_local(place) and (settings is None or isinstance(settings, ConfigProto)):
            settings = _placing_what_runs(settings or ConfigProto())
        super().__init__(place, None if graph is None else as_compat_graph(graph), settings)
        self._executor = _executor_of(config)

    def _warn_of_others(self, count: int) -> None:
        warnings.warn(
            "An interactive session is already active. This can cause out-of-memory errors in some cases. "
            "You must explicitly call `InteractiveSession.close()` to release resources held by the other "
            "session(s).",
            stacklevel=5,
        )


def _placing_what_runs(config: ConfigProto) -> ConfigProto:
    return replace(config, graph_options=replace(config.graph_options, place_pruned_graph=True))
