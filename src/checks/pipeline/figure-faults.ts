import { itemAt, largestOf, smallestOf } from '../../collections/index.js';
import {
  type Fault,
  fault,
  type LongestPath,
  linkGbps,
  type PipelinePlan,
  type PlannedStage,
  type StagePlacement,
} from '../../formats/index.js';
import { differ, faultOf, isShare } from '../figures.js';
import { countedGpus } from '../recount/index.js';
import { misfitFaults, rowBytes, tensorFaults } from '../stages/index.js';
import { type Visits, visitsOf } from './visits.js';

/** FiguredPipeline is a pipeline plan whose figures are looked at. */
export type FiguredPipeline = Omit<PipelinePlan, '$schema' | 'tool' | 'inputs' | 'serving'>;

/**
 * pipelineFigureFaults finds figures of a pipeline plan that contradict others of it: what its stages serve and how busy that
 * keeps them, how many requests come to each, the longest path, what is sent along edges, tensors that do not fit, the figures
 * of its sample, and what its standby devices cost.
 * @param plan whose graph and placement are sound
 */
export function pipelineFigureFaults(plan: FiguredPipeline): Fault[] {
  const { stages } = plan;
  const visits = visitsOf(plan);
  return [
    ...stages.flatMap((stage, i) => stageFaults(plan, stage, `/stages/${i}`)),
    ...stages.flatMap(({ scaleFactor }, i) =>
      visitFaults(scaleFactor, itemAt(visits, i), `/stages/${i}/scaleFactor`),
    ),
    ...stages.flatMap((stage, i) => tensorsFaults(plan, stage, `/stages/${i}`)),
    ...sentFaults(plan),
    ...(plan.shared ?? []).flatMap((set, k) => sharedFaults(plan, set, `/shared/${k}`)),
    ...pathFaults(plan),
    ...servedFaults(plan),
    ...loadFaults(plan),
    ...sampleFaults(plan),
    ...standbyFaults(plan),
  ];
}

function same(at: string, is: number | undefined, should: number | undefined): Fault[] {
  if (is === undefined || should === undefined)
    return is === should ? [] : [fault(`is ${is ?? 'missing'}; the plan gives ${should ?? 'none'}`, at)];
  return differ(is, should) ? [fault(`is ${is}; the plan gives ${should}`, at)] : [];
}

function fullUs({ batch, latencyUsByBatch }: Pick<PlannedStage, 'batch' | 'latencyUsByBatch'>): number {
  return latencyUsByBatch[batch - 1] ?? Number.NaN;
}

/** rpsOf is what one replica serves. */
function rpsOf(batch: number, us: number): number {
  return (1e6 * batch) / us;
}

/** allRps is what all replicas of a stage serve together. */
function allRps(stage: PlannedStage): number {
  const { batch, replicas, others = [] } = stage;
  return others.reduce(
    (sum, other) => sum + other.replicas * rpsOf(batch, fullUs({ ...other, batch })),
    replicas * rpsOf(batch, fullUs(stage)),
  );
}

function stageFaults({ rps, shared = [] }: FiguredPipeline, stage: PlannedStage, at: string): Fault[] {
  const { batch, scaleFactor } = stage;
  const isShared = shared.some((set) => set.stages.includes(stage.name));
  const busy = rps === undefined ? undefined : (rps * scaleFactor) / allRps(stage);
  return [
    ...same(`${at}/throughputRps`, stage.throughputRps, rpsOf(batch, fullUs(stage))),
    ...same(`${at}/maxProvisioningRatio`, stage.maxProvisioningRatio, busy),
    ...(busy === undefined || busy <= 1 || isShared || !differ(busy, 1)
      ? []
      : [fault(`is ${busy}, more than there is time for`, `${at}/maxProvisioningRatio`)]),
  ];
}

function visitFaults(scaleFactor: number, { least, most }: Visits, at: string): Fault[] {
  const isWithin = scaleFactor >= least * (1 - 1e-6) - 1e-9 && scaleFactor <= most * (1 + 1e-6) + 1e-9;
  const said = least === most ? `${least}` : `${least} to ${most}`;
  return faultOf(isWithin, `is ${scaleFactor}; the probabilities of its edges give ${said}`, at);
}

