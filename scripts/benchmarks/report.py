"""The output of the driver: the head, a line for each row, and the list of rows."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .result import Result
from .rows import ROWS, Budget

__all__ = ["head", "line", "list_rows", "machine"]

_NAME = max(len(row.name) for row in ROWS)


def machine() -> dict[str, Any]:
    """Return a description of the machine of the measurements."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
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
    on, ours, peer, rounds = (whole[key] for key in ("machine", "ours", "peer", "rounds"))
    kernels = f"OpenBLAS kernels {ours['blas']}"
    if ours["coretype"]:
        kernels += f" (OPENBLAS_CORETYPE={ours['coretype']}, as in worker processes)"
    lines = [
        f"machine       {on['processor']}, {on['cores']} cores, {on['system']}, load {on['load']}",
        f"actorsession  {ours['version']}, Python {ours['python']}, numpy {ours['numpy']}, "
        f"{kernels}, {ours['loop']}",
    ]
    if peer is not None:
        versions = f"{peer['version']}, Python {peer['python']}, numpy {peer['numpy']}"
        lines.append(f"{peer['name']:12}  {versions}, its own kernels")
    lines += [
        f"rounds        {rounds['count']} of about {rounds['seconds']:g} s, the sides by turns; "
        "default threads",
        "",
        f"{'row':{_NAME}}  {'actorsession':>12} {'p99':>9}  {peer['name'] if peer else 'peer':>12} "
        f"{'p99':>9}  {'ratio':>6}  {'budget':>7}",
    ]
    return "\n".join(lines)


def line(result: Result) -> str:
    """Return one row of the table."""
    name, budget = f"{result.row.name:{_NAME}}", f"{_budget(result.row.budget):>7}"
    show = _bytes if result.sizes else _seconds
    (ours, peer), ratio = result.values, result.ratio
    tails = [times.p99 if times.rounds else None for times in (result.ours, result.peer)]
    text = (
        f"{name}  {show(ours):>12} {_seconds(tails[0]):>9}  {show(peer):>12} "
        f"{_seconds(tails[1]):>9}  {'-' if ratio is None else f'{ratio:.2f}':>6}  {budget}"
    )
    failed = "".join(f"\n    FAILED: {error}" for error in result.errors)
    return f"{text}  {result.verdict}".rstrip() + failed


def list_rows() -> str:
    """Return every row with its group and title."""
    return "\n".join(f"{row.name:{_NAME}}  {row.group:8} {row.title}" for row in ROWS)


def _budget(budget: Budget) -> str:
    return f"{budget.at_most:g} x" if budget.unit == "peer" else f"{budget.at_most:g} {budget.unit}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    for limit, scale, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if value < limit:
            return (
                f"{value * scale:.3g} {unit}"
                if value * scale < 100
                else f"{value * scale:.0f} {unit}"
            )
    return f"{value:.2f} s"


def _bytes(value: float | None) -> str:
    return "-" if value is None else f"{value / 1e6:.0f} MB"
