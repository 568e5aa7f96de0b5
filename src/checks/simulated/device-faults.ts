import { largestOf } from '../../collections/index.js';
import { type Fault, fault, type SimulatedPool, type SimulationReport } from '../../formats/index.js';
import { addedUp, givenFaults, rangeFaults, shareFaults } from '../figures.js';

/** isStaged says whether a plan has stages, whose pools may share devices, and which may run side by side. */
export function isStaged(pools: readonly SimulatedPool[]): boolean {
  return pools.some(({ stage }) => stage !== undefined);
}

/** isScaled says whether devices come and go in a run. */
export function isScaled(pools: readonly SimulatedPool[]): boolean {
  return pools.some(({ inUse }) => inUse !== undefined);
}

/** simulatedDeviceFaults finds where batches, devices, their times, links and prices of a run contradict one another. */
export function simulatedDeviceFaults(report: SimulationReport, spanS: number | undefined): Fault[] {
  // The work of devices for workflows is counted until all of it had ended.
  const countedS = report.workflows?.overS ?? spanS;
  const faults = [
    ...report.pools.flatMap((pool, p) => poolFaults(pool, `/pools/${p}`)),
    ...servedFaults(report),
    ...linkFaults(report),
    ...costFaults(report),
  ];
  return faults.length > 0
    ? faults
    : Object.keys(report.classes).flatMap((name) => classFaults(name, report, countedS));
}

function poolFaults(pool: SimulatedPool, at: string): Fault[] {
  const { sizes, batches, requests, batch, utilisation, inUse, virtualGpus, others = [] } = pool;
  const all = addedUp(sizes);
  const rows = addedUp(sizes.map((count, i) => count * (i + 1)));
  const devices = virtualGpus + addedUp(others.map((other) => other.virtualGpus));
  return [
    ...(sizes.length === batch
      ? []
      : [fault(`is ${batch}, and ${sizes.length} sizes are counted`, `${at}/batch`)]),
    ...(all === batches ? [] : [fault(`is ${batches}, and the sizes sum to ${all}`, `${at}/batches`)]),
    ...(rows === requests ? [] : [fault(`is ${requests}, and by the sizes it is ${rows}`, `${at}/requests`)]),
    ...givenFaults(pool.meanBatch, batches === 0 ? undefined : requests / batches, `${at}/meanBatch`),
    ...shareFaults(utilisation, `${at}/utilisation`),
    ...(inUse === undefined
      ? []
      : [
          ...(inUse.least <= devices && devices <= inUse.most
            ? []
            : [fault(`has ${inUse.least} to ${inUse.most}, and begins with ${devices}`, `${at}/inUse`)]),
          ...rangeFaults(inUse.mean, [inUse.least, inUse.most], {
            at: `${at}/inUse/mean`,
            by: 'the fewest and the most',
          }),
        ]),
  ];
}

/** servedFaults finds fewer requests in the batches of a chain than its model answered. */
function servedFaults({ pools, models }: SimulationReport): Fault[] {
  if (isStaged(pools)) return [];
  return models.flatMap(({ name, requests: { inTime, late } }) => {
    const own = pools.filter(({ model, partition }) => model === name && partition === 0);
    const executed = addedUp(own.map(({ requests }) => requests));
    return executed >= inTime + late
      ? []
      : [fault(`executed ${executed} requests of ${name}, and ${inTime + late} were answered`, '/pools')];
  });
}

function linkFaults({ links, transfers }: SimulationReport): Fault[] {
  return Object.entries(links ?? {}).flatMap(([name, { mean, busiest }]) => {
    const at = `/links/${name}`;
    const faults = [
      ...shareFaults(busiest, `${at}/busiest`),
      ...rangeFaults(mean, [0, busiest], { at: `${at}/mean`, by: 'the busiest' }),
    ];
    if (faults.length > 0 || transfers !== 'none' || busiest === 0) return faults;
    return [fault(`is ${busiest}, and transfers took no time`, `${at}/busiest`)];
  });
}

