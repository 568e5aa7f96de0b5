import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mobilenetv2 } from '../../examples/models/mobilenetv2.js';
import {
  deployPlan,
  loadServer,
  partitionModelFile,
  serveBundle,
  validateFiles,
  verifyLoad,
} from '../../src/api/index.js';
import type { Profile } from '../../src/formats/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { cases, inWholeRun, WHOLE, whole } from '../cases.js';

const PIXELS = 32;
const CPU = { provider: 'cpu', threads: 1 };

let folder: string;
const at = (file: string): string => join(folder, file);
const read = async <T>(file: string) => JSON.parse(await readFile(at(file), 'utf8')) as T;

const DEVICES = 'demand: { count: 1, hourlyCost: 0.7 }, spot: { as: demand, count: 1, hourlyCost: 0.2 }';
const SPECS = {
  pooled: `kind: pooled
cluster: { devices: { ${DEVICES} } }
models: [{ profile: tag.json, sloMs: 2000 }]
planner: { maxPartitions: 1 }
`,
  pipeline: `kind: pipeline
name: tags
cluster: { devices: { ${DEVICES} } }
stages: [{ name: tag, profile: tag.json, batch: 4, replicas: { spot: 1, demand: 1 } }]
sloMs: 2000
rps: 60
planner: { method: given }
`,
  cascade: `kind: cascade
name: tags
cluster: { devices: { spot: { as: demand, count: 1, hourlyCost: 0.2 } } }
models: [{ name: tag, profile: tag.json }]
records: records.csv
slo: { latencyMs: 2000 }
load: { maxRps: 60, ranges: ${whole(1, 2)} }
`,
} as const;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-alias-'));
  await writeFile(at('tag.onnx'), mobilenetv2({ image: PIXELS, widthMultiplier: 0.25, classes: 5 }));
  const output = at('tag.json');
  await partitionModelFile(at('tag.onnx'), {
    devices: ['cpu:1'],
    blocks: 1,
    method: 'greedy',
    boundary: 'exact',
    output,
  });
  const made = await read<Profile>('tag.json');
  const latencies = { 1: { 1: [4000], 2: [5000], 4: [7000] } };
  made.devices = { demand: { ...CPU, blockLatencyUs: latencies, blockLatencyP95Us: latencies } };
  await writeFile(output, JSON.stringify(made));
  const records = Array.from({ length: 20 }, (_, i) => `${i},tag,${i % 4 === 0 ? 0 : 1},1,0.${10 + i}`);
  await writeFile(at('records.csv'), `sample,model,prediction,label,certainty\n${records.join('\n')}\n`);
  for (const [kind, spec] of Object.entries(SPECS)) await writeFile(at(`${kind}.yaml`), spec);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Each validation of a cascade's plan searches it again. */
const KINDS = Object.keys(SPECS).filter((kind) => WHOLE || kind !== 'cascade');

it.each(KINDS)('a %s plan on an alias is deployed to the device of its class', async (kind) => {
  const solved = await solveSpec(at(`${kind}.yaml`), { output: at(`${kind}.plan.json`) });
  if (!('plan' in solved)) throw new Error(JSON.stringify(solved));
  await deployPlan(at(`${kind}.plan.json`), { output: at(kind) });
  const { devices } = await read<{ devices: object }>(`${kind}/manifest.json`);
  expect(devices).toEqual({ ...(kind === 'cascade' ? {} : { demand: CPU }), spot: CPU });
  expect(await validateFiles([at(`${kind}.plan.json`), at(kind)])).toMatchObject([
    { ok: true },
    { ok: true },
  ]);
});

inWholeRun(
  'classes of one device are served beside one another, and what a server measured of both corrects their class',
  async () => {
    const server = await serveBundle(at('pooled'), { port: 0 });
    try {
      expect(server.executorPids()).toHaveLength(2);
      const load = { rps: 100, durationS: cases(3, 6), seed: 1, output: at('load.json') };
      expect(await loadServer(server.url, load)).toMatchObject({ failures: {}, failed: 0 });
    } finally {
      await server.close();
    }
    const { corrected, executions } = await verifyLoad(at('load.json'), {
      plan: at('pooled'),
      correct: [`tag=${at('corrected.json')}`],
    });
    expect([...new Set(executions.map((one) => one.class))].sort()).toEqual(['demand', 'spot']);
    expect(corrected?.[0]?.cells.length).toBeGreaterThan(0);
    expect(corrected?.[0]?.cells.every((cell) => cell.class === 'demand')).toBe(true);
    expect(corrected?.[0]?.kept.every((cell) => cell.class === 'demand')).toBe(true);
    const { devices, measurement } = await read<Profile>('corrected.json');
    expect([Object.keys(devices), Object.keys(measurement?.correctedBy ?? {})]).toEqual([
      ['demand'],
      ['demand'],
    ]);
  },
);
