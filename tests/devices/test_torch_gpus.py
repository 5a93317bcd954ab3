"""``GPU``: which GPUs a session gets, and what its settings do with them.

There is none where these tests run: the factory under test is told of three, and torch's CPU computes for them.
"""

from __future__ import annotations

import contextlib
import logging
import re
from dataclasses import replace
from functools import partial
from typing import Any

import msgpack
import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession import AsyncSession, ConfigProto, GPUOptions, Graph, Session, as_dtype, ops
from actorsession.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
)
from actorsession.extend import DeviceKernel, DeviceKernels, register_device_factory, registration_scope
from tests.cluster.kit import InProcess
from tests.default_device import LOCAL, TYPE
from tests.loops import run_to_end
from tests.ops.table.row import Row
from tests.ops.test_table import EVERY, skip_without
from tests.rows import for_each

torch = pytest.importorskip("torch", reason="torch is not installed")

from actorsession.devices.torch import arrays, factories, lending  # noqa: E402 (needs torch)
from tests.devices.test_torch_table import KERNELS  # noqa: E402 (needs torch)

CUDA, MPS = factories.TorchGpu.kinds

pytestmark = pytest.mark.skipif(TYPE == "GPU", reason="the tests register the type themselves")


class ThreeGpus(factories.TorchGpu):
    """Finds three GPUs, and notes how their memory is limited."""

    def __init__(self, **kind: Any) -> None:
        self.limits: list[tuple[int, float]] = []
        standing_in = replace(
            CUDA,
            find=lambda: 3,
            arrays=lambda number: arrays.TorchArrays(),
            memory=lambda number: (number + 1) << 30,
            taken=lambda number: ((number + 1) << 20, (number + 1) << 30),
            limit=lambda number, fraction: self.limits.append((number, fraction)),
            clock=lambda number: None,
        )
        self.kinds = (replace(standing_in, **kind),)
        super().__init__()


@pytest.fixture
def gpus() -> ThreeGpus:
    factory = ThreeGpus()
    register_device_factory("GPU", factory)
    return factory


def gigabytes(config: ConfigProto | None = None) -> list[int]:
    """The sizes of the GPUs of a session, by which they are known."""
    with Session(graph=Graph(), config=config) as session:
        return [d.memory_limit >> 30 for d in session.list_devices() if d.device_type == "GPU"]


def seeing(listed: str, **more: Any) -> GPUOptions:
    return GPUOptions(visible_device_list=listed, **more)


@for_each(
    "listed, there, chosen",
    [
        ("", 3, (0, 1, 2)),
        ("", 0, ()),
        ("1", 3, (1,)),
        ("2,0", 3, (2, 0)),
        (" 1 , 2 ", 3, (1, 2)),
        ("0,1", 0, ()),  # as in TensorFlow, where there is nothing to choose from
        ("nonsense", 0, ()),
    ],
)
def test_a_list_chooses_among_the_gpus_that_there_are(listed: str, there: int, chosen: tuple[int, ...]) -> None:
    assert factories.visible_gpus(listed, there) == chosen


@for_each("listed", ["3", "0,0", "a", "0,", "-1", "1.0"])
def test_a_list_of_what_is_no_gpu_is_refused(listed: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"numbers of GPUs, from 0 to 2, such as '0'; got '{listed}'"):
        factories.visible_gpus(listed, 3)


@for_each(
    "settings, sizes",
    [
        ({}, [1, 2, 3]),
        ({"device_count": {"GPU": 2}}, [1, 2]),
        ({"device_count": {"GPU": 0}}, []),
        ({"device_count": {"GPU": 9}}, [1, 2, 3]),
        ({"gpu_options": seeing("2,0")}, [3, 1]),
        ({"gpu_options": seeing("2,0"), "device_count": {"GPU": 1}}, [3]),
        ({"gpu_options": seeing("1"), "device_count": {"GPU": 2}}, [2]),
    ],
)
def test_a_session_has_the_gpus_that_its_settings_leave(settings: dict[str, Any], sizes: list[int]) -> None:
    with registration_scope():
        register_device_factory("GPU", ThreeGpus())
        assert gigabytes(ConfigProto(**settings)) == sizes


