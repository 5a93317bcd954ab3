"""File roots of a server: what operations of its sessions may open, and by which names."""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import re
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession
import actorsession as acts
import actorsession.errors as errors
from actorsession import (
    AsyncSession,
    Graph,
    GraphDef,
    Server,
    ServerSettings,
    Session,
    TensorShape,
    control_dependencies,
    int64,
    ops,
    opsets,
    string,
)
from actorsession.checkpoints import save, save_bundle, save_slices, write_whole
from actorsession.config import ConfigProto, DebugOptions, file_roots
from actorsession.config.file_roots import FileRoots, Folder
from actorsession.extend import registered_ops
from actorsession.graph.registry import lookup
from actorsession.ops import raw
from actorsession.ops.variables.checkpointing import merge_v2_checkpoints, restore_v2, save_v2
from actorsession.runtime.debug.dump import DumpStore
from actorsession.runtime.debug.sinks import sink_for
from tests.cluster.kit import soon
from tests.irregular_files import OBSTACLES
from tests.nodes import make_one

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
    "IteratorGetNextAsOptional": lambda path: _lines(path).make_one_shot_iterator().get_next_as_optional().get_value(),
    # Of which none stays open in the middle.
    "ReaderReadV2": lambda path: opsets.WholeFileReader().read(_queue(path))[1],
    "ReaderReadUpToV2": lambda path: opsets.TextLineReader().read_up_to(_queue(path), 2)[1],
    # Their forms with references.
    "InitializeTableFromTextFile": lambda path: raw.InitializeTableFromTextFile(
        raw.HashTable(key_dtype=string, value_dtype=int64), path + ".txt", key_index=-2, value_index=-1
    ),
    "ReaderRead": lambda path: raw.ReaderRead(raw.WholeFileReader(), _older_queue(path))[1],
    "GenerateVocabRemapping": lambda path: raw.GenerateVocabRemapping(
        path + ".txt", path + ".txt", new_vocab_offset=0, num_new_vocab=1
    )[0],
    "LoadAndRemapMatrix": lambda path: raw.LoadAndRemapMatrix(path, "m", [0], [], [], num_rows=1, num_cols=1),
    "ReaderReadUpTo": lambda path: raw.ReaderReadUpTo(raw.TextLineReader(), _older_queue(path), 2)[1],
}


def _lines(path: str) -> acts.data.TextLineDataset:
    return acts.data.TextLineDataset(path + ".txt")


def _queue(path: str) -> Any:
    """A queue that has the path once the operations before those built from now on have run."""
    queue = ops.FIFOQueue(1, string, [])
    put = queue.enqueue(path + ".txt")
    with control_dependencies([put]):
        return ops.identity(queue.queue_ref)


def _older_queue(path: str) -> Any:
    """The same with a reference to the queue."""
    queue = raw.FIFOQueue(component_types=[string])
    with control_dependencies([raw.QueueEnqueue(queue, [path + ".txt"])]):
        return ops.identity(queue)


def _table(path: str) -> Any:
    init = actorsession.lookup.TextFileInitializer(path, string, -2, int64, -1)
    return actorsession.lookup.StaticHashTable(init, -1).initializer


