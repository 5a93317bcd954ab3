"""Lookup tables for users: static ones, vocabularies with buckets for unknown keys, and mutable ones.

Names, arguments and defaults are TensorFlow's. ``kernels`` has the op types, ``initializers`` fills static
tables; ``tables_initializer`` runs all initializers.
"""

from __future__ import annotations

from typing import Any

from actorsession.graph.dtypes import DType, as_dtype, int64, string
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, make
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import not_equal
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.flow.control import group, no_op
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.shared_state import make_handle
from actorsession.opsets.sparse.basics import SparseTensor
from actorsession.opsets.tables.initializers import TableInitializer
from actorsession.opsets.text.hash_buckets import string_to_hash_bucket_fast
from actorsession.opsets.text.numbers import as_string
from actorsession.process_bound import GraphBound
from actorsession.records import description

__all__ = ["HashTable", "MutableHashTable", "StaticHashTable", "StaticVocabularyTable", "tables_initializer"]


# -- tables ----------------------------------------------------------------------------------------


class _Table(GraphBound):
    """The common methods of all tables with a handle."""

    def __init__(self, handle: Tensor, key_dtype: DType, value_dtype: DType, default: Any) -> None:
        self._handle = handle
        self._key_dtype = key_dtype
        self._value_dtype = value_dtype
        self._default = convert_to_tensor(default, value_dtype, graph=handle.graph)

    def __repr__(self) -> str:
        return description(self, self.name, key_dtype=self._key_dtype.name, value_dtype=self._value_dtype.name)

    @property
    def key_dtype(self) -> DType:
        """The dtype of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of values."""
        return self._value_dtype

    @property
    def name(self) -> str:
        """The name of the table's node."""
        return self._handle.op.name

    @property
    def resource_handle(self) -> Tensor:
        """The table's handle."""
        return self._handle

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the value of each key, or the default value.

        Args:
            keys: a tensor or sparse tensor.

        Returns:
            Values in the positions of the keys, sparse if the keys are. At run time a FailedPreconditionError
            is raised if the table has not been filled.

        Raises:
            TypeError: if ``keys`` have another dtype.
        """
        flat = keys.values if isinstance(keys, SparseTensor) else keys
        with self._handle.graph.name_scope(name or f"{self.name}_Lookup"):
            values = self._find(self._as_keys(flat))
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, values, keys.dense_shape)
        return values

    def _as_keys(self, keys: Any) -> Tensor:
        return as_keys(keys, self._key_dtype, self._handle.graph)

    def _find(self, keys: Tensor) -> Tensor:
        return raw.LookupTableFindV2(self._handle, keys, self._default)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of entries, int64."""
        with self._handle.graph.name_scope(name or f"{self.name}_Size"):
            return raw.LookupTableSizeV2(self._handle)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Return all keys, and their values in the same order."""
        keys, values = raw.LookupTableExportV2(
            self._handle,
            Tkeys=self._key_dtype,
            Tvalues=self._value_dtype,
            name=name or f"{self.name}_lookup_table_export_values",
        )
        values.set_shape(TensorShape([None, *self._default.shape.as_list()]))
        return keys, values


def as_keys(keys: Any, dtype: DType, graph: Graph) -> Tensor:
    """Return keys as a tensor.

    Raises:
        TypeError: for another dtype.
    """
    if isinstance(keys, Tensor) and keys.dtype is not dtype:
        raise TypeError(f"Dtype of argument `keys` must be {dtype.name}, received: {keys.dtype.name}")
    return convert_to_tensor(keys, dtype, "keys", graph=graph)


class StaticHashTable(_Table):
    """A table that is filled once, by its initializer.

    Args:
        initializer: initializer that fills the table.
        default_value: a scalar, returned for missing keys.
        name: name of the table's node.

    Raises:
        ValueError: if ``default_value`` is no scalar.
        TypeError: if ``default_value`` has another dtype than the values.
    """

    def __init__(self, initializer: TableInitializer, default_value: Any, name: str | None = None) -> None:
        types = initializer.key_dtype, initializer.value_dtype
        attrs = {"key_dtype": types[0], "value_dtype": types[1]}
        handle = make_handle("HashTableV2", name or "hash_table", None, attrs)
        super().__init__(handle, *types, default_value)
        if self._default.shape.rank not in (None, 0):
            raise ValueError(f"default_value is a scalar, got shape {self._default.shape}")
        self._initializer = initializer.initialize(self)

    @property
    def default_value(self) -> Tensor:
        """The value for keys that are not in the table."""
        return self._default

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        return self._initializer

    @property
    def init(self) -> Operation:
        """``initializer``."""
        return self._initializer


HashTable = StaticHashTable


class StaticVocabularyTable(GraphBound):
    """A table from keys to ids, with buckets for keys that are not in the vocabulary.

    Keys of the vocabulary have the ids of the initializer, in ``[0, size)``; others are mapped by their hash
    to one of the bucket ids that follow.

    Args:
        initializer: initializer with int64 values; ``None`` for buckets only.
        num_oov_buckets: number of buckets, at least 1.
        lookup_key_dtype: dtype of the keys to look up, if it differs from that of the initializer (both must
            be integers); string if left out without initializer.
        name: name of the table's node.

    Raises:
        ValueError: for less than 1 bucket.
        TypeError: if values are not int64, or keys neither strings nor integers.
    """

    def __init__(
        self,
        initializer: TableInitializer | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        if initializer is not None and initializer.value_dtype is not int64:
            raise TypeError(f"Invalid `value_dtype`, expected int64, got {initializer.value_dtype.name}")
        inner = string if initializer is None else initializer.key_dtype
        self._key_dtype = inner if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        if self._key_dtype.kind not in "ius" or (self._key_dtype is string) != (inner is string):
            raise TypeError(
                f"keys are strings or integers, as those of the initializer ({inner.name}); got {self._key_dtype.name}"
            )
        self._buckets = int(num_oov_buckets)
        self._name = name or "hash_bucket"
        self._graph = get_default_graph()
        self._table = None if initializer is None else StaticHashTable(initializer, -1, name)

    @property
    def key_dtype(self) -> DType:
        """The dtype of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of ids."""
        return int64

    @property
    def name(self) -> str:
        """The name of the table's node."""
        return self._name if self._table is None else self._table.name

    @property
    def resource_handle(self) -> Tensor | None:
        """The handle of the vocabulary's table, or ``None`` if there is none."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table."""
        if self._table is None:
            with self._graph.as_default():
                return no_op()
        return self._table.initializer

    @property
    def init(self) -> Operation:
        """``initializer``."""
        return self.initializer

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of ids including those of buckets, int64."""
        if self._table is None:
            return convert_to_tensor(self._buckets, int64, graph=self._graph)
        return self._table.size(name) + self._buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the id of each key; arguments as for ``StaticHashTable.lookup``."""
        flat = keys.values if isinstance(keys, SparseTensor) else keys
        with self._graph.as_default(), self._graph.name_scope(name or f"{self.name}_Lookup"):
            ids = self._ids(as_keys(flat, self._key_dtype, self._graph))
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, ids, keys.dense_shape)
        return ids

    def _ids(self, keys: Tensor) -> Tensor:
        text = keys if keys.dtype is string else as_string(keys)
        buckets = string_to_hash_bucket_fast(text, self._buckets, "hash_bucket")
        if self._table is None:
            return buckets
        inner = keys if keys.dtype is self._table.key_dtype else cast(keys, self._table.key_dtype)
        ids: Tensor = self._table.lookup(inner)
        known = not_equal(ids, self._table.default_value)
        return where_v2(known, ids, buckets + self._table.size())


