import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GraphBuilder } from '../../examples/models/graph.js';
import { profileWorkflow, refuseWorkflow, specKind } from '../../src/api/index.js';
import { loadRuns } from '../../src/artifacts/index.js';
import { InputError, MissingError, type Run } from '../../src/formats/index.js';
import { inWholeRun } from '../cases.js';
import { npy } from '../samples/numpy-files.js';

const WIDTH = 2;

/** The program halves a row until its first element is below 1, three times at most; if it began below −1 it is negated besides. */
const PROGRAM = `
export const inputs = [{ name: 'x', datatype: 'FP32', shape: [-1, ${WIDTH}] }];
export const outputs = [{ name: 'y', datatype: 'FP32', shape: [-1, ${WIDTH}] }];
export default async function halved(request, { call }) {
  const [first] = (await request.read('x', 'FP32')).data;
  let x = request.in('x');
  if (first < -1) x = call('negate', { x }).out('y');
  for (let round = 0; round < 3; round++) {
    const task = call('halve', { x });
    x = task.out('y');
    if ((await task.read('y', 'FP32')).data[0] < 1) break;
  }
  return { y: x };
}
`;

let folder: string;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-profile-workflow-'));
  await writeFile(at('halve.onnx'), scaled('halve', 0.5));
  await writeFile(at('negate.onnx'), scaled('negate', -1));
  await writeFile(at('samples.npy'), rows([3, 1.5, -4, 100]));
  await writeFile(at('program.mjs'), PROGRAM);
  await profileWorkflow(await written(), { ...QUICK, samples: [at('samples.npy')] });
}, 120_000);
beforeEach(() => rm(at('runs.jsonl'), { force: true }));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** As little is measured as may be: no figure is looked at. */
const QUICK = { devices: ['cpu:1'], batch: [1], minRuns: 1, minMs: 0, maxMs: 20, warmup: 0 } as const;

/** scaled is a model that multiplies by a number. */
function scaled(name: string, by: number): Uint8Array {
  const graph = new GraphBuilder(name, 1);
  const x = graph.input('x', 'float32', ['batch', WIDTH]);
  graph.node('Mul', [x, graph.floats('by', [1], [by])], { name: 'scale', output: 'y' });
  graph.output('y', ['batch', WIDTH]);
  return graph.bytes();
}

/** rows is an array with a row for each number, which is its first element. */
function rows(firsts: readonly number[]): Uint8Array {
  const data = Float32Array.from(firsts.flatMap((first) => [first, 0]));
  return npy('<f4', [firsts.length, WIDTH], { data });
}

interface Changed {
  readonly workflows?: readonly object[];
}

async function written({ workflows = [HALVED] }: Changed = {}): Promise<string> {
  const components = ['halve', 'negate'].map((name) => ({ name, profile: `${name}.profile.json` }));
  const cluster = { devices: { 'cpu:1': { count: 1, memoryGiB: 1, loadGBps: 1 } } };
  const spec = { kind: 'workflow', cluster, components, workflows, rps: 1 };
  await writeFile(at('spec.json'), JSON.stringify(spec));
  return at('spec.json');
}

const HALVED = { name: 'halved', program: 'program.mjs', runs: 'runs.jsonl' };
const sampled = async (options: Parameters<typeof profileWorkflow>[1] = {}, changed: Changed = {}) =>
  profileWorkflow(await written(changed), { samples: [at('samples.npy')], ...options });
const runsIn = async (file: string): Promise<readonly Run[]> => (await loadRuns(at(file))).runs;

/** callsOf says what the program calls for a row, by arithmetic. */
function callsOf(first: number): string[] {
  const calls = first < -1 ? ['negate'] : [];
  let value = Math.abs(first);
  for (let round = 0; round < 3; round++) {
    calls.push('halve');
    value /= 2;
    if (value < 1) break;
  }
  return calls;
}

async function faultsOf(work: Promise<unknown>): Promise<string[]> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw new Error(`no InputError: ${String(error)}`);
  return error.faults.map(({ path, message }) => `${path} ${message}`.trim());
}

