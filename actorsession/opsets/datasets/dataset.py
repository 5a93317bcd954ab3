"""``Dataset``: a pipeline of elements, built in a graph and run by iterators.

Names, arguments and messages are TensorFlow's. A dataset is a node of the graph, and so is each step of a
pipeline; functions are traced once. ``combining`` and ``files`` have more of them, ``iterators`` what
sessions take elements from.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import as_dtype, bool_, int32, int64, string
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.op_signatures import fixed_type, signature_of
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import constant, convert_to_tensor, graph_of, make, make_one
from actorsession.ops.flow.assertions import Assert
from actorsession.ops.randomness.numbers import get_seed
from actorsession.opsets.datasets.elements import (
    DatasetSpec,
    SparseSpec,
    flat_specs,
    leaves,
    like,
    mapped,
    merged,
    output_attrs,
    packed,
    said_of,
    spec_of,
    structure_of,
    taken,
)
from actorsession.opsets.datasets.generators import generator_functions
from actorsession.opsets.datasets.iterators import Iterator, make_initializable, make_one_shot
from actorsession.opsets.datasets.nodes import function_attrs, is_capture
from actorsession.opsets.datasets.options import Options
from actorsession.opsets.datasets.tracing import Traced, traced
from actorsession.opsets.parsing.files import matching_files
from actorsession.opsets.sparse.basics import SparseTensor
from actorsession.opsets.text.joining import reduce_join
from actorsession.process_bound import GraphBound

__all__ = ["AUTOTUNE", "Dataset"]

AUTOTUNE = -1
"""A size or degree of parallelism that is left to the library."""


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
        return mapped(lambda leaf: self._of(leaf, "types"), self._structure)

    @property
    def output_shapes(self) -> Any:
        """The static shape of each component of an element."""
        return mapped(lambda leaf: self._of(leaf, "shapes"), self._structure)

    @property
    def output_classes(self) -> Any:
        """The class of each component of an element."""
        return mapped(lambda leaf: self._of(leaf, "classes"), self._structure)

    @property
    def element_spec(self) -> Any:
        """The static type of each component of an element."""
        return self._structure

    @staticmethod
    def _of(leaf: Any, what: str) -> Any:
        if isinstance(leaf, DatasetSpec):
            return leaf
        if what == "classes":
            return SparseTensor if isinstance(leaf, SparseSpec) else Tensor
        return leaf.dtype if what == "types" else leaf.shape

    def __repr__(self) -> str:
        title = type(self).__name__
        if title == "Dataset":
            title = f"_{self._dataset_tensor.op.type.rstrip('0123456789').removesuffix('V')}"
        return f"<{title} element_spec={said_of(self._structure)}>"

    def __len__(self) -> int:
        raise TypeError(
            "`Dataset` only supports `len` in eager mode. Use `Dataset.cardinality()` instead."
        )

    def __iter__(self) -> Any:
        raise RuntimeError(
            "`Dataset` only supports Python-style iteration in eager mode or within a traced function."
        )

    def __bool__(self) -> bool:
        return True

    # -- building ------------------------------------------------------------------------------

    @classmethod
    def _made(
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
        given, traced_by = dict(inputs or {}), dict(functions or {})
        signature = signature_of(op_type)
        assert signature is not None
        captures = iter([traced_by[key] for key in function_attrs(op_type)])
        for arg in signature.inputs:
            if is_capture(arg.name):
                given[arg.name] = list(next(captures).captures)
        listed = {
            arg.name: given[arg.name] if arg.is_list or arg.number else [given[arg.name]]
            for arg in signature.inputs
        }
        sources = [item for items in listed.values() for item in items if isinstance(item, Dataset)]
        graph = graph_of(
            *[source._dataset_tensor for source in sources],
            *[item for items in listed.values() for item in items if not isinstance(item, Dataset)],
        )
        made: dict[str, Any] = {**attrs, **{key: f.definition for key, f in traced_by.items()}}
        for key, value in output_attrs(structure).items():
            if key in signature.stored:
                made.setdefault(key, value)
        groups = sorted({group for function in traced_by.values() for group in function.groups})
        if groups:
            made["_class"] = tuple(groups)
        before = [op for function in traced_by.values() for op in function.before]
        with graph.as_default():
            tensors: list[Tensor] = []
            for arg in signature.inputs:
                dtype = fixed_type(arg, signature.attrs)
                found = [_operand(item, arg.name, dtype, graph) for item in listed[arg.name]]
                if arg.is_list and arg.type in signature.stored:
                    made[arg.type] = tuple([tensor.dtype for tensor in found])
                tensors += found
            with graph.control_dependencies(before):
                tensor = make_one(op_type, tensors, made, name or op_type, graph)
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
        found = self._structure if structure is None else structure
        return self._made(
            op_type, found, {"input_dataset": self, **(inputs or {})}, functions, **more
        )

    def _traced(
        self, func: Callable[..., Any], name: str, *, before: Any = None
    ) -> tuple[Traced, Any]:
        """Trace a function of an element.

        Args:
            func: the function; it gets the items of an element that is a tuple as arguments.
            name: wanted name.
            before: the structure of further arguments in front.

        Returns:
            The function, and the structure of its result.
        """
        if not callable(func):
            raise ValueError(
                f"Argument `func` must be a callable. Received func={func!r:.100} (of type {type(func)})"
            )
        found: list[Any] = []
        front = () if before is None else before
        count = len(flat_specs(front))

        def build(parameters: list[Tensor]) -> list[Tensor]:
            arguments = [
                *packed(front, parameters[:count], Dataset),
                *as_arguments(packed(self._structure, parameters[count:], Dataset)),
            ]
            returned = func(*arguments)
            # As of an operation with several results: they need not have one shape.
            structure, tensors = spec_of(
                tuple(returned) if isinstance(returned, list) else returned
            )
            found.append(structure)
            return tensors

        specs = [*flat_specs(front), *flat_specs(self._structure)]
        function = traced(build, specs, self._dataset_tensor.graph, name)
        return function, _with_known_shapes(found[0], function)

    # -- sources -------------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Return a dataset of one element.

        Args:
            tensors: the element: a nest of tensors.
            name: wanted name.
        """
        structure, found = spec_of(tensors, "component")
        return Dataset._made("TensorDataset", structure, {"components": found}, name=name)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Return a dataset of the rows of tensors.

        Args:
            tensors: a nest of tensors whose first dimensions have the same size.
            name: wanted name.

        Raises:
            ValueError: for scalars, or first dimensions that differ.
        """
        whole, found = spec_of(tensors, "component", by_rows=True)
        specs: list[Any] = []
        size: int | None = None
        for leaf in leaves(whole):
            shape: TensorShape = leaf.shape
            if shape.rank == 0:
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            first = None if shape.sizes is None else shape.sizes[0]
            if None not in (first, size) and first != size:
                raise ValueError(f"Dimensions {size} and {first} are not compatible")
            size = first if first is not None else size
            rest = TensorShape(None) if shape.sizes is None else shape[1:]
            specs.append(type(leaf)(leaf.dtype, rest))
        if not specs:
            raise ValueError("Invalid `element`. `element` should not be empty.")
        structure = like(whole, specs)
        return Dataset._made("TensorSliceDataset", structure, {"components": found}, name=name)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """Return a dataset of the rows of a sparse tensor, as tuples of indices, values and shape."""
        rank = sparse_tensor.get_shape().rank
        specs = (
            TensorSpec(int64, TensorShape([None, None if rank is None else rank - 1])),
            TensorSpec(sparse_tensor.dtype, TensorShape([None])),
            TensorSpec(int64, TensorShape([None if rank is None else rank - 1])),
        )
        parts = {key: getattr(sparse_tensor, key) for key in ("indices", "values", "dense_shape")}
        return Dataset._made("SparseTensorSliceDataset", specs, parts)

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Dataset:
        """Return a dataset of numbers at equal distances; arguments as Python's ``range``.

        Args:
            *args: the end; or the start, the end and the distance.
            **kwargs: ``output_type``, the dtype of the numbers, int64 by default; ``name``.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(
                "Invalid `args`. The length of `args` should be between 1 and 3 but was "
                f"{len(args)}."
            )
        dtype = as_dtype(kwargs.get("output_type") or int64)
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        spec = TensorSpec(dtype, scalar_shape)
        limits = {"start": start, "stop": stop, "step": step}
        return Dataset._made("RangeDataset", spec, limits, name=kwargs.get("name"))

    @staticmethod
    def random(
        seed: int | None = None, rerandomize_each_iteration: Any = None, name: str | None = None
    ) -> Dataset:
        """Return a dataset of random numbers of 32 bits, without end."""
        spec = TensorSpec(int64, scalar_shape)
        if rerandomize_each_iteration is None:
            return Dataset._made("RandomDataset", spec, _seeds(seed), name=name)
        epochs = make_one("DummySeedGenerator", (), {}, "DummySeedGenerator", get_default_graph())
        return Dataset._made(
            "RandomDatasetV2", spec, {**_seeds(seed), "seed_generator": epochs}, name=name,
            rerandomize_each_iteration=bool(rerandomize_each_iteration),
        )  # fmt: skip

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of what a Python generator gives, in the process that has built the graph.

        Args:
            generator: a function that returns an object to iterate over; called for each pass.
            output_types: a nest of dtypes.
            output_shapes: a nest of shapes; unknown if left out.
            args: tensors whose values the function gets as arguments.
            output_signature: a nest of objects with ``dtype`` and ``shape``, in place of the two.
            name: wanted name.

        Raises:
            TypeError: if ``generator`` cannot be called, or no dtypes are given.
        """
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        if output_signature is not None:
            output_types = mapped(lambda leaf: leaf.dtype, output_signature)
            output_shapes = mapped(lambda leaf: leaf.shape, output_signature)
        if output_types is None:
            raise TypeError(
                "To specify the output signature you need to provide either the `output_signature` "
                "argument or the `output_types` argument."
            )
        structure = structure_of(output_types, output_shapes)
        given = [convert_to_tensor(value) for value in args or ()]
        functions = generator_functions(generator, structure, given, get_default_graph())
        return Dataset._made("GeneratorDataset", structure, None, functions, name=name)

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of the paths that match patterns.

        Args:
            file_pattern: a pattern or several.
            shuffle: whether they come in random order, which is the default; else sorted.
            seed: seed of that order.
            name: wanted name.

        Returns:
            The dataset. InvalidArgumentError at run time if no file matches.
        """
        graph = get_default_graph()
        with graph.name_scope(name or "list_files"):
            patterns = convert_to_tensor(file_pattern, string, name="file_pattern")
            found = matching_files(patterns)
            count = raw.Size(found, out_type=int64)
            said = "No files matched pattern: " + reduce_join(patterns, separator=", ")
            check = Assert(raw.Greater(count, constant(0, int64)), [said], summarize=1)
            with graph.control_dependencies([check]):
                found = raw.Identity(found)
            made = Dataset.from_tensor_slices(found)
            if shuffle is None or shuffle:
                made = made.shuffle(raw.Maximum(count, constant(1, int64)), seed=seed)
            return made

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Return a dataset of elements side by side; it ends with the shortest.

        Args:
            *args: datasets, or one nest of them.
            datasets: a nest of datasets.
            name: wanted name.

        Raises:
            TypeError: for anything else.
        """
        if datasets is None:
            datasets = args[0] if len(args) == 1 else args
        if isinstance(datasets, list):
            raise TypeError(
                "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                "`Dataset` objects. Python `list` is not supported and you should use `tuple` "
                "instead."
            )
        sources = leaves(datasets)
        for source in sources:
            if not isinstance(source, Dataset):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                    f"`Dataset` objects but encountered object of type {type(source)}."
                )
        structure = like(datasets, [source._structure for source in sources])
        return Dataset._made("ZipDataset", structure, {"input_datasets": sources}, name=name)

    # -- elements ------------------------------------------------------------------------------

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of what a function makes of each element.

        Args:
            map_func: a function of the components of an element, which returns a nest of tensors.
            num_parallel_calls: the number of elements that are made at a time; order is kept.
            deterministic: accepted for compatibility; results are always in order.
            synchronous: accepted for compatibility.
            use_unbounded_threadpool: accepted for compatibility.
            name: wanted name.
        """
        function, structure = self._traced(map_func, f"{name or 'map'}_function")
        f = {"f": function}
        if num_parallel_calls is None:
            return self._then("MapDataset", None, f, structure, name=name)
        calls = {"num_parallel_calls": num_parallel_calls}
        return self._then(
            "ParallelMapDatasetV2", calls, f, structure, name=name,
            deterministic=_deterministic(deterministic),
        )  # fmt: skip

    map_with_legacy_function = map

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return a dataset of the elements for which a function returns true."""
        found = {"predicate": self._predicate(predicate)}
        return self._then("FilterDataset", None, found, name=name)

    filter_with_legacy_function = filter

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return a dataset of the elements before the first one for which a function returns false."""
        found = {"predicate": self._predicate(predicate)}
        return self._then("TakeWhileDataset", None, found, name=name)

    def _predicate(self, predicate: Callable[..., Any]) -> Traced:
        function, structure = self._traced(predicate, "predicate")
        if not (
            isinstance(structure, TensorSpec)
            and structure.dtype is bool_
            and structure.shape.is_compatible_with(scalar_shape)
        ):
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `bool` scalar tensor, but its return "
                f"type is {said_of(structure)}."
            )
        return function

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """Return a dataset of the elements of the datasets that a function returns, one after the other."""
        return self._interleaved("FlatMapDataset", map_func, {}, name)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of the elements of the datasets that a function returns, of several in turn.

        Args:
            map_func: a function of the components of an element, which returns a dataset.
            cycle_length: the number of datasets that take turns.
            block_length: the number of elements in a turn.
            num_parallel_calls: if given, threads read ahead of the turns.
            deterministic: accepted for compatibility; results are always in order.
            name: wanted name.
        """
        turns: dict[str, Any] = {
            "cycle_length": AUTOTUNE if cycle_length is None else cycle_length,
            "block_length": 1 if block_length is None else block_length,
        }
        if num_parallel_calls is None:
            return self._interleaved("InterleaveDataset", map_func, turns, name)
        turns |= {
            "buffer_output_elements": AUTOTUNE, "prefetch_input_elements": AUTOTUNE,
            "num_parallel_calls": num_parallel_calls,
        }  # fmt: skip
        return self._interleaved(
            "ParallelInterleaveDatasetV4", map_func, turns, name,
            deterministic=_deterministic(deterministic),
        )  # fmt: skip

    def _interleaved(
        self,
        op_type: str,
        map_func: Callable[..., Any],
        inputs: Mapping[str, Any],
        name: str | None,
        **attrs: Any,
    ) -> Dataset:
        function, structure = self._traced(map_func, f"{name or op_type}_function")
        if not isinstance(structure, DatasetSpec):
            raise TypeError(
                "The `map_func` argument must return a `Dataset` object. Got "
                f"{said_of(structure):.200}"
            )
        return self._then(op_type, inputs, {"f": function}, structure.structure, name=name, **attrs)

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """Return a dataset of what a function makes of each element and a state.

        Args:
            initial_state: a nest of tensors.
            scan_func: a function of the state and an element, which returns the next state and a nest of
                tensors.
            name: wanted name.

        Raises:
            TypeError: if the function returns another state.
        """
        before, tensors = spec_of(initial_state, "state")

        def pair(state: Any, *element: Any) -> Any:
            found = scan_func(state, *([_as_element(element)] if element else []))
            if not isinstance(found, tuple) or len(found) != 2:
                raise TypeError(
                    "Invalid `scan_func`. `scan_func` should return a pair consisting of new state and "
                    f"the output value but it returned {found!r:.200}."
                )
            return found

        function, structure = self._traced(
            pair, "scan_function", before=(_state_spec(before, None),)
        )
        _check_state(before, structure[0], "Invalid `scan_func`. ")
        state = {"initial_state": tensors}
        return self._then("ScanDataset", state, {"f": function}, structure[1], name=name)

    # -- several at a time ---------------------------------------------------------------------

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of elements joined to one, with a new first dimension.

        Args:
            batch_size: the number of elements.
            drop_remainder: whether a smaller last batch is left out.
            num_parallel_calls: accepted for compatibility.
            deterministic: accepted for compatibility.
            name: wanted name.
        """
        size = _static_size(batch_size, drop_remainder)
        structure = mapped(lambda leaf: _stacked(leaf, size), self._structure)
        settings = {"batch_size": batch_size, "drop_remainder": drop_remainder}
        if num_parallel_calls is None:
            return self._then("BatchDatasetV2", settings, None, structure, name=name)
        settings["num_parallel_calls"] = num_parallel_calls
        return self._then(
            "ParallelBatchDataset", settings, None, structure, name=name,
            deterministic=_deterministic(deterministic),
        )  # fmt: skip

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of elements filled up to a common shape and joined to one.

        Args:
            batch_size: the number of elements.
            padded_shapes: a nest of shapes, lists or vectors; a size of ``None`` or -1 stands for the largest
                among the elements of a batch.
            padding_values: a nest of scalars; zeros and empty strings if left out.
            drop_remainder: whether a smaller last batch is left out.
            name: wanted name.

        Raises:
            TypeError: for sparse tensors, or values of other dtypes.
            ValueError: for shapes of another rank.
        """
        found = leaves(self._structure)
        if any(not isinstance(leaf, TensorSpec) for leaf in found):
            raise TypeError(
                "`padded_batch` is only supported for datasets that produce tensor elements but its "
                f"elements are {said_of(self._structure)}."
            )
        if padded_shapes is None:
            for number, leaf in enumerate(found):
                if leaf.shape.rank is None:
                    raise ValueError(
                        "You must provide `padded_shapes` argument because component "
                        f"{number} has unknown rank."
                    )
            padded_shapes = mapped(lambda leaf: leaf.shape, self._structure)
        size = _static_size(batch_size, drop_remainder)
        specs, vectors = [], []
        shapes = taken(self._structure, padded_shapes, "padded_shapes")
        for leaf, shape in zip(found, shapes, strict=True):
            vector, known = _padded_shape(shape, leaf.shape)
            vectors.append(vector)
            sizes = TensorShape(None) if known is None else TensorShape([size, *known])
            specs.append(TensorSpec(leaf.dtype, sizes))
        settings = {
            "batch_size": batch_size, "padded_shapes": vectors,
            "padding_values": self._fillers(padding_values), "drop_remainder": drop_remainder,
        }  # fmt: skip
        structure = like(self._structure, specs)
        return self._then("PaddedBatchDatasetV2", settings, None, structure, name=name)

    def _fillers(self, padding_values: Any) -> list[Tensor]:
        found = leaves(self._structure)
        if padding_values is None:
            given: list[Any] = [None] * len(found)
        elif len(found) > 1 and not isinstance(padding_values, (tuple, list, Mapping)):
            given = [padding_values] * len(found)
        else:
            given = taken(self._structure, padding_values, "padding_values")
        made = []
        for leaf, value in zip(found, given, strict=True):
            plain = (b"" if leaf.dtype.kind == "s" else 0) if value is None else value
            if leaf.dtype.is_bool and value is None:
                plain = False
            filler = convert_to_tensor(plain, leaf.dtype if value is None else None)
            if isinstance(plain, (int, float)) and not isinstance(plain, bool):
                filler = convert_to_tensor(plain, leaf.dtype)
            if filler.dtype is not leaf.dtype:
                raise TypeError(
                    f"Invalid `padding_values`. `padding_values` values type {filler.dtype} does not match "
                    f"type {leaf.dtype} of the corresponding input component."
                )
            if filler.shape.rank not in (None, 0):
                raise ValueError(f"Padding value should be a scalar, but is {value!r:.100}")
            made.append(filler)
        return made

    def unbatch(self, name: str | None = None) -> Dataset:
        """Return a dataset of the rows of each element."""
        firsts = {leaf.shape.sizes[0] for leaf in leaves(self._structure) if leaf.shape.rank} - {
            None
        }
        if len(firsts) > 1:
            raise ValueError(
                "`unbatch()` is only supported for datasets of elements whose components have a matching "
                f"leading dimension. Encountered both {' and '.join(map(str, sorted(firsts)))}."
            )
        structure = mapped(_row, self._structure)
        return self._then("UnbatchDataset", None, None, structure, name=name)

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of datasets of some successive elements, one for each component.

        Args:
            size: the number of elements in a window.
            shift: the distance of windows; their size if left out.
            stride: the distance of elements in a window.
            drop_remainder: whether smaller windows at the end are left out.
            name: wanted name.
        """
        structure = mapped(DatasetSpec, self._structure)
        settings = {
            "size": size, "shift": size if shift is None else shift, "stride": stride,
            "drop_remainder": drop_remainder,
        }  # fmt: skip
        return self._then("WindowDataset", settings, None, structure, name=name)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of the elements of the datasets that a function makes of elements with one key.

        Args:
            key_func: a function of an element that returns an int64 scalar.
            reduce_func: a function of a key and a dataset of elements that returns a dataset.
            window_size: the number of elements with one key that are taken together.
            window_size_func: a function of the key that returns that number.
            name: wanted name.

        Raises:
            ValueError: unless exactly one of the last two is given.
        """
        if (window_size is None) == (window_size_func is None):
            raise ValueError(
                "Either the `window_size` argument or the `window_size_func` argument must be specified."
            )
        key, found = self._traced(key_func, "key_function")
        if not isinstance(found, TensorSpec) or found.dtype is not int64:
            raise ValueError(
                f"Invalid `key_func`. It must return a single `int64` scalar tensor, got {found}"
            )
        graph = self._dataset_tensor.graph
        scalar = TensorSpec(int64, scalar_shape)

        def sized(values: list[Tensor]) -> list[Tensor]:
            size = window_size if window_size_func is None else window_size_func(values[0])
            return [convert_to_tensor(size, int64, graph=graph)]

        result: list[Any] = []

        def reduced(values: list[Tensor]) -> list[Tensor]:
            made = reduce_func(values[0], Dataset(values[1], self._structure))
            if not isinstance(made, Dataset):
                raise TypeError(
                    "Invalid `reduce_func`. `reduce_func` must return a single `Dataset` object "
                    f"but its return type is {said_of(spec_of(made)[0])}."
                )
            result.append(made._structure)
            return [made._dataset_tensor]

        pair = [scalar, *flat_specs(DatasetSpec(self._structure))]
        functions = {
            "key_func": key, "reduce_func": traced(reduced, pair, graph, "reduce_function"),
            "window_size_func": traced(sized, [scalar], graph, "window_size_function"),
        }  # fmt: skip
        return self._then("GroupByWindowDataset", None, functions, result[0], name=name)

    # -- order and number ----------------------------------------------------------------------

    def shuffle(
        self,
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
            "ShuffleDataset", {"buffer_size": buffer_size, **_seeds(seed)}, name=name,
            reshuffle_each_iteration=again,
        )  # fmt: skip

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Return a dataset that gives all elements several times; without end for ``None`` and -1."""
        return self._counted("RepeatDataset", -1 if count is None else count, name)

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Return a dataset of the first elements; of all if ``count`` is -1."""
        return self._counted("TakeDataset", count, name)

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Return a dataset without the first elements; without any if ``count`` is -1."""
        return self._counted("SkipDataset", count, name)

    def _counted(self, op_type: str, count: Any, name: str | None) -> Dataset:
        return self._then(op_type, {"count": count}, name=name)

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Return a dataset of every ``num_shards``-th element, beginning with that number ``index``."""
        return self._then("ShardDataset", {"num_shards": num_shards, "index": index}, name=name)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Return a dataset of the elements of this one, then those of another.

        Raises:
            TypeError: if the elements differ in structure or dtypes.
        """
        structure = merged(self._structure, dataset._structure)
        return self._then(
            "ConcatenateDataset", {"another_dataset": dataset}, None, structure, name=name
        )

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Return a dataset of pairs of a number and an element."""
        return Dataset.zip((Dataset.range(start, int64.max), self), name=name)

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Return the same dataset, with elements that a thread makes ahead of time.

        Args:
            buffer_size: how many; -1 leaves it to the library.
            name: wanted name.
        """
        size = AUTOTUNE if buffer_size is None else buffer_size
        return self._then("PrefetchDataset", {"buffer_size": size}, name=name)

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Return the same dataset, which keeps its elements for repetitions.

        Args:
            filename: a file in which they are kept, and found by other iterators and programs; in memory if
                empty.
            name: wanted name.
        """
        return self._then("CacheDataset", {"filename": filename}, name=name)

    def unique(self, name: str | None = None) -> Dataset:
        """Return a dataset of the elements that have not come before."""
        for leaf in leaves(self._structure):
            if _dtype_of(leaf) not in (int32, int64, string):
                raise TypeError(
                    f"`Dataset.unique` does not support type {_dtype_of(leaf)} -- only `int32`, "
                    "`int64`, and `string` are supported."
                )
        return self._then("UniqueDataset", name=name)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Return a dataset without the elements whose making fails."""
        return self._then("IgnoreErrorsDataset", name=name, log_warning=log_warning)

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """Return a dataset of elements of different sizes, joined to sparse tensors."""
        made: Dataset = self.apply(_combining().dense_to_sparse_batch(batch_size, row_shape))
        return made

    def rebatch(
        self, batch_size: Any, drop_remainder: Any = False, name: str | None = None
    ) -> Dataset:
        """Return a dataset of batches of another size."""
        return self.unbatch().batch(batch_size, drop_remainder, name=name)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of batches of elements of similar length; see the function of this name."""
        made: Dataset = self.apply(
            _combining().bucket_by_sequence_length(
                element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes,
                padding_values, pad_to_bucket_boundary, no_padding, drop_remainder,
            )
        )  # fmt: skip
        return made

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return a dataset of pairs of a class and an element, with classes as often as wanted."""
        step = _combining().rejection_resample(class_func, target_dist, initial_dist, seed)
        made: Dataset = self.apply(step)
        return made

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Return a dataset of elements of several, as a dataset of their numbers says."""
        made: Dataset = _combining().choose_from_datasets(
            datasets, choice_dataset, stop_on_empty_dataset
        )
        return made

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Return a dataset of elements of several, drawn at random."""
        made: Dataset = _combining().sample_from_datasets(
            datasets, weights, seed, stop_on_empty_dataset
        )
        return made

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: Any = int64, name: str | None = None
    ) -> Dataset:
        """Return a dataset of numbers at equal distances, without end."""
        made: Dataset = _combining().Counter(start, step, dtype)
        return made

    # -- the whole -----------------------------------------------------------------------------

    def apply(self, transformation_func: Callable[[Any], Any]) -> Any:
        """Return what a function makes of the dataset."""
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(
                f"`transformation_func` must return a `Dataset` object. Got {type(made)}."
            )
        return made

    def options(self) -> Options:
        """Return the options."""
        return self._options

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Return the same dataset with options, which change nothing here."""
        return Dataset(self._dataset_tensor, self._structure, self._options.merge(options))

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """Return what a function makes of all elements, one after the other.

        Args:
            initial_state: a nest of tensors.
            reduce_func: a function of the state and an element that returns the next state.
            name: wanted name.

        Raises:
            TypeError: if the function returns another state.
        """
        before, tensors = spec_of(initial_state, "state")

        def step(state: Any, *element: Any) -> Any:
            return reduce_func(state, *([_as_element(element)] if element else []))

        function, structure = self._traced(
            step, "reduce_function", before=(_state_spec(before, None),)
        )
        _check_state(before, structure, "")
        specs = flat_specs(_state_spec(before, structure))
        attrs = {
            "f": function.definition, "output_types": tuple([s.dtype for s in specs]),
            "output_shapes": tuple([s.shape for s in specs]),
            "Tstate": tuple([tensor.dtype for tensor in tensors]),
            "Targuments": tuple([tensor.dtype for tensor in function.captures]),
        }  # fmt: skip
        inputs = [self._dataset_tensor, *tensors, *function.captures]
        made = make(
            "ReduceDataset", inputs, attrs, name or "ReduceDataset", self._dataset_tensor.graph
        )
        return packed(_state_spec(before, structure), made.outputs, Dataset)

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element. InvalidArgumentError at run time if there are none or several."""
        attrs = output_attrs(self._structure)
        op_type = "DatasetToSingleElement"
        op = make(op_type, [self._dataset_tensor], attrs, name or op_type)
        return packed(self._structure, op.outputs, Dataset)

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


