"""All torch kernels, and the types that need none."""

from __future__ import annotations

from dataclasses import replace

from actorsession.devices.torch.kernels import (
    convolutions,
    elementwise,
    images,
    indexing,
    layout,
    linear,
    lists,
    neural,
    normalisation,
    recurrent,
    reductions,
    signals,
    sparse,
    training,
)
from actorsession.devices.torch.kernels.rows import Rows
from actorsession.graph.op_signatures import opsets

__all__ = ["HOSTED", "ROWS", "TRANSPARENT"]

_ROWS: Rows = {
    **elementwise.ROWS,
    **reductions.ROWS,
    **linear.ROWS,
    **neural.ROWS,
    **normalisation.ROWS,
    **convolutions.ROWS,
    **recurrent.ROWS,
    **images.ROWS,
    **signals.ROWS,
    **layout.ROWS,
    **indexing.ROWS,
    **lists.ROWS,
    **sparse.ROWS,
    **training.ROWS,
}
# What depends on numbers, keeps a tensor for its next call, or goes through the steps of a sequence one by one.
_NOT_COMPILED = """
    BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage
    CumulativeLogsumexp LRN LRNGrad PadV2 SegmentMax SegmentMin UnsortedSegmentMax UnsortedSegmentMin
"""
ROWS: Rows = _ROWS | {op: replace(_ROWS[op], compiles=lambda context: False) for op in _NOT_COMPILED.split()}
"""The torch kernels by operation type."""

_TRANSPARENT = """
    AssignVariableOp DisableCopyOnRead EmptyTensorList EnsureShape GuaranteeConst Identity IdentityN NoOp
    PlaceholderWithDefault PreventGradient ReadVariableOp Snapshot StopGradient TensorListElementShape
    TensorListFromTensor TensorListLength TensorListPushBack TensorListReserve TensorListResize TensorListScatter
    TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem VarHandleOp
"""
TRANSPARENT = frozenset(_TRANSPARENT.split())
"""Operation types whose kernels pass values on and never look into them."""

# What is made of values and not of arrays, and random numbers, which are the same on every device.
_SUBJECTS = "accumulators datasets flow lists parsing queues randomness staging summaries tables text"
# What LAPACK does for numpy as it does for torch; what only moves memory, in which numpy is as fast; and files of
# images and of sound.
_OTHERS = """
    BatchSelfAdjointEig Cholesky CholeskyGrad LogMatrixDeterminant Lu MatrixDeterminant MatrixInverse MatrixLogarithm
    MatrixSolve MatrixSolveLs MatrixSquareRoot MatrixTriangularSolve Qr SelfAdjointEig SelfAdjointEigV2 Svd
    TridiagonalSolve

    DynamicPartition DynamicStitch ExtractImagePatches LinSpace MirrorPad MirrorPadGrad ParallelDynamicStitch Range
    SparseConcat SparseReorder SparseToDense StridedSliceGrad TensorListConcat TensorScatterUpdate

    DecodeAndCropJpeg DecodeBmp DecodeGif DecodeImage DecodeJpeg DecodePng DecodeWav DeserializeManySparse
    DeserializeSparse EncodeJpeg EncodeJpegVariableQuality EncodePng EncodeWav RandomGammaGrad SerializeManySparse
    SerializeSparse
"""
HOSTED = (
    frozenset(op for subject in _SUBJECTS.split() for op in opsets()[subject])
    .union(_OTHERS.split())
    .difference(ROWS, TRANSPARENT)
)
"""Operation types that have the kernels of the CPU on purpose: they work on the same memory."""