/** tensorsFaults finds tensors that are none, inputs that do not fit what they are fed with, and conditions on none. */
function tensorsFaults({ stages }: FiguredPipeline, stage: PlannedStage, at: string): Fault[] {
  const { inputs = [], outputs, next, unservedOutputs = [] } = stage;
  return [
    ...tensorFaults(inputs, `${at}/inputs`),
    ...tensorFaults(outputs, `${at}/outputs`),
    ...next.flatMap(({ when }, k) =>
      when === undefined || outputs === undefined || outputs.some(({ name }) => name === when.output)
        ? []
        : [fault(`reads ${when.output}, which is no output of the stage`, `${at}/next/${k}/when/output`)],
    ),
    ...(outputs ?? []).flatMap(({ name }, k) =>
      faultOf(!unservedOutputs.includes(name), `is ${name}, which is not served`, `${at}/outputs/${k}/name`),
    ),
    ...inputs.flatMap((input, k) =>
      input.from.flatMap((ref) => {
        const [name, tensor] = [ref.slice(0, ref.indexOf('.')), ref.slice(ref.indexOf('.') + 1)];
        const source = stages.find((one) => one.name === name);
        if (source?.outputs === undefined) return [];
        const given = source.outputs.find((output) => output.name === tensor);
        const path = `${at}/inputs/${k}`;
        return given === undefined
          ? [fault(`comes from ${ref}, which ${name} does not give`, path)]
          : misfitFaults(input, given, path);
      }),
    ),
  ];
}

/** sentFaults finds edges along which other bytes are sent than the tensors have that later stages take. */
function sentFaults({ stages }: FiguredPipeline): Fault[] {
  const names = stages.map(({ name }) => name);
  const behind = stages.map(() => new Set<string>());
  stages.forEach(({ name, next }, i) => {
    for (const { to } of next)
      for (const one of [...itemAt(behind, i), name]) behind[names.indexOf(to)]?.add(one);
  });
  return stages.flatMap(({ name, next, outputs }, i) =>
    next.flatMap(({ to, transferBytes }, k) => {
      const { inputs } = itemAt(stages, names.indexOf(to));
      if (inputs === undefined || outputs === undefined) return [];
      const carried = new Set(
        inputs
          .flatMap(({ from }) => from)
          .filter((ref) => {
            const source = ref.slice(0, ref.indexOf('.'));
            const isBefore = stages.some(
              (one) => one.name === source && one.next.some((edge) => edge.to === to),
            );
            return source === name || (behind[i]?.has(source) && !isBefore);
          }),
      );
      const sizes = [...carried].map((ref) => {
        const source = stages.find((one) => ref.startsWith(`${one.name}.`));
        const tensor = source?.outputs?.find((output) => ref === `${source.name}.${output.name}`);
        return tensor === undefined ? 0 : (rowBytes(tensor) ?? 0);
      });
      return same(
        `/stages/${i}/next/${k}/transferBytes`,
        transferBytes,
        sizes.reduce((sum, bytes) => sum + bytes, 0),
      );
    }),
  );
}

function sharedFaults(
  { stages, rps }: FiguredPipeline,
  set: NonNullable<FiguredPipeline['shared']>[number],
  at: string,
): Fault[] {
  const members = set.stages.flatMap((name) => stages.filter((stage) => stage.name === name));
  const weights = members.flatMap(({ weightBytes }) => weightBytes ?? []);
  const isKnown = weights.length === members.length;
  const perRequest = members.reduce(
    (sum, stage) => sum + stage.scaleFactor / rpsOf(stage.batch, fullUs(stage)),
    0,
  );
  const busy = rps === undefined ? undefined : (rps * perRequest) / (members[0]?.replicas ?? 1);
  return [
    ...same(`${at}/weightBytes`, set.weightBytes, isKnown ? weights.reduce((a, b) => a + b, 0) : undefined),
    ...same(`${at}/maxProvisioningRatio`, set.maxProvisioningRatio, busy),
  ];
}

