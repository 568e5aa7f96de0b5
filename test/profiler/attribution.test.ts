import { describe, expect, test } from 'vitest';
import type { NodeTimings } from '../../src/execution/index.js';
import type { OnnxModel } from '../../src/onnx/index.js';
import { type OptimizedNode, originalsOf } from '../../src/profiler/attribution.js';
import { attribute } from '../../src/profiler/layer-times.js';

/**
 * nodes reads lines of `name: inputs > outputs`. A `!` before the name marks a constant node, `^` before an input what
 * a subgraph captures.
 */
function nodes(lines: readonly string[]): (OptimizedNode & { captures: string[]; constant: boolean })[] {
  return lines.map((line) => {
    const [, bang, name, inputs, outputs] = /^(!?)(\w+):(.*)>(.*)$/.exec(line)!;
    const words = (text: string) => text.split(' ').filter((word) => word !== '');
    return {
      name: name!,
      inputs: words(inputs!).filter((word) => !word.startsWith('^')),
      outputs: words(outputs!),
      captures: words(inputs!).flatMap((word) => (word.startsWith('^') ? [word.slice(1)] : [])),
      constant: bang === '!',
    };
  });
}

function model(lines: readonly string[]): OnnxModel {
  return { graph: { nodes: nodes(lines) } } as unknown as OnnxModel;
}

/** mapped gives the names of the original nodes for each optimized node. */
function mapped(original: readonly string[], optimized: readonly string[]): Record<string, string[]> {
  const graph = model(original);
  const found = originalsOf(graph, nodes(optimized));
  return Object.fromEntries(
    nodes(optimized).map(({ name }, i) => [name, found[i]!.map((index) => graph.graph.nodes[index]!.name)]),
  );
}

const CHAIN = ['conv: x w > a', 'norm: a s > b', 'relu: b > c', 'pool: c > y'];

describe('originalsOf()', () => {
  test('maps each node to itself when nothing was optimized', () => {
    const same = mapped(CHAIN, CHAIN);
    expect(same).toEqual({ conv: ['conv'], norm: ['norm'], relu: ['relu'], pool: ['pool'] });
  });

  test('gives a fused node all original nodes back to the next tensor that still exists', () => {
    expect(mapped(CHAIN, ['conv: x w2 > c', 'pool: c > y'])).toEqual({
      conv: ['conv', 'norm', 'relu'],
      pool: ['pool'],
    });
  });

  test('sees through blocked layouts, and counts reorders for the nodes that they serve', () => {
    const optimized = [
      'reorder: x > token_1',
      'conv: token_1 w2 > c_nchwc',
      'pool: c_nchwc > y_nchwc',
      'back: y_nchwc > y',
    ];
    const found = mapped(CHAIN, optimized);
    expect(found.reorder).toEqual(['conv', 'norm', 'relu']);
    expect(found.conv).toEqual(['conv', 'norm', 'relu']);
    expect(found.pool).toEqual(['pool']);
    expect(found.back).toEqual(['pool']);
  });

  test('leaves out nodes that only constants feed, unless the optimized graph still runs them', () => {
    const original = ['!fill: > w', 'conv: x w > y'];
    expect(mapped(original, ['conv: x w_folded > y'])).toEqual({ conv: ['conv'] });
    expect(mapped(original, ['fill: > w', 'conv: x w > y'])).toEqual({ fill: ['fill'], conv: ['conv'] });
  });

  test('assigns a node that feeds two fused nodes to only one of them', () => {
    const original = ['shared: x > s', 'left: s > l', 'right: s > r'];
    expect(mapped(original, ['a: x > l', 'b: x > r'])).toEqual({ a: ['shared', 'left'], b: ['right'] });
  });

  test('counts what only the subgraphs of a node read as fused into that node', () => {
    const original = ['scale: x > s', 'loop: n ^s > l', 'out: l > y'];
    expect(mapped(original, ['loop: n > l', 'out: l > y'])).toEqual({
      loop: ['scale', 'loop'],
      out: ['out'],
    });
  });
});

/** timings gives the timings of one run from times in µs by node name. */
function timings(us: Record<string, number>, runUs: number): NodeTimings {
  return {
    runUs: [runUs],
    nodes: Object.entries(us).map(([name, time]) => ({ name, op: 'Op', us: [time] })),
  };
}

describe('attribute()', () => {
  test('divides fused time in the ratio of the unoptimized times and loses none of it', () => {
    const graph = model(CHAIN);
    const plain = timings({ conv: 60, norm: 30, relu: 10, pool: 20 }, 120);
    // Without an optimized graph, nodes are matched by name. `fused_pool` matches none, so its time is spread over all.
    const full = timings({ conv: 50, norm: 0, relu: 0, fused_pool: 24 }, 74);
    const found = attribute(graph, plain, full);
    expect(found.layerUs.map(Math.round)).toEqual([62, 6, 2, 4]);
    expect(found.accountedFor).toBeCloseTo(1, 9);
    expect(found.unmapped).toBeCloseTo(24 / 74, 9);
  });

  test('counts the gap before the next node as the node’s own time', () => {
    const graph = model(CHAIN);
    const plain = timings({ conv: 1, norm: 1, relu: 1, pool: 1 }, 4);
    const kernels = timings({ conv: 100, norm: 100, relu: 100, pool: 100 }, 412);
    const full = { ...kernels, nodes: kernels.nodes.map((node, i) => ({ ...node, gapUs: [i] })) };
    const found = attribute(graph, plain, full);
    expect(found.layerUs).toEqual([100, 101, 102, 103]);
    expect(found.kernelsOverRun).toBeCloseTo(400 / 412, 9);
    expect(found.accountedFor).toBeCloseTo(406 / 412, 9);
    expect(attribute(graph, plain, kernels).accountedFor).toBeCloseTo(400 / 412, 9);
  });

  test('takes its times from the fastest quarter of the runs', () => {
    const graph = model(CHAIN);
    const runs = [100, 900, 100, 900, 900, 900, 900, 900];
    const full: NodeTimings = {
      runUs: runs,
      nodes: [{ name: 'conv', op: 'Conv', us: runs.map((us) => us / 2) }],
    };
    const found = attribute(graph, timings({ conv: 1 }, 1), full);
    expect(found.runUs).toBe(100);
    expect(found.layerUs).toEqual([50, 0, 0, 0]);
  });
});
