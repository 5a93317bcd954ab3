"""The prompt of ``LocalCLIDebugWrapperSession``: commands between runs, and what they show."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from actorsession.compat.v1.debug.runs import DebugDumpDir, empty_directory, has_inf_or_nan, watching
from actorsession.compat.v1.debug.watches import WatchOptions
from actorsession.errors import OpError
from actorsession.graph.graph import Graph
from actorsession.observe.debug import DebugTensorDatum, Predicate
from actorsession.process_bound import finalize_here

__all__ = ["Prompt"]

_PROMPT = "tfdbg> "
_HELP = """\
run (r)              run the step and show its values; -n without watching, -t N the next N steps without
                     watching, -f FILTER on until a value passes the filter
run_info (ri)        what the step fetches and feeds
print_feed (pf) T    the value that is fed for a tensor
list_tensors (lt)    the watched values; -f FILTER those that pass a filter, -n REGEX those of some nodes
print_tensor (pt) T  a value; indices in brackets may follow the name: y:0[0, :2]
node_info (ni) N     type, device, inputs and users of a node
list_inputs (li) N   its inputs
list_outputs (lo) N  its users
exit (quit, q)       end the program
"""


class _Wrong(Exception):
    """A command that cannot be carried out; the message is shown."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise _Wrong(f"{self.prog}: {message}")


