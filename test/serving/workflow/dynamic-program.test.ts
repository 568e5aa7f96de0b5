import { describe, expect, it } from 'vitest';
import { type Stream, streamOf } from '../../../src/random/index.js';
import { DynamicProgram } from '../../../src/serving/workflow/dynamic-program.js';
import { Outlook } from '../../../src/serving/workflow/outlook.js';
import { PlannedWork } from '../../../src/serving/workflow/planned-work.js';
import { Residency } from '../../../src/serving/workflow/residency.js';
import { SoonestDevices } from '../../../src/serving/workflow/soonest-devices.js';
import { Placeable, passTimes } from '../../../src/serving/workflow/table.js';
import {
  type Costs,
  type Devices,
  EXACT,
  type Goal,
  type Input,
  type PlacedTask,
  type Search,
  type ToPlace,
} from '../../../src/serving/workflow/to-place.js';
import { cases, describeInWholeRun, inWholeRun } from '../../cases.js';
import { randomShape, type Shape, workflowTopology } from './workflows.js';

const AT = 1000;
/** Evictions that cost nothing. */
const FREE = { ofNs: () => 0 };

/** Case is some devices that have work, and a request whose tasks are to be placed. */
interface Case {
  readonly outlook: Outlook;
  readonly devices: Devices;
  readonly tasks: readonly ToPlace[];
  readonly residency: Residency;
  readonly work: PlannedWork;
  readonly shape: Shape;
  readonly goal: Goal;
  readonly costs: Costs;
}

function randomCase(seed: number, most: number, moreDevices = 0): Case {
  const stream = streamOf(seed, 'case');
  const drawn = randomShape(stream);
  const more = Array.from(
    { length: moreDevices },
    () => drawn.devices[stream.integer(drawn.devices.length)]!,
  );
  const shape = { ...drawn, devices: [...drawn.devices, ...more], holds: undefined as never };
  shape.holds = shape.devices.map(({ class: own }) =>
    shape.components.flatMap(({ latencyNs }, c) =>
      latencyNs[own] !== undefined && stream.uniform() < 0.4 ? [c] : [],
    ),
  ) as never;
  const { topology, table } = workflowTopology(shape);
  const placeable = new Placeable(topology, table);
  const residency = new Residency(table, placeable);
  const work = new PlannedWork(topology, placeable);
  const canRun = (device: number, component: number, rows: number) =>
    placeable.poolOf(device, component) !== -1 && rows <= work.largest(device, component);
  topology.devices.forEach((_, device) => {
    for (let i = stream.integer(4); i > 0; i--) {
      const component = stream.integer(shape.components.length);
      if (canRun(device, component, 1))
        work.add(device, {
          component,
          rows: 1 + stream.integer(work.largest(device, component)),
          fromNs: AT + stream.integer(200) - 100,
        });
    }
    const loading = stream.integer(shape.components.length);
    if (stream.uniform() < 0.3 && canRun(device, loading, 1) && residency.stateOf(device, loading) === 0) {
      residency.load(AT, device, loading);
      work.copies(device, AT + 1 + stream.integer(300));
    }
  });
  const leastNs = (component: number, rows: number) =>
    Math.min(...shape.components[component]!.latencyNs.flatMap((times) => times?.slice(rows - 1) ?? []));
  const devices: Devices = { count: topology.devices.length, canRun, leastNs, passNs: passTimes(table) };
  const tasks = randomTasks(stream, shape, devices, most);
  const goal = { known: 1 + stream.integer(tasks.length), chance: stream.integer(5) / 4 };
  const eachNs = topology.devices.map(() =>
    shape.components.map(() => (stream.uniform() < 0.5 ? 0 : stream.integer(200))),
  );
  // A load costs what others lose by it, which is drawn here.
  const costs: Costs = {
    ofNs: ({ device, component, view }) =>
      residency.stateOf(device, component) !== 0 || view.loads.some((load) => load.component === component)
        ? 0
        : eachNs[device]![component]!,
  };
  const outlook = new Outlook(work, residency, placeable);
  return { outlook, devices, tasks, residency, work, shape, goal, costs };
}

function randomTasks(stream: Stream, { components }: Shape, devices: Devices, most: number): ToPlace[] {
  const count = 1 + stream.integer(most);
  return Array.from({ length: count }, (_, task) => {
    const inputs: Input[] = [];
    for (let from = 0; from < task; from++)
      if (stream.uniform() < 0.5) inputs.push({ bytes: 100 * stream.integer(3), from });
    if (inputs.length === 0 || stream.uniform() < 0.3)
      inputs.push({
        bytes: stream.integer(300),
        from: Array.from({ length: 1 + stream.integer(3) }, () => ({
          device: stream.integer(devices.count + 1) - 1,
          atNs: AT + stream.integer(100),
        })),
      });
    const component = stream.integer(components.length);
    const most = Math.max(...components[component]!.latencyNs.map((times) => times?.length ?? 0));
    return { component, rows: 1 + (stream.uniform() < 0.4 ? stream.integer(most) : 0), inputs };
  });
}

