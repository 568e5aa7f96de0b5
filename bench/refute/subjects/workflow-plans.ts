import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { simulatePlan, validateFiles } from '../../../src/api/index.js';
import {
  InputError,
  type OpenCluster,
  type WorkflowPlan,
  type WorkflowSpec,
} from '../../../src/formats/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import type { Refutation, Refuted } from '../refuter.js';
import { type RandomWorkflows, randomWorkflows } from '../workflows/random-spec.js';

const GIB = 1024 ** 3;
const ROUNDING = 1e-9;
/** The seeds by which a number of devices was confirmed. */
const CONFIRMING_SEEDS = [2, 3, 4];
/** The methods by which it is tried to do better than any plan can. */
const RIVALS = ['dyorc', 'greedy'] as const;

/**
 * refuter answers random small specs of workflows. A plan claims that it is what its spec gives; that devices hold no
 * more than their memory; that its sample is served as it says, when it is simulated again; that no plan has a smaller
 * mean latency than its bound, with four times the devices too; and, where it has the fewest devices, that requests are
 * in time in the mean over samples, and that fewer devices than the bound do not have enough in time by any method. The
 * answer that there is none claims the last of all devices.
 */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const drawn = randomWorkflows(dice);
  const { spec, profiles, runs } = drawn;
  for (const [c, profile] of profiles.entries())
    await writeFile(join(folder, spec.components[c]?.profile as string), JSON.stringify(profile));
  await writeFile(join(folder, 'w.jsonl'), runs.map((run) => JSON.stringify(run)).join('\n'));
  const path = join(folder, 'plan.json');
  const solved = await solveWith(folder, spec, path);
  const what = JSON.stringify(spec);
  if (solved.outcome === 'infeasible') {
    const { reasons } = solved.document;
    const isOfTime = reasons.every(({ code }) => code === 'slo-too-short' || code === 'too-few-gpus');
    const isRun = reasons.every(({ text }) => !text.includes('runs on'));
    const claim = reasons.map(({ text }) => text).join('; ');
    const refutations = isOfTime && isRun ? await heldBy(folder, spec, { claim }) : [];
    return { what, outcome: 'infeasible', refutations };
  }
  if (solved.outcome !== 'workflow-plan') return { what, outcome: solved.outcome, refutations: [] };
  const { plan } = solved;
  const refutations = [
    ...(await validRefutations(path)),
    ...memoryRefutations(drawn, plan),
    ...(await sampleRefutations(path, plan)),
    ...(plan.objective.kind === 'devices'
      ? [...(await confirmedRefutations(path, plan)), ...(await boundRefutations(folder, spec, plan))]
      : await meanRefutations(folder, spec, { plan, method: dice.other('rival').pick(RIVALS) })),
  ];
  return { what, outcome: `${plan.objective.kind}, ${plan.status}`, refutations };
}

async function solveWith(folder: string, spec: WorkflowSpec, output?: string) {
  const path = join(folder, output === undefined ? 'rival.json' : 'spec.json');
  await writeFile(path, JSON.stringify(spec));
  return solveSpec(path, output === undefined ? {} : { output });
}