def test_the_memory_of_the_gpus_of_a_session_is_limited_and_of_no_other(gpus: ThreeGpus) -> None:
    gigabytes(ConfigProto(gpu_options=GPUOptions(allow_growth=True)))
    assert gpus.limits == []
    options = GPUOptions(per_process_gpu_memory_fraction=0.25)
    gigabytes(ConfigProto(gpu_options=options, device_count={"GPU": 2}))
    assert gpus.limits == [(0, 0.25), (1, 0.25)]
    with pytest.raises(InvalidArgumentError, match=r"per_process_gpu_memory_fraction is at most 1.*got 1\.5"):
        gigabytes(ConfigProto(gpu_options=GPUOptions(per_process_gpu_memory_fraction=1.5)))


def test_a_device_is_the_same_gpu_in_all_sessions_of_a_process(gpus: ThreeGpus) -> None:
    for _ in range(2):
        assert gigabytes(ConfigProto(gpu_options=seeing("2"))) == [3]
    with pytest.raises(AlreadyExistsError, match=r"GPU:0 is GPU 2 .* visible_device_list='1,2' makes it 1;"):
        gigabytes(ConfigProto(gpu_options=seeing("1,2")))


def test_what_asks_for_no_device_runs_on_the_first_gpu_and_keeps_its_state_there(gpus: ThreeGpus) -> None:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [2])
        v = ops.Variable([1.0, 2.0], name="v")
        add = v.assign_add(x)
        with graph.device("/gpu:2"):
            y = ops.multiply(x, 2.0, name="y")
        with graph.device("/cpu:0"):
            z = ops.add(y, v, name="z")
    with Session(graph=graph) as session:
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(add, {x: [1.0, 1.0]}), [2.0, 3.0])
        np.testing.assert_array_equal(session.run(z, {x: [1.0, 1.0]}), [4.0, 5.0])
        placed = {name: place.device.rpartition("/device:")[2] for name, place in session.placement().items()}
        assert (placed["v"], placed["y"], placed["z"]) == ("GPU:0", "GPU:2", "CPU:0")
        direct: Any = session._session
        held = {d.name[-5:]: d.resources.statistics().variables for d in direct._devices}
        assert held == {"CPU:0": 0, "GPU:0": 1, "GPU:1": 0, "GPU:2": 0}


def test_products_are_summed_in_full_precision(gpus: ThreeGpus) -> None:
    cuda, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = [part.fp32_precision for part in (cuda, cudnn.conv, cudnn.rnn)]
    try:
        gigabytes()
        assert {part.fp32_precision for part in (cuda, cudnn.conv, cudnn.rnn)} == {"ieee"}
        assert not cuda.allow_fp16_reduced_precision_reduction
        assert not cuda.allow_bf16_reduced_precision_reduction
    finally:
        for part, value in zip((cuda, cudnn.conv, cudnn.rnn), before, strict=True):
            part.fp32_precision = value


@pytest.mark.skipif(torch.cuda.is_available(), reason="there are GPUs here")
def test_without_a_gpu_there_is_no_device_and_a_number_of_them_is_told(caplog: pytest.LogCaptureFixture) -> None:
    register_device_factory("GPU", factories.TorchGpu())
    assert factories.TorchGpu().list_physical_devices() == []
    assert gigabytes() == []
    assert gigabytes(ConfigProto(gpu_options=seeing("0,1"))) == []
    with caplog.at_level(logging.WARNING):
        assert gigabytes(ConfigProto(device_count={"GPU": 1})) == []
    assert [r.message for r in caplog.records] == ["device_count gives GPU 1, and torch finds 0 that may be used"]


