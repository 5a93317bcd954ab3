"""Arguments of TensorFlow 1 that functions of the library do not have: older names, and what has no effect.

A row has the parameters of some functions in TensorFlow's order. ``keep_dims>keepdims`` is an older name of
``keepdims``, ``-use_locking=False`` is accepted and has no effect, ``axis=None`` has another default than in
the library, and ``value>input!`` must be given. ``tf`` and its modules show the functions made from the rows.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from actorsession.graph.dtypes import int32
from actorsession.lazy_names import lazy_names

__all__ = ["ROWS", "older", "older_names"]

ROWS = {
    name: row
    for names, row in {
        "adjust_jpeg_quality": "image jpeg_quality -dct_method='' name",
        "argmax argmin": "input axis name dimension>axis output_type",
        "argsort": "values axis direction -stable=False name",
        "assign": "ref value validate_shape -use_locking=None name",
        "assign_add assign_sub": "ref value -use_locking=None name",
        "avg_pool max_pool": "value>input! ksize strides padding data_format name input=None",
        "batch_scatter_update scatter_nd_update scatter_update": ("ref indices updates -use_locking=True name"),
        "bidirectional_dynamic_rnn": (
            "cell_fw cell_bw inputs sequence_length initial_state_fw initial_state_bw dtype "
            "-parallel_iterations=None -swap_memory=False time_major scope"
        ),
        "cond": "pred true_fn=None false_fn=None strict name fn1>true_fn fn2>false_fn",
        "conv1d": (
            "value>input filters=None stride padding -use_cudnn_on_gpu=None data_format name input=None dilations"
        ),
        "conv2d": (
            "input filter>filters strides padding -use_cudnn_on_gpu=True data_format dilations name filters=None"
        ),
        "conv2d_backprop_filter": (
            "input filter_sizes out_backprop strides padding -use_cudnn_on_gpu=True data_format dilations name"
        ),
        "conv2d_backprop_input": (
            "input_sizes filter>filters out_backprop=None strides padding -use_cudnn_on_gpu=True "
            "data_format dilations name filters=None"
        ),
        "conv2d_transpose": (
            "value>input filter>filters output_shape=None strides padding data_format name input=None "
            "filters=None dilations"
        ),
        "conv3d": "input filter>filters strides padding data_format dilations name filters=None",
        "conv3d_transpose": (
            "value>input! filter>filters output_shape=None strides padding data_format name input=None "
            "filters=None dilations"
        ),
        "convert_to_tensor": "value dtype name preferred_dtype>dtype_hint dtype_hint",
        "convolution": (
            "input filter>filters! padding strides dilation_rate>dilations name data_format filters=None dilations"
        ),
        "cosine_distance": ("labels predictions axis weights scope loss_collection reduction dim>axis"),
        "count_nonzero": (
            "input_tensor>input axis keepdims dtype name reduction_indices>axis keep_dims>keepdims input=None"
        ),
        "crop_and_resize": (
            "image boxes box_ind>box_indices crop_size=None method extrapolation_value name box_indices=None"
        ),
        "ctc_loss": (
            "labels inputs>logits sequence_length preprocess_collapse_repeated ctc_merge_repeated "
            "ignore_longer_outputs_than_inputs time_major logits=None"
        ),
        "ctc_loss_v2": ("labels logits label_length logit_length logits_time_major -unique=None blank_index name"),
        "decode_jpeg": (
            "contents channels ratio -fancy_upscaling=True -try_recover_truncated=False "
            "-acceptable_fraction=1 -dct_method='' name"
        ),
        "decode_raw": "input_bytes=None out_type=None little_endian name bytes>input_bytes",
        "depthwise_conv2d": ("input filter strides padding rate>dilations name data_format dilations"),
        "dilation2d": (
            "input filter>filters strides=None rates>dilations padding=None name filters=None dilations=None"
        ),
        "dropout": "x keep_prob>rate noise_shape seed name rate=None",
        "dynamic_rnn": (
            "cell inputs sequence_length initial_state dtype -parallel_iterations=None "
            "-swap_memory=False time_major scope"
        ),
        "einsum": "equation *inputs name -optimize=None",
        "embedding_lookup": "params ids partition_strategy name -validate_indices=True max_norm",
        "embedding_lookup_sparse": (
            "params sp_ids sp_weights partition_strategy name combiner max_norm -allow_fast_lookup=False"
        ),
        "expand_dims": "input axis=None name dim>axis",
        "For": "start limit delta inputs body name -hostmem=None -rewrite_with_while=None",
        "gather": "params indices -validate_indices=None name axis batch_dims",
        "histogram_fixed_width_bins": "values value_range nbins -dtype=int32 name",
        "import_graph_def": ("graph_def input_map return_elements name -op_dict=None producer_op_list"),
        "l2_normalize": "x axis epsilon name dim>axis",
        "log_softmax softmax": "logits axis name dim>axis",
        "lu_solve": "lower_upper perm rhs -validate_args=False name",
        "make_batched_features_dataset": (
            "file_pattern batch_size features reader label_key reader_args num_epochs shuffle "
            "shuffle_buffer_size shuffle_seed prefetch_buffer_size reader_num_threads "
            "parser_num_threads -sloppy_ordering=False drop_final_batch"
        ),
        "make_csv_dataset": (
            "file_pattern batch_size column_names column_defaults label_name select_columns "
            "field_delim use_quote_delim na_value header num_epochs shuffle shuffle_buffer_size "
            "shuffle_seed prefetch_buffer_size -num_parallel_reads=None -sloppy=False "
            "num_rows_for_inference compression_type ignore_errors encoding"
        ),
        "make_saveable_from_iterator": "iterator -external_state_policy=None",
        "map_fn": (
            "fn elems dtype>fn_output_signature -parallel_iterations=None back_prop "
            "-swap_memory=False infer_shape name fn_output_signature"
        ),
        "matmul": (
            "a b transpose_a transpose_b adjoint_a adjoint_b -a_is_sparse=False -b_is_sparse=False "
            "output_type -grad_a=False -grad_b=False name"
        ),
        "matrix_rank": "a tol -validate_args=False name",
        "matvec": "a b transpose_a adjoint_a -a_is_sparse=False -b_is_sparse=False name",
        "max_pool_with_argmax": (
            "input ksize strides padding data_format Targmax>output_dtype name output_dtype include_batch_in_index"
        ),
        "moments": "x axes -shift=None name keep_dims>keepdims keepdims=None",
        "non_max_suppression_padded": (
            "boxes scores max_output_size iou_threshold score_threshold pad_to_max_output_size name "
            "-sorted_input=False -canonicalized_coordinates=False -tile_size=512"
        ),
        "norm": "tensor ord axis keepdims name keep_dims>keepdims",
        "pinv": "a rcond -validate_args=False name",
        "pool": ("input window_shape pooling_type padding dilation_rate>dilations strides name data_format dilations"),
        "raw_rnn": "cell loop_fn -parallel_iterations=None -swap_memory=False scope",
        (
            "reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum"
        ): "input_tensor axis keepdims name reduction_indices>axis keep_dims>keepdims",
        "reduce_join": ("inputs axis keep_dims>keepdims separator name reduction_indices>axis keepdims"),
        "remove_checkpoint": ("checkpoint_prefix -checkpoint_format_version=2 meta_graph_suffix"),
        "reverse_sequence": ("input seq_lengths seq_axis=None batch_axis name seq_dim>seq_axis batch_dim>batch_axis"),
        "safe_embedding_lookup_sparse": (
            "embedding_weights sparse_ids sparse_weights combiner default_id name "
            "partition_strategy max_norm -allow_fast_lookup=False"
        ),
        "scan": ("fn elems initializer -parallel_iterations=10 back_prop -swap_memory=False infer_shape reverse name"),
        (
            "scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_sub"
        ): "ref indices updates -use_locking=False name",
        "separable_conv2d": (
            "input depthwise_filter pointwise_filter strides padding rate>dilations name data_format dilations"
        ),
        "sliding_window_batch": "window_size stride>window_shift window_shift=None window_stride",
        "softmax_cross_entropy_with_logits": "labels=None logits=None dim>axis=-1 name axis",
        "softmax_cross_entropy_with_logits_v2": "labels logits axis name dim>axis",
        "sparse_add": "a b threshold thresh>threshold name",
        "sparse_concat": (
            "axis sp_inputs name expand_nonconcat_dim>expand_nonconcat_dims=False concat_dim>axis "
            "expand_nonconcat_dims=None"
        ),
        "sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse": (
            "sp_input axis keepdims reduction_axes>axis keep_dims>keepdims"
        ),
        "sparse_split": "keyword_required sp_input num_split axis name split_dim>axis",
        "squeeze": "input axis name squeeze_dims>axis",
        "stack_bidirectional_dynamic_rnn": (
            "cells_fw cells_bw inputs initial_states_fw initial_states_bw dtype sequence_length "
            "-parallel_iterations=None time_major scope -swap_memory=False"
        ),
        "strided_slice": (
            "input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask -var=None name"
        ),
        "string_split": "source sep skip_empty delimiter>sep result_type name",
        "string_split_v2": "input=None sep maxsplit result_type source>input name",
        "string_to_hash_bucket": "string_tensor>input num_buckets=None name input=None",
        "string_to_number": "string_tensor>input out_type name input=None",
        "sufficient_statistics": "x axes shift keep_dims>keepdims name keepdims=None",
        "top_k": "input k -sorted=True index_type name",
        "verify_tensor_all_finite": "t>x msg>message name x=None message=None",
        "weighted_cross_entropy_with_logits": ("labels=None logits=None pos_weight=None name targets>labels"),
        "weighted_moments": "x axes frequency_weights name keep_dims>keepdims keepdims=None",
        "While": "input_ cond body name -hostmem=None",
        "zeros_like": "tensor dtype name -optimize=True",
    }.items()
    for name in names.split()
}

# What becomes of a value under its newer name.
_VALUES: dict[str, Callable[[Any], Any]] = {"keep_prob": lambda kept: 1.0 - kept}
# Names of modules of ``tf`` beyond those of the library's own.
_MORE = {"image": {"extract_image_patches": "actorsession.compat.v1.ops.legacy_ops"}}
_NATIVE = ("actorsession.interop.graph_util", "actorsession.namespaces.", "actorsession.ops.", "actorsession.opsets.")


class _Parameter(NamedTuple):
    """A parameter of a row.

    Attributes:
        name: its name.
        stands_for: the name that the library has for it; "" if it has no effect.
        default: its default, ``inspect.Parameter.empty`` if it must be given.
    """

    name: str
    stands_for: str
    default: Any


def older(value: Any) -> Any:
    """Return a function or module of the library as ``tf`` has it: with TensorFlow 1's arguments.

    Args:
        value: the function or module; anything else is returned as it is.
    """
    if isinstance(value, FunctionType):
        plain = value.__name__ in ROWS and not hasattr(value, "__signature__")
        return _of_row(value) if plain else value
    if isinstance(value, ModuleType) and value.__name__.startswith(_NATIVE):
        return _face(value.__name__)
    return value


def older_names(
    package: str, table: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return what ``lazy_names`` does, with functions and modules as ``tf`` has them.

    Args:
        package: full name of the package.
        table: see ``lazy_names.read_table``.
    """
    names, load, listed = lazy_names(package, table)

    def find(name: str) -> Any:
        value = older(load(name))
        setattr(sys.modules[package], name, value)
        return value

    return names, find, listed


