"""The intended differences, each with its reason; ``docs/semantics.md`` describes most of them in detail."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["REASONS", "Reason"]


@dataclass(frozen=True)
class Reason:
    """The reason for a difference of programs.

    Attributes:
        programs: a name, or a shell pattern of names.
        kinds: the kinds of difference (``compare.KINDS``); each must occur in some program.
        why: the reason in a sentence.
        theirs: an expression for what TensorFlow gave; anything if empty.
    """

    programs: str
    kinds: tuple[str, ...]
    why: str
    theirs: str = ""

    def matches(self, name: str) -> bool:
        """Return whether the reason applies to a program."""
        return fnmatchcase(name, self.programs)

    def explains(self, name: str, kind: str, theirs: str) -> bool:
        """Return whether the reason is one for a difference of a program."""
        return kind in self.kinds and self.matches(name) and re.search(self.theirs, theirs) is not None


def _all(why: str, kinds: str, patterns: str, theirs: str = "") -> list[Reason]:
    """Return one reason for each of the patterns in a text."""
    return [Reason(pattern, tuple(kinds.split()), why, theirs) for pattern in patterns.split()]


REASONS: tuple[Reason, ...] = (
    *_all(
        "What is wrong whatever is fed is refused on the line that builds it, with the classes that building has; "
        "TensorFlow leaves these to its kernels.",
        "error moment",
        """
        arrays/transpose-twice-the-same arrays/reshape--1x-1-* arrays/roll-axis* arrays/one-hot-axis3
        arrays/cum*-axis3* arrays/cum*-axis-4* arrays/tile-1x-1x1 reductions/*-[[]0,0] slicing/slice-[[]0,0,3]*-known
        slicing/slice-[[]-1,0,0]* binary/realdiv-int32 gather/batch2-axis2 strings/cast
        errors/conv-strides images/crops-of-nothing assorted/unravel-square assorted/fake-quant-*-1
        assorted/fake-quant-args-0.0-0.0-* assorted/fake-quant-args-3.0-1.0-*
        images/drawn-many-on-one sparse-pieces/split-*-axis2 sparse-pieces/split-6-axis-1
        sparse-pieces/reduce-*-2-*
        """,
    ),
    *_all(
        "TensorFlow says of where the regions of a fractional pool begin that it is a number shorter than it is.",
        "static",
        "assorted/fractional-max-* assorted/fractional-avg-* rows/FractionalMaxPool-* rows/FractionalAvgPool-*",
    ),
    *_all(
        "An axis outside is a ValueError here wherever it is found while building.",
        "error",
        "nn/*softmax-axis5 signals/frames-axis5",
    ),
    *_all(
        "A shape is int32 or int64; TensorFlow gives static shapes in any dtype, and others fail in the step.",
        "error",
        "arrays/shape-size-rank-float32",
    ),
    *_all(
        "TensorFlow computes small constant graphs while building, to know more of a shape; here a shape is what "
        "follows from constants that operations are given directly. Values are the same.",
        "static",
        "segments/partition-and-stitch",
    ),
    *_all(
        "A list is no index here: TensorFlow takes it for a corner of a slice, which is hardly meant.",
        "error",
        "slicing/list-*",
    ),
    *_all(
        "Names that users ask for and names of results by default are TensorFlow's. How an operation that is made "
        "of several names the others, and of how many it is made, is not promised.",
        "name",
        "gradients/names-own",
    ),
    *_all(
        "Names that users ask for and names of results by default are TensorFlow's. How an operation that is made "
        "of several names the others, and of how many it is made, is not promised.",
        "facts",
        "graphs/nodes-of-* scopes/names-entropy-* scopes/names-fills-* scopes/names-ranges-*",
    ),
    *_all(
        "Division by zero is an InvalidArgumentError for all four functions; two of TensorFlow's kernels forgot "
        "to declare it and report an InternalError.",
        "error",
        "binary/truncatediv-by-zero binary/truncatemod-by-zero",
    ),
    *_all(
        "Both refuse; here with the error that says so, there with one of Python's on the way.",
        "error",
        "operators/or-float32-tensor-number errors/name-number errors/lookup-device queues/fifo-wrong-text",
    ),
    *_all(
        "A Python integer that does not fit its dtype is refused; TensorFlow wraps it round, or fails with an "
        "OverflowError, as its size has it.",
        "error",
        "promotion/convert-*large-to-int32 promotion/int32-times-*large feeds/list-of-large",
    ),
    *_all(
        "An index outside is found before anything is written, so that an error leaves the variable as it was; "
        "TensorFlow writes the rows before it.",
        "value",
        "scatter/scatter_nd_*",
    ),
    *_all("A fed None is refused: it is a missing value more often than a NaN.", "error", "feeds/none"),
    *_all(
        "What a feed would lose is refused; TensorFlow drops imaginary parts.",
        "error",
        "feeds/complex-to-float feeds/array-of-complex128",
    ),
    *_all(
        "What stands for an operation among results is a bool whose value means nothing; here it is always true.",
        "value",
        "control-flow/cond-operation",
    ),
    *_all(
        "exclusive=True is checked in every step; TensorFlow's check is pruned away when a default is missing.",
        "error",
        "control-flow/case-True-False",
    ),
    *_all(
        "A list of two is two components, which the queue has not; TensorFlow takes it for one component of "
        "another shape, and loses the second.",
        "error",
        "queues/fifo-wrong-number",
    ),
    *_all("An empty name asks for the default one.", "error", "scopes/name--of-a-node"),
    *_all(
        "A loop whose variable changes its dtype is refused on its line; TensorFlow's step fails.",
        "error moment",
        "control-flow/while-other-dtype",
    ),
    *_all("What an object looks like when it is printed says which library it is of.", "facts", "graphs/texts"),
    *_all(
        "Python's types stand for the dtypes that constants of them have; TensorFlow knows few of them.",
        "error",
        "graphs/dtype-of-python-* graphs/dtype-of-bytes",
    ),
    *_all(
        "TensorFlow has no kernel for such element types on a CPU, or its list of types leaves them out.",
        "error",
        "rows/*",
        theirs="No OpKernel was registered|not in the list of allowed values|for unsupported dtype",
    ),
    *_all(
        "What shows only in the step is an InvalidArgumentError here; TensorFlow's classes differ, and its shape "
        "functions refuse some of it before.",
        "error moment",
        "rows/*/fault-*",
        theirs="Error|building",
    ),
    *_all("More of a shape is known here before the step.", "exact", "rows/*"),
    *_all(
        "TensorFlow computes these in float32, whatever their type is.",
        "value",
        "rows/CTCLoss-* rows/CTCBeamSearchDecoder-*",
    ),
    *_all(
        "Nothing is an input like any other; some of TensorFlow's kernels refuse it.",
        "error",
        """
        rows/FractionalMaxPool-*/3 rows/FractionalAvgPool-*/3 rows/MirrorPad-reflect/2 rows/MirrorPadGrad-*/4
        rows/MaxPoolWithArgmax/2 rows/UnravelIndex/2 rows/ParseSequenceExampleV2-batch-2/0
        """,
    ),
    *_all(
        "TensorFlow computes the pool again and refuses another result than its own.",
        "error",
        "rows/FractionalMaxPoolGrad-*/[01]",
    ),
    *_all(
        "TensorFlow's gradient takes no axes from the end.",
        "error",
        "rows/Transpose/smooth-1 rows/ConjugateTranspose-by-parts/smooth-0",
    ),
    *_all(
        "There are gradients that TensorFlow has not.",
        "error",
        "rows/Lu-gradient/smooth-* rows/*RFFT*-cut-parts/smooth-* rows/MaxPool-channels/smooth-0 "
        "rows/SparseDenseCwise[MD]??/smooth-0 rows/Svd-full_values_gradient/smooth-1",
    ),
    *_all(
        "Fewer axes, or fewer operands, are taken than TensorFlow's shape functions and signatures demand.",
        "error",
        "rows/BiasAdd-NCHW/[56] rows/BiasAddGrad-NCHW/* rows/ConcatOffset/4",
    ),
    *_all(
        "What cannot be right is refused; some of TensorFlow's kernels do not look at all of it.",
        "error",
        "rows/*/fault-*",
        theirs="^no error",
    ),
    *_all(
        "TensorFlow's process ends with a failed check.",
        "broken",
        """
        rows/Conv2D/fault-1 rows/MaxPoolGradWithArgmax/fault-0 rows/FakeQuantWithMinMaxVarsPerChannel/fault-1
        rows/*RFFT*
        """,
    ),
    *_all(
        "Of an image without elements oneDNN's convolution says the shape of its first operand.",
        "shape",
        "rows/Conv2D/5 rows/Conv3D/1",
    ),
    *_all(
        "Rounding leaves whole numbers as they are; TensorFlow's kernel gives zeros.", "value", "rows/Round-integers/*"
    ),
    *_all(
        "Other codecs for JPEG and PNG: pixels that JPEG rounds may differ by two, and bytes of files do.",
        "value",
        "rows/DecodeJpeg-* rows/DecodeImage* rows/DecodeAndCropJpeg/0 rows/EncodePng/* rows/EncodeJpeg*",
    ),
    *_all(
        "What a file says of its number of axes is not trusted before it is read.", "static", "rows/DecodeImage-first/*"
    ),
    *_all(
        "Sums of many numbers of float32 in another order.",
        "value",
        "rows/ResizeBilinearGrad-*/1 rows/ResizeBicubicGrad-*/1",
    ),
    *_all(
        "TensorFlow does not write what is made of nothing, so it is what memory held.",
        "value",
        "rows/RFFT*-length/2 rows/SparseSegment*Grad/2",
    ),
    *_all(
        "NaN is an extremum only if there is nothing else, wherever it stands; TensorFlow's kernels have the last "
        "that they met.",
        "value",
        "rows/TopKV2/12 rows/SegmentM??/3 rows/UnsortedSegmentM??/4",
    ),
    *_all("Halves are summed up as float32.", "value", "rows/L2Loss/5"),
    *_all(
        "An image that keeps its size is left as it is; TensorFlow multiplies its neighbours by 0, which NaN survives.",
        "value",
        "rows/ResizeBicubic-*-same/4",
    ),
    *_all(
        "What a node keeps for its gradient beyond its results has another shape.", "type shape", "rows/FusedBatchNorm*"
    ),
    *_all(
        "Where nothing depends on an input there is no gradient; TensorFlow's has zeros.",
        "static",
        "rows/FusedBatchNormGradV3-inference/smooth-0",
    ),
    *_all(
        "With an infinity among them all are NaN; TensorFlow's kernel has 0 for the others.", "value", "rows/Softmax/6"
    ),
    *_all(
        "The gradients are those of all results; TensorFlow leaves out what the second adds to that by the labels.",
        "value",
        "rows/SoftmaxCrossEntropyWithLogits*/smooth-0",
    ),
    *_all(
        "What is gathered twice counts twice in the gradient; of TensorFlow's the last one stays.",
        "value",
        "rows/TensorListGather/smooth-0",
    ),
    *_all("At the infinities TensorFlow's erf of float64 is NaN.", "value", "rows/Erf/3"),
    *_all(
        "Vectors are determined up to their signs, and with them what gradients of their sum are.",
        "value",
        "rows/SelfAdjointEigV2-gradient/* rows/Svd-vectors_gradient/*",
    ),
    *_all(
        "Vectors that are not computed have the shape [0] that TensorFlow says before the step and does not keep.",
        "type shape",
        "rows/SelfAdjointEigV2-values* rows/Svd-values*",
    ),
    *_all("The rank of a list's elements is known in the step.", "static", "rows/TensorListElementShape/0"),
    *_all(
        "The means of an empty batch in inference are those that are given.",
        "value",
        "rows/FusedBatchNormV3-inference/1",
    ),
)
