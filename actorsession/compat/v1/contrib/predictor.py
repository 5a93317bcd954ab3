"""``tf.contrib.predictor``: a model of an estimator or of an exported folder, as a function of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import actorsession.compat.v1 as tf

__all__ = ["Predictor", "from_contrib_estimator", "from_estimator", "from_saved_model"]

_SERVING = "serving_default"


class Predictor:
    """A model with its session; called with arrays by name, it returns arrays by name.

    Args:
        graph: the graph.
        session: the session, in which variables have values.
        feed_tensors: the inputs by name.
        fetch_tensors: the outputs by name.
    """

    def __init__(
        self,
        graph: Any,
        session: Any,
        feed_tensors: Mapping[str, Any],
        fetch_tensors: Mapping[str, Any],
    ) -> None:
        self._graph, self._session = graph, session
        self._feeds, self._fetches = dict(feed_tensors), dict(fetch_tensors)

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph

    @property
    def session(self) -> Any:
        """The session."""
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """The inputs by name."""
        return self._feeds

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """The outputs by name."""
        return self._fetches

    def __repr__(self) -> str:
        return f"{type(self).__name__} with feed tensors {self._feeds} and fetch_tensors {self._fetches}"

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs for some inputs.

        Args:
            input_dict: arrays by the names of inputs.

        Raises:
            ValueError: for a name that is not that of an input.
        """
        wrong = sorted(set(input_dict) - set(self._feeds))
        if wrong:
            raise ValueError(
                f"Got unexpected keys in input_dict: {wrong}\nexpected: {sorted(self._feeds)}"
            )
        feeds = {self._feeds[key]: value for key, value in input_dict.items()}
        found: dict[str, Any] = self._session.run(self._fetches, feeds)
        return found


def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Return the model of an exported folder.

    Args:
        export_dir: the folder.
        signature_def_key: name of the signature; ``serving_default`` if omitted.
        signature_def: or the signature itself.
        input_names: or the names of tensors by the names of inputs,
        output_names: and of outputs.
        tags: the tags, with commas in between; ``serve`` if omitted.
        graph: the graph that it is loaded into.
        config: the settings of the session.

    Raises:
        ValueError: for several of these ways, or a signature that there is not.
    """
    ways = (signature_def_key, signature_def, input_names)
    if sum(way is not None for way in ways) > 1 or (input_names is None) != (output_names is None):
        raise ValueError(
            "You must specify at most one of signature_def_key OR signature_def OR "
            "(input_names AND output_names)."
        )
    graph = graph or tf.Graph()
    with graph.as_default():
        session = tf.Session(config=config)
        wanted = (tags or tf.saved_model.tag_constants.SERVING).split(",")
        found = tf.saved_model.loader.load(session, wanted, export_dir)
    if input_names is None or output_names is None:
        if signature_def is None:
            key = signature_def_key or _SERVING
            if key not in found.signature_def:
                raise ValueError(
                    f"Got signature_def_key {key!r}. Available signatures are "
                    f"{sorted(found.signature_def)}."
                )
            signature_def = found.signature_def[key]
        input_names = {key: each.name for key, each in signature_def.inputs.items()}
        output_names = {key: each.name for key, each in signature_def.outputs.items()}
    tensor = graph.get_tensor_by_name
    return Predictor(
        graph, session,
        {key: tensor(name) for key, name in input_names.items()},
        {key: tensor(name) for key, name in output_names.items()},
    )  # fmt: skip


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Any,
    output_key: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Return the model of an estimator's latest checkpoint.

    Args:
        estimator: the estimator.
        serving_input_receiver_fn: makes the inputs, as for an export.
        output_key: which of the outputs that are exported; all predictions if omitted.
        graph: the graph that it is built in.
        config: the settings of the session.

    Raises:
        ValueError: for an output that there is not.
    """
    graph = graph or tf.Graph()
    with graph.as_default():
        receiver = serving_input_receiver_fn()
        tf.train.create_global_step(graph)
        spec = estimator.model_fn(
            receiver.features, None, tf.estimator.ModeKeys.PREDICT, estimator.config
        )
        outputs = spec.predictions
        if output_key is not None:
            if output_key not in (spec.export_outputs or {}):
                raise ValueError(
                    f"output_key must be one of {sorted(spec.export_outputs or {})}, "
                    f"got {output_key!r}"
                )
            signature = spec.export_outputs[output_key].as_signature_def(receiver.receiver_tensors)
            outputs = {
                key: graph.get_tensor_by_name(each.name) for key, each in signature.outputs.items()
            }
        creator = tf.train.ChiefSessionCreator(
            config=config,
            checkpoint_filename_with_path=tf.train.latest_checkpoint(estimator.model_dir),
        )
        session = tf.train.MonitoredSession(creator)
    if not isinstance(outputs, Mapping):
        outputs = {"output": outputs}
    return Predictor(graph, session, receiver.receiver_tensors, outputs)


from_contrib_estimator = from_estimator
