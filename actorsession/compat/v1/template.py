"""``tf.make_template``: functions whose variables are made by the first call and shared by the later ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.ops import VariableScope

__all__ = ["make_template"]


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Callable[..., Any]:
    """A function that has variables of its own, made by ``get_variable``, whoever calls it.

    Args:
        name_: of its variable scope; made unique.
        func_: what is called.
        create_scope_now_: whether the name is settled now and not by the first call.
        unique_name_: a name that is used as it is.
        custom_getter_: stands between names and variables.
        kwargs: arguments of ``func_`` that every call passes; the call itself may name the others.

    Raises:
        ValueError: by a later call that asks for a variable which the first one did not make.
    """
    made = _Template(name_, func_, unique_name_, custom_getter_, kwargs)
    if create_scope_now_:
        made.settle()
    return made


class _Template:
    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        unique_name: str | None,
        custom_getter: Callable[..., Any] | None,
        given: dict[str, Any],
    ) -> None:
        self._name = name
        self._function = function
        self._unique_name = unique_name
        self._getter = custom_getter
        self._given = given
        self._scope: VariableScope | None = None
        self._called = False
        self._lock = threading.RLock()

    def settle(self) -> None:
        """Open the variable scope once, so that its name is taken."""
        with self._opened() as scope:
            self._scope = scope

    def _opened(self) -> Any:
        if self._unique_name is not None:
            return ops.variable_scope(self._unique_name, custom_getter=self._getter)
        return ops.variable_scope(None, self._name, custom_getter=self._getter)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function inside of the scope; after the first call, no variables are made."""
        with self._lock:
            if self._scope is None:
                with self._opened() as self._scope:
                    result = self._function(*args, **{**self._given, **kwargs})
            else:
                with ops.variable_scope(self._scope, reuse=self._called or None):
                    result = self._function(*args, **{**self._given, **kwargs})
            self._called = True
        return result

    @property
    def name(self) -> str:
        """The name that was asked for."""
        return self._name

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the variables; nothing before there is one."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """What the names of the variables begin with; nothing before there is a scope."""
        return None if self._scope is None else f"{self._scope.name}/"

    @property
    def global_variables(self) -> list[Any]:
        """The global variables of the scope."""
        return [] if self._scope is None else self._scope.global_variables()

    variables = global_variables

    @property
    def local_variables(self) -> list[Any]:
        """The local variables of the scope."""
        return [] if self._scope is None else self._scope.local_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables of the scope that are trained."""
        return [] if self._scope is None else self._scope.trainable_variables()
