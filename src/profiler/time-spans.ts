import { MemoryGuard, type NamedDevice } from '../execution/index.js';
import { BlockFeeds, type NodeSpan, writeSpanFiles } from './block-files.js';
import type { TimedPart } from './measure-group.js';
import { measureInSteps } from './measure-steps.js';
import { tellingFailures } from './memory-need.js';
import { ScratchExecutors } from './scratch-executors.js';
import { withScratch, writeData, writeModel } from './source.js';
import { OneStand } from './stand.js';
import { durationsOf, figureOf } from './statistics.js';
import { DEFAULT_LIMITS, type Limits, type PreparedModel } from './types.js';
import type { Group } from './warnings.js';

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
      const { spans, idsAt } = distinct(spansAt);
      const files = await writeSpanFiles(prepared, spans, folder);
      const scratch = new ScratchExecutors(memory);
      const feeds = new BlockFeeds(prepared, files, {
        folder,
        runOnce: (path, fetches) => scratch.runOnce(device, { path, request: prepared.request, fetches }),
      });
      const stands = new OneStand(device, memory);
      try {
        const timed = new Map<number, TimedSpans>();
        for (const [batch, spanIds] of idsAt) {
          const group: Group = { className, virtual, batch };
          const ids: TimedPart['id'][] = ['whole', ...new Set(spanIds)];
          const measured = await measureInSteps(
            stands,
            { group, ids, prepared, whole, files, feeds, memory },
            { limits: { ...DEFAULT_LIMITS, ...limits }, onRound: () => {}, ...(signal ? { signal } : {}) },
          );
          const medians = new Map(
            measured.map(({ id, runs }) => [id, figureOf(durationsOf(runs)).medianUs] as const),
          );
          timed.set(batch, { wholeUs: medians.get('whole')!, us: spanIds.map((id) => medians.get(id)!) });
        }
        return timed;
      } finally {
        await stands.close();
      }
    }),
  );
}

/** distinct lists the spans of all batch sizes, each once, and by batch size the places of its spans in that list. */
function distinct(spansAt: ReadonlyMap<number, readonly NodeSpan[]>): {
  spans: NodeSpan[];
  idsAt: Map<number, number[]>;
} {
  const spans: NodeSpan[] = [];
  const idOf = ({ from, to }: NodeSpan) => {
    const known = spans.findIndex((span) => span.from === from && span.to === to);
    return known >= 0 ? known : spans.push({ from, to }) - 1;
  };
  return { idsAt: new Map([...spansAt].map(([batch, list]) => [batch, list.map(idOf)])), spans };
}
