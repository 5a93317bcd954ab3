"""The functions of a graph by name."""

from __future__ import annotations

import pytest

from actorsession import Graph
from actorsession.graph.function import FunctionDef
from actorsession.graph.function_library import FunctionLibrary, LibraryFunction

EMPTY = FunctionDef((), (), (), ())


def test_a_name_stands_for_one_function() -> None:
    library = FunctionLibrary()
    first = LibraryFunction("f", EMPTY)
    library.add(first)
    library.add(first)
    assert (library.get("f"), library.get("g"), library.names()) == (first, None, ("f",))
    with pytest.raises(ValueError, match="a different function with the same name"):
        library.add(LibraryFunction("f", EMPTY))


def test_names_are_given_once() -> None:
    library = FunctionLibrary()
    assert [library.unique_name("f") for _ in range(3)] == ["f", "f_1", "f_2"]
    library.add(LibraryFunction("g", EMPTY))
    assert library.unique_name("g") == "g_1"


def test_every_graph_has_a_library_of_its_own() -> None:
    assert Graph().library is not Graph().library
    assert Graph().library.names() == ()
