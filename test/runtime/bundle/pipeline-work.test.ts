import { describe, expect, it } from 'vitest';
import type { Bundle, PipelinePlan, StageInput, TensorSpec } from '../../../src/formats/index.js';
import { type OpenedBundle, openBundle } from '../../../src/runtime/bundle/opened-bundle.js';
import { edge, figured, pipelineOf } from '../../pipeline-plans.js';
import { writePipelineBundle } from '../pipeline-bundle.js';

const row = (name: string): TensorSpec => ({ name, dtype: 'float32', shape: [1, 4], batchAxis: 0 });
const from = (name: string, ...sources: string[]): StageInput => ({ ...row(name), from: sources });

/**
 * street is the pipeline detect → (plate or face) → match, where match also takes boxes of detect, and detect → tag for
 * some requests. One device holds detect, plate and face.
 */
function street(more: Partial<PipelinePlan> = {}): PipelinePlan {
  const when = { output: 'score', index: 0, atLeast: 0.5 };
  const next = [{ ...edge('plate', 0.4), when }, edge('face', 0.6), { ...edge('tag', 0.3), when }];
  const plan = pipelineOf(
    [
      { name: 'detect', next, batch: 2 },
      { name: 'plate', next: [edge('match')] },
      { name: 'face', next: [edge('match')] },
      { name: 'match', batch: 4 },
      { name: 'tag' },
    ],
    [['detect', 'plate', 'face'], ['match'], ['tag']],
    {
      exclusive: [['plate', 'face']],
      shared: [{ stages: ['detect', 'plate', 'face'] }],
      name: 'street',
      rps: 50,
      ...more,
    },
  );
  const tensors: Record<string, [StageInput[], TensorSpec[]]> = {
    detect: [[from('image', 'request.image')], [row('crop'), row('boxes'), row('score'), row('unused')]],
    plate: [[from('crop', 'detect.crop')], [row('text')]],
    face: [[from('crop', 'detect.crop')], [row('name')]],
    match: [[from('found', 'plate.text', 'face.name'), from('boxes', 'detect.boxes')], [row('answer')]],
    tag: [[from('image', 'request.image')], [row('label')]],
  };
  for (const stage of plan.stages) [stage.inputs, stage.outputs] = tensors[stage.name]!;
  return figured(plan);
}

/** opened opens a bundle of the plan. */
async function opened(plan: PipelinePlan, change?: (manifest: Bundle) => void): Promise<OpenedBundle> {
  const { folder, remove } = await writePipelineBundle(plan, change === undefined ? {} : { change });
  try {
    return await openBundle(folder);
  } finally {
    await remove();
  }
}

/** faultsOf gives the lines of the error of opening a bundle. */
async function faultsOf(plan: PipelinePlan, change?: (manifest: Bundle) => void): Promise<string[]> {
  const error = await opened(plan, change).then(
    () => undefined,
    (thrown: { faults: { path: string; message: string }[] }) => thrown,
  );
  return (error?.faults ?? []).map(({ path, message }) => `${path}: ${message}`);
}

