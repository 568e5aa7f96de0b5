import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PipelinePlan, PipelineSpec } from '../../../src/formats/index.js';
import { replicaCount } from '../../../src/pipeline/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import { countRefutations } from '../pipelines/counts.js';
import { type RandomPipeline, randomPipeline } from '../pipelines/random-spec.js';
import { attainmentsOf, type Choice, planByHand } from '../pipelines/served.js';
import type { Refutation, Refuted } from '../refuter.js';

const WORK = 1000;
const ROUNDING = 1e-9;
/** At most so many configurations are tried by brute force, and no more replicas of a stage than this. */
const MOST_TRIED = 3000;
const MOST_REPLICAS = 6;
/** The schedulers by which it is tried to refute what is said of all. */
const ANY_SCHEDULERS = ['room-first', 'inferline', 'stage-local'];

/**
 * refuter answers random small pipelines. A plan claims that each of its draws is served as it says, by its own scheduler, over
 * the links of its servers, by devices that there are, and that none costs less than its bound; of other draws it claims
 * nothing. The answer that there is none claims that no configuration serves the draws. Where the spec names `inferline`, that
 * is said of service in order of arrival, and else of any scheduler. An SLO that is told is met, where one that is 2 % shorter
 * is not.
 */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const drawn = randomPipeline(dice);
  const { spec, profiles } = drawn;
  for (const [i, profile] of profiles.entries())
    await writeFile(join(folder, `m${i}.json`), JSON.stringify(profile));
  const solved = await solveWith(folder, spec);
  const what = JSON.stringify(spec);
  const others = dice.other('brute force');
  if (solved.outcome === 'infeasible') {
    const slosMs = solved.document.models.map(({ smallestFeasibleSloMs }) => smallestFeasibleSloMs);
    const told = slosMs.every((ms) => ms !== undefined) ? slosMs : undefined;
    const refutations = [
      ...cheaperThan(others, drawn, Number.POSITIVE_INFINITY),
      ...(told === undefined ? [] : await toldRefutations(folder, spec, told)),
    ];
    return { what, outcome: told === undefined ? 'infeasible' : 'infeasible, SLO told', refutations };
  }
  if (solved.outcome !== 'pipeline-plan') return { what, outcome: solved.outcome, refutations: [] };
  const { plan } = solved;
  const refutations = [
    ...countRefutations(spec, plan),
    ...sampleRefutations(drawn, plan),
    ...cheaperThan(others, drawn, plan.objective?.bound ?? 0),
  ];
  return { what, outcome: plan.status ?? 'plan', refutations };
}

async function solveWith(folder: string, spec: PipelineSpec) {
  const path = join(folder, 'spec.json');
  await writeFile(path, JSON.stringify(spec));
  return solveSpec(path, { work: WORK });
}

function drawsOf({ planner: { draws = 1 } = {} }: PipelineSpec): number[] {
  return Array.from({ length: draws }, (_, k) => k + 1);
}

/** sampleRefutations serves every draw by the plan again. */
function sampleRefutations(drawn: RandomPipeline, plan: PipelinePlan): Refutation[] {
  const { spec } = drawn;
  const draws = drawsOf(spec).map((seed) => attainmentsOf(drawn, plan, seed));
  const promised = plan.applications ?? [plan];
  return promised.flatMap(({ name, sample }, k) => {
    const least = Math.min(...draws.map((shares) => shares[k] as number));
    const told = sample?.leastAttainment ?? 0;
    const claim = `${told} of ${name} in the worst draw are in time, and ${spec.attainment} are to be`;
    const found = `${least} are`;
    const isTrue = Math.abs(least - told) <= ROUNDING && least >= (spec.attainment as number);
    return isTrue ? [] : [{ claim, found }];
  });
}

/**
 * cheaperThan tries the configurations that cost less than a bound, that there are devices for and that keep up: all of them,
 * those with most replicas first, or where they are too many some at random.
 */
