"""What is in a file of a model: a graph, a saved model, a checkpoint, records or events.

``inspect`` recognises a file by its content and returns what is in it as plain data, which ``json`` takes.
Nothing is built or run, so graphs with operation types that are missing here can be inspected too. The
command line prints it.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from actorsession.checkpoints.atomic import read_regular
from actorsession.checkpoints.reader import BUNDLE_SUFFIX, CheckpointReader, checkpoint_exists
from actorsession.checkpoints.safetensors import SUFFIX
from actorsession.checkpoints.seals import open_message, open_text
from actorsession.checkpoints.sharded import INDEX_SUFFIX
from actorsession.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError, OpError
from actorsession.graph.node import GraphDef as PlainGraphDef
from actorsession.interop import protos, text_format
from actorsession.interop.enums import dtype_of, label_of
from actorsession.interop.event_protos import Event
from actorsession.interop.example_protos import Example, SequenceExample
from actorsession.interop.exporter import graph_def_of
from actorsession.interop.import_plan import missing_types
from actorsession.interop.message import Message
from actorsession.interop.meta_protos import AssetFileDef, TensorInfo
from actorsession.interop.saved_models import FILENAME as SAVED_MODEL
from actorsession.interop.saved_models import TEXT_FILENAME as SAVED_MODEL_TEXT
from actorsession.interop.saved_models import SavedModel, flat_tensors, read_saved_model
from actorsession.interop.tensors import make_ndarray
from actorsession.opsets.parsing.record_frames import HEADER, size_of
from actorsession.opsets.parsing.records import RecordReader
from actorsession.records import dataclass
from actorsession.train.checkpoint_state import latest_checkpoint

__all__ = ["GraphFile", "inspect", "read_graph", "read_value"]

M = TypeVar("M", bound=Message)
_Model = SavedModel | protos.MetaGraphDef | protos.GraphDef

_PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
# What nobody reads although it is no result of the graph.
_NO_RESULTS = frozenset(
    {
        "Assert",
        "Assign",
        "AssignVariableOp",
        "Const",
        "NoOp",
        "Placeholder",
        "RestoreV2",
        "SaveV2",
        "IsVariableInitialized",
        "VarHandleOp",
        "VarIsInitializedOp",
    }
)
_DATA = ".data-"
# The nodes of a saver, whose inputs and outputs are not those of the model.
_SAVER = re.compile(r"save(_\d+)?/")
_GRAPHS = "a graph, meta graph or saved model"
_VALID = "a graph, meta graph, saved model, checkpoint, file of records or of events, or a folder of these"


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what is in a file, in a folder, or in the files of a checkpoint.

    Args:
        path: the file or folder, or the prefix of a checkpoint.

    Returns:
        Plain data: ``path``, ``kind``, and what there is to say of that kind.

    Raises:
        NotFoundError: if there is nothing.
        InvalidArgumentError: if it is of no known kind.
        DataLossError: if it is damaged.
        OSError: if it cannot be read.
    """
    name = os.fsdecode(path)
    if os.path.isdir(name):
        return _folder(name)
    prefix = _prefix_of(name)
    if prefix is not None:
        return _checkpoint(prefix)
    if not os.path.lexists(name):
        raise NotFoundError(f"{name!r} does not exist; expected {_VALID}")
    compression = _compression_of_records(name)
    if compression is not None:
        return _records(name, compression)
    return _message(name)


@dataclass(frozen=True, slots=True)
class GraphFile:
    """The graph in a file.

    Attributes:
        graph_def: the graph.
        signatures: what a saved model or meta graph names of it.
    """

    graph_def: protos.GraphDef
    signatures: Mapping[str, Any]


