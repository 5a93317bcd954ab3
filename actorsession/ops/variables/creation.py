"""Creation of variables: creators that may intervene, and default arguments.

Owns the creators of ``variable_creator_scope``, which are called for each ``Variable(...)`` of the graph
before it is built, and the two enumerations in TensorFlow's signatures. ``variables.variable`` is built on
this module. Creators are stored in a context variable, as all scopes are.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

from actorsession.graph.extension import PROTO_VIEWS
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.reentrant import reentrant
from actorsession.ops.graph_keys import GraphKeys

__all__ = [
    "CreatedByScope",
    "VariableAggregation",
    "VariableSynchronization",
    "joined_collections",
    "trainable_by_default",
    "variable_creator_scope",
]

Creator: TypeAlias = "Callable[..., Any]"
_CREATORS: ContextVar[Mapping[Graph, tuple[Creator, ...]]] = ContextVar("actorsession_creators")
_EMPTY: Mapping[Graph, tuple[Creator, ...]] = {}

# The arguments of a creator in TensorFlow's order, with the values of those that the program does not give.
_ASKED: Mapping[str, Any] = {
    "initial_value": None,
    "trainable": None,
    "collections": None,
    "validate_shape": True,
    "caching_device": None,
    "name": None,
    "variable_def": None,
    "dtype": None,
    "expected_shape": None,
    "import_scope": None,
    "constraint": None,
    "use_resource": None,
}


# The place of ``use_resource`` among them.
_RESOURCE = list(_ASKED).index("use_resource")


class VariableSynchronization(enum.Enum):
    """When the copies of a variable are synchronised; there is one copy, so all modes are equivalent."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How updates of the copies of a variable are combined; there is one copy, so all are equivalent."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # noqa: PIE796 - TensorFlow's older name of the same thing


class CreatedByScope(type):
    """The metaclass of ``Variable``: a call of the class first runs the creators of the scope."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new variable, or the result of a creator of the scope."""
        creators = _CREATORS.get(_EMPTY).get(get_default_graph(), ())
        # Neither creators nor the kinds of variables apply to subclasses.
        if "_asks_creators" not in cls.__dict__:
            return super().__call__(*args, **kwargs)
        create: Creator = functools.partial(_create, super().__call__)
        if not creators:
            return create(*args, **kwargs)
        for creator in creators:
            create = functools.partial(creator, create)
        rest = {
            **_ASKED,
            "synchronization": VariableSynchronization.AUTO,
            "aggregation": VariableAggregation.NONE,
            "shape": None,
        }
        return create(**{**rest, **dict(zip(rest, args, strict=False)), **kwargs})


def _create(resource: Creator, *args: Any, **kwargs: Any) -> Any:
    """Return a new variable of the kind that is asked for, or that the graph has by default."""
    if kwargs.get("variable_def") is not None:
        if kwargs.get("initial_value", args[0] if args else None) is not None:
            raise ValueError("variable_def and initial_value are mutually exclusive")
        read = PROTO_VIEWS.get("Variable.from_proto")
        return read(kwargs["variable_def"], kwargs.get("import_scope"))
    asked = kwargs.get("use_resource")
    if asked is None:
        asked = args[_RESOURCE] if len(args) > _RESOURCE else None
    if asked is None:
        asked = not get_default_graph().reference_variables
    if asked:
        return resource(*args, **kwargs)
    from actorsession.ops.variables.reference_variable import ReferenceVariable

    return ReferenceVariable(*args, **kwargs)


@reentrant
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Let a function make or change the variables that a block creates in the default graph.

    Args:
        variable_creator: called as ``variable_creator(next_creator, **kwargs)`` with all arguments of
            ``Variable`` by name; returns the variable, usually that of ``next_creator(**kwargs)``. The
            innermost creator is called first, and its next one is the creator around it.
    """
    graph = get_default_graph()
    known = _CREATORS.get(_EMPTY)
    token = _CREATORS.set({**known, graph: (*known.get(graph, ()), variable_creator)})
    try:
        yield
    finally:
        _CREATORS.reset(token)


def trainable_by_default(trainable: bool | None, synchronization: VariableSynchronization | None) -> bool:
    """Return whether optimisers change a variable; by default unless copies are synchronised on read."""
    if trainable is not None:
        return bool(trainable)
    return synchronization is not VariableSynchronization.ON_READ


def joined_collections(collections: Iterable[str] | None, trainable: bool) -> list[str]:
    """Return the collections that a new variable joins.

    Args:
        collections: names of collections; the global variables if left out.
        trainable: whether it joins the trainable variables as well.

    Raises:
        ValueError: if ``collections`` is not a list, tuple or set.
    """
    if collections is not None and not isinstance(collections, (list, tuple, set)):
        raise ValueError(f"collections is a list, tuple or set of names, got {collections!r:.100}")
    joined = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(dict.fromkeys(collections))
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in joined:
        joined.append(GraphKeys.TRAINABLE_VARIABLES)
    return joined
