"""Datasets of what files consist of: lines, records, blocks of fixed length, rows of tables, examples."""

from __future__ import annotations

import csv
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import as_dtype, string
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import scalar_shape
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.opsets.datasets.dataset import Dataset
from actorsession.opsets.parsing.examples import parse_example
from actorsession.opsets.parsing.file_names import local_paths

__all__ = [
    "CsvDataset",
    "FixedLengthRecordDataset",
    "TFRecordDataset",
    "TextLineDataset",
    "make_batched_features_dataset",
    "make_csv_dataset",
]

# Types of a column, by what holds all its values.
_NUMBERS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("int32", lambda text: np.int32(int(text))),
    ("int64", lambda text: np.int64(int(text))),
    ("float32", lambda text: np.float32(float(text))),
)

# Bytes that TensorFlow reads at a time if nothing is said.
_BUFFER = 256 * 1024


class _FileDataset(Dataset):
    """The base class: the parts of files, each an element.

    Args:
        op_type: the op type of the dataset of one file.
        filenames: paths: a tensor, or a dataset of strings.
        settings: further inputs.
        buffer_size: the bytes that TensorFlow reads at a time.
        compression_type: empty, ``"ZLIB"`` or ``"GZIP"``.
        num_parallel_reads: the number of files that are read at a time, in turn; one after the other if left
            out.
        name: wanted name.
    """

    def __init__(
        self,
        op_type: str,
        filenames: Any,
        settings: Mapping[str, Any],
        buffer_size: Any,
        compression_type: Any,
        num_parallel_reads: int | None,
        name: str | None,
    ) -> None:
        inputs = {
            **settings,
            "compression_type": "" if compression_type is None else compression_type,
            "buffer_size": _BUFFER if buffer_size is None else buffer_size,
        }

        def read(names: Any) -> Dataset:
            spec = TensorSpec(string, scalar_shape)
            return Dataset._of_node(op_type, spec, {"filenames": names, **inputs}, name=name)

        names = filenames
        if not isinstance(names, Dataset):
            flat = reshape(_strings(names), [-1], name="flat_filenames")
            names = Dataset.from_tensor_slices(flat)
        if num_parallel_reads is None:
            records = names.flat_map(read)
        else:
            records = names.interleave(read, num_parallel_reads, 1, num_parallel_reads)
        super().__init__(records._dataset_tensor, records._structure, records._options)


def _strings(filenames: Any) -> Tensor:
    names = convert_to_tensor(filenames)
    if names.dtype is not string:
        raise TypeError(f"The `filenames` argument must contain `string` elements. Got `{names.dtype.name}` elements.")
    return names


class TextLineDataset(_FileDataset):
    """The lines of text files, without their ends.

    Args:
        filenames: paths: a tensor, or a dataset of strings.
        compression_type: empty, ``"ZLIB"`` or ``"GZIP"``.
        buffer_size: without effect.
        num_parallel_reads: the number of files that are read at a time, in turn.
        name: wanted name.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__("TextLineDataset", filenames, {}, buffer_size, compression_type, num_parallel_reads, name)


class TFRecordDataset(_FileDataset):
    """The records of TensorFlow's record files; arguments as ``TextLineDataset``."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__("TFRecordDataset", filenames, {}, buffer_size, compression_type, num_parallel_reads, name)


