"""The four views of a profile, as rows, as text and as messages.

By scope and by inputs, nodes form a tree; by operation type and by line, they form a list, in which each row
has the sums of those behind it. Rows that do not count pass what is below them on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.compat.v1.profiler.nodes import ROOT, Counted, Node, matches

__all__ = ["VIEWS", "list_view", "tree_view"]

# What may be selected: the title of its column, the number, and how that is written.
_COUNT, _TIME, _BYTES = "count", "time", "bytes"
_COLUMNS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "params": (("# parameters", "parameters", _COUNT, " params"),),
    "float_ops": (("# float_ops", "float_ops", _COUNT, " flops"),),
    "bytes": (("requested bytes", "requested_bytes", _BYTES, ""),),
    "peak_bytes": (("peak bytes", "peak_bytes", _BYTES, ""),),
    "residual_bytes": (("residual bytes", "residual_bytes", _BYTES, ""),),
    "output_bytes": (("output bytes", "output_bytes", _BYTES, ""),),
    "micros": (
        ("total execution time", "exec_micros", _TIME, ""),
        ("accelerator execution time", "accelerator_exec_micros", _TIME, ""),
        ("cpu execution time", "cpu_exec_micros", _TIME, ""),
    ),
    "accelerator_micros": (("accelerator execution time", "accelerator_exec_micros", _TIME, ""),),
    "cpu_micros": (("cpu execution time", "cpu_exec_micros", _TIME, ""),),
    "device": (("assigned devices", "device", "", ""),),
    "op_types": (("op types", "op_types", "", ""),),
    "occurrence": (("op count (run|defined)", "occurrence", "", ""),),
    "input_shapes": (("input shapes", "input_shapes", "", ""),),
}
_LIST_ORDER = (
    "bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
    "micros",
    "accelerator_micros",
    "cpu_micros",
    "params",
    "float_ops",
    "device",
    "op_types",
    "occurrence",
    "input_shapes",
)
_LEAST = {
    "min_bytes": "requested_bytes",
    "min_peak_bytes": "peak_bytes",
    "min_residual_bytes": "residual_bytes",
    "min_output_bytes": "output_bytes",
    "min_micros": "exec_micros",
    "min_accelerator_micros": "accelerator_exec_micros",
    "min_cpu_micros": "cpu_exec_micros",
}
_LEAST_OWN = {"min_params": "parameters", "min_float_ops": "float_ops", "min_occurrence": "run_count"}
_ORDERS = {name: columns[0][1] for name, columns in _COLUMNS.items()} | {"occurrence": "run_count"}
VIEWS = {
    "scope": "rows are name scopes, with what is in them.",
    "graph": "rows are nodes, with the nodes that they read.",
    "op": "rows are operation types, each for all nodes of it.",
    "code": "rows are lines of the program, each for all nodes that it built.",
}


def _written(value: int, form: str) -> str:
    steps = {
        _COUNT: ((10**9, "b"), (10**6, "m"), (10**3, "k"), (1, "")),
        _TIME: ((10**6, "sec"), (10**3, "ms"), (1, "us")),
        _BYTES: ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B")),
    }[form]
    for size, unit in steps:
        if size == 1:
            return f"{value}{unit}"
        if value >= size:
            return f"{value / size:.2f}{unit}"
    raise AssertionError("the last step has size 1")


def _columns(options: Mapping[str, Any], order: Sequence[str]) -> list[tuple[str, str, str, str]]:
    chosen = set(options["select"])
    if "micros" in chosen:
        chosen -= {"accelerator_micros", "cpu_micros"}
    return [column for name in order if name in chosen for column in _COLUMNS[name]]


def _legend(options: Mapping[str, Any], order: Sequence[str]) -> str:
    titles = [title for title, _, _, _ in _columns(options, order)]
    return f"node name | {' | '.join(titles)}\n"


def _shown(row: Counted, options: Mapping[str, Any], depth: int, own: bool) -> bool:
    if row.name == ROOT:
        return True
    least = [(row.total, _LEAST), (row.own if own else row.total, _LEAST_OWN)]
    if not own:
        least[1] = (row.total, {k: v for k, v in _LEAST_OWN.items() if k != "min_occurrence"})
    for values, limits in least:
        if any(values.get(key, 0) < options.get(option, 0) for option, key in limits.items()):
            return False
    if depth > options["max_depth"] or not matches(options["show_name_regexes"], row.name):
        return False
    return not any(matches([expression], row.name) for expression in options["hide_name_regexes"])


def _ordered(rows: list[Counted], options: Mapping[str, Any], *, total: bool) -> list[Counted]:
    by = options["order_by"]
    if by == "name":
        return rows
    key = _ORDERS[by]
    return sorted(rows, key=lambda row: -(row.total if total else row.own).get(key, 0))


# -- trees -----------------------------------------------------------------------------------------


def tree_view(view: str, nodes: Mapping[str, Node], options: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the root of a profile by scope or by inputs, and its text.

    Args:
        view: ``scope`` or ``graph``.
        nodes: the nodes, by name.
        options: see ``ProfileOptionBuilder``.
    """
    rows, tops = (_by_scope if view == "scope" else _by_inputs)(nodes, options["step"])
    counted = _accounted(tops, rows, options, view == "scope", set())
    root = Counted(ROOT, {}, None)
    root.account = False
    tops_below = _searched(counted, options["start_name_regexes"], set())
    root.add_up(counted, itself=False)
    root.below = tops_below
    text: list[str] = []
    (shown,) = _printed([root], options, 1, 0, set())
    _lines(shown, options, 0, text)
    return shown.message("GraphNodeProto"), _legend(options, list(_COLUMNS)) + "".join(text)