# More ways to files, which other operation types begin.
MORE: dict[str, Callable[[str], Any]] = {
    "SaveV2 of a bundle": lambda path: save_v2(path, ["v"], [""], [ops.constant(1.0)], bundle=True),
    "SaveV2 in a new folder": lambda path: save_v2(f"{path}/new/y", ["v"], [""], [ops.constant(1.0)]),
    "WriteFile in a new folder": lambda path: opsets.write_file(f"{path}/new/y", b"new"),
    "MergeV2Checkpoints of bundles": lambda path: merge_v2_checkpoints([f"{path}-b"], f"{path}/y"),
    "MergeV2Checkpoints to another folder": lambda path: merge_v2_checkpoints([path], f"{path}/new/y"),
    "RestoreV2 of a bundle": lambda path: restore_v2(f"{path}-b", ["v"], [""], ["float32"]),
    "RestoreV2 of a table": lambda path: restore_v2(f"{path}-t", ["v"], [""], ["float32"]),
    "RestoreV2 of tables": lambda path: restore_v2(f"{path}-?????-of-00001", ["v"], [""], ["float32"]),
    "MatchingFiles in folders": lambda path: opsets.matching_files(f"{path[:-3]}*/x*"),
    "CacheDataset": lambda path: _lines(path).cache(path + "-cache").reduce(0, lambda count, line: count + 1),
}
SECRET = (b"secret", 7.0)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a text file and a checkpoint, of which no session is to see anything."""
    return _filled(tmp_path / "outside", *SECRET)


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    """The root, with a way out of it of each kind."""
    made = _filled(tmp_path / "root")
    (made / "folder").symlink_to(outside)
    (made / "linked.txt").symlink_to(outside / "x.txt")
    (made / "linked.safetensors").symlink_to(outside / "x.safetensors")
    return made


def _filled(folder: Path, text: bytes = b"old", value: float = 2.0) -> Path:
    folder.mkdir()
    for name, data in _files(text, value).items():
        (folder / name).write_bytes(data)
    return folder


@functools.cache
def _files(text: bytes, value: float) -> dict[str, bytes]:
    """The files of a folder, which a moment of most tests has anew: writing a checkpoint takes long."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "x.txt").write_bytes(text)
        (folder / f"x-{text.decode()}.txt").write_bytes(text)
        stored = ["v"], [""], [np.float32(value)]
        save(str(folder / "x"), ["m", "v"], ["", ""], [np.ones((1, 1), np.float32), np.float32(value)])
        save_bundle(str(folder / "x-b"), *stored)
        for name in ("x-t", "x-00000-of-00001"):
            save_slices(str(folder / name), *stored)
        return contents(folder)


@pytest.fixture
async def server(root: Path) -> AsyncIterator[Server]:
    async with Server(ONE, settings=ServerSettings(file_roots=[root])) as made:
        yield made


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


async def refusal(server: Server, graph: Graph, fetch: Any, **settings: Any) -> str:
    """What a step is refused with."""
    async with AsyncSession(server.target, graph, ConfigProto(**settings)) as session:
        with pytest.raises(errors.PermissionDeniedError) as caught:
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
    fetches = [OPENERS[op](way.format(root=root, outside=outside)) for way in WAYS_OUT]
    async with AsyncSession(server.target, graph) as session:
        for fetch in fetches:
            with pytest.raises(errors.PermissionDeniedError) as caught:
                await soon(session.run(fetch))
            told = caught.value.message
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


async def test_what_overwrites_a_link_takes_its_place(server: Server, root: Path, outside: Path, graph: Graph) -> None:
    before = contents(outside)
    async with AsyncSession(server.target, graph) as session:
        await session.run(OPENERS["SaveV2"](f"{root}/linked"))
        assert await session.run(OPENERS["RestoreV2"](f"{root}/linked")) == [1.0]
    assert contents(outside) == before
    assert not (root / "linked.safetensors").is_symlink()


@pytest.mark.usefixtures("outside")
async def test_an_index_names_no_file_that_is_a_link_out(server: Server, root: Path, graph: Graph) -> None:
    """A peer may write the index by itself."""
    index = b'{"weight_map": {"v": "linked.safetensors"}}'
    fetch = OPENERS["RestoreV2"](f"{root}/made")
    with_index = opsets.write_file(f"{root}/made.safetensors.index.json", index)
    async with AsyncSession(server.target, graph) as session:
        await session.run(with_index)
    assert f"{root}/linked.safetensors" in await refusal(server, graph, fetch)


@pytest.mark.parametrize("op", OPENERS)
async def test_inside_of_the_roots_all_goes_on(op: str, server: Server, root: Path, graph: Graph) -> None:
    (root / "inner").symlink_to(root)  # a link that stays inside
    async with AsyncSession(server.target, graph) as session:
        await soon(session.run(OPENERS[op](f"{root}/inner/../root/inner/x")))
        with pytest.raises(errors.NotFoundError):
            await soon(session.run(opsets.read_file(f"{root}/none")))