def read_graph(path: str | os.PathLike[str], tags: Iterable[str] | None = None) -> GraphFile:
    """Return the graph of a graph file, meta graph or saved model.

    Args:
        path: the file, or the folder of a saved model.
        tags: of the graph in a saved model; the first of several if left out.

    Raises:
        NotFoundError: if there is no such file.
        InvalidArgumentError: if it holds no graph, or none with these tags.
        DataLossError: if it is damaged.
        OSError: if it cannot be read.
    """
    name = os.fsdecode(path)
    if not os.path.lexists(name):
        raise NotFoundError(f"{name!r} does not exist; expected {_GRAPHS}")
    if os.path.isdir(name) and not _has_saved_model(name):
        raise InvalidArgumentError(f"there is no saved model in the folder {name!r}; expected {_GRAPHS}")
    model = read_saved_model(name) if os.path.isdir(name) else _parsed(name)
    if isinstance(model, protos.GraphDef):
        return GraphFile(model, {})
    if isinstance(model, SavedModel):
        asked = None if tags is None else set(tags)
        tagged = [each for each in model.meta_graphs if asked in (None, set(each.meta_info_def.tags))]
        if not tagged:
            known = "; ".join(",".join(each.meta_info_def.tags) for each in model.meta_graphs)
            raise InvalidArgumentError(f"{name!r} has no graph with these tags; it has {known or 'none'}")
        model = tagged[0]
    return GraphFile(model.graph_def, dict(model.signature_def.items()))


def read_value(path: str | os.PathLike[str], name: str) -> Any:
    """Return one value of what ``inspect`` inspects, as an array.

    Args:
        path: as for ``inspect``.
        name: of a tensor in a checkpoint, or of a constant in a graph.

    Raises:
        NotFoundError: if there is none of that name.
        InvalidArgumentError: if the file holds no values by name.
    """
    place = os.fsdecode(path)
    prefix = _prefix_of(place)
    if prefix is None and os.path.isdir(place):
        prefix = latest_checkpoint(place)
        if _has_saved_model(place):
            prefix = _prefix_of(os.path.join(place, "variables", "variables"))
    if prefix is not None:
        with CheckpointReader(prefix) as reader:
            return reader.read(name)
    if os.path.isdir(place) or _compression_of_records(place) is not None:
        raise InvalidArgumentError(
            f"{place!r} holds no values by name; a checkpoint does, a graph with constants, and a saved model"
        )
    model = _parsed(place)
    for graph in _graphs_of(model):
        for node in graph.node:
            if node.name == name and node.op == "Const":
                return make_ndarray(node.attr["value"].tensor)
    raise NotFoundError(f"{place!r} has no constant {name!r}")


# -- files ---------------------------------------------------------------------------------------


def _folder(name: str) -> dict[str, Any]:
    if _has_saved_model(name):
        return _saved_model(name, read_saved_model(name))
    prefix = latest_checkpoint(name)
    if prefix is not None:
        return _checkpoint(prefix)
    inside = sorted(os.listdir(name))
    prefixes = dict.fromkeys(prefix for each in inside if (prefix := _prefix_of(os.path.join(name, each))) is not None)
    files = [os.path.join(name, each) for each in inside if ".tfevents." in each]
    contents = [*map(_checkpoint, prefixes), *map(inspect, files)]
    if not contents:
        raise InvalidArgumentError(f"there is nothing known in the folder {name!r}; expected {_VALID}")
    return contents[0] if len(contents) == 1 else {"path": name, "kind": "folder", "contents": contents}


def _has_saved_model(folder: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, n)) for n in (SAVED_MODEL, SAVED_MODEL_TEXT))


def _prefix_of(name: str) -> str | None:
    """Return the prefix of the checkpoint that a file belongs to, or that a name is."""
    beginnings = [name]
    suffixes = [each for each in (BUNDLE_SUFFIX, SUFFIX, INDEX_SUFFIX) if name.endswith(each)]
    beginnings += map(name.removesuffix, suffixes)
    if _DATA in os.path.basename(name):
        beginnings.append(name.rpartition(_DATA)[0])
    if os.path.isfile(name):
        del beginnings[0]
    return next((each for each in reversed(beginnings) if checkpoint_exists(each)), None)


def _checkpoint(prefix: str) -> dict[str, Any]:
    with CheckpointReader(prefix) as reader:
        entries = sorted(reader.entries.items())
    return {
        "path": prefix,
        "kind": "checkpoint",
        "elements": sum([math.prod(entry.shape) for _, entry in entries]),
        "tensors": [{"name": name, "dtype": entry.stored, "shape": list(entry.shape)} for name, entry in entries],
    }


