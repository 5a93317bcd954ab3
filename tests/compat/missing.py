"""What programs for TensorFlow 1 use and is not here, and what is called otherwise here, with the reasons."""

from __future__ import annotations

MISSING: tuple[str, ...] = (
    # Programs import these by themselves; they stand in ``saved_model`` and its modules.
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "PREDICT_METHOD_NAME",
    "SERVING",
    "SavedModelBuilder",
    "build_signature_def",
    "build_tensor_info",
)

_MESSAGE = "A message is made of named fields; TensorFlow's takes anything and looks at it later."
_ERROR = (
    "An error here takes its message alone, or TensorFlow's three arguments, which are therefore not named "
    "in the signature."
)
_MADE_BY_GRAPHS = "Only graphs make it; programs look at it."
_LAYOUT = "A layout spreads a tensor over a mesh of devices, which is not here."
_INDICES = "Indices out of range are errors, so there is no policy for them."

OTHERWISE: dict[str, str] = {
    **dict.fromkeys(
        (
            "AttrValue", "ConfigProto", "Event", "HistogramProto", "LogMessage", "NameAttrList",
            "SessionLog", "Summary",
            "SummaryMetadata", "summary.Event", "summary.SessionLog", "summary.Summary",
            "summary.SummaryDescription", "summary.TaggedRunMetadata",
            "GPUOptions", "GraphDef", "GraphOptions", "MetaGraphDef",
            "NodeDef", "OptimizerOptions", "RunMetadata", "RunOptions", "TensorInfo", "train.BytesList",
            "train.ClusterDef", "train.Example", "train.Feature", "train.FeatureList",
            "train.FeatureLists", "train.Features", "train.FloatList", "train.Int64List",
            "train.JobDef", "train.SaverDef", "train.SequenceExample", "train.ServerDef",
        ),
        _MESSAGE,
    ),
    **dict.fromkeys(("DType", "Operation", "Tensor", "dtypes.DType"), _MADE_BY_GRAPHS),
    "OpError": _ERROR,
    **{
        f"errors.{name}Error": _ERROR
        for name in (
            "Aborted", "AlreadyExists", "Cancelled", "DataLoss", "DeadlineExceeded",
            "FailedPrecondition", "Internal", "InvalidArgument", "NotFound", "Op", "OutOfRange",
            "PermissionDenied", "ResourceExhausted", "Unauthenticated", "Unavailable",
            "Unimplemented", "Unknown",
        )
    },
    **dict.fromkeys(("fill", "ones", "zeros"), _LAYOUT),
    **dict.fromkeys(("gather_nd", "manip.gather_nd", "manip.scatter_nd", "scatter_nd"), _INDICES),
    **dict.fromkeys(
        ("einsum", "linalg.einsum"),
        "It takes a name and optimize and nothing else by name, as TensorFlow's does when it runs.",
    ),
    **dict.fromkeys(
        tuple(f"random.stateless_{n}" for n in ("normal", "truncated_normal", "uniform")),
        "There is one generator, so there is none to choose.",
    ),
    "group": "It takes a name and nothing else by name, as TensorFlow's does when it runs.",
    "meshgrid": "It takes indexing and a name and nothing else by name, as TensorFlow's does when it runs.",
    "print": "What it takes by name has its names here; TensorFlow's takes anything and looks at it later.",
    "image.encode_jpeg": "Chroma, density and metadata of the file are left to the library that writes it.",
    "make_tensor_proto": "A value has the number of elements that its shape says; nothing is broadcast.",
}  # fmt: skip
