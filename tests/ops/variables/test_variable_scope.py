"""Scopes of variables: names, what is entered with them, what is inherited, and where they end."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import actorsession as acts
from actorsession import AUTO_REUSE, Graph, constant, float16, float32, float64, get_variable, ops
from actorsession import variable_scope as scoped
from tests.rows import refused, refusing


def op_name() -> str:
    """The name that a node gets here."""
    return constant(1.0, name="x").op.name


# -- names -----------------------------------------------------------------------------------------


def test_a_name_entered_again_is_the_same_for_variables_and_a_new_one_for_nodes() -> None:
    with scoped("a"):
        op_name()
    with scoped("a") as again:
        assert (again.name, again.original_name_scope, op_name()) == ("a", "a_1/", "a_1/x")
        assert get_variable("w", [2]).name == "a/w:0"


def test_a_scope_entered_again_keeps_its_name_anywhere() -> None:
    with scoped("a") as first:
        pass
    with scoped("b"), scoped(first) as again:
        assert again is not first
        assert (again.name, again.original_name_scope, op_name()) == ("a", "a/", "b/a/x")
        assert get_variable("w", [2]).name == "a/w:0"


def test_without_an_auxiliary_scope_nodes_keep_the_names_around() -> None:
    with scoped("a") as first, scoped("c", auxiliary_name_scope=False) as inner:
        assert (inner.name, inner.original_name_scope, op_name()) == ("a/c", "a/", "a/x")
    with scoped(first, auxiliary_name_scope=False):
        assert op_name() == "x"


def test_scopes_of_names_do_not_name_variables(graph: Graph) -> None:
    with graph.name_scope("ns"):
        assert get_variable("v", [2]).name == "v:0"
        with scoped("vs") as scope:
            assert (scope.name, scope.original_name_scope, op_name()) == ("vs", "ns/vs/", "ns/vs/x")
        with scoped(scope):
            assert op_name() == "ns/vs_1/x"
        with scoped(acts.variables.get_variable_scope()) as root:
            assert (root.name, op_name()) == ("", "ns/x")
        with scoped(""):
            assert op_name() == "ns/x_1"


# -- default names ---------------------------------------------------------------------------------


def test_default_names_are_made_unique() -> None:
    names = []
    for _ in range(3):
        with scoped(None, "d") as scope:
            names.append((scope.name, scope.original_name_scope))
    with scoped("d_3"):
        pass
    with scoped(None, "d") as scope:
        names.append((scope.name, scope.original_name_scope))
    assert names == [("d", "d/"), ("d_1", "d_1/"), ("d_2", "d_2/"), ("d_4", "d_4/")]


def test_default_names_count_anew_each_time_the_scope_around_is_entered_by_name() -> None:
    found = []
    for _ in range(2):
        with scoped("o"):
            for _ in range(2):
                with scoped(None, "d") as scope:
                    found.append((scope.name, scope.original_name_scope))
    assert found == [("o/d", "o/d/"), ("o/d_1", "o/d_1/"), ("o/d", "o_1/d/"), ("o/d_1", "o_1/d_1/")]


def test_what_is_entered_in_a_scope_entered_again_does_not_count_outside() -> None:
    with scoped("o") as outer:
        with scoped(None, "d"):
            pass
        with scoped(outer), scoped(None, "d") as inside:
            assert inside.name == "o/d_1"
        with scoped(None, "d") as outside:
            assert outside.name == "o/d_1"


def test_a_name_wins_over_the_default_name() -> None:
    with scoped("given", "default") as scope:
        assert scope.name == "given"


def test_the_older_spelling_takes_values_first() -> None:
    with ops.variable_op_scope([constant(1.0)], None, "op") as scope:
        assert scope.name == "op"
    with ops.variable_op_scope([constant(1.0)], "given", "op", reuse=AUTO_REUSE) as scope:
        assert (scope.name, scope.reuse) == ("given", AUTO_REUSE)


def test_values_say_which_graph_is_meant() -> None:
    other = Graph()
    with other.as_default():
        value = constant(1.0)
    with scoped("a", values=[value]):
        assert get_variable("w", [2]).graph is other
        assert acts.variables.get_variable_scope().name == "a"
    assert acts.variables.get_variable_scope().name == ""


# -- what is refused -------------------------------------------------------------------------------


test_arguments_of_another_kind_are_refused = refusing(
    ({"name_or_scope": None}, TypeError, "name_or_scope or a default_name"),
    ({"name_or_scope": 3}, TypeError, "string or a VariableScope, got 3"),
    ({"name_or_scope": "a", "reuse": "x"}, ValueError, "reuse is True, False, None"),
    ({"name_or_scope": None, "default_name": "d", "reuse": True}, ValueError, "needs a name_or_scope"),
    ({"name_or_scope": "a", "auxiliary_name_scope": 3}, TypeError, "True or False, got 3"),
    of=lambda arguments: scoped(**arguments),
)


def test_a_malformed_name_or_an_error_in_the_block_leaves_no_scope_behind() -> None:
    with pytest.raises(ValueError, match="not a valid root scope name"), scoped("bad name"):
        pass
    with pytest.raises(KeyError), scoped("a"):
        raise KeyError("mine")
    refused(lambda: get_variable("w", [2], custom_getter=3), ValueError, "custom_getter is a function, got 3")  # type: ignore[arg-type]
    assert (acts.variables.get_variable_scope().name, op_name()) == ("", "x")


# -- what is inherited -----------------------------------------------------------------------------


def test_settings_are_inherited_and_replaced_one_by_one() -> None:
    ones, zeros = ops.ones_initializer(), ops.zeros_initializer()
    with scoped("a", initializer=ones, dtype=float64, constraint=ops.abs, use_resource=True):
        with scoped("b", initializer=zeros) as inner:
            assert inner.initializer is zeros
            assert inner.dtype is float64
            assert inner.constraint is ops.abs
            assert inner.use_resource is True
            v = get_variable("v", [2])
        w = get_variable("w", [2])
    assert (v.dtype, v.constraint, v.initial_value.op.type) == (float64, ops.abs, "Const")
    assert w.initial_value.name.startswith("a/w/Initializer/ones")
    assert get_variable("u", [2]).dtype is float32


def test_one_block_may_be_entered_several_times() -> None:
    block = scoped("a", reuse=AUTO_REUSE)
    found = []
    for _ in range(2):
        with block as scope:
            found.append((get_variable("w", [2]), scope.original_name_scope))
    assert found == [(found[0][0], "a/"), (found[0][0], "a_1/")]


def test_a_finalized_graph_still_shares_its_variables(graph: Graph) -> None:
    with scoped("a"):
        w = get_variable("w", [2])
    graph.finalize()
    with scoped("a", reuse=True):
        assert get_variable("w") is w
        refused(lambda: get_variable("v", [2]), ValueError, "does not exist")
    with scoped("a", reuse=AUTO_REUSE), pytest.raises(RuntimeError, match="finalized"):
        get_variable("v", [2])


def test_settings_can_be_changed_while_the_scope_is_entered() -> None:
    with scoped("a") as scope:
        scope.set_dtype(float16)
        scope.set_initializer(ops.zeros_initializer())
        scope.set_regularizer(ops.reduce_sum)
        scope.set_caching_device("/cpu:0")
        scope.set_partitioner(None)
        scope.set_custom_getter(None)
        scope.set_use_resource(False)
        v = get_variable("v", [2])
        assert (v.dtype.base_dtype, v.op.type, v.value().op.type) == (float16, "VariableV2", "Identity")
        assert (scope.use_resource, scope.partitioner) == (False, None)
    assert get_variable("v", [2]).dtype is float32


def test_a_scope_entered_again_brings_its_settings_along() -> None:
    with scoped("a", dtype=float64) as first:
        pass
    with scoped("b", dtype=float16, reuse=True), scoped(first) as again:
        assert (again.dtype, again.reuse) == (float64, False)
    with scoped(first, dtype=float16, reuse=AUTO_REUSE) as changed:
        assert (changed.dtype, changed.reuse) == (float16, AUTO_REUSE)
    assert (first.dtype, first.reuse) == (float64, False)


def test_sharing_is_inherited_and_cannot_be_taken_back() -> None:
    with scoped("a", reuse=True):
        with scoped("b", reuse=False) as inner:
            assert inner.reuse is True
        with scoped("b", reuse=AUTO_REUSE) as inner:
            assert inner.reuse is AUTO_REUSE
    with scoped("a") as again:
        assert again.reuse is False


def test_sharing_may_begin_in_the_middle_of_a_scope() -> None:
    with scoped("a") as scope:
        v = get_variable("v", [2])
        scope.reuse_variables()
        assert get_variable("v") is v
    with scoped("a") as again:
        assert again.reuse is False


def test_outside_all_scopes_settings_stay() -> None:
    v = get_variable("v", [2])
    acts.variables.get_variable_scope().reuse_variables()
    assert get_variable("v") is v
    with Graph().as_default():
        assert get_variable("v", [2]) is not v


def test_the_mode_of_making_what_is_not_there_has_a_telling_repr() -> None:
    assert repr(AUTO_REUSE) == "ReuseMode.AUTO_REUSE"
    assert repr(acts.variables.VariableScope(AUTO_REUSE, "a")) == "<VariableScope 'a' reuse=ReuseMode.AUTO_REUSE>"


# -- custom getters --------------------------------------------------------------------------------


def test_custom_getters_are_asked_from_the_inside_out() -> None:
    log: list[tuple[str, str]] = []

    def outer(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        log.append(("outer", name))
        return getter(name, *args, **kwargs)

    def inner(getter: Any, *args: Any, **kwargs: Any) -> Any:
        log.append(("inner", kwargs["name"]))
        return getter(*args, **{**kwargs, "trainable": False})

    with scoped("o", custom_getter=outer), scoped("i", custom_getter=inner):
        v = get_variable("w", [2])
        assert (v.name, v.trainable, log) == ("o/i/w:0", False, [("inner", "o/i/w"), ("outer", "o/i/w")])
        log.clear()
        get_variable("w2", [2], custom_getter=lambda getter, **kwargs: getter(**kwargs))
        assert log == []


# -- what was made in a scope ----------------------------------------------------------------------


def test_a_scope_knows_its_variables() -> None:
    get_variable("ab", [1])
    with scoped("a") as scope:
        v = get_variable("v", [1])
        w = get_variable("w", [1], trainable=False)
        local = ops.get_local_variable("l", [1])
    assert (scope.global_variables(), scope.trainable_variables(), scope.local_variables()) == ([v, w], [v], [local])
    assert scope.get_collection(ops.GraphKeys.GLOBAL_VARIABLES) == [v, w]
    assert len(acts.variables.VariableScope(False).global_variables()) == 3


# -- who sees them ---------------------------------------------------------------------------------


def test_threads_do_not_see_the_scopes_of_each_other(graph: Graph) -> None:
    seen = []

    def other() -> None:
        with graph.as_default():
            seen.append(acts.variables.get_variable_scope().name)
            with scoped("b"):
                seen.append(get_variable("w", [1]).name)

    with scoped("a"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert acts.variables.get_variable_scope().name == "a"
    assert seen == ["", "b/w:0"]


async def test_children_do_not_see_the_scopes_of_each_other() -> None:
    entered = asyncio.Event()

    async def one() -> str:
        with scoped("a"):
            entered.set()
            await asyncio.sleep(0)
            return acts.variables.get_variable_scope().name

    async def two() -> str:
        await entered.wait()
        with scoped("b"):
            return acts.variables.get_variable_scope().name

    assert list(await asyncio.gather(one(), two())) == ["a", "b"]


def test_a_graph_that_is_let_go_takes_its_variables_along() -> None:
    import gc
    import weakref

    graph = Graph()
    with graph.as_default(), scoped("a"):
        get_variable("w", [1])
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None