function classesOf({ device, others = [] }: PlannedStage): string[] {
  return [device, ...others.map((other) => other.device)];
}

/** slowestUs is the time of a full batch on the slowest class of a stage. */
function slowestUs(stage: PlannedStage): number {
  const { batch, others = [] } = stage;
  return largestOf([fullUs(stage), ...others.map((other) => fullUs({ ...other, batch }))]);
}

function crossUs({ cluster }: FiguredPipeline, from: string, to: string, bytes: number): number {
  const gbps = linkGbps(cluster, [from, to]);
  return gbps === undefined ? 0 : (8 * bytes) / gbps / 1e3;
}

/** pathFaults walks the graph in the order of its stages, and finds another longest path than the plan has. */
function pathFaults(plan: FiguredPipeline): Fault[] {
  const { stages, longestPath } = plan;
  const names = stages.map(({ name }) => name);
  const before = stages.map(() => 0);
  const edgeUs = (from: PlannedStage, to: PlannedStage, bytes: number): number =>
    largestOf(
      classesOf(from).flatMap((one) =>
        classesOf(to).map((other) => crossUs(plan, one, other, bytes * from.batch)),
      ),
    );
  const edges = new Map<string, number>();
  let longestUs = 0;
  stages.forEach((stage, i) => {
    const endUs = (before[i] as number) + slowestUs(stage);
    longestUs = Math.max(longestUs, endUs);
    for (const { to, transferBytes } of stage.next) {
      const k = names.indexOf(to);
      const us = edgeUs(stage, itemAt(stages, k), transferBytes);
      edges.set(`${stage.name} ${to}`, us);
      before[k] = Math.max(before[k] as number, endUs + us);
    }
  });
  return [
    ...same('/longestPath/latencyUs', longestPath.latencyUs, longestUs),
    ...wayFaults(longestPath, { stages, edges, longestUs }),
  ];
}

function wayFaults(
  { stages: way }: LongestPath,
  {
    stages,
    edges,
    longestUs,
  }: { stages: readonly PlannedStage[]; edges: ReadonlyMap<string, number>; longestUs: number },
): Fault[] {
  let us = 0;
  way.forEach((name, k) => {
    const stage = stages.find((one) => one.name === name);
    us += stage === undefined ? Number.NaN : slowestUs(stage);
    if (k > 0) us += edges.get(`${way[k - 1]} ${name}`) ?? Number.NaN;
  });
  if (!differ(us, longestUs)) return [];
  const said = Number.isNaN(us)
    ? 'is no way through the graph'
    : `takes ${us} us; the longest takes ${longestUs} us`;
  return [fault(`${way.join(' -> ')} ${said}`, '/longestPath/stages')];
}

/** servedFaults finds another rate than the devices and the uplinks of their servers have time for. */
function servedFaults(plan: FiguredPipeline): Fault[] {
  const { stages, shared = [] } = plan;
  const sharing = new Set(shared.flatMap((set) => set.stages));
  const sets = [
    ...shared.map((set) => set.stages),
    ...stages.flatMap(({ name }) => (sharing.has(name) ? [] : [[name]])),
  ];
  const devicesRps = sets.map((held) => {
    const members = stages.filter(({ name }) => held.includes(name));
    const [first] = members as [PlannedStage];
    if (members.length === 1) return allRps(first) / first.scaleFactor;
    return (
      first.replicas / members.reduce((sum, one) => sum + one.scaleFactor / rpsOf(one.batch, fullUs(one)), 0)
    );
  });
  return same('/throughputRps', plan.throughputRps, Math.min(1 / busiestS(plan), smallestOf(devicesRps)));
}

