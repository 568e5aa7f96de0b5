import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { MutantResult } from '@stryker-mutator/api/core';

/** The text after a listed mutant; mutants that a test failed on are not listed. */
const NOTES: Partial<Record<MutantResult['status'], string>> = {
  Survived: '',
  NoCoverage: ', no test reaches it',
  Timeout: ', the tests no longer ended',
  RuntimeError: ', it broke the test run',
};

/**
 * One line for each mutant that no test failed on, with its place, the original text and the replacement. Those that
 * timed out count as noticed; they are listed so that a busy machine is not taken for a good test.
 */
export function survivorsOf(results: readonly MutantResult[]): string[] {
  return results
    .filter(({ status }) => status in NOTES)
    .sort(
      (a, b) =>
        a.fileName.localeCompare(b.fileName) ||
        a.location.start.line - b.location.start.line ||
        a.location.start.column - b.location.start.column,
    )
    .map(lineOf);
}

function lineOf({ fileName, location, mutatorName, replacement, status }: MutantResult): string {
  const place = `${relative(process.cwd(), fileName)}:${location.start.line}:${location.start.column}`;
  return `${place} ${mutatorName}${NOTES[status]}: ${shortened(originalOf(fileName, location))} → ${shortened(replacement)}`;
}

function originalOf(fileName: string, { start, end }: MutantResult['location']): string {
  const lines = readFileSync(fileName, 'utf8')
    .split('\n')
    .slice(start.line - 1, end.line);
  lines[lines.length - 1] = (lines.at(-1) ?? '').slice(0, end.column - 1);
  lines[0] = (lines[0] ?? '').slice(start.column - 1);
  return lines.join('\n');
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= 100 ? line : `${line.slice(0, 70)} … ${line.slice(-27)}`;
}
