"""TensorFlow's module paths: what ``tensorflow.python`` and similar ones hold, as one table.

A row says where the names of some modules are looked for, in order: in ``tf`` (``.``), in modules of it
or of this package (``.train``), or in others. Most of TensorFlow's modules have names of ``tf`` and hardly
any others; what else programs use of them is in ``internals``. The modules are made when their package is
imported, and import nothing before a name of theirs is used.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from actorsession.compat.v1.ops.arguments import older
from actorsession.lazy_names import NoAttributeError

__all__ = ["TABLE", "add_modules", "inside_contrib", "module_paths"]

_V1 = __name__.removesuffix(".internals.module_paths")
# The package, modules of it, and where their names are.
TABLE: dict[str, list[tuple[str, str, str]]] = {
    "contrib.cudnn_rnn": [
        ("python.ops", "cudnn_rnn_ops", ".contrib.cudnn_rnn"),
    ],
    "contrib.factorization": [
        ("python.ops", "clustering_ops kmeans", ".contrib.factorization"),
    ],
    "contrib.framework": [
        ("python.framework", "checkpoint_utils tensor_util", ".contrib.framework"),
        ("python.ops", "arg_scope ops variables", ".contrib.framework"),
        ("python.ops", "audio_ops", "actorsession.opsets.signals.audio"),
    ],
    "contrib.layers": [
        ("python.layers", (
            "embedding_ops encoders feature_column feature_column_ops initializers layers normalization "
            "optimizers regularizers rev_block_lib summaries target_column"
        ), ".contrib.layers"),
        ("python.layers", "utils", ".contrib.slim.utils"),
        ("python.ops", "sparse_ops", ".contrib.layers"),
    ],
    "contrib.learn": [
        ("python.learn", "basic_session_run_hooks monitored_session session_run_hook", ".train"),
        ("python.learn", "run_config", ".contrib.learn"),
        ("python.learn.utils", "saved_model_export_utils", ".contrib.learn"),
        ("python.learn.learn_io", "numpy_io pandas_io", ".estimator.inputs"),
        ("python.learn", "experiment metric_spec", ".contrib.learn"),
        ("python.learn", "learn_runner", ".contrib.learn.learn_runner"),
        ("python.learn", "models", ".contrib.learn.models"),
        ("python.learn", "monitors", ".contrib.learn.monitors"),
        ("python.learn.datasets", "base synthetic text_datasets", ".contrib.learn.datasets"),
        ("python.learn.datasets", "mnist", ".internals.mnist_data .contrib.learn.datasets"),
        ("python.learn.estimators", (
            "constants dnn dnn_linear_combined estimator linear model_fn run_config"
        ), ".contrib.learn"),
        ("python.learn.ops", "embeddings_ops losses_ops", ".contrib.learn.models"),
        ("python.learn.preprocessing", (
            "categorical categorical_vocabulary text"
        ), ".contrib.learn.preprocessing"),
    ],
    "contrib.rnn": [
        ("python.ops", (
            "core_rnn core_rnn_cell core_rnn_cell_impl fused_rnn_cell gru_ops lstm_ops rnn rnn_cell"
        ), ".contrib.rnn .internals.inner_names"),
    ],
    "contrib.distributions": [
        ("python.ops", (
            "bernoulli beta binomial categorical cauchy chi2 deterministic dirichlet distribution "
            "distribution_util distributions exponential gamma geometric half_normal independent "
            "inverse_gamma laplace logistic mixture mixture_same_family multinomial mvn_diag "
            "mvn_full_covariance mvn_tril negative_binomial normal onehot_categorical poisson "
            "relaxed_bernoulli relaxed_onehot_categorical student_t transformed_distribution uniform"
        ), ".contrib.distributions"),
        ("python.ops", "bijectors", ".contrib.distributions.bijectors"),
    ],
    "contrib.seq2seq": [
        ("python.ops", (
            "attention_wrapper basic_decoder beam_search_decoder beam_search_ops decoder helper loss"
        ), ".contrib.seq2seq .internals.inner_names .internals.operations"),
    ],
    "contrib.slim": [
        ("python.slim.data", (
            "data_decoder data_provider dataset dataset_data_provider parallel_reader prefetch_queue"
        ), ".contrib.slim.data"),
        ("python.slim.data", "tfexample_decoder", ".contrib.slim.tfexample_decoder"),
        ("python.slim", "evaluation", ".contrib.slim.evaluation"),
        ("python.slim.nets", "alexnet", ".contrib.slim.nets.alexnet"),
        ("python.slim.nets", "inception_v1", ".contrib.slim.nets.inception"),
        ("python.slim.nets", "inception_v2", ".contrib.slim.nets.inception"),
        ("python.slim.nets", "inception_v3", ".contrib.slim.nets.inception"),
        ("python.slim.nets", "resnet_utils", ".contrib.slim.nets.resnet_utils"),
        ("python.slim.nets", "resnet_v1", ".contrib.slim.nets.resnet_v1"),
        ("python.slim.nets", "resnet_v2", ".contrib.slim.nets.resnet_v2"),
        ("python.slim.nets", "vgg", ".contrib.slim.nets.vgg"),
        ("python.slim", "learning", ".contrib.slim.learning"),
        ("python.slim", "model_analyzer", ".contrib.slim.model_analyzer"),
        ("python.slim", "queues", ".contrib.slim.queues"),
        ("python.slim", "summaries", ".contrib.slim"),
    ],
    "core": [("lib.core", "error_codes_pb2", ".core.protobuf.error_codes_pb2")],
    "examples": [
        ("tutorials.mnist", "input_data", ".internals.mnist_data"),
        ("tutorials.mnist", "mnist", ".internals.mnist_model"),
    ],
    "python": [
        ("", "pywrap_tensorflow", ". .train .errors"),
        ("", "tf2", ".internals.framework"),
        ("", "debug", ".debug"),
        ("debug.lib", "debug_data debug_utils", ".debug"),
        ("debug.wrappers", "dumping_wrapper framework hooks local_cli_wrapper", ".debug"),
        ("client", "device_lib", ".internals.device_lib"),
        ("client", "session", (
            ".sessions.session actorsession.session actorsession.session.base "
            "actorsession.session.conversions .internals.framework"
        )),
        ("client", "timeline", ".internals.timeline actorsession.observe.timeline"),
        ("data.ops", "dataset_ops iterator_ops readers", ".data .data.structures"),
        ("compat", "compat", ".internals.framework"),
        ("data.experimental", "ops", ".data.experimental"),
        ("data.util", "nest", ".internals.nest"),
        ("data.util", "options random_seed sparse structure", ".data .data.structures .internals.framework"),
        ("eager", "backprop context", ".internals.framework"),
        ("eager", "def_function function", ".ops.traced_functions"),
        ("estimator", "estimator estimator_lib model_fn run_config training", ".estimator"),
        ("estimator", "util", ".estimator .internals.python_tools"),
        ("estimator.canned", "baseline dnn dnn_linear_combined linear", ".estimator"),
        ("estimator.canned", "head metric_keys prediction_keys", ".estimator .internals.training"),
        ("estimator.export", "export export_lib export_output", ".estimator.export"),
        ("estimator.inputs", "inputs numpy_io pandas_io", ".estimator.inputs"),
        ("feature_column", "feature_column feature_column_lib", ".feature_column"),
        ("framework", (
            "config constant_op importer indexed_slices load_library tensor tensor_spec type_spec"
        ), "."),
        ("framework", "ops", ". .internals.framework"),
        ("framework", "dtypes", ".dtypes . .internals.framework"),
        ("framework", "errors errors_impl", ".errors"),
        ("framework", "graph_util graph_util_impl", ".graph_util"),
        ("framework", (
            "common_shapes device device_spec random_seed sparse_tensor tensor_shape tensor_util versions"
        ), ".internals.framework . .compat .internals.operations"),
        ("framework", "meta_graph", ".internals.framework .train"),
        ("framework", "op_def_registry", ".internals.generated"),
        ("framework", "test_util", ".internals.test_util .test"),
        ("framework", "graph_io", ".io .train"),
        ("framework", "smart_cond", ".internals.branches"),
        ("framework", "function", "actorsession.ops.flow.functions"),
        ("framework", "tensor_like", ".internals.framework"),
        ("keras.engine", "input_spec", ".layers"),
        ("layers", "base core layers normalization pooling", ".layers .internals.inner_names"),
        ("layers", "convolutional", ".layers .internals.layer_names .internals.inner_names"),
        ("layers", "utils", ".internals.layer_utils"),
        ("lib.io", "file_io", ".internals.files"),
        ("lib.io", "python_io tf_record", ".python_io"),
        ("ops", (
            "array_grad array_ops_stack clip_ops cond control_flow_case control_flow_grad "
            "control_flow_v2_toggles critical_section_ops ctc_grad cudnn_rnn_grad custom_gradient "
            "data_flow_grad gradients gradients_impl gradients_util histogram_ops image_grad inplace_ops "
            "linalg_grad manip_grad map_fn math_grad optional_grad random_grad "
            "resource_variables_toggle rnn_grad session_ops sort_ops spectral_grad stack standard_ops "
            "state_grad template tensor_array_grad tensor_array_ops tensor_getitem_override "
            "unconnected_gradients while_loop"
        ), ". .internals.inner_names"),
        ("ops", "confusion_matrix", ". .internals.branches"),
        ("ops", "array_ops", ". .internals.operations .internals.generated"),
        ("ops", "check_ops control_flow_assert numerics", ". .debugging"),
        ("ops", "init_ops init_ops_v2", ". .initializers .internals.operations .internals.inner_names"),
        ("ops", "script_ops", ". .internals.inner_names .internals.generated"),
        ("ops", (
            "control_flow_ops control_flow_util partitioned_variables"
        ), ". .internals.operations .internals.control_flow_nodes"),
        ("ops", (
            "ref_variable resource_variable_ops state_ops variable_scope variable_v1 variables"
        ), ". .internals.operations .internals.inner_names .internals.generated"),
        ("ops", "parsing_ops", ". .io"),
        ("ops", "io_ops", ". .io .internals.generated"),
        ("ops", "lookup_ops", ". .lookup"),
        ("ops", "special_math_ops", ". .math"),
        ("ops", "math_ops", ". .math .internals.generated"),
        ("ops", "data_flow_ops", ". .queue .internals.operations .internals.generated"),
        ("ops", "random_ops stateless_random_ops", ". .random"),
        ("ops", "spectral_ops", ". .signal"),
        ("ops", "sparse_grad sparse_ops", ". .sparse .internals.generated"),
        ("ops", "string_ops", ". .strings .internals.generated"),
        ("ops", "logging_ops", ". .summary"),
        ("ops", "audio_ops gen_audio_ops", "actorsession.opsets.signals.audio"),
        ("ops", "bitwise_ops", ".bitwise"),
        ("ops", "collective_ops", ".ops.collective_ops"),
        ("ops", "image_ops image_ops_impl", ".image"),
        ("ops", (
            "gen_array_ops gen_batch_ops gen_bitwise_ops gen_candidate_sampling_ops gen_checkpoint_ops "
            "gen_collective_ops gen_control_flow_ops gen_ctc_ops gen_data_flow_ops gen_dataset_ops "
            "gen_experimental_dataset_ops gen_functional_ops gen_image_ops gen_io_ops gen_linalg_ops "
            "gen_list_ops gen_logging_ops gen_lookup_ops gen_manip_ops gen_math_ops gen_nn_ops "
            "gen_parsing_ops gen_ragged_array_ops gen_ragged_conversion_ops gen_ragged_math_ops "
            "gen_random_ops gen_resource_variable_ops gen_rnn_ops gen_script_ops gen_set_ops "
            "gen_sparse_ops gen_spectral_ops gen_state_ops gen_stateful_random_ops "
            "gen_stateless_random_ops gen_string_ops gen_summary_ops gen_training_ops gen_user_ops list_ops"
        ), ".internals.generated"),
        ("ops", "resources weights_broadcast_ops", ".internals.operations"),
        ("ops", "linalg_ops linalg_ops_impl", ".linalg . .internals.generated"),
        ("ops", "manip_ops", ".manip"),
        ("ops", "metrics metrics_impl", ".metrics .internals.branches"),
        ("ops", "candidate_sampling_ops ctc_ops embedding_ops nn nn_grad", ".nn"),
        ("ops", "nn_impl", ".nn .internals.operations"),
        ("ops", "rnn", ".nn .internals.operations .internals.inner_names"),
        ("ops", "nn_ops", ".nn . .internals.inner_names .internals.generated"),
        ("ops", "rnn_cell rnn_cell_impl", (
            ".nn.rnn_cell .contrib.rnn .internals.operations .internals.inner_names"
        )),
        ("ops", "set_ops sets sets_impl", ".sets"),
        ("ops", "summary_op_util summary_ops", ".summary"),
        ("ops", "gradient_checker gradient_checker_v2", ".test"),
        ("ops", "functional_ops", "actorsession.ops.flow.functional ."),
        ("ops.distributions", (
            "bernoulli beta categorical dirichlet distribution distributions exponential gamma "
            "kullback_leibler laplace multinomial normal student_t uniform util"
        ), ".distributions .contrib.distributions"),
        ("ops.linalg", "linalg linalg_impl", ".linalg ."),
        ("ops.losses", "losses losses_impl util", ".losses"),
        ("ops.signal", (
            "dct_ops fft_ops mel_ops mfcc_ops reconstruction_ops shape_ops signal spectral_ops window_ops"
        ), ".signal ."),
        ("autograph", "experimental", ".autograph.experimental"),
        ("autograph.impl", "api", ".autograph"),
        ("module", "module", "."),
        ("platform", "app", ".app"),
        ("platform", "flags", ".flags"),
        ("platform", "gfile", ".gfile"),
        ("platform", "resource_loader", ".internals.files"),
        ("platform", "tf_logging", ".logging"),
        ("platform", "benchmark", ".test.benchmarks"),
        ("platform", "googletest test", ".test .internals.test_util"),
        ("profiler", (
            "model_analyzer option_builder profiler tfprof_logger"
        ), ".profiler .profiler.logs .profiler.options"),
        ("saved_model", "saved_model simple_save", ".saved_model"),
        ("saved_model", "builder builder_impl", ".saved_model.builder .internals.inner_names"),
        ("saved_model", "constants", ".saved_model.constants"),
        ("saved_model", "loader loader_impl", ".saved_model.loader .internals.inner_names"),
        ("saved_model", "main_op main_op_impl", ".saved_model.main_op"),
        ("saved_model", "signature_constants", ".saved_model.signature_constants"),
        ("saved_model", (
            "signature_def_utils signature_def_utils_impl"
        ), ".saved_model.signature_def_utils"),
        ("saved_model", "tag_constants", ".saved_model.tag_constants"),
        ("saved_model", "utils utils_impl", ".saved_model.utils"),
        ("summary", "summary summary_iterator", ".summary .train"),
        ("summary.writer", "event_file_writer writer writer_cache", ".summary"),
        ("tpu", "tpu_config tpu_estimator tpu_optimizer", ".contrib.tpu"),
        ("tools", (
            "freeze_graph inspect_checkpoint optimize_for_inference_lib strip_unused_lib"
        ), ".internals.tools"),
        ("training", "gen_training_ops training_ops", ".internals.generated"),
        ("training", (
            "adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks checkpoint_management "
            "checkpoint_ops checkpoint_utils coordinator device_setter evaluation ftrl "
            "gradient_descent input learning_rate_decay momentum monitored_session optimizer "
            "proximal_adagrad proximal_gradient_descent py_checkpoint_reader queue_runner "
            "queue_runner_impl rmsprop saver server_lib session_manager session_run_hook "
            "supervisor sync_replicas_optimizer tensorboard_logging training training_util warm_starting_util"
        ), ".train .internals.training .internals.inner_names .internals.operations"),
        ("training", "moving_averages slot_creator", ".train .internals.operations"),
        ("training", "saveable_object", ".internals.inner_names"),
        ("training", "summary_io", ".internals.inner_names .train .internals.training"),
        ("training", "saver_pb2", ".core.protobuf.saver_pb2"),
        ("training.checkpointable", "base data_structures tracking util", ".internals.inner_names .train"),
        ("training.tracking", "base data_structures tracking util", ".internals.inner_names .train"),
        ("user_ops", "user_ops", "."),
        ("util", "compat", ".compat .internals.python_tools .internals.framework"),
        ("util", "nest", ".internals.nest"),
        ("util", (
            "all_util deprecation dispatch function_utils keyword_args lazy_loader tf_decorator tf_export "
            "tf_inspect tf_should_use tf_stack"
        ), ".internals.python_tools"),
        ("util", "object_identity", ".internals.object_identity"),
        ("util", "tf_contextlib", "contextlib"),
    ],
}  # fmt: skip


def module_paths(root: str) -> Iterator[tuple[str, list[str]]]:
    """Return the modules of one part of the table, with the modules that have their names.

    Args:
        root: ``python``, ``examples``, or a package of ``contrib`` such as ``contrib.layers``.
    """
    for package, names, rooms in TABLE[root]:
        for name in names.split():
            yield f"{package}.{name}".removeprefix("."), rooms.split()


def add_modules(package: str) -> None:
    """Make the modules of a part of the table, and the packages that hold them.

    Args:
        package: full name of the package below this one whose name is the part of the table; it has been
            imported.
    """
    for path, rooms in module_paths(package.removeprefix(f"{_V1}.")):
        holder = package
        *packages, last = path.split(".")
        for inner in packages:
            holder = f"{holder}.{inner}"
            if holder not in sys.modules:
                text = f"The modules of {holder.removeprefix(_V1)[1:]}."
                # The packages inside a part of contrib have its names as well.
                names_of = package if ".contrib." in package else ""
                _add(holder, _Package(holder, text, names_of))
        _add(f"{holder}.{last}", _Rooms(f"{holder}.{last}", rooms))


def _add(name: str, module: ModuleType) -> None:
    module.__spec__ = ModuleSpec(name, None, is_package=isinstance(module, _Package))
    sys.modules[name] = module
    above, _, own = name.rpartition(".")
    holder = sys.modules[above]
    # A function that has the name of its module hides it from importers of the package, as in TensorFlow.
    if not (isinstance(holder, _Package) and holder.has(own)):
        setattr(holder, own, module)


class _Package(ModuleType):
    """Holds modules of the table, and has the names of another package if there is one."""

    def __init__(self, name: str, doc: str, names_of: str) -> None:
        super().__init__(name, doc)
        self.__path__: list[str] = []
        self._names_of = names_of

    def has(self, name: str) -> bool:
        """Return whether a name is one of the other package's."""
        return bool(self._names_of) and name in sys.modules[self._names_of].__all__

    def __getattr__(self, name: str) -> Any:
        if self._names_of and not name.startswith("_"):
            own = sys.modules.get(f"{self.__name__}.{name}")
            # The names of the package's namesake, too: those of ``contrib.slim.data``.
            around = sys.modules[self._names_of]
            part = self.__name__.rpartition(".")[2]
            namesake = getattr(around, part) if part in around.__all__ else None
            for holder in (around, namesake):
                if holder is None or isinstance(holder, _Package):
                    continue
                with contextlib.suppress(AttributeError):
                    value = getattr(holder, name)
                    return own if own is not None and isinstance(value, ModuleType) else value
        inner = {n: m.__name__ for n, m in vars(self).items() if isinstance(m, ModuleType)}
        raise NoAttributeError(self.__name__, name, inner, {})


