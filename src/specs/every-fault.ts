import { loadSpec, oneErrorOf, placed, type Rests, SchemaError } from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import { type ArtifactKind, type Fault, faultAt, InputError, type Loaded } from '../formats/index.js';
import { SPEC_KINDS, type SpecKind } from './spec-kind.js';

/** AnySpec is a spec of any kind, as its file was read. */
export type AnySpec = Loaded<SpecKind>;

/**
 * usedSpec reads a spec of any kind and uses it, as `usedOrTold` does.
 * @throws as `loadSpec` and `use` do, with the faults of both
 */
export function usedSpec<T>(path: string, use: (spec: AnySpec) => Promise<T>): Promise<T> {
  return usedOrTold(path, loadSpec(path, SPEC_KINDS), use);
}

/**
 * usedOrTold waits for a file and uses it. Where it is a spec, some of whose values are not what its schema says, what its use
 * says of the others, and of the files that they name, is reported in the same round.
 * @param use reads the files that a spec names and checks it with them; it is called once more for faults alone
 * @throws the error of the reading, with the further faults, or that of the use
 */
export async function usedOrTold<L extends { readonly kind: ArtifactKind }, T>(
  path: string,
  reading: Promise<L>,
  use: (file: L) => Promise<T>,
): Promise<T> {
  let file: L;
  try {
    file = await reading;
  } catch (error) {
    if (!(error instanceof SchemaError) || !isSpecKind(error.kind)) throw error;
    const faults = await furtherFaults(path, error, use as unknown as UseOfSpec);
    if (faults.length === 0) throw error;
    throw oneErrorOf(`use ${path}`, [error, new InputError(`use ${path}`, faults)]);
  }
  return use(file);
}

type UseOfSpec = (spec: AnySpec) => Promise<unknown>;

/** furtherFaults gives what is said of a spec whatever its wrong values are replaced by. */
async function furtherFaults(path: string, error: SchemaError, use: UseOfSpec): Promise<Fault[]> {
  const rests = error.rests();
  const [first, ...others] = await Promise.all(
    (rests?.values ?? []).map((value) =>
      faultsOf(use({ kind: error.kind, value, path, sha256: '' } as AnySpec)),
    ),
  );
  if (rests === undefined || first === undefined) return [];
  const same = first.filter((one) => others.every((other) => other.some((its) => isSame(one, its))));
  return same.flatMap((one) => {
    const pointer = pointerIn(one, path, rests);
    if (pointer === undefined) return [one];
    return dependsOn(rests, pointer) ? [] : [faultAt(one, `${path} ${pointer}`)];
  });
}

async function faultsOf(work: Promise<unknown>): Promise<Fault[]> {
  try {
    await work;
    return [];
  } catch (error) {
    if (error instanceof InputError) return placed(error);
    throw error;
  }
}

const isSame = (a: Fault, b: Fault): boolean => a.path === b.path && a.message === b.message;

/** pointerIn gives the place of a fault in the spec; undefined where it is elsewhere, as in a file that the spec names. */
function pointerIn({ path: at }: Fault, path: string, { values: [value = {}] }: Rests): string | undefined {
  const pointer = (at.startsWith(path) ? at.slice(path.length) : at).replace(/^[ #]/, '');
  return pointer.startsWith('/') && Object.hasOwn(value, itemAt(pointer.split('/'), 1)) ? pointer : undefined;
}

/** dependsOn says whether a fault of a place may follow from a value that stands in for a wrong one. */
function dependsOn({ wrong, lacksName }: Rests, pointer: string): boolean {
  return lacksName || wrong.some((one) => pointer === one || pointer.startsWith(`${one}/`));
}

function isSpecKind(kind: string): kind is SpecKind {
  return (SPEC_KINDS as readonly string[]).includes(kind);
}

/** refusing turns a check that throws into one among several inputs of `everyInput`. */
export async function refusing(check: () => unknown): Promise<void> {
  check();
}
