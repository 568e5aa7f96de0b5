import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { MutantResult } from '@stryker-mutator/api/core';

/** One line for each mutant that no test noticed: where it is, what was there and what took its place. */
export function survivorsOf(results: readonly MutantResult[]): string[] {
  return results
    .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
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
  const note = status === 'NoCoverage' ? ', no test reaches it' : '';
  return `${place} ${mutatorName}${note}: ${shortened(originalOf(fileName, location))} → ${shortened(replacement)}`;
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
