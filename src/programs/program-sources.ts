import type { CalledFace, SourceName } from './messages.js';
import type { TensorMetadata, TensorSource } from './program.js';

/** KnownSource is what is known of a source: where it comes from, its metadata, and how many rows it has. */
export interface KnownSource {
  readonly source: SourceName;
  readonly metadata: TensorMetadata;
  readonly rows: number;
}

/** All sources of all runs, to tell those of another run from what is none. */
const made = new WeakSet<object>();

/** ProgramSources holds the sources that a run has been given, so that those of other runs are known for what they are. */
export class ProgramSources {
  private readonly known = new WeakMap<object, KnownSource>();

  /** add makes a source. */
  add(known: KnownSource): TensorSource {
    const source = Object.freeze({ name: known.metadata.name });
    made.add(source);
    this.known.set(source, known);
    return source;
  }

  /** find gives what is known of a source, or says why it is none of this run. */
  find(given: unknown): KnownSource | string {
    if (typeof given !== 'object' || given === null)
      return `is no source; give an output of a call, as \`handle.out('y')\`, or an input, as \`request.in('x')\``;
    const known = this.known.get(given);
    if (known !== undefined) return known;
    if (made.has(given)) return 'belongs to the run of another request; pass on what this run was given';
    if ('out' in given) return "is a handle; give one of its outputs, as `handle.out('y')`";
    return `is no source: calls take no values; give an output of a call, as \`handle.out('y')\`, or an input, as \`request.in('x')\``;
  }
}

/** rowsOfShape gives the rows of a tensor with a shape: its first size, or those of what it was made from where that is free. */
export function rowsOfShape(shape: readonly number[], rowsBefore: number): number {
  const [first = 1] = shape;
  return first === -1 ? rowsBefore : first;
}

/** FittedCall is a call whose inputs fit. */
export interface FittedCall {
  readonly inputs: readonly { readonly name: string; readonly source: SourceName }[];
  readonly rows: number;
}

/** fitted gives the inputs of a call and its rows, or everything that is wrong with them. */
export function fitted(
  component: CalledFace,
  given: Readonly<Record<string, unknown>>,
  sources: ProgramSources,
): FittedCall | readonly string[] {
  const faults: string[] = [];
  const inputs: FittedCall['inputs'][number][] = [];
  const rows = new Map<number, string>();
  for (const name of Object.keys(given))
    if (!component.inputs.some((input) => input.name === name))
      faults.push(`it has no input "${name}", only ${names(component.inputs)}`);
  for (const input of component.inputs) {
    const { name } = input;
    if (!Object.hasOwn(given, name) || given[name] === undefined) {
      faults.push(`its input ${name} is missing`);
      continue;
    }
    const found = sources.find(given[name]);
    const misfit = typeof found === 'string' ? found : misfitOf(found, input);
    if (typeof found === 'string' || misfit !== undefined) {
      faults.push(`what is given as ${name} ${misfit}`);
      continue;
    }
    if (input.shape[0] === -1 && !rows.has(found.rows)) rows.set(found.rows, name);
    inputs.push({ name, source: found.source });
  }
  if (rows.size > 1)
    faults.push(
      `its inputs hold unequal numbers of rows: ${[...rows].map(([count, name]) => `${name} ${count}`).join(', ')}`,
    );
  if (faults.length > 0) return faults;
  const [batch = 1] = rows.keys();
  return { inputs, rows: batch };
}

/** misfitOf says why a source cannot be taken where metadata are asked for; undefined where it can. Sizes that are free fit any. */
export function misfitOf({ metadata, rows }: KnownSource, asked: TensorMetadata): string | undefined {
  const [, ...rest] = metadata.shape;
  const given = metadata.shape.length === 0 ? [] : [rowsOfShape(metadata.shape, rows), ...rest];
  const sizesFit = asked.shape.every(
    (size, axis) => size === -1 || given[axis] === -1 || given[axis] === size,
  );
  if (metadata.datatype === asked.datatype && asked.shape.length === metadata.shape.length && sizesFit)
    return undefined;
  return `is ${metadata.datatype}[${given.join(', ')}], not ${asked.datatype}[${asked.shape.join(', ')}]`;
}

/** names lists tensors by their names. */
export function names(tensors: readonly TensorMetadata[]): string {
  return tensors.map(({ name }) => name).join(', ');
}
