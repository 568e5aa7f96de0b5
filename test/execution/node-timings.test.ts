import { describe, expect, it } from 'vitest';
import { readTrace } from '../../src/execution/node-timings.js';

type Event = Parameters<typeof readTrace>[0][number];

function node(name: string, op: string, index: number, [ts, dur]: [number, number]): Event {
  return {
    cat: 'Node',
    name: `${name}_kernel_time`,
    ts,
    dur,
    args: { op_name: op, node_index: String(index) },
  };
}

const run = (ts: number, dur: number): Event => ({ cat: 'Session', name: 'model_run', ts, dur, args: {} });
const kernel = (name: string, ts: number, dur: number): Event => ({ cat: 'Api', name, ts, dur, args: {} });

describe('readTrace()', () => {
  it('gives the time of each node in each run and the gap after it, without the warm-up runs', () => {
    const trace = [0, 100, 200].flatMap((at) => [
      node('a', 'Conv', 0, [at + 1, 10 + at / 100]),
      node('b', 'Relu', 1, [at + 20, 5]),
      run(at, 40),
    ]);
    expect(readTrace(trace, 1)).toEqual({
      runUs: [40, 40],
      nodes: [
        { name: 'a', op: 'Conv', us: [11, 12], gapUs: [8, 7] },
        { name: 'b', op: 'Relu', us: [5, 5], gapUs: [15, 15] },
      ],
    });
  });

  it('distinguishes nodes of the same name', () => {
    const trace = [node('n', 'Add', 0, [1, 3]), node('n', 'Add', 1, [5, 7]), run(0, 20)];
    expect(readTrace(trace, 0).nodes.map(({ us }) => us)).toEqual([[3], [7]]);
  });

  it('counts nodes of nested subgraphs once, as the outermost node’s', () => {
    const trace = [
      node('before', 'Neg', 0, [1, 4]),
      node('inner', 'MatMul', 0, [12, 3]),
      node('inner if', 'If', 1, [11, 6]),
      node('inner', 'MatMul', 0, [20, 3]),
      node('loop', 'Loop', 1, [10, 30]),
      node('after', 'Abs', 2, [41, 2]),
      run(0, 50),
    ];
    expect(readTrace(trace, 0).nodes.map(({ name, us }) => [name, us])).toEqual([
      ['before', [4]],
      ['loop', [30]],
      ['after', [2]],
    ]);
  });

  it('uses the device’s times of kernels where the provider gives them, summed over a node’s kernels', () => {
    const host = [0, 100].flatMap((at) => [
      node('a&b', 'Conv', 0, [at + 1, 1]),
      node('cpu', 'Shape', 1, [at + 3, 2]),
      run(at, 90),
    ]);
    const device = [
      kernel('a&b&Conv&Transpose', 20, 7),
      kernel('a&b&Conv&Conv2D', 30, 40),
      kernel('a&b&Conv&Transpose', 120, 8),
      kernel('a&b&Conv&Conv2D', 130, 41),
    ];
    expect(readTrace([...host, ...device], 0).nodes).toEqual([
      { name: 'a&b', op: 'Conv', us: [47, 49] },
      { name: 'cpu', op: 'Shape', us: [2, 2], gapUs: [85, 85] },
    ]);
  });
});
