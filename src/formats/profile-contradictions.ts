import { profiledClasses } from './aliases.js';
import { type Fault, fault, firstFaults, InputError } from './errors.js';
import { cellName, type DeviceProfile, layersBeforeBlocks, type Profile } from './profile.js';
import { unfitFigures } from './unfit-figures.js';
import { summedUs } from './whole-latency.js';

/**
 * The least that a batch takes of what a smaller one took. Of published profiles none is below 0.51, and of those that
 * this program measured only figures that it called unfit.
 */
const LEAST_OF_SMALLER_BATCH = 1 / 4;
/** The least that a share of a GPU takes of what a larger share took. */
const LEAST_OF_LARGER_SHARE = 1 / 4;
/** Nothing takes less than some cycles of a clock. */
const LEAST_US = 0.001;
/** The least that blocks take in one piece of what they take apart. */
const LEAST_OF_PARTS = 1 / 10;
/**
 * Where latencies include sending a batch to its executor and back, each block may take so much for that on a busy machine,
 * which blocks in one piece take once.
 */
const MOST_SENDING_US = 2000;
/** The most by which a machine that is busy with other work may stall figures that this program measured on it. */
const MOST_STALL_US = 50_000;
/** No stall makes a figure this many times another, except for the first millisecond, without being called unfit. */
const MOST_STALLED = 200;
const ANY_STALL_US = 1000;

/**
 * profileContradictions says which latencies of a profile cannot be true together: one of zero, a 95th percentile below
 * its median, blocks in one piece (the whole model, a pair or a timed span) that take under a tenth of what they take
 * apart, a block whose layers take under a tenth of it, a batch that takes under a quarter of what a smaller one took, and a
 * share of a GPU that takes under a quarter of what a larger share took. Ratios are not looked at where the profile
 * itself calls figures of the cell unfit: plans made of it tell of those. Nor do they hold against a stall of the machine
 * that the profile was measured on, which takes many times what a small model takes, up to two hundred times its time.
 *
 * A layer may have taken zero, and so may a block of such layers, since tools count whole microseconds.
 */
function* profileContradictions(profile: Profile): Generator<Fault> {
  const unfit = new Set(
    unfitFigures(profile).map(({ class: className, virtual, batch }) =>
      cellName({ className, virtual, batch }),
    ),
  );
  for (const [className, device] of Object.entries(profile.devices)) {
    const largerShares: MostSoFar = new Map();
    for (const virtual of keysOf(device.blockLatencyUs, device.wholeLatencyUs)) {
      const isUnfit = (batch: number): boolean => unfit.has(cellName({ className, virtual, batch }));
      const cells = new VirtualCells(profile, { className, virtual, isUnfit });
      yield* cells.blockFaults();
      yield* cells.pieceFaults();
      yield* cells.dipFaults();
      yield* cells.shareFaults(largerShares);
    }
  }
}

/** readProfileFaults gives the first contradictions of a profile, or that a complete one holds no latency. */
export function readProfileFaults(profile: Profile): Fault[] {
  const contradictions = firstFaults(profileContradictions(profile));
  const isBegun = profile.measurement?.complete === false;
  return isBegun ? contradictions : firstFaults([...unmeasuredFaults(profile), ...contradictions]);
}

/** contradictionNotes tells a person that no command will read a profile again that was just measured. */
export function contradictionNotes(profile: Profile): string[] {
  return firstFaults(profileContradictions(profile)).map(
    ({ path, message }) =>
      `no plan can be made of this profile, since it contradicts itself: ${path} ${message}`,
  );
}

/**
 * refuseContradictions refuses to write a profile that no command would read again.
 * @throws InputError with its first contradictions
 */
export function refuseContradictions(profile: Profile, task: string): void {
  const faults = firstFaults(profileContradictions(profile));
  if (faults.length > 0) throw new InputError(task, faults);
}

/**
 * unmeasuredFaults refuses a profile in which no latency was measured, on any class. Of one that was interrupted it says
 * how to go on.
 */
export function unmeasuredFaults({ devices, measurement }: Profile): Fault[] {
  if (Object.values(devices).some(isMeasured)) return [];
  const advice =
    measurement?.complete === false ? 'go on with plan profile --resume' : 'profile the model on a device';
  return [fault(`hold no latency of any block or layer, nor of the whole model; ${advice}`, '/devices')];
}

