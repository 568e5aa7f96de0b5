import { fault, InputError, MissingError, type Profile } from '../artifacts/index.js';
import {
  ExecutionError,
  type Executor,
  probeDevices,
  startExecutor,
  type TensorData,
  type Tensors,
} from '../execution/index.js';
import { exposeTensors, extractPartition } from '../onnx/index.js';
import { DEFAULT_BLOCKS, partitionLayers } from '../partition/index.js';
import { blocksAt, endsOfProfile } from './blocks.js';
import { type Campaign, campaignOf } from './campaign.js';
import { Checkpoints } from './checkpoints.js';
import { layerTimes } from './layer-times.js';
import { type Available, type Group, Ledger, layersOf, nameOf } from './ledger.js';
import { measureGroup, type Part } from './measure-group.js';
import { Pace } from './pace.js';
import { stackRequests } from './requests.js';
import { withScratch, writeData, writeModel } from './source.js';
import { type Stand, startStand } from './stand.js';
import type { Batching, PreparedModel, ProfileOptions } from './types.js';

/**
 * Measures a model's layers and blocks on every device, batch size and virtual size.
 *
 * - Layers: ONNX Runtime's node times on the whole device at each batch size (`layerTimes`), as shares of the whole model's
 *   latency at each virtual size.
 * - Blocks: from `resume` or `blocksOf`, else by `partitionLayers` from the layers at the smallest batch size. Each is
 *   extracted, and all are timed in rotation: the whole model, every block once, and again (`measureGroup`), so that they sum to the
 *   whole model also where its weights overflow the cache. With v virtual GPUs, v copies rotate at once on 1/v of the device
 *   each, and only runs that all of them were busy for count. Blocks are fed the model's real intermediate tensors.
 *   Also under boundary `float16` they are measured as they are, without casts; only `cutBytes` counts what is sent.
 * - Figures are medians and 95th percentiles after warm-up (`Limits`); unfit ones are named in `measurement.warnings`
 *   (`unfitness`).
 *
 * On abort what is done comes back with `measurement.complete` false; `resume` goes on with it. Before the blocks are known
 * there is nothing to keep, and the signal's reason is thrown. What no abort announces (a crash, a device that vanishes) costs
 * what was measured since the last `onCheckpoint`. Devices that are not there are told to `onProgress`.
 * @throws InputError for options that cannot be measured or a profile that cannot be resumed, MissingError where no device is there
 */
export async function profileModel(prepared: PreparedModel, options: ProfileOptions): Promise<Profile> {
  const campaign = campaignOf(prepared, options);
  const known = options.resume ?? options.blocksOf;
  const ends = known === undefined ? undefined : endsOfProfile(prepared, known);
  const devices = await availableDevices(prepared, campaign, options);
  return await withScratch(async (folder) => {
    await writeData(folder, prepared.source);
    const whole = await writeModel(folder, 'whole', prepared.model.bytes);
    const run = new ProfileRun({ prepared, options, campaign, devices, folder, whole });
    return await run.profile(ends);
  });
}

async function availableDevices(
  prepared: PreparedModel,
  campaign: Campaign,
  { onProgress, signal }: ProfileOptions,
): Promise<Available[]> {
  const reports = await probeDevices(campaign.devices);
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
  /** Path of the whole prepared model. */
  readonly whole: string;
}

const ABORTED_GRACE_MS = 200;

/** One call of `profileModel`. */
class ProfileRun {
  readonly #layerUs = new Map<string, Map<number, readonly number[]>>();
  readonly #failures: string[] = [];
  /** What a person should know, failures aside. */
  readonly #remarks: string[] = [];

  constructor(private readonly at: Setting) {}

