"""``CallableOptions`` as a message, and ``_make_callable_from_options`` of the sessions of this face."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession import config
from actorsession.compat.v1.core.protobuf import config_pb2
from actorsession.compat.v1.sessions.settings import as_settings


def options_of_a_program() -> Any:
    """Filled in field by field, as programs do."""
    options = config_pb2.CallableOptions()
    options.feed.append("x:0")
    options.fetch.extend(["z:0", "a:0"])
    options.target.append("y")
    options.run_options.trace_level = tf.RunOptions.FULL_TRACE
    connection = options.tensor_connection.add()
    connection.from_tensor, connection.to_tensor = "a:0", "b:0"
    return options


@pytest.fixture(params=[tf.Session, tf.InteractiveSession])
def session(request: Any) -> Any:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        b = tf.placeholder(tf.float32, [2], name="b")
        tf.constant([1.0, 2.0], name="a")
        tf.add(tf.multiply(x, 10.0, name="y"), b, name="z")
        made = request.param()
        yield made
        made.close()


def test_a_callable_is_made_of_a_message(session: Any) -> None:
    run = session._make_callable_from_options(options_of_a_program())
    metadata = tf.RunMetadata()
    z, a = run([1.0, 2.0], run_metadata=metadata)
    np.testing.assert_array_equal(z, [11, 22])
    np.testing.assert_array_equal(a, [1, 2])
    assert metadata.HasField("step_stats")
    # Devices are set by tensor.
    options = config_pb2.CallableOptions(feed=["x:0"], fetch=["y:0"], fetch_skip_sync=True)
    (device,) = [found.name for found in session.list_devices()]
    options.feed_devices["x:0"] = device
    options.fetch_devices["y:0"] = device
    np.testing.assert_array_equal(session._make_callable_from_options(options)([1, 2]), [[10, 20]])
    options.fetch_devices["y:0"] = device.replace("CPU:0", "GPU:0")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"GPU:0.* does not exist"):
        session._make_callable_from_options(options)
    # The librarys own options are taken as well.
    run = session._make_callable_from_options(config.CallableOptions(feed=["x"], fetch=["y"]))
    np.testing.assert_array_equal(run([1, 2]), [[10, 20]])
    with pytest.raises(TypeError, match="options is a CallableOptions"):
        session._make_callable_from_options(tf.ConfigProto())


def test_a_callable_keeps_the_options_that_it_was_made_of(session: Any) -> None:
    options = options_of_a_program()
    run = session._make_callable_from_options(options)
    options.fetch.append("y:0")
    options.run_options.trace_level = tf.RunOptions.NO_TRACE
    metadata = tf.RunMetadata()
    assert len(run([1.0, 2.0], run_metadata=metadata)) == 2
    assert metadata.HasField("step_stats")


def test_the_messages_are_compared_copied_and_know_their_fields() -> None:
    options, copied = options_of_a_program(), config_pb2.CallableOptions()
    copied.CopyFrom(options)
    assert copied == options
    copied.feed.append("y:0")
    assert options.feed == ["x:0"]
    assert as_settings(copied).feed == ("x:0", "y:0")
    with pytest.raises(AttributeError, match='no "feeds" field; it has feed, fetch, target'):
        copied.feeds = 3
    assert config_pb2.ConfigProto is tf.ConfigProto
