"""Collectives of torch devices through torch's process groups: Gloo between processes, and in NCCL's place."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.actors import Deadline
from actorsession.cluster import read_statistics
from actorsession.config import Experimental
from actorsession.errors import AbortedError, DeadlineExceededError, UnavailableError
from actorsession.extend import Collective, register_device_factory
from actorsession.ops import raw
from tests.cluster.kit import PATIENCE, patient_cluster, soon
from tests.default_device import TYPE
from tests.rows import for_each
from tests.transports.authority import Authority

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.devices.test_torch_gpus import CUDA, ThreeGpus  # noqa: E402 (needs torch)
from tests.devices.test_torch_table import OURS  # noqa: E402 (needs torch)

GLOO: Any = OURS.groups.get("gloo")
pytestmark = pytest.mark.skipif(GLOO is None, reason="torch was built without Gloo")

LARGE = 600_000  # numbers: more than goes by the rendezvous
SUM: dict[str, Any] = {"merge_op": "Add", "final_op": "Id", "communication_hint": "gloo"}
KEYS = 2, 1, 1


@pytest.fixture(autouse=True)
def graph() -> Iterator[acts.Graph]:
    with acts.Graph().as_default() as opened:
        yield opened


def on_each(build: Callable[[int], Any], place: str = "/job:worker/task:{}/device:TORCH_CPU:0") -> list[Any]:
    nodes = []
    for i in range(2):
        with acts.device(place.format(i)):
            nodes.append(build(i))
    return nodes


def summed(n: Any, instance: int = 1) -> list[Any]:
    """The least number of the sum of n ones and n twos, at each of two members."""

    def build(i: int) -> Any:
        value = ops.fill(ops.reshape(n, [1]), float(i + 1))
        return ops.reduce_min(raw.CollectiveReduceV2(value, 2, 1, instance, [], **SUM))

    return on_each(build)


async def traffic(address: str) -> int:
    seen = await read_statistics(address, deadline=Deadline.after(PATIENCE))
    return sum(link.bytes_sent + link.bytes_received for link in seen.links)


def two_workers(**more: Any) -> acts.LocalCluster:
    return patient_cluster({"worker": 2}, devices={"TORCH_CPU": 1}, **more)


@pytest.mark.process
async def test_large_values_of_two_processes_go_through_gloo_and_not_over_their_link() -> None:
    x = ops.placeholder("float32", [None])

    def build(i: int) -> list[Any]:
        mine = x * float(i + 1)
        hint: dict[str, Any] = {"communication_hint": "gloo"}
        sent = (
            raw.CollectiveBcastSendV2(mine, 2, 1, 6, **hint)
            if i
            else raw.CollectiveBcastRecvV2(2, 1, 6, [LARGE], T="float32", **hint)
        )
        results = [
            raw.CollectiveReduceV2(mine, 2, 1, 1, [], **SUM),
            raw.CollectiveReduceV2(mine, 2, 1, 2, [], **{**SUM, "final_op": "Div"}),
            raw.CollectiveGatherV2(mine, 2, 1, 3, [], **hint),
            raw.CollectiveReduceScatterV2(mine, 2, 1, 4, [], **SUM),
            raw.CollectiveAllToAllV2(mine, 2, 1, 5, [], **hint),
            sent,
        ]
        # A few numbers of each go to the client.
        return [result[:: LARGE // 4] for result in results]

    nodes = on_each(build)
    value = np.random.default_rng(4).normal(size=LARGE).astype("f4")
    half = LARGE // 2
    for_both: list[Callable[[int], Any]] = [
        lambda i: value * 3,
        lambda i: value * 1.5,
        lambda i: np.concatenate([value, value * 2]),
        lambda i: value[i * half :][:half] * 3,
        lambda i: np.concatenate([value[i * half :][:half], value[i * half :][:half] * 2]),
        lambda i: value * 2,
    ]
    async with two_workers() as cluster, acts.AsyncSession(cluster.target("worker", 0)) as session:
        address = cluster.target("worker", 1)
        for step in range(3):
            before = await traffic(address)
            for i, results in enumerate(await soon(session.run(nodes, {x: value}))):
                for result, expected in zip(results, for_both, strict=True):
                    np.testing.assert_allclose(result, expected(i)[:: LARGE // 4], rtol=1e-6)
            # The feed is what goes over the links of the second worker; each result would be as much.
            assert step == 0 or await traffic(address) - before < 1.5 * value.nbytes


@for_each("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gloo_sums_floating_point_numbers_as_numpy_does(dtype: str) -> None:
    value = np.random.default_rng(5).integers(-8, 8, size=LARGE * 4).astype(acts.as_dtype(dtype).np_dtype)
    x = ops.placeholder(dtype, [None])
    nodes = on_each(lambda i: raw.CollectiveReduceV2(x, *KEYS, [], **SUM), "/device:TORCH_CPU:{}")
    with acts.Session(config=acts.ConfigProto(device_count={"TORCH_CPU": 2})) as session:
        for result in session.run(nodes, {x: value}):
            assert result.dtype == value.dtype
            np.testing.assert_array_equal(result, value + value)


@for_each(
    "kind, merge, dtype, taken",
    [
        ("reduce", "Add", "float32", True),
        ("reduce", "Mul", "bfloat16", True),
        ("gather", "", "float64", True),
        ("reduce", "Min", "float32", False),
        ("reduce", "Max", "float32", False),
        ("reduce", "Add", "complex64", False),
        ("gather", "", "bool", False),
        ("broadcast", "", "int32", False),
    ],
)
def test_gloo_takes_what_it_gives_the_same_results_for(kind: str, merge: str, dtype: str, taken: bool) -> None:
    collective = Collective(kind=kind, group=1, instance=1, size=2, merge=merge)
    assert GLOO.takes(collective, acts.as_dtype(dtype)) is taken


@pytest.mark.process
async def test_what_has_to_be_encrypted_stays_on_the_links(tmp_path: Path) -> None:
    files = Authority(tmp_path / "ca").files()
    rpc = acts.config.RPCOptions(
        use_rpc_for_inprocess_master=True,
        **{name: getattr(files, name) for name in ("ca_file", "certificate_file", "key_file")},
    )
    n = ops.placeholder("int32", [])
    nodes, config = summed(n), acts.ConfigProto(rpc_options=rpc)
    async with (
        two_workers(security=files) as cluster,
        acts.AsyncSession(cluster.target("worker", 0), config=config) as session,
    ):
        assert await soon(session.run(nodes, {n: LARGE})) == [3.0, 3.0]
        seen = await cluster.statistics()
        assert sum(link.bytes_sent for task in seen.values() for link in task.links) > 2 * 4 * LARGE


@pytest.mark.process
async def test_a_member_that_is_killed_fails_the_step_and_meets_again_when_it_is_back() -> None:
    n = ops.placeholder("int32", [])
    nodes = summed(n)
    async with two_workers(restart=5) as cluster, acts.AsyncSession(cluster.target("worker", 0)) as session:
        for _ in range(2):
            assert await soon(session.run(nodes, {n: LARGE})) == [3.0, 3.0]
            pid = cluster.process("worker", 1).pid
            steps = [asyncio.create_task(session.run(nodes, {n: 50 * LARGE})) for _ in range(2)]
            os.kill(pid, signal.SIGKILL)
            for outcome in await soon(asyncio.gather(*steps, return_exceptions=True)):
                assert isinstance(outcome, (UnavailableError, AbortedError)), outcome
            await soon(session.reattach())


@pytest.mark.process
async def test_a_step_ends_at_its_limit_while_a_member_stands_still_and_the_next_ones_meet_again() -> None:
    n = ops.placeholder("int32", [])
    nodes = summed(n)
    limited = acts.RunOptions(timeout_in_ms=500)
    async with two_workers() as cluster, acts.AsyncSession(cluster.target("worker", 0)) as session:
        assert await soon(session.run(nodes, {n: LARGE})) == [3.0, 3.0]
        pid = cluster.process("worker", 1).pid
        step = asyncio.create_task(session.run(nodes, {n: 200 * LARGE}, options=limited))
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(DeadlineExceededError):
                await soon(step)
        finally:
            os.kill(pid, signal.SIGCONT)
        for _ in range(2):
            assert await soon(session.run(nodes, {n: LARGE})) == [3.0, 3.0]


@pytest.mark.process
def test_a_process_that_ends_in_an_exchange_ends_by_itself() -> None:
    """A thread in a C++ function would be stopped there by the interpreter's end, and the process by a signal."""
    program = """
        import threading
        import torch
        from actorsession.runtime.collective.group_ends import MemberThread

        x, begun = torch.ones(3000, 3000), threading.Event()
        thread = MemberThread(1, lambda: None, "member")
        thread.put(0, lambda group: (begun.set(), torch.mm(x, x)), print)
        begun.wait()
    """
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], timeout=PATIENCE, check=False, capture_output=True
        )
        assert done.returncode == 0, done.stderr


