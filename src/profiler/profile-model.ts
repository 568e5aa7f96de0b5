import { itemAt, pushAll } from '../collections/index.js';
import {
  ExecutionError,
  firstLine,
  MemoryGuard,
  OutOfMemoryError,
  probeDevices,
} from '../execution/index.js';
import { fault, InputError, MissingError, type Profile } from '../formats/index.js';
import { DEFAULT_BLOCKS, partitionLayers } from '../partition/index.js';
import { unservedOutputs } from './bind-model.js';
import { BlockFeeds, type BlockFile, blockSpans, writeSpanFiles } from './block-files.js';
import { blocksAt, endsOfProfile } from './blocks.js';
import { type Campaign, campaignOf } from './campaign.js';
import { Checkpoints } from './checkpoints.js';
import { sessionLayerTimes } from './layer-times.js';
import { type Available, groupsOf, Ledger } from './ledger.js';
import type { TimedPart } from './measure-group.js';
import { measureInSteps } from './measure-steps.js';
import { MEMORY_ADVICE, measuredBytes, memoryShortage } from './memory-need.js';
import { missingCuts } from './missing-cuts.js';
import { Pace } from './pace.js';
import { randomNote } from './random-values.js';
import { batchOf, requestsOf } from './requests.js';
import { ScratchExecutors } from './scratch-executors.js';
import { withScratch, writeData, writeModel } from './source.js';
import { OneStand } from './stand.js';
import type { Cells, PreparedModel, ProfileOptions } from './types.js';
import {
  type Group,
  groupName,
  ofGroup,
  ofLayers,
  type Subject,
  subjectName,
  type Warning,
} from './warnings.js';

/**
 * profileModel measures a model's layers and blocks on every device, batch size and virtual size.
 *
 * - Layers: ONNX Runtime's node times on the whole device at each batch size (`sessionLayerTimes`) give the layers'
 *   shares of the whole model's latency at each virtual size.
 * - Blocks: they come from `resume` or `blocksOf`, else from `partitionLayers` by the layers at the smallest batch
 *   size. Each is extracted, and so is each pair of neighbours, which tells what the cut between them costs. All are
 *   timed in rotation (`measureGroup`): the whole model, every block and pair once, and again. So none finds its
 *   weights in the cache where the whole model would not. There are several rotations where
 *   the tensors of one would take much more memory than the whole model does (`stepsOf`). With v virtual GPUs, v copies
 *   rotate at once on 1/v of the device each, and only runs during which all of them were busy count. Blocks are fed
 *   the model's real intermediate tensors. With boundary `float16` too, they are measured as they are, without casts;
 *   only `cutBytes` counts what is sent.
 * - Figures are medians and 95th percentiles after warm-up (`Limits`). `measurement.warnings` names unfit ones
 *   (`unfitness`).
 *
 * A size that does not fit in memory is left out and reported. On abort, the profile so far is returned with
 * `measurement.complete` false, and `resume` continues it. Before the blocks are known there is nothing to keep, and
 * the signal's reason is thrown. An end without an abort (a crash, a device that vanishes) costs what was measured
 * since the last `onCheckpoint`. Devices that this machine lacks are reported to `onProgress`.
 * @throws InputError for options that cannot be measured, a profile that cannot be resumed, or where nothing at all
 *   could be measured; MissingError where no device is available or external data is missing
 */
export async function profileModel(prepared: PreparedModel, options: ProfileOptions): Promise<Profile> {
  const campaign = campaignOf(prepared, options);
  const known = options.resume ?? options.blocksOf;
  const ends = known === undefined ? undefined : endsOfProfile(prepared, known);
  const memory = new MemoryGuard({ limitBytes: options.memoryLimitBytes });
  const scratch = new ScratchExecutors(memory, options.startExecutor, options.signal);
  return await withScratch(async (folder) => {
    const devices = await availableDevices(scratch, prepared, { campaign, options });
    await writeData(folder, prepared.source);
    const whole = await writeModel(folder, 'whole', prepared.model.bytes);
    const run = new ProfileRun({ prepared, options, campaign, devices, folder, whole, memory, scratch });
    return await run.profile(ends);
  })
    .catch((error: unknown) => {
      // An executor that was ended fails in words of its own.
      options.signal?.throwIfAborted();
      throw error;
    })
    .finally(() => scratch.close());
}

