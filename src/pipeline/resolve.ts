import { itemAt } from '../collections/index.js';
import {
  aliasFaults,
  classText,
  type DeviceProfile,
  distinctFaults,
  type Fault,
  fault,
  listed,
  type OpenCluster,
  type PipelineSpec,
  type PipelineStage,
  pipelineMethodOf,
  profiledClasses,
  type TensorSpec,
} from '../formats/index.js';
import {
  CERTAIN,
  conditionalEdges,
  countFaults,
  edgeOf,
  type ReadGraph,
  readStageGraph,
  wireStages,
} from '../plans/index.js';
import { applicationFaults } from './applications.js';
import { deviceSets, isUnequal, setsOf } from './device-sets.js';
import { latencyUsByBatch, measuredBatches } from './latencies.js';
import { objectiveFaults } from './objectives.js';
import type { GivenStage, OtherDevices, PipelineFiles, Resolved, StageProfile } from './problem.js';
import { profileNotes } from './profile-notes.js';
import { atQuantiles } from './quantiles.js';

const MOST_VIRTUAL = 1000;
/** A plan has a latency for every batch size up to a stage's own. */
const MOST_BATCH = 65_536;

/**
 * resolveGiven joins a spec with its cluster and profiles, and reports every fault at once: of the graph, of what is
 * fixed and what is not, of tensors, and of how cluster, profiles and spec fit together.
 */
export function resolveGiven(spec: PipelineSpec, filesRead: PipelineFiles): Resolved {
  const many = countFaults(spec);
  if (many.length > 0) return { faults: many };
  const read = readStageGraph(spec);
  const sets = deviceSets(spec);
  const { files, faults: quantileFaults } = atQuantiles(spec, filesRead, (i) => {
    return setsOf(sets.sets, i);
  });
  const wiring = wireStages(
    read,
    spec.stages.map(({ inputs }, i) => ({ ...modelTensors(files.profiles[i]), given: inputs })),
  );
  const faults = [
    ...specFaults(spec, read, sets.faults),
    ...wiring.faults,
    ...clusterFaults(files.cluster),
    ...aliasFaults(files.cluster, files.profiles),
    ...sets.sets.flatMap(({ device, virtual, path }) =>
      classFaults(files.cluster, { device, virtual, path }),
    ),
    ...spec.stages.flatMap((stage, i) => [
      ...(stage.devices ?? []).flatMap((device) =>
        classFaults(files.cluster, { device, virtual: 1, path: `/stages/${i}/devices` }),
      ),
      ...whenFaults(stage, i, files.profiles[i]),
      ...setsOf(sets.sets, i).flatMap((set) =>
        batchFaults(stage, i, { set, file: files.profiles[i], cluster: files.cluster }),
      ),
    ]),
    ...quantileFaults,
  ];
  if (faults.length > 0) return { faults: distinctFaults(faults) };
  const stages = spec.stages.map((stage, i): GivenStage => {
    const { profile, quantile } = itemAt(files.profiles, i);
    const batch = stage.batch as number;
    const [first, ...others] = setsOf(sets.sets, i).map((set) => {
      const { device: className, virtual } = set;
      const device = profile.devices[className] as DeviceProfile;
      return {
        devices: sets.sets.indexOf(set),
        latencyUsByBatch: latencyUsByBatch({ device, virtual, quantile }, batch),
      };
    });
    return {
      profile,
      quantile,
      batch,
      ...(first as OtherDevices),
      weightBytes: weightBytes(profile),
      inputs: wiring.inputs[i],
      ...(others.length === 0 ? {} : { others }),
    };
  });
  const rps = loadRps(spec, files);
  const notes = profileNotes(spec, files, sets);
  const { graph } = read;
  return { problem: { spec, cluster: files.cluster, graph, stages, devices: sets.sets, rps, notes } };
}

/** loadRps is the mean rate that a spec asks for: by itself, by its load, or by the trace of that. */
export function loadRps({ rps, load }: PipelineSpec, { traceRps }: PipelineFiles): number | undefined {
  return rps ?? (load !== undefined && 'rps' in load ? load.rps : traceRps);
}

/** pipelineSpecFaults reports every fault of a spec that can be seen without the files that it names. */
export function pipelineSpecFaults(spec: PipelineSpec): Fault[] {
  const many = countFaults(spec);
  return many.length > 0
    ? many
    : distinctFaults(specFaults(spec, readStageGraph(spec), deviceSets(spec).faults));
}