class StandIn:
    """In the place of torch with NCCL: notes what is asked for, and makes groups of Gloo."""

    def __init__(self) -> None:
        asked = self.asked = list[Any]()

        class Group:
            Options = SimpleNamespace

            def __new__(cls, store: Any, rank: int, size: int, options: Any) -> Any:
                asked.append((rank, size, options._timeout.seconds, os.environ.get(WAITS)))
                return GLOO._make(store, rank, size, "cpu", "127.0.0.1")

        self.cuda = SimpleNamespace(set_device=asked.append)
        self.distributed = SimpleNamespace(
            is_available=lambda: True, is_nccl_available=lambda: True, ProcessGroupNCCL=Group
        )


WAITS = "TORCH_NCCL_BLOCKING_WAIT"


@for_each("chosen", [{}, {WAITS: "0"}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "2"}])
def test_an_error_of_nccl_ends_no_process_unless_the_environment_says_so(chosen: dict[str, str]) -> None:
    standing_in = StandIn()
    library = CUDA.groups(lambda device: device.lower(), standing_in)["nccl"]  # type: ignore[call-arg]
    os.environ.update(chosen)
    try:
        address, opened = library.begin("127.0.0.1")
        group = library.join(address, "GPU:3", 0, 1, "127.0.0.1")
        told = os.environ.get(WAITS)
    finally:
        for name in chosen:
            del os.environ[name]
    assert standing_in.asked == ["gpu:3", (0, 1, 30, chosen.get(WAITS, None if chosen else "1"))]
    assert told == chosen.get(WAITS)
    value = torch.ones(3)
    mean = Collective(kind="reduce", group=1, instance=1, size=1, merge="Add", final="Div")
    assert group.exchange(mean, value, [3], acts.float32, 0).tolist() == [1.0] * 3
    del group, opened


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there are no two GPUs with CUDA")
def test_two_gpus_exchange_by_nccl() -> None:
    x = ops.placeholder("float32", [None])
    value = np.arange(LARGE, dtype="f4")
    nodes = on_each(
        lambda i: raw.CollectiveReduceV2(x, *KEYS, [], **{**SUM, "communication_hint": "nccl"}), "/device:GPU:{}"
    )
    with acts.Session() as session:
        for _ in range(3):
            for result in session.run(nodes, {x: value}):
                np.testing.assert_array_equal(result, 2 * value)


@pytest.mark.skipif(TYPE == "GPU", reason="the test registers the type itself")
def test_gpus_exchange_by_the_library_of_their_kind_where_nccl_is_asked_for() -> None:
    """Gloo stands in for NCCL, and the processor for the GPUs."""
    named: list[str] = []

    def groups(device: Callable[[str], Any]) -> Any:
        def torchs(name: str) -> Any:
            named.append(name)
            return device(name)

        return {"nccl": type(GLOO)(GLOO._make, torchs)}

    register_device_factory("GPU", ThreeGpus(groups=groups))
    x = ops.placeholder("float32", [None])
    value = np.arange(LARGE, dtype="f4")
    auto: dict[str, Any] = {**SUM, "communication_hint": "auto"}
    nodes = on_each(lambda i: raw.CollectiveReduceV2(x, *KEYS, [], **auto), "/device:GPU:{}")
    for asks in (False, True):
        with acts.Session(config=acts.ConfigProto(experimental=Experimental(collective_nccl=asks))) as session:
            for result in session.run(nodes, {x: value}):
                np.testing.assert_array_equal(result, 2 * value)
        assert len(named) == 2 * asks
    assert sorted(name[-5:] for name in named) == ["GPU:0", "GPU:1"]