/** rival solves a spec with other devices; it gives nothing where these run some component nowhere. */
async function rival(folder: string, spec: WorkflowSpec) {
  try {
    return await solveWith(folder, spec);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

async function validRefutations(path: string): Promise<Refutation[]> {
  const [found] = await validateFiles([path]);
  return found?.ok ? [] : [{ claim: 'the plan is what its spec gives', found: found?.message ?? 'nothing' }];
}

/** memoryRefutations adds up what devices hold, by the weights of the profiles. */
function memoryRefutations({ spec, profiles }: RandomWorkflows, { placement }: WorkflowPlan): Refutation[] {
  const bytesOf = (name: string) =>
    profiles[spec.components.findIndex((one) => one.name === name)]?.blocks[0]?.weightBytes as number;
  return placement.flatMap(({ server, gpu, class: device, holds, static: stays = holds }) =>
    [holds, stays].flatMap((held) => {
      const bytes = held.reduce((sum, name) => sum + bytesOf(name), 0);
      const hasBytes = (spec.cluster.devices[device]?.memoryGiB as number) * GIB;
      if (bytes <= hasBytes) return [];
      return [
        { claim: `${server}/gpu${gpu} holds ${held}`, found: `these take ${bytes} of ${hasBytes} bytes` },
      ];
    }),
  );
}

async function sampleRefutations(path: string, { sample }: WorkflowPlan): Promise<Refutation[]> {
  const { report } = await simulatePlan(path, { seed: sample.seed, exact: true });
  const { overall, workflows, models } = report;
  const seen = {
    requests: overall.arrived,
    tasks: workflows?.tasks,
    loads: workflows?.loads,
    meanMs: overall.latencyMs?.mean ?? 0,
    p99Ms: overall.latencyMs?.p99 ?? 0,
    attainments: models.flatMap(({ sloMs, requests: { inTime, arrived } }) =>
      sloMs === undefined || arrived === 0 ? [] : [inTime / arrived],
    ),
  };
  const told = {
    requests: sample.requests,
    tasks: sample.tasks,
    loads: sample.loads,
    meanMs: sample.meanMs,
    p99Ms: sample.p99Ms,
    attainments: sample.workflows.flatMap(({ attainment }) => attainment ?? []),
  };
  if (JSON.stringify(seen) === JSON.stringify(told)) return [];
  return [
    { claim: `the sample is ${JSON.stringify(told)}`, found: `a simulation gives ${JSON.stringify(seen)}` },
  ];
}

/** confirmedRefutations serves the samples by which a number of devices was confirmed. */
async function confirmedRefutations(
  path: string,
  { workflows, attainment }: WorkflowPlan,
): Promise<Refutation[]> {
  const reports = await Promise.all(
    CONFIRMING_SEEDS.map((seed) => simulatePlan(path, { seed, exact: true })),
  );
  return workflows.flatMap(({ name, sloMs }, w) => {
    const shares = reports.flatMap(({ report }) => {
      const { requests } = report.models[w] as (typeof report.models)[number];
      return requests.arrived === 0 ? [] : [requests.inTime / requests.arrived];
    });
    const mean = shares.reduce((sum, one) => sum + one, 0) / shares.length;
    if (sloMs === undefined || shares.length === 0 || mean >= attainment - ROUNDING) return [];
    return [{ claim: `${attainment} of ${name} are in time in the mean over samples`, found: `${mean} are` }];
  });
}

/** boundRefutations tries to hold the SLOs of the sample with fewer devices than the bound. */
async function boundRefutations(
  folder: string,
  spec: RandomWorkflows['spec'],
  plan: WorkflowPlan,
): Promise<Refutation[]> {
  const { bound } = plan.objective;
  const fewer = bound - 1;
  // Each subcluster needs a device, which is no matter of time.
  if (fewer < Math.max(1, plan.subclusters)) return [];
  const claim = `fewer than ${bound} devices do not hold the SLOs`;
  for (const cluster of mixesOf(spec.cluster, fewer)) {
    const found = await heldBy(folder, { ...spec, cluster }, { claim });
    if (found.length > 0) return found;
  }
  return [];
}

/** mixesOf lists the clusters of so many devices of the classes of a cluster. */
function mixesOf({ devices, ...rest }: OpenCluster, count: number): OpenCluster[] {
  const [first, second] = Object.keys(devices);
  const counts = Array.from({ length: count + 1 }, (_, own) => [own, count - own]);
  return counts.flatMap(([own = 0, others = 0]) => {
    const parts = [
      [first, own],
      [second, others],
    ] as const;
    const isThere = parts.every(
      ([name, wanted]) => wanted === 0 || (name !== undefined && wanted <= (devices[name]?.count ?? 0)),
    );
    const used = parts.flatMap(([name, wanted]) =>
      name === undefined || wanted === 0 ? [] : [[name, { ...devices[name], count: wanted }]],
    );
    return isThere ? [{ ...rest, devices: Object.fromEntries(used) }] : [];
  });
}

/** heldBy tries whether some method has as many requests of the sample in time as are asked for, on all devices of a cluster. */
async function heldBy(
  folder: string,
  spec: RandomWorkflows['spec'],
  { claim }: { readonly claim: string },
): Promise<Refutation[]> {
  const { subclusters: _, objective: __, attainment = 0.99 } = spec.planner ?? {};
  for (const method of RIVALS) {
    const found = await rival(folder, { ...spec, planner: { method, attainment } });
    if (found?.outcome !== 'workflow-plan') continue;
    const { sample } = found.plan;
    if (sample.workflows.every((one) => (one.attainment ?? 1) >= attainment - ROUNDING))
      return [
        {
          claim,
          found: `${method} has ${JSON.stringify(sample.workflows)} on ${found.plan.placement.length}`,
        },
      ];
  }
  return [];
}

/** meanRefutations tries to beat the bound on the mean latency by some method, with four times the devices. */
async function meanRefutations(
  folder: string,
  spec: RandomWorkflows['spec'],
  { plan: { bounds }, method }: { readonly plan: WorkflowPlan; readonly method: (typeof RIVALS)[number] },
): Promise<Refutation[]> {
  const devices = Object.entries(spec.cluster.devices).map(([name, { count = 1, ...one }]) => [
    name,
    { ...one, count: 4 * count },
  ]);
  const cluster = { ...spec.cluster, devices: Object.fromEntries(devices) };
  // Requests without an SLO are all answered.
  const workflows = spec.workflows.map(({ sloMs: _, ...one }) => one);
  const found = await rival(folder, { ...spec, workflows, cluster, planner: { method } });
  if (found?.outcome !== 'workflow-plan') return [];
  const { meanMs } = found.plan.sample;
  if (meanMs >= bounds.meanMs * (1 - ROUNDING)) return [];
  return [{ claim: `no mean is less than ${bounds.meanMs} ms`, found: `${method} has ${meanMs} ms` }];
}
