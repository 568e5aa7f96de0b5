/** What a person is told of an error: its first line, without what a process said before it ended. */
export function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.trim() ?? '';
}

/** A model that could not be loaded or run, or a child process that ended under a request. Says what ONNX Runtime said. */
export class ExecutionError extends Error {
  override readonly name: string = 'ExecutionError';

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

/** Memory ran out while a model was loaded or run: what was asked of the machine is more than it has. */
export class OutOfMemoryError extends ExecutionError {
  override readonly name = 'OutOfMemoryError';
}

/** What ONNX Runtime, the C++ library and V8 say when an allocation fails. */
const ALLOCATION_FAILED =
  /bad_alloc|failed to allocate|allocation failed|out of memory|cannot allocate memory|invalid array buffer length/i;

/** Whether a message is about memory that could not be had. */
export function isAboutMemory(message: string): boolean {
  return ALLOCATION_FAILED.test(message);
}