class _Rooms(ModuleType):
    """A module whose names are those of others."""

    def __init__(self, name: str, rooms: list[str]) -> None:
        super().__init__(name, f"The names of TensorFlow's {name.removeprefix(_V1)[1:]}.")
        self._rooms = rooms

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            if name == "__all__":
                return self.__dir__()
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        for room in self._rooms:
            try:
                value = older(getattr(_room(room), name))
            except (AttributeError, ImportError):
                continue
            setattr(self, name, value)
            return value
        # Modules import each other: programs write ``data_flow_ops.gen_data_flow_ops``.
        if (beside := _imported(name)) is not None:
            return beside
        raise NoAttributeError(self.__name__, name, self.__dir__(), {})

    def __dir__(self) -> list[str]:
        names: set[str] = set()
        for room in self._rooms:
            module = _room(room)
            names.update(getattr(module, "__all__", None) or dir(module))
        return sorted(name for name in names if not name.startswith("_"))


def _imported(name: str) -> ModuleType | None:
    """The module of that name which most modules of ``tensorflow.python`` import."""
    for package in ("ops", "framework", "util"):
        if (module := sys.modules.get(f"{_V1}.python.{package}.{name}")) is not None:
            return module
    return None


# The packages and modules below ``contrib.PART.python`` of each part that has no rows above.
_INSIDE = {
    "checkpoint": "containers python_state split_dependency visualize",
    "cluster_resolver": (
        "cluster_resolver gce_cluster_resolver kubernetes_cluster_resolver slurm_cluster_resolver "
        "tfconfig_cluster_resolver tpu_cluster_resolver training"
    ),
    "crf": "crf ops",
    "data": (
        "batching counter dataset_ops enumerate_ops error_ops grouping interleave_ops iterator_ops ops "
        "parsing_ops prefetching_ops random_ops readers resampling scan_ops shuffle_ops sliding threadpool "
        "writers"
    ),
    "eager": "datasets metrics network saver tfe",
    "estimator": (
        "early_stopping estimator export exporter extenders head hooks logit_fns multi_head replicate_model_fn"
    ),
    "feature_column": "feature_column sequence_feature_column",
    "image": ("dense_image_warp distort_image_ops image_ops interpolate_spline ops sparse_image_warp"),
    "legacy_seq2seq": "ops seq2seq",
    "lookup": "lookup_ops",
    "losses": "loss_ops losses metric_learning metric_loss_ops",
    "metrics": "classification confusion_matrix_ops histogram_ops metric_ops metrics ops set_ops",
    "opt": (
        "adamax addsign agn_optimizer drop_stale_gradient_optimizer elastic_average_optimizer "
        "external_optimizer ggt lars_optimizer lazy_adam_optimizer model_average_optimizer "
        "moving_average_optimizer multitask_optimizer_wrapper nadam_optimizer powersign "
        "reg_adagrad_optimizer shampoo sign_decay training variable_clipping_optimizer "
        "weight_decay_optimizers"
    ),
    "predictor": "predictor",
    "staging": "ops",
    "summary": "ops summary",
    "tensorboard": "projector",
    "testing": "fake_summary_writer framework util_test",
    "tpu": "ops tpu tpu_config tpu_estimator tpu_optimizer",
    "training": (
        "bucket_ops device_setter evaluation feeding_queue_runner hparam resample sampling_ops "
        "sequence_queueing_state_saver training tuner"
    ),
    "util": "loader",
}


class _InsideContrib(_Rooms):
    """``contrib.PART.python`` and all that is below it: the names of that part."""

    def __init__(self, part: str, rooms: list[str]) -> None:
        super().__init__(f"{_V1}.contrib.{part}.python", rooms)
        self._part = part
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in _INSIDE.get(self._part, "").split():
            return self
        return super().__getattr__(name)


def inside_contrib(part: str) -> ModuleType:
    """Return the module that stands for ``contrib.PART.python`` and for each below it.

    Args:
        part: the part of ``contrib``, such as ``layers``.
    """
    rooms = [f".contrib.{part}", ".contrib.slim.utils", ".contrib.framework", "."]
    if part == "losses":
        rooms.append(".contrib.metric_learning")
    return _InsideContrib(part, rooms)


def _room(room: str) -> Any:
    """A module of the table's third column."""
    if not room.startswith("."):
        return importlib.import_module(room)
    module: Any = importlib.import_module(_V1)
    for part in room.split("."):
        if part:
            inner = getattr(module, part, None)
            # Modules that are no name of ``tf`` are files.
            module = importlib.import_module(f"{module.__name__}.{part}") if inner is None else inner
    return module
