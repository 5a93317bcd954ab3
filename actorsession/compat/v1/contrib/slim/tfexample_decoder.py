"""``slim.tfexample_decoder``: items made of the features of an example."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import actorsession.compat.v1 as tf
from actorsession.compat.v1.contrib.slim.data import DataDecoder

__all__ = [
    "BackupHandler",
    "BoundingBox",
    "Image",
    "ItemHandler",
    "ItemHandlerCallback",
    "LookupTensor",
    "SparseTensor",
    "TFExampleDecoder",
    "Tensor",
]


class ItemHandler:
    """Makes an item of some features.

    Args:
        keys: names of the features.
    """

    def __init__(self, keys: Any) -> None:
        self._keys = list(keys) if isinstance(keys, (list, tuple)) else [keys]

    @property
    def keys(self) -> list[str]:
        """The names of the features."""
        return self._keys

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the item.

        Args:
            keys_to_tensors: the features.
        """
        raise NotImplementedError


class ItemHandlerCallback(ItemHandler):
    """Makes an item by a function.

    Args:
        keys: names of the features.
        func: from features by name to the item.
    """

    def __init__(self, keys: Any, func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the item."""
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes, a row for each.

    Args:
        keys: names of the four sides, from the top leftwards round; those in general use if omitted.
        prefix: what stands in front of each name.

    Raises:
        ValueError: unless there are four.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        names = ["ymin", "xmin", "ymax", "xmax"] if keys is None else list(keys)
        if len(names) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(names)}")
        super().__init__([prefix + name for name in names])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the boxes."""
        sides = [keys_to_tensors[key] for key in self.keys]
        return tf.stack([getattr(side, "values", side) for side in sides], axis=1)


class Tensor(ItemHandler):
    """A feature as it is, or in another shape.

    Args:
        tensor_key: name of the feature.
        shape_keys: names of the features with its shape.
        shape: or the shape itself.
        default_value: stands where a sparse feature has nothing.

    Raises:
        ValueError: for both kinds of shape.
    """

    def __init__(self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        shapes = shape_keys if isinstance(shape_keys, list) else [shape_keys] if shape_keys else []
        self._tensor_key, self._shape_keys, self._shape = tensor_key, shapes, shape
        self._default_value = default_value
        super().__init__([tensor_key, *shapes])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the feature."""
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            sizes = [_dense(keys_to_tensors[key]) for key in self._shape_keys]
            shape = tf.reshape(tf.stack(sizes), [-1])
        if isinstance(tensor, tf.SparseTensor):
            if shape is not None:
                tensor = tf.sparse_reshape(tensor, shape)
            return tf.sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if shape is None else tf.reshape(tensor, shape)


def _dense(tensor: Any) -> Any:
    sparse = isinstance(tensor, tf.SparseTensor)
    return tf.sparse_tensor_to_dense(tensor) if sparse else tensor


class LookupTensor(Tensor):
    """What a table has for a feature; arguments as for ``Tensor``, and the table."""

    def __init__(
        self, tensor_key: str, table: Any, shape_keys: Any = None, shape: Any = None, default_value: Any = ""
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return what the table has."""
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """An item, or another one where the first is empty.

    Args:
        handler: makes the first.
        backup: makes the other.

    Raises:
        ValueError: if either is no handler.
    """

    def __init__(self, handler: Any, backup: Any) -> None:
        for name, each in (("Primary", handler), ("Backup", backup)):
            if not isinstance(each, ItemHandler):
                raise ValueError(f"{name} handler is of type {type(each)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__(handler.keys + backup.keys)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return one of both."""
        item = self._handler.tensors_to_item(keys_to_tensors)
        empty = tf.equal(tf.reduce_prod(tf.shape(item)), 0)
        return tf.cond(empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A sparse tensor of the features with its indices and its values.

    Args:
        indices_key: name of the feature with the last index of each value.
        values_key: name of the feature with the values.
        shape_key: name of the feature with the shape.
        shape: or the shape itself; that of the indices if both are omitted.
        densify: whether to return a dense tensor.
        default_value: stands where there is no value, then.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value
        last = [shape_key] if shape_key else []
        super().__init__([self._indices_key, self._values_key, *last])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the tensor."""
        indices, values = (keys_to_tensors[key] for key in self.keys[:2])
        shape = self._shape or indices.dense_shape
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        last = tf.reshape(tf.cast(indices.values, tf.int64), [-1, 1])
        sparse = tf.SparseTensor(tf.concat([indices.indices[:, :-1], last], 1), values.values, shape)
        return tf.sparse_tensor_to_dense(sparse, self._default_value) if self._densify else sparse


class Image(ItemHandler):
    """A picture.

    Args:
        image_key: name of the feature with its bytes, ``image/encoded`` if omitted.
        format_key: name of the feature with its format, ``image/format`` if omitted; ``raw`` for pixels.
        shape: its shape, if it is known.
        channels: how many channels there are.
        dtype: element type.
        repeated: whether there are several.
        dct_method: accepted for compatibility.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = tf.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        super().__init__([image_key or "image/encoded", format_key or "image/format"])
        self._shape, self._channels, self._dtype = shape, channels, dtype
        self._repeated, self._method = repeated, dct_method

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """Return the picture, or the pictures."""
        data, kind = (keys_to_tensors[key] for key in self.keys)
        if self._repeated:
            return tf.map_fn(lambda each: self._decoded(each, kind), data, fn_output_signature=self._dtype)
        return self._decoded(data, kind)

    def _decoded(self, data: Any, kind: Any) -> Any:
        raw = tf.logical_or(tf.equal(kind, "raw"), tf.equal(kind, "RAW"))
        image = tf.cond(
            raw,
            lambda: tf.decode_raw(data, self._dtype),
            lambda: tf.cast(tf.image.decode_image(data, channels=self._channels), self._dtype),
        )
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else tf.reshape(image, self._shape)


class TFExampleDecoder(DataDecoder):
    """Makes items of an example.

    Args:
        keys_to_features: the features to parse, by key.
        items_to_handlers: what makes each item.
    """

    def __init__(self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._keys_to_features, self._items_to_handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        """Return the names of the items."""
        return list(self._items_to_handlers)

    def decode(self, data: Any, items: Sequence[str] | None = None) -> list[Any]:
        """Return the tensors of some items.

        Args:
            data: the example, as bytes.
            items: names of the items; all if omitted.
        """
        parsed = dict(tf.parse_single_example(data, self._keys_to_features))
        for key in sorted(self._keys_to_features):
            feature = self._keys_to_features[key]
            if isinstance(feature, tf.FixedLenFeature):
                parsed[key] = tf.reshape(parsed[key], feature.shape)
        tensors = []
        for item in items or self._items_to_handlers:
            handler = self._items_to_handlers[item]
            tensors.append(handler.tensors_to_item({key: parsed[key] for key in handler.keys}))
        return tensors
