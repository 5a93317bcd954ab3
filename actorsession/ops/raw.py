# Written by scripts/generated.py.
"""A function for each operation type, under TensorFlow's names, that adds one node.

Each takes the inputs and attributes of the type's row in ``graph/op_signatures.txt``. Operands that are no
tensors are converted; attributes that follow from the inputs may be left out. A function of a type with
several outputs returns a named tuple, and one of a type without outputs the operation. Gradients and the
functions of this package are written with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorsession.graph.dtypes import (
    complex64,
    float32,
    int32,
    int64,
    qint32,
    quint8,
    string,
    uint8,
    uint64,
)
from actorsession.ops.apply import Operand, Operands, Value, many, node, one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorsession.graph.dtypes import DTypeLike
    from actorsession.graph.operation import Operation, Tensor
    from actorsession.graph.shape import ShapeLike

__all__ = [
    "Abs", "AccumulateNV2", "AccumulatorApplyGradient", "AccumulatorNumAccumulated",
    "AccumulatorSetGlobalStep", "AccumulatorTakeGradient", "Acos", "Acosh", "Add",
    "AddManySparseToTensorsMap", "AddN", "AddSparseToTensorsMap", "AddV2", "AdjustContrast",
    "AdjustContrastv2", "AdjustHue", "AdjustSaturation", "All", "AllCandidateSampler", "Angle",
    "AnonymousIterator", "Any", "ApplyAdaMax", "ApplyAdadelta", "ApplyAdagrad", "ApplyAdagradDA",
    "ApplyAdagradV2", "ApplyAdam", "ApplyAddSign", "ApplyCenteredRMSProp", "ApplyFtrl",
    "ApplyFtrlV2", "ApplyGradientDescent", "ApplyMomentum", "ApplyPowerSign",
    "ApplyProximalAdagrad", "ApplyProximalGradientDescent", "ApplyRMSProp", "ApproximateEqual",
    "ArgMax", "ArgMin", "AsString", "Asin", "Asinh", "Assert", "AssertCardinalityDataset",
    "AssertNextDataset", "Assign", "AssignAdd", "AssignAddVariableOp", "AssignSub",
    "AssignSubVariableOp", "AssignVariableOp", "AsyncPyFunc", "Atan", "Atan2", "Atanh",
    "AudioSpectrogram", "AudioSummary", "AudioSummaryV2", "AvgPool", "AvgPool3D", "AvgPool3DGrad",
    "AvgPoolGrad", "Barrier", "BarrierClose", "BarrierIncompleteSize", "BarrierInsertMany",
    "BarrierReadySize", "BarrierTakeMany", "BatchCholesky", "BatchCholeskyGrad", "BatchDataset",
    "BatchDatasetV2", "BatchFFT", "BatchFFT2D", "BatchFFT3D", "BatchIFFT", "BatchIFFT2D",
    "BatchIFFT3D", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "BatchMatrixBandPart",
    "BatchMatrixDeterminant", "BatchMatrixDiag", "BatchMatrixDiagPart", "BatchMatrixInverse",
    "BatchMatrixSetDiag", "BatchMatrixSolve", "BatchMatrixSolveLs", "BatchMatrixTriangularSolve",
    "BatchNormWithGlobalNormalization", "BatchNormWithGlobalNormalizationGrad",
    "BatchSelfAdjointEig", "BatchSelfAdjointEigV2", "BatchSvd", "BatchToSpace", "BatchToSpaceND",
    "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "Betainc", "BiasAdd", "BiasAddGrad",
    "BiasAddV1", "Bincount", "Bitcast", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BlockLSTM",
    "BlockLSTMGrad", "BlockLSTMGradV2", "BlockLSTMV2", "BroadcastArgs", "BroadcastGradientArgs",
    "BroadcastTo", "Bucketize", "CSVDataset", "CSVDatasetV2", "CTCBeamSearchDecoder",
    "CTCGreedyDecoder", "CTCLoss", "CacheDataset", "CacheDatasetV2", "Cast", "Ceil",
    "CheckNumerics", "CheckNumericsV2", "Cholesky", "CholeskyGrad", "ClipByValue",
    "CollectiveAllToAllV2", "CollectiveBcastRecv", "CollectiveBcastRecvV2", "CollectiveBcastSend",
    "CollectiveBcastSendV2", "CollectiveGather", "CollectiveGatherV2", "CollectiveReduce",
    "CollectiveReduceScatterV2", "CollectiveReduceV2", "CombinedNonMaxSuppression", "Complex",
    "ComplexAbs", "ComputeAccidentalHits", "Concat", "ConcatOffset", "ConcatV2",
    "ConcatenateDataset", "ConditionalAccumulator", "Conj", "ConjugateTranspose", "Const",
    "ConsumeMutexLock", "ControlTrigger", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput",
    "Conv3D", "Conv3DBackpropFilter", "Conv3DBackpropFilterV2", "Conv3DBackpropInput",
    "Conv3DBackpropInputV2", "Cos", "Cosh", "CountUpTo", "CropAndResize", "CropAndResizeGradBoxes",
    "CropAndResizeGradImage", "Cross", "Cumprod", "Cumsum", "CumulativeLogsumexp",
    "DataFormatDimMap", "DataFormatVecPermute", "DatasetCardinality", "DatasetToSingleElement",
    "DecodeAndCropJpeg", "DecodeBase64", "DecodeBmp", "DecodeCSV", "DecodeCompressed", "DecodeGif",
    "DecodeImage", "DecodeJSONExample", "DecodeJpeg", "DecodePaddedRaw", "DecodePng", "DecodeRaw",
    "DecodeWav", "DeepCopy", "DeleteSessionTensor", "DenseBincount", "DenseCountSparseOutput",
    "DenseToDenseSetOperation", "DenseToSparseBatchDataset", "DenseToSparseSetOperation",
    "DepthToSpace", "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter",
    "DepthwiseConv2dNativeBackpropInput", "Dequantize", "DeserializeIterator",
    "DeserializeManySparse", "DeserializeSparse", "DestroyResourceOp", "DestroyTemporaryVariable",
    "Diag", "DiagPart", "Digamma", "Dilation2D", "Dilation2DBackpropFilter",
    "Dilation2DBackpropInput", "DirectedInterleaveDataset", "DisableCopyOnRead", "Div", "DivNoNan",
    "DrawBoundingBoxes", "DrawBoundingBoxesV2", "DummyMemoryCache", "DummySeedGenerator",
    "DynamicPartition", "DynamicStitch", "EditDistance", "Einsum", "Elu", "EluGrad", "Empty",
    "EmptyTensorList", "EncodeBase64", "EncodeJpeg", "EncodeJpegVariableQuality", "EncodePng",
    "EncodeWav", "EnsureShape", "Enter", "Equal", "Erf", "Erfc", "Erfinv", "EuclideanNorm", "Exit",
    "Exp", "ExpandDims", "ExperimentalAssertNextDataset", "ExperimentalDatasetCardinality",
    "ExperimentalDenseToSparseBatchDataset", "ExperimentalDirectedInterleaveDataset",
    "ExperimentalGroupByReducerDataset", "ExperimentalGroupByWindowDataset",
    "ExperimentalIgnoreErrorsDataset", "ExperimentalMapAndBatchDataset",
    "ExperimentalMaxIntraOpParallelismDataset", "ExperimentalParallelInterleaveDataset",
    "ExperimentalParseExampleDataset", "ExperimentalPrivateThreadPoolDataset",
    "ExperimentalRandomDataset", "ExperimentalScanDataset", "ExperimentalSlidingWindowDataset",
    "ExperimentalTakeWhileDataset", "ExperimentalUnbatchDataset", "ExperimentalUniqueDataset",
    "Expm1", "ExtractGlimpse", "ExtractGlimpseV2", "ExtractImagePatches", "ExtractJpegShape",
    "ExtractVolumePatches", "FFT", "FFT2D", "FFT3D", "FIFOQueue", "FIFOQueueV2",
    "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxArgsGradient", "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannel",
    "FakeQuantWithMinMaxVarsPerChannelGradient", "Fill", "FilterDataset", "Fingerprint",
    "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "FixedLengthRecordReader",
    "FixedLengthRecordReaderV2", "FixedUnigramCandidateSampler", "FlatMapDataset", "Floor",
    "FloorDiv", "FloorMod", "FractionalAvgPool", "FractionalAvgPoolGrad", "FractionalMaxPool",
    "FractionalMaxPoolGrad", "FusedBatchNorm", "FusedBatchNormGrad", "FusedBatchNormGradV2",
    "FusedBatchNormGradV3", "FusedBatchNormV2", "FusedBatchNormV3", "FusedPadConv2D",
    "FusedResizeAndPadConv2D", "GRUBlockCell", "GRUBlockCellGrad", "Gather", "GatherNd", "GatherV2",
    "GenerateVocabRemapping", "GeneratorDataset", "GetSessionHandle", "GetSessionTensor", "Greater",
    "GreaterEqual", "GroupByReducerDataset", "GroupByWindowDataset", "GuaranteeConst", "HSVToRGB",
    "HashTable", "HashTableV2", "HistogramFixedWidth", "HistogramSummary", "IFFT", "IFFT2D",
    "IFFT3D", "IRFFT", "IRFFT2D", "IRFFT3D", "Identity", "IdentityN", "IdentityReader",
    "IdentityReaderV2", "If", "Igamma", "IgammaGradA", "Igammac", "IgnoreErrorsDataset", "Imag",
    "ImageProjectiveTransformV2", "ImageProjectiveTransformV3", "ImageSummary", "InTopK",
    "InTopKV2", "InitializeTable", "InitializeTableFromTextFile", "InitializeTableFromTextFileV2",
    "InitializeTableV2", "InplaceAdd", "InplaceSub", "InplaceUpdate", "InterleaveDataset", "Inv",
    "InvGrad", "Invert", "InvertPermutation", "IsFinite", "IsInf", "IsNan", "IsVariableInitialized",
    "Iterator", "IteratorFromStringHandle", "IteratorFromStringHandleV2", "IteratorGetNext",
    "IteratorGetNextAsOptional", "IteratorGetNextSync", "IteratorToStringHandle", "IteratorV2",
    "KMC2ChainInitialization", "KmeansPlusPlusInitialization", "L2Loss", "LRN", "LRNGrad",
    "LSTMBlockCell", "LSTMBlockCellGrad", "LeakyRelu", "LeakyReluGrad",
    "LearnedUnigramCandidateSampler", "LeftShift", "LegacyParallelInterleaveDatasetV2", "Less",
    "LessEqual", "Lgamma", "LinSpace", "ListDiff", "LoadAndRemapMatrix", "Log", "Log1p",
    "LogMatrixDeterminant", "LogSoftmax", "LogUniformCandidateSampler", "LogicalAnd", "LogicalNot",
    "LogicalOr", "LookupTableExport", "LookupTableExportV2", "LookupTableFind", "LookupTableFindV2",
    "LookupTableImport", "LookupTableImportV2", "LookupTableInsert", "LookupTableInsertV2",
    "LookupTableRemoveV2", "LookupTableSize", "LookupTableSizeV2", "LoopCond", "LowerBound", "Lu",
    "MakeIterator", "MapAndBatchDataset", "MapClear", "MapDataset", "MapIncompleteSize", "MapPeek",
    "MapSize", "MapStage", "MapUnstage", "MapUnstageNoKey", "MatMul", "MatchingFiles",
    "MatrixBandPart", "MatrixDeterminant", "MatrixDiag", "MatrixDiagPart", "MatrixDiagPartV2",
    "MatrixDiagPartV3", "MatrixDiagV2", "MatrixDiagV3", "MatrixInverse", "MatrixLogarithm",
    "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "MatrixSolve", "MatrixSolveLs",
    "MatrixSquareRoot", "MatrixTriangularSolve", "Max", "MaxIntraOpParallelismDataset", "MaxPool",
    "MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad", "MaxPoolGrad", "MaxPoolGradGrad",
    "MaxPoolGradGradV2", "MaxPoolGradV2", "MaxPoolGradWithArgmax", "MaxPoolV2", "MaxPoolWithArgmax",
    "Maximum", "Mean", "Merge", "MergeSummary", "MergeV2Checkpoints", "Mfcc", "Min", "Minimum",
    "MirrorPad", "MirrorPadGrad", "Mod", "ModelDataset", "Mul", "MulNoNan", "Multinomial",
    "MutableDenseHashTable", "MutableDenseHashTableV2", "MutableHashTable",
    "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableHashTableV2", "MutexLock",
    "MutexV2", "Ndtri", "NearestNeighbors", "Neg", "NextAfter", "NextIteration", "NoOp",
    "NonDeterministicInts", "NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3",
    "NonMaxSuppressionV4", "NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps",
    "NonSerializableDataset", "NotEqual", "NthElement", "OneHot", "OneShotIterator", "OnesLike",
    "OptimizeDataset", "OptimizeDatasetV2", "OptionalFromValue", "OptionalGetValue",
    "OptionalHasValue", "OptionalNone", "OptionsDataset", "OrderedMapClear",
    "OrderedMapIncompleteSize", "OrderedMapPeek", "OrderedMapSize", "OrderedMapStage",
    "OrderedMapUnstage", "OrderedMapUnstageNoKey", "Pack", "Pad", "PadV2", "PaddedBatchDataset",
    "PaddedBatchDatasetV2", "PaddingFIFOQueue", "PaddingFIFOQueueV2", "ParallelBatchDataset",
    "ParallelConcat", "ParallelDynamicStitch", "ParallelInterleaveDataset",
    "ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3", "ParallelInterleaveDatasetV4",
    "ParallelMapDataset", "ParallelMapDatasetV2", "ParameterizedTruncatedNormal", "ParseExample",
    "ParseExampleDataset", "ParseExampleDatasetV2", "ParseExampleV2", "ParseSequenceExample",
    "ParseSequenceExampleV2", "ParseSingleExample", "ParseSingleSequenceExample", "ParseTensor",
    "PartitionedCall", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Polygamma",
    "PopulationCount", "Pow", "PrefetchDataset", "PreventGradient", "Print", "PrintV2",
    "PriorityQueue", "PriorityQueueV2", "PrivateThreadPoolDataset", "Prod", "PyFunc",
    "PyFuncStateless", "Qr", "QuantizeAndDequantize", "QuantizeAndDequantizeV2",
    "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4", "QuantizeAndDequantizeV4Grad",
    "QuantizeDownAndShrinkRange", "QuantizeV2", "QuantizedAdd", "QuantizedAvgPool",
    "QuantizedBatchNormWithGlobalNormalization", "QuantizedBiasAdd", "QuantizedConcat",
    "QuantizedConv2D", "QuantizedMatMul", "QuantizedMaxPool", "QuantizedMul", "QuantizedRelu",
    "QuantizedRelu6", "QuantizedReshape", "QueueClose", "QueueCloseV2", "QueueDequeue",
    "QueueDequeueMany", "QueueDequeueManyV2", "QueueDequeueUpTo", "QueueDequeueUpToV2",
    "QueueDequeueV2", "QueueEnqueue", "QueueEnqueueMany", "QueueEnqueueManyV2", "QueueEnqueueV2",
    "QueueIsClosed", "QueueIsClosedV2", "QueueSize", "QueueSizeV2", "RFFT", "RFFT2D", "RFFT3D",
    "RGBToHSV", "RaggedBincount", "RaggedCountSparseOutput", "RaggedCross", "RaggedFillEmptyRows",
    "RaggedFillEmptyRowsGrad", "RaggedGather", "RaggedRange", "RaggedTensorFromVariant",
    "RaggedTensorToSparse", "RaggedTensorToTensor", "RaggedTensorToVariant",
    "RaggedTensorToVariantGradient", "RandomCrop", "RandomDataset", "RandomDatasetV2",
    "RandomGamma", "RandomGammaGrad", "RandomPoisson", "RandomPoissonV2", "RandomShuffle",
    "RandomShuffleQueue", "RandomShuffleQueueV2", "RandomStandardNormal", "RandomUniform",
    "RandomUniformInt", "Range", "RangeDataset", "Rank", "ReadFile", "ReadVariableOp",
    "ReaderNumRecordsProduced", "ReaderNumRecordsProducedV2", "ReaderNumWorkUnitsCompleted",
    "ReaderNumWorkUnitsCompletedV2", "ReaderRead", "ReaderReadUpTo", "ReaderReadUpToV2",
    "ReaderReadV2", "ReaderReset", "ReaderResetV2", "ReaderRestoreState", "ReaderRestoreStateV2",
    "ReaderSerializeState", "ReaderSerializeStateV2", "Real", "RealDiv", "Reciprocal",
    "ReciprocalGrad", "ReduceDataset", "ReduceJoin", "ReducedShape", "RefEnter", "RefExit",
    "RefIdentity", "RefMerge", "RefNextIteration", "RefSelect", "RefSwitch", "ReferenceHandle",
    "RegexFullMatch", "RegexReplace", "Relu", "Relu6", "Relu6Grad", "ReluGrad", "RemoteCall",
    "RepeatDataset", "RequantizationRange", "Requantize", "Reshape", "ResizeArea", "ResizeBicubic",
    "ResizeBicubicGrad", "ResizeBilinear", "ResizeBilinearGrad", "ResizeNearestNeighbor",
    "ResizeNearestNeighborGrad", "ResourceAccumulatorApplyGradient",
    "ResourceAccumulatorNumAccumulated", "ResourceAccumulatorSetGlobalStep",
    "ResourceAccumulatorTakeGradient", "ResourceApplyAdaMax", "ResourceApplyAdadelta",
    "ResourceApplyAdagrad", "ResourceApplyAdagradDA", "ResourceApplyAdagradV2", "ResourceApplyAdam",
    "ResourceApplyAdamWithAmsgrad", "ResourceApplyAddSign", "ResourceApplyCenteredRMSProp",
    "ResourceApplyFtrl", "ResourceApplyFtrlV2", "ResourceApplyGradientDescent",
    "ResourceApplyKerasMomentum", "ResourceApplyMomentum", "ResourceApplyPowerSign",
    "ResourceApplyProximalAdagrad", "ResourceApplyProximalGradientDescent", "ResourceApplyRMSProp",
    "ResourceConditionalAccumulator", "ResourceCountUpTo", "ResourceGather", "ResourceGatherNd",
    "ResourceScatterAdd", "ResourceScatterDiv", "ResourceScatterMax", "ResourceScatterMin",
    "ResourceScatterMul", "ResourceScatterNdAdd", "ResourceScatterNdMax", "ResourceScatterNdMin",
    "ResourceScatterNdSub", "ResourceScatterNdUpdate", "ResourceScatterSub",
    "ResourceScatterUpdate", "ResourceSparseApplyAdadelta", "ResourceSparseApplyAdagrad",
    "ResourceSparseApplyAdagradDA", "ResourceSparseApplyAdagradV2",
    "ResourceSparseApplyCenteredRMSProp", "ResourceSparseApplyFtrl", "ResourceSparseApplyFtrlV2",
    "ResourceSparseApplyKerasMomentum", "ResourceSparseApplyMomentum",
    "ResourceSparseApplyProximalAdagrad", "ResourceSparseApplyProximalGradientDescent",
    "ResourceSparseApplyRMSProp", "ResourceStridedSliceAssign", "Restore", "RestoreSlice",
    "RestoreV2", "Reverse", "ReverseSequence", "ReverseV2", "RewriteDataset", "RightShift", "Rint",
    "RngReadAndSkip", "RngSkip", "Roll", "Round", "Rsqrt", "RsqrtGrad",
    "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "Save", "SaveSlices", "SaveV2",
    "ScalarSummary", "ScaleAndTranslate", "ScaleAndTranslateGrad", "ScanDataset", "ScatterAdd",
    "ScatterDiv", "ScatterMax", "ScatterMin", "ScatterMul", "ScatterNd", "ScatterNdAdd",
    "ScatterNdMax", "ScatterNdMin", "ScatterNdNonAliasingAdd", "ScatterNdSub", "ScatterNdUpdate",
    "ScatterSub", "ScatterUpdate", "SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd",
    "SegmentSum", "Select", "SelectV2", "SelfAdjointEig", "SelfAdjointEigV2", "Selu", "SeluGrad",
    "SerializeIterator", "SerializeManySparse", "SerializeSparse", "SerializeTensor", "SetSize",
    "Shape", "ShapeN", "ShardDataset", "ShardedFilename", "ShardedFilespec",
    "ShuffleAndRepeatDataset", "ShuffleAndRepeatDatasetV2", "ShuffleDataset", "ShuffleDatasetV2",
    "ShuffleDatasetV3", "Sigmoid", "SigmoidGrad", "Sign", "Sin", "Sinh", "Size", "SkipDataset",
    "Slice", "SlidingWindowDataset", "Snapshot", "Softmax", "SoftmaxCrossEntropyWithLogits",
    "Softplus", "SoftplusGrad", "Softsign", "SoftsignGrad", "SpaceToBatch", "SpaceToBatchND",
    "SpaceToDepth", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient", "SparseAdd",
    "SparseAddGrad", "SparseApplyAdadelta", "SparseApplyAdagrad", "SparseApplyAdagradDA",
    "SparseApplyAdagradV2", "SparseApplyCenteredRMSProp", "SparseApplyFtrl", "SparseApplyFtrlV2",
    "SparseApplyMomentum", "SparseApplyProximalAdagrad", "SparseApplyProximalGradientDescent",
    "SparseApplyRMSProp", "SparseBincount", "SparseConcat", "SparseConditionalAccumulator",
    "SparseCountSparseOutput", "SparseCross", "SparseCrossV2", "SparseDenseCwiseAdd",
    "SparseDenseCwiseDiv", "SparseDenseCwiseMul", "SparseFillEmptyRows", "SparseFillEmptyRowsGrad",
    "SparseMatMul", "SparseReduceMax", "SparseReduceMaxSparse", "SparseReduceSum",
    "SparseReduceSumSparse", "SparseReorder", "SparseReshape", "SparseSegmentMean",
    "SparseSegmentMeanGrad", "SparseSegmentMeanGradV2", "SparseSegmentMeanWithNumSegments",
    "SparseSegmentSqrtN", "SparseSegmentSqrtNGrad", "SparseSegmentSqrtNGradV2",
    "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSum", "SparseSegmentSumGrad",
    "SparseSegmentSumGradV2", "SparseSegmentSumWithNumSegments", "SparseSlice", "SparseSliceGrad",
    "SparseSoftmax", "SparseSoftmaxCrossEntropyWithLogits", "SparseSparseMaximum",
    "SparseSparseMinimum", "SparseSplit", "SparseTensorDenseAdd", "SparseTensorDenseMatMul",
    "SparseTensorSliceDataset", "SparseToDense", "SparseToSparseSetOperation", "Split", "SplitV",
    "Sqrt", "SqrtGrad", "Square", "SquaredDifference", "Squeeze", "Stack", "StackClose",
    "StackCloseV2", "StackPop", "StackPopV2", "StackPush", "StackPushV2", "StackV2", "Stage",
    "StageClear", "StagePeek", "StageSize", "StatefulPartitionedCall", "StatefulRandomBinomial",
    "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform",
    "StatefulUniformFullInt", "StatefulUniformInt", "StatelessIf", "StatelessMultinomial",
    "StatelessParameterizedTruncatedNormal", "StatelessRandomBinomial", "StatelessRandomGammaV2",
    "StatelessRandomGammaV3", "StatelessRandomGetAlg", "StatelessRandomGetKeyCounter",
    "StatelessRandomGetKeyCounterAlg", "StatelessRandomNormal", "StatelessRandomNormalV2",
    "StatelessRandomPoisson", "StatelessRandomUniform", "StatelessRandomUniformFullInt",
    "StatelessRandomUniformFullIntV2", "StatelessRandomUniformInt", "StatelessRandomUniformIntV2",
    "StatelessRandomUniformV2", "StatelessShuffle", "StatelessTruncatedNormal",
    "StatelessTruncatedNormalV2", "StatelessWhile", "StaticRegexFullMatch", "StaticRegexReplace",
    "StopGradient", "StridedSlice", "StridedSliceAssign", "StridedSliceGrad", "StringFormat",
    "StringJoin", "StringLength", "StringLower", "StringNGrams", "StringSplit", "StringSplitV2",
    "StringStrip", "StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong",
    "StringToNumber", "StringUpper", "Sub", "Substr", "Sum", "Svd", "Switch", "SymbolicGradient",
    "TFRecordDataset", "TFRecordDatasetV2", "TFRecordReader", "TFRecordReaderV2", "TakeDataset",
    "TakeManySparseFromTensorsMap", "TakeWhileDataset", "Tan", "Tanh", "TanhGrad",
    "TemporaryHandle", "TemporaryVariable", "TensorArray", "TensorArrayClose", "TensorArrayCloseV2",
    "TensorArrayCloseV3", "TensorArrayConcat", "TensorArrayConcatV2", "TensorArrayConcatV3",
    "TensorArrayGather", "TensorArrayGatherV2", "TensorArrayGatherV3", "TensorArrayGrad",
    "TensorArrayGradV2", "TensorArrayGradV3", "TensorArrayGradWithShape", "TensorArrayPack",
    "TensorArrayRead", "TensorArrayReadV2", "TensorArrayReadV3", "TensorArrayScatter",
    "TensorArrayScatterV2", "TensorArrayScatterV3", "TensorArraySize", "TensorArraySizeV2",
    "TensorArraySizeV3", "TensorArraySplit", "TensorArraySplitV2", "TensorArraySplitV3",
    "TensorArrayUnpack", "TensorArrayV2", "TensorArrayV3", "TensorArrayWrite", "TensorArrayWriteV2",
    "TensorArrayWriteV3", "TensorDataset", "TensorListConcat", "TensorListConcatLists",
    "TensorListConcatV2", "TensorListElementShape", "TensorListFromTensor", "TensorListGather",
    "TensorListGetItem", "TensorListLength", "TensorListPopBack", "TensorListPushBack",
    "TensorListPushBackBatch", "TensorListReserve", "TensorListResize", "TensorListScatter",
    "TensorListScatterIntoExistingList", "TensorListScatterV2", "TensorListSetItem",
    "TensorListSplit", "TensorListStack", "TensorScatterAdd", "TensorScatterMax",
    "TensorScatterMin", "TensorScatterSub", "TensorScatterUpdate", "TensorSliceDataset",
    "TensorSummary", "TensorSummaryV2", "TextLineDataset", "TextLineReader", "TextLineReaderV2",
    "Tile", "TileGrad", "Timestamp", "ToBool", "TopK", "TopKV2", "Transpose", "TridiagonalMatMul",
    "TridiagonalSolve", "TruncateDiv", "TruncateMod", "TruncatedNormal", "UnbatchDataset",
    "UnicodeDecode", "UnicodeDecodeWithOffsets", "UnicodeEncode", "UnicodeTranscode",
    "UniformCandidateSampler", "Unique", "UniqueDataset", "UniqueV2", "UniqueWithCounts",
    "UniqueWithCountsV2", "Unpack", "UnravelIndex", "UnsortedSegmentJoin", "UnsortedSegmentMax",
    "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentSum", "Unstage",
    "UnwrapDatasetVariant", "UpperBound", "VarHandleOp", "VarIsInitializedOp", "Variable",
    "VariableShape", "VariableV2", "Where", "While", "WholeFileReader", "WholeFileReaderV2",
    "WindowDataset", "WrapDatasetVariant", "WriteFile", "Xdivy", "Xlog1py", "Xlogy", "ZerosLike",
    "Zeta", "ZipDataset",
]

def Abs(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Abs", (x,), {}, name)

def AccumulateNV2(inputs: Operands, *, shape: ShapeLike, name: str | None = None) -> Tensor:
    """inputs:T*N -> sum:T"""
    return one("AccumulateNV2", (inputs,), {"shape": shape}, name)

def AccumulatorApplyGradient(handle: Operand, local_step: Operand, gradient: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None) -> Operation:
    """handle:string& local_step:int64 gradient:dtype ->"""
    return node("AccumulatorApplyGradient", (handle, local_step, gradient,), {"dtype": dtype, "shape": shape}, name)

def AccumulatorNumAccumulated(handle: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """handle:string& -> num_accumulated:int32"""
    return one("AccumulatorNumAccumulated", (handle,), {"dtype": dtype, "shape": shape}, name)

def AccumulatorSetGlobalStep(handle: Operand, new_global_step: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None) -> Operation:
    """handle:string& new_global_step:int64 ->"""
    return node("AccumulatorSetGlobalStep", (handle, new_global_step,), {"dtype": dtype, "shape": shape}, name)

def AccumulatorTakeGradient(handle: Operand, num_required: Operand, *, dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """handle:string& num_required:int32 -> average:dtype"""
    return one("AccumulatorTakeGradient", (handle, num_required,), {"dtype": dtype, "shape": shape}, name)

def Acos(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Acos", (x,), {}, name)

def Acosh(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Acosh", (x,), {}, name)

def Add(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Add", (x, y,), {}, name)

def AddManySparseToTensorsMap(sparse_indices: Operand, sparse_values: Operand, sparse_shape: Operand, *, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """sparse_indices:int64 sparse_values:T sparse_shape:int64 -> sparse_handles:int64"""
    return one("AddManySparseToTensorsMap", (sparse_indices, sparse_values, sparse_shape,), {"container": container, "shared_name": shared_name}, name)

def AddN(inputs: Operands, *, name: str | None = None) -> Tensor:
    """inputs:T*N -> sum:T"""
    return one("AddN", (inputs,), {}, name)

def AddSparseToTensorsMap(sparse_indices: Operand, sparse_values: Operand, sparse_shape: Operand, *, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """sparse_indices:int64 sparse_values:T sparse_shape:int64 -> sparse_handle:int64"""
    return one("AddSparseToTensorsMap", (sparse_indices, sparse_values, sparse_shape,), {"container": container, "shared_name": shared_name}, name)

def AddV2(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("AddV2", (x, y,), {}, name)

def AdjustContrast(images: Operand, contrast_factor: Operand, min_value: Operand, max_value: Operand, *, name: str | None = None) -> Tensor:
    """images:T contrast_factor:float min_value:float max_value:float -> output:float"""
    return one("AdjustContrast", (images, contrast_factor, min_value, max_value,), {}, name)

def AdjustContrastv2(images: Operand, contrast_factor: Operand, *, name: str | None = None) -> Tensor:
    """images:T contrast_factor:float -> output:T"""
    return one("AdjustContrastv2", (images, contrast_factor,), {}, name)

def AdjustHue(images: Operand, delta: Operand, *, name: str | None = None) -> Tensor:
    """images:T delta:float -> output:T"""
    return one("AdjustHue", (images, delta,), {}, name)

def AdjustSaturation(images: Operand, scale: Operand, *, name: str | None = None) -> Tensor:
    """images:T scale:float -> output:T"""
    return one("AdjustSaturation", (images, scale,), {}, name)

def All(input: Operand, reduction_indices: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input:bool reduction_indices:Tidx -> output:bool"""
    return one("All", (input, reduction_indices,), {"keep_dims": keep_dims}, name)

def AllCandidateSampler(true_classes: Operand, *, num_true: int, num_sampled: int, unique: bool, seed: int = 0, seed2: int = 0, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """true_classes:int64 -> sampled_candidates:int64 true_expected_count:float sampled_expected_count:float"""
    return many("AllCandidateSampler", (true_classes,), {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "seed": seed, "seed2": seed2}, name)

def Angle(input: Operand, *, Tout: DTypeLike = float32, name: str | None = None) -> Tensor:
    """input:T -> output:Tout"""
    return one("Angle", (input,), {"Tout": Tout}, name)

def AnonymousIterator(*, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("AnonymousIterator", (), {"output_types": output_types, "output_shapes": output_shapes}, name)

def Any(input: Operand, reduction_indices: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input:bool reduction_indices:Tidx -> output:bool"""
    return one("Any", (input, reduction_indices,), {"keep_dims": keep_dims}, name)

def ApplyAdaMax(var: Operand, m: Operand, v: Operand, beta1_power: Operand, lr: Operand, beta1: Operand, beta2: Operand, epsilon: Operand, grad: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& m:T& v:T& beta1_power:T lr:T beta1:T beta2:T epsilon:T grad:T -> out:T&"""
    return one("ApplyAdaMax", (var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad,), {"use_locking": use_locking}, name)

def ApplyAdadelta(var: Operand, accum: Operand, accum_update: Operand, lr: Operand, rho: Operand, epsilon: Operand, grad: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& accum_update:T& lr:T rho:T epsilon:T grad:T -> out:T&"""
    return one("ApplyAdadelta", (var, accum, accum_update, lr, rho, epsilon, grad,), {"use_locking": use_locking}, name)

def ApplyAdagrad(var: Operand, accum: Operand, lr: Operand, grad: Operand, *, use_locking: bool = False, update_slots: bool = True, name: str | None = None) -> Tensor:
    """var:T& accum:T& lr:T grad:T -> out:T&"""
    return one("ApplyAdagrad", (var, accum, lr, grad,), {"use_locking": use_locking, "update_slots": update_slots}, name)

def ApplyAdagradDA(var: Operand, gradient_accumulator: Operand, gradient_squared_accumulator: Operand, grad: Operand, lr: Operand, l1: Operand, l2: Operand, global_step: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& gradient_accumulator:T& gradient_squared_accumulator:T& grad:T lr:T l1:T l2:T global_step:int64 -> out:T&"""
    return one("ApplyAdagradDA", (var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step,), {"use_locking": use_locking}, name)

def ApplyAdagradV2(var: Operand, accum: Operand, lr: Operand, epsilon: Operand, grad: Operand, *, use_locking: bool = False, update_slots: bool = True, name: str | None = None) -> Tensor:
    """var:T& accum:T& lr:T epsilon:T grad:T -> out:T&"""
    return one("ApplyAdagradV2", (var, accum, lr, epsilon, grad,), {"use_locking": use_locking, "update_slots": update_slots}, name)

def ApplyAdam(var: Operand, m: Operand, v: Operand, beta1_power: Operand, beta2_power: Operand, lr: Operand, beta1: Operand, beta2: Operand, epsilon: Operand, grad: Operand, *, use_locking: bool = False, use_nesterov: bool = False, name: str | None = None) -> Tensor:
    """var:T& m:T& v:T& beta1_power:T beta2_power:T lr:T beta1:T beta2:T epsilon:T grad:T -> out:T&"""
    return one("ApplyAdam", (var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad,), {"use_locking": use_locking, "use_nesterov": use_nesterov}, name)

def ApplyAddSign(var: Operand, m: Operand, lr: Operand, alpha: Operand, sign_decay: Operand, beta: Operand, grad: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& m:T& lr:T alpha:T sign_decay:T beta:T grad:T -> out:T&"""
    return one("ApplyAddSign", (var, m, lr, alpha, sign_decay, beta, grad,), {"use_locking": use_locking}, name)

def ApplyCenteredRMSProp(var: Operand, mg: Operand, ms: Operand, mom: Operand, lr: Operand, rho: Operand, momentum: Operand, epsilon: Operand, grad: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& mg:T& ms:T& mom:T& lr:T rho:T momentum:T epsilon:T grad:T -> out:T&"""
    return one("ApplyCenteredRMSProp", (var, mg, ms, mom, lr, rho, momentum, epsilon, grad,), {"use_locking": use_locking}, name)

def ApplyFtrl(var: Operand, accum: Operand, linear: Operand, grad: Operand, lr: Operand, l1: Operand, l2: Operand, lr_power: Operand, *, use_locking: bool = False, multiply_linear_by_lr: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& linear:T& grad:T lr:T l1:T l2:T lr_power:T -> out:T&"""
    return one("ApplyFtrl", (var, accum, linear, grad, lr, l1, l2, lr_power,), {"use_locking": use_locking, "multiply_linear_by_lr": multiply_linear_by_lr}, name)

def ApplyFtrlV2(var: Operand, accum: Operand, linear: Operand, grad: Operand, lr: Operand, l1: Operand, l2: Operand, l2_shrinkage: Operand, lr_power: Operand, *, use_locking: bool = False, multiply_linear_by_lr: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& linear:T& grad:T lr:T l1:T l2:T l2_shrinkage:T lr_power:T -> out:T&"""
    return one("ApplyFtrlV2", (var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power,), {"use_locking": use_locking, "multiply_linear_by_lr": multiply_linear_by_lr}, name)

def ApplyGradientDescent(var: Operand, alpha: Operand, delta: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& alpha:T delta:T -> out:T&"""
    return one("ApplyGradientDescent", (var, alpha, delta,), {"use_locking": use_locking}, name)

def ApplyMomentum(var: Operand, accum: Operand, lr: Operand, grad: Operand, momentum: Operand, *, use_locking: bool = False, use_nesterov: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& lr:T grad:T momentum:T -> out:T&"""
    return one("ApplyMomentum", (var, accum, lr, grad, momentum,), {"use_locking": use_locking, "use_nesterov": use_nesterov}, name)

def ApplyPowerSign(var: Operand, m: Operand, lr: Operand, logbase: Operand, sign_decay: Operand, beta: Operand, grad: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& m:T& lr:T logbase:T sign_decay:T beta:T grad:T -> out:T&"""
    return one("ApplyPowerSign", (var, m, lr, logbase, sign_decay, beta, grad,), {"use_locking": use_locking}, name)

def ApplyProximalAdagrad(var: Operand, accum: Operand, lr: Operand, l1: Operand, l2: Operand, grad: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& lr:T l1:T l2:T grad:T -> out:T&"""
    return one("ApplyProximalAdagrad", (var, accum, lr, l1, l2, grad,), {"use_locking": use_locking}, name)

def ApplyProximalGradientDescent(var: Operand, alpha: Operand, l1: Operand, l2: Operand, delta: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& alpha:T l1:T l2:T delta:T -> out:T&"""
    return one("ApplyProximalGradientDescent", (var, alpha, l1, l2, delta,), {"use_locking": use_locking}, name)

def ApplyRMSProp(var: Operand, ms: Operand, mom: Operand, lr: Operand, rho: Operand, momentum: Operand, epsilon: Operand, grad: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& ms:T& mom:T& lr:T rho:T momentum:T epsilon:T grad:T -> out:T&"""
    return one("ApplyRMSProp", (var, ms, mom, lr, rho, momentum, epsilon, grad,), {"use_locking": use_locking}, name)

def ApproximateEqual(x: Operand, y: Operand, *, tolerance: float = 1e-05, name: str | None = None) -> Tensor:
    """x:T y:T -> z:bool"""
    return one("ApproximateEqual", (x, y,), {"tolerance": tolerance}, name)

def ArgMax(input: Operand, dimension: Operand, *, output_type: DTypeLike = int64, name: str | None = None) -> Tensor:
    """input:T dimension:Tidx -> output:output_type"""
    return one("ArgMax", (input, dimension,), {"output_type": output_type}, name)

def ArgMin(input: Operand, dimension: Operand, *, output_type: DTypeLike = int64, name: str | None = None) -> Tensor:
    """input:T dimension:Tidx -> output:output_type"""
    return one("ArgMin", (input, dimension,), {"output_type": output_type}, name)

def AsString(input: Operand, *, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1, fill: str | bytes = '', name: str | None = None) -> Tensor:
    """input:T -> output:string"""
    return one("AsString", (input,), {"precision": precision, "scientific": scientific, "shortest": shortest, "width": width, "fill": fill}, name)

def Asin(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Asin", (x,), {}, name)

def Asinh(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Asinh", (x,), {}, name)

def Assert(condition: Operand, data: Operands, *, summarize: int = 3, name: str | None = None) -> Operation:
    """condition:bool data:[T] ->"""
    return node("Assert", (condition, data,), {"summarize": summarize}, name)

def AssertCardinalityDataset(input_dataset: Operand, cardinality: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant cardinality:int64 -> handle:variant"""
    return one("AssertCardinalityDataset", (input_dataset, cardinality,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def AssertNextDataset(input_dataset: Operand, transformations: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant transformations:string -> handle:variant"""
    return one("AssertNextDataset", (input_dataset, transformations,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def Assign(ref: Operand, value: Operand, *, validate_shape: bool = True, use_locking: bool = True, name: str | None = None) -> Tensor:
    """ref:T& value:T -> output_ref:T&"""
    return one("Assign", (ref, value,), {"validate_shape": validate_shape, "use_locking": use_locking}, name)

def AssignAdd(ref: Operand, value: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """ref:T& value:T -> output_ref:T&"""
    return one("AssignAdd", (ref, value,), {"use_locking": use_locking}, name)

def AssignAddVariableOp(resource: Operand, value: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource value:dtype ->"""
    return node("AssignAddVariableOp", (resource, value,), {"dtype": dtype, "shape": shape}, name)

def AssignSub(ref: Operand, value: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """ref:T& value:T -> output_ref:T&"""
    return one("AssignSub", (ref, value,), {"use_locking": use_locking}, name)

def AssignSubVariableOp(resource: Operand, value: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource value:dtype ->"""
    return node("AssignSubVariableOp", (resource, value,), {"dtype": dtype, "shape": shape}, name)

def AssignVariableOp(resource: Operand, value: Operand, *, dtype: DTypeLike | None = None, validate_shape: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource value:dtype ->"""
    return node("AssignVariableOp", (resource, value,), {"dtype": dtype, "validate_shape": validate_shape, "shape": shape}, name)

def AsyncPyFunc(input: Operands, *, token: str | bytes, Tout: Sequence[DTypeLike], Tin: Sequence[DTypeLike] | None = None, name: str | None = None) -> list[Tensor]:
    """input:[Tin] -> output:[Tout]"""
    return many("AsyncPyFunc", (input,), {"token": token, "Tout": Tout, "Tin": Tin}, name)

def Atan(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Atan", (x,), {}, name)

def Atan2(y: Operand, x: Operand, *, name: str | None = None) -> Tensor:
    """y:T x:T -> z:T"""
    return one("Atan2", (y, x,), {}, name)

def Atanh(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Atanh", (x,), {}, name)

def AudioSpectrogram(input: Operand, *, window_size: int, stride: int, magnitude_squared: bool = False, name: str | None = None) -> Tensor:
    """input:float -> spectrogram:float"""
    return one("AudioSpectrogram", (input,), {"window_size": window_size, "stride": stride, "magnitude_squared": magnitude_squared}, name)

def AudioSummary(tag: Operand, tensor: Operand, *, sample_rate: float, max_outputs: int = 3, name: str | None = None) -> Tensor:
    """tag:string tensor:float -> summary:string"""
    return one("AudioSummary", (tag, tensor,), {"sample_rate": sample_rate, "max_outputs": max_outputs}, name)

def AudioSummaryV2(tag: Operand, tensor: Operand, sample_rate: Operand, *, max_outputs: int = 3, name: str | None = None) -> Tensor:
    """tag:string tensor:float sample_rate:float -> summary:string"""
    return one("AudioSummaryV2", (tag, tensor, sample_rate,), {"max_outputs": max_outputs}, name)

def AvgPool(value: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """value:T -> output:T"""
    return one("AvgPool", (value,), {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format}, name)

def AvgPool3D(input: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NDHWC', name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("AvgPool3D", (input,), {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format}, name)

def AvgPool3DGrad(orig_input_shape: Operand, grad: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NDHWC', name: str | None = None) -> Tensor:
    """orig_input_shape:int32 grad:T -> output:T"""
    return one("AvgPool3DGrad", (orig_input_shape, grad,), {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format}, name)

def AvgPoolGrad(orig_input_shape: Operand, grad: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """orig_input_shape:int32 grad:T -> output:T"""
    return one("AvgPoolGrad", (orig_input_shape, grad,), {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format}, name)

def Barrier(*, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), capacity: int = -1, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:string&"""
    return one("Barrier", (), {"component_types": component_types, "shapes": shapes, "capacity": capacity, "container": container, "shared_name": shared_name}, name)

def BarrierClose(handle: Operand, *, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
    """handle:string& ->"""
    return node("BarrierClose", (handle,), {"cancel_pending_enqueues": cancel_pending_enqueues}, name)

def BarrierIncompleteSize(handle: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& -> size:int32"""
    return one("BarrierIncompleteSize", (handle,), {}, name)

def BarrierInsertMany(handle: Operand, keys: Operand, values: Operand, *, component_index: int, name: str | None = None) -> Operation:
    """handle:string& keys:string values:T ->"""
    return node("BarrierInsertMany", (handle, keys, values,), {"component_index": component_index}, name)

def BarrierReadySize(handle: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& -> size:int32"""
    return one("BarrierReadySize", (handle,), {}, name)

def BarrierTakeMany(handle: Operand, num_elements: Operand, *, component_types: Sequence[DTypeLike], allow_small_batch: bool = False, wait_for_incomplete: bool = False, timeout_ms: int = -1, shapes: Sequence[ShapeLike] = (), name: str | None = None) -> tuple[Tensor, Tensor, list[Tensor]]:
    """handle:string& num_elements:int32 -> indices:int64 keys:string values:[component_types]"""
    return many("BarrierTakeMany", (handle, num_elements,), {"component_types": component_types, "allow_small_batch": allow_small_batch, "wait_for_incomplete": wait_for_incomplete, "timeout_ms": timeout_ms, "shapes": shapes}, name)

def BatchCholesky(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("BatchCholesky", (input,), {}, name)

def BatchCholeskyGrad(l: Operand, grad: Operand, *, name: str | None = None) -> Tensor:
    """l:T grad:T -> output:T"""
    return one("BatchCholeskyGrad", (l, grad,), {}, name)

def BatchDataset(input_dataset: Operand, batch_size: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant batch_size:int64 -> handle:variant"""
    return one("BatchDataset", (input_dataset, batch_size,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def BatchDatasetV2(input_dataset: Operand, batch_size: Operand, drop_remainder: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], parallel_copy: bool = False, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant batch_size:int64 drop_remainder:bool -> handle:variant"""
    return one("BatchDatasetV2", (input_dataset, batch_size, drop_remainder,), {"output_types": output_types, "output_shapes": output_shapes, "parallel_copy": parallel_copy, "metadata": metadata}, name)

def BatchFFT(input: Operand, *, name: str | None = None) -> Tensor:
    """input:complex64 -> output:complex64"""
    return one("BatchFFT", (input,), {}, name)

def BatchFFT2D(input: Operand, *, name: str | None = None) -> Tensor:
    """input:complex64 -> output:complex64"""
    return one("BatchFFT2D", (input,), {}, name)

def BatchFFT3D(input: Operand, *, name: str | None = None) -> Tensor:
    """input:complex64 -> output:complex64"""
    return one("BatchFFT3D", (input,), {}, name)

def BatchIFFT(input: Operand, *, name: str | None = None) -> Tensor:
    """input:complex64 -> output:complex64"""
    return one("BatchIFFT", (input,), {}, name)

def BatchIFFT2D(input: Operand, *, name: str | None = None) -> Tensor:
    """input:complex64 -> output:complex64"""
    return one("BatchIFFT2D", (input,), {}, name)

def BatchIFFT3D(input: Operand, *, name: str | None = None) -> Tensor:
    """input:complex64 -> output:complex64"""
    return one("BatchIFFT3D", (input,), {}, name)

def BatchMatMul(x: Operand, y: Operand, *, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """x:T y:T -> output:T"""
    return one("BatchMatMul", (x, y,), {"adj_x": adj_x, "adj_y": adj_y}, name)

def BatchMatMulV2(x: Operand, y: Operand, *, adj_x: bool = False, adj_y: bool = False, name: str | None = None) -> Tensor:
    """x:T y:T -> output:T"""
    return one("BatchMatMulV2", (x, y,), {"adj_x": adj_x, "adj_y": adj_y}, name)

def BatchMatMulV3(x: Operand, y: Operand, *, Tout: DTypeLike, adj_x: bool = False, adj_y: bool = False, grad_x: bool = False, grad_y: bool = False, name: str | None = None) -> Tensor:
    """x:Ta y:Tb -> output:Tout"""
    return one("BatchMatMulV3", (x, y,), {"Tout": Tout, "adj_x": adj_x, "adj_y": adj_y, "grad_x": grad_x, "grad_y": grad_y}, name)

def BatchMatrixBandPart(input: Operand, num_lower: Operand, num_upper: Operand, *, name: str | None = None) -> Tensor:
    """input:T num_lower:int64 num_upper:int64 -> band:T"""
    return one("BatchMatrixBandPart", (input, num_lower, num_upper,), {}, name)

def BatchMatrixDeterminant(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("BatchMatrixDeterminant", (input,), {}, name)

def BatchMatrixDiag(diagonal: Operand, *, name: str | None = None) -> Tensor:
    """diagonal:T -> output:T"""
    return one("BatchMatrixDiag", (diagonal,), {}, name)

def BatchMatrixDiagPart(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> diagonal:T"""
    return one("BatchMatrixDiagPart", (input,), {}, name)

def BatchMatrixInverse(input: Operand, *, adjoint: bool = False, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("BatchMatrixInverse", (input,), {"adjoint": adjoint}, name)

def BatchMatrixSetDiag(input: Operand, diagonal: Operand, *, name: str | None = None) -> Tensor:
    """input:T diagonal:T -> output:T"""
    return one("BatchMatrixSetDiag", (input, diagonal,), {}, name)

def BatchMatrixSolve(matrix: Operand, rhs: Operand, *, adjoint: bool = False, name: str | None = None) -> Tensor:
    """matrix:T rhs:T -> output:T"""
    return one("BatchMatrixSolve", (matrix, rhs,), {"adjoint": adjoint}, name)

def BatchMatrixSolveLs(matrix: Operand, rhs: Operand, l2_regularizer: Operand, *, fast: bool = True, name: str | None = None) -> Tensor:
    """matrix:T rhs:T l2_regularizer:double -> output:T"""
    return one("BatchMatrixSolveLs", (matrix, rhs, l2_regularizer,), {"fast": fast}, name)

def BatchMatrixTriangularSolve(matrix: Operand, rhs: Operand, *, lower: bool = True, adjoint: bool = False, name: str | None = None) -> Tensor:
    """matrix:T rhs:T -> output:T"""
    return one("BatchMatrixTriangularSolve", (matrix, rhs,), {"lower": lower, "adjoint": adjoint}, name)

def BatchNormWithGlobalNormalization(t: Operand, m: Operand, v: Operand, beta: Operand, gamma: Operand, *, variance_epsilon: float, scale_after_normalization: bool, name: str | None = None) -> Tensor:
    """t:T m:T v:T beta:T gamma:T -> result:T"""
    return one("BatchNormWithGlobalNormalization", (t, m, v, beta, gamma,), {"variance_epsilon": variance_epsilon, "scale_after_normalization": scale_after_normalization}, name)

def BatchNormWithGlobalNormalizationGrad(t: Operand, m: Operand, v: Operand, gamma: Operand, backprop: Operand, *, variance_epsilon: float, scale_after_normalization: bool, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """t:T m:T v:T gamma:T backprop:T -> dx:T dm:T dv:T db:T dg:T"""
    return many("BatchNormWithGlobalNormalizationGrad", (t, m, v, gamma, backprop,), {"variance_epsilon": variance_epsilon, "scale_after_normalization": scale_after_normalization}, name)

def BatchSelfAdjointEig(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("BatchSelfAdjointEig", (input,), {}, name)

def BatchSelfAdjointEigV2(input: Operand, *, compute_v: bool = True, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:T -> e:T v:T"""
    return many("BatchSelfAdjointEigV2", (input,), {"compute_v": compute_v}, name)

def BatchSvd(input: Operand, *, compute_uv: bool = True, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:T -> s:T u:T v:T"""
    return many("BatchSvd", (input,), {"compute_uv": compute_uv, "full_matrices": full_matrices}, name)

def BatchToSpace(input: Operand, crops: Operand, *, block_size: int, name: str | None = None) -> Tensor:
    """input:T crops:Tidx -> output:T"""
    return one("BatchToSpace", (input, crops,), {"block_size": block_size}, name)

def BatchToSpaceND(input: Operand, block_shape: Operand, crops: Operand, *, name: str | None = None) -> Tensor:
    """input:T block_shape:Tblock_shape crops:Tcrops -> output:T"""
    return one("BatchToSpaceND", (input, block_shape, crops,), {}, name)

def BesselI0(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("BesselI0", (x,), {}, name)

def BesselI0e(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("BesselI0e", (x,), {}, name)

def BesselI1(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("BesselI1", (x,), {}, name)

def BesselI1e(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("BesselI1e", (x,), {}, name)

def Betainc(a: Operand, b: Operand, x: Operand, *, name: str | None = None) -> Tensor:
    """a:T b:T x:T -> z:T"""
    return one("Betainc", (a, b, x,), {}, name)

def BiasAdd(value: Operand, bias: Operand, *, data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """value:T bias:T -> output:T"""
    return one("BiasAdd", (value, bias,), {"data_format": data_format}, name)

def BiasAddGrad(out_backprop: Operand, *, data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """out_backprop:T -> output:T"""
    return one("BiasAddGrad", (out_backprop,), {"data_format": data_format}, name)

def BiasAddV1(value: Operand, bias: Operand, *, name: str | None = None) -> Tensor:
    """value:T bias:T -> output:T"""
    return one("BiasAddV1", (value, bias,), {}, name)

def Bincount(arr: Operand, size: Operand, weights: Operand, *, name: str | None = None) -> Tensor:
    """arr:int32 size:int32 weights:T -> bins:T"""
    return one("Bincount", (arr, size, weights,), {}, name)

def Bitcast(input: Operand, *, type: DTypeLike, name: str | None = None) -> Tensor:
    """input:T -> output:type"""
    return one("Bitcast", (input,), {"type": type}, name)

def BitwiseAnd(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("BitwiseAnd", (x, y,), {}, name)

def BitwiseOr(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("BitwiseOr", (x, y,), {}, name)

def BitwiseXor(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("BitwiseXor", (x, y,), {}, name)

def BlockLSTM(seq_len_max: Operand, x: Operand, cs_prev: Operand, h_prev: Operand, w: Operand, wci: Operand, wcf: Operand, wco: Operand, b: Operand, *, forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """seq_len_max:int64 x:T cs_prev:T h_prev:T w:T wci:T wcf:T wco:T b:T -> i:T cs:T f:T o:T ci:T co:T h:T"""
    return many("BlockLSTM", (seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b,), {"forget_bias": forget_bias, "cell_clip": cell_clip, "use_peephole": use_peephole}, name)

def BlockLSTMGrad(seq_len_max: Operand, x: Operand, cs_prev: Operand, h_prev: Operand, w: Operand, wci: Operand, wcf: Operand, wco: Operand, b: Operand, i: Operand, cs: Operand, f: Operand, o: Operand, ci: Operand, co: Operand, h: Operand, cs_grad: Operand, h_grad: Operand, *, use_peephole: bool, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """seq_len_max:int64 x:T cs_prev:T h_prev:T w:T wci:T wcf:T wco:T b:T i:T cs:T f:T o:T ci:T co:T h:T cs_grad:T h_grad:T -> x_grad:T cs_prev_grad:T h_prev_grad:T w_grad:T wci_grad:T wcf_grad:T wco_grad:T b_grad:T"""
    return many("BlockLSTMGrad", (seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad,), {"use_peephole": use_peephole}, name)

def BlockLSTMGradV2(seq_len_max: Operand, x: Operand, cs_prev: Operand, h_prev: Operand, w: Operand, wci: Operand, wcf: Operand, wco: Operand, b: Operand, i: Operand, cs: Operand, f: Operand, o: Operand, ci: Operand, co: Operand, h: Operand, cs_grad: Operand, h_grad: Operand, *, use_peephole: bool, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """seq_len_max:int64 x:T cs_prev:T h_prev:T w:T wci:T wcf:T wco:T b:T i:T cs:T f:T o:T ci:T co:T h:T cs_grad:T h_grad:T -> x_grad:T cs_prev_grad:T h_prev_grad:T w_grad:T wci_grad:T wcf_grad:T wco_grad:T b_grad:T"""
    return many("BlockLSTMGradV2", (seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad,), {"use_peephole": use_peephole}, name)

def BlockLSTMV2(seq_len_max: Operand, x: Operand, cs_prev: Operand, h_prev: Operand, w: Operand, wci: Operand, wcf: Operand, wco: Operand, b: Operand, *, cell_clip: float = 0.0, use_peephole: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """seq_len_max:int64 x:T cs_prev:T h_prev:T w:T wci:T wcf:T wco:T b:T -> i:T cs:T f:T o:T ci:T co:T h:T"""
    return many("BlockLSTMV2", (seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b,), {"cell_clip": cell_clip, "use_peephole": use_peephole}, name)

def BroadcastArgs(s0: Operand, s1: Operand, *, name: str | None = None) -> Tensor:
    """s0:T s1:T -> r0:T"""
    return one("BroadcastArgs", (s0, s1,), {}, name)

def BroadcastGradientArgs(s0: Operand, s1: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """s0:T s1:T -> r0:T r1:T"""
    return many("BroadcastGradientArgs", (s0, s1,), {}, name)

def BroadcastTo(input: Operand, shape: Operand, *, name: str | None = None) -> Tensor:
    """input:T shape:Tidx -> output:T"""
    return one("BroadcastTo", (input, shape,), {}, name)

def Bucketize(input: Operand, *, boundaries: Sequence[float], name: str | None = None) -> Tensor:
    """input:T -> output:int32"""
    return one("Bucketize", (input,), {"boundaries": boundaries}, name)

def CSVDataset(filenames: Operand, compression_type: Operand, buffer_size: Operand, header: Operand, field_delim: Operand, use_quote_delim: Operand, na_value: Operand, select_cols: Operand, record_defaults: Operands, *, output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """filenames:string compression_type:string buffer_size:int64 header:bool field_delim:string use_quote_delim:bool na_value:string select_cols:int64 record_defaults:[output_types] -> handle:variant"""
    return one("CSVDataset", (filenames, compression_type, buffer_size, header, field_delim, use_quote_delim, na_value, select_cols, record_defaults,), {"output_shapes": output_shapes}, name)

def CSVDatasetV2(filenames: Operand, compression_type: Operand, buffer_size: Operand, header: Operand, field_delim: Operand, use_quote_delim: Operand, na_value: Operand, select_cols: Operand, record_defaults: Operands, exclude_cols: Operand, *, output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """filenames:string compression_type:string buffer_size:int64 header:bool field_delim:string use_quote_delim:bool na_value:string select_cols:int64 record_defaults:[output_types] exclude_cols:int64 -> handle:variant"""
    return one("CSVDatasetV2", (filenames, compression_type, buffer_size, header, field_delim, use_quote_delim, na_value, select_cols, record_defaults, exclude_cols,), {"output_shapes": output_shapes}, name)

def CTCBeamSearchDecoder(inputs: Operand, sequence_length: Operand, *, beam_width: int, top_paths: int, merge_repeated: bool = True, name: str | None = None) -> tuple[list[Tensor], list[Tensor], list[Tensor], Tensor]:
    """inputs:T sequence_length:int32 -> decoded_indices:int64*top_paths decoded_values:int64*top_paths decoded_shape:int64*top_paths log_probability:T"""
    return many("CTCBeamSearchDecoder", (inputs, sequence_length,), {"beam_width": beam_width, "top_paths": top_paths, "merge_repeated": merge_repeated}, name)

def CTCGreedyDecoder(inputs: Operand, sequence_length: Operand, *, merge_repeated: bool = False, blank_index: int = -1, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """inputs:T sequence_length:int32 -> decoded_indices:int64 decoded_values:int64 decoded_shape:int64 log_probability:T"""
    return many("CTCGreedyDecoder", (inputs, sequence_length,), {"merge_repeated": merge_repeated, "blank_index": blank_index}, name)

def CTCLoss(inputs: Operand, labels_indices: Operand, labels_values: Operand, sequence_length: Operand, *, preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """inputs:T labels_indices:int64 labels_values:int32 sequence_length:int32 -> loss:T gradient:T"""
    return many("CTCLoss", (inputs, labels_indices, labels_values, sequence_length,), {"preprocess_collapse_repeated": preprocess_collapse_repeated, "ctc_merge_repeated": ctc_merge_repeated, "ignore_longer_outputs_than_inputs": ignore_longer_outputs_than_inputs}, name)

def CacheDataset(input_dataset: Operand, filename: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant filename:string -> handle:variant"""
    return one("CacheDataset", (input_dataset, filename,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def CacheDatasetV2(input_dataset: Operand, filename: Operand, cache: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant filename:string cache:resource -> handle:variant"""
    return one("CacheDatasetV2", (input_dataset, filename, cache,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def Cast(x: Operand, *, DstT: DTypeLike, Truncate: bool = False, name: str | None = None) -> Tensor:
    """x:SrcT -> y:DstT"""
    return one("Cast", (x,), {"DstT": DstT, "Truncate": Truncate}, name)

def Ceil(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Ceil", (x,), {}, name)

def CheckNumerics(tensor: Operand, *, message: str | bytes, name: str | None = None) -> Tensor:
    """tensor:T -> output:T"""
    return one("CheckNumerics", (tensor,), {"message": message}, name)

def CheckNumericsV2(tensor: Operand, *, message: str | bytes, name: str | None = None) -> Tensor:
    """tensor:T -> output:T"""
    return one("CheckNumericsV2", (tensor,), {"message": message}, name)

def Cholesky(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("Cholesky", (input,), {}, name)

def CholeskyGrad(l: Operand, grad: Operand, *, name: str | None = None) -> Tensor:
    """l:T grad:T -> output:T"""
    return one("CholeskyGrad", (l, grad,), {}, name)

def ClipByValue(t: Operand, clip_value_min: Operand, clip_value_max: Operand, *, name: str | None = None) -> Tensor:
    """t:T clip_value_min:T clip_value_max:T -> output:T"""
    return one("ClipByValue", (t, clip_value_min, clip_value_max,), {}, name)

def CollectiveAllToAllV2(input: Operand, group_size: Operand, group_key: Operand, instance_key: Operand, ordering_token: Operands, *, communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, is_stateless: bool = False, name: str | None = None) -> Tensor:
    """input:T group_size:int32 group_key:int32 instance_key:int32 ordering_token:resource*Nordering_token -> data:T"""
    return one("CollectiveAllToAllV2", (input, group_size, group_key, instance_key, ordering_token,), {"communication_hint": communication_hint, "timeout_seconds": timeout_seconds, "is_stateless": is_stateless}, name)

def CollectiveBcastRecv(*, T: DTypeLike, group_size: int, group_key: int, instance_key: int, shape: ShapeLike, communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, name: str | None = None) -> Tensor:
    """-> data:T"""
    return one("CollectiveBcastRecv", (), {"T": T, "group_size": group_size, "group_key": group_key, "instance_key": instance_key, "shape": shape, "communication_hint": communication_hint, "timeout_seconds": timeout_seconds}, name)

def CollectiveBcastRecvV2(group_size: Operand, group_key: Operand, instance_key: Operand, shape: Operand, *, T: DTypeLike, communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, name: str | None = None) -> Tensor:
    """group_size:int32 group_key:int32 instance_key:int32 shape:Tshape -> data:T"""
    return one("CollectiveBcastRecvV2", (group_size, group_key, instance_key, shape,), {"T": T, "communication_hint": communication_hint, "timeout_seconds": timeout_seconds}, name)

def CollectiveBcastSend(input: Operand, *, group_size: int, group_key: int, instance_key: int, shape: ShapeLike, communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, name: str | None = None) -> Tensor:
    """input:T -> data:T"""
    return one("CollectiveBcastSend", (input,), {"group_size": group_size, "group_key": group_key, "instance_key": instance_key, "shape": shape, "communication_hint": communication_hint, "timeout_seconds": timeout_seconds}, name)

def CollectiveBcastSendV2(input: Operand, group_size: Operand, group_key: Operand, instance_key: Operand, *, communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, name: str | None = None) -> Tensor:
    """input:T group_size:int32 group_key:int32 instance_key:int32 -> data:T"""
    return one("CollectiveBcastSendV2", (input, group_size, group_key, instance_key,), {"communication_hint": communication_hint, "timeout_seconds": timeout_seconds}, name)

def CollectiveGather(input: Operand, *, group_size: int, group_key: int, instance_key: int, shape: ShapeLike, communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, name: str | None = None) -> Tensor:
    """input:T -> data:T"""
    return one("CollectiveGather", (input,), {"group_size": group_size, "group_key": group_key, "instance_key": instance_key, "shape": shape, "communication_hint": communication_hint, "timeout_seconds": timeout_seconds}, name)

def CollectiveGatherV2(input: Operand, group_size: Operand, group_key: Operand, instance_key: Operand, ordering_token: Operands, *, communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, is_stateless: bool = False, name: str | None = None) -> Tensor:
    """input:T group_size:int32 group_key:int32 instance_key:int32 ordering_token:resource*Nordering_token -> data:T"""
    return one("CollectiveGatherV2", (input, group_size, group_key, instance_key, ordering_token,), {"communication_hint": communication_hint, "timeout_seconds": timeout_seconds, "is_stateless": is_stateless}, name)

def CollectiveReduce(input: Operand, *, group_size: int, group_key: int, instance_key: int, merge_op: str | bytes, final_op: str | bytes, subdiv_offsets: Sequence[int], wait_for: Sequence[int] = (), communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, name: str | None = None) -> Tensor:
    """input:T -> data:T"""
    return one("CollectiveReduce", (input,), {"group_size": group_size, "group_key": group_key, "instance_key": instance_key, "merge_op": merge_op, "final_op": final_op, "subdiv_offsets": subdiv_offsets, "wait_for": wait_for, "communication_hint": communication_hint, "timeout_seconds": timeout_seconds}, name)

def CollectiveReduceScatterV2(input: Operand, group_size: Operand, group_key: Operand, instance_key: Operand, ordering_token: Operands, *, merge_op: str | bytes, final_op: str | bytes, communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, is_stateless: bool = False, max_subdivs_per_device: int = -1, name: str | None = None) -> Tensor:
    """input:T group_size:int32 group_key:int32 instance_key:int32 ordering_token:resource*Nordering_token -> data:T"""
    return one("CollectiveReduceScatterV2", (input, group_size, group_key, instance_key, ordering_token,), {"merge_op": merge_op, "final_op": final_op, "communication_hint": communication_hint, "timeout_seconds": timeout_seconds, "is_stateless": is_stateless, "max_subdivs_per_device": max_subdivs_per_device}, name)

def CollectiveReduceV2(input: Operand, group_size: Operand, group_key: Operand, instance_key: Operand, ordering_token: Operands, *, merge_op: str | bytes, final_op: str | bytes, communication_hint: str | bytes = 'auto', timeout_seconds: float = 0.0, is_stateless: bool = False, max_subdivs_per_device: int = -1, name: str | None = None) -> Tensor:
    """input:T group_size:int32 group_key:int32 instance_key:int32 ordering_token:resource*Nordering_token -> data:T"""
    return one("CollectiveReduceV2", (input, group_size, group_key, instance_key, ordering_token,), {"merge_op": merge_op, "final_op": final_op, "communication_hint": communication_hint, "timeout_seconds": timeout_seconds, "is_stateless": is_stateless, "max_subdivs_per_device": max_subdivs_per_device}, name)

def CombinedNonMaxSuppression(boxes: Operand, scores: Operand, max_output_size_per_class: Operand, max_total_size: Operand, iou_threshold: Operand, score_threshold: Operand, *, pad_per_class: bool = False, clip_boxes: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """boxes:float scores:float max_output_size_per_class:int32 max_total_size:int32 iou_threshold:float score_threshold:float -> nmsed_boxes:float nmsed_scores:float nmsed_classes:float valid_detections:int32"""
    return many("CombinedNonMaxSuppression", (boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold,), {"pad_per_class": pad_per_class, "clip_boxes": clip_boxes}, name)

def Complex(real: Operand, imag: Operand, *, Tout: DTypeLike = complex64, name: str | None = None) -> Tensor:
    """real:T imag:T -> out:Tout"""
    return one("Complex", (real, imag,), {"Tout": Tout}, name)

def ComplexAbs(x: Operand, *, Tout: DTypeLike = float32, name: str | None = None) -> Tensor:
    """x:T -> y:Tout"""
    return one("ComplexAbs", (x,), {"Tout": Tout}, name)

def ComputeAccidentalHits(true_classes: Operand, sampled_candidates: Operand, *, num_true: int, seed: int = 0, seed2: int = 0, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """true_classes:int64 sampled_candidates:int64 -> indices:int32 ids:int64 weights:float"""
    return many("ComputeAccidentalHits", (true_classes, sampled_candidates,), {"num_true": num_true, "seed": seed, "seed2": seed2}, name)

def Concat(concat_dim: Operand, values: Operands, *, name: str | None = None) -> Tensor:
    """concat_dim:int32 values:T*N -> output:T"""
    return one("Concat", (concat_dim, values,), {}, name)

def ConcatOffset(concat_dim: Operand, shape: Operands, *, name: str | None = None) -> list[Tensor]:
    """concat_dim:int32 shape:shape_type*N -> offset:shape_type*N"""
    return many("ConcatOffset", (concat_dim, shape,), {}, name)

def ConcatV2(values: Operands, axis: Operand, *, name: str | None = None) -> Tensor:
    """values:T*N axis:Tidx -> output:T"""
    return one("ConcatV2", (values, axis,), {}, name)

def ConcatenateDataset(input_dataset: Operand, another_dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant another_dataset:variant -> handle:variant"""
    return one("ConcatenateDataset", (input_dataset, another_dataset,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def ConditionalAccumulator(*, dtype: DTypeLike, shape: ShapeLike | None = None, container: str | bytes = '', shared_name: str | bytes = '', reduction_type: str | bytes = 'MEAN', name: str | None = None) -> Tensor:
    """-> handle:string&"""
    return one("ConditionalAccumulator", (), {"dtype": dtype, "shape": shape, "container": container, "shared_name": shared_name, "reduction_type": reduction_type}, name)

def Conj(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("Conj", (input,), {}, name)

def ConjugateTranspose(x: Operand, perm: Operand, *, name: str | None = None) -> Tensor:
    """x:T perm:Tperm -> y:T"""
    return one("ConjugateTranspose", (x, perm,), {}, name)

def Const(*, value: Value, name: str | None = None) -> Tensor:
    """-> output:dtype"""
    return one("Const", (), {"value": value}, name)

def ConsumeMutexLock(mutex_lock: Operand, *, name: str | None = None) -> Operation:
    """mutex_lock:variant ->"""
    return node("ConsumeMutexLock", (mutex_lock,), {}, name)

def ControlTrigger(*, name: str | None = None) -> Operation:
    """->"""
    return node("ControlTrigger", (), {}, name)

def Conv2D(input: Operand, filter: Operand, *, strides: Sequence[int], padding: str | bytes, use_cudnn_on_gpu: bool = True, explicit_paddings: Sequence[int] = (), data_format: str | bytes = 'NHWC', dilations: Sequence[int] = (1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input:T filter:T -> output:T"""
    return one("Conv2D", (input, filter,), {"strides": strides, "padding": padding, "use_cudnn_on_gpu": use_cudnn_on_gpu, "explicit_paddings": explicit_paddings, "data_format": data_format, "dilations": dilations}, name)

def Conv2DBackpropFilter(input: Operand, filter_sizes: Operand, out_backprop: Operand, *, strides: Sequence[int], padding: str | bytes, use_cudnn_on_gpu: bool = True, explicit_paddings: Sequence[int] = (), data_format: str | bytes = 'NHWC', dilations: Sequence[int] = (1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input:T filter_sizes:int32 out_backprop:T -> output:T"""
    return one("Conv2DBackpropFilter", (input, filter_sizes, out_backprop,), {"strides": strides, "padding": padding, "use_cudnn_on_gpu": use_cudnn_on_gpu, "explicit_paddings": explicit_paddings, "data_format": data_format, "dilations": dilations}, name)

def Conv2DBackpropInput(input_sizes: Operand, filter: Operand, out_backprop: Operand, *, strides: Sequence[int], padding: str | bytes, use_cudnn_on_gpu: bool = True, explicit_paddings: Sequence[int] = (), data_format: str | bytes = 'NHWC', dilations: Sequence[int] = (1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input_sizes:int32 filter:T out_backprop:T -> output:T"""
    return one("Conv2DBackpropInput", (input_sizes, filter, out_backprop,), {"strides": strides, "padding": padding, "use_cudnn_on_gpu": use_cudnn_on_gpu, "explicit_paddings": explicit_paddings, "data_format": data_format, "dilations": dilations}, name)

def Conv3D(input: Operand, filter: Operand, *, strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NDHWC', dilations: Sequence[int] = (1, 1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input:T filter:T -> output:T"""
    return one("Conv3D", (input, filter,), {"strides": strides, "padding": padding, "data_format": data_format, "dilations": dilations}, name)

def Conv3DBackpropFilter(input: Operand, filter: Operand, out_backprop: Operand, *, strides: Sequence[int], padding: str | bytes, dilations: Sequence[int] = (1, 1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input:T filter:T out_backprop:T -> output:T"""
    return one("Conv3DBackpropFilter", (input, filter, out_backprop,), {"strides": strides, "padding": padding, "dilations": dilations}, name)

def Conv3DBackpropFilterV2(input: Operand, filter_sizes: Operand, out_backprop: Operand, *, strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NDHWC', dilations: Sequence[int] = (1, 1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input:T filter_sizes:int32 out_backprop:T -> output:T"""
    return one("Conv3DBackpropFilterV2", (input, filter_sizes, out_backprop,), {"strides": strides, "padding": padding, "data_format": data_format, "dilations": dilations}, name)

def Conv3DBackpropInput(input: Operand, filter: Operand, out_backprop: Operand, *, strides: Sequence[int], padding: str | bytes, dilations: Sequence[int] = (1, 1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input:T filter:T out_backprop:T -> output:T"""
    return one("Conv3DBackpropInput", (input, filter, out_backprop,), {"strides": strides, "padding": padding, "dilations": dilations}, name)

def Conv3DBackpropInputV2(input_sizes: Operand, filter: Operand, out_backprop: Operand, *, strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NDHWC', dilations: Sequence[int] = (1, 1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input_sizes:Tshape filter:T out_backprop:T -> output:T"""
    return one("Conv3DBackpropInputV2", (input_sizes, filter, out_backprop,), {"strides": strides, "padding": padding, "data_format": data_format, "dilations": dilations}, name)

def Cos(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Cos", (x,), {}, name)

def Cosh(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Cosh", (x,), {}, name)

def CountUpTo(ref: Operand, *, limit: int, name: str | None = None) -> Tensor:
    """ref:T& -> output:T"""
    return one("CountUpTo", (ref,), {"limit": limit}, name)

def CropAndResize(image: Operand, boxes: Operand, box_ind: Operand, crop_size: Operand, *, method: str | bytes = 'bilinear', extrapolation_value: float = 0.0, name: str | None = None) -> Tensor:
    """image:T boxes:float box_ind:int32 crop_size:int32 -> crops:float"""
    return one("CropAndResize", (image, boxes, box_ind, crop_size,), {"method": method, "extrapolation_value": extrapolation_value}, name)

def CropAndResizeGradBoxes(grads: Operand, image: Operand, boxes: Operand, box_ind: Operand, *, method: str | bytes = 'bilinear', name: str | None = None) -> Tensor:
    """grads:float image:T boxes:float box_ind:int32 -> output:float"""
    return one("CropAndResizeGradBoxes", (grads, image, boxes, box_ind,), {"method": method}, name)

def CropAndResizeGradImage(grads: Operand, boxes: Operand, box_ind: Operand, image_size: Operand, *, T: DTypeLike, method: str | bytes = 'bilinear', name: str | None = None) -> Tensor:
    """grads:float boxes:float box_ind:int32 image_size:int32 -> output:T"""
    return one("CropAndResizeGradImage", (grads, boxes, box_ind, image_size,), {"T": T, "method": method}, name)

def Cross(a: Operand, b: Operand, *, name: str | None = None) -> Tensor:
    """a:T b:T -> product:T"""
    return one("Cross", (a, b,), {}, name)

def Cumprod(x: Operand, axis: Operand, *, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """x:T axis:Tidx -> out:T"""
    return one("Cumprod", (x, axis,), {"exclusive": exclusive, "reverse": reverse}, name)

def Cumsum(x: Operand, axis: Operand, *, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """x:T axis:Tidx -> out:T"""
    return one("Cumsum", (x, axis,), {"exclusive": exclusive, "reverse": reverse}, name)

def CumulativeLogsumexp(x: Operand, axis: Operand, *, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """x:T axis:Tidx -> out:T"""
    return one("CumulativeLogsumexp", (x, axis,), {"exclusive": exclusive, "reverse": reverse}, name)

def DataFormatDimMap(x: Operand, *, src_format: str | bytes = 'NHWC', dst_format: str | bytes = 'NCHW', name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("DataFormatDimMap", (x,), {"src_format": src_format, "dst_format": dst_format}, name)

def DataFormatVecPermute(x: Operand, *, src_format: str | bytes = 'NHWC', dst_format: str | bytes = 'NCHW', name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("DataFormatVecPermute", (x,), {"src_format": src_format, "dst_format": dst_format}, name)

def DatasetCardinality(input_dataset: Operand, *, cardinality_options: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant -> cardinality:int64"""
    return one("DatasetCardinality", (input_dataset,), {"cardinality_options": cardinality_options}, name)

def DatasetToSingleElement(dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> list[Tensor]:
    """dataset:variant -> components:[output_types]"""
    return many("DatasetToSingleElement", (dataset,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def DecodeAndCropJpeg(contents: Operand, crop_window: Operand, *, channels: int = 0, ratio: int = 1, name: str | None = None) -> Tensor:
    """contents:string crop_window:int32 -> image:uint8"""
    return one("DecodeAndCropJpeg", (contents, crop_window,), {"channels": channels, "ratio": ratio}, name)

def DecodeBase64(input: Operand, *, name: str | None = None) -> Tensor:
    """input:string -> output:string"""
    return one("DecodeBase64", (input,), {}, name)

def DecodeBmp(contents: Operand, *, channels: int = 0, name: str | None = None) -> Tensor:
    """contents:string -> image:uint8"""
    return one("DecodeBmp", (contents,), {"channels": channels}, name)

def DecodeCSV(records: Operand, record_defaults: Operands, *, field_delim: str | bytes = ',', use_quote_delim: bool = True, na_value: str | bytes = '', select_cols: Sequence[int] = (), name: str | None = None) -> list[Tensor]:
    """records:string record_defaults:[OUT_TYPE] -> output:[OUT_TYPE]"""
    return many("DecodeCSV", (records, record_defaults,), {"field_delim": field_delim, "use_quote_delim": use_quote_delim, "na_value": na_value, "select_cols": select_cols}, name)

def DecodeCompressed(bytes: Operand, *, compression_type: str | bytes = '', name: str | None = None) -> Tensor:
    """bytes:string -> output:string"""
    return one("DecodeCompressed", (bytes,), {"compression_type": compression_type}, name)

def DecodeGif(contents: Operand, *, name: str | None = None) -> Tensor:
    """contents:string -> image:uint8"""
    return one("DecodeGif", (contents,), {}, name)

def DecodeImage(contents: Operand, *, channels: int = 0, dtype: DTypeLike = uint8, expand_animations: bool = True, name: str | None = None) -> Tensor:
    """contents:string -> image:dtype"""
    return one("DecodeImage", (contents,), {"channels": channels, "dtype": dtype, "expand_animations": expand_animations}, name)

def DecodeJSONExample(json_examples: Operand, *, name: str | None = None) -> Tensor:
    """json_examples:string -> binary_examples:string"""
    return one("DecodeJSONExample", (json_examples,), {}, name)

def DecodeJpeg(contents: Operand, *, channels: int = 0, ratio: int = 1, name: str | None = None) -> Tensor:
    """contents:string -> image:uint8"""
    return one("DecodeJpeg", (contents,), {"channels": channels, "ratio": ratio}, name)

def DecodePaddedRaw(input_bytes: Operand, fixed_length: Operand, *, out_type: DTypeLike, little_endian: bool = True, name: str | None = None) -> Tensor:
    """input_bytes:string fixed_length:int32 -> output:out_type"""
    return one("DecodePaddedRaw", (input_bytes, fixed_length,), {"out_type": out_type, "little_endian": little_endian}, name)

def DecodePng(contents: Operand, *, channels: int = 0, dtype: DTypeLike = uint8, name: str | None = None) -> Tensor:
    """contents:string -> image:dtype"""
    return one("DecodePng", (contents,), {"channels": channels, "dtype": dtype}, name)

def DecodeRaw(bytes: Operand, *, out_type: DTypeLike, little_endian: bool = True, name: str | None = None) -> Tensor:
    """bytes:string -> output:out_type"""
    return one("DecodeRaw", (bytes,), {"out_type": out_type, "little_endian": little_endian}, name)

def DecodeWav(contents: Operand, *, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> tuple[Tensor, Tensor]:
    """contents:string -> audio:float sample_rate:int32"""
    return many("DecodeWav", (contents,), {"desired_channels": desired_channels, "desired_samples": desired_samples}, name)

def DeepCopy(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("DeepCopy", (x,), {}, name)

def DeleteSessionTensor(handle: Operand, *, name: str | None = None) -> Operation:
    """handle:string ->"""
    return node("DeleteSessionTensor", (handle,), {}, name)

def DenseBincount(input: Operand, size: Operand, weights: Operand, *, binary_output: bool = False, name: str | None = None) -> Tensor:
    """input:Tidx size:Tidx weights:T -> output:T"""
    return one("DenseBincount", (input, size, weights,), {"binary_output": binary_output}, name)

def DenseCountSparseOutput(values: Operand, weights: Operand, *, binary_output: bool, minlength: int = -1, maxlength: int = -1, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """values:T weights:output_type -> output_indices:int64 output_values:output_type output_dense_shape:int64"""
    return many("DenseCountSparseOutput", (values, weights,), {"binary_output": binary_output, "minlength": minlength, "maxlength": maxlength}, name)

def DenseToDenseSetOperation(set1: Operand, set2: Operand, *, set_operation: str | bytes, validate_indices: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """set1:T set2:T -> result_indices:int64 result_values:T result_shape:int64"""
    return many("DenseToDenseSetOperation", (set1, set2,), {"set_operation": set_operation, "validate_indices": validate_indices}, name)

def DenseToSparseBatchDataset(input_dataset: Operand, batch_size: Operand, row_shape: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant batch_size:int64 row_shape:int64 -> handle:variant"""
    return one("DenseToSparseBatchDataset", (input_dataset, batch_size, row_shape,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def DenseToSparseSetOperation(set1: Operand, set2_indices: Operand, set2_values: Operand, set2_shape: Operand, *, set_operation: str | bytes, validate_indices: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """set1:T set2_indices:int64 set2_values:T set2_shape:int64 -> result_indices:int64 result_values:T result_shape:int64"""
    return many("DenseToSparseSetOperation", (set1, set2_indices, set2_values, set2_shape,), {"set_operation": set_operation, "validate_indices": validate_indices}, name)

def DepthToSpace(input: Operand, *, block_size: int, data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("DepthToSpace", (input,), {"block_size": block_size, "data_format": data_format}, name)

def DepthwiseConv2dNative(input: Operand, filter: Operand, *, strides: Sequence[int], padding: str | bytes, explicit_paddings: Sequence[int] = (), data_format: str | bytes = 'NHWC', dilations: Sequence[int] = (1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input:T filter:T -> output:T"""
    return one("DepthwiseConv2dNative", (input, filter,), {"strides": strides, "padding": padding, "explicit_paddings": explicit_paddings, "data_format": data_format, "dilations": dilations}, name)

def DepthwiseConv2dNativeBackpropFilter(input: Operand, filter_sizes: Operand, out_backprop: Operand, *, strides: Sequence[int], padding: str | bytes, explicit_paddings: Sequence[int] = (), data_format: str | bytes = 'NHWC', dilations: Sequence[int] = (1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input:T filter_sizes:int32 out_backprop:T -> output:T"""
    return one("DepthwiseConv2dNativeBackpropFilter", (input, filter_sizes, out_backprop,), {"strides": strides, "padding": padding, "explicit_paddings": explicit_paddings, "data_format": data_format, "dilations": dilations}, name)

def DepthwiseConv2dNativeBackpropInput(input_sizes: Operand, filter: Operand, out_backprop: Operand, *, strides: Sequence[int], padding: str | bytes, explicit_paddings: Sequence[int] = (), data_format: str | bytes = 'NHWC', dilations: Sequence[int] = (1, 1, 1, 1), name: str | None = None) -> Tensor:
    """input_sizes:int32 filter:T out_backprop:T -> output:T"""
    return one("DepthwiseConv2dNativeBackpropInput", (input_sizes, filter, out_backprop,), {"strides": strides, "padding": padding, "explicit_paddings": explicit_paddings, "data_format": data_format, "dilations": dilations}, name)

def Dequantize(input: Operand, min_range: Operand, max_range: Operand, *, mode: str | bytes = 'MIN_COMBINED', narrow_range: bool = False, axis: int = -1, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """input:T min_range:float max_range:float -> output:dtype"""
    return one("Dequantize", (input, min_range, max_range,), {"mode": mode, "narrow_range": narrow_range, "axis": axis, "dtype": dtype}, name)

def DeserializeIterator(resource_handle: Operand, serialized: Operand, *, name: str | None = None) -> Operation:
    """resource_handle:resource serialized:variant ->"""
    return node("DeserializeIterator", (resource_handle, serialized,), {}, name)

def DeserializeManySparse(serialized_sparse: Operand, *, dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """serialized_sparse:string -> sparse_indices:int64 sparse_values:dtype sparse_shape:int64"""
    return many("DeserializeManySparse", (serialized_sparse,), {"dtype": dtype}, name)

def DeserializeSparse(serialized_sparse: Operand, *, dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """serialized_sparse:Tserialized -> sparse_indices:int64 sparse_values:dtype sparse_shape:int64"""
    return many("DeserializeSparse", (serialized_sparse,), {"dtype": dtype}, name)

def DestroyResourceOp(resource: Operand, *, ignore_lookup_error: bool = True, name: str | None = None) -> Operation:
    """resource:resource ->"""
    return node("DestroyResourceOp", (resource,), {"ignore_lookup_error": ignore_lookup_error}, name)

def DestroyTemporaryVariable(ref: Operand, *, var_name: str | bytes, name: str | None = None) -> Tensor:
    """ref:T& -> value:T"""
    return one("DestroyTemporaryVariable", (ref,), {"var_name": var_name}, name)

def Diag(diagonal: Operand, *, name: str | None = None) -> Tensor:
    """diagonal:T -> output:T"""
    return one("Diag", (diagonal,), {}, name)

def DiagPart(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> diagonal:T"""
    return one("DiagPart", (input,), {}, name)

def Digamma(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Digamma", (x,), {}, name)

def Dilation2D(input: Operand, filter: Operand, *, strides: Sequence[int], rates: Sequence[int], padding: str | bytes, name: str | None = None) -> Tensor:
    """input:T filter:T -> output:T"""
    return one("Dilation2D", (input, filter,), {"strides": strides, "rates": rates, "padding": padding}, name)

def Dilation2DBackpropFilter(input: Operand, filter: Operand, out_backprop: Operand, *, strides: Sequence[int], rates: Sequence[int], padding: str | bytes, name: str | None = None) -> Tensor:
    """input:T filter:T out_backprop:T -> filter_backprop:T"""
    return one("Dilation2DBackpropFilter", (input, filter, out_backprop,), {"strides": strides, "rates": rates, "padding": padding}, name)

def Dilation2DBackpropInput(input: Operand, filter: Operand, out_backprop: Operand, *, strides: Sequence[int], rates: Sequence[int], padding: str | bytes, name: str | None = None) -> Tensor:
    """input:T filter:T out_backprop:T -> in_backprop:T"""
    return one("Dilation2DBackpropInput", (input, filter, out_backprop,), {"strides": strides, "rates": rates, "padding": padding}, name)

def DirectedInterleaveDataset(selector_input_dataset: Operand, data_input_datasets: Operands, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], stop_on_empty_dataset: bool = False, name: str | None = None) -> Tensor:
    """selector_input_dataset:variant data_input_datasets:variant*N -> handle:variant"""
    return one("DirectedInterleaveDataset", (selector_input_dataset, data_input_datasets,), {"output_types": output_types, "output_shapes": output_shapes, "stop_on_empty_dataset": stop_on_empty_dataset}, name)

def DisableCopyOnRead(resource: Operand, *, name: str | None = None) -> Operation:
    """resource:resource ->"""
    return node("DisableCopyOnRead", (resource,), {}, name)

def Div(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Div", (x, y,), {}, name)

def DivNoNan(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("DivNoNan", (x, y,), {}, name)

def DrawBoundingBoxes(images: Operand, boxes: Operand, *, name: str | None = None) -> Tensor:
    """images:T boxes:float -> output:T"""
    return one("DrawBoundingBoxes", (images, boxes,), {}, name)

def DrawBoundingBoxesV2(images: Operand, boxes: Operand, colors: Operand, *, name: str | None = None) -> Tensor:
    """images:T boxes:float colors:float -> output:T"""
    return one("DrawBoundingBoxesV2", (images, boxes, colors,), {}, name)

def DummyMemoryCache(*, name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("DummyMemoryCache", (), {}, name)

def DummySeedGenerator(*, name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("DummySeedGenerator", (), {}, name)

def DynamicPartition(data: Operand, partitions: Operand, *, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """data:T partitions:int32 -> outputs:T*num_partitions"""
    return many("DynamicPartition", (data, partitions,), {"num_partitions": num_partitions}, name)

def DynamicStitch(indices: Operands, data: Operands, *, name: str | None = None) -> Tensor:
    """indices:int32*N data:T*N -> merged:T"""
    return one("DynamicStitch", (indices, data,), {}, name)

def EditDistance(hypothesis_indices: Operand, hypothesis_values: Operand, hypothesis_shape: Operand, truth_indices: Operand, truth_values: Operand, truth_shape: Operand, *, normalize: bool = True, name: str | None = None) -> Tensor:
    """hypothesis_indices:int64 hypothesis_values:T hypothesis_shape:int64 truth_indices:int64 truth_values:T truth_shape:int64 -> output:float"""
    return one("EditDistance", (hypothesis_indices, hypothesis_values, hypothesis_shape, truth_indices, truth_values, truth_shape,), {"normalize": normalize}, name)

def Einsum(inputs: Operands, *, equation: str | bytes, name: str | None = None) -> Tensor:
    """inputs:T*N -> output:T"""
    return one("Einsum", (inputs,), {"equation": equation}, name)

def Elu(features: Operand, *, name: str | None = None) -> Tensor:
    """features:T -> activations:T"""
    return one("Elu", (features,), {}, name)

def EluGrad(gradients: Operand, outputs: Operand, *, name: str | None = None) -> Tensor:
    """gradients:T outputs:T -> backprops:T"""
    return one("EluGrad", (gradients, outputs,), {}, name)

def Empty(shape: Operand, *, dtype: DTypeLike, init: bool = False, name: str | None = None) -> Tensor:
    """shape:int32 -> output:dtype"""
    return one("Empty", (shape,), {"dtype": dtype, "init": init}, name)

def EmptyTensorList(element_shape: Operand, max_num_elements: Operand, *, element_dtype: DTypeLike, name: str | None = None) -> Tensor:
    """element_shape:shape_type max_num_elements:int32 -> handle:variant"""
    return one("EmptyTensorList", (element_shape, max_num_elements,), {"element_dtype": element_dtype}, name)

def EncodeBase64(input: Operand, *, pad: bool = False, name: str | None = None) -> Tensor:
    """input:string -> output:string"""
    return one("EncodeBase64", (input,), {"pad": pad}, name)

def EncodeJpeg(image: Operand, *, format: str | bytes = '', quality: int = 95, progressive: bool = False, optimize_size: bool = False, name: str | None = None) -> Tensor:
    """image:uint8 -> contents:string"""
    return one("EncodeJpeg", (image,), {"format": format, "quality": quality, "progressive": progressive, "optimize_size": optimize_size}, name)

def EncodeJpegVariableQuality(images: Operand, quality: Operand, *, name: str | None = None) -> Tensor:
    """images:uint8 quality:int32 -> contents:string"""
    return one("EncodeJpegVariableQuality", (images, quality,), {}, name)

def EncodePng(image: Operand, *, compression: int = -1, name: str | None = None) -> Tensor:
    """image:T -> contents:string"""
    return one("EncodePng", (image,), {"compression": compression}, name)

def EncodeWav(audio: Operand, sample_rate: Operand, *, name: str | None = None) -> Tensor:
    """audio:float sample_rate:int32 -> contents:string"""
    return one("EncodeWav", (audio, sample_rate,), {}, name)

def EnsureShape(input: Operand, *, shape: ShapeLike, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("EnsureShape", (input,), {"shape": shape}, name)

def Enter(data: Operand, *, frame_name: str | bytes, is_constant: bool = False, parallel_iterations: int = 10, name: str | None = None) -> Tensor:
    """data:T -> output:T"""
    return one("Enter", (data,), {"frame_name": frame_name, "is_constant": is_constant, "parallel_iterations": parallel_iterations}, name)

def Equal(x: Operand, y: Operand, *, incompatible_shape_error: bool = True, name: str | None = None) -> Tensor:
    """x:T y:T -> z:bool"""
    return one("Equal", (x, y,), {"incompatible_shape_error": incompatible_shape_error}, name)

def Erf(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Erf", (x,), {}, name)

def Erfc(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Erfc", (x,), {}, name)

def Erfinv(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Erfinv", (x,), {}, name)

def EuclideanNorm(input: Operand, reduction_indices: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input:T reduction_indices:Tidx -> output:T"""
    return one("EuclideanNorm", (input, reduction_indices,), {"keep_dims": keep_dims}, name)

def Exit(data: Operand, *, name: str | None = None) -> Tensor:
    """data:T -> output:T"""
    return one("Exit", (data,), {}, name)

def Exp(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Exp", (x,), {}, name)

def ExpandDims(input: Operand, dim: Operand, *, name: str | None = None) -> Tensor:
    """input:T dim:Tdim -> output:T"""
    return one("ExpandDims", (input, dim,), {}, name)

def ExperimentalAssertNextDataset(input_dataset: Operand, transformations: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant transformations:string -> handle:variant"""
    return one("ExperimentalAssertNextDataset", (input_dataset, transformations,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalDatasetCardinality(input_dataset: Operand, *, name: str | None = None) -> Tensor:
    """input_dataset:variant -> cardinality:int64"""
    return one("ExperimentalDatasetCardinality", (input_dataset,), {}, name)

def ExperimentalDenseToSparseBatchDataset(input_dataset: Operand, batch_size: Operand, row_shape: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant batch_size:int64 row_shape:int64 -> handle:variant"""
    return one("ExperimentalDenseToSparseBatchDataset", (input_dataset, batch_size, row_shape,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalDirectedInterleaveDataset(selector_input_dataset: Operand, data_input_datasets: Operands, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """selector_input_dataset:variant data_input_datasets:variant*N -> handle:variant"""
    return one("ExperimentalDirectedInterleaveDataset", (selector_input_dataset, data_input_datasets,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalGroupByReducerDataset(input_dataset: Operand, key_func_other_arguments: Operands, init_func_other_arguments: Operands, reduce_func_other_arguments: Operands, finalize_func_other_arguments: Operands, *, key_func: Value, init_func: Value, reduce_func: Value, finalize_func: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], Tkey_func_other_arguments: Sequence[DTypeLike] | None = None, Tinit_func_other_arguments: Sequence[DTypeLike] | None = None, Treduce_func_other_arguments: Sequence[DTypeLike] | None = None, Tfinalize_func_other_arguments: Sequence[DTypeLike] | None = None, name: str | None = None) -> Tensor:
    """input_dataset:variant key_func_other_arguments:[Tkey_func_other_arguments] init_func_other_arguments:[Tinit_func_other_arguments] reduce_func_other_arguments:[Treduce_func_other_arguments] finalize_func_other_arguments:[Tfinalize_func_other_arguments] -> handle:variant"""
    return one("ExperimentalGroupByReducerDataset", (input_dataset, key_func_other_arguments, init_func_other_arguments, reduce_func_other_arguments, finalize_func_other_arguments,), {"key_func": key_func, "init_func": init_func, "reduce_func": reduce_func, "finalize_func": finalize_func, "output_types": output_types, "output_shapes": output_shapes, "Tkey_func_other_arguments": Tkey_func_other_arguments, "Tinit_func_other_arguments": Tinit_func_other_arguments, "Treduce_func_other_arguments": Treduce_func_other_arguments, "Tfinalize_func_other_arguments": Tfinalize_func_other_arguments}, name)

def ExperimentalGroupByWindowDataset(input_dataset: Operand, key_func_other_arguments: Operands, reduce_func_other_arguments: Operands, window_size_func_other_arguments: Operands, *, key_func: Value, reduce_func: Value, window_size_func: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], Tkey_func_other_arguments: Sequence[DTypeLike] | None = None, Treduce_func_other_arguments: Sequence[DTypeLike] | None = None, Twindow_size_func_other_arguments: Sequence[DTypeLike] | None = None, name: str | None = None) -> Tensor:
    """input_dataset:variant key_func_other_arguments:[Tkey_func_other_arguments] reduce_func_other_arguments:[Treduce_func_other_arguments] window_size_func_other_arguments:[Twindow_size_func_other_arguments] -> handle:variant"""
    return one("ExperimentalGroupByWindowDataset", (input_dataset, key_func_other_arguments, reduce_func_other_arguments, window_size_func_other_arguments,), {"key_func": key_func, "reduce_func": reduce_func, "window_size_func": window_size_func, "output_types": output_types, "output_shapes": output_shapes, "Tkey_func_other_arguments": Tkey_func_other_arguments, "Treduce_func_other_arguments": Treduce_func_other_arguments, "Twindow_size_func_other_arguments": Twindow_size_func_other_arguments}, name)

def ExperimentalIgnoreErrorsDataset(input_dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], log_warning: bool = False, name: str | None = None) -> Tensor:
    """input_dataset:variant -> handle:variant"""
    return one("ExperimentalIgnoreErrorsDataset", (input_dataset,), {"output_types": output_types, "output_shapes": output_shapes, "log_warning": log_warning}, name)

def ExperimentalMapAndBatchDataset(input_dataset: Operand, other_arguments: Operands, batch_size: Operand, num_parallel_calls: Operand, drop_remainder: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], preserve_cardinality: bool = False, name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] batch_size:int64 num_parallel_calls:int64 drop_remainder:bool -> handle:variant"""
    return one("ExperimentalMapAndBatchDataset", (input_dataset, other_arguments, batch_size, num_parallel_calls, drop_remainder,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "preserve_cardinality": preserve_cardinality}, name)

def ExperimentalMaxIntraOpParallelismDataset(input_dataset: Operand, max_intra_op_parallelism: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant max_intra_op_parallelism:int64 -> handle:variant"""
    return one("ExperimentalMaxIntraOpParallelismDataset", (input_dataset, max_intra_op_parallelism,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalParallelInterleaveDataset(input_dataset: Operand, other_arguments: Operands, cycle_length: Operand, block_length: Operand, sloppy: Operand, buffer_output_elements: Operand, prefetch_input_elements: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] cycle_length:int64 block_length:int64 sloppy:bool buffer_output_elements:int64 prefetch_input_elements:int64 -> handle:variant"""
    return one("ExperimentalParallelInterleaveDataset", (input_dataset, other_arguments, cycle_length, block_length, sloppy, buffer_output_elements, prefetch_input_elements,), {"f": f, "output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalParseExampleDataset(input_dataset: Operand, num_parallel_calls: Operand, dense_defaults: Operands, *, sparse_keys: Sequence[str | bytes], dense_keys: Sequence[str | bytes], sparse_types: Sequence[DTypeLike], dense_shapes: Sequence[ShapeLike], output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], sloppy: bool = False, name: str | None = None) -> Tensor:
    """input_dataset:variant num_parallel_calls:int64 dense_defaults:[Tdense] -> handle:variant"""
    return one("ExperimentalParseExampleDataset", (input_dataset, num_parallel_calls, dense_defaults,), {"sparse_keys": sparse_keys, "dense_keys": dense_keys, "sparse_types": sparse_types, "dense_shapes": dense_shapes, "output_types": output_types, "output_shapes": output_shapes, "sloppy": sloppy}, name)

def ExperimentalPrivateThreadPoolDataset(input_dataset: Operand, num_threads: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant num_threads:int64 -> handle:variant"""
    return one("ExperimentalPrivateThreadPoolDataset", (input_dataset, num_threads,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalRandomDataset(seed: Operand, seed2: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """seed:int64 seed2:int64 -> handle:variant"""
    return one("ExperimentalRandomDataset", (seed, seed2,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalScanDataset(input_dataset: Operand, initial_state: Operands, other_arguments: Operands, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], Tstate: Sequence[DTypeLike] | None = None, Targuments: Sequence[DTypeLike] | None = None, preserve_cardinality: bool = False, name: str | None = None) -> Tensor:
    """input_dataset:variant initial_state:[Tstate] other_arguments:[Targuments] -> handle:variant"""
    return one("ExperimentalScanDataset", (input_dataset, initial_state, other_arguments,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "Tstate": Tstate, "Targuments": Targuments, "preserve_cardinality": preserve_cardinality}, name)

def ExperimentalSlidingWindowDataset(input_dataset: Operand, window_size: Operand, window_shift: Operand, window_stride: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant window_size:int64 window_shift:int64 window_stride:int64 -> handle:variant"""
    return one("ExperimentalSlidingWindowDataset", (input_dataset, window_size, window_shift, window_stride,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalTakeWhileDataset(input_dataset: Operand, other_arguments: Operands, *, predicate: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] -> handle:variant"""
    return one("ExperimentalTakeWhileDataset", (input_dataset, other_arguments,), {"predicate": predicate, "output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalUnbatchDataset(input_dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant -> handle:variant"""
    return one("ExperimentalUnbatchDataset", (input_dataset,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def ExperimentalUniqueDataset(input_dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant -> handle:variant"""
    return one("ExperimentalUniqueDataset", (input_dataset,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def Expm1(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Expm1", (x,), {}, name)

def ExtractGlimpse(input: Operand, size: Operand, offsets: Operand, *, centered: bool = True, normalized: bool = True, uniform_noise: bool = True, noise: str | bytes = 'uniform', name: str | None = None) -> Tensor:
    """input:float size:int32 offsets:float -> glimpse:float"""
    return one("ExtractGlimpse", (input, size, offsets,), {"centered": centered, "normalized": normalized, "uniform_noise": uniform_noise, "noise": noise}, name)

def ExtractGlimpseV2(input: Operand, size: Operand, offsets: Operand, *, centered: bool = True, normalized: bool = True, uniform_noise: bool = True, noise: str | bytes = 'uniform', name: str | None = None) -> Tensor:
    """input:float size:int32 offsets:float -> glimpse:float"""
    return one("ExtractGlimpseV2", (input, size, offsets,), {"centered": centered, "normalized": normalized, "uniform_noise": uniform_noise, "noise": noise}, name)

def ExtractImagePatches(images: Operand, *, ksizes: Sequence[int], strides: Sequence[int], rates: Sequence[int], padding: str | bytes, name: str | None = None) -> Tensor:
    """images:T -> patches:T"""
    return one("ExtractImagePatches", (images,), {"ksizes": ksizes, "strides": strides, "rates": rates, "padding": padding}, name)

def ExtractJpegShape(contents: Operand, *, output_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """contents:string -> image_shape:output_type"""
    return one("ExtractJpegShape", (contents,), {"output_type": output_type}, name)

def ExtractVolumePatches(input: Operand, *, ksizes: Sequence[int], strides: Sequence[int], padding: str | bytes, name: str | None = None) -> Tensor:
    """input:T -> patches:T"""
    return one("ExtractVolumePatches", (input,), {"ksizes": ksizes, "strides": strides, "padding": padding}, name)

def FFT(input: Operand, *, name: str | None = None) -> Tensor:
    """input:Tcomplex -> output:Tcomplex"""
    return one("FFT", (input,), {}, name)

def FFT2D(input: Operand, *, name: str | None = None) -> Tensor:
    """input:Tcomplex -> output:Tcomplex"""
    return one("FFT2D", (input,), {}, name)

def FFT3D(input: Operand, *, name: str | None = None) -> Tensor:
    """input:Tcomplex -> output:Tcomplex"""
    return one("FFT3D", (input,), {}, name)

def FIFOQueue(*, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), capacity: int = -1, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:string&"""
    return one("FIFOQueue", (), {"component_types": component_types, "shapes": shapes, "capacity": capacity, "container": container, "shared_name": shared_name}, name)

def FIFOQueueV2(*, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), capacity: int = -1, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("FIFOQueueV2", (), {"component_types": component_types, "shapes": shapes, "capacity": capacity, "container": container, "shared_name": shared_name}, name)

def FakeQuantWithMinMaxArgs(inputs: Operand, *, min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:
    """inputs:float -> outputs:float"""
    return one("FakeQuantWithMinMaxArgs", (inputs,), {"min": min, "max": max, "num_bits": num_bits, "narrow_range": narrow_range}, name)

def FakeQuantWithMinMaxArgsGradient(gradients: Operand, inputs: Operand, *, min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:
    """gradients:float inputs:float -> backprops:float"""
    return one("FakeQuantWithMinMaxArgsGradient", (gradients, inputs,), {"min": min, "max": max, "num_bits": num_bits, "narrow_range": narrow_range}, name)

def FakeQuantWithMinMaxVars(inputs: Operand, min: Operand, max: Operand, *, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:
    """inputs:float min:float max:float -> outputs:float"""
    return one("FakeQuantWithMinMaxVars", (inputs, min, max,), {"num_bits": num_bits, "narrow_range": narrow_range}, name)

def FakeQuantWithMinMaxVarsGradient(gradients: Operand, inputs: Operand, min: Operand, max: Operand, *, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """gradients:float inputs:float min:float max:float -> backprops_wrt_input:float backprop_wrt_min:float backprop_wrt_max:float"""
    return many("FakeQuantWithMinMaxVarsGradient", (gradients, inputs, min, max,), {"num_bits": num_bits, "narrow_range": narrow_range}, name)

def FakeQuantWithMinMaxVarsPerChannel(inputs: Operand, min: Operand, max: Operand, *, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:
    """inputs:float min:float max:float -> outputs:float"""
    return one("FakeQuantWithMinMaxVarsPerChannel", (inputs, min, max,), {"num_bits": num_bits, "narrow_range": narrow_range}, name)

def FakeQuantWithMinMaxVarsPerChannelGradient(gradients: Operand, inputs: Operand, min: Operand, max: Operand, *, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """gradients:float inputs:float min:float max:float -> backprops_wrt_input:float backprop_wrt_min:float backprop_wrt_max:float"""
    return many("FakeQuantWithMinMaxVarsPerChannelGradient", (gradients, inputs, min, max,), {"num_bits": num_bits, "narrow_range": narrow_range}, name)

def Fill(dims: Operand, value: Operand, *, name: str | None = None) -> Tensor:
    """dims:index_type value:T -> output:T"""
    return one("Fill", (dims, value,), {}, name)

def FilterDataset(input_dataset: Operand, other_arguments: Operands, *, predicate: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] -> handle:variant"""
    return one("FilterDataset", (input_dataset, other_arguments,), {"predicate": predicate, "output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def Fingerprint(data: Operand, method: Operand, *, name: str | None = None) -> Tensor:
    """data:T method:string -> fingerprint:uint8"""
    return one("Fingerprint", (data, method,), {}, name)

def FixedLengthRecordDataset(filenames: Operand, header_bytes: Operand, record_bytes: Operand, footer_bytes: Operand, buffer_size: Operand, *, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """filenames:string header_bytes:int64 record_bytes:int64 footer_bytes:int64 buffer_size:int64 -> handle:variant"""
    return one("FixedLengthRecordDataset", (filenames, header_bytes, record_bytes, footer_bytes, buffer_size,), {"metadata": metadata}, name)

def FixedLengthRecordDatasetV2(filenames: Operand, header_bytes: Operand, record_bytes: Operand, footer_bytes: Operand, buffer_size: Operand, compression_type: Operand, *, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """filenames:string header_bytes:int64 record_bytes:int64 footer_bytes:int64 buffer_size:int64 compression_type:string -> handle:variant"""
    return one("FixedLengthRecordDatasetV2", (filenames, header_bytes, record_bytes, footer_bytes, buffer_size, compression_type,), {"metadata": metadata}, name)

def FixedLengthRecordReader(*, record_bytes: int, header_bytes: int = 0, footer_bytes: int = 0, hop_bytes: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:string&"""
    return one("FixedLengthRecordReader", (), {"record_bytes": record_bytes, "header_bytes": header_bytes, "footer_bytes": footer_bytes, "hop_bytes": hop_bytes, "container": container, "shared_name": shared_name}, name)

def FixedLengthRecordReaderV2(*, record_bytes: int, header_bytes: int = 0, footer_bytes: int = 0, hop_bytes: int = 0, container: str | bytes = '', shared_name: str | bytes = '', encoding: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:resource"""
    return one("FixedLengthRecordReaderV2", (), {"record_bytes": record_bytes, "header_bytes": header_bytes, "footer_bytes": footer_bytes, "hop_bytes": hop_bytes, "container": container, "shared_name": shared_name, "encoding": encoding}, name)

def FixedUnigramCandidateSampler(true_classes: Operand, *, num_true: int, num_sampled: int, unique: bool, range_max: int, vocab_file: str | bytes = '', distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1, shard: int = 0, unigrams: Sequence[float] = (), seed: int = 0, seed2: int = 0, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """true_classes:int64 -> sampled_candidates:int64 true_expected_count:float sampled_expected_count:float"""
    return many("FixedUnigramCandidateSampler", (true_classes,), {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max, "vocab_file": vocab_file, "distortion": distortion, "num_reserved_ids": num_reserved_ids, "num_shards": num_shards, "shard": shard, "unigrams": unigrams, "seed": seed, "seed2": seed2}, name)

def FlatMapDataset(input_dataset: Operand, other_arguments: Operands, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] -> handle:variant"""
    return one("FlatMapDataset", (input_dataset, other_arguments,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def Floor(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Floor", (x,), {}, name)

def FloorDiv(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("FloorDiv", (x, y,), {}, name)

def FloorMod(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("FloorMod", (x, y,), {}, name)

def FractionalAvgPool(value: Operand, *, pooling_ratio: Sequence[float], pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False, seed: int = 0, seed2: int = 0, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """value:T -> output:T row_pooling_sequence:int64 col_pooling_sequence:int64"""
    return many("FractionalAvgPool", (value,), {"pooling_ratio": pooling_ratio, "pseudo_random": pseudo_random, "overlapping": overlapping, "deterministic": deterministic, "seed": seed, "seed2": seed2}, name)

def FractionalAvgPoolGrad(orig_input_tensor_shape: Operand, out_backprop: Operand, row_pooling_sequence: Operand, col_pooling_sequence: Operand, *, overlapping: bool = False, name: str | None = None) -> Tensor:
    """orig_input_tensor_shape:int64 out_backprop:T row_pooling_sequence:int64 col_pooling_sequence:int64 -> output:T"""
    return one("FractionalAvgPoolGrad", (orig_input_tensor_shape, out_backprop, row_pooling_sequence, col_pooling_sequence,), {"overlapping": overlapping}, name)

def FractionalMaxPool(value: Operand, *, pooling_ratio: Sequence[float], pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False, seed: int = 0, seed2: int = 0, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """value:T -> output:T row_pooling_sequence:int64 col_pooling_sequence:int64"""
    return many("FractionalMaxPool", (value,), {"pooling_ratio": pooling_ratio, "pseudo_random": pseudo_random, "overlapping": overlapping, "deterministic": deterministic, "seed": seed, "seed2": seed2}, name)

def FractionalMaxPoolGrad(orig_input: Operand, orig_output: Operand, out_backprop: Operand, row_pooling_sequence: Operand, col_pooling_sequence: Operand, *, overlapping: bool = False, name: str | None = None) -> Tensor:
    """orig_input:T orig_output:T out_backprop:T row_pooling_sequence:int64 col_pooling_sequence:int64 -> output:T"""
    return one("FractionalMaxPoolGrad", (orig_input, orig_output, out_backprop, row_pooling_sequence, col_pooling_sequence,), {"overlapping": overlapping}, name)

def FusedBatchNorm(x: Operand, scale: Operand, offset: Operand, mean: Operand, variance: Operand, *, epsilon: float = 0.0001, exponential_avg_factor: float = 1.0, data_format: str | bytes = 'NHWC', is_training: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x:T scale:T offset:T mean:T variance:T -> y:T batch_mean:T batch_variance:T reserve_space_1:T reserve_space_2:T"""
    return many("FusedBatchNorm", (x, scale, offset, mean, variance,), {"epsilon": epsilon, "exponential_avg_factor": exponential_avg_factor, "data_format": data_format, "is_training": is_training}, name)

def FusedBatchNormGrad(y_backprop: Operand, x: Operand, scale: Operand, reserve_space_1: Operand, reserve_space_2: Operand, *, epsilon: float = 0.0001, data_format: str | bytes = 'NHWC', is_training: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """y_backprop:T x:T scale:T reserve_space_1:T reserve_space_2:T -> x_backprop:T scale_backprop:T offset_backprop:T reserve_space_3:T reserve_space_4:T"""
    return many("FusedBatchNormGrad", (y_backprop, x, scale, reserve_space_1, reserve_space_2,), {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}, name)

def FusedBatchNormGradV2(y_backprop: Operand, x: Operand, scale: Operand, reserve_space_1: Operand, reserve_space_2: Operand, *, epsilon: float = 0.0001, data_format: str | bytes = 'NHWC', is_training: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """y_backprop:T x:T scale:float reserve_space_1:U reserve_space_2:U -> x_backprop:T scale_backprop:U offset_backprop:U reserve_space_3:U reserve_space_4:U"""
    return many("FusedBatchNormGradV2", (y_backprop, x, scale, reserve_space_1, reserve_space_2,), {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}, name)

def FusedBatchNormGradV3(y_backprop: Operand, x: Operand, scale: Operand, reserve_space_1: Operand, reserve_space_2: Operand, reserve_space_3: Operand, *, epsilon: float = 0.0001, data_format: str | bytes = 'NHWC', is_training: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """y_backprop:T x:T scale:float reserve_space_1:U reserve_space_2:U reserve_space_3:U -> x_backprop:T scale_backprop:U offset_backprop:U reserve_space_4:U reserve_space_5:U"""
    return many("FusedBatchNormGradV3", (y_backprop, x, scale, reserve_space_1, reserve_space_2, reserve_space_3,), {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}, name)

def FusedBatchNormV2(x: Operand, scale: Operand, offset: Operand, mean: Operand, variance: Operand, *, epsilon: float = 0.0001, exponential_avg_factor: float = 1.0, data_format: str | bytes = 'NHWC', is_training: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x:T scale:U offset:U mean:U variance:U -> y:T batch_mean:U batch_variance:U reserve_space_1:U reserve_space_2:U"""
    return many("FusedBatchNormV2", (x, scale, offset, mean, variance,), {"epsilon": epsilon, "exponential_avg_factor": exponential_avg_factor, "data_format": data_format, "is_training": is_training}, name)

def FusedBatchNormV3(x: Operand, scale: Operand, offset: Operand, mean: Operand, variance: Operand, *, epsilon: float = 0.0001, exponential_avg_factor: float = 1.0, data_format: str | bytes = 'NHWC', is_training: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x:T scale:U offset:U mean:U variance:U -> y:T batch_mean:U batch_variance:U reserve_space_1:U reserve_space_2:U reserve_space_3:U"""
    return many("FusedBatchNormV3", (x, scale, offset, mean, variance,), {"epsilon": epsilon, "exponential_avg_factor": exponential_avg_factor, "data_format": data_format, "is_training": is_training}, name)

def FusedPadConv2D(input: Operand, paddings: Operand, filter: Operand, *, mode: str | bytes, strides: Sequence[int], padding: str | bytes, name: str | None = None) -> Tensor:
    """input:T paddings:int32 filter:T -> output:T"""
    return one("FusedPadConv2D", (input, paddings, filter,), {"mode": mode, "strides": strides, "padding": padding}, name)

def FusedResizeAndPadConv2D(input: Operand, size: Operand, paddings: Operand, filter: Operand, *, mode: str | bytes, strides: Sequence[int], padding: str | bytes, resize_align_corners: bool = False, name: str | None = None) -> Tensor:
    """input:T size:int32 paddings:int32 filter:T -> output:T"""
    return one("FusedResizeAndPadConv2D", (input, size, paddings, filter,), {"mode": mode, "strides": strides, "padding": padding, "resize_align_corners": resize_align_corners}, name)

def GRUBlockCell(x: Operand, h_prev: Operand, w_ru: Operand, w_c: Operand, b_ru: Operand, b_c: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x:T h_prev:T w_ru:T w_c:T b_ru:T b_c:T -> r:T u:T c:T h:T"""
    return many("GRUBlockCell", (x, h_prev, w_ru, w_c, b_ru, b_c,), {}, name)

def GRUBlockCellGrad(x: Operand, h_prev: Operand, w_ru: Operand, w_c: Operand, b_ru: Operand, b_c: Operand, r: Operand, u: Operand, c: Operand, d_h: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """x:T h_prev:T w_ru:T w_c:T b_ru:T b_c:T r:T u:T c:T d_h:T -> d_x:T d_h_prev:T d_c_bar:T d_r_bar_u_bar:T"""
    return many("GRUBlockCellGrad", (x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h,), {}, name)

def Gather(params: Operand, indices: Operand, *, validate_indices: bool = True, name: str | None = None) -> Tensor:
    """params:Tparams indices:Tindices -> output:Tparams"""
    return one("Gather", (params, indices,), {"validate_indices": validate_indices}, name)

def GatherNd(params: Operand, indices: Operand, *, name: str | None = None) -> Tensor:
    """params:Tparams indices:Tindices -> output:Tparams"""
    return one("GatherNd", (params, indices,), {}, name)

def GatherV2(params: Operand, indices: Operand, axis: Operand, *, batch_dims: int = 0, name: str | None = None) -> Tensor:
    """params:Tparams indices:Tindices axis:Taxis -> output:Tparams"""
    return one("GatherV2", (params, indices, axis,), {"batch_dims": batch_dims}, name)

def GenerateVocabRemapping(new_vocab_file: Operand, old_vocab_file: Operand, *, new_vocab_offset: int, num_new_vocab: int, old_vocab_size: int = -1, name: str | None = None) -> tuple[Tensor, Tensor]:
    """new_vocab_file:string old_vocab_file:string -> remapping:int64 num_present:int32"""
    return many("GenerateVocabRemapping", (new_vocab_file, old_vocab_file,), {"new_vocab_offset": new_vocab_offset, "num_new_vocab": num_new_vocab, "old_vocab_size": old_vocab_size}, name)

def GeneratorDataset(init_func_other_args: Operands, next_func_other_args: Operands, finalize_func_other_args: Operands, *, init_func: Value, next_func: Value, finalize_func: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], Tinit_func_args: Sequence[DTypeLike] | None = None, Tnext_func_args: Sequence[DTypeLike] | None = None, Tfinalize_func_args: Sequence[DTypeLike] | None = None, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """init_func_other_args:[Tinit_func_args] next_func_other_args:[Tnext_func_args] finalize_func_other_args:[Tfinalize_func_args] -> handle:variant"""
    return one("GeneratorDataset", (init_func_other_args, next_func_other_args, finalize_func_other_args,), {"init_func": init_func, "next_func": next_func, "finalize_func": finalize_func, "output_types": output_types, "output_shapes": output_shapes, "Tinit_func_args": Tinit_func_args, "Tnext_func_args": Tnext_func_args, "Tfinalize_func_args": Tfinalize_func_args, "metadata": metadata}, name)

def GetSessionHandle(value: Operand, *, name: str | None = None) -> Tensor:
    """value:T -> handle:string"""
    return one("GetSessionHandle", (value,), {}, name)

def GetSessionTensor(handle: Operand, *, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """handle:string -> value:dtype"""
    return one("GetSessionTensor", (handle,), {"dtype": dtype}, name)

def Greater(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:bool"""
    return one("Greater", (x, y,), {}, name)

def GreaterEqual(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:bool"""
    return one("GreaterEqual", (x, y,), {}, name)

def GroupByReducerDataset(input_dataset: Operand, key_func_other_arguments: Operands, init_func_other_arguments: Operands, reduce_func_other_arguments: Operands, finalize_func_other_arguments: Operands, *, key_func: Value, init_func: Value, reduce_func: Value, finalize_func: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], Tkey_func_other_arguments: Sequence[DTypeLike] | None = None, Tinit_func_other_arguments: Sequence[DTypeLike] | None = None, Treduce_func_other_arguments: Sequence[DTypeLike] | None = None, Tfinalize_func_other_arguments: Sequence[DTypeLike] | None = None, name: str | None = None) -> Tensor:
    """input_dataset:variant key_func_other_arguments:[Tkey_func_other_arguments] init_func_other_arguments:[Tinit_func_other_arguments] reduce_func_other_arguments:[Treduce_func_other_arguments] finalize_func_other_arguments:[Tfinalize_func_other_arguments] -> handle:variant"""
    return one("GroupByReducerDataset", (input_dataset, key_func_other_arguments, init_func_other_arguments, reduce_func_other_arguments, finalize_func_other_arguments,), {"key_func": key_func, "init_func": init_func, "reduce_func": reduce_func, "finalize_func": finalize_func, "output_types": output_types, "output_shapes": output_shapes, "Tkey_func_other_arguments": Tkey_func_other_arguments, "Tinit_func_other_arguments": Tinit_func_other_arguments, "Treduce_func_other_arguments": Treduce_func_other_arguments, "Tfinalize_func_other_arguments": Tfinalize_func_other_arguments}, name)

def GroupByWindowDataset(input_dataset: Operand, key_func_other_arguments: Operands, reduce_func_other_arguments: Operands, window_size_func_other_arguments: Operands, *, key_func: Value, reduce_func: Value, window_size_func: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], Tkey_func_other_arguments: Sequence[DTypeLike] | None = None, Treduce_func_other_arguments: Sequence[DTypeLike] | None = None, Twindow_size_func_other_arguments: Sequence[DTypeLike] | None = None, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant key_func_other_arguments:[Tkey_func_other_arguments] reduce_func_other_arguments:[Treduce_func_other_arguments] window_size_func_other_arguments:[Twindow_size_func_other_arguments] -> handle:variant"""
    return one("GroupByWindowDataset", (input_dataset, key_func_other_arguments, reduce_func_other_arguments, window_size_func_other_arguments,), {"key_func": key_func, "reduce_func": reduce_func, "window_size_func": window_size_func, "output_types": output_types, "output_shapes": output_shapes, "Tkey_func_other_arguments": Tkey_func_other_arguments, "Treduce_func_other_arguments": Treduce_func_other_arguments, "Twindow_size_func_other_arguments": Twindow_size_func_other_arguments, "metadata": metadata}, name)

def GuaranteeConst(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("GuaranteeConst", (input,), {}, name)

def HSVToRGB(images: Operand, *, name: str | None = None) -> Tensor:
    """images:T -> output:T"""
    return one("HSVToRGB", (images,), {}, name)

def HashTable(*, key_dtype: DTypeLike, value_dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', use_node_name_sharing: bool = False, name: str | None = None) -> Tensor:
    """-> table_handle:string&"""
    return one("HashTable", (), {"key_dtype": key_dtype, "value_dtype": value_dtype, "container": container, "shared_name": shared_name, "use_node_name_sharing": use_node_name_sharing}, name)

def HashTableV2(*, key_dtype: DTypeLike, value_dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', use_node_name_sharing: bool = False, name: str | None = None) -> Tensor:
    """-> table_handle:resource"""
    return one("HashTableV2", (), {"key_dtype": key_dtype, "value_dtype": value_dtype, "container": container, "shared_name": shared_name, "use_node_name_sharing": use_node_name_sharing}, name)

def HistogramFixedWidth(values: Operand, value_range: Operand, nbins: Operand, *, dtype: DTypeLike = int32, name: str | None = None) -> Tensor:
    """values:T value_range:T nbins:int32 -> out:dtype"""
    return one("HistogramFixedWidth", (values, value_range, nbins,), {"dtype": dtype}, name)

def HistogramSummary(tag: Operand, values: Operand, *, name: str | None = None) -> Tensor:
    """tag:string values:T -> summary:string"""
    return one("HistogramSummary", (tag, values,), {}, name)

def IFFT(input: Operand, *, name: str | None = None) -> Tensor:
    """input:Tcomplex -> output:Tcomplex"""
    return one("IFFT", (input,), {}, name)

def IFFT2D(input: Operand, *, name: str | None = None) -> Tensor:
    """input:Tcomplex -> output:Tcomplex"""
    return one("IFFT2D", (input,), {}, name)

def IFFT3D(input: Operand, *, name: str | None = None) -> Tensor:
    """input:Tcomplex -> output:Tcomplex"""
    return one("IFFT3D", (input,), {}, name)

def IRFFT(input: Operand, fft_length: Operand, *, Treal: DTypeLike = float32, name: str | None = None) -> Tensor:
    """input:Tcomplex fft_length:int32 -> output:Treal"""
    return one("IRFFT", (input, fft_length,), {"Treal": Treal}, name)

def IRFFT2D(input: Operand, fft_length: Operand, *, Treal: DTypeLike = float32, name: str | None = None) -> Tensor:
    """input:Tcomplex fft_length:int32 -> output:Treal"""
    return one("IRFFT2D", (input, fft_length,), {"Treal": Treal}, name)

def IRFFT3D(input: Operand, fft_length: Operand, *, Treal: DTypeLike = float32, name: str | None = None) -> Tensor:
    """input:Tcomplex fft_length:int32 -> output:Treal"""
    return one("IRFFT3D", (input, fft_length,), {"Treal": Treal}, name)

def Identity(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("Identity", (input,), {}, name)

def IdentityN(input: Operands, *, name: str | None = None) -> list[Tensor]:
    """input:[T] -> output:[T]"""
    return many("IdentityN", (input,), {}, name)

def IdentityReader(*, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:string&"""
    return one("IdentityReader", (), {"container": container, "shared_name": shared_name}, name)

def IdentityReaderV2(*, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:resource"""
    return one("IdentityReaderV2", (), {"container": container, "shared_name": shared_name}, name)

def If(cond: Operand, input: Operands, *, then_branch: Value, else_branch: Value, name: str | None = None) -> list[Tensor]:
    """cond:Tcond input:[Tin] -> output:[Tout]"""
    return many("If", (cond, input,), {"then_branch": then_branch, "else_branch": else_branch}, name)

def Igamma(a: Operand, x: Operand, *, name: str | None = None) -> Tensor:
    """a:T x:T -> z:T"""
    return one("Igamma", (a, x,), {}, name)

def IgammaGradA(a: Operand, x: Operand, *, name: str | None = None) -> Tensor:
    """a:T x:T -> z:T"""
    return one("IgammaGradA", (a, x,), {}, name)

def Igammac(a: Operand, x: Operand, *, name: str | None = None) -> Tensor:
    """a:T x:T -> z:T"""
    return one("Igammac", (a, x,), {}, name)

def IgnoreErrorsDataset(input_dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], log_warning: bool = False, name: str | None = None) -> Tensor:
    """input_dataset:variant -> handle:variant"""
    return one("IgnoreErrorsDataset", (input_dataset,), {"output_types": output_types, "output_shapes": output_shapes, "log_warning": log_warning}, name)

def Imag(input: Operand, *, Tout: DTypeLike = float32, name: str | None = None) -> Tensor:
    """input:T -> output:Tout"""
    return one("Imag", (input,), {"Tout": Tout}, name)

def ImageProjectiveTransformV2(images: Operand, transforms: Operand, output_shape: Operand, *, interpolation: str | bytes, fill_mode: str | bytes = 'CONSTANT', name: str | None = None) -> Tensor:
    """images:dtype transforms:float output_shape:int32 -> transformed_images:dtype"""
    return one("ImageProjectiveTransformV2", (images, transforms, output_shape,), {"interpolation": interpolation, "fill_mode": fill_mode}, name)

def ImageProjectiveTransformV3(images: Operand, transforms: Operand, output_shape: Operand, fill_value: Operand, *, interpolation: str | bytes, fill_mode: str | bytes = 'CONSTANT', name: str | None = None) -> Tensor:
    """images:dtype transforms:float output_shape:int32 fill_value:float -> transformed_images:dtype"""
    return one("ImageProjectiveTransformV3", (images, transforms, output_shape, fill_value,), {"interpolation": interpolation, "fill_mode": fill_mode}, name)

def ImageSummary(tag: Operand, tensor: Operand, *, max_images: int = 3, bad_color: Value | None = None, name: str | None = None) -> Tensor:
    """tag:string tensor:T -> summary:string"""
    return one("ImageSummary", (tag, tensor,), {"max_images": max_images, "bad_color": bad_color}, name)

def InTopK(predictions: Operand, targets: Operand, *, k: int, name: str | None = None) -> Tensor:
    """predictions:float targets:T -> precision:bool"""
    return one("InTopK", (predictions, targets,), {"k": k}, name)

def InTopKV2(predictions: Operand, targets: Operand, k: Operand, *, name: str | None = None) -> Tensor:
    """predictions:float targets:T k:T -> precision:bool"""
    return one("InTopKV2", (predictions, targets, k,), {}, name)

def InitializeTable(table_handle: Operand, keys: Operand, values: Operand, *, name: str | None = None) -> Operation:
    """table_handle:string& keys:Tkey values:Tval ->"""
    return node("InitializeTable", (table_handle, keys, values,), {}, name)

def InitializeTableFromTextFile(table_handle: Operand, filename: Operand, *, key_index: int, value_index: int, vocab_size: int = -1, delimiter: str | bytes = '\t', offset: int = 0, name: str | None = None) -> Operation:
    """table_handle:string& filename:string ->"""
    return node("InitializeTableFromTextFile", (table_handle, filename,), {"key_index": key_index, "value_index": value_index, "vocab_size": vocab_size, "delimiter": delimiter, "offset": offset}, name)

def InitializeTableFromTextFileV2(table_handle: Operand, filename: Operand, *, key_index: int, value_index: int, vocab_size: int = -1, delimiter: str | bytes = '\t', offset: int = 0, name: str | None = None) -> Operation:
    """table_handle:resource filename:string ->"""
    return node("InitializeTableFromTextFileV2", (table_handle, filename,), {"key_index": key_index, "value_index": value_index, "vocab_size": vocab_size, "delimiter": delimiter, "offset": offset}, name)

def InitializeTableV2(table_handle: Operand, keys: Operand, values: Operand, *, name: str | None = None) -> Operation:
    """table_handle:resource keys:Tkey values:Tval ->"""
    return node("InitializeTableV2", (table_handle, keys, values,), {}, name)

def InplaceAdd(x: Operand, i: Operand, v: Operand, *, name: str | None = None) -> Tensor:
    """x:T i:int32 v:T -> y:T"""
    return one("InplaceAdd", (x, i, v,), {}, name)

def InplaceSub(x: Operand, i: Operand, v: Operand, *, name: str | None = None) -> Tensor:
    """x:T i:int32 v:T -> y:T"""
    return one("InplaceSub", (x, i, v,), {}, name)

def InplaceUpdate(x: Operand, i: Operand, v: Operand, *, name: str | None = None) -> Tensor:
    """x:T i:int32 v:T -> y:T"""
    return one("InplaceUpdate", (x, i, v,), {}, name)

def InterleaveDataset(input_dataset: Operand, other_arguments: Operands, cycle_length: Operand, block_length: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] cycle_length:int64 block_length:int64 -> handle:variant"""
    return one("InterleaveDataset", (input_dataset, other_arguments, cycle_length, block_length,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def Inv(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Inv", (x,), {}, name)

def InvGrad(y: Operand, dy: Operand, *, name: str | None = None) -> Tensor:
    """y:T dy:T -> z:T"""
    return one("InvGrad", (y, dy,), {}, name)

def Invert(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Invert", (x,), {}, name)

def InvertPermutation(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("InvertPermutation", (x,), {}, name)

def IsFinite(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:bool"""
    return one("IsFinite", (x,), {}, name)

def IsInf(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:bool"""
    return one("IsInf", (x,), {}, name)

def IsNan(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:bool"""
    return one("IsNan", (x,), {}, name)

def IsVariableInitialized(ref: Operand, *, name: str | None = None) -> Tensor:
    """ref:dtype& -> is_initialized:bool"""
    return one("IsVariableInitialized", (ref,), {}, name)

def Iterator(*, shared_name: str | bytes, container: str | bytes, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("Iterator", (), {"shared_name": shared_name, "container": container, "output_types": output_types, "output_shapes": output_shapes}, name)

def IteratorFromStringHandle(string_handle: Operand, *, output_types: Sequence[DTypeLike] = (), output_shapes: Sequence[ShapeLike] = (), name: str | None = None) -> Tensor:
    """string_handle:string -> resource_handle:resource"""
    return one("IteratorFromStringHandle", (string_handle,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def IteratorFromStringHandleV2(string_handle: Operand, *, output_types: Sequence[DTypeLike] = (), output_shapes: Sequence[ShapeLike] = (), name: str | None = None) -> Tensor:
    """string_handle:string -> resource_handle:resource"""
    return one("IteratorFromStringHandleV2", (string_handle,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def IteratorGetNext(iterator: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> list[Tensor]:
    """iterator:resource -> components:[output_types]"""
    return many("IteratorGetNext", (iterator,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def IteratorGetNextAsOptional(iterator: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """iterator:resource -> optional:variant"""
    return one("IteratorGetNextAsOptional", (iterator,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def IteratorGetNextSync(iterator: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> list[Tensor]:
    """iterator:resource -> components:[output_types]"""
    return many("IteratorGetNextSync", (iterator,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def IteratorToStringHandle(resource_handle: Operand, *, name: str | None = None) -> Tensor:
    """resource_handle:resource -> string_handle:string"""
    return one("IteratorToStringHandle", (resource_handle,), {}, name)

def IteratorV2(*, shared_name: str | bytes, container: str | bytes, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("IteratorV2", (), {"shared_name": shared_name, "container": container, "output_types": output_types, "output_shapes": output_shapes}, name)

def KMC2ChainInitialization(distances: Operand, seed: Operand, *, name: str | None = None) -> Tensor:
    """distances:float seed:int64 -> index:int64"""
    return one("KMC2ChainInitialization", (distances, seed,), {}, name)

def KmeansPlusPlusInitialization(points: Operand, num_to_sample: Operand, seed: Operand, num_retries_per_sample: Operand, *, name: str | None = None) -> Tensor:
    """points:float num_to_sample:int64 seed:int64 num_retries_per_sample:int64 -> samples:float"""
    return one("KmeansPlusPlusInitialization", (points, num_to_sample, seed, num_retries_per_sample,), {}, name)

def L2Loss(t: Operand, *, name: str | None = None) -> Tensor:
    """t:T -> output:T"""
    return one("L2Loss", (t,), {}, name)

def LRN(input: Operand, *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("LRN", (input,), {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}, name)

def LRNGrad(input_grads: Operand, input_image: Operand, output_image: Operand, *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, name: str | None = None) -> Tensor:
    """input_grads:T input_image:T output_image:T -> output:T"""
    return one("LRNGrad", (input_grads, input_image, output_image,), {"depth_radius": depth_radius, "bias": bias, "alpha": alpha, "beta": beta}, name)

def LSTMBlockCell(x: Operand, cs_prev: Operand, h_prev: Operand, w: Operand, wci: Operand, wcf: Operand, wco: Operand, b: Operand, *, forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x:T cs_prev:T h_prev:T w:T wci:T wcf:T wco:T b:T -> i:T cs:T f:T o:T ci:T co:T h:T"""
    return many("LSTMBlockCell", (x, cs_prev, h_prev, w, wci, wcf, wco, b,), {"forget_bias": forget_bias, "cell_clip": cell_clip, "use_peephole": use_peephole}, name)

def LSTMBlockCellGrad(x: Operand, cs_prev: Operand, h_prev: Operand, w: Operand, wci: Operand, wcf: Operand, wco: Operand, b: Operand, i: Operand, cs: Operand, f: Operand, o: Operand, ci: Operand, co: Operand, cs_grad: Operand, h_grad: Operand, *, use_peephole: bool, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """x:T cs_prev:T h_prev:T w:T wci:T wcf:T wco:T b:T i:T cs:T f:T o:T ci:T co:T cs_grad:T h_grad:T -> cs_prev_grad:T dicfo:T wci_grad:T wcf_grad:T wco_grad:T"""
    return many("LSTMBlockCellGrad", (x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, cs_grad, h_grad,), {"use_peephole": use_peephole}, name)

def LeakyRelu(features: Operand, *, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """features:T -> activations:T"""
    return one("LeakyRelu", (features,), {"alpha": alpha}, name)

def LeakyReluGrad(gradients: Operand, features: Operand, *, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """gradients:T features:T -> backprops:T"""
    return one("LeakyReluGrad", (gradients, features,), {"alpha": alpha}, name)

def LearnedUnigramCandidateSampler(true_classes: Operand, *, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int = 0, seed2: int = 0, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """true_classes:int64 -> sampled_candidates:int64 true_expected_count:float sampled_expected_count:float"""
    return many("LearnedUnigramCandidateSampler", (true_classes,), {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max, "seed": seed, "seed2": seed2}, name)

def LeftShift(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("LeftShift", (x, y,), {}, name)

def LegacyParallelInterleaveDatasetV2(input_dataset: Operand, other_arguments: Operands, cycle_length: Operand, block_length: Operand, buffer_output_elements: Operand, prefetch_input_elements: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], deterministic: str | bytes = 'default', metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] cycle_length:int64 block_length:int64 buffer_output_elements:int64 prefetch_input_elements:int64 -> handle:variant"""
    return one("LegacyParallelInterleaveDatasetV2", (input_dataset, other_arguments, cycle_length, block_length, buffer_output_elements, prefetch_input_elements,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "deterministic": deterministic, "metadata": metadata}, name)

def Less(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:bool"""
    return one("Less", (x, y,), {}, name)

def LessEqual(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:bool"""
    return one("LessEqual", (x, y,), {}, name)

def Lgamma(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Lgamma", (x,), {}, name)

def LinSpace(start: Operand, stop: Operand, num: Operand, *, name: str | None = None) -> Tensor:
    """start:T stop:T num:Tidx -> output:T"""
    return one("LinSpace", (start, stop, num,), {}, name)

def ListDiff(x: Operand, y: Operand, *, out_idx: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """x:T y:T -> out:T idx:out_idx"""
    return many("ListDiff", (x, y,), {"out_idx": out_idx}, name)

def LoadAndRemapMatrix(ckpt_path: Operand, old_tensor_name: Operand, row_remapping: Operand, col_remapping: Operand, initializing_values: Operand, *, num_rows: int, num_cols: int, max_rows_in_memory: int = -1, name: str | None = None) -> Tensor:
    """ckpt_path:string old_tensor_name:string row_remapping:int64 col_remapping:int64 initializing_values:float -> output_matrix:float"""
    return one("LoadAndRemapMatrix", (ckpt_path, old_tensor_name, row_remapping, col_remapping, initializing_values,), {"num_rows": num_rows, "num_cols": num_cols, "max_rows_in_memory": max_rows_in_memory}, name)

def Log(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Log", (x,), {}, name)

def Log1p(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Log1p", (x,), {}, name)

def LogMatrixDeterminant(input: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:T -> sign:T log_abs_determinant:T"""
    return many("LogMatrixDeterminant", (input,), {}, name)

def LogSoftmax(logits: Operand, *, name: str | None = None) -> Tensor:
    """logits:T -> logsoftmax:T"""
    return one("LogSoftmax", (logits,), {}, name)

def LogUniformCandidateSampler(true_classes: Operand, *, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int = 0, seed2: int = 0, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """true_classes:int64 -> sampled_candidates:int64 true_expected_count:float sampled_expected_count:float"""
    return many("LogUniformCandidateSampler", (true_classes,), {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max, "seed": seed, "seed2": seed2}, name)

def LogicalAnd(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:bool y:bool -> z:bool"""
    return one("LogicalAnd", (x, y,), {}, name)

def LogicalNot(x: Operand, *, name: str | None = None) -> Tensor:
    """x:bool -> y:bool"""
    return one("LogicalNot", (x,), {}, name)

def LogicalOr(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:bool y:bool -> z:bool"""
    return one("LogicalOr", (x, y,), {}, name)

def LookupTableExport(table_handle: Operand, *, Tkeys: DTypeLike, Tvalues: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """table_handle:string& -> keys:Tkeys values:Tvalues"""
    return many("LookupTableExport", (table_handle,), {"Tkeys": Tkeys, "Tvalues": Tvalues}, name)

def LookupTableExportV2(table_handle: Operand, *, Tkeys: DTypeLike, Tvalues: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """table_handle:resource -> keys:Tkeys values:Tvalues"""
    return many("LookupTableExportV2", (table_handle,), {"Tkeys": Tkeys, "Tvalues": Tvalues}, name)

def LookupTableFind(table_handle: Operand, keys: Operand, default_value: Operand, *, name: str | None = None) -> Tensor:
    """table_handle:string& keys:Tin default_value:Tout -> values:Tout"""
    return one("LookupTableFind", (table_handle, keys, default_value,), {}, name)

def LookupTableFindV2(table_handle: Operand, keys: Operand, default_value: Operand, *, name: str | None = None) -> Tensor:
    """table_handle:resource keys:Tin default_value:Tout -> values:Tout"""
    return one("LookupTableFindV2", (table_handle, keys, default_value,), {}, name)

def LookupTableImport(table_handle: Operand, keys: Operand, values: Operand, *, name: str | None = None) -> Operation:
    """table_handle:string& keys:Tin values:Tout ->"""
    return node("LookupTableImport", (table_handle, keys, values,), {}, name)

def LookupTableImportV2(table_handle: Operand, keys: Operand, values: Operand, *, name: str | None = None) -> Operation:
    """table_handle:resource keys:Tin values:Tout ->"""
    return node("LookupTableImportV2", (table_handle, keys, values,), {}, name)

def LookupTableInsert(table_handle: Operand, keys: Operand, values: Operand, *, name: str | None = None) -> Operation:
    """table_handle:string& keys:Tin values:Tout ->"""
    return node("LookupTableInsert", (table_handle, keys, values,), {}, name)

def LookupTableInsertV2(table_handle: Operand, keys: Operand, values: Operand, *, name: str | None = None) -> Operation:
    """table_handle:resource keys:Tin values:Tout ->"""
    return node("LookupTableInsertV2", (table_handle, keys, values,), {}, name)

def LookupTableRemoveV2(table_handle: Operand, keys: Operand, *, name: str | None = None) -> Operation:
    """table_handle:resource keys:Tin ->"""
    return node("LookupTableRemoveV2", (table_handle, keys,), {}, name)

def LookupTableSize(table_handle: Operand, *, name: str | None = None) -> Tensor:
    """table_handle:string& -> size:int64"""
    return one("LookupTableSize", (table_handle,), {}, name)

def LookupTableSizeV2(table_handle: Operand, *, name: str | None = None) -> Tensor:
    """table_handle:resource -> size:int64"""
    return one("LookupTableSizeV2", (table_handle,), {}, name)

def LoopCond(input: Operand, *, name: str | None = None) -> Tensor:
    """input:bool -> output:bool"""
    return one("LoopCond", (input,), {}, name)

def LowerBound(sorted_inputs: Operand, values: Operand, *, out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """sorted_inputs:T values:T -> output:out_type"""
    return one("LowerBound", (sorted_inputs, values,), {"out_type": out_type}, name)

def Lu(input: Operand, *, output_idx_type: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:T -> lu:T p:output_idx_type"""
    return many("Lu", (input,), {"output_idx_type": output_idx_type}, name)

def MakeIterator(dataset: Operand, iterator: Operand, *, name: str | None = None) -> Operation:
    """dataset:variant iterator:resource ->"""
    return node("MakeIterator", (dataset, iterator,), {}, name)

def MapAndBatchDataset(input_dataset: Operand, other_arguments: Operands, batch_size: Operand, num_parallel_calls: Operand, drop_remainder: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], preserve_cardinality: bool = False, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] batch_size:int64 num_parallel_calls:int64 drop_remainder:bool -> handle:variant"""
    return one("MapAndBatchDataset", (input_dataset, other_arguments, batch_size, num_parallel_calls, drop_remainder,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "preserve_cardinality": preserve_cardinality, "metadata": metadata}, name)

def MapClear(*, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Operation:
    """->"""
    return node("MapClear", (), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def MapDataset(input_dataset: Operand, other_arguments: Operands, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], use_inter_op_parallelism: bool = True, preserve_cardinality: bool = False, force_synchronous: bool = False, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] -> handle:variant"""
    return one("MapDataset", (input_dataset, other_arguments,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "use_inter_op_parallelism": use_inter_op_parallelism, "preserve_cardinality": preserve_cardinality, "force_synchronous": force_synchronous, "metadata": metadata}, name)

def MapIncompleteSize(*, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> size:int32"""
    return one("MapIncompleteSize", (), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def MapPeek(key: Operand, indices: Operand, *, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> list[Tensor]:
    """key:int64 indices:int32 -> values:[dtypes]"""
    return many("MapPeek", (key, indices,), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def MapSize(*, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> size:int32"""
    return one("MapSize", (), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def MapStage(key: Operand, indices: Operand, values: Operands, *, dtypes: Sequence[DTypeLike], fake_dtypes: Sequence[DTypeLike] | None = None, capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Operation:
    """key:int64 indices:int32 values:[fake_dtypes] ->"""
    return node("MapStage", (key, indices, values,), {"dtypes": dtypes, "fake_dtypes": fake_dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def MapUnstage(key: Operand, indices: Operand, *, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> list[Tensor]:
    """key:int64 indices:int32 -> values:[dtypes]"""
    return many("MapUnstage", (key, indices,), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def MapUnstageNoKey(indices: Operand, *, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> tuple[Tensor, list[Tensor]]:
    """indices:int32 -> key:int64 values:[dtypes]"""
    return many("MapUnstageNoKey", (indices,), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def MatMul(a: Operand, b: Operand, *, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None) -> Tensor:
    """a:T b:T -> product:T"""
    return one("MatMul", (a, b,), {"transpose_a": transpose_a, "transpose_b": transpose_b}, name)

def MatchingFiles(pattern: Operand, *, name: str | None = None) -> Tensor:
    """pattern:string -> filenames:string"""
    return one("MatchingFiles", (pattern,), {}, name)

def MatrixBandPart(input: Operand, num_lower: Operand, num_upper: Operand, *, name: str | None = None) -> Tensor:
    """input:T num_lower:Tindex num_upper:Tindex -> band:T"""
    return one("MatrixBandPart", (input, num_lower, num_upper,), {}, name)

def MatrixDeterminant(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("MatrixDeterminant", (input,), {}, name)

def MatrixDiag(diagonal: Operand, *, name: str | None = None) -> Tensor:
    """diagonal:T -> output:T"""
    return one("MatrixDiag", (diagonal,), {}, name)

def MatrixDiagPart(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> diagonal:T"""
    return one("MatrixDiagPart", (input,), {}, name)

def MatrixDiagPartV2(input: Operand, k: Operand, padding_value: Operand, *, name: str | None = None) -> Tensor:
    """input:T k:int32 padding_value:T -> diagonal:T"""
    return one("MatrixDiagPartV2", (input, k, padding_value,), {}, name)

def MatrixDiagPartV3(input: Operand, k: Operand, padding_value: Operand, *, align: str | bytes = 'RIGHT_LEFT', name: str | None = None) -> Tensor:
    """input:T k:int32 padding_value:T -> diagonal:T"""
    return one("MatrixDiagPartV3", (input, k, padding_value,), {"align": align}, name)

def MatrixDiagV2(diagonal: Operand, k: Operand, num_rows: Operand, num_cols: Operand, padding_value: Operand, *, name: str | None = None) -> Tensor:
    """diagonal:T k:int32 num_rows:int32 num_cols:int32 padding_value:T -> output:T"""
    return one("MatrixDiagV2", (diagonal, k, num_rows, num_cols, padding_value,), {}, name)

def MatrixDiagV3(diagonal: Operand, k: Operand, num_rows: Operand, num_cols: Operand, padding_value: Operand, *, align: str | bytes = 'RIGHT_LEFT', name: str | None = None) -> Tensor:
    """diagonal:T k:int32 num_rows:int32 num_cols:int32 padding_value:T -> output:T"""
    return one("MatrixDiagV3", (diagonal, k, num_rows, num_cols, padding_value,), {"align": align}, name)

def MatrixInverse(input: Operand, *, adjoint: bool = False, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("MatrixInverse", (input,), {"adjoint": adjoint}, name)

def MatrixLogarithm(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("MatrixLogarithm", (input,), {}, name)

def MatrixSetDiag(input: Operand, diagonal: Operand, *, name: str | None = None) -> Tensor:
    """input:T diagonal:T -> output:T"""
    return one("MatrixSetDiag", (input, diagonal,), {}, name)

def MatrixSetDiagV2(input: Operand, diagonal: Operand, k: Operand, *, name: str | None = None) -> Tensor:
    """input:T diagonal:T k:int32 -> output:T"""
    return one("MatrixSetDiagV2", (input, diagonal, k,), {}, name)

def MatrixSetDiagV3(input: Operand, diagonal: Operand, k: Operand, *, align: str | bytes = 'RIGHT_LEFT', name: str | None = None) -> Tensor:
    """input:T diagonal:T k:int32 -> output:T"""
    return one("MatrixSetDiagV3", (input, diagonal, k,), {"align": align}, name)

def MatrixSolve(matrix: Operand, rhs: Operand, *, adjoint: bool = False, name: str | None = None) -> Tensor:
    """matrix:T rhs:T -> output:T"""
    return one("MatrixSolve", (matrix, rhs,), {"adjoint": adjoint}, name)

def MatrixSolveLs(matrix: Operand, rhs: Operand, l2_regularizer: Operand, *, fast: bool = True, name: str | None = None) -> Tensor:
    """matrix:T rhs:T l2_regularizer:double -> output:T"""
    return one("MatrixSolveLs", (matrix, rhs, l2_regularizer,), {"fast": fast}, name)

def MatrixSquareRoot(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("MatrixSquareRoot", (input,), {}, name)

def MatrixTriangularSolve(matrix: Operand, rhs: Operand, *, lower: bool = True, adjoint: bool = False, name: str | None = None) -> Tensor:
    """matrix:T rhs:T -> output:T"""
    return one("MatrixTriangularSolve", (matrix, rhs,), {"lower": lower, "adjoint": adjoint}, name)

def Max(input: Operand, reduction_indices: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input:T reduction_indices:Tidx -> output:T"""
    return one("Max", (input, reduction_indices,), {"keep_dims": keep_dims}, name)

def MaxIntraOpParallelismDataset(input_dataset: Operand, max_intra_op_parallelism: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant max_intra_op_parallelism:int64 -> handle:variant"""
    return one("MaxIntraOpParallelismDataset", (input_dataset, max_intra_op_parallelism,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def MaxPool(input: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, explicit_paddings: Sequence[int] = (), data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("MaxPool", (input,), {"ksize": ksize, "strides": strides, "padding": padding, "explicit_paddings": explicit_paddings, "data_format": data_format}, name)

def MaxPool3D(input: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NDHWC', name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("MaxPool3D", (input,), {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format}, name)

def MaxPool3DGrad(orig_input: Operand, orig_output: Operand, grad: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NDHWC', name: str | None = None) -> Tensor:
    """orig_input:TInput orig_output:TInput grad:T -> output:T"""
    return one("MaxPool3DGrad", (orig_input, orig_output, grad,), {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format}, name)

def MaxPool3DGradGrad(orig_input: Operand, orig_output: Operand, grad: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NDHWC', name: str | None = None) -> Tensor:
    """orig_input:T orig_output:T grad:T -> output:T"""
    return one("MaxPool3DGradGrad", (orig_input, orig_output, grad,), {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format}, name)

def MaxPoolGrad(orig_input: Operand, orig_output: Operand, grad: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, explicit_paddings: Sequence[int] = (), data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """orig_input:T orig_output:T grad:T -> output:T"""
    return one("MaxPoolGrad", (orig_input, orig_output, grad,), {"ksize": ksize, "strides": strides, "padding": padding, "explicit_paddings": explicit_paddings, "data_format": data_format}, name)

def MaxPoolGradGrad(orig_input: Operand, orig_output: Operand, grad: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, data_format: str | bytes = 'NHWC', explicit_paddings: Sequence[int] = (), name: str | None = None) -> Tensor:
    """orig_input:T orig_output:T grad:T -> output:T"""
    return one("MaxPoolGradGrad", (orig_input, orig_output, grad,), {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format, "explicit_paddings": explicit_paddings}, name)

def MaxPoolGradGradV2(orig_input: Operand, orig_output: Operand, grad: Operand, ksize: Operand, strides: Operand, *, padding: str | bytes, data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """orig_input:T orig_output:T grad:T ksize:int32 strides:int32 -> output:T"""
    return one("MaxPoolGradGradV2", (orig_input, orig_output, grad, ksize, strides,), {"padding": padding, "data_format": data_format}, name)

def MaxPoolGradV2(orig_input: Operand, orig_output: Operand, grad: Operand, ksize: Operand, strides: Operand, *, padding: str | bytes, data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """orig_input:T orig_output:T grad:T ksize:int32 strides:int32 -> output:T"""
    return one("MaxPoolGradV2", (orig_input, orig_output, grad, ksize, strides,), {"padding": padding, "data_format": data_format}, name)

def MaxPoolGradWithArgmax(input: Operand, grad: Operand, argmax: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, include_batch_in_index: bool = False, name: str | None = None) -> Tensor:
    """input:T grad:T argmax:Targmax -> output:T"""
    return one("MaxPoolGradWithArgmax", (input, grad, argmax,), {"ksize": ksize, "strides": strides, "padding": padding, "include_batch_in_index": include_batch_in_index}, name)

def MaxPoolV2(input: Operand, ksize: Operand, strides: Operand, *, padding: str | bytes, data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """input:T ksize:int32 strides:int32 -> output:T"""
    return one("MaxPoolV2", (input, ksize, strides,), {"padding": padding, "data_format": data_format}, name)

def MaxPoolWithArgmax(input: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, Targmax: DTypeLike = int64, include_batch_in_index: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:T -> output:T argmax:Targmax"""
    return many("MaxPoolWithArgmax", (input,), {"ksize": ksize, "strides": strides, "padding": padding, "Targmax": Targmax, "include_batch_in_index": include_batch_in_index}, name)

def Maximum(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Maximum", (x, y,), {}, name)

def Mean(input: Operand, reduction_indices: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input:T reduction_indices:Tidx -> output:T"""
    return one("Mean", (input, reduction_indices,), {"keep_dims": keep_dims}, name)

def Merge(inputs: Operands, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """inputs:T*N -> output:T value_index:int32"""
    return many("Merge", (inputs,), {}, name)

def MergeSummary(inputs: Operands, *, name: str | None = None) -> Tensor:
    """inputs:string*N -> summary:string"""
    return one("MergeSummary", (inputs,), {}, name)

def MergeV2Checkpoints(checkpoint_prefixes: Operand, destination_prefix: Operand, *, delete_old_dirs: bool = True, name: str | None = None) -> Operation:
    """checkpoint_prefixes:string destination_prefix:string ->"""
    return node("MergeV2Checkpoints", (checkpoint_prefixes, destination_prefix,), {"delete_old_dirs": delete_old_dirs}, name)

def Mfcc(spectrogram: Operand, sample_rate: Operand, *, upper_frequency_limit: float = 4000.0, lower_frequency_limit: float = 20.0, filterbank_channel_count: int = 40, dct_coefficient_count: int = 13, name: str | None = None) -> Tensor:
    """spectrogram:float sample_rate:int32 -> output:float"""
    return one("Mfcc", (spectrogram, sample_rate,), {"upper_frequency_limit": upper_frequency_limit, "lower_frequency_limit": lower_frequency_limit, "filterbank_channel_count": filterbank_channel_count, "dct_coefficient_count": dct_coefficient_count}, name)

def Min(input: Operand, reduction_indices: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input:T reduction_indices:Tidx -> output:T"""
    return one("Min", (input, reduction_indices,), {"keep_dims": keep_dims}, name)

def Minimum(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Minimum", (x, y,), {}, name)

def MirrorPad(input: Operand, paddings: Operand, *, mode: str | bytes, name: str | None = None) -> Tensor:
    """input:T paddings:Tpaddings -> output:T"""
    return one("MirrorPad", (input, paddings,), {"mode": mode}, name)

def MirrorPadGrad(input: Operand, paddings: Operand, *, mode: str | bytes, name: str | None = None) -> Tensor:
    """input:T paddings:Tpaddings -> output:T"""
    return one("MirrorPadGrad", (input, paddings,), {"mode": mode}, name)

def Mod(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Mod", (x, y,), {}, name)

def ModelDataset(input_dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], algorithm: int = 0, cpu_budget: int = 0, ram_budget: int = 0, name: str | None = None) -> Tensor:
    """input_dataset:variant -> handle:variant"""
    return one("ModelDataset", (input_dataset,), {"output_types": output_types, "output_shapes": output_shapes, "algorithm": algorithm, "cpu_budget": cpu_budget, "ram_budget": ram_budget}, name)

def Mul(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Mul", (x, y,), {}, name)

def MulNoNan(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("MulNoNan", (x, y,), {}, name)

def Multinomial(logits: Operand, num_samples: Operand, *, seed: int = 0, seed2: int = 0, output_dtype: DTypeLike = int64, name: str | None = None) -> Tensor:
    """logits:T num_samples:int32 -> output:output_dtype"""
    return one("Multinomial", (logits, num_samples,), {"seed": seed, "seed2": seed2, "output_dtype": output_dtype}, name)

def MutableDenseHashTable(empty_key: Operand, *, value_dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', use_node_name_sharing: bool = False, value_shape: ShapeLike = (), initial_num_buckets: int = 131072, max_load_factor: float = 0.8, name: str | None = None) -> Tensor:
    """empty_key:key_dtype -> table_handle:string&"""
    return one("MutableDenseHashTable", (empty_key,), {"value_dtype": value_dtype, "container": container, "shared_name": shared_name, "use_node_name_sharing": use_node_name_sharing, "value_shape": value_shape, "initial_num_buckets": initial_num_buckets, "max_load_factor": max_load_factor}, name)

def MutableDenseHashTableV2(empty_key: Operand, deleted_key: Operand, *, value_dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', use_node_name_sharing: bool = False, value_shape: ShapeLike = (), initial_num_buckets: int = 131072, max_load_factor: float = 0.8, name: str | None = None) -> Tensor:
    """empty_key:key_dtype deleted_key:key_dtype -> table_handle:resource"""
    return one("MutableDenseHashTableV2", (empty_key, deleted_key,), {"value_dtype": value_dtype, "container": container, "shared_name": shared_name, "use_node_name_sharing": use_node_name_sharing, "value_shape": value_shape, "initial_num_buckets": initial_num_buckets, "max_load_factor": max_load_factor}, name)

def MutableHashTable(*, key_dtype: DTypeLike, value_dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', use_node_name_sharing: bool = False, name: str | None = None) -> Tensor:
    """-> table_handle:string&"""
    return one("MutableHashTable", (), {"key_dtype": key_dtype, "value_dtype": value_dtype, "container": container, "shared_name": shared_name, "use_node_name_sharing": use_node_name_sharing}, name)

def MutableHashTableOfTensors(*, key_dtype: DTypeLike, value_dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', use_node_name_sharing: bool = False, value_shape: ShapeLike = (), name: str | None = None) -> Tensor:
    """-> table_handle:string&"""
    return one("MutableHashTableOfTensors", (), {"key_dtype": key_dtype, "value_dtype": value_dtype, "container": container, "shared_name": shared_name, "use_node_name_sharing": use_node_name_sharing, "value_shape": value_shape}, name)

def MutableHashTableOfTensorsV2(*, key_dtype: DTypeLike, value_dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', use_node_name_sharing: bool = False, value_shape: ShapeLike = (), name: str | None = None) -> Tensor:
    """-> table_handle:resource"""
    return one("MutableHashTableOfTensorsV2", (), {"key_dtype": key_dtype, "value_dtype": value_dtype, "container": container, "shared_name": shared_name, "use_node_name_sharing": use_node_name_sharing, "value_shape": value_shape}, name)

def MutableHashTableV2(*, key_dtype: DTypeLike, value_dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', use_node_name_sharing: bool = False, name: str | None = None) -> Tensor:
    """-> table_handle:resource"""
    return one("MutableHashTableV2", (), {"key_dtype": key_dtype, "value_dtype": value_dtype, "container": container, "shared_name": shared_name, "use_node_name_sharing": use_node_name_sharing}, name)

def MutexLock(mutex: Operand, *, name: str | None = None) -> Tensor:
    """mutex:resource -> mutex_lock:variant"""
    return one("MutexLock", (mutex,), {}, name)

def MutexV2(*, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> resource:resource"""
    return one("MutexV2", (), {"container": container, "shared_name": shared_name}, name)

def Ndtri(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Ndtri", (x,), {}, name)

def NearestNeighbors(points: Operand, centers: Operand, k: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """points:float centers:float k:int64 -> nearest_center_indices:int64 nearest_center_distances:float"""
    return many("NearestNeighbors", (points, centers, k,), {}, name)

def Neg(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Neg", (x,), {}, name)

def NextAfter(x1: Operand, x2: Operand, *, name: str | None = None) -> Tensor:
    """x1:T x2:T -> output:T"""
    return one("NextAfter", (x1, x2,), {}, name)

def NextIteration(data: Operand, *, name: str | None = None) -> Tensor:
    """data:T -> output:T"""
    return one("NextIteration", (data,), {}, name)

def NoOp(*, name: str | None = None) -> Operation:
    """->"""
    return node("NoOp", (), {}, name)

def NonDeterministicInts(shape: Operand, *, dtype: DTypeLike = int64, name: str | None = None) -> Tensor:
    """shape:shape_dtype -> output:dtype"""
    return one("NonDeterministicInts", (shape,), {"dtype": dtype}, name)

def NonMaxSuppression(boxes: Operand, scores: Operand, max_output_size: Operand, *, iou_threshold: float = 0.5, name: str | None = None) -> Tensor:
    """boxes:float scores:float max_output_size:int32 -> selected_indices:int32"""
    return one("NonMaxSuppression", (boxes, scores, max_output_size,), {"iou_threshold": iou_threshold}, name)

def NonMaxSuppressionV2(boxes: Operand, scores: Operand, max_output_size: Operand, iou_threshold: Operand, *, name: str | None = None) -> Tensor:
    """boxes:T scores:T max_output_size:int32 iou_threshold:T_threshold -> selected_indices:int32"""
    return one("NonMaxSuppressionV2", (boxes, scores, max_output_size, iou_threshold,), {}, name)

def NonMaxSuppressionV3(boxes: Operand, scores: Operand, max_output_size: Operand, iou_threshold: Operand, score_threshold: Operand, *, name: str | None = None) -> Tensor:
    """boxes:T scores:T max_output_size:int32 iou_threshold:T_threshold score_threshold:T_threshold -> selected_indices:int32"""
    return one("NonMaxSuppressionV3", (boxes, scores, max_output_size, iou_threshold, score_threshold,), {}, name)

def NonMaxSuppressionV4(boxes: Operand, scores: Operand, max_output_size: Operand, iou_threshold: Operand, score_threshold: Operand, *, pad_to_max_output_size: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """boxes:T scores:T max_output_size:int32 iou_threshold:T_threshold score_threshold:T_threshold -> selected_indices:int32 valid_outputs:int32"""
    return many("NonMaxSuppressionV4", (boxes, scores, max_output_size, iou_threshold, score_threshold,), {"pad_to_max_output_size": pad_to_max_output_size}, name)

def NonMaxSuppressionV5(boxes: Operand, scores: Operand, max_output_size: Operand, iou_threshold: Operand, score_threshold: Operand, soft_nms_sigma: Operand, *, pad_to_max_output_size: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """boxes:T scores:T max_output_size:int32 iou_threshold:T score_threshold:T soft_nms_sigma:T -> selected_indices:int32 selected_scores:T valid_outputs:int32"""
    return many("NonMaxSuppressionV5", (boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma,), {"pad_to_max_output_size": pad_to_max_output_size}, name)

def NonMaxSuppressionWithOverlaps(overlaps: Operand, scores: Operand, max_output_size: Operand, overlap_threshold: Operand, score_threshold: Operand, *, name: str | None = None) -> Tensor:
    """overlaps:float scores:float max_output_size:int32 overlap_threshold:float score_threshold:float -> selected_indices:int32"""
    return one("NonMaxSuppressionWithOverlaps", (overlaps, scores, max_output_size, overlap_threshold, score_threshold,), {}, name)

def NonSerializableDataset(input_dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant -> handle:variant"""
    return one("NonSerializableDataset", (input_dataset,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def NotEqual(x: Operand, y: Operand, *, incompatible_shape_error: bool = True, name: str | None = None) -> Tensor:
    """x:T y:T -> z:bool"""
    return one("NotEqual", (x, y,), {"incompatible_shape_error": incompatible_shape_error}, name)

def NthElement(input: Operand, n: Operand, *, reverse: bool = False, name: str | None = None) -> Tensor:
    """input:T n:int32 -> values:T"""
    return one("NthElement", (input, n,), {"reverse": reverse}, name)

def OneHot(indices: Operand, depth: Operand, on_value: Operand, off_value: Operand, *, axis: int = -1, name: str | None = None) -> Tensor:
    """indices:TI depth:int32 on_value:T off_value:T -> output:T"""
    return one("OneHot", (indices, depth, on_value, off_value,), {"axis": axis}, name)

def OneShotIterator(*, dataset_factory: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("OneShotIterator", (), {"dataset_factory": dataset_factory, "output_types": output_types, "output_shapes": output_shapes, "container": container, "shared_name": shared_name}, name)

def OnesLike(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("OnesLike", (x,), {}, name)

def OptimizeDataset(input_dataset: Operand, optimizations: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], optimization_configs: Sequence[str | bytes] = (), name: str | None = None) -> Tensor:
    """input_dataset:variant optimizations:string -> handle:variant"""
    return one("OptimizeDataset", (input_dataset, optimizations,), {"output_types": output_types, "output_shapes": output_shapes, "optimization_configs": optimization_configs}, name)

def OptimizeDatasetV2(input_dataset: Operand, optimizations_enabled: Operand, optimizations_disabled: Operand, optimizations_default: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], optimization_configs: Sequence[str | bytes] = (), name: str | None = None) -> Tensor:
    """input_dataset:variant optimizations_enabled:string optimizations_disabled:string optimizations_default:string -> handle:variant"""
    return one("OptimizeDatasetV2", (input_dataset, optimizations_enabled, optimizations_disabled, optimizations_default,), {"output_types": output_types, "output_shapes": output_shapes, "optimization_configs": optimization_configs}, name)

def OptionalFromValue(components: Operands, *, name: str | None = None) -> Tensor:
    """components:[Toutput_types] -> optional:variant"""
    return one("OptionalFromValue", (components,), {}, name)

def OptionalGetValue(optional: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> list[Tensor]:
    """optional:variant -> components:[output_types]"""
    return many("OptionalGetValue", (optional,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def OptionalHasValue(optional: Operand, *, name: str | None = None) -> Tensor:
    """optional:variant -> has_value:bool"""
    return one("OptionalHasValue", (optional,), {}, name)

def OptionalNone(*, name: str | None = None) -> Tensor:
    """-> optional:variant"""
    return one("OptionalNone", (), {}, name)

def OptionsDataset(input_dataset: Operand, *, serialized_options: str | bytes, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant -> handle:variant"""
    return one("OptionsDataset", (input_dataset,), {"serialized_options": serialized_options, "output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def OrderedMapClear(*, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Operation:
    """->"""
    return node("OrderedMapClear", (), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def OrderedMapIncompleteSize(*, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> size:int32"""
    return one("OrderedMapIncompleteSize", (), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def OrderedMapPeek(key: Operand, indices: Operand, *, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> list[Tensor]:
    """key:int64 indices:int32 -> values:[dtypes]"""
    return many("OrderedMapPeek", (key, indices,), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def OrderedMapSize(*, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> size:int32"""
    return one("OrderedMapSize", (), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def OrderedMapStage(key: Operand, indices: Operand, values: Operands, *, dtypes: Sequence[DTypeLike], fake_dtypes: Sequence[DTypeLike] | None = None, capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Operation:
    """key:int64 indices:int32 values:[fake_dtypes] ->"""
    return node("OrderedMapStage", (key, indices, values,), {"dtypes": dtypes, "fake_dtypes": fake_dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def OrderedMapUnstage(key: Operand, indices: Operand, *, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> list[Tensor]:
    """key:int64 indices:int32 -> values:[dtypes]"""
    return many("OrderedMapUnstage", (key, indices,), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def OrderedMapUnstageNoKey(indices: Operand, *, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> tuple[Tensor, list[Tensor]]:
    """indices:int32 -> key:int64 values:[dtypes]"""
    return many("OrderedMapUnstageNoKey", (indices,), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def Pack(values: Operands, *, axis: int = 0, name: str | None = None) -> Tensor:
    """values:T*N -> output:T"""
    return one("Pack", (values,), {"axis": axis}, name)

def Pad(input: Operand, paddings: Operand, *, name: str | None = None) -> Tensor:
    """input:T paddings:Tpaddings -> output:T"""
    return one("Pad", (input, paddings,), {}, name)

def PadV2(input: Operand, paddings: Operand, constant_values: Operand, *, name: str | None = None) -> Tensor:
    """input:T paddings:Tpaddings constant_values:T -> output:T"""
    return one("PadV2", (input, paddings, constant_values,), {}, name)

def PaddedBatchDataset(input_dataset: Operand, batch_size: Operand, padded_shapes: Operands, padding_values: Operands, *, output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant batch_size:int64 padded_shapes:int64*N padding_values:[Toutput_types] -> handle:variant"""
    return one("PaddedBatchDataset", (input_dataset, batch_size, padded_shapes, padding_values,), {"output_shapes": output_shapes, "metadata": metadata}, name)

def PaddedBatchDatasetV2(input_dataset: Operand, batch_size: Operand, padded_shapes: Operands, padding_values: Operands, drop_remainder: Operand, *, output_shapes: Sequence[ShapeLike], parallel_copy: bool = False, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant batch_size:int64 padded_shapes:int64*N padding_values:[Toutput_types] drop_remainder:bool -> handle:variant"""
    return one("PaddedBatchDatasetV2", (input_dataset, batch_size, padded_shapes, padding_values, drop_remainder,), {"output_shapes": output_shapes, "parallel_copy": parallel_copy, "metadata": metadata}, name)

def PaddingFIFOQueue(*, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), capacity: int = -1, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:string&"""
    return one("PaddingFIFOQueue", (), {"component_types": component_types, "shapes": shapes, "capacity": capacity, "container": container, "shared_name": shared_name}, name)

def PaddingFIFOQueueV2(*, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), capacity: int = -1, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("PaddingFIFOQueueV2", (), {"component_types": component_types, "shapes": shapes, "capacity": capacity, "container": container, "shared_name": shared_name}, name)

def ParallelBatchDataset(input_dataset: Operand, batch_size: Operand, num_parallel_calls: Operand, drop_remainder: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], parallel_copy: bool = False, deterministic: str | bytes = 'default', metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant batch_size:int64 num_parallel_calls:int64 drop_remainder:bool -> handle:variant"""
    return one("ParallelBatchDataset", (input_dataset, batch_size, num_parallel_calls, drop_remainder,), {"output_types": output_types, "output_shapes": output_shapes, "parallel_copy": parallel_copy, "deterministic": deterministic, "metadata": metadata}, name)

def ParallelConcat(values: Operands, *, shape: ShapeLike, name: str | None = None) -> Tensor:
    """values:T*N -> output:T"""
    return one("ParallelConcat", (values,), {"shape": shape}, name)

def ParallelDynamicStitch(indices: Operands, data: Operands, *, name: str | None = None) -> Tensor:
    """indices:int32*N data:T*N -> merged:T"""
    return one("ParallelDynamicStitch", (indices, data,), {}, name)

def ParallelInterleaveDataset(input_dataset: Operand, other_arguments: Operands, cycle_length: Operand, block_length: Operand, sloppy: Operand, buffer_output_elements: Operand, prefetch_input_elements: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] cycle_length:int64 block_length:int64 sloppy:bool buffer_output_elements:int64 prefetch_input_elements:int64 -> handle:variant"""
    return one("ParallelInterleaveDataset", (input_dataset, other_arguments, cycle_length, block_length, sloppy, buffer_output_elements, prefetch_input_elements,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def ParallelInterleaveDatasetV2(input_dataset: Operand, other_arguments: Operands, cycle_length: Operand, block_length: Operand, num_parallel_calls: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], sloppy: bool = False, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] cycle_length:int64 block_length:int64 num_parallel_calls:int64 -> handle:variant"""
    return one("ParallelInterleaveDatasetV2", (input_dataset, other_arguments, cycle_length, block_length, num_parallel_calls,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "sloppy": sloppy, "metadata": metadata}, name)

def ParallelInterleaveDatasetV3(input_dataset: Operand, other_arguments: Operands, cycle_length: Operand, block_length: Operand, num_parallel_calls: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], deterministic: str | bytes = 'default', metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] cycle_length:int64 block_length:int64 num_parallel_calls:int64 -> handle:variant"""
    return one("ParallelInterleaveDatasetV3", (input_dataset, other_arguments, cycle_length, block_length, num_parallel_calls,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "deterministic": deterministic, "metadata": metadata}, name)

def ParallelInterleaveDatasetV4(input_dataset: Operand, other_arguments: Operands, cycle_length: Operand, block_length: Operand, buffer_output_elements: Operand, prefetch_input_elements: Operand, num_parallel_calls: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], deterministic: str | bytes = 'default', metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] cycle_length:int64 block_length:int64 buffer_output_elements:int64 prefetch_input_elements:int64 num_parallel_calls:int64 -> handle:variant"""
    return one("ParallelInterleaveDatasetV4", (input_dataset, other_arguments, cycle_length, block_length, buffer_output_elements, prefetch_input_elements, num_parallel_calls,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "deterministic": deterministic, "metadata": metadata}, name)

def ParallelMapDataset(input_dataset: Operand, other_arguments: Operands, num_parallel_calls: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], use_inter_op_parallelism: bool = True, sloppy: bool = False, preserve_cardinality: bool = False, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] num_parallel_calls:int32 -> handle:variant"""
    return one("ParallelMapDataset", (input_dataset, other_arguments, num_parallel_calls,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "use_inter_op_parallelism": use_inter_op_parallelism, "sloppy": sloppy, "preserve_cardinality": preserve_cardinality, "metadata": metadata}, name)

def ParallelMapDatasetV2(input_dataset: Operand, other_arguments: Operands, num_parallel_calls: Operand, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], use_inter_op_parallelism: bool = True, deterministic: str | bytes = 'default', preserve_cardinality: bool = False, use_unbounded_threadpool: bool = False, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] num_parallel_calls:int64 -> handle:variant"""
    return one("ParallelMapDatasetV2", (input_dataset, other_arguments, num_parallel_calls,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "use_inter_op_parallelism": use_inter_op_parallelism, "deterministic": deterministic, "preserve_cardinality": preserve_cardinality, "use_unbounded_threadpool": use_unbounded_threadpool, "metadata": metadata}, name)

def ParameterizedTruncatedNormal(shape: Operand, means: Operand, stdevs: Operand, minvals: Operand, maxvals: Operand, *, seed: int = 0, seed2: int = 0, name: str | None = None) -> Tensor:
    """shape:T means:dtype stdevs:dtype minvals:dtype maxvals:dtype -> output:dtype"""
    return one("ParameterizedTruncatedNormal", (shape, means, stdevs, minvals, maxvals,), {"seed": seed, "seed2": seed2}, name)

def ParseExample(serialized: Operand, names: Operand, sparse_keys: Operands, dense_keys: Operands, dense_defaults: Operands, *, sparse_types: Sequence[DTypeLike], dense_shapes: Sequence[ShapeLike], Nsparse: int | None = None, Ndense: int | None = None, name: str | None = None) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
    """serialized:string names:string sparse_keys:string*Nsparse dense_keys:string*Ndense dense_defaults:[Tdense] -> sparse_indices:int64*Nsparse sparse_values:[sparse_types] sparse_shapes:int64*Nsparse dense_values:[Tdense]"""
    return many("ParseExample", (serialized, names, sparse_keys, dense_keys, dense_defaults,), {"sparse_types": sparse_types, "dense_shapes": dense_shapes, "Nsparse": Nsparse, "Ndense": Ndense}, name)

def ParseExampleDataset(input_dataset: Operand, num_parallel_calls: Operand, dense_defaults: Operands, *, sparse_keys: Sequence[str | bytes], dense_keys: Sequence[str | bytes], sparse_types: Sequence[DTypeLike], dense_shapes: Sequence[ShapeLike], output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], sloppy: bool = False, ragged_keys: Sequence[str | bytes] = (), ragged_value_types: Sequence[DTypeLike] = (), ragged_split_types: Sequence[DTypeLike] = (), name: str | None = None) -> Tensor:
    """input_dataset:variant num_parallel_calls:int64 dense_defaults:[Tdense] -> handle:variant"""
    return one("ParseExampleDataset", (input_dataset, num_parallel_calls, dense_defaults,), {"sparse_keys": sparse_keys, "dense_keys": dense_keys, "sparse_types": sparse_types, "dense_shapes": dense_shapes, "output_types": output_types, "output_shapes": output_shapes, "sloppy": sloppy, "ragged_keys": ragged_keys, "ragged_value_types": ragged_value_types, "ragged_split_types": ragged_split_types}, name)

def ParseExampleDatasetV2(input_dataset: Operand, num_parallel_calls: Operand, dense_defaults: Operands, *, sparse_keys: Sequence[str | bytes], dense_keys: Sequence[str | bytes], sparse_types: Sequence[DTypeLike], dense_shapes: Sequence[ShapeLike], output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], deterministic: str | bytes = 'default', ragged_keys: Sequence[str | bytes] = (), ragged_value_types: Sequence[DTypeLike] = (), ragged_split_types: Sequence[DTypeLike] = (), name: str | None = None) -> Tensor:
    """input_dataset:variant num_parallel_calls:int64 dense_defaults:[Tdense] -> handle:variant"""
    return one("ParseExampleDatasetV2", (input_dataset, num_parallel_calls, dense_defaults,), {"sparse_keys": sparse_keys, "dense_keys": dense_keys, "sparse_types": sparse_types, "dense_shapes": dense_shapes, "output_types": output_types, "output_shapes": output_shapes, "deterministic": deterministic, "ragged_keys": ragged_keys, "ragged_value_types": ragged_value_types, "ragged_split_types": ragged_split_types}, name)

def ParseExampleV2(serialized: Operand, names: Operand, sparse_keys: Operand, dense_keys: Operand, ragged_keys: Operand, dense_defaults: Operands, *, num_sparse: int, sparse_types: Sequence[DTypeLike], ragged_value_types: Sequence[DTypeLike], ragged_split_types: Sequence[DTypeLike], dense_shapes: Sequence[ShapeLike], name: str | None = None) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
    """serialized:string names:string sparse_keys:string dense_keys:string ragged_keys:string dense_defaults:[Tdense] -> sparse_indices:int64*num_sparse sparse_values:[sparse_types] sparse_shapes:int64*num_sparse dense_values:[Tdense] ragged_values:[ragged_value_types] ragged_row_splits:[ragged_split_types]"""
    return many("ParseExampleV2", (serialized, names, sparse_keys, dense_keys, ragged_keys, dense_defaults,), {"num_sparse": num_sparse, "sparse_types": sparse_types, "ragged_value_types": ragged_value_types, "ragged_split_types": ragged_split_types, "dense_shapes": dense_shapes}, name)

def ParseSequenceExample(serialized: Operand, debug_name: Operand, context_dense_defaults: Operands, *, feature_list_dense_missing_assumed_empty: Sequence[str | bytes], context_sparse_keys: Sequence[str | bytes], context_dense_keys: Sequence[str | bytes], feature_list_sparse_keys: Sequence[str | bytes], feature_list_dense_keys: Sequence[str | bytes], Ncontext_sparse: int = 0, Ncontext_dense: int = 0, Nfeature_list_sparse: int = 0, Nfeature_list_dense: int = 0, context_sparse_types: Sequence[DTypeLike] = (), feature_list_dense_types: Sequence[DTypeLike] = (), context_dense_shapes: Sequence[ShapeLike] = (), feature_list_sparse_types: Sequence[DTypeLike] = (), feature_list_dense_shapes: Sequence[ShapeLike] = (), name: str | None = None) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
    """serialized:string debug_name:string context_dense_defaults:[Tcontext_dense] -> context_sparse_indices:int64*Ncontext_sparse context_sparse_values:[context_sparse_types] context_sparse_shapes:int64*Ncontext_sparse context_dense_values:[Tcontext_dense] feature_list_sparse_indices:int64*Nfeature_list_sparse feature_list_sparse_values:[feature_list_sparse_types] feature_list_sparse_shapes:int64*Nfeature_list_sparse feature_list_dense_values:[feature_list_dense_types] feature_list_dense_lengths:int64*Nfeature_list_dense"""
    return many("ParseSequenceExample", (serialized, debug_name, context_dense_defaults,), {"feature_list_dense_missing_assumed_empty": feature_list_dense_missing_assumed_empty, "context_sparse_keys": context_sparse_keys, "context_dense_keys": context_dense_keys, "feature_list_sparse_keys": feature_list_sparse_keys, "feature_list_dense_keys": feature_list_dense_keys, "Ncontext_sparse": Ncontext_sparse, "Ncontext_dense": Ncontext_dense, "Nfeature_list_sparse": Nfeature_list_sparse, "Nfeature_list_dense": Nfeature_list_dense, "context_sparse_types": context_sparse_types, "feature_list_dense_types": feature_list_dense_types, "context_dense_shapes": context_dense_shapes, "feature_list_sparse_types": feature_list_sparse_types, "feature_list_dense_shapes": feature_list_dense_shapes}, name)

def ParseSequenceExampleV2(serialized: Operand, debug_name: Operand, context_sparse_keys: Operand, context_dense_keys: Operand, context_ragged_keys: Operand, feature_list_sparse_keys: Operand, feature_list_dense_keys: Operand, feature_list_ragged_keys: Operand, feature_list_dense_missing_assumed_empty: Operand, context_dense_defaults: Operands, *, Ncontext_sparse: int = 0, context_sparse_types: Sequence[DTypeLike] = (), context_ragged_value_types: Sequence[DTypeLike] = (), context_ragged_split_types: Sequence[DTypeLike] = (), context_dense_shapes: Sequence[ShapeLike] = (), Nfeature_list_sparse: int = 0, Nfeature_list_dense: int = 0, feature_list_dense_types: Sequence[DTypeLike] = (), feature_list_sparse_types: Sequence[DTypeLike] = (), feature_list_ragged_value_types: Sequence[DTypeLike] = (), feature_list_ragged_split_types: Sequence[DTypeLike] = (), feature_list_dense_shapes: Sequence[ShapeLike] = (), name: str | None = None) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
    """serialized:string debug_name:string context_sparse_keys:string context_dense_keys:string context_ragged_keys:string feature_list_sparse_keys:string feature_list_dense_keys:string feature_list_ragged_keys:string feature_list_dense_missing_assumed_empty:bool context_dense_defaults:[Tcontext_dense] -> context_sparse_indices:int64*Ncontext_sparse context_sparse_values:[context_sparse_types] context_sparse_shapes:int64*Ncontext_sparse context_dense_values:[Tcontext_dense] context_ragged_values:[context_ragged_value_types] context_ragged_row_splits:[context_ragged_split_types] feature_list_sparse_indices:int64*Nfeature_list_sparse feature_list_sparse_values:[feature_list_sparse_types] feature_list_sparse_shapes:int64*Nfeature_list_sparse feature_list_dense_values:[feature_list_dense_types] feature_list_dense_lengths:int64*Nfeature_list_dense feature_list_ragged_values:[feature_list_ragged_value_types] feature_list_ragged_outer_splits:[feature_list_ragged_split_types] feature_list_ragged_inner_splits:[feature_list_ragged_split_types]"""
    return many("ParseSequenceExampleV2", (serialized, debug_name, context_sparse_keys, context_dense_keys, context_ragged_keys, feature_list_sparse_keys, feature_list_dense_keys, feature_list_ragged_keys, feature_list_dense_missing_assumed_empty, context_dense_defaults,), {"Ncontext_sparse": Ncontext_sparse, "context_sparse_types": context_sparse_types, "context_ragged_value_types": context_ragged_value_types, "context_ragged_split_types": context_ragged_split_types, "context_dense_shapes": context_dense_shapes, "Nfeature_list_sparse": Nfeature_list_sparse, "Nfeature_list_dense": Nfeature_list_dense, "feature_list_dense_types": feature_list_dense_types, "feature_list_sparse_types": feature_list_sparse_types, "feature_list_ragged_value_types": feature_list_ragged_value_types, "feature_list_ragged_split_types": feature_list_ragged_split_types, "feature_list_dense_shapes": feature_list_dense_shapes}, name)

def ParseSingleExample(serialized: Operand, dense_defaults: Operands, *, num_sparse: int, sparse_keys: Sequence[str | bytes], dense_keys: Sequence[str | bytes], sparse_types: Sequence[DTypeLike], dense_shapes: Sequence[ShapeLike], name: str | None = None) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
    """serialized:string dense_defaults:[Tdense] -> sparse_indices:int64*num_sparse sparse_values:[sparse_types] sparse_shapes:int64*num_sparse dense_values:[Tdense]"""
    return many("ParseSingleExample", (serialized, dense_defaults,), {"num_sparse": num_sparse, "sparse_keys": sparse_keys, "dense_keys": dense_keys, "sparse_types": sparse_types, "dense_shapes": dense_shapes}, name)

def ParseSingleSequenceExample(serialized: Operand, feature_list_dense_missing_assumed_empty: Operand, context_sparse_keys: Operands, context_dense_keys: Operands, feature_list_sparse_keys: Operands, feature_list_dense_keys: Operands, context_dense_defaults: Operands, debug_name: Operand, *, Ncontext_sparse: int | None = None, Ncontext_dense: int | None = None, Nfeature_list_sparse: int | None = None, Nfeature_list_dense: int | None = None, context_sparse_types: Sequence[DTypeLike] = (), feature_list_dense_types: Sequence[DTypeLike] = (), context_dense_shapes: Sequence[ShapeLike] = (), feature_list_sparse_types: Sequence[DTypeLike] = (), feature_list_dense_shapes: Sequence[ShapeLike] = (), name: str | None = None) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
    """serialized:string feature_list_dense_missing_assumed_empty:string context_sparse_keys:string*Ncontext_sparse context_dense_keys:string*Ncontext_dense feature_list_sparse_keys:string*Nfeature_list_sparse feature_list_dense_keys:string*Nfeature_list_dense context_dense_defaults:[Tcontext_dense] debug_name:string -> context_sparse_indices:int64*Ncontext_sparse context_sparse_values:[context_sparse_types] context_sparse_shapes:int64*Ncontext_sparse context_dense_values:[Tcontext_dense] feature_list_sparse_indices:int64*Nfeature_list_sparse feature_list_sparse_values:[feature_list_sparse_types] feature_list_sparse_shapes:int64*Nfeature_list_sparse feature_list_dense_values:[feature_list_dense_types]"""
    return many("ParseSingleSequenceExample", (serialized, feature_list_dense_missing_assumed_empty, context_sparse_keys, context_dense_keys, feature_list_sparse_keys, feature_list_dense_keys, context_dense_defaults, debug_name,), {"Ncontext_sparse": Ncontext_sparse, "Ncontext_dense": Ncontext_dense, "Nfeature_list_sparse": Nfeature_list_sparse, "Nfeature_list_dense": Nfeature_list_dense, "context_sparse_types": context_sparse_types, "feature_list_dense_types": feature_list_dense_types, "context_dense_shapes": context_dense_shapes, "feature_list_sparse_types": feature_list_sparse_types, "feature_list_dense_shapes": feature_list_dense_shapes}, name)

def ParseTensor(serialized: Operand, *, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """serialized:string -> output:out_type"""
    return one("ParseTensor", (serialized,), {"out_type": out_type}, name)

def PartitionedCall(args: Operands, *, f: Value, name: str | None = None) -> list[Tensor]:
    """args:[Tin] -> output:[Tout]"""
    return many("PartitionedCall", (args,), {"f": f}, name)

def Placeholder(*, dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """-> output:dtype"""
    return one("Placeholder", (), {"dtype": dtype, "shape": shape}, name)

def PlaceholderV2(*, dtype: DTypeLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """-> output:dtype"""
    return one("PlaceholderV2", (), {"dtype": dtype, "shape": shape}, name)

def PlaceholderWithDefault(input: Operand, *, shape: ShapeLike, name: str | None = None) -> Tensor:
    """input:dtype -> output:dtype"""
    return one("PlaceholderWithDefault", (input,), {"shape": shape}, name)

def Polygamma(a: Operand, x: Operand, *, name: str | None = None) -> Tensor:
    """a:T x:T -> z:T"""
    return one("Polygamma", (a, x,), {}, name)

def PopulationCount(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:uint8"""
    return one("PopulationCount", (x,), {}, name)

def Pow(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Pow", (x, y,), {}, name)

def PrefetchDataset(input_dataset: Operand, buffer_size: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], slack_period: int = 0, legacy_autotune: bool = True, buffer_size_min: int = 0, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant buffer_size:int64 -> handle:variant"""
    return one("PrefetchDataset", (input_dataset, buffer_size,), {"output_types": output_types, "output_shapes": output_shapes, "slack_period": slack_period, "legacy_autotune": legacy_autotune, "buffer_size_min": buffer_size_min, "metadata": metadata}, name)

def PreventGradient(input: Operand, *, message: str | bytes = '', name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("PreventGradient", (input,), {"message": message}, name)

def Print(input: Operand, data: Operands, *, message: str | bytes = '', first_n: int = -1, summarize: int = 3, name: str | None = None) -> Tensor:
    """input:T data:[U] -> output:T"""
    return one("Print", (input, data,), {"message": message, "first_n": first_n, "summarize": summarize}, name)

def PrintV2(input: Operand, *, output_stream: str | bytes = 'stderr', end: str | bytes = '\n', name: str | None = None) -> Operation:
    """input:string ->"""
    return node("PrintV2", (input,), {"output_stream": output_stream, "end": end}, name)

def PriorityQueue(*, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), capacity: int = -1, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:string&"""
    return one("PriorityQueue", (), {"component_types": component_types, "shapes": shapes, "capacity": capacity, "container": container, "shared_name": shared_name}, name)

def PriorityQueueV2(*, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), capacity: int = -1, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("PriorityQueueV2", (), {"component_types": component_types, "shapes": shapes, "capacity": capacity, "container": container, "shared_name": shared_name}, name)

def PrivateThreadPoolDataset(input_dataset: Operand, num_threads: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant num_threads:int64 -> handle:variant"""
    return one("PrivateThreadPoolDataset", (input_dataset, num_threads,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def Prod(input: Operand, reduction_indices: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input:T reduction_indices:Tidx -> output:T"""
    return one("Prod", (input, reduction_indices,), {"keep_dims": keep_dims}, name)

def PyFunc(input: Operands, *, token: str | bytes, Tout: Sequence[DTypeLike], Tin: Sequence[DTypeLike] | None = None, name: str | None = None) -> list[Tensor]:
    """input:[Tin] -> output:[Tout]"""
    return many("PyFunc", (input,), {"token": token, "Tout": Tout, "Tin": Tin}, name)

def PyFuncStateless(input: Operands, *, token: str | bytes, Tout: Sequence[DTypeLike], Tin: Sequence[DTypeLike] | None = None, name: str | None = None) -> list[Tensor]:
    """input:[Tin] -> output:[Tout]"""
    return many("PyFuncStateless", (input,), {"token": token, "Tout": Tout, "Tin": Tin}, name)

def Qr(input: Operand, *, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:T -> q:T r:T"""
    return many("Qr", (input,), {"full_matrices": full_matrices}, name)

def QuantizeAndDequantize(input: Operand, *, signed_input: bool = True, num_bits: int = 8, range_given: bool = False, input_min: float = 0.0, input_max: float = 0.0, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("QuantizeAndDequantize", (input,), {"signed_input": signed_input, "num_bits": num_bits, "range_given": range_given, "input_min": input_min, "input_max": input_max}, name)

def QuantizeAndDequantizeV2(input: Operand, input_min: Operand, input_max: Operand, *, signed_input: bool = True, num_bits: int = 8, range_given: bool = False, round_mode: str | bytes = 'HALF_TO_EVEN', narrow_range: bool = False, axis: int = -1, name: str | None = None) -> Tensor:
    """input:T input_min:T input_max:T -> output:T"""
    return one("QuantizeAndDequantizeV2", (input, input_min, input_max,), {"signed_input": signed_input, "num_bits": num_bits, "range_given": range_given, "round_mode": round_mode, "narrow_range": narrow_range, "axis": axis}, name)

def QuantizeAndDequantizeV3(input: Operand, input_min: Operand, input_max: Operand, num_bits: Operand, *, signed_input: bool = True, range_given: bool = True, narrow_range: bool = False, axis: int = -1, name: str | None = None) -> Tensor:
    """input:T input_min:T input_max:T num_bits:int32 -> output:T"""
    return one("QuantizeAndDequantizeV3", (input, input_min, input_max, num_bits,), {"signed_input": signed_input, "range_given": range_given, "narrow_range": narrow_range, "axis": axis}, name)

def QuantizeAndDequantizeV4(input: Operand, input_min: Operand, input_max: Operand, *, signed_input: bool = True, num_bits: int = 8, range_given: bool = False, round_mode: str | bytes = 'HALF_TO_EVEN', narrow_range: bool = False, axis: int = -1, name: str | None = None) -> Tensor:
    """input:T input_min:T input_max:T -> output:T"""
    return one("QuantizeAndDequantizeV4", (input, input_min, input_max,), {"signed_input": signed_input, "num_bits": num_bits, "range_given": range_given, "round_mode": round_mode, "narrow_range": narrow_range, "axis": axis}, name)

def QuantizeAndDequantizeV4Grad(gradients: Operand, input: Operand, input_min: Operand, input_max: Operand, *, axis: int = -1, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """gradients:T input:T input_min:T input_max:T -> input_backprop:T input_min_backprop:T input_max_backprop:T"""
    return many("QuantizeAndDequantizeV4Grad", (gradients, input, input_min, input_max,), {"axis": axis}, name)

def QuantizeDownAndShrinkRange(input: Operand, input_min: Operand, input_max: Operand, *, out_type: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:Tinput input_min:float input_max:float -> output:out_type output_min:float output_max:float"""
    return many("QuantizeDownAndShrinkRange", (input, input_min, input_max,), {"out_type": out_type}, name)

def QuantizeV2(input: Operand, min_range: Operand, max_range: Operand, *, T: DTypeLike, mode: str | bytes = 'MIN_COMBINED', round_mode: str | bytes = 'HALF_AWAY_FROM_ZERO', narrow_range: bool = False, axis: int = -1, ensure_minimum_range: float = 0.01, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:float min_range:float max_range:float -> output:T output_min:float output_max:float"""
    return many("QuantizeV2", (input, min_range, max_range,), {"T": T, "mode": mode, "round_mode": round_mode, "narrow_range": narrow_range, "axis": axis, "ensure_minimum_range": ensure_minimum_range}, name)

def QuantizedAdd(x: Operand, y: Operand, min_x: Operand, max_x: Operand, min_y: Operand, max_y: Operand, *, Toutput: DTypeLike = qint32, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """x:T1 y:T2 min_x:float max_x:float min_y:float max_y:float -> z:Toutput min_z:float max_z:float"""
    return many("QuantizedAdd", (x, y, min_x, max_x, min_y, max_y,), {"Toutput": Toutput}, name)

def QuantizedAvgPool(input: Operand, min_input: Operand, max_input: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:T min_input:float max_input:float -> output:T min_output:float max_output:float"""
    return many("QuantizedAvgPool", (input, min_input, max_input,), {"ksize": ksize, "strides": strides, "padding": padding}, name)

def QuantizedBatchNormWithGlobalNormalization(t: Operand, t_min: Operand, t_max: Operand, m: Operand, m_min: Operand, m_max: Operand, v: Operand, v_min: Operand, v_max: Operand, beta: Operand, beta_min: Operand, beta_max: Operand, gamma: Operand, gamma_min: Operand, gamma_max: Operand, *, out_type: DTypeLike, variance_epsilon: float, scale_after_normalization: bool, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """t:Tinput t_min:float t_max:float m:Tinput m_min:float m_max:float v:Tinput v_min:float v_max:float beta:Tinput beta_min:float beta_max:float gamma:Tinput gamma_min:float gamma_max:float -> result:out_type result_min:float result_max:float"""
    return many("QuantizedBatchNormWithGlobalNormalization", (t, t_min, t_max, m, m_min, m_max, v, v_min, v_max, beta, beta_min, beta_max, gamma, gamma_min, gamma_max,), {"out_type": out_type, "variance_epsilon": variance_epsilon, "scale_after_normalization": scale_after_normalization}, name)

def QuantizedBiasAdd(input: Operand, bias: Operand, min_input: Operand, max_input: Operand, min_bias: Operand, max_bias: Operand, *, out_type: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:T1 bias:T2 min_input:float max_input:float min_bias:float max_bias:float -> output:out_type min_out:float max_out:float"""
    return many("QuantizedBiasAdd", (input, bias, min_input, max_input, min_bias, max_bias,), {"out_type": out_type}, name)

def QuantizedConcat(concat_dim: Operand, values: Operands, input_mins: Operands, input_maxes: Operands, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """concat_dim:int32 values:T*N input_mins:float*N input_maxes:float*N -> output:T output_min:float output_max:float"""
    return many("QuantizedConcat", (concat_dim, values, input_mins, input_maxes,), {}, name)

def QuantizedConv2D(input: Operand, filter: Operand, min_input: Operand, max_input: Operand, min_filter: Operand, max_filter: Operand, *, strides: Sequence[int], padding: str | bytes, out_type: DTypeLike = qint32, dilations: Sequence[int] = (1, 1, 1, 1), name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:Tinput filter:Tfilter min_input:float max_input:float min_filter:float max_filter:float -> output:out_type min_output:float max_output:float"""
    return many("QuantizedConv2D", (input, filter, min_input, max_input, min_filter, max_filter,), {"strides": strides, "padding": padding, "out_type": out_type, "dilations": dilations}, name)

def QuantizedMatMul(a: Operand, b: Operand, min_a: Operand, max_a: Operand, min_b: Operand, max_b: Operand, *, Toutput: DTypeLike = qint32, transpose_a: bool = False, transpose_b: bool = False, Tactivation: DTypeLike = quint8, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """a:T1 b:T2 min_a:float max_a:float min_b:float max_b:float -> out:Toutput min_out:float max_out:float"""
    return many("QuantizedMatMul", (a, b, min_a, max_a, min_b, max_b,), {"Toutput": Toutput, "transpose_a": transpose_a, "transpose_b": transpose_b, "Tactivation": Tactivation}, name)

def QuantizedMaxPool(input: Operand, min_input: Operand, max_input: Operand, *, ksize: Sequence[int], strides: Sequence[int], padding: str | bytes, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:T min_input:float max_input:float -> output:T min_output:float max_output:float"""
    return many("QuantizedMaxPool", (input, min_input, max_input,), {"ksize": ksize, "strides": strides, "padding": padding}, name)

def QuantizedMul(x: Operand, y: Operand, min_x: Operand, max_x: Operand, min_y: Operand, max_y: Operand, *, Toutput: DTypeLike = qint32, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """x:T1 y:T2 min_x:float max_x:float min_y:float max_y:float -> z:Toutput min_z:float max_z:float"""
    return many("QuantizedMul", (x, y, min_x, max_x, min_y, max_y,), {"Toutput": Toutput}, name)

def QuantizedRelu(features: Operand, min_features: Operand, max_features: Operand, *, out_type: DTypeLike = quint8, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """features:Tinput min_features:float max_features:float -> activations:out_type min_activations:float max_activations:float"""
    return many("QuantizedRelu", (features, min_features, max_features,), {"out_type": out_type}, name)

def QuantizedRelu6(features: Operand, min_features: Operand, max_features: Operand, *, out_type: DTypeLike = quint8, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """features:Tinput min_features:float max_features:float -> activations:out_type min_activations:float max_activations:float"""
    return many("QuantizedRelu6", (features, min_features, max_features,), {"out_type": out_type}, name)

def QuantizedReshape(tensor: Operand, shape: Operand, input_min: Operand, input_max: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """tensor:T shape:Tshape input_min:float input_max:float -> output:T output_min:float output_max:float"""
    return many("QuantizedReshape", (tensor, shape, input_min, input_max,), {}, name)

def QueueClose(handle: Operand, *, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
    """handle:string& ->"""
    return node("QueueClose", (handle,), {"cancel_pending_enqueues": cancel_pending_enqueues}, name)

def QueueCloseV2(handle: Operand, *, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
    """handle:resource ->"""
    return node("QueueCloseV2", (handle,), {"cancel_pending_enqueues": cancel_pending_enqueues}, name)

def QueueDequeue(handle: Operand, *, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), name: str | None = None) -> list[Tensor]:
    """handle:string& -> components:[component_types]"""
    return many("QueueDequeue", (handle,), {"component_types": component_types, "shapes": shapes}, name)

def QueueDequeueMany(handle: Operand, n: Operand, *, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), name: str | None = None) -> list[Tensor]:
    """handle:string& n:int32 -> components:[component_types]"""
    return many("QueueDequeueMany", (handle, n,), {"component_types": component_types, "shapes": shapes}, name)

def QueueDequeueManyV2(handle: Operand, n: Operand, *, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), name: str | None = None) -> list[Tensor]:
    """handle:resource n:int32 -> components:[component_types]"""
    return many("QueueDequeueManyV2", (handle, n,), {"component_types": component_types, "shapes": shapes}, name)

def QueueDequeueUpTo(handle: Operand, n: Operand, *, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), name: str | None = None) -> list[Tensor]:
    """handle:string& n:int32 -> components:[component_types]"""
    return many("QueueDequeueUpTo", (handle, n,), {"component_types": component_types, "shapes": shapes}, name)

def QueueDequeueUpToV2(handle: Operand, n: Operand, *, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), name: str | None = None) -> list[Tensor]:
    """handle:resource n:int32 -> components:[component_types]"""
    return many("QueueDequeueUpToV2", (handle, n,), {"component_types": component_types, "shapes": shapes}, name)

def QueueDequeueV2(handle: Operand, *, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), name: str | None = None) -> list[Tensor]:
    """handle:resource -> components:[component_types]"""
    return many("QueueDequeueV2", (handle,), {"component_types": component_types, "shapes": shapes}, name)

def QueueEnqueue(handle: Operand, components: Operands, *, component_types: Sequence[DTypeLike] | None = None, shapes: Sequence[ShapeLike] = (), name: str | None = None) -> Operation:
    """handle:string& components:[Tcomponents] ->"""
    return node("QueueEnqueue", (handle, components,), {"component_types": component_types, "shapes": shapes}, name)

def QueueEnqueueMany(handle: Operand, components: Operands, *, component_types: Sequence[DTypeLike] | None = None, shapes: Sequence[ShapeLike] = (), name: str | None = None) -> Operation:
    """handle:string& components:[Tcomponents] ->"""
    return node("QueueEnqueueMany", (handle, components,), {"component_types": component_types, "shapes": shapes}, name)

def QueueEnqueueManyV2(handle: Operand, components: Operands, *, component_types: Sequence[DTypeLike] | None = None, shapes: Sequence[ShapeLike] = (), name: str | None = None) -> Operation:
    """handle:resource components:[Tcomponents] ->"""
    return node("QueueEnqueueManyV2", (handle, components,), {"component_types": component_types, "shapes": shapes}, name)

def QueueEnqueueV2(handle: Operand, components: Operands, *, component_types: Sequence[DTypeLike] | None = None, shapes: Sequence[ShapeLike] = (), name: str | None = None) -> Operation:
    """handle:resource components:[Tcomponents] ->"""
    return node("QueueEnqueueV2", (handle, components,), {"component_types": component_types, "shapes": shapes}, name)

def QueueIsClosed(handle: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& -> is_closed:bool"""
    return one("QueueIsClosed", (handle,), {}, name)

def QueueIsClosedV2(handle: Operand, *, name: str | None = None) -> Tensor:
    """handle:resource -> is_closed:bool"""
    return one("QueueIsClosedV2", (handle,), {}, name)

def QueueSize(handle: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& -> size:int32"""
    return one("QueueSize", (handle,), {}, name)

def QueueSizeV2(handle: Operand, *, name: str | None = None) -> Tensor:
    """handle:resource -> size:int32"""
    return one("QueueSizeV2", (handle,), {}, name)

def RFFT(input: Operand, fft_length: Operand, *, Tcomplex: DTypeLike = complex64, name: str | None = None) -> Tensor:
    """input:Treal fft_length:int32 -> output:Tcomplex"""
    return one("RFFT", (input, fft_length,), {"Tcomplex": Tcomplex}, name)

def RFFT2D(input: Operand, fft_length: Operand, *, Tcomplex: DTypeLike = complex64, name: str | None = None) -> Tensor:
    """input:Treal fft_length:int32 -> output:Tcomplex"""
    return one("RFFT2D", (input, fft_length,), {"Tcomplex": Tcomplex}, name)

def RFFT3D(input: Operand, fft_length: Operand, *, Tcomplex: DTypeLike = complex64, name: str | None = None) -> Tensor:
    """input:Treal fft_length:int32 -> output:Tcomplex"""
    return one("RFFT3D", (input, fft_length,), {"Tcomplex": Tcomplex}, name)

def RGBToHSV(images: Operand, *, name: str | None = None) -> Tensor:
    """images:T -> output:T"""
    return one("RGBToHSV", (images,), {}, name)

def RaggedBincount(splits: Operand, values: Operand, size: Operand, weights: Operand, *, binary_output: bool = False, name: str | None = None) -> Tensor:
    """splits:int64 values:Tidx size:Tidx weights:T -> output:T"""
    return one("RaggedBincount", (splits, values, size, weights,), {"binary_output": binary_output}, name)

def RaggedCountSparseOutput(splits: Operand, values: Operand, weights: Operand, *, binary_output: bool, minlength: int = -1, maxlength: int = -1, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """splits:int64 values:T weights:output_type -> output_indices:int64 output_values:output_type output_dense_shape:int64"""
    return many("RaggedCountSparseOutput", (splits, values, weights,), {"binary_output": binary_output, "minlength": minlength, "maxlength": maxlength}, name)

def RaggedCross(ragged_values: Operands, ragged_row_splits: Operands, sparse_indices: Operands, sparse_values: Operands, sparse_shape: Operands, dense_inputs: Operands, *, input_order: str | bytes, hashed_output: bool, num_buckets: int, hash_key: int, out_values_type: DTypeLike, out_row_splits_type: DTypeLike, Nsparse: int | None = None, ragged_values_types: Sequence[DTypeLike] | None = None, ragged_splits_types: Sequence[DTypeLike] | None = None, sparse_values_types: Sequence[DTypeLike] | None = None, dense_types: Sequence[DTypeLike] | None = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """ragged_values:[ragged_values_types] ragged_row_splits:[ragged_splits_types] sparse_indices:int64*Nsparse sparse_values:[sparse_values_types] sparse_shape:int64*Nsparse dense_inputs:[dense_types] -> output_values:out_values_type output_row_splits:out_row_splits_type"""
    return many("RaggedCross", (ragged_values, ragged_row_splits, sparse_indices, sparse_values, sparse_shape, dense_inputs,), {"input_order": input_order, "hashed_output": hashed_output, "num_buckets": num_buckets, "hash_key": hash_key, "out_values_type": out_values_type, "out_row_splits_type": out_row_splits_type, "Nsparse": Nsparse, "ragged_values_types": ragged_values_types, "ragged_splits_types": ragged_splits_types, "sparse_values_types": sparse_values_types, "dense_types": dense_types}, name)

def RaggedFillEmptyRows(value_rowids: Operand, values: Operand, nrows: Operand, default_value: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """value_rowids:int64 values:T nrows:int64 default_value:T -> output_value_rowids:int64 output_values:T empty_row_indicator:bool reverse_index_map:int64"""
    return many("RaggedFillEmptyRows", (value_rowids, values, nrows, default_value,), {}, name)

def RaggedFillEmptyRowsGrad(reverse_index_map: Operand, grad_values: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """reverse_index_map:int64 grad_values:T -> d_values:T d_default_value:T"""
    return many("RaggedFillEmptyRowsGrad", (reverse_index_map, grad_values,), {}, name)

def RaggedGather(params_nested_splits: Operands, params_dense_values: Operand, indices: Operand, *, OUTPUT_RAGGED_RANK: int, name: str | None = None) -> tuple[list[Tensor], Tensor]:
    """params_nested_splits:Tsplits*PARAMS_RAGGED_RANK params_dense_values:Tvalues indices:Tindices -> output_nested_splits:Tsplits*OUTPUT_RAGGED_RANK output_dense_values:Tvalues"""
    return many("RaggedGather", (params_nested_splits, params_dense_values, indices,), {"OUTPUT_RAGGED_RANK": OUTPUT_RAGGED_RANK}, name)

def RaggedRange(starts: Operand, limits: Operand, deltas: Operand, *, Tsplits: DTypeLike = int64, name: str | None = None) -> tuple[Tensor, Tensor]:
    """starts:T limits:T deltas:T -> rt_nested_splits:Tsplits rt_dense_values:T"""
    return many("RaggedRange", (starts, limits, deltas,), {"Tsplits": Tsplits}, name)

def RaggedTensorFromVariant(encoded_ragged: Operand, *, input_ragged_rank: int, output_ragged_rank: int, Tvalues: DTypeLike, Tsplits: DTypeLike = int64, name: str | None = None) -> tuple[list[Tensor], Tensor]:
    """encoded_ragged:variant -> output_nested_splits:Tsplits*output_ragged_rank output_dense_values:Tvalues"""
    return many("RaggedTensorFromVariant", (encoded_ragged,), {"input_ragged_rank": input_ragged_rank, "output_ragged_rank": output_ragged_rank, "Tvalues": Tvalues, "Tsplits": Tsplits}, name)

def RaggedTensorToSparse(rt_nested_splits: Operands, rt_dense_values: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """rt_nested_splits:Tsplits*RAGGED_RANK rt_dense_values:T -> sparse_indices:int64 sparse_values:T sparse_dense_shape:int64"""
    return many("RaggedTensorToSparse", (rt_nested_splits, rt_dense_values,), {}, name)

def RaggedTensorToTensor(shape: Operand, values: Operand, default_value: Operand, row_partition_tensors: Operands, *, row_partition_types: Sequence[str | bytes], name: str | None = None) -> Tensor:
    """shape:Tshape values:T default_value:T row_partition_tensors:Tindex*num_row_partition_tensors -> result:T"""
    return one("RaggedTensorToTensor", (shape, values, default_value, row_partition_tensors,), {"row_partition_types": row_partition_types}, name)

def RaggedTensorToVariant(rt_nested_splits: Operands, rt_dense_values: Operand, *, batched_input: bool, name: str | None = None) -> Tensor:
    """rt_nested_splits:Tsplits*RAGGED_RANK rt_dense_values:Tvalues -> encoded_ragged:variant"""
    return one("RaggedTensorToVariant", (rt_nested_splits, rt_dense_values,), {"batched_input": batched_input}, name)

def RaggedTensorToVariantGradient(encoded_ragged_grad: Operand, row_splits: Operand, dense_values_shape: Operand, *, Tvalues: DTypeLike, name: str | None = None) -> Tensor:
    """encoded_ragged_grad:variant row_splits:Tsplits dense_values_shape:int32 -> dense_values_grad:Tvalues"""
    return one("RaggedTensorToVariantGradient", (encoded_ragged_grad, row_splits, dense_values_shape,), {"Tvalues": Tvalues}, name)

def RandomCrop(image: Operand, size: Operand, *, seed: int = 0, seed2: int = 0, name: str | None = None) -> Tensor:
    """image:T size:int64 -> output:T"""
    return one("RandomCrop", (image, size,), {"seed": seed, "seed2": seed2}, name)

def RandomDataset(seed: Operand, seed2: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """seed:int64 seed2:int64 -> handle:variant"""
    return one("RandomDataset", (seed, seed2,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def RandomDatasetV2(seed: Operand, seed2: Operand, seed_generator: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], rerandomize_each_iteration: bool = False, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """seed:int64 seed2:int64 seed_generator:resource -> handle:variant"""
    return one("RandomDatasetV2", (seed, seed2, seed_generator,), {"output_types": output_types, "output_shapes": output_shapes, "rerandomize_each_iteration": rerandomize_each_iteration, "metadata": metadata}, name)

def RandomGamma(shape: Operand, alpha: Operand, *, seed: int = 0, seed2: int = 0, name: str | None = None) -> Tensor:
    """shape:S alpha:T -> output:T"""
    return one("RandomGamma", (shape, alpha,), {"seed": seed, "seed2": seed2}, name)

def RandomGammaGrad(alpha: Operand, sample: Operand, *, name: str | None = None) -> Tensor:
    """alpha:T sample:T -> output:T"""
    return one("RandomGammaGrad", (alpha, sample,), {}, name)

def RandomPoisson(shape: Operand, rate: Operand, *, seed: int = 0, seed2: int = 0, name: str | None = None) -> Tensor:
    """shape:S rate:dtype -> output:dtype"""
    return one("RandomPoisson", (shape, rate,), {"seed": seed, "seed2": seed2}, name)

def RandomPoissonV2(shape: Operand, rate: Operand, *, seed: int = 0, seed2: int = 0, dtype: DTypeLike = int64, name: str | None = None) -> Tensor:
    """shape:S rate:R -> output:dtype"""
    return one("RandomPoissonV2", (shape, rate,), {"seed": seed, "seed2": seed2, "dtype": dtype}, name)

def RandomShuffle(value: Operand, *, seed: int = 0, seed2: int = 0, name: str | None = None) -> Tensor:
    """value:T -> output:T"""
    return one("RandomShuffle", (value,), {"seed": seed, "seed2": seed2}, name)

def RandomShuffleQueue(*, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), capacity: int = -1, min_after_dequeue: int = 0, seed: int = 0, seed2: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:string&"""
    return one("RandomShuffleQueue", (), {"component_types": component_types, "shapes": shapes, "capacity": capacity, "min_after_dequeue": min_after_dequeue, "seed": seed, "seed2": seed2, "container": container, "shared_name": shared_name}, name)

def RandomShuffleQueueV2(*, component_types: Sequence[DTypeLike], shapes: Sequence[ShapeLike] = (), capacity: int = -1, min_after_dequeue: int = 0, seed: int = 0, seed2: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("RandomShuffleQueueV2", (), {"component_types": component_types, "shapes": shapes, "capacity": capacity, "min_after_dequeue": min_after_dequeue, "seed": seed, "seed2": seed2, "container": container, "shared_name": shared_name}, name)

def RandomStandardNormal(shape: Operand, *, seed: int = 0, seed2: int = 0, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """shape:T -> output:dtype"""
    return one("RandomStandardNormal", (shape,), {"seed": seed, "seed2": seed2, "dtype": dtype}, name)

def RandomUniform(shape: Operand, *, seed: int = 0, seed2: int = 0, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """shape:T -> output:dtype"""
    return one("RandomUniform", (shape,), {"seed": seed, "seed2": seed2, "dtype": dtype}, name)

def RandomUniformInt(shape: Operand, minval: Operand, maxval: Operand, *, seed: int = 0, seed2: int = 0, name: str | None = None) -> Tensor:
    """shape:T minval:Tout maxval:Tout -> output:Tout"""
    return one("RandomUniformInt", (shape, minval, maxval,), {"seed": seed, "seed2": seed2}, name)

def Range(start: Operand, limit: Operand, delta: Operand, *, name: str | None = None) -> Tensor:
    """start:Tidx limit:Tidx delta:Tidx -> output:Tidx"""
    return one("Range", (start, limit, delta,), {}, name)

def RangeDataset(start: Operand, stop: Operand, step: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', replicate_on_split: bool = False, name: str | None = None) -> Tensor:
    """start:int64 stop:int64 step:int64 -> handle:variant"""
    return one("RangeDataset", (start, stop, step,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata, "replicate_on_split": replicate_on_split}, name)

def Rank(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:int32"""
    return one("Rank", (input,), {}, name)

def ReadFile(filename: Operand, *, name: str | None = None) -> Tensor:
    """filename:string -> contents:string"""
    return one("ReadFile", (filename,), {}, name)

def ReadVariableOp(resource: Operand, *, dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """resource:resource -> value:dtype"""
    return one("ReadVariableOp", (resource,), {"dtype": dtype, "shape": shape}, name)

def ReaderNumRecordsProduced(reader_handle: Operand, *, name: str | None = None) -> Tensor:
    """reader_handle:string& -> records_produced:int64"""
    return one("ReaderNumRecordsProduced", (reader_handle,), {}, name)

def ReaderNumRecordsProducedV2(reader_handle: Operand, *, name: str | None = None) -> Tensor:
    """reader_handle:resource -> records_produced:int64"""
    return one("ReaderNumRecordsProducedV2", (reader_handle,), {}, name)

def ReaderNumWorkUnitsCompleted(reader_handle: Operand, *, name: str | None = None) -> Tensor:
    """reader_handle:string& -> units_completed:int64"""
    return one("ReaderNumWorkUnitsCompleted", (reader_handle,), {}, name)

def ReaderNumWorkUnitsCompletedV2(reader_handle: Operand, *, name: str | None = None) -> Tensor:
    """reader_handle:resource -> units_completed:int64"""
    return one("ReaderNumWorkUnitsCompletedV2", (reader_handle,), {}, name)

def ReaderRead(reader_handle: Operand, queue_handle: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """reader_handle:string& queue_handle:string& -> key:string value:string"""
    return many("ReaderRead", (reader_handle, queue_handle,), {}, name)

def ReaderReadUpTo(reader_handle: Operand, queue_handle: Operand, num_records: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """reader_handle:string& queue_handle:string& num_records:int64 -> keys:string values:string"""
    return many("ReaderReadUpTo", (reader_handle, queue_handle, num_records,), {}, name)

def ReaderReadUpToV2(reader_handle: Operand, queue_handle: Operand, num_records: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """reader_handle:resource queue_handle:resource num_records:int64 -> keys:string values:string"""
    return many("ReaderReadUpToV2", (reader_handle, queue_handle, num_records,), {}, name)

def ReaderReadV2(reader_handle: Operand, queue_handle: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """reader_handle:resource queue_handle:resource -> key:string value:string"""
    return many("ReaderReadV2", (reader_handle, queue_handle,), {}, name)

def ReaderReset(reader_handle: Operand, *, name: str | None = None) -> Operation:
    """reader_handle:string& ->"""
    return node("ReaderReset", (reader_handle,), {}, name)

def ReaderResetV2(reader_handle: Operand, *, name: str | None = None) -> Operation:
    """reader_handle:resource ->"""
    return node("ReaderResetV2", (reader_handle,), {}, name)

def ReaderRestoreState(reader_handle: Operand, state: Operand, *, name: str | None = None) -> Operation:
    """reader_handle:string& state:string ->"""
    return node("ReaderRestoreState", (reader_handle, state,), {}, name)

def ReaderRestoreStateV2(reader_handle: Operand, state: Operand, *, name: str | None = None) -> Operation:
    """reader_handle:resource state:string ->"""
    return node("ReaderRestoreStateV2", (reader_handle, state,), {}, name)

def ReaderSerializeState(reader_handle: Operand, *, name: str | None = None) -> Tensor:
    """reader_handle:string& -> state:string"""
    return one("ReaderSerializeState", (reader_handle,), {}, name)

def ReaderSerializeStateV2(reader_handle: Operand, *, name: str | None = None) -> Tensor:
    """reader_handle:resource -> state:string"""
    return one("ReaderSerializeStateV2", (reader_handle,), {}, name)

def Real(input: Operand, *, Tout: DTypeLike = float32, name: str | None = None) -> Tensor:
    """input:T -> output:Tout"""
    return one("Real", (input,), {"Tout": Tout}, name)

def RealDiv(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("RealDiv", (x, y,), {}, name)

def Reciprocal(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Reciprocal", (x,), {}, name)

def ReciprocalGrad(y: Operand, dy: Operand, *, name: str | None = None) -> Tensor:
    """y:T dy:T -> z:T"""
    return one("ReciprocalGrad", (y, dy,), {}, name)

def ReduceDataset(input_dataset: Operand, initial_state: Operands, other_arguments: Operands, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], Tstate: Sequence[DTypeLike] | None = None, Targuments: Sequence[DTypeLike] | None = None, use_inter_op_parallelism: bool = True, metadata: str | bytes = '', name: str | None = None) -> list[Tensor]:
    """input_dataset:variant initial_state:[Tstate] other_arguments:[Targuments] -> components:[output_types]"""
    return many("ReduceDataset", (input_dataset, initial_state, other_arguments,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "Tstate": Tstate, "Targuments": Targuments, "use_inter_op_parallelism": use_inter_op_parallelism, "metadata": metadata}, name)

def ReduceJoin(inputs: Operand, reduction_indices: Operand, *, keep_dims: bool = False, separator: str | bytes = '', name: str | None = None) -> Tensor:
    """inputs:string reduction_indices:int32 -> output:string"""
    return one("ReduceJoin", (inputs, reduction_indices,), {"keep_dims": keep_dims, "separator": separator}, name)

def ReducedShape(input_shape: Operand, reduction_indices: Operand, *, name: str | None = None) -> Tensor:
    """input_shape:T reduction_indices:Tidx -> output_shape:T"""
    return one("ReducedShape", (input_shape, reduction_indices,), {}, name)

def RefEnter(data: Operand, *, frame_name: str | bytes, is_constant: bool = False, parallel_iterations: int = 10, name: str | None = None) -> Tensor:
    """data:T& -> output:T&"""
    return one("RefEnter", (data,), {"frame_name": frame_name, "is_constant": is_constant, "parallel_iterations": parallel_iterations}, name)

def RefExit(data: Operand, *, name: str | None = None) -> Tensor:
    """data:T& -> output:T&"""
    return one("RefExit", (data,), {}, name)

def RefIdentity(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T& -> output:T&"""
    return one("RefIdentity", (input,), {}, name)

def RefMerge(inputs: Operands, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """inputs:T*N& -> output:T& value_index:int32"""
    return many("RefMerge", (inputs,), {}, name)

def RefNextIteration(data: Operand, *, name: str | None = None) -> Tensor:
    """data:T& -> output:T&"""
    return one("RefNextIteration", (data,), {}, name)

def RefSelect(index: Operand, inputs: Operands, *, name: str | None = None) -> Tensor:
    """index:int32 inputs:T*N& -> output:T&"""
    return one("RefSelect", (index, inputs,), {}, name)

def RefSwitch(data: Operand, pred: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """data:T& pred:bool -> output_false:T& output_true:T&"""
    return many("RefSwitch", (data, pred,), {}, name)

def ReferenceHandle(ref: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """ref:dtype& -> handle:resource"""
    return one("ReferenceHandle", (ref,), {"dtype": dtype, "shape": shape}, name)

def RegexFullMatch(input: Operand, pattern: Operand, *, name: str | None = None) -> Tensor:
    """input:string pattern:string -> output:bool"""
    return one("RegexFullMatch", (input, pattern,), {}, name)

def RegexReplace(input: Operand, pattern: Operand, rewrite: Operand, *, replace_global: bool = True, name: str | None = None) -> Tensor:
    """input:string pattern:string rewrite:string -> output:string"""
    return one("RegexReplace", (input, pattern, rewrite,), {"replace_global": replace_global}, name)

def Relu(features: Operand, *, name: str | None = None) -> Tensor:
    """features:T -> activations:T"""
    return one("Relu", (features,), {}, name)

def Relu6(features: Operand, *, name: str | None = None) -> Tensor:
    """features:T -> activations:T"""
    return one("Relu6", (features,), {}, name)

def Relu6Grad(gradients: Operand, features: Operand, *, name: str | None = None) -> Tensor:
    """gradients:T features:T -> backprops:T"""
    return one("Relu6Grad", (gradients, features,), {}, name)

def ReluGrad(gradients: Operand, features: Operand, *, name: str | None = None) -> Tensor:
    """gradients:T features:T -> backprops:T"""
    return one("ReluGrad", (gradients, features,), {}, name)

def RemoteCall(target: Operand, args: Operands, *, f: Value, name: str | None = None) -> list[Tensor]:
    """target:string args:[Tin] -> output:[Tout]"""
    return many("RemoteCall", (target, args,), {"f": f}, name)

def RepeatDataset(input_dataset: Operand, count: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant count:int64 -> handle:variant"""
    return one("RepeatDataset", (input_dataset, count,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def RequantizationRange(input: Operand, input_min: Operand, input_max: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:Tinput input_min:float input_max:float -> output_min:float output_max:float"""
    return many("RequantizationRange", (input, input_min, input_max,), {}, name)

def Requantize(input: Operand, input_min: Operand, input_max: Operand, requested_output_min: Operand, requested_output_max: Operand, *, out_type: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:Tinput input_min:float input_max:float requested_output_min:float requested_output_max:float -> output:out_type output_min:float output_max:float"""
    return many("Requantize", (input, input_min, input_max, requested_output_min, requested_output_max,), {"out_type": out_type}, name)

def Reshape(tensor: Operand, shape: Operand, *, name: str | None = None) -> Tensor:
    """tensor:T shape:Tshape -> output:T"""
    return one("Reshape", (tensor, shape,), {}, name)

def ResizeArea(images: Operand, size: Operand, *, align_corners: bool = False, name: str | None = None) -> Tensor:
    """images:T size:int32 -> resized_images:float"""
    return one("ResizeArea", (images, size,), {"align_corners": align_corners}, name)

def ResizeBicubic(images: Operand, size: Operand, *, align_corners: bool = False, half_pixel_centers: bool = False, name: str | None = None) -> Tensor:
    """images:T size:int32 -> resized_images:float"""
    return one("ResizeBicubic", (images, size,), {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}, name)

def ResizeBicubicGrad(grads: Operand, original_image: Operand, *, align_corners: bool = False, half_pixel_centers: bool = False, name: str | None = None) -> Tensor:
    """grads:float original_image:T -> output:T"""
    return one("ResizeBicubicGrad", (grads, original_image,), {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}, name)

def ResizeBilinear(images: Operand, size: Operand, *, align_corners: bool = False, half_pixel_centers: bool = False, name: str | None = None) -> Tensor:
    """images:T size:int32 -> resized_images:float"""
    return one("ResizeBilinear", (images, size,), {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}, name)

def ResizeBilinearGrad(grads: Operand, original_image: Operand, *, align_corners: bool = False, half_pixel_centers: bool = False, name: str | None = None) -> Tensor:
    """grads:float original_image:T -> output:T"""
    return one("ResizeBilinearGrad", (grads, original_image,), {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}, name)

def ResizeNearestNeighbor(images: Operand, size: Operand, *, align_corners: bool = False, half_pixel_centers: bool = False, name: str | None = None) -> Tensor:
    """images:T size:int32 -> resized_images:T"""
    return one("ResizeNearestNeighbor", (images, size,), {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}, name)

def ResizeNearestNeighborGrad(grads: Operand, size: Operand, *, align_corners: bool = False, half_pixel_centers: bool = False, name: str | None = None) -> Tensor:
    """grads:T size:int32 -> output:T"""
    return one("ResizeNearestNeighborGrad", (grads, size,), {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}, name)

def ResourceAccumulatorApplyGradient(handle: Operand, local_step: Operand, gradient: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None) -> Operation:
    """handle:resource local_step:int64 gradient:dtype ->"""
    return node("ResourceAccumulatorApplyGradient", (handle, local_step, gradient,), {"dtype": dtype, "shape": shape}, name)

def ResourceAccumulatorNumAccumulated(handle: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """handle:resource -> num_accumulated:int32"""
    return one("ResourceAccumulatorNumAccumulated", (handle,), {"dtype": dtype, "shape": shape}, name)

def ResourceAccumulatorSetGlobalStep(handle: Operand, new_global_step: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None) -> Operation:
    """handle:resource new_global_step:int64 ->"""
    return node("ResourceAccumulatorSetGlobalStep", (handle, new_global_step,), {"dtype": dtype, "shape": shape}, name)

def ResourceAccumulatorTakeGradient(handle: Operand, num_required: Operand, *, dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None) -> Tensor:
    """handle:resource num_required:int32 -> average:dtype"""
    return one("ResourceAccumulatorTakeGradient", (handle, num_required,), {"dtype": dtype, "shape": shape}, name)

def ResourceApplyAdaMax(var: Operand, m: Operand, v: Operand, beta1_power: Operand, lr: Operand, beta1: Operand, beta2: Operand, epsilon: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource m:resource v:resource beta1_power:T lr:T beta1:T beta2:T epsilon:T grad:T ->"""
    return node("ResourceApplyAdaMax", (var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyAdadelta(var: Operand, accum: Operand, accum_update: Operand, lr: Operand, rho: Operand, epsilon: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource accum_update:resource lr:T rho:T epsilon:T grad:T ->"""
    return node("ResourceApplyAdadelta", (var, accum, accum_update, lr, rho, epsilon, grad,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyAdagrad(var: Operand, accum: Operand, lr: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, update_slots: bool = True, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T grad:T ->"""
    return node("ResourceApplyAdagrad", (var, accum, lr, grad,), {"dtype": dtype, "use_locking": use_locking, "update_slots": update_slots, "shape": shape}, name)

def ResourceApplyAdagradDA(var: Operand, gradient_accumulator: Operand, gradient_squared_accumulator: Operand, grad: Operand, lr: Operand, l1: Operand, l2: Operand, global_step: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource gradient_accumulator:resource gradient_squared_accumulator:resource grad:T lr:T l1:T l2:T global_step:int64 ->"""
    return node("ResourceApplyAdagradDA", (var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyAdagradV2(var: Operand, accum: Operand, lr: Operand, epsilon: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, update_slots: bool = True, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T epsilon:T grad:T ->"""
    return node("ResourceApplyAdagradV2", (var, accum, lr, epsilon, grad,), {"dtype": dtype, "use_locking": use_locking, "update_slots": update_slots, "shape": shape}, name)

def ResourceApplyAdam(var: Operand, m: Operand, v: Operand, beta1_power: Operand, beta2_power: Operand, lr: Operand, beta1: Operand, beta2: Operand, epsilon: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, use_nesterov: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource m:resource v:resource beta1_power:T beta2_power:T lr:T beta1:T beta2:T epsilon:T grad:T ->"""
    return node("ResourceApplyAdam", (var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad,), {"dtype": dtype, "use_locking": use_locking, "use_nesterov": use_nesterov, "shape": shape}, name)

def ResourceApplyAdamWithAmsgrad(var: Operand, m: Operand, v: Operand, vhat: Operand, beta1_power: Operand, beta2_power: Operand, lr: Operand, beta1: Operand, beta2: Operand, epsilon: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource m:resource v:resource vhat:resource beta1_power:T beta2_power:T lr:T beta1:T beta2:T epsilon:T grad:T ->"""
    return node("ResourceApplyAdamWithAmsgrad", (var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyAddSign(var: Operand, m: Operand, lr: Operand, alpha: Operand, sign_decay: Operand, beta: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource m:resource lr:T alpha:T sign_decay:T beta:T grad:T ->"""
    return node("ResourceApplyAddSign", (var, m, lr, alpha, sign_decay, beta, grad,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyCenteredRMSProp(var: Operand, mg: Operand, ms: Operand, mom: Operand, lr: Operand, rho: Operand, momentum: Operand, epsilon: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource mg:resource ms:resource mom:resource lr:T rho:T momentum:T epsilon:T grad:T ->"""
    return node("ResourceApplyCenteredRMSProp", (var, mg, ms, mom, lr, rho, momentum, epsilon, grad,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyFtrl(var: Operand, accum: Operand, linear: Operand, grad: Operand, lr: Operand, l1: Operand, l2: Operand, lr_power: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, multiply_linear_by_lr: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource linear:resource grad:T lr:T l1:T l2:T lr_power:T ->"""
    return node("ResourceApplyFtrl", (var, accum, linear, grad, lr, l1, l2, lr_power,), {"dtype": dtype, "use_locking": use_locking, "multiply_linear_by_lr": multiply_linear_by_lr, "shape": shape}, name)

def ResourceApplyFtrlV2(var: Operand, accum: Operand, linear: Operand, grad: Operand, lr: Operand, l1: Operand, l2: Operand, l2_shrinkage: Operand, lr_power: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, multiply_linear_by_lr: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource linear:resource grad:T lr:T l1:T l2:T l2_shrinkage:T lr_power:T ->"""
    return node("ResourceApplyFtrlV2", (var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power,), {"dtype": dtype, "use_locking": use_locking, "multiply_linear_by_lr": multiply_linear_by_lr, "shape": shape}, name)

def ResourceApplyGradientDescent(var: Operand, alpha: Operand, delta: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource alpha:T delta:T ->"""
    return node("ResourceApplyGradientDescent", (var, alpha, delta,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyKerasMomentum(var: Operand, accum: Operand, lr: Operand, grad: Operand, momentum: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, use_nesterov: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T grad:T momentum:T ->"""
    return node("ResourceApplyKerasMomentum", (var, accum, lr, grad, momentum,), {"dtype": dtype, "use_locking": use_locking, "use_nesterov": use_nesterov, "shape": shape}, name)

def ResourceApplyMomentum(var: Operand, accum: Operand, lr: Operand, grad: Operand, momentum: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, use_nesterov: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T grad:T momentum:T ->"""
    return node("ResourceApplyMomentum", (var, accum, lr, grad, momentum,), {"dtype": dtype, "use_locking": use_locking, "use_nesterov": use_nesterov, "shape": shape}, name)

def ResourceApplyPowerSign(var: Operand, m: Operand, lr: Operand, logbase: Operand, sign_decay: Operand, beta: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource m:resource lr:T logbase:T sign_decay:T beta:T grad:T ->"""
    return node("ResourceApplyPowerSign", (var, m, lr, logbase, sign_decay, beta, grad,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyProximalAdagrad(var: Operand, accum: Operand, lr: Operand, l1: Operand, l2: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T l1:T l2:T grad:T ->"""
    return node("ResourceApplyProximalAdagrad", (var, accum, lr, l1, l2, grad,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyProximalGradientDescent(var: Operand, alpha: Operand, l1: Operand, l2: Operand, delta: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource alpha:T l1:T l2:T delta:T ->"""
    return node("ResourceApplyProximalGradientDescent", (var, alpha, l1, l2, delta,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceApplyRMSProp(var: Operand, ms: Operand, mom: Operand, lr: Operand, rho: Operand, momentum: Operand, epsilon: Operand, grad: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource ms:resource mom:resource lr:T rho:T momentum:T epsilon:T grad:T ->"""
    return node("ResourceApplyRMSProp", (var, ms, mom, lr, rho, momentum, epsilon, grad,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceConditionalAccumulator(*, dtype: DTypeLike, shape: ShapeLike | None = None, container: str | bytes = '', shared_name: str | bytes = '', reduction_type: str | bytes = 'MEAN', name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("ResourceConditionalAccumulator", (), {"dtype": dtype, "shape": shape, "container": container, "shared_name": shared_name, "reduction_type": reduction_type}, name)

def ResourceCountUpTo(resource: Operand, *, limit: int, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """resource:resource -> output:T"""
    return one("ResourceCountUpTo", (resource,), {"limit": limit, "dtype": dtype, "shape": shape}, name)

def ResourceGather(resource: Operand, indices: Operand, *, dtype: DTypeLike, batch_dims: int = 0, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """resource:resource indices:Tindices -> output:dtype"""
    return one("ResourceGather", (resource, indices,), {"dtype": dtype, "batch_dims": batch_dims, "shape": shape}, name)

def ResourceGatherNd(resource: Operand, indices: Operand, *, dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """resource:resource indices:Tindices -> output:dtype"""
    return one("ResourceGatherNd", (resource, indices,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterAdd(resource: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource indices:Tindices updates:dtype ->"""
    return node("ResourceScatterAdd", (resource, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterDiv(resource: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource indices:Tindices updates:dtype ->"""
    return node("ResourceScatterDiv", (resource, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterMax(resource: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource indices:Tindices updates:dtype ->"""
    return node("ResourceScatterMax", (resource, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterMin(resource: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource indices:Tindices updates:dtype ->"""
    return node("ResourceScatterMin", (resource, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterMul(resource: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource indices:Tindices updates:dtype ->"""
    return node("ResourceScatterMul", (resource, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterNdAdd(ref: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """ref:resource indices:Tindices updates:T ->"""
    return node("ResourceScatterNdAdd", (ref, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterNdMax(ref: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """ref:resource indices:Tindices updates:T ->"""
    return node("ResourceScatterNdMax", (ref, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterNdMin(ref: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """ref:resource indices:Tindices updates:T ->"""
    return node("ResourceScatterNdMin", (ref, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterNdSub(ref: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """ref:resource indices:Tindices updates:T ->"""
    return node("ResourceScatterNdSub", (ref, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterNdUpdate(ref: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """ref:resource indices:Tindices updates:T ->"""
    return node("ResourceScatterNdUpdate", (ref, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterSub(resource: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource indices:Tindices updates:dtype ->"""
    return node("ResourceScatterSub", (resource, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceScatterUpdate(resource: Operand, indices: Operand, updates: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """resource:resource indices:Tindices updates:dtype ->"""
    return node("ResourceScatterUpdate", (resource, indices, updates,), {"dtype": dtype, "shape": shape}, name)

def ResourceSparseApplyAdadelta(var: Operand, accum: Operand, accum_update: Operand, lr: Operand, rho: Operand, epsilon: Operand, grad: Operand, indices: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource accum_update:resource lr:T rho:T epsilon:T grad:T indices:Tindices ->"""
    return node("ResourceSparseApplyAdadelta", (var, accum, accum_update, lr, rho, epsilon, grad, indices,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceSparseApplyAdagrad(var: Operand, accum: Operand, lr: Operand, grad: Operand, indices: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, update_slots: bool = True, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T grad:T indices:Tindices ->"""
    return node("ResourceSparseApplyAdagrad", (var, accum, lr, grad, indices,), {"dtype": dtype, "use_locking": use_locking, "update_slots": update_slots, "shape": shape}, name)

def ResourceSparseApplyAdagradDA(var: Operand, gradient_accumulator: Operand, gradient_squared_accumulator: Operand, grad: Operand, indices: Operand, lr: Operand, l1: Operand, l2: Operand, global_step: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource gradient_accumulator:resource gradient_squared_accumulator:resource grad:T indices:Tindices lr:T l1:T l2:T global_step:int64 ->"""
    return node("ResourceSparseApplyAdagradDA", (var, gradient_accumulator, gradient_squared_accumulator, grad, indices, lr, l1, l2, global_step,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceSparseApplyAdagradV2(var: Operand, accum: Operand, lr: Operand, epsilon: Operand, grad: Operand, indices: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, update_slots: bool = True, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T epsilon:T grad:T indices:Tindices ->"""
    return node("ResourceSparseApplyAdagradV2", (var, accum, lr, epsilon, grad, indices,), {"dtype": dtype, "use_locking": use_locking, "update_slots": update_slots, "shape": shape}, name)

def ResourceSparseApplyCenteredRMSProp(var: Operand, mg: Operand, ms: Operand, mom: Operand, lr: Operand, rho: Operand, momentum: Operand, epsilon: Operand, grad: Operand, indices: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource mg:resource ms:resource mom:resource lr:T rho:T momentum:T epsilon:T grad:T indices:Tindices ->"""
    return node("ResourceSparseApplyCenteredRMSProp", (var, mg, ms, mom, lr, rho, momentum, epsilon, grad, indices,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceSparseApplyFtrl(var: Operand, accum: Operand, linear: Operand, grad: Operand, indices: Operand, lr: Operand, l1: Operand, l2: Operand, lr_power: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, multiply_linear_by_lr: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource linear:resource grad:T indices:Tindices lr:T l1:T l2:T lr_power:T ->"""
    return node("ResourceSparseApplyFtrl", (var, accum, linear, grad, indices, lr, l1, l2, lr_power,), {"dtype": dtype, "use_locking": use_locking, "multiply_linear_by_lr": multiply_linear_by_lr, "shape": shape}, name)

def ResourceSparseApplyFtrlV2(var: Operand, accum: Operand, linear: Operand, grad: Operand, indices: Operand, lr: Operand, l1: Operand, l2: Operand, l2_shrinkage: Operand, lr_power: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, multiply_linear_by_lr: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource linear:resource grad:T indices:Tindices lr:T l1:T l2:T l2_shrinkage:T lr_power:T ->"""
    return node("ResourceSparseApplyFtrlV2", (var, accum, linear, grad, indices, lr, l1, l2, l2_shrinkage, lr_power,), {"dtype": dtype, "use_locking": use_locking, "multiply_linear_by_lr": multiply_linear_by_lr, "shape": shape}, name)

def ResourceSparseApplyKerasMomentum(var: Operand, accum: Operand, lr: Operand, grad: Operand, indices: Operand, momentum: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, use_nesterov: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T grad:T indices:Tindices momentum:T ->"""
    return node("ResourceSparseApplyKerasMomentum", (var, accum, lr, grad, indices, momentum,), {"dtype": dtype, "use_locking": use_locking, "use_nesterov": use_nesterov, "shape": shape}, name)

def ResourceSparseApplyMomentum(var: Operand, accum: Operand, lr: Operand, grad: Operand, indices: Operand, momentum: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, use_nesterov: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T grad:T indices:Tindices momentum:T ->"""
    return node("ResourceSparseApplyMomentum", (var, accum, lr, grad, indices, momentum,), {"dtype": dtype, "use_locking": use_locking, "use_nesterov": use_nesterov, "shape": shape}, name)

def ResourceSparseApplyProximalAdagrad(var: Operand, accum: Operand, lr: Operand, l1: Operand, l2: Operand, grad: Operand, indices: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource accum:resource lr:T l1:T l2:T grad:T indices:Tindices ->"""
    return node("ResourceSparseApplyProximalAdagrad", (var, accum, lr, l1, l2, grad, indices,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceSparseApplyProximalGradientDescent(var: Operand, alpha: Operand, l1: Operand, l2: Operand, grad: Operand, indices: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource alpha:T l1:T l2:T grad:T indices:Tindices ->"""
    return node("ResourceSparseApplyProximalGradientDescent", (var, alpha, l1, l2, grad, indices,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceSparseApplyRMSProp(var: Operand, ms: Operand, mom: Operand, lr: Operand, rho: Operand, momentum: Operand, epsilon: Operand, grad: Operand, indices: Operand, *, dtype: DTypeLike | None = None, use_locking: bool = False, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """var:resource ms:resource mom:resource lr:T rho:T momentum:T epsilon:T grad:T indices:Tindices ->"""
    return node("ResourceSparseApplyRMSProp", (var, ms, mom, lr, rho, momentum, epsilon, grad, indices,), {"dtype": dtype, "use_locking": use_locking, "shape": shape}, name)

def ResourceStridedSliceAssign(ref: Operand, begin: Operand, end: Operand, strides: Operand, value: Operand, *, dtype: DTypeLike | None = None, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, shape: ShapeLike = None, name: str | None = None) -> Operation:
    """ref:resource begin:Index end:Index strides:Index value:T ->"""
    return node("ResourceStridedSliceAssign", (ref, begin, end, strides, value,), {"dtype": dtype, "begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask, "shape": shape}, name)

def Restore(file_pattern: Operand, tensor_name: Operand, *, dt: DTypeLike, preferred_shard: int = -1, name: str | None = None) -> Tensor:
    """file_pattern:string tensor_name:string -> tensor:dt"""
    return one("Restore", (file_pattern, tensor_name,), {"dt": dt, "preferred_shard": preferred_shard}, name)

def RestoreSlice(file_pattern: Operand, tensor_name: Operand, shape_and_slice: Operand, *, dt: DTypeLike, preferred_shard: int = -1, name: str | None = None) -> Tensor:
    """file_pattern:string tensor_name:string shape_and_slice:string -> tensor:dt"""
    return one("RestoreSlice", (file_pattern, tensor_name, shape_and_slice,), {"dt": dt, "preferred_shard": preferred_shard}, name)

def RestoreV2(prefix: Operand, tensor_names: Operand, shape_and_slices: Operand, *, dtypes: Sequence[DTypeLike], name: str | None = None) -> list[Tensor]:
    """prefix:string tensor_names:string shape_and_slices:string -> tensors:[dtypes]"""
    return many("RestoreV2", (prefix, tensor_names, shape_and_slices,), {"dtypes": dtypes}, name)

def Reverse(tensor: Operand, dims: Operand, *, name: str | None = None) -> Tensor:
    """tensor:T dims:bool -> output:T"""
    return one("Reverse", (tensor, dims,), {}, name)

def ReverseSequence(input: Operand, seq_lengths: Operand, *, seq_dim: int, batch_dim: int = 0, name: str | None = None) -> Tensor:
    """input:T seq_lengths:Tlen -> output:T"""
    return one("ReverseSequence", (input, seq_lengths,), {"seq_dim": seq_dim, "batch_dim": batch_dim}, name)

def ReverseV2(tensor: Operand, axis: Operand, *, name: str | None = None) -> Tensor:
    """tensor:T axis:Tidx -> output:T"""
    return one("ReverseV2", (tensor, axis,), {}, name)

def RewriteDataset(input_dataset: Operand, rewrite_name: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], name: str | None = None) -> Tensor:
    """input_dataset:variant rewrite_name:string -> handle:variant"""
    return one("RewriteDataset", (input_dataset, rewrite_name,), {"output_types": output_types, "output_shapes": output_shapes}, name)

def RightShift(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("RightShift", (x, y,), {}, name)

def Rint(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Rint", (x,), {}, name)

def RngReadAndSkip(resource: Operand, alg: Operand, delta: Operand, *, name: str | None = None) -> Tensor:
    """resource:resource alg:int32 delta:uint64 -> value:int64"""
    return one("RngReadAndSkip", (resource, alg, delta,), {}, name)

def RngSkip(resource: Operand, algorithm: Operand, delta: Operand, *, name: str | None = None) -> Operation:
    """resource:resource algorithm:int64 delta:int64 ->"""
    return node("RngSkip", (resource, algorithm, delta,), {}, name)

def Roll(input: Operand, shift: Operand, axis: Operand, *, name: str | None = None) -> Tensor:
    """input:T shift:Tshift axis:Taxis -> output:T"""
    return one("Roll", (input, shift, axis,), {}, name)

def Round(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Round", (x,), {}, name)

def Rsqrt(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Rsqrt", (x,), {}, name)

def RsqrtGrad(y: Operand, dy: Operand, *, name: str | None = None) -> Tensor:
    """y:T dy:T -> z:T"""
    return one("RsqrtGrad", (y, dy,), {}, name)

def SampleDistortedBoundingBox(image_size: Operand, bounding_boxes: Operand, *, seed: int = 0, seed2: int = 0, min_object_covered: float = 0.1, aspect_ratio_range: Sequence[float] = (0.75, 1.33), area_range: Sequence[float] = (0.05, 1.0), max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """image_size:T bounding_boxes:float -> begin:T size:T bboxes:float"""
    return many("SampleDistortedBoundingBox", (image_size, bounding_boxes,), {"seed": seed, "seed2": seed2, "min_object_covered": min_object_covered, "aspect_ratio_range": aspect_ratio_range, "area_range": area_range, "max_attempts": max_attempts, "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes}, name)

def SampleDistortedBoundingBoxV2(image_size: Operand, bounding_boxes: Operand, min_object_covered: Operand, *, seed: int = 0, seed2: int = 0, aspect_ratio_range: Sequence[float] = (0.75, 1.33), area_range: Sequence[float] = (0.05, 1.0), max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """image_size:T bounding_boxes:float min_object_covered:float -> begin:T size:T bboxes:float"""
    return many("SampleDistortedBoundingBoxV2", (image_size, bounding_boxes, min_object_covered,), {"seed": seed, "seed2": seed2, "aspect_ratio_range": aspect_ratio_range, "area_range": area_range, "max_attempts": max_attempts, "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes}, name)

def Save(filename: Operand, tensor_names: Operand, data: Operands, *, name: str | None = None) -> Operation:
    """filename:string tensor_names:string data:[T] ->"""
    return node("Save", (filename, tensor_names, data,), {}, name)

def SaveSlices(filename: Operand, tensor_names: Operand, shapes_and_slices: Operand, data: Operands, *, name: str | None = None) -> Operation:
    """filename:string tensor_names:string shapes_and_slices:string data:[T] ->"""
    return node("SaveSlices", (filename, tensor_names, shapes_and_slices, data,), {}, name)

def SaveV2(prefix: Operand, tensor_names: Operand, shape_and_slices: Operand, tensors: Operands, *, dtypes: Sequence[DTypeLike] | None = None, bundle: bool | None = None, name: str | None = None) -> Operation:
    """prefix:string tensor_names:string shape_and_slices:string tensors:[dtypes] ->"""
    return node("SaveV2", (prefix, tensor_names, shape_and_slices, tensors,), {"dtypes": dtypes, "bundle": bundle}, name)

def ScalarSummary(tags: Operand, values: Operand, *, name: str | None = None) -> Tensor:
    """tags:string values:T -> summary:string"""
    return one("ScalarSummary", (tags, values,), {}, name)

def ScaleAndTranslate(images: Operand, size: Operand, scale: Operand, translation: Operand, *, kernel_type: str | bytes = 'lanczos3', antialias: bool = True, name: str | None = None) -> Tensor:
    """images:T size:int32 scale:float translation:float -> resized_images:float"""
    return one("ScaleAndTranslate", (images, size, scale, translation,), {"kernel_type": kernel_type, "antialias": antialias}, name)

def ScaleAndTranslateGrad(grads: Operand, original_image: Operand, scale: Operand, translation: Operand, *, kernel_type: str | bytes = 'lanczos3', antialias: bool = True, name: str | None = None) -> Tensor:
    """grads:T original_image:T scale:float translation:float -> output:T"""
    return one("ScaleAndTranslateGrad", (grads, original_image, scale, translation,), {"kernel_type": kernel_type, "antialias": antialias}, name)

def ScanDataset(input_dataset: Operand, initial_state: Operands, other_arguments: Operands, *, f: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], Tstate: Sequence[DTypeLike] | None = None, Targuments: Sequence[DTypeLike] | None = None, preserve_cardinality: bool = False, use_default_device: bool = True, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant initial_state:[Tstate] other_arguments:[Targuments] -> handle:variant"""
    return one("ScanDataset", (input_dataset, initial_state, other_arguments,), {"f": f, "output_types": output_types, "output_shapes": output_shapes, "Tstate": Tstate, "Targuments": Targuments, "preserve_cardinality": preserve_cardinality, "use_default_device": use_default_device, "metadata": metadata}, name)

def ScatterAdd(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterAdd", (ref, indices, updates,), {"use_locking": use_locking}, name)

def ScatterDiv(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterDiv", (ref, indices, updates,), {"use_locking": use_locking}, name)

def ScatterMax(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterMax", (ref, indices, updates,), {"use_locking": use_locking}, name)

def ScatterMin(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterMin", (ref, indices, updates,), {"use_locking": use_locking}, name)

def ScatterMul(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterMul", (ref, indices, updates,), {"use_locking": use_locking}, name)

def ScatterNd(indices: Operand, updates: Operand, shape: Operand, *, name: str | None = None) -> Tensor:
    """indices:Tindices updates:T shape:Tindices -> output:T"""
    return one("ScatterNd", (indices, updates, shape,), {}, name)

def ScatterNdAdd(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterNdAdd", (ref, indices, updates,), {"use_locking": use_locking, "bad_indices_policy": bad_indices_policy}, name)

def ScatterNdMax(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterNdMax", (ref, indices, updates,), {"use_locking": use_locking, "bad_indices_policy": bad_indices_policy}, name)

def ScatterNdMin(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterNdMin", (ref, indices, updates,), {"use_locking": use_locking, "bad_indices_policy": bad_indices_policy}, name)

def ScatterNdNonAliasingAdd(input: Operand, indices: Operand, updates: Operand, *, name: str | None = None) -> Tensor:
    """input:T indices:Tindices updates:T -> output:T"""
    return one("ScatterNdNonAliasingAdd", (input, indices, updates,), {}, name)

def ScatterNdSub(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterNdSub", (ref, indices, updates,), {"use_locking": use_locking, "bad_indices_policy": bad_indices_policy}, name)

def ScatterNdUpdate(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = True, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterNdUpdate", (ref, indices, updates,), {"use_locking": use_locking, "bad_indices_policy": bad_indices_policy}, name)

def ScatterSub(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterSub", (ref, indices, updates,), {"use_locking": use_locking}, name)

def ScatterUpdate(ref: Operand, indices: Operand, updates: Operand, *, use_locking: bool = True, name: str | None = None) -> Tensor:
    """ref:T& indices:Tindices updates:T -> output_ref:T&"""
    return one("ScatterUpdate", (ref, indices, updates,), {"use_locking": use_locking}, name)

def SegmentMax(data: Operand, segment_ids: Operand, *, name: str | None = None) -> Tensor:
    """data:T segment_ids:Tindices -> output:T"""
    return one("SegmentMax", (data, segment_ids,), {}, name)

def SegmentMean(data: Operand, segment_ids: Operand, *, name: str | None = None) -> Tensor:
    """data:T segment_ids:Tindices -> output:T"""
    return one("SegmentMean", (data, segment_ids,), {}, name)

def SegmentMin(data: Operand, segment_ids: Operand, *, name: str | None = None) -> Tensor:
    """data:T segment_ids:Tindices -> output:T"""
    return one("SegmentMin", (data, segment_ids,), {}, name)

def SegmentProd(data: Operand, segment_ids: Operand, *, name: str | None = None) -> Tensor:
    """data:T segment_ids:Tindices -> output:T"""
    return one("SegmentProd", (data, segment_ids,), {}, name)

def SegmentSum(data: Operand, segment_ids: Operand, *, name: str | None = None) -> Tensor:
    """data:T segment_ids:Tindices -> output:T"""
    return one("SegmentSum", (data, segment_ids,), {}, name)

def Select(condition: Operand, t: Operand, e: Operand, *, name: str | None = None) -> Tensor:
    """condition:bool t:T e:T -> output:T"""
    return one("Select", (condition, t, e,), {}, name)

def SelectV2(condition: Operand, t: Operand, e: Operand, *, name: str | None = None) -> Tensor:
    """condition:bool t:T e:T -> output:T"""
    return one("SelectV2", (condition, t, e,), {}, name)

def SelfAdjointEig(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("SelfAdjointEig", (input,), {}, name)

def SelfAdjointEigV2(input: Operand, *, compute_v: bool = True, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:T -> e:T v:T"""
    return many("SelfAdjointEigV2", (input,), {"compute_v": compute_v}, name)

def Selu(features: Operand, *, name: str | None = None) -> Tensor:
    """features:T -> activations:T"""
    return one("Selu", (features,), {}, name)

def SeluGrad(gradients: Operand, outputs: Operand, *, name: str | None = None) -> Tensor:
    """gradients:T outputs:T -> backprops:T"""
    return one("SeluGrad", (gradients, outputs,), {}, name)

def SerializeIterator(resource_handle: Operand, *, external_state_policy: int = 0, name: str | None = None) -> Tensor:
    """resource_handle:resource -> serialized:variant"""
    return one("SerializeIterator", (resource_handle,), {"external_state_policy": external_state_policy}, name)

def SerializeManySparse(sparse_indices: Operand, sparse_values: Operand, sparse_shape: Operand, *, out_type: DTypeLike = string, name: str | None = None) -> Tensor:
    """sparse_indices:int64 sparse_values:T sparse_shape:int64 -> serialized_sparse:out_type"""
    return one("SerializeManySparse", (sparse_indices, sparse_values, sparse_shape,), {"out_type": out_type}, name)

def SerializeSparse(sparse_indices: Operand, sparse_values: Operand, sparse_shape: Operand, *, out_type: DTypeLike = string, name: str | None = None) -> Tensor:
    """sparse_indices:int64 sparse_values:T sparse_shape:int64 -> serialized_sparse:out_type"""
    return one("SerializeSparse", (sparse_indices, sparse_values, sparse_shape,), {"out_type": out_type}, name)

def SerializeTensor(tensor: Operand, *, name: str | None = None) -> Tensor:
    """tensor:T -> serialized:string"""
    return one("SerializeTensor", (tensor,), {}, name)

def SetSize(set_indices: Operand, set_values: Operand, set_shape: Operand, *, validate_indices: bool = True, name: str | None = None) -> Tensor:
    """set_indices:int64 set_values:T set_shape:int64 -> size:int32"""
    return one("SetSize", (set_indices, set_values, set_shape,), {"validate_indices": validate_indices}, name)

def Shape(input: Operand, *, out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """input:T -> output:out_type"""
    return one("Shape", (input,), {"out_type": out_type}, name)

def ShapeN(input: Operands, *, out_type: DTypeLike = int32, name: str | None = None) -> list[Tensor]:
    """input:T*N -> output:out_type*N"""
    return many("ShapeN", (input,), {"out_type": out_type}, name)

def ShardDataset(input_dataset: Operand, num_shards: Operand, index: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], require_non_empty: bool = False, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant num_shards:int64 index:int64 -> handle:variant"""
    return one("ShardDataset", (input_dataset, num_shards, index,), {"output_types": output_types, "output_shapes": output_shapes, "require_non_empty": require_non_empty, "metadata": metadata}, name)

def ShardedFilename(basename: Operand, shard: Operand, num_shards: Operand, *, name: str | None = None) -> Tensor:
    """basename:string shard:int32 num_shards:int32 -> filename:string"""
    return one("ShardedFilename", (basename, shard, num_shards,), {}, name)

def ShardedFilespec(basename: Operand, num_shards: Operand, *, name: str | None = None) -> Tensor:
    """basename:string num_shards:int32 -> filename:string"""
    return one("ShardedFilespec", (basename, num_shards,), {}, name)

def ShuffleAndRepeatDataset(input_dataset: Operand, buffer_size: Operand, seed: Operand, seed2: Operand, count: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], reshuffle_each_iteration: bool = True, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant buffer_size:int64 seed:int64 seed2:int64 count:int64 -> handle:variant"""
    return one("ShuffleAndRepeatDataset", (input_dataset, buffer_size, seed, seed2, count,), {"output_types": output_types, "output_shapes": output_shapes, "reshuffle_each_iteration": reshuffle_each_iteration, "metadata": metadata}, name)

def ShuffleAndRepeatDatasetV2(input_dataset: Operand, buffer_size: Operand, seed: Operand, seed2: Operand, count: Operand, seed_generator: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], reshuffle_each_iteration: bool = True, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant buffer_size:int64 seed:int64 seed2:int64 count:int64 seed_generator:resource -> handle:variant"""
    return one("ShuffleAndRepeatDatasetV2", (input_dataset, buffer_size, seed, seed2, count, seed_generator,), {"output_types": output_types, "output_shapes": output_shapes, "reshuffle_each_iteration": reshuffle_each_iteration, "metadata": metadata}, name)

def ShuffleDataset(input_dataset: Operand, buffer_size: Operand, seed: Operand, seed2: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], reshuffle_each_iteration: bool = True, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant buffer_size:int64 seed:int64 seed2:int64 -> handle:variant"""
    return one("ShuffleDataset", (input_dataset, buffer_size, seed, seed2,), {"output_types": output_types, "output_shapes": output_shapes, "reshuffle_each_iteration": reshuffle_each_iteration, "metadata": metadata}, name)

def ShuffleDatasetV2(input_dataset: Operand, buffer_size: Operand, seed_generator: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant buffer_size:int64 seed_generator:resource -> handle:variant"""
    return one("ShuffleDatasetV2", (input_dataset, buffer_size, seed_generator,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def ShuffleDatasetV3(input_dataset: Operand, buffer_size: Operand, seed: Operand, seed2: Operand, seed_generator: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], reshuffle_each_iteration: bool = True, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant buffer_size:int64 seed:int64 seed2:int64 seed_generator:resource -> handle:variant"""
    return one("ShuffleDatasetV3", (input_dataset, buffer_size, seed, seed2, seed_generator,), {"output_types": output_types, "output_shapes": output_shapes, "reshuffle_each_iteration": reshuffle_each_iteration, "metadata": metadata}, name)

def Sigmoid(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Sigmoid", (x,), {}, name)

def SigmoidGrad(y: Operand, dy: Operand, *, name: str | None = None) -> Tensor:
    """y:T dy:T -> z:T"""
    return one("SigmoidGrad", (y, dy,), {}, name)

def Sign(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Sign", (x,), {}, name)

def Sin(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Sin", (x,), {}, name)

def Sinh(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Sinh", (x,), {}, name)

def Size(input: Operand, *, out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """input:T -> output:out_type"""
    return one("Size", (input,), {"out_type": out_type}, name)

def SkipDataset(input_dataset: Operand, count: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant count:int64 -> handle:variant"""
    return one("SkipDataset", (input_dataset, count,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def Slice(input: Operand, begin: Operand, size: Operand, *, name: str | None = None) -> Tensor:
    """input:T begin:Index size:Index -> output:T"""
    return one("Slice", (input, begin, size,), {}, name)

def SlidingWindowDataset(input_dataset: Operand, window_size: Operand, window_shift: Operand, window_stride: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], drop_remainder: bool = True, name: str | None = None) -> Tensor:
    """input_dataset:variant window_size:int64 window_shift:int64 window_stride:int64 -> handle:variant"""
    return one("SlidingWindowDataset", (input_dataset, window_size, window_shift, window_stride,), {"output_types": output_types, "output_shapes": output_shapes, "drop_remainder": drop_remainder}, name)

def Snapshot(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("Snapshot", (input,), {}, name)

def Softmax(logits: Operand, *, name: str | None = None) -> Tensor:
    """logits:T -> softmax:T"""
    return one("Softmax", (logits,), {}, name)

def SoftmaxCrossEntropyWithLogits(features: Operand, labels: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """features:T labels:T -> loss:T backprop:T"""
    return many("SoftmaxCrossEntropyWithLogits", (features, labels,), {}, name)

def Softplus(features: Operand, *, name: str | None = None) -> Tensor:
    """features:T -> activations:T"""
    return one("Softplus", (features,), {}, name)

def SoftplusGrad(gradients: Operand, features: Operand, *, name: str | None = None) -> Tensor:
    """gradients:T features:T -> backprops:T"""
    return one("SoftplusGrad", (gradients, features,), {}, name)

def Softsign(features: Operand, *, name: str | None = None) -> Tensor:
    """features:T -> activations:T"""
    return one("Softsign", (features,), {}, name)

def SoftsignGrad(gradients: Operand, features: Operand, *, name: str | None = None) -> Tensor:
    """gradients:T features:T -> backprops:T"""
    return one("SoftsignGrad", (gradients, features,), {}, name)

def SpaceToBatch(input: Operand, paddings: Operand, *, block_size: int, name: str | None = None) -> Tensor:
    """input:T paddings:Tpaddings -> output:T"""
    return one("SpaceToBatch", (input, paddings,), {"block_size": block_size}, name)

def SpaceToBatchND(input: Operand, block_shape: Operand, paddings: Operand, *, name: str | None = None) -> Tensor:
    """input:T block_shape:Tblock_shape paddings:Tpaddings -> output:T"""
    return one("SpaceToBatchND", (input, block_shape, paddings,), {}, name)

def SpaceToDepth(input: Operand, *, block_size: int, data_format: str | bytes = 'NHWC', name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("SpaceToDepth", (input,), {"block_size": block_size, "data_format": data_format}, name)

def SparseAccumulatorApplyGradient(handle: Operand, local_step: Operand, gradient_indices: Operand, gradient_values: Operand, gradient_shape: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None) -> Operation:
    """handle:string& local_step:int64 gradient_indices:int64 gradient_values:dtype gradient_shape:int64 ->"""
    return node("SparseAccumulatorApplyGradient", (handle, local_step, gradient_indices, gradient_values, gradient_shape,), {"dtype": dtype, "shape": shape}, name)

def SparseAccumulatorTakeGradient(handle: Operand, num_required: Operand, *, dtype: DTypeLike, shape: ShapeLike | None = None, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """handle:string& num_required:int32 -> indices:int64 values:dtype shape:int64"""
    return many("SparseAccumulatorTakeGradient", (handle, num_required,), {"dtype": dtype, "shape": shape}, name)

def SparseAdd(a_indices: Operand, a_values: Operand, a_shape: Operand, b_indices: Operand, b_values: Operand, b_shape: Operand, thresh: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """a_indices:int64 a_values:T a_shape:int64 b_indices:int64 b_values:T b_shape:int64 thresh:Treal -> sum_indices:int64 sum_values:T sum_shape:int64"""
    return many("SparseAdd", (a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh,), {}, name)

def SparseAddGrad(backprop_val_grad: Operand, a_indices: Operand, b_indices: Operand, sum_indices: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """backprop_val_grad:T a_indices:int64 b_indices:int64 sum_indices:int64 -> a_val_grad:T b_val_grad:T"""
    return many("SparseAddGrad", (backprop_val_grad, a_indices, b_indices, sum_indices,), {}, name)

def SparseApplyAdadelta(var: Operand, accum: Operand, accum_update: Operand, lr: Operand, rho: Operand, epsilon: Operand, grad: Operand, indices: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& accum_update:T& lr:T rho:T epsilon:T grad:T indices:Tindices -> out:T&"""
    return one("SparseApplyAdadelta", (var, accum, accum_update, lr, rho, epsilon, grad, indices,), {"use_locking": use_locking}, name)

def SparseApplyAdagrad(var: Operand, accum: Operand, lr: Operand, grad: Operand, indices: Operand, *, use_locking: bool = False, update_slots: bool = True, name: str | None = None) -> Tensor:
    """var:T& accum:T& lr:T grad:T indices:Tindices -> out:T&"""
    return one("SparseApplyAdagrad", (var, accum, lr, grad, indices,), {"use_locking": use_locking, "update_slots": update_slots}, name)

def SparseApplyAdagradDA(var: Operand, gradient_accumulator: Operand, gradient_squared_accumulator: Operand, grad: Operand, indices: Operand, lr: Operand, l1: Operand, l2: Operand, global_step: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& gradient_accumulator:T& gradient_squared_accumulator:T& grad:T indices:Tindices lr:T l1:T l2:T global_step:int64 -> out:T&"""
    return one("SparseApplyAdagradDA", (var, gradient_accumulator, gradient_squared_accumulator, grad, indices, lr, l1, l2, global_step,), {"use_locking": use_locking}, name)

def SparseApplyAdagradV2(var: Operand, accum: Operand, lr: Operand, epsilon: Operand, grad: Operand, indices: Operand, *, use_locking: bool = False, update_slots: bool = True, name: str | None = None) -> Tensor:
    """var:T& accum:T& lr:T epsilon:T grad:T indices:Tindices -> out:T&"""
    return one("SparseApplyAdagradV2", (var, accum, lr, epsilon, grad, indices,), {"use_locking": use_locking, "update_slots": update_slots}, name)

def SparseApplyCenteredRMSProp(var: Operand, mg: Operand, ms: Operand, mom: Operand, lr: Operand, rho: Operand, momentum: Operand, epsilon: Operand, grad: Operand, indices: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& mg:T& ms:T& mom:T& lr:T rho:T momentum:T epsilon:T grad:T indices:Tindices -> out:T&"""
    return one("SparseApplyCenteredRMSProp", (var, mg, ms, mom, lr, rho, momentum, epsilon, grad, indices,), {"use_locking": use_locking}, name)

def SparseApplyFtrl(var: Operand, accum: Operand, linear: Operand, grad: Operand, indices: Operand, lr: Operand, l1: Operand, l2: Operand, lr_power: Operand, *, use_locking: bool = False, multiply_linear_by_lr: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& linear:T& grad:T indices:Tindices lr:T l1:T l2:T lr_power:T -> out:T&"""
    return one("SparseApplyFtrl", (var, accum, linear, grad, indices, lr, l1, l2, lr_power,), {"use_locking": use_locking, "multiply_linear_by_lr": multiply_linear_by_lr}, name)

def SparseApplyFtrlV2(var: Operand, accum: Operand, linear: Operand, grad: Operand, indices: Operand, lr: Operand, l1: Operand, l2: Operand, l2_shrinkage: Operand, lr_power: Operand, *, use_locking: bool = False, multiply_linear_by_lr: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& linear:T& grad:T indices:Tindices lr:T l1:T l2:T l2_shrinkage:T lr_power:T -> out:T&"""
    return one("SparseApplyFtrlV2", (var, accum, linear, grad, indices, lr, l1, l2, l2_shrinkage, lr_power,), {"use_locking": use_locking, "multiply_linear_by_lr": multiply_linear_by_lr}, name)

def SparseApplyMomentum(var: Operand, accum: Operand, lr: Operand, grad: Operand, indices: Operand, momentum: Operand, *, use_locking: bool = False, use_nesterov: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& lr:T grad:T indices:Tindices momentum:T -> out:T&"""
    return one("SparseApplyMomentum", (var, accum, lr, grad, indices, momentum,), {"use_locking": use_locking, "use_nesterov": use_nesterov}, name)

def SparseApplyProximalAdagrad(var: Operand, accum: Operand, lr: Operand, l1: Operand, l2: Operand, grad: Operand, indices: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& accum:T& lr:T l1:T l2:T grad:T indices:Tindices -> out:T&"""
    return one("SparseApplyProximalAdagrad", (var, accum, lr, l1, l2, grad, indices,), {"use_locking": use_locking}, name)

def SparseApplyProximalGradientDescent(var: Operand, alpha: Operand, l1: Operand, l2: Operand, grad: Operand, indices: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& alpha:T l1:T l2:T grad:T indices:Tindices -> out:T&"""
    return one("SparseApplyProximalGradientDescent", (var, alpha, l1, l2, grad, indices,), {"use_locking": use_locking}, name)

def SparseApplyRMSProp(var: Operand, ms: Operand, mom: Operand, lr: Operand, rho: Operand, momentum: Operand, epsilon: Operand, grad: Operand, indices: Operand, *, use_locking: bool = False, name: str | None = None) -> Tensor:
    """var:T& ms:T& mom:T& lr:T rho:T momentum:T epsilon:T grad:T indices:Tindices -> out:T&"""
    return one("SparseApplyRMSProp", (var, ms, mom, lr, rho, momentum, epsilon, grad, indices,), {"use_locking": use_locking}, name)

def SparseBincount(indices: Operand, values: Operand, dense_shape: Operand, size: Operand, weights: Operand, *, binary_output: bool = False, name: str | None = None) -> Tensor:
    """indices:int64 values:Tidx dense_shape:int64 size:Tidx weights:T -> output:T"""
    return one("SparseBincount", (indices, values, dense_shape, size, weights,), {"binary_output": binary_output}, name)

def SparseConcat(indices: Operands, values: Operands, shapes: Operands, *, concat_dim: int = 0, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """indices:int64*N values:T*N shapes:int64*N -> output_indices:int64 output_values:T output_shape:int64"""
    return many("SparseConcat", (indices, values, shapes,), {"concat_dim": concat_dim}, name)

def SparseConditionalAccumulator(*, dtype: DTypeLike, shape: ShapeLike | None = None, container: str | bytes = '', shared_name: str | bytes = '', reduction_type: str | bytes = 'MEAN', name: str | None = None) -> Tensor:
    """-> handle:string&"""
    return one("SparseConditionalAccumulator", (), {"dtype": dtype, "shape": shape, "container": container, "shared_name": shared_name, "reduction_type": reduction_type}, name)

def SparseCountSparseOutput(indices: Operand, values: Operand, dense_shape: Operand, weights: Operand, *, binary_output: bool, minlength: int = -1, maxlength: int = -1, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """indices:int64 values:T dense_shape:int64 weights:output_type -> output_indices:int64 output_values:output_type output_dense_shape:int64"""
    return many("SparseCountSparseOutput", (indices, values, dense_shape, weights,), {"binary_output": binary_output, "minlength": minlength, "maxlength": maxlength}, name)

def SparseCross(indices: Operands, values: Operands, shapes: Operands, dense_inputs: Operands, *, hashed_output: bool, num_buckets: int, hash_key: int, out_type: DTypeLike, internal_type: DTypeLike, N: int | None = None, sparse_types: Sequence[DTypeLike] | None = None, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """indices:int64*N values:[sparse_types] shapes:int64*N dense_inputs:[dense_types] -> output_indices:int64 output_values:out_type output_shape:int64"""
    return many("SparseCross", (indices, values, shapes, dense_inputs,), {"hashed_output": hashed_output, "num_buckets": num_buckets, "hash_key": hash_key, "out_type": out_type, "internal_type": internal_type, "N": N, "sparse_types": sparse_types}, name)

def SparseCrossV2(indices: Operands, values: Operands, shapes: Operands, dense_inputs: Operands, sep: Operand, *, N: int | None = None, sparse_types: Sequence[DTypeLike] | None = None, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """indices:int64*N values:[sparse_types] shapes:int64*N dense_inputs:[dense_types] sep:string -> output_indices:int64 output_values:string output_shape:int64"""
    return many("SparseCrossV2", (indices, values, shapes, dense_inputs, sep,), {"N": N, "sparse_types": sparse_types}, name)

def SparseDenseCwiseAdd(sp_indices: Operand, sp_values: Operand, sp_shape: Operand, dense: Operand, *, name: str | None = None) -> Tensor:
    """sp_indices:int64 sp_values:T sp_shape:int64 dense:T -> output:T"""
    return one("SparseDenseCwiseAdd", (sp_indices, sp_values, sp_shape, dense,), {}, name)

def SparseDenseCwiseDiv(sp_indices: Operand, sp_values: Operand, sp_shape: Operand, dense: Operand, *, name: str | None = None) -> Tensor:
    """sp_indices:int64 sp_values:T sp_shape:int64 dense:T -> output:T"""
    return one("SparseDenseCwiseDiv", (sp_indices, sp_values, sp_shape, dense,), {}, name)

def SparseDenseCwiseMul(sp_indices: Operand, sp_values: Operand, sp_shape: Operand, dense: Operand, *, name: str | None = None) -> Tensor:
    """sp_indices:int64 sp_values:T sp_shape:int64 dense:T -> output:T"""
    return one("SparseDenseCwiseMul", (sp_indices, sp_values, sp_shape, dense,), {}, name)

def SparseFillEmptyRows(indices: Operand, values: Operand, dense_shape: Operand, default_value: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """indices:int64 values:T dense_shape:int64 default_value:T -> output_indices:int64 output_values:T empty_row_indicator:bool reverse_index_map:int64"""
    return many("SparseFillEmptyRows", (indices, values, dense_shape, default_value,), {}, name)

def SparseFillEmptyRowsGrad(reverse_index_map: Operand, grad_values: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """reverse_index_map:int64 grad_values:T -> d_values:T d_default_value:T"""
    return many("SparseFillEmptyRowsGrad", (reverse_index_map, grad_values,), {}, name)

def SparseMatMul(a: Operand, b: Operand, *, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None) -> Tensor:
    """a:Ta b:Tb -> product:float"""
    return one("SparseMatMul", (a, b,), {"transpose_a": transpose_a, "transpose_b": transpose_b, "a_is_sparse": a_is_sparse, "b_is_sparse": b_is_sparse}, name)

def SparseReduceMax(input_indices: Operand, input_values: Operand, input_shape: Operand, reduction_axes: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input_indices:int64 input_values:T input_shape:int64 reduction_axes:int32 -> output:T"""
    return one("SparseReduceMax", (input_indices, input_values, input_shape, reduction_axes,), {"keep_dims": keep_dims}, name)

def SparseReduceMaxSparse(input_indices: Operand, input_values: Operand, input_shape: Operand, reduction_axes: Operand, *, keep_dims: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input_indices:int64 input_values:T input_shape:int64 reduction_axes:int32 -> output_indices:int64 output_values:T output_shape:int64"""
    return many("SparseReduceMaxSparse", (input_indices, input_values, input_shape, reduction_axes,), {"keep_dims": keep_dims}, name)

def SparseReduceSum(input_indices: Operand, input_values: Operand, input_shape: Operand, reduction_axes: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input_indices:int64 input_values:T input_shape:int64 reduction_axes:int32 -> output:T"""
    return one("SparseReduceSum", (input_indices, input_values, input_shape, reduction_axes,), {"keep_dims": keep_dims}, name)

def SparseReduceSumSparse(input_indices: Operand, input_values: Operand, input_shape: Operand, reduction_axes: Operand, *, keep_dims: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input_indices:int64 input_values:T input_shape:int64 reduction_axes:int32 -> output_indices:int64 output_values:T output_shape:int64"""
    return many("SparseReduceSumSparse", (input_indices, input_values, input_shape, reduction_axes,), {"keep_dims": keep_dims}, name)

def SparseReorder(input_indices: Operand, input_values: Operand, input_shape: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input_indices:int64 input_values:T input_shape:int64 -> output_indices:int64 output_values:T"""
    return many("SparseReorder", (input_indices, input_values, input_shape,), {}, name)

def SparseReshape(input_indices: Operand, input_shape: Operand, new_shape: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input_indices:int64 input_shape:int64 new_shape:int64 -> output_indices:int64 output_shape:int64"""
    return many("SparseReshape", (input_indices, input_shape, new_shape,), {}, name)

def SparseSegmentMean(data: Operand, indices: Operand, segment_ids: Operand, *, sparse_gradient: bool = False, name: str | None = None) -> Tensor:
    """data:T indices:Tidx segment_ids:Tsegmentids -> output:T"""
    return one("SparseSegmentMean", (data, indices, segment_ids,), {"sparse_gradient": sparse_gradient}, name)

def SparseSegmentMeanGrad(grad: Operand, indices: Operand, segment_ids: Operand, output_dim0: Operand, *, name: str | None = None) -> Tensor:
    """grad:T indices:Tidx segment_ids:Tsegmentids output_dim0:int32 -> output:T"""
    return one("SparseSegmentMeanGrad", (grad, indices, segment_ids, output_dim0,), {}, name)

def SparseSegmentMeanGradV2(grad: Operand, indices: Operand, segment_ids: Operand, dense_output_dim0: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """grad:T indices:Tidx segment_ids:Tsegmentids dense_output_dim0:int32 -> output:T sorted_unique_indices:Tidx"""
    return many("SparseSegmentMeanGradV2", (grad, indices, segment_ids, dense_output_dim0,), {}, name)

def SparseSegmentMeanWithNumSegments(data: Operand, indices: Operand, segment_ids: Operand, num_segments: Operand, *, sparse_gradient: bool = False, name: str | None = None) -> Tensor:
    """data:T indices:Tidx segment_ids:Tsegmentids num_segments:Tnumsegments -> output:T"""
    return one("SparseSegmentMeanWithNumSegments", (data, indices, segment_ids, num_segments,), {"sparse_gradient": sparse_gradient}, name)

def SparseSegmentSqrtN(data: Operand, indices: Operand, segment_ids: Operand, *, sparse_gradient: bool = False, name: str | None = None) -> Tensor:
    """data:T indices:Tidx segment_ids:Tsegmentids -> output:T"""
    return one("SparseSegmentSqrtN", (data, indices, segment_ids,), {"sparse_gradient": sparse_gradient}, name)

def SparseSegmentSqrtNGrad(grad: Operand, indices: Operand, segment_ids: Operand, output_dim0: Operand, *, name: str | None = None) -> Tensor:
    """grad:T indices:Tidx segment_ids:Tsegmentids output_dim0:int32 -> output:T"""
    return one("SparseSegmentSqrtNGrad", (grad, indices, segment_ids, output_dim0,), {}, name)

def SparseSegmentSqrtNGradV2(grad: Operand, indices: Operand, segment_ids: Operand, dense_output_dim0: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """grad:T indices:Tidx segment_ids:Tsegmentids dense_output_dim0:int32 -> output:T sorted_unique_indices:Tidx"""
    return many("SparseSegmentSqrtNGradV2", (grad, indices, segment_ids, dense_output_dim0,), {}, name)

def SparseSegmentSqrtNWithNumSegments(data: Operand, indices: Operand, segment_ids: Operand, num_segments: Operand, *, sparse_gradient: bool = False, name: str | None = None) -> Tensor:
    """data:T indices:Tidx segment_ids:Tsegmentids num_segments:Tnumsegments -> output:T"""
    return one("SparseSegmentSqrtNWithNumSegments", (data, indices, segment_ids, num_segments,), {"sparse_gradient": sparse_gradient}, name)

def SparseSegmentSum(data: Operand, indices: Operand, segment_ids: Operand, *, sparse_gradient: bool = False, name: str | None = None) -> Tensor:
    """data:T indices:Tidx segment_ids:Tsegmentids -> output:T"""
    return one("SparseSegmentSum", (data, indices, segment_ids,), {"sparse_gradient": sparse_gradient}, name)

def SparseSegmentSumGrad(grad: Operand, indices: Operand, segment_ids: Operand, output_dim0: Operand, *, name: str | None = None) -> Tensor:
    """grad:T indices:Tidx segment_ids:Tsegmentids output_dim0:int32 -> output:T"""
    return one("SparseSegmentSumGrad", (grad, indices, segment_ids, output_dim0,), {}, name)

def SparseSegmentSumGradV2(grad: Operand, indices: Operand, segment_ids: Operand, dense_output_dim0: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """grad:T indices:Tidx segment_ids:Tsegmentids dense_output_dim0:int32 -> output:T sorted_unique_indices:Tidx"""
    return many("SparseSegmentSumGradV2", (grad, indices, segment_ids, dense_output_dim0,), {}, name)

def SparseSegmentSumWithNumSegments(data: Operand, indices: Operand, segment_ids: Operand, num_segments: Operand, *, sparse_gradient: bool = False, name: str | None = None) -> Tensor:
    """data:T indices:Tidx segment_ids:Tsegmentids num_segments:Tnumsegments -> output:T"""
    return one("SparseSegmentSumWithNumSegments", (data, indices, segment_ids, num_segments,), {"sparse_gradient": sparse_gradient}, name)

def SparseSlice(indices: Operand, values: Operand, shape: Operand, start: Operand, size: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """indices:int64 values:T shape:int64 start:int64 size:int64 -> output_indices:int64 output_values:T output_shape:int64"""
    return many("SparseSlice", (indices, values, shape, start, size,), {}, name)

def SparseSliceGrad(backprop_val_grad: Operand, input_indices: Operand, input_start: Operand, output_indices: Operand, *, name: str | None = None) -> Tensor:
    """backprop_val_grad:T input_indices:int64 input_start:int64 output_indices:int64 -> val_grad:T"""
    return one("SparseSliceGrad", (backprop_val_grad, input_indices, input_start, output_indices,), {}, name)

def SparseSoftmax(sp_indices: Operand, sp_values: Operand, sp_shape: Operand, *, name: str | None = None) -> Tensor:
    """sp_indices:int64 sp_values:T sp_shape:int64 -> output:T"""
    return one("SparseSoftmax", (sp_indices, sp_values, sp_shape,), {}, name)

def SparseSoftmaxCrossEntropyWithLogits(features: Operand, labels: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """features:T labels:Tlabels -> loss:T backprop:T"""
    return many("SparseSoftmaxCrossEntropyWithLogits", (features, labels,), {}, name)

def SparseSparseMaximum(a_indices: Operand, a_values: Operand, a_shape: Operand, b_indices: Operand, b_values: Operand, b_shape: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """a_indices:int64 a_values:T a_shape:int64 b_indices:int64 b_values:T b_shape:int64 -> output_indices:int64 output_values:T"""
    return many("SparseSparseMaximum", (a_indices, a_values, a_shape, b_indices, b_values, b_shape,), {}, name)

def SparseSparseMinimum(a_indices: Operand, a_values: Operand, a_shape: Operand, b_indices: Operand, b_values: Operand, b_shape: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """a_indices:int64 a_values:T a_shape:int64 b_indices:int64 b_values:T b_shape:int64 -> output_indices:int64 output_values:T"""
    return many("SparseSparseMinimum", (a_indices, a_values, a_shape, b_indices, b_values, b_shape,), {}, name)

def SparseSplit(split_dim: Operand, indices: Operand, values: Operand, shape: Operand, *, num_split: int, name: str | None = None) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """split_dim:int64 indices:int64 values:T shape:int64 -> output_indices:int64*num_split output_values:T*num_split output_shape:int64*num_split"""
    return many("SparseSplit", (split_dim, indices, values, shape,), {"num_split": num_split}, name)

def SparseTensorDenseAdd(a_indices: Operand, a_values: Operand, a_shape: Operand, b: Operand, *, name: str | None = None) -> Tensor:
    """a_indices:Tindices a_values:T a_shape:Tindices b:T -> output:T"""
    return one("SparseTensorDenseAdd", (a_indices, a_values, a_shape, b,), {}, name)

def SparseTensorDenseMatMul(a_indices: Operand, a_values: Operand, a_shape: Operand, b: Operand, *, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None) -> Tensor:
    """a_indices:Tindices a_values:T a_shape:int64 b:T -> product:T"""
    return one("SparseTensorDenseMatMul", (a_indices, a_values, a_shape, b,), {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b}, name)

def SparseTensorSliceDataset(indices: Operand, values: Operand, dense_shape: Operand, *, name: str | None = None) -> Tensor:
    """indices:int64 values:Tvalues dense_shape:int64 -> handle:variant"""
    return one("SparseTensorSliceDataset", (indices, values, dense_shape,), {}, name)

def SparseToDense(sparse_indices: Operand, output_shape: Operand, sparse_values: Operand, default_value: Operand, *, validate_indices: bool = True, name: str | None = None) -> Tensor:
    """sparse_indices:Tindices output_shape:Tindices sparse_values:T default_value:T -> dense:T"""
    return one("SparseToDense", (sparse_indices, output_shape, sparse_values, default_value,), {"validate_indices": validate_indices}, name)

def SparseToSparseSetOperation(set1_indices: Operand, set1_values: Operand, set1_shape: Operand, set2_indices: Operand, set2_values: Operand, set2_shape: Operand, *, set_operation: str | bytes, validate_indices: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """set1_indices:int64 set1_values:T set1_shape:int64 set2_indices:int64 set2_values:T set2_shape:int64 -> result_indices:int64 result_values:T result_shape:int64"""
    return many("SparseToSparseSetOperation", (set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape,), {"set_operation": set_operation, "validate_indices": validate_indices}, name)

def Split(split_dim: Operand, value: Operand, *, num_split: int, name: str | None = None) -> list[Tensor]:
    """split_dim:int32 value:T -> output:T*num_split"""
    return many("Split", (split_dim, value,), {"num_split": num_split}, name)

def SplitV(value: Operand, size_splits: Operand, split_dim: Operand, *, num_split: int, name: str | None = None) -> list[Tensor]:
    """value:T size_splits:Tlen split_dim:int32 -> output:T*num_split"""
    return many("SplitV", (value, size_splits, split_dim,), {"num_split": num_split}, name)

def Sqrt(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Sqrt", (x,), {}, name)

def SqrtGrad(y: Operand, dy: Operand, *, name: str | None = None) -> Tensor:
    """y:T dy:T -> z:T"""
    return one("SqrtGrad", (y, dy,), {}, name)

def Square(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Square", (x,), {}, name)

def SquaredDifference(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("SquaredDifference", (x, y,), {}, name)

def Squeeze(input: Operand, *, squeeze_dims: Sequence[int] = (), name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("Squeeze", (input,), {"squeeze_dims": squeeze_dims}, name)

def Stack(*, elem_type: DTypeLike, stack_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:string&"""
    return one("Stack", (), {"elem_type": elem_type, "stack_name": stack_name}, name)

def StackClose(handle: Operand, *, name: str | None = None) -> Operation:
    """handle:string& ->"""
    return node("StackClose", (handle,), {}, name)

def StackCloseV2(handle: Operand, *, name: str | None = None) -> Operation:
    """handle:resource ->"""
    return node("StackCloseV2", (handle,), {}, name)

def StackPop(handle: Operand, *, elem_type: DTypeLike, name: str | None = None) -> Tensor:
    """handle:string& -> elem:elem_type"""
    return one("StackPop", (handle,), {"elem_type": elem_type}, name)

def StackPopV2(handle: Operand, *, elem_type: DTypeLike, name: str | None = None) -> Tensor:
    """handle:resource -> elem:elem_type"""
    return one("StackPopV2", (handle,), {"elem_type": elem_type}, name)

def StackPush(handle: Operand, elem: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& elem:T -> output:T"""
    return one("StackPush", (handle, elem,), {}, name)

def StackPushV2(handle: Operand, elem: Operand, *, name: str | None = None) -> Tensor:
    """handle:resource elem:T -> output:T"""
    return one("StackPushV2", (handle, elem,), {}, name)

def StackV2(max_size: Operand, *, elem_type: DTypeLike, stack_name: str | bytes = '', name: str | None = None) -> Tensor:
    """max_size:int32 -> handle:resource"""
    return one("StackV2", (max_size,), {"elem_type": elem_type, "stack_name": stack_name}, name)

def Stage(values: Operands, *, dtypes: Sequence[DTypeLike] | None = None, capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Operation:
    """values:[dtypes] ->"""
    return node("Stage", (values,), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def StageClear(*, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Operation:
    """->"""
    return node("StageClear", (), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def StagePeek(index: Operand, *, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> list[Tensor]:
    """index:int32 -> values:[dtypes]"""
    return many("StagePeek", (index,), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def StageSize(*, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> size:int32"""
    return one("StageSize", (), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def StatefulPartitionedCall(args: Operands, *, f: Value, name: str | None = None) -> list[Tensor]:
    """args:[Tin] -> output:[Tout]"""
    return many("StatefulPartitionedCall", (args,), {"f": f}, name)

def StatefulRandomBinomial(resource: Operand, algorithm: Operand, shape: Operand, counts: Operand, probs: Operand, *, dtype: DTypeLike = int64, name: str | None = None) -> Tensor:
    """resource:resource algorithm:int64 shape:S counts:T probs:T -> output:dtype"""
    return one("StatefulRandomBinomial", (resource, algorithm, shape, counts, probs,), {"dtype": dtype}, name)

def StatefulStandardNormalV2(resource: Operand, algorithm: Operand, shape: Operand, *, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """resource:resource algorithm:int64 shape:shape_dtype -> output:dtype"""
    return one("StatefulStandardNormalV2", (resource, algorithm, shape,), {"dtype": dtype}, name)

def StatefulTruncatedNormal(resource: Operand, algorithm: Operand, shape: Operand, *, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """resource:resource algorithm:int64 shape:shape_dtype -> output:dtype"""
    return one("StatefulTruncatedNormal", (resource, algorithm, shape,), {"dtype": dtype}, name)

def StatefulUniform(resource: Operand, algorithm: Operand, shape: Operand, *, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """resource:resource algorithm:int64 shape:shape_dtype -> output:dtype"""
    return one("StatefulUniform", (resource, algorithm, shape,), {"dtype": dtype}, name)

def StatefulUniformFullInt(resource: Operand, algorithm: Operand, shape: Operand, *, dtype: DTypeLike = uint64, name: str | None = None) -> Tensor:
    """resource:resource algorithm:int64 shape:shape_dtype -> output:dtype"""
    return one("StatefulUniformFullInt", (resource, algorithm, shape,), {"dtype": dtype}, name)

def StatefulUniformInt(resource: Operand, algorithm: Operand, shape: Operand, minval: Operand, maxval: Operand, *, name: str | None = None) -> Tensor:
    """resource:resource algorithm:int64 shape:shape_dtype minval:dtype maxval:dtype -> output:dtype"""
    return one("StatefulUniformInt", (resource, algorithm, shape, minval, maxval,), {}, name)

def StatelessIf(cond: Operand, input: Operands, *, then_branch: Value, else_branch: Value, name: str | None = None) -> list[Tensor]:
    """cond:Tcond input:[Tin] -> output:[Tout]"""
    return many("StatelessIf", (cond, input,), {"then_branch": then_branch, "else_branch": else_branch}, name)

def StatelessMultinomial(logits: Operand, num_samples: Operand, seed: Operand, *, output_dtype: DTypeLike = int64, name: str | None = None) -> Tensor:
    """logits:T num_samples:int32 seed:Tseed -> output:output_dtype"""
    return one("StatelessMultinomial", (logits, num_samples, seed,), {"output_dtype": output_dtype}, name)

def StatelessParameterizedTruncatedNormal(shape: Operand, seed: Operand, means: Operand, stddevs: Operand, minvals: Operand, maxvals: Operand, *, name: str | None = None) -> Tensor:
    """shape:S seed:Tseed means:dtype stddevs:dtype minvals:dtype maxvals:dtype -> output:dtype"""
    return one("StatelessParameterizedTruncatedNormal", (shape, seed, means, stddevs, minvals, maxvals,), {}, name)

def StatelessRandomBinomial(shape: Operand, seed: Operand, counts: Operand, probs: Operand, *, dtype: DTypeLike = int64, name: str | None = None) -> Tensor:
    """shape:S seed:Tseed counts:T probs:T -> output:dtype"""
    return one("StatelessRandomBinomial", (shape, seed, counts, probs,), {"dtype": dtype}, name)

def StatelessRandomGammaV2(shape: Operand, seed: Operand, alpha: Operand, *, name: str | None = None) -> Tensor:
    """shape:T seed:Tseed alpha:dtype -> output:dtype"""
    return one("StatelessRandomGammaV2", (shape, seed, alpha,), {}, name)

def StatelessRandomGammaV3(shape: Operand, key: Operand, counter: Operand, alg: Operand, alpha: Operand, *, name: str | None = None) -> Tensor:
    """shape:shape_dtype key:uint64 counter:uint64 alg:int32 alpha:dtype -> output:dtype"""
    return one("StatelessRandomGammaV3", (shape, key, counter, alg, alpha,), {}, name)

def StatelessRandomGetAlg(*, name: str | None = None) -> Tensor:
    """-> alg:int32"""
    return one("StatelessRandomGetAlg", (), {}, name)

def StatelessRandomGetKeyCounter(seed: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """seed:Tseed -> key:uint64 counter:uint64"""
    return many("StatelessRandomGetKeyCounter", (seed,), {}, name)

def StatelessRandomGetKeyCounterAlg(seed: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """seed:Tseed -> key:uint64 counter:uint64 alg:int32"""
    return many("StatelessRandomGetKeyCounterAlg", (seed,), {}, name)

def StatelessRandomNormal(shape: Operand, seed: Operand, *, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """shape:T seed:Tseed -> output:dtype"""
    return one("StatelessRandomNormal", (shape, seed,), {"dtype": dtype}, name)

def StatelessRandomNormalV2(shape: Operand, key: Operand, counter: Operand, alg: Operand, *, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """shape:Tshape key:uint64 counter:uint64 alg:int32 -> output:dtype"""
    return one("StatelessRandomNormalV2", (shape, key, counter, alg,), {"dtype": dtype}, name)

def StatelessRandomPoisson(shape: Operand, seed: Operand, lam: Operand, *, dtype: DTypeLike = int32, name: str | None = None) -> Tensor:
    """shape:T seed:Tseed lam:Rtype -> output:dtype"""
    return one("StatelessRandomPoisson", (shape, seed, lam,), {"dtype": dtype}, name)

def StatelessRandomUniform(shape: Operand, seed: Operand, *, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """shape:T seed:Tseed -> output:dtype"""
    return one("StatelessRandomUniform", (shape, seed,), {"dtype": dtype}, name)

def StatelessRandomUniformFullInt(shape: Operand, seed: Operand, *, dtype: DTypeLike = uint64, name: str | None = None) -> Tensor:
    """shape:T seed:Tseed -> output:dtype"""
    return one("StatelessRandomUniformFullInt", (shape, seed,), {"dtype": dtype}, name)

def StatelessRandomUniformFullIntV2(shape: Operand, key: Operand, counter: Operand, alg: Operand, *, dtype: DTypeLike = uint64, name: str | None = None) -> Tensor:
    """shape:Tshape key:uint64 counter:uint64 alg:int32 -> output:dtype"""
    return one("StatelessRandomUniformFullIntV2", (shape, key, counter, alg,), {"dtype": dtype}, name)

def StatelessRandomUniformInt(shape: Operand, seed: Operand, minval: Operand, maxval: Operand, *, name: str | None = None) -> Tensor:
    """shape:T seed:Tseed minval:dtype maxval:dtype -> output:dtype"""
    return one("StatelessRandomUniformInt", (shape, seed, minval, maxval,), {}, name)

def StatelessRandomUniformIntV2(shape: Operand, key: Operand, counter: Operand, alg: Operand, minval: Operand, maxval: Operand, *, name: str | None = None) -> Tensor:
    """shape:Tshape key:uint64 counter:uint64 alg:int32 minval:dtype maxval:dtype -> output:dtype"""
    return one("StatelessRandomUniformIntV2", (shape, key, counter, alg, minval, maxval,), {}, name)

def StatelessRandomUniformV2(shape: Operand, key: Operand, counter: Operand, alg: Operand, *, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """shape:Tshape key:uint64 counter:uint64 alg:int32 -> output:dtype"""
    return one("StatelessRandomUniformV2", (shape, key, counter, alg,), {"dtype": dtype}, name)

def StatelessShuffle(value: Operand, key: Operand, counter: Operand, alg: Operand, *, name: str | None = None) -> Tensor:
    """value:T key:uint64 counter:uint64 alg:int32 -> output:T"""
    return one("StatelessShuffle", (value, key, counter, alg,), {}, name)

def StatelessTruncatedNormal(shape: Operand, seed: Operand, *, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """shape:T seed:Tseed -> output:dtype"""
    return one("StatelessTruncatedNormal", (shape, seed,), {"dtype": dtype}, name)

def StatelessTruncatedNormalV2(shape: Operand, key: Operand, counter: Operand, alg: Operand, *, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """shape:Tshape key:uint64 counter:uint64 alg:int32 -> output:dtype"""
    return one("StatelessTruncatedNormalV2", (shape, key, counter, alg,), {"dtype": dtype}, name)

def StatelessWhile(input: Operands, *, cond: Value, body: Value, name: str | None = None) -> list[Tensor]:
    """input:[T] -> output:[T]"""
    return many("StatelessWhile", (input,), {"cond": cond, "body": body}, name)

def StaticRegexFullMatch(input: Operand, *, pattern: str | bytes, name: str | None = None) -> Tensor:
    """input:string -> output:bool"""
    return one("StaticRegexFullMatch", (input,), {"pattern": pattern}, name)

def StaticRegexReplace(input: Operand, *, pattern: str | bytes, rewrite: str | bytes, replace_global: bool = True, name: str | None = None) -> Tensor:
    """input:string -> output:string"""
    return one("StaticRegexReplace", (input,), {"pattern": pattern, "rewrite": rewrite, "replace_global": replace_global}, name)

def StopGradient(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:T"""
    return one("StopGradient", (input,), {}, name)

def StridedSlice(input: Operand, begin: Operand, end: Operand, strides: Operand, *, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, name: str | None = None) -> Tensor:
    """input:T begin:Index end:Index strides:Index -> output:T"""
    return one("StridedSlice", (input, begin, end, strides,), {"begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask}, name)

def StridedSliceAssign(ref: Operand, begin: Operand, end: Operand, strides: Operand, value: Operand, *, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, name: str | None = None) -> Tensor:
    """ref:T& begin:Index end:Index strides:Index value:T -> output_ref:T&"""
    return one("StridedSliceAssign", (ref, begin, end, strides, value,), {"begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask}, name)

def StridedSliceGrad(shape: Operand, begin: Operand, end: Operand, strides: Operand, dy: Operand, *, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, name: str | None = None) -> Tensor:
    """shape:Index begin:Index end:Index strides:Index dy:T -> output:T"""
    return one("StridedSliceGrad", (shape, begin, end, strides, dy,), {"begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask}, name)

def StringFormat(inputs: Operands, *, template: str | bytes, placeholder: str | bytes = '{}', summarize: int = 3, name: str | None = None) -> Tensor:
    """inputs:[T] -> output:string"""
    return one("StringFormat", (inputs,), {"template": template, "placeholder": placeholder, "summarize": summarize}, name)

def StringJoin(inputs: Operands, *, separator: str | bytes = '', name: str | None = None) -> Tensor:
    """inputs:string*N -> output:string"""
    return one("StringJoin", (inputs,), {"separator": separator}, name)

def StringLength(input: Operand, *, unit: str | bytes = 'BYTE', name: str | None = None) -> Tensor:
    """input:string -> output:int32"""
    return one("StringLength", (input,), {"unit": unit}, name)

def StringLower(input: Operand, *, encoding: str | bytes = '', name: str | None = None) -> Tensor:
    """input:string -> output:string"""
    return one("StringLower", (input,), {"encoding": encoding}, name)

def StringNGrams(data: Operand, data_splits: Operand, *, separator: str | bytes, ngram_widths: Sequence[int], left_pad: str | bytes, right_pad: str | bytes, pad_width: int, preserve_short_sequences: bool, name: str | None = None) -> tuple[Tensor, Tensor]:
    """data:string data_splits:Tsplits -> ngrams:string ngrams_splits:Tsplits"""
    return many("StringNGrams", (data, data_splits,), {"separator": separator, "ngram_widths": ngram_widths, "left_pad": left_pad, "right_pad": right_pad, "pad_width": pad_width, "preserve_short_sequences": preserve_short_sequences}, name)

def StringSplit(input: Operand, delimiter: Operand, *, skip_empty: bool = True, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:string delimiter:string -> indices:int64 values:string shape:int64"""
    return many("StringSplit", (input, delimiter,), {"skip_empty": skip_empty}, name)

def StringSplitV2(input: Operand, sep: Operand, *, maxsplit: int = -1, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:string sep:string -> indices:int64 values:string shape:int64"""
    return many("StringSplitV2", (input, sep,), {"maxsplit": maxsplit}, name)

def StringStrip(input: Operand, *, name: str | None = None) -> Tensor:
    """input:string -> output:string"""
    return one("StringStrip", (input,), {}, name)

def StringToHashBucket(string_tensor: Operand, *, num_buckets: int, name: str | None = None) -> Tensor:
    """string_tensor:string -> output:int64"""
    return one("StringToHashBucket", (string_tensor,), {"num_buckets": num_buckets}, name)

def StringToHashBucketFast(input: Operand, *, num_buckets: int, name: str | None = None) -> Tensor:
    """input:string -> output:int64"""
    return one("StringToHashBucketFast", (input,), {"num_buckets": num_buckets}, name)

def StringToHashBucketStrong(input: Operand, *, num_buckets: int, key: Sequence[int], name: str | None = None) -> Tensor:
    """input:string -> output:int64"""
    return one("StringToHashBucketStrong", (input,), {"num_buckets": num_buckets, "key": key}, name)

def StringToNumber(string_tensor: Operand, *, out_type: DTypeLike = float32, name: str | None = None) -> Tensor:
    """string_tensor:string -> output:out_type"""
    return one("StringToNumber", (string_tensor,), {"out_type": out_type}, name)

def StringUpper(input: Operand, *, encoding: str | bytes = '', name: str | None = None) -> Tensor:
    """input:string -> output:string"""
    return one("StringUpper", (input,), {"encoding": encoding}, name)

def Sub(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Sub", (x, y,), {}, name)

def Substr(input: Operand, pos: Operand, len: Operand, *, unit: str | bytes = 'BYTE', name: str | None = None) -> Tensor:
    """input:string pos:T len:T -> output:string"""
    return one("Substr", (input, pos, len,), {"unit": unit}, name)

def Sum(input: Operand, reduction_indices: Operand, *, keep_dims: bool = False, name: str | None = None) -> Tensor:
    """input:T reduction_indices:Tidx -> output:T"""
    return one("Sum", (input, reduction_indices,), {"keep_dims": keep_dims}, name)

def Svd(input: Operand, *, compute_uv: bool = True, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:T -> s:T u:T v:T"""
    return many("Svd", (input,), {"compute_uv": compute_uv, "full_matrices": full_matrices}, name)

def Switch(data: Operand, pred: Operand, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """data:T pred:bool -> output_false:T output_true:T"""
    return many("Switch", (data, pred,), {}, name)

def SymbolicGradient(input: Operands, *, f: Value, name: str | None = None) -> list[Tensor]:
    """input:[Tin] -> output:[Tout]"""
    return many("SymbolicGradient", (input,), {"f": f}, name)

def TFRecordDataset(filenames: Operand, compression_type: Operand, buffer_size: Operand, *, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """filenames:string compression_type:string buffer_size:int64 -> handle:variant"""
    return one("TFRecordDataset", (filenames, compression_type, buffer_size,), {"metadata": metadata}, name)

def TFRecordDatasetV2(filenames: Operand, compression_type: Operand, buffer_size: Operand, byte_offsets: Operand, *, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """filenames:string compression_type:string buffer_size:int64 byte_offsets:int64 -> handle:variant"""
    return one("TFRecordDatasetV2", (filenames, compression_type, buffer_size, byte_offsets,), {"metadata": metadata}, name)

def TFRecordReader(*, container: str | bytes = '', shared_name: str | bytes = '', compression_type: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:string&"""
    return one("TFRecordReader", (), {"container": container, "shared_name": shared_name, "compression_type": compression_type}, name)

def TFRecordReaderV2(*, container: str | bytes = '', shared_name: str | bytes = '', compression_type: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:resource"""
    return one("TFRecordReaderV2", (), {"container": container, "shared_name": shared_name, "compression_type": compression_type}, name)

def TakeDataset(input_dataset: Operand, count: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant count:int64 -> handle:variant"""
    return one("TakeDataset", (input_dataset, count,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def TakeManySparseFromTensorsMap(sparse_handles: Operand, *, dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """sparse_handles:int64 -> sparse_indices:int64 sparse_values:dtype sparse_shape:int64"""
    return many("TakeManySparseFromTensorsMap", (sparse_handles,), {"dtype": dtype, "container": container, "shared_name": shared_name}, name)

def TakeWhileDataset(input_dataset: Operand, other_arguments: Operands, *, predicate: Value, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant other_arguments:[Targuments] -> handle:variant"""
    return one("TakeWhileDataset", (input_dataset, other_arguments,), {"predicate": predicate, "output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def Tan(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Tan", (x,), {}, name)

def Tanh(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("Tanh", (x,), {}, name)

def TanhGrad(y: Operand, dy: Operand, *, name: str | None = None) -> Tensor:
    """y:T dy:T -> z:T"""
    return one("TanhGrad", (y, dy,), {}, name)

def TemporaryHandle(*, dtype: DTypeLike, shape: ShapeLike, var_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> handle:resource"""
    return one("TemporaryHandle", (), {"dtype": dtype, "shape": shape, "var_name": var_name}, name)

def TemporaryVariable(*, shape: ShapeLike, dtype: DTypeLike, var_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> ref:dtype&"""
    return one("TemporaryVariable", (), {"shape": shape, "dtype": dtype, "var_name": var_name}, name)

def TensorArray(size: Operand, *, dtype: DTypeLike, dynamic_size: bool = False, clear_after_read: bool = True, tensor_array_name: str | bytes = '', element_shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """size:int32 -> handle:string&"""
    return one("TensorArray", (size,), {"dtype": dtype, "dynamic_size": dynamic_size, "clear_after_read": clear_after_read, "tensor_array_name": tensor_array_name, "element_shape": element_shape}, name)

def TensorArrayClose(handle: Operand, *, name: str | None = None) -> Operation:
    """handle:string& ->"""
    return node("TensorArrayClose", (handle,), {}, name)

def TensorArrayCloseV2(handle: Operand, *, name: str | None = None) -> Operation:
    """handle:string ->"""
    return node("TensorArrayCloseV2", (handle,), {}, name)

def TensorArrayCloseV3(handle: Operand, *, name: str | None = None) -> Operation:
    """handle:resource ->"""
    return node("TensorArrayCloseV3", (handle,), {}, name)

def TensorArrayConcat(handle: Operand, flow_in: Operand, *, dtype: DTypeLike, element_shape_except0: ShapeLike = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """handle:string& flow_in:float -> value:dtype lengths:int64"""
    return many("TensorArrayConcat", (handle, flow_in,), {"dtype": dtype, "element_shape_except0": element_shape_except0}, name)

def TensorArrayConcatV2(handle: Operand, flow_in: Operand, *, dtype: DTypeLike, element_shape_except0: ShapeLike = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """handle:string flow_in:float -> value:dtype lengths:int64"""
    return many("TensorArrayConcatV2", (handle, flow_in,), {"dtype": dtype, "element_shape_except0": element_shape_except0}, name)

def TensorArrayConcatV3(handle: Operand, flow_in: Operand, *, dtype: DTypeLike, element_shape_except0: ShapeLike = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """handle:resource flow_in:float -> value:dtype lengths:int64"""
    return many("TensorArrayConcatV3", (handle, flow_in,), {"dtype": dtype, "element_shape_except0": element_shape_except0}, name)

def TensorArrayGather(handle: Operand, indices: Operand, flow_in: Operand, *, dtype: DTypeLike, element_shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """handle:string& indices:int32 flow_in:float -> value:dtype"""
    return one("TensorArrayGather", (handle, indices, flow_in,), {"dtype": dtype, "element_shape": element_shape}, name)

def TensorArrayGatherV2(handle: Operand, indices: Operand, flow_in: Operand, *, dtype: DTypeLike, element_shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """handle:string indices:int32 flow_in:float -> value:dtype"""
    return one("TensorArrayGatherV2", (handle, indices, flow_in,), {"dtype": dtype, "element_shape": element_shape}, name)

def TensorArrayGatherV3(handle: Operand, indices: Operand, flow_in: Operand, *, dtype: DTypeLike, element_shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """handle:resource indices:int32 flow_in:float -> value:dtype"""
    return one("TensorArrayGatherV3", (handle, indices, flow_in,), {"dtype": dtype, "element_shape": element_shape}, name)

def TensorArrayGrad(handle: Operand, flow_in: Operand, *, source: str | bytes, name: str | None = None) -> Tensor:
    """handle:string& flow_in:float -> grad_handle:string&"""
    return one("TensorArrayGrad", (handle, flow_in,), {"source": source}, name)

def TensorArrayGradV2(handle: Operand, flow_in: Operand, *, source: str | bytes, name: str | None = None) -> Tensor:
    """handle:string flow_in:float -> grad_handle:string"""
    return one("TensorArrayGradV2", (handle, flow_in,), {"source": source}, name)

def TensorArrayGradV3(handle: Operand, flow_in: Operand, *, source: str | bytes, name: str | None = None) -> tuple[Tensor, Tensor]:
    """handle:resource flow_in:float -> grad_handle:resource flow_out:float"""
    return many("TensorArrayGradV3", (handle, flow_in,), {"source": source}, name)

def TensorArrayGradWithShape(handle: Operand, flow_in: Operand, shape_to_prepend: Operand, *, source: str | bytes, name: str | None = None) -> tuple[Tensor, Tensor]:
    """handle:resource flow_in:float shape_to_prepend:int32 -> grad_handle:resource flow_out:float"""
    return many("TensorArrayGradWithShape", (handle, flow_in, shape_to_prepend,), {"source": source}, name)

def TensorArrayPack(handle: Operand, flow_in: Operand, *, dtype: DTypeLike, element_shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """handle:string& flow_in:float -> value:dtype"""
    return one("TensorArrayPack", (handle, flow_in,), {"dtype": dtype, "element_shape": element_shape}, name)

def TensorArrayRead(handle: Operand, index: Operand, flow_in: Operand, *, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """handle:string& index:int32 flow_in:float -> value:dtype"""
    return one("TensorArrayRead", (handle, index, flow_in,), {"dtype": dtype}, name)

def TensorArrayReadV2(handle: Operand, index: Operand, flow_in: Operand, *, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """handle:string index:int32 flow_in:float -> value:dtype"""
    return one("TensorArrayReadV2", (handle, index, flow_in,), {"dtype": dtype}, name)

def TensorArrayReadV3(handle: Operand, index: Operand, flow_in: Operand, *, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """handle:resource index:int32 flow_in:float -> value:dtype"""
    return one("TensorArrayReadV3", (handle, index, flow_in,), {"dtype": dtype}, name)

def TensorArrayScatter(handle: Operand, indices: Operand, value: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& indices:int32 value:T flow_in:float -> flow_out:float"""
    return one("TensorArrayScatter", (handle, indices, value, flow_in,), {}, name)

def TensorArrayScatterV2(handle: Operand, indices: Operand, value: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:string indices:int32 value:T flow_in:float -> flow_out:float"""
    return one("TensorArrayScatterV2", (handle, indices, value, flow_in,), {}, name)

def TensorArrayScatterV3(handle: Operand, indices: Operand, value: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:resource indices:int32 value:T flow_in:float -> flow_out:float"""
    return one("TensorArrayScatterV3", (handle, indices, value, flow_in,), {}, name)

def TensorArraySize(handle: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& flow_in:float -> size:int32"""
    return one("TensorArraySize", (handle, flow_in,), {}, name)

def TensorArraySizeV2(handle: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:string flow_in:float -> size:int32"""
    return one("TensorArraySizeV2", (handle, flow_in,), {}, name)

def TensorArraySizeV3(handle: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:resource flow_in:float -> size:int32"""
    return one("TensorArraySizeV3", (handle, flow_in,), {}, name)

def TensorArraySplit(handle: Operand, value: Operand, lengths: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& value:T lengths:int64 flow_in:float -> flow_out:float"""
    return one("TensorArraySplit", (handle, value, lengths, flow_in,), {}, name)

def TensorArraySplitV2(handle: Operand, value: Operand, lengths: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:string value:T lengths:int64 flow_in:float -> flow_out:float"""
    return one("TensorArraySplitV2", (handle, value, lengths, flow_in,), {}, name)

def TensorArraySplitV3(handle: Operand, value: Operand, lengths: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:resource value:T lengths:int64 flow_in:float -> flow_out:float"""
    return one("TensorArraySplitV3", (handle, value, lengths, flow_in,), {}, name)

def TensorArrayUnpack(handle: Operand, value: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& value:T flow_in:float -> flow_out:float"""
    return one("TensorArrayUnpack", (handle, value, flow_in,), {}, name)

def TensorArrayV2(size: Operand, *, dtype: DTypeLike, element_shape: ShapeLike = None, dynamic_size: bool = False, clear_after_read: bool = True, tensor_array_name: str | bytes = '', name: str | None = None) -> Tensor:
    """size:int32 -> handle:string"""
    return one("TensorArrayV2", (size,), {"dtype": dtype, "element_shape": element_shape, "dynamic_size": dynamic_size, "clear_after_read": clear_after_read, "tensor_array_name": tensor_array_name}, name)

def TensorArrayV3(size: Operand, *, dtype: DTypeLike, element_shape: ShapeLike = None, dynamic_size: bool = False, clear_after_read: bool = True, identical_element_shapes: bool = False, tensor_array_name: str | bytes = '', name: str | None = None) -> tuple[Tensor, Tensor]:
    """size:int32 -> handle:resource flow:float"""
    return many("TensorArrayV3", (size,), {"dtype": dtype, "element_shape": element_shape, "dynamic_size": dynamic_size, "clear_after_read": clear_after_read, "identical_element_shapes": identical_element_shapes, "tensor_array_name": tensor_array_name}, name)

def TensorArrayWrite(handle: Operand, index: Operand, value: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:string& index:int32 value:T flow_in:float -> flow_out:float"""
    return one("TensorArrayWrite", (handle, index, value, flow_in,), {}, name)

def TensorArrayWriteV2(handle: Operand, index: Operand, value: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:string index:int32 value:T flow_in:float -> flow_out:float"""
    return one("TensorArrayWriteV2", (handle, index, value, flow_in,), {}, name)

def TensorArrayWriteV3(handle: Operand, index: Operand, value: Operand, flow_in: Operand, *, name: str | None = None) -> Tensor:
    """handle:resource index:int32 value:T flow_in:float -> flow_out:float"""
    return one("TensorArrayWriteV3", (handle, index, value, flow_in,), {}, name)

def TensorDataset(components: Operands, *, output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """components:[Toutput_types] -> handle:variant"""
    return one("TensorDataset", (components,), {"output_shapes": output_shapes, "metadata": metadata}, name)

def TensorListConcat(input_handle: Operand, *, element_dtype: DTypeLike, element_shape: ShapeLike = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input_handle:variant -> tensor:element_dtype lengths:int64"""
    return many("TensorListConcat", (input_handle,), {"element_dtype": element_dtype, "element_shape": element_shape}, name)

def TensorListConcatLists(input_a: Operand, input_b: Operand, *, element_dtype: DTypeLike, name: str | None = None) -> Tensor:
    """input_a:variant input_b:variant -> output:variant"""
    return one("TensorListConcatLists", (input_a, input_b,), {"element_dtype": element_dtype}, name)

def TensorListConcatV2(input_handle: Operand, element_shape: Operand, leading_dims: Operand, *, element_dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input_handle:variant element_shape:shape_type leading_dims:int64 -> tensor:element_dtype lengths:int64"""
    return many("TensorListConcatV2", (input_handle, element_shape, leading_dims,), {"element_dtype": element_dtype}, name)

def TensorListElementShape(input_handle: Operand, *, shape_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """input_handle:variant -> element_shape:shape_type"""
    return one("TensorListElementShape", (input_handle,), {"shape_type": shape_type}, name)

def TensorListFromTensor(tensor: Operand, element_shape: Operand, *, element_dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """tensor:element_dtype element_shape:shape_type -> output_handle:variant"""
    return one("TensorListFromTensor", (tensor, element_shape,), {"element_dtype": element_dtype}, name)

def TensorListGather(input_handle: Operand, indices: Operand, element_shape: Operand, *, element_dtype: DTypeLike, name: str | None = None) -> Tensor:
    """input_handle:variant indices:int32 element_shape:int32 -> values:element_dtype"""
    return one("TensorListGather", (input_handle, indices, element_shape,), {"element_dtype": element_dtype}, name)

def TensorListGetItem(input_handle: Operand, index: Operand, element_shape: Operand, *, element_dtype: DTypeLike, name: str | None = None) -> Tensor:
    """input_handle:variant index:int32 element_shape:Tshape -> item:element_dtype"""
    return one("TensorListGetItem", (input_handle, index, element_shape,), {"element_dtype": element_dtype}, name)

def TensorListLength(input_handle: Operand, *, name: str | None = None) -> Tensor:
    """input_handle:variant -> length:int32"""
    return one("TensorListLength", (input_handle,), {}, name)

def TensorListPopBack(input_handle: Operand, element_shape: Operand, *, element_dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input_handle:variant element_shape:int32 -> output_handle:variant tensor:element_dtype"""
    return many("TensorListPopBack", (input_handle, element_shape,), {"element_dtype": element_dtype}, name)

def TensorListPushBack(input_handle: Operand, tensor: Operand, *, element_dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """input_handle:variant tensor:element_dtype -> output_handle:variant"""
    return one("TensorListPushBack", (input_handle, tensor,), {"element_dtype": element_dtype}, name)

def TensorListPushBackBatch(input_handles: Operand, tensor: Operand, *, element_dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """input_handles:variant tensor:element_dtype -> output_handles:variant"""
    return one("TensorListPushBackBatch", (input_handles, tensor,), {"element_dtype": element_dtype}, name)

def TensorListReserve(element_shape: Operand, num_elements: Operand, *, element_dtype: DTypeLike, name: str | None = None) -> Tensor:
    """element_shape:shape_type num_elements:int32 -> handle:variant"""
    return one("TensorListReserve", (element_shape, num_elements,), {"element_dtype": element_dtype}, name)

def TensorListResize(input_handle: Operand, size: Operand, *, name: str | None = None) -> Tensor:
    """input_handle:variant size:int32 -> output_handle:variant"""
    return one("TensorListResize", (input_handle, size,), {}, name)

def TensorListScatter(tensor: Operand, indices: Operand, element_shape: Operand, *, element_dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """tensor:element_dtype indices:int32 element_shape:shape_type -> output_handle:variant"""
    return one("TensorListScatter", (tensor, indices, element_shape,), {"element_dtype": element_dtype}, name)

def TensorListScatterIntoExistingList(input_handle: Operand, tensor: Operand, indices: Operand, *, element_dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """input_handle:variant tensor:element_dtype indices:int32 -> output_handle:variant"""
    return one("TensorListScatterIntoExistingList", (input_handle, tensor, indices,), {"element_dtype": element_dtype}, name)

def TensorListScatterV2(tensor: Operand, indices: Operand, element_shape: Operand, num_elements: Operand, *, element_dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """tensor:element_dtype indices:int32 element_shape:shape_type num_elements:int32 -> output_handle:variant"""
    return one("TensorListScatterV2", (tensor, indices, element_shape, num_elements,), {"element_dtype": element_dtype}, name)

def TensorListSetItem(input_handle: Operand, index: Operand, item: Operand, *, element_dtype: DTypeLike | None = None, resize_if_index_out_of_bounds: bool = False, name: str | None = None) -> Tensor:
    """input_handle:variant index:int32 item:element_dtype -> output_handle:variant"""
    return one("TensorListSetItem", (input_handle, index, item,), {"element_dtype": element_dtype, "resize_if_index_out_of_bounds": resize_if_index_out_of_bounds}, name)

def TensorListSplit(tensor: Operand, element_shape: Operand, lengths: Operand, *, element_dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """tensor:element_dtype element_shape:shape_type lengths:int64 -> output_handle:variant"""
    return one("TensorListSplit", (tensor, element_shape, lengths,), {"element_dtype": element_dtype}, name)

def TensorListStack(input_handle: Operand, element_shape: Operand, *, element_dtype: DTypeLike, num_elements: int = -1, name: str | None = None) -> Tensor:
    """input_handle:variant element_shape:int32 -> tensor:element_dtype"""
    return one("TensorListStack", (input_handle, element_shape,), {"element_dtype": element_dtype, "num_elements": num_elements}, name)

def TensorScatterAdd(tensor: Operand, indices: Operand, updates: Operand, *, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """tensor:T indices:Tindices updates:T -> output:T"""
    return one("TensorScatterAdd", (tensor, indices, updates,), {"bad_indices_policy": bad_indices_policy}, name)

def TensorScatterMax(tensor: Operand, indices: Operand, updates: Operand, *, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """tensor:T indices:Tindices updates:T -> output:T"""
    return one("TensorScatterMax", (tensor, indices, updates,), {"bad_indices_policy": bad_indices_policy}, name)

def TensorScatterMin(tensor: Operand, indices: Operand, updates: Operand, *, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """tensor:T indices:Tindices updates:T -> output:T"""
    return one("TensorScatterMin", (tensor, indices, updates,), {"bad_indices_policy": bad_indices_policy}, name)

def TensorScatterSub(tensor: Operand, indices: Operand, updates: Operand, *, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """tensor:T indices:Tindices updates:T -> output:T"""
    return one("TensorScatterSub", (tensor, indices, updates,), {"bad_indices_policy": bad_indices_policy}, name)

def TensorScatterUpdate(tensor: Operand, indices: Operand, updates: Operand, *, bad_indices_policy: str | bytes = '', name: str | None = None) -> Tensor:
    """tensor:T indices:Tindices updates:T -> output:T"""
    return one("TensorScatterUpdate", (tensor, indices, updates,), {"bad_indices_policy": bad_indices_policy}, name)

def TensorSliceDataset(components: Operands, *, output_shapes: Sequence[ShapeLike], is_files: bool = False, metadata: str | bytes = '', replicate_on_split: bool = False, name: str | None = None) -> Tensor:
    """components:[Toutput_types] -> handle:variant"""
    return one("TensorSliceDataset", (components,), {"output_shapes": output_shapes, "is_files": is_files, "metadata": metadata, "replicate_on_split": replicate_on_split}, name)

def TensorSummary(tensor: Operand, *, description: str | bytes = '', labels: Sequence[str | bytes] = (), display_name: str | bytes = '', name: str | None = None) -> Tensor:
    """tensor:T -> summary:string"""
    return one("TensorSummary", (tensor,), {"description": description, "labels": labels, "display_name": display_name}, name)

def TensorSummaryV2(tag: Operand, tensor: Operand, serialized_summary_metadata: Operand, *, name: str | None = None) -> Tensor:
    """tag:string tensor:T serialized_summary_metadata:string -> summary:string"""
    return one("TensorSummaryV2", (tag, tensor, serialized_summary_metadata,), {}, name)

def TextLineDataset(filenames: Operand, compression_type: Operand, buffer_size: Operand, *, metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """filenames:string compression_type:string buffer_size:int64 -> handle:variant"""
    return one("TextLineDataset", (filenames, compression_type, buffer_size,), {"metadata": metadata}, name)

def TextLineReader(*, skip_header_lines: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:string&"""
    return one("TextLineReader", (), {"skip_header_lines": skip_header_lines, "container": container, "shared_name": shared_name}, name)

def TextLineReaderV2(*, skip_header_lines: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:resource"""
    return one("TextLineReaderV2", (), {"skip_header_lines": skip_header_lines, "container": container, "shared_name": shared_name}, name)

def Tile(input: Operand, multiples: Operand, *, name: str | None = None) -> Tensor:
    """input:T multiples:Tmultiples -> output:T"""
    return one("Tile", (input, multiples,), {}, name)

def TileGrad(input: Operand, multiples: Operand, *, name: str | None = None) -> Tensor:
    """input:T multiples:int32 -> output:T"""
    return one("TileGrad", (input, multiples,), {}, name)

def Timestamp(*, name: str | None = None) -> Tensor:
    """-> ts:double"""
    return one("Timestamp", (), {}, name)

def ToBool(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> output:bool"""
    return one("ToBool", (input,), {}, name)

def TopK(input: Operand, *, k: int, sorted: bool = True, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:T -> values:T indices:int32"""
    return many("TopK", (input,), {"k": k, "sorted": sorted}, name)

def TopKV2(input: Operand, k: Operand, *, sorted: bool = True, index_type: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:T k:Tk -> values:T indices:index_type"""
    return many("TopKV2", (input, k,), {"sorted": sorted, "index_type": index_type}, name)

def Transpose(x: Operand, perm: Operand, *, name: str | None = None) -> Tensor:
    """x:T perm:Tperm -> y:T"""
    return one("Transpose", (x, perm,), {}, name)

def TridiagonalMatMul(superdiag: Operand, maindiag: Operand, subdiag: Operand, rhs: Operand, *, name: str | None = None) -> Tensor:
    """superdiag:T maindiag:T subdiag:T rhs:T -> output:T"""
    return one("TridiagonalMatMul", (superdiag, maindiag, subdiag, rhs,), {}, name)

def TridiagonalSolve(diagonals: Operand, rhs: Operand, *, partial_pivoting: bool = True, perturb_singular: bool = False, name: str | None = None) -> Tensor:
    """diagonals:T rhs:T -> output:T"""
    return one("TridiagonalSolve", (diagonals, rhs,), {"partial_pivoting": partial_pivoting, "perturb_singular": perturb_singular}, name)

def TruncateDiv(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("TruncateDiv", (x, y,), {}, name)

def TruncateMod(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("TruncateMod", (x, y,), {}, name)

def TruncatedNormal(shape: Operand, *, seed: int = 0, seed2: int = 0, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """shape:T -> output:dtype"""
    return one("TruncatedNormal", (shape,), {"seed": seed, "seed2": seed2, "dtype": dtype}, name)

def UnbatchDataset(input_dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant -> handle:variant"""
    return one("UnbatchDataset", (input_dataset,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def UnicodeDecode(input: Operand, *, input_encoding: str | bytes, errors: str | bytes = 'replace', replacement_char: int = 65533, replace_control_characters: bool = False, Tsplits: DTypeLike = int64, name: str | None = None) -> tuple[Tensor, Tensor]:
    """input:string -> row_splits:Tsplits char_values:int32"""
    return many("UnicodeDecode", (input,), {"input_encoding": input_encoding, "errors": errors, "replacement_char": replacement_char, "replace_control_characters": replace_control_characters, "Tsplits": Tsplits}, name)

def UnicodeDecodeWithOffsets(input: Operand, *, input_encoding: str | bytes, errors: str | bytes = 'replace', replacement_char: int = 65533, replace_control_characters: bool = False, Tsplits: DTypeLike = int64, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """input:string -> row_splits:Tsplits char_values:int32 char_to_byte_starts:int64"""
    return many("UnicodeDecodeWithOffsets", (input,), {"input_encoding": input_encoding, "errors": errors, "replacement_char": replacement_char, "replace_control_characters": replace_control_characters, "Tsplits": Tsplits}, name)

def UnicodeEncode(input_values: Operand, input_splits: Operand, *, output_encoding: str | bytes, errors: str | bytes = 'replace', replacement_char: int = 65533, name: str | None = None) -> Tensor:
    """input_values:int32 input_splits:Tsplits -> output:string"""
    return one("UnicodeEncode", (input_values, input_splits,), {"output_encoding": output_encoding, "errors": errors, "replacement_char": replacement_char}, name)

def UnicodeTranscode(input: Operand, *, input_encoding: str | bytes = 'UTF-8', output_encoding: str | bytes = 'UTF-8', errors: str | bytes = 'replace', replacement_char: int = 65533, replace_control_characters: bool = False, name: str | None = None) -> Tensor:
    """input:string -> output:string"""
    return one("UnicodeTranscode", (input,), {"input_encoding": input_encoding, "output_encoding": output_encoding, "errors": errors, "replacement_char": replacement_char, "replace_control_characters": replace_control_characters}, name)

def UniformCandidateSampler(true_classes: Operand, *, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int = 0, seed2: int = 0, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """true_classes:int64 -> sampled_candidates:int64 true_expected_count:float sampled_expected_count:float"""
    return many("UniformCandidateSampler", (true_classes,), {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max, "seed": seed, "seed2": seed2}, name)

def Unique(x: Operand, *, out_idx: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """x:T -> y:T idx:out_idx"""
    return many("Unique", (x,), {"out_idx": out_idx}, name)

def UniqueDataset(input_dataset: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant -> handle:variant"""
    return one("UniqueDataset", (input_dataset,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def UniqueV2(x: Operand, axis: Operand, *, out_idx: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor]:
    """x:T axis:Taxis -> y:T idx:out_idx"""
    return many("UniqueV2", (x, axis,), {"out_idx": out_idx}, name)

def UniqueWithCounts(x: Operand, *, out_idx: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """x:T -> y:T idx:out_idx count:out_idx"""
    return many("UniqueWithCounts", (x,), {"out_idx": out_idx}, name)

def UniqueWithCountsV2(x: Operand, axis: Operand, *, out_idx: DTypeLike = int32, name: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """x:T axis:Taxis -> y:T idx:out_idx count:out_idx"""
    return many("UniqueWithCountsV2", (x, axis,), {"out_idx": out_idx}, name)

def Unpack(value: Operand, *, num: int, axis: int = 0, name: str | None = None) -> list[Tensor]:
    """value:T -> output:T*num"""
    return many("Unpack", (value,), {"num": num, "axis": axis}, name)

def UnravelIndex(indices: Operand, dims: Operand, *, name: str | None = None) -> Tensor:
    """indices:Tidx dims:Tidx -> output:Tidx"""
    return one("UnravelIndex", (indices, dims,), {}, name)

def UnsortedSegmentJoin(inputs: Operand, segment_ids: Operand, num_segments: Operand, *, separator: str | bytes = '', name: str | None = None) -> Tensor:
    """inputs:string segment_ids:Tindices num_segments:Tnumsegments -> output:string"""
    return one("UnsortedSegmentJoin", (inputs, segment_ids, num_segments,), {"separator": separator}, name)

def UnsortedSegmentMax(data: Operand, segment_ids: Operand, num_segments: Operand, *, name: str | None = None) -> Tensor:
    """data:T segment_ids:Tindices num_segments:Tnumsegments -> output:T"""
    return one("UnsortedSegmentMax", (data, segment_ids, num_segments,), {}, name)

def UnsortedSegmentMin(data: Operand, segment_ids: Operand, num_segments: Operand, *, name: str | None = None) -> Tensor:
    """data:T segment_ids:Tindices num_segments:Tnumsegments -> output:T"""
    return one("UnsortedSegmentMin", (data, segment_ids, num_segments,), {}, name)

def UnsortedSegmentProd(data: Operand, segment_ids: Operand, num_segments: Operand, *, name: str | None = None) -> Tensor:
    """data:T segment_ids:Tindices num_segments:Tnumsegments -> output:T"""
    return one("UnsortedSegmentProd", (data, segment_ids, num_segments,), {}, name)

def UnsortedSegmentSum(data: Operand, segment_ids: Operand, num_segments: Operand, *, name: str | None = None) -> Tensor:
    """data:T segment_ids:Tindices num_segments:Tnumsegments -> output:T"""
    return one("UnsortedSegmentSum", (data, segment_ids, num_segments,), {}, name)

def Unstage(*, dtypes: Sequence[DTypeLike], capacity: int = 0, memory_limit: int = 0, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> list[Tensor]:
    """-> values:[dtypes]"""
    return many("Unstage", (), {"dtypes": dtypes, "capacity": capacity, "memory_limit": memory_limit, "container": container, "shared_name": shared_name}, name)

def UnwrapDatasetVariant(input_handle: Operand, *, name: str | None = None) -> Tensor:
    """input_handle:variant -> output_handle:variant"""
    return one("UnwrapDatasetVariant", (input_handle,), {}, name)

def UpperBound(sorted_inputs: Operand, values: Operand, *, out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """sorted_inputs:T values:T -> output:out_type"""
    return one("UpperBound", (sorted_inputs, values,), {"out_type": out_type}, name)

def VarHandleOp(*, dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """-> resource:resource"""
    return one("VarHandleOp", (), {"dtype": dtype, "container": container, "shared_name": shared_name, "shape": shape}, name)

def VarIsInitializedOp(resource: Operand, *, dtype: DTypeLike | None = None, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """resource:resource -> is_initialized:bool"""
    return one("VarIsInitializedOp", (resource,), {"dtype": dtype, "shape": shape}, name)

def Variable(*, shape: ShapeLike, dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> ref:dtype&"""
    return one("Variable", (), {"shape": shape, "dtype": dtype, "container": container, "shared_name": shared_name}, name)

def VariableShape(input: Operand, *, dtype: DTypeLike | None = None, out_type: DTypeLike = int32, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """input:resource -> output:out_type"""
    return one("VariableShape", (input,), {"dtype": dtype, "out_type": out_type, "shape": shape}, name)

def VariableV2(*, shape: ShapeLike, dtype: DTypeLike, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> ref:dtype&"""
    return one("VariableV2", (), {"shape": shape, "dtype": dtype, "container": container, "shared_name": shared_name}, name)

def Where(input: Operand, *, name: str | None = None) -> Tensor:
    """input:T -> index:int64"""
    return one("Where", (input,), {}, name)

def While(input: Operands, *, cond: Value, body: Value, name: str | None = None) -> list[Tensor]:
    """input:[T] -> output:[T]"""
    return many("While", (input,), {"cond": cond, "body": body}, name)

def WholeFileReader(*, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:string&"""
    return one("WholeFileReader", (), {"container": container, "shared_name": shared_name}, name)

def WholeFileReaderV2(*, container: str | bytes = '', shared_name: str | bytes = '', name: str | None = None) -> Tensor:
    """-> reader_handle:resource"""
    return one("WholeFileReaderV2", (), {"container": container, "shared_name": shared_name}, name)

def WindowDataset(input_dataset: Operand, size: Operand, shift: Operand, stride: Operand, drop_remainder: Operand, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_dataset:variant size:int64 shift:int64 stride:int64 drop_remainder:bool -> handle:variant"""
    return one("WindowDataset", (input_dataset, size, shift, stride, drop_remainder,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)

def WrapDatasetVariant(input_handle: Operand, *, name: str | None = None) -> Tensor:
    """input_handle:variant -> output_handle:variant"""
    return one("WrapDatasetVariant", (input_handle,), {}, name)

def WriteFile(filename: Operand, contents: Operand, *, name: str | None = None) -> Operation:
    """filename:string contents:string ->"""
    return node("WriteFile", (filename, contents,), {}, name)

def Xdivy(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Xdivy", (x, y,), {}, name)

def Xlog1py(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Xlog1py", (x, y,), {}, name)

def Xlogy(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """x:T y:T -> z:T"""
    return one("Xlogy", (x, y,), {}, name)

def ZerosLike(x: Operand, *, name: str | None = None) -> Tensor:
    """x:T -> y:T"""
    return one("ZerosLike", (x,), {}, name)

def Zeta(x: Operand, q: Operand, *, name: str | None = None) -> Tensor:
    """x:T q:T -> z:T"""
    return one("Zeta", (x, q,), {}, name)

def ZipDataset(input_datasets: Operands, *, output_types: Sequence[DTypeLike], output_shapes: Sequence[ShapeLike], metadata: str | bytes = '', name: str | None = None) -> Tensor:
    """input_datasets:variant*N -> handle:variant"""
    return one("ZipDataset", (input_datasets,), {"output_types": output_types, "output_shapes": output_shapes, "metadata": metadata}, name)
