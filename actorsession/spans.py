"""Spans of OpenTelemetry: the step of a client is one, and so is what its master and each worker do of it.

A span travels as the text of W3C's header ``traceparent``: in the options of a run to a master, and in what the
master asks of a worker. Both make a span of their own, a child of that, with whatever provider their process has
set up. A process without the package (the extra ``otel``), or without a provider, passes the text on as it came.

A session looks at the current span only if its process had imported the package before the session was made, and
a server only if a request has brought a span along; nobody else pays for it. The package is imported here alone.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from actorsession.extras import is_installed
from actorsession.version import installed_version

__all__ = ["TRACE_PARENT", "TaskSpan", "begin_task", "has_current_span", "has_spans", "run_span"]

TRACE_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
"""The form of W3C's header ``traceparent``: version, trace, span and flags."""

_NAME = "actorsession"


def has_spans() -> bool:
    """Return whether this process has imported OpenTelemetry, so that there may be a current span."""
    return "opentelemetry.trace" in sys.modules


@functools.cache
def _api() -> Any:
    """Return the module ``opentelemetry.trace``; ``None`` where it is not installed."""
    if not (is_installed("opentelemetry") and is_installed("opentelemetry.trace")):
        return None
    from opentelemetry import trace

    return trace


def has_current_span() -> bool:
    """Return whether there is a current span that records."""
    return bool(_api().get_current_span().is_recording())


@contextlib.contextmanager
def run_span(attributes: Mapping[str, Any], *, remote: bool) -> Iterator[str]:
    """Make a run of a session a span below the current one, while the block lasts.

    Args:
        attributes: what is said of it.
        remote: whether a master runs it.

    Yields:
        The text of the span.
    """
    kind = _api().SpanKind.CLIENT if remote else _api().SpanKind.INTERNAL
    tracer = _api().get_tracer(_NAME, installed_version())
    with tracer.start_as_current_span("actorsession.run", kind=kind, attributes=attributes) as span:
        yield _text(span)


def _text(span: Any) -> str:
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


class TaskSpan:
    """The span of what a task does of a step.

    Args:
        parent: the text of the span above it.
        span: the span; ``None`` if this process makes none.

    Attributes:
        parent: the text of the span, for those below it; that of the span above it if this process makes none.
    """

    __slots__ = ("_span", "parent")

    def __init__(self, parent: str, span: Any = None) -> None:
        self._span = span
        self.parent = parent if span is None else _text(span)

    def end(self, error: BaseException | None = None) -> None:
        """End the span once, with the error of what it stands for if it has failed."""
        span, self._span = self._span, None
        if span is None:
            return
        if error is not None:
            span.record_exception(error)
            span.set_status(_api().Status(_api().StatusCode.ERROR, f"{type(error).__name__}: {error}"))
        span.end()


def begin_task(name: str, parent: str, began: float, attributes: Mapping[str, Any]) -> TaskSpan:
    """Begin the span of what a task does of a step.

    Args:
        name: of the span.
        parent: the text of the span above it; one of another form has no span below it.
        began: wall-clock seconds at which its request arrived; 0 for now.
        attributes: what is said of it.
    """
    api, header = _api(), TRACE_PARENT.fullmatch(parent)
    if api is None or header is None:
        return TaskSpan(parent)
    trace_id, span_id, flags = (int(part, 16) for part in header.groups())
    above = api.SpanContext(trace_id, span_id, is_remote=True, trace_flags=api.TraceFlags(flags))
    span = api.get_tracer(_NAME, installed_version()).start_span(
        name,
        context=api.set_span_in_context(api.NonRecordingSpan(above)),
        kind=api.SpanKind.SERVER,
        attributes=attributes,
        start_time=round(began * 1e9) or None,
    )
    return TaskSpan(parent, span)