/** availableDevices gives the devices that start here. Their scratch executors stay open. */
async function availableDevices(
  scratch: ScratchExecutors,
  prepared: PreparedModel,
  { campaign, options: { onProgress, signal } }: Pick<Setting, 'campaign' | 'options'>,
): Promise<Available[]> {
  const reports = await probeDevices(campaign.devices, (device) => scratch.of(device));
  signal?.throwIfAborted();
  const faults = reports.flatMap((report) => {
    if (report.available) return [];
    onProgress?.({ kind: 'unavailable', className: report.className, missing: report.missing });
    return [fault(report.missing, report.className)];
  });
  if (faults.length === reports.length)
    throw new MissingError(`profile ${prepared.name} on any of its devices`, faults);
  return reports.flatMap((report) => (report.available ? [report] : []));
}

interface Setting {
  readonly prepared: PreparedModel;
  readonly options: ProfileOptions;
  readonly campaign: Campaign;
  readonly devices: readonly Available[];
  readonly folder: string;
  /** The path of the whole prepared model. */
  readonly whole: string;
  readonly memory: MemoryGuard;
  readonly scratch: ScratchExecutors;
}

const NOT_MEASURED = 'could not be measured';

const ABORTED_GRACE_MS = 200;
/** A process that timed a model of more bytes ends at once, because its allocator keeps most of what it took. */
const LARGE_BYTES = 64 * 2 ** 20;

/** ProfileRun is one call of `profileModel`. */
class ProfileRun {
  private readonly layerUs = new Map<string, Map<number, readonly number[]>>();
  private readonly failures: Warning[] = [];
  /** Notes for a person, besides failures. */
  private readonly remarks: string[] = [];
  /** The groups at which memory ran out. */
  private readonly tooLarge: Group[] = [];
  /** outOfMemory says whether memory ran out anywhere. */
  private outOfMemory = false;

  constructor(private readonly at: Setting) {}

  async profile(known: readonly number[] | undefined): Promise<Profile> {
    const { prepared, options, campaign, devices } = this.at;
    const smallest = itemAt(campaign.batchSizes, 0);
    if (known === undefined) for (const device of devices) await this.timeLayers(device, [smallest]);
    const ends = known ?? this.partition();
    const { resume, date } = options;
    const { method = 'greedy', blocks = DEFAULT_BLOCKS } = options.partition ?? {};
    const ledger = new Ledger(prepared, campaign, {
      blocks: blocksAt(prepared, ends),
      ...(known === undefined ? { partition: { method, blocks } } : {}),
      ...(resume === undefined ? {} : { resume }),
      ...(date === undefined ? {} : { date }),
    });
    for (const device of devices) ledger.open(device);
    if (prepared.fixedBatchReason !== undefined)
      this.remarks.push(`the model runs at batch ${prepared.fixedBatch} only: ${prepared.fixedBatchReason}`);
    const random = randomNote(prepared.model);
    if (random !== undefined) this.remarks.push(random);
    const missing = missingCuts(prepared.layers);
    if (missing !== undefined) this.remarks.push(missing);
    for (const name of unservedOutputs(prepared))
      ledger.warn({ text: `output ${name} is not a tensor: it is neither measured nor served` });
    const checkpoints = new Checkpoints(options.onCheckpoint, () => this.currentProfile(ledger));
    try {
      await this.measure({ ledger, checkpoints }, ends);
    } catch (error) {
      if (!options.signal?.aborted) {
        await checkpoints.keepLast();
        throw error;
      }
    }
    return this.result(ledger);
  }

  /** Gives the profile as it stands, with all remarks and failures. */
  private currentProfile(ledger: Ledger): Profile {
    for (const text of this.remarks) ledger.warn({ text });
    for (const failure of this.failures) ledger.warn(failure);
    return ledger.profile();
  }

