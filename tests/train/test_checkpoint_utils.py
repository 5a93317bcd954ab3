"""Looking into checkpoints without a session, and variables that start from one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, ops, train
from actorsession.checkpoints import save
from actorsession.errors import InvalidArgumentError, NotFoundError
from tests.train.kit import parts_of

FIXTURES = Path(__file__).parents[1] / "checkpoints" / "fixtures"
WEIGHTS = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    """A checkpoint with ``old/w``, ``old/b`` and ``step``."""
    made = str(tmp_path / "m-1")
    save(made, ["old/w", "old/b", "step"], [""] * 3, [WEIGHTS, np.array([5], np.float32), np.int64(9)])
    train.update_checkpoint_state(str(tmp_path), made)
    return made


def initial(*variables: Any) -> list[Any]:
    """The values that variables have once their initialisers have run."""
    with Session() as session:
        session.run(ops.global_variables_initializer())
        return list(session.run(list(variables)))


# -- looking ---------------------------------------------------------------------------------------


def test_a_checkpoint_is_listed_by_prefix_or_folder(prefix: str, tmp_path: Path) -> None:
    wanted = [("old/b", [1]), ("old/w", [4, 2]), ("step", [])]
    assert train.list_variables(prefix) == wanted
    assert train.list_variables(str(tmp_path)) == wanted
    np.testing.assert_array_equal(train.load_variable(str(tmp_path), "old/w"), WEIGHTS)
    assert train.load_variable(prefix, "step:0") == 9
    assert train.load_variable(str(FIXTURES / "plain"), "i64") == 7
    for reader in (train.NewCheckpointReader(prefix), train.load_checkpoint(prefix)):
        assert reader.has_tensor("step")
        assert reader.get_tensor("step") == 9
        reader.close()
    with pytest.raises(ValueError, match="has no checkpoint, or no 'checkpoint' file"):
        train.load_checkpoint(str(tmp_path))
    with pytest.raises(NotFoundError, match="there is no checkpoint"):
        train.load_checkpoint(str(tmp_path / "m"))


# -- first values ----------------------------------------------------------------------------------


def test_a_variable_starts_from_a_tensor_of_the_checkpoint(graph: Graph, prefix: str) -> None:
    w, b = ops.Variable(np.zeros((4, 2), np.float32), name="w"), ops.Variable([0.0], name="b")
    other = ops.Variable(1.0, name="other")
    train.init_from_checkpoint(prefix, {"old/w": w, "old/b": "b"})
    found = initial(w, b, other)
    np.testing.assert_array_equal(found[0], WEIGHTS)
    assert (found[1].tolist(), found[2]) == ([5], 1)
    step = ops.Variable(np.int64(0), name="step")
    train.init_from_checkpoint(prefix, {"/": "/"})
    assert initial(step) == [9]
    # Another dtype is found when the initializer runs.
    b = ops.Variable([0], name="b")
    train.init_from_checkpoint(prefix, {"old/b": b})
    with pytest.raises(InvalidArgumentError, match=r"'old/b' is float32 .* int32 is wanted here"):
        initial(b)


def test_what_starts_from_a_variable_sees_what_it_starts_from(graph: Graph, prefix: str) -> None:
    b = ops.Variable([0.0], name="b")
    train.init_from_checkpoint(prefix, {"old/b": b})
    assert initial(ops.Variable(b.initial_value * 2.0))[0].tolist() == [10]
    # Everything starts from a scope.
    b = ops.Variable([0.0], name="b")
    train.init_from_checkpoint(prefix, {"old/": "/"})
    assert initial(b)[0].tolist() == [5]


@pytest.mark.parametrize("mapping", [{"old/": "new/"}, [("old/", "new/")]], ids=["dict", "pairs"])
def test_a_scope_starts_from_a_scope(graph: Graph, prefix: str, mapping: Any) -> None:
    w = ops.Variable(np.zeros((4, 2), np.float32), name="new/w")
    b = ops.Variable([0.0], name="new/b")
    train.init_from_checkpoint(prefix, mapping)
    found = initial(w, b)
    np.testing.assert_array_equal(found[0], WEIGHTS)
    assert found[1].tolist() == [5]


@pytest.mark.parametrize("by_name", [True, False])
def test_the_parts_of_a_variable_start_from_slices(graph: Graph, prefix: str, by_name: bool) -> None:
    whole = parts_of(np.zeros_like(WEIGHTS), [0, 1, 4], "new")
    train.init_from_checkpoint(prefix, {"old/w": "new" if by_name else whole})
    np.testing.assert_array_equal(np.concatenate(initial(*whole)), WEIGHTS)


def test_a_variable_may_start_from_tensorflow(graph: Graph) -> None:
    kernel = ops.Variable(np.zeros((2, 2), np.float32), name="kernel")
    train.init_from_checkpoint(str(FIXTURES / "plain"), {"layer/": "/"})
    np.testing.assert_array_equal(initial(kernel)[0], np.ones((2, 2)))


@pytest.mark.parametrize(
    ("mapping", "match"),
    [
        ({"gone": "b"}, "has no tensor 'gone'"),
        ({"old/b": "gone"}, "no variable 'gone'"),
        ({"old/": "b"}, "a scope can only be assigned to a scope"),
        ({"old/b": "new/"}, "a scope can only be assigned to a scope"),
        ({"old/": "new/"}, "no variables in 'new/'"),
        ({"gone/": "/"}, "no tensor 'gone/b'"),
        ({"old/w": "b"}, r"'b' has shape \(1,\), but the tensor 'old/w' .* \[4, 2\]"),
    ],
    ids=range(7),
)
def test_assignments_that_make_no_sense_are_refused(graph: Graph, prefix: str, mapping: Any, match: str) -> None:
    ops.Variable([0.0], name="b")
    with pytest.raises(ValueError, match=match):
        train.init_from_checkpoint(prefix, mapping)
    assert initial(*ops.global_variables())[0].tolist() == [0]
