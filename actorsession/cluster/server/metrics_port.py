"""The port at which a server, or whoever runs a cluster, is read by Prometheus: ``GET /metrics``.

Where the package ``prometheus_client`` is installed (the extra ``metrics``), it writes the answer, in the format
that is asked for, and adds the metrics that it has of the process and of the program: processor time, open files,
collections, and what the program has registered itself. Otherwise the answer is the text of ``prometheus``.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from actorsession.cluster.server.http_port import HttpPort, Response
from actorsession.extras import is_installed
from actorsession.prometheus import MetricFamily, exposition, merged, sample_rows
from transports.forks import keep_from_children
from transports.host import current_host

__all__ = ["CONTENT_TYPE", "MetricsPort", "write_metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds for an answer: what Prometheus waits for by default is ten.
_LIMIT = 8.0
_QUEUE = 16


class MetricsPort:
    """The port, which answers from ``open`` to ``aclose``.

    Args:
        host: the address to listen at.
        port: the port; 0 for any that is free, ``None`` for none: then it does nothing.

    Attributes:
        url: where to ask, while it is open; "" for nowhere.
    """

    def __init__(self, host: str, port: int | None) -> None:
        self._address = host, port
        self.url = ""
        self._sock: socket.socket | None = None
        self._http: HttpPort | None = None

    async def open(self, read: Callable[[], Awaitable[Iterable[MetricFamily]]]) -> None:
        """Answer from now on, on the running event loop.

        Args:
            read: returns what is to be answered.

        Raises:
            OSError: if the port cannot be bound; names it.
        """
        host, port = self._address
        if port is None:
            return

        async def respond(accept: str) -> Response:
            body, content_type = write_metrics(await read(), accept)
            return Response(200, body, content_type)

        self._sock = _bind(host, port)
        keep_from_children(self)
        self._http = HttpPort("metrics", {"/metrics": respond}, _LIMIT)
        await self._http.open(self._sock)
        where = f"[{host}]" if ":" in host else host
        self.url = f"http://{where}:{self._sock.getsockname()[1]}/metrics"

    def descriptor(self) -> int:
        """Return the descriptor of the socket; see ``keep_from_children``."""
        return -1 if self._sock is None else self._sock.fileno()

    async def aclose(self) -> None:
        """Release the port; may be called again."""
        if self._http is not None:
            await self._http.aclose()
        self.drop()

    def drop(self) -> None:
        """Release the port when its loop has ended."""
        self.url = ""
        if self._sock is not None:
            self._sock.close()


def write_metrics(
    families: Iterable[MetricFamily], accept: str, *, own: bool = not is_installed("prometheus_client")
) -> tuple[bytes, str]:
    """Return families in a format that Prometheus reads, and its content type.

    Args:
        families: the families.
        accept: the Accept header of the request.
        own: whether to write them as ``prometheus`` does.
    """
    if own:
        return exposition(families).encode(), CONTENT_TYPE
    from prometheus_client import REGISTRY
    from prometheus_client.exposition import choose_encoder

    encode, content_type = choose_encoder(accept)
    return encode(_All(families, REGISTRY)), content_type


class _All:
    """Our families, and those that are registered with ``prometheus_client``, as its encoders read them."""

    def __init__(self, families: Iterable[MetricFamily], registry: Any) -> None:
        self._families = families
        self._registry = registry

    def collect(self) -> Iterator[Any]:
        """Yield the families."""
        from prometheus_client.core import Metric

        for family in merged(self._families):
            metric = Metric(family.name.removesuffix("_total"), family.help, family.kind)
            for name, labels, value in sample_rows(family):
                metric.add_sample(name, dict(labels), value)
            yield metric
        yield from self._registry.collect()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with contextlib.ExitStack() as bound:
            sock = bound.enter_context(current_host().network.bind_tcp(family, host, port))
            sock.listen(_QUEUE)
            bound.pop_all()  # it listens: the port closes it
            return sock
    except OSError as exc:
        reason = exc.strerror if isinstance(exc, socket.gaierror) else os.strerror(exc.errno or 0)
        raise OSError(exc.errno, f"cannot listen for metrics at {host}:{port}: {reason}") from None
