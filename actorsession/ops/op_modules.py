# Written by scripts/generated.py.
"""Which file registers each operation type."""

from __future__ import annotations

__all__ = ["EXTENSION_MODULES", "OP_MODULES"]

_TYPES = {
    "ops.arrays.array": "Identity StopGradient",
    "ops.arrays.batch_blocks": "BatchToSpaceND SpaceToBatchND",
    "ops.arrays.depth_blocks": "DepthToSpace SpaceToDepth",
    "ops.arrays.dimensions": "Rank Shape Size",
    "ops.arrays.fills": "Fill OnesLike Range ZerosLike",
    "ops.arrays.gather": "GatherNd GatherV2",
    "ops.arrays.grids": "BroadcastArgs ParallelConcat",
    "ops.arrays.joining": "ConcatOffset ConcatV2 Pack Unpack",
    "ops.arrays.layout": "InvertPermutation Pad PadV2 Tile Transpose",
    "ops.arrays.linspace": "LinSpace",
    "ops.arrays.mirroring": "MirrorPad MirrorPadGrad",
    "ops.arrays.partitions": "DynamicPartition DynamicStitch ParallelDynamicStitch",
    "ops.arrays.pass_through": "EnsureShape GuaranteeConst IdentityN ShapeN",
    "ops.arrays.placeholder": "Placeholder PlaceholderWithDefault",
    "ops.arrays.reversal": "ReverseSequence ReverseV2 Roll",
    "ops.arrays.scatter": "OneHot ScatterNd UnsortedSegmentSum",
    "ops.arrays.shape": "BroadcastTo ExpandDims Reshape Squeeze",
    "ops.arrays.slicing": "Slice",
    "ops.arrays.splitting": "Split SplitV",
    "ops.arrays.strided": "StridedSlice StridedSliceGrad",
    "ops.arrays.tensor_scatter": (
        "TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate"
    ),
    "ops.arrays.unravelling": "UnravelIndex",
    "ops.broadcasting": "BroadcastGradientArgs",
    "ops.build": "Const",
    "ops.convolutions.depthwise_nodes": (
        "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter "
        "DepthwiseConv2dNativeBackpropInput"
    ),
    "ops.convolutions.dilation": "Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput",
    "ops.convolutions.fractional_pooling": (
        "FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool FractionalMaxPoolGrad"
    ),
    "ops.convolutions.fused": (
        "FusedPadConv2D FusedResizeAndPadConv2D _FusedConv2D _FusedDepthwiseConv2dNative"
    ),
    "ops.convolutions.nodes": (
        "Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 "
        "Conv3DBackpropInputV2"
    ),
    "ops.convolutions.pooling_argmax": "MaxPoolGradWithArgmax MaxPoolWithArgmax",
    "ops.convolutions.pooling_nodes": (
        "AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad MaxPool MaxPool3D MaxPool3DGrad "
        "MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad"
    ),
    "ops.convolutions.pooling_sized": "MaxPoolGradGradV2 MaxPoolGradV2 MaxPoolV2",
    "ops.elements.arithmetic": "Add AddN AddV2 Maximum Minimum Mul Pow SquaredDifference Sub",
    "ops.elements.bitwise": (
        "BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift PopulationCount RightShift"
    ),
    "ops.elements.cast": "Cast",
    "ops.elements.clip": "ClipByValue",
    "ops.elements.comparison": (
        "Equal Greater GreaterEqual IsFinite IsInf IsNan Less LessEqual LogicalAnd LogicalNot "
        "LogicalOr NotEqual"
    ),
    "ops.elements.complex_numbers": "Angle Complex ComplexAbs Imag Real",
    "ops.elements.division": "Div FloorDiv FloorMod RealDiv TruncateDiv TruncateMod",
    "ops.elements.elementwise": (
        "Abs Ceil Conj Cos Exp Expm1 Floor Inv InvGrad Log Log1p Neg Reciprocal ReciprocalGrad "
        "Round Rsqrt RsqrtGrad Sign Sin Sqrt SqrtGrad Square Tan"
    ),
    "ops.elements.error_functions": "Erf Erfc Erfinv Ndtri",
    "ops.elements.nearness": "ApproximateEqual NextAfter Rint",
    "ops.elements.quotients": "DivNoNan MulNoNan Xdivy Xlog1py Xlogy",
    "ops.elements.recast": "Bitcast",
    "ops.elements.selection": "Select SelectV2 Where",
    "ops.elements.trigonometry": "Acos Acosh Asin Asinh Atan Atan2 Atanh Cosh Sinh",
    "ops.flow.assertions": "Assert CheckNumerics CheckNumericsV2 Print",
    "ops.flow.calls": "PartitionedCall RemoteCall StatefulPartitionedCall SymbolicGradient",
    "ops.flow.constructs": "If StatelessIf StatelessWhile While",
    "ops.flow.control": "NoOp Timestamp ToBool",
    "ops.flow.dataflow": (
        "ControlTrigger Enter Exit LoopCond Merge NextIteration RefEnter RefExit RefIdentity "
        "RefMerge RefNextIteration RefSwitch Switch _SwitchN"
    ),
    "ops.flow.script": "AsyncPyFunc PyFunc PyFuncStateless",
    "ops.linear.determinants": "LogMatrixDeterminant MatrixDeterminant",
    "ops.linear.diagonals": "Diag DiagPart MatrixBandPart",
    "ops.linear.einsum": "Einsum",
    "ops.linear.factorisations": "BatchCholeskyGrad Cholesky CholeskyGrad Lu Qr",
    "ops.linear.least_squares": "MatrixSolveLs",
    "ops.linear.matmul": "BatchMatMul BatchMatMulV2 BatchMatMulV3 MatMul",
    "ops.linear.matrix_diagonals": "MatrixDiagPartV3 MatrixDiagV3 MatrixSetDiagV3",
    "ops.linear.matrix_functions": "MatrixLogarithm MatrixSquareRoot",
    "ops.linear.products": "Cross",
    "ops.linear.solving": "MatrixInverse MatrixSolve MatrixTriangularSolve",
    "ops.linear.spectra": "SelfAdjointEigV2 Svd",
    "ops.linear.transposition": "ConjugateTranspose",
    "ops.linear.tridiagonal": "TridiagonalMatMul TridiagonalSolve",
    "ops.lists.array_nodes": (
        "Stack StackClose StackCloseV2 StackPop StackPopV2 StackPush StackPushV2 StackV2 "
        "TensorArray TensorArrayClose TensorArrayCloseV2 TensorArrayCloseV3 TensorArrayConcat "
        "TensorArrayConcatV2 TensorArrayConcatV3 TensorArrayGather TensorArrayGatherV2 "
        "TensorArrayGatherV3 TensorArrayGrad TensorArrayGradV2 TensorArrayGradV3 "
        "TensorArrayGradWithShape TensorArrayPack TensorArrayRead TensorArrayReadV2 "
        "TensorArrayReadV3 TensorArrayScatter TensorArrayScatterV2 TensorArrayScatterV3 "
        "TensorArraySize TensorArraySizeV2 TensorArraySizeV3 TensorArraySplit TensorArraySplitV2 "
        "TensorArraySplitV3 TensorArrayUnpack TensorArrayV2 TensorArrayV3 TensorArrayWrite "
        "TensorArrayWriteV2 TensorArrayWriteV3"
    ),
    "ops.lists.blocks": (
        "TensorListFromTensor TensorListGather TensorListScatterIntoExistingList "
        "TensorListScatterV2 TensorListStack"
    ),
    "ops.lists.nodes": (
        "EmptyTensorList TensorListElementShape TensorListGetItem TensorListLength "
        "TensorListPopBack TensorListPushBack TensorListReserve TensorListResize "
        "TensorListSetItem"
    ),
    "ops.lists.parts": (
        "TensorListConcatLists TensorListConcatV2 TensorListPushBackBatch TensorListSplit"
    ),
    "ops.neural.activations": (
        "Elu EluGrad Relu Relu6 Relu6Grad ReluGrad Sigmoid SigmoidGrad Softplus SoftplusGrad Tanh "
        "TanhGrad"
    ),
    "ops.neural.biases": "BiasAdd BiasAddGrad",
    "ops.neural.cross_entropy": "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits",
    "ops.neural.fused": "_FusedBatchNormEx _FusedMatMul",
    "ops.neural.fused_batch_norm": (
        "FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 "
        "FusedBatchNormV2 FusedBatchNormV3"
    ),
    "ops.neural.l2_loss": "L2Loss",
    "ops.neural.lrn": "LRN LRNGrad",
    "ops.neural.rectifiers": "LeakyRelu LeakyReluGrad Selu SeluGrad Softsign SoftsignGrad",
    "ops.neural.softmax": "LogSoftmax Softmax",
    "ops.queues.kernels": (
        "FIFOQueueV2 PaddingFIFOQueueV2 PriorityQueueV2 QueueCloseV2 QueueDequeueManyV2 "
        "QueueDequeueUpToV2 QueueDequeueV2 QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosedV2 "
        "QueueSizeV2 RandomShuffleQueueV2 RefSelect"
    ),
    "ops.randomness.keyed": (
        "NonDeterministicInts ParameterizedTruncatedNormal RngReadAndSkip RngSkip "
        "StatefulRandomBinomial StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform "
        "StatefulUniformFullInt StatefulUniformInt StatelessParameterizedTruncatedNormal "
        "StatelessRandomBinomial StatelessRandomGammaV3 StatelessRandomGetAlg "
        "StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomNormalV2 "
        "StatelessRandomUniformFullIntV2 StatelessRandomUniformIntV2 StatelessRandomUniformV2 "
        "StatelessShuffle StatelessTruncatedNormalV2"
    ),
    "ops.randomness.numbers": "RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal",
    "ops.randomness.samples": "Multinomial RandomGamma RandomPoissonV2 RandomShuffle",
    "ops.randomness.stateless": (
        "StatelessMultinomial StatelessRandomGammaV2 StatelessRandomNormal StatelessRandomPoisson "
        "StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformInt "
        "StatelessTruncatedNormal"
    ),
    "ops.reductions.argmax": "ArgMax ArgMin",
    "ops.reductions.cumulative": "Cumprod Cumsum CumulativeLogsumexp",
    "ops.reductions.histograms": "DenseBincount HistogramFixedWidth",
    "ops.reductions.reduction": "All Any EuclideanNorm Max Mean Min Prod ReducedShape Sum",
    "ops.reductions.searching": "Bucketize LowerBound UpperBound",
    "ops.reductions.segments": (
        "SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum UnsortedSegmentMax "
        "UnsortedSegmentMin UnsortedSegmentProd"
    ),
    "ops.reductions.topk": "InTopKV2 TopKV2",
    "ops.reductions.unique": "ListDiff Unique UniqueWithCounts",
    "ops.training.nodes": (
        "ResourceApplyAdam ResourceApplyGradientDescent ResourceApplyMomentum "
        "ResourceSparseApplyMomentum"
    ),
    "ops.training.updates": (
        "ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA "
        "ResourceApplyAdagradV2 ResourceApplyAdamWithAmsgrad ResourceApplyAddSign "
        "ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 "
        "ResourceApplyKerasMomentum ResourceApplyPowerSign ResourceApplyProximalAdagrad "
        "ResourceApplyProximalGradientDescent ResourceApplyRMSProp ResourceSparseApplyAdadelta "
        "ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA ResourceSparseApplyAdagradV2 "
        "ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2 "
        "ResourceSparseApplyKerasMomentum ResourceSparseApplyProximalAdagrad "
        "ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp"
    ),
    "ops.variables.checkpointing": (
        "LoadAndRemapMatrix MergeV2Checkpoints Restore RestoreSlice RestoreV2 Save SaveSlices "
        "SaveV2 ShardedFilename ShardedFilespec"
    ),
    "ops.variables.gathers": "ResourceGather ResourceGatherNd VariableShape",
    "ops.variables.reference_nodes": (
        "ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdam "
        "ApplyAddSign ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 ApplyGradientDescent "
        "ApplyMomentum ApplyPowerSign ApplyProximalAdagrad ApplyProximalGradientDescent "
        "ApplyRMSProp Assign AssignAdd AssignSub CountUpTo DestroyTemporaryVariable "
        "IsVariableInitialized ReferenceHandle ScatterAdd ScatterDiv ScatterMax ScatterMin "
        "ScatterMul ScatterNdAdd ScatterNdMax ScatterNdMin ScatterNdSub ScatterNdUpdate "
        "ScatterSub ScatterUpdate SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA "
        "SparseApplyAdagradV2 SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2 "
        "SparseApplyMomentum SparseApplyProximalAdagrad SparseApplyProximalGradientDescent "
        "SparseApplyRMSProp StridedSliceAssign TemporaryHandle TemporaryVariable Variable "
        "VariableV2"
    ),
    "ops.variables.scatter_updates": (
        "ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul "
        "ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub "
        "ResourceScatterNdUpdate ResourceStridedSliceAssign"
    ),
    "ops.variables.session_ops": "DeleteSessionTensor GetSessionHandle GetSessionTensor",
    "ops.variables.state": (
        "AssignAddVariableOp AssignSubVariableOp AssignVariableOp DisableCopyOnRead "
        "ReadVariableOp ResourceCountUpTo ResourceScatterAdd ResourceScatterSub "
        "ResourceScatterUpdate VarHandleOp VarIsInitializedOp"
    ),
    "opsets.accumulators.accumulators": (
        "AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep "
        "AccumulatorTakeGradient ResourceConditionalAccumulator SparseAccumulatorApplyGradient "
        "SparseAccumulatorTakeGradient SparseConditionalAccumulator"
    ),
    "opsets.arrays.nodes": (
        "Bincount DataFormatDimMap DataFormatVecPermute Empty InplaceAdd InplaceSub InplaceUpdate "
        "NearestNeighbors NthElement UniqueV2 UniqueWithCountsV2"
    ),
    "opsets.collective.nodes": (
        "CollectiveAllToAllV2 CollectiveBcastRecv CollectiveBcastRecvV2 CollectiveBcastSend "
        "CollectiveBcastSendV2 CollectiveGather CollectiveGatherV2 CollectiveReduce "
        "CollectiveReduceScatterV2 CollectiveReduceV2"
    ),
    "opsets.ctc.decoders": "CTCBeamSearchDecoder CTCGreedyDecoder",
    "opsets.ctc.loss": "CTCLoss",
    "opsets.datasets.iterator_nodes": (
        "AnonymousIterator DeserializeIterator DestroyResourceOp Iterator "
        "IteratorFromStringHandle IteratorFromStringHandleV2 IteratorGetNext "
        "IteratorGetNextAsOptional IteratorGetNextSync IteratorToStringHandle IteratorV2 "
        "MakeIterator OneShotIterator OptionalFromValue OptionalGetValue OptionalHasValue "
        "OptionalNone SerializeIterator"
    ),
    "opsets.datasets.nodes": (
        "AssertCardinalityDataset AssertNextDataset BatchDataset BatchDatasetV2 CSVDataset "
        "CSVDatasetV2 CacheDataset CacheDatasetV2 ConcatenateDataset DatasetCardinality "
        "DatasetToSingleElement DenseToSparseBatchDataset DirectedInterleaveDataset "
        "DummyMemoryCache DummySeedGenerator ExperimentalAssertNextDataset "
        "ExperimentalDatasetCardinality ExperimentalDenseToSparseBatchDataset "
        "ExperimentalDirectedInterleaveDataset ExperimentalGroupByReducerDataset "
        "ExperimentalGroupByWindowDataset ExperimentalIgnoreErrorsDataset "
        "ExperimentalMapAndBatchDataset ExperimentalMaxIntraOpParallelismDataset "
        "ExperimentalParallelInterleaveDataset ExperimentalParseExampleDataset "
        "ExperimentalPrivateThreadPoolDataset ExperimentalRandomDataset ExperimentalScanDataset "
        "ExperimentalSlidingWindowDataset ExperimentalTakeWhileDataset ExperimentalUnbatchDataset "
        "ExperimentalUniqueDataset FilterDataset FixedLengthRecordDataset "
        "FixedLengthRecordDatasetV2 FlatMapDataset GeneratorDataset GroupByReducerDataset "
        "GroupByWindowDataset IgnoreErrorsDataset InterleaveDataset "
        "LegacyParallelInterleaveDatasetV2 MapAndBatchDataset MapDataset "
        "MaxIntraOpParallelismDataset ModelDataset NonSerializableDataset OptimizeDataset "
        "OptimizeDatasetV2 OptionsDataset PaddedBatchDataset PaddedBatchDatasetV2 "
        "ParallelBatchDataset ParallelInterleaveDataset ParallelInterleaveDatasetV2 "
        "ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4 ParallelMapDataset "
        "ParallelMapDatasetV2 ParseExampleDataset ParseExampleDatasetV2 PrefetchDataset "
        "PrivateThreadPoolDataset RandomDataset RandomDatasetV2 RangeDataset ReduceDataset "
        "RepeatDataset RewriteDataset ScanDataset ShardDataset ShuffleAndRepeatDataset "
        "ShuffleAndRepeatDatasetV2 ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3 SkipDataset "
        "SlidingWindowDataset SparseTensorSliceDataset TFRecordDataset TFRecordDatasetV2 "
        "TakeDataset TakeWhileDataset TensorDataset TensorSliceDataset TextLineDataset "
        "UnbatchDataset UniqueDataset UnwrapDatasetVariant WindowDataset WrapDatasetVariant "
        "ZipDataset"
    ),
    "opsets.images.boxes": "SampleDistortedBoundingBoxV2",
    "opsets.images.colours": "AdjustContrastv2 AdjustHue AdjustSaturation HSVToRGB RGBToHSV",
    "opsets.images.crops": "CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage",
    "opsets.images.drawing": "DrawBoundingBoxes DrawBoundingBoxesV2",
    "opsets.images.files": "DecodeJpeg DecodePng EncodeJpeg EncodePng",
    "opsets.images.formats": "DecodeAndCropJpeg DecodeBmp DecodeGif DecodeImage ExtractJpegShape",
    "opsets.images.glimpses": "ExtractGlimpse ExtractGlimpseV2",
    "opsets.images.jpeg_quality": "EncodeJpegVariableQuality",
    "opsets.images.patches": "ExtractImagePatches ExtractVolumePatches",
    "opsets.images.projections": "ImageProjectiveTransformV2 ImageProjectiveTransformV3",
    "opsets.images.resizing": (
        "ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad "
        "ResizeNearestNeighbor ResizeNearestNeighborGrad"
    ),
    "opsets.images.suppression": (
        "CombinedNonMaxSuppression NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 "
        "NonMaxSuppressionWithOverlaps"
    ),
    "opsets.images.translations": "ScaleAndTranslate ScaleAndTranslateGrad",
    "opsets.older.arrays": (
        "AccumulateNV2 BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad "
        "BatchToSpace BiasAddV1 Concat Conv3DBackpropFilter Conv3DBackpropInput DeepCopy Gather "
        "InTopK Mod PlaceholderV2 PreventGradient RandomPoisson Reverse ScatterNdNonAliasingAdd "
        "Snapshot SpaceToBatch SparseMatMul TensorListConcat TensorListScatter TileGrad TopK"
    ),
    "opsets.older.images": (
        "AdjustContrast NonMaxSuppression NonMaxSuppressionV2 RandomCrop "
        "SampleDistortedBoundingBox"
    ),
    "opsets.older.linear": (
        "BatchCholesky BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D "
        "BatchMatrixBandPart BatchMatrixDeterminant BatchMatrixDiag BatchMatrixDiagPart "
        "BatchMatrixInverse BatchMatrixSetDiag BatchMatrixSolve BatchMatrixSolveLs "
        "BatchMatrixTriangularSolve BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd MatrixDiag "
        "MatrixDiagPart MatrixDiagPartV2 MatrixDiagV2 MatrixSetDiag MatrixSetDiagV2 "
        "SelfAdjointEig"
    ),
    "opsets.older.parsing": "ParseSequenceExample ParseSingleSequenceExample",
    "opsets.older.state": (
        "ConditionalAccumulator FIFOQueue FixedLengthRecordReader HashTable IdentityReader "
        "InitializeTable InitializeTableFromTextFile LookupTableExport LookupTableFind "
        "LookupTableImport LookupTableInsert LookupTableSize MutableDenseHashTable "
        "MutableHashTable MutableHashTableOfTensors PaddingFIFOQueue PriorityQueue QueueClose "
        "QueueDequeue QueueDequeueMany QueueDequeueUpTo QueueEnqueue QueueEnqueueMany "
        "QueueIsClosed QueueSize RandomShuffleQueue ReaderNumRecordsProduced "
        "ReaderNumWorkUnitsCompleted ReaderRead ReaderReadUpTo ReaderReset ReaderRestoreState "
        "ReaderSerializeState ResourceAccumulatorApplyGradient ResourceAccumulatorNumAccumulated "
        "ResourceAccumulatorSetGlobalStep ResourceAccumulatorTakeGradient TFRecordReader "
        "TextLineReader WholeFileReader"
    ),
    "opsets.parsing.csv": "DecodeCSV",
    "opsets.parsing.example_nodes": "ParseExample ParseExampleV2 ParseSingleExample",
    "opsets.parsing.files": "MatchingFiles ReadFile WriteFile",
    "opsets.parsing.json_examples": "DecodeJSONExample",
    "opsets.parsing.readers": (
        "FixedLengthRecordReaderV2 IdentityReaderV2 ReaderNumRecordsProducedV2 "
        "ReaderNumWorkUnitsCompletedV2 ReaderReadUpToV2 ReaderReadV2 ReaderResetV2 "
        "ReaderRestoreStateV2 ReaderSerializeStateV2 TFRecordReaderV2 TextLineReaderV2 "
        "WholeFileReaderV2"
    ),
    "opsets.parsing.sequence_nodes": "ParseSequenceExampleV2",
    "opsets.parsing.serialized": "DecodeCompressed ParseTensor SerializeTensor",
    "opsets.quantisation.conversions": (
        "Dequantize QuantizeDownAndShrinkRange QuantizeV2 RequantizationRange Requantize"
    ),
    "opsets.quantisation.fake_quant": (
        "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars "
        "FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel "
        "FakeQuantWithMinMaxVarsPerChannelGradient"
    ),
    "opsets.quantisation.neural": (
        "QuantizedAdd QuantizedAvgPool QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd "
        "QuantizedConcat QuantizedConv2D QuantizedMatMul QuantizedMaxPool QuantizedMul "
        "QuantizedRelu QuantizedRelu6 QuantizedReshape"
    ),
    "opsets.quantisation.rounding": (
        "QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 "
        "QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad"
    ),
    "opsets.ragged.counts": (
        "DenseCountSparseOutput RaggedBincount RaggedCountSparseOutput SparseBincount "
        "SparseCountSparseOutput"
    ),
    "opsets.ragged.crosses": "RaggedCross",
    "opsets.ragged.nodes": "RaggedGather RaggedRange RaggedTensorToSparse RaggedTensorToTensor",
    "opsets.ragged.variants": (
        "RaggedTensorFromVariant RaggedTensorToVariant RaggedTensorToVariantGradient"
    ),
    "opsets.recurrent.blocks": (
        "BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 GRUBlockCell GRUBlockCellGrad "
        "LSTMBlockCell LSTMBlockCellGrad"
    ),
    "opsets.sampling.accidental_hits": "ComputeAccidentalHits",
    "opsets.sampling.candidates": (
        "AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler "
        "LogUniformCandidateSampler UniformCandidateSampler"
    ),
    "opsets.sampling.clusters": "KMC2ChainInitialization KmeansPlusPlusInitialization",
    "opsets.signals.audio": "AudioSpectrogram DecodeWav EncodeWav Mfcc",
    "opsets.signals.fourier": (
        "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D"
    ),
    "opsets.sparse.crosses": "SparseCross SparseCrossV2",
    "opsets.sparse.edit_distance": "EditDistance",
    "opsets.sparse.kernels": "SparseReorder SparseTensorDenseMatMul SparseToDense",
    "opsets.sparse.maps": (
        "AddManySparseToTensorsMap AddSparseToTensorsMap TakeManySparseFromTensorsMap"
    ),
    "opsets.sparse.pieces": (
        "SparseReduceMaxSparse SparseReduceSumSparse SparseSparseMaximum SparseSparseMinimum "
        "SparseSplit"
    ),
    "opsets.sparse.rows": (
        "RaggedFillEmptyRows RaggedFillEmptyRowsGrad SparseFillEmptyRows SparseFillEmptyRowsGrad "
        "SparseSoftmax"
    ),
    "opsets.sparse.segments": (
        "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanGradV2 "
        "SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNGrad "
        "SparseSegmentSqrtNGradV2 SparseSegmentSqrtNWithNumSegments SparseSegmentSum "
        "SparseSegmentSumGrad SparseSegmentSumGradV2 SparseSegmentSumWithNumSegments"
    ),
    "opsets.sparse.serialising": (
        "DeserializeManySparse DeserializeSparse SerializeManySparse SerializeSparse"
    ),
    "opsets.sparse.sets": (
        "DenseToDenseSetOperation DenseToSparseSetOperation SetSize SparseToSparseSetOperation"
    ),
    "opsets.sparse.shapes": (
        "SparseConcat SparseReduceMax SparseReduceSum SparseReshape SparseSlice SparseSliceGrad"
    ),
    "opsets.sparse.sums": "SparseAdd SparseAddGrad SparseTensorDenseAdd",
    "opsets.sparse.with_dense": "SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul",
    "opsets.special.bessel": "BesselI0 BesselI0e BesselI1 BesselI1e",
    "opsets.special.gamma": "Digamma Lgamma Polygamma Zeta",
    "opsets.special.incomplete": "Betainc Igamma IgammaGradA Igammac RandomGammaGrad",
    "opsets.staging.barriers": (
        "Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize "
        "BarrierTakeMany"
    ),
    "opsets.staging.mutexes": "ConsumeMutexLock MutexLock MutexV2",
    "opsets.staging.nodes": (
        "MapClear MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey "
        "OrderedMapClear OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage "
        "OrderedMapUnstage OrderedMapUnstageNoKey Stage StageClear StagePeek StageSize Unstage"
    ),
    "opsets.summaries.nodes": (
        "AudioSummary AudioSummaryV2 HistogramSummary ImageSummary MergeSummary ScalarSummary "
        "TensorSummary TensorSummaryV2"
    ),
    "opsets.tables.kernels": (
        "GenerateVocabRemapping HashTableV2 InitializeTableFromTextFileV2 InitializeTableV2 "
        "LookupTableExportV2 LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2 "
        "LookupTableRemoveV2 LookupTableSizeV2 MutableDenseHashTableV2 "
        "MutableHashTableOfTensorsV2 MutableHashTableV2"
    ),
    "opsets.text.characters": (
        "DecodeBase64 EncodeBase64 StringLength StringLower StringStrip StringUpper Substr "
        "UnicodeTranscode"
    ),
    "opsets.text.fingerprints": "Fingerprint",
    "opsets.text.hash_buckets": (
        "StringToHashBucket StringToHashBucketFast StringToHashBucketStrong"
    ),
    "opsets.text.joining": "ReduceJoin StringFormat StringJoin UnsortedSegmentJoin",
    "opsets.text.ngrams": "StringNGrams",
    "opsets.text.numbers": "AsString DecodePaddedRaw DecodeRaw StringToNumber",
    "opsets.text.printing": "PrintV2",
    "opsets.text.regex": "RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace",
    "opsets.text.splitting": "StringSplit StringSplitV2",
    "opsets.text.unicode": "UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode",
}
OP_MODULES = {
    name: f"actorsession.{module}"
    for module, names in _TYPES.items()
    for name in names.split()
}
"""Full name of the module by operation type."""

