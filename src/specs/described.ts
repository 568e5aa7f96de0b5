import { FilesRead } from '../artifacts/index.js';
import type { Loaded } from '../formats/index.js';
import type { SpecKind } from './spec-kind.js';
import type { SpecOf } from './spec-of.js';
import { type AnySpecTypes, specOf } from './specs.js';

/**
 * describedSpec checks that a spec fits together with the files that it names, and says in a line what it asks for, with
 * what is to be known of it and its files.
 * @param files what was read before, and is not read again
 * @throws InputError with every fault of these; MissingError where files are only missing
 */
export async function describedSpec(spec: Loaded<SpecKind>, files = new FilesRead()): Promise<string> {
  const asked: SpecOf<AnySpecTypes> = await specOf(spec.kind);
  const loaded = await asked.load(spec, files);
  return [asked.described(loaded), ...new Set(asked.notes(loaded))].join('; ');
}
