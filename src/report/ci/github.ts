import { markdownTable } from 'markdown-table';
import { counted } from '../../formats/index.js';
import type { Part } from '../table.js';
import { type CiCase, type CiFault, type CiReport, countOf, detailsOf, isBad } from './verdict.js';

/** GitHub refuses a step's summary of more than 1 MiB. */
const MOST_SUMMARY_BYTES = 900_000;

/**
 * annotations writes each fault of each case that failed as a command of a GitHub workflow, which shows it at its line.
 * It escapes as GitHub's own toolkit does.
 */
export function annotations({ title, cases }: CiReport): string[] {
  return cases.filter(isBad).flatMap(({ name, says, faults = [] }) => {
    const told: readonly CiFault[] = faults.length === 0 ? [{ message: says }] : faults;
    return told.map(({ message, file, line }) => {
      const properties = Object.entries({ file, line, title: `${title}: ${name}` })
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => `${key}=${escapedProperty(String(value))}`);
      return `::error ${properties.join(',')}::${escapedData(message)}`;
    });
  });
}

function escapedData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapedProperty(text: string): string {
  return escapedData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

/** summaryText writes verdicts as Markdown for the page of a run: the verdict first, then each case, tables and remarks. */
export function summaryText({ title, cases, parts, notes }: CiReport): string {
  const text = [
    `### ${verdictOf(cases)}: ${inline(title)}`,
    markdownTable([
      ['', 'what', 'found'],
      ...cases.map((one) => [MARKS[one.outcome], cell(one.name), cell(detailsOf(one))]),
    ]),
    ...blocks(parts),
    ...(notes.length === 0 ? [] : [notes.map((note) => `- ${cell(note)}`).join('\n')]),
  ].join('\n\n');
  return `${withinBytes(text, MOST_SUMMARY_BYTES)}\n\n`;
}

/** withinBytes cuts a text whose UTF-8 has more bytes, between two characters. */
function withinBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  return `${bytes
    .subarray(0, most)
    .toString()
    .replace(/\uFFFD+$/, '')}\n\n… cut`;
}

const MARKS = { held: '✅', failed: '❌', broken: '❌', skipped: '➖' } as const;

function verdictOf(cases: readonly CiCase[]): string {
  const bad = countOf(cases, 'failed') + countOf(cases, 'broken');
  return bad === 0 ? '✅ Passed' : `❌ Failed (${bad} of ${counted(cases.length, 'check')})`;
}

/** blocks gives lines that follow one another as one block, and each table as one. */
function blocks(parts: readonly Part[]): string[] {
  const told: string[] = [];
  let lines: string[] = [];
  const endLines = (): void => {
    if (lines.length > 0) told.push(lines.join('  \n'));
    lines = [];
  };
  for (const part of parts) {
    if (part === '') endLines();
    else if (typeof part === 'string') lines.push(inline(part));
    else {
      endLines();
      if (part.rows.length > 0)
        told.push(markdownTable([part.columns.map(cell), ...part.rows.map((row) => row.map(cell))]));
    }
  }
  endLines();
  return told;
}

/** inline escapes what Markdown and HTML would read as marks. */
function inline(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(/[\\`*_[\]]/g, (mark) => `\\${mark}`);
}

function cell(text: string): string {
  return inline(text).replaceAll('|', '\\|').replaceAll(/\r?\n/g, '<br>');
}
