"""Older forms of the parser of sequences: keys that were attributes, or an input each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, bool_, string
from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import TensorShape
from actorsession.ops.shape_operands import boxed
from actorsession.opsets.older.forms import Attrs, Computed, Item, older_form

__all__: list[str] = []

_NEWER = "ParseSequenceExampleV2"


def _strings(values: Sequence[Any]) -> Any:
    strings = np.empty(len(values), object)
    strings[:] = [v.encode() if isinstance(v, str) else v for v in values]
    return strings


# -- keys that were attributes ---------------------------------------------------------------------


def _keys(name: str) -> Item:
    return lambda attrs, dtypes: _strings(attrs[name])


def _no_keys(attrs: Attrs, dtypes: Sequence[DType]) -> Any:
    return _strings([])


def _may_miss(attrs: Attrs, dtypes: Sequence[DType]) -> Any:
    missing = attrs["feature_list_dense_missing_assumed_empty"]
    return np.array([key in missing for key in attrs["feature_list_dense_keys"]], np.bool_)


older_form(
    "ParseSequenceExample",
    _NEWER,
    (
        0,
        1,
        _keys("context_sparse_keys"),
        _keys("context_dense_keys"),
        _no_keys,
        _keys("feature_list_sparse_keys"),
        _keys("feature_list_dense_keys"),
        _no_keys,
        _may_miss,
        slice(2, None),
    ),
)


# -- keys that were an input each ------------------------------------------------------------------

_COUNTS = ("Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse", "Nfeature_list_dense")


def _places(attrs: Attrs, which: int) -> range:
    """Return the inputs that are the keys of one kind."""
    begin = 2 + sum(attrs[name] for name in _COUNTS[:which])
    return range(begin, begin + attrs[_COUNTS[which]])


def _stacked(which: int) -> Item:
    def keys(attrs: Attrs, dtypes: Sequence[DType]) -> Computed:
        places = _places(attrs, which)
        spec = TensorSpec(string, TensorShape([len(places)]))
        return Computed(places, lambda *v: _strings([boxed(one).item() for one in v]), spec)

    return keys


def _may_miss_by_keys(attrs: Attrs, dtypes: Sequence[DType]) -> Computed:
    def missing(named: Any, *keys: Any) -> Any:
        known = set(boxed(named).ravel().tolist())
        return np.array([boxed(key).item() in known for key in keys], np.bool_)

    places = _places(attrs, 3)
    return Computed([1, *places], missing, TensorSpec(bool_, TensorShape([len(places)])))


def _last(attrs: Attrs, dtypes: Sequence[DType]) -> Computed:
    return Computed([len(dtypes) - 1], lambda name: name, TensorSpec(string, TensorShape([])))


def _defaults(attrs: Attrs, dtypes: Sequence[DType]) -> range:
    return range(2 + sum(attrs[name] for name in _COUNTS), len(dtypes) - 1)


older_form(
    "ParseSingleSequenceExample",
    _NEWER,
    (0, _last, _stacked(0), _stacked(1), _no_keys, _stacked(2), _stacked(3), _no_keys, _may_miss_by_keys, _defaults),
    without=lambda attrs: attrs["Nfeature_list_dense"],
)