  private result(ledger: Ledger): Profile {
    const profile = this.currentProfile(ledger);
    const rows = Object.values(profile.devices).flatMap(({ blockLatencyUs }) =>
      Object.values(blockLatencyUs),
    );
    const measured = rows.flatMap((row) => Object.values(row)).some((row) => row.some((us) => us !== null));
    if (measured || this.failures.length === 0 || this.at.options.signal?.aborted) return profile;
    throw this.errorOfFailures(`profile ${this.at.prepared.name}`);
  }

  private errorOfFailures(task: string): InputError {
    const faults = this.failures.map(({ text }) => fault(text));
    return new InputError(task, faults, this.outOfMemory ? MEMORY_ADVICE : undefined);
  }

  private partition(): number[] {
    const { prepared, options, devices } = this.at;
    const latencies = devices.flatMap(({ className }) => {
      const first = this.layerUs.get(className)?.values().next().value;
      return first === undefined ? [] : [[className, first] as const];
    });
    if (latencies.length === 0) throw this.errorOfFailures(`time the layers of ${prepared.name}`);
    const { ends, notes } = partitionLayers(
      {
        layerLatencyUs: Object.fromEntries(latencies),
        cutBytes: prepared.layers.map(({ cutBytes }) => cutBytes),
      },
      options.partition,
    );
    options.onProgress?.({ kind: 'partitioned', blocks: ends.length, notes });
    pushAll(
      this.remarks,
      notes.map((note) => `blocks: ${note}`),
    );
    return ends;
  }

  /** Times the layers of a class at batch sizes that are not timed yet; after a failure the class has no layers. */
  private async timeLayers({ className, device }: Available, batches: readonly number[]): Promise<void> {
    const { prepared, options, whole, scratch } = this.at;
    const known = this.layerUs.get(className) ?? new Map<number, readonly number[]>();
    const missing = batches.filter((batch) => !known.has(batch));
    if (missing.length === 0) return;
    options.onProgress?.({ kind: 'phase', phase: 'layers', className });
    try {
      for (const batch of missing) {
        options.signal?.throwIfAborted();
        const feeds = batchOf(prepared, prepared.request, batch);
        const executor = await scratch.of(device);
        const times = await sessionLayerTimes(executor, { model: prepared.model, path: whole, feeds });
        this.layerUs.set(className, known.set(batch, times.layerUs));
      }
    } catch (error) {
      this.leaveOut(error, ofLayers(className));
    } finally {
      if (prepared.model.bytes.length > LARGE_BYTES) await scratch.close();
    }
  }

  private async measure({ ledger, checkpoints }: Books, ends: readonly number[]): Promise<void> {
    const { campaign, devices, options, prepared, folder } = this.at;
    const lacking = devices.map(({ className }) =>
      groupsOf(campaign, className).filter((group) => ledger.missing(group).length > 0 && this.mayFit(group)),
    );
    const counts = lacking.flat().map((group) => cellsOf(ledger, group).count);
    if (counts.length === 0) return;
    const pace = new Pace(
      counts.reduce((a, b) => a + b, 0),
      options.onProgress,
    );
    const files = await writeSpanFiles(prepared, blockSpans(ends), folder);
    const feeds = this.blockFeeds(files);
    for (const [k, device] of devices.entries()) {
      const batches = [...new Set(itemAt(lacking, k).map(({ batch }) => batch))];
      await this.timeLayers(
        device,
        batches.filter((batch) => ledger.lacksLayers(device.className, batch)),
      );
      for (const [batch, layerUs] of this.layerUs.get(device.className) ?? [])
        ledger.shares(device.className, batch, layerUs);
    }
    for (const [k, device] of devices.entries()) {
      const groups = itemAt(lacking, k);
      options.onProgress?.({ kind: 'phase', phase: 'blocks', className: device.className });
      await this.measureClass(device, { ledger, checkpoints, files, feeds, groups, pace });
    }
  }

  private async measureClass(
    { device }: Available,
    work: Work & { groups: readonly Group[] },
  ): Promise<void> {
    const { options, memory, scratch } = this.at;
    const stands = new OneStand(device, memory, {
      start: options.startExecutor,
      beforeStart: () => scratch.close(),
    });
    try {
      for (const group of work.groups) {
        options.signal?.throwIfAborted();
        const cells = cellsOf(work.ledger, group);
        try {
          if (this.mayFit(group)) await this.measureGroup(stands, group, work);
        } catch (error) {
          this.leaveGroupOut(error, group);
          await stands.close();
        } finally {
          work.pace.finish(cells);
        }
        await work.checkpoints.keepIfDue();
      }
    } finally {
      // After an abort the stand may be busy for seconds more, and it has nothing to lose.
      await stands.close(options.signal?.aborted ? { graceMs: ABORTED_GRACE_MS } : {});
    }
  }

