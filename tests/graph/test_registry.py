"""The table of operation types."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from actorsession.extend import NOT_DIFFERENTIABLE, OpDef, registered_ops, registration_scope
from actorsession.extend import register_op as register
from actorsession.graph.registry import defer, is_registered, lookup
from tests.graph.kit import join, leaf

pytestmark = pytest.mark.usefixtures("registrations")


def made(name: str) -> OpDef:
    return OpDef(name=name, infer=lambda ctx: (), kernel=lambda ctx: lambda: None)


def test_what_was_registered_is_found() -> None:
    op = made("Thing")
    assert not is_registered("Thing")
    assert register(op) is op
    assert is_registered("Thing")
    assert lookup("Thing") is op
    register(made("Another"))
    assert {"Another", "Thing"} <= {*registered_ops()}
    assert list(registered_ops()) == sorted(registered_ops())
    first = register(made("Thing"))
    with pytest.raises(KeyError, match="'Thing' is registered already"):
        register(made("Thing"))
    assert lookup("Thing") is first
    with pytest.raises(ValueError, match=r"'Matmul' is not registered; did you mean MatMul, "):
        lookup("Matmul")
    with pytest.raises(ValueError, match=f"'Zzz' is not registered; {len(registered_ops())} ops are registered"):
        lookup("Zzz")


def test_a_type_whose_module_is_not_imported_yet_exists_and_is_imported_when_it_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_ops.py").write_text(
        "from tests.graph.test_registry import made\n"
        "from actorsession.graph.registry import register\n"
        "register(made('Late'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with registration_scope():
        defer({"Late": "late_ops"})
        assert is_registered("Late")
        assert "Late" in registered_ops()
        with pytest.raises(KeyError, match="'Late' is registered already"):
            register(made("Late"))
        assert "late_ops" not in sys.modules
        try:
            assert lookup("Late") is lookup("Late")
            assert "late_ops" in sys.modules
        finally:
            sys.modules.pop("late_ops", None)
    assert not is_registered("Late"), "the scope forgets a type of a module that is imported later"
    assert "Late" not in registered_ops()


def test_nothing_flows_through_an_op_that_is_not_differentiable() -> None:
    from actorsession import Graph

    graph = Graph()
    op = join(graph, leaf(graph), leaf(graph)).op
    assert NOT_DIFFERENTIABLE(op, None) == [None, None]