describe('openBundle() of a pipeline', () => {
  it('makes one model of it, with the rows that its stages take, and the rate that was planned', async () => {
    const { models } = await opened(street());
    expect(models).toMatchObject([{ name: 'street', maxRows: 4, plannedRps: 50, sloNs: 1e9 }]);
    expect(models[0]?.inputs).toEqual([row('image')]);
    expect(models[0]?.outputs.map(({ name }) => name)).toEqual(['answer', 'label']);
  });

  it('runs on each row only what later stages, conditions or the answer need', async () => {
    const { work } = await opened(street());
    expect(work[0]?.outputs.map(({ key }) => key)).toEqual(['detect.crop', 'detect.boxes', 'detect.score']);
    expect(work.map(({ fork }) => fork !== undefined)).toEqual([true, false, false, false, false]);
  });

  it('keeps a tensor of a row until the last stage that may take it has run, and no longer', async () => {
    const { work } = await opened(street());
    const answers = ['match.answer', 'tag.label'];
    const kept = (stage: number) => [...work[stage]!.carried].filter((key) => !answers.includes(key)).sort();
    // What tag takes stays until the end, because tag may run at any time after detect.
    expect(kept(0)).toEqual(['detect.boxes', 'detect.crop', 'face.name', 'plate.text', 'request.image']);
    expect(kept(1)).toEqual(['detect.boxes', 'detect.crop', 'face.name', 'plate.text', 'request.image']);
    expect(kept(3)).toEqual(['request.image']);
    expect(kept(4)).toEqual(['detect.boxes', 'detect.crop', 'face.name', 'plate.text']);
    for (const { carried } of work) expect([...carried]).toEqual(expect.arrayContaining(answers));
  });

  it('keeps what comes from the request to the end of a chain, where a row may begin again', async () => {
    const plan = street({ exclusive: [], shared: [] });
    plan.stages = plan.stages.slice(0, 2);
    plan.placement = plan.placement
      .slice(0, 2)
      .map((place, i) => ({ ...place, stages: [plan.stages[i]!.name] }));
    plan.stages[0]!.next = [edge('plate')];
    plan.stages[1]!.next = [];
    for (const stage of plan.stages) stage.replicas = 1;
    plan.classes.cpu!.used = 2;
    const { work } = await opened(figured(plan));
    expect(work.map(({ carried }) => [...carried].sort())).toEqual([
      ['detect.crop', 'plate.text', 'request.image'],
      ['plate.text', 'request.image'],
    ]);
  });

  it('keeps the outputs of a stage after which a request may end under a key of its own', async () => {
    const plan = street();
    plan.stages[2]!.next = [{ ...edge('match', 0.5), when: { output: 'name', index: 0, below: 3 } }];
    plan.stages[1]!.next = [];
    plan.stages[3]!.inputs = [from('found', 'face.name'), from('boxes', 'detect.boxes')];
    const { models, work } = await opened(figured(plan));
    expect(models[0]?.outputs.map(({ name }) => name)).toEqual(['text', 'name', 'answer', 'label']);
    const [name] = work[2]!.outputs;
    expect(name?.endKey).toBe(models[0]?.outputKeys[1]);
    expect(name?.endKey).not.toBe('face.name');
    expect(work[1]!.outputs[0]?.endKey).toBeUndefined();
  });

  it('reports everything in which the manifest is not the plan, at once', async () => {
    const changed = await faultsOf(street(), (manifest) => {
      manifest.stages![1]!.name = 'plates';
      manifest.stages![2]!.inputs[0]!.shape = [1, 5];
      manifest.stages![4]!.inputs[0]!.from = ['detect.crop'];
      manifest.models[0]!.outputs.pop();
      manifest.devices = {};
    });
    expect(changed).toEqual([
      '/stages/1/name: is "plates", which is no stage of the plan',
      '/stages: has no stage "plate", which the plan serves',
      '/stages/face: its inputs are crop float32[1*, 5] from detect.crop; they are planned as crop float32[1*, 4] from detect.crop',
      '/stages/tag: its inputs are image float32[1*, 4] from detect.crop; they are planned as image float32[1*, 4] from request.image',
      '/devices: does not say how to run class cpu',
      '/models/street: its outputs are answer float32[1*, 4]; they are planned as answer float32[1*, 4], label float32[1*, 4]',
    ]);
  });

  it('refuses a plan that contradicts itself, or whose tensors a server could not hand on', async () => {
    const cyclic = street();
    cyclic.stages[3]!.next = [edge('plate')];
    expect(await faultsOf(cyclic)).toEqual(['plan: /stages: form a cycle: plate -> match -> plate']);
    const miscounted = street();
    miscounted.classes.cpu!.used = 2;
    expect(await faultsOf(miscounted)).toEqual(['plan: /classes/cpu/used: is 2; the placement has 3']);
    const missing = street();
    missing.stages[3]!.inputs = [from('found', 'plate.text'), from('boxes', 'detect.boxes')];
    delete missing.stages[0]!.next[2]!.when;
    expect(await faultsOf(figured(missing))).toEqual([
      'plan: /stages/0/next/2: leads to tag with probability 0.3, and no output says when; add a condition, such as when: { output: …, atLeast: 0.5 }',
      'plan: /stages/3/inputs/found: is missing where a request comes by detect -> face -> match: there is no plate.text then',
    ]);
  });

  it('refuses a device whose models together are larger than its memory', async () => {
    const small = (memoryGiB: number) => street({ cluster: { devices: { cpu: { memoryGiB } } } });
    // The files of detect, plate and face hold 6 + 5 + 4 bytes.
    expect(await faultsOf(small(15 / 2 ** 30))).toEqual([]);
    const [told] = await faultsOf(small(14 / 2 ** 30));
    expect(told).toMatch(
      /^\/stages: cpu has .* GiB for each of its devices, and the models of detect, plate, face take/,
    );
    // Half of a GPU has half of its memory.
    const halves = (bytes: number) => {
      const plan = small(bytes / 2 ** 30);
      for (const part of [...plan.stages, ...plan.placement]) part.virtual = 2;
      return faultsOf(plan);
    };
    expect(await halves(30)).toEqual([]);
    expect(await halves(29)).toHaveLength(1);
  });
});
