import { readCsvTable } from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import { decimalOf, type Fault, fault, HUGE, isHugeWhole } from '../../formats/index.js';
import type { LoadPoint } from '../../gearplan/index.js';

const COLUMNS = ['rps', 'share'] as const;

/**
 * distributionOf reads a distribution of loads from a CSV text with the columns rps and share: how much of the time the
 * load is at each rate. Shares need not add up to 1.
 */
export async function distributionOf(
  text: string,
): Promise<{ readonly points: LoadPoint[] } | { readonly faults: Fault[] }> {
  const wrong: Fault[] = [];
  const points: LoadPoint[] = [];
  const faults = await readCsvTable(text, { columns: COLUMNS, what: 'load' }, (cells, line) => {
    const at = `line ${line}`;
    if ('wrong' in cells) {
      wrong.push(fault(cells.wrong, at));
      return;
    }
    const [rps = 0, share = 0] = cells.map(decimalOf);
    for (const [i, value] of [rps, share].entries())
      if (isHugeWhole(itemAt(cells, i))) wrong.push(fault(`${COLUMNS[i]} is ${cells[i]}; ${HUGE}`, at));
      else if (!(value >= 0 && Number.isFinite(value)))
        wrong.push(fault(`${COLUMNS[i]} is "${cells[i]}"; it must be a decimal number of 0 or more`, at));
    points.push({ rps, share });
  });
  if (faults.length > 0) return { faults };
  return wrong.length > 0 ? { faults: wrong } : { points };
}
