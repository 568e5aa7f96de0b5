import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256Of } from '../../src/formats/index.js';

/** Measure is one figure of a bench, in all its repeats. */
export interface Measure {
  /** The case and the figure, with its unit last: `100 GPUs, reservation: CPU ns/request`. */
  readonly name: string;
  readonly values: readonly number[];
}

/** BenchResult is what `--json` writes. All but `commit`, `measures` and `rows` must agree in two runs that are compared. */
export interface BenchResult {
  readonly kind: 'bench-result';
  readonly bench: string;
  /** The commit that was checked out, with `-dirty` where files had changed; absent outside a checkout. */
  readonly commit?: string;
  readonly node: string;
  readonly machine: { readonly cpu: string; readonly cores: number };
  /** The options of the run, the defaults among them. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The SHA-256 of the inputs of the bench, by name. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly measures: readonly Measure[];
  /** The bench's own rows, with more figures. */
  readonly rows: unknown;
}

/** BenchRun describes a run of a bench, as the bench knows it. */
export type BenchRun = Pick<BenchResult, 'bench' | 'options' | 'measures' | 'rows'> & {
  readonly inputs?: BenchResult['inputs'];
};

/** saveResult writes a run's result where `--json` names a file, or to stdout for `-`. */
export function saveResult(path: string | undefined, run: BenchRun): void {
  if (path === undefined) return;
  const text = `${JSON.stringify(resultOf(run), undefined, 1)}\n`;
  if (path === '-') process.stdout.write(text);
  else writeFileSync(path, text);
}

/** resultOf adds the machine and the checkout to a run. */
export function resultOf({ bench, options, inputs = {}, measures, rows }: BenchRun): BenchResult {
  const commit = checkedOut();
  return {
    kind: 'bench-result',
    bench,
    ...(commit === undefined ? {} : { commit }),
    node: process.versions.node,
    machine: { cpu: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length },
    options,
    inputs,
    measures,
    rows,
  };
}

/** measuresOf makes a measure of every figure of every row. A row may hold one value of a figure, or one for each repeat. */
export function measuresOf<Row>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
  figures: Readonly<Record<string, (row: Row) => number | readonly number[] | undefined>>,
): Measure[] {
  return rows.flatMap((row) =>
    Object.entries(figures).flatMap(([figure, of]) => {
      const value = of(row);
      const values = (typeof value === 'number' ? [value] : (value ?? [])).filter(Number.isFinite);
      return values.length === 0 ? [] : [{ name: `${nameOf(row)}: ${figure}`, values }];
    }),
  );
}

/** inputsAt gives the digest of a file, or one digest of all files of a folder. It is empty where no file exists. */
export function inputsAt(path: string | URL, name?: string): Record<string, string> {
  const place = typeof path === 'string' ? path : fileURLToPath(path);
  const found = statSync(place, { throwIfNoEntry: false });
  if (found === undefined) return {};
  const key = name ?? basename(place);
  if (found.isFile()) return { [key]: sha256Of(readFileSync(place)) };
  const files = readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const lines = files.map(
    (file) => `${sha256Of(readFileSync(file))} ${relative(place, file).replaceAll(sep, '/')}`,
  );
  return { [key]: sha256Of(lines.join('\n')) };
}

function checkedOut(): string | undefined {
  try {
    const describe = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
    const options = {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      stdio: 'pipe',
      encoding: 'utf8',
    } as const;
    return execFileSync('git', describe, options).trim();
  } catch {
    return undefined;
  }
}
