"""``tf.Module``: an object with a name scope that finds the variables and modules in its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from actorsession import ops
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.train.checkpoints.objects import AutoTrackable

__all__ = ["Module"]

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NAME = re.compile(r"[A-Za-z_]\w*")


class Module(AutoTrackable):
    """The base class of named collections of variables and of functions that use them.

    Args:
        name: the name; that of the class in small letters if left out.

    Raises:
        ValueError: if the name is no name of Python.
    """

    # Attributes whose values are not looked through.
    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        chosen = _WORDS.sub("_", type(self).__name__).lower() if name is None else name
        if not _NAME.fullmatch(chosen):
            raise ValueError(f"{chosen!r} is not a valid module name. It must be a Python identifier.")
        self._name = chosen
        with get_default_graph().name_scope(chosen) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """The name that was given, or that of the class."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """A context manager that opens the module's name scope."""
        return name_scope(self._scope_name)

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that builds its operations in the module's name scope."""

        @functools.wraps(method)
        def scoped(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of this module and of those in it, in the order of their attributes' names."""
        return tuple(self._flatten(predicate=lambda each: isinstance(each, ops.Variable)))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those of ``variables`` that optimisers train."""
        return tuple(each for each in self.variables if each.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """Those of ``variables`` that they do not."""
        return tuple(each for each in self.variables if not each.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The modules in this one, and those in them."""
        return tuple(self._flatten(predicate=lambda each: isinstance(each, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Yield what is in the attributes of this module, then of those in it, the nearer ones first."""
        condition = predicate or (lambda _: True)
        seen, ahead = {id(self)}, [(self, ())]
        while ahead:
            module, path = ahead.pop(0)
            for name in sorted(vars(module), key=attribute_traversal_key):
                if name in module._TF_MODULE_IGNORED_PROPERTIES:
                    continue
                for inner, leaf in _leaves(vars(module)[name], (*path, name)):
                    if id(leaf) in seen:
                        continue
                    seen.add(id(leaf))
                    if condition(leaf):
                        yield (inner, leaf) if with_path else leaf
                    if recursive and isinstance(leaf, Module):
                        ahead.append((leaf, inner))


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield what is in a structure, with the way to it."""
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: str(item[0]))
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value))
    else:
        yield path, value
        return
    for key, inner in items:
        yield from _leaves(inner, (*path, key))