function isMeasured(device: DeviceProfile): boolean {
  const { blockLatencyUs, layerLatencyUs = {}, wholeLatencyUs = {} } = device;
  const tables = [blockLatencyUs, layerLatencyUs, wholeLatencyUs].flatMap((table) => Object.values(table));
  return tables.some((byBatch) =>
    Object.values(byBatch).some((cell) => [cell].flat().some((us) => us !== null)),
  );
}

/**
 * dipNotes tells a person where a larger batch of a profile takes less time than the next smaller one, as figures that
 * are measured apart may: one note, with the number of such steps and the deepest.
 */
export function dipNotes(profile: Profile): string[] {
  let steps = 0;
  let falls = 0;
  let worst: { at: string; from: number; to: number } | undefined;
  // An alias has the steps of its class.
  for (const className of profiledClasses(profile)) {
    const { blockLatencyUs, wholeLatencyUs } = profile.devices[className] as DeviceProfile;
    for (const [virtual, byBatch] of Object.entries(blockLatencyUs)) {
      const batches = keysOf(byBatch);
      const rows = batches.map((batch) => [
        ...(byBatch[batch] ?? []),
        wholeLatencyUs?.[virtual]?.[batch] ?? null,
      ]);
      for (const [k, row] of rows.slice(1).entries()) {
        const before = rows[k] as (number | null)[];
        let fell = false;
        for (const [i, us] of row.entries()) {
          const from = before[i] ?? null;
          if (us === null || from === null || us >= from) continue;
          fell = true;
          if (worst !== undefined && us / from >= worst.to / worst.from) continue;
          const figure = row.length === 2 || i === row.length - 1 ? '' : `, block ${i}`;
          const at = `${className} 1/${virtual}${figure}, from batch ${batches[k]} to ${batches[k + 1]}`;
          worst = { at, from, to: us };
        }
        steps += 1;
        if (fell) falls += 1;
      }
    }
  }
  if (worst === undefined) return [];
  const { at, from, to } = worst;
  return [
    `${profile.model.name}: a larger batch takes less time than the next smaller one at ${falls} of ${steps} steps of its profile, most on ${at}: ${to} µs after ${from} µs`,
  ];
}

/** Row holds figures of one kind at one batch; null is what was not measured. */
interface Row {
  readonly name: string;
  readonly us: readonly (number | null)[];
  readonly place: (i: number) => string;
}

/** MostSoFar holds the most that the figures of each row took, and the share or batch at which they did. */
type MostSoFar = Map<string, { readonly us: number[]; readonly at: number[] }>;

/** The figures of a class at one virtual size, by batch. */
class VirtualCells {
  private readonly at: string;
  private readonly virtual: number;
  private readonly device: DeviceProfile;
  private readonly batches: readonly number[];
  private readonly layersBefore: readonly number[];
  /** The block that begins at a layer. */
  private readonly blockFrom: ReadonlyMap<number, number>;
  private readonly isUnfit: (batch: number) => boolean;
  private readonly stallUs: number;

  constructor(
    { devices, blocks, measurement }: Profile,
    of: {
      readonly className: string;
      readonly virtual: number;
      readonly isUnfit: (batch: number) => boolean;
    },
  ) {
    this.at = `/devices/${of.className}`;
    this.virtual = of.virtual;
    this.device = devices[of.className] as DeviceProfile;
    const { blockLatencyUs, wholeLatencyUs } = this.device;
    this.batches = keysOf(blockLatencyUs[of.virtual], wholeLatencyUs?.[of.virtual]);
    this.layersBefore = layersBeforeBlocks(blocks);
    this.blockFrom = new Map(this.layersBefore.map((layer, block) => [layer, block]));
    this.isUnfit = of.isUnfit;
    this.stallUs = measurement?.host === undefined ? 0 : MOST_STALL_US;
  }

