"""``actorsession run-model``: what a saved model answers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from actorsession.cli.console import SUCCESS, UsageError, given, raw
from actorsession.cli.inspect import print_values, sizes

__all__ = ["add_to"]

_EPILOG = """\
VALUE is JSON, such as [[1, 2]] or "text", or @FILE: a .npy file, a member of an .npz file as @FILE.npz:NAME,
or the bytes of any other file. "inspect" lists the signatures with their inputs and outputs.

exit status: 0 success; 1 the model cannot be loaded or run; 2 invalid arguments.
"""
_SERVING, _DEFAULT = "serve", "serving_default"


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "run-model",
        help="run a signature of a saved model",
        description="Run a signature of a saved model once, and show its outputs.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the saved model")
    parser.add_argument(
        "--input",
        metavar="NAME=VALUE",
        action="append",
        dest="inputs",
        default=[],
        help="the value of an input; may be given several times",
    )
    parser.add_argument("--signature", metavar="NAME", default=_DEFAULT, help="the signature (default %(default)s)")
    parser.add_argument(
        "--tags",
        metavar="TAGS",
        default=_SERVING,
        help="the tags of the graph, with commas between them (default %(default)s)",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the outputs to this .npz file")
    parser.add_argument("--json", action="store_true", help="print the outputs as one line of JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.compat.v1.contrib.predictor import from_saved_model

    with given("--input"):
        inputs = dict(map(_input, options.inputs))
    if options.output is not None and options.output.suffix != ".npz":
        raise UsageError(f"--output: expected the name of an .npz file, got {str(options.output)!r}")
    try:
        model = from_saved_model(options.folder, options.signature, tags=options.tags)
    except RuntimeError as exc:
        raise UsageError(f"--tags: {exc}") from exc
    with model.session, given("--input"):
        missing = sorted(set(model.feed_tensors) - set(inputs))
        if missing:
            needed = ", ".join(
                f"{name} ({t.dtype.name} {sizes(None if t.shape.ndims is None else t.shape.as_list())})"
                for name, t in sorted(model.feed_tensors.items())
            )
            raise UsageError(f"--input: {missing[0]!r} is missing; the inputs are {needed}")
        outputs = model(inputs)
    if options.output is not None:
        import numpy as np

        np.savez(options.output, **outputs)
    print_values(outputs, as_json=options.json)
    return SUCCESS


def _input(text: str) -> tuple[str, Any]:
    """Return the name and the value of an input."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(f"expected NAME=VALUE, got {text!r:.100}")
    if value.startswith("@"):
        return name, _read(value[1:])
    try:
        return name, json.loads(value)
    except json.JSONDecodeError as exc:
        raise ValueError(f"the value of {name!r} is neither JSON nor @FILE: {exc}") from exc


def _read(place: str) -> Any:
    """Return the value in a file."""
    import numpy as np

    path, colon, member = place.rpartition(":")
    try:
        if colon and path.endswith(".npz"):
            with np.load(path, allow_pickle=False) as held:
                if member not in held:
                    raise ValueError(f"it has no array {member!r}; it has {sorted(held)}")
                return held[member]
        if place.endswith(".npy"):
            return np.load(place, allow_pickle=False)
        return Path(place).read_bytes()
    except OSError:
        raise
    except Exception as exc:  # numpy, zipfile, zlib and tokenize have a dozen classes for damage
        raise ValueError(f"{place!r:.200} cannot be read: {exc}") from exc