/** classFaults compares a class with the pools of its devices. */
function classFaults(
  name: string,
  { classes, pools, cost }: SimulationReport,
  spanS: number | undefined,
): Fault[] {
  const { virtualGpus, gpus, busyGpuS, utilisation, usedGpuS } = classes[
    name
  ] as SimulationReport['classes'][string];
  const at = `/classes/${name}`;
  const own = pools.flatMap(({ others = [], ...pool }) =>
    [pool, ...others].filter((one) => one.class === name),
  );
  const placed = addedUp(own.map((one) => one.virtualGpus));
  const whole = addedUp(own.map((one) => one.virtualGpus / one.virtual));
  const isOne = !isStaged(pools);
  const by = 'the pools';
  return [
    ...rangeFaults(
      virtualGpus,
      [isOne ? placed : largestOf([0, ...own.map((one) => one.virtualGpus)]), placed],
      { at: `${at}/virtualGpus`, by },
    ),
    ...rangeFaults(
      gpus,
      [isOne ? whole : largestOf([0, ...own.map((one) => one.virtualGpus / one.virtual)]), whole],
      { at: `${at}/gpus`, by },
    ),
    ...shareFaults(utilisation, `${at}/utilisation`),
    ...(busyGpuS >= 0 ? [] : [fault(`is ${busyGpuS}, less than 0`, `${at}/busyGpuS`)]),
    ...(usedGpuS === undefined
      ? []
      : usedFaults({ usedGpuS, busyGpuS, gpus }, { at, isFixed: !isScaled(pools), overS: cost?.overS })),
    ...(spanS === undefined || isScaled(pools)
      ? []
      : busyFaults({ name, busyGpuS, utilisation, gpus }, { pools, spanS, at })),
  ];
}

function usedFaults(
  {
    usedGpuS,
    busyGpuS,
    gpus,
  }: { readonly usedGpuS: number; readonly busyGpuS: number; readonly gpus: number },
  {
    at,
    isFixed,
    overS,
  }: { readonly at: string; readonly isFixed: boolean; readonly overS: number | undefined },
): Fault[] {
  if (isFixed && overS !== undefined) return givenFaults(usedGpuS, gpus * overS, `${at}/usedGpuS`);
  if (usedGpuS >= busyGpuS * (1 - 1e-9)) return [];
  return [fault(`is ${usedGpuS}, and ${busyGpuS} GPU seconds were busy`, `${at}/usedGpuS`)];
}

interface Busy {
  readonly name: string;
  readonly busyGpuS: number;
  readonly utilisation: number;
  readonly gpus: number;
}

/** busyFaults compares the busy time of a class whose devices stay with its share of the time, and with that of its pools. */
function busyFaults(
  { name, busyGpuS, utilisation, gpus }: Busy,
  {
    pools,
    spanS,
    at,
  }: { readonly pools: readonly SimulatedPool[]; readonly spanS: number; readonly at: string },
): Fault[] {
  const available = gpus * spanS;
  const faults = givenFaults(
    utilisation,
    available === 0 ? 0 : Math.min(1, busyGpuS / available),
    `${at}/utilisation`,
  );
  const own = pools.filter((pool) => pool.class === name);
  const isMixed = pools.some(
    ({ class: first, others = [] }) =>
      others.length > 0 && [first, ...others.map((one) => one.class)].includes(name),
  );
  if (faults.length > 0 || isMixed) return faults;
  const busy = addedUp(own.map((pool) => (pool.utilisation * pool.virtualGpus * spanS) / pool.virtual));
  return rangeFaults(busyGpuS, [busy, busy], { at: `${at}/busyGpuS`, by: 'the pools' });
}

function costFaults({ cost, classes }: SimulationReport): Fault[] {
  const costs = Object.entries(classes).flatMap(([name, one]) =>
    one.cost === undefined ? [] : [{ name, cost: one.cost, usedGpuS: one.usedGpuS ?? 0 }],
  );
  const faults = costs.flatMap(({ name, cost: paid, usedGpuS }) =>
    paid >= 0 && (usedGpuS > 0 || paid === 0)
      ? []
      : [fault(`is ${paid}, for ${usedGpuS} GPU seconds`, `/classes/${name}/cost`)],
  );
  if (cost === undefined) return faults;
  const { total, perHour, overS } = cost;
  return [
    ...faults,
    ...(overS > 0
      ? givenFaults(perHour, (3600 * total) / overS, '/cost/perHour')
      : [fault(`is ${overS}`, '/cost/overS')]),
    ...givenFaults(total, addedUp(costs.map((one) => one.cost)), '/cost/total'),
  ];
}
