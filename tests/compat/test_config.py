"""``tf.config`` and other questions about devices: the answers are those of TensorFlow 2.21 on the same devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.config import devices
from actorsession.extend import CPU_PRIORITY, VirtualDevices, register_device_factory
from tests.compat.test_module_paths import module
from tests.default_device import BESIDE

pytestmark = pytest.mark.usefixtures("registrations", "nothing_chosen")


@pytest.fixture
def nothing_chosen() -> Iterator[None]:
    yield
    devices._visible = None


@pytest.fixture
def two_gpus() -> list[Any]:
    register_device_factory("GPU", VirtualDevices(2), priority=CPU_PRIORITY + 2)
    return tf.config.list_physical_devices("GPU")


def in_session(config: Any = None) -> list[str]:
    """The devices of a session beside those of every session."""
    with tf.Session(graph=tf.Graph(), config=config) as session:
        names = [device.name.rpartition("/device:")[2] for device in session.list_devices()]
    return [name for name in names if name not in ("CPU:0", *BESIDE)]


def test_a_machine_without_a_gpu_has_a_processor() -> None:
    names = ["CPU:0", *BESIDE]
    physical = tf.config.experimental.list_physical_devices()
    assert physical == tf.config.experimental.get_visible_devices()
    assert [device.name for device in physical] == [f"/physical_device:{name}" for name in names]
    assert [device.name for device in tf.config.list_logical_devices()] == [f"/device:{name}" for name in names]
    [cpu] = tf.config.list_physical_devices("CPU")
    assert repr(cpu) == "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"
    assert tf.config.list_physical_devices("GPU") == []
    assert not tf.test.is_gpu_available(cuda_only=True, min_cuda_compute_capability=(3, 0))
    assert tf.test.gpu_device_name() == ""
    assert not tf.test.is_built_with_cuda()
    assert module("python.eager.context").context().num_gpus() == 0
    local = module("python.client.device_lib").list_local_devices(tf.ConfigProto(device_count={"GPU": 0}))
    assert [(device.name, device.xla_global_id) for device in local] == [(f"/device:{name}", -1) for name in names]


def test_programs_that_set_up_gpus_run_without_one() -> None:
    for gpu in tf.config.experimental.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.experimental.set_visible_devices([], "GPU")
    options = tf.GPUOptions(per_process_gpu_memory_fraction=0.3, allow_growth=True, visible_device_list="0,1")
    for count in ({}, {"GPU": 0}, {"GPU": 1}, {"MOON": 1}):
        config = tf.ConfigProto(device_count=count, gpu_options=options, allow_soft_placement=True)
        with tf.Graph().as_default(), tf.device("/gpu:0"), tf.Session(config=config) as session:
            assert session.run(tf.constant(2.0) * 3.0) == 6.0


def test_gpus_are_found_by_all_who_ask(two_gpus: list[Any]) -> None:
    assert [device.name for device in two_gpus] == ["/physical_device:GPU:0", "/physical_device:GPU:1"]
    assert tf.test.is_gpu_available()
    assert tf.test.gpu_device_name() == "/device:GPU:0"
    assert tf.test.is_built_with_gpu_support()
    assert module("python.eager.context").context().num_gpus() == 2
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.device(tf.test.gpu_device_name()):
            x = tf.constant(2.0) * 3.0
        assert session.run(x) == 6.0
        assert session.placement()[x.op.name].device.endswith("/device:GPU:0")


def test_sessions_without_settings_use_the_devices_that_were_made_visible(two_gpus: list[Any]) -> None:
    assert in_session() == ["GPU:0", "GPU:1"]
    tf.config.experimental.set_visible_devices(two_gpus[1], "GPU")
    assert tf.config.get_visible_devices("GPU") == two_gpus[1:]
    assert [device.name for device in tf.config.list_logical_devices("GPU")] == ["/device:GPU:0"]
    assert in_session() == ["GPU:0"]
    assert in_session(tf.ConfigProto()) == ["GPU:0", "GPU:1"]
    tf.config.experimental.set_visible_devices([], "GPU")
    assert in_session() == []
    assert not tf.config.list_logical_devices("GPU")
    assert tf.config.list_physical_devices("GPU") == two_gpus


def test_memory_grows_on_gpus_alone(two_gpus: list[Any]) -> None:
    experimental = tf.config.experimental
    experimental.set_memory_growth(two_gpus[0], True)
    assert experimental.get_memory_growth(two_gpus[0]) is True
    [cpu] = experimental.list_physical_devices("CPU")
    with pytest.raises(ValueError, match="Cannot set memory growth on non-GPU"):
        experimental.set_memory_growth(cpu, True)
    with pytest.raises(KeyError):
        experimental.get_memory_growth(cpu)
    with pytest.raises(ValueError, match="Unrecognized device: 'GPU:0'"):
        experimental.set_memory_growth("GPU:0", True)
    with pytest.raises(ValueError, match="Unrecognized device: 'GPU:0'"):
        experimental.get_memory_growth("GPU:0")
    with pytest.raises(ValueError, match="Unrecognized device: PhysicalDevice"):
        experimental.set_visible_devices([cpu], "GPU")