  /** Says whether a group may fit in memory, as far as that is known before it is tried. If not, it reports so once. */
  private mayFit(group: Group): boolean {
    const why = this.shortage(group);
    if (why === undefined) return true;
    this.outOfMemory = true;
    this.reportFailure(ofGroup(group), `not measured: ${why}`);
    return false;
  }

  private shortage(group: Group): string | undefined {
    const smaller = this.tooLarge.find(
      ({ className, virtual, batch }) =>
        className === group.className && virtual <= group.virtual && batch <= group.batch,
    );
    if (smaller !== undefined) return `memory ran out at ${groupName(smaller)}`;
    const { prepared, memory } = this.at;
    const requests = requestsOf(prepared, group.batch);
    const bytesOf = measuredBytes(prepared.tensors, requests);
    return memoryShortage(prepared.model, bytesOf, { requests, copies: group.virtual, memory });
  }

  private async measureGroup(
    stands: OneStand,
    group: Group,
    { ledger, checkpoints, files, feeds, pace }: Work,
  ): Promise<void> {
    const { prepared, whole, options, campaign, memory } = this.at;
    const ids: TimedPart['id'][] = ['whole', ...ledger.missing(group)];
    const parts = { group, ids, prepared, whole, files, feeds, memory };
    const cells = cellsOf(ledger, group);
    const timed = await measureInSteps(stands, parts, {
      limits: campaign.limits,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      onRound: (fraction) => pace.tell(cells, fraction),
    });
    const warnings = ledger.record(group, timed);
    checkpoints.measured();
    for (const message of warnings) options.onProgress?.({ kind: 'warning', message });
  }

  private blockFeeds(files: readonly BlockFile[]): BlockFeeds {
    const { prepared, folder, devices, scratch } = this.at;
    return new BlockFeeds(prepared, files, {
      folder,
      runOnce: (path, fetches) =>
        scratch.runOnce(itemAt(devices, 0).device, { path, request: prepared.request, fetches }),
    });
  }

  /** If memory ran out for a group, larger groups are not tried. */
  private leaveGroupOut(error: unknown, group: Group): void {
    const outOfMemory = error instanceof OutOfMemoryError;
    if (outOfMemory) this.tooLarge.push(group);
    if (outOfMemory) this.leaveOut(error, ofGroup(group), `it ${NOT_MEASURED}`);
    else this.leaveOut(error, ofGroup(group, [{ part: 'whole' }]));
  }

  /** A measurement that ONNX Runtime could not make leaves a gap and a warning; any other error is thrown. */
  private leaveOut(error: unknown, about: Subject, said = NOT_MEASURED): void {
    const { signal } = this.at.options;
    if (signal?.aborted) throw signal.reason;
    if (!(error instanceof ExecutionError)) throw error;
    const outOfMemory = error instanceof OutOfMemoryError;
    this.outOfMemory ||= outOfMemory;
    this.reportFailure(about, `${said}: ${firstLine(outOfMemory ? error.why : error.message)}`);
  }

  private reportFailure(about: Subject, said: string): void {
    const text = `${subjectName(about)} ${said}`;
    this.failures.push({ text, about });
    this.at.options.onProgress?.({ kind: 'warning', message: text });
  }
}

/** Books are where figures are recorded, and the receivers of progress and checkpoints. */
interface Books {
  readonly ledger: Ledger;
  readonly checkpoints: Checkpoints;
}

interface Work extends Books {
  readonly files: readonly BlockFile[];
  readonly feeds: BlockFeeds;
  readonly pace: Pace;
}

/** cellsOf lists the cells of a group to measure: the blocks and pairs that are missing, and the whole model. */
function cellsOf(ledger: Ledger, group: Group): Cells {
  return { ...group, count: ledger.missing(group).length + 1 };
}
