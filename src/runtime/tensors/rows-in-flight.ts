import { itemAt } from '../../collections/index.js';
import type { TensorData, Tensors } from '../../execution/index.js';

/** AnsweredBy names the model of a cascade that answers a row, and says how certain it is. */
export interface AnsweredBy {
  readonly model: string;
  readonly certainty: number;
}

/**
 * RowInFlight is a row of a request that has no outcome yet: the tensors that it carries, by key.
 */
export class RowInFlight {
  readonly tensors: Record<string, TensorData> = {};
  /** The model of a cascade that ran last for it, and how certain that was. */
  answered: AnsweredBy | undefined;
  /** The row takes the tensors of its request under the keys, and not copies of them. */
  constructor(inputs: Tensors, names: readonly { readonly name: string }[], keys: readonly string[]) {
    names.forEach(({ name }, i) => {
      this.tensors[itemAt(keys, i)] = inputs[name]!;
    });
  }

  /** keepOnly drops the tensors whose keys are not named. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of Object.keys(this.tensors)) if (!keys.has(key)) delete this.tensors[key];
  }
}
