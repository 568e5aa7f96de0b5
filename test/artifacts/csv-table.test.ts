import { describe, expect, it } from 'vitest';
import { csvLines, readCsvTable } from '../../src/artifacts/csv-table.js';
import type { LineCells } from '../../src/formats/csv-text.js';

const ASKED = { columns: ['a', 'b'], what: 'thing' };

describe('readCsvTable()', () => {
  const read = async (text: string): Promise<[LineCells, number][]> => {
    const lines: [LineCells, number][] = [];
    const faults = await readCsvTable(text, ASKED, (...line) => lines.push(line));
    expect(faults).toEqual([]);
    return lines;
  };
  const faultsOf = async (text: string): Promise<string[]> => {
    const faults = await readCsvTable(text, ASKED, () => {});
    return faults.map(({ path, message }) => `${path}: ${message}`);
  };

  it('gives the cells of the columns in their order, wherever the header has them', async () => {
    expect(await read('\ufeffother,b ,a\n 1, 2,3\n\n4,5,\n')).toEqual([
      [['3', '2'], 2],
      [['', '5'], 4],
    ]);
  });

  it('says which lines have other cells than the header', async () => {
    const lines = await read('a,b\n1\n1,2,3\n1,2\n');
    expect(lines.map(([cells]) => cells)).toEqual([
      { wrong: 'has 1 cells; the header has 2' },
      { wrong: 'has 3 cells; the header has 2' },
      ['1', '2'],
    ]);
  });

  it('reports every fault of the header, and of a text without lines', async () => {
    expect(await faultsOf('c,a,c,a\n1,2,3,4\n')).toEqual([
      'line 1: lacks a column b',
      'line 1: the column c is given twice',
      'line 1: the column a is given twice',
    ]);
    expect(await faultsOf('')).toEqual(['line 1: lacks a column a', 'line 1: lacks a column b']);
    expect(await faultsOf('a,b\n')).toEqual([': it has no line of a thing']);
    expect((await faultsOf('a,"b\n'))[0]).toContain('it is not CSV: ');
    expect('faults' in (await csvLines('"'))).toBe(true);
  });
});
