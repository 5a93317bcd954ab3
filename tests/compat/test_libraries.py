"""Protobuf's functions for messages take those of this library, and those of protobuf, too."""

from __future__ import annotations

from typing import Any

import pytest
from tensorboard.compat.proto import versions_pb2

import actorsession.compat.v1 as tf
from actorsession.compat.libraries import json_format
from actorsession.interop import VersionDef


@pytest.mark.parametrize("kind", [VersionDef, versions_pb2.VersionDef], ids=["ours", "protobuf's"])
def test_json_is_written_and_read_by_whoever_made_the_class(kind: Any) -> None:
    message = kind(producer=3, bad_consumers=[1])
    assert json_format.MessageToDict(message) == {"producer": 3, "badConsumers": [1]}
    assert json_format.Parse(json_format.MessageToJson(message), kind()) == message
    assert json_format.ParseDict({"producer": 3, "bad_consumers": [1]}, kind()) == message


def test_other_names_are_protobufs() -> None:
    assert callable(json_format.SerializeToJsonError)
    with pytest.raises(AttributeError, match="no attribute 'spam'"):
        _ = json_format.spam
    with pytest.raises(json_format.ParseError, match="no field 'spam'"):
        json_format.ParseDict({"spam": 1}, tf.ConfigProto())
