/**
 * This room wraps ONNX Runtime: devices and their providers, session options, tensors, stacking into batches, and the
 * isolation of a virtual GPU in a child process of its own.
 *
 * A device, model files and tensors go in. Outputs, the device's time for them, and ONNX Runtime's times of single
 * nodes come out. Profiling and serving use the same executor, so what is measured is what runs. The room does not
 * decide what runs when, does not look into models, and writes only temporary files.
 */
export type { Exit } from './child-process.js';
export { monotonicNs } from './clock.js';
export {
  type BatchTask,
  type ComponentExecutor,
  type ComponentLoadOptions,
  type ExecutedBatch,
  type StartComponentExecutor,
  startComponentExecutor,
} from './component-executor.js';
export type { BatchTensors, ComponentStats, KeptInput, OutputBytes } from './component-protocol.js';
export type { ExecutorOptions } from './connect.js';
export { crowdedHost } from './core-claim.js';
export {
  checkThreads,
  type Device,
  deviceText,
  type NamedDevice,
  type Provider,
  parseDevice,
  virtualThreads,
  WITH_DEVICE_ID,
} from './device.js';
export {
  DTYPES,
  type DtypeInfo,
  dtypeInfo,
  dtypeOfOip,
  type NumericArray,
  oipDatatype,
  STRING_DTYPE,
} from './dtype.js';
export { ChangedModelError, ExecutionError, firstLine, OutOfMemoryError } from './errors.js';
export {
  type Executor,
  type NodeTimingOptions,
  type NodeTimings,
  type RunResult,
  type StartExecutor,
  startExecutor,
} from './executor.js';
export { freeMemory } from './free-memory.js';
export { allowedCores, assignCores, hostThreads } from './host.js';
export { HostCache, type HostCacheOptions, type HostCacheStats, type ModelBytes } from './host-cache.js';
export { indexRefusal } from './index-refusal.js';
export { memoryText } from './memory.js';
export { MemoryGuard, type MemoryGuardOptions } from './memory-guard.js';
export { CLASS_BYTES, MemoryPool, uncleared } from './memory-pool.js';
export { checkOnnxRuntime } from './onnx-runtime.js';
export { type DeviceReport, probeDevices } from './probe.js';
export type {
  LoadedModel,
  NodeTiming,
  RunTimes,
  TensorInfo,
  Tensors,
} from './protocol.js';
export { requestTensor, type TensorMaker } from './request-values.js';
export { type FedModel, type Measured, type MeasurePace, measureRotation } from './rotation.js';
export { commonTensor, type RowTensor, tensorForAll } from './row-tensors.js';
export { AS_SERVED, type Optimization } from './session-choice.js';
export { splitBatch, stackBatch } from './stacking.js';
export { bytesOfStrings } from './string-bytes.js';
export { emptyTensor, filledTensor, randomTensor, textFault, type ValueRange } from './tensor.js';
export { elementCount, isStrings, sameTensor, type TensorData, tensorBytes } from './tensor-data.js';
export { elementAt, elementNumbers } from './tensor-numbers.js';
export type { FileDigest } from './verified-model.js';
export { type ModelDigests, notDeployed } from './verified-model.js';
