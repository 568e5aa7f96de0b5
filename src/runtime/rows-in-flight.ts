import type { TensorData, Tensors } from '../execution/index.js';

/** AnsweredBy names the model of a cascade that answers a row, and says how certain it is. */
export interface AnsweredBy {
  readonly model: string;
  readonly certainty: number;
}

/**
 * RowInFlight is a row of a request that has no outcome yet: the tensors that it carries, by key, and how long it has
 * waited. Instants (`at`) are in nanoseconds of the driver's clock.
 */
export class RowInFlight {
  readonly tensors: Record<string, TensorData> = {};
  /** The model of a cascade that ran last for it, and how certain that was. */
  answered: AnsweredBy | undefined;
  /** Since when it waits for each stage; a row of a DAG may wait for several at once. */
  private readonly queuedAt: number[] = [];
  private queuedUs = 0;

  /** The row takes the tensors of its request under the keys, and not copies of them. */
  constructor(inputs: Tensors, names: readonly { readonly name: string }[], keys: readonly string[]) {
    names.forEach(({ name }, i) => {
      this.tensors[keys[i]!] = inputs[name]!;
    });
  }

  /** queued tells that the row waits for a stage from `at` on. */
  queued(stage: number, at: number): void {
    this.queuedAt[stage] = at;
  }

  /** begun tells that the row has left its queue at `at`, and adds the time since it came to what it has waited. */
  begun(stage: number, at: number): void {
    this.queuedUs += (at - (this.queuedAt[stage] ?? at)) / 1e3;
  }

  /** waitedUs is the time that the row has waited in queues, those of stages side by side added up. */
  get waitedUs(): number {
    return this.queuedUs;
  }

  /** keepOnly drops the tensors whose keys are not named. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of Object.keys(this.tensors)) if (!keys.has(key)) delete this.tensors[key];
  }
}
