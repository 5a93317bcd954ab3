"""``Iterator``: what sessions take the elements of datasets from.

An iterator is state on the device of its node. A one-shot iterator has its dataset with it; one that is
initialised gets it from the operation that does; one of a structure from any dataset of that structure; and
one of a handle stands for whichever iterator the handle names in a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorsession.graph.dtypes import string
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.scopes import scope_of
from actorsession.ops.build import convert_to_tensor, graph_of, make, make_one
from actorsession.ops.shared_state import make_handle
from actorsession.opsets.datasets import iterator_nodes  # noqa: F401 - registers the op types
from actorsession.opsets.datasets.elements import leaves, mapped, output_attrs, packed, said_of, structure_of
from actorsession.opsets.datasets.tracing import factory_of
from actorsession.process_bound import GraphBound

if TYPE_CHECKING:
    from actorsession.opsets.datasets.dataset import Dataset

__all__ = ["Iterator", "make_initializable", "make_one_shot"]


class Iterator(GraphBound):
    """A position in a dataset.

    Args:
        iterator_resource: its handle.
        initializer: the operation that begins a pass; ``None`` if there is none.
        output_types: the dtypes of the components of an element.
        output_shapes: their static shapes.
        output_classes: their classes.
        structure: all of these at once.
    """

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any,
        *,
        structure: Any = None,
    ) -> None:
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._structure = structure_of(output_types, output_shapes, output_classes) if structure is None else structure
        self._string_handle = self._as_string("IteratorToStringHandle")

    # -- making --------------------------------------------------------------------------------

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
    ) -> Iterator:
        """Return an iterator for any dataset of a structure; see ``make_initializer``.

        Args:
            output_types: a nest of dtypes.
            output_shapes: a nest of shapes; unknown if left out.
            shared_name: name under which sessions of its device share it.
            output_classes: a nest of ``Tensor`` and ``SparseTensor``.
        """
        structure = structure_of(output_types, output_shapes, output_classes)
        handle = make_handle("IteratorV2", "Iterator", shared_name, output_attrs(structure))
        return Iterator(handle, None, None, None, None, structure=structure)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """Return what stands, in each step, for the iterator that a handle names.

        Args:
            string_handle: a string scalar, such as a placeholder; the value of some ``string_handle()``.
            output_types: as for ``from_structure``.
            output_shapes: as for ``from_structure``.
            output_classes: as for ``from_structure``.
        """
        structure = structure_of(output_types, output_shapes, output_classes)
        text = convert_to_tensor(string_handle, string)
        handle = make_one(
            "IteratorFromStringHandleV2", [text], output_attrs(structure), "IteratorFromStringHandle", graph_of(text)
        )
        return Iterator(handle, None, None, None, None, structure=structure)

    # -- properties ----------------------------------------------------------------------------

    def _dataset(self) -> Dataset:
        from actorsession.opsets.datasets.dataset import Dataset

        return Dataset(self._iterator_resource, self._structure)

    @property
    def output_types(self) -> Any:
        """The dtype of each component of an element."""
        return self._dataset().output_types

    @property
    def output_shapes(self) -> Any:
        """The static shape of each component of an element."""
        return self._dataset().output_shapes

    @property
    def output_classes(self) -> Any:
        """The class of each component of an element."""
        return self._dataset().output_classes

    @property
    def element_spec(self) -> Any:
        """The static type of each component of an element."""
        return self._structure

    @property
    def initializer(self) -> Operation:
        """The operation that begins a pass.

        Raises:
            ValueError: if the iterator has none.
        """
        if self._initializer is None:
            raise ValueError(
                "The iterator does not have an initializer. This means it was likely created using "
                "`Dataset.make_one_shot_iterator()`. For an initializable iterator, use "
                "`Dataset.make_initializable_iterator()` instead."
            )
        return self._initializer

    # -- operations ----------------------------------------------------------------------------

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Operation:
        """Return an operation that begins a pass through a dataset.

        Args:
            dataset: a dataset of the iterator's structure.
            name: wanted name.

        Raises:
            TypeError: if its dtypes or shapes are not those of the iterator.
            ValueError: if its elements are of another structure.
        """
        ours, theirs = leaves(self._structure), leaves(dataset._structure)
        if mapped(_place, self._structure) != mapped(_place, dataset._structure):
            raise ValueError(
                "The two structures don't have the same nested structure.\n\nFirst structure: "
                f"{said_of(self._structure)}\n\nSecond structure: {said_of(dataset._structure)}"
            )
        if any(
            type(a) is not type(b) or getattr(a, "dtype", None) is not getattr(b, "dtype", None)
            for a, b in zip(ours, theirs, strict=True)
        ):
            raise TypeError(
                f"Expected output types {self.output_types!r} but got dataset with output types "
                f"{dataset.output_types!r}."
            )
        for a, b in zip(ours, theirs, strict=True):
            if hasattr(a, "shape") and not a.shape.is_compatible_with(b.shape):
                raise TypeError(
                    f"Expected output shapes compatible with {self.output_shapes!r} but got dataset with "
                    f"output shapes {dataset.output_shapes!r}."
                )
        handle = self._iterator_resource
        with handle.graph.colocate_with(handle.op):
            return make("MakeIterator", [dataset._dataset_tensor, handle], {}, name or "make_initializer", handle.graph)

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element, as the nest of tensors that it is.

        All tensors of one call have values of one element, and each run takes one.

        Args:
            name: wanted name.

        Returns:
            The element. OutOfRangeError at run time at the end, and FailedPreconditionError before the
            iterator is initialised.
        """
        handle = self._iterator_resource
        attrs = output_attrs(self._structure)
        with handle.graph.colocate_with(handle.op):
            op = make("IteratorGetNext", [handle], attrs, name or "IteratorGetNext", handle.graph)
        return packed(self._structure, op.outputs)

    def get_next_as_optional(self) -> Any:
        """Return the next element, which is missing at the end; see ``Optional``."""
        from actorsession.opsets.datasets.optionals import get_next_as_optional

        return get_next_as_optional(self)

    def string_handle(self, name: str | None = None) -> Tensor:
        """Return the handle of the iterator as a string scalar; see ``from_string_handle``."""
        return self._string_handle if name is None else self._as_string(name)

    def _as_string(self, name: str) -> Tensor:
        handle = self._iterator_resource
        with handle.graph.colocate_with(handle.op):
            return make_one("IteratorToStringHandle", [handle], {}, name, handle.graph)

    def __repr__(self) -> str:
        return f"<Iterator {self._iterator_resource.op.name!r} of {leaves(self._structure)}>"


