import type { InferenceSession } from 'onnxruntime-node';
import type { Device } from './device.js';
import type { Optimization } from './protocol.js';

/** Only errors: warnings of the optimizer are many and say nothing a person can act on. */
const LOG_ERRORS = 3;

/** How a session is made. */
export interface SessionChoice {
  readonly optimization: Optimization;
  /**
   * Whether ONNX Runtime lays out all of a run's tensors in one piece of memory from the second run on, as it does by
   * itself. The piece comes on top of what the first run took: up to half as much again.
   */
  readonly memoryPattern: boolean;
}

/**
 * The session options of everything measured and everything served. Spinning is off: threads that spin after a run
 * slow the neighbours that share the host's cores.
 */
export function sessionOptions(
  device: Device,
  threads: number,
  { optimization, memoryPattern }: SessionChoice,
): InferenceSession.SessionOptions {
  return {
    executionProviders: executionProviders(device),
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: optimization,
    enableMemPattern: memoryPattern,
    logSeverityLevel: LOG_ERRORS,
    extra: { session: { intra_op: { allow_spinning: '0' }, inter_op: { allow_spinning: '0' } } },
  };
}

/** TensorRT leaves to CUDA what it cannot compile; all leave to the CPU what they do not implement. */
function executionProviders(device: Device): InferenceSession.ExecutionProviderConfig[] {
  const id = device.deviceId ?? 0;
  switch (device.provider) {
    case 'cpu':
      return ['cpu'];
    case 'cuda':
      return [{ name: 'cuda', deviceId: id }, 'cpu'];
    case 'tensorrt':
      return [{ name: 'tensorrt', deviceId: id }, { name: 'cuda', deviceId: id }, 'cpu'];
    case 'dml':
      return [{ name: 'dml', deviceId: id }, 'cpu'];
    case 'webgpu':
    case 'coreml':
      return [{ name: device.provider }, 'cpu'];
  }
}