describe('profileWorkflow()', () => {
  inWholeRun('records what a program calls for each sample, with what it had read before', async () => {
    const { recorded, warnings } = await sampled();
    const runs = await runsIn('runs.jsonl');
    const firsts = [3, 1.5, -4, 100];
    expect(runs.map(({ tasks }) => tasks.map(({ component }) => component))).toEqual(firsts.map(callsOf));
    // A float takes four bytes.
    const bytes = 4 * WIDTH;
    expect(runs.map(({ requestBytes }) => requestBytes)).toEqual(firsts.map(() => bytes));
    const shapes = runs.map(({ tasks }) => tasks.map(({ thinkMs: _, component: __, ...task }) => task));
    expect(shapes[2]).toEqual([
      { inputs: ['request'], after: [], outputBytes: bytes, rows: 1 },
      { inputs: [0], after: [], outputBytes: bytes, rows: 1 },
      { inputs: [1], after: [1], outputBytes: bytes, rows: 1 },
      { inputs: [2], after: [1, 2], outputBytes: bytes, rows: 1 },
    ]);
    const calls = firsts.flatMap(callsOf);
    const count = (wanted: string) => calls.filter((name) => name === wanted).length;
    expect(recorded).toEqual({
      workflow: 'halved',
      runs: expect.stringMatching(/runs\.jsonl$/),
      samples: 4,
      components: [
        { name: 'halve', calls: count('halve') },
        { name: 'negate', calls: count('negate') },
      ],
    });
    expect(warnings).toEqual([]);
  });

  inWholeRun('measures the models whose profiles are missing, and needs no samples for that', async () => {
    await rm(at('negate.profile.json'));
    const path = await written();
    const { profiles, recorded } = await profileWorkflow(path, QUICK);
    expect(profiles.map(({ measured }) => measured)).toEqual([false, true]);
    expect(recorded).toBeUndefined();
    await access(at('negate.profile.json'));
    await expect(access(at('runs.jsonl'))).rejects.toThrow();
  });

  inWholeRun('leaves the runs of other workflows where they are, and replaces its own', async () => {
    await sampled();
    const [first] = await runsIn('runs.jsonl');
    const other = { ...(first as Run), application: 'other' };
    await writeFile(at('runs.jsonl'), [first, other].map((run) => `${JSON.stringify(run)}\n`).join(''));
    await sampled();
    const runs = await runsIn('runs.jsonl');
    expect(runs.map(({ application }) => application)).toEqual(['other', ...Array(4).fill('halved')]);
  });

  inWholeRun('writes the runs where an output says', async () => {
    const { recorded } = await sampled({ output: at('elsewhere.jsonl') });
    expect(recorded?.runs).toBe(at('elsewhere.jsonl'));
    expect(await runsIn('elsewhere.jsonl')).toHaveLength(4);
    await expect(access(at('runs.jsonl'))).rejects.toThrow();
  });

  it('says how many samples called nothing', async () => {
    const program = PROGRAM.replace('let x', 'if (first > 50) return {};\n  let x');
    await writeFile(at('picky.mjs'), program);
    const { warnings } = await sampled({}, { workflows: [{ ...HALVED, program: 'picky.mjs' }] });
    expect(warnings).toEqual(['1 sample called no component, and is in no run']);
    expect(await runsIn('runs.jsonl')).toHaveLength(3);
  });

  it('says for which sample the program failed, and writes nothing', async () => {
    const program = PROGRAM.replace("call('negate'", "call('turn'");
    await writeFile(at('wrong.mjs'), program);
    const faults = await faultsOf(sampled({}, { workflows: [{ ...HALVED, program: 'wrong.mjs' }] }));
    expect(faults).toEqual([expect.stringMatching(/^sample 3 the program failed: .*turn/)]);
    await expect(access(at('runs.jsonl'))).rejects.toThrow();
  });

  it('asks which workflow the samples are of, where several have a program', async () => {
    const both = { workflows: [HALVED, { ...HALVED, name: 'again' }] };
    expect(await faultsOf(sampled({}, both))).toEqual([
      expect.stringContaining('samples are of one workflow: name it, halved, again'),
    ]);
    const { recorded } = await sampled({ workflow: 'again' }, both);
    expect(recorded?.workflow).toBe('again');
    expect(await faultsOf(sampled({ workflow: 'none' }, both))).toEqual([
      expect.stringContaining('is "none"; the workflows with a program are halved, again'),
    ]);
  });

  it.each([
    ['has no program', { name: 'drawn', runs: 'runs.jsonl' }, {}, /no workflow has a program/],
    ['says not where runs are', { name: 'halved', program: 'program.mjs' }, {}, /names no runs/],
    ['has verdicts', HALVED, { verdicts: 'verdicts.csv' }, /for pipelines/],
  ])('refuses a workflow that %s', async (_, workflow, options, said) => {
    expect(await faultsOf(sampled(options, { workflows: [workflow] }))).toEqual([
      expect.stringMatching(said),
    ]);
  });

  it('refuses outputs and names of workflows without samples', async () => {
    const path = await written();
    const faults = await faultsOf(profileWorkflow(path, { output: at('o.jsonl'), workflow: 'halved' }));
    expect(faults).toHaveLength(2);
  });

  it('refuses to write the runs over what it reads', async () => {
    for (const file of ['samples.npy', 'program.mjs', 'halve.profile.json', 'spec.json']) {
      const before = await readFile(at(file));
      await expect(sampled({ output: at(file) })).rejects.toThrow(InputError);
      expect(await readFile(at(file))).toEqual(before);
    }
  });

  it('says that a program or its samples are missing before anything runs', async () => {
    const missing = sampled({}, { workflows: [{ ...HALVED, program: 'none.mjs' }] });
    await expect(missing).rejects.toThrow(MissingError);
    await expect(sampled({ samples: [at('none.npy')] })).rejects.toThrow(MissingError);
  });
});

describe('specKind()', () => {
  it('says of a pooled spec, with faults too, which commands take its models and the spec', async () => {
    for (const rest of [{}, { models: 7 }]) {
      const path = join(folder, 'pooled.json');
      await writeFile(path, JSON.stringify({ kind: 'pooled', ...rest }));
      const told = {
        faults: [{ path: '/kind', message: 'it is a pooled spec, whose models are profiled one by one' }],
      };
      await expect(specKind(path)).rejects.toMatchObject(told);
      await expect(specKind(path)).rejects.toThrow('plan solve takes the spec');
    }
  });
  it('knows a spec of workflows', async () => expect(await specKind(await written())).toBe('workflow'));
});

describe('refuseWorkflow()', () => {
  it('refuses the name of a workflow for other specs', () => {
    expect(() => refuseWorkflow('spec.yaml', { workflow: 'chat' })).toThrow(/is for the spec of workflows/);
    expect(() => refuseWorkflow('spec.yaml', {})).not.toThrow();
  });
});
