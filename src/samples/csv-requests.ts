import { csvLines, inSteps } from '../artifacts/index.js';
import { pushAll } from '../collections/index.js';
import { elementCount, oipDatatype, STRING_DTYPE } from '../execution/index.js';
import { decimalOf, type Fault, fault, firstFaults, shown, type TensorSpec } from '../formats/index.js';

/** CsvRequest is a line of a CSV file as a request of the Open Inference Protocol. */
export interface CsvRequest {
  readonly at: string;
  readonly bytes: Uint8Array;
}

/** Column is a place of an input that a column fills: element `element` in row-major order. */
interface Column {
  readonly input: number;
  readonly element: number;
}

/**
 * csvRequests reads a CSV text of a request on each line. The header names the columns `<input>.<element>`, from 0 in
 * row-major order, or `<input>` where it has one element. It may be left out for one input of numbers, whose elements then
 * stand in order. An empty line between others is a fault: it may be a sample that was lost.
 */
export async function csvRequests(
  text: string,
  inputs: readonly TensorSpec[],
): Promise<{ readonly requests: readonly CsvRequest[]; readonly faults: readonly Fault[] }> {
  const lines = await csvLines(text);
  if ('faults' in lines) return { requests: [], faults: lines.faults };
  const sizes = inputs.map(elementsOf);
  const open = inputs.filter((_, i) => sizes[i] === undefined);
  if (open.length > 0) {
    const said = 'has a shape that is not fixed, so that no columns can stand for it: save .npz or .jsonl';
    return { requests: [], faults: open.map(({ name }) => fault(said, name)) };
  }
  const counts = sizes as number[];
  const [first] = lines;
  const isNumeric = inputs.every(({ dtype }) => dtype !== STRING_DTYPE);
  const isHeaded = !(inputs.length === 1 && isNumeric && isNumbers(first?.record ?? []));
  // Text may have empty lines in it.
  const faults = isNumeric ? emptyLines(text) : [];
  const columns = isHeaded
    ? columnsOf(first?.record ?? [], { inputs, counts, faults })
    : inputs.flatMap((_, input) => elements(input, counts[input] as number));
  if (faults.length > 0) return { requests: [], faults };
  const rows: { readonly at: string; readonly read: ReturnType<typeof requestOf> }[] = [];
  const samples = lines.slice(isHeaded ? 1 : 0);
  await inSteps(samples, ({ record, info }) => {
    rows.push({ at: `line ${info.lines}`, read: requestOf(record, { inputs, counts, columns }) });
  });
  const wrong = rows.flatMap(({ at, read }) => ('wrong' in read ? [fault(read.wrong, at)] : []));
  if (rows.length === 0) faults.push(fault('has no line of a sample'));
  pushAll(faults, firstFaults(wrong));
  const requests = rows.flatMap(({ at, read }) => ('bytes' in read ? [{ at, bytes: read.bytes }] : []));
  return { requests, faults };
}

function emptyLines(text: string): Fault[] {
  const lines = text.trimEnd().split(/\r?\n/);
  const empty = lines.flatMap((line, i) => (line.trim() === '' && lines.length > 1 ? [i + 1] : []));
  return firstFaults(empty.map((line) => fault('is empty', `line ${line}`)));
}

/** elementsOf counts the elements of an input for one request; undefined where its shape is not fixed. */
function elementsOf(input: TensorSpec): number | undefined {
  const sizes = rowShape(input);
  const isFixed = (input.variableAxes ?? []).length === 0 && sizes.every((size) => size > 0);
  return isFixed ? elementCount(sizes) : undefined;
}

function rowShape({ shape, batchAxis }: TensorSpec): number[] {
  return shape.map((size, axis) => (axis === batchAxis ? 1 : size));
}

function isNumbers(cells: readonly string[]): boolean {
  return cells.length > 0 && cells.every((cell) => Number.isFinite(decimalOf(cell)));
}

function elements(input: number, count: number): Column[] {
  return Array.from({ length: count }, (_, element) => ({ input, element }));
}

interface Asked {
  readonly inputs: readonly TensorSpec[];
  readonly counts: readonly number[];
}

function columnsOf(
  header: readonly string[],
  { inputs, counts, faults }: Asked & { faults: Fault[] },
): Column[] {
  const wanted = new Map(
    inputs.flatMap(({ name }, input) =>
      elements(input, counts[input] as number).map((column): [string, Column] => [
        counts[input] === 1 ? name : `${name}.${column.element}`,
        column,
      ]),
    ),
  );
  const names = [...wanted.keys()];
  const takes = names.length <= 4 ? names.join(', ') : `${names.slice(0, 2).join(', ')}, … ${names.at(-1)}`;
  const missing = names.filter((name) => !header.includes(name));
  const unknown = header.filter((name) => !wanted.has(name));
  const twice = header.filter((name, i) => wanted.has(name) && header.indexOf(name) < i);
  const told = (said: string, some: readonly string[]) => {
    if (some.length === 0) return;
    const more = some.length > 3 ? ` and ${some.length - 3} more` : '';
    faults.push(fault(`${said} ${some.slice(0, 3).join(', ')}${more}; the columns are ${takes}`, 'line 1'));
  };
  told('lacks', missing);
  told('has no input for', unknown);
  told('names twice', twice);
  return header.map((name) => wanted.get(name) as Column);
}

/** requestOf writes a line as a request, or says why it is none. */
function requestOf(
  cells: readonly string[],
  { inputs, counts, columns }: Asked & { readonly columns: readonly Column[] },
): { readonly bytes: Uint8Array } | { readonly wrong: string } {
  if (cells.length !== columns.length)
    return { wrong: `has ${cells.length} cells, and ${columns.length} are needed` };
  const data = counts.map((count) => new Array<string | number>(count));
  for (const [i, cell] of cells.entries()) {
    const { input, element } = columns[i] as Column;
    const { dtype, name } = inputs[input] as TensorSpec;
    const value = dtype === STRING_DTYPE ? cell : decimalOf(cell);
    const isLong = dtype === 'int64' || dtype === 'uint64';
    if (typeof value === 'number' && !(isLong ? Number.isSafeInteger(value) : Number.isFinite(value))) {
      const needed = isLong ? 'a whole number within 2^53' : 'a number';
      return { wrong: `cell ${i + 1}, of ${name}, is ${shown(cell)}; ${needed} is needed` };
    }
    (data[input] as (string | number)[])[element] = value;
  }
  const sent = inputs.map((input, i) => ({
    name: input.name,
    datatype: oipDatatype(input.dtype),
    shape: rowShape(input),
    data: data[i],
  }));
  return { bytes: Buffer.from(JSON.stringify({ inputs: sent })) };
}
