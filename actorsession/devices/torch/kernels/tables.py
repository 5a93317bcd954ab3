"""All torch kernels, and the types that need none."""

from __future__ import annotations

from actorsession.devices.torch.kernels import (
    convolutions,
    elementwise,
    images,
    indexing,
    layout,
    linear,
    neural,
    normalisation,
    recurrent,
    reductions,
    signals,
    sparse,
    training,
)
from actorsession.devices.torch.kernels.rows import Rows

__all__ = ["HOSTED", "ROWS", "TRANSPARENT"]

ROWS: Rows = {
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
    **sparse.ROWS,
    **training.ROWS,
}
"""The torch kernels by operation type."""

_TRANSPARENT = """
    AssignVariableOp DisableCopyOnRead EnsureShape GuaranteeConst Identity IdentityN NoOp PlaceholderWithDefault
    PreventGradient ReadVariableOp Snapshot StopGradient VarHandleOp
"""
TRANSPARENT = frozenset(_TRANSPARENT.split())
"""Operation types whose kernels pass values on and never look into them."""

# What is made of values and not of arrays; what must give the same numbers on every device; what LAPACK does for numpy
# as it does for torch; and what only moves memory, in which numpy is as fast or faster.
_HOSTED = """
    AsString AudioSummary AudioSummaryV2 DecodeAndCropJpeg DecodeBmp DecodeCSV DecodeGif DecodeImage DecodeJpeg
    DecodePaddedRaw DecodePng DecodeRaw DecodeWav EmptyTensorList EncodeJpeg EncodePng EncodeWav HistogramSummary
    ImageSummary LinSpace MergeSummary ParseExample ParseExampleV2 ParseSequenceExample ParseSequenceExampleV2
    ParseSingleExample ParseSingleSequenceExample ParseTensor Range ScalarSummary SerializeManySparse SerializeSparse
    SerializeTensor SparseToDense StringFormat StringToNumber TensorListConcat TensorListConcatLists
    TensorListConcatV2 TensorListElementShape TensorListFromTensor TensorListGather TensorListGetItem TensorListLength
    TensorListPopBack TensorListPushBack TensorListPushBackBatch TensorListReserve TensorListResize TensorListScatter
    TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack
    TensorSummary TensorSummaryV2

    RandomGammaGrad StatelessMultinomial StatelessParameterizedTruncatedNormal StatelessRandomBinomial
    StatelessRandomGammaV2 StatelessRandomGammaV3 StatelessRandomNormal StatelessRandomNormalV2 StatelessRandomPoisson
    StatelessRandomUniform StatelessRandomUniformV2 StatelessShuffle StatelessTruncatedNormal StatelessTruncatedNormalV2

    BatchSelfAdjointEig Cholesky CholeskyGrad LogMatrixDeterminant Lu MatrixDeterminant MatrixInverse MatrixLogarithm
    MatrixSolve MatrixSolveLs MatrixSquareRoot MatrixTriangularSolve Qr SelfAdjointEig SelfAdjointEigV2 Svd
    TridiagonalSolve

    DynamicPartition DynamicStitch MirrorPad MirrorPadGrad ParallelDynamicStitch StridedSliceGrad TensorScatterUpdate
"""
HOSTED = frozenset(_HOSTED.split())
"""Operation types that have the kernels of the CPU on purpose: they work on the same memory."""