def _combining() -> Any:
    """Return the module of further steps, which imports this one."""
    from actorsession.opsets.datasets import combining

    return combining


def as_arguments(element: Any) -> list[Any]:
    """Return the arguments that a function gets for an element: the items of a plain tuple."""
    return list(element) if type(element) is tuple else [element]


def _as_element(items: Sequence[Any]) -> Any:
    return items[0] if len(items) == 1 else tuple(items)


def _with_known_shapes(structure: Any, function: Traced) -> Any:
    """Return the structure of a function's result, as its output specs have it."""
    specs = iter(function.definition.output_specs())
    made = []
    for leaf in leaves(structure):
        if isinstance(leaf, TensorSpec):
            made.append(next(specs))
        else:
            next(specs)
            made.append(leaf)
    return like(structure, made)


def _state_spec(before: Any, after: Any) -> Any:
    """Return the structure of a state whose shapes may change from element to element."""
    if after is None:
        return mapped(
            lambda leaf: (
                TensorSpec(leaf.dtype, leaf.shape) if isinstance(leaf, TensorSpec) else leaf
            ),
            before,
        )
    return merged(before, after)


def _dtype_of(leaf: Any) -> Any:
    return getattr(leaf, "dtype", leaf)


def _check_state(before: Any, after: Any, what: str) -> None:
    one, other = leaves(before), leaves(after)
    if len(one) != len(other) or any(
        a.dtype is not b.dtype for a, b in zip(one, other, strict=True)
    ):
        raise TypeError(
            f"{what}The element types for the new state must match the initial state. Expected "
            f"{said_of(mapped(_dtype_of, before))} but got {said_of(mapped(_dtype_of, after))}."
        )