  /** blockFaults finds blocks and pairs that take no time, and percentiles below medians. */
  *blockFaults(): Generator<Fault> {
    for (const batch of this.batches) {
      const row = this.row('blockLatencyUs', batch);
      const place = (table: string, i?: number) => this.place(table, batch, i);
      for (const [i, us] of row.entries())
        if (us === 0 && !this.isUntimed(i, batch)) yield fault(ZERO, place('blockLatencyUs', i));
      const layers: Row = {
        name: 'layerLatencyUs',
        us: this.row('layerLatencyUs', batch),
        place: (i) => place('layerLatencyUs', i),
      };
      for (const { us: all, place: placeOf } of [...this.rows(batch), layers])
        for (const [i, us] of all.entries())
          if (us !== null && us > 0 && us < LEAST_US) yield fault(tooShort(us), placeOf(i));
      if (row.length > 0 && row.every((us) => us === 0)) yield fault(ZERO_WHOLE, place('blockLatencyUs'));
      for (const [i, us] of this.row('pairLatencyUs', batch).entries())
        if (us === 0) yield fault(ZERO, place('pairLatencyUs', i));
      for (const [i, us] of this.row('blockLatencyP95Us', batch).entries()) {
        const median = row[i];
        if (us === null || median === null || median === undefined || us >= median) continue;
        yield fault(
          `is ${us} µs, below the median of ${median} µs: measure the block again`,
          place('blockLatencyP95Us', i),
        );
      }
    }
  }

  /** pieceFaults finds blocks that take far less in one piece than apart. */
  *pieceFaults(): Generator<Fault> {
    for (const batch of this.batches) {
      if (this.isUnfit(batch)) continue;
      const row = this.row('blockLatencyUs', batch);
      yield* this.pieceFault(this.wholeUs(batch), row, this.place('wholeLatencyUs', batch));
      for (const [i, us] of this.row('pairLatencyUs', batch).entries())
        yield* this.pieceFault(us, row.slice(i, i + 2), this.place('pairLatencyUs', batch, i));
      if (this.row('layerLatencyUs', batch).length > 0)
        for (const [i, us] of row.entries()) yield* this.layerFault(i, us, batch);
      const spans = this.device.spanLatencyUs?.[this.virtual]?.[batch] ?? [];
      for (const [i, { layers, us }] of spans.entries()) {
        const [from, to] = layers.map((layer) => this.blockFrom.get(layer));
        if (from !== undefined && to !== undefined && to > from)
          yield* this.pieceFault(us, row.slice(from, to), this.place('spanLatencyUs', batch, i));
      }
    }
  }

  private *pieceFault(
    us: number | null | undefined,
    parts: readonly (number | null)[],
    place: string,
  ): Generator<Fault> {
    const sum = summedUs(parts);
    if (us === null || us === undefined || sum === undefined) return;
    const sendingUs = this.device.wholeExecutionUs === undefined ? 0 : MOST_SENDING_US * parts.length;
    if (!this.isFarBelow(us, sum - sendingUs, LEAST_OF_PARTS)) return;
    yield fault(
      `is ${us} µs in one piece, under a tenth of the ${sum} µs that its blocks take apart: measure both again`,
      place,
    );
  }

  /** layerFault finds a block whose layers, each timed, take far less than it. */
  private *layerFault(block: number, us: number | null, batch: number): Generator<Fault> {
    const layers = this.layersOf(block, batch);
    const sum = summedUs(layers);
    if (us === null || sum === undefined || layers.length === 0) return;
    const sendingUs = this.device.wholeExecutionUs === undefined ? 0 : MOST_SENDING_US;
    if (sum >= LEAST_OF_PARTS * (us - sendingUs - this.stallUs)) return;
    yield fault(
      `is ${us} µs, and its layers take ${sum} µs, under a tenth of it: measure both again`,
      this.place('blockLatencyUs', batch, block),
    );
  }

  /**
   * shareFaults finds shares of a GPU that take far less time than a larger share.
   * @param larger the figures of larger shares, to which these are added
   */
  *shareFaults(larger: MostSoFar): Generator<Fault> {
    for (const batch of this.batches) {
      const falls = this.falls(batch, larger, {
        named: (row) => `${row} of ${batch}`,
        at: this.virtual,
        least: LEAST_OF_LARGER_SHARE,
      });
      for (const { us, before, place } of falls)
        yield fault(
          `is ${us} µs on 1/${this.virtual} of a GPU, under a quarter of the ${before.us} µs on 1/${before.at}: measure both again`,
          place,
        );
    }
  }