/** busiestS is how long the server that sends most sends for a request, on average. A row of like GPUs is looked at once. */
function busiestS(plan: FiguredPipeline): number {
  const { devices } = plan.cluster;
  const sent = new Map<string, number>();
  let most = 0;
  for (const { class: name, held, first, last, alike } of countedGpus(plan.placement, devices)) {
    const eachS = held.reduce((sum, place) => (place.standby === true ? sum : sum + seatS(plan, place)), 0);
    const add = (server: string | number, gpus: number): void => {
      const key = JSON.stringify([name, server]);
      sent.set(key, (sent.get(key) ?? 0) + gpus * eachS);
    };
    const perServer = devices[name]?.perServer ?? 1;
    if (last === undefined) {
      add(held[0]?.server ?? '', alike);
      continue;
    }
    const [from, to] = [Math.floor(first / perServer), Math.floor(last / perServer)];
    if (from === to) add(from, alike);
    else {
      add(from, perServer * (from + 1) - first);
      add(to, last + 1 - perServer * to);
      if (to > from + 1) most = Math.max(most, perServer * eachS);
    }
  }
  return Math.max(most, largestOf(sent.values()), 0);
}

/** seatS is how long one device sends for a request, on average: its part of what each stage that it holds sends. */
function seatS(plan: FiguredPipeline, { class: name, stages: held }: StagePlacement): number {
  const { stages } = plan;
  const ratesOf = (stage: PlannedStage) =>
    [stage, ...(stage.others ?? [])].map(({ device, replicas, latencyUsByBatch }) => ({
      device,
      replicas,
      rps: replicas * rpsOf(stage.batch, fullUs({ batch: stage.batch, latencyUsByBatch })),
    }));
  return stages
    .filter((stage) => held.includes(stage.name))
    .reduce((sum, stage) => {
      const own = ratesOf(stage);
      const mine = own.find(({ device }) => device === name);
      if (mine === undefined) return sum;
      const share = mine.rps / own.reduce((all, { rps }) => all + rps, 0);
      const us = stage.next.reduce((all, { to, probability = 1, transferBytes }) => {
        const there = ratesOf(stages.find((one) => one.name === to) as PlannedStage);
        const thereRps = there.reduce((sumRps, { rps }) => sumRps + rps, 0);
        const each = there.map(
          ({ device, rps }) => (rps / thereRps) * crossUs(plan, name, device, transferBytes),
        );
        return all + probability * each.reduce((a, b) => a + b, 0);
      }, 0);
      return sum + (us * stage.scaleFactor * share) / mine.replicas / 1e6;
    }, 0);
}

/** loadFaults finds a mean rate that is not that of the load, where the plan says the load. */
function loadFaults({ load, rps }: FiguredPipeline): Fault[] {
  if (load === undefined) return [];
  if ('trace' in load) return faultOf(rps !== undefined, 'is missing: the plan has a load', '/rps');
  return same('/rps', rps, load.rps);
}

type Sample = Pick<NonNullable<FiguredPipeline['sample']>, 'requests' | 'attainment' | 'leastAttainment'> & {
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  readonly p99Ms?: number;
};

/** sampleFaults finds figures of the sample that cannot be those of one run, or that are not what the plan holds. */
function sampleFaults(plan: FiguredPipeline): Fault[] {
  const { sample, applications = [], sloMs, objectives = [], envelope = [], method, attainment } = plan;
  const isHeld = method === 'inferline' || method === 'exact';
  const own = applications.flatMap(({ sample: of }) => of?.requests ?? []);
  const all = own.reduce((sum, requests) => sum + requests, 0);
  return [
    ...(sample === undefined
      ? []
      : runFaults(sample, applications.length > 0 ? undefined : sloMs, '/sample')),
    ...missesFaults(plan),
    ...(sample === undefined || !isHeld || applications.length > 0 || sample.leastAttainment >= attainment
      ? []
      : [fault(`is ${sample.leastAttainment}; the plan holds ${attainment}`, '/sample/leastAttainment')]),
    ...applications.flatMap(({ sample: of, sloMs: ownMs }, k) =>
      of === undefined ? [] : runFaults(of, ownMs, `/applications/${k}/sample`),
    ),
    ...(own.length === 0 || sample === undefined || own.length < applications.length
      ? []
      : same('/sample/requests', sample.requests, all)),
    ...objectives.flatMap(({ attainment: asked, sampleAttainment }, k) =>
      faultOf(
        isShare(sampleAttainment) && (!isHeld || sampleAttainment >= asked),
        `is ${sampleAttainment}; the plan holds ${asked}`,
        `/objectives/${k}/sampleAttainment`,
      ),
    ),
    ...envelope.slice(1).flatMap(({ windowUs, requests }, k) => {
      const before = itemAt(envelope, k);
      return faultOf(
        windowUs > before.windowUs && requests >= before.requests,
        `has ${requests} requests in ${windowUs} us; a shorter window has ${before.requests} in ${before.windowUs} us`,
        `/envelope/${k + 1}`,
      );
    }),
  ];
}

