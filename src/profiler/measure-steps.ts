import { itemAt } from '../collections/index.js';
import type { MemoryGuard } from '../execution/index.js';
import { peakBytes } from '../onnx/index.js';
import type { BlockFeeds, BlockFile } from './block-files.js';
import { type GroupOptions, measureGroup, type Timed, type TimedPart } from './measure-group.js';
import { measuredBytes } from './memory-need.js';
import { batchOf, requestsOf } from './requests.js';
import { type Need, stepsOf } from './rotations.js';
import type { OneStand } from './stand.js';
import type { Limits, PreparedModel } from './types.js';
import type { Group } from './warnings.js';

/**
 * The memory of a session for the tensors it makes is estimated as this many times the most bytes of them
 * that live at once: up to 2, since its arena grows in powers of two, and 1 more, since from the second run
 * on all tensors are laid out once more in one piece. The inputs count once, beside this.
 */
const ARENA_FACTOR = 3;

/** GroupParts are the parts that are measured together, and their sources. */
export interface GroupParts {
  readonly group: Group;
  readonly ids: readonly TimedPart['id'][];
  readonly prepared: PreparedModel;
  /** The path of the whole model. */
  readonly whole: string;
  readonly files: readonly BlockFile[];
  readonly feeds: BlockFeeds;
  readonly memory: MemoryGuard;
}

/**
 * measureInSteps times the parts of a group: in one rotation, or in several one after the other where the tensors of
 * all would take much more memory than the whole model does. Each of several rotations has its own processes, and the
 * feeds of the one before are gone.
 */
export async function measureInSteps(
  stands: Pick<OneStand, 'of' | 'close'>,
  parts: GroupParts,
  { limits, signal, onRound }: GroupOptions,
): Promise<Timed[]> {
  const { ids, group, memory } = parts;
  const needOf = (id: TimedPart['id']) => needOfPart(id, parts);
  const limitBytes = memory.limitBytes / group.virtual;
  const steps = stepsOf(ids, { compared: 'whole' as TimedPart['id'], needOf, limitBytes });
  const timed = new Map<TimedPart['id'], Timed>();
  let before = 0;
  for (const step of steps) {
    if (steps.length > 1) await stands.close();
    const weight = (step.parts.length * step.share) / ids.length;
    const fed = await partsOf(step.parts, parts);
    const measured = await measureGroup(await stands.of(group.virtual), fed, {
      limits: { ...shareOf(limits, step.share), pauseMs: group.virtual === 1 ? limits.pauseMs : 0 },
      ...(signal === undefined ? {} : { signal }),
      onRound: (fraction) => onRound(before + fraction * weight),
    });
    before += weight;
    for (const one of measured) timed.set(one.id, joined(timed.get(one.id), one));
  }
  return ids.map((id) => timed.get(id)!);
}

function joined(before: Timed | undefined, now: Timed): Timed {
  if (before === undefined) return now;
  return { ...before, runs: [...before.runs, ...now.runs] };
}

function shareOf({ minRuns, minMs, maxMs, ...limits }: Limits, share: number): Limits {
  return { ...limits, minRuns: Math.ceil(minRuns * share), minMs: minMs * share, maxMs: maxMs * share };
}

function needOfPart(id: TimedPart['id'], { group, prepared, files }: GroupParts): Need {
  const { model, tensors, request } = prepared;
  const range = id === 'whole' ? { from: 0, to: model.graph.nodes.length } : itemAt(files, id);
  const inputs = id === 'whole' ? Object.keys(request) : itemAt(files, id).inputs;
  const bytesOf = measuredBytes(tensors, requestsOf(prepared, group.batch));
  const fedBytes = inputs.reduce((sum, name) => sum + bytesOf(name), 0);
  const madeBytes = peakBytes(model, { ...range, cuts: prepared.cuts }, bytesOf) - fedBytes;
  const weightBytes = model.graph.nodes
    .slice(range.from, range.to)
    .reduce((sum, node) => sum + node.weightBytes, 0);
  return { workingBytes: group.virtual * (fedBytes + ARENA_FACTOR * madeBytes), weightBytes };
}

/** partsOf gives the parts of a rotation with their feeds, which are made once and not kept here. */
async function partsOf(
  ids: readonly TimedPart['id'][],
  { group, prepared, whole, files, feeds }: GroupParts,
): Promise<TimedPart[]> {
  const values = await feeds.of(ids.filter((id) => id !== 'whole'));
  return ids.map((id): TimedPart => {
    const take = () => {
      const request = id === 'whole' ? prepared.request : values.get(id)!;
      if (id !== 'whole') values.delete(id);
      return batchOf(prepared, request, group.batch);
    };
    return { id, path: id === 'whole' ? whole : itemAt(files, id).path, feeds: take };
  });
}
