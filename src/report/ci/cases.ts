import type {
  CompareRow,
  GateVerdicts,
  SchedulerComparison,
  SimulatedRuns,
  SimulationSweep,
} from '../../formats/index.js';
import { checkLine } from '../checks.js';
import { figure, orDash, percent } from '../table.js';
import type { CiCase } from './verdict.js';

/** checkCases has a case for each gate of a document. Where nothing was asked, that the command did its work is the one case. */
export function checkCases(
  { checks = [], runs }: GateVerdicts & { readonly runs?: SimulatedRuns },
  whole: string,
): CiCase[] {
  if (checks.length === 0) return [{ name: whole, outcome: 'held', says: 'Done; no check was asked for' }];
  return checks.map((check) => ({
    name: [check.figure ?? check.what, ...(check.model === undefined ? [] : [`of ${check.model}`])].join(' '),
    outcome: check.held ? 'held' : 'failed',
    says: checkLine(check, runs),
  }));
}

/** rowCases has a case for each row of a comparison; one without a plan has no verdict, unless a search found none that holds. */
export function rowCases(rows: readonly CompareRow[]): CiCase[] {
  return rows.map((row) => {
    const mix = Object.entries(row.mix).map(([name, count]) => `${name}=${count}`);
    const rest = [row.slo, row.margin === undefined ? undefined : `margin ${row.margin}`].filter(
      (one) => one !== undefined,
    );
    const name = [mix.join(','), ...rest].join(' ');
    const reasons = row.reasons?.join('; ') ?? '';
    if (row.status === 'optimal' || row.status === 'feasible')
      return { name, outcome: 'held', says: `A plan was found, ${row.status}` };
    return { name, outcome: 'skipped', says: `${row.status}${reasons === '' ? '' : `: ${reasons}`}` };
  });
}

/** pointCases has a case for each load of a sweep. A sweep looks for the load from which the target is missed, so none fails. */
export function pointCases({ points }: SimulationSweep): CiCase[] {
  return points.map((point) => simulatedCase(`load × ${point.loadFactor}`, point));
}

/** schedulerCases has a case for each scheduler of a comparison. None is judged; one that was not compared has no verdict. */
export function schedulerCases({ rows, skipped }: SchedulerComparison): CiCase[] {
  const compared = rows.map(({ scheduler, attainment, goodputRps }) =>
    simulatedCase(scheduler, { attainment: attainment?.mean, goodputRps: goodputRps.mean }),
  );
  const others = skipped.map(({ scheduler, reason }) => ({
    name: scheduler,
    outcome: 'skipped',
    says: reason,
  })) satisfies CiCase[];
  return [...compared, ...others];
}

function simulatedCase(
  name: string,
  { attainment, goodputRps }: { readonly attainment?: number | undefined; readonly goodputRps: number },
): CiCase {
  const inTime = orDash(attainment, (share) => percent(share, 2));
  return { name, outcome: 'held', says: `In time ${inTime}, ${figure(goodputRps)} requests/s in time` };
}