class Prompt:
    """Asks before and after runs; a ``RunDebugger``.

    Args:
        ui_type: ``readline`` or ``curses``.
        dump_root: a new or empty directory for the values; a temporary one if omitted.

    Raises:
        ValueError: for another kind of interface, or a directory that is a file or not empty.
    """

    def __init__(self, ui_type: str, dump_root: str | None) -> None:
        if ui_type not in ("curses", "readline"):
            raise ValueError(f"ui_type is 'curses' or 'readline', got {ui_type!r}")
        self._keeps = dump_root is not None
        if dump_root is None:
            self._root = Path(tempfile.mkdtemp(prefix="tfdbg_"))
            finalize_here(self, shutil.rmtree, self._root, True)  # whatever is gone by then
        else:
            self._root = empty_directory(dump_root, "dump_root")
        self._filters: dict[str, Predicate] = {"has_inf_or_nan": has_inf_or_nan}
        self._count = 0
        self._unwatched = 0  # runs to come that are not watched
        self._until = ""  # the filter that a value has to pass before the prompt is shown again
        self._goes_on = False  # whether the next run was asked for after the one before
        self._graph: Graph | None = None
        self._fetches: Any = None
        self._feeds: Any = None
        self._dump: DebugDumpDir | None = None

    def add_tensor_filter(self, filter_name: str, tensor_filter: Predicate) -> None:
        """Add a filter for ``run -f`` and ``lt -f``.

        Args:
            filter_name: its name.
            tensor_filter: from the description of a value, and the value, to whether it passes.

        Raises:
            TypeError: if the name is no string, or the filter cannot be called.
            ValueError: if the name is empty.
        """
        if not isinstance(filter_name, str):
            raise TypeError(f"the name of a filter is a str, got {filter_name!r}")
        if not filter_name:
            raise ValueError("the name of a filter is not empty")
        if not callable(tensor_filter):
            raise TypeError(f"a filter is a function of a value, got {tensor_filter!r}")
        self._filters[filter_name] = tensor_filter

    # -- RunDebugger ---------------------------------------------------------------------------

    def begin(self, graph: Graph, fetches: Any, feed_dict: Any, options: Any) -> Any:
        """See ``RunDebugger.begin``."""
        self._count += 1
        self._graph, self._fetches, self._feeds, self._dump = graph, fetches, feed_dict, None
        if not self._unwatched and not self._until and not self._goes_on:
            _say(f"run {self._count} is about to begin; its fetches: {_text(fetches)}")
            self._ask()
        self._goes_on = False
        if self._unwatched:
            self._unwatched -= 1
            return None
        directory = self._root / f"run_{self._count}"
        directory.mkdir(0o700)
        return watching(options, graph, directory.as_uri(), WatchOptions())

    def end(self, error: OpError | None) -> None:
        """See ``RunDebugger.end``."""
        directory = self._root / f"run_{self._count}"
        self._dump = DebugDumpDir(str(directory))
        passed = self._until and self._dump.find(self._filters[self._until], first_n=1)
        if error is not None or passed or not self._until:
            how = f"has failed: {error.message}" if error is not None else "has ended"
            _say(f"run {self._count} {how}; {self._dump.size} values")
            if passed:
                _say(f"a value passes the filter {self._until}: {passed[0].tensor_name}")
            self._until = ""
            self._ask()
            self._goes_on = True
        if not self._keeps:
            shutil.rmtree(directory, ignore_errors=True)

    # -- commands ------------------------------------------------------------------------------

    def _ask(self) -> None:
        """Carry out commands until one lets the program go on."""
        while True:
            try:
                line = input(_PROMPT)
            except EOFError:
                line = "exit"
            try:
                words = shlex.split(line)
                if words and self._do(words[0], words[1:]):
                    return
            except (_Wrong, ValueError) as wrong:
                _say(f"ERROR: {wrong}")

    def _do(self, name: str, arguments: Sequence[str]) -> bool:
        """Carry out a command; return whether the program goes on."""
        if name in ("exit", "quit", "q"):
            sys.exit(1)
        if name in ("run", "r"):
            self._run(arguments)
            return True
        if name not in _COMMANDS:
            raise _Wrong(f"there is no command {name!r}; help lists them")
        _COMMANDS[name](self, arguments)
        return False

    def _run(self, arguments: Sequence[str]) -> None:
        parser = _Parser("run", add_help=False)
        parser.add_argument("-n", "--no_debug", action="store_true")
        parser.add_argument("-t", "--times", type=int, default=0)
        parser.add_argument("-f", "--till_filter_pass", choices=sorted(self._filters), default="")
        asked = parser.parse_args(arguments)
        self._unwatched = max(asked.times, int(asked.no_debug))
        self._until = asked.till_filter_pass

    def _show_help(self, arguments: Sequence[str]) -> None:
        _say(_HELP.rstrip())

    def _show_run(self, arguments: Sequence[str]) -> None:
        _say(f"run {self._count}; fetches: {_text(self._fetches)}; feeds: {_text(list(self._feeds or ()))}")

    def _show_feed(self, arguments: Sequence[str]) -> None:
        for tensor, value in (self._feeds or {}).items():
            if arguments and arguments[0] == getattr(tensor, "name", tensor):
                _say(f"{arguments[0]}:\n{np.asarray(value)}")
                return
        raise _Wrong(f"nothing is fed for {' '.join(arguments)!r}; run_info lists what is")

    def _list_tensors(self, arguments: Sequence[str]) -> None:
        parser = _Parser("list_tensors", add_help=False)
        parser.add_argument("-f", "--tensor_filter", choices=sorted(self._filters))
        parser.add_argument("-n", "--node_name_filter", default="")
        asked = parser.parse_args(arguments)
        data: Sequence[DebugTensorDatum] = self._values().dumped_tensor_data
        if asked.tensor_filter:
            data = self._values().find(self._filters[asked.tensor_filter])
        data = [datum for datum in data if re.match(asked.node_name_filter, datum.node_name)]
        _say(f"{len(data)} values")
        for datum in data:
            milliseconds = (datum.timestamp - self._values().t0) * 1000
            shape = ",".join(map(str, datum.shape))
            _say(f"[{milliseconds:.3f}] {datum.dtype}[{shape}] {datum.op_type} {datum.tensor_name}")

    def _print_tensor(self, arguments: Sequence[str]) -> None:
        name, bracket, indices = " ".join(arguments).partition("[")
        node, _, slot = name.strip().partition(":")
        value = self._values().get_tensors(node, int(slot or 0))[-1]
        if bracket:
            value = value[_indices(indices.removesuffix("]"))]
        _say(f"{node}:{slot or 0} {value.dtype}{list(np.shape(value))}\n{value}")

    def _show_node(self, arguments: Sequence[str]) -> None:
        op = self._node(arguments)
        _say(f"{op.name}: {op.type} on {op.device or 'no device of its own'}")
        self._list_inputs(arguments)
        self._list_users(arguments)

    def _list_inputs(self, arguments: Sequence[str]) -> None:
        op = self._node(arguments)
        _say(f"inputs: {', '.join([t.name for t in op.inputs]) or 'none'}")
        if op.control_inputs:
            _say(f"control inputs: {', '.join([other.name for other in op.control_inputs])}")

    def _list_users(self, arguments: Sequence[str]) -> None:
        op = self._node(arguments)
        users = dict.fromkeys(user.name for t in op.outputs for user in t.consumers())
        _say(f"users: {', '.join(users) or 'none'}")

    def _node(self, arguments: Sequence[str]) -> Any:
        assert self._graph is not None
        try:
            return self._graph.get_operation_by_name(" ".join(arguments).partition(":")[0])
        except KeyError as exc:
            raise _Wrong(exc.args[0]) from None

    def _values(self) -> DebugDumpDir:
        if self._dump is None:
            raise _Wrong("the run has not begun; `run` runs it")
        return self._dump


def _indices(text: str) -> Any:
    """Return the indices that are written between brackets, such as ``0, :2``."""
    indices: list[Any] = []
    for part in text.split(","):
        bounds = [int(bound) if bound.strip() else None for bound in part.split(":")]
        indices.append(slice(*bounds) if len(bounds) > 1 else bounds[0])
    return tuple(indices)


def _text(fetches: Any) -> str:
    if isinstance(fetches, (list, tuple)):
        return ", ".join(map(_text, fetches)) or "none"
    return str(getattr(fetches, "name", fetches))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


_COMMANDS: dict[str, Callable[[Prompt, Sequence[str]], None]] = {
    name: command
    for names, command in [
        ("help h", Prompt._show_help),
        ("run_info ri", Prompt._show_run),
        ("print_feed pf", Prompt._show_feed),
        ("list_tensors lt", Prompt._list_tensors),
        ("print_tensor pt", Prompt._print_tensor),
        ("node_info ni", Prompt._show_node),
        ("list_inputs li", Prompt._list_inputs),
        ("list_outputs lo", Prompt._list_users),
    ]
    for name in names.split()
}
