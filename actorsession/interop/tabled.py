"""Classes of messages that are made from the tables in ``schemas`` when they are first asked for.

A name is that of the message in TensorFlow, with that of the message around it before a dot, as in
"ConfigProto.Experimental". ``file_names`` says which names a file of TensorFlow describes.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from actorsession.interop import cluster_protos, event_protos, example_protos, protos
from actorsession.interop.enums import ENUMS, EnumType
from actorsession.interop.fields import MESSAGES
from actorsession.interop.message import Message
from actorsession.interop.schemas import sessions, statistics, storage

__all__ = ["file_list", "file_names", "message_class", "message_or_enum", "names_of_messages"]

# The files whose messages are classes of their own.
_FILES = {
    "example.example": "Example SequenceExample",
    "example.feature": "BytesList Feature FeatureList FeatureLists Features FloatList Int64List",
    "framework.attr_value": "AttrValue NameAttrList",
    "framework.function": "FunctionDef FunctionDefLibrary GradientDef RegisteredGradient",
    "framework.graph": "GraphDef",
    "framework.node_def": "NodeDef",
    "framework.op_def": "OpDef OpDeprecation OpList",
    "framework.resource_handle": "ResourceHandleProto",
    "framework.summary": "DataClass HistogramProto Summary SummaryDescription SummaryMetadata",
    "framework.tensor": "TensorProto VariantTensorDataProto",
    "framework.tensor_shape": "TensorShapeProto",
    "framework.types": "DataType",
    "framework.variable": "SaveSliceInfoDef VariableAggregation VariableDef VariableSynchronization",
    "framework.versions": "VersionDef",
    "protobuf.cluster": "ClusterDef JobDef",
    "protobuf.config": "RPCOptions",
    "protobuf.error_codes": "Code",
    "protobuf.meta_graph": "AssetFileDef CollectionDef MetaGraphDef SignatureDef TensorInfo",
    "protobuf.queue_runner": "QueueRunnerDef",
    "protobuf.saved_model": "SavedModel",
    "protobuf.saver": "SaverDef",
    "util.event": "Event LogMessage SessionLog SourceMetadata TaggedRunMetadata",
}
_HOLDING = (protos, cluster_protos, event_protos, example_protos)
# Modules that are imported when their message is asked for.
_MODULES = {"QueueRunnerDef": "actorsession.interop.training_protos", "SavedModel": "actorsession.interop.saved_models"}
_ENUM = re.compile(r"(\w+)=(-?\d+)")


@functools.cache
def _tables() -> tuple[Mapping[str, str], Mapping[str, list[str]]]:
    """Return the schema of each message, and the names in each file; enumerations become known."""
    schemas: dict[str, str] = {}
    files = {name: names.split() for name, names in _FILES.items()}
    file, name = "", ""
    for line in _lines():
        words = line.split()
        if words[0] == "#":
            file = words[1]
            files.setdefault(file, [])
        elif words[0] == "enum":
            own = f"{name}.{words[1]}" if line[0] == " " else words[1]
            numbers = {label: int(number) for label, number in _ENUM.findall(line)}
            ENUMS[own] = {**ENUMS.get(own, {}), **numbers}
            if own == words[1] and own not in files[file]:
                files[file].append(own)
        elif line[0] == " ":
            schemas[name] += line + "\n"
        else:
            name = words[0]
            schemas[name] = ""
            if "." not in name:
                files[file].append(name)
    return schemas, files


def _lines() -> Iterator[str]:
    for table in (sessions.TABLE, statistics.TABLE, storage.TABLE):
        yield from table.strip("\n").split("\n")


def message_class(name: str) -> type[Message]:
    """Return the class of a message.

    Raises:
        KeyError: for a name that is not that of a message.
    """
    schemas, _ = _tables()
    known = MESSAGES.get(name)
    if known is not None:
        return known
    outer = name.rpartition(".")[0]
    if outer:
        message_class(outer)
        return MESSAGES[name]
    if name in _MODULES:
        importlib.import_module(_MODULES[name])
        return MESSAGES[name]
    if name not in schemas:
        raise KeyError(f"there is no message {name!r}")
    return _new_class(name, schemas)


def _new_class(name: str, schemas: Mapping[str, str]) -> type[Message]:
    """Make the class of a message and those of the messages inside it."""
    body = {
        "SCHEMA": schemas[name],
        "__qualname__": name,
        "__module__": __name__,
        "__slots__": (),
        "__doc__": f"TensorFlow's message of this name: {', '.join(_fields(schemas[name])) or 'empty'}.",
    }
    message_type: type[Message] = type(name.rpartition(".")[2], (Message,), body)
    for enum in ENUMS:
        if enum.rpartition(".")[0] == name:
            message_type._add_enum(enum)
    for inner in schemas:
        if inner.rpartition(".")[0] == name:
            setattr(message_type, inner.rpartition(".")[2], _new_class(inner, schemas))
    return message_type


def _fields(schema: str) -> list[str]:
    return [line.split()[1] for line in schema.splitlines()]


def message_or_enum(name: str) -> Any:
    """Return the class of a message, or an enumeration, by its name.

    Raises:
        KeyError: for any other name.
    """
    _tables()
    return EnumType(name) if name in ENUMS else message_class(name)


def file_names(file: str) -> dict[str, Any]:
    """Return what a file of TensorFlow's messages holds: messages, enumerations and their values.

    Args:
        file: its name, such as ``protobuf.config``.

    Raises:
        KeyError: if there is no such file.
    """
    names: dict[str, Any] = {}
    for name in _tables()[1][file]:
        names[name] = message_or_enum(name)
        if name in ENUMS:
            names.update(ENUMS[name])
    return names


def file_list() -> list[str]:
    """Return the names of TensorFlow's files of messages, for ``file_names``."""
    return sorted(_tables()[1])


def names_of_messages() -> list[str]:
    """Return the names of all messages, made or not."""
    schemas, _ = _tables()
    return sorted({*MESSAGES, *_MODULES, *schemas})