function cheaperThan(dice: Dice, drawn: RandomPipeline, bound: number): Refutation[] {
  const { spec, profiles } = drawn;
  const { devices } = spec.cluster as Exclude<PipelineSpec['cluster'], string>;
  const costOf = (choices: readonly Choice[]) =>
    choices.reduce((sum, { device, replicas }) => sum + replicas * (devices[device]?.hourlyCost ?? 0), 0);
  const fits = (choices: readonly Choice[]) =>
    Object.entries(devices).every(
      ([name, { count = Number.POSITIVE_INFINITY }]) =>
        choices.reduce((sum, one) => sum + (one.device === name ? one.replicas : 0), 0) <= count,
    );
  const schedulers = spec.serving?.scheduler === 'inferline' ? ['inferline'] : ANY_SCHEDULERS;
  const mostOf = (device: string) => Math.min(MOST_REPLICAS, devices[device]?.count ?? MOST_REPLICAS);
  const options = spec.stages.map(({ batch, ...stage }, i): Choice[] => {
    const replicas = replicaCount(stage);
    return Object.keys(profiles[i]?.devices ?? {}).flatMap((device) =>
      (batch === undefined ? [1, 2, 4] : [batch]).flatMap((size) =>
        (replicas === undefined ? Array.from({ length: mostOf(device) }, (_, k) => k + 1) : [replicas]).map(
          (count) => ({ device, batch: size, replicas: count }),
        ),
      ),
    );
  });
  const cheap = everyChoice(options).filter(
    (choices) => fits(choices) && costOf(choices) < bound * (1 - ROUNDING),
  );
  for (const choices of someOf(dice, cheap)) {
    const plan = planByHand(drawn, choices, schedulers[0] as string);
    if (!keepsUp(spec, plan)) continue;
    const holding = schedulers.find((scheduler) =>
      drawsOf(spec).every((seed) =>
        attainmentsOf(drawn, { ...plan, serving: { scheduler } }, seed).every(
          (share) => share >= (spec.attainment as number),
        ),
      ),
    );
    if (holding === undefined) continue;
    const claim =
      bound === Number.POSITIVE_INFINITY ? 'there is no plan' : `no plan costs less than ${bound}`;
    return [
      {
        claim,
        found: `one for ${costOf(choices)} serves every draw under ${holding}: ${JSON.stringify(choices)}`,
      },
    ];
  }
  return [];
}

/** everyChoice combines an option of each stage with every option of the others. */
function everyChoice(options: readonly (readonly Choice[])[]): Choice[][] {
  return options.reduce<Choice[][]>(
    (all, own) => all.flatMap((before) => own.map((one) => [...before, one])),
    [[]],
  );
}

/** someOf gives configurations, those with most replicas first, or as many at random as may be tried. */
function someOf(dice: Dice, all: readonly Choice[][]): readonly Choice[][] {
  const replicasOf = (choices: readonly Choice[]) => choices.reduce((sum, { replicas }) => sum + replicas, 0);
  if (all.length <= MOST_TRIED) return all.toSorted((a, b) => replicasOf(b) - replicasOf(a));
  return Array.from({ length: MOST_TRIED }, () => dice.pick(all));
}

/**
 * keepsUp says whether full batches of every stage serve the mean rate of the load in the long run, which is asked of plans
 * besides. A request comes to a stage at most as often as the edges to it are taken together.
 */
function keepsUp({ load }: PipelineSpec, plan: PipelinePlan): boolean {
  const rps = load !== undefined && 'rps' in load ? (load.rps ?? 0) : 0;
  const visits = new Map<string, number>();
  return plan.stages.every(({ name, batch, replicas, latencyUsByBatch, next }) => {
    // A stage to which no edge leads is one where requests begin.
    const own = Math.min(1, visits.get(name) ?? 1);
    for (const { to, probability = 1 } of next) visits.set(to, (visits.get(to) ?? 0) + own * probability);
    return (1e6 * batch * replicas) / (latencyUsByBatch[batch - 1] as number) >= own * rps;
  });
}

async function toldRefutations(
  folder: string,
  spec: PipelineSpec,
  told: readonly number[],
): Promise<Refutation[]> {
  const claim = `SLOs of ${told.join(', ')} ms can be met`;
  const met = await solveWith(folder, withSlos(spec, told));
  if (met.outcome !== 'pipeline-plan') return [{ claim, found: `solving it ends as ${met.outcome}` }];
  const shorterMs = told.map((ms) => 0.98 * ms);
  const shorter = await solveWith(folder, withSlos(spec, shorterMs));
  if (shorter.outcome !== 'pipeline-plan') return [];
  return [{ claim: `${claim}, and none 2 % shorter`, found: 'those are met too' }];
}

/** withSlos gives a spec other SLOs: one, or one for each application. */
function withSlos(spec: PipelineSpec, slosMs: readonly number[]): PipelineSpec {
  const { applications } = spec;
  if (applications === undefined) return { ...spec, sloMs: slosMs[0] as number };
  return { ...spec, applications: applications.map((one, k) => ({ ...one, sloMs: slosMs[k] as number })) };
}
