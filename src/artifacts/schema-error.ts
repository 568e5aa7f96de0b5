import { type Fault, InputError } from './errors.js';
import type { PointedFault } from './faults.js';
import { type ArtifactKind, validatorOf } from './schemas.js';
import { pointerSteps } from './text-places.js';

/**
 * SchemaError reports a file whose values are not what its schema says. `rest` is what the file holds without the values
 * that are wrong, where that is a whole file of its kind, so that more faults of it can be told in one round.
 */
export class SchemaError extends InputError {
  readonly kind: ArtifactKind;
  readonly rest: unknown;

  constructor(
    task: string,
    faults: readonly Fault[],
    { kind, rest }: { readonly kind: ArtifactKind; readonly rest: unknown },
  ) {
    super(task, faults);
    this.kind = kind;
    this.rest = rest;
  }
}

/** restOf takes out of a file's value what faults name; undefined where what is left is no file of the kind. */
export function restOf(kind: ArtifactKind, value: unknown, faults: readonly PointedFault[]): unknown {
  const rest: unknown = structuredClone(value);
  for (const { path, pointer = path } of faults) takeOut(rest, pointerSteps(pointer));
  return validatorOf(kind)(rest) ? rest : undefined;
}

function takeOut(value: unknown, steps: readonly string[]): void {
  const last = steps.at(-1);
  let within = value;
  for (const step of steps.slice(0, -1))
    within =
      typeof within === 'object' && within !== null ? (within as Record<string, unknown>)[step] : undefined;
  if (last === undefined || typeof within !== 'object' || within === null || Array.isArray(within)) return;
  delete (within as Record<string, unknown>)[last];
}
