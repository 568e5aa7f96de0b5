import type { CertaintyMeasure, TensorSpec } from '../formats/index.js';
import type { VerdictChoice } from './verdict-choice.js';

/**
 * Wiring says how the parts of a plan are joined by tensors. A row keeps its tensors under keys: those of the request at
 * first, and then what each part gives.
 */
export interface Wiring {
  /** The wiring of each application, in the order of the topology's models. */
  readonly applications: readonly ApplicationWiring[];
  /** The wiring of each pool of the topology, in order. */
  readonly parts: readonly PartWiring[];
}

/** ApplicationWiring says under which keys a row has what clients send and get. */
export interface ApplicationWiring {
  readonly inputs: readonly KeyedTensor[];
  readonly outputs: readonly KeyedTensor[];
  /** mayLackOutputs says whether a row may be answered without some of the outputs. */
  readonly mayLackOutputs: boolean;
}

/** KeyedTensor is a tensor as clients know it, with the key under which a row has it. */
export interface KeyedTensor {
  readonly spec: TensorSpec;
  readonly key: string;
}

/** PartWiring says what the model of a part is fed and gives, and what its outputs say of where a row goes on. */
export interface PartWiring {
  readonly inputs: readonly FedInput[];
  readonly outputs: readonly GivenOutput[];
  /** The edges that the outputs choose; absent where all edges are always taken, or certainty decides. */
  readonly choices?: readonly VerdictChoice[];
  /** The output from which follows how certain the model is of a row, where gears go on by that. */
  readonly certainty?: { readonly output: string; readonly measure: CertaintyMeasure };
  /** The name of the model whose outputs answer a row that ends here, where several can. */
  readonly answers?: string;
}

/** FedInput is an input of the file: the first of `from` that the row has. */
export interface FedInput {
  readonly spec: TensorSpec;
  readonly from: readonly string[];
  /**
   * isInner says whether another file of the same model makes it, so that the model was profiled with no
   * value of it that is known.
   */
  readonly isInner?: boolean;
}

/** GivenOutput is an output of the file, with the key under which a row keeps it. */
export interface GivenOutput {
  readonly spec: TensorSpec;
  readonly key: string;
  /** A second key, under which a row has it that ends here although it could go on. */
  readonly endKey?: string;
}

/** BundledTensors are what the file of each part takes and gives, as the manifest of a bundle has it, in the order of the pools. */
export type BundledTensors = readonly {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}[];
