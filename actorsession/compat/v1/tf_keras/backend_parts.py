"""``tensorflow.python.keras.backend``: what Keras 2.3 takes from TensorFlow's own Keras.

Keras 2.3 keeps its session, its learning phase, its settings and the loop over time there. Other names are
those of Keras' own backend.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import actorsession.compat.v1 as _tf

__all__ = [
    "batch_get_value", "batch_set_value", "binary_crossentropy", "cast_to_floatx",
    "categorical_crossentropy", "clear_session", "constant", "epsilon", "floatx", "function", "get_graph",
    "get_session", "get_uid", "hard_sigmoid", "image_data_format", "learning_phase",
    "learning_phase_scope", "manual_variable_initialization", "placeholder", "random_binomial",
    "random_normal", "random_uniform", "reset_uids", "rnn", "set_epsilon", "set_floatx",
    "set_image_data_format", "set_learning_phase", "set_session", "set_value",
    "sparse_categorical_crossentropy", "truncated_normal", "variable",
]  # fmt: skip

tf: Any = _tf


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(importlib.import_module("keras.backend"), name)


# -- settings ------------------------------------------------------------------------------------


class _State:
    """What belongs to the process."""

    def __init__(self) -> None:
        self.floatx, self.epsilon, self.data_format = "float32", 1e-7, "channels_last"
        self.manual = False  # whether the program gives variables their first values itself
        self.session: Any = None
        # By graph.
        self.phases: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.uids: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


_state = _State()


def epsilon() -> float:
    """Return the small number that is added where 0 would be a pole."""
    return _state.epsilon


def set_epsilon(value: float) -> None:
    """Set ``epsilon``."""
    _state.epsilon = value


def floatx() -> str:
    """Return the element type of floats, by name."""
    return _state.floatx


def set_floatx(value: str) -> None:
    """Set ``floatx``."""
    _state.floatx = str(_one_of("floatx", value, ("float16", "float32", "float64")))


def image_data_format() -> str:
    """Return where images have their channels: ``channels_last`` or ``channels_first``."""
    return _state.data_format


def set_image_data_format(data_format: str) -> None:
    """Set ``image_data_format``."""
    known = ("channels_last", "channels_first")
    _state.data_format = str(_one_of("data_format", data_format, known))


def _one_of(name: str, value: Any, known: Sequence[str]) -> Any:
    if value not in known:
        raise ValueError(f"{name}: unknown {value!r}; there are {', '.join(known)}")
    return value


def cast_to_floatx(x: Any) -> Any:
    """Return an array or a tensor in the type of floats."""
    if isinstance(x, (tf.Tensor, tf.Variable, tf.SparseTensor)):
        return tf.cast(x, floatx())
    return np.asarray(x, floatx())


# -- graph and session ----------------------------------------------------------------------------


def get_graph() -> Any:
    """Return the graph that is built."""
    return tf.get_default_graph()


def get_uid(prefix: str = "") -> int:
    """Return how many names with that prefix the graph has had, this one among them."""
    counts = _state.uids.setdefault(get_graph(), collections.Counter())
    counts[prefix] += 1
    return int(counts[prefix])


def reset_uids() -> None:
    """Have ``get_uid`` begin anew."""
    _state.uids.clear()


def manual_variable_initialization(value: bool) -> None:
    """Say whether the program gives variables their first values itself."""
    _state.manual = value


def get_session(op_input_list: Sequence[Any] = ()) -> Any:
    """Return the default session, or else Keras' own, with variables initialised.

    Args:
        op_input_list: tensors of the graph that is meant, if that is not the default one.
    """
    session = tf.get_default_session()
    if session is None:
        graph = next((item.graph for item in op_input_list if hasattr(item, "graph")), get_graph())
        if _state.session is None or _state.session.graph is not graph:
            _state.session = tf.Session(graph=graph)
        session = _state.session
    if not _state.manual:
        with session.graph.as_default():
            _initialize(session)
    return session


def _initialize(session: Any) -> None:
    """Give variables that have none their first values."""
    fresh = [v for v in tf.global_variables() if not getattr(v, "_keras_initialized", False)]
    if not fresh:
        return
    known = session.run([tf.is_variable_initialized(v) for v in fresh])
    for item in fresh:
        item._keras_initialized = True
    if unknown := [v for v, done in zip(fresh, known, strict=True) if not done]:
        session.run(tf.variables_initializer(unknown))


def set_session(session: Any) -> None:
    """Make a session Keras' own."""
    _state.session = session


