import { describe, expect, it } from 'vitest';
import { type ColumnTable, csvLines, csvTable } from '../../src/artifacts/csv-table.js';

describe('csvTable()', () => {
  const read = (text: string): ColumnTable => {
    const table = csvTable(text, ['a', 'b'], 'thing');
    if ('faults' in table) throw new Error(JSON.stringify(table.faults));
    return table;
  };
  const faultsOf = (text: string): string[] => {
    const table = csvTable(text, ['a', 'b'], 'thing');
    return 'faults' in table ? table.faults.map(({ path, message }) => `${path}: ${message}`) : [];
  };

  it('gives the cells of the columns in their order, wherever the header has them', () => {
    const { lines, cellsOf } = read('\ufeffother,b ,a\n 1, 2,3\n\n4,5,\n');
    expect(lines.map(cellsOf)).toEqual([
      ['3', '2'],
      ['', '5'],
    ]);
    expect(lines.map(({ info }) => info.lines)).toEqual([2, 4]);
  });

  it('says which lines have other cells than the header', () => {
    const { lines, cellsOf } = read('a,b\n1\n1,2,3\n1,2\n');
    expect(lines.map(cellsOf)).toEqual([
      { wrong: 'has 1 cells; the header has 2' },
      { wrong: 'has 3 cells; the header has 2' },
      ['1', '2'],
    ]);
  });

  it('tells every fault of the header, and of a text without lines', () => {
    expect(faultsOf('c,a,c,a\n1,2,3,4\n')).toEqual([
      'line 1: lacks a column b',
      'line 1: the column c is given twice',
      'line 1: the column a is given twice',
    ]);
    expect(faultsOf('')).toEqual(['line 1: lacks a column a', 'line 1: lacks a column b']);
    expect(faultsOf('a,b\n')).toEqual([': it has no line of a thing']);
    expect(faultsOf('a,"b\n')[0]).toContain('it is not CSV: ');
    expect('faults' in csvLines('"')).toBe(true);
  });
});
