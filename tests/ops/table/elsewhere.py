"""Operation types that are no function from arrays to arrays, and the file whose tests are about each.

State, control flow, what a session puts in by itself, and sources of values.
"""

from __future__ import annotations

from scripts.differentials.families.op_types import FAMILIES

__all__ = ["ELSEWHERE"]

_RECORDED = "tests/test_recorded.py"
# Those that programs of several nodes there use.
_WITH_OTHERS = """
    QueueEnqueue QueueEnqueueMany QueueDequeue QueueDequeueMany QueueDequeueUpTo QueueClose QueueSize StackPush StackPop
    StackClose LookupTableInsert LookupTableFind LookupTableSize LookupTableImport LookupTableExport InitializeTable
    ResourceGatherNd VariableShape BlockLSTMGrad MaxPoolGradV2 QuantizeAndDequantizeV4Grad TensorListConcatLists
    TensorListScatter AddManySparseToTensorsMap TakeManySparseFromTensorsMap RaggedTensorToVariantGradient
"""
_BY_PHILOX = """
    StatelessRandomGetAlg StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomNormalV2
    StatelessRandomUniformFullIntV2 StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessTruncatedNormalV2
"""
_OLDER = """
    BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D BatchSelfAdjointEig TopK Conv3DBackpropFilter
    Conv3DBackpropInput PlaceholderV2 RandomCrop SampleDistortedBoundingBox FixedLengthRecordReader IdentityReader
    TFRecordReader TextLineReader WholeFileReader ReaderRead ReaderReadUpTo ReaderNumRecordsProduced
    ReaderNumWorkUnitsCompleted ReaderReset ReaderRestoreState ReaderSerializeState QueueIsClosed
    InitializeTableFromTextFile MutableHashTableOfTensors ResourceAccumulatorApplyGradient
    ResourceAccumulatorNumAccumulated ResourceAccumulatorSetGlobalStep ResourceAccumulatorTakeGradient TensorArray
    TensorArrayClose TensorArrayCloseV2 TensorArrayConcat TensorArrayConcatV2 TensorArrayGather TensorArrayGatherV2
    TensorArrayGrad TensorArrayGradV2 TensorArrayPack TensorArrayRead TensorArrayReadV2 TensorArrayScatter
    TensorArrayScatterV2 TensorArraySize TensorArraySizeV2 TensorArraySplit TensorArraySplitV2 TensorArrayUnpack
    TensorArrayV2 TensorArrayWrite TensorArrayWriteV2
"""

_KEYED = """
    StatelessRandomGammaV3 StatelessShuffle StatelessRandomBinomial NonDeterministicInts ParameterizedTruncatedNormal
    StatelessParameterizedTruncatedNormal RngReadAndSkip RngSkip StatefulUniform StatefulUniformInt
    StatefulUniformFullInt StatefulStandardNormalV2 StatefulTruncatedNormal StatefulRandomBinomial Timestamp
"""

