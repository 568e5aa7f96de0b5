import { hostname, platform, release } from 'node:os';
import { emittedHead } from '../artifacts/index.js';
import { type DeviceReport, hostThreads, type NamedDevice } from '../execution/index.js';
import {
  type DeviceProfile,
  figureName,
  isOf,
  type Measurement,
  type Profile,
  type ProfiledBlock,
  type UnfitFigure,
  type UnfitFigures,
  unfitFigures,
} from '../formats/index.js';
import { boundFields } from './bind-model.js';
import type { Campaign } from './campaign.js';
import type { Timed } from './measure-group.js';
import { figuresAt, overWholes, rowsOf } from './over-wholes.js';
import {
  disagreement,
  durationsOf,
  figureOf,
  predictedOverWhole,
  roundUs,
  sumOverWhole,
  unfitness,
} from './statistics.js';
import type { PreparedModel } from './types.js';
import {
  areAmong,
  type Group,
  groupName,
  isTakenBack,
  ofGroup,
  ofLayers,
  type Subject,
  subjectName,
  type Warning,
  warningRead,
} from './warnings.js';

/** Beginning holds the start of a ledger. */
interface Beginning {
  readonly blocks: ProfiledBlock[];
  /** How the blocks were asked for; absent where they are another profile's. */
  readonly partition?: NonNullable<Measurement['partition']>;
  readonly resume?: Profile;
  readonly date?: string;
}

/** Ledger holds the profile while it is being measured, with the figures so far and the gaps. */
export class Ledger {
  private readonly made: Profile;
  /** The share of a run that each layer takes, by class and batch. */
  private readonly sharesBy = new Map<string, readonly number[]>();
  /** The groups for whose figures there is room. */
  private readonly opened: Group[] = [];
  private warnings: readonly Warning[];
  /** The figures that are unfit, each entry with its warning. */
  private unfit: readonly UnfitFigures[];

  constructor(
    prepared: PreparedModel,
    private readonly campaign: Campaign,
    { blocks, partition, resume, date }: Beginning,
  ) {
    this.unfit = resume === undefined ? [] : unfitFigures(resume);
    const said = resume?.measurement?.warnings ?? [];
    const subjects = new Map(
      said.length === 0 ? [] : subjectsOf(campaign, blocks.length).map((one) => [subjectName(one), one]),
    );
    this.warnings = said.map((text) => warningRead(text, this.unfit, subjects));
    const cut = resume === undefined ? partition : resume.measurement?.partition;
    const asked = cut === undefined ? {} : { partition: cut };
    const { inputs: _inputs, ...head } = emittedHead('profile', []);
    this.made = {
      ...head,
      model: describeModel(prepared),
      ...(prepared.boundary === 'exact' ? {} : { boundary: prepared.boundary }),
      layers: [...prepared.layers],
      blocks,
      devices: structuredClone(resume?.devices ?? {}),
      measurement: {
        host: describeHost(),
        ...(date === undefined ? {} : { date }),
        ...campaign.limits,
        ...asked,
      },
    };
  }

  get blocks(): readonly ProfiledBlock[] {
    return this.made.blocks;
  }

  warn(warning: Warning): void {
    if (this.warnings.every(({ text }) => text !== warning.text)) this.warnings = [...this.warnings, warning];
  }

  /** Takes back the warnings about a group's figures that are measured again; a line about others too stays. */
  private unwarnGroup(group: Group, ids: readonly Timed['id'][]): void {
    const again = ids.map((id) => this.figureOf(id));
    this.unfit = this.unfit.filter((one) => !(isOf(one, group) && areAmong(one.figures, again)));
    this.warnings = this.warnings.filter((warning) => !isTakenBack(warning, group, again));
  }

  /** Makes room for a class's figures: each is null until it is measured. */
  open(report: DeviceReport & { available: true }): void {
    const { className } = report;
    const before = this.made.devices[className];
    const empty = { blockLatencyUs: {}, blockLatencyP95Us: {} };
    const device = { ...empty, ...before, ...describeDevice(report) };
    this.made.devices[className] = device;
    for (const virtual of this.campaign.virtualSizesOf(className)) {
      for (const batch of this.campaign.batchSizes) {
        this.opened.push({ className, virtual, batch });
        if (rowsOf(device.blockLatencyUs, virtual)[batch] === undefined)
          this.empty(device, { virtual, batch });
        rowsOf(device.blockLatencyP95Us, virtual)[batch] ??= this.blocks.map(() => null);
      }
    }
    device.loadMs ??= this.blocks.map(() => null);
    device.wholeLatencyUs ??= {};
    device.layerLatencyUs ??= {};
  }

