import { itemAt, smallestOf } from '../../../collections/index.js';
import type { BundledDevice } from '../../../formats/index.js';
import { planTopologyOf, type StagePlan } from '../../../plans/index.js';
import { poolsServedBy, type VirtualDevice } from '../../../serving/index.js';
import { type EngineGraph, engineName } from '../../engine-graph.js';
import { stagesOfRoute } from './names.js';

/** Layout is servers that are alike: they hold the same models on the same GPUs, so that each is started in the same way. */
export interface Layout {
  /** The name of its first server, as a file may have it. */
  readonly name: string;
  readonly servers: readonly string[];
  readonly deviceClass: string;
  /** How the class is run; absent where the profiles do not say. */
  readonly run?: BundledDevice;
  /** The virtual GPUs of each of its GPUs, by the GPU's number; those that are not used are left out. */
  readonly seats: ReadonlyMap<number, number>;
  /** The virtual GPUs that hold each stage, by the stage and the GPU. */
  readonly held: ReadonlyMap<number, ReadonlyMap<number, number>>;
  /** isShared says whether a virtual GPU holds several stages, of which it runs one batch at a time. */
  readonly isShared: boolean;
  /** The part of each stage's capacity that each of its servers has. */
  readonly parts: ReadonlyMap<number, number>;
}

/** isOnCpu returns whether the devices of a layout are processor cores, emulated ones included. */
export function isOnCpu({ run }: Pick<Layout, 'run'>): boolean {
  return run?.provider === 'cpu';
}

/** layoutsOf finds the kinds of servers of a plan, in the order of its placement. Devices on standby are left out. */
export function layoutsOf(plan: StagePlan, graph: EngineGraph): Layout[] {
  const servers = new Map<string, VirtualDevice[]>();
  for (const device of planTopologyOf(plan, { transfers: 'none' }).devices) {
    if (device.standby === true) continue;
    const known = servers.get(device.server) ?? [];
    servers.set(device.server, known);
    known.push(device);
  }
  const alike = new Map<string, { names: string[]; devices: VirtualDevice[] }>();
  for (const [name, devices] of servers) {
    const key = JSON.stringify(
      devices.map((one) => [one.gpu, one.deviceClass, one.virtual, ...poolsServedBy(one)].join(' ')).sort(),
    );
    const known = alike.get(key) ?? { names: [], devices };
    alike.set(key, known);
    known.names.push(name);
  }
  const total = new Map<number, number>();
  for (const { names, devices } of alike.values())
    for (const [stage, rate] of ratesOf(devices, graph))
      total.set(stage, (total.get(stage) ?? 0) + names.length * rate);
  const groups = [...alike.values()];
  const files = groups.map(({ names }) => engineName(itemAt(names, 0)));
  return groups.map((group, i) => {
    const file = itemAt(files, i);
    const name = files.indexOf(file) === i ? file : `${file}_${i}`;
    return layoutOf({ ...group, name }, graph, total);
  });
}

function layoutOf(
  { names, devices, name }: { names: readonly string[]; devices: readonly VirtualDevice[]; name: string },
  graph: EngineGraph,
  total: ReadonlyMap<number, number>,
): Layout {
  const seats = new Map<number, number>();
  const held = new Map<number, Map<number, number>>();
  for (const device of devices) {
    seats.set(device.gpu, (seats.get(device.gpu) ?? 0) + 1);
    for (const stage of poolsServedBy(device)) {
      const gpus = held.get(stage) ?? new Map<number, number>();
      held.set(stage, gpus.set(device.gpu, (gpus.get(device.gpu) ?? 0) + 1));
    }
  }
  const { deviceClass } = itemAt(devices, 0);
  const run = graph.groups.find((group) => group.deviceClass === deviceClass)?.run;
  const parts = [...ratesOf(devices, graph)].map(
    ([stage, rate]) => [stage, rate / (total.get(stage) as number)] as const,
  );
  return {
    name,
    servers: names,
    deviceClass,
    seats,
    held: new Map([...held].sort(([a], [b]) => a - b)),
    ...(run === undefined ? {} : { run }),
    isShared: devices.some(({ otherPools = [] }) => otherPools.length > 0),
    parts: new Map(parts),
  };
}

/** ratesOf sums how many rows devices execute of each stage that they hold, with full batches, per millisecond. */
function ratesOf(devices: readonly VirtualDevice[], { groups }: EngineGraph): Map<number, number> {
  const rates = new Map<number, number>();
  for (const device of devices)
    for (const stage of poolsServedBy(device)) {
      const held = groups
        .filter(
          ({ deviceClass, virtual }) => deviceClass === device.deviceClass && virtual === device.virtual,
        )
        .flatMap(({ stages }) => stages)
        .find((one) => one.stage === stage);
      const { latencyMs } = held as NonNullable<typeof held>;
      rates.set(stage, (rates.get(stage) ?? 0) + latencyMs.length / (latencyMs.at(-1) as number));
    }
  return rates;
}

/** Carried is what a server of a layout carries of a model's requests. */
export interface Carried {
  /** The part of all requests of the model that comes to the server. */
  readonly part: number;
  /** The parts of these that take each route; 0 of a route whose stages are elsewhere. */
  readonly shares: readonly number[];
}

/** carriedBy says what each server of a layout carries of each model: by the least part that it has of a route's stages. */
export function carriedBy(layout: Layout, all: readonly Layout[], graph: EngineGraph): Carried[] {
  return graph.models.map(({ routes }) => {
    const onServer = (one: Layout) =>
      routes.map(({ entry, share }) => share * leastPart(one, stagesOfRoute(graph, entry)));
    const sum = (parts: readonly number[]) => parts.reduce((a, b) => a + b, 0);
    const mine = onServer(layout);
    const whole = sum(all.map((one) => one.servers.length * sum(onServer(one))));
    const own = sum(mine);
    return {
      part: whole > 0 ? own / whole : 0,
      shares: mine.map((part) => (own > 0 ? part / own : 0)),
    };
  });
}

/** leastPart is the part of a route's requests that all its stages on a server can execute. */
export function leastPart({ parts }: Layout, stages: readonly number[]): number {
  return smallestOf(stages.map((stage) => parts.get(stage) ?? 0));
}
