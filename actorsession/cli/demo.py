"""``actorsession demo`` on the command line.

Cheap to import, because every command pays for it: the modules of the demo are imported when it runs, after
the handler of Ctrl-C is installed.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from pathlib import Path
from typing import Any

from actorsession.cli.console import FAILURE, SUCCESS, UsageError, fail, given, positive
from actorsession.demo.interrupt import Interrupts
from actorsession.demo.places import DEVICES, NETWORKS, PLACES

__all__ = ["add_to", "run"]


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "demo",
        help="train a model in one process, then on a cluster of processes",
        description=(
            "Train a network on handwritten digits: first in one process, then with the "
            "same graph on a cluster of processes on this machine. Print a table, and "
            "write the learning curves and a trace of one distributed step. Ctrl-C ends "
            "the demo at any time."
        ),
    )
    parser.add_argument("--data", metavar="PATH", help="an .npz file with digits (default: the bundled digits)")
    parser.add_argument(
        "--steps",
        type=positive,
        default=2000,
        metavar="N",
        help="number of training steps of each part (default %(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=positive,
        default=2,
        metavar="N",
        help="number of workers of the cluster (default %(default)s)",
    )
    parser.add_argument(
        "--on",
        choices=PLACES,
        default=PLACES[0],
        help=(
            "where the cluster runs: processes of this machine (local), or an engine that the environment "
            "names (RAY_ADDRESS, DASK_SCHEDULER_ADDRESS) or that is started here (default %(default)s)"
        ),
    )
    parser.add_argument(
        "--strategy",
        choices=["ps", "allreduce"],
        default="ps",
        help=(
            "how the workers train together: with their variables on a parameter server (ps), or each with "
            "all variables and the mean of the gradients of all (allreduce; default %(default)s)"
        ),
    )
    parser.add_argument(
        "--network",
        choices=NETWORKS,
        default=NETWORKS[0],
        help="what is trained: one hidden layer, or two convolutions (default %(default)s)",
    )
    parser.add_argument(
        "--device",
        choices=[*DEVICES],
        default="cpu",
        help="what computes: numpy, or PyTorch on the processor (the torch extra; default %(default)s)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("actorsession-demo"),
        metavar="FOLDER",
        help=("the output folder, which is created if it does not exist (default ./%(default)s)"),
    )
    parser.add_argument("--local-only", action="store_true", help="train in one process only, without a cluster")
    parser.add_argument("--no-progress", action="store_true", help="do not show progress")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the demo.

    Args:
        options: as ``add_to`` defines them.

    Returns:
        The exit code: 0 if both models are good, and after Ctrl-C; 1 if one is not, or something failed.

    Raises:
        UsageError: for invalid options.
    """
    interrupts = Interrupts()
    interrupts.install()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Lines appear as they are printed, in a log too; and no buffered line is left after Ctrl-C.
        sys.stdout.reconfigure(line_buffering=True)
    try:
        return _run(options, interrupts)
    except BaseException:
        # Whatever error ended the cancelled work, Ctrl-C was the reason.
        if not interrupts.interrupted:
            raise
        interrupts.say_goodbye()
        return SUCCESS
    finally:
        interrupts.uninstall()


def _run(options: argparse.Namespace, interrupts: Interrupts) -> int:
    from actorsession.demo.digits import load_digits
    from actorsession.demo.places import Variant
    from actorsession.demo.tour import Settings, show
    from actorsession.errors import OpError

    with given("--data"):
        digits = load_digits(options.data)
    with given("--output"):
        options.output.mkdir(parents=True, exist_ok=True)
    if not os.access(options.output, os.W_OK):
        raise UsageError(f"--output: cannot write into {options.output}")
    settings = Settings(
        steps=options.steps,
        workers=options.workers,
        variant=Variant(network=options.network, device_type=DEVICES[options.device], place=options.on),
        strategy=options.strategy,
        output=options.output,
        local_only=options.local_only,
        progress=not options.no_progress,
    )
    failed: list[str] = []
    try:
        failed = show(digits, settings, interrupts)
    except* (OpError, OSError, ImportError) as group:  # an engine may not be installed
        failed = [_first_of(group)]
    if interrupts.interrupted:  # whatever failed during cancellation
        interrupts.say_goodbye()
        return SUCCESS
    for line in failed:
        fail("demo", line)
    return FAILURE if failed else SUCCESS


def _first_of(group: BaseExceptionGroup[Any]) -> str:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)