/** missesFaults finds misses at stages that the plan does not have, or that are not all requests which are not in time. */
function missesFaults({ sample, stages }: FiguredPipeline): Fault[] {
  if (sample?.missesByStage === undefined) return [];
  const { missesByStage: misses, requests, attainment } = sample;
  const names = [...stages.map(({ name }) => name), 'entry'];
  const told = misses.map(({ stage }) => stage);
  const all = misses.reduce((sum, one) => sum + one.requests, 0);
  const missed = requests - Math.round(attainment * requests);
  return [
    ...misses.flatMap(({ stage }, k) =>
      faultOf(
        names.includes(stage) && told.indexOf(stage) === k,
        names.includes(stage) ? `is ${stage}, as another is` : `is ${stage}, which the plan does not have`,
        `/sample/missesByStage/${k}/stage`,
      ),
    ),
    ...faultOf(
      all === missed,
      `have ${all} requests; ${missed} of the sample are not in time`,
      '/sample/missesByStage',
    ),
  ];
}

function runFaults(run: Sample, sloMs: number | undefined, at: string): Fault[] {
  const { requests, attainment, leastAttainment, p50Ms = 0, p95Ms = p50Ms, p99Ms = p95Ms } = run;
  // Of the answered requests no larger part is late than of all, but for how a percentile lies between two of them.
  const isLate = (share: number, ms: number): boolean =>
    sloMs !== undefined && attainment >= share + 2 / Math.max(1, requests) && ms > sloMs && differ(ms, sloMs);
  return [
    ...faultOf(isShare(attainment), `is ${attainment}, which is no share`, `${at}/attainment`),
    ...faultOf(
      isShare(leastAttainment) && (leastAttainment <= attainment || !differ(leastAttainment, attainment)),
      `is ${leastAttainment}; all draws together have ${attainment}`,
      `${at}/leastAttainment`,
    ),
    ...faultOf(
      p50Ms <= p95Ms && p95Ms <= p99Ms,
      `has the percentiles ${p50Ms}, ${p95Ms} and ${p99Ms} ms, which do not rise`,
      at,
    ),
    ...(
      [
        [0.5, p50Ms, 'p50Ms'],
        [0.95, p95Ms, 'p95Ms'],
        [0.99, p99Ms, 'p99Ms'],
      ] as const
    ).flatMap(([share, ms, field]) =>
      isLate(share, ms) ? [fault(`is ${ms}; ${attainment} of all are in ${sloMs} ms`, `${at}/${field}`)] : [],
    ),
  ];
}

/** standbyFaults finds another price of all devices, those on standby included, than their GPUs have. */
function standbyFaults({ classes, cluster, mostHourlyCost }: FiguredPipeline): Fault[] {
  const hasStandby = Object.values(classes).some((use) => (use.standby ?? 0) > 0);
  const prices = Object.entries(classes).map(([name, use]) => {
    const gpus = use.used + (use.standby ?? 0);
    return gpus === 0 ? 0 : gpus * (cluster.devices[name]?.hourlyCost ?? Number.NaN);
  });
  const cost = prices.reduce((sum, price) => sum + price, 0);
  return same('/mostHourlyCost', mostHourlyCost, hasStandby && !Number.isNaN(cost) ? cost : undefined);
}