def _compression_of_records(name: str) -> str | None:
    """Return how the records of a file are compressed; ``None`` if it holds none."""
    for compression in ("", "GZIP", "ZLIB"):
        with contextlib.suppress(DataLossError, FailedPreconditionError):
            with RecordReader(name, compression) as reader:
                head = reader._bytes.read(HEADER)
                if len(head) == HEADER and size_of(head) is not None:
                    return compression
    return None


def _records(name: str, compression: str) -> dict[str, Any]:
    with RecordReader(name, compression) as reader:
        first = next(reader, b"")
        event = _of(Event, first)
        if event is not None and event.file_version.startswith("brain.Event"):
            return _events(name, reader)
        count, size = 1, len(first)
        for record in reader:
            count += 1
            size += len(record)
    features = _features(first)
    return {
        "path": name,
        "kind": "records",
        "compression": compression or "none",
        "records": count,
        "bytes": size,
        **({} if features is None else {"first_record": features}),
    }


def _of(kind: type[M], content: bytes) -> M | None:
    """Return a message of bytes, if they can be one whose fields are all known."""
    with contextlib.suppress(DataLossError):
        message = kind.FromString(content)
        return None if message._unknown else message
    return None


def _features(record: bytes) -> list[dict[str, Any]] | None:
    """Return the features of an ``Example`` or ``SequenceExample``; ``None`` for another record."""
    sequence = _of(SequenceExample, record)
    if sequence is not None and sequence.feature_lists.feature_list:
        steps = sequence.feature_lists.feature_list
        return [
            *_rows(sequence.context.feature.items()),
            *({"name": name, "steps": len(steps[name].feature)} for name in sorted(steps)),
        ]
    example = _of(Example, record)
    return None if example is None else _rows(example.features.feature.items()) or None


