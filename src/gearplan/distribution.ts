import { csvTable, decimalOf, type Fault, fault } from '../artifacts/index.js';
import type { LoadPoint } from './resolve.js';

const COLUMNS = ['rps', 'share'] as const;

/**
 * distributionOf reads a distribution of loads from a CSV text with the columns rps and share: how much of the time the
 * load is at each rate. Shares need not add up to 1.
 */
export function distributionOf(
  text: string,
): { readonly points: LoadPoint[] } | { readonly faults: Fault[] } {
  const table = csvTable(text, COLUMNS, 'load');
  if ('faults' in table) return table;
  const faults: Fault[] = [];
  const points = table.lines.flatMap((line): LoadPoint[] => {
    const cells = table.cellsOf(line);
    const at = `line ${line.info.lines}`;
    if ('wrong' in cells) {
      faults.push(fault(cells.wrong, at));
      return [];
    }
    const [rps = 0, share = 0] = cells.map(decimalOf);
    for (const [i, value] of [rps, share].entries())
      if (!(value >= 0 && Number.isFinite(value)))
        faults.push(fault(`${COLUMNS[i]} is "${cells[i]}"; it must be a decimal number of 0 or more`, at));
    return [{ rps, share }];
  });
  return faults.length > 0 ? { faults } : { points };
}
