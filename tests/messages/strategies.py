"""Values for messages, drawn from their annotations: none needs a test of its own to be covered.

What is compared are decoded values, so the drawn ones are those that survive a journey: numpy
scalars become arrays of rank 0 on the way, which ``same`` takes into account.
"""

from __future__ import annotations

import types
import typing
from typing import Any, Union

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from actorsession.errors import OpError
from actorsession.graph.codec import INLINE_LIMIT
from actorsession.messages import VOCABULARY, Beat, Call, Cancel, Envelope, Failure, Goodbye, Reply, Spec, Tell

DTYPES = ("float32", "float64", "int8", "int64", "bool", "complex64", ml_dtypes.bfloat16, object)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
integers = st.integers(-(2**63), 2**64 - 1)
floats = st.floats(allow_nan=False)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Small arrays of every kind, and now and then one that leaves the message as a segment."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    if dtype.kind == "O":
        array = np.empty(shape, dtype=object)
        array[...] = draw(st.binary(max_size=5))
        return array
    if draw(st.integers(0, 9)) == 0:
        shape = (INLINE_LIMIT + 1,)
    return np.full(shape, draw(st.integers(0, 1))).astype(dtype)


tensors = arrays() | st.integers(-5, 5).map(np.int32)
plain = st.none() | st.booleans() | integers | floats | texts | st.binary(max_size=8) | tensors
anything = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)


def values_for(hint: Any) -> st.SearchStrategy[Any]:
    """Values that fit an annotation."""
    scalars = {int: integers, float: floats, str: texts, bytes: st.binary(), bool: st.booleans()}
    if hint in scalars:
        return scalars[hint]
    if hint is Any:
        return anything
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in (np.ndarray, np.generic):
        return tensors
    if hint is type(None):
        return st.none()
    if origin in (Union, types.UnionType):
        return st.one_of([values_for(part) for part in arguments])
    if origin is list:
        return st.lists(values_for(arguments[0]) if arguments else anything, max_size=3)
    if origin is dict:
        return st.dictionaries(*(values_for(part) for part in arguments or (str, Any)), max_size=3)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return st.lists(values_for(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(values_for(part) for part in arguments))
    raise TypeError(f"no values are known for {hint!r}")


def messages_of(spec: Spec) -> st.SearchStrategy[Any]:
    """Instances of one message class."""
    fields = {name: values_for(hint) for name, hint in spec.hints.items()}
    return st.builds(spec.cls, **fields)


any_message = st.sampled_from(list(VOCABULARY.specs.values())).flatmap(messages_of)
call_ids = st.integers(0, 2**63 - 1)
times = st.none() | st.floats(0, 1e6)
wheres = st.none() | texts


@st.composite
def errors(draw: st.DrawFn) -> OpError:
    """Errors of every class that travels, with any origin."""
    codes = [cls for cls in OpError.__subclasses__() if cls.__module__ == OpError.__module__]
    kind = draw(st.sampled_from(codes))
    return kind(
        draw(texts),
        node=draw(wheres),
        device=draw(wheres),
        task=draw(wheres),
        source=draw(wheres),
        derived=draw(st.booleans()),
    )


envelopes: st.SearchStrategy[Envelope] = st.one_of(
    st.builds(Beat, call_ids, call_ids),
    st.builds(Goodbye, st.text()),
    st.builds(Call, call_ids, texts, times, any_message),
    st.builds(Tell, texts, any_message),
    st.builds(Reply, call_ids, any_message),
    st.builds(Failure, call_ids, errors()),
    st.builds(Cancel, call_ids),
)


def same(sent: Any, got: Any) -> bool:
    """Whether a value has arrived: equal, of the same type, arrays by element and dtype."""
    if isinstance(sent, (np.ndarray, np.generic)):
        return (
            isinstance(got, np.ndarray)
            and sent.dtype == got.dtype
            and np.shape(sent) == got.shape
            and bool(np.all(np.asarray(sent) == got))
        )
    if isinstance(sent, OpError):
        # The error classes have a wire form of their own; equality is that of all they carry.
        return type(sent) is type(got) and vars(sent) == vars(got)
    if hasattr(type(sent), "__dataclass_fields__"):
        names = type(sent).__dataclass_fields__
        return type(sent) is type(got) and all(same(getattr(sent, name), getattr(got, name)) for name in names)
    if isinstance(sent, (list, tuple)):
        return (
            type(sent) is type(got)
            and len(sent) == len(got)
            and all(same(a, b) for a, b in zip(sent, got, strict=True))
        )
    if isinstance(sent, dict):
        return sent.keys() == got.keys() and all(same(sent[key], got[key]) for key in sent)
    return type(sent) is type(got) and bool(sent == got)


__all__ = ["anything", "arrays", "envelopes", "messages_of", "same", "values_for"]