export function specFaults(spec: PipelineSpec, { faults }: ReadGraph, setFaults: readonly Fault[]): Fault[] {
  const { tuner, load } = spec;
  return [
    ...faults,
    ...methodFaults(spec),
    ...applicationFaults(spec),
    ...objectiveFaults(spec),
    ...tunerFaults(tuner ?? spec.serving?.tuner?.kind, spec),
    ...(load !== undefined && spec.rps !== undefined
      ? [fault('stands beside a load, which has a rate of its own; leave one of them out', '/rps')]
      : []),
    ...(load !== undefined && 'cv' in load && load.cv !== undefined && load.arrivals !== 'gamma'
      ? [fault(`is for gamma arrivals, and these are ${load.arrivals}`, '/load/cv')]
      : []),
    ...spec.stages.flatMap(conditionFaults),
    ...exclusiveConditionFaults(spec),
    ...(pipelineMethodOf(spec) === 'given' ? setFaults : []),
  ];
}

/** tunerFaults reports what a tuner lacks, and where a spec names two. */
function tunerFaults(kind: string | undefined, { tuner, serving, load, stages }: PipelineSpec): Fault[] {
  const at = tuner === undefined ? '/serving/tuner' : '/tuner';
  return [
    ...(tuner !== undefined && serving?.tuner !== undefined
      ? [fault('stands beside serving.tuner; leave one of them out', at)]
      : []),
    ...(kind === 'inferline' && load === undefined
      ? [fault('is inferline, which keeps the traffic within that of a sample: give a load', at)]
      : []),
    ...(kind === undefined || kind === 'none' ? [] : stages.filter(isUnequal)).map(({ name }) =>
      fault(`is ${kind}, and ${name} has replicas of several classes, which no tuner changes`, at),
    ),
  ];
}

/** methodFaults reports what a spec has too much or too little for the method that plans it. */
function methodFaults({ planner, stages, shared, load }: PipelineSpec): Fault[] {
  const method = pipelineMethodOf({ planner });
  switch (method) {
    case 'given':
      return planner?.draws === undefined
        ? []
        : [fault('is for methods that plan for a sample; given plans for none', '/planner/draws')];
    case 'inferline':
    case 'exact':
    case 'coarse-mean':
    case 'coarse-peak':
      return [
        ...(load === undefined
          ? [fault(`is needed: ${method} plans for a sample of the load`, '/load')]
          : []),
        ...(shared === undefined ? [] : [fault('is for planner.method given', '/shared')]),
        ...stages.flatMap((stage, i) =>
          (['virtual', 'standby'] as const)
            .filter((key) => stage[key] !== undefined)
            .map((key) => fault('is for planner.method given', `/stages/${i}/${key}`)),
        ),
        ...stages.flatMap(({ replicas }, i) =>
          typeof replicas === 'object'
            ? [
                fault(
                  `has a number for each class, which is for planner.method given: ${method} gives a stage replicas of one class; give one number, or leave it out`,
                  `/stages/${i}/replicas`,
                ),
              ]
            : [],
        ),
        ...stages.flatMap(({ replicas }, i) =>
          method.startsWith('coarse') && typeof replicas === 'number'
            ? [fault(`is chosen by ${method}, for all stages alike; leave it out`, `/stages/${i}/replicas`)]
            : [],
        ),
      ];
  }
}

/**
 * drawsFaults refuses draws that are all the same: the load is a trace of arrivals for one application, and no edge is
 * taken by chance.
 */
export function drawsFaults(
  { planner: { draws = 1 } = {}, stages, applications = [] }: PipelineSpec,
  { traceKind }: Pick<PipelineFiles, 'traceKind'>,
): Fault[] {
  const isSure = stages.every(({ next = [] }) => conditionalEdges({ next: next.map(edgeOf) }).length === 0);
  if (draws === 1 || traceKind !== 'arrivals' || !isSure || applications.length > 1) return [];
  const said =
    'would draw the same again and again: the load is a trace of arrivals, and no edge has a probability below 1';
  return [fault(said, '/planner/draws')];
}

/** conditionFaults checks what can be seen of a stage's conditions without its profile. */
export function conditionFaults({ next = [] }: PipelineStage, i: number): Fault[] {
  return next.map(edgeOf).flatMap(({ probability, when }, k) => {
    if (when === undefined) return [];
    const at = `/stages/${i}/next/${k}`;
    const bounds = [when.atLeast, when.below].filter((bound) => bound !== undefined).length;
    return [
      ...(bounds === 1 ? [] : [fault('needs either atLeast or below', `${at}/when`)]),
      ...(probability === undefined
        ? [fault('has a condition, and needs the probability by which it is planned', at)]
        : []),
      ...(probability === 1 ? [fault(CERTAIN, at)] : []),
    ];
  });
}

