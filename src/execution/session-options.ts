import type { InferenceSession } from 'onnxruntime-node';
import type { Device } from './device.js';

/** Only errors are logged: warnings of the optimizer are many, and a person can do nothing about them. */
const LOG_ERRORS = 3;

/** Optimization is a level of graph optimization of ONNX Runtime. */
export type Optimization = 'disabled' | 'basic' | 'extended' | 'all';

/** SessionChoice says how a session is made. */
export interface SessionChoice {
  readonly optimization: Optimization;
  /**
   * Whether ONNX Runtime lays out all tensors of a run in one piece of memory from the second run on, as is its
   * default. The piece comes on top of the memory of the first run: up to half as much again.
   */
  readonly memoryPattern: boolean;
  /**
   * Whether kernels keep a copy of their weights in an order of their own, as is ONNX Runtime's default. It takes as
   * much memory and time as loading the weights does, and makes runs faster; sessions of a few runs go without.
   */
  readonly prepacking: boolean;
}

/** AS_SERVED makes the sessions that serve, and all others where nothing else is asked for. */
export const AS_SERVED: SessionChoice = { optimization: 'all', memoryPattern: true, prepacking: true };

/**
 * sessionOptions gives the session options of everything that is measured or served. What a GPU's provider does not
 * implement runs on the CPU. Spinning is off: threads that spin after a run slow the neighbours that share the host's
 * cores.
 */
export function sessionOptions(
  device: Device,
  threads: number,
  { optimization, memoryPattern, prepacking }: SessionChoice,
): InferenceSession.SessionOptions {
  return {
    executionProviders: executionProviders(device),
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: optimization,
    enableMemPattern: memoryPattern,
    logSeverityLevel: LOG_ERRORS,
    extra: {
      session: {
        intra_op: { allow_spinning: '0' },
        inter_op: { allow_spinning: '0' },
        disable_prepacking: prepacking ? '0' : '1',
      },
    },
  };
}

/** TensorRT leaves to CUDA what it cannot compile; all providers leave to the CPU what they do not implement. */
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
