"""``profile``, ``advise`` and ``Profiler``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.profiler.logs import merge_default_with_oplog
from actorsession.compat.v1.profiler.nodes import Node, measured, nodes_of
from actorsession.compat.v1.profiler.options import ProfileOptionBuilder
from actorsession.compat.v1.profiler.views import VIEWS, list_view, tree_view
from actorsession.errors import InvalidArgumentError, UnimplementedError
from actorsession.interop.tabled import message_class

__all__ = ["ALL_ADVICE", "Profiler", "advise", "profile"]

ALL_ADVICE: dict[str, dict[str, Any]] = {
    "ExpensiveOperationChecker": {},
    "AcceleratorUtilizationChecker": {},
    "JobChecker": {},
    "OperationChecker": {},
}
"""The checks that may be asked for. Accelerators are not here, so that only the first finds anything."""

_DEFAULT = 0  # TensorFlow's: an int stands for the default options


def _checked(options: Any) -> dict[str, Any]:
    if not isinstance(options, Mapping):
        raise TypeError(f"options is a dict, as ProfileOptionBuilder makes it; got {options!r:.100}")
    settings = dict(options)
    # The older name of the first, and values that programs leave out.
    settings.setdefault("start_name_regexes", [".*"])
    known = ProfileOptionBuilder().build()
    unset = {key: value for key, value in known.items() if key not in settings}
    return {**unset, **settings}


class _Steps:
    """A graph with the steps that were measured."""

    def __init__(self, graph: Any, op_log: Any, add_trace: bool = True) -> None:
        self.graph = get_default_graph() if graph is None else graph
        self.op_log, self.add_trace = op_log, add_trace
        self.steps: list[tuple[int, Any]] = []

    def nodes(self) -> dict[str, Node]:
        shapes = self.steps[-1][1] if self.steps else None
        log = merge_default_with_oplog(self.graph, self.op_log, shapes, self.add_trace)
        by_name = nodes_of(self.graph, log)
        for step, run_meta in self.steps:
            measured(by_name, step, run_meta)
        return by_name

    def view(self, view: str, options: Any) -> Any:
        told = _checked(options)
        show = tree_view if view in ("scope", "graph") else list_view
        root, text = show(view, self.nodes(), told)
        self._write(view, told, text)
        return root

    def _write(self, view: str, options: Mapping[str, Any], text: str) -> None:
        kind, _, rest = str(options["output"]).partition(":")
        path = rest.partition("outfile=")[2]
        if kind == "stdout":
            sys.stdout.write(_report(view, options, text))
        elif kind == "file":
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        elif kind == "timeline":
            self._timeline(path, options["step"])
        elif kind != "none":
            raise UnimplementedError(f"a profile is written to stdout, file, timeline or none, not as {kind!r}")

    def _timeline(self, path: str, step: int) -> None:
        from actorsession.compat.v1.internals.timeline import Timeline

        chosen = [run_meta for number, run_meta in self.steps if step in (-1, number)]
        if not chosen:
            raise InvalidArgumentError(f"a timeline needs a step: add_step, or run_meta=; step {step} was not added")
        with open(f"{path}_{step}", "w", encoding="utf-8") as file:
            file.write(Timeline(chosen[-1].step_stats).generate_chrome_trace_format())


def _report(view: str, options: Mapping[str, Any], text: str) -> str:
    rows = ["", f"{'=' * 25}Options{'=' * 29}", *_told(options), ""]
    rows += [f"{'=' * 18}Model Analysis Report{'=' * 22}", "", "Doc:", f"{view}: {VIEWS[view]}", ""]
    rows += ["Profile:", text, f"{'=' * 22}End of Report{'=' * 26}", ""]
    return "\n".join(rows)


_SHOWN = (
    "max_depth", "min_bytes", "min_peak_bytes", "min_residual_bytes", "min_output_bytes",
    "min_micros", "min_accelerator_micros", "min_cpu_micros", "min_params", "min_float_ops",
    "min_occurrence", "step", "order_by", "account_type_regexes", "start_name_regexes",
    "trim_name_regexes", "show_name_regexes", "hide_name_regexes", "account_displayed_op_only",
    "select", "output",
)  # fmt: skip


def _told(options: Mapping[str, Any]) -> list[str]:
    rows = []
    for name in _SHOWN:
        value = options.get(name, 0)
        if isinstance(value, (list, tuple)):
            value = ",".join(sorted(value) if name == "select" else value)
        if isinstance(value, bool):
            value = str(value).lower()
        if name == "output" and ":" not in value:
            value = f"{value}:"
        rows.append(f"-{name:<26} {value}")
    return rows


def profile(
    graph: Any = None, run_meta: Any = None, op_log: Any = None, cmd: str = "scope", options: Any = _DEFAULT
) -> Any:
    """Return a profile of a graph, and write it as the options say.

    Args:
        graph: the graph; the default graph if left out.
        run_meta: a step, for time and memory, and for shapes that the graph does not know.
        op_log: types and float operations of nodes that a program tells, as an ``OpLogProto``.
        cmd: ``scope``, ``graph``, ``op`` or ``code``.
        options: see ``ProfileOptionBuilder``; the parameters of trainable variables if left out.

    Returns:
        A ``GraphNodeProto`` for the first two, a ``MultiGraphNodeProto`` for the others.

    Raises:
        InvalidArgumentError: for another ``cmd``.
        UnimplementedError: for a file for ``pprof``.
    """
    if cmd not in VIEWS:
        raise InvalidArgumentError(f"unknown cmd: {cmd}; there are {', '.join(VIEWS)}")
    if options == _DEFAULT:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    steps = _Steps(graph, op_log, cmd == "code")
    if run_meta is not None:
        steps.steps.append((0, run_meta))
    return steps.view(cmd, options)


def advise(graph: Any = None, run_meta: Any = None, options: Any = _DEFAULT) -> Any:
    """Return what checks find in a step, as an ``AdviceProto``, and print it.

    Args:
        graph: the graph; the default graph if left out.
        run_meta: the step.
        options: which checks; all if left out.
    """
    profiler = Profiler(graph)
    if run_meta is not None:
        profiler.add_step(0, run_meta)
    return profiler.advise(ALL_ADVICE if options == _DEFAULT else options)


class Profiler:
    """Profiles of a graph over several steps.

    Args:
        graph: the graph; the default graph if left out.
        op_log: see ``profile``.
    """

    def __init__(self, graph: Any = None, op_log: Any = None) -> None:
        self._steps = _Steps(graph, op_log)
        self._graph = self._steps.graph

    def add_step(self, step: int, run_meta: Any) -> None:
        """Add what a run measured.

        Args:
            step: the number of the step, by which options choose one.
            run_meta: the run.
        """
        self._steps.steps.append((step, run_meta))

    def profile_name_scope(self, options: Any) -> Any:
        """Return the profile by name scope; see ``profile``."""
        return self._steps.view("scope", options)

    def profile_graph(self, options: Any) -> Any:
        """Return the profile by inputs; see ``profile``."""
        return self._steps.view("graph", options)

    def profile_operations(self, options: Any) -> Any:
        """Return the profile by operation type; see ``profile``."""
        return self._steps.view("op", options)

    def profile_python(self, options: Any) -> Any:
        """Return the profile by line; see ``profile``."""
        return self._steps.view("code", options)

    def advise(self, options: Any) -> Any:
        """Return what checks find, as an ``AdviceProto``, and print it.

        Args:
            options: the checks by name, as in ``ALL_ADVICE``.
        """
        advice: Any = message_class("AdviceProto")()
        for name in sorted(options, key=list(ALL_ADVICE).index):
            advice.checkers[name].reports.extend(self._expensive() if name == "ExpensiveOperationChecker" else [])
            sys.stdout.write("\n".join([f"\n{name}:", *advice.checkers[name].reports, ""]))
        return advice

    def _expensive(self) -> list[str]:
        """Return the dearest operation types, scopes and lines."""
        if not self._steps.steps:
            sys.stderr.write("Missing run_meta for ExpensiveOperationChecker\n")
            return []
        builder = ProfileOptionBuilder(ProfileOptionBuilder.time_and_memory(min_bytes=0))
        options = builder.account_displayed_op_only(False).with_empty_output().build()
        reports = []
        for title, view in (("operation type", "op"), ("line", "code")):
            root = self._steps.view(view, options)
            rows: list[str] = []
            at = root
            while at.children and len(rows) < 3:
                at = at.children[0]
                share = 100 * at.exec_micros / max(root.total_exec_micros, 1)
                rows.append(
                    f"top {len(rows) + 1} {title}: {at.name}, cpu: {at.cpu_exec_micros}us, accelerator: "
                    f"{at.accelerator_exec_micros}us, total: {at.exec_micros}us ({share:.2f}%)"
                )
            reports.append("\n".join(rows))
        scopes = self._steps.view("scope", options).children[:3]
        reports.insert(
            1,
            "\n".join(
                f"top {place} graph node: {each.name}, cpu: {each.total_cpu_exec_micros}us, accelerator: "
                f"{each.total_accelerator_exec_micros}us, total: {each.total_exec_micros}us"
                for place, each in enumerate(scopes, 1)
            ),
        )
        return [report for report in reports if report]
