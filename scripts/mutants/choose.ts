/**
 * A checker for Stryker that refuses mutants which are not to be tried: those of sentences, and those outside a sample.
 * Stryker calls a refused mutant a compile error and leaves it out of the score.
 */
import { readFileSync } from 'node:fs';
import { type Checker, type CheckResult, CheckStatus } from '@stryker-mutator/api/check';
import type { Mutant, StrykerOptions } from '@stryker-mutator/api/core';
import { commonTokens, declareFactoryPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin';
import { streamOf } from '../../src/random/index.js';

/** The options of the checker, which Stryker carries under the checker's name. */
export interface ChooseOptions {
  readonly sample?: number;
  readonly seed: number;
}

export const SENTENCE = 'words for people';
export const NOT_SAMPLED = 'not in the sample';

/**
 * Says whether a mutant empties a string that holds a space. Such strings are messages, whose words tests leave open on
 * purpose; a string without a space is a name or a path that code or a caller compares, and stays.
 */
function isSentence(mutant: Mutant, linesOf: (file: string) => readonly string[]): boolean {
  if (mutant.mutatorName !== 'StringLiteral') return false;
  const { start, end } = mutant.location;
  const lines = linesOf(mutant.fileName).slice(start.line, end.line + 1);
  lines[lines.length - 1] = (lines.at(-1) ?? '').slice(0, end.column);
  lines[0] = (lines[0] ?? '').slice(start.column);
  return /\s/.test(lines.join('\n'));
}

/** The ids of mutants beyond the first `sample` of them in a seeded shuffle. */
function outsideSample(
  mutants: readonly Mutant[],
  { sample = mutants.length, seed }: ChooseOptions,
): string[] {
  const stream = streamOf(seed, 'mutants');
  const ids = mutants.map(({ id }) => id).sort((a, b) => Number(a) - Number(b));
  for (let i = 0; i < Math.min(sample, ids.length); i++) {
    const j = i + stream.integer(ids.length - i);
    [ids[i], ids[j]] = [ids[j] as string, ids[i] as string];
  }
  return ids.slice(sample);
}

class ChooseChecker implements Checker {
  constructor(private readonly options: ChooseOptions) {}

  async init(): Promise<void> {}

  /** All mutants are one group, since a sample is one of all. */
  async group(mutants: Mutant[]): Promise<string[][]> {
    return [mutants.map(({ id }) => id)];
  }

  async check(mutants: Mutant[]): Promise<Record<string, CheckResult>> {
    const texts = new Map<string, readonly string[]>();
    const linesOf = (file: string) => {
      const lines = texts.get(file) ?? readFileSync(file, 'utf8').split('\n');
      texts.set(file, lines);
      return lines;
    };
    const results: Record<string, CheckResult> = {};
    for (const { id } of mutants) results[id] = { status: CheckStatus.Passed };
    const refuse = (id: string, reason: string) => {
      results[id] = { status: CheckStatus.CompileError, reason };
    };
    const wanted = mutants.filter((mutant) => !isSentence(mutant, linesOf));
    for (const { id } of mutants.filter((mutant) => !wanted.includes(mutant))) refuse(id, SENTENCE);
    // Mutants that no test reaches cost nothing: they are all counted, and only the others are sampled.
    const reached = wanted.filter(({ coveredBy = [] }) => coveredBy.length > 0);
    for (const id of outsideSample(reached, this.options)) refuse(id, NOT_SAMPLED);
    return results;
  }
}

const createChecker = (options: StrykerOptions) => new ChooseChecker(options.choose as ChooseOptions);
createChecker.inject = tokens(commonTokens.options);

export const strykerPlugins = [declareFactoryPlugin(PluginKind.Checker, 'choose', createChecker)];
export const strykerValidationSchema = { properties: { choose: { type: 'object' } } };
