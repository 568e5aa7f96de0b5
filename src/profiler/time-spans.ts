import { MemoryGuard, type NamedDevice, startExecutor } from '../execution/index.js';
import { BlockFeeds, type NodeSpan, writeSpanFiles } from './block-files.js';
import type { Group } from './ledger.js';
import type { TimedPart } from './measure-group.js';
import { measureInSteps } from './measure-steps.js';
import { tellingFailures } from './memory-need.js';
import { withScratch, writeData, writeModel } from './source.js';
import { OneStand } from './stand.js';
import { figureOf } from './statistics.js';
import { DEFAULT_LIMITS, type Limits, type PreparedModel } from './types.js';

/** TimeSpansOptions says where spans are timed. */
export interface TimeSpansOptions {
  readonly device: NamedDevice;
  readonly virtual: number;
  /** The batch sizes, each with the spans that are timed at it. */
  readonly spansAt: ReadonlyMap<number, readonly NodeSpan[]>;
  readonly limits?: Partial<Limits>;
  readonly signal?: AbortSignal;
}

/** TimedSpans holds medians in µs at a batch size: the whole model's, and one per span in the order given. */
export interface TimedSpans {
  readonly wholeUs: number;
  readonly us: readonly number[];
}

/**
 * timeSpans times spans of nodes, each in one piece, on a device at a virtual size: as `profileModel` times blocks, in
 * rotation with the whole model, through the same executors.
 * @returns the figures by batch size
 * @throws InputError where a span cannot be extracted, ONNX Runtime cannot run it, or memory runs out; MissingError
 *   where the device or external data is missing; the signal's reason on abort
 */
export async function timeSpans(
  prepared: PreparedModel,
  { device: { className, device }, virtual, spansAt, limits, signal }: TimeSpansOptions,
): Promise<Map<number, TimedSpans>> {
  const memory = new MemoryGuard();
  return await tellingFailures(`time partitions of ${prepared.name} on ${className}`, () =>
    withScratch(async (folder) => {
      await writeData(folder, prepared.source);
      const whole = await writeModel(folder, 'whole', prepared.model.bytes);
      const stands = new OneStand(device, memory);
      try {
        const timed = new Map<number, TimedSpans>();
        for (const [batch, spans] of spansAt) {
          const files = await writeSpanFiles(prepared, spans, folder);
          const feeds = new BlockFeeds(prepared, files, {
            folder,
            runOnce: runningOnce(prepared, device, memory),
          });
          const group: Group = { className, virtual, batch };
          const ids: TimedPart['id'][] = ['whole', ...files.keys()];
          const [first, ...others] = await measureInSteps(
            stands,
            { group, ids, prepared, whole, files, feeds, memory },
            { limits: { ...DEFAULT_LIMITS, ...limits }, onRound: () => {}, ...(signal ? { signal } : {}) },
          );
          const medians = others.map(({ durationsUs }) => figureOf(durationsUs).medianUs);
          timed.set(batch, { wholeUs: figureOf(first!.durationsUs).medianUs, us: medians });
        }
        return timed;
      } finally {
        await stands.close();
      }
    }),
  );
}

/** runningOnce runs a model in an executor of its own, without the hold-back of an emulated device. */
function runningOnce(
  prepared: PreparedModel,
  { slowdown: _heldBack, ...device }: NamedDevice['device'],
  memory: MemoryGuard,
): ConstructorParameters<typeof BlockFeeds>[2]['runOnce'] {
  return async (path, fetches) => {
    const executor = await startExecutor(device, { memory });
    try {
      const { model } = await executor.load(path, { optimization: 'disabled', memoryPattern: false });
      return (await executor.run(model, prepared.request, fetches)).outputs;
    } finally {
      await executor.close();
    }
  };
}
