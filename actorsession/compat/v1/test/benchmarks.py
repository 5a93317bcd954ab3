"""``tf.test.Benchmark``: the base of programs that time operations and report what they found."""

from __future__ import annotations

import inspect
import time
from typing import Any

import numpy as np

from actorsession.compat.v1.logging import get_logger
from actorsession.compat.v1.sessions.messages import RunMetadata, RunOptions

__all__ = ["GLOBAL_BENCHMARK_REGISTRY", "Benchmark", "TensorFlowBenchmark"]

_log = get_logger()

GLOBAL_BENCHMARK_REGISTRY: set[type] = set()
"""The classes of benchmarks that programs defined."""


class Benchmark:
    """A class whose methods ``benchmark...`` time something; subclasses are registered."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        GLOBAL_BENCHMARK_REGISTRY.add(cls)

    def _get_name(self, overwrite_name: str | None = None) -> str:
        """Return the name of the benchmark that calls: of the class and the method."""
        if overwrite_name is None:
            frames = (frame.function for frame in inspect.stack(0))
            overwrite_name = next((name for name in frames if name.startswith("benchmark")), None)
            if overwrite_name is None:
                raise ValueError("Unable to determine calling Benchmark class.")
        return f"{type(self).__name__}.{overwrite_name}"

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: list[dict[str, Any]] | None = None,
    ) -> None:
        """Log what a benchmark found.

        Args:
            iters: how often it ran.
            cpu_time: seconds of the processor.
            wall_time: seconds.
            throughput: megabytes in a second.
            extras: what else is worth telling.
            name: the benchmark's name; that of the method that calls if left out.
            metrics: further numbers, each with ``name`` and ``value``.

        Raises:
            TypeError: for extras or metrics of other forms.
        """
        if extras is not None and not isinstance(extras, dict):
            raise TypeError("extras must be a dict")
        if metrics is not None and not isinstance(metrics, list):
            raise TypeError("metrics must be a list")
        for metric in metrics or ():
            for key in ("name", "value"):
                if key not in metric:
                    raise TypeError(f"metric must has a {key!r} field")
        told = {
            "iters": iters,
            "wall_time": wall_time,
            "cpu_time": cpu_time,
            "throughput": throughput,
            "extras": extras,
            "metrics": metrics,
        }
        said = ", ".join(f"{key}: {value}" for key, value in told.items() if value is not None)
        _log.info("Benchmark [%s] %s", self._get_name(name), said)


class TensorFlowBenchmark(Benchmark):
    """A benchmark that times operations in a session."""

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Time an operation or tensor, and report what was found.

        Args:
            sess: the session.
            op_or_tensor: what is run.
            feed_dict: the feeds.
            burn_iters: how often it runs before it is timed.
            min_iters: how often it is timed.
            store_trace: whether the trace of a further run is among the extras.
            store_memory_usage: accepted for compatibility.
            name: see ``report_benchmark``, like the rest.
            extras: likewise.
            mbs: megabytes that a run moves, for the throughput.

        Returns:
            What was reported, with the shortest, the middle and the longest time among the extras.
        """
        fetched = getattr(op_or_tensor, "op", op_or_tensor)
        for _ in range(burn_iters):
            sess.run(fetched, feed_dict)
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(fetched, feed_dict)
            times.append(time.perf_counter() - start)
        more = dict(extras or {})
        if store_trace:
            measured = RunMetadata()
            options = RunOptions(trace_level=RunOptions.FULL_TRACE)
            sess.run(fetched, feed_dict, options=options, run_metadata=measured)
            from actorsession.compat.v1.internals.timeline import Timeline

            trace = Timeline(measured.step_stats)
            more["full_trace_chrome_format"] = trace.generate_chrome_trace_format()
        more |= {
            "wall_time_mean": float(np.mean(times)),
            "wall_time_stdev": float(np.std(times)),
            "wall_time_min": min(times),
            "wall_time_max": max(times),
        }
        middle = float(np.median(times))
        report: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": middle,
            "extras": more,
            "name": name,
            "throughput": mbs / middle if mbs and middle else None,
        }
        self.report_benchmark(**{**report, "name": name})
        return {**report, "name": self._get_name(name) if name else name}

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors in the default session, or one of its own."""
        from actorsession.compat.v1.sessions.session import Session
        from actorsession.graph.default_session import get_default_session

        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with Session() as own:
            return own.run(tensors)
