/** A model that could not be loaded or run, or a child process that ended under a request. Says what ONNX Runtime said. */
export class ExecutionError extends Error {
  override readonly name = 'ExecutionError';
}
