"""``actorsession explain``: what a step of a graph in a file would do."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import SUCCESS, UsageError, given, print_line, raw
from actorsession.whole_numbers import is_index

if TYPE_CHECKING:
    from actorsession.graph.graph import Graph
    from actorsession.graph.node import NodeDef
    from actorsession.plan.explain.explanation import Explanation

__all__ = ["add_to"]

_EPILOG = """\
Nothing runs. FILE is a graph or meta graph in binary or text form, or a saved model, as for "inspect". Devices that the
graph asks for count as there: their tasks are those of an imagined cluster. A feed may say the shape of its value, so
that sizes are known: --feed images=32,784. Of a saved model --signature fetches and feeds what a signature names.

exit status: 0 success; 1 the file cannot be read; 2 invalid arguments.
"""
_DEFAULT = "serving_default"


def _text(explanation: Explanation) -> str:
    return str(explanation)


def _html(explanation: Explanation) -> str:
    from actorsession.plan.explain.picture import html_document

    return html_document(explanation)


_FORMATS: Mapping[str, Callable[[Explanation], str]] = {
    "text": _text,
    "json": lambda explanation: explanation.to_json(),
    "dot": lambda explanation: explanation.to_dot(),
    "svg": lambda explanation: explanation.to_svg(),
    "html": _html,
}


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "explain",
        help="show what a step of a graph or saved model would do",
        description="Show what a step would do: what runs where and why, what is sent, what would make it slow.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("path", metavar="FILE", help="a graph, meta graph or saved model")
    parser.add_argument(
        "--fetch",
        metavar="NAME",
        action="append",
        dest="fetches",
        default=[],
        help="a tensor to fetch, or an operation to run; may be given several times",
    )
    parser.add_argument(
        "--feed",
        metavar="NAME[=SHAPE]",
        action="append",
        dest="feeds",
        default=[],
        help="a tensor that is fed, with the sizes of its value; may be given several times",
    )
    parser.add_argument(
        "--signature", metavar="NAME", help=f"a signature of a saved model (default: {_DEFAULT}, without --fetch)"
    )
    parser.add_argument("--tags", metavar="TAGS", help="the tags of the graph in a saved model, with commas between")
    parser.add_argument("--format", choices=list(_FORMATS), default="text", help="(default %(default)s)")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write to this file in place of standard output")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    explanation = _explained(options)
    text = _FORMATS[options.format](explanation)
    if options.out is not None:
        options.out.write_text(text + "\n" * (not text.endswith("\n")), encoding="utf-8")
    else:
        print_line(*text.removesuffix("\n").split("\n"))
    return SUCCESS


def _explained(options: argparse.Namespace) -> Explanation:
    from actorsession.config import ConfigProto
    from actorsession.graph.graph import Graph
    from actorsession.interop.importer import import_graph_def
    from actorsession.interop.inspection import read_graph
    from actorsession.plan.execution_state import GraphExecutionState
    from actorsession.plan.explain.explain import Circumstances, explain, plan_step
    from actorsession.plan.explain.requested_devices import requested_devices
    from actorsession.plan.signature import RunSignature

    with given("--tags"):
        content = read_graph(options.path, None if options.tags is None else options.tags.split(","))
    graph = Graph()
    with graph.as_default():
        import_graph_def(content.graph_def, name="")
    fetched, fed = _asked(options, content.signatures)
    fetches, targets = _fetched(graph, fetched)
    with given("--feed"):
        feeds = dict(_fed(graph, text) for text in fed)
    nodes = [_without_line(node) for node in graph.as_graph_def().nodes]
    state = GraphExecutionState(ConfigProto(), requested_devices(nodes), lambda: None)
    signature = RunSignature(tuple(feeds), fetches, targets)
    step = plan_step(state, signature, feeds, lambda: state.extend(nodes))
    return explain(step, Circumstances(own_fetches=len(state.devices.devices) == 1))


def _without_line(node: NodeDef) -> NodeDef:
    """Return a node without the line that has built it: that it was imported here is no line of the user's."""
    from actorsession.graph.function import FunctionDef

    attrs = {
        key: replace(value, nodes=tuple(map(_without_line, value.nodes))) if isinstance(value, FunctionDef) else value
        for key, value in node.attrs.items()
    }
    return replace(node, source="", attrs=attrs)


def _asked(options: argparse.Namespace, signatures: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names that are fetched and fed, those of a signature among them."""
    name = options.signature or (_DEFAULT if not options.fetches and _DEFAULT in signatures else None)
    if name is None:
        if not options.fetches:
            raise UsageError('--fetch: nothing is fetched; "inspect" lists the outputs of a graph')
        return options.fetches, options.feeds
    if name not in signatures:
        raise UsageError(f"--signature: there is no signature {name!r}{_near(name, signatures)}")
    from actorsession.interop.saved_models import flat_tensors

    outputs, inputs = (flat_tensors(infos) for infos in (signatures[name].outputs, signatures[name].inputs))
    # A feed that is named as an input of the signature says its shape.
    given_feeds = {text.partition("=")[0]: text for text in options.feeds}
    fed = []
    for key, info in inputs.items():
        own = next((given_feeds.pop(alias) for alias in (key, info.name) if alias in given_feeds), info.name)
        fed.append(f"{info.name}{own[own.find('=') :] if '=' in own else ''}")
    return [*options.fetches, *(info.name for info in outputs.values())], [*fed, *given_feeds.values()]


def _fetched(graph: Graph, names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tensors that are fetched and the operations that must run."""
    fetches: dict[str, None] = {}
    targets: dict[str, None] = {}
    for name in names:
        operation, colon, _ = name.partition(":")
        known = _operation(graph, operation, "--fetch")
        tensor = name if colon else f"{name}:0"
        if known.outputs and tensor not in [output.name for output in known.outputs]:
            raise UsageError(f"--fetch: {operation!r} ({known.type}) has {len(known.outputs)} outputs, not {name!r}")
        (fetches if known.outputs else targets)[tensor if known.outputs else operation] = None
    return tuple(fetches), tuple(targets)


def _operation(graph: Graph, name: str, option: str) -> Any:
    known = [operation.name for operation in graph.get_operations()]
    if name not in known:
        raise UsageError(f"{option}: there is no operation {name!r}{_near(name, known)}")
    return graph.get_operation_by_name(name)


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=3)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def _fed(graph: Graph, text: str) -> tuple[str, Any]:
    """Return the name of a fed tensor, and the type of its value."""
    from actorsession.graph.node import TensorSpec
    from actorsession.graph.shape import TensorShape

    name, equals, sizes = text.partition("=")
    operation, colon, index = name.partition(":")
    outputs: Sequence[Any] = _operation(graph, operation, "--feed").outputs
    if (colon and not is_index(index)) or int(index or 0) >= len(outputs):
        raise UsageError(f"--feed: {operation!r} has {len(outputs)} outputs, not {name!r}")
    tensor = outputs[int(index or 0)]
    if not equals:
        return tensor.name, TensorSpec(tensor.dtype, tensor.shape)
    parts = [part.strip() for part in sizes.split(",") if part.strip()]
    if not all(is_index(part) for part in parts):
        raise UsageError(f"--feed: a shape is sizes with commas between, such as 32,784, got {sizes!r}")
    return tensor.name, TensorSpec(tensor.dtype, tensor.shape.merge_with(TensorShape([int(part) for part in parts])))
