import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../../../shared/traces/', import.meta.url));
const MINUTES_PER_DAY = 1440;
const MINUTES = 60;
/** Each mean rate of a trace is served for so long, and the largest is this rate (InferLine §6). */
const INTERVAL_S = 30;
const PEAK_RPS = 300;
/** The share of a trace that is planned for. */
const PLANNED_SHARE = 0.25;

/** RealTrace is a published trace as InferLine's §6 makes it: some sixty mean rates, each of which is served for 30 s. */
export interface RealTrace {
  readonly name: string;
  readonly rps: readonly number[];
}

/** REAL_TRACE_FILES lists the files that `realTraces` reads, in `../shared/traces`. */
export const REAL_TRACE_FILES = [
  'worldcup98-june-per-minute.csv',
  'twitter-2018-04-per-second-day1.csv',
  'azure-functions-2019-100-functions-per-minute.csv',
  'azure-llm-2023-code.csv',
].map((name) => join(FOLDER, name));

/** hasRealTraces tells whether the published traces are beside the checkout. */
export function hasRealTraces(): boolean {
  return REAL_TRACE_FILES.every((path) => existsSync(path));
}

/**
 * realTraces gives hours of published traces by the minute, and one day by 24 minutes, with the largest rate set to
 * 300/s. The hours are those with the steepest rise over their first quarter, looked at every five minutes.
 */
export function realTraces(): RealTrace[] {
  const [worldcup, twitter, functions, llm] = REAL_TRACE_FILES.map((path) => linesOf(path)) as string[][];
  const worldcupMinutes = countsOf(worldcup as string[]);
  const firstMatchDay = worldcupMinutes.slice(9 * MINUTES_PER_DAY, 10 * MINUTES_PER_DAY);
  return [
    { name: 'worldcup, 10 June', rps: rescaled(summed(firstMatchDay, MINUTES_PER_DAY / MINUTES)) },
    { name: 'worldcup, an hour', rps: rescaled(steepestHour(worldcupMinutes)) },
    { name: 'twitter, an hour', rps: rescaled(steepestHour(summed(countsOf(twitter as string[]), 60))) },
    { name: 'azure functions', rps: rescaled(steepestHour(functionMinutes(functions as string[]))) },
    { name: 'azure llm code', rps: rescaled(arrivalMinutes(llm as string[])) },
  ];
}

/** writeSplit writes the part of a trace that is planned for, and the part that is served, as counts of 30 s. */
export function writeSplit({ rps }: RealTrace, folder: string): { sample: string; rest: string } {
  const planned = Math.round(PLANNED_SHARE * rps.length);
  const sample = join(folder, 'sample.csv');
  const rest = join(folder, 'rest.csv');
  writeFileSync(sample, countLines(rps.slice(0, planned)));
  writeFileSync(rest, countLines(rps.slice(planned)));
  return { sample, rest };
}

function countLines(rps: readonly number[]): string {
  return `interval_s,count\n${rps.map((rate) => `${INTERVAL_S},${Math.round(rate * INTERVAL_S)}\n`).join('')}`;
}

function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8').trim().split(/\r?\n/).slice(1);
}

function countsOf(lines: readonly string[]): number[] {
  return lines.map((line) => Number(line.split(',')[1]));
}

/** functionMinutes adds up all functions; the counts follow three columns of hashes. */
function functionMinutes(lines: readonly string[]): number[] {
  const rows = lines.map((line) => line.split(',').slice(-MINUTES_PER_DAY).map(Number));
  return Array.from({ length: MINUTES_PER_DAY }, (_, m) =>
    rows.reduce((sum, row) => sum + (row[m] as number), 0),
  );
}

/** arrivalMinutes counts requests by the whole minutes since the first. */
function arrivalMinutes(lines: readonly string[]): number[] {
  const atMs = lines.map((line) => Date.parse(`${line.slice(0, 23).replace(' ', 'T')}Z`));
  const counts: number[] = [];
  for (const ms of atMs) {
    const minute = Math.floor((ms - (atMs[0] as number)) / 60e3);
    while (counts.length <= minute) counts.push(0);
    counts[minute]! += 1;
  }
  return counts;
}

function summed(counts: readonly number[], together: number): number[] {
  return Array.from({ length: Math.floor(counts.length / together) }, (_, i) =>
    counts.slice(i * together, (i + 1) * together).reduce((sum, count) => sum + count, 0),
  );
}

function steepestHour(minutes: readonly number[]): number[] {
  const quarter = PLANNED_SHARE * MINUTES;
  let best = { rise: 0, hour: minutes.slice(0, MINUTES) };
  for (let i = 0; i + MINUTES <= minutes.length; i += 5) {
    const hour = minutes.slice(i, i + MINUTES);
    const before = hour.slice(0, quarter).reduce((sum, count) => sum + count, 0) / quarter;
    const rise = Math.max(...hour.slice(quarter)) / before;
    if (rise > best.rise) best = { rise, hour };
  }
  return best.hour;
}

function rescaled(counts: readonly number[]): number[] {
  const most = Math.max(...counts);
  return counts.map((count) => (PEAK_RPS * count) / most);
}