class _Face(ModuleType):
    """A module of the library as a module of ``tf``."""

    def __init__(self, native: str) -> None:
        part = native.rpartition(".")[2]
        super().__init__(f"actorsession.compat.v1.{part}", sys.modules[native].__doc__)
        self._native, self._more = sys.modules[native], _MORE.get(part, {})
        self.__all__ = sorted([*self._native.__all__, *self._more])

    def __getattr__(self, name: str) -> Any:
        more = self._more.get(name)
        value = older(getattr(importlib.import_module(more) if more else self._native, name))
        if not name.startswith("__"):
            setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return self.__all__


@functools.cache
def _face(native: str) -> ModuleType:
    face = _Face(native)
    return sys.modules.setdefault(face.__name__, face)


def _read(row: str, own: Mapping[str, inspect.Parameter]) -> list[_Parameter]:
    parameters = []
    for word in row.split():
        text, _, literal = word.lstrip("-").partition("=")
        name, older_of, stands_for = text.rstrip("!").partition(">")
        default: Any = inspect.Parameter.empty
        if literal:
            default = int32 if literal == "int32" else ast.literal_eval(literal)
        elif older_of:
            default = default if text.endswith("!") else None
        else:
            default = own[name.lstrip("*")].default
        parameters.append(_Parameter(name, "" if word[0] == "-" else stands_for or name, default))
    return parameters


