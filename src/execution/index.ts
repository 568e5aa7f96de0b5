/**
 * ONNX Runtime as we use it: devices and their providers, session options, tensors, stacking into batches, and the
 * isolation of a virtual GPU in a child process of its own.
 *
 * In go a device, model files and tensors; out come outputs, the device's time for them, and ONNX Runtime's times of
 * single nodes. What is profiled and what is served go through the same executor, so what is measured is what runs.
 * It does not decide what runs when, looks into no model, and writes no file but a temporary one.
 */
export type { Exit } from './child-process.js';
export { monotonicNs } from './clock.js';
export {
  checkThreads,
  type Device,
  deviceText,
  type NamedDevice,
  type Provider,
  parseDevice,
  virtualThreads,
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
export { ExecutionError, firstLine, OutOfMemoryError } from './errors.js';
export {
  type Executor,
  type ExecutorOptions,
  type Measured,
  type NodeTimingOptions,
  type NodeTimings,
  type RunResult,
  startExecutor,
} from './executor.js';
export { allowedCores, assignCores, hostThreads } from './host.js';
export { memoryText } from './memory.js';
export { MemoryGuard, type MemoryGuardOptions } from './memory-guard.js';
export { type DeviceReport, probeDevices } from './probe.js';
export type {
  LoadedModel,
  MeasureStop,
  NodeTiming,
  Optimization,
  RunTimes,
  Tensors,
  ValueInfo,
} from './protocol.js';
export { splitBatch, stackBatch } from './stacking.js';
export {
  elementCount,
  emptyTensor,
  filledTensor,
  isStrings,
  randomTensor,
  type TensorData,
  tensorBytes,
  type ValueRange,
} from './tensor.js';
