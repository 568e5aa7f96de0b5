import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deployPlan, simulatePlan, validateFiles } from '../../../src/api/index.js';
import type { PipelinePlan } from '../../../src/formats/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import type { Refutation, Refuted } from '../refuter.js';
import { type MadePipeline, madePipeline, written } from '../tuned/random-pipeline.js';
import { mostAtOnce, stepsIn } from '../tuned/timelines.js';

/** Times of a timeline are rounded to nanoseconds, and sums of prices to their last digits. */
const SAME = 1e-9;

/**
 * refuter plans random small pipelines with a tuner. Whether each stage keeps up with the mean rate is computed from what
 * the profiles say. The plan and its bundle are simulated under a load that rises and falls, and must do the same at the
 * same times; the devices that are in use, or end a batch, are counted at every instant. The plan with a standby device
 * less must be refused.
 */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const made = madePipeline(dice);
  const path = await written(made, folder);
  const output = join(folder, 'plan.json');
  const solved = await solveSpec(path, { output, work: 2000 });
  const { planner, serving } = made.spec;
  const what = `${planner?.method}, ${made.visits.length} stages, ${serving?.tuner?.kind}`;
  if (solved.outcome !== 'pipeline-plan') return { what, outcome: solved.outcome, refutations: [] };
  const plan = JSON.parse(await readFile(output, 'utf8')) as PipelinePlan;
  const hasStandby = plan.stages.some(({ standby = 0 }) => standby > 0);
  const refutations = [
    ...fallsBehind(plan, made),
    ...(await otherLoad(made, output)),
    ...(await otherRuns({ plan, made, output, folder })),
    ...(hasStandby ? await takenEdited(plan, { path: output, dice }) : []),
  ];
  return { what, outcome: hasStandby ? 'with standby' : 'without standby', refutations };
}

/** fallsBehind finds stages whose replicas serve less than the mean rate in full batches. */
function fallsBehind({ stages }: PipelinePlan, { latencyMs, visits, rps }: MadePipeline): Refutation[] {
  return stages.flatMap(({ name, device, batch, replicas }) => {
    const i = Number(name.slice(1));
    const served = (1e3 * replicas * batch) / (latencyMs[i]?.[device]?.[batch] as number);
    const asked = rps * (visits[i] as number);
    if (asked <= served * (1 + SAME)) return [];
    return [{ claim: `${name} keeps up with the load`, found: `it serves ${served}/s of ${asked}/s` }];
  });
}

/** otherLoad simulates a plan without options, which is to be by the very process it was planned for. */
async function otherLoad({ spec: { load } }: MadePipeline, path: string): Promise<Refutation[]> {
  const { arrivals, rps, cv, duration } = load as Extract<typeof load, { arrivals: string }>;
  const { workload } = (await simulatePlan(path)).report;
  const asked = JSON.stringify([arrivals, cv, Number.parseFloat(duration as string), rps]);
  const found = JSON.stringify([workload.arrivals, workload.cv, workload.durationS, workload.models[0]?.rps]);
  return asked === found ? [] : [{ claim: `the plan is simulated with its load ${asked}`, found }];
}

interface Planned {
  readonly plan: PipelinePlan;
  readonly made: MadePipeline;
  readonly output: string;
  readonly folder: string;
}

/** otherRuns serves a rising load by the plan and by its bundle. */
async function otherRuns({ plan, made, output, folder }: Planned): Promise<Refutation[]> {
  const bundle = join(folder, 'bundle');
  await deployPlan(output, { output: bundle });
  const { rps } = made;
  const phases = [`2s,rps=${rps}`, `4s,rps=${3 * rps}`, `3s,rps=${0.4 * rps}`];
  const [ofPlan, ofBundle] = [join(folder, 'plan.trace'), join(folder, 'bundle.trace')];
  const { report } = await simulatePlan(output, { phases, seed: 7, timeline: ofPlan });
  await simulatePlan(bundle, { phases, seed: 7, timeline: ofBundle });
  const steps = await stepsIn(ofPlan);
  const others = await stepsIn(ofBundle);
  const at = steps.findIndex((step, i) => JSON.stringify(step) !== JSON.stringify(others[i]));
  const claim = 'the bundle does what the plan does';
  const found = `step ${at} is ${JSON.stringify(others[at])}, not ${JSON.stringify(steps[at])}`;
  const { mostHourlyCost = plan.hourlyCost ?? 0 } = plan;
  const perHour = report.cost?.perHour ?? 0;
  return [
    ...(at < 0 && steps.length === others.length ? [] : [{ claim, found }]),
    ...tooMany(plan, { steps, made }),
    ...(perHour <= mostHourlyCost * (1 + SAME)
      ? []
      : [{ claim: `at most ${mostHourlyCost} per hour`, found: `it costs ${perHour}` }]),
  ];
}

/** tooMany finds classes of which more devices were in use, or busy, at an instant than there are. */
function tooMany(
  { stages }: PipelinePlan,
  { steps, made }: { readonly steps: Awaited<ReturnType<typeof stepsIn>>; readonly made: MadePipeline },
): Refutation[] {
  return [...mostAtOnce(steps)].flatMap(([name, most]) => {
    const own = stages.filter(({ device }) => device === name);
    const planned = own.reduce((sum, { replicas, standby = 0 }) => sum + replicas + standby, 0);
    const limit = Math.min(planned, made.cluster.devices[name]?.count ?? planned);
    if (most <= limit) return [];
    return [{ claim: `at most ${limit} ${name} are in use`, found: `${most} are` }];
  });
}

/** takenEdited takes a standby device out of a plan everywhere, so that only the tuner's simulation can tell. */
async function takenEdited(
  plan: PipelinePlan,
  { path, dice }: { readonly path: string; readonly dice: Dice },
): Promise<Refutation[]> {
  const edited = structuredClone(plan);
  const { name, device } = dice.pick(plan.stages.filter(({ standby = 0 }) => standby > 0));
  const stage = edited.stages.find((one) => one.name === name) as PipelinePlan['stages'][number];
  const use = edited.classes[device] as { standby?: number };
  for (const one of [stage, use]) {
    if (one.standby === 1) delete one.standby;
    else one.standby = (one.standby as number) - 1;
  }
  const at = edited.placement.findLastIndex(
    ({ stages, standby }) => standby === true && stages.includes(name),
  );
  const { count = 1 } = edited.placement[at] as { count?: number };
  if (count === 1) edited.placement.splice(at, 1);
  else Object.assign(edited.placement[at] as object, { count: count - 1 });
  const price = edited.cluster.devices[device]?.hourlyCost as number;
  if (Object.values(edited.classes).every(({ standby = 0 }) => standby === 0)) delete edited.mostHourlyCost;
  else edited.mostHourlyCost = (edited.mostHourlyCost as number) - price;
  const [whole] = await validateFiles([path]);
  await writeFile(path, JSON.stringify(edited));
  const [fewer] = await validateFiles([path]);
  const refused = whole?.ok === true ? [] : [{ claim: 'the plan is valid', found: JSON.stringify(whole) }];
  if (fewer?.ok === false) return refused;
  return [...refused, { claim: `${name} needs its standby devices`, found: 'one less is valid' }];
}