class FixedLengthRecordDataset(_FileDataset):
    """Blocks of fixed length of binary files.

    Args:
        filenames: paths: a tensor, or a dataset of strings.
        record_bytes: bytes of a block.
        header_bytes: bytes before the first block.
        footer_bytes: bytes behind the last block.
        buffer_size: without effect.
        compression_type: empty, ``"ZLIB"`` or ``"GZIP"``.
        num_parallel_reads: the number of files that are read at a time, in turn.
        name: wanted name.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        sizes = {
            "record_bytes": record_bytes,
            "header_bytes": 0 if header_bytes is None else header_bytes,
            "footer_bytes": 0 if footer_bytes is None else footer_bytes,
        }
        super().__init__(
            "FixedLengthRecordDatasetV2", filenames, sizes, buffer_size, compression_type, num_parallel_reads, name
        )


class CsvDataset(Dataset):
    """The rows of files of comma-separated values, each a tuple of scalars.

    Args:
        filenames: paths: a tensor, or a dataset of strings.
        record_defaults: for each column that is read, its default, or its dtype if it has none.
        compression_type: empty, ``"ZLIB"`` or ``"GZIP"``.
        buffer_size: without effect.
        header: whether the first line of each file is left out.
        field_delim: the character between values.
        use_quote_delim: whether quotes may stand around values.
        na_value: text that stands for a missing value.
        select_cols: sorted numbers of the columns that are read; all if left out.
        exclude_cols: numbers of the columns that are not read.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        if select_cols is not None and exclude_cols is not None:
            raise ValueError("Only one of `select_cols` and `exclude_cols` may be specified.")
        defaults = [_default(value) for value in record_defaults]
        spec = tuple([TensorSpec(default.dtype, scalar_shape) for default in defaults])
        inputs = {
            "compression_type": "" if compression_type is None else compression_type,
            "buffer_size": _BUFFER if buffer_size is None else buffer_size,
            "header": header,
            "field_delim": field_delim,
            "use_quote_delim": use_quote_delim,
            "na_value": na_value,
            "select_cols": _numbers(select_cols),
            "record_defaults": defaults,
            "exclude_cols": _numbers(exclude_cols),
        }

        def read(names: Any) -> Dataset:
            return Dataset._of_node("CSVDatasetV2", spec, {"filenames": names, **inputs})

        if isinstance(filenames, Dataset):
            rows = filenames.flat_map(read)
        else:
            rows = read(_strings(filenames))
        super().__init__(rows._dataset_tensor, rows._structure)


def _numbers(columns: Any) -> Any:
    return np.array([], np.int64) if columns is None else columns


