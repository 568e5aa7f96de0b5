import { ExecutionError } from '../execution/index.js';
import { followRows, type LostOutput, type RowsFollowed, type SeenTensor } from '../onnx/index.js';
import type { BoundModel } from './bind-model.js';
import { findTensors, type KnownShapes, seenShapes, type Trial } from './find-tensors.js';
import { type RowRequests, rowsInRuns, type WatchedTensor } from './row-probes.js';
import type { TensorFinding } from './types.js';

/** RowsJudged says whether the rows of a batch keep apart, and which tensors may not be taken for common. */
export interface RowsJudged {
  /** Why a batch may not be trusted; undefined where rules or runs show that its rows keep apart. */
  readonly why: string | undefined;
  /** slightly says whether `why` tells of scales only that are taken from all rows of a batch. */
  readonly slightly: boolean;
  /** Outputs that no batch may be split by: they hold rows, and neither rules nor runs show an axis of the batch. */
  readonly lost: readonly LostOutput[];
  readonly unsettled: ReadonlySet<string>;
}

interface JudgeOptions {
  /** mixing says whether rows may influence one another slightly. */
  readonly mixing: boolean;
  readonly found: ReadonlyMap<string, TensorFinding>;
  readonly known: KnownShapes;
  readonly requests: RowRequests;
}

/** tensorsToKnow lists the tensors whose shapes are needed: the inner ones too where rules cannot follow rows without. */
export function tensorsToKnow(bound: BoundModel, live: readonly string[]): string[] {
  const { shaped, batch } = bound;
  const needsShapes =
    batch.kind === 'symbolic' &&
    bound.fileBatch === undefined &&
    followRows(shaped, batch).unknown.length > 0;
  const inner = needsShapes ? shaped.graph.nodes.flatMap(({ outputs }) => outputs) : [];
  return [...new Set([...live, ...inner])].filter((name) => name !== '');
}

/**
 * judgeRows follows the rows of a batch by the rules, with shapes that were seen. Where no rule knows a node, it looks
 * whether two requests' values stand in a row there. If any node was unknown, the model is also run on requests of many
 * kinds.
 */
export async function judgeRows(trial: Trial, bound: BoundModel, options: JudgeOptions): Promise<RowsJudged> {
  const { shaped, batch } = bound;
  if (batch.kind !== 'symbolic') throw new Error('only a model that takes any batch has rows to follow');
  const follow = (seen: ReadonlyMap<string, SeenTensor>) =>
    followRows(shaped, batch, { mixing: options.mixing, seen });
  let seen = seenShapes(options.known);
  let rows = follow(seen);
  if (rows.unknown.length > 0) {
    seen = await withRows(trial, seen, rows);
    rows = follow(seen);
  }
  const why = rowsReason(rows) ?? (await unknownReason(trial, rows, { ...options, seen }));
  const slightly = rows.mixing.length > 0 && rows.mixing.every((fault) => fault.slightly);
  return { why, slightly, lost: lostOutputs(rows, options.found), unsettled: rows.unsettled };
}

/** withRows adds the axes on which the values of two requests stand in a row. */
async function withRows(
  trial: Trial,
  seen: ReadonlyMap<string, SeenTensor>,
  { unknown }: RowsFollowed,
): Promise<Map<string, SeenTensor>> {
  const names = [...new Set(unknown.flatMap(({ outputs, limits }) => [...outputs, ...limits]))];
  const found = await findTensors(trial, names).catch(unlessEnded(trial));
  const rows = names.map((name): [string, SeenTensor] => {
    const finding = found?.get(name);
    const batching = finding?.kind === 'tensor' ? finding.batching : undefined;
    const rows = batching?.kind === 'stacked' ? batching.axis : null;
    return [name, { ...seen.get(name), rows, same: batching?.kind === 'common' }];
  });
  return new Map([...seen, ...rows]);
}

/** unlessEnded lets a model that does not run with all its tensors probed be judged without them. */
function unlessEnded(trial: Pick<Trial, 'signal'>): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof ExecutionError) || trial.signal?.aborted) throw error;
    return undefined;
  };
}

function rowsReason({ mixing, unknown, lost }: RowsFollowed): string | undefined {
  const [first, ...more] = mixing.filter((fault) => !fault.slightly);
  if (first !== undefined)
    return `${first.told}${more.length === 0 ? '' : ` (and ${more.length} more nodes)`}`;
  const [slight] = mixing;
  if (slight !== undefined) return slight.told;
  const apart = unknown.find((node) => !node.apart && !node.carriesSizes);
  if (apart !== undefined)
    return `${apart.told}; in runs of two requests, their values did not stand in a row there`;
  return lost.length === 0 ? undefined : lost.map(({ told }) => told).join('; ');
}

/** lostOutputs lists outputs that were the same for two requests, and yet are made of them. */
function lostOutputs({ lost }: RowsFollowed, found: ReadonlyMap<string, TensorFinding>): LostOutput[] {
  return lost.filter(({ name }) => {
    const finding = found.get(name);
    return finding?.kind === 'tensor' && finding.batching.kind === 'common';
  });
}

/** unknownReason runs a model with nodes that no rule follows on many kinds of requests. */
async function unknownReason(
  trial: Trial,
  { unknown }: RowsFollowed,
  { found, seen, requests }: JudgeOptions & { readonly seen: ReadonlyMap<string, SeenTensor> },
): Promise<string | undefined> {
  const [first] = unknown;
  if (first === undefined) return undefined;
  const hidden = unknown.find((node) => node.hidden);
  if (hidden !== undefined) return `${hidden.told}; no run can look inside`;
  const limited = unknown.find(({ limits }) => limits.some((name) => seen.get(name)?.same !== true));
  if (limited !== undefined) return `${limited.told}; runs do not show with which values it takes that size`;
  const outputs = trial.model.graph.outputs.flatMap(({ name }) => {
    const finding = found.get(name);
    if (finding?.kind !== 'tensor' || finding.batching.kind !== 'stacked') return [];
    return [{ name, dims: finding.spec.shape, axis: finding.batching.axis }];
  });
  const inner = unknown
    .flatMap((node) => [...node.outputs, ...node.inputs])
    .flatMap((name): WatchedTensor[] => {
      const { rows, one } = seen.get(name) ?? {};
      return one === undefined ? [] : [{ name, dims: one, axis: rows ?? undefined }];
    });
  const tensors = [...new Map([...inner, ...outputs].map((tensor) => [tensor.name, tensor])).values()];
  const fault = await rowsInRuns(trial, { tensors, nodes: unknown, requests, same: sameTensors(trial) });
  if (fault === undefined) return undefined;
  const node = fault.node ?? unknown.find((one) => one.outputs.includes(fault.tensor ?? '')) ?? first;
  return `${node.told}; ${fault.why}`;
}

/**
 * sameTensors lists tensors that no kind of request could change: what follows from constants, shapes and inputs that
 * always hold the same elements. The inputs are among them, since it is known how they differ.
 */
function sameTensors({ model: { graph }, settled = new Set() }: Trial): Set<string> {
  const same = new Set([...graph.initializers.keys(), ...settled]);
  for (const { op, inputs, outputs, captures } of graph.nodes)
    if (op === 'Shape' || [...inputs, ...captures].every((name) => name === '' || same.has(name)))
      for (const name of outputs) same.add(name);
  for (const { name } of graph.inputs) same.add(name);
  return same;
}