def _operand(value: Any, name: str, dtype: Any, graph: Graph) -> Tensor:
    if isinstance(value, Dataset):
        return value._dataset_tensor
    return convert_to_tensor(value, dtype, name=name, graph=graph)


def _deterministic(value: bool | None) -> str:
    """Return the attribute for an argument ``deterministic``."""
    return "default" if value is None else str(bool(value)).lower()


# How many datasets of a graph with a seed have none of their own; each has the next number as its second one.
_SEEDED: weakref.WeakKeyDictionary[Graph, int] = weakref.WeakKeyDictionary()


def _seeds(seed: int | None) -> dict[str, Any]:
    graph = get_default_graph()
    if seed is None and graph.seed is not None:
        seed = _SEEDED.get(graph, 0)
        _SEEDED[graph] = seed + 1
    first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}


def _static_size(batch_size: Any, drop_remainder: Any) -> int | None:
    size, drops = [
        get_static_value(value) if isinstance(value, Tensor) else value
        for value in (batch_size, drop_remainder)
    ]
    if not isinstance(size, (int, np.integer)):
        return None
    return int(size) if size is not None and drops is not None and bool(drops) else None


def _stacked(leaf: Any, size: int | None) -> Any:
    if isinstance(leaf, DatasetSpec):
        raise TypeError("Batching of datasets of a window is not supported: use flat_map")
    if leaf.shape.sizes is None:
        return leaf
    return type(leaf)(leaf.dtype, TensorShape([size, *leaf.shape.sizes]))