def _by_scope(nodes: Mapping[str, Node], step: int) -> tuple[dict[str, tuple[Counted, list[str]]], list[str]]:
    names = set(nodes)
    for name in nodes:
        while "/" in name:
            name = name.rpartition("/")[0]
            names.add(name)
    rows: dict[str, tuple[Counted, list[str]]] = {}
    for name in sorted(names):
        node = nodes.get(name) or Node(name)
        rows[name] = (Counted(name, node.values(step), node), [])
        above = name.rpartition("/")[0]
        if above:
            rows[above][1].append(name)
    return rows, [name for name in rows if "/" not in name]


def _by_inputs(nodes: Mapping[str, Node], step: int) -> tuple[dict[str, tuple[Counted, list[str]]], list[str]]:
    rows = {
        name: (
            Counted(name, nodes[name].values(step), nodes[name]),
            [each for each in nodes[name].inputs if each in nodes],
        )
        for name in sorted(nodes)
    }
    read = {each for _, inputs in rows.values() for each in inputs}
    return rows, [name for name in rows if name not in read]


def _accounted(
    names: Sequence[str],
    rows: Mapping[str, tuple[Counted, list[str]]],
    options: Mapping[str, Any],
    keeps: bool,
    seen: set[str],
) -> list[Counted]:
    """Return the rows that count; ``keeps`` those, too, which have such below them."""
    accounted: list[Counted] = []
    for name in names:
        if name in seen:
            continue
        seen.add(name)
        row, inner = rows[name]
        below = _accounted(inner, rows, options, keeps, seen)
        types = row.node.types if row.node else set()
        row.account = options["account_type_regexes"] == [".*"] or any(
            matches(options["account_type_regexes"], each) for each in types
        )
        if row.account or (keeps and below):
            row.below = below
            row.add_up(below)
            accounted.append(row)
        else:
            accounted += below
    return accounted


def _searched(rows: Sequence[Counted], expressions: Sequence[str], seen: set[str]) -> list[Counted]:
    """Return the rows from which on a tree is shown."""
    if list(expressions) == [".*"]:
        return list(rows)
    matching: list[Counted] = []
    for row in rows:
        if row.name in seen:
            continue
        seen.add(row.name)
        if matches(expressions, row.name):
            matching.append(row)
        else:
            matching += _searched(row.below, expressions, seen)
    return matching


def _printed(
    rows: Sequence[Counted], options: Mapping[str, Any], depth: int, indent: int, seen: set[str]
) -> list[Counted]:
    """Return the rows that are shown, with those below them that are."""
    printed: list[Counted] = []
    for row in rows:
        if row.name in seen:
            continue
        seen.add(row.name)
        visible = _shown(row, options, depth, own=True)
        below: list[Counted] = []
        trims = options["trim_name_regexes"] and matches(options["trim_name_regexes"], row.name)
        if not trims and depth <= options["max_depth"]:
            below = _printed(row.below, options, depth + 1, indent + 2 * visible, seen)
        if not visible:
            printed += below
            continue
        row.below = below
        if options["account_displayed_op_only"]:
            row.add_up(below)
        row.below = _ordered(below, options, total=True)
        printed.append(row)
    return printed