class MutableHashTable(_Table):
    """A table that steps may change.

    The table belongs to the session whose steps use it, and is initially empty.

    Args:
        key_dtype: dtype of the keys.
        value_dtype: dtype of the values.
        default_value: value for missing keys; its shape is that of all values.
        name: name of the table's node.
        checkpoint: without effect: tables are not saved with variables.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        del checkpoint
        types = as_dtype(key_dtype), as_dtype(value_dtype)
        default = convert_to_tensor(default_value, types[1], graph=get_default_graph())
        attrs: dict[str, Any] = {"key_dtype": types[0], "value_dtype": types[1]}
        op_type = "MutableHashTableV2"
        if default.shape.rank != 0:
            op_type = "MutableHashTableOfTensorsV2"
            attrs["value_shape"] = default.shape.as_list()
        super().__init__(make_handle(op_type, name, None, attrs), *types, default)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Insert entries, replacing those with the same key.

        Args:
            keys: keys of any shape.
            values: a value for each key.

        Raises:
            TypeError: for other dtypes.
            ValueError: if shapes are known not to fit.
        """
        return self._change("LookupTableInsertV2", name or f"{self.name}_lookup_table_insert", keys, values)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """Remove entries; missing keys are ignored."""
        return self._change("LookupTableRemoveV2", name or f"{self.name}_lookup_table_remove", keys)

    def _change(self, op_type: str, name: str, keys: Any, *values: Any) -> Operation:
        graph = self._handle.graph
        with graph.name_scope(name):
            tensors = [convert_to_tensor(v, self._value_dtype, "values", graph=graph) for v in values]
            return make(op_type, [self._handle, self._as_keys(keys), *tensors])


# -- all tables ------------------------------------------------------------------------------------


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Return the operation that fills all tables of the default graph."""
    initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name)
