"""The steps of a pipeline that choose elements and their order: methods of ``Dataset``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actorsession import ops
from actorsession.graph.dtypes import float32, int32, int64, string
from actorsession.graph.operation import Tensor
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import less
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.opsets.datasets.creation import seeds
from actorsession.opsets.datasets.elements import dtype_of, leaves, merged
from actorsession.opsets.datasets.options import AUTOTUNE

if TYPE_CHECKING:
    from actorsession.opsets.datasets.dataset import Dataset


def shuffle(
    self: Dataset,
    buffer_size: Any,
    seed: int | None = None,
    reshuffle_each_iteration: bool | None = True,
    name: str | None = None,
) -> Dataset:
    """Return a dataset of the elements in random order: each is drawn from a buffer.

    Args:
        buffer_size: the number of elements in the buffer.
        seed: seed of the order.
        reshuffle_each_iteration: whether each repetition has another order.
        name: wanted name.
    """
    again = True if reshuffle_each_iteration is None else reshuffle_each_iteration
    # Before the seeds, which depend on how many operations there are.
    with self._dataset_tensor.graph.as_default():
        buffer_size = convert_to_tensor(buffer_size, int64, name="buffer_size")
    return self._then(
        "ShuffleDataset", {"buffer_size": buffer_size, **seeds(seed)}, name=name, reshuffle_each_iteration=again
    )


def repeat(self: Dataset, count: Any = None, name: str | None = None) -> Dataset:
    """Return a dataset that gives all elements several times; without end for ``None`` and -1."""
    return self._then("RepeatDataset", {"count": -1 if count is None else count}, name=name)


def take(self: Dataset, count: Any, name: str | None = None) -> Dataset:
    """Return a dataset of the first elements; of all if ``count`` is -1."""
    return self._then("TakeDataset", {"count": count}, name=name)


def skip(self: Dataset, count: Any, name: str | None = None) -> Dataset:
    """Return a dataset without the first elements; without any if ``count`` is -1."""
    return self._then("SkipDataset", {"count": count}, name=name)


def shard(self: Dataset, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
    """Return a dataset of every ``num_shards``-th element, beginning with that number ``index``."""
    return self._then("ShardDataset", {"num_shards": num_shards, "index": index}, name=name)


def concatenate(self: Dataset, dataset: Dataset, name: str | None = None) -> Dataset:
    """Return a dataset of the elements of this one, then those of another.

    Raises:
        TypeError: if the elements differ in structure or dtypes.
    """
    structure = merged(self._structure, dataset._structure)
    return self._then("ConcatenateDataset", {"another_dataset": dataset}, None, structure, name=name)


def enumerate_(self: Dataset, start: Any = 0, name: str | None = None) -> Dataset:
    """Return a dataset of pairs of a number and an element."""
    return self.zip((self.range(start, int64.max), self), name=name)


def prefetch(self: Dataset, buffer_size: Any, name: str | None = None) -> Dataset:
    """Return the same dataset, with elements that a thread makes ahead of time.

    Args:
        buffer_size: how many; -1 leaves it to the library.
        name: wanted name.
    """
    size = AUTOTUNE if buffer_size is None else buffer_size
    return self._then("PrefetchDataset", {"buffer_size": size}, name=name)


def cache(self: Dataset, filename: Any = "", name: str | None = None) -> Dataset:
    """Return the same dataset, which keeps its elements for repetitions.

    Args:
        filename: a file in which they are kept, and found by other iterators and programs; in memory if
            empty.
        name: wanted name.
    """
    return self._then("CacheDataset", {"filename": filename}, name=name)


def unique(self: Dataset, name: str | None = None) -> Dataset:
    """Return a dataset of the elements that have not come before."""
    for leaf in leaves(self._structure):
        if dtype_of(leaf) not in (int32, int64, string):
            raise TypeError(
                f"`Dataset.unique` does not support type {dtype_of(leaf)} -- only `int32`, "
                "`int64`, and `string` are supported."
            )
    return self._then("UniqueDataset", name=name)


def ignore_errors(self: Dataset, log_warning: bool = False, name: str | None = None) -> Dataset:
    """Return a dataset without the elements whose making fails."""
    return self._then("IgnoreErrorsDataset", name=name, log_warning=log_warning)


def rejection_resample(
    self: Dataset,
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Dataset:
    """Return a dataset of pairs of a class and an element, with classes as often as wanted.

    Elements are dropped at random for that.

    Args:
        class_func: a function of an element that returns its class, an integer scalar.
        target_dist: the wanted probability of each class.
        initial_dist: the probability of each class before; counted on the way if left out.
        seed: seed of the draws.
        name: wanted name.
    """

    target = cast(convert_to_tensor(target_dist), float32)

    def classed(*element: Any) -> Any:
        kind = cast(class_func(*element), int32)
        return kind, element[0] if len(element) == 1 else element

    def counted(counts: Tensor, pair: Any) -> Any:
        kind, element = pair
        numbers = ops.range(ops.shape(target)[0])
        counts = counts + cast(ops.equal(numbers, kind), float32)
        return counts, (kind, element, counts)

    def accepted(kind: Tensor, element: Any, before: Tensor) -> Tensor:
        ratio = target / ops.maximum(before / reduce_sum(before), 1e-9)
        chance = ops.gather(ratio / ops.reduce_max(ratio), kind)
        return less(ops.random_uniform([], seed=seed), chance)

    pairs = self.map(classed)
    if initial_dist is None:
        # As if each class had come once, as long as nothing is known.
        known = pairs.scan(ops.ones_like(target), counted)
    else:
        initial = cast(convert_to_tensor(initial_dist), float32)
        known = pairs.map(lambda kind, element: (kind, element, initial))
    return known.filter(accepted).map(lambda kind, element, before: (kind, element))
