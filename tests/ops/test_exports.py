"""The front of the room: all op files are imported and their public functions re-exported."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys

import pytest

from actorsession import ops

# Files that are there for other op files, or whose functions belong under ``nn``.
INNER = {
    "activations", "broadcasting", "build", "constructs", "control", "cross_entropy", "dimensions", "fills",
    "indexed_slices", "joining", "nn", "operands", "partial", "reducers", "scatter", "selection",
    "shape_operands", "softmax", "splitting", "state", "strided", "structures", "topk", "training",
}  # fmt: skip
MODULES = sorted(module.name for module in pkgutil.iter_modules(ops.__path__))
INTERNAL = {"shape_tensor"}


def test_every_op_file_is_imported_with_the_package() -> None:
    assert [m for m in MODULES if f"actorsession.ops.{m}" not in sys.modules] == []


def test_every_exported_name_exists_once() -> None:
    assert len(set(ops.__all__)) == len(ops.__all__)
    assert [name for name in ops.__all__ if not hasattr(ops, name)] == []


@pytest.mark.parametrize("name", [m for m in MODULES if m not in INNER])
def test_public_functions_are_exported_under_the_names_of_tensorflow(name: str) -> None:
    module = importlib.import_module(f"actorsession.ops.{name}")
    public = {n.removesuffix("_") for n in module.__all__} - INTERNAL
    assert public - set(ops.__all__) == set()


def test_exported_functions_are_documented_and_take_names() -> None:
    nameless = {
        "convert_to_tensor", "global_variables", "local_variables", "trainable_variables",
        "global_variables_initializer", "local_variables_initializer", "is_variable_initialized",
        "set_random_seed", "get_seed",
    }  # fmt: skip
    for name in set(ops.__all__) - nameless:
        found = getattr(ops, name)
        assert inspect.getdoc(found), name
        if inspect.isfunction(found):
            assert "name" in inspect.signature(found).parameters, name
