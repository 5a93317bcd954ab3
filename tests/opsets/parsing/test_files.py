"""Files that steps read, write and find."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import actorsession as acts
from actorsession import errors, ops, opsets
from actorsession.graph.registry import lookup
from tests.ops.cases import run
from tests.rows import for_each, refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with some files."""
    for name in ("b.txt", "a.txt", ".hidden.txt", "c.dat"):
        (tmp_path / name).write_text(name)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "d.txt").write_text("d")
    return tmp_path


def found(*patterns: str) -> list[str]:
    value = run(opsets.matching_files(list(patterns) if len(patterns) > 1 else patterns[0]))
    return [os.path.basename(path.decode()) for path in value]


@pytest.mark.parametrize("op", ["ReadFile", "WriteFile", "MatchingFiles"])
def test_a_disk_is_never_waited_for_on_an_event_loop(op: str) -> None:
    assert lookup(op).blocks
    assert lookup(op).stateful


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    data = bytes(range(256)) * 3
    (tmp_path / "file").write_bytes(data)
    contents = opsets.read_file(str(tmp_path / "file"), name="contents")
    assert (contents.op.name, contents.shape.rank, run(contents)) == ("contents", 0, data)


async def test_a_file_is_read_from_asyncio(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"data")
    async with acts.AsyncSession() as session:
        assert await session.run(opsets.read_file(str(tmp_path / "file"))) == b"data"


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    refused(lambda: run(opsets.read_file(str(tmp_path / "no_such"))), errors.NotFoundError, r"no_such.*No such file")
    refused(lambda: run(opsets.read_file(str(tmp_path))), errors.FailedPreconditionError, "directory")


def test_a_file_is_written_and_its_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    for data in (b"first, which is longer", b"\xff\0"):
        run(opsets.write_file(str(path), data))
        assert path.read_bytes() == data


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    refused(lambda: run(opsets.write_file(str(tmp_path), b"")), errors.FailedPreconditionError, "cannot write")


@for_each(
    "pattern, names",
    [
        ("*.txt", [".hidden.txt", "a.txt", "b.txt"]),
        ("?.txt", ["a.txt", "b.txt"]),
        ("[a-b].*", ["a.txt", "b.txt"]),
        ("*/*.txt", ["d.txt"]),
        ("a.txt", ["a.txt"]),
        ("no_such*", []),
        ("no_such", []),
        ("no_such/*", []),
        ("a.txt/*", []),
    ],
)
def test_files_are_found_by_pattern_and_sorted(folder: Path, pattern: str, names: list[str]) -> None:
    assert found(str(folder / pattern)) == names


def test_several_patterns_find_files_together_each_for_itself(folder: Path) -> None:
    assert found(str(folder / "*.dat"), str(folder / "a*")) == ["a.txt", "c.dat"]
    assert found(str(folder / "a*"), str(folder / "?.txt")) == ["a.txt", "a.txt", "b.txt"]


def test_patterns_are_looked_up_from_where_the_program_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert run(opsets.matching_files("inner/*")).tolist() == [b"inner/d.txt"]
    assert run(opsets.matching_files("c*")).tolist() == [b"c.dat"]


def test_names_of_files_are_scalars_and_patterns_at_most_vectors() -> None:
    for build in (
        lambda: opsets.read_file(["a"]),
        lambda: opsets.write_file("a", ["b"]),
        lambda: opsets.matching_files([["a"]]),
    ):
        with pytest.raises(ValueError, match="got shape"):
            build()
    refused(lambda: opsets.read_file(3), TypeError)


@pytest.mark.parametrize("build", [opsets.read_file, lambda x: opsets.write_file(x, "")])
def test_names_that_turn_out_to_be_no_scalars_are_refused(build: Any) -> None:
    names = ops.placeholder("string")
    with acts.Session() as session, pytest.raises(errors.InvalidArgumentError, match="string scalar"):
        session.run(build(names), {names: [b"a"]})
