import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadArtifact, policyFiles, readPolicies } from '../../src/artifacts/index.js';
import { InputError, MissingError, sha256Of, ToldFaults } from '../../src/formats/index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-policies-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let written = 0;
async function policyFile(text: string): Promise<string> {
  const path = join(folder, `policy-${written++}.yaml`);
  await writeFile(path, `kind: policy\n${text}`);
  return path;
}

async function faultsOf(text: string): Promise<string[]> {
  try {
    await loadArtifact(await policyFile(text), ['policy']);
  } catch (error) {
    if (error instanceof InputError) return error.faults.map(({ path, message }) => `${path} ${message}`);
    throw error;
  }
  return [];
}

describe('a policy file', () => {
  it('holds choices of either family, and a schedule of devices', async () => {
    const valid = [
      'scheduler: fifo\ndrop: { kind: full-batch, share: 0.5 }\nslackNs: 0\n',
      'scheduler: reservation\ncorrection: { kind: average, weight: 1, deviations: 2.5 }\n',
      // Only reservations have such a correction, or such a choice.
      'correction: { kind: average, weight: 1, deviations: 2.5 }\n',
      'askOthers: false\nmostTries: 3\n',
      'scaling: { schedule: [{ atS: 1.5, pool: detect, devices: 0 }] }\n',
      '',
    ];
    for (const text of valid) expect([text, await faultsOf(text)]).toEqual([text, []]);
  });

  it('reports every fault of a choice by the kind that was meant, and guesses slips of the pen', async () => {
    const faults = await faultsOf(
      [
        'order: deadlin',
        'drop: { kind: full-batch, share: 2, spares: all-waited }',
        'late: background',
        'formation: { kind: eager }',
        'correction: { kind: averages }',
        'sharing: 3',
        'placment: on-arrival',
        'slackNs: 0.5',
        'scaling: { schedule: [{ atS: -1, devices: 1 }] }',
      ].join('\n'),
    );
    expect(faults).toHaveLength(11);
    for (const said of [
      '/order is "deadlin"; valid values are fifo, deadline, latest-deadline, adaptive; did you mean deadline?',
      '/drop/share is 2; it must be at most 1',
      '/drop has an unknown key "spares"; known keys are kind, share; did you mean share?',
      '/late background needs patience and mostMissed and window: give { kind: background, patience: …, mostMissed: …, window: … }',
      '/formation eager takes nothing more: give the word eager alone',
      '/correction/kind is "averages"; valid values are none, average, steps; did you mean average?',
      '/slackNs is 0.5; it must be a whole number',
      '/scaling/schedule/0 lacks "pool"',
      '/scaling/schedule/0/atS is -1; it must be at least 0',
    ])
      expect(faults.map((fault) => fault.replace(/ \(line \d+, column \d+\)$/, ''))).toContain(said);
    expect(faults.find((fault) => fault.startsWith('/ has'))).toMatch(
      /"placment".*did you mean placement\? \(line \d+, column 1\)$/,
    );
  });

  it('is held against the choices of the scheduler that it names', async () => {
    expect(await faultsOf('scheduler: reservation\ndrop: never\n')).toEqual([
      expect.stringMatching(/^\/ has an unknown key "drop"; known keys are .*firstSight/),
    ]);
    expect(await faultsOf('scheduler: reactve\ndrop: nevr\n')).toEqual([
      '/scheduler is "reactve"; valid values are stage-local, fifo, inferline, gears, reactive, pard, pard-back, pard-sf, pard-oc, pard-split, pard-wcl, pard-lower, pard-upper, pard-fcfs, pard-hbf, pard-lbf, pard-instant, nexus, clipper++, naive, room-first, ray-serve, ray-serve-batch, triton, reservation, dyorc, greedy, round-robin, static, ray-like; did you mean reactive? (line 2, column 1)',
      expect.stringMatching(/^\/drop is "nevr"/),
    ]);
  });
});

describe('readPolicies()', () => {
  it('reads the files among key=value choices, in their order, with their digests', async () => {
    const text = 'scheduler: fifo\ndrop: expired\n';
    const path = await policyFile(text);
    const told = new ToldFaults();
    const read = await readPolicies(['slackNs=3', path, 'drop=a.yaml', 'drop'], told);
    expect(told.count).toBe(0);
    const file = { path, sha256: sha256Of(Buffer.from(`kind: policy\n${text}`)) };
    expect(read).toEqual([
      'slackNs=3',
      { at: `${path} `, scheduler: 'fifo', choices: { drop: 'expired' }, file },
      'drop=a.yaml',
      'drop',
    ]);
    expect(policyFiles(read)).toEqual([file]);
  });

  it('reports the faults of all files, each with its file, and that files are only missing', async () => {
    const wrong = await policyFile('drop: nevr\n');
    const told = new ToldFaults();
    await readPolicies([join(folder, 'none.json'), wrong], told);
    expect(told.error('simulate').message).toMatch(
      /none\.json: there is no such file[\s\S]*policy-\d+\.yaml \/drop: is/,
    );
    const missing = new ToldFaults();
    await readPolicies([join(folder, 'none.json')], missing);
    expect(missing.error('simulate')).toBeInstanceOf(MissingError);
  });
});
