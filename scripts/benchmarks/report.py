"""The output of the driver: the head, a line for each row and each slope, and the list of rows."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .result import OURS, Growth, Result
from .rows import ROWS, Budget

__all__ = ["growth_lines", "head", "line", "list_rows", "machine"]

_NAME = max(len(row.name) for row in ROWS)
_TITLES = {"tensorflow": "TensorFlow", "ray": "Ray", "pyzmq": "pyzmq", "torch": "PyTorch"}


def machine() -> dict[str, Any]:
    """Return a description of the machine of the measurements."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else "unknown processor"


def head(whole: Mapping[str, Any]) -> str:
    """Return the lines above the table: versions, machine and column heads.

    Args:
        whole: the report, as it is saved, without its rows.
    """
    on, about, rounds = (whole[key] for key in ("machine", "sides", "rounds"))
    ours, peers = about[OURS], [name for name in about if name != OURS]
    kernels = f"OpenBLAS kernels {ours['blas']}"
    if ours["coretype"]:
        kernels += f" (OPENBLAS_CORETYPE={ours['coretype']}, as in worker processes)"
    lines = [
        f"machine       {on['processor']}, {on['cores']} cores, {on['system']}, load {on['load']}",
        f"actorsession  {ours['version']}, Python {ours['python']}, numpy {ours['numpy']}, {kernels}, {ours['loop']}",
    ]
    for name in peers:
        peer = about[name]
        versions = f"{peer['version']}, Python {peer['python']}, numpy {peer['numpy']}"
        lines.append(f"{_TITLES[name]:12}  {versions}")
    columns = [f"  {_TITLES[name]:>12} {'p99':>9}  {'ratio':>6}" for name in peers]
    lines += [
        f"rounds        {rounds['count']} of about {rounds['seconds']:g} s, the sides by turns; default threads",
        "",
        f"{'row':{_NAME}}  {OURS:>12} {'p99':>9}{''.join(columns)}  budget",
    ]
    return "\n".join(lines)


def line(result: Result, peers: Sequence[str]) -> str:
    """Return one row of the table.

    Args:
        result: the result of the row.
        peers: the names of the peers of this run.
    """
    show = _FORMATS[result.row.unit]
    text = f"{result.row.name:{_NAME}}"
    for name in (OURS, *peers):
        times = result.sides.get(name)
        median, p99 = (times.median, times.p99) if times is not None else (None, None)
        text += f"  {show(median):>12} {show(p99):>9}"
        if name != OURS:
            text += f"  {_ratio(result.ratio(name)):>6}"
    budgets = ", ".join(f"{_budget(budget)} {result.verdict(budget)}".rstrip() for budget in result.row.budgets)
    failed = "".join(f"\n    FAILED: {error}" for error in result.errors)
    return f"{text}  {budgets}".rstrip() + failed


def growth_lines(slopes: Sequence[Growth], peers: Sequence[str]) -> list[str]:
    """Return the table of slopes; 1 is a cost in proportion to the size, or one that does not grow."""
    if not slopes:
        return []
    names = [name for name in (OURS, *peers) if any(name in each.sides for each in slopes)]
    width = max(len(each.slope.title) for each in slopes)
    heads = "".join(f"  {_TITLES.get(name, name):>12}" for name in names)
    lines = ["", f"{'slope':{width}}{heads}  budget"]
    for each in slopes:
        figures = "".join(f"  {_ratio(each.sides.get(name)):>12}" for name in names)
        limit = each.slope.at_most
        budget = "" if limit is None else f"  {limit:g} {each.verdict}"
        lines.append(f"{each.slope.title:{width}}{figures}{budget}".rstrip())
    return lines


def list_rows() -> str:
    """Return every row with its group and title."""
    return "\n".join(f"{row.name:{_NAME}}  {row.group:10} {row.title}" for row in ROWS)


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _budget(budget: Budget) -> str:
    if budget.unit in _TITLES:
        return f"{budget.at_most:g} x {_TITLES[budget.unit]}"
    return f"{budget.at_most:g} {budget.unit}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    for limit, scale, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * scale:.3g} {unit}" if value * scale < 100 else f"{value * scale:.0f} {unit}"
    return f"{value:.2f} s"


def _bytes(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value / 1e6:.0f} MB" if value >= 10e6 else f"{value / 1e3:.1f} KB"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} %"


_FORMATS: dict[str, Callable[[float | None], str]] = {"s": _seconds, "B": _bytes, "%": _percent}
