import type { Cascade } from './cascade.js';
import { type FamilyModel, leastWorkNs } from './problem.js';

/** Up to this many placements are looked at one by one. */
const MOST_PLACEMENTS = 20_000;
/** All placements of two sets may have this many devices together, so that they fit into memory. */
const MOST_PAIRED_DEVICES = 1e6;

/**
 * ModelPlacement says which models each device holds: a bit for each model, device by device. Devices are alike, so that they
 * stand in the order of their sets.
 */
export type ModelPlacement = readonly number[];

/** modelLoads is the time that each model of a cascade needs per second of a load, in devices, with its best batch. */
export function modelLoads(family: readonly FamilyModel[], cascade: Cascade, rps: number): Float64Array {
  const load = new Float64Array(family.length);
  cascade.models.forEach((model, step) => {
    const workS = leastWorkNs(family[model] as FamilyModel) / 1e9;
    load[model] = rps * (cascade.visits[step] as number) * workS;
  });
  return load;
}

/**
 * Demands are the work of every set of models that loads have, load by load, so that many placements are judged by them
 * without adding it up again: those of load i are from `starts[i]` to before `starts[i + 1]`.
 */
export interface Demands {
  readonly starts: Int32Array;
  readonly sets: Int32Array;
  readonly works: Float64Array;
}

/** setDemands adds up the work of the sets of models of each load. */
export function setDemands(loads: readonly Float64Array[]): Demands {
  const starts = new Int32Array(loads.length + 1);
  const usedBy = loads.map((load) =>
    load.reduce((set, work, model) => (work > 0 ? set | (1 << model) : set), 0),
  );
  usedBy.forEach((used, i) => {
    let sets = 0;
    for (let set = used; set > 0; set = (set - 1) & used) sets += 1;
    starts[i + 1] = (starts[i] as number) + sets;
  });
  const sets = new Int32Array(starts[loads.length] as number);
  const works = new Float64Array(sets.length);
  let at = 0;
  for (const [i, used] of usedBy.entries()) {
    const load = loads[i] as Float64Array;
    for (let set = used; set > 0; set = (set - 1) & used) {
      for (let model = 0; model < load.length; model++)
        if ((set & (1 << model)) !== 0) works[at]! += load[model] as number;
      sets[at++] = set;
    }
  }
  return { starts, sets, works };
}

/** Utilization is how busy the busiest device is when loads are shared best, and which models make it so. */
export interface Utilization {
  readonly share: number;
  /** The model that needs most of the time of the busiest devices. */
  readonly bottleneck: number;
}

/**
 * Balance answers CascadeServe's load-balancing LP (Eqs. 1–3) for a placement without an LP. Work can be shared freely
 * among the devices that hold its model, so that by max-flow and min-cut the least utilization is the largest, over sets
 * of models, of their work over the devices which hold any of them. A question takes time by the sets of models in use.
 */
export class Balance {
  /** The devices that hold any model of a set, by the set's bits. */
  private readonly reach: Int32Array;

  constructor(
    placement: ModelPlacement,
    private readonly count: number,
  ) {
    this.reach = new Int32Array(1 << count);
    for (const held of placement)
      for (let set = 1; set < this.reach.length; set++) if ((held & set) !== 0) this.reach[set]! += 1;
  }

  /** changed is the balance once a device that held the models `before` holds those of `after`. */
  changed(before: number, after: number): Balance {
    const balance = new Balance([], this.count);
    for (let set = 1; set < this.reach.length; set++) {
      const more = Number((after & set) !== 0) - Number((before & set) !== 0);
      balance.reach[set] = (this.reach[set] as number) + more;
    }
    return balance;
  }

  /** devicesWith counts the devices that hold a model. */
  devicesWith(model: number): number {
    return this.reach[1 << model] as number;
  }

  /** shares is how busy each load makes the busiest device. */
  shares({ starts, sets, works }: Demands): Float64Array {
    const shares = new Float64Array(starts.length - 1);
    for (let i = 0; i < shares.length; i++) {
      let share = 0;
      for (let at = starts[i] as number; at < (starts[i + 1] as number); at++) {
        const need = (works[at] as number) / (this.reach[sets[at] as number] as number);
        if (need > share) share = need;
      }
      shares[i] = share;
    }
    return shares;
  }

