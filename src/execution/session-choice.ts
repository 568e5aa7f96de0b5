/** Optimization is a level of graph optimization of ONNX Runtime. */
export type Optimization = 'disabled' | 'basic' | 'extended' | 'all';

/** SessionChoice says how a session is made. */
export interface SessionChoice {
  readonly optimization: Optimization;
  /**
   * memoryPattern says whether ONNX Runtime lays out all tensors of a run in one piece of memory from the
   * second run on, as is its default. The piece comes on top of the memory of the first run: up to half as
   * much again.
   */
  readonly memoryPattern: boolean;
  /**
   * prepacking says whether kernels keep a copy of their weights in an order of their own, as is ONNX
   * Runtime's default. It takes as much memory and time as loading the weights does, and makes runs faster;
   * sessions of a few runs go without.
   */
  readonly prepacking: boolean;
}

/** AS_SERVED makes the sessions that serve, and all others where nothing else is asked for. */
export const AS_SERVED: SessionChoice = { optimization: 'all', memoryPattern: true, prepacking: true };