# -- programs that ask -----------------------------------------------------------------------------
def test_a_program_for_tensorflow_1_finds_the_gpus(gpus: ThreeGpus) -> None:
    from tests.compat.test_module_paths import module

    assert tf.test.is_gpu_available()
    assert tf.test.gpu_device_name() == "/device:GPU:0"
    listed = module("python.client.device_lib").list_local_devices()
    assert [d.name for d in listed if d.device_type == "GPU"] == [f"/device:GPU:{i}" for i in range(3)]
    physical = tf.config.experimental.list_physical_devices("GPU")
    assert [tuple(gpu) for gpu in physical] == [(f"/physical_device:GPU:{i}", "GPU") for i in range(3)]
    for gpu in physical:
        tf.config.experimental.set_memory_growth(gpu, True)
        assert tf.config.experimental.get_memory_growth(gpu)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="0", per_process_gpu_memory_fraction=0.5))
    config.device_count["GPU"] = 1
    with tf.Graph().as_default(), tf.device("/gpu:0"), tf.Session(config=config) as session:
        assert session.run(tf.constant(2.0) * 3.0) == 6.0
        assert [d.name[-5:] for d in session.list_devices() if d.device_type == "GPU"] == ["GPU:0"]
    assert gpus.limits == [(0, 0.5)]


# -- memory ----------------------------------------------------------------------------------------
HOLDERS = r"1\.2 MiB are held between steps, by variable 'v' \(1\.0 MiB\), FIFOQueue 'q' \(256 KiB\) \["
HUGE = 1 << 24  # rows and columns of a matrix that no machine has memory for


@for_each("shape", [[HUGE, 1], [None, None]])
def test_a_lack_of_memory_is_an_error_of_the_step_and_the_session_lives(shape: Any) -> None:
    with Graph().as_default() as graph, graph.device("/device:TORCH_CPU:0"):
        x, y = ops.placeholder("float32", shape), ops.placeholder("float32", shape[::-1])
        product = ops.exp(ops.multiply(x, y, name="outer"))
        v, queue = ops.Variable(ops.zeros([1 << 18]), name="v"), ops.FIFOQueue(2, "float32", [[1 << 16]], name="q")
        put = queue.enqueue(v[: 1 << 16])
        total = ops.reduce_sum(x)
    feeds = {x: np.ones((HUGE, 1), "f4"), y: np.ones((1, HUGE), "f4")}
    words = rf"no memory left for Mul of float32\[{HUGE}, 1\], float32\[1, {HUGE}\]: .*tried to allocate \d+ bytes.*; "
    with Session(graph=graph, config=ConfigProto(device_count={"TORCH_CPU": 1})) as session:
        session.run(v.initializer)
        session.run(put)
        with pytest.raises(ResourceExhaustedError, match=words + HOLDERS) as raised:
            session.run(product, feeds)
        assert raised.value.node == "outer"
        assert session.run(total, feeds) == HUGE


FULL = {
    "CUDA": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1.00 GiB in all"),
    "MPS": RuntimeError("MPS backend out of memory (1 GB). Tried to allocate 2.00 GiB of 1.00 GiB in all"),
}


