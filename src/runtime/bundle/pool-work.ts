import type { ModelDigests, Tensors } from '../../execution/index.js';
import type { TensorSpec } from '../../formats/index.js';
import type { FedInput, GivenOutput } from '../../plans/index.js';

/** LiveModel is a model as clients see it: a model of a pooled plan, a pipeline, or an application of one. */
export interface LiveModel {
  name: string;
  sloNs: number;
  inputs: TensorSpec[];
  outputs: TensorSpec[];
  /**
   * Under which name a row has each of its inputs and outputs, in their order. A row that lacks an output is answered
   * without it where `mayLackOutputs`, and else fails.
   */
  inputKeys: readonly string[];
  outputKeys: readonly string[];
  mayLackOutputs: boolean;
  /** The most rows that one request may carry. */
  maxRows: number;
  /** The rate that it was planned for, in requests per second, and its weight among the models. */
  plannedRps: number;
  weight: number;
  /** How much a drop of one of its requests weighs; 1 where absent. */
  dropWeight?: number;
}

/**
 * PoolWork is what the devices of a pool do: the file that they run, where its inputs are among the tensors of a row, and
 * where its outputs go. The tensors of a row have names (keys) of their own: those of the graph in a chain of
 * partitions, and `stage.tensor` in a pipeline.
 */
export interface PoolWork extends StageTensors {
  readonly file: string;
  /** The digests that the manifest gives of the file and its external data. */
  readonly digests: ModelDigests;
  /** The size in bytes of the file, with its external data. */
  readonly fileBytes: number;
  /** The keys of the tensors that later work or the answer needs once this is done. */
  carried: ReadonlySet<string>;
}

/** StageTensors says what a file is fed and gives. */
export interface StageTensors {
  readonly inputs: readonly FedInput[];
  readonly outputs: readonly GivenOutput[];
  /** The rule that reads from the outputs where a row goes on; absent where the outputs do not decide. */
  readonly fork?: Fork;
  /** The name of the model whose outputs answer a row that ends here, where several can; it is reported with the answer. */
  readonly answers?: string;
}

/** Fork reads verdicts from what a stage's model gave for a row, by the names of its outputs. */
export interface Fork {
  /**
   * verdictOn gives the bits of the conditional edges that are taken for the row, or how certain the model is of it, as
   * `ServingCore.executed` has them.
   * @throws Error where an output lacks the element that says it
   */
  verdictOn(outputs: Tensors): number;
}
