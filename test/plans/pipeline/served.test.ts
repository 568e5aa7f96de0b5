import { describe, expect, it } from 'vitest';
import type { PlannedEdge, PlannedStage, StageInput, TensorSpec } from '../../../src/formats/index.js';
import { servedPipelineOf, unservedFaults } from '../../../src/plans/index.js';
import { tensor } from '../../pipeline/example.js';
import { edge, pipelineOf } from '../../pipeline-plans.js';

interface Served {
  name: string;
  next?: PlannedEdge[];
  inputs?: Record<string, string[]>;
  outputs?: TensorSpec[];
}

/** stagesOf gives stages whose inputs and outputs are rows of four floats; `inputs` says where they come from. */
function stagesOf(stages: Served[]): PlannedStage[] {
  const shapes = stages.map(({ name, next = [] }) => ({ name, next }));
  return pipelineOf(shapes, []).stages.map((stage, i) => {
    const { inputs = {}, outputs = [tensor('out')] } = stages[i]!;
    const wired = Object.entries(inputs).map(([name, from]): StageInput => ({ ...tensor(name), from }));
    return { ...stage, inputs: wired, outputs };
  });
}

const IMAGE = { image: ['request.image'] };
const outputsOf = (stages: PlannedStage[], exclusive: string[][] = []) =>
  servedPipelineOf({ stages, exclusive }).outputs.map(({ spec: { name }, stage, mayLeadOn }) => [
    name,
    stage,
    mayLeadOn,
  ]);

describe('servedPipelineOf()', () => {
  it('answers with the outputs of every stage that leads nowhere', () => {
    const stages = stagesOf([
      { name: 'a', inputs: IMAGE, next: [edge('b'), edge('c')] },
      { name: 'b', inputs: { out: ['a.out'] }, outputs: [tensor('boxes'), tensor('scores')] },
      { name: 'c', inputs: { out: ['a.out'] }, outputs: [tensor('text')] },
    ]);
    expect(outputsOf(stages)).toEqual([
      ['boxes', 1, false],
      ['scores', 1, false],
      ['text', 2, false],
    ]);
  });

  it('names an output after its stage where several stages give one of its name', () => {
    const stages = stagesOf([
      { name: 'a', inputs: IMAGE, next: [edge('b'), edge('c')] },
      { name: 'b', inputs: { out: ['a.out'] }, outputs: [tensor('out'), tensor('more')] },
      { name: 'c', inputs: { out: ['a.out'] } },
    ]);
    expect(outputsOf(stages).map(([name]) => name)).toEqual(['b.out', 'more', 'c.out']);
  });

  it('answers with the outputs of a stage that may lead nowhere, but not of one that always leads on', () => {
    const early = stagesOf([
      { name: 'a', inputs: IMAGE, next: [edge('b', 0.4)] },
      { name: 'b', inputs: { out: ['a.out'] }, next: [edge('c', 0.4), edge('d', 0.6)] },
      { name: 'c', inputs: { out: ['b.out'] } },
      { name: 'd', inputs: { out: ['b.out'] } },
    ]);
    expect(outputsOf(early, [['c', 'd']])).toEqual([
      ['a.out', 0, true],
      ['c.out', 2, false],
      ['d.out', 3, false],
    ]);
    expect(outputsOf(early).map(([name]) => name)).toContain('b.out');
  });

  it('takes each tensor of the request once, with an axis free only where every taker leaves it free', () => {
    const stages = stagesOf([{ name: 'a', next: [edge('b')] }, { name: 'b' }]);
    const size = (width: number, variableAxes?: number[]): TensorSpec => ({
      ...tensor('x', { shape: [1, width, 3] }),
      ...(variableAxes === undefined ? {} : { variableAxes }),
    });
    stages[0]!.inputs = [{ ...size(8, [1, 2]), name: 'pixels', from: ['request.image'] }];
    stages[1]!.inputs = [{ ...size(5, [2]), from: ['a.out', 'request.image'] }];
    expect(servedPipelineOf({ stages }).inputs).toEqual([{ ...size(5, [2]), name: 'image' }]);
  });
});

describe('unservedFaults()', () => {
  const faultsOf = (stages: PlannedStage[], exclusive: string[][] = []) =>
    unservedFaults({ stages, exclusive }).map(({ path, message }) => `${path}: ${message}`);
  const read = (output: string) => ({ output, atLeast: 0.5 });

  it('finds nothing where every conditional edge has a condition, except for the last of exclusive ones', () => {
    const stages = stagesOf([
      {
        name: 'a',
        inputs: IMAGE,
        outputs: [tensor('out'), tensor('score')],
        next: [{ ...edge('b', 0.5), when: read('score') }, edge('c', 0.5)],
      },
      { name: 'b', inputs: { out: ['a.out'] } },
      { name: 'c', inputs: { out: ['a.out'] } },
    ]);
    expect(faultsOf(stages, [['b', 'c']])).toEqual([]);
    expect(faultsOf(stages)).toEqual([
      '/stages/0/next/1: leads to c with probability 0.5, and no output says when; add a condition, such as when: { output: …, atLeast: 0.5 }',
    ]);
  });

  it('reports two outputs that clients would call the same, and a condition on an edge that is planned as always', () => {
    const stages = stagesOf([
      { name: 'a', inputs: IMAGE, next: [{ ...edge('b', 1), when: read('out') }, edge('c')] },
      { name: 'b', inputs: { out: ['a.out'] }, outputs: [tensor('y'), tensor('c.y')] },
      { name: 'c', inputs: { out: ['a.out'] }, outputs: [tensor('y')] },
    ]);
    expect(faultsOf(stages)).toEqual([
      '/stages/0/next/0: has a condition, and is planned with probability 1 as if it were always taken; give less, or no condition',
      '/stages/2/outputs: has y, which clients would call c.y like another output',
    ]);
  });

  it('reports all faults at once: unknown tensors, conditions on text, tensors that do not fit', () => {
    const text = tensor('label', { dtype: 'string' });
    const stages = stagesOf([
      {
        name: 'a',
        inputs: IMAGE,
        outputs: [tensor('out', { shape: [1, 5] }), text],
        next: [{ ...edge('b', 0.5), when: read('label') }, edge('c')],
      },
      { name: 'b', inputs: { out: ['a.out'] } },
      { name: 'c' },
    ]);
    delete stages[2]!.inputs;
    delete stages[2]!.outputs;
    expect(faultsOf(stages)).toEqual([
      '/stages/0/next/0/when: reads label, which is text; read an output of numbers',
      "/stages/2/inputs: has none: its profile does not say the model's inputs",
      "/stages/2/outputs: has none: its profile does not say the model's outputs",
      '/stages/1/inputs/out: does not fit a.out: it is [batch, 5], and [batch, 4] is needed',
    ]);
  });
});
