"""The side's half of the protocol with the driver: one JSON object per line in each direction.

Standard output is reserved for the protocol; output of libraries goes to standard error. The process ends
when its standard input does, so it cannot outlive the driver.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .case import Case, Effort
from .cluster_rows import ClusterRows
from .concurrent_rows import ConcurrentRows
from .files_rows import FilesRows
from .growth_rows import GrowthRows
from .install_size import installed_bytes
from .local_rows import LocalRows
from .questions import ON_TORCH, QUESTIONS, Question
from .watched_rows import WatchedRows

if TYPE_CHECKING:
    from .side_actorsession import Library

__all__ = ["Side", "builders", "serve", "take_stdout"]


def builders(library: Library, tf: Any = None, torch: Any = None) -> dict[str, Callable[[Question], Case]]:
    """Return what builds the case of each row with a library of TensorFlow's names.

    Args:
        library: the side.
        tf: the module with all names of TensorFlow 1, where it is another than the library's.
        torch: the module whose graphs are for torch's device; no rows of that group without it.
    """
    rows = (
        LocalRows(library.tf),
        ClusterRows(library),
        ConcurrentRows(library),
        GrowthRows(library),
        FilesRows(tf or library.tf),
        WatchedRows(library),
    )
    on_torch = {} if torch is None else LocalRows(torch).builders
    return {name: build for kind in rows for name, build in kind.builders.items()} | {
        f"torch-{name}": build for name, build in on_torch.items() if name in ON_TORCH
    }


class Side:
    """The requests that one side can handle.

    Args:
        distribution: the name of the distribution that the side measures, and its import packages.
        describe: returns versions and settings, by name.
        builders: the functions that build the case of a row, by the row's name.
        close: releases the resources that the rows share.
    """

    def __init__(
        self,
        distribution: tuple[str, Sequence[str]],
        describe: Callable[[], dict[str, str]],
        builders: Mapping[str, Callable[[Question], Case]],
        close: Callable[[], object],
    ) -> None:
        self._distribution = distribution
        self._describe = describe
        self._builders = builders
        self._close = close
        self._case: Case | None = None

    def do(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one request and return the reply.

        Raises:
            ValueError: for an unknown request.
            WrongAnswerError: if the row's answer is not numpy's.
        """
        what = request["do"]
        if what == "describe":
            return {"about": self._describe(), "rows": list(self._builders), "cores": _cores()}
        if what == "open":
            return self._open(request["row"])
        if what == "measure":
            assert self._case is not None, "no row is open"
            return {"times": self._case.times(Effort(request["seconds"], request["least"]))}
        if what == "close":
            self._close_case()
            return {}
        if what == "size":
            return {"bytes": installed_bytes(*self._distribution)}
        raise ValueError(f"the driver asked for {what!r}")

    def close(self) -> None:
        """Release all resources."""
        self._close_case()
        self._close()

    def _open(self, name: str) -> dict[str, Any]:
        self._close_case()
        question = QUESTIONS[name]()
        self._case = self._builders[name](question)
        question.check(self._case.answer())
        return {}

    def _close_case(self) -> None:
        case, self._case = self._case, None
        if case is not None:
            case.close()


def _cores() -> int | None:
    """Return the number of cores on which the process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def take_stdout() -> int:
    """Move standard output to a new descriptor and return it; other output goes to standard error."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    return own


def serve(side: Side, requests: Iterable[str], out: int) -> None:
    """Answer requests until they end.

    Args:
        side: the side that answers.
        requests: lines of JSON.
        out: the descriptor for the replies.
    """
    with os.fdopen(out, "w", encoding="utf-8") as replies:
        try:
            for line in requests:
                replies.write(json.dumps(_reply(side, json.loads(line))) + "\n")
                replies.flush()
        finally:
            side.close()


def _reply(side: Side, request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return side.do(request)
    except Exception as error:  # the driver reports any error; other rows may still run
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}