def _place(leaf: Any) -> None:
    """Return the same for all leaves, to compare structures alone."""


def _checked_graph(dataset: Dataset) -> Graph:
    """Return the graph of a dataset, which must be the default graph.

    Raises:
        ValueError: if it is not.
    """
    graph, current = dataset._dataset_tensor.graph, get_default_graph()
    if graph is not current:
        raise ValueError(
            f"The graph {current!r} of the iterator is different from the graph {graph!r} in which the "
            f"dataset was made, {dataset!r}: make both in one graph; an input function of an estimator "
            "makes all of its dataset itself"
        )
    return graph


def make_initializable(dataset: Dataset, shared_name: str | None) -> Iterator:
    """See ``Dataset.make_initializable_iterator``."""
    graph = _checked_graph(dataset)
    with graph.as_default(), graph.colocate_with(dataset._dataset_tensor.op):
        handle = make_handle("IteratorV2", "IteratorV2", shared_name, output_attrs(dataset._structure))
        start = make("MakeIterator", [dataset._dataset_tensor, handle], {}, "MakeIterator", graph)
        return Iterator(handle, start, None, None, None, structure=dataset._structure)


def make_one_shot(dataset: Dataset) -> Iterator:
    """See ``Dataset.make_one_shot_iterator``."""
    graph = _checked_graph(dataset)
    try:
        factory = factory_of(dataset._dataset_tensor)
    except ValueError as exc:
        if "Cannot capture a stateful node" not in str(exc):
            raise
        raise ValueError(
            f"{exc}: A likely cause of this error is that the dataset for which you are calling "
            "`make_one_shot_iterator()` captures a stateful object, such as a `Variable` or "
            "`StaticHashTable`, which is not supported. Use "
            "`make_initializable_iterator()` instead."
        ) from None
    attrs = {**output_attrs(dataset._structure), "dataset_factory": factory, "container": scope_of(graph).container}
    handle = make_one("OneShotIterator", (), attrs, "OneShotIterator", graph)
    return Iterator(handle, None, None, None, None, structure=dataset._structure)
