/** What a person is told of an error: its first line, without what a process said before it ended. */
export function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.trim() ?? '';
}

/** A model that could not be loaded or run, or a child process that ended under a request. Says what ONNX Runtime said. */
export class ExecutionError extends Error {
  override readonly name = 'ExecutionError';

  /**
   * @param why what ONNX Runtime said, or how the process ended
   * @param isLoading the model was being loaded, not run
   */
  constructor(
    message: string,
    readonly why = message,
    readonly isLoading = false,
  ) {
    super(message);
  }
}