interface PlainDevice {
  free: number;
  idle: readonly [number, number] | undefined;
  copied: number;
  batches: { component: number; start: number; rows: number }[];
  loads: Map<number, number>;
}

/**
 * plainBest tries all orders, all devices and all ways in which they take a task, one after the other, and gives the
 * least that the ends of the known tasks and of all come to, and what it costs others.
 */
function plainBest({ outlook, devices, tasks, residency, work, shape, goal, costs }: Case): number {
  const at = shape.devices.map((_, d): PlainDevice => {
    const view = outlook.viewOf(AT, d);
    return {
      free: view.freeNs,
      copied: view.copiedNs,
      batches: view.open.map((one) => ({ ...one, start: one.startNs })),
      idle: view.idleToNs > view.idleFromNs ? [view.idleFromNs, view.idleToNs] : undefined,
      loads: new Map(view.loads.map(({ component, atNs }) => [component, atNs])),
    };
  });
  const ends: (number | undefined)[] = tasks.map(() => undefined);
  const where: number[] = tasks.map(() => -1);
  const timeOf = (d: number, component: number, rows: number) =>
    shape.components[component]!.latencyNs[shape.devices[d]!.class]![rows - 1]!;

  const there = (d: number, component: number): { time: number; device: PlainDevice } => {
    const device = at[d]!;
    const known = device.loads.get(component);
    if (known !== undefined) return { time: known, device };
    if (residency.stateOf(d, component) === 2) return { time: 0, device };
    const bytes = (c: number) => shape.components[c]!.bytes;
    let free = residency.free(d);
    for (const c of device.loads.keys()) if (residency.stateOf(d, c) === 0) free -= bytes(c);
    shape.components.forEach((_, c) => {
      const isNeeded = work.planned(d).some((batch) => batch.component === c);
      if (residency.stateOf(d, c) === 2 && !isNeeded) free += bytes(c);
    });
    const from = Math.max(AT, device.copied, free >= bytes(component) ? 0 : device.free);
    const time = from + residency.loadNs(d, component);
    return {
      time,
      device: { ...device, copied: time, loads: new Map([...device.loads, [component, time]]) },
    };
  };
  const ways = (
    d: number,
    component: number,
    rows: number,
    ready: number,
  ): { end: number; device: PlainDevice }[] => {
    const { time, device } = there(d, component);
    const others = device.batches.filter((batch) => batch.component !== component);
    const open = device.batches.find((batch) => batch.component === component);
    const found: { end: number; device: PlainDevice }[] = [];
    if (open !== undefined && ready <= open.start && open.rows + rows <= work.largest(d, component)) {
      const more = timeOf(d, component, open.rows + rows) - timeOf(d, component, open.rows);
      const batches = [...others, { ...open, rows: open.rows + rows }];
      found.push({
        end: open.start + timeOf(d, component, open.rows + rows),
        device: { ...device, batches, free: device.free + more },
      });
    }
    const earliest = Math.max(ready, time);
    const alone = (start: number) => [...others, { component, start, rows }];
    if (device.idle !== undefined) {
      const start = Math.max(device.idle[0], earliest);
      const end = start + timeOf(d, component, rows);
      if (start < device.idle[1]) {
        const idle = end < device.idle[1] ? ([end, device.idle[1]] as const) : undefined;
        const free = device.free + Math.max(0, end - device.idle[1]);
        found.push({ end, device: { ...device, idle, free, batches: alone(start) } });
      }
    }
    const start = Math.max(device.free, earliest);
    const end = start + timeOf(d, component, rows);
    found.push({ end, device: { ...device, free: end, batches: alone(start) } });
    return found;
  };

  const probe = { at: AT, rows: 1, readyNs: AT, view: outlook.viewOf(AT, 0) };
  const loadsOf = ({ loads }: PlainDevice) => [...loads].map(([component, atNs]) => ({ component, atNs }));
  let best = Number.POSITIVE_INFINITY;
  const go = (left: number, [latest, known, cost]: readonly [number, number, number]) => {
    const value = goal.chance * latest + (1 - goal.chance) * known + cost;
    if (value >= best) return;
    if (left === 0) {
      best = value;
      return;
    }
    tasks.forEach(({ component, rows, inputs }, task) => {
      if (ends[task] !== undefined) return;
      if (inputs.some(({ from }) => typeof from === 'number' && ends[from] === undefined)) return;
      for (let d = 0; d < devices.count; d++) {
        if (!devices.canRun(d, component, rows)) continue;
        const ready = Math.max(
          AT,
          ...inputs.map(({ bytes, from }) =>
            typeof from === 'number'
              ? ends[from]! + devices.passNs(bytes, where[from]!, d)
              : Math.min(...from.map((one) => one.atNs + devices.passNs(bytes, one.device, d))),
          ),
        );
        for (const { end, device } of ways(d, component, rows, ready)) {
          const before = at[d]!;
          at[d] = device;
          ends[task] = end;
          where[task] = d;
          const isKnown = task < goal.known;
          const ofLoad = costs.ofNs({
            ...probe,
            device: d,
            component,
            view: { ...probe.view, loads: loadsOf(before) },
          });
          go(left - 1, [
            Math.max(latest, end),
            isKnown ? Math.max(known, end) : known,
            cost + ofLoad * (isKnown ? 1 : goal.chance),
          ]);
          at[d] = before;
          ends[task] = undefined;
        }
      }
    });
  };
  go(tasks.length, [0, 0, 0]);
  return best;
}

