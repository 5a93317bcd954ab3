"""``slim``'s way from files to tensors: readers side by side, data sets, providers of items, and a queue.

TensorFlow spreads these names over modules; all of those are this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import actorsession.compat.v1 as tf
from actorsession.train import QueueRunner, add_queue_runner

__all__ = [
    "DataDecoder",
    "DataProvider",
    "Dataset",
    "DatasetDataProvider",
    "ParallelReader",
    "get_data_files",
    "parallel_read",
    "prefetch_queue",
    "single_pass_read",
]


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return a queue that threads fill with the values of some tensors.

    Args:
        tensors: tensors, in order or by name.
        capacity: how many elements it holds.
        num_threads: how many threads fill it.
        dynamic_pad: whether sizes may differ, so that several elements are padded.
        shared_name: name under which sessions share it.
        name: name of the scope.
    """
    names = sorted(tensors) if isinstance(tensors, Mapping) else None
    listed = [tensors[key] for key in names] if names is not None else list(tensors)
    with tf.name_scope(name, "prefetch_queue", listed):
        queue = (tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue)(
            capacity=capacity,
            dtypes=[each.dtype for each in listed],
            shapes=[each.shape for each in listed],
            names=names,
            shared_name=shared_name,
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue(tensors)] * num_threads))
        share = tf.cast(queue.size(), tf.float32) * (1.0 / capacity)
        tf.summary.scalar(f"fraction_of_{capacity}_full", share)
        return queue


class ParallelReader(tf.ReaderBase):
    """Readers of different files side by side, whose records go through one queue.

    Args:
        reader_class: makes a reader.
        common_queue: the queue, of keys and values.
        num_readers: how many readers there are.
        reader_kwargs: arguments of each.

    Raises:
        TypeError: for a queue of other elements.
    """

    def __init__(self, reader_class: Any, common_queue: Any, num_readers: int = 4, reader_kwargs: Any = None) -> None:
        if [kind.base_dtype for kind in common_queue.dtypes] != [tf.string, tf.string]:
            raise TypeError(
                f"common_queue.dtypes must be [tf.string, tf.string], and they are {list(common_queue.dtypes)}"
            )
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    @property
    def common_queue(self) -> Any:
        """The queue of records."""
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the next key and value.

        Args:
            queue: the queue of files.
            name: name of the operation.
        """
        self._fill(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: int, name: str | None = None) -> Any:
        """Return the next keys and values, as many as there are before all readers end.

        Args:
            queue: the queue of files.
            num_records: at most so many.
            name: name of the operation.
        """
        self._fill(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _fill(self, queue: Any) -> None:
        filled = [self._common_queue.enqueue(list(each.read(queue))) for each in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, filled))

    def num_records_produced(self, name: str | None = None) -> Any:
        """Return how many records were read."""
        return tf.add_n([each.num_records_produced() for each in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """Return how many files were read."""
        return tf.add_n([each.num_work_units_completed() for each in self._readers], name=name)


def get_data_files(data_sources: Any) -> list[str]:
    """Return the files that patterns mean.

    Args:
        data_sources: a file, a pattern, or several of them.

    Raises:
        ValueError: if there are none.
    """
    if isinstance(data_sources, (list, tuple)):
        files = [name for each in data_sources for name in get_data_files(each)]
    else:
        files = tf.gfile.Glob(data_sources) if set("*?[") & set(data_sources) else [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files


def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Any = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Return keys and values of records that several readers read.

    Args:
        data_sources: files or patterns.
        reader_class: makes a reader.
        num_epochs: how often each file is read; without end if omitted.
        num_readers: how many readers there are.
        reader_kwargs: arguments of each.
        shuffle: whether files and records come in an order that is drawn.
        dtypes: element types of keys and values.
        capacity: how many records the queue holds.
        min_after_dequeue: how many it keeps to draw from.
        seed: of the order.
        scope: name of the scope.
    """
    files, kinds = get_data_files(data_sources), list(dtypes or [tf.string, tf.string])
    with tf.name_scope(scope, "parallel_read"):
        names = tf.train.string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        shapes: Any = [()] * len(kinds)
        if shuffle:
            queue: Any = tf.RandomShuffleQueue(
                capacity, min_after_dequeue, kinds, shapes, seed=seed, name="common_queue"
            )
        else:
            queue = tf.FIFOQueue(capacity, kinds, shapes, name="common_queue")
        share = tf.cast(queue.size(), tf.float32) * (1.0 / capacity)
        tf.summary.scalar(f"fraction_of_{capacity}_full", share)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(data_sources: Any, reader_class: Any, reader_kwargs: Any = None, scope: str | None = None) -> Any:
    """Return keys and values of the records of files, each once and in order.

    Args:
        data_sources: files or patterns.
        reader_class: makes the reader.
        reader_kwargs: its arguments.
        scope: name of the scope.
    """
    with tf.name_scope(scope, "single_pass_read"):
        names = tf.train.string_input_producer(
            get_data_files(data_sources), num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(names)


class DataDecoder:
    """Makes items of records."""

    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """Return the tensors of some items of a record."""
        raise NotImplementedError

    def list_items(self) -> list[str]:
        """Return the names of the items."""
        raise NotImplementedError


class Dataset:
    """Files, and how to read them.

    Args:
        data_sources: files or patterns.
        reader: makes a reader.
        decoder: makes items of records.
        num_samples: how many records there are.
        items_to_descriptions: what each item is.
        kwargs: further attributes.
    """

    def __init__(
        self, data_sources: Any, reader: Any, decoder: Any, num_samples: Any, items_to_descriptions: Any, **kwargs: Any
    ) -> None:
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
        vars(self).update(kwargs)


class DataProvider:
    """Tensors by the names of items.

    Args:
        items_to_tensors: the tensors.
        num_samples: how many records there are.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: Any) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: Sequence[str]) -> list[Any]:
        """Return the tensors of some items.

        Args:
            items: their names.

        Raises:
            ValueError: for an item that there is not, or no list of them.
        """
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(f"Item [{item}] is invalid because it is not in {self.list_items()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """Return the names of the items."""
        return list(self._items_to_tensors)

    def num_samples(self) -> Any:
        """Return how many records there are."""
        return self._num_samples


class DatasetDataProvider(DataProvider):
    """Items of the records of a data set.

    Args:
        dataset: the data set.
        num_readers: how many readers there are.
        reader_kwargs: arguments of each.
        shuffle: whether files and records come in an order that is drawn.
        num_epochs: how often each file is read; without end if omitted.
        common_queue_capacity: how many records the queue holds.
        common_queue_min: how many it keeps to draw from.
        record_key: the item with the key of the record.
        seed: of the order.
        scope: name of the scope.

    Raises:
        ValueError: if the data set has an item of the name of the key.
    """

    def __init__(
        self,
        dataset: Any,
        num_readers: int = 1,
        reader_kwargs: Any = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, record = parallel_read(
            dataset.data_sources,
            dataset.reader,
            num_epochs,
            num_readers,
            reader_kwargs,
            shuffle,
            None,
            common_queue_capacity,
            common_queue_min,
            seed,
            scope,
        )
        items = dataset.decoder.list_items()
        if record_key in items:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}"
            )
        tensors = dict(zip(items, dataset.decoder.decode(record, items), strict=True))
        super().__init__({**tensors, record_key: key}, dataset.num_samples)
