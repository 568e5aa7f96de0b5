/** firstLine gives the first line of a text, trimmed: of an error, the part above the last output of a process. */
export function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.trim() ?? '';
}

/** ExecutionError reports a model that could not be loaded or run, or a child process that ended during a request. */
export class ExecutionError extends Error {
  override readonly name: string = 'ExecutionError';

  /**
   * @param why what ONNX Runtime said, or how the process ended
   * @param isLoading whether the model was being loaded, not run
   */
  constructor(
    message: string,
    readonly why = message,
    readonly isLoading = false,
  ) {
    super(message);
  }
}

/** ChangedModelError reports a model that is not loaded, because its files are not what their digests say. */
export class ChangedModelError extends ExecutionError {
  override readonly name = 'ChangedModelError';
}

/** OutOfMemoryError reports that memory ran out while a model was loaded or run. */
export class OutOfMemoryError extends ExecutionError {
  override readonly name = 'OutOfMemoryError';
}

/** ONNX Runtime, the C++ library and V8 say this when an allocation fails. */
const ALLOCATION_FAILED =
  /bad_alloc|failed to allocate|allocation failed|out of memory|cannot allocate memory|invalid array buffer length/i;

/** isAboutMemory says whether a message is about memory that could not be allocated. */
export function isAboutMemory(message: string): boolean {
  return ALLOCATION_FAILED.test(message);
}