def _lines(row: Counted, options: Mapping[str, Any], indent: int, text: list[str]) -> None:
    parts = [part for column in _columns(options, list(_COLUMNS)) for part in _cells(row, column)]
    text.append(f"{' ' * indent}{row.name} ({', '.join(parts)})\n")
    for each in row.below:
        _lines(each, options, indent + 2, text)


def _cells(row: Counted, column: tuple[str, str, str, str]) -> list[str]:
    """Return the text of a column, with the shape before the number of parameters."""
    _, key, form, unit = column
    types = row.node.types if row.node else set()
    if key == "device":
        return ["|".join(sorted(each for each in types if "device:" in each))]
    if key == "op_types":
        return ["|".join(sorted(types))]
    if key == "occurrence":
        run = str(row.own.get("run_count", 0)) if row.account else "--"
        count = "1" if row.account else "--"
        return [f"{run}/{row.total['run_count']}|{count}/{row.definitions}"]
    if key == "input_shapes":
        return [""]
    shape = "x".join(map(str, row.node.shape)) if row.node and key == "parameters" else ""
    own = _written(row.own.get(key, 0), form) if row.account else "--"
    number = f"{own}/{_written(row.total[key], form)}{unit}"
    return [shape, number] if shape else [number]


# -- lists -----------------------------------------------------------------------------------------


def list_view(view: str, nodes: Mapping[str, Node], options: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the root of a profile by operation type or by line, and its text; see ``tree_view``."""
    of: Callable[[Node], str] = (lambda n: n.op) if view == "op" else (lambda n: n.line)
    groups: dict[str, list[Counted]] = {}
    for name in sorted(nodes):
        node = nodes[name]
        if not of(node):
            continue
        counts = options["account_type_regexes"] == [".*"] or any(
            matches(options["account_type_regexes"], each) for each in node.types
        )
        if counts:
            member = Counted(name, node.values(options["step"]), node)
            member.add_up(())
            groups.setdefault(of(node), []).append(member)
    rows = []
    for name in sorted(groups):
        row = Counted(name, {}, None)
        row.members = groups[name]
        row.add_up(row.members, itself=False)
        row.own = dict(row.total)
        rows.append(row)
    rows = _ordered(rows, options, total=False)
    _sum_from_behind(rows)
    start = 0
    if options["start_name_regexes"] != [".*"]:
        hits = [matches(options["start_name_regexes"], row.name) for row in rows]
        start = hits.index(True) if True in hits else len(rows)
    visible: list[Counted] = []
    for depth, row in enumerate(rows[start:]):
        if matches(options["trim_name_regexes"], row.name) or depth > options["max_depth"]:
            break
        if len(row.members) >= options.get("min_occurrence", 0) and _shown(row, options, depth, own=False):
            visible.append(row)
    if options["account_displayed_op_only"]:
        _sum_from_behind(visible)
    root = Counted(ROOT, {}, None)
    root.add_up((visible if options["account_displayed_op_only"] else rows)[:1], itself=False)
    text = "".join(_list_line(row, root, options) for row in visible)
    # Each row is below the one before it.
    above = root
    for row in visible:
        above.below = [row]
        above = row
    return root.message("MultiGraphNodeProto"), _legend(options, _LIST_ORDER) + text


def _sum_from_behind(rows: Sequence[Counted]) -> None:
    behind: list[Counted] = []
    for row in reversed(rows):
        row.add_up(behind)
        behind = [row]


def _list_line(row: Counted, root: Counted, options: Mapping[str, Any]) -> str:
    parts = []
    for _, key, form, unit in _columns(options, _LIST_ORDER):
        if key == "device":
            kinds = {t for m in row.members if m.node for t in m.node.types if "device:" in t}
            parts.append("|".join(sorted(kinds)))
        elif key == "op_types":
            kinds = {t for m in row.members if m.node for t in m.node.types}
            parts.append("|".join(sorted(kinds)))
        elif key == "occurrence":
            runs = sum(member.own["run_count"] for member in row.members)
            parts.append(f"{runs}|{len(row.members)}".rjust(10))
        elif form:
            own, behind, whole = row.own.get(key, 0), row.total[key], root.total[key]
            shares = (100 * behind / whole, 100 * own / whole) if whole and own else (0.0, 0.0)
            if whole and key in ("parameters", "float_ops"):
                shares = (100 * behind / whole, 100 * own / whole)
            unit = " float_ops" if key == "float_ops" else unit
            said = f"{_written(own, form)}{unit} ({shares[0]:.2f}%, {shares[1]:.2f}%)"
            parts.append(said.rjust(30))
    return f"{row.name:<25}{', '.join(parts)}\n"
