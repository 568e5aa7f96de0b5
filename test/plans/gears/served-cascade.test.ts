import { describe, expect, it } from 'vitest';
import type { GearPlan, GearStage, StageInput, TensorSpec } from '../../../src/formats/index.js';
import { servedCascadeOf, unservedCascadeFaults } from '../../../src/plans/index.js';
import { gearPlan } from '../../gear-plans.js';
import { tensor } from '../../pipeline/example.js';

const fed = (spec: TensorSpec): StageInput => ({ ...spec, from: [`request.${spec.name}`] });

/** family makes a plan of models that are fed and answer alike, changed as a test wants them. */
function family(...changes: readonly Partial<GearStage>[]): Pick<GearPlan, 'stages'> {
  const plan = gearPlan({
    latencyUs: changes.map(() => [1]),
    held: [changes.map((_, model) => model)],
    gears: [{ toRps: 1, steps: [{ model: 0 }] }],
  });
  const stages = plan.stages.map((stage, model) => ({
    ...stage,
    inputs: [fed(tensor('image'))],
    outputs: [tensor('scores')],
    output: 'scores',
    ...changes[model],
  }));
  return { stages };
}

const faultsOf = (plan: Pick<GearPlan, 'stages'>) =>
  unservedCascadeFaults(plan).map(({ path, message }) => `${path} ${message}`);

/** without leaves a field of a stage out. */
function without(plan: Pick<GearPlan, 'stages'>, stage: number, field: 'inputs' | 'outputs' | 'output') {
  const stages = plan.stages.map((one, i) => {
    const { [field]: _, ...rest } = one;
    return (i === stage ? rest : one) as GearStage;
  });
  return { stages };
}

describe('servedCascadeOf()', () => {
  it('is fed and answers as its models do, without what feeds them', () => {
    const plan = family({ inputs: [fed(tensor('image')), fed(tensor('mask'))] }, {});
    expect(servedCascadeOf(plan)).toEqual({
      inputs: [tensor('image'), tensor('mask')],
      outputs: [tensor('scores')],
    });
  });

  it('has no tensors where the plan knows none', () => {
    expect(servedCascadeOf(without(without(family({}), 0, 'inputs'), 0, 'outputs'))).toEqual({
      inputs: [],
      outputs: [],
    });
  });
});

describe('unservedCascadeFaults()', () => {
  it('finds nothing wrong with models that are fed and answer alike', () => {
    expect(faultsOf(family({}, {}, {}))).toEqual([]);
  });

  it('reports every model whose profile does not describe its tensors', () => {
    const plan = without(without(without(family({}, {}, {}), 0, 'outputs'), 2, 'inputs'), 2, 'outputs');
    expect(faultsOf(plan)).toEqual([
      "/stages/0/outputs has none: its profile does not say the model's outputs",
      "/stages/2/inputs has none: its profile does not say the model's inputs",
      "/stages/2/outputs has none: its profile does not say the model's outputs",
    ]);
  });

  it.each<[string, TensorSpec]>([
    ['name', { ...tensor('picture') }],
    ['type', { ...tensor('image'), dtype: 'float16' }],
    ['shape', { ...tensor('image'), shape: [1, 5] }],
    ['batch axis', { ...tensor('image'), batchAxis: 1 }],
  ])('reports inputs of another %s than those of the first model', (_what, spec) => {
    const [one, ...more] = faultsOf(family({}, { inputs: [fed(spec)] }));
    expect(one).toMatch(
      /^\/stages\/1\/inputs are .*, and those of m0 are image float32\[\*, 4\]: all models must be alike$/,
    );
    expect(more).toEqual([]);
  });

  it('takes batches of other sizes for alike', () => {
    const inputs = [fed({ ...tensor('image'), shape: [8, ...tensor('image').shape.slice(1)] })];
    expect(faultsOf(family({}, { inputs }))).toEqual([]);
  });

  it('reports outputs that differ, with both of them', () => {
    const outputs = [tensor('scores'), tensor('boxes')];
    expect(faultsOf(family({}, {}, { outputs }))).toEqual([
      '/stages/2/outputs are scores float32[*, 4], boxes float32[*, 4], and those of m0 are scores float32[*, 4]: all models must be alike',
    ]);
  });

  it('asks for the output with the scores where none is named, and for one that is there and has numbers', () => {
    const outputs = [tensor('a'), tensor('b')];
    const plan = family({ outputs, output: 'a' }, { outputs, output: 'c' }, { outputs });
    expect(faultsOf(without(plan, 2, 'output'))).toEqual([
      '/stages/1/output is c, and the model has a, b',
      '/stages/2/output is needed: the model has several outputs, a, b; name that of the scores in the spec',
    ]);
    const words: TensorSpec[] = [{ ...tensor('scores'), dtype: 'string' }];
    expect(faultsOf(family({ outputs: words }))).toEqual([
      '/stages/0/output is scores, which is text; certainty follows from numbers',
    ]);
  });

  it('reports all faults of all models at once', () => {
    const told = faultsOf(
      family({}, { inputs: [fed(tensor('picture'))], outputs: [tensor('words')] }, { output: 'lost' }),
    );
    expect(told.map((fault) => fault.split(' ')[0])).toEqual([
      ...['/stages/1/inputs', '/stages/1/outputs', '/stages/1/output', '/stages/2/output'],
    ]);
  });
});
