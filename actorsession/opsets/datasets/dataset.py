"""``Dataset``: a pipeline of elements, built in a graph and run by iterators.

Names, arguments and messages are TensorFlow's. A dataset is a node of the graph, and so is each step of a
pipeline; functions are traced once. The class owns the node. Its methods that make another one are functions
of modules by kind, ``creation``, ``mapping``, ``batching`` and ``ordering``, and the class lists them;
``combining`` and ``files`` have further steps and sources, ``iterators`` what sessions take elements from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from actorsession.graph.graph import Graph
from actorsession.graph.op_signatures import fixed_type, signature_of
from actorsession.graph.operation import Tensor
from actorsession.ops.build import convert_to_tensor, graph_of, make, make_one
from actorsession.opsets.datasets import batching, creation, mapping, ordering
from actorsession.opsets.datasets.elements import (
    DatasetSpec,
    SparseSpec,
    dtype_of,
    mapped,
    output_attrs,
    packed,
    said_of,
)
from actorsession.opsets.datasets.iterators import Iterator, make_initializable, make_one_shot
from actorsession.opsets.datasets.nodes import function_attrs, is_capture
from actorsession.opsets.datasets.options import Options
from actorsession.opsets.datasets.tracing import Traced, as_arguments, trace
from actorsession.opsets.sparse.basics import SparseTensor
from actorsession.process_bound import GraphBound

__all__ = ["Dataset"]


class Dataset(GraphBound):
    """Elements of one structure, in order.

    Args:
        tensor: the tensor that stands for the dataset.
        structure: the structure of its elements; see ``elements``.
        options: its options.
    """

    def __init__(self, tensor: Tensor, structure: Any, options: Options | None = None) -> None:
        self._dataset_tensor = tensor
        self._structure = structure
        self._options = options or Options()

    # -- properties ----------------------------------------------------------------------------

    @property
    def _variant_tensor(self) -> Tensor:
        """The tensor that stands for the dataset, under TensorFlow's name."""
        return self._dataset_tensor

    @property
    def output_types(self) -> Any:
        """The dtype of each component of an element."""
        return mapped(dtype_of, self._structure)

    @property
    def output_shapes(self) -> Any:
        """The static shape of each component of an element."""
        return mapped(lambda leaf: getattr(leaf, "shape", leaf), self._structure)

    @property
    def output_classes(self) -> Any:
        """The class of each component of an element."""
        return mapped(_class_of, self._structure)

    @property
    def element_spec(self) -> Any:
        """The static type of each component of an element."""
        return self._structure

    def __repr__(self) -> str:
        title = type(self).__name__
        if title == "Dataset":
            title = f"_{self._dataset_tensor.op.type.rstrip('0123456789').removesuffix('V')}"
        return f"<{title} element_spec={said_of(self._structure)}>"

    def __len__(self) -> int:
        raise TypeError("`Dataset` only supports `len` in eager mode. Use `Dataset.cardinality()` instead.")

    def __iter__(self) -> Any:
        raise RuntimeError("`Dataset` only supports Python-style iteration in eager mode or within a traced function.")

    def __bool__(self) -> bool:
        return True

    # -- building ------------------------------------------------------------------------------

    @classmethod
    def _of_node(
        cls,
        op_type: str,
        structure: Any,
        inputs: Mapping[str, Any] | None = None,
        functions: Mapping[str, Traced] | None = None,
        *,
        name: str | None = None,
        **attrs: Any,
    ) -> Dataset:
        """Return the dataset of a new node.

        Args:
            op_type: its op type.
            structure: of its elements.
            inputs: the inputs by their names: values, datasets, and lists of these.
            functions: the functions by the names of their attributes.
            name: wanted name.
            **attrs: further attributes.
        """
        operands_by_name, traced_by = dict(inputs or {}), dict(functions or {})
        signature = signature_of(op_type)
        assert signature is not None
        captures = iter([traced_by[key] for key in function_attrs(op_type)])
        for arg in signature.inputs:
            if is_capture(arg.name):
                operands_by_name[arg.name] = list(next(captures).captures)
        listed = {
            arg.name: operands_by_name[arg.name] if arg.is_list or arg.number else [operands_by_name[arg.name]]
            for arg in signature.inputs
        }
        sources = [item for items in listed.values() for item in items if isinstance(item, Dataset)]
        graph = graph_of(
            *[source._dataset_tensor for source in sources],
            *[item for items in listed.values() for item in items if not isinstance(item, Dataset)],
        )
        stored: dict[str, Any] = {**attrs, **{key: f.definition for key, f in traced_by.items()}}
        for key, value in output_attrs(structure).items():
            if key in signature.stored:
                stored.setdefault(key, value)
        groups = sorted({group for function in traced_by.values() for group in function.groups})
        if groups:
            stored["_class"] = tuple(groups)
        before = [op for function in traced_by.values() for op in function.before]
        with graph.as_default():
            tensors: list[Tensor] = []
            for arg in signature.inputs:
                dtype = fixed_type(arg, signature.attrs)
                operands = [_operand(item, arg.name, dtype, graph) for item in listed[arg.name]]
                if arg.is_list and arg.type in signature.stored:
                    stored[arg.type] = tuple([tensor.dtype for tensor in operands])
                tensors += operands
            with graph.control_dependencies(before):
                tensor = make_one(op_type, tensors, stored, name or op_type, graph)
        options = Options()
        for each in sources:
            options = options.merge(each._options)
        return Dataset(tensor, structure, options)

    def _then(
        self,
        op_type: str,
        inputs: Mapping[str, Any] | None = None,
        functions: Mapping[str, Traced] | None = None,
        structure: Any = None,
        **more: Any,
    ) -> Dataset:
        """Return the dataset of a new node that reads this one, by default with elements of its structure."""
        elements = self._structure if structure is None else structure
        return self._of_node(op_type, elements, {"input_dataset": self, **(inputs or {})}, functions, **more)

    def _traced(self, func: Callable[..., Any], name: str, *, before: Sequence[Any] = ()) -> tuple[Traced, Any]:
        """Trace a function of an element.

        Args:
            func: the function; it gets the items of an element that is a tuple as arguments.
            name: wanted name.
            before: the structures of further arguments in front.

        Returns:
            The function, and the structure of its result.
        """
        arguments = [*before, *as_arguments(self._structure)]
        return trace(func, arguments, self._dataset_tensor.graph, name)

    # -- sources and steps ---------------------------------------------------------------------

    from_tensors = classmethod(creation.from_tensors)
    from_tensor_slices = classmethod(creation.from_tensor_slices)
    from_sparse_tensor_slices = classmethod(creation.from_sparse_tensor_slices)
    from_generator = classmethod(creation.from_generator)
    range = classmethod(creation.range_)
    counter = classmethod(creation.counter)
    random = classmethod(creation.random)
    list_files = classmethod(creation.list_files)
    zip = classmethod(creation.zip_)
    choose_from_datasets = classmethod(creation.choose_from_datasets)
    sample_from_datasets = classmethod(creation.sample_from_datasets)

    map = map_with_legacy_function = mapping.map_
    filter = filter_with_legacy_function = mapping.filter_
    take_while = mapping.take_while
    flat_map = mapping.flat_map
    interleave = mapping.interleave
    scan = mapping.scan
    reduce = mapping.reduce

    batch = batching.batch
    padded_batch = batching.padded_batch
    sparse_batch = batching.sparse_batch
    unbatch = batching.unbatch
    rebatch = batching.rebatch
    window = batching.window
    group_by_window = batching.group_by_window
    bucket_by_sequence_length = batching.bucket_by_sequence_length

    shuffle = ordering.shuffle
    repeat = ordering.repeat
    take = ordering.take
    skip = ordering.skip
    shard = ordering.shard
    concatenate = ordering.concatenate
    enumerate = ordering.enumerate_
    prefetch = ordering.prefetch
    cache = ordering.cache
    unique = ordering.unique
    ignore_errors = ordering.ignore_errors
    rejection_resample = ordering.rejection_resample

    # -- the whole -----------------------------------------------------------------------------

    def apply(self, transformation_func: Callable[[Any], Any]) -> Any:
        """Return what a function makes of the dataset."""
        dataset = transformation_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"`transformation_func` must return a `Dataset` object. Got {type(dataset)}.")
        return dataset

    def options(self) -> Options:
        """Return the options."""
        return self._options

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Return the same dataset with options, which change nothing here."""
        return Dataset(self._dataset_tensor, self._structure, self._options.merge(options))

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element. InvalidArgumentError at run time if there are none or several."""
        attrs = output_attrs(self._structure)
        op_type = "DatasetToSingleElement"
        op = make(op_type, [self._dataset_tensor], attrs, name or op_type)
        return packed(self._structure, op.outputs)

    def cardinality(self) -> Tensor:
        """Return the number of elements, -1 if there is no end, and -2 if it is not known."""
        return make_one("DatasetCardinality", [self._dataset_tensor], {}, "DatasetCardinality")

    # -- iterators -----------------------------------------------------------------------------

    def make_one_shot_iterator(self) -> Iterator:
        """Return an iterator that needs no initialisation and goes through the dataset once.

        Raises:
            ValueError: if the dataset depends on placeholders, or on state such as variables.
        """
        return make_one_shot(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Return an iterator whose ``initializer`` begins a pass through the dataset.

        Args:
            shared_name: name under which sessions of its device share it.
        """
        return make_initializable(self, shared_name)


# Errors of calls name the methods, and not the functions that they are.
for _name, _method in vars(Dataset).items():
    _function = getattr(_method, "__func__", _method)
    if isinstance(_function, FunctionType) and "." not in _function.__qualname__:
        _function.__name__, _function.__qualname__ = _name, f"Dataset.{_name}"


def _class_of(leaf: Any) -> Any:
    if isinstance(leaf, DatasetSpec):
        return leaf
    return SparseTensor if isinstance(leaf, SparseSpec) else Tensor


def _operand(value: Any, name: str, dtype: Any, graph: Graph) -> Tensor:
    if isinstance(value, Dataset):
        return value._dataset_tensor
    return convert_to_tensor(value, dtype, name=name, graph=graph)


# How many datasets of a graph with a seed have none of their own; each has the next number as its second one.
