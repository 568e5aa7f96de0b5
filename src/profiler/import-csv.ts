import { emittedHead } from '../artifacts/index.js';
import { itemAt, pushAll } from '../collections/index.js';
import {
  type DeviceProfile,
  decimalOf,
  type Fault,
  fault,
  HUGE,
  InputError,
  isHugeWhole,
  type Profile,
  shown,
  smallCsvLines,
} from '../formats/index.js';

/** CsvTable is a table's text and its file name, which says whose latencies it holds and is quoted in faults. */
export interface CsvTable {
  readonly path: string;
  readonly text: string;
}

export interface CsvOptions {
  /** The batch size of each column; a table with fewer columns (a small virtual GPU) has the first ones. */
  readonly batchSizes: readonly number[];
  /** The bytes that cross after each block for one request: see `readCutBytes`. */
  readonly cutBytes: CsvTable;
  /** The name of the model; by default it comes from the file names. */
  readonly model?: string;
  /** The unit of the tables' figures; µs by default. */
  readonly unit?: 'us' | 'ms' | 's';
}

const US_PER: Readonly<Record<'us' | 'ms' | 's', number>> = { us: 1, ms: 1e3, s: 1e6 };

interface Named {
  readonly path: string;
  readonly model: string;
  readonly device: string;
  readonly virtual: number;
  readonly rows: readonly (readonly number[])[];
}

/**
 * importCsv reads latency tables as PPipe's artifact has them: one file per device class and virtual GPU size, named
 * `<model>-<class>-<mps>.csv`, without a header, with a line per block and a column per batch size. In the file name,
 * mps counts from 0: `mps` 0 is the whole GPU, 3 is 1/4 of it (v = mps + 1).
 * @throws InputError with every fault of every file, by line: names that do not parse, cells that are no latency,
 *   tables of unlike size, the same class and size twice
 */
export function importCsv(tables: readonly CsvTable[], options: CsvOptions): Profile {
  const faults: Fault[] = tables.length === 0 ? [fault('no tables are given')] : [];
  pushAll(faults, batchFaults(options.batchSizes));
  const named = tables.flatMap((table) => readTable(table, US_PER[options.unit ?? 'us'], faults) ?? []);
  const blocks = named[0]?.rows.length ?? 0;
  for (const table of named) pushAll(faults, shapeFaults(table, blocks, options.batchSizes.length));
  const model = options.model ?? oneModel(named, faults);
  const cutBytes = cutBytesOf(options.cutBytes, blocks, faults);
  const devices = collect(named, options.batchSizes, faults);
  if (faults.length > 0) throw new InputError('import latency tables', faults);
  const { inputs: _inputs, ...head } = emittedHead('profile', []);
  return { ...head, model: { name: model }, blocks: cutBytes.map((bytes) => ({ cutBytes: bytes })), devices };
}

function batchFaults(sizes: readonly number[]): Fault[] {
  if (sizes.length === 0) return [fault('the batch sizes of the columns are not given')];
  const wrong = sizes.filter(
    (size, i) => !(Number.isSafeInteger(size) && size >= 1) || sizes.indexOf(size) !== i,
  );
  return wrong.map((size) => fault(`batch size ${size} is not a whole number from 1 on, or is given twice`));
}

const FILE_NAME = /^(.+)-([^-]+)-(\d{1,3})\.csv$/i;

function readTable({ path, text }: CsvTable, toUs: number, faults: Fault[]): Named | undefined {
  const match = FILE_NAME.exec(path.replace(/^.*[\\/]/, ''));
  if (match === null) {
    faults.push(fault('the file is not named <model>-<class>-<mps>.csv, mps counting from 0', path));
    return undefined;
  }
  const rows = readNumbers({ path, text }, 'a latency', faults).map(({ numbers }) =>
    numbers.map((value) => value * toUs),
  );
  if (rows.length === 0) faults.push(fault('it has no lines', path));
  return { path, model: itemAt(match, 1), device: itemAt(match, 2), virtual: Number(match[3]) + 1, rows };
}

