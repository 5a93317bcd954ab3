"""File roots of a server: what operations of its sessions may open, and by which names."""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession
from actorsession import ops, opsets
from actorsession.checkpoints import save
from actorsession.cluster import Server
from actorsession.config import ConfigProto
from actorsession.config.file_roots import FileRoots
from actorsession.errors import (
    DeadlineExceededError,
    InternalError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
)
from actorsession.graph.dtypes import int64, string
from actorsession.graph.graph import Graph, control_dependencies
from actorsession.graph.registry import lookup, registered_ops
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import make_one
from actorsession.ops.variables.checkpointing import merge_v2_checkpoints, restore_v2, save_v2
from actorsession.opsets.datasets.files import TextLineDataset
from actorsession.session import AsyncSession
from tests.cluster.kit import soon
from tests.obstacles import OBSTACLES

ONE = {"worker": ["127.0.0.1:0"]}

# A path, and a node of each operation type that opens files: it opens that path, or begins with it.
OPENERS: dict[str, Callable[[str], Any]] = {
    "ReadFile": lambda path: opsets.read_file(path + ".txt"),
    "WriteFile": lambda path: opsets.write_file(path + ".txt", b"new"),
    "MatchingFiles": lambda path: opsets.matching_files(path + "*"),
    "SaveV2": lambda path: save_v2(path, ["v"], [""], [ops.constant(1.0)]),
    "RestoreV2": lambda path: restore_v2(path, ["v"], [""], ["float32"]),
    "Save": lambda path: raw.Save(path, ["v"], [ops.constant(1.0)]),
    "SaveSlices": lambda path: raw.SaveSlices(path, ["v"], [""], [ops.constant(1.0)]),
    "Restore": lambda path: raw.Restore(path, "v", dt="float32"),
    "RestoreSlice": lambda path: raw.RestoreSlice(path, "v", "", dt="float32"),
    "MergeV2Checkpoints": lambda path: merge_v2_checkpoints([path], path + "-merged"),
    "InitializeTableFromTextFileV2": lambda path: _table(path + ".txt"),
    "DatasetToSingleElement": lambda path: _lines(path).get_single_element(),
    "ReduceDataset": lambda path: _lines(path).reduce(0, lambda count, line: count + 1),
    "IteratorGetNext": lambda path: _lines(path).make_one_shot_iterator().get_next(),
    "IteratorGetNextSync": lambda path: make_one(
        "IteratorGetNextSync",
        [_lines(path).make_one_shot_iterator()._iterator_resource],
        {"output_types": (string,), "output_shapes": (TensorShape(()),)},
        "next",
    ),
    "IteratorGetNextAsOptional": lambda path: (
        _lines(path).make_one_shot_iterator().get_next_as_optional().get_value()
    ),
    "ReaderReadV2": lambda path: _reader().read(_queue(path))[1],
    "ReaderReadUpToV2": lambda path: _reader().read_up_to(_queue(path), 2)[1],
}


def _lines(path: str) -> TextLineDataset:
    return TextLineDataset(path + ".txt")


def _reader() -> Any:
    return opsets.TextLineReader()


def _queue(path: str) -> Any:
    """A queue that has the path once the operations before those built from now on have run."""
    queue = ops.FIFOQueue(1, string, [])
    put = queue.enqueue(path + ".txt")
    with control_dependencies([put]):
        return ops.identity(queue.queue_ref)


