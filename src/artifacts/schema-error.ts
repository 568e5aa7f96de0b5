import { type ArtifactKind, type Fault, InputError } from '../formats/index.js';
import type { Rests } from './stand-ins.js';

/**
 * SchemaError reports a file whose values are not what its schema says. `rests` gives what the file holds without the values
 * that are wrong, where that makes whole files of its kind, so that more faults of it can be reported in one round.
 */
export class SchemaError extends InputError {
  readonly kind: ArtifactKind;
  readonly rests: () => Rests | undefined;

  constructor(
    task: string,
    faults: readonly Fault[],
    { kind, rests }: { readonly kind: ArtifactKind; readonly rests: () => Rests | undefined },
  ) {
    super(task, faults);
    this.kind = kind;
    this.rests = rests;
  }
}
