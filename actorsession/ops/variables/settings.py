"""The settings of a variable scope: ``VariableScope``.

Owns the settings of one scope and how they complete a request for a variable. ``variables.scope`` makes and
nests scopes, ``variables.store`` makes and finds variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from actorsession.graph.dtypes import DType, as_dtype, float32
from actorsession.graph.graph import get_default_graph
from actorsession.graph.scopes import DeviceFunction
from actorsession.graph.shape import ShapeLike, TensorShape
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables.creation import VariableSynchronization
from actorsession.ops.variables.store import Reuse, VariableRequest, request_dtype

__all__ = ["Getter", "VariableScope"]

Getter: TypeAlias = "Callable[..., Any]"


class VariableScope:
    """The common settings of the variables of a scope.

    Args:
        reuse: with ``True`` variables must exist and are shared; ``AUTO_REUSE`` also makes missing ones;
            otherwise names must be new.
        name: prefix of the names of variables.
        initializer: default initialiser.
        regularizer: default function of a variable that returns a loss or ``None``.
        caching_device: default device of cached copies.
        partitioner: default partitioner.
        custom_getter: called as ``custom_getter(getter, name, ...)`` instead of the getter.
        name_scope: the name scope that was first entered with this scope.
        dtype: default element type.
        use_resource: without effect.
        constraint: default constraint.
    """

    def __init__(
        self,
        reuse: Reuse,
        name: str = "",
        initializer: Any = None,
        regularizer: Callable[..., Any] | None = None,
        caching_device: str | DeviceFunction | None = None,
        partitioner: Any = None,
        custom_getter: Getter | None = None,
        name_scope: str = "",
        dtype: Any = float32,
        use_resource: bool | None = None,
        constraint: Callable[..., Any] | None = None,
    ) -> None:
        self._reuse = reuse
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = as_dtype(dtype)
        self._use_resource = use_resource
        self._constraint = constraint

    # -- properties ----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The prefix of names, without a trailing slash."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that was first entered with this scope."""
        return self._name_scope

    @property
    def reuse(self) -> Reuse:
        """Whether variables are shared."""
        return self._reuse

    @property
    def initializer(self) -> Any:
        """Default initialiser."""
        return self._initializer

    @property
    def regularizer(self) -> Callable[..., Any] | None:
        """Default regulariser."""
        return self._regularizer

    @property
    def caching_device(self) -> str | DeviceFunction | None:
        """Default device of cached copies."""
        return self._caching_device

    @property
    def partitioner(self) -> Any:
        """Default partitioner."""
        return self._partitioner

    @property
    def custom_getter(self) -> Getter | None:
        """The function called instead of the getter, including those of enclosing scopes."""
        return self._custom_getter

    @property
    def dtype(self) -> DType:
        """Default element type."""
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        """The requested value, which has no effect."""
        return self._use_resource

    @property
    def constraint(self) -> Callable[..., Any] | None:
        """Default constraint."""
        return self._constraint

    def __repr__(self) -> str:
        return f"<VariableScope {self._name!r} reuse={self._reuse!r}>"

    # -- setters -------------------------------------------------------------------------------

    def reuse_variables(self) -> None:
        """Share variables from now on."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the default initialiser."""
        self._initializer = initializer

    def set_regularizer(self, regularizer: Callable[..., Any] | None) -> None:
        """Set the default regulariser."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: str | DeviceFunction | None) -> None:
        """Set the default device of cached copies."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Set the default partitioner."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Getter | None) -> None:
        """Set the function that is called instead of the getter."""
        self._custom_getter = custom_getter

    def set_dtype(self, dtype: Any) -> None:
        """Set the default element type."""
        self._dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Store the setting, which has no effect."""
        self._use_resource = use_resource

    # -- variables of the scope ----------------------------------------------------------------

    def get_collection(self, name: str) -> list[Any]:
        """Return the values of a collection of the default graph whose names are in the scope."""
        scope = f"{self._name}/" if self._name else None
        return get_default_graph().get_collection(name, scope)

    def global_variables(self) -> list[Any]:
        """Return the global variables of the scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Return the local variables of the scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """Return the trainable variables of the scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    # -- lookup and creation -------------------------------------------------------------------

    def get_variable(self, var_store: Any, name: str, **asked: Any) -> Any:
        """Return the variable ``name`` of the scope in a store; see the function ``get_variable``.

        Args:
            var_store: the store of the graph.
            name: name, relative to that of the scope.
            **asked: the other arguments of ``get_variable``, and ``reuse``.
        """
        chosen = {key: value for key, value in asked.items() if value is not None}
        custom = chosen.pop("custom_getter", self._custom_getter)
        if custom is not None and not callable(custom):
            raise ValueError(f"a custom_getter is a function, got {custom!r:.100}")
        defaults = {
            "initializer": self._initializer,
            "regularizer": self._regularizer,
            "reuse": self._reuse,
            "caching_device": self._caching_device,
            "partitioner": self._partitioner,
            "use_resource": self._use_resource,
            "constraint": self._constraint,
        }
        filled = {**asked, **defaults, **chosen}
        filled.pop("custom_getter", None)
        # Only the arguments for this variable determine its dtype; a scope's initialiser may serve many
        # dtypes.
        filled["dtype"] = request_dtype(asked.get("dtype"), asked.get("initializer"), self._dtype)
        full_name = f"{self._name}/{name}" if self._name else name
        getter = functools.partial(_stored, var_store)
        if custom is None:
            return getter(full_name, **filled)
        if filled.get("trainable") is None:
            # Custom getters are told whether the variable is trained.
            filled["trainable"] = filled.get("synchronization") is not VariableSynchronization.ON_READ
        with get_default_graph().name_scope(None):
            return custom(getter=getter, name=full_name, **filled)


def _stored(var_store: Any, name: str, shape: ShapeLike = None, dtype: Any = float32, **asked: Any) -> Any:
    """Return the variable of a full name; this is the getter of custom getters."""
    request = VariableRequest(name=name, shape=TensorShape(shape), dtype=as_dtype(dtype), **asked)
    return var_store.get(request)
