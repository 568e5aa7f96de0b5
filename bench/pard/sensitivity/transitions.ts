import type { StageLocalCore } from '../../../src/serving/index.js';
import { watchedRun } from '../watched-run.js';
import { pardWorkload } from '../workloads.js';
import type { Section, Settings } from './section.js';

const SCHEDULERS = ['pard', 'pard-instant'] as const;
/** So many seconds are shown one by one, from the first on in which the first stage of `pard` is overloaded. */
const SHOWN_S = 30;

/** Second is the load factor of each stage in a second, and whether its order is the most budget first. */
interface Second {
  readonly factors: readonly number[];
  readonly overloaded: readonly boolean[];
}

/** transitions shows load factors and when the order of queues turns round (Fig. 13), for lv-tweet with the seed 0. */
export async function transitions({ seconds }: Settings): Promise<Section> {
  const asked = await pardWorkload({ application: 'lv', trace: 'tweet', durationS: seconds });
  const names = asked.plan.stages.map(({ name }) => name);
  const series = SCHEDULERS.map((scheduler) => {
    const found: Second[] = [];
    let core: StageLocalCore | undefined;
    let next = 1;
    watchedRun(
      asked,
      { scheduler },
      {
        made: (made) => {
          core = made;
        },
        decided: (atNs) => {
          const planner = core?.planner;
          if (planner === undefined || atNs < 1e9 * next) return;
          next = Math.floor(atNs / 1e9) + 1;
          found.push({
            factors: names.map((_, pool) => planner.loadFactor(pool)),
            overloaded: names.map((_, pool) => planner.isOverloaded(pool)),
          });
        },
      },
    );
    return found;
  });
  return { tables: [summed(series, names), shown(series)] };
}

function summed(series: readonly (readonly Second[])[], names: readonly string[]): Section['tables'][number] {
  const lines = names.map((name, pool) => {
    const of = series.flatMap((seconds) => {
      const overloaded = seconds.map((second) => second.overloaded[pool] === true);
      const changes = overloaded.filter((one, i) => i > 0 && one !== overloaded[i - 1]).length;
      const share = overloaded.filter(Boolean).length / overloaded.length;
      return [`${changes}`, (100 * share).toFixed(1)];
    });
    const above = (series[0] ?? []).filter(({ factors }) => (factors[pool] as number) > 1).length;
    return [name, ...of, ((100 * above) / (series[0] as readonly Second[]).length).toFixed(1)];
  });
  return {
    said: 'How often the order of each stage turned round, and the share of seconds (%) with the most budget first and, under `pard`, with μ > 1.',
    lines: [
      ['stage', ...SCHEDULERS.flatMap((name) => [`${name}: turns`, '% most first']), 'μ > 1, %'],
      ...lines,
    ],
  };
}

function shown(series: readonly (readonly Second[])[]): Section['tables'][number] {
  const first = Math.max(0, (series[0] ?? []).findIndex(({ overloaded }) => overloaded[0] === true) - 5);
  const lines = Array.from({ length: SHOWN_S }, (_, i) => {
    const of = series.flatMap((seconds) => {
      const second = seconds[first + i];
      return [(second?.factors[0] ?? 0).toFixed(2), second?.overloaded[0] === true ? 'most' : 'least'];
    });
    return [`${first + i + 1}`, ...of];
  });
  return {
    said: 'Load factor μ and order (most or least budget first) of the first stage, second by second, around its first overload.',
    lines: [['second', ...SCHEDULERS.flatMap((name) => [`${name}: μ`, 'order'])], ...lines],
  };
}
