"""The tables of names of operations: current, complete, and documented."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from types import ModuleType

import pytest

import actorsession
from actorsession import GraphKeys, ops, opsets
from tests.cluster.kit import PATIENCE
from tests.cluster.script import ROOT
from tests.rows import for_each

ROOMS = {"actorsession.ops": ops, "actorsession.opsets": opsets}
MODULES = sorted(
    module.name
    for name, room in ROOMS.items()
    for module in pkgutil.walk_packages(room.__path__, f"{name}.")
    if not module.ispkg
)
SPARSE = """
    add concat cross eye matmul maximum minimum placeholder reduce_max reduce_sum reshape segment_mean segment_sum
    slice split transpose
"""
NAMESPACES = [found for name in actorsession.__all__ if isinstance(found := getattr(actorsession, name), ModuleType)]
# Names by which TensorFlow calls something else there than at its top level.
OWN_MEANING = {
    "data": {"scan"},
    "image": {"transpose"},
    "linalg": {"diag", "diag_part", "transpose"},
    "sets": {"size"},
    "sparse": set(SPARSE.split()),
    "strings": {"split"},
}


@functools.cache
def files_with() -> Counter[str]:
    """In how many files each word is."""
    return Counter(
        word
        for folder in ("actorsession", "tests")
        for path in (ROOT / folder).rglob("*.py")
        for word in set(re.findall(r"\w+", path.read_text("utf-8")))
    )


@pytest.mark.process
def test_the_stubs_and_the_table_of_op_files_are_current() -> None:
    command = [sys.executable, "-m", "scripts.generated", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("room", ROOMS)
def test_every_exported_name_exists_once(room: str) -> None:
    names = ROOMS[room].__all__
    assert (len(set(names)), [name for name in names if not hasattr(ROOMS[room], name)]) == (len(names), [])


@for_each("space", NAMESPACES, ids=lambda space: space.__name__)
def test_a_namespace_has_its_names_once_each_documented_and_the_same_as_at_the_top(space: ModuleType) -> None:
    assert sorted(set(space.__all__)) == sorted(space.__all__)
    found = {name: getattr(space, name) for name in space.__all__}
    assert [n for n, f in found.items() if not inspect.getdoc(f) and (inspect.isroutine(f) or inspect.isclass(f))] == []
    at_the_top = set(ops.__all__).intersection(found)
    others = {name for name in at_the_top if getattr(ops, name) is not found[name]}
    assert others == OWN_MEANING.get(space.__name__.rpartition(".")[2], set())


@for_each("name", MODULES)
def test_public_functions_are_exported_or_used_elsewhere(name: str) -> None:
    public = getattr(importlib.import_module(name), "__all__", [])
    assert [each for each in public if files_with()[each] < 2] == []


def test_exported_functions_are_documented_and_take_names() -> None:
    nameless = {
        "broadcast_dynamic_shape", "broadcast_static_shape",
        "sparse_reduce_max", "sparse_reduce_max_sparse", "sparse_reduce_sum", "sparse_reduce_sum_sparse",
        "sparse_reset_shape", "sparse_retain",
        "convert_to_tensor", "global_variables", "local_variables", "trainable_variables",
        "global_variables_initializer", "local_variables_initializer", "is_variable_initialized",
        "set_random_seed", "get_seed",
        "assert_variables_initialized", "fixed_size_partitioner", "get_variable_scope",
        "min_max_variable_partitioner",
        "model_variables", "moving_average_variables", "variable_axis_size_partitioner",
        "NoGradient", "NotDifferentiable", "custom_gradient", "grad_pass_through",
        "add_check_numerics_ops", "no_regularizer", "variable_creator_scope", "variable_op_scope",
    }  # fmt: skip
    exported = {name: room for room in ROOMS.values() for name in room.__all__}
    for name in set(exported) - nameless:
        found = getattr(exported[name], name)
        assert inspect.getdoc(found), name
        if inspect.isfunction(found):
            assert "name" in inspect.signature(found).parameters, name


# -- names of collections --------------------------------------------------------------------------

NAMES = {
    "ACTIVATIONS": "activations", "ASSET_FILEPATHS": "asset_filepaths", "BIASES": "biases",
    "CONCATENATED_VARIABLES": "concatenated_variables", "COND_CONTEXT": "cond_context",
    "EVAL_STEP": "eval_step", "GLOBAL_STEP": "global_step", "GLOBAL_VARIABLES": "variables",
    "INIT_OP": "init_op", "LOCAL_INIT_OP": "local_init_op", "LOCAL_RESOURCES": "local_resources",
    "LOCAL_VARIABLES": "local_variables", "LOSSES": "losses",
    "METRIC_VARIABLES": "metric_variables", "MODEL_VARIABLES": "model_variables",
    "MOVING_AVERAGE_VARIABLES": "moving_average_variables", "QUEUE_RUNNERS": "queue_runners",
    "READY_FOR_LOCAL_INIT_OP": "ready_for_local_init_op", "READY_OP": "ready_op",
    "REGULARIZATION_LOSSES": "regularization_losses", "RESOURCES": "resources",
    "SAVEABLE_OBJECTS": "saveable_objects", "SAVERS": "savers", "SUMMARIES": "summaries",
    "SUMMARY_OP": "summary_op", "TABLE_INITIALIZERS": "table_initializer",
    "TRAINABLE_RESOURCE_VARIABLES": "trainable_resource_variables",
    "TRAINABLE_VARIABLES": "trainable_variables", "TRAIN_OP": "train_op",
    "UPDATE_OPS": "update_ops", "VARIABLES": "variables", "WEIGHTS": "weights",
    "WHILE_CONTEXT": "while_context",
}  # fmt: skip


def test_every_name_is_there_and_spelt_as_in_tensorflow() -> None:
    assert {key: value for key, value in vars(GraphKeys).items() if key.isupper()} == NAMES
