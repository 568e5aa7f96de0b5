import { everyInput, type Loaded, loadSpec, SchemaError } from '../artifacts/index.js';
import { SPEC_KINDS, type SpecKind } from './spec-kind.js';
import { type SpecTypes, specOf } from './specs.js';

/** everyFaultOfSpec reads a spec of any kind, and tells of a bad one as `withFurtherFaults` does. @throws as `loadSpec` does */
export function everyFaultOfSpec(path: string): Promise<Loaded<SpecTypes[SpecKind]['spec']>> {
  return withFurtherFaults(path, loadSpec(path, SPEC_KINDS));
}

/**
 * withFurtherFaults waits for a file. Where it is a spec, some of whose values are not what its schema says, and the others
 * are a spec by themselves, what is wrong with that, and with the files that it names, is told in the same round.
 * @throws the error of the reading, with the further faults
 */
export async function withFurtherFaults<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof SchemaError) || error.rest === undefined || !isSpecKind(error.kind)) throw error;
    const rest = { kind: error.kind, value: error.rest, path, sha256: '' };
    const asked = await specOf(error.kind);
    await everyInput(`use ${path}`, [Promise.reject(error), asked.load(rest as never)]);
    throw error;
  }
}

function isSpecKind(kind: string): kind is SpecKind {
  return (SPEC_KINDS as readonly string[]).includes(kind);
}

/** refusing turns a check that throws into one among several inputs of `everyInput`. */
export async function refusing(check: () => void): Promise<void> {
  check();
}
