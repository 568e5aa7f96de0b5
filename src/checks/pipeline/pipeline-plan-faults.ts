import {
  type Fault,
  fault,
  gpuNumber,
  listed,
  type PipelinePlan,
  type PlannedStage,
  proofFaults,
} from '../../artifacts/index.js';
import { countedGpus } from '../recount/index.js';
import { graphFaults, mostStagesFaults } from './graph-faults.js';

const ROUNDING = 1e-9;

/** CheckedPipeline is a pipeline plan without the head of its file. */
export type CheckedPipeline = Omit<PipelinePlan, '$schema' | 'tool' | 'inputs' | 'serving'>;

/**
 * pipelinePlanFaults finds where a plan contradicts itself: in its graph, whose stages must stand after those that lead
 * to them, in its latencies, in its placement, which must have every device once, and in how near it is to the best one.
 */
export function pipelinePlanFaults(plan: CheckedPipeline): Fault[] {
  const many = mostStagesFaults(plan);
  if (many.length > 0) return many;
  return [
    ...graphFaults(plan),
    ...plan.stages.flatMap((stage, i) => stageFaults(plan, stage, i)),
    ...sourceFaults(plan),
    ...sharedFaults(plan),
    ...seatFaults(plan),
    ...proofFaults(plan),
  ];
}

function stageFaults({ cluster }: CheckedPipeline, stage: PlannedStage, i: number): Fault[] {
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
function sourceFaults({ stages }: CheckedPipeline): Fault[] {
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

function sharedFaults({ stages, shared = [] }: CheckedPipeline): Fault[] {
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

function seatFaults(plan: CheckedPipeline): Fault[] {
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
}: CheckedPipeline): Map<string, { index: number; replicas: number; standby: number }> {
  const sharing = new Set(shared.flatMap((set) => set.stages));
  const alone = stages.filter(({ name }) => !sharing.has(name)).map(({ name }) => [name]);
  return new Map(
    [...shared.map((set) => set.stages), ...alone].flatMap((names) => {
      const index = stages.findIndex(({ name }) => name === names[0]);
      const stage = stages[index];
      if (stage === undefined) return [];
      const { replicas, standby = 0 } = stage;
      return [[[...names].sort().join(' '), { index, replicas, standby }] as const];
    }),
  );
}

/** fullFaults finds GPUs that hold more than they are divided into. A row of like GPUs is looked at once. */
function fullFaults({ placement, cluster }: CheckedPipeline): Fault[] {
  return countedGpus(placement, cluster.devices).flatMap(({ class: name, first, last, held }) => {
    const share = held.reduce((sum, { virtual }) => sum + 1 / virtual, 0);
    const row = last === undefined ? `${name}/${held[0]?.server}` : name;
    return share <= 1 + ROUNDING
      ? []
      : [fault(`puts more on GPU ${first} of ${row} than one GPU holds`, '/placement')];
  });
}
