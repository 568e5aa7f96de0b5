import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resnet18 } from '../../examples/models/resnet18.js';
import {
  deployPlan,
  loadServer,
  partitionModelFile,
  profileModelFile,
  serveBundle,
  simulatePlan,
  sweepPlan,
  validateFiles,
} from '../../src/api/index.js';
import { hostThreads } from '../../src/execution/host.js';
import type { DeviceProfile, Profile } from '../../src/formats/index.js';
import { MissingError, sha256Of, type TensorSpec } from '../../src/formats/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { inWholeRun, whole } from '../cases.js';

const IMAGE = 32;
const QUICK = { warmup: 1, minRuns: 2, minMs: 2, maxMs: whole(10, 100) };

let folder: string;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-chain-'));
  await writeFile(at('model.onnx'), resnet18({ image: IMAGE, classes: 10, widthMultiplier: 0.25 }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const PROFILE = {
  devices: ['fast=cpu:1', 'slow=cpu:1,slowdown=2'],
  batch: [1, 2],
  virtual: [1],
  blocks: '4',
  method: 'greedy' as const,
  boundary: 'exact' as const,
  ...QUICK,
};

/**
 * The spec has two devices and an SLO that any machine meets. Its one pipeline must use both, so that a cut
 * is served.
 */
const SPEC = `
kind: pooled
cluster: { devices: { fast: { count: 1 }, slow: { count: 1 } }, networkGbps: 100 }
models: [{ profile: model.profile.json, sloMs: 2000 }]
`;

/** abortedOnce gives a signal that reads as aborted once a condition holds. */
function abortedOnce(holds: () => boolean): AbortSignal {
  const controller = new AbortController();
  const { signal } = controller;
  const look = signal.throwIfAborted.bind(signal);
  signal.throwIfAborted = () => {
    if (holds()) controller.abort();
    look();
  };
  return signal;
}

/** contents gives the digest of every file of a folder, by path. */
async function contents(path: string): Promise<Record<string, string>> {
  const files = (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const read = files.map(async (file) => {
    const full = join(file.parentPath, file.name);
    return [full.slice(path.length), sha256Of(await readFile(full))] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

describe('the chain from ONNX file to served requests', () => {
  it('profiles, solves, deploys the same bytes twice, and all its files validate', async () => {
    const { profile } = await profileModelFile(at('model.onnx'), {
      ...PROFILE,
      output: at('model.profile.json'),
    });
    expect(profile.devices.slow).toMatchObject({ emulated: true, slowdown: 2 });
    expect(profile.layers?.length).toBeGreaterThan(40);
    await writeFile(at('spec.yaml'), SPEC);
    const solved = await solveSpec(at('spec.yaml'), { output: at('plan.json') });
    expect(solved.outcome).toBe('plan');
    await deployPlan(at('plan.json'), { output: at('bundle') });
    const first = await contents(at('bundle'));
    await deployPlan(at('plan.json'), { output: at('bundle') });
    expect(await contents(at('bundle'))).toEqual(first);
    const files = ['model.onnx', 'model.profile.json', 'spec.yaml', 'plan.json', 'bundle/manifest.json'];
    const results = await validateFiles(files.map(at));
    expect(results.filter((result) => !result.ok)).toEqual([]);
    expect(results.find((result) => result.ok && result.path.endsWith('plan.json'))).toMatchObject({
      what: expect.stringContaining('recomputed'),
    });
  });

  inWholeRun('says where this host has too few cores for a plan or bundle that it may serve', async () => {
    const notesOf = async (count: number): Promise<string[]> => {
      await writeFile(at('many.yaml'), SPEC.replace('fast: { count: 1 }', `fast: { count: ${count} }`));
      const notes: string[] = [];
      const onNote = (text: string) => notes.push(text);
      const solved = await solveSpec(at('many.yaml'), { output: at('many.json'), onNote });
      // The plan itself is the same on every machine.
      if (solved.outcome === 'plan') expect(JSON.stringify(solved.plan)).not.toContain('CPU cores');
      await deployPlan(at('many.json'), { output: at('many'), onNote });
      await simulatePlan(at('many'), { duration: 0.1, onNote });
      await sweepPlan(at('many'), { duration: 0.1, sweep: 'load=0.5', onNote });
      await simulatePlan(at('many.json'), { duration: 0.1, onNote });
      return notes;
    };
    const many = 2 * hostThreads();
    const cores = `the devices keep ${many + 0.5} of this host's ${many / 2} CPU cores`;
    const bundle = `if this host is to serve the bundle: ${cores}`;
    const notes = (await notesOf(many)).map((note) => note.replace(/ busy when .*/, ''));
    expect(notes).toEqual([
      `if this host, which measured the devices, is to serve the plan: ${cores}`,
      ...[bundle, bundle, bundle],
    ]);
    if (hostThreads() > 2) expect(await notesOf(1)).toEqual([]);
  });

  inWholeRun(
    'groups the profiled layers into other blocks, which take their layers and what cuts added',
    async () => {
      const given = JSON.parse(await readFile(at('model.profile.json'), 'utf8')) as Profile;
      const cellOf = ({ layerLatencyUs, blockLatencyUs }: DeviceProfile) =>
        [layerLatencyUs, blockLatencyUs].map((table) => table?.['1']?.['1'] as number[]);
      for (const device of Object.values(given.devices)) {
        const [, blocks = []] = cellOf(device);
        // With layers as long as one another, they make three blocks.
        device.layerLatencyUs = { 1: { 1: (given.layers ?? []).map(() => 20) } };
        device.wholeLatencyUs = { 1: { 1: total(blocks) - 50 * (blocks.length - 1) } };
      }
      await writeFile(at('joined.profile.json'), JSON.stringify(given));
      const cut = {
        devices: [],
        method: 'greedy',
        boundary: 'exact',
        profile: at('joined.profile.json'),
      } as const;
      const { profile } = await partitionModelFile(at('model.onnx'), { ...cut, blocks: 3 });
      const ends = profile.blocks.map(({ nodes }) => nodes?.length ?? 0);
      for (const [name, device] of Object.entries(profile.devices)) {
        const [layers = []] = cellOf(given.devices[name] as DeviceProfile);
        const [, blocks = []] = cellOf(device);
        const first = total(layers.slice(0, ends[0]));
        const second = total(layers.slice(ends[0], (ends[0] ?? 0) + (ends[1] ?? 0)));
        expect(blocks).toHaveLength(3);
        expect(blocks[0]).toBeCloseTo(first, 2);
        expect(blocks[1]).toBeCloseTo(second + 50, 2);
        expect(total(blocks)).toBeCloseTo(total(layers) + 100, 2);
      }
    },
  );

  it('cuts a profile with unfit figures into one that is read again and names what comes of them, or writes none', async () => {
    const given = JSON.parse(await readFile(at('model.profile.json'), 'utf8')) as Profile;
    const cell = { class: 'fast', virtual: 1, batch: 1 };
    const figures = [{ part: 'block' as const, block: 1 }];
    const warning = 'fast 1/1 batch 1 block 1 is unfit: a stall';
    const measurement = {
      host: { name: 'busy' },
      unfit: [{ ...cell, figures, warning }],
      warnings: [warning],
    };
    const rowOf = (us: number) => (given.layers ?? []).map(() => us);
    const blocksOf = (...us: number[]) => given.blocks.map((_, i) => us[i] ?? 100);
    const wholeUs = 100 * given.blocks.length;
    const stalled: DeviceProfile = {
      blockLatencyUs: { 1: { 1: blocksOf(100, 900_000), 2: blocksOf() } },
      layerLatencyUs: { 1: { 1: rowOf(10), 2: rowOf(10) } },
      wholeLatencyUs: { 1: { 1: wholeUs, 2: wholeUs } },
    };
    const cut = {
      devices: [],
      method: 'greedy',
      boundary: 'exact',
      blocks: 3,
      profile: at('stalled.profile.json'),
      output: at('stalled.cut.profile.json'),
    } as const;
    await writeFile(cut.profile, JSON.stringify({ ...given, devices: { fast: stalled }, measurement }));
    const { profile } = await partitionModelFile(at('model.onnx'), cut);
    expect(profile.measurement?.host).toEqual(measurement.host);
    expect(profile.measurement?.unfit).toMatchObject([
      {
        ...cell,
        figures: [
          { part: 'block', block: 1 },
          { part: 'block', block: 2 },
        ],
      },
    ]);
    expect((await validateFiles([cut.output])).filter((result) => !result.ok)).toEqual([]);
    await rm(cut.output);
    const fast = {
      imported: true,
      blockLatencyUs: {},
      layerLatencyUs: { 1: { 1: rowOf(100), 2: rowOf(1) } },
    };
    const { measurement: _, ...unmeasured } = given;
    await writeFile(cut.profile, JSON.stringify({ ...unmeasured, devices: { fast } }));
    await expect(partitionModelFile(at('model.onnx'), cut)).rejects.toThrow('under a quarter of the');
    expect(existsSync(cut.output)).toBe(false);
  });

  it.each(['models/model', 'manifest.json'])(
    'deploys nothing when it is aborted once it has written %s, and leaves the earlier bundle',
    async (written) => {
      const before = await contents(at('bundle'));
      const signal = abortedOnce(() => existsSync(at(`.bundle.${process.pid}.tmp/${written}`)));
      await expect(deployPlan(at('plan.json'), { output: at('bundle'), signal })).rejects.toThrow(/abort/);
      expect(await contents(at('bundle'))).toEqual(before);
      expect((await readdir(folder)).filter((name) => name.startsWith('.bundle'))).toEqual([]);
    },
  );

  inWholeRun("serves the bundle: every answer is the model's own", async () => {
    const session = await InferenceSession.create(at('model.onnx'), { intraOpNumThreads: 1 });
    const server = await serveBundle(at('bundle'), { port: 0 });
    try {
      const image = Float32Array.from({ length: 3 * IMAGE * IMAGE }, (_, i) => Math.sin(i));
      const { logits } = await session.run({ image: new Tensor('float32', image, [1, 3, IMAGE, IMAGE]) });
      const response = await fetch(`${server.url}/v2/models/model/infer`, {
        method: 'POST',
        body: JSON.stringify({
          inputs: [{ name: 'image', shape: [1, 3, IMAGE, IMAGE], datatype: 'FP32', data: [...image] }],
        }),
      });
      expect(response.status).toBe(200);
      const { outputs } = (await response.json()) as { outputs: { data: number[] }[] };
      const expected = [...(logits!.data as Float32Array)];
      const largest = Math.max(...expected.map(Math.abs));
      outputs[0]?.data.forEach((value, i) => {
        expect(Math.abs(value - (expected[i] as number))).toBeLessThanOrEqual(1e-4 * largest);
      });
      const report = await loadServer(server.url, { rps: whole(40, 20), durationS: whole(0.4, 1), seed: 3 });
      expect(report.sent).toBeGreaterThan(5);
      expect(report.answered).toBe(report.sent);
    } finally {
      await server.close();
      await session.release();
    }
  });
});

describe('profileModelFile() and loadServer()', () => {
  it('refuse an output path that cannot be written before they measure', async () => {
    const output = at('none/result.json');
    await expect(profileModelFile(at('absent.onnx'), { ...PROFILE, output })).rejects.toThrow(
      'there is no folder',
    );
    const load = loadServer('http://127.0.0.1:1', { rps: 1, durationS: 1, output });
    await expect(load).rejects.toThrow('there is no folder');
  });
});

describe('profileModelFile()', () => {
  it('refuses --method when the blocks come from another profile', async () => {
    const options = { ...PROFILE, blocks: at('model.profile.json'), output: at('again.json') };
    await expect(profileModelFile(at('model.onnx'), options)).rejects.toThrow('Cannot use `method`');
  });
});

describe('deployPlan()', () => {
  it('refuses a changed profile, another model and a folder of other files, and writes nothing', async () => {
    const profile = await readFile(at('model.profile.json'), 'utf8');
    const model = await readFile(at('model.onnx'));
    const listed = await readdir(folder);
    await writeFile(at('model.profile.json'), `${profile} `);
    await expect(deployPlan(at('plan.json'), { output: at('other') })).rejects.toThrow(
      'has changed since the plan was made',
    );
    await writeFile(at('model.profile.json'), profile);
    await writeFile(at('model.onnx'), Buffer.concat([model, Buffer.from([0xa2, 0x06, 0x00])]));
    await expect(deployPlan(at('plan.json'), { output: at('other') })).rejects.toThrow(
      'not the file that was profiled',
    );
    await rm(at('model.onnx'));
    await expect(deployPlan(at('plan.json'), { output: at('other') })).rejects.toThrow(MissingError);
    await writeFile(at('model.onnx'), model);
    await mkdir(at('others'));
    await writeFile(at('others/notes.txt'), '');
    await expect(deployPlan(at('plan.json'), { output: at('others') })).rejects.toThrow(
      'the folder holds other files',
    );
    await rm(at('others'), { recursive: true });
    await expect(deployPlan(at('plan.json'), { output: folder })).rejects.toThrow('holds');
    await expect(deployPlan(at('plan.json'), { output: at('none/bundle') })).rejects.toThrow(
      'there is no folder',
    );
    expect(await readdir(folder)).toEqual(listed);
  });
});

describe('validateFiles()', () => {
  it('finds an edited plan and an edited partition', async () => {
    const plan = JSON.parse(await readFile(at('plan.json'), 'utf8')) as {
      models: { throughputRps: number }[];
    };
    (plan.models[0] as { throughputRps: number }).throughputRps *= 2;
    await writeFile(at('edited.json'), JSON.stringify(plan));
    const [edited] = await validateFiles([at('edited.json')]);
    expect(edited).toMatchObject({ ok: false });
    const part = Object.keys(await contents(at('bundle'))).find((path) => path.endsWith('.onnx')) as string;
    const bytes = await readFile(at(`bundle${part}`));
    await writeFile(at(`bundle${part}`), bytes.subarray(0, bytes.length - 1));
    const [bundle] = await validateFiles([at('bundle/manifest.json')]);
    expect(bundle).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^Cannot validate .*bundle: .* is not the file that was deployed/),
    });
    await expect(serveBundle(at('bundle'), { port: 0 })).rejects.toThrow(/^Cannot serve .*bundle: /);
    await writeFile(at(`bundle${part}`), bytes);
  });
});

describe('a bundle that contradicts its plan', () => {
  type Edited = { plan: { sha256: string }; models: { inputs: TensorSpec[]; outputs: TensorSpec[] }[] };

  async function edited(change: (manifest: Edited) => void): Promise<void> {
    await rm(at('changed'), { recursive: true, force: true });
    await cp(at('bundle'), at('changed'), { recursive: true });
    const manifest = JSON.parse(await readFile(at('changed/manifest.json'), 'utf8')) as Edited;
    change(manifest);
    await writeFile(at('changed/manifest.json'), JSON.stringify(manifest));
  }

  async function expectRefused(why: RegExp): Promise<void> {
    expect(await validateFiles([at('changed')])).toMatchObject([
      { ok: false, message: expect.stringMatching(why) },
    ]);
    await expect(serveBundle(at('changed'), { port: 0 })).rejects.toThrow(why);
  }

  it('is refused where requests would have another shape, or answers would be empty', async () => {
    await edited(({ models }) => {
      models[0]!.inputs[0]!.shape[0] = 4;
    });
    await expectRefused(/its inputs are image float32\[4\*, .*; they are planned as image float32\[1\*, /);
    await edited(({ models }) => {
      models[0]!.inputs[0]!.batchAxis = 2;
    });
    await expectRefused(/its inputs are image/);
    await edited(({ models }) => {
      models[0]!.outputs = [];
    });
    await expectRefused(/its outputs are none; they are planned as logits/);
  });

  it('is refused where a figure of its plan is not what its inputs give', async () => {
    const plan = JSON.parse(await readFile(at('plan.json'), 'utf8')) as { models: { sloMs: number }[] };
    // A longer SLO contradicts nothing else in the plan, whether the model was cut or not.
    plan.models[0]!.sloMs += 1;
    const text = JSON.stringify(plan);
    await edited((manifest) => {
      manifest.plan.sha256 = sha256Of(Buffer.from(text));
    });
    await writeFile(at('changed/plan.json'), text);
    await expectRefused(/Cannot confirm .*changed\/plan\.json[\s\S]*\/models\/0\/sloMs: is \d+/);
  });

  it.skipIf(process.platform === 'win32')('is refused where its manifest is a link out of it', async () => {
    await edited(() => {});
    await rename(at('changed/manifest.json'), at('outside.json'));
    await symlink('../outside.json', at('changed/manifest.json'));
    await expectRefused(/manifest\.json: it is a link that leads outside the folder/);
    await rm(at('changed'), { recursive: true });
  });

  it('is not replaced where its user changed a file of it', async () => {
    await edited(() => {});
    const part = Object.keys(await contents(at('changed'))).find((path) => path.endsWith('.onnx')) as string;
    await writeFile(at(`changed${part}`), 'mine');
    await expect(deployPlan(at('plan.json'), { output: at('changed') })).rejects.toThrow(
      `the folder holds other files: ${part.slice(1)}`,
    );
    expect(await readFile(at(`changed${part}`), 'utf8')).toBe('mine');
    await rm(at('changed'), { recursive: true });
  });

  it.skipIf(process.platform === 'win32')('is not written to a link that leads nowhere', async () => {
    await symlink('nowhere', at('dangling'));
    await expect(deployPlan(at('plan.json'), { output: at('dangling') })).rejects.toThrow(
      'it is a link that leads nowhere',
    );
    await rm(at('dangling'));
  });
});

describe('partitionModelFile()', () => {
  const options = { devices: ['cpu:1'], method: 'greedy' as const, blocks: 3 };

  inWholeRun('writes blocks that, one after another, give the outputs of the model bit for bit', async () => {
    const { extracted, profile } = await partitionModelFile(at('model.onnx'), {
      ...options,
      boundary: 'exact',
      profile: at('model.profile.json'),
      extract: at('blocks'),
      output: at('cut.profile.json'),
    });
    expect(extracted?.largestDifference).toBe(0);
    // Optimizations fuse and reorder sums, also across cuts.
    expect(extracted?.servedDifference).toBeLessThan(1e-5);
    expect(extracted?.levelsDifference).toBeLessThan(1e-5);
    expect((await readdir(at('blocks'))).length).toBe(profile.blocks.length);
    expect((await validateFiles([at('cut.profile.json')])).filter((result) => !result.ok)).toEqual([]);
  });

  it('replaces an earlier folder of blocks, but refuses a folder that holds other files, before it reads the model', async () => {
    const again = {
      ...options,
      boundary: 'exact' as const,
      profile: at('model.profile.json'),
      extract: at('blocks'),
    };
    const { extracted } = await partitionModelFile(at('model.onnx'), { ...again, blocks: 2 });
    expect(extracted?.files).toEqual(['0.onnx', '1.onnx'].map((name) => at(`blocks/${name}`)));
    expect(await readdir(at('blocks'))).toEqual(['0.onnx', '1.onnx']);
    await writeFile(at('blocks/notes.txt'), 'mine');
    const before = await contents(at('blocks'));
    await writeFile(at('empty.onnx'), '');
    const refused = partitionModelFile(at('empty.onnx'), again);
    await expect(refused).rejects.toThrow('the folder holds other files');
    expect(await contents(at('blocks'))).toEqual(before);
  });

  it('leaves the earlier blocks, and nothing half written, when it is aborted', async () => {
    await rm(at('blocks/notes.txt'));
    const before = await contents(at('blocks'));
    const listed = await readdir(folder);
    const stopped = partitionModelFile(at('model.onnx'), {
      ...options,
      boundary: 'exact',
      profile: at('model.profile.json'),
      extract: at('blocks'),
      signal: abortedOnce(() => existsSync(at(`.blocks.${process.pid}.tmp/0.onnx`))),
    });
    await expect(stopped).rejects.toThrow();
    expect(await contents(at('blocks'))).toEqual(before);
    expect(await readdir(folder)).toEqual(listed);
  });

  inWholeRun('reports what float16 boundaries change, and counts half the bytes', async () => {
    const cut = { ...options, profile: at('model.profile.json') };
    const exact = await partitionModelFile(at('model.onnx'), { ...cut, boundary: 'exact' });
    const half = await partitionModelFile(at('model.onnx'), {
      ...cut,
      boundary: 'float16',
      extract: at('half'),
    });
    expect(half.extracted?.largestDifference).toBeGreaterThan(0);
    expect(half.extracted?.largestDifference).toBeLessThan(0.01);
    // The change is the same when no file is kept.
    const shown = await partitionModelFile(at('model.onnx'), { ...cut, boundary: 'float16' });
    expect(shown.boundaryChange).toBe(half.extracted?.largestDifference);
    expect(shown.profile.measurement?.boundaryChange).toBe(shown.boundaryChange);
    expect(exact.boundaryChange).toBeUndefined();
    const inner = (profile: typeof exact.profile) =>
      profile.blocks.slice(0, -1).map(({ cutBytes }) => cutBytes);
    expect(inner(half.profile)).toEqual(inner(exact.profile).map((count) => count / 2));
  });

  it('refuses more CPU threads than the host has', async () => {
    const many = { ...options, devices: ['cpu:9999'], boundary: 'exact' as const };
    await expect(partitionModelFile(at('model.onnx'), many)).rejects.toThrow('CPU threads at once');
  });

  inWholeRun('measures layers itself when there is no profile', async () => {
    const devices = ['cpu:1', 'slow=cpu:1,slowdown=1000'];
    const { profile } = await partitionModelFile(at('model.onnx'), {
      ...options,
      devices,
      boundary: 'exact',
    });
    expect(profile.blocks.length).toBeGreaterThanOrEqual(2);
    const total = (name: string): number =>
      (profile.devices[name]?.layerLatencyUs?.['1']?.['1'] ?? []).reduce<number>(
        (sum, us) => sum + (us ?? 0),
        0,
      );
    expect(profile.devices.slow).toMatchObject({ emulated: true, slowdown: 1000 });
    expect(total('slow')).toBeGreaterThan(20 * total('cpu:1'));
    expect(profile.devices['cpu:1']?.layerLatencyUs?.['1']?.['1']?.length).toBe(profile.layers?.length);
  });
});
