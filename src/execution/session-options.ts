import type { InferenceSession } from 'onnxruntime-node';
import type { Device } from './device.js';
import type { SessionChoice } from './session-choice.js';

/** Only errors are logged: warnings of the optimizer are many, and a person can do nothing about them. */
const LOG_ERRORS = 3;

/**
 * sessionOptions gives the session options of everything that is measured or served. Operators that a GPU's
 * provider does not implement run on the CPU. Spinning is off: threads that spin after a run slow the
 * neighbours that share the host's cores.
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

/** withDataFolder gives the same options for a model in memory, whose external data lies in a folder. */
export function withDataFolder(
  options: InferenceSession.SessionOptions,
  folder: string,
): InferenceSession.SessionOptions {
  const { session } = options.extra as { session: object };
  return {
    ...options,
    extra: { session: { ...session, model_external_initializers_file_folder_path: folder } },
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