  utilization(load: Float64Array): Utilization {
    let used = 0;
    for (let model = 0; model < this.count; model++) if ((load[model] as number) > 0) used |= 1 << model;
    let share = 0;
    let worst = used;
    // This lists the sets that are made of models in use, the smallest numbers last.
    for (let set = used; set > 0; set = (set - 1) & used) {
      let work = 0;
      for (let model = 0; model < this.count; model++)
        if ((set & (1 << model)) !== 0) work += load[model] as number;
      const need = work / (this.reach[set] as number);
      if (need < share) continue;
      share = need;
      worst = set;
    }
    let bottleneck = -1;
    for (let model = 0; model < this.count; model++) {
      if ((worst & (1 << model)) === 0) continue;
      if (bottleneck === -1 || (load[model] as number) > (load[bottleneck] as number)) bottleneck = model;
    }
    return { share, bottleneck };
  }
}

/** fullPlacement has every model on every device, whether it fits or not. */
export function fullPlacement(models: number, devices: number): ModelPlacement {
  return new Array<number>(devices).fill((1 << models) - 1);
}

function memoryOf(family: readonly FamilyModel[], held: number): number {
  return family.reduce((sum, { memoryBytes }, model) => ((held >> model) & 1 ? sum + memoryBytes : sum), 0);
}

/** fitsDevice says whether a device has the memory for a set of models. */
export function fitsDevice(family: readonly FamilyModel[], held: number, memoryBytes: number): boolean {
  return memoryOf(family, held) <= memoryBytes;
}

/** maximalSets lists the sets of models that fit a device and to which none can be added. */
export function maximalSets(family: readonly FamilyModel[], memoryBytes: number): number[] {
  const all = Array.from({ length: 1 << family.length }, (_, held) => held);
  const fitting = all.filter((held) => fitsDevice(family, held, memoryBytes));
  return fitting.filter((held) => fitting.every((other) => other === held || (other & held) !== held));
}

/**
 * placementsOf lists every placement of maximal sets. No other placement serves better, because a model more on a device
 * takes nothing away.
 * @returns undefined where there are more than 20,000
 */
export function placementsOf(
  family: readonly FamilyModel[],
  { devices, memoryBytes }: { readonly devices: number; readonly memoryBytes: number },
): ModelPlacement[] | undefined {
  const sets = maximalSets(family, memoryBytes);
  const placements: ModelPlacement[] = [];
  const extend = (placed: readonly number[], from: number): boolean => {
    if (placed.length === devices) return placements.push(placed) <= MOST_PLACEMENTS;
    for (let set = from; set < sets.length; set++)
      if (!extend([...placed, sets[set] as number], set)) return false;
    return true;
  };
  return extend([], 0) ? placements : undefined;
}

/** pairedPlacements lists placements of at most two different largest sets of models: some of them where they are many. */
export function pairedPlacements(
  family: readonly FamilyModel[],
  { devices, memoryBytes }: { readonly devices: number; readonly memoryBytes: number },
): ModelPlacement[] {
  const sets = maximalSets(family, memoryBytes);
  const placements = sets.map((held) => new Array<number>(devices).fill(held));
  const pairs = (sets.length * (sets.length - 1)) / 2;
  const step = Math.ceil((pairs * devices * devices) / MOST_PAIRED_DEVICES);
  for (const [i, one] of sets.entries())
    for (const other of sets.slice(i + 1))
      for (let count = step; count < devices; count += step)
        placements.push(Array.from({ length: devices }, (_, device) => (device < count ? one : other)));
  return placements;
}

/** PruneProblem is what models are to be placed for. */
export interface PruneProblem {
  readonly models: readonly FamilyModel[];
  readonly devices: number;
  readonly memoryBytes: number;
  /** The load of each range, by model. */
  readonly loads: readonly Float64Array[];
  /** How many devices must hold each model. */
  readonly atLeast: readonly number[];
}

/** PlacementError names the range and the model that no placement serves. */
export interface PlacementError {
  readonly range: number;
  readonly model: number;
}

/**
 * prunedPlacement places every model on every device, and takes models away until each device has the memory for what it
 * holds (CascadeServe §4.4): at each step the one of the highest utility, which is the excess of memory that it frees
 * over the utilization that is left (Eq. 4, repaired: as printed, it favours what frees least). A model stays where a
 * range could not be served without it.
 */
export function prunedPlacement(problem: PruneProblem): ModelPlacement | { readonly error: PlacementError } {
  const { models, devices, loads } = problem;
  const full = fullPlacement(models.length, devices);
  let balance = new Balance(full, models.length);
  const placed = new AlikeDevices(full);
  for (;;) {
    const pruned = prune(problem, placed.sets(), balance);
    if (pruned === undefined) break;
    if ('error' in pruned) return pruned;
    const { held, left } = pruned;
    placed.move(held, left);
    balance = balance.changed(held, left);
  }
  for (const [range, load] of loads.entries()) {
    const { share, bottleneck } = balance.utilization(load);
    if (share > 1) return { error: { range, model: bottleneck } };
  }
  return placed.placement();
}

