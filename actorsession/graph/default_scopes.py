"""Scopes of the default graph as plain functions, as TensorFlow programs write them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from actorsession.graph.device import DeviceSpec
from actorsession.graph.graph import get_default_graph
from actorsession.graph.scopes import DeviceFunction

__all__ = [
    "add_to_collection", "add_to_collections", "colocate_with", "control_dependencies", "device",
    "get_collection", "get_collection_ref", "name_scope",
]  # fmt: skip


def name_scope(name: str | None) -> AbstractContextManager[str]:
    """Call ``Graph.name_scope`` of the default graph."""
    return get_default_graph().name_scope(name)


def device(device_name: str | DeviceSpec | DeviceFunction | None) -> AbstractContextManager[Any]:
    """Call ``Graph.device`` of the default graph."""
    return get_default_graph().device(device_name)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """Call ``Graph.control_dependencies`` of the default graph."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any) -> AbstractContextManager[None]:
    """Call ``Graph.colocate_with`` of the default graph."""
    return get_default_graph().colocate_with(op)


def add_to_collection(name: str, value: Any) -> None:
    """Call ``Graph.add_to_collection`` of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Iterable[str] | str, value: Any) -> None:
    """Call ``Graph.add_to_collections`` of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """Call ``Graph.get_collection`` of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    """Call ``Graph.get_collection_ref`` of the default graph."""
    return get_default_graph().get_collection_ref(key)