/** Of exclusive edges with conditions, only the last may do without one: it is taken where no other is. */
export function exclusiveConditionFaults({ stages, exclusive = [] }: PipelineSpec): Fault[] {
  return exclusive.flatMap((group) =>
    stages.flatMap(({ next = [] }, i) => {
      const members = [...next.entries()]
        .map(([k, edge]) => ({ k, ...edgeOf(edge) }))
        .filter(({ to }) => group.includes(to));
      if (members.length < group.length || members.every(({ when }) => when === undefined)) return [];
      return members
        .slice(0, -1)
        .filter(({ when }) => when === undefined)
        .map(({ k }) =>
          fault('needs a condition, as other edges of its exclusive list have', `/stages/${i}/next/${k}`),
        );
    }),
  );
}

export function modelTensors(file: StageProfile | undefined): {
  readonly inputs: readonly TensorSpec[] | undefined;
  readonly outputs: readonly TensorSpec[] | undefined;
} {
  return { inputs: file?.profile.model.inputs, outputs: file?.profile.model.outputs };
}

/** whenFaults checks the outputs that a stage's conditions read. */
export function whenFaults({ next = [] }: PipelineStage, i: number, file: StageProfile | undefined): Fault[] {
  const outputs = file?.profile.model.outputs;
  if (outputs === undefined) return [];
  return next.map(edgeOf).flatMap(({ when }, k) => {
    if (when === undefined) return [];
    const at = `/stages/${i}/next/${k}/when`;
    const output = outputs.find(({ name }) => name === when.output);
    if (output === undefined) {
      const has = listed(outputs.map(({ name }) => name));
      return [fault(`reads ${when.output}, which is no output of the model; it has ${has}`, at)];
    }
    return readFaults(output, when.index, at);
  });
}

function readFaults({ name, shape, batchAxis }: TensorSpec, index: number | undefined, at: string): Fault[] {
  const elements = shape.reduce((all, size, axis) => (axis === batchAxis ? all : all * size), 1);
  if (index === undefined && elements !== 1)
    return [fault(`reads ${name}, which has ${elements} elements in a row; say which with index`, at)];
  if ((index ?? 0) < elements) return [];
  return [fault(`is ${index}; ${name} has ${elements} elements in a row, from 0`, `${at}/index`)];
}

export function clusterFaults({ devices }: OpenCluster): Fault[] {
  return Object.entries(devices).flatMap(([name, { count, taken = 0 }]) =>
    count !== undefined && taken > count
      ? [fault(`${taken} GPUs are taken and there are ${count}`, `/cluster/devices/${name}/taken`)]
      : [],
  );
}

export function classFaults(
  { devices }: OpenCluster,
  { device, virtual, path }: { readonly device: string; readonly virtual: number; readonly path: string },
): Fault[] {
  if (!Object.hasOwn(devices, device)) {
    const has = listed(Object.keys(devices));
    return [fault(`is ${device}, which is no class of the cluster; it has ${has}`, path)];
  }
  const { virtual: sizes = [1] } = devices[device] as { virtual?: readonly number[] };
  if (virtual > MOST_VIRTUAL)
    return [fault(`divides ${device} into ${virtual}; give at most ${MOST_VIRTUAL}`, path)];
  if (virtual === 1 || sizes.includes(virtual)) return [];
  return [fault(`divides ${device} into ${virtual}; the cluster allows ${listed(sizes)}`, path)];
}

/** batchFaults checks that a stage's profile has its class, virtual size and batch. */
function batchFaults(
  { batch }: PipelineStage,
  i: number,
  {
    set,
    file,
    cluster,
  }: {
    readonly set: { readonly device: string; readonly virtual: number; readonly path: string } | undefined;
    readonly file: StageProfile | undefined;
    readonly cluster: OpenCluster;
  },
): Fault[] {
  if (set === undefined || file === undefined) return [];
  const { profile, path, quantile } = file;
  const { device: name, virtual } = set;
  if (!Object.hasOwn(profile.devices, name)) {
    const has = listed(profiledClasses(profile));
    return [
      fault(`is ${classText(cluster, name)}, which the profile ${path} lacks; it has ${has}`, set.path),
    ];
  }
  const device = profile.devices[name] as DeviceProfile;
  const batches = measuredBatches({ device, virtual, quantile });
  if (batches.length === 0) return [fault(`divides ${name} into ${virtual}, which ${path} lacks`, set.path)];
  if (batch === undefined) return [];
  const at = `/stages/${i}/batch`;
  if (batch > MOST_BATCH) return [fault(`is ${batch}; give at most ${MOST_BATCH}`, at)];
  return batches.includes(batch)
    ? []
    : [
        fault(
          `is ${batch}, of which ${path} has no latency on ${name}; it has those of ${listed(batches)}`,
          at,
        ),
      ];
}

export function weightBytes({ blocks }: StageProfile['profile']): number | undefined {
  const bytes = blocks.flatMap((block) => (block.weightBytes === undefined ? [] : [block.weightBytes]));
  return bytes.length === 0 ? undefined : bytes.reduce((all, one) => all + one, 0);
}
