"""``tf.contrib.predictor``: saved models and estimators as functions of arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from actorsession.compat.v1.estimator.specs import ModeKeys
from actorsession.compat.v1.graphs.graph import Graph
from actorsession.compat.v1.saved_model import loader
from actorsession.compat.v1.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from actorsession.compat.v1.saved_model.tag_constants import SERVING
from actorsession.compat.v1.sessions.session import Session
from actorsession.compat.v1.train import MonitoredSession
from actorsession.compat.v1.train.session_creators import ChiefSessionCreator
from actorsession.interop.saved_models import flat_tensors
from actorsession.process_bound import ProcessBound

__all__ = ["Predictor", "from_contrib_estimator", "from_estimator", "from_saved_model"]


class Predictor(ProcessBound):
    """A model as a function: of values by the names of its inputs, with values by those of its outputs."""

    def __init__(self, graph: Any, session: Any, feeds: Mapping[str, Any], fetches: Mapping[str, Any]) -> None:
        self._graph, self._session = graph, session
        self._feed_tensors, self._fetch_tensors = dict(feeds), dict(fetches)

    @property
    def graph(self) -> Any:
        """The graph of the model."""
        return self._graph

    @property
    def session(self) -> Any:
        """The session that holds its variables."""
        return self._session

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """Its inputs by name."""
        return self._feed_tensors

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """Its outputs by name."""
        return self._fetch_tensors

    def __call__(self, input_dict: Mapping[str, Any]) -> Any:
        """Return the outputs.

        Args:
            input_dict: values of the inputs by name; all if any is needed.

        Raises:
            ValueError: for a name that is none of its inputs'.
        """
        wrong = sorted(set(input_dict) - set(self._feed_tensors))
        if wrong:
            raise ValueError(f"Got unexpected keys in input_dict: {wrong}; the inputs are {sorted(self._feed_tensors)}")
        feeds = {self._feed_tensors[name]: value for name, value in input_dict.items()}
        return self._session.run(self._fetch_tensors, feeds)

    def __repr__(self) -> str:
        return f"Predictor with feed tensors {self._feed_tensors} and fetch_tensors {self._fetch_tensors}"


def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | Iterable[str] | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Return the function of a saved model.

    Args:
        export_dir: the folder of the model.
        signature_def_key: the signature whose inputs and outputs it has; the default one if omitted; or
        signature_def: a signature; or
        input_names: names of tensors by the names of inputs, together with
        output_names: those of outputs.
        tags: the tags of the graph; that of serving if omitted.
        graph: the graph to build; a new one if omitted.
        config: settings of the session.

    Raises:
        ValueError: for more than one of the three ways, or a signature that the model has not.
    """
    sources = [signature_def_key is not None, signature_def is not None, input_names is not None]
    if sum(sources) > 1 or (input_names is None) != (output_names is None):
        raise ValueError(
            "You must specify at most one of signature_def_key OR signature_def OR (input_names AND output_names)."
        )
    asked = [SERVING] if tags is None else tags.split(",") if isinstance(tags, str) else list(tags)
    graph = graph or Graph()
    with graph.as_default():
        session = Session(config=config)
        meta_graph = loader.load(session, asked, export_dir)
        if input_names is not None and output_names is not None:
            feeds, fetches = input_names, output_names
        else:
            key = signature_def_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
            if signature_def is None and key not in meta_graph.signature_def:
                raise ValueError(
                    f"Got signature_def_key {key!r}. Available signatures are {sorted(meta_graph.signature_def)}."
                )
            signature = meta_graph.signature_def[key] if signature_def is None else signature_def
            feeds, fetches = (
                {name: info.name for name, info in flat_tensors(infos).items()}
                for infos in (signature.inputs, signature.outputs)
            )
        element = graph.as_graph_element
        return Predictor(
            graph,
            session,
            {name: element(tensor) for name, tensor in feeds.items()},
            {name: element(tensor) for name, tensor in fetches.items()},
        )


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: Any = None,
    config: Any = None,
) -> Predictor:
    """Return the function of a trained estimator.

    Args:
        estimator: the estimator.
        serving_input_receiver_fn: makes the inputs, as for ``export_saved_model``.
        output_key: which of the model's ``export_outputs``; the default one, or all predictions without any.
        graph: the graph to build; a new one if omitted.
        config: settings of the session.
    """
    with (graph or Graph()).as_default() as built:
        receiver = serving_input_receiver_fn()
        spec = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
        outputs = _outputs(spec, output_key)
        creator = ChiefSessionCreator(
            scaffold=spec.scaffold,
            config=config,
            checkpoint_filename_with_path=None,
            checkpoint_dir=estimator.model_dir,
        )
        session = MonitoredSession(session_creator=creator)
        return Predictor(built, session, receiver.receiver_tensors, outputs)


def _outputs(spec: Any, key: str | None) -> Mapping[str, Any]:
    outputs = spec.export_outputs or {}
    if key is not None and key not in outputs:
        raise ValueError(f"output_key must be one of {sorted(outputs)}, got {key!r}")
    chosen = outputs.get(key or DEFAULT_SERVING_SIGNATURE_DEF_KEY)
    if chosen is None and len(outputs) == 1:
        (chosen,) = outputs.values()
    tensors = spec.predictions
    with contextlib.suppress(AttributeError):
        tensors = chosen.outputs if chosen is not None else tensors
    return tensors if isinstance(tensors, Mapping) else {"output": tensors}


from_contrib_estimator = from_estimator