  /** Makes rows without figures for the blocks of a group, and for its pairs where there are three blocks or more. */
  private empty(device: DeviceProfile, { virtual, batch }: Omit<Group, 'className'>): void {
    const row = () => this.blocks.map(() => null);
    device.blockLatencyP95Us ??= {};
    rowsOf(device.blockLatencyUs, virtual)[batch] = row();
    rowsOf(device.blockLatencyP95Us, virtual)[batch] = row();
    if (this.blocks.length < 3) return;
    device.pairLatencyUs ??= {};
    rowsOf(device.pairLatencyUs, virtual)[batch] = row().slice(1);
  }

  /** Says whether a group lacks pairs: its blocks are those of a profile that was measured without any. */
  private lacksPairs({ className, virtual, batch }: Group): boolean {
    const device = this.made.devices[className];
    return this.blocks.length >= 3 && device?.pairLatencyUs?.[virtual]?.[batch] === undefined;
  }

  /**
   * Lists the blocks and pairs of a group without a figure, by their places in `blockSpans`. Where a group lacks pairs,
   * all of them are missing, because figures of different times do not fit together.
   */
  missing(group: Group): number[] {
    const { className, virtual, batch } = group;
    if (this.lacksPairs(group)) return [...new Array(2 * this.blocks.length - 1).keys()];
    const device = this.made.devices[className];
    const blocks = device?.blockLatencyUs[virtual]?.[batch] ?? [];
    const pairs = device?.pairLatencyUs?.[virtual]?.[batch] ?? [];
    return [...blocks, ...pairs].flatMap((us, id) => (us === null ? [id] : []));
  }

  /** Says whether a class lacks the layers' latencies at a batch size. */
  lacksLayers(className: string, batch: number): boolean {
    const table = this.made.devices[className]?.layerLatencyUs;
    return this.campaign.virtualSizesOf(className).some((virtual) => table?.[virtual]?.[batch] === undefined);
  }

  /** Notes the layers' times of a class at a batch size, in any unit: they are scaled to the whole model's latency. */
  shares(className: string, batch: number, layerUs: readonly number[]): void {
    this.warnings = this.warnings.filter(
      ({ about }) => !(about?.kind === 'layers' && about.className === className),
    );
    const total = layerUs.reduce((a, b) => a + b, 0);
    if (total > 0)
      this.sharesBy.set(
        `${className} ${batch}`,
        layerUs.map((us) => us / total),
      );
  }

  /**
   * Records the medians and 95th percentiles of parts that were timed, in place of earlier figures and of the warnings
   * about those. @returns the new warnings: unfit figures, and figures that do not fit the whole model's
   */
  record(group: Group, timed: readonly Timed[]): string[] {
    const device = this.made.devices[group.className]!;
    const { virtual, batch } = group;
    const unfit: Unfit[] = [];
    this.unwarnGroup(
      group,
      timed.map(({ id }) => id),
    );
    if (this.lacksPairs(group) && timed.some(({ id }) => id !== 'whole')) this.empty(device, group);
    for (const { id, runs, loadMs } of timed) {
      const figure = figureOf(durationsOf(runs));
      if (id === 'whole') {
        this.recordWhole(device, group, {
          us: figure.medianUs,
          executionUs: figureOf(runs.map(({ executionUs }) => executionUs)).medianUs,
        });
      } else if (id >= this.blocks.length) {
        device.pairLatencyUs![virtual]![batch]![id - this.blocks.length] = figure.medianUs;
      } else {
        device.blockLatencyUs[virtual]![batch]![id] = figure.medianUs;
        device.blockLatencyP95Us![virtual]![batch]![id] = figure.p95Us;
        device.loadMs![id] ??= Math.round(loadMs * 1000) / 1000;
      }
      const why = unfitness(figure, this.campaign.limits);
      if (why !== undefined) unfit.push({ id, why });
    }
    const lines = this.unfitLines(group, unfit, timed.length);
    this.unfit = [...this.unfit, ...lines];
    const warnings = lines.map(({ warning: text, figures }) => ({ text, about: ofGroup(group, figures) }));
    const why = disagreement(figuresAt(device, group));
    const about = ofGroup(group);
    if (why !== undefined) warnings.push({ text: `${subjectName(about)} ${why}`, about });
    for (const warning of warnings) this.warn(warning);
    return warnings.map(({ text }) => text);
  }

  /** Says of which part a figure is: a block, a pair of blocks or the whole model. */
  private figureOf(id: Timed['id']): UnfitFigure {
    if (id === 'whole') return { part: 'whole' };
    const pair = id - this.blocks.length;
    return pair < 0 ? { part: 'block', block: id } : { part: 'pair', block: pair };
  }

