"""``tf.layers.experimental``: a style in which no layer shares the weights of another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["keras_style_scope", "set_keras_style"]

_STYLE: ContextVar[bool] = ContextVar("actorsession_layers_share_nothing", default=False)


def in_keras_style() -> bool:
    """Return whether layers that are made now share nothing."""
    return _STYLE.get()


@contextmanager
def keras_style_scope() -> Iterator[None]:
    """Make layers inside the block that share nothing: a name that is taken gets a number."""
    token = _STYLE.set(True)
    try:
        yield
    finally:
        _STYLE.reset(token)


def set_keras_style() -> None:
    """Make all layers from now on as in ``keras_style_scope``."""
    _STYLE.set(True)