  async profile(known: readonly number[] | undefined): Promise<Profile> {
    const { prepared, options, campaign, devices } = this.at;
    const smallest = campaign.batchSizes[0]!;
    if (known === undefined) for (const device of devices) await this.#timeLayers(device, [smallest]);
    const ends = known ?? this.#partition();
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
      this.#remarks.push(`the model runs at batch ${prepared.fixedBatch} only: ${prepared.fixedBatchReason}`);
    for (const name of notTensors(prepared))
      ledger.warn(`output ${name} is not a tensor: it is neither measured nor served`);
    const checkpoints = new Checkpoints(options.onCheckpoint, () => this.#told(ledger));
    try {
      await this.#measure({ ledger, checkpoints }, ends);
    } catch (error) {
      if (!options.signal?.aborted) {
        await checkpoints.keepLast();
        throw error;
      }
    }
    return this.#result(ledger);
  }

  /** The profile as it stands, with all that is to be told of it. */
  #told(ledger: Ledger): Profile {
    for (const message of [...this.#remarks, ...this.#failures]) ledger.warn(message);
    return ledger.profile();
  }

  #result(ledger: Ledger): Profile {
    const profile = this.#told(ledger);
    const rows = Object.values(profile.devices).flatMap(({ blockLatencyUs }) =>
      Object.values(blockLatencyUs),
    );
    const measured = rows.flatMap((row) => Object.values(row)).some((row) => row.some((us) => us !== null));
    if (measured || this.#failures.length === 0 || this.at.options.signal?.aborted) return profile;
    throw new InputError(
      `profile ${this.at.prepared.name}`,
      this.#failures.map((why) => fault(why)),
    );
  }

  #partition(): number[] {
    const { prepared, options, devices } = this.at;
    const latencies = devices.flatMap(({ className }) => {
      const first = this.#layerUs.get(className)?.values().next().value;
      return first === undefined ? [] : [[className, first] as const];
    });
    if (latencies.length === 0)
      throw new InputError(
        `time the layers of ${prepared.name}`,
        this.#failures.map((why) => fault(why)),
      );
    const { ends, notes } = partitionLayers(
      {
        layerLatencyUs: Object.fromEntries(latencies),
        cutBytes: prepared.layers.map(({ cutBytes }) => cutBytes),
      },
      options.partition,
    );
    options.onProgress?.({ kind: 'partitioned', blocks: ends.length, notes });
    this.#remarks.push(...notes.map((note) => `blocks: ${note}`));
    return ends;
  }

  /** Times the layers of a class at batch sizes where that has not been done; a failure leaves the class without layers. */
  async #timeLayers({ className, device }: Available, batches: readonly number[]): Promise<void> {
    const { prepared, options, whole } = this.at;
    const known = this.#layerUs.get(className) ?? new Map<number, readonly number[]>();
    const missing = batches.filter((batch) => !known.has(batch));
    if (missing.length === 0) return;
    options.onProgress?.({ kind: 'phase', phase: 'layers', className });
    try {
      await this.#withExecutor(device, async (executor) => {
        for (const batch of missing) {
          options.signal?.throwIfAborted();
          const feeds = this.#batchOf(prepared.request, batch);
          const times = await layerTimes(executor, { model: prepared.model, path: whole, feeds });
          this.#layerUs.set(className, known.set(batch, times.layerUs));
        }
      });
    } catch (error) {
      this.#forgive(error, layersOf(className));
    }
  }

  async #measure({ ledger, checkpoints }: Books, ends: readonly number[]): Promise<void> {
    const { campaign, devices, options } = this.at;
    const cells = devices.flatMap(({ className }) =>
      groupsOf(campaign, className).map((group) => {
        const missing = ledger.missing(group).length;
        return missing === 0 ? 0 : missing + 1;
      }),
    );
    if (cells.every((count) => count === 0)) return;
    const pace = new Pace(
      cells.reduce((a, b) => a + b, 0),
      options.onProgress,
    );
    const files = await this.#blockFiles(ends);
    for (const device of devices) {
      const lacking = groupsOf(campaign, device.className).filter(
        (group) => ledger.missing(group).length > 0,
      );
      const batches = [...new Set(lacking.map(({ batch }) => batch))];
      await this.#timeLayers(
        device,
        batches.filter((batch) => ledger.lacksLayers(device.className, batch)),
      );
      for (const [batch, layerUs] of this.#layerUs.get(device.className) ?? [])
        ledger.shares(device.className, batch, layerUs);
      options.onProgress?.({ kind: 'phase', phase: 'blocks', className: device.className });
      await this.#measureClass(device, { ledger, checkpoints, files, groups: lacking, pace });
    }
  }

  async #measureClass({ device }: Available, work: Work & { groups: readonly Group[] }): Promise<void> {
    let stand: { virtual: number; stand: Stand } | undefined;
    try {
      for (const group of work.groups) {
        this.at.options.signal?.throwIfAborted();
        if (stand?.virtual !== group.virtual) {
          await stand?.stand.close();
          stand = undefined;
          stand = { virtual: group.virtual, stand: await startStand(device, group.virtual) };
        }
        try {
          await this.#measureGroup(stand.stand, group, work);
        } catch (error) {
          this.#forgive(error, nameOf(group, 'whole'));
          await stand.stand.close();
          stand = undefined;
        }
        await work.checkpoints.keepIfDue();
      }
    } finally {
      // An aborted stand may be busy for seconds more, and has nothing to lose.
      await stand?.stand.close(this.at.options.signal?.aborted ? { graceMs: ABORTED_GRACE_MS } : {});
    }
  }

  async #measureGroup(stand: Stand, group: Group, { ledger, checkpoints, files, pace }: Work): Promise<void> {
    const { options, campaign, prepared, whole } = this.at;
    const wholePart: Part = {
      id: 'whole',
      path: whole,
      feeds: () => this.#batchOf(prepared.request, group.batch),
    };
    const blockParts = ledger.missing(group).map((id): Part => {
      const { path, feeds } = files[id]!;
      return { id, path, feeds: () => this.#batchOf(feeds, group.batch) };
    });
    const cells = { ...group, count: blockParts.length + 1 };
    try {
      const timed = await measureGroup(stand, [wholePart, ...blockParts], {
        limits: campaign.limits,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        onRound: (fraction) => pace.tell(cells, fraction),
      });
      const warnings = ledger.record(group, timed);
      checkpoints.measured();
      for (const message of warnings) options.onProgress?.({ kind: 'warning', message });
    } finally {
      pace.finish(cells);
    }
  }

  /** Every block as a file of its own, with the model's own tensors for one request at its inputs. */
  async #blockFiles(ends: readonly number[]): Promise<BlockFile[]> {
    const { prepared, folder } = this.at;
    const extracted = ends.map((to, k) =>
      extractPartition(prepared.model, { from: ends[k - 1] ?? 0, to, types: prepared.types }),
    );
    const values = await this.#tensorsOf([...new Set(extracted.flatMap(({ inputs }) => inputs))]);
    const files: BlockFile[] = [];
    for (const [k, { bytes, inputs }] of extracted.entries()) {
      const path = await writeModel(folder, `block-${k}`, bytes);
      files.push({ path, feeds: Object.fromEntries(inputs.map((name) => [name, values.get(name)!])) });
    }
    return files;
  }

  /** Values of tensors for one request: the request's own, others from a run of the model with them exposed. */
  async #tensorsOf(names: readonly string[]): Promise<Map<string, TensorData>> {
    const { prepared, folder, devices } = this.at;
    const values = new Map(Object.entries(prepared.request));
    const inner = names.filter((name) => !values.has(name));
    if (inner.length === 0) return values;
    const path = await writeModel(folder, 'exposed', exposeTensors(prepared.model, inner));
    const { slowdown: _heldBack, ...device } = devices[0]!.device;
    await this.#withExecutor(device, async (executor) => {
      const { model } = await executor.load(path, { optimization: 'disabled' });
      const { outputs } = await executor.run(model, prepared.request, inner);
      for (const [name, value] of Object.entries(outputs)) values.set(name, value);
    });
    return values;
  }

  /** The same request b times over: rows that are equal take as long as rows that are not. */
  #batchOf(request: Tensors, batch: number): Tensors {
    const { fixedBatch, tensors } = this.at.prepared;
    if (fixedBatch !== undefined || batch === 1) return request;
    return stackRequests(new Array<Tensors>(batch).fill(request), (name): Batching => {
      const finding = tensors.get(name);
      return finding?.kind === 'tensor' ? finding.batching : { kind: 'common' };
    });
  }

  async #withExecutor(
    device: Available['device'],
    use: (executor: Executor) => Promise<void>,
  ): Promise<void> {
    const executor = await startExecutor(device);
    try {
      await use(executor);
    } finally {
      await executor.close();
    }
  }

  /** A measurement that ONNX Runtime could not make leaves a gap and a warning; anything else is thrown. */
  #forgive(error: unknown, what: string): void {
    const { signal, onProgress } = this.at.options;
    if (signal?.aborted) throw signal.reason;
    if (!(error instanceof ExecutionError)) throw error;
    const message = `${what} could not be measured: ${error.message}`;
    this.#failures.push(message);
    onProgress?.({ kind: 'warning', message });
  }
}

function notTensors({ model, outputs }: PreparedModel): string[] {
  const tensors = new Set(outputs.map(({ name }) => name));
  return model.graph.outputs.map(({ name }) => name).filter((name) => !tensors.has(name));
}

/** Where figures are written down, and who is told of them meanwhile. */
interface Books {
  readonly ledger: Ledger;
  readonly checkpoints: Checkpoints;
}

interface Work extends Books {
  readonly files: readonly BlockFile[];
  readonly pace: Pace;
}

interface BlockFile {
  readonly path: string;
  /** Its inputs for one request. */
  readonly feeds: Tensors;
}

function groupsOf(campaign: Campaign, className: string): Group[] {
  return campaign
    .virtualSizesOf(className)
    .flatMap((virtual) => campaign.batchSizes.map((batch) => ({ className, virtual, batch })));
}