  /** Makes one line of all unfit figures of a group, because a busy machine spoils all of them at once. */
  private unfitLines(group: Group, unfit: readonly Unfit[], measured: number): UnfitFigures[] {
    const [first, ...others] = unfit;
    if (first === undefined) return [];
    const { className, virtual, batch } = group;
    const figures = unfit.map(({ id }) => this.figureOf(id));
    const names = figures.map(figureName);
    const count = `${unfit.length} of ${measured} figures are unfit`;
    const warning =
      others.length === 0
        ? `${groupName(group)} ${names[0]} is unfit: ${first.why}`
        : `${groupName(group)}: ${count} (${names.join(', ')}), for example ${names[0]}: ${first.why}`;
    return [{ class: className, virtual, batch, figures, warning }];
  }

  private recordWhole(
    device: DeviceProfile,
    { className, virtual, batch }: Group,
    { us, executionUs }: { readonly us: number; readonly executionUs: number },
  ): void {
    rowsOf(device.wholeLatencyUs ?? {}, virtual)[batch] = us;
    device.wholeExecutionUs ??= {};
    rowsOf(device.wholeExecutionUs, virtual)[batch] = executionUs;
    // Spans were scaled to the whole model's latency as it was before.
    delete device.spanLatencyUs?.[virtual]?.[batch];
    const shares = this.sharesBy.get(`${className} ${batch}`);
    if (shares === undefined) return;
    rowsOf(device.layerLatencyUs ?? {}, virtual)[batch] = shares.map((share) => roundUs(share * us));
  }

  /** Gives the profile as it stands. */
  profile(): Profile {
    const { devices } = this.made;
    const rows = Object.values(devices).flatMap(({ blockLatencyUs, pairLatencyUs = {} }) =>
      [blockLatencyUs, pairLatencyUs].flatMap((table) =>
        Object.values(table).flatMap((byBatch) => Object.values(byBatch)),
      ),
    );
    const measurement = {
      ...this.made.measurement,
      complete:
        rows.every((row) => row.every((us) => us !== null)) &&
        this.opened.every((group) => this.missing(group).length === 0),
      blockSumOverWhole: overWholes(devices, sumOverWhole),
      ...(this.blocks.length < 3 ? {} : { predictedOverWhole: overWholes(devices, predictedOverWhole) }),
      ...(this.unfit.length > 0 ? { unfit: [...this.unfit] } : {}),
      ...(this.warnings.length > 0 ? { warnings: this.warnings.map(({ text }) => text) } : {}),
    };
    return { ...this.made, measurement };
  }
}

/** groupsOf lists the groups of a class in a campaign. */
export function groupsOf(campaign: Campaign, className: string): Group[] {
  return campaign
    .virtualSizesOf(className)
    .flatMap((virtual) => campaign.batchSizes.map((batch) => ({ className, virtual, batch })));
}

/** subjectsOf lists what the warnings of a campaign can be about, of a model with this many blocks. */
function subjectsOf(campaign: Campaign, blocks: number): Subject[] {
  const figures: UnfitFigure[] = [{ part: 'whole' }];
  for (let block = 0; block < blocks; block++)
    figures.push({ part: 'block', block }, { part: 'pair', block });
  return campaign.devices.flatMap(({ className }) => [
    ofLayers(className),
    ...groupsOf(campaign, className).flatMap((group) => [
      ofGroup(group),
      ...figures.map((figure) => ofGroup(group, [figure])),
    ]),
  ]);
}

interface Unfit {
  readonly id: Timed['id'];
  readonly why: string;
}

function describeModel(prepared: PreparedModel): Profile['model'] {
  const { name, sha256, data, inputs, outputs } = prepared;
  return {
    name,
    sha256,
    ...(data.length === 0 ? {} : { data: [...data] }),
    inputs: [...inputs],
    outputs: [...outputs],
    ...boundFields(prepared),
  };
}

function describeDevice(report: DeviceReport & { available: true }): Partial<DeviceProfile> {
  const { device, memoryBytes } = report;
  const { provider, deviceId, slowdown } = device;
  return {
    provider,
    ...(provider === 'cpu' ? { threads: device.threads ?? hostThreads() } : {}),
    ...(deviceId === undefined ? {} : { deviceId }),
    ...(slowdown === undefined || slowdown === 1 ? {} : { slowdown, emulated: true as const }),
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
  };
}

function describeHost(): Record<string, unknown> {
  return {
    name: hostname(),
    platform: `${platform()} ${release()}`,
    threads: hostThreads(),
    node: process.version,
  };
}

/** Available is a device of a campaign that this machine has. */
export type Available = DeviceReport & { available: true } & NamedDevice;
