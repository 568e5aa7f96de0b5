import { smallestOf } from '../../collections/index.js';
import {
  type Fault,
  fault,
  gpuNumber,
  listed,
  type PipelinePlan,
  type PlannedStage,
  proofFaults,
} from '../../formats/index.js';
import { countedGpus } from '../recount/index.js';
import { pipelineFigureFaults } from './figure-faults.js';
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
  const faults = [
    ...graphFaults(plan),
    ...applicationFaults(plan),
    ...plan.stages.flatMap((stage, i) => stageFaults(plan, stage, i)),
    ...sourceFaults(plan),
    ...sharedFaults(plan),
    ...seatFaults(plan),
    ...proofFaults(plan),
  ];
  // The figures of stages that lead nowhere or are not placed say nothing.
  return faults.length > 0 ? faults : pipelineFigureFaults(plan);
}

/** Shares that are written in decimals sum to 1 no more exactly than this. */
const SHARE_ROUNDING = 1e-6;

/** applicationFaults finds applications of one name, shares that are not all of the load, and an sloMs that is not their least. */
function applicationFaults({ applications, sloMs }: CheckedPipeline): Fault[] {
  if (applications === undefined) return [];
  const names = applications.map(({ name }) => name);
  const sum = applications.reduce((all, { share }) => all + share, 0);
  const least = smallestOf(applications.map((one) => one.sloMs));
  return [
    ...names.flatMap((name, k) =>
      names.indexOf(name) === k ? [] : [fault(`is ${name}, as another is`, `/applications/${k}/name`)],
    ),
    ...(Math.abs(sum - 1) <= SHARE_ROUNDING
      ? []
      : [fault(`have shares that sum to ${Number(sum.toPrecision(8))}, and not to 1`, '/applications')]),
    ...(least === sloMs ? [] : [fault(`is ${sloMs}; the least of its applications is ${least}`, '/sloMs')]),
  ];
}

function stageFaults(plan: CheckedPipeline, stage: PlannedStage, i: number): Fault[] {
  const at = `/stages/${i}`;
  return [
    ...classFaults(plan, stage, { batch: stage.batch, at }),
    ...(stage.others ?? []).flatMap((other, k) =>
      classFaults(plan, other, { batch: stage.batch, at: `${at}/others/${k}` }),
    ),
    ...(stage.others === undefined ? [] : othersFaults(plan, stage, at)),
  ];
}

/** classFaults checks what a stage says of its replicas of one class. */
function classFaults(
  { cluster }: CheckedPipeline,
  { device, latencyUsByBatch }: Pick<PlannedStage, 'device' | 'latencyUsByBatch'>,
  { batch, at }: { readonly batch: number; readonly at: string },
): Fault[] {
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

/** othersFaults checks what a stage with replicas of several classes must hold beside what one of a single class does. */
function othersFaults(
  { shared = [] }: CheckedPipeline,
  { name, device, batch, standby = 0, others = [] }: PlannedStage,
  at: string,
): Fault[] {
  const twice = others.flatMap(({ device: other }, k) =>
    other === device || others.slice(0, k).some((before) => before.device === other)
      ? [fault(`is ${other}, which the stage has replicas of already`, `${at}/others/${k}/device`)]
      : [],
  );
  const rates = others.flatMap(({ latencyUsByBatch, throughputRps }, k) => {
    const us = latencyUsByBatch[batch - 1];
    const rps = typeof us === 'number' && us > 0 ? (1e6 * batch) / us : throughputRps;
    return Math.abs(throughputRps - rps) <= ROUNDING * rps
      ? []
      : [
          fault(
            `is ${throughputRps}; a batch of ${batch} in ${us} us gives ${rps}`,
            `${at}/others/${k}/throughputRps`,
          ),
        ];
  });
  return [
    ...twice,
    ...rates,
    ...(standby === 0
      ? []
      : [fault(`is ${standby}, and the replicas are of several classes`, `${at}/standby`)]),
    ...(shared.some(({ stages }) => stages.includes(name))
      ? [fault('has replicas of several classes, and shares devices', at)]
      : []),
  ];
}

/** ReplicasOf is how many replicas a stage has of a class. */
type ReplicasOf = Pick<PlannedStage, 'device' | 'virtual' | 'replicas'>;

/** classesOf lists the replicas of a stage, class by class. */
function classesOf(stage: PlannedStage): readonly ReplicasOf[] {
  return [stage, ...(stage.others ?? [])];
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
    const kind = (stage === undefined ? [] : classesOf(stage)).findIndex(
      ({ device, virtual }) => place.class === device && place.virtual === virtual,
    );
    if (!sets.has(key) || stage === undefined)
      faults.push(fault(`holds ${listed(place.stages)}, which no devices of the plan do`, at));
    else if (kind < 0)
      faults.push(
        fault(
          `is ${place.class} in ${place.virtual}; ${stage.name} is planned for ${classesOf(stage)
            .map(({ device, virtual }) => `${device} in ${virtual}`)
            .join(' and ')}`,
          at,
        ),
      );
    if (place.count !== undefined && Number.isNaN(gpuNumber(place, 1)))
      faults.push(fault(`counts GPUs from ${place.server} on, which is no ${place.class}-<number>`, at));
    const state = `${key} ${Math.max(0, kind)} ${place.standby === true}`;
    placed.set(state, (placed.get(state) ?? 0) + (place.count ?? 1));
  });
  for (const [key, { index, classes, standby }] of sets)
    for (const [kind, { device, replicas }] of classes.entries())
      for (const [down, wanted] of [[false, replicas] as const, [true, kind === 0 ? standby : 0] as const]) {
        const found = placed.get(`${key} ${kind} ${down}`) ?? 0;
        const of = classes.length > 1 ? ` of ${device}` : '';
        const what = down ? 'standby devices' : 'replicas';
        if (found !== wanted)
          faults.push(fault(`has ${wanted} ${what}${of}, but ${found} are placed`, `/stages/${index}`));
      }
  return faults.length > 0 ? faults : fullFaults(plan);
}

/** setsOf lists the sets of devices by the names of the stages that each of them holds. */
function setsOf({
  stages,
  shared = [],
}: CheckedPipeline): Map<string, { index: number; classes: readonly ReplicasOf[]; standby: number }> {
  const sharing = new Set(shared.flatMap((set) => set.stages));
  const alone = stages.filter(({ name }) => !sharing.has(name)).map(({ name }) => [name]);
  return new Map(
    [...shared.map((set) => set.stages), ...alone].flatMap((names) => {
      const index = stages.findIndex(({ name }) => name === names[0]);
      const stage = stages[index];
      if (stage === undefined) return [];
      const { standby = 0 } = stage;
      return [[[...names].sort().join(' '), { index, classes: classesOf(stage), standby }] as const];
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
