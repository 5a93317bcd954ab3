"""What ``decode_csv`` refuses before it runs, and that it reads what others write."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import errors, ops, opsets
from actorsession.opsets.parsing.csv import fields_of
from tests.rows import refused, refusing

test_arguments_that_contradict_each_other_are_refused = refusing(
    ({"record_defaults": []}, ValueError, "one column at least"),
    ({"record_defaults": [[True]]}, TypeError, "as record_defaults; got bool"),
    ({"record_defaults": [[1], [2, 3]]}, ValueError, "length-0 or length-1"),
    ({"record_defaults": [[[1]]]}, ValueError, "length-0 or length-1"),
    ({"record_defaults": [[1]], "select_cols": [0, 1]}, ValueError, "do not match"),
    ({"record_defaults": [[1], [1]], "select_cols": [1, 0]}, ValueError, "strictly increasing"),
    ({"record_defaults": [[1]], "select_cols": [-1]}, ValueError, "negative"),
    of=lambda arguments: opsets.decode_csv(["1"], **arguments),
)


def test_what_an_empty_field_becomes_may_be_computed() -> None:
    default = ops.placeholder("int32")
    [column] = opsets.decode_csv(["NA", "2"], [default], na_value="NA", name="read")
    assert column.op.name == "read"
    with acts.Session() as session:
        assert session.run(column, {default: [7]}).tolist() == [7, 2]
        refused(lambda: session.run(column, {default: []}), errors.InvalidArgumentError, "Field 0 is required")


@pytest.mark.parametrize("mark", ["", ";;", "ä"])
def test_a_separator_is_one_byte(mark: str) -> None:
    [column] = opsets.decode_csv(["1"], [[0]], field_delim=mark)
    with acts.Session() as session, pytest.raises(errors.InvalidArgumentError, match="one byte"):
        session.run(column)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=2))
def test_fields_are_read_as_pythons_own_writer_writes_them(values: list[str]) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="").writerow(values)
    record = text.getvalue().encode()
    wanted = [value.encode() for value in values]
    assert (fields_of(record, b",", True, 0), fields_of(record, b",", True, 1)[:1]) == (wanted, wanted[:1])


@given(st.binary(max_size=30))
def test_any_record_has_fields_or_is_refused(record: bytes) -> None:
    for quotes in (True, False):
        try:
            found = fields_of(record, b",", quotes, 0)
        except ValueError:
            continue
        assert all(isinstance(field, bytes) for field in found)