class FullCpu(factories.TorchCpu):
    """Its hyperbolic tangents find the memory of a GPU full."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error
        kernels = self.kernels
        rows = {**kernels.rows, "Tanh": DeviceKernel(kernel=lambda context: self._fail)}
        self.kernels = DeviceKernels(arrays=kernels.arrays, rows=rows, memory=lambda device: f"{device[-6:]} is full")

    def _fail(self, x: Any) -> Any:
        raise self._error


@for_each("kind", list(FULL))
@for_each("shape", [[2], None])
def test_a_full_gpu_is_told_with_the_sizes_of_the_node_and_what_is_kept_there(kind: str, shape: Any) -> None:
    words = (
        r"no memory left for Tanh of float32\[2\]: \w+: .* 1\.00 GiB in all; 12 B are held between steps, "
        r"by variable 'v' \(12 B\); FULL:0 is full"
    )
    with registration_scope(), Graph().as_default() as graph, graph.device("/device:FULL:0"):
        register_device_factory("FULL", FullCpu(FULL[kind]))
        x = ops.placeholder("float32", shape)
        y, z = ops.tanh(x, name="y"), x + 1.0
        # Whole numbers and the elements of queues are in the memory of the host.
        v, whole = ops.Variable([1.0, 2.0, 3.0], name="v"), ops.Variable([1, 2], name="whole")
        put = ops.FIFOQueue(2, "float32", [[3]]).enqueue(v)
        with Session(graph=graph) as session:
            session.run([v.initializer, whole.initializer])
            session.run(put)
            with pytest.raises(ResourceExhaustedError, match=words) as raised:
                session.run(y, {x: [1.0, 2.0]})
            assert (raised.value.node, raised.value.device) == ("y", "/job:localhost/replica:0/task:0/device:FULL:0")
            np.testing.assert_array_equal(session.run(z, {x: [1.0, 2.0]}), [2.0, 3.0])


def test_what_torch_has_taken_of_a_gpu_is_told(gpus: ThreeGpus) -> None:
    gigabytes(ConfigProto(gpu_options=seeing("2")))  # GPU:0 is the third
    memory = gpus.kernels.memory
    assert memory is not None
    assert memory(LOCAL + "GPU:0") == "this process has 3.0 MiB of the GPU in tensors and keeps 3.0 GiB in all"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this process may have taken some")
def test_torch_says_what_it_has_taken() -> None:
    assert CUDA.taken(0) == (0, 0)


# -- arrays ----------------------------------------------------------------------------------------
def test_a_tensor_of_another_device_is_taken_and_one_of_the_same_is_shared() -> None:
    host, other = arrays.TorchArrays(), arrays.TorchArrays("meta")
    tensor = torch.ones(2)
    assert host.to_device(tensor) is tensor
    assert other.to_device(tensor).device.type == "meta"
    assert host.own(tensor).data_ptr() != tensor.data_ptr()


class Pinned(arrays.TorchArrays):
    """Arrays as those of a GPU with CUDA, whose copies to the host come when somebody waits."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = 0
        self.staged: list[Any] = []

    def _staging(self, value: Any) -> Any:
        self.staged.append(torch.empty(value.shape, dtype=value.dtype))
        return self.staged[-1]

    def _wait(self) -> None:
        self.waits += 1


def test_several_tensors_come_to_the_host_with_one_wait() -> None:
    pinned, large = Pinned(), torch.zeros(1 << 18, dtype=torch.float64)
    half, number = torch.ones(2, dtype=torch.bfloat16), torch.tensor([1 + 2j]).conj()
    values = [torch.arange(4.0)[::2], torch.tensor(2.5), half, large, torch.tensor([True]), number]
    got = pinned.all_to_host(*values)
    assert pinned.waits == 1
    for array, expected in zip(got, [[0.0, 2.0], 2.5, [1.0, 1.0], large.numpy(), [True], [1 - 2j]], strict=True):
        np.testing.assert_array_equal(array, expected)
    assert [array.dtype.name for array in got] == ["float32", "float32", "bfloat16", "float64", "bool", "complex64"]
    assert len(pinned.staged) == 5  # not the large one
    for tensor in pinned.staged:
        tensor.zero_()  # the memory is used again
    assert got[0].tolist() == [0.0, 2.0]