/** readNumbers gives the numbers of a CSV file with their lines; cells that are no numbers become faults. */
function readNumbers(
  { path, text }: CsvTable,
  what: string,
  faults: Fault[],
): { line: number; numbers: number[] }[] {
  const records = smallCsvLines(text);
  if ('faults' in records) {
    pushAll(
      faults,
      records.faults.map(({ message }) => fault(message, path)),
    );
    return [];
  }
  return records.map(({ record, info }) => ({
    line: info.lines,
    numbers: record.map((cell, column) => {
      const value = decimalOf(cell);
      const isHuge = isHugeWhole(cell);
      if (Number.isFinite(value) && value >= 0 && !isHuge) return value;
      const why = isHuge ? `; ${HUGE}` : `, not ${what}`;
      faults.push(
        fault(`column ${column + 1} is ${shown(cell.slice(0, 40))}${why}`, `${path}:${info.lines}`),
      );
      return 0;
    }),
  }));
}

function shapeFaults({ path, rows }: Named, blocks: number, sizes: number): Fault[] {
  const faults: Fault[] = [];
  const columns = rows[0]?.length ?? 0;
  if (rows.length !== blocks && rows.length > 0)
    faults.push(fault(`it has ${rows.length} lines (blocks), the first table has ${blocks}`, path));
  if (columns > sizes) faults.push(fault(`it has ${columns} columns for ${sizes} batch sizes`, path));
  rows.forEach((row, i) => {
    if (row.length !== columns)
      faults.push(fault(`block ${i} has ${row.length} columns, the first has ${columns}`, path));
  });
  return faults;
}

function oneModel(named: readonly Named[], faults: Fault[]): string {
  const models = [...new Set(named.map(({ model }) => model))];
  if (models.length > 1) faults.push(fault(`the files are named after several models: ${models.join(', ')}`));
  return models[0] ?? '';
}

/**
 * readCutBytes reads the bytes that cross after each block, from a file with one figure a line. If the file has one
 * line fewer than there are blocks, the last block has 0. With `blocks` 0, the file says how many there are.
 * @throws InputError with every line that is no whole number, or where the number of lines is another
 */
export function readCutBytes(table: CsvTable, blocks: number): number[] {
  const faults: Fault[] = [];
  const bytes = cutBytesOf(table, blocks, faults);
  if (faults.length > 0) throw new InputError('read the bytes that cross after each block', faults);
  return bytes;
}

function cutBytesOf(table: CsvTable, blocks: number, faults: Fault[]): number[] {
  const lines = readNumbers(table, 'a number of bytes', faults);
  for (const { line, numbers } of lines) {
    if (numbers.length !== 1 || !Number.isSafeInteger(numbers[0]))
      faults.push(fault('one whole number of bytes is needed', `${table.path}:${line}`));
  }
  const bytes = lines.map(({ numbers }) => numbers[0] ?? 0);
  if (bytes.length === blocks - 1) return [...bytes, 0];
  if (bytes.length !== blocks && blocks > 0)
    faults.push(fault(`it has ${bytes.length} lines for ${blocks} blocks`, table.path));
  return bytes;
}

function collect(
  named: readonly Named[],
  batchSizes: readonly number[],
  faults: Fault[],
): Record<string, DeviceProfile> {
  const devices: Record<string, DeviceProfile> = {};
  for (const { path, device, virtual, rows } of named) {
    devices[device] ??= { imported: true, blockLatencyUs: {} };
    const table = devices[device].blockLatencyUs;
    if (table[virtual] !== undefined) faults.push(fault(`${device} at 1/${virtual} is given twice`, path));
    const columns = rows[0]?.length ?? 0;
    table[virtual] = Object.fromEntries(
      batchSizes.slice(0, columns).map((batch, column) => [batch, rows.map((row) => row[column] ?? null)]),
    );
  }
  return devices;
}