EXTENSION_MODULES: dict[str, dict[str, str]] = {
    "classes of nested values": {
        "datasets": "actorsession.opsets.datasets.stages",
        "ragged": "actorsession.opsets.ragged.variants",
        "variants": "actorsession.ops.lists.values",
    },
    "gradients of functional control flow": {
        "If": "actorsession.ops.flow.control_flow",
        "StatelessIf": "actorsession.ops.flow.control_flow",
        "StatelessWhile": "actorsession.ops.flow.control_flow",
        "While": "actorsession.ops.flow.control_flow",
    },
    "names in generated code": {
        "Blockwise": "actorsession.ops.blockwise",
        "NO_ITEMS": "actorsession.ops.lists.values",
    },
    "operators of tensors": {
        "abs": "actorsession.ops.elements.elementwise",
        "add": "actorsession.ops.elements.arithmetic",
        "and": "actorsession.ops.elements.bitwise",
        "floordiv": "actorsession.ops.elements.division",
        "ge": "actorsession.ops.elements.comparison",
        "getitem": "actorsession.ops.arrays.slicing",
        "gt": "actorsession.ops.elements.comparison",
        "invert": "actorsession.ops.elements.bitwise",
        "le": "actorsession.ops.elements.comparison",
        "lt": "actorsession.ops.elements.comparison",
        "matmul": "actorsession.ops.linear.matmul",
        "mod": "actorsession.ops.elements.division",
        "mul": "actorsession.ops.elements.arithmetic",
        "neg": "actorsession.ops.elements.elementwise",
        "or": "actorsession.ops.elements.bitwise",
        "pow": "actorsession.ops.elements.arithmetic",
        "sub": "actorsession.ops.elements.arithmetic",
        "truediv": "actorsession.ops.elements.division",
        "xor": "actorsession.ops.elements.bitwise",
    },
    "primitive control flow in functions": {
        "nodes": "actorsession.ops.flow.constructs",
    },
}
"""Full name of the module by extension point and key."""