/** AlikeDevices keeps devices by the set of models that they hold. Of those that hold one set, the first stands for all. */
class AlikeDevices {
  /** The devices that hold a set, the last first. */
  private readonly bySet = new Map<number, number[]>();

  constructor(placement: ModelPlacement) {
    for (let device = placement.length - 1; device >= 0; device--)
      this.holding(placement[device] as number).push(device);
  }

  /** sets lists the sets that are held, in the order of the first devices that hold them. */
  sets(): number[] {
    return [...this.bySet]
      .map(([held, devices]) => ({ held, first: devices.at(-1) as number }))
      .sort((a, b) => a.first - b.first)
      .map(({ held }) => held);
  }

  /** move leaves the first device of a set with another set. */
  move(held: number, left: number): void {
    const devices = this.holding(held);
    const device = devices.pop() as number;
    if (devices.length === 0) this.bySet.delete(held);
    const others = this.holding(left);
    let [low, high] = [0, others.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((others[middle] as number) > device) low = middle + 1;
      else high = middle;
    }
    others.splice(low, 0, device);
  }

  placement(): ModelPlacement {
    return [...this.bySet].flatMap(([held, devices]) => devices.map(() => held)).sort((a, b) => a - b);
  }

  private holding(held: number): number[] {
    const known = this.bySet.get(held);
    if (known !== undefined) return known;
    const devices: number[] = [];
    this.bySet.set(held, devices);
    return devices;
  }
}

/** Pruned is a set of models that a device holds, with what it is left with. */
interface Pruned {
  readonly held: number;
  readonly left: number;
}

/**
 * prune finds the model of the highest utility to take away. It takes time by the pairs of sets of models.
 * @param sets the sets that devices hold; of two that are equally good, the first is taken
 * @returns undefined where every device has the memory for what it holds
 */
function prune(
  problem: PruneProblem,
  sets: readonly number[],
  balance: Balance,
): Pruned | { readonly error: PlacementError } | undefined {
  const { models, memoryBytes } = problem;
  let best: Pruned | undefined;
  let most = 0;
  let worst: PlacementError | undefined;
  let isOver = false;
  for (const held of sets) {
    const over = memoryOf(models, held) - memoryBytes;
    if (over <= 0) continue;
    isOver = true;
    for (let model = 0; model < models.length; model++) {
      if (((held >> model) & 1) === 0) continue;
      const left = held & ~(1 << model);
      const busiest = busiestOf(problem, { balance: balance.changed(held, left), model });
      if ('error' in busiest) {
        worst ??= busiest.error;
        continue;
      }
      const freed = Math.min(over, (models[model] as FamilyModel).memoryBytes);
      const utility = freed / Math.max(busiest.share, Number.MIN_VALUE);
      if (utility <= most) continue;
      most = utility;
      best = { held, left };
    }
  }
  if (!isOver) return undefined;
  return best ?? { error: worst ?? { range: 0, model: 0 } };
}

/** busiestOf is the utilization of the ranges that use a model, which a device has just lost. */
function busiestOf(
  { loads, atLeast }: PruneProblem,
  { balance, model }: { readonly balance: Balance; readonly model: number },
): { readonly share: number } | { readonly error: PlacementError } {
  let busiest = 0;
  const users = loads.flatMap((load, range) => ((load[model] as number) > 0 ? [range] : []));
  if (users.length > 0 && balance.devicesWith(model) < Math.max(1, atLeast[model] ?? 0))
    return { error: { range: users.at(-1) as number, model } };
  for (const range of users) {
    const { share, bottleneck } = balance.utilization(loads[range] as Float64Array);
    if (share > 1) return { error: { range, model: bottleneck } };
    busiest = Math.max(busiest, share);
  }
  return { share: busiest };
}

/** tooLarge names the models that do not fit on a device by themselves. */
export function tooLarge({
  models,
  memoryBytes,
}: {
  readonly models: readonly FamilyModel[];
  readonly memoryBytes: number;
}): string[] {
  const sets = maximalSets(models, memoryBytes);
  return models.flatMap(({ name }, model) => (sets.some((held) => (held >> model) & 1) ? [] : [name]));
}
