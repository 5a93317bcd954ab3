"""``tf.make_template``: functions whose variables are created by the first call and shared by later calls."""

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
    """Return a function with its own variables, which ``get_variable`` creates in the first call.

    Args:
        name_: the name of the variable scope, made unique.
        func_: the function to call.
        create_scope_now_: whether to fix the name now instead of in the first call.
        unique_name_: a name that is used unchanged.
        custom_getter_: the custom getter of the variable scope.
        kwargs: arguments of ``func_`` for every call; a call may pass further ones.

    Raises:
        ValueError: in a later call that needs a variable which the first call did not create.
    """
    template = _Template(name_, func_, unique_name_, custom_getter_, kwargs)
    if create_scope_now_:
        template.settle()
    return template


class _Template:
    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        unique_name: str | None,
        custom_getter: Callable[..., Any] | None,
        arguments: dict[str, Any],
    ) -> None:
        self._name = name
        self._function = function
        self._unique_name = unique_name
        self._getter = custom_getter
        self._given = arguments
        self._scope: VariableScope | None = None
        self._called = False
        self._lock = threading.RLock()

    def settle(self) -> None:
        """Open the variable scope once, so that its name is reserved."""
        with self._opened() as scope:
            self._scope = scope

    def _opened(self) -> Any:
        if self._unique_name is not None:
            return ops.variable_scope(self._unique_name, custom_getter=self._getter)
        return ops.variable_scope(None, self._name, custom_getter=self._getter)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function inside the scope; calls after the first create no variables."""
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
        """The requested name."""
        return self._name

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the variables; ``None`` before it is created."""
        return self._scope

    @property
    def var_scope(self) -> VariableScope | None:
        """The scope of the variables under its older name."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The prefix of the variables' names; ``None`` before the scope is created."""
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
        """The trainable variables of the scope."""
        return [] if self._scope is None else self._scope.trainable_variables()
