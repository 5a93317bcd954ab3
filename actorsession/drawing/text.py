"""Tables, quantities and short names as text, for terminals and for what ``repr`` shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from actorsession.terminal_text import visible

__all__ = ["byte_size", "device_label", "duration", "fit", "percent", "table"]

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def table(rows: Iterable[Sequence[object]], names: int = 1, indent: str = "") -> list[str]:
    """Return the lines of a table; a row may be shorter than others.

    Args:
        rows: the cells, headings first if there are any.
        names: how many columns are aligned to the left; the others have numbers.
        indent: what all lines begin with.
    """
    cells = [[visible(str(cell)) for cell in row] for row in rows]
    columns = max(map(len, cells), default=0)
    widths = [max(len(row[column]) for row in cells if column < len(row)) for column in range(columns)]
    return [
        (
            indent
            + "  ".join(
                cell.ljust(widths[column]) if column < names else cell.rjust(widths[column])
                for column, cell in enumerate(row)
            )
        ).rstrip()
        for row in cells
    ]


def fit(text: str, most: int) -> str:
    """Return a visible text of limited length, of a longer one both ends, which tell names apart."""
    text = visible(text)
    if len(text) <= most:
        return text
    end = (most - 1) * 2 // 3
    return f"{text[: most - 1 - end]}…{text[-end:]}"


def byte_size(nbytes: float) -> str:
    """Return a number of bytes in the unit in which it is below 1,024."""
    size = float(nbytes)
    unit = 0
    while abs(size) >= 1023.5 and unit < len(_UNITS) - 1:
        size /= 1024
        unit += 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 or size >= 99.95 else f"{size:.1f} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """Return a length of time with three digits, in the unit in which it is at least 1."""
    if abs(seconds) >= 999.5:
        return f"{seconds:.0f} s"
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if abs(seconds) * factor >= 0.9995:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def percent(part: float, whole: float) -> str:
    """Return a part as a percentage; "-" of nothing."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


def device_label(device_or_task: str) -> str:
    """Return the name of a task or device without what is the same everywhere: ``worker/0``, ``worker/0 CPU:1``."""
    parts = dict(part.partition(":")[::2] for part in device_or_task.strip("/").split("/"))
    job, task, device = parts.get("job", ""), parts.get("task", ""), parts.get("device", "")
    if not job or not task:
        return device_or_task
    return f"{job}/{task} {device}" if device and device != "CPU:0" else f"{job}/{task}"