def _rows(features: Iterable[tuple[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for name, feature in sorted(features):
        kind = feature.WhichOneof("kind")
        values = [] if kind is None else getattr(feature, kind).value
        rows.append({"name": name, "type": kind, "values": len(values)})
    return rows


def _events(name: str, records: Iterator[bytes]) -> dict[str, Any]:
    """Return what follows the first event of a file."""
    tags: dict[tuple[str, str], list[int]] = {}
    count, graphs = 1, 0
    for record in records:
        event = Event.FromString(record)
        count += 1
        graphs += event.WhichOneof("what") in ("graph_def", "meta_graph_def")
        for value in event.summary.value if event.WhichOneof("what") == "summary" else ():
            kind = value.WhichOneof("value") or "none"
            tags.setdefault((value.tag, kind), []).append(event.step)
    return {
        "path": name,
        "kind": "events",
        "events": count,
        "graphs": graphs,
        "tags": [
            {"tag": tag, "type": kind, "values": len(steps), "first_step": min(steps), "last_step": max(steps)}
            for (tag, kind), steps in sorted(tags.items())
        ],
    }


# -- messages ------------------------------------------------------------------------------------


def _message(name: str) -> dict[str, Any]:
    model = _parsed(name)
    if isinstance(model, SavedModel):
        return _saved_model(name, model)
    if isinstance(model, protos.MetaGraphDef):
        return {"path": name, "kind": "meta graph", **_meta_graph(model)}
    return {"path": name, "kind": "graph", **_graph(model)}


def _graphs_of(model: _Model) -> list[protos.GraphDef]:
    if isinstance(model, SavedModel):
        return [each.graph_def for each in model.meta_graphs]
    return [model.graph_def if isinstance(model, protos.MetaGraphDef) else model]


def _parsed(name: str) -> _Model:
    """Return the graph, meta graph or saved model in a file, whichever it is."""
    content = read_regular(name)
    with contextlib.suppress(OpError, ValueError):
        return graph_def_of(PlainGraphDef.from_bytes(content))  # this library's own form
    plain = open_message(content, name)
    model = _first(lambda kind: kind.FromString(plain))
    if model is None:
        text = open_text(content, name)
        model = _first(lambda kind: text_format.Parse(text, kind()))
    if model is None:
        raise InvalidArgumentError(f"{name!r} is of no known kind; expected {_VALID}")
    return model


def _first(read: Callable[[type[Any]], Any]) -> _Model | None:
    """Return the first message that a content can be; other kinds find none of their parts in it."""
    for kind in (SavedModel, protos.MetaGraphDef, protos.GraphDef):
        with contextlib.suppress(DataLossError, InvalidArgumentError, ValueError):
            message: _Model = read(kind)
            if any(n.name and n.op for graph in _graphs_of(message) for n in graph.node):
                return message
    return None


def _saved_model(name: str, model: SavedModel) -> dict[str, Any]:
    folder = Path(name) if os.path.isdir(name) else Path(name).parent
    description: dict[str, Any] = {
        "path": name,
        "kind": "saved model",
        "graphs": [{"tags": list(each.meta_info_def.tags), **_meta_graph(each)} for each in model.meta_graphs],
    }
    prefix = str(folder / "variables" / "variables")
    if checkpoint_exists(prefix):
        description["values"] = _checkpoint(prefix)
    return description


def _meta_graph(model: protos.MetaGraphDef) -> dict[str, Any]:
    signatures = {
        key: {
            "method": signature.method_name,
            "inputs": _tensors(signature.inputs),
            "outputs": _tensors(signature.outputs),
        }
        for key, signature in sorted(model.signature_def.items())
        if key != "__saved_model_init_op"
    }
    collections = [{"name": key, "items": _items(c)} for key, c in sorted(model.collection_def.items())]
    assets = [each.filename for each in model.asset_file_def] or [
        AssetFileDef.FromString(each.value).filename
        for each in (
            model.collection_def["saved_model_assets"].any_list.value
            if "saved_model_assets" in model.collection_def
            else ()
        )
    ]
    written = model.meta_info_def.tensorflow_version
    return {
        **({"written_by": written} if written else {}),
        **({"signatures": signatures} if signatures else {}),
        **({"assets": assets} if assets else {}),
        **({"collections": collections} if collections else {}),
        **_graph(model.graph_def),
    }


def _items(collection: Any) -> int:
    kind = collection.WhichOneof("kind")
    return 0 if kind is None else len(getattr(collection, kind).value)


def _tensors(infos: Mapping[str, TensorInfo]) -> list[dict[str, Any]]:
    return [
        {"name": key, "dtype": _dtype(info.dtype), "shape": _shape(info.tensor_shape), "tensor": info.name}
        for key, info in flat_tensors(infos).items()
    ]


def _graph(graph: protos.GraphDef) -> dict[str, Any]:
    functions = graph.library.function
    nodes = [*graph.node, *(node for function in functions for node in function.node_def)]
    types = Counter(node.op for node in nodes)
    for function in functions:
        types.pop(function.signature.name, None)  # a call
    model = [node for node in graph.node if not _SAVER.match(node.name)]
    read = {text.removeprefix("^").partition(":")[0] for node in graph.node for text in node.input}
    constants = [node.attr["value"].tensor for node in nodes if node.op == "Const"]
    missing = missing_types(types.elements())
    return {
        "nodes": len(graph.node),
        "functions": len(functions),
        "producer": graph.versions.producer,
        "inputs": [_row(node) for node in model if node.op in _PLACEHOLDERS],
        "outputs": [
            {"name": node.name, "type": node.op}
            for node in model
            if node.name not in read and node.op not in _NO_RESULTS
        ],
        "variables": [_row(node) for node in graph.node if node.op in _VARIABLES],
        "constants": {"number": len(constants), "bytes": sum(len(t.tensor_content) for t in constants)},
        "op_types": dict(types.most_common()),
        "missing_op_types": dict(missing.most_common()),
    }


def _row(node: protos.NodeDef) -> dict[str, Any]:
    attrs = node.attr
    shape = _shape(attrs["shape"].shape) if "shape" in attrs else None
    return {"name": node.name, "dtype": _dtype(attrs["dtype"].type), "shape": shape}


def _dtype(number: int) -> str:
    with contextlib.suppress(ValueError):
        return dtype_of(number).name
    return label_of("DataType", number) or str(number)


def _shape(shape: protos.TensorShapeProto) -> list[int] | None:
    """Return the sizes of a shape, -1 for unknown ones; ``None`` for an unknown rank."""
    return None if shape.unknown_rank else [dim.size for dim in shape.dim]
