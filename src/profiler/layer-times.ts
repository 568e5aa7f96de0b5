import type { Executor, NodeTimingOptions, NodeTimings, Tensors } from '../execution/index.js';
import { type OnnxModel, readModel } from '../onnx/index.js';
import { type OptimizedNode, originalsOf } from './attribution.js';

/** What one profiled session says of a model's layers. */
export interface LayerTimes {
  /** µs of one run per original node, mean over the quiet runs; 0 for those folded away. */
  readonly layerUs: number[];
  /** µs of one run of the model in the same session (`model_run`), mean over the same runs. */
  readonly runUs: number;
  /** Sum of the layers over `runUs`: what part of the run they account for. */
  readonly accountedFor: number;
  /** Sum of the kernels alone over `runUs`, without the gaps between them. */
  readonly kernelsOverRun: number;
  /** Part of the layers' time that could not be mapped to a node and was spread over all by their shares. */
  readonly unmapped: number;
}

/** Layers' times are means over this part of the runs, the fastest: where nothing else on the host came between. */
const QUIET = 1 / 4;

/** Unoptimized runs, which only divide fused times; and the time that optimized runs may take. */
const PLAIN_RUNS = 3;
const LONGEST_US = 2e6;

/** Runs × nodes are kept below this: ONNX Runtime keeps every event in memory. */
const MOST_EVENTS = 50_000;

/**
 * Times of the original nodes at full optimization: each optimized node's time goes to the nodes it stands for
 * (`originalsOf`), divided in the ratio of their times in an unoptimized session (equally where those are all 0). A node's
 * time goes on to the next one's start: freeing, dispatch and ONNX Runtime's recording are part of the run. Nothing is
 * lost: what cannot be mapped is spread over all nodes in that ratio. Two sessions: three runs unoptimized, and up to
 * `runs` optimized as far as two seconds allow.
 */
export async function layerTimes(
  executor: Executor,
  { model, path, feeds, runs = 12 }: { model: OnnxModel; path: string; feeds: Tensors; runs?: number },
): Promise<LayerTimes> {
  const most = Math.max(1, Math.floor(MOST_EVENTS / Math.max(1, model.graph.nodes.length)));
  const times = (options: NodeTimingOptions) =>
    executor.nodeTimings(path, feeds, { ...options, warmupRuns: 1 });
  const plain = await times({ runs: Math.min(PLAIN_RUNS, most), optimization: 'disabled' });
  const affordable = Math.max(PLAIN_RUNS, Math.floor(LONGEST_US / Math.max(1, mean(plain.runUs))));
  const full = await times({ runs: Math.min(runs, affordable, most), optimization: 'all' });
  return attribute(model, plain, full);
}

/** The pure part of `layerTimes`. */
export function attribute(model: OnnxModel, plain: NodeTimings, full: NodeTimings): LayerTimes {
  const quiet = quietRuns(full.runUs);
  const runUs = mean(quiet.map((run) => full.runUs[run]!));
  const kernelsUs = sum(full.nodes.map(({ us }) => meanOver(us, quiet, full.runUs.length)));
  const weights = plainUs(model, plain);
  const layerUs = new Array<number>(model.graph.nodes.length).fill(0);
  const stands = standsFor(model, full);
  let unmappedUs = 0;
  for (const { name, us, gapUs = [] } of full.nodes) {
    const timeUs = meanOver(us, quiet, full.runUs.length) + meanOver(gapUs, quiet, full.runUs.length);
    const indices = stands.get(name) ?? [];
    if (indices.length === 0) unmappedUs += timeUs;
    else spread(layerUs, indices, { us: timeUs, weights });
  }
  if (unmappedUs > 0) spread(layerUs, [...layerUs.keys()], { us: unmappedUs, weights });
  const layersUs = sum(layerUs);
  return {
    layerUs,
    runUs,
    accountedFor: layersUs / runUs,
    kernelsOverRun: kernelsUs / runUs,
    unmapped: layersUs === 0 ? 0 : unmappedUs / layersUs,
  };
}

/** Indices of the fastest runs. */
function quietRuns(runUs: readonly number[]): number[] {
  const order = [...runUs.keys()].sort((a, b) => runUs[a]! - runUs[b]!);
  return order.slice(0, Math.max(1, Math.floor(runUs.length * QUIET)));
}

/** A node's time a run, over the quiet runs; over all where it did not run once in each. */
function meanOver(us: readonly number[], quiet: readonly number[], runs: number): number {
  return us.length === runs ? mean(quiet.map((run) => us[run]!)) : sum(us) / runs;
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

/** Original nodes by the name of an optimized node; by the same name where there is no optimized graph. */
function standsFor(model: OnnxModel, full: NodeTimings): Map<string, number[]> {
  const nodes: readonly OptimizedNode[] =
    full.optimizedModel === undefined
      ? model.graph.nodes
      : readModel(full.optimizedModel, { name: 'the optimized graph' }).graph.nodes;
  const originals = originalsOf(model, nodes);
  return new Map(nodes.map(({ name }, i) => [name, originals[i]!]));
}

function plainUs(model: OnnxModel, plain: NodeTimings): number[] {
  const us = new Map(plain.nodes.map((node) => [node.name, sum(node.us)]));
  return model.graph.nodes.map(({ name }) => us.get(name) ?? 0);
}

function spread(
  layerUs: number[],
  indices: readonly number[],
  { us, weights }: { us: number; weights: readonly number[] },
): void {
  const total = sum(indices.map((index) => weights[index]!));
  for (const index of indices)
    layerUs[index]! += us * (total > 0 ? weights[index]! / total : 1 / indices.length);
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
