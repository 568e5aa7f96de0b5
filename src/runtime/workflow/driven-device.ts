import type { OutputBytes, Tensors } from '../../execution/index.js';

/** FedOutput is an input of a component: its name there, and the kept output by which it is fed. */
export interface FedOutput {
  readonly name: string;
  /** The id under which the device keeps the output, and the name of the tensor among its tensors. */
  readonly kept: number;
  readonly tensor: string;
  /**
   * isLast says whether nothing takes the output afterwards: the tensor may be gone once the batch was
   * executed.
   */
  readonly isLast: boolean;
}

/** TaskToRun is a task of a batch: what it is fed, how many rows it has, and the id under which its output is to be kept. */
export interface TaskToRun {
  readonly rows: number;
  readonly inputs: readonly FedOutput[];
  readonly keepAs: number;
}

/**
 * RanBatch says of a batch that was executed how large the tensors of each task's output are, and when it was, by
 * `monotonicNs`.
 */
export interface RanBatch {
  readonly outputs: readonly OutputBytes[];
  readonly startedNs: number;
  readonly endedNs: number;
}

/**
 * DrivenDevice is a device as the driver of workflows sees it: it holds components of pools, executes one
 * batch at a time while it loads, and keeps outputs under the driver's ids. It does what it is asked in that
 * order, loads apart. A request to it rejects where it cannot be done, or its executor ends. A load or a
 * batch that fails touches nothing else.
 */
export interface DrivenDevice {
  /**
   * The number of times that its executor was started or has ended. A request that was made under an earlier
   * number is lost.
   */
  readonly generation: number;
  /** load holds the component of a pool. */
  load(pool: number): Promise<void>;
  /** release forgets the component of a pool. */
  release(pool: number): void;
  run(pool: number, tasks: readonly TaskToRun[]): Promise<RanBatch>;
  /** fetch gives tensors of a kept output, by name. */
  fetch(kept: number, names: readonly string[]): Promise<Tensors>;
  /** put keeps tensors that come from elsewhere. Their memory must not be changed before it is done. */
  put(kept: number, tensors: Tensors): Promise<void>;
  /** drop forgets kept outputs. */
  drop(kept: readonly number[]): void;
  /** end ends its executor, which could not do what it has to. It is started again, empty. */
  end(why: string): void;
}