def _table(path: str) -> Any:
    init = actorsession.lookup.TextFileInitializer(path, string, -2, int64, -1)
    return actorsession.lookup.StaticHashTable(init, -1).initializer


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a text file and a checkpoint, of which no session is to see anything."""
    return _filled(tmp_path / "outside")


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    """The root, with a way out of it of each kind."""
    made = _filled(tmp_path / "root")
    (made / "folder").symlink_to(outside)
    (made / "linked.txt").symlink_to(outside / "x.txt")
    (made / "linked.safetensors").symlink_to(outside / "x.safetensors")
    return made


def _filled(folder: Path) -> Path:
    folder.mkdir()
    (folder / "x.txt").write_bytes(b"old")
    save(str(folder / "x"), ["v"], [""], [np.float32(2.0)])
    return folder


@pytest.fixture
async def server(root: Path) -> AsyncIterator[Server]:
    async with Server(ONE, file_roots=[root]) as made:
        yield made


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def refusal(server: Server, graph: Graph, fetch: Any, **settings: Any) -> str:
    """What a step is refused with."""
    async with AsyncSession(server.target, graph, ConfigProto(**settings)) as session:
        with pytest.raises(PermissionDeniedError) as caught:
            await soon(session.run(fetch))
    return caught.value.message


def test_every_operation_that_opens_files_is_tried_here() -> None:
    assert {name for name in registered_ops() if lookup(name).opens_files} == set(OPENERS)


WAYS_OUT = [
    "{outside}/x",
    "{root}/../outside/x",
    "{root}/nothing/../../outside/x",  # over a name that is not there
    "{root}/folder/x",  # a link
    "/proc/self/root{outside}/x",  # a link of the kernel's
]


@pytest.mark.parametrize("op", OPENERS)
async def test_outside_of_the_roots_nothing_is_opened(
    op: str, server: Server, root: Path, outside: Path, graph: Graph
) -> None:
    before = contents(outside)
    for way in WAYS_OUT:
        path = way.format(root=root, outside=outside)
        told = await refusal(server, graph, OPENERS[op](path))
        assert str(outside) in told, told
        assert f"outside the file roots of {server.task}: {root}" in told
        assert "--file-root DIR" in told
        assert contents(outside) == before


@pytest.mark.parametrize(
    "op",
    # One names links, the others replace them.
    sorted(set(OPENERS) - {"MatchingFiles", "Save", "SaveSlices", "SaveV2"}),
)
async def test_a_file_that_is_a_link_out_is_not_opened(
    op: str, server: Server, root: Path, outside: Path, graph: Graph
) -> None:
    before = contents(outside)
    assert f"{root}/linked" in await refusal(server, graph, OPENERS[op](f"{root}/linked"))
    assert contents(outside) == before


async def test_what_is_written_over_a_link_takes_its_place(
    server: Server, root: Path, outside: Path, graph: Graph
) -> None:
    before = contents(outside)
    async with AsyncSession(server.target, graph) as session:
        await session.run(OPENERS["SaveV2"](f"{root}/linked"))
        assert await session.run(OPENERS["RestoreV2"](f"{root}/linked")) == [1.0]
    assert contents(outside) == before
    assert not (root / "linked.safetensors").is_symlink()


async def test_an_index_names_no_file_that_is_a_link_out(
    server: Server, root: Path, outside: Path, graph: Graph
) -> None:
    """A peer may write the index by itself."""
    index = b'{"weight_map": {"v": "linked.safetensors"}}'
    fetch = OPENERS["RestoreV2"](f"{root}/made")
    with_index = opsets.write_file(f"{root}/made.safetensors.index.json", index)
    async with AsyncSession(server.target, graph) as session:
        await session.run(with_index)
    assert f"{root}/linked.safetensors" in await refusal(server, graph, fetch)


@pytest.mark.parametrize("op", OPENERS)
async def test_inside_of_the_roots_all_goes_on(
    op: str, server: Server, root: Path, graph: Graph
) -> None:
    (root / "inner").symlink_to(root)  # a link that stays inside
    async with AsyncSession(server.target, graph) as session:
        await soon(session.run(OPENERS[op](f"{root}/inner/../root/inner/x")))
        with pytest.raises(NotFoundError):
            await soon(session.run(opsets.read_file(f"{root}/none")))


@pytest.mark.parametrize("what", OBSTACLES)
async def test_what_is_no_file_is_refused_and_holds_no_step(
    what: str, root: Path, graph: Graph, server: Server
) -> None:
    """By every operation that opens files, at once: a FIFO would hold its kernel until somebody writes."""
    for path in (root / "x.txt", root / "x.safetensors"):
        path.unlink()
        OBSTACLES[what](path)
    written = {
        "MatchingFiles",
        "Save",
        "SaveSlices",
        "SaveV2",
    }  # they open none, or rename a new one
    fetches = {name: OPENERS[name](f"{root}/x") for name in sorted(OPENERS.keys() - written)}
    async with AsyncSession(server.target, graph) as session:
        for name, fetch in fetches.items():
            with pytest.raises(OpError) as caught:
                await soon(session.run(fetch))
            assert not isinstance(caught.value, (DeadlineExceededError, InternalError)), name


async def test_a_pattern_finds_names_in_the_roots_as_they_were_asked_for(
    server: Server, root: Path, graph: Graph
) -> None:
    async with AsyncSession(server.target, graph) as session:
        found = await session.run(opsets.matching_files(f"{root}/*.txt"))
        assert list(found) == [f"{root}/{name}.txt".encode() for name in ("linked", "x")]
        with pytest.raises(PermissionDeniedError):
            await session.run(opsets.matching_files(f"{root}/fold*/x.txt"))


async def test_sessions_with_state_of_their_own_have_the_same_roots(
    server: Server, outside: Path, graph: Graph
) -> None:
    fetch = opsets.read_file(f"{outside}/x.txt")
    told = await refusal(server, graph, fetch, isolate_session_state=True)
    assert "outside the file roots" in told


async def test_sessions_that_bring_their_cluster_have_the_same_roots(
    server: Server, outside: Path, graph: Graph
) -> None:
    cluster = actorsession.ClusterSpec({"own": [server.target]})
    told = await refusal(server, graph, opsets.read_file(f"{outside}/x.txt"), cluster_def=cluster)
    assert "outside the file roots" in told


async def test_beyond_loopback_there_are_no_roots_unless_they_are_named(
    outside: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTORSESSION_TOKEN", "a token for the tests")
    before = contents(outside)
    fetches = [opens(f"{outside}/x") for opens in OPENERS.values()]
    async with Server({"worker": ["0.0.0.0:0"]}) as server:
        for fetch in fetches:
            told = await refusal(server, graph, fetch)
            assert f"cannot be opened at {server.task}, which has no file roots" in told
            assert "--file-root DIR" in told
    assert contents(outside) == before


async def test_beyond_loopback_those_that_are_named_count(
    root: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACTORSESSION_TOKEN", "a token for the tests")
    async with Server({"worker": ["0.0.0.0:0"]}, file_roots=[root]) as server:
        async with AsyncSession(server.target, graph) as session:
            assert await session.run(opsets.read_file(f"{root}/x.txt")) == b"old"


@pytest.mark.parametrize("address", ["127.0.0.1:0", "unix://{folder}/s", "inproc://roots"])
async def test_where_only_this_machine_comes_in_all_is_open_unless_roots_are_named(
    address: str, outside: Path, graph: Graph
) -> None:
    where = {"worker": [address.format(folder=outside.parent)]}
    async with Server(where) as server, AsyncSession(server.target, graph) as session:
        assert await session.run(opsets.read_file(f"{outside}/x.txt")) == b"old"
    async with Server(where, file_roots=[]) as server:
        told = await refusal(server, graph, opsets.read_file(f"{outside}/x.txt"))
        assert "which has no file roots" in told


# -- names and links -------------------------------------------------------------------------------


def test_a_link_that_comes_after_the_look_leads_nowhere(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. A name leads inside.  2. A folder, or the file, becomes a link out.  3. It is opened."""
    files = FileRoots([root])
    for name, swap in (("deep/x.txt", "deep"), ("deep/x.txt", "deep/x.txt")):
        shutil.rmtree(root / "deep", ignore_errors=True)
        (root / "deep").unlink(missing_ok=True)
        _filled(root / "deep")
        found = files._resolve(str(root / name))
        where = root / swap
        shutil.rmtree(where) if where.is_dir() else where.unlink()
        where.symlink_to(outside if swap == "deep" else outside / "x.txt")
        with monkeypatch.context() as context:
            context.setattr(FileRoots, "_resolve", lambda self, path, found=found: found)
            with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
                files.opener(str(root / name), os.O_RDONLY)


