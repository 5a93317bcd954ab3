"""Values kept by handle: who has them, where they are, and that nobody changes them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.device import LOCAL_TASK
from actorsession.graph.registry import TENSOR_STORE
from actorsession.runtime.devices import make_devices
from actorsession.runtime.tensor_store import TensorStore, install_tensor_store

CPU0, CPU1 = f"{LOCAL_TASK}/device:CPU:0", f"{LOCAL_TASK}/device:CPU:1"


def kept(store: TensorStore, value: object = 1, device: str = CPU0) -> str:
    handle = store.new_handle("node", device)
    store.save(handle, value)
    return handle


def test_handles_are_named_after_node_and_device_and_no_two_are_equal() -> None:
    one, other = TensorStore(), TensorStore()
    handles = [store.new_handle("scope/node", CPU1) for store in (one, other) for _ in range(3)]
    assert len(set(handles)) == 6
    for handle in handles:
        node, number, device = handle.split(";")
        assert (node, number.isdigit(), device) == ("scope/node", True, CPU1)


def test_a_handle_that_was_given_but_not_saved_is_unknown() -> None:
    store = TensorStore()
    with pytest.raises(InvalidArgumentError, match="not in the session's store"):
        store.get(store.new_handle("node", CPU0), CPU0)
    assert len(store) == 0


def test_a_saved_array_is_the_very_one_and_can_be_written_to_no_more() -> None:
    store, value = TensorStore(), np.arange(3.0)
    found = store.get(kept(store, value), CPU0)
    assert found is value
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


def test_an_array_of_rank_0_is_kept_as_a_scalar() -> None:
    store = TensorStore()
    found = store.get(kept(store, np.array(3, np.int32)), CPU0)
    assert (type(found), found) == (np.int32, 3)


def test_a_value_is_found_on_its_home_device_from_everywhere() -> None:
    store = TensorStore()
    handle = kept(store, 5, CPU1)
    assert store.devices(handle) == (CPU1,)
    assert store.get(handle, CPU0) == store.get(handle, CPU1) == 5


def test_a_copy_serves_the_device_that_it_is_on() -> None:
    store, home, copy = TensorStore(), np.zeros(2), np.zeros(2)
    handle = kept(store, home, CPU1)
    store.copy_to(handle, CPU0, copy)
    assert store.devices(handle) == (CPU1, CPU0)
    assert store.get(handle, CPU0) is copy
    assert store.get(handle, CPU1) is home
    assert not copy.flags.writeable
    assert len(store) == 1


def test_a_copy_of_a_value_that_was_deleted_meanwhile_is_dropped() -> None:
    store = TensorStore()
    handle = kept(store)
    store.remove(handle)
    store.copy_to(handle, CPU1, 1)
    assert (len(store), store.devices(handle)) == (0, ())


def test_removing_deletes_every_copy_and_is_refused_the_second_time() -> None:
    store = TensorStore()
    handle = kept(store)
    store.copy_to(handle, CPU1, 1)
    store.remove(handle)
    assert len(store) == 0
    with pytest.raises(InvalidArgumentError, match="failed to delete"):
        store.remove(handle)


def test_discarding_passes_over_what_is_gone() -> None:
    store = TensorStore()
    first, second, third = (kept(store) for _ in range(3))
    store.remove(first)
    for handle in (first, second, "nobody"):
        store.discard(handle)
    assert (len(store), store.devices(third)) == (1, (CPU0,))
    store.clear()
    assert len(store) == 0


def test_the_devices_of_a_session_share_a_store_and_sessions_do_not() -> None:
    mine = make_devices(LOCAL_TASK, {"CPU": 2})
    theirs = make_devices(LOCAL_TASK, {})
    store, other = install_tensor_store(mine), install_tensor_store(theirs)
    assert store is not other
    assert {id(d.resources.lookup(*TENSOR_STORE)) for d in mine} == {id(store)}
    assert theirs[0].resources.lookup(*TENSOR_STORE) is other


def test_clearing_the_default_container_leaves_what_handles_refer_to() -> None:
    device, *_ = make_devices(LOCAL_TASK, {})
    store = install_tensor_store([device])
    handle = kept(store)
    device.resources.clear()
    assert store.get(handle, CPU0) == 1
    device.resources.clear([TENSOR_STORE[0]])
    assert len(store) == 0


def test_many_threads_save_read_and_delete_without_loss() -> None:
    store = TensorStore()
    wrong: list[object] = []

    def work(number: int) -> None:
        for i in range(300):
            handle = kept(store, (number, i))
            if store.get(handle, CPU0) != (number, i):
                wrong.append(handle)
            if i % 3:
                store.remove(handle)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(store) == 600