@for_each("target", ["CPU:0", "GPU:1"])
def test_what_is_sent_to_another_task_goes_through_pinned_memory_and_what_is_fetched_alone_does_not(
    target: str,
) -> None:
    """A tensor for a GPU of another task goes so if it cannot be lent, as within one process."""
    pinned = Pinned()
    pinned.pins = True
    large = np.ones((1 << 16,), "f4")

    async def main() -> None:
        with Graph().as_default() as graph, graph.device("/job:worker/task:0/gpu:0"):
            x = ops.placeholder("float32", None)
            y = x * 2.0
            with graph.device(f"/job:worker/task:1/device:{target}"):
                z = y + 1.0
        config = ConfigProto(device_count={"GPU": 2})
        async with InProcess({"worker": 2}, config=config) as cluster, AsyncSession(cluster.target(), graph) as session:
            np.testing.assert_array_equal(await session.run(y, {x: large}), large * 2.0)
            assert pinned.staged == []
            for value, staged in ((large, 1), (np.zeros(arrays._MOST_STAGED // 4 + 1, "f4"), 1), (large[:4], 2)):
                np.testing.assert_array_equal(await session.run(z, {x: value}), value * 2.0 + 1.0)
                assert len(pinned.staged) == staged

    with registration_scope():
        register_device_factory("GPU", ThreeGpus(arrays=lambda number: pinned))
        run_to_end(main())


# -- lending ---------------------------------------------------------------------------------------
class SharingCpu(lending.CudaLending):
    """Lends tensors of the CPU by functions that stand in for those of CUDA."""

    def __init__(self, seen: int = 2) -> None:
        super().__init__(lambda device: arrays.TorchArrays())
        self.shared: list[Any] = []
        self.readers: list[int] = []
        self.waited: list[Any] = []
        self.seen = seen  # how many GPUs this process sees
        self.fails: Exception | None = None

    def _share(self, array: Any) -> tuple[Any, ...]:
        if self.fails is not None:
            raise self.fails
        self.shared.append(array.untyped_storage())
        self.readers.append(1)
        number = len(self.shared) - 1
        return 1, b"%64d" % number, self.shared[-1].nbytes(), 512, b"/torch_1_22_3", number, b"\x00" * 64, True

    def _open(self, number: int, ticket: Any) -> Any:
        if self.fails is not None:
            raise self.fails
        assert (number, ticket.offset, ticket.event, ticket.waits) == (1, 512, b"\x00" * 64, True)
        return self.shared[int(ticket.handle)]

    def _count_down(self, counters: bytes, counter: int) -> None:
        assert counters == b"/torch_1_22_3"
        self.readers[counter] -= 1

    def _wait(self, device: Any) -> None:
        self.waited.append(device)

    def _name_of(self, number: int) -> str:
        return f"GPU-{number}"

    def _number_of(self, name: str) -> int | None:
        return next((n for n in range(self.seen) if self._name_of(n) == name), None)


GPU = f"{LOCAL}GPU:0"
LENT: dict[str, Any] = {
    "a vector": lambda: torch.arange(4.0),
    "every other column": lambda: torch.arange(12.0).reshape(3, 4)[1:, ::2],
    "a transposed matrix": lambda: torch.arange(6.0, dtype=torch.float64).reshape(2, 3).T,
    "one number many times": lambda: torch.tensor([2.0]).expand(3),
    "half precision": lambda: torch.ones(3, dtype=torch.bfloat16),
    "a scalar": lambda: torch.tensor(True),
}


@for_each("name", list(LENT))
def test_a_ticket_is_plain_values_by_which_a_tensor_is_copied(name: str) -> None:
    tensor, shares = LENT[name](), SharingCpu()
    ticket = shares.lend(tensor)
    assert ticket is not None
    assert {*map(type, msgpack.unpackb(ticket))} == {str, list, int, bytes, bool}
    copy = shares.take(GPU, ticket)
    assert copy is not None
    assert (copy.dtype, copy.shape, copy.is_contiguous()) == (tensor.dtype, tensor.shape, True)
    assert copy.tolist() == tensor.tolist()
    assert copy.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()
    assert shares.waited == [torch.device("cpu")]  # until the copy is complete
    shares.release(ticket)
    assert shares.readers == [0]


@for_each("tensor", [torch.ones(2, dtype=torch.complex64).conj(), torch.ones(0)], ids=["lazy conjugate", "empty"])
def test_some_tensors_go_by_the_host(tensor: Any) -> None:
    assert SharingCpu().lend(tensor) is None


def test_where_cuda_refuses_tensors_go_by_the_host_and_that_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    for other in (False, True):
        caplog.clear()
        shares = SharingCpu()
        ticket = shares.lend(torch.ones(2))
        assert ticket is not None
        shares.fails = RuntimeError("CUDA error: invalid resource handle")
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                assert (shares.take(GPU, ticket) if other else shares.lend(torch.ones(2))) is None
        what = "read from" if other else "lent to"
        assert [r.getMessage() for r in caplog.records] == [
            f"tensors of a GPU cannot be {what} another process by CUDA, and go by the host: "
            "CUDA error: invalid resource handle"
        ]


def test_a_process_that_does_not_see_the_gpu_reads_nothing(caplog: pytest.LogCaptureFixture) -> None:
    ticket = SharingCpu().lend(torch.ones(2))
    assert ticket is not None
    with caplog.at_level(logging.WARNING):
        assert SharingCpu(seen=1).take(GPU, ticket) is None
    assert "does not see the GPU GPU-1" in caplog.text


# What a part of a ticket for four floats must not be, by its place.
SPOILT: dict[int, list[Any]] = {
    0: ["int8", 5],
    1: [[2**40], [-1], [0], [1.0], [1, 1], [1] * 65, 3],
    2: [[-1], [2**62]],
    3: [3, -1],
    4: [b"GPU"],
    5: ["handle", b"x" * 5000],
    6: [15, -1],
    7: [None, -1],
    8: [b"/etc", b"/torch_1_22_3x", "/torch_1_22_3"],
    9: [10_000, -1],
    10: [0],
    11: [1],
}


@for_each("part, value", [(part, value) for part, spoilt in SPOILT.items() for value in spoilt])
def test_what_is_no_ticket_is_refused(part: int, value: Any) -> None:
    shares = SharingCpu()
    ticket = shares.lend(torch.ones(4))
    assert ticket is not None
    parts = msgpack.unpackb(ticket)
    parts[part] = value
    with pytest.raises(InvalidArgumentError, match="this is no ticket for a tensor of a GPU"):
        shares.take(GPU, msgpack.packb(parts))


@for_each(
    "ticket", [b"", b"\xc1", b"\x90", msgpack.packb(["float32"] * 13), msgpack.packb({}), b"\xdd\xff\xff\xff\xff"]
)
def test_bytes_that_are_no_ticket_are_refused(ticket: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="this is no ticket for a tensor of a GPU"):
        SharingCpu().take(GPU, ticket)


# -- Apple's GPUs ----------------------------------------------------------------------------------
@for_each("cuda, mps, chosen", [(2, 1, CUDA), (2, 0, CUDA), (0, 1, MPS), (0, 0, CUDA)])
def test_the_gpus_are_those_of_the_first_kind_that_is_there(cuda: int, mps: int, chosen: Any) -> None:
    class Looking(factories.TorchGpu):
        kinds = tuple([replace(kind, find=partial(int, n)) for kind, n in zip((CUDA, MPS), (cuda, mps), strict=True)])

    factory = Looking()
    assert factory.kind.lacks == chosen.lacks
    assert len(factory.list_physical_devices()) == (cuda or mps)


WIDE = {torch.float64, torch.complex128}


class NarrowArrays(arrays.TorchArrays):
    """Arrays of torch's CPU as those of Apple's GPUs, which fail where they get doubles."""

    def __init__(self) -> None:
        super().__init__("cpu", lacks=MPS.lacks)

    def to_device(self, value: Any) -> Any:
        value = super().to_device(value)
        assert type(value) is not torch.Tensor or value.dtype not in WIDE
        return value


def wide_program() -> tuple[Any, Any, list[Any]]:
    """Variables of both widths that an optimiser moves: initialiser, step, what is compared."""
    wide = tf.get_variable("wide", initializer=np.linspace(-1, 1, 6).reshape(2, 3), use_resource=True)
    narrow = tf.get_variable("narrow", initializer=np.ones((3, 2), "f4"), use_resource=True)
    product = tf.matmul(wide, tf.cast(narrow, tf.float64))
    rows = tf.map_fn(lambda row: row * row, product)
    wave = tf.cast(tf.abs(tf.cast(product, tf.complex128) * 1j), tf.float32)
    loss = tf.reduce_sum(rows) + tf.cast(tf.reduce_sum(wave * wave), tf.float64)
    step = tf.train.AdamOptimizer(0.1).minimize(loss)
    return tf.global_variables_initializer(), step, [wide, narrow, rows, wave, loss]


def test_doubles_stay_those_of_the_host_where_the_gpu_has_none() -> None:
    got = []
    for device in ("/gpu:0", "/cpu:0"):
        with registration_scope(), tf.Graph().as_default() as graph, graph.device(device):
            register_device_factory("GPU", factory := NotingGpu(arrays=lambda number: NarrowArrays(), lacks=MPS.lacks))
            initialiser, step, compared = wide_program()
            with tf.Session(graph=graph) as session:
                session.run(initialiser)
                for _ in range(3):
                    session.run(step)
                got.append(session.run(compared))
        assert factory.refused == []
        assert factory.given.isdisjoint(WIDE)
        assert (torch.float32 in factory.given) is (device == "/gpu:0")
    for ours, theirs in zip(*got, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


class WithoutTanh(ThreeGpus):
    """torch has no hyperbolic tangent there."""

    def __init__(self, **kind: Any) -> None:
        super().__init__(**kind)
        tanh = self.kernels.kernel_of("Tanh")
        assert tanh is not None
        rows = {**self.kernels.rows, "Tanh": replace(tanh, kernel=self._missing, emit=None)}
        self.kernels = replace(self.kernels, rows=rows)

    def _missing(self, context: Any) -> Any:
        def missing(x: Any) -> Any:
            raise NotImplementedError("The operator 'aten::tanh.out' is not currently implemented for the MPS device")

        return missing


def test_what_torch_has_no_kernel_for_on_apple_s_gpus_the_cpu_does() -> None:
    for lacks in (MPS.lacks, CUDA.lacks):
        with registration_scope(), Graph().as_default() as graph, graph.device("/gpu:0"):
            register_device_factory("GPU", WithoutTanh(lacks=lacks))
            x = ops.placeholder("float32", [2])
            y = ops.tanh(x) * 2.0
            with Session(graph=graph) as session:
                if lacks:
                    np.testing.assert_array_equal(session.run(y, {x: [0.0, 0.0]}), [0.0, 0.0])
                else:
                    with pytest.raises(UnimplementedError, match=r"aten::tanh\.out"):
                        session.run(y, {x: [0.0, 0.0]})


# -- kernels ---------------------------------------------------------------------------------------
class NoValues(arrays.TorchArrays):
    """Tensors without values, of torch's device ``meta``: most kernels take none of the host beside them."""

    def __init__(self) -> None:
        super().__init__("meta")

    def to_host(self, value: Any) -> Any:
        if type(value) is not torch.Tensor:
            return super().to_host(value)  # of a list, whose items come here
        assert value.is_meta, "a kernel has left a tensor on the host"
        return arrays.TorchArrays().to_host(torch.zeros(value.shape, dtype=value.dtype))


class NotingGpu(ThreeGpus):
    """Its kernels note what they get, and what they refuse, which those of the CPU would otherwise do in silence."""

    def __init__(self, **kind: Any) -> None:
        super().__init__(**kind)
        self.refused: list[str] = []
        self.given: set[Any] = set()
        rows = {
            op: replace(row, kernel=partial(self._noting, row), emit=None)
            for op in KERNELS
            if (row := self.kernels.kernel_of(op)) is not None
        }
        self.kernels = replace(self.kernels, rows=rows)

    def _noting(self, row: DeviceKernel, context: Any) -> Any:
        function = row.kernel(context)

        def noting(*values: Any) -> Any:
            self.given.update([value.dtype for value in values if type(value) is torch.Tensor])
            try:
                return function(*values)
            except Exception as error:
                self.refused.append(f"{context.op}: {error}")
                raise

        return noting


MIXED = re.compile(r"expected device|same device|two devices|can't convert meta|left a tensor on the host")


@EVERY
def test_no_kernel_takes_tensors_of_the_host_for_those_of_the_device(row: Row) -> None:
    skip_without(row)
    with registration_scope():
        register_device_factory("GPU", factory := NotingGpu(arrays=lambda number: NoValues()))
        with Graph().as_default() as graph, graph.device("/gpu:0"):
            arrays = [np.asarray(array) for array in next(iter(row.inputs), ())]
            feeds = {ops.placeholder(as_dtype(array.dtype), None): array for array in arrays}
            with contextlib.suppress(TypeError, ValueError):  # it is not built where shapes are not known
                outputs = row.build(*feeds)
                try:
                    with Session(graph=graph) as session:
                        session.run(list(outputs) if isinstance(outputs, (list, tuple)) else outputs, feeds)
                except OpError as error:
                    factory.refused.append(str(error))
    assert [said for said in factory.refused if MIXED.search(said)] == []
