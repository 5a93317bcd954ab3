"""``decode_csv``: parsing of records of comma-separated values.

Owns ``DecodeCSV``. Fields are those of RFC 4180 without line ends: a quoted field may contain separators,
line ends and doubled quotes; an unquoted field may contain neither quotes nor line ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, float32, string
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.rows import checked, op
from actorsession.ops.shape_operands import boxed, elements
from actorsession.opsets.text.kernels import number_reader, string_array, text_of

__all__ = ["column_of", "decode_csv", "row_of"]

_LINE_ENDS = b"\r\n"


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """Return the fields of records of comma-separated values, a tensor for each column.

    Args:
        records: strings, each a record.
        record_defaults: for each column the default for empty fields, a scalar or a vector of one; an empty
            vector where a field must not be empty. Its type (float32, float64, int32, int64 or string) is
            that of the column.
        field_delim: the separator of fields, one byte.
        use_quote_delim: whether double quotes delimit fields; otherwise they are ordinary bytes.
        name: wanted name.
        na_value: a field value that is treated as empty.
        select_cols: the columns to return, in rising order; all if left out.

    Returns:
        Tensors of the shape of ``records``. At run time an InvalidArgumentError, which names field and
        record, is raised for a record with another number of fields, an empty field without a default, text
        that is no number of the column's type, and misplaced quotes.

    Raises:
        TypeError: for another type.
        ValueError: for defaults of another shape, none at all, or columns that are not in rising order or
            differ in number from the defaults.
    """
    columns = [int(c) for c in (() if select_cols is None else select_cols)]
    if any(b <= a for a, b in itertools.pairwise(columns)):
        raise ValueError("select_cols is not strictly increasing.")
    if any(c < 0 for c in columns):
        raise ValueError("select_cols contains negative values.")
    if select_cols is not None and len(columns) != len(record_defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    return raw.DecodeCSV(
        records,
        record_defaults,
        field_delim=text_of(field_delim),
        na_value=text_of(na_value),
        use_quote_delim=bool(use_quote_delim),
        select_cols=columns,
        name=name,
    )


def _columns(ctx: InferContext) -> Sequence[TensorShape]:
    if len(ctx.inputs) < 2:
        raise ValueError(f"{ctx.op}: a record has one column at least, so there is a default for it")
    for i, spec in enumerate(ctx.inputs[1:]):
        sizes = spec.shape.sizes
        if sizes is not None and (len(sizes) > 1 or (sizes and (sizes[0] or 0) > 1)):
            raise ValueError(
                f"{ctx.op}: Shape of a default must be a length-0 or length-1 vector, or a scalar; got "
                f"{spec.shape} for column {i}"
            )
    return [ctx.inputs[0].shape] * (len(ctx.inputs) - 1)


# -- fields ----------------------------------------------------------------------------------------


def fields_of(record: bytes, separator: bytes, quotes: bool, most: int) -> list[bytes]:
    """Return the fields of one record.

    Args:
        record: the record.
        separator: one byte.
        quotes: whether double quotes delimit fields.
        most: number of fields to return; the rest is not examined. 0 for all.

    Raises:
        ValueError: if quotes or line ends are misplaced.
    """
    if not record:
        return []
    plain = b'"' not in record if quotes else True
    if plain and b"\n" not in record and b"\r" not in record:
        return record.split(separator, most)[:most] if most else record.split(separator)
    fields: list[bytes] = []
    pos, end = 0, len(record)
    while pos < end:
        if most and len(fields) == most:
            return fields
        if record[pos] in _LINE_ENDS:
            pos += 1  # line ends before a field are skipped
        elif quotes and record[pos : pos + 1] == b'"':
            field, pos = _quoted(record, pos + 1, separator)
            fields.append(field)
        else:
            stop = record.find(separator, pos)
            stop = end if stop < 0 else stop
            field = record[pos:stop]
            if any(mark in field for mark in (b"\n", b"\r")) or (quotes and b'"' in field):
                raise ValueError("Unquoted fields cannot have quotes/CRLFs inside")
            fields.append(field)
            pos = stop + 1
    if record.endswith(separator):
        fields.append(b"")
    return fields


def _quoted(record: bytes, pos: int, separator: bytes) -> tuple[bytes, int]:
    """Return a field from behind its opening quote, and the position after the separator that ends it."""
    parts = []
    while True:
        stop = record.find(b'"', pos)
        if stop < 0:
            raise ValueError("Quoted field has to end with quote followed by delim or end")
        parts.append(record[pos:stop])
        after = record[stop + 1 : stop + 2]
        if after in (b"", separator):
            return b'"'.join(parts), stop + 2
        if after != b'"':
            raise ValueError("Quote inside a string has to be escaped by another quote")
        pos = stop + 2


# -- kernels ---------------------------------------------------------------------------------------


def _kernel(ctx: KernelContext) -> Kernel:
    attrs, dtypes = ctx.attrs, [spec.dtype for spec in ctx.inputs[1:]]
    separator, empty = (attrs[key].encode() for key in ("field_delim", "na_value"))
    chosen, quotes = list(attrs["select_cols"]), attrs["use_quote_delim"]

    def decode(records: Any, *defaults: Any) -> Any:
        if len(separator) != 1:
            raise InvalidArgumentError(f"DecodeCSV: field_delim is one byte, got {separator!r:.100}")
        array = boxed(records)
        rows = [
            row_of(i, record, separator, quotes, chosen, len(dtypes))
            for i, record in enumerate(array.reshape(-1).tolist())
        ]
        columns = zip(*rows, strict=True) if rows else [()] * len(dtypes)
        outputs = [
            column_of(i, texts, dtypes[i], boxed(defaults[i]), empty, array.shape) for i, texts in enumerate(columns)
        ]
        return tuple(outputs) if len(outputs) != 1 else outputs[0]

    return decode


def row_of(index: int, record: bytes, separator: bytes, quotes: bool, chosen: list[int], count: int) -> list[bytes]:
    """Return the selected fields of one record."""
    try:
        fields = fields_of(record, separator, quotes, chosen[-1] + 1 if chosen else 0)
    except ValueError as exc:
        raise InvalidArgumentError(f"DecodeCSV: {exc} (record {index}: {record!r:.100})") from None
    if chosen:
        fields = [fields[c] for c in chosen if c < len(fields)]
    if len(fields) != count:
        raise InvalidArgumentError(
            f"DecodeCSV: Expect {count} fields but have {len(fields)} in record {index}: {record!r:.100}"
        )
    return fields


def column_of(
    index: int, texts: Sequence[bytes], dtype: DType, default: Any, empty: bytes, shape: tuple[int, ...]
) -> Any:
    """Return the values of one column."""
    missing = [i for i, text in enumerate(texts) if not text or text == empty]
    if missing and not getattr(default, "size", 1):
        raise InvalidArgumentError(f"DecodeCSV: Field {index} is required but missing in record {missing[0]}!")
    filled: Any = default.reshape(-1)[0] if missing else None
    if dtype is string:
        values = list(texts)
        for i in missing:
            values[i] = filled
        return string_array(values, shape)
    spare = b"0"
    numbers = [spare if not text or text == empty else text for text in texts] if missing else texts
    out = np.asarray(_numbers(index, numbers, dtype), dtype.np_dtype)
    if missing:
        out[missing] = filled
    return out.reshape(shape)[()]


def _numbers(index: int, texts: Sequence[bytes], dtype: DType) -> Any:
    """Return the numbers that texts contain."""
    read: Callable[[bytes], Any] = float if dtype.is_floating else int
    try:
        # Python's own parsers are fast and accept the same syntax, except for underscores between digits.
        if not any(b"_" in text for text in texts):
            with np.errstate(over="ignore"):
                return np.array(list(map(read, texts)), dtype.np_dtype)
    except (ValueError, OverflowError):
        pass
    careful, numbers = number_reader(dtype), []
    for i, text in enumerate(texts):
        try:
            numbers.append(careful(text))
        except ValueError:
            kind = "float" if dtype is float32 else dtype.name
            raise InvalidArgumentError(
                f"DecodeCSV: Field {index} in record {i} is not a valid {kind}: {text!r:.100}"
            ) from None
    with np.errstate(over="ignore"):
        return np.array(numbers, dtype.np_dtype)


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    """Return a third of a microsecond for each field."""
    return 5 + 0.3 * elements(inputs[0]) * len(outputs)


op("DecodeCSV", checked(_columns), kernel=_kernel, grad=NOT_DIFFERENTIABLE, cost=_cost)