  /** dipFaults finds batches that take far less time than a smaller one. */
  *dipFaults(): Generator<Fault> {
    const smaller: MostSoFar = new Map();
    for (const batch of this.batches)
      for (const { us, before, place } of this.falls(batch, smaller, {
        named: (row) => row,
        at: batch,
        least: LEAST_OF_SMALLER_BATCH,
      }))
        yield fault(
          `is ${us} µs at batch ${batch}, under a quarter of the ${before.us} µs at batch ${before.at}: measure both again`,
          place,
        );
  }

  /** falls finds the figures of a batch that are less than a share of the most before them, and adds them to these. */
  private *falls(
    batch: number,
    mostSoFar: MostSoFar,
    of: { readonly named: (row: string) => string; readonly at: number; readonly least: number },
  ): Generator<{ us: number; before: { us: number; at: number }; place: string }> {
    if (this.isUnfit(batch)) return;
    for (const row of this.rows(batch)) {
      const name = of.named(row.name);
      const most = mostSoFar.get(name) ?? { us: [], at: [] };
      mostSoFar.set(name, most);
      for (let i = 0; i < row.us.length; i++) {
        const us = row.us[i] ?? null;
        if (us === null) continue;
        const beforeUs = most.us[i];
        if (beforeUs !== undefined && this.isFarBelow(us, beforeUs, of.least))
          yield { us, before: { us: beforeUs, at: most.at[i] as number }, place: row.place(i) };
        if (beforeUs !== undefined && us <= beforeUs) continue;
        most.us[i] = us;
        most.at[i] = of.at;
      }
    }
  }

  /** isFarBelow says whether a figure is under a share of another even if a stall of the machine made that one larger. */
  private isFarBelow(us: number, otherUs: number, share: number): boolean {
    return us < share * (otherUs - this.stallUs) || MOST_STALLED * us < otherUs - ANY_STALL_US;
  }

  /** rows gives the figures of a batch: those of blocks and pairs, the whole model's and those of spans. */
  private rows(batch: number): Row[] {
    const tables = ['blockLatencyUs', 'blockLatencyP95Us', 'pairLatencyUs'] as const;
    const rows: Row[] = tables.map((table) => ({
      name: table,
      us: this.row(table, batch),
      place: (i) => this.place(table, batch, i),
    }));
    const whole = this.wholeUs(batch);
    if (whole !== undefined)
      rows.push({ name: 'whole', us: [whole], place: () => this.place('wholeLatencyUs', batch) });
    for (const [i, { layers, us }] of (this.device.spanLatencyUs?.[this.virtual]?.[batch] ?? []).entries())
      rows.push({ name: layers.join('–'), us: [us], place: () => this.place('spanLatencyUs', batch, i) });
    return rows;
  }

  /** isUntimed says whether all layers of a block took zero. */
  private isUntimed(block: number, batch: number): boolean {
    const layers = this.layersOf(block, batch);
    return layers.length > 0 && layers.every((us) => us === 0);
  }

  private layersOf(block: number, batch: number): readonly (number | null)[] {
    const [from, to] = [this.layersBefore[block] ?? 0, this.layersBefore[block + 1] ?? 0];
    return this.row('layerLatencyUs', batch).slice(from, to);
  }

  private row(
    table: 'blockLatencyUs' | 'blockLatencyP95Us' | 'layerLatencyUs' | 'pairLatencyUs',
    batch: number,
  ): readonly (number | null)[] {
    return this.device[table]?.[this.virtual]?.[batch] ?? [];
  }

  private wholeUs(batch: number): number | undefined {
    return this.device.wholeLatencyUs?.[this.virtual]?.[batch];
  }

  private place(table: string, batch: number, entry?: number): string {
    return `${this.at}/${table}/${this.virtual}/${batch}${entry === undefined ? '' : `/${entry}`}`;
  }
}

const ZERO = 'is 0 µs, which nothing takes; give null for what was not measured';
const tooShort = (us: number): string => `is ${us} µs, which nothing takes: ${LEAST_US} µs is the least`;
const ZERO_WHOLE = 'has only blocks of 0 µs: the whole model takes some time';

/** keysOf gives the sizes that tables have, in order. */
function keysOf(...tables: readonly (Readonly<Record<string, unknown>> | undefined)[]): number[] {
  const keys = tables.flatMap((table) => Object.keys(table ?? {}));
  return [...new Set(keys.map(Number))].sort((a, b) => a - b);
}