def test_a_root_is_a_folder_and_no_prefix(tmp_path: Path) -> None:
    files = FileRoots([tmp_path / "data"])
    assert files.real(str(tmp_path / "data" / "x")) == str(tmp_path / "data" / "x")
    for name in ("data2/x", "data.txt", ""):
        with pytest.raises(PermissionDeniedError):
            files.real(str(tmp_path / name))
    with pytest.raises(PermissionDeniedError):  # its files would lie beside the root
        files.prefix(str(tmp_path / "data"))


def test_one_folder_is_no_list_of_them(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a list of folders"):
        Server(ONE, file_roots=str(tmp_path))


def test_the_whole_file_system_can_be_a_root(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    with open(tmp_path / "x", opener=FileRoots(["/"]).opener) as file:
        assert file.read() == "1"


def test_a_name_that_no_file_can_have_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(OpError, match="is not the name of a file"):
        FileRoots([tmp_path]).real("a\0b")


# -- the sweep -------------------------------------------------------------------------------------

# Modules of operations that name something of the file system, and why each may.
KNOWN = {
    "parsing/files.py": "kernels, by their file roots",
    "tables/kernels.py": "kernels, by their file roots",
    "variables/checkpointing.py": "kernels, by their file roots",
    "parsing/records.py": "record files of the caller's process; no node has them",
    "neural/candidate_sampling.py": "weights, read by the caller's process while a node is built",
    "images/files.py": "opens what is in memory",
    "blas.py": "looks for libraries of its own process",
    "memory.py": "what the system says of memory",
    "flow/assertions.py": "",
}
OPENING = {"open", "Path", "glob", "listdir", "scandir", "mkdir", "makedirs", "unlink", "memmap",
           "fromfile", "CheckpointReader", "checkpoints", "tempfile", "shutil", "subprocess"}  # fmt: skip


def test_no_other_module_of_operations_opens_files() -> None:
    folder = Path(ops.__file__).parent
    found = set()
    for path in folder.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        calls = {
            n.func.attr
            for n in ast.walk(tree)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
        }
        if (names | calls) & OPENING:
            found.add(str(path.relative_to(folder)))
    assert found <= set(KNOWN), sorted(found - set(KNOWN))