_BY_FILE = {
    "tests/opsets/tables/test_lookup.py": """
        GenerateVocabRemapping LoadAndRemapMatrix HashTableV2 InitializeTableFromTextFileV2 InitializeTableV2
        LookupTableExportV2 LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2 LookupTableRemoveV2
        LookupTableSizeV2 MutableDenseHashTable MutableHashTableOfTensorsV2 MutableHashTableV2
    """,
    "tests/opsets/recurrent/test_blocks.py": "BlockLSTMGradV2",
    "tests/interop/test_fixtures.py": "StatelessIf StatelessWhile",
    "tests/opsets/signals/test_audio.py": "AudioSpectrogram DecodeWav EncodeWav Mfcc",
    "tests/compat/test_savers.py": "DisableCopyOnRead Restore RestoreSlice Save SaveSlices",
    "tests/opsets/datasets/test_iterators.py": """
        AnonymousIterator DeserializeIterator DestroyResourceOp Iterator IteratorFromStringHandle
        IteratorFromStringHandleV2 IteratorGetNext IteratorGetNextAsOptional IteratorGetNextSync IteratorToStringHandle
        IteratorV2 MakeIterator OneShotIterator OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone
        SerializeIterator
    """,
    "tests/opsets/datasets/test_transforms.py": """
        AssertCardinalityDataset AssertNextDataset BatchDataset BatchDatasetV2 CacheDataset CacheDatasetV2
        ConcatenateDataset DatasetCardinality DatasetToSingleElement DenseToSparseBatchDataset DirectedInterleaveDataset
        DummyMemoryCache ExperimentalAssertNextDataset ExperimentalDatasetCardinality
        ExperimentalDenseToSparseBatchDataset ExperimentalDirectedInterleaveDataset ExperimentalGroupByReducerDataset
        ExperimentalGroupByWindowDataset ExperimentalIgnoreErrorsDataset ExperimentalMapAndBatchDataset
        ExperimentalMaxIntraOpParallelismDataset ExperimentalParallelInterleaveDataset ExperimentalParseExampleDataset
        ExperimentalPrivateThreadPoolDataset ExperimentalScanDataset ExperimentalSlidingWindowDataset
        ExperimentalTakeWhileDataset ExperimentalUnbatchDataset ExperimentalUniqueDataset FilterDataset FlatMapDataset
        GroupByReducerDataset GroupByWindowDataset IgnoreErrorsDataset InterleaveDataset
        LegacyParallelInterleaveDatasetV2 MapAndBatchDataset MapDataset MaxIntraOpParallelismDataset ModelDataset
        NonSerializableDataset OptimizeDataset OptimizeDatasetV2 OptionsDataset PaddedBatchDataset PaddedBatchDatasetV2
        ParallelBatchDataset ParallelInterleaveDataset ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3
        ParallelInterleaveDatasetV4 ParallelMapDataset ParallelMapDatasetV2 ParseExampleDataset ParseExampleDatasetV2
        PrefetchDataset PrivateThreadPoolDataset ReduceDataset RepeatDataset RewriteDataset ScanDataset ShardDataset
        ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 ShuffleDataset ShuffleDatasetV2 ShuffleDatasetV3 SkipDataset
        SlidingWindowDataset TakeDataset TakeWhileDataset UnbatchDataset UniqueDataset UnwrapDatasetVariant
        WindowDataset WrapDatasetVariant ZipDataset
    """,
    "tests/opsets/datasets/test_sources.py": """
        CSVDataset CSVDatasetV2 DummySeedGenerator ExperimentalRandomDataset FixedLengthRecordDataset
        FixedLengthRecordDatasetV2 GeneratorDataset RandomDataset RandomDatasetV2 RangeDataset SparseTensorSliceDataset
        TFRecordDataset TFRecordDatasetV2 TensorDataset TensorSliceDataset TextLineDataset
    """,
    "tests/opsets/parsing/test_readers.py": """
        FixedLengthRecordReaderV2 IdentityReaderV2 ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2
        ReaderReadUpToV2 ReaderReadV2 ReaderResetV2 ReaderRestoreStateV2 ReaderSerializeStateV2 TFRecordReaderV2
        TextLineReaderV2 WholeFileReaderV2
    """,
    "tests/compat/test_summaries.py": """
        AudioSummary AudioSummaryV2 HistogramSummary ImageSummary MergeSummary ScalarSummary TensorSummary
        TensorSummaryV2
    """,
    "tests/opsets/images/test_image.py": "SampleDistortedBoundingBoxV2",
    "tests/opsets/sparse/test_uses.py": "SparseCross SparseCrossV2",
    "tests/opsets/parsing/test_files.py": "MatchingFiles ReadFile WriteFile",
    "tests/ops/variables/test_session_ops.py": "DeleteSessionTensor GetSessionHandle GetSessionTensor",
    "tests/ops/lists/test_array_nodes.py": """
        StackCloseV2 StackPopV2 StackPushV2 StackV2 TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3
        TensorArrayGradV3 TensorArrayReadV3 TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3
        TensorArrayWriteV3
    """,
    "tests/ops/flow/test_control_flow.py": "If While",
    "tests/ops/flow/test_uses.py": """
        ControlTrigger Enter Exit LoopCond Merge NextIteration NoOp RefEnter RefExit RefMerge RefNextIteration RefSwitch
        RemoteCall Switch _SwitchN
    """,
    "tests/ops/flow/test_functions.py": "PartitionedCall StatefulPartitionedCall SymbolicGradient",
    "tests/ops/arrays/test_uses.py": "Placeholder",
    "tests/ops/flow/test_script.py": "AsyncPyFunc PyFunc PyFuncStateless",
    "tests/ops/randomness/test_random.py": """
        RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal Multinomial RandomGamma RandomPoissonV2
        RandomShuffle StatelessMultinomial StatelessRandomGammaV2 StatelessRandomNormal StatelessRandomPoisson
        StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformInt StatelessTruncatedNormal
    """,
    "tests/ops/variables/test_state.py": """
        AssignAddVariableOp AssignSubVariableOp AssignVariableOp ReadVariableOp VarHandleOp VarIsInitializedOp
    """,
    "tests/session/test_state.py": "ResourceCountUpTo",
    "tests/ops/queues/test_queues.py": """
        FIFOQueueV2 PaddingFIFOQueueV2 PriorityQueueV2 QueueCloseV2 QueueDequeueManyV2 QueueDequeueUpToV2 QueueDequeueV2
        QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosedV2 QueueSizeV2 RandomShuffleQueueV2 RefSelect
    """,
    "tests/ops/training/test_training_updates.py": """
        ResourceApplyAdam ResourceApplyGradientDescent ResourceApplyMomentum ResourceSparseApplyMomentum
        ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA ResourceApplyCenteredRMSProp ResourceApplyFtrl
        ResourceApplyFtrlV2 ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent ResourceApplyRMSProp
        ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA
        ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl ResourceSparseApplyFtrlV2
        ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp
    """,
    "tests/ops/variables/test_checkpointing.py": "MergeV2Checkpoints RestoreV2 SaveV2",
    "tests/ops/variables/test_changes.py": """
        ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul
        ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin ResourceScatterNdSub ResourceScatterNdUpdate
        ResourceScatterSub ResourceScatterUpdate ResourceStridedSliceAssign
    """,
    "tests/opsets/sampling/test_candidates.py": """
        LearnedUnigramCandidateSampler AllCandidateSampler FixedUnigramCandidateSampler LogUniformCandidateSampler
        UniformCandidateSampler
    """,
    "tests/opsets/accumulators/test_accumulators.py": """
        AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep AccumulatorTakeGradient
        ResourceConditionalAccumulator SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient
        SparseConditionalAccumulator
    """,
    "tests/opsets/collective/test_nodes.py": """
        CollectiveAllToAllV2 CollectiveBcastRecv CollectiveBcastRecvV2 CollectiveBcastSend CollectiveBcastSendV2
        CollectiveGather CollectiveGatherV2 CollectiveReduce CollectiveReduceScatterV2 CollectiveReduceV2
    """,
    "tests/opsets/staging/test_barriers.py": """
        Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize BarrierTakeMany
    """,
    "tests/opsets/staging/test_mutexes.py": "ConsumeMutexLock MutexLock MutexV2",
    "tests/opsets/staging/test_staging.py": """
        MapClear MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey OrderedMapClear
        OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage OrderedMapUnstage OrderedMapUnstageNoKey
        Stage StageClear StagePeek StageSize Unstage
    """,
    "tests/ops/flow/test_checks.py": "Assert CheckNumerics Print",
    "tests/ops/variables/test_reference_variable.py": """
        ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdam ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2
        ApplyGradientDescent ApplyMomentum ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp Assign
        AssignAdd AssignSub CountUpTo DestroyTemporaryVariable IsVariableInitialized ReferenceHandle ScatterAdd
        ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNdAdd ScatterNdMax ScatterNdMin ScatterNdSub ScatterNdUpdate
        ScatterSub ScatterUpdate SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA SparseApplyCenteredRMSProp
        SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum SparseApplyProximalAdagrad
        SparseApplyProximalGradientDescent SparseApplyRMSProp StridedSliceAssign TemporaryHandle TemporaryVariable
        Variable VariableV2
    """,
    "tests/opsets/text/test_strings.py": "PrintV2",
}

ELSEWHERE: dict[str, str] = {
    **{
        name.partition("/")[2].partition("-")[0]: _RECORDED
        for name in (program.name for family in FAMILIES for program in family.programs)
    },
    **dict.fromkeys(_WITH_OTHERS.split(), _RECORDED),
    **dict.fromkeys(_KEYED.split(), "tests/ops/randomness/test_keyed.py"),
    **dict.fromkeys(_OLDER.split(), "tests/opsets/older/test_older_forms.py"),
    **dict.fromkeys(_BY_PHILOX.split(), "tests/ops/randomness/test_philox.py"),
    **{op: file for file, types in _BY_FILE.items() for op in types.split()},
}