def clear_session() -> None:
    """Begin with a new graph; what was built before is forgotten."""
    tf.reset_default_graph()
    reset_uids()
    _state.session = None
    _state.phases.clear()


def learning_phase() -> Any:
    """Return the flag that is true in training: a tensor to feed, or what ``set_learning_phase`` set."""
    graph = get_graph()
    if graph not in _state.phases:
        with tf.name_scope(""):
            _state.phases[graph] = tf.placeholder_with_default(False, shape=(), name="keras_learning_phase")
    return _state.phases[graph]


def set_learning_phase(value: int) -> None:
    """Fix the learning phase: 1 in training, else 0."""
    if value not in {0, 1}:
        raise ValueError(f"Expected learning phase to be 0 or 1, got {value!r}")
    _state.phases[get_graph()] = value


@contextlib.contextmanager
def learning_phase_scope(value: int) -> Iterator[None]:
    """Fix the learning phase within a block."""
    before = _state.phases.get(get_graph())
    set_learning_phase(value)
    try:
        yield
    finally:
        del _state.phases[get_graph()]
        if before is not None:
            _state.phases[get_graph()] = before


# -- variables ------------------------------------------------------------------------------------


def variable(value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None) -> Any:
    """Return a variable; a sparse tensor for a sparse matrix.

    Args:
        value: its first value.
        dtype: its element type.
        name: its name.
        constraint: what its value becomes after each step of an optimiser.
    """
    if hasattr(value, "tocoo"):
        result = _sparse(value.tocoo())
    else:
        result = tf.Variable(
            value, dtype=tf.as_dtype(dtype or floatx()), name=name, constraint=constraint, use_resource=True
        )
        if isinstance(value, np.ndarray):
            result._keras_shape = value.shape
        elif hasattr(value, "shape"):
            result._keras_shape = tuple(result.shape.as_list())
    result._uses_learning_phase = False
    return result