@pytest.mark.parametrize("what", OBSTACLES)
async def test_what_is_no_file_is_refused_and_never_hangs(what: str, root: Path, graph: Graph, server: Server) -> None:
    """By every operation that opens files, at once: a FIFO would hold its kernel until somebody writes."""
    for path in (root / "x.txt", root / "x.safetensors"):
        path.unlink()
        OBSTACLES[what](path)
    written = {"MatchingFiles", "Save", "SaveSlices", "SaveV2"}  # they open none, or rename a new one
    fetches = {name: OPENERS[name](f"{root}/x") for name in sorted(OPENERS.keys() - written)}
    async with AsyncSession(server.target, graph) as session:
        for name, fetch in fetches.items():
            with pytest.raises(errors.OpError) as caught:
                await soon(session.run(fetch))
            assert not isinstance(caught.value, (errors.DeadlineExceededError, errors.InternalError)), name


async def test_a_pattern_finds_names_in_the_roots_as_asked_for(server: Server, root: Path, graph: Graph) -> None:
    async with AsyncSession(server.target, graph) as session:
        found = await session.run(opsets.matching_files(f"{root}/*.txt"))
        assert list(found) == [f"{root}/{name}.txt".encode() for name in ("linked", "x-old", "x")]
        with pytest.raises(errors.PermissionDeniedError):
            await session.run(opsets.matching_files(f"{root}/fold*/x.txt"))


async def test_sessions_with_their_own_state_have_the_same_roots(server: Server, outside: Path, graph: Graph) -> None:
    fetch = opsets.read_file(f"{outside}/x.txt")
    told = await refusal(server, graph, fetch, isolate_session_state=True)
    assert "outside the file roots" in told


async def test_sessions_that_bring_a_cluster_have_the_same_roots(server: Server, outside: Path, graph: Graph) -> None:
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


