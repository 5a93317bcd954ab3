# Written by scripts/generated.py.
"""Which file registers each operation type."""

from __future__ import annotations

__all__ = ["EXTENSION_MODULES", "OP_MODULES"]

_TYPES = {
    "arrays.array": "Identity StopGradient",
    "arrays.batch_blocks": "BatchToSpaceND SpaceToBatchND",
    "arrays.depth_blocks": "DepthToSpace SpaceToDepth",
    "arrays.dimensions": "Rank Shape Size",
    "arrays.fills": "Fill OnesLike Range ZerosLike",
    "arrays.gather": "GatherNd GatherV2",
    "arrays.grids": "BroadcastArgs ParallelConcat",
    "arrays.joining": "ConcatOffset ConcatV2 Pack Unpack",
    "arrays.layout": "InvertPermutation Pad PadV2 Tile Transpose",
    "arrays.linspace": "LinSpace",
    "arrays.mirroring": "MirrorPad MirrorPadGrad",
    "arrays.partitions": "DynamicPartition DynamicStitch ParallelDynamicStitch",
    "arrays.pass_through": "EnsureShape GuaranteeConst IdentityN ShapeN",
    "arrays.placeholder": "Placeholder PlaceholderWithDefault",
    "arrays.reversal": "ReverseSequence ReverseV2 Roll",
    "arrays.scatter": "OneHot ScatterNd UnsortedSegmentSum",
    "arrays.shape": "BroadcastTo ExpandDims Reshape Squeeze",
    "arrays.slicing": "Slice",
    "arrays.splitting": "Split SplitV",
    "arrays.strided": "StridedSlice StridedSliceGrad",
    "arrays.tensor_scatter": (
        "TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate"
    ),
    "arrays.unravelling": "UnravelIndex",
    "broadcasting": "BroadcastGradientArgs",
    "build": "Const",
    "convolutions.depthwise_nodes": (
        "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter "
        "DepthwiseConv2dNativeBackpropInput"
    ),
    "convolutions.dilation": "Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput",
    "convolutions.fractional_pooling": (
        "FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool FractionalMaxPoolGrad"
    ),
    "convolutions.nodes": (
        "Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 "
        "Conv3DBackpropInputV2"
    ),
    "convolutions.pooling_argmax": "MaxPoolGradWithArgmax MaxPoolWithArgmax",
    "convolutions.pooling_nodes": (
        "AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad MaxPool MaxPool3D MaxPool3DGrad "
        "MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad"
    ),
    "elements.arithmetic": "Add AddN AddV2 Maximum Minimum Mul Pow SquaredDifference Sub",
    "elements.bessel": "BesselI0 BesselI0e BesselI1 BesselI1e",
    "elements.bitwise": (
        "BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift PopulationCount RightShift"
    ),
    "elements.cast": "Cast",
    "elements.clip": "ClipByValue",
    "elements.comparison": (
        "Equal Greater GreaterEqual IsFinite IsInf IsNan Less LessEqual LogicalAnd LogicalNot "
        "LogicalOr NotEqual"
    ),
    "elements.complex_numbers": "Angle Complex ComplexAbs Imag Real",
    "elements.division": "Div FloorDiv FloorMod RealDiv TruncateDiv TruncateMod",
    "elements.elementwise": (
        "Abs Ceil Conj Cos Exp Expm1 Floor Inv InvGrad Log Log1p Neg Reciprocal ReciprocalGrad "
        "Round Rsqrt RsqrtGrad Sign Sin Sqrt SqrtGrad Square Tan"
    ),
    "elements.error_functions": "Erf Erfc Erfinv Ndtri",
    "elements.gamma_functions": "Digamma Lgamma Polygamma Zeta",
    "elements.incomplete": "Betainc Igamma IgammaGradA Igammac",
    "elements.nearness": "ApproximateEqual NextAfter Rint",
    "elements.quotients": "DivNoNan MulNoNan Xdivy Xlog1py Xlogy",
    "elements.recast": "Bitcast",
    "elements.selection": "Select SelectV2 Where",
    "elements.trigonometry": "Acos Acosh Asin Asinh Atan Atan2 Atanh Cosh Sinh",
    "flow.assertions": "Assert CheckNumerics Print",
    "flow.calls": "PartitionedCall RemoteCall StatefulPartitionedCall SymbolicGradient",
    "flow.constructs": "If While",
    "flow.control": "NoOp",
    "flow.dataflow": (
        "ControlTrigger Enter Exit LoopCond Merge NextIteration RefEnter RefExit RefMerge "
        "RefNextIteration RefSwitch Switch _SwitchN"
    ),
    "flow.script": "AsyncPyFunc PyFunc PyFuncStateless",
    "images.boxes": "SampleDistortedBoundingBoxV2",
    "images.colours": "AdjustContrastv2 AdjustHue AdjustSaturation HSVToRGB RGBToHSV",
    "images.crops": "CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage",
    "images.drawing": "DrawBoundingBoxes DrawBoundingBoxesV2",
    "images.files": "DecodeJpeg DecodePng EncodeJpeg EncodePng",
    "images.formats": "DecodeAndCropJpeg DecodeBmp DecodeGif DecodeImage ExtractJpegShape",
    "images.glimpses": "ExtractGlimpse",
    "images.jpeg_quality": "EncodeJpegVariableQuality",
    "images.patches": "ExtractImagePatches",
    "images.resizing": (
        "ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad "
        "ResizeNearestNeighbor ResizeNearestNeighborGrad"
    ),
    "images.suppression": (
        "CombinedNonMaxSuppression NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 "
        "NonMaxSuppressionWithOverlaps"
    ),
    "linear.determinants": "LogMatrixDeterminant MatrixDeterminant",
    "linear.diagonals": "Diag DiagPart MatrixBandPart",
    "linear.einsum": "Einsum",
    "linear.factorisations": "Cholesky Lu Qr",
    "linear.least_squares": "MatrixSolveLs",
    "linear.matmul": "BatchMatMul BatchMatMulV2 MatMul",
    "linear.matrix_diagonals": "MatrixDiagPartV3 MatrixDiagV3 MatrixSetDiagV3",
    "linear.matrix_functions": "MatrixLogarithm MatrixSquareRoot",
    "linear.products": "Cross",
    "linear.solving": "MatrixInverse MatrixSolve MatrixTriangularSolve",
    "linear.spectra": "SelfAdjointEigV2 Svd",
    "linear.transposition": "ConjugateTranspose",
    "linear.tridiagonal": "TridiagonalMatMul TridiagonalSolve",
    "lists.array_nodes": (
        "StackCloseV2 StackPopV2 StackPushV2 StackV2 TensorArrayCloseV3 TensorArrayConcatV3 "
        "TensorArrayGatherV3 TensorArrayGradV3 TensorArrayReadV3 TensorArrayScatterV3 "
        "TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3"
    ),
    "lists.blocks": (
        "TensorListFromTensor TensorListGather TensorListScatterAdd "
        "TensorListScatterIntoExistingList TensorListScatterV2 TensorListStack"
    ),
    "lists.nodes": (
        "EmptyTensorList TensorListElementShape TensorListGetItem TensorListLength "
        "TensorListPopBack TensorListPushBack TensorListReserve TensorListResize "
        "TensorListSetItem"
    ),
    "lists.parts": "TensorListConcatV2 TensorListSplit",
    "lists.sums": "TensorListAdd TensorListAddItem TensorListZerosLike",
    "neural.accidental_hits": "ComputeAccidentalHits",
    "neural.activations": (
        "Elu EluGrad Relu Relu6 Relu6Grad ReluGrad Sigmoid SigmoidGrad Softplus SoftplusGrad Tanh "
        "TanhGrad"
    ),
    "neural.biases": "BiasAdd BiasAddGrad",
    "neural.candidate_sampling": (
        "AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler "
        "LogUniformCandidateSampler UniformCandidateSampler"
    ),
    "neural.cross_entropy": "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits",
    "neural.ctc_decoders": "CTCBeamSearchDecoder CTCGreedyDecoder",
    "neural.ctc_loss": "CTCLoss",
    "neural.fake_quantisation": (
        "FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars "
        "FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel "
        "FakeQuantWithMinMaxVarsPerChannelGradient"
    ),
    "neural.fused_batch_norm": (
        "FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 "
        "FusedBatchNormV2 FusedBatchNormV3"
    ),
    "neural.l2_loss": "L2Loss",
    "neural.lrn": "LRN LRNGrad",
    "neural.rectifiers": "LeakyRelu LeakyReluGrad Selu SeluGrad Softsign SoftsignGrad",
    "neural.softmax": "LogSoftmax Softmax",
    "parsing.csv": "DecodeCSV",
    "parsing.example_nodes": "ParseExample ParseExampleV2 ParseSingleExample",
    "parsing.files": "MatchingFiles ReadFile WriteFile",
    "parsing.json_examples": "DecodeJSONExample",
    "parsing.sequence_nodes": "ParseSequenceExampleV2",
    "parsing.serialized": "DecodeCompressed ParseTensor SerializeTensor",
    "queues.accumulators": (
        "AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep "
        "AccumulatorTakeGradient ResourceConditionalAccumulator SparseAccumulatorApplyGradient "
        "SparseAccumulatorTakeGradient SparseConditionalAccumulator"
    ),
    "queues.barriers": (
        "Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize "
        "BarrierTakeMany"
    ),
    "queues.kernels": (
        "FIFOQueueV2 PaddingFIFOQueueV2 PriorityQueueV2 QueueCloseV2 QueueDequeueManyV2 "
        "QueueDequeueUpToV2 QueueDequeueV2 QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosedV2 "
        "QueueSizeV2 RandomShuffleQueueV2 RefSelect"
    ),
    "queues.staging_nodes": (
        "MapClear MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey "
        "OrderedMapClear OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage "
        "OrderedMapUnstage OrderedMapUnstageNoKey Stage StageClear StagePeek StageSize Unstage"
    ),
    "randomness.numbers": "RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal",
    "randomness.samples": "Multinomial RandomGamma RandomPoissonV2 RandomShuffle",
    "randomness.stateless": (
        "StatelessMultinomial StatelessRandomGammaV2 StatelessRandomNormal StatelessRandomPoisson "
        "StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformInt "
        "StatelessTruncatedNormal"
    ),
    "reductions.argmax": "ArgMax ArgMin",
    "reductions.cumulative": "Cumprod Cumsum CumulativeLogsumexp",
    "reductions.histograms": "DenseBincount HistogramFixedWidth",
    "reductions.reduction": "All Any EuclideanNorm Max Mean Min Prod ReducedShape Sum",
    "reductions.searching": "LowerBound UpperBound",
    "reductions.segments": (
        "SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum UnsortedSegmentMax "
        "UnsortedSegmentMin UnsortedSegmentProd"
    ),
    "reductions.topk": "InTopKV2 TopKV2",
    "reductions.unique": "ListDiff Unique UniqueWithCounts",
    "signals.fourier": (
        "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D"
    ),
    "sparse_tensors.edit_distance": "EditDistance",
    "sparse_tensors.kernels": "SparseReorder SparseTensorDenseMatMul SparseToDense",
    "sparse_tensors.pieces": (
        "SparseReduceMaxSparse SparseReduceSumSparse SparseSparseMaximum SparseSparseMinimum "
        "SparseSplit"
    ),
    "sparse_tensors.rows": "SparseFillEmptyRows SparseFillEmptyRowsGrad SparseSoftmax",
    "sparse_tensors.segments": (
        "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanWithNumSegments "
        "SparseSegmentSqrtN SparseSegmentSqrtNGrad SparseSegmentSqrtNWithNumSegments "
        "SparseSegmentSum SparseSegmentSumGrad SparseSegmentSumWithNumSegments"
    ),
    "sparse_tensors.serialising": "DeserializeManySparse SerializeManySparse SerializeSparse",
    "sparse_tensors.sets": (
        "DenseToDenseSetOperation DenseToSparseSetOperation SetSize SparseToSparseSetOperation"
    ),
    "sparse_tensors.shapes": (
        "SparseConcat SparseReduceMax SparseReduceSum SparseReshape SparseSlice SparseSliceGrad"
    ),
    "sparse_tensors.sums": "SparseAdd SparseAddGrad SparseTensorDenseAdd",
    "sparse_tensors.with_dense": "SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul",
    "tables.kernels": (
        "HashTableV2 InitializeTableFromTextFileV2 InitializeTableV2 LookupTableExportV2 "
        "LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2 LookupTableRemoveV2 "
        "LookupTableSizeV2 MutableHashTableOfTensorsV2 MutableHashTableV2"
    ),
    "text.characters": (
        "DecodeBase64 EncodeBase64 StringLength StringLower StringStrip StringUpper Substr "
        "UnicodeTranscode"
    ),
    "text.fingerprints": "Fingerprint",
    "text.hash_buckets": "StringToHashBucket StringToHashBucketFast StringToHashBucketStrong",
    "text.joining": "ReduceJoin StringFormat StringJoin UnsortedSegmentJoin",
    "text.numbers": "AsString DecodeRaw StringToNumber",
    "text.regex": "RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace",
    "text.splitting": "StringSplit StringSplitV2",
    "training.nodes": (
        "ResourceApplyAdam ResourceApplyGradientDescent ResourceApplyMomentum "
        "ResourceSparseApplyMomentum"
    ),
    "training.updates": (
        "ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA "
        "ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 "
        "ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent ResourceApplyRMSProp "
        "ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA "
        "ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2 "
        "ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent "
        "ResourceSparseApplyRMSProp"
    ),
    "variables.checkpointing": "MergeV2Checkpoints RestoreV2 SaveV2 ShardedFilename",
    "variables.scatter_updates": (
        "ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul "
        "ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub "
        "ResourceScatterNdUpdate ResourceStridedSliceAssign"
    ),
    "variables.session_ops": "DeleteSessionTensor GetSessionHandle GetSessionTensor",
    "variables.state": (
        "AssignAddVariableOp AssignSubVariableOp AssignVariableOp ReadVariableOp "
        "ResourceCountUpTo ResourceScatterAdd ResourceScatterSub ResourceScatterUpdate "
        "VarHandleOp VarIsInitializedOp"
    ),
}
OP_MODULES = {
    name: f"actorsession.ops.{module}"
    for module, names in _TYPES.items()
    for name in names.split()
}
"""Full name of the module by operation type."""

EXTENSION_MODULES: dict[str, dict[str, str]] = {
    "classes of nested values": {
        "variants": "actorsession.ops.lists.values",
    },
    "gradients of functional control flow": {
        "If": "actorsession.ops.flow.control_flow",
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
}
"""Full name of the module by extension point and key."""
