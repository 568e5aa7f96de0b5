import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  compareSchedulers,
  compareSpec,
  simulatePlan,
  sweepPlan,
  validateFiles,
} from '../../../src/api/index.js';
import { type Cluster, InputError } from '../../../src/formats/index.js';
import type { StagePlan } from '../../../src/plans/index.js';
import { type SolveOptions, solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import { EVERY_KIND } from '../made/every-kind.js';
import { randomLoad, randomSettings } from '../made/report-options.js';
import type { Refutation, Refuted } from '../refuter.js';

/** Made is a plan that was solved, and where a report of it goes. */
interface Made {
  readonly dice: Dice;
  readonly plan: StagePlan;
  readonly folder: string;
  readonly spec: string;
  readonly options: SolveOptions;
  readonly output: string;
}

/** REPORTS write a report of each kind that is made of plans. */
const REPORTS: Readonly<Record<string, (made: Made) => Promise<void>>> = {
  run: async ({ dice, plan, folder, output }) => {
    await simulatePlan(join(folder, 'plan.json'), {
      output,
      ...randomSettings(dice, plan),
      ...(await randomLoad(dice, { plan, folder })),
      ...(dice.chance(0.4) ? { windows: dice.pick([0.01, 0.1, 0.37, 1, 20]) } : {}),
      ...(dice.chance(0.3) ? { runs: 2 + dice.below(3) } : {}),
      ...(dice.chance(0.2) ? { timeline: join(folder, 'timeline.json') } : {}),
      ...interrupted(dice, 0.15, [1, 100, 200, 300]),
    });
  },
  sweep: async ({ dice, plan, folder, output }) => {
    const { load: _, rps: __, phases, ...load } = await randomLoad(dice, { plan, folder });
    await sweepPlan(join(folder, 'plan.json'), {
      output,
      ...randomSettings(dice, plan),
      ...(phases === undefined ? load : {}),
      threads: 1,
      sweep: dice.pick([
        'load=0.2..1.5:4',
        'load=0.5..0.9:2',
        'load=3',
        'load=0.01..10:3',
        'load=0.99..1.01:3',
      ]),
      ...(dice.chance(0.3) ? { target: dice.pick([0.5, 0.9, 1]) } : {}),
      ...interrupted(dice, 0.3, [1, 100, 200, 400]),
    });
  },
  schedulers: async ({ dice, plan, folder, output }) => {
    await compareSchedulers(join(folder, 'plan.json'), {
      output,
      ...randomSettings(dice, plan),
      ...(await randomLoad(dice, { plan, folder })),
      threads: 1,
      schedulers: 'all',
      ...(dice.chance(0.4) ? { windows: dice.pick([0.1, 0.37, 1, 20]) } : {}),
      ...(dice.chance(0.5) ? { runs: 2 + dice.below(2) } : {}),
      ...interrupted(dice, 0.2, [1, 200, 400]),
    });
  },
  comparison: async ({ dice, plan, spec, options, folder, output }) => {
    const { cluster } = JSON.parse(await readFile(spec, 'utf8')) as { cluster: Cluster | string };
    const { devices } =
      typeof cluster === 'string'
        ? (JSON.parse(await readFile(join(folder, cluster), 'utf8')) as Cluster)
        : cluster;
    const classes = Object.keys(devices);
    const hasPrices = Object.values(devices).every(({ hourlyCost }) => hourlyCost !== undefined);
    const mix = () => classes.map((name) => `${name}=${dice.below(5)}`).join(',');
    const { hold, work } = options;
    await compareSpec(spec, {
      output,
      threads: 1,
      ...(hold === undefined ? {} : { hold }),
      ...(work === undefined ? {} : { work }),
      ...dice.pick([
        { mixes: [mix(), mix()] },
        { sweeps: ['slo=0.5x..2x:3'] },
        hasPrices && plan.kind === 'pooled-plan' ? { budget: 4 } : { mixes: [mix()] },
        { mixes: [mix()], sweeps: ['slo=0.8x..3x:2'] },
      ]),
      ...interrupted(dice, 0.2, [1, 100, 300]),
    });
  },
};

/**
 * refuter plans random specs of every kind, simulates each plan with random options, sweeps its loads, compares its schedulers
 * and compares plans of the spec, at times interrupted, and has every report checked as it was written. A check that refuses a
 * report that nobody edited is wrong, whatever it says.
 */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const kind = dice.pick(Object.keys(EVERY_KIND));
  const { path: spec, options } = await (EVERY_KIND[kind] as (typeof EVERY_KIND)[string])(dice, folder);
  const solved = await solveSpec(spec, { ...options, output: join(folder, 'plan.json') });
  if (!('plan' in solved)) return { what: kind, outcome: `${kind}: ${solved.outcome}`, refutations: [] };
  const names = [dice.pick(['run', 'run', 'run', 'sweep', 'schedulers', 'comparison'])];
  const outcomes: string[] = [];
  const refutations: Refutation[] = [];
  for (const [i, name] of names.entries()) {
    const own = dice.other(`${name} ${i}`);
    const output = join(folder, `${name}-${i}.json`);
    try {
      await (REPORTS[name] as (typeof REPORTS)[string])({
        dice: own,
        plan: solved.plan as StagePlan,
        folder,
        spec,
        options,
        output,
      });
    } catch (error) {
      if (isAborted(error)) {
        outcomes.push(`stopped ${name}`);
        continue;
      }
      if (!(error instanceof InputError)) throw error;
      // Options may not fit the plan; the plan itself is as its planner wrote it.
      refutations.push(
        ...error.faults
          .filter(({ path }) => path.startsWith('/') && name !== 'comparison')
          .map((one) => ({
            claim: 'a plan that nobody edited is accepted',
            found: `${one.path} ${one.message}`,
          })),
      );
      outcomes.push(`no ${name}`);
      continue;
    }
    const isThere = await access(output).then(
      () => true,
      () => false,
    );
    const [validated] = isThere ? await validateFiles([output]) : [];
    outcomes.push(isThere ? name : `unwritten ${name}`);
    if (validated?.ok === false)
      refutations.push({
        claim: `a report that nobody edited is accepted (${output})`,
        found: `${validated.message}`,
      });
  }
  return { what: kind, outcome: `${kind}: ${[...new Set(outcomes)].join(', ')}`, refutations };
}

function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

/** interrupted gives a signal that aborts after some milliseconds in a share of cases. */
function interrupted(
  dice: Dice,
  share: number,
  afterMs: readonly number[],
): { readonly signal: AbortSignal } | Record<never, never> {
  return dice.chance(share) ? { signal: AbortSignal.timeout(dice.pick(afterMs)) } : {};
}
