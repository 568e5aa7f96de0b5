import { describe, expect, it } from 'vitest';
import { type TableView, tableText } from '../../src/cli/table-text.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { inWholeRun } from '../cases.js';

const plain = (text: string): string => text;
const linesAt = async (view: TableView, columns: number): Promise<string[]> =>
  (await tableText(view, { columns, head: plain })).split('\n');
const widest = (lines: readonly string[]): number => Math.max(...lines.map((line) => line.length));
const letters = (text: string): string => text.replaceAll(/\s/g, '');
const sortedLetters = (text: string): string => [...letters(text)].sort().join('');

const WORDS = ['block', 'mobilenetv2', 'L4', 'features.18/conv/Relu_output_0', 'emulated', 'of', '1/2', 'x'];

function draw(stream: Stream, most: number): number {
  return Math.floor(stream.uniform() * most);
}

function phrase(stream: Stream, most: number): string {
  return Array.from({ length: draw(stream, most + 1) }, () => WORDS[draw(stream, WORDS.length)]).join(' ');
}

/** A table like those that commands print, with names, texts, figures and some empty cells. */
function randomView(stream: Stream): TableView {
  const numeric = Array.from({ length: 1 + draw(stream, 8) }, () => stream.uniform() < 0.6);
  const columns = numeric.map(() => phrase(stream, 2) || 'ms');
  const rows = Array.from({ length: 1 + draw(stream, 5) }, () =>
    numeric.map((isNumber) => (isNumber ? `${draw(stream, 100_000)}.5` : phrase(stream, 9))),
  );
  return { columns, rows };
}

describe('tableText()', () => {
  inWholeRun('fits a screen of 10 to 200 columns, and drops and breaks no text', async () => {
    const stream = streamOf(7, 'tables');
    for (let columns = 10; columns <= 200; columns++) {
      const view = randomView(stream);
      const lines = await linesAt(view, columns);
      expect(widest(lines)).toBeLessThanOrEqual(columns);
      const text = lines.join('\n');
      for (const cell of view.rows.flat()) {
        if (/^[\d.]+$/.test(cell)) expect(text).toContain(cell);
      }
      const all = [...view.columns, ...view.rows.flat()].join('');
      if (text.includes(':')) {
        for (const cell of view.rows.flat()) expect(letters(text)).toContain(letters(cell));
      } else {
        expect(sortedLetters(text)).toBe(sortedLetters(all));
        for (const word of view.columns.flatMap((head) => head.split(' '))) expect(text).toContain(word);
      }
    }
  });

  it('is the same on every screen on which the widest form fits', async () => {
    const stream = streamOf(8, 'tables');
    for (let i = 0; i < 60; i++) {
      const view = randomView(stream);
      const natural = await linesAt(view, 10_000);
      expect(natural.length).toBe(view.rows.length + 2);
      expect(await linesAt(view, widest(natural))).toEqual(natural);
    }
  });

  it('wraps the widest column first, and keeps the columns side by side', async () => {
    const view = {
      columns: ['device', 'what it is', 'threads'],
      rows: [['cpu', 'Some Vendor(R) Processor of many cores, and of many words', '2']],
    };
    expect(await linesAt(view, 40)).toEqual([
      'device  what it is               threads',
      'cpu     Some Vendor(R)                 2',
      '        Processor of many',
      '        cores, and of many',
      '        words',
      '',
    ]);
  });

  const NARROW: TableView = {
    columns: ['mix', 'requests/s', 'utilisation', 'gap'],
    rows: [
      ['25 L4 + 75 T4', '1 200', '98.0 %', '0.00 %'],
      ['8 L4', '80.0', '50.0 %', '0.10 %'],
    ],
    spare: ['gap', 'utilisation', 'absent'],
  };

  it('leaves out the least wanted columns where not all fit, and names them below', async () => {
    expect(await linesAt(NARROW, 40)).toEqual([
      'mix            requests/s  utilisation',
      '25 L4 + 75 T4       1 200       98.0 %',
      '8 L4                 80.0       50.0 %',
      'left out to fit 40 columns: gap; --json',
      'has all',
      '',
    ]);
    expect((await linesAt(NARROW, 25)).slice(-5).join(' ')).toBe(
      'left out to fit 25 columns: gap, utilisation; --json has all ',
    );
    expect((await linesAt(NARROW, 80)).join()).not.toContain('left out');
  });

  it('brings back a column whose room another one left', async () => {
    const [first = [], ...others] = NARROW.rows;
    const long = { ...NARROW, rows: [[...first.slice(0, 2), 'x'.repeat(40), '0.00 %'], ...others] };
    expect((await linesAt(long, 36))[0]).toBe('mix            requests/s     gap');
  });

  it('makes records of all columns where those that must stay do not fit', async () => {
    expect((await linesAt(NARROW, 12)).join('\n')).toContain('gap: 0.10 %');
  });

  it('writes rows one below the other where columns do not fit, and leaves out empty cells', async () => {
    const view = {
      columns: ['model', 'requests/s', 'on'],
      rows: [
        ['m', '1 200', '3 × 1/2 L4'],
        ['', '80', '1 × 1/1 T4'],
      ],
    };
    expect(await linesAt(view, 16)).toEqual([
      'model: m',
      'requests/s:',
      '1 200',
      'on: 3 × 1/2 L4',
      '',
      'requests/s: 80',
      'on: 1 × 1/1 T4',
      '',
    ]);
  });

  it('keeps columns side by side as long as no word of a heading is broken', async () => {
    const view = { columns: ['throughput', 'attainment'], rows: [['1', '2']] };
    expect(await linesAt(view, 22)).toEqual(['throughput  attainment', '         1           2', '']);
    expect(await linesAt(view, 21)).toEqual(['throughput: 1', 'attainment: 2', '']);
  });

  it.each([1, 2, 5])('keeps lines within ten columns on a screen of %d', async (columns) => {
    const view = { columns: ['model', 'rate'], rows: [['resnet50', '12.5']] };
    expect(await linesAt(view, columns)).toEqual(['model:', 'resnet50', 'rate: 12.5', '']);
  });
});
