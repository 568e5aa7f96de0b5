import type { BenchResult, Measure } from './result.js';

/** Comparison is a table where two runs are comparable, and otherwise a list of their differences. */
export type Comparison =
  | { readonly alike: true; readonly table: string }
  | { readonly alike: false; readonly differences: readonly string[] };

/** compared sets two runs of one bench side by side, if they are comparable. */
export function compared(old: BenchResult, fresh: BenchResult): Comparison {
  const differences = differencesOf(old, fresh);
  if (differences.length > 0) return { alike: false, differences };
  const head = `${old.bench}: ${old.commit ?? 'no commit'} → ${fresh.commit ?? 'no commit'}`;
  return { alike: true, table: `${head}\n${tableOf(old.measures, fresh.measures)}` };
}

/**
 * differencesOf names all differences between two runs other than the code that was measured. Options and inputs belong
 * to a bench, so they are not compared where the benches differ.
 */
function differencesOf(old: BenchResult, fresh: BenchResult): string[] {
  const told: string[] = [];
  const check = (what: string, a: unknown, b: unknown): void => {
    if (JSON.stringify(a) !== JSON.stringify(b)) told.push(`${what}: ${shown(a)} and ${shown(b)}`);
  };
  check('bench', old.bench, fresh.bench);
  check('cpu', old.machine.cpu, fresh.machine.cpu);
  check('cores', old.machine.cores, fresh.machine.cores);
  check('Node major', majorOf(old.node), majorOf(fresh.node));
  if (old.bench !== fresh.bench) return told;
  for (const name of keysOf(old.options, fresh.options))
    check(`option ${name}`, old.options[name], fresh.options[name]);
  for (const name of keysOf(old.inputs, fresh.inputs))
    check(`input ${name}`, old.inputs[name]?.slice(0, 12), fresh.inputs[name]?.slice(0, 12));
  const names = new Set(old.measures.map(({ name }) => name));
  if (told.length === 0 && !fresh.measures.some(({ name }) => names.has(name)))
    told.push('measures: the runs have none in common');
  return told;
}

function majorOf(version: string): string {
  return version.split('.')[0] as string;
}

function keysOf(...records: readonly object[]): string[] {
  return [...new Set(records.flatMap((record) => Object.keys(record)))].sort();
}

function shown(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value);
}

/**
 * tableOf has a line per measure, in the order of the new run; measures that only the old run has come last.
 * The name is the last cell, because some names are long.
 */
function tableOf(old: readonly Measure[], fresh: readonly Measure[]): string {
  const before = new Map(old.map((measure) => [measure.name, measure.values]));
  const after = new Map(fresh.map((measure) => [measure.name, measure.values]));
  const names = [...after.keys(), ...[...before.keys()].filter((name) => !after.has(name))];
  const lines = [
    ['old', 'spread', 'new', 'spread', 'new/old', 'measure'],
    ...names.map((name) => lineOf(name, before.get(name), after.get(name))),
  ];
  const widths = lines[0]!.map((_, c) => Math.max(...lines.map((line) => line[c]!.length)));
  const padded = (cell: string, c: number): string => (c === 5 ? cell : cell.padStart(widths[c]!));
  return `${lines.map((line) => line.map(padded).join('  ')).join('\n')}\n`;
}

function lineOf(name: string, old: readonly number[] = [], fresh: readonly number[] = []): string[] {
  const [before, after] = [medianOf(old), medianOf(fresh)];
  const ratio = before === undefined || after === undefined || before === 0 ? undefined : after / before;
  return [figure(before), spreadOf(old), figure(after), spreadOf(fresh), ratio?.toFixed(3) ?? '–', name];
}

/** medianOf gives the mean of the two values in the middle where there is an even number. */
function medianOf(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
}

/** spreadOf gives the distance from the least to the largest value, as a share of the median. */
function spreadOf(values: readonly number[]): string {
  const median = medianOf(values);
  if (values.length < 2 || median === undefined || median === 0) return '–';
  return `${((100 * (Math.max(...values) - Math.min(...values))) / Math.abs(median)).toFixed(1)} %`;
}

function figure(value: number | undefined): string {
  return value === undefined ? '–' : Number(value.toPrecision(5)).toString();
}