@functools.cache
def _of_row(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the parameters of its row."""
    native = inspect.signature(function)
    own = native.parameters
    try:
        parameters = _read(ROWS[function.__name__], own)
    except KeyError:
        return function  # another one of that name
    signature = _signature(parameters)
    needed = [name for name, p in own.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    renamed = {p.name: p.stands_for for p in parameters if p.stands_for != p.name}
    # A call that needs nothing of this goes straight on.
    same = 0
    for p, name in zip(parameters, own, strict=False):
        if p.name != name or p.default is not own[name].default:
            break
        same += 1
    plain = {p.name for p in parameters[:same]} | {
        p.name for p in parameters if p.name in own and p.default is own[p.name].default
    }
    required = all(p.default is own[p.name].default for p in parameters if p.name in needed)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if required and len(args) <= same and plain.issuperset(kwargs):
            return function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        values = bound.arguments
        for name, newer in renamed.items():
            if name not in values:
                continue
            value = values.pop(name)
            if newer and value is not None:
                if values.get(newer) is not None:
                    raise _twice(function.__name__, name, newer)
                values[newer] = _VALUES.get(name, lambda same: same)(value)
        for name in needed:
            values.setdefault(name, None)
        chosen = inspect.BoundArguments(native, values)
        return function(*chosen.args, **chosen.kwargs)

    called.__signature__ = signature  # type: ignore[attr-defined]
    return called


def _signature(parameters: list[_Parameter]) -> inspect.Signature:
    kinds = inspect.Parameter
    members = []
    for name, _, default in parameters:
        if name.startswith("*"):
            members.append(kinds(name[1:], kinds.VAR_POSITIONAL))
        else:
            by_name = any(p.kind is kinds.VAR_POSITIONAL for p in members)
            kind = kinds.KEYWORD_ONLY if by_name else kinds.POSITIONAL_OR_KEYWORD
            members.append(kinds(name, kind, default=default))
    return inspect.Signature(members)


def _twice(function: str, name: str, newer: str) -> Exception:
    if function == "sliding_window_batch":
        return ValueError(f"Cannot specify both `{name}` and `{newer}`")
    if function == "cond":
        return TypeError(f"cond(): '{newer}' and '{name}' may not be set simultaneously.")
    return ValueError(f"Cannot specify both '{name}' and '{newer}'.")
