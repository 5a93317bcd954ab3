"""All torch kernels, and the types that need none."""

from __future__ import annotations

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
from actorsession.devices.torch.kernels.rows import Rows, floats
from actorsession.graph.device_kernels import DeviceKernel
from actorsession.graph.op_signatures import opsets
from actorsession.graph.registry import Kernel, KernelContext, lookup

__all__ = ["HOSTED", "ROWS", "TRANSPARENT", "compiles"]

# What is computed as other types are (``compound``, ``older_form``): those have the kernels of the device there.
_OF_OTHERS = """
    AccumulateNV2 BatchCholesky BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D BatchMatrixBandPart
    BatchMatrixDeterminant BatchMatrixDiag BatchMatrixDiagPart BatchMatrixInverse BatchMatrixSetDiag BatchMatrixSolve
    BatchMatrixSolveLs BatchMatrixTriangularSolve BatchSelfAdjointEigV2 BatchSvd BatchToSpace BiasAddV1 Concat
    Conv3DBackpropFilter Conv3DBackpropInput Gather InTopK MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagV2
    MatrixSetDiag MatrixSetDiagV2 Mod ScatterNdNonAliasingAdd SpaceToBatch TopK

    FusedPadConv2D FusedResizeAndPadConv2D MaxPoolGradGradV2 MaxPoolGradV2 MaxPoolV2 _FusedBatchNormEx _FusedConv2D
    _FusedDepthwiseConv2dNative _FusedMatMul
"""


def _of_others(context: KernelContext) -> Kernel:
    return lookup(context.op).kernel(context)


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
    **lists.ROWS,
    **sparse.ROWS,
    **training.ROWS,
    **{op: DeviceKernel(kernel=_of_others, aliases=True) for op in _OF_OTHERS.split()},
}
# What depends on numbers, keeps a tensor for its next call, or goes through the steps of a sequence one by one.
_OF_NUMBERS = """
    BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage
    CTCLoss CumulativeLogsumexp LRN LRNGrad PadV2 SegmentMax SegmentMin UnsortedSegmentMax UnsortedSegmentMin
"""
_NOT_COMPILED = frozenset(_OF_NUMBERS.split())


def compiles(context: KernelContext) -> bool:
    """Return whether the compiler takes a node; complex numbers torch does not compile."""
    return context.op not in _NOT_COMPILED and floats(context)


_TRANSPARENT = """
    CollectiveAllToAllV2 CollectiveBcastRecv CollectiveBcastRecvV2 CollectiveBcastSend CollectiveBcastSendV2
    CollectiveGather CollectiveGatherV2 CollectiveReduce CollectiveReduceScatterV2 CollectiveReduceV2

    AssignVariableOp DisableCopyOnRead EmptyTensorList EnsureShape GuaranteeConst Identity IdentityN NoOp
    PlaceholderWithDefault PreventGradient ReadVariableOp Snapshot StopGradient TensorListElementShape
    TensorListFromTensor TensorListLength TensorListPushBack TensorListReserve TensorListResize TensorListScatter
    TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem VarHandleOp
"""
TRANSPARENT = frozenset(_TRANSPARENT.split())
"""Operation types whose kernels pass values on and never look into them."""

# What is made of values and not of arrays; random numbers, which are the same on every device; coordinates, and rows of
# any length; numbers of few bits.
_SUBJECTS = """
    accumulators ctc datasets flow lists parsing quantisation queues ragged randomness sampling sparse staging summaries
    tables text
"""
# What LAPACK does for numpy as it does for torch; what only moves memory, in which numpy is as fast; files of images
# and of sound, and what is heard; boxes, which are chosen one after the other; what gives whole numbers, which are the
# host's; what torch has not, or does otherwise; and what is rarer than a kernel is worth.
_OTHERS = """
    BatchCholeskyGrad BatchSelfAdjointEig Cholesky CholeskyGrad LogMatrixDeterminant Lu MatrixDeterminant MatrixInverse
    MatrixLogarithm MatrixSolve MatrixSolveLs MatrixSquareRoot MatrixTriangularSolve Qr SelfAdjointEig SelfAdjointEigV2
    Svd TridiagonalSolve

    Bitcast DynamicPartition DynamicStitch ExtractImagePatches ExtractVolumePatches ImageProjectiveTransformV2
    ImageProjectiveTransformV3 InplaceAdd InplaceSub InplaceUpdate LinSpace MirrorPad MirrorPadGrad ParallelConcat
    ParallelDynamicStitch Range SparseConcat SparseReorder SparseToDense StridedSliceGrad TensorListConcat
    TensorScatterUpdate

    AudioSpectrogram DecodeAndCropJpeg DecodeBmp DecodeGif DecodeImage DecodeJpeg DecodePng DecodeWav
    DeserializeManySparse DeserializeSparse EncodeJpeg EncodeJpegVariableQuality EncodePng EncodeWav ExtractJpegShape
    Mfcc SerializeManySparse SerializeSparse

    CombinedNonMaxSuppression DrawBoundingBoxes DrawBoundingBoxesV2 NonMaxSuppression NonMaxSuppressionV2
    NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps

    Bincount Bucketize DenseBincount HistogramFixedWidth ListDiff LowerBound NearestNeighbors Unique UniqueV2
    UniqueWithCounts UniqueWithCountsV2 UpperBound

    Betainc IgammaGradA MaxPool3DGrad Polygamma RandomGammaGrad Zeta

    AdjustContrast FractionalAvgPoolGrad FractionalMaxPoolGrad IsVariableInitialized ParseSequenceExample
    ParseSingleSequenceExample ScaleAndTranslate ScaleAndTranslateGrad
"""
# Quantisation that is simulated is a sentence.
_SIMULATED = "FakeQuant", "QuantizeAndDequantize"
HOSTED = (
    frozenset(op for subject in _SUBJECTS.split() for op in opsets()[subject] if not op.startswith(_SIMULATED))
    .union(_OTHERS.split())
    .difference(ROWS, TRANSPARENT)
)
"""Operation types that have the kernels of the CPU on purpose: they work on the same memory."""
