import {
  type Fault,
  fault,
  fieldChanges,
  gpuNumber,
  listed,
  type PipelinePlan,
  type PlannedStage,
  proofFaults,
} from '../../artifacts/index.js';
import { gpuRuns } from '../stages/index.js';
import { countFaults, readStageGraph } from './graph.js';
import type { PipelinePlanBody } from './plan-body.js';
import { heldTogether } from './spares.js';

const ROUNDING = 1e-9;

/**
 * pipelinePlanFaults finds where a plan contradicts itself: in its graph, whose stages must stand after those that lead
 * to them, in its latencies, in its placement, which must have every device once, and in how near it is to the best one.
 */
export function pipelinePlanFaults(plan: PipelinePlanBody): Fault[] {
  const many = countFaults(plan);
  if (many.length > 0) return many;
  const { graph, faults } = readStageGraph(plan);
  const late = graph.edges.flatMap((edges, i) =>
    edges
      .filter(({ to }) => to < i)
      .map(({ to, at }) =>
        fault(
          `leads back to ${graph.names[to]}; put each stage after those that lead to it`,
          `/stages/${i}/next/${at}`,
        ),
      ),
  );
  return [
    ...faults,
    ...late,
    ...plan.stages.flatMap((stage, i) => stageFaults(plan, stage, i)),
    ...sourceFaults(plan),
    ...sharedFaults(plan),
    ...seatFaults(plan),
    ...proofFaults(plan),
  ];
}

function stageFaults({ cluster }: PipelinePlanBody, stage: PlannedStage, i: number): Fault[] {
  const { device, batch, latencyUsByBatch } = stage;
  const at = `/stages/${i}`;
  const full = latencyUsByBatch[batch - 1];
  return [
    ...(Object.hasOwn(cluster.devices, device)
      ? []
      : [fault(`is ${device}, which is no class of the cluster`, `${at}/device`)]),
    ...(latencyUsByBatch.length === batch && typeof full === 'number' && full > 0
      ? []
      : [fault(`has no latency at its batch ${batch}`, `${at}/latencyUsByBatch`)]),
  ];
}

/** sourceFaults finds inputs that come from no stage before. */
function sourceFaults({ stages }: PipelinePlanBody): Fault[] {
  const names = stages.map(({ name }) => name);
  return stages.flatMap(({ inputs = [] }, i) =>
    inputs.flatMap(({ from }, k) =>
      from
        .filter((ref) => {
          const [name = ''] = ref.split('.');
          return name !== 'request' && !names.slice(0, i).includes(name);
        })
        .map((ref) => fault(`comes from ${ref}, which is no stage before it`, `/stages/${i}/inputs/${k}`)),
    ),
  );
}

function sharedFaults({ stages, shared = [] }: PipelinePlanBody): Fault[] {
  const seen = new Set<string>();
  return shared.flatMap((set, k) => {
    const members = set.stages.map((name) => stages.find((stage) => stage.name === name));
    const kinds = new Set(members.map((stage) => stage && devicesText(stage)));
    const told = set.stages.flatMap((name, j) => {
      const again = seen.has(name);
      seen.add(name);
      if (members[j] === undefined)
        return [fault(`names ${name}, and there is no such stage`, `/shared/${k}`)];
      return again ? [fault(`names ${name}, which shares devices already`, `/shared/${k}`)] : [];
    });
    const unlike = told.length === 0 && kinds.size > 1;
    return unlike ? [fault(`has stages of unlike devices: ${[...kinds].join('; ')}`, `/shared/${k}`)] : told;
  });
}

function devicesText({ device, virtual, replicas, standby = 0 }: PlannedStage): string {
  return `${replicas} + ${standby} ${device} in ${virtual}`;
}

function seatFaults(plan: PipelinePlanBody): Fault[] {
  const { stages, placement } = plan;
  const sets = setsOf(plan);
  const faults: Fault[] = [];
  const placed = new Map<string, number>();
  placement.forEach((place, k) => {
    const at = `/placement/${k}`;
    const key = [...place.stages].sort().join(' ');
    const stage = stages.find(({ name }) => name === place.stages[0]);
    if (!sets.has(key) || stage === undefined)
      faults.push(fault(`holds ${listed(place.stages)}, which no devices of the plan do`, at));
    else if (place.class !== stage.device || place.virtual !== stage.virtual)
      faults.push(
        fault(
          `is ${place.class} in ${place.virtual}; ${stage.name} is planned for ${stage.device} in ${stage.virtual}`,
          at,
        ),
      );
    if (place.count !== undefined && Number.isNaN(gpuNumber(place, 1)))
      faults.push(fault(`counts GPUs from ${place.server} on, which is no ${place.class}-<number>`, at));
    const state = `${key} ${place.standby === true}`;
    placed.set(state, (placed.get(state) ?? 0) + (place.count ?? 1));
  });
  for (const [key, { index, replicas, standby }] of sets)
    for (const [down, wanted] of [[false, replicas] as const, [true, standby] as const]) {
      const found = placed.get(`${key} ${down}`) ?? 0;
      const what = down ? 'standby devices' : 'replicas';
      if (found !== wanted)
        faults.push(fault(`has ${wanted} ${what}, but ${found} are placed`, `/stages/${index}`));
    }
  return faults.length > 0 ? faults : fullFaults(plan);
}

/** setsOf lists the sets of devices by the names of the stages that each of them holds. */
function setsOf({
  stages,
  shared = [],
}: PipelinePlanBody): Map<string, { index: number; replicas: number; standby: number }> {
  return new Map(
    heldTogether({ stages, shared }).flatMap((names) => {
      const index = stages.findIndex(({ name }) => name === names[0]);
      const stage = stages[index];
      if (stage === undefined) return [];
      const { replicas, standby = 0 } = stage;
      return [[[...names].sort().join(' '), { index, replicas, standby }] as const];
    }),
  );
}

/** fullFaults finds GPUs that hold more than they are divided into. A row of like GPUs is looked at once. */
function fullFaults({ placement, cluster }: PipelinePlanBody): Fault[] {
  return gpuRuns(placement, cluster).flatMap(({ class: name, first, places }) => {
    const share = places.reduce((sum, { virtual }) => sum + 1 / virtual, 0);
    return share <= 1 + ROUNDING
      ? []
      : [fault(`puts more on GPU ${first} of ${name} than one GPU holds`, '/placement')];
  });
}

/** What is compared otherwise, or only a search knows. */
const NOT_RECOMPUTED: readonly (keyof PipelinePlan)[] = [
  ...(['$schema', 'version', 'tool', 'inputs'] as const),
  ...(['serving', 'notes', 'load', 'share', 'reproducible'] as const),
];

/**
 * figureFaults finds where a plan differs from the one that its spec and profiles give. Figures may differ by a part in
 * 10⁹.
 */
export function figureFaults(plan: PipelinePlan, expected: PipelinePlanBody): Fault[] {
  const faults: Fault[] = [];
  for (const key of Object.keys({ ...expected, ...plan }) as (keyof PipelinePlan)[]) {
    if (NOT_RECOMPUTED.includes(key)) continue;
    const changes = fieldChanges(plan[key], expected[key as keyof PipelinePlanBody], `/${key}`);
    for (const { path, before = 'absent', after = 'absent' } of changes)
      faults.push(fault(`is ${before}; its spec and profiles give ${after}`, path));
  }
  return faults;
}
