import type { MutantResult } from '@stryker-mutator/api/core';
import { NOT_SAMPLED, SENTENCE } from './choose.js';

/** How the mutants of a run ended, in numbers. */
export interface Tally {
  readonly made: number;
  readonly killed: number;
  readonly timedOut: number;
  readonly survived: number;
  readonly noCoverage: number;
  /** Mutants that only run while a module loads: trying them would take a fresh process for each. */
  readonly atLoad: number;
  readonly sentences: number;
  readonly notSampled: number;
  /** Mutants that ended a run outside of any test. */
  readonly broke: number;
}

export function tallyOf(results: readonly MutantResult[]): Tally {
  const count = (status: MutantResult['status'], reason?: string) =>
    results.filter((r) => r.status === status && (reason === undefined || r.statusReason === reason)).length;
  return {
    made: results.length,
    killed: count('Killed'),
    timedOut: count('Timeout'),
    survived: count('Survived'),
    noCoverage: count('NoCoverage'),
    atLoad: count('Ignored'),
    sentences: count('CompileError', SENTENCE),
    notSampled: count('CompileError', NOT_SAMPLED),
    broke: count('RuntimeError'),
  };
}

/** The share of mutants that tests notice, with the interval that holds it in 95 of 100 samples. */
export interface Score {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The score of a run is the share of noticed mutants among those tried and those that no test reaches. Where mutants
 * were sampled, it is an estimate: it assumes for the reached but untried mutants the share of the tried ones, within
 * Wilson's interval.
 */
export function scoreOf(tally: Tally): Score {
  const noticed = tally.killed + tally.timedOut;
  const tried = noticed + tally.survived;
  if (tried === 0) return { share: 0, low: 0, high: 0 };
  const reached = tried + tally.notSampled;
  const overall = (share: number) => (share * reached) / (reached + tally.noCoverage);
  const share = noticed / tried;
  const { low, high } = tally.notSampled > 0 ? wilson(share, tried) : { low: share, high: share };
  return { share: overall(share), low: overall(low), high: overall(high) };
}

function wilson(share: number, tried: number): { low: number; high: number } {
  const z2 = 1.96 ** 2;
  const middle = (share + z2 / (2 * tried)) / (1 + z2 / tried);
  const half = Math.sqrt(z2 * ((share * (1 - share)) / tried + z2 / (4 * tried ** 2))) / (1 + z2 / tried);
  return { low: middle - half, high: middle + half };
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** The lines that a person reads at the end of a run. */
export function summaryOf(room: string, results: readonly MutantResult[], seconds: number): string {
  const tally = tallyOf(results);
  const { share, low, high } = scoreOf(tally);
  const tried = tally.killed + tally.timedOut + tally.survived + tally.broke;
  const interval = tally.notSampled > 0 ? ` (between ${percent(low)} and ${percent(high)})` : '';
  const row = (name: string, value: number | string) => `  ${name.padEnd(34)} ${value}`;
  return [
    `Mutants of ${room}`,
    row('made', tally.made),
    row('killed', tally.killed),
    row('timed out', tally.timedOut),
    row('survived', tally.survived),
    row('no coverage', tally.noCoverage),
    row('left out: run only at load', tally.atLoad),
    row('left out: words for people', tally.sentences),
    row('left out: not in the sample', tally.notSampled),
    row('left out: broke the test run', tally.broke),
    row('score', `${percent(share)}${interval}`),
    row('seconds per 100 tried', tried > 0 ? ((100 * seconds) / tried).toFixed(0) : 'none tried'),
  ].join('\n');
}
