import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { quickstartShape, quickstartTranscript } from '../../scripts/quickstart-shape.js';

const PAGE = readFileSync(new URL('../../docs/quickstart.md', import.meta.url), 'utf8');
const shown = quickstartTranscript(PAGE);
const shape = (text: string) => quickstartShape(text, 'quickstart-out');

describe('quickstartShape()', () => {
  it('has the steps and commands that docs/quickstart.md shows', () => {
    const lines = shape(shown);
    expect(lines.filter((line) => line.startsWith('#. '))).toHaveLength(7);
    expect(lines.filter((line) => line.startsWith('$ '))).toHaveLength(8);
    expect(lines.at(-1)).toBe('took');
  });

  it('is the same for another folder and other figures', () => {
    const other = shown.replaceAll('quickstart-out', '../out').replaceAll(/(\d)\.\d/g, '7.77');
    expect(quickstartShape(other, '../out')).toEqual(shape(shown));
  });

  it.each([
    ['a command', '--blocks 6', '--parts 6'],
    ['a step', '5. A bundle', '5. The bundle'],
    ['a header', 'ms of budget', 'ms'],
    ['a row', '  late  ', '  too late  '],
  ])('is another where %s changes', (_what, from, to) => {
    expect(shown).toContain(from);
    expect(shape(shown.replace(from, to))).not.toEqual(shape(shown));
  });
});