def _sparse(matrix: Any) -> Any:
    indices = np.stack([matrix.row, matrix.col], axis=1)
    sparse = tf.SparseTensor(indices, matrix.data, matrix.shape)
    sparse._keras_shape = matrix.shape
    return sparse


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Return a constant, of the type of floats if no other is given."""
    return tf.constant(value, dtype=dtype or floatx(), shape=shape, name=name)


def placeholder(
    shape: Any = None, ndim: int | None = None, dtype: Any = None, sparse: bool = False, name: str | None = None
) -> Any:
    """Return a placeholder.

    Args:
        shape: its shape.
        ndim: how many axes it has, if no shape is given.
        dtype: its element type.
        sparse: whether a sparse tensor is fed.
        name: its name.
    """
    if shape is None and ndim is not None:
        shape = (None,) * ndim
    make = tf.sparse_placeholder if sparse else tf.placeholder
    tensor = make(dtype or floatx(), shape=shape, name=name)
    tensor._keras_shape, tensor._uses_learning_phase = shape, False
    return tensor


def batch_get_value(tensors: Sequence[Any]) -> list[Any]:
    """Return the values of variables."""
    return list(get_session(tensors).run(list(tensors))) if tensors else []


def set_value(x: Any, value: Any) -> None:
    """Set the value of a variable."""
    batch_set_value([(x, value)])


def batch_set_value(tuples: Sequence[tuple[Any, Any]]) -> None:
    """Set the values of variables, in one step.

    Args:
        tuples: variables with their values.
    """
    if not tuples:
        return
    steps, feeds = [], {}
    for item, new in tuples:
        dtype = item.dtype.base_dtype
        value = np.asarray(new, dtype.as_numpy_dtype)
        if getattr(item, "_assign_op", None) is None:
            with item.graph.as_default():
                item._assign_placeholder = tf.placeholder(dtype, shape=[None] * value.ndim)
                item._assign_op = item.assign(item._assign_placeholder).op
        steps.append(item._assign_op)
        feeds[item._assign_placeholder] = value
    get_session([item for item, _ in tuples]).run(steps, feed_dict=feeds)


# -- functions of a graph -------------------------------------------------------------------------


class _Function:
    """Computes outputs from inputs, with updates, in Keras' session.

    Args:
        inputs: the tensors that are fed.
        outputs: what is computed, in any structure.
        updates: what runs after the outputs: operations, or variables with their new values.
        session: further arguments of a step: ``feed_dict``, ``fetches``, ``options``, ``run_metadata``.
    """

    def __init__(self, inputs: Any, outputs: Any, updates: Any, session: dict[str, Any]) -> None:
        self.inputs = tf.nest.flatten(inputs)
        self.outputs = outputs
        every = [tf.identity(item) for item in tf.nest.flatten(outputs)]
        self._structure = tf.nest.pack_sequence_as(outputs, every)
        with tf.control_dependencies([item.op for item in every[:1]]):
            changes = [tf.assign(*item) if isinstance(item, tuple) else item for item in updates or ()]
            self.updates_op = tf.group(*[item for item in changes if item is not None])
        self.feed_dict = session.pop("feed_dict", None) or {}
        self.fetches = tf.nest.flatten(session.pop("fetches", None) or [])
        self.run_options = session.pop("options", None)
        self.run_metadata = session.pop("run_metadata", None)
        # TensorFlow's takes functions of what else was fetched.
        self.fetch_callbacks: dict[Any, Callable[[Any], None]] = {}
        if session:
            raise ValueError(f"function: unknown arguments {', '.join(sorted(session))}")

    def __call__(self, inputs: Any) -> Any:
        feeds = dict(self.feed_dict)
        constants = []
        for item, fed in zip(self.inputs, tf.nest.flatten(inputs), strict=True):
            if fed is None:
                continue
            if isinstance(fed, (tf.Tensor, tf.Variable)):
                constants.append((item, fed))
            elif isinstance(item, tf.SparseTensor) and hasattr(fed, "tocoo"):
                coo = fed.tocoo()
                feeds[item] = (np.stack([coo.row, coo.col], 1), coo.data, coo.shape)
            else:
                feeds[item] = fed
        session = get_session(self.inputs)
        if constants:
            values = session.run([fed for _, fed in constants])
            feeds.update(zip([item for item, _ in constants], values, strict=True))
        result, _, more = session.run(
            [self._structure, self.updates_op, self.fetches],
            feed_dict=feeds,
            options=self.run_options,
            run_metadata=self.run_metadata,
        )
        for fetch, value in zip(self.fetches, more, strict=True):
            if fetch in self.fetch_callbacks:
                self.fetch_callbacks[fetch](value)
        return result


def function(inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any) -> _Function:
    """Return a function that computes outputs from inputs.

    Args:
        inputs: the tensors that are fed.
        outputs: what is computed.
        updates: what runs after the outputs: operations, or variables with their new values.
        name: changes nothing.
        **kwargs: arguments of a step: ``feed_dict``, ``fetches``, ``options``, ``run_metadata``.

    Raises:
        ValueError: if there are other arguments.
    """
    return _Function(inputs, outputs, updates, kwargs)


# -- the loop over time ---------------------------------------------------------------------------


def rnn(
    step_function: Any,
    inputs: Any,
    initial_states: Any,
    go_backwards: bool = False,
    mask: Any = None,
    constants: Any = None,
    unroll: bool = False,
    input_length: Any = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> Any:
    """Apply a function to each step of time.

    Args:
        step_function: gets the inputs of a step and a tuple of states and constants, and returns the output
            and the new states.
        inputs: a tensor of the shape (examples, steps, ...).
        initial_states: the states before the first step.
        go_backwards: whether the last step of time is the first one.
        mask: a tensor of the shape (examples, steps), false at steps that repeat output and states.
        constants: what each step gets besides.
        unroll: whether each step has operations of its own, rather than those of a loop.
        input_length: how many steps there are, if the shape does not say so.
        time_major: whether inputs and outputs have their steps first.
        zero_output_for_mask: whether the output of masked steps is 0.

    Returns:
        The last output, all outputs, and the last states.

    Raises:
        ValueError: if steps that cannot be counted are to be unrolled, or a mask has no states to repeat.
    """
    if not time_major:
        inputs = _swapped(inputs)
    steps, examples = inputs.shape.as_list()[:2]
    if unroll and steps is None:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    if mask is not None:
        if unroll and not len(initial_states):
            raise ValueError("A mask needs states, which masked steps repeat; there are none.")
        mask = tf.cast(mask, tf.bool)
        if mask.shape.ndims == 3:
            mask = tf.squeeze(mask, 2)
        mask = mask if time_major else tf.transpose(mask)
    if go_backwards:
        inputs = tf.reverse(inputs, [0])
        mask = None if mask is None else tf.reverse(mask, [0])
    more = tuple(constants or ())

    def step(now: Any, now_mask: Any, before: Any, states: tuple[Any, ...]) -> Any:
        output, following = step_function(now, states + more)
        following = tuple(following)
        if now_mask is None:
            return output, following
        last = tf.zeros_like(output) if before is None or zero_output_for_mask else before
        output = tf.where(now_mask, output, last)
        kept = [tf.where(now_mask, new, old) for new, old in zip(following, states, strict=True)]
        return output, tuple(kept)

    loop = _unrolled if unroll else _looped
    initial = tuple(initial_states)
    length = steps if input_length is None else input_length
    last, outputs, states = loop(step, inputs, mask, initial, tf.shape(inputs)[0] if length is None else length)
    outputs.set_shape([steps, examples, *last.shape.as_list()[1:]])
    return last, outputs if time_major else _swapped(outputs), list(states)


def _swapped(x: Any) -> Any:
    """Return a tensor with its first two axes exchanged."""
    return tf.transpose(x, [1, 0, *range(2, x.shape.ndims)])


def _unrolled(step: Any, inputs: Any, mask: Any, states: Any, length: Any) -> Any:
    outputs: list[Any] = []
    parts = tf.unstack(inputs)
    masks = [None] * len(parts) if mask is None else tf.unstack(mask, num=len(parts))
    for now, now_mask in zip(parts, masks, strict=True):
        output, states = step(now, now_mask, outputs[-1] if outputs else None, states)
        outputs.append(output)
    return outputs[-1], tf.stack(outputs), states


def _looped(step: Any, inputs: Any, mask: Any, states: Any, length: Any) -> Any:
    # What a step would give, for its type and shape: masked first steps give zeros.
    sample, _ = step(inputs[0], None, None, states)
    begin = tf.zeros_like(sample)
    held = tf.TensorArray(inputs.dtype, size=tf.shape(inputs)[0]).unstack(inputs)
    masks = None if mask is None else tf.TensorArray(tf.bool, tf.shape(mask)[0]).unstack(mask)
    kept = tf.TensorArray(begin.dtype, size=length, element_shape=begin.shape)

    def body(time: Any, kept: Any, before: Any, *states: Any) -> Any:
        now = held.read(time)
        now.set_shape(inputs.shape[1:])
        now_mask = None if masks is None else masks.read(time)
        if now_mask is not None:
            now_mask.set_shape(mask.shape[1:])
        output, following = step(now, now_mask, before, states)
        for new, old in zip(following, states, strict=False):
            if hasattr(new, "set_shape"):
                new.set_shape(old.shape)
        return (time + 1, kept.write(time, output), output, *following)

    _, kept, last, *states = tf.while_loop(
        lambda time, *_: time < length,
        body,
        (tf.constant(0), kept, begin, *states),
        parallel_iterations=32,
        swap_memory=True,
    )
    return last, kept.stack(), states


# -- losses ---------------------------------------------------------------------------------------


def _logits_of(output: Any, kind: str) -> Any:
    """What a softmax or a sigmoid was applied to; ``None`` if the tensor is none of it."""
    op = getattr(output, "op", None)
    return op.inputs[0] if op is not None and op.type == kind else None


def _safe(output: Any) -> Any:
    """Return probabilities that have logarithms."""
    return tf.clip_by_value(output, epsilon(), 1 - epsilon())


def _axis_of(output: Any, axis: int) -> int:
    rank: int = output.shape.ndims
    if not -rank <= axis < rank:
        raise ValueError(f"Unexpected channels axis {axis}. Expected one of the {rank} axes of the output.")
    return axis % rank


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """Return the cross entropy of probabilities, or of logits, from the probabilities of classes.

    Args:
        target: the probabilities that are right.
        output: what a model gave.
        from_logits: whether that is logits.
        axis: the axis of classes.
    """
    target, output = tf.convert_to_tensor(target), tf.convert_to_tensor(output)
    axis = _axis_of(output, axis)
    logits = output if from_logits else _logits_of(output, "Softmax")
    if logits is not None:
        return tf.nn.softmax_cross_entropy_with_logits_v2(target, logits, axis=axis)
    output = _safe(output / tf.reduce_sum(output, axis, keepdims=True))
    return -tf.reduce_sum(target * tf.log(output), axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """Return the cross entropy of probabilities, or of logits, from the numbers of classes.

    Args:
        target: the number of each class.
        output: what a model gave.
        from_logits: whether that is logits.
        axis: the axis of classes.
    """
    target, output = tf.convert_to_tensor(target), tf.convert_to_tensor(output)
    axis = _axis_of(output, axis)
    logits = output if from_logits else _logits_of(output, "Softmax")
    if logits is None:
        logits = tf.log(_safe(output))
    rank = output.shape.ndims
    if axis != rank - 1:
        logits = tf.transpose(logits, [i for i in range(rank) if i != axis] + [axis])
    shape = tf.shape(logits)
    entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(tf.cast(target, tf.int64), [-1]), logits=tf.reshape(logits, [-1, shape[-1]])
    )
    if rank < 3:
        return entropy
    result = tf.reshape(entropy, shape[:-1])
    result.set_shape(logits.shape[:-1])
    return result


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Return the cross entropy of each probability, or of each logit.

    Args:
        target: the probabilities that are right.
        output: what a model gave.
        from_logits: whether that is logits.
    """
    target, output = tf.convert_to_tensor(target), tf.convert_to_tensor(output)
    logits = output if from_logits else _logits_of(output, "Sigmoid")
    if logits is not None:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    output = _safe(output)
    likelihood = target * tf.log(output + epsilon()) + (1 - target) * tf.log(1 - output + epsilon())
    return -likelihood


def hard_sigmoid(x: Any) -> Any:
    """Return a sigmoid made of three straight lines: 0 below -2.5, 1 above 2.5."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


# -- random tensors -------------------------------------------------------------------------------


def _drawn(draw: Any, shape: Any, dtype: Any, seed: int | None, **kwargs: Any) -> Any:
    seed = np.random.randint(10_000_000) if seed is None else seed
    return draw(shape, dtype=dtype or floatx(), seed=seed, **kwargs)


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Return samples of a normal distribution."""
    return _drawn(tf.random_normal, shape, dtype, seed, mean=mean, stddev=stddev)


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Return samples between two bounds."""
    return _drawn(tf.random_uniform, shape, dtype, seed, minval=minval, maxval=maxval)


def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None) -> Any:
    """Return ones with the probability ``p``, else zeros."""
    kind = dtype or floatx()
    return tf.where(_drawn(tf.random_uniform, shape, kind, seed) <= p, tf.ones(shape, kind), tf.zeros(shape, kind))


def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Return samples of a normal distribution, those two deviations away drawn again."""
    return _drawn(tf.truncated_normal, shape, dtype, seed, mean=mean, stddev=stddev)