def _default(value: Any) -> Tensor:
    """Return a default of a column, or an empty tensor where a value is needed."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return convert_to_tensor(value)
    try:
        dtype = None if isinstance(value, (str, bytes)) else as_dtype(value)
    except TypeError:
        dtype = None
    if dtype is not None:
        return constant(np.zeros(0, dtype.np_dtype), dtype)
    return reshape(convert_to_tensor(value), [1])


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Return a dataset of batches of rows: dictionaries of columns, with labels if one column has them.

    Names and dtypes of columns that are not given are read from the files, while the graph is built.

    Args:
        file_pattern: patterns of paths.
        batch_size: the number of rows in a batch.
        column_names: names of the columns; the first line if left out.
        column_defaults: defaults or dtypes of the columns that are read.
        label_name: the column that has labels.
        select_columns: names or numbers of the columns that are read.
        field_delim: the character between values.
        use_quote_delim: whether quotes may stand around values.
        na_value: text that stands for a missing value.
        header: whether the first line has the names.
        num_epochs: how often the rows are given; without end if left out.
        shuffle: whether they come in random order.
        shuffle_buffer_size: see ``Dataset.shuffle``.
        shuffle_seed: see ``Dataset.shuffle``.
        prefetch_buffer_size: see ``Dataset.prefetch``.
        num_rows_for_inference: rows by which dtypes are chosen; all if ``None``.
        compression_type: accepted if dtypes and names are given.
        ignore_errors: whether rows that cannot be read are left out.
        encoding: the encoding of the files.

    Raises:
        ValueError: if no file matches, or columns do not exist.
    """
    paths = local_paths(file_pattern)
    if not paths:
        raise ValueError(f"No files match `file_pattern` {file_pattern}.")

    def rows() -> Any:
        for path in paths:
            with open(path, newline="", encoding=encoding) as file:
                rows = csv.reader(
                    file, delimiter=field_delim, quoting=csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
                )
                first = next(rows, None)
                if not header and first is not None:
                    yield first
                yield from rows

    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` to be true")
        with open(paths[0], newline="", encoding=encoding) as file:
            column_names = next(csv.reader(file, delimiter=field_delim))
    if len(set(column_names)) < len(column_names):
        raise ValueError(f"Column names must be unique, got {list(column_names)}")
    chosen = list(range(len(column_names)))
    if select_columns is not None:
        chosen = sorted([c if isinstance(c, int) else _place(c, column_names) for c in select_columns])
    if column_defaults is None:
        column_defaults = _inferred(rows(), chosen, na_value, num_rows_for_inference)
    names = [column_names[k] for k in chosen]
    if label_name is not None and label_name not in names:
        raise ValueError(f"`label_name` provided must be one of the columns: {names}. Received: {label_name}.")
    dataset: Dataset = CsvDataset(
        paths,
        column_defaults,
        compression_type,
        None,
        header,
        field_delim,
        use_quote_delim,
        na_value,
        chosen if select_columns is not None else None,
    )
    if ignore_errors:
        dataset = dataset.ignore_errors()
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    dataset = dataset.repeat(num_epochs).batch(batch_size, drop_remainder=num_epochs is None)

    def columns(*values: Any) -> Any:
        features = OrderedDict(zip(names, values, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    return dataset.map(columns).prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)


def _place(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise ValueError(f"Specified column {name!r} is not one of {list(names)}.")
    return list(names).index(name)


def _inferred(rows: Any, chosen: Sequence[int], na_value: str, most: int | None) -> list[Tensor]:
    """Return the narrowest dtypes that hold the values of columns."""
    kinds = [0] * len(chosen)
    for count, row in enumerate(rows):
        if most is not None and count >= most:
            break
        for at, k in enumerate(chosen):
            if row[k] in ("", na_value):
                continue
            while kinds[at] < len(_NUMBERS):
                try:
                    _NUMBERS[kinds[at]][1](row[k])
                    break
                except (ValueError, OverflowError):
                    kinds[at] += 1
    names = [*[name for name, _ in _NUMBERS], "string"]
    plain: Mapping[str, Any] = {"int32": np.int32(0), "int64": np.int64(0), "float32": np.float32(0), "string": ""}
    return [reshape(convert_to_tensor(plain[names[kind]]), [1]) for kind in kinds]


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    drop_final_batch: bool = False,
) -> Dataset:
    """Return a dataset of batches of parsed examples: dictionaries of features, with labels if one has them.

    Args:
        file_pattern: patterns of paths.
        batch_size: the number of examples in a batch.
        features: see ``parse_example``.
        reader: makes the dataset of serialized examples of a file; ``TFRecordDataset`` if left out.
        label_key: the feature that is the label.
        reader_args: further arguments of ``reader``.
        num_epochs: how often the examples are given; without end if left out.
        shuffle: whether they come in random order.
        shuffle_buffer_size: see ``Dataset.shuffle``.
        shuffle_seed: see ``Dataset.shuffle``.
        prefetch_buffer_size: see ``Dataset.prefetch``.
        reader_num_threads: the number of files that take turns; 1 if left out.
        parser_num_threads: see ``Dataset.map``.
        drop_final_batch: whether a smaller last batch is left out.
    """
    make = TFRecordDataset if reader is None else reader
    names = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset = names.interleave(lambda name: make(name, *(reader_args or ())), reader_num_threads or 1)
    if isinstance(dataset._structure, tuple):
        dataset = dataset.map(lambda _, value: value)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)

    def parsed(serialized: Any) -> Any:
        parsed_features = parse_example(serialized, features)
        return parsed_features if label_key is None else (parsed_features, parsed_features.pop(label_key))

    dataset = dataset.map(parsed, parser_num_threads)
    return dataset.prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)
