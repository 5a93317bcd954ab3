"""Lookup tables, run in sessions: their state outlives steps. Ids and errors are those of TensorFlow 2.21."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession import lookup, opsets
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from actorsession.ops import raw
from tests.nodes import make
from tests.rows import for_each, refused

ASIS = lookup.TextFileIndex.WHOLE_LINE
NUMBER = lookup.TextFileIndex.LINE_NUMBER


def _letters(**more: Any) -> lookup.StaticHashTable:
    init = lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], value_dtype=acts.int64)
    return lookup.StaticHashTable(init, -1, **more)


def _written(folder: Path, text: str) -> str:
    path = folder / "words.txt"
    path.write_text(text)
    return str(path)


# -- static tables ---------------------------------------------------------------------------------


def test_a_table_says_the_value_of_each_key(session: acts.Session) -> None:
    table = _letters()
    session.run(acts.tables_initializer())
    found = session.run(table.lookup(acts.constant([["a", "z"], ["b", "a"]])))
    assert (found.dtype, found.tolist(), session.run(table.lookup("b"))) == (np.int64, [[1, -1], [2, 1]], 2)
    assert session.run(table.lookup(acts.constant(np.zeros([0], object)))).tolist() == []
    assert session.run(table.size()) == 2
    keys, values = session.run(table.export())
    assert dict(zip(keys.tolist(), values.tolist(), strict=True)) == {b"a": 1, b"b": 2}


def test_sparse_keys_have_sparse_values(session: acts.Session) -> None:
    table = _letters()
    session.run(table.initializer)
    found = session.run(table.lookup(acts.SparseTensor([[0, 1]], ["b"], [2, 2])))
    assert (found.indices.tolist(), found.values.tolist()) == ([[0, 1]], [2])


def test_nodes_have_the_names_and_types_of_tensorflow(session: acts.Session) -> None:
    table = _letters()
    assert (table.name, table.resource_handle.op.type) == ("hash_table", "HashTableV2")
    assert table.initializer.name == "key_value_init/LookupTableImportV2"
    assert table.init is table.initializer
    assert acts.get_collection(acts.GraphKeys.TABLE_INITIALIZERS) == [table.initializer]
    assert table.lookup(["a"]).name == "hash_table_Lookup/LookupTableFindV2:0"
    assert (table.lookup(["a"]).shape.as_list(), table.key_dtype, table.value_dtype) == ([1], acts.string, acts.int64)
    assert session.run(table.default_value) == -1


def test_a_table_is_used_after_it_was_filled(session: acts.Session) -> None:
    table = _letters()
    for use in (table.lookup(["a"]), table.size(), table.export()[0]):
        with pytest.raises(FailedPreconditionError, match="Table not initialized"):
            session.run(use)


def test_each_session_has_a_table_of_its_own(session: acts.Session) -> None:
    table = _letters()
    session.run(table.initializer)
    with acts.Session() as other, pytest.raises(FailedPreconditionError, match="not initialized"):
        other.run(table.size())


def test_filling_again_with_the_same_changes_nothing(session: acts.Session) -> None:
    table = _letters()
    for _ in range(2):
        session.run(opsets.tables_initializer())
    assert session.run(table.size()) == 2


def test_filling_again_with_something_else_is_refused(session: acts.Session) -> None:
    value = acts.placeholder(acts.int64, [1])
    table = lookup.HashTable(lookup.KeyValueTensorInitializer(["a"], value), -1)
    session.run(table.initializer, {value: [1]})
    refused(lambda: session.run(table.initializer, {value: [2]}), FailedPreconditionError, "already initialized")


def test_a_key_has_one_value(session: acts.Session) -> None:
    twice = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "a"], [1, 1]), -1)
    session.run(twice.initializer)
    assert session.run(twice.size()) == 1
    two = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), -1)
    refused(lambda: session.run(two.initializer), FailedPreconditionError, "different value for same key")


def test_the_older_op_type_fills_tables_too(session: acts.Session) -> None:
    table = _letters()
    values = acts.constant([5], acts.int64)
    session.run(make("InitializeTableV2", [table.resource_handle, acts.constant(["q"]), values]))
    assert session.run(table.lookup("q")) == 5


def test_a_static_table_cannot_be_changed(session: acts.Session) -> None:
    table = _letters()
    session.run(table.initializer)
    values = acts.constant([5], acts.int64)
    insert = make("LookupTableInsertV2", [table.resource_handle, acts.constant(["q"]), values])
    refused(lambda: session.run(insert), InvalidArgumentError, "filled once")


def test_without_tables_the_initializer_does_nothing(session: acts.Session) -> None:
    assert session.run(acts.tables_initializer()) is None


@for_each(
    "build, error, match",
    [
        (lambda t: t.lookup(acts.constant([1])), TypeError, "must be string, received: int32"),
        (lambda t: lookup.StaticHashTable(_pair(["a"], [1]), "x"), TypeError, "int32"),
        (lambda t: lookup.StaticHashTable(_pair(["a"], [1]), [1, 2]), ValueError, "is a scalar"),
        (lambda t: lookup.StaticHashTable(_pair(["a", "b"], [1]), 0), ValueError, "each key has a value"),
        (lambda t: lookup.StaticVocabularyTable(_pair(["a"], [1]), 2), TypeError, "expected int64"),
        (lambda t: lookup.StaticVocabularyTable(None, 0), ValueError, "must be > 0"),
        (lambda t: lookup.StaticVocabularyTable(None, 1, acts.int64), TypeError, "keys are"),
        (lambda t: _file("f", acts.int64, ASIS, acts.int64, NUMBER), ValueError, "whole lines"),
        (lambda t: _file("f", acts.string, ASIS, acts.int32, NUMBER), ValueError, "line numbers"),
        (lambda t: lookup.index_table_from_tensor(None), ValueError, "must be specified"),
        (lambda t: lookup.index_table_from_tensor(["a"], -1), ValueError, "greater than or equal"),
        (lambda t: lookup.index_table_from_tensor([1.0], dtype=acts.float32), TypeError, "integers"),
        (lambda t: lookup.index_table_from_file(""), ValueError, "must not be empty"),
        (lambda t: lookup.index_table_from_file("f", vocab_size=0), ValueError, "greater than 0"),
        (lambda t: lookup.index_to_string_table_from_file("f", 0), ValueError, "greater than 0"),
        (lambda t: lookup.index_to_string_table_from_file(""), ValueError, "must not be empty"),
        (lambda t: lookup.index_to_string_table_from_tensor(None), ValueError, "must be specified"),
        (lambda t: make("LookupTableSizeV2", [acts.constant(1)]), TypeError, "handle of a table"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_built(build: Any, error: Any, match: str, session: acts.Session) -> None:
    table = _letters()
    refused(lambda: build(table), error, match)


def _pair(keys: Any, values: Any) -> lookup.KeyValueTensorInitializer:
    return lookup.KeyValueTensorInitializer(keys, values)


def _file(*arguments: Any, **more: Any) -> lookup.StaticHashTable:
    init = lookup.TextFileInitializer(*arguments, **more)
    return lookup.StaticHashTable(init, -1)


# -- files -----------------------------------------------------------------------------------------


@for_each(
    "text, columns, more, wanted",
    [
        ("x\ny\nz\n", (ASIS, NUMBER), {}, [1, -1]),
        ("x\r\ny\r\nz", (ASIS, NUMBER), {"vocab_size": 3}, [1, -1]),
        ("x\ny\nz\n", (ASIS, NUMBER), {"value_index_offset": 10}, [11, -1]),
        ("x 1\ny 2\nz 3\n", (0, 1), {"delimiter": " "}, [2, -1]),
        ("x\t1\ny\t-2\n", (0, 1), {}, [-2, -1]),
    ],
)
def test_a_table_is_read_from_a_file(
    text: str, columns: tuple[int, int], more: Any, wanted: Any, tmp_path: Path, session: acts.Session
) -> None:
    name = _written(tmp_path, text)
    table = _file(name, acts.string, columns[0], acts.int64, columns[1], **more)
    session.run(table.initializer)
    assert session.run(table.lookup(["y", "q"])).tolist() == wanted


def test_as_many_lines_are_read_as_the_vocabulary_has(tmp_path: Path, session: acts.Session) -> None:
    name = _written(tmp_path, "x\ny\nz\n")
    table = _file(name, acts.string, ASIS, acts.int64, NUMBER, vocab_size=2)
    session.run(table.initializer)
    assert session.run(table.lookup(["y", "z"])).tolist() == [1, -1]


@for_each(
    "text, columns, more, error, match",
    [
        ("x\ny\nx\n", (ASIS, NUMBER), {}, FailedPreconditionError, "different value for same key"),
        ("x\n", (ASIS, NUMBER), {"vocab_size": 5}, InvalidArgumentError, "expected 5 but got 1"),
        ("x 1\n", (0, 4), {"delimiter": " "}, InvalidArgumentError, "expected at least 5 but got 2"),
        ("x z\n", (0, 1), {"delimiter": " "}, InvalidArgumentError, "is not a valid int64"),
    ],
)
def test_a_file_that_is_no_table_is_an_error_of_the_step(
    text: str, columns: tuple[int, int], more: Any, error: Any, match: str, tmp_path: Path, session: acts.Session
) -> None:
    table = _file(_written(tmp_path, text), acts.string, columns[0], acts.int64, columns[1], **more)
    refused(lambda: session.run(table.initializer), error, match)


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path, session: acts.Session) -> None:
    table = _file(str(tmp_path / "none"), acts.string, ASIS, acts.int64, NUMBER)
    refused(lambda: session.run(table.initializer), NotFoundError, "No such file")


# -- vocabularies ----------------------------------------------------------------------------------


def test_strangers_fall_into_the_buckets_of_tensorflow(session: acts.Session) -> None:
    ids = acts.constant([0, 1], acts.int64)
    table = lookup.StaticVocabularyTable(lookup.KeyValueTensorInitializer(["a", "b"], ids), 5)
    session.run(table.initializer)
    found = session.run(table.lookup(acts.constant(["a", "b", "c", "d", "e"])))
    assert (found.tolist(), session.run(table.size())) == ([0, 1, 4, 2, 3], 7)
    keys = acts.SparseTensor([[0, 1]], ["c"], [2, 2])
    assert session.run(table.lookup(keys)).values.tolist() == [4]


def test_a_vocabulary_may_be_buckets_alone(session: acts.Session) -> None:
    table = lookup.StaticVocabularyTable(None, 5)
    session.run(table.init)
    found = session.run(table.lookup(acts.constant(["a", "b", "c", "d", "e"])))
    assert (found.tolist(), session.run(table.size())) == ([4, 2, 2, 0, 1], 5)
    assert table.resource_handle is None


def test_numbers_may_be_words(session: acts.Session) -> None:
    ids = acts.constant([0, 1], acts.int64)
    init = lookup.KeyValueTensorInitializer(acts.constant([10, 20], acts.int64), ids)
    table = lookup.StaticVocabularyTable(init, 5)
    session.run(table.initializer)
    assert session.run(table.lookup(acts.constant([10, 30, -5], acts.int64))).tolist() == [0, 5, 3]
    narrow = lookup.StaticVocabularyTable(init, 5, acts.int32)
    session.run(narrow.initializer)
    assert session.run(narrow.lookup([20, 30])).tolist() == [1, 5]


@pytest.mark.parametrize(
    ("buckets", "default", "wanted"), [(2, -1, [1, 3, 3]), (0, 7, [1, 7, 7]), (0, -1, [1, -1, -1])]
)
def test_words_of_a_list_have_their_places(buckets: int, default: int, wanted: Any, session: acts.Session) -> None:
    table = lookup.index_table_from_tensor(["x", "y"], buckets, default)
    session.run(table.initializer)
    assert session.run(table.lookup(acts.constant(["y", "q", "r"]))).tolist() == wanted


def test_words_of_a_list_may_be_numbers_and_the_list_fed(session: acts.Session) -> None:
    words = acts.placeholder(acts.int64, [None])
    table = lookup.index_table_from_tensor(words, dtype=acts.int64)
    session.run(table.initializer, {words: [10, 20]})
    assert session.run(table.lookup(acts.constant([20, 5], acts.int64))).tolist() == [1, -1]


def test_a_file_gives_ids_of_words_and_words_of_ids(tmp_path: Path, session: acts.Session) -> None:
    name = _written(tmp_path, "x\ny\nz\n")
    ids = lookup.index_table_from_file(name, num_oov_buckets=1)
    words = lookup.index_to_string_table_from_file(name, default_value="?")
    session.run(acts.tables_initializer())
    assert session.run(ids.lookup(acts.constant(["y", "q", "r"]))).tolist() == [1, 3, 3]
    found = session.run(words.lookup(acts.constant([0, 1, 5], acts.int64)))
    assert found.tolist() == [b"x", b"y", b"?"]


def test_a_list_gives_words_of_ids(session: acts.Session) -> None:
    table = lookup.index_to_string_table_from_tensor(["x", "y"])
    session.run(table.initializer)
    found = session.run(table.lookup(acts.constant([0, 1, 2], acts.int64)))
    assert found.tolist() == [b"x", b"y", b"UNK"]


# -- mutable tables --------------------------------------------------------------------------------


def test_a_mutable_table_keeps_what_steps_put_in(session: acts.Session) -> None:
    table = lookup.MutableHashTable(acts.string, acts.int64, -1)
    look = table.lookup(acts.constant(["a", "z"]))
    assert session.run(look).tolist() == [-1, -1]
    session.run(table.insert(["a", "b"], acts.constant([1, 2], acts.int64)))
    session.run(table.insert(["a"], acts.constant([5], acts.int64)))
    assert session.run(look).tolist() == [5, -1]
    session.run(table.remove(["a", "q"]))
    assert (session.run(look).tolist(), session.run(table.size())) == ([-1, -1], 1)
    keys, values = session.run(table.export())
    assert (keys.tolist(), values.tolist()) == ([b"b"], [2])


def test_values_of_a_mutable_table_may_have_a_shape(session: acts.Session) -> None:
    table = lookup.MutableHashTable(acts.int64, acts.float32, [0.0, -1.0])
    assert table.resource_handle.op.type == "MutableHashTableOfTensorsV2"
    session.run(table.insert(acts.constant([1, 2], acts.int64), [[1.0, 2.0], [3.0, 4.0]]))
    look = table.lookup(acts.constant([[2, 7]], acts.int64))
    assert (look.shape.as_list(), session.run(look).tolist()) == ([1, 2, 2], [[[3, 4], [0, -1]]])
    keys, values = session.run(table.export())
    assert dict(zip(keys.tolist(), values.tolist(), strict=True)) == {1: [1, 2], 2: [3, 4]}


def test_an_empty_mutable_table_has_no_entries(session: acts.Session) -> None:
    for default in (-1.0, [0.0, 0.0]):
        table = lookup.MutableHashTable(acts.string, acts.float32, default)
        keys, values = session.run(table.export())
        assert (keys.shape, values.shape) == ((0,), (0, *np.shape(default)))


def test_values_that_are_not_one_for_each_key_are_refused(session: acts.Session) -> None:
    table = lookup.MutableHashTable(acts.string, acts.float32, -1.0)
    refused(lambda: table.insert(["a", "b"], [1.0]), ValueError, "each key has a value")
    values = acts.placeholder(acts.float32)
    insert = table.insert(["a", "b"], values)
    refused(lambda: session.run(insert, {values: [1.0, 2.0, 3.0]}), InvalidArgumentError, "need values of shape")


def test_a_handle_that_stands_for_another_table_is_found_out(session: acts.Session) -> None:
    table = lookup.MutableHashTable(acts.string, acts.float32, -1.0)
    find = make("LookupTableFindV2", [table.resource_handle, acts.constant([1]), acts.constant(1.0)])
    with pytest.raises(InvalidArgumentError, match="keys of MutableHashTable 'MutableHashTable' are string"):
        session.run(find.outputs[0])


@for_each("name", lookup.__all__)
def test_names_of_the_namespace_are_documented(name: str) -> None:
    assert inspect.getdoc(getattr(lookup, name))


def test_dense_tables_of_the_first_version_have_no_key_for_what_was_removed() -> None:
    """TensorFlow 2.21 builds them and cannot run them."""
    with acts.Session() as session:
        table = raw.MutableDenseHashTable(np.int64(-1), value_dtype=acts.int64)
        with acts.control_dependencies([raw.LookupTableInsert(table, np.array([5]), np.array([50]))]):
            found = raw.LookupTableFind(table, np.array([5, 6]), np.int64(0))
        assert session.run(found).tolist() == [50, 0]
        with pytest.raises(InvalidArgumentError, match="Using the empty_key as a table key"):
            session.run(raw.LookupTableFind(table, np.array([-1]), np.int64(0)))


def test_what_tensorflow_exported_of_a_table_with_reserved_keys_is_imported() -> None:
    """It exports all buckets: those without an entry have the reserved keys."""
    with acts.Graph().as_default(), acts.Session() as session:
        table = raw.MutableDenseHashTableV2(b"$", b"#", value_dtype=acts.float32, shared_name="t")
        keys, values = np.array([[b"$"], [b"a"], [b"#"], [b"$"]], object), np.zeros([4, 1])
        values[1] = 7.0
        session.run(raw.LookupTableImportV2(table, keys[:, 0], values.astype(np.float32)))
        assert session.run(raw.LookupTableSizeV2(table)) == 1
        found = session.run(raw.LookupTableFindV2(table, np.array([b"a", b"b"]), np.float32(-1)))
        assert found.tolist() == [7.0, -1.0]


# -- what a later vocabulary takes over of an earlier one ------------------------------------------


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def remapping(folder: Path, **attrs: Any) -> Any:
    (folder / "old").write_text("a\nb\nc\n")
    (folder / "new").write_text("c\nz\na\nb\n")
    return tf.raw_ops.GenerateVocabRemapping(
        new_vocab_file=str(folder / "new"), old_vocab_file=str(folder / "old"), **attrs
    )


def test_words_of_a_new_vocabulary_are_found_in_the_old_one(session: tf.Session, tmp_path: Path) -> None:
    found = session.run(remapping(tmp_path, new_vocab_offset=0, num_new_vocab=4))
    assert (found.remapping.tolist(), found.num_present) == ([2, -1, 0, 1], 3)
    short = session.run(remapping(tmp_path, new_vocab_offset=2, num_new_vocab=2, old_vocab_size=1))
    assert (short.remapping.tolist(), short.num_present) == ([0, -1], 1)
    with pytest.raises(InvalidArgumentError, match="has 4 lines; 5 are needed"):
        session.run(remapping(tmp_path, new_vocab_offset=1, num_new_vocab=4))


def test_a_saved_matrix_is_loaded_with_rows_and_columns_in_other_places(session: tf.Session, tmp_path: Path) -> None:
    saved = tf.get_variable("m", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
    session.run(saved.initializer)
    path = tf.train.Saver().save(session, str(tmp_path / "model"))

    def load(rows: Any, columns: Any, initial: Any, shape: tuple[int, int]) -> Any:
        return session.run(
            tf.raw_ops.LoadAndRemapMatrix(
                ckpt_path=path,
                old_tensor_name="m",
                row_remapping=np.array(rows, np.int64),
                col_remapping=np.array(columns, np.int64),
                num_rows=shape[0],
                num_cols=shape[1],
                initializing_values=np.array(initial, np.float32),
            )
        )

    assert load([2, -1, 0], [], [8, 9], (3, 2)).tolist() == [[4, 5], [8, 9], [0, 1]]
    assert load([1, -1], [1, -1], [7, 8, 9], (2, 2)).tolist() == [[3, 7], [8, 9]]
    refused(lambda: load([2, -1], [], [8], (2, 2)), InvalidArgumentError, "2 values have no old place")
    refused(lambda: load([2, 2], [], [], (2, 2)), InvalidArgumentError, "used once at most")
