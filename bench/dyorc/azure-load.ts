import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { streamOf } from '../../src/random/index.js';
import type { Arrivals } from '../../src/workload/index.js';

const TRACE = fileURLToPath(
  new URL('../../../../shared/traces/azure-functions-2019-100-functions-per-minute.csv', import.meta.url),
);
const NS_PER_MINUTE = 60e9;
/** The columns that name a function. */
const NAMES = 3;
/** The window begins at noon. */
const FROM_MINUTE = 720;

/** Load is what comes: when, and of which workflow. */
export interface Load {
  readonly atNs: Float64Array;
  readonly workflows: Int32Array;
}

/** LoadAsked says how much comes, and for how long. */
export interface LoadAsked {
  readonly minutes: number;
  readonly rps: number;
  readonly seed: number;
  /** The share of each workflow's requests that comes, at a minute; 1 where absent. */
  readonly weight?: (workflow: number, minute: number) => number;
}

/** hasTrace tells whether the published functions are there. */
export function hasTrace(): boolean {
  return existsSync(TRACE);
}

/**
 * azureLoad maps the functions of the published trace to workflows in turn (DyOrc §8), and scales their counts by
 * minute so that the mean rate is the one that is asked for. Within a minute requests come at times that are drawn.
 */
export function azureLoad(workflows: number, { minutes, rps, seed, weight = () => 1 }: LoadAsked): Load {
  const counts = countsByMinute(workflows, minutes);
  const all = counts.flat().reduce((sum, count) => sum + count, 0);
  const factor = (rps * 60 * minutes) / all;
  const { uniform } = streamOf(seed, 'azure');
  const drawn: { atNs: number; workflow: number }[] = [];
  for (const [minute, ofMinute] of counts.entries())
    for (const [workflow, count] of ofMinute.entries()) {
      const wanted = count * factor * weight(workflow, minute);
      // The part behind the point comes with that chance.
      const whole = Math.floor(wanted) + (uniform() < wanted % 1 ? 1 : 0);
      for (let i = 0; i < whole; i++)
        drawn.push({ atNs: Math.floor((minute + uniform()) * NS_PER_MINUTE), workflow });
    }
  drawn.sort((a, b) => a.atNs - b.atNs || a.workflow - b.workflow);
  return {
    atNs: Float64Array.from(drawn, ({ atNs }) => atNs),
    workflows: Int32Array.from(drawn, ({ workflow }) => workflow),
  };
}

/** countsByMinute gives, by minute, the requests of each workflow: those of its functions. */
function countsByMinute(workflows: number, minutes: number): number[][] {
  const functions = (parse(readFileSync(TRACE)) as string[][]).slice(1);
  return Array.from({ length: minutes }, (_, minute) => {
    const counts = new Array<number>(workflows).fill(0);
    for (const [number, row] of functions.entries())
      counts[number % workflows]! += Number(row[NAMES + FROM_MINUTE + minute]);
    return counts;
  });
}

/** arrivalsOf gives a load as arrivals. */
export function arrivalsOf({ atNs, workflows }: Load): Arrivals {
  let next = -1;
  return {
    next: () => ++next < atNs.length,
    get atNs() {
      return atNs[next] as number;
    },
    get model() {
      return workflows[next] as number;
    },
  };
}
