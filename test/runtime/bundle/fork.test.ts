import { describe, expect, it } from 'vitest';
import type { TensorData } from '../../../src/execution/index.js';
import type { PlannedStage, WhenOutput } from '../../../src/formats/index.js';
import { forkOf } from '../../../src/runtime/bundle/fork.js';
import { edge, pipelineOf } from '../../pipeline-plans.js';

/** stageTo is a stage whose edges lead to stages of these names; a condition makes an edge conditional. */
function stageTo(edges: Record<string, WhenOutput | 'else' | 'always'>): PlannedStage {
  const next = Object.entries(edges).map(([to, when]) => {
    if (when === 'always') return edge(to);
    return { ...edge(to, 0.5), ...(when === 'else' ? {} : { when }) };
  });
  return pipelineOf([{ name: 'a', next }], []).stages[0]!;
}

const scores = (...data: number[]): { score: TensorData } => ({
  score: { dtype: 'float32', dims: [1, data.length], data: Float32Array.from(data) },
});
const high: WhenOutput = { output: 'score', atLeast: 0.5 };
const low: WhenOutput = { output: 'score', below: 0.25 };

describe('forkOf()', () => {
  it('gives none where every edge is always taken', () => {
    expect(forkOf(stageTo({ b: 'always', c: 'always' }), [])).toBeUndefined();
  });

  it('reads independent edges one by one, and numbers conditional edges only', () => {
    const fork = forkOf(stageTo({ b: high, c: 'always', d: low, e: { ...high, atLeast: 0.75 } }), [])!;
    expect(fork.verdictOn(scores(0.5))).toBe(0b001);
    expect(fork.verdictOn(scores(0.75))).toBe(0b101);
    expect(fork.verdictOn(scores(0.25))).toBe(0b000);
    expect(fork.verdictOn(scores(0.24))).toBe(0b010);
  });

  it('takes, of exclusive edges, the first whose condition holds, and else the last', () => {
    const edges = { b: { ...high, atLeast: 0.75 }, c: high, d: 'else' as const, e: low };
    const fork = forkOf(stageTo(edges), [['d', 'b', 'c']])!;
    expect(fork.verdictOn(scores(0.75))).toBe(0b0001);
    expect(fork.verdictOn(scores(0.5))).toBe(0b0010);
    expect(fork.verdictOn(scores(0.3))).toBe(0b0100);
    expect(fork.verdictOn(scores(0.1))).toBe(0b1100);
  });

  it('takes the last of exclusive edges where no condition holds, although it has one', () => {
    const fork = forkOf(stageTo({ b: high, c: low }), [['b', 'c']])!;
    expect(fork.verdictOn(scores(0.3))).toBe(0b10);
  });

  it('takes an edge by itself where an exclusive list names stages that this stage does not all lead to', () => {
    const fork = forkOf(stageTo({ b: high }), [['b', 'c']])!;
    expect([fork.verdictOn(scores(0.3)), fork.verdictOn(scores(0.5))]).toEqual([0, 1]);
  });

  it('does not take an edge on a value that is no number', () => {
    const fork = forkOf(stageTo({ b: high, c: low }), [])!;
    expect(fork.verdictOn(scores(Number.NaN))).toBe(0);
  });

  it('reads the element that the condition names, of any type of number', () => {
    const fork = forkOf(stageTo({ b: { output: 'score', index: 1, atLeast: 2 } }), [])!;
    const of = (dtype: string, data: TensorData['data']) =>
      fork.verdictOn({ score: { dtype, dims: [1, 2], data } });
    expect(fork.verdictOn(scores(0, 2))).toBe(1);
    expect(fork.verdictOn(scores(2, 0))).toBe(0);
    expect(of('int64', BigInt64Array.of(0n, 2n))).toBe(1);
    expect(of('bool', Uint8Array.of(0, 1))).toBe(0);
    // 0x4000 is 2, and 0x3fff the number before it.
    expect(of('float16', Uint16Array.of(0, 0x4000))).toBe(1);
    expect(of('float16', Uint16Array.of(0, 0x3fff))).toBe(0);
  });

  it('refuses a result without the element, as of a tensor whose size depends on the data', () => {
    const fork = forkOf(stageTo({ b: { output: 'score', index: 3, atLeast: 2 } }), [])!;
    expect(() => fork.verdictOn(scores(1, 2))).toThrow(
      'score has no element 3, which says where the row goes on',
    );
  });
});
