"""A worker process that writes the spans of OpenTelemetry that it makes to a file, one JSON object after another.

Run as ``python -m tests.cluster.span_worker FILE worker ...``: the command line of the package.
"""

from __future__ import annotations

import sys

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from actorsession.cli import main

if __name__ == "__main__":
    exporter = ConsoleSpanExporter(
        out=open(sys.argv.pop(1), "w", buffering=1, encoding="utf-8"),  # noqa: SIM115 - open until the process ends
        formatter=lambda span: span.to_json(indent=None) + "\n",
    )
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    sys.exit(main())