async def test_beyond_loopback_named_roots_count(root: Path, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTORSESSION_TOKEN", "a token for the tests")
    async with Server({"worker": ["0.0.0.0:0"]}, settings=ServerSettings(file_roots=[root])) as server:
        async with AsyncSession(server.target, graph) as session:
            assert await session.run(opsets.read_file(f"{root}/x.txt")) == b"old"


@pytest.mark.parametrize("address", ["127.0.0.1:0", "unix://{folder}/s", "inproc://roots"])
async def test_where_only_this_machine_comes_in_all_is_open_unless_roots_are_named(
    address: str, outside: Path, graph: Graph
) -> None:
    where = {"worker": [address.format(folder=outside.parent)]}
    async with Server(where) as server, AsyncSession(server.target, graph) as session:
        assert await session.run(opsets.read_file(f"{outside}/x.txt")) == SECRET[0]
    async with Server(where, settings=ServerSettings(file_roots=[])) as server:
        told = await refusal(server, graph, opsets.read_file(f"{outside}/x.txt"))
        assert "which has no file roots" in told


# -- what was judged is what is used ---------------------------------------------------------------
# Each of the first; what takes very many is looked at here and there.
MOMENTS = [*range(1, 40), *range(40, 1000, 7)]


class Swap:
    """A folder or a file that becomes a link at a chosen moment of what is done with files. A moment is the end of a
    look at a name, or the begin of a call that uses one."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._left = 0
        resolve, of = FileRoots._resolve, Folder._of

        def resolved(files: FileRoots, path: str) -> tuple[str, str]:
            found = resolve(files, path)
            self._pass()
            return found

        def used(folder: Folder, name: str) -> str:
            self._pass()
            return of(folder, name)

        patch.setattr(os, "fsync", lambda descriptor: None)  # which takes most of the time
        for kind, name, function in ((FileRoots, "_resolve", resolved), (Folder, "_of", used)):
            patch.setattr(kind, name, function)

    def at(self, moment: int, victim: Path, target: Path) -> None:
        """Count moments from 1 on, and swap at that one."""
        self._left, self._victim, self._target = moment, victim, target

    def _pass(self) -> None:
        self._left -= 1
        if not self._left and os.path.lexists(self._victim):
            swap(self._victim, self._target)

    @property
    def happened(self) -> bool:
        """Whether there was such a moment."""
        return self._left <= 0


def swap(victim: Path, target: Path) -> None:
    victim.rename(f"{victim}-was")
    victim.symlink_to(target)


def remove(path: Path) -> None:
    path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)


def afresh(deep: Path) -> Path:
    remove(deep)
    remove(Path(f"{deep}-was"))
    return _filled(deep)


@pytest.fixture
def session(root: Path, graph: Graph) -> Iterator[Session]:
    """A session of this process whose device has the root of a server's."""
    with Session(graph=graph) as made:
        (device,) = made._session._devices  # type: ignore[attr-defined]
        device.resources.files = FileRoots([root])
        yield made


def run(session: Session, fetch: Any) -> None:
    """Run a step that tells nothing of what is outside, and fails for a reason if at all."""
    try:
        found = session.run(fetch)
    except errors.OpError as error:
        found = error
    assert not isinstance(found, (errors.UnknownError, errors.InternalError)), found
    assert "TypeError" not in str(found), found
    assert not any(str(each) in str(found) for each in ("secret", SECRET[1])), found


@pytest.mark.parametrize(
    ("op", "file"),
    [
        *((op, "") for op in OPENERS | MORE),  # the folder
        *(
            (op, "x.txt")
            for op in (
                "ReadFile",
                "WriteFile",
                "CacheDataset",
                "ReaderReadV2",
                "InitializeTableFromTextFileV2",
                "DatasetToSingleElement",
            )
        ),
        *((op, "x.safetensors") for op in ("SaveV2", "RestoreV2", "MergeV2Checkpoints")),
        *(("RestoreV2 of a bundle", f"x-b.{name}") for name in ("index", "data-00000-of-00001")),
        ("RestoreV2 of a table", "x-t"),
    ],
)
@pytest.mark.filterwarnings("ignore::actorsession.session.graph_mutation_warnings.GraphGrowthWarning")
def test_what_becomes_a_link_out_at_any_moment_leads_nowhere(
    op: str, file: str, session: Session, root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """1. A name leads inside.  2. A folder on the way, or the file, becomes a link out.  3. It is opened,
    made, moved, listed or removed: in the folder that was judged, or not at all."""
    moments = MOMENTS if whole else MOMENTS[len(op) % 3 :: 3]  # each of them with some operations
    before = contents(outside)
    swapping = Swap(monkeypatch)
    for moment in moments:
        deep = afresh(root / "deep")
        fetch = (OPENERS | MORE)[op](f"{deep}/x")
        swapping.at(moment, deep / file, outside / file)
        run(session, fetch)
        assert contents(outside) == before, moment
        if not swapping.happened:
            break
    assert 1 < moment < MOMENTS[-1]


@pytest.mark.parametrize("op", ["SaveV2", "WriteFile in a new folder", "RestoreV2"])
def test_while_a_folder_and_a_link_out_change_places_all_the_time_nothing_lands_outside(
    op: str, session: Session, root: Path, outside: Path
) -> None:
    before = contents(outside)
    deep = _filled(root / "deep")
    fetch = (OPENERS | MORE)[op](f"{deep}/x")
    ended = threading.Event()

    def swaps() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError):  # an operation has made the folder meanwhile
                swap(deep, outside)
            remove(deep)
            with contextlib.suppress(OSError):
                Path(f"{deep}-was").rename(deep)

    swapper = threading.Thread(target=swaps)
    swapper.start()
    try:
        for _ in range(60):
            run(session, fetch)
    finally:
        ended.set()
        swapper.join()
    assert contents(outside) == before


def test_dumps_of_the_debugger_stay_in_the_folder_that_was_judged(root: Path, outside: Path, monkeypatch: Any) -> None:
    before = contents(outside)
    swapping = Swap(monkeypatch)
    dump = acts.debugging.DebugDump(
        node_name="n",
        output_slot=0,
        device_name="/cpu:0",
        debug_op="DebugIdentity",
        op_type="Const",
        value=np.ones(1, np.float32),
        timestamp=0.0,
        global_step=-1,
        session_run_index=0,
        executor_step_index=0,
    )
    for moment in MOMENTS:
        deep = afresh(root / "deep")
        swapping.at(moment, deep, outside)
        with contextlib.suppress(errors.OpError, OSError):
            url, files = f"file://{deep}/new", FileRoots([root])
            sink = sink_for(url, DumpStore(), DebugOptions(), files)
            sink.begin({"session_run_index": 0})
            sink.take_graph(GraphDef(()), "/cpu:0")
            sink.take(dump)
            sink.end({})
        assert contents(outside) == before, moment
        if not swapping.happened:
            return
    pytest.fail("this does not end")


@pytest.fixture(params=[True, False])
def searches(request: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a folder can be looked through without the right to read it, which macOS does not know."""
    monkeypatch.setattr(file_roots, "_SEARCHES", request.param)
    return bool(request.param)


def test_roots_by_way_of_links_are_the_folders_that_the_links_led_to(tmp_path: Path, searches: bool) -> None:
    """As in macOS, where ``/tmp`` is a link, and a descriptor of a folder needs the right to read it."""
    (tmp_path / "real" / "data").mkdir(parents=True)
    (tmp_path / "way").symlink_to("real")
    (tmp_path / "real" / "link").symlink_to("data")
    for root in ("way/data", "way/link", "real/link"):
        files = FileRoots([tmp_path / root])
        for name in (f"{root}/new/{root[:3]}", f"{root}/../data/y", "way/../real/data/z"):
            opener = functools.partial(files.opener, make=True)
            with open(tmp_path / name, "w", opener=opener) as file:
                file.write("1")
            assert files.stat(str(tmp_path / name)).st_size == 1
            assert list(files.matching(f"{tmp_path / name}*")) == [str(tmp_path / name)]
    assert sorted(contents(tmp_path / "real" / "data")) == ["new", "new/rea", "new/way", "y", "z"]


def test_a_root_that_is_missing_is_made_with_the_folders_above(tmp_path: Path, searches: bool) -> None:
    files = FileRoots([tmp_path / "a" / "b"])
    path = str(tmp_path / "a" / "b" / "c" / "x")
    write_whole(path, lambda file: file.writelines([b"1"]), files=files)
    assert (tmp_path / "a" / "b" / "c" / "x").read_bytes() == b"1"


def test_a_root_that_becomes_a_link_at_any_moment_leads_nowhere(root: Path, outside: Path, monkeypatch: Any) -> None:
    before = contents(outside)
    swapping, files = Swap(monkeypatch), FileRoots([root])
    for moment in MOMENTS:
        root = afresh(root)
        swapping.at(moment, root, outside)
        with contextlib.suppress(errors.PermissionDeniedError):
            with open(root / "x.txt", opener=files.opener) as file:
                assert file.read() == "old"
            write_whole(str(root / "y"), lambda file: file.writelines([b"1"]), files=files)
        assert contents(outside) == before
        if not swapping.happened:
            return
    pytest.fail("this does not end")


def test_a_root_in_a_root_that_becomes_a_link_leads_nowhere(root: Path, outside: Path) -> None:
    _filled(root / "inner")
    files = FileRoots([root / "inner", root])
    swap(root / "inner", outside)
    with pytest.raises(errors.PermissionDeniedError, match="which resolves to"):
        files.opener(str(root / "inner" / "x.txt"), os.O_RDONLY)


def test_links_of_the_kernel_lead_nowhere(root: Path, outside: Path) -> None:
    files = FileRoots([root, "/proc"])
    with open(outside / "x.txt") as held:
        (root / "magic").symlink_to(f"/proc/self/fd/{held.fileno()}")
        for path in (f"/proc/self/fd/{held.fileno()}", f"{root}/magic", f"/proc/self/root{outside}/x.txt"):
            with pytest.raises(errors.PermissionDeniedError):
                files.opener(path, os.O_RDONLY)


@pytest.mark.parametrize("op", ["ReadFile", "WriteFile", "RestoreV2", "ReaderReadV2"])
async def test_a_pipe_in_a_root_keeps_no_operation_waiting(op: str, server: Server, root: Path, graph: Graph) -> None:
    for name in ("p.txt", "p.safetensors"):
        os.mkfifo(root / name)
    async with AsyncSession(server.target, graph) as session:
        with pytest.raises(errors.FailedPreconditionError, match=r"p\.\w+' is a FIFO"):
            await soon(session.run(OPENERS[op](f"{root}/p")))


@pytest.mark.parametrize("bundle", [False, True])
async def test_merging_removes_the_empty_folders_of_shards_and_no_root_nor_what_is_above_one(
    bundle: bool, tmp_path: Path, graph: Graph
) -> None:
    roots = [tmp_path / "a", tmp_path / "b", tmp_path / "a" / "root", tmp_path / "a/above/missing"]
    for folder in roots[:3]:
        folder.mkdir()
    async with (
        Server(ONE, settings=ServerSettings(file_roots=roots)) as server,
        AsyncSession(server.target, graph) as session,
    ):
        for source in ("a/above", "a/shards", "a/root", "b"):
            prefix = f"{tmp_path}/{source}/x"
            value = [ops.constant(1.0)]
            await session.run(save_v2(prefix, ["v"], [""], value, bundle=bundle))
            await session.run(merge_v2_checkpoints([prefix], f"{tmp_path}/a/whole/x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["above", "root", "whole"]


# -- names and links -------------------------------------------------------------------------------
def test_a_root_is_a_folder_and_no_prefix(tmp_path: Path) -> None:
    files = FileRoots([tmp_path / "data"])
    assert files.real(str(tmp_path / "data" / "x")) == str(tmp_path / "data" / "x")
    for name in ("data2/x", "data.txt", ""):
        with pytest.raises(errors.PermissionDeniedError):
            files.real(str(tmp_path / name))
    with pytest.raises(errors.PermissionDeniedError):  # its files would lie beside the root
        files.prefix(str(tmp_path / "data"))


def test_one_folder_is_no_list_of_them(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a list of folders"):
        Server(ONE, settings=ServerSettings(file_roots=str(tmp_path)))


def test_the_whole_file_system_can_be_a_root(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1")
    with open(tmp_path / "x", opener=FileRoots(["/"]).opener) as file:
        assert file.read() == "1"


def test_a_name_that_no_file_can_have_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(errors.OpError, match="is not the name of a file"):
        FileRoots([tmp_path]).real("a\0b")


# -- the sweep -------------------------------------------------------------------------------------
# Modules of operations and of what runs them that name something of the file system, and why each may.
KNOWN = {
    "ops/blas_threads.py": "looks for libraries of its own process",
    "ops/variables/checkpointing.py": "kernels, by their file roots",
    "opsets/datasets/files.py": "the caller's process, while a dataset is built",
    "opsets/datasets/sources.py": "kernels, by their file roots",
    "opsets/images/files.py": "opens what is in memory",
    "opsets/parsing/file_names.py": "the caller's process, while a graph is built",
    "opsets/parsing/file_parts.py": "kernels, by their file roots",
    "opsets/parsing/records.py": "by the opener that it is given; writes in the caller's process alone",
    "opsets/sampling/candidates.py": "weights, read by the caller's process while a node is built",
    "opsets/summaries/event_files.py": "writes in the caller's process alone",
    "opsets/tables/kernels.py": "kernels, by their file roots",
    "runtime/debug/sinks.py": "dumps, by the file roots of the worker",
}
OPENING = {"open", "open_file", "Path", "glob", "listdir", "scandir", "mkdir", "makedirs", "unlink", "rmdir", "exists",
           "lexists", "isfile", "isdir", "memmap", "fromfile", "CheckpointReader", "checkpoints", "tempfile",
           "shutil", "subprocess"}  # fmt: skip


def test_no_other_module_of_operations_opens_files() -> None:
    package = Path(actorsession.__file__).parent
    found = set()
    for path in (path for room in ("ops", "opsets", "runtime") for path in (package / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(rf"\b({'|'.join(OPENING)})\b", text):
            continue  # parsing takes long
        nodes = list(ast.walk(ast.parse(text)))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        calls = {n.func.attr for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
        if (names | calls) & OPENING:
            found.add(str(path.relative_to(package)))
    assert found == set(KNOWN)