/** comesTo is what the devices that a search finds come to: the ends of the known tasks and of all, and what loads cost others. */
function comesTo({ outlook, devices, tasks, goal, costs }: Case, search: Search): number {
  const placements = new DynamicProgram({ outlook, devices, search, costs }).place(AT, tasks, goal);
  expect(placements.map(({ task }) => task).sort()).toEqual(tasks.map((_, i) => i));
  const lastOf = (some: readonly PlacedTask[]) => Math.max(...some.map(({ endNs }) => endNs));
  const paid = new Set<string>();
  let costNs = 0;
  for (const { task, device } of placements) {
    const { component } = tasks[task]!;
    if (paid.has(`${device} ${component}`)) continue;
    paid.add(`${device} ${component}`);
    const view = outlook.viewOf(AT, device);
    const ofLoad = costs.ofNs({ at: AT, device, view, component, rows: 1, readyNs: AT });
    costNs += ofLoad * (task < goal.known ? 1 : goal.chance);
  }
  const known = placements.filter(({ task }) => task < goal.known);
  return goal.chance * lastOf(placements) + (1 - goal.chance) * lastOf(known) + costNs;
}

describe('DynamicProgram', () => {
  inWholeRun(
    'comes to no more than the best of all orders, devices and ways, on 2,000 random requests',
    () => {
      for (let seed = 0; seed < 2000; seed++) {
        const one = randomCase(seed, 4);
        const lost = comesTo(one, EXACT) - plainBest(one);
        expect({ seed, isBest: Math.abs(lost) < 1e-6 }).toEqual({ seed, isBest: true });
      }
    },
  );

  it('loses little by trying eight devices, keeping 64 or 32 schedules, and the way that ends first', () => {
    const count = cases(100, 300);
    const beams = [64, 32];
    const losses = beams.map(() => 0);
    for (let seed = 0; seed < count; seed++) {
      const one = randomCase(seed, 5, 10);
      const least = comesTo(one, EXACT);
      for (const [i, beam] of beams.entries()) {
        const found = comesTo(one, { candidates: 8, beam, isExact: false });
        expect(found).toBeGreaterThanOrEqual(least - 1e-6);
        losses[i]! += (found - least) / (least - AT) / count;
      }
    }
    for (const loss of losses) expect(loss).toBeLessThan(0.01);
  });

  it('gives no placement where no device runs a component', () => {
    const one = randomCase(1, 3);
    const devices = { ...one.devices, canRun: () => false };
    expect(
      new DynamicProgram({ outlook: one.outlook, devices, search: EXACT, costs: FREE }).place(AT, one.tasks),
    ).toEqual([]);
  });
});

describeInWholeRun('SoonestDevices', () => {
  it('finds the devices that would end a task first, as one that asks each of them', () => {
    for (let seed = 0; seed < cases(300, 2000); seed++) {
      const { outlook, devices, shape } = randomCase(seed, 1, 12);
      const stream = streamOf(seed, 'sought');
      const component = stream.integer(shape.components.length);
      const leastReadyNs = AT + stream.integer(400);
      const late = shape.devices.map(() => leastReadyNs + stream.integer(50));
      const readyNs = (device: number) => late[device]!;
      const ends = shape.devices.flatMap((_, device) => {
        if (!devices.canRun(device, component, 1)) return [];
        const view = outlook.viewOf(AT, device);
        const at = { at: AT, device, view, component, rows: 1, readyNs: readyNs(device) };
        return [{ device, endNs: Math.min(...outlook.ends(at)) }];
      });
      const search = { candidates: 3, beam: 1, isExact: false };
      const fresh = randomCase(seed, 1, 12);
      const found = new SoonestDevices({ ...fresh, search, costs: FREE }).find({
        at: AT,
        component,
        rows: 1,
        leastReadyNs,
        readyNs,
        components: [component],
      });
      const first = ends.map(({ endNs }) => endNs).sort((a, b) => a - b);
      expect({ seed, endNs: found.endNs }).toEqual({ seed, endNs: first[0] });
      const endOf = new Map(ends.map(({ device, endNs }) => [device, endNs]));
      expect({ seed, ends: found.devices.map((device) => endOf.get(device)) }).toEqual({
        seed,
        ends: first.slice(0, 3),
      });
    }
  });
});
