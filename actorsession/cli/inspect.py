"""``actorsession inspect``: what is in the files of models."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actorsession.cli.console import SUCCESS, print_json, print_line, raw
from actorsession.drawing import text

__all__ = ["add_to", "print_values", "sizes"]

_EPILOG = """\
Nothing is built or run. Files are recognised by their content: graphs and meta graphs in binary or text
form, saved models, checkpoints of both formats (by a file, the prefix or the folder), files of records and of
events.
Of a graph it shows inputs (placeholders), outputs (what no node reads), variables, and the operation types,
with those that are missing here; of records the features of the first; of events the tags.

exit status: 0 success; 1 the file cannot be read; 2 invalid arguments.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "inspect",
        help="show what is in a graph, saved model, checkpoint, records or events file",
        description="Show what is in the files of a model.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("path", metavar="PATH", help="a file, a folder, or the prefix of a checkpoint")
    parser.add_argument(
        "--value",
        metavar="NAME",
        action="append",
        dest="values",
        default=[],
        help="show the value of this tensor of the checkpoint, or constant of the graph; may be given several times",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.interop.inspection import inspect, read_value

    if options.values:
        print_values({name: read_value(options.path, name) for name in options.values}, as_json=options.json)
        return SUCCESS
    description = inspect(options.path)
    if options.json:
        print_json(description)
    else:
        print_line(*_lines(description))
    return SUCCESS


def _lines(description: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Yield the lines that show plain data: a line for a value, a table for rows, else an indented block."""
    for key, value in description.items():
        title = f"{indent}{key.replace('_', ' ')}:"
        if isinstance(value, Mapping) and all(isinstance(v, int) for v in value.values()):
            yield f"{title} {', '.join(f'{name} {count}' for name, count in value.items()) or 'none'}"
        elif isinstance(value, Mapping):
            yield title
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield f"{title} {len(value)}"
            if _is_table(value):
                rows = [[_cell(cell) for cell in row.values()] for row in value]
                yield from text.table(rows, max(map(len, rows)), indent + "  ")
            else:
                for item in value:
                    yield from _lines(item, indent + "  ")
        elif isinstance(value, list):
            yield f"{title} {', '.join(map(str, value)) or 'none'}"
        else:
            yield f"{title} {value}"


def _is_table(rows: list[Any]) -> bool:
    return not any(isinstance(value, (Mapping)) or _is_rows(value) for row in rows for value in row.values())


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and not isinstance(value[0], int)


def _cell(value: Any) -> str:
    return sizes(value) if value is None or isinstance(value, list) else str(value)


def sizes(shape: Sequence[int | None] | None) -> str:
    """Return a shape as text, with ``?`` for a size that is not known (``None`` or -1)."""
    if shape is None:
        return "unknown"
    return f"[{','.join('?' if size is None or size < 0 else str(size) for size in shape)}]"


def print_values(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print arrays by name, each with its type and shape, or all as one line of JSON."""
    import numpy as np

    if as_json:
        print_json({name: _plain(value) for name, value in values.items()})
        return
    for name, value in values.items():
        array = np.asarray(value)
        print_line(f"{name} {array.dtype} {sizes(array.shape)}")
        print_line(*np.array2string(array, separator=", ").split("\n"))


def _plain(value: Any) -> Any:
    """Return an array as lists; bytes in it as text, with escapes for what is none."""
    listed = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(listed, list):
        return [_plain(item) for item in listed]
    return listed.decode("utf-8", "backslashreplace") if isinstance(listed, bytes) else listed