def _row(leaf: Any) -> Any:
    if leaf.shape.rank == 0:
        raise ValueError("Cannot unbatch an input with scalar components.")
    return leaf if leaf.shape.sizes is None else type(leaf)(leaf.dtype, leaf.shape[1:])


def _padded_shape(shape: Any, element: TensorShape) -> tuple[Any, list[int | None] | None]:
    """Return a padded shape as a vector, and its static sizes."""
    if isinstance(shape, Tensor) or hasattr(shape, "_operand"):
        value = get_static_value(convert_to_tensor(shape))
        if value is None:
            return shape, None if element.rank is None else [None] * element.rank
        shape = [int(size) for size in value]
    elif isinstance(shape, TensorShape):
        if shape.sizes is None:
            shape = element
        shape = shape.as_list()
    known = [None if size is None or int(size) < 0 else int(size) for size in as_sizes(shape)]
    if element.rank is not None and len(known) != element.rank:
        raise ValueError(
            f"The padded shape {tuple(known)} is not compatible with the shape {element} of the "
            "corresponding input component."
        )
    for wanted, found in zip(known, element.sizes or (), strict=False):
        if wanted is not None and found is not None and found > wanted:
            raise ValueError(
                f"The padded shape {tuple(known)} is not compatible with the shape {element} of the "
                "corresponding input component."
            )
    return [-1 if size is None else size for size in known], known


def as_sizes(shape: Any) -> list[Any]:
    """Return the sizes of a list, whose items may be ``Dimension`` objects."""
    return [getattr(size, "value", size) for size in shape]
