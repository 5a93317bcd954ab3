"""Element types have TensorFlow's names and stand for one numpy dtype each."""

from __future__ import annotations

import copy
import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import DType, as_dtype
from actorsession.graph import dtypes
from tests.rows import for_each

NUMBERS = {
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
    "bfloat16": ml_dtypes.bfloat16,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "bool": np.bool_,
    "complex64": np.complex64,
    "complex128": np.complex128,
}
NAMES = [*NUMBERS, "string", "resource", "variant"]


@for_each("name, scalar", NUMBERS.items())
def test_a_number_type_is_found_by_name_scalar_type_and_numpy_dtype(name: str, scalar: type[Any]) -> None:
    found = as_dtype(name)
    assert found.name == name
    assert as_dtype(scalar) is found
    assert as_dtype(np.dtype(scalar)) is found
    assert as_dtype(found) is found
    assert found.as_numpy_dtype is scalar
    assert found.itemsize == np.dtype(scalar).itemsize


@for_each("name", NAMES)
def test_module_variables_hold_the_one_instance_of_each_type(name: str) -> None:
    variable = {"bool": "bool_"}.get(name, name)
    assert getattr(dtypes, variable) is as_dtype(name)
    assert variable in dtypes.__all__


@for_each(
    "kind, name",
    [
        (float, "float32"),
        (int, "int32"),
        (bool, "bool"),
        (complex, "complex128"),
        (str, "string"),
        (bytes, "string"),
        (object, "string"),
        (np.str_, "string"),
        *((np.dtype(kind), "string") for kind in ("S5", "U3", "O")),
        ("half", "float16"),
        ("float", "float32"),
        ("double", "float64"),
        # Byte order makes no other type.
        (np.dtype(">f4"), "float32"),
        (np.dtype("<i8"), "int64"),
    ],
)
def test_a_python_type_or_another_spelling_means_what_constants_of_it_become(kind: Any, name: str) -> None:
    assert as_dtype(kind) is as_dtype(name)
    assert as_dtype(name).name == name


@for_each(
    "value",
    [None, "nope", "f4", ">f4", "int", "S", "", 0, 24, 99, 200, True, 1.5, (), [("a", "f4")],
     np.dtype("M8[s]"), np.dtype([("a", "f4")]), np.longdouble, list, np.zeros(2)],
)  # fmt: skip
def test_anything_else_is_a_type_error_that_lists_the_names(value: Any) -> None:
    if value is np.longdouble and np.dtype(value) == np.dtype(np.float64):
        pytest.skip("this platform has no longer floats")
    with pytest.raises(TypeError, match=r"valid names: float16, .*resource"):
        as_dtype(value)


@for_each("name", NAMES)
def test_a_copy_is_the_same_instance(name: str) -> None:
    """Types are compared by identity, so copying a structure that holds one must not make two."""
    dtype = as_dtype(name)
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy([dtype]) == [dtype]


@for_each(
    "name, flags",
    [
        ("bfloat16", ["floating", "numeric"]),
        ("int8", ["integer", "numeric"]),
        ("uint64", ["integer", "numeric"]),
        ("complex64", ["complex", "numeric"]),
        ("bool", ["bool"]),
        ("string", []),
        ("resource", []),
    ],
)
def test_predicates_follow_the_kind(name: str, flags: list[str]) -> None:
    kinds = ("floating", "integer", "complex", "bool", "numeric")
    assert [kind for kind in kinds if getattr(as_dtype(name), f"is_{kind}")] == flags


def test_a_type_is_shown_by_its_name() -> None:
    assert repr(dtypes.bfloat16) == "actorsession.bfloat16"
    assert str(dtypes.bfloat16) == "<dtype: 'bfloat16'>"
    # Types can be keys and do not change.
    table: dict[DType, int] = {dtypes.int8: 1, dtypes.uint8: 2}
    assert table[as_dtype("uint8")] == 2
    with pytest.raises(AttributeError):
        dtypes.int8.name = "x"
    assert [t.name for t in dtypes.ALL_TYPES if not t.is_numpy_compatible] == ["resource", "variant"]
    assert [t.name for t in dtypes.ALL_TYPES if t.is_quantized] == ["qint8", "quint8", "qint16", "quint16", "qint32"]
    assert dtypes.string.as_numpy_dtype is object


def test_what_programs_ask_of_a_dtype() -> None:
    assert dtypes.float32.base_dtype is dtypes.float32
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert (dtypes.int64.size, dtypes.string.size) == (8, 0)
    assert (dtypes.int8.min, dtypes.int8.max, dtypes.int8.limits) == (-128, 127, (0, 127))
    assert dtypes.float32.limits == (0, 1)
    assert dtypes.float16.max == 65504
    assert (dtypes.uint8.is_unsigned, dtypes.int8.is_unsigned) == (True, False)
    assert dtypes.int32.is_compatible_with("int32")
    with pytest.raises(TypeError, match="least and greatest"):
        _ = dtypes.string.max
    with pytest.raises(ValueError, match="has no limits"):
        _ = dtypes.complex64.limits


@for_each("name", NAMES)
def test_a_type_has_tensorflows_number_and_is_found_by_it(name: str) -> None:
    dtype = as_dtype(name)
    assert as_dtype(dtype.as_datatype_enum) is dtype
    # References to a type stand 100 above it.
    assert as_dtype(dtype.as_datatype_enum + 100) is as_dtype(f"{name}_ref") is dtype
    numbers = {"float32": 1, "string": 7, "int64": 9, "float16": 19}
    assert dtype.as_datatype_enum == numbers.get(name, dtype.as_datatype_enum)


def test_a_type_equals_whatever_stands_for_it() -> None:
    for same in (dtypes.float32, "float32", np.float32, np.dtype("float32"), float, 1):
        assert dtypes.float32 == same
        assert operator.ne(dtypes.float32, same) is False
    for other in (dtypes.float64, "float64", np.int32, "nope", None, 99, True, object()):
        assert dtypes.float32 != other
