"""Runs inside a span of OpenTelemetry are its children, on all tasks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, ops
from actorsession.config import RunExperimental, RunMetadata, RunOptions
from actorsession.errors import InvalidArgumentError
from tests.cluster.kit import W0, W1, eventually, in_process, on, soon
from tests.cluster.script import running
from tests.cluster.test_child import line_of
from tests.loops import run_to_end
from tests.ports import held_ports

pytest.importorskip("opentelemetry.sdk.trace")

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

PARENT = f"00-{1:032x}-{2:016x}-01"


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    """What this process exports; a process has one provider for good."""
    exported = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    trace.set_tracer_provider(provider)
    return exported


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> InMemorySpanExporter:
    exporter.clear()
    return exporter


def there_and_back() -> tuple[Any, Any]:
    x = ops.placeholder("float32", [], name="x")
    there = on(W1, lambda: ops.multiply(x, 3.0, name="there"))
    return x, on(W0, lambda: ops.add(there, 1.0, name="end"))


def named(exported: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exported.get_finished_spans() if span.name == name]


def parent_of(span: ReadableSpan) -> int:
    assert span.parent is not None
    return span.parent.span_id


def said(span: ReadableSpan, name: str) -> Any:
    assert span.attributes is not None
    return span.attributes[f"actorsession.{name}"]


def context(span: Any) -> Any:
    """Trace and number of a span."""
    return span.get_span_context()


def tracer() -> trace.Tracer:
    return trace.get_tracer("test")


async def test_a_run_is_a_child_of_the_current_span_on_all_tasks(spans: InMemorySpanExporter, graph: Graph) -> None:
    x, end = there_and_back()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        for _ in range(2):  # the first run brings the plan along
            spans.clear()
            with tracer().start_as_current_span("train") as train:
                assert await soon(session.run(end, {x: 2.0})) == 7.0
            (run,), (step,) = named(spans, "actorsession.run"), named(spans, "actorsession.step")
            parts = named(spans, "actorsession.part")
            assert parent_of(run) == context(train).span_id
            assert parent_of(step) == context(run).span_id
            assert [parent_of(part) for part in parts] == [context(step).span_id] * 2
            assert {said(part, "task") for part in parts} == {W0, W1}
            assert len({context(span).trace_id for span in (train, run, step, *parts)}) == 1
            assert said(run, "fetches") == ("end:0",)
            assert said(run, "target") == cluster.target()
            assert said(step, "step_id") == said(parts[0], "step_id")
            assert (run.kind, step.kind) == (trace.SpanKind.CLIENT, trace.SpanKind.SERVER)
            times = [(s.start_time or 0, s.end_time or 0) for s in (run, step, *parts)]
            assert all(times[0][0] <= begin <= end <= times[0][1] for begin, end in times)
            assert all(s.status.is_unset for s in (run, step, *parts))


async def test_without_a_current_span_nothing_is_made_or_sent(spans: InMemorySpanExporter, graph: Graph) -> None:
    x, end = there_and_back()
    metadata = RunMetadata()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        assert await soon(session.run(end, {x: 2.0}, run_metadata=metadata)) == 7.0
    assert spans.get_finished_spans() == ()


async def test_the_spans_of_a_step_that_fails_have_its_error(spans: InMemorySpanExporter, graph: Graph) -> None:
    x = ops.placeholder("int32", [], name="x")
    end = on(W1, lambda: ops.floor_div(1, x, name="fails"))
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        with tracer().start_as_current_span("train"), pytest.raises(InvalidArgumentError):
            await soon(session.run(end, {x: 0}))
        await cluster.until_idle()
    for name in ("run", "step", "part"):
        (span,) = named(spans, f"actorsession.{name}")
        assert span.status.status_code is trace.StatusCode.ERROR
        assert [event.name for event in span.events] == ["exception"]
        assert "InvalidArgumentError" in (span.status.description or "")


def test_a_local_run_is_a_span_and_options_are_checked_as_ever(spans: InMemorySpanExporter, graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    y = ops.multiply(x, 2.0)
    with Session(graph=graph) as session:
        double = session.make_callable(y, [x])
        with tracer().start_as_current_span("train") as train:
            assert session.run(y, {x: 2.0}) == 4.0
            assert double(3.0) == 6.0
            with pytest.raises(TypeError, match="options is a RunOptions"):
                session.run(y, {x: 2.0}, options=3)  # type: ignore[arg-type]
        assert session.run(y, {x: 2.0}) == 4.0
    runs = named(spans, "actorsession.run")
    assert [parent_of(run) for run in runs] == [context(train).span_id] * 2
    assert [run.kind for run in runs] == [trace.SpanKind.INTERNAL] * 2


async def test_a_program_may_name_the_parent_itself(spans: InMemorySpanExporter, graph: Graph) -> None:
    x, end = there_and_back()
    options = RunOptions(experimental=RunExperimental(trace_parent=PARENT))
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        assert await soon(session.run(end, {x: 2.0}, options=options)) == 7.0
    (step,) = named(spans, "actorsession.step")
    assert (context(step).trace_id, parent_of(step)) == (1, 2)
    with pytest.raises(InvalidArgumentError, match="traceparent header, got 'mine'"):
        RunExperimental(trace_parent="mine")


# -- processes -------------------------------------------------------------------------------------
@contextmanager
def workers(folder: Path) -> Iterator[list[str]]:
    """Two worker processes that export their spans, and a ps that knows nothing of spans; their addresses."""

    def command(job: str, index: int, module: str, *words: str) -> list[str]:
        return [sys.executable, "-m", module, *words, "worker", "--job", job, "--task", str(index), "--cluster", spec]

    with held_ports(3) as ports:
        hosts = [f"127.0.0.1:{port}" for port in ports]
        spec = json.dumps({"worker": hosts[:2], "ps": hosts[2:]})
        processes: list[subprocess.Popen[str]] = []
        with (
            running(command("worker", 0, "tests.cluster.span_worker", str(folder / "w0"))) as first,
            running(command("worker", 1, "tests.cluster.span_worker", str(folder / "w1"))) as second,
            running(command("ps", 0, "actorsession")) as third,
        ):
            processes += (first, second, third)
            yield [line_of(process).split()[3].rstrip(";") for process in processes]


def exported(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.process
def test_spans_of_processes_have_their_parents_in_other_processes(
    spans: InMemorySpanExporter, graph: Graph, tmp_path: Path
) -> None:
    x, end = there_and_back()
    there = on("/job:ps/replica:0/task:0", lambda: ops.multiply(end, 2.0, name="more"))

    async def main(address: str) -> trace.Span:
        async with AsyncSession(address, graph) as session:
            with tracer().start_as_current_span("train") as train:
                assert await soon(session.run(there, {x: np.float32(2.0)})) == 14.0
            await eventually(lambda: all(len(exported(tmp_path / name)) == n for name, n in (("w0", 2), ("w1", 1))))
            return train

    with workers(tmp_path) as addresses:
        train = run_to_end(main(addresses[0]))
    (run,) = named(spans, "actorsession.run")
    first, second = exported(tmp_path / "w0"), exported(tmp_path / "w1")
    (step,) = [span for span in first if span["name"] == "actorsession.step"]
    (part,) = [span for span in first if span["name"] == "actorsession.part"]
    (other,) = second
    assert parent_of(run) == context(train).span_id
    assert step["parent_id"] == f"0x{context(run).span_id:016x}"
    assert part["parent_id"] == other["parent_id"] == step["context"]["span_id"]
    traces = {span["context"]["trace_id"] for span in (step, part, other)}
    assert traces == {f"0x{context(train).trace_id:032x}"}
    assert other["attributes"]["actorsession.task"] == W1


@pytest.mark.process
def test_a_session_of_a_program_without_spans_has_no_other_way_of_a_run() -> None:
    """A process that has the package, and does not import it, pays nothing."""
    text = """
import sys
import actorsession as acts
with acts.Session() as session:
    assert session.run(acts.constant(1.0)) == 1.0
    assert "_run_request" not in vars(session)
assert not any(name.partition(".")[0] == "opentelemetry" for name in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
