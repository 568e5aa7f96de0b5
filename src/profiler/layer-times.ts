import { itemAt } from '../collections/index.js';
import {
  AS_SERVED,
  type Executor,
  type NodeTimingOptions,
  type NodeTimings,
  type Tensors,
} from '../execution/index.js';
import { type OnnxModel, readModel } from '../onnx/index.js';
import { type OptimizedNode, originalsOf } from './attribution.js';

/** LayerTimes holds the times of a model's layers from one profiled session. */
export interface LayerTimes {
  /** The µs of one run per original node, as a mean over the quiet runs; 0 for nodes that were folded away. */
  readonly layerUs: number[];
  /** The µs of one run of the model in the same session (`model_run`), as a mean over the same runs. */
  readonly runUs: number;
  /** The sum of the layers over `runUs`: the share of the run that they account for. */
  readonly accountedFor: number;
  /** The sum of the kernels alone over `runUs`, without the gaps between them. */
  readonly kernelsOverRun: number;
  /** The share of the layers' time that belongs to no known node and was spread over all in proportion. */
  readonly unmapped: number;
}

/** Layers' times are means over this share of the runs, the fastest: nothing else on the host disturbed those. */
const QUIET = 1 / 4;

/** Unoptimized runs only divide fused times, so that few suffice. */
const PLAIN_RUNS = 3;
const LONGEST_US = 2e6;

/** Runs × nodes stay below this number, because ONNX Runtime keeps every event in memory. */
const MOST_EVENTS = 50_000;

/**
 * sessionLayerTimes times the original nodes at full optimization, in sessions of one executor. Each optimized node's
 * time goes to the nodes that it stands for (`originalsOf`), divided in the ratio of their times in an unoptimized
 * session (equally where those are all 0). A node's time lasts until the next node starts, since freeing, dispatch and
 * ONNX Runtime's recording are part of the run. Nothing is lost: time that belongs to no node is spread over all nodes
 * in that ratio. There are two sessions: one with three unoptimized runs, and one with up to `runs` optimized ones, as
 * far as two seconds allow, but at least three. Models of many thousand nodes get fewer.
 * @throws ExecutionError where ONNX Runtime failed
 */
export async function sessionLayerTimes(
  executor: Executor,
  { model, path, feeds, runs = 12 }: { model: OnnxModel; path: string; feeds: Tensors; runs?: number },
): Promise<LayerTimes> {
  const most = Math.max(1, Math.floor(MOST_EVENTS / Math.max(1, model.graph.nodes.length)));
  const times = (options: NodeTimingOptions) =>
    executor.nodeTimings(path, feeds, { ...options, warmupRuns: 1 });
  const plain = await times({ runs: Math.min(PLAIN_RUNS, most), optimization: 'disabled' });
  const affordable = Math.max(PLAIN_RUNS, Math.floor(LONGEST_US / Math.max(1, mean(plain.runUs))));
  const { optimization } = AS_SERVED;
  const full = await times({ runs: Math.min(runs, affordable, most), optimization });
  return attribute(model, plain, full);
}

/**
 * attribute is the pure part of `sessionLayerTimes`: it gives the times of `full`, the optimized session, to the
 * original nodes, in the ratio of their times in `plain`, the unoptimized one.
 */
export function attribute(model: OnnxModel, plain: NodeTimings, full: NodeTimings): LayerTimes {
  const quiet = quietRuns(full.runUs);
  const runUs = mean(quiet.map((run) => itemAt(full.runUs, run)));
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

/** quietRuns gives the indices of the fastest runs. */
function quietRuns(runUs: readonly number[]): number[] {
  const order = [...runUs.keys()].sort((a, b) => itemAt(runUs, a) - itemAt(runUs, b));
  return order.slice(0, Math.max(1, Math.floor(runUs.length * QUIET)));
}

/** meanOver gives a node's time per run over the quiet runs; over all runs where it did not run once in each. */
function meanOver(us: readonly number[], quiet: readonly number[], runs: number): number {
  return us.length === runs ? mean(quiet.map((run) => itemAt(us, run))) : sum(us) / runs;
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

/**
 * standsFor gives the original nodes of each optimized node's name; without an optimized graph, names stay the same.
 */
function standsFor(model: OnnxModel, full: NodeTimings): Map<string, number[]> {
  const nodes: readonly OptimizedNode[] =
    full.optimizedModel === undefined
      ? model.graph.nodes
      : readModel(full.optimizedModel, { name: 'the optimized graph' }).graph.nodes;
  const originals = originalsOf(model, nodes);
  return new Map(nodes.map(({ name }, i) => [name, itemAt(originals, i)]));
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
  const total = sum(indices.map((index) => itemAt(weights, index)));
  for (const index of indices)
    layerUs[index]! += us * (total > 0 ? weights[index]! / total : 1 / indices.length);
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
