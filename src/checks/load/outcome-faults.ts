import { type Fault, fault, type LoadOutcomes } from '../../formats/index.js';
import { givenFaults } from '../figures.js';
import { inTimeBounds, latencyFaults, partLatencyFaults } from '../latency-faults.js';

const ENDS = ['inTime', 'late', 'dropped', 'failed', 'cancelled'] as const;

/** By which SLO answers were judged; requests of several models have several, which their own outcomes name. */
export type SloOf = number | 'none' | 'several';

/**
 * outcomeFaults finds where the outcomes of some requests contradict one another, by the definitions of docs/metrics.md:
 * counts that do not add up, shares and latencies that are not of these counts, and answers in time that the SLO says
 * were late.
 */
export function outcomeFaults(
  outcomes: LoadOutcomes,
  { at, judgedBy, hasShare }: { readonly at: string; readonly judgedBy: SloOf; readonly hasShare: boolean },
): Fault[] {
  const { sent, answered, inTime, late, dropped, failed } = outcomes;
  const ended = ENDS.reduce((sum, end) => sum + outcomes[end], 0);
  const counted = inTime + late + dropped + failed;
  const share = (part: number) => (counted === 0 ? undefined : part / counted);
  const faults = [
    ...(sent === ended ? [] : [fault(`is ${sent}, and ${ENDS.join(' + ')} is ${ended}`, `${at}/sent`)]),
    ...(answered === inTime + late
      ? []
      : [fault(`is ${answered}, and inTime + late is ${inTime + late}`, `${at}/answered`)]),
    ...givenFaults(outcomes.attainment, hasShare ? share(inTime) : undefined, `${at}/attainment`),
    ...givenFaults(outcomes.dropRate, share(dropped + late), `${at}/dropRate`),
    ...latencyFaults(outcomes, { at, count: answered }),
  ];
  return faults.length > 0 ? faults : sloFaults(outcomes, judgedBy, at);
}

/** sloFaults finds more or fewer answers in time than the latencies say. */
function sloFaults(outcomes: LoadOutcomes, sloMs: SloOf, at: string): Fault[] {
  const { inTime, late } = outcomes;
  if (sloMs === 'several') return [];
  if (sloMs === 'none')
    return late === 0 ? [] : [fault(`is ${late}, and no SLO says what is late`, `${at}/late`)];
  const [least, most] = inTimeBounds(outcomes, sloMs);
  if (inTime >= least && inTime <= most) return [];
  return [
    fault(
      `is ${inTime}; by the latencies, from ${least} to ${most} answers came within ${sloMs} ms`,
      `${at}/inTime`,
    ),
  ];
}

/** partFaults finds where the outcomes of all requests are not those of the parts that they are divided into. */
export function partFaults(all: LoadOutcomes, parts: readonly LoadOutcomes[], named: string): Fault[] {
  const counts = (['sent', ...ENDS] as const).flatMap((name) => {
    const sum = parts.reduce((before, part) => before + part[name], 0);
    return sum === all[name]
      ? []
      : [fault(`is ${all[name]}, and those of the ${named} are ${sum}`, `/${name}`)];
  });
  return counts.length > 0 ? counts : partLatencyFaults(all, parts, { named });
}
