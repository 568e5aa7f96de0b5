import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadArtifact, parseArtifact } from '../../src/artifacts/index.js';
import { type ArtifactKind, InputError, MissingError, sha256Of } from '../../src/formats/index.js';
import { inWholeRun, whole } from '../cases.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-artifacts-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const CLUSTER = 'devices:\n  L4: { count: 2, perServer: 4, virtual: [1, 2] }\nnetworkGbps: 10\n';

function faultsOf(text: string, path = 'x.yaml', kinds: ArtifactKind[] = ['pooled']) {
  try {
    parseArtifact(text, path, kinds);
  } catch (error) {
    if (error instanceof InputError) return error.faults;
    throw error;
  }
  throw new Error('accepted');
}

describe('loadArtifact()', () => {
  it('reads YAML and JSON alike, with the digest of the bytes', async () => {
    const yaml = join(folder, 'cluster.yaml');
    await writeFile(yaml, CLUSTER);
    const json = join(folder, 'cluster.json');
    await writeFile(
      json,
      JSON.stringify({ devices: { L4: { count: 2, perServer: 4, virtual: [1, 2] } }, networkGbps: 10 }),
    );
    const fromYaml = await loadArtifact(yaml, ['cluster']);
    expect(fromYaml.value).toEqual((await loadArtifact(json, ['cluster'])).value);
    expect(fromYaml.sha256).toBe(sha256Of(await readFile(yaml)));
  });

  it('reads files with a byte order mark, and names other encodings', async () => {
    const write = async (name: string, text: string, encoding: 'utf8' | 'utf16le') => {
      await writeFile(join(folder, name), `\uFEFF${text}`, encoding);
      return loadArtifact(join(folder, name), ['cluster']);
    };
    const cluster = { devices: { L4: { count: 2, perServer: 4, virtual: [1, 2] } }, networkGbps: 10 };
    expect((await write('mark.yaml', CLUSTER, 'utf8')).value).toEqual(cluster);
    expect((await write('mark.json', JSON.stringify(cluster), 'utf8')).value).toEqual(cluster);
    await expect(write('wide.yaml', CLUSTER, 'utf16le')).rejects.toThrow('it is text in UTF-16');
  });

  it('reports a file that is missing, is a folder, or is empty', async () => {
    await expect(loadArtifact(join(folder, 'none.json'), ['profile'])).rejects.toThrow(MissingError);
    await expect(loadArtifact(join(folder, 'none.json'), ['profile'])).rejects.toThrow(
      'there is no such file',
    );
    await expect(loadArtifact(folder, ['profile'])).rejects.toThrow('it is a folder');
    await writeFile(join(folder, 'empty.json'), ' \n');
    await expect(loadArtifact(join(folder, 'empty.json'), ['profile'])).rejects.toThrow('the file is empty');
  });
});

describe('parseArtifact()', () => {
  it('reports all faults of a spec at once, each with its place', () => {
    const faults = faultsOf(`
kind: pooled
cluster: cluster.yaml
models:
  - { profile: a.json, sloMs: -1 }
  - { sloMs: 10, wieght: 2 }
planner: { objective: speed }
`);
    expect(faults.map((fault) => fault.path).sort()).toEqual(
      ['/models/0/sloMs', '/models/1', '/models/1', '/planner/objective'].sort(),
    );
    const text = faults.map((fault) => fault.message).join('\n');
    expect(text).toContain('lacks "profile"');
    expect(text).toContain('unknown key "wieght"; known keys are profile, sloMs, weight');
    expect(text).toContain('is "speed"; valid values are "throughput", "cost", "power"');
    expect(text).toContain('is -1; it must be above 0');
  });

  it('reports the faults inside an inline cluster, and not that the cluster is no string', () => {
    const faults = faultsOf(
      'kind: pooled\ncluster: { devices: { L4: { count: -2 } } }\nmodels: [{ profile: a, sloMs: 1 }]\n',
    );
    expect(faults).toEqual([
      { path: '/cluster/devices/L4/count', message: 'is -2; it must be at least 0 (line 2, column 29)' },
    ]);
  });

  it('refuses unknown keys in specs and tolerates them in artifacts', () => {
    expect(faultsOf(`${CLUSTER}colour: red\n`, 'c.yaml', ['cluster'])[0]?.message).toContain(
      'unknown key "colour"',
    );
    const profile = {
      kind: 'profile',
      version: '1.7',
      model: { name: 'm' },
      blocks: [{ cutBytes: 0 }],
      devices: { d: { blockLatencyUs: { 1: { 1: [2.5] } }, colour: 'red' } },
    };
    expect(parseArtifact(JSON.stringify(profile), 'p.json', ['profile']).value).toEqual(profile);
  });

  it('refuses an unknown major version', () => {
    expect(faultsOf('{"kind":"profile","version":"2.0"}', 'p.json', ['profile'])[0]?.message).toContain(
      '2.0 is not known',
    );
  });

  it('refuses NaN and infinity, which YAML can express', () => {
    const faults = faultsOf(
      'devices: { L4: { count: 1, hourlyCost: .inf } }\nnetworkGbps: .nan\n',
      'c.yaml',
      ['cluster'],
    );
    expect(faults.length).toBeGreaterThan(0);
  });

  it('names the valid kinds where the kind is another', () => {
    const said = (text: string, kinds: ArtifactKind[] = ['pooled']) =>
      faultsOf(text, 'x.json', kinds)[0]?.message;
    expect(said('{"kind":"cluster","devices":{}}')).toBe('its kind is "cluster"; "pooled" is needed here');
    expect(said('{"kind":"x"}', ['load-report', 'bundle'])).toBe(
      'its kind is "x", which is no kind of file; "load-report" or "bundle" is needed here',
    );
    expect(said('{"kind":"poled"}')).toBe(
      'its kind is "poled", which is no kind of file; "pooled" is needed here; did you mean pooled?',
    );
    expect(said('{}')).toBe('it has no "kind"; "pooled" is needed here');
    expect(said('{"kind":"pooled","models":[]}', ['pooled-plan', 'bundle'])).toBe(
      'its kind is "pooled"; "pooled-plan" or "bundle" is needed here, which plan solve makes of a spec',
    );
    expect(said('{"kind":5}')).toContain('its kind is 5, which is no kind of file');
    expect(faultsOf('[1]', 'x.json')[0]?.message).toContain('holds a list');
  });

  it('reports the fault of text that does not parse', () => {
    expect(faultsOf('{"kind": ', 'x.json')[0]?.message).toContain('it is not JSON');
    for (const [text, path] of [
      ['a: 1\na: 2\n', 'x.yaml'],
      ['{"a": 1,\n"a": 2}', 'x.json'],
    ] as const)
      expect(faultsOf(text, path)).toEqual([
        { path: 'line 2, column 1', message: 'the key "a" is given twice in one map' },
        { path: '/kind', message: 'it has no "kind"; "pooled" is needed here' },
      ]);
  });

  it('reports faults of YAML in words of its own, with line and column', () => {
    const told = (text: string) => faultsOf(text, 'x.yaml').map(({ path, message }) => `${path} ${message}`);
    expect(told('kind: pooled\n---\nkind: pooled\n')).toEqual([
      expect.stringMatching(/a second document begins; one file holds one.* at line 2, column 1$/),
    ]);
    expect(told('kind: pooled\n\tmodels: []\n')[0]).toMatch(/ at line 2, column \d+$/);
    expect(told('kind: pooled\nmodels: [a, b\n')[0]).toMatch(/ at line \d+, column \d+$/);
    expect(told('kind: pooled\nmodels: "a\n')[0]).toMatch(/ at line \d+, column \d+$/);
    for (const text of [
      'a: b: c',
      'a: *b c',
      '%x\na: 1',
      'a: "\\q"',
      'a: @b',
      '- a\nb: 1',
      '? a\n: [',
      '!x a: {',
    ])
      for (const said of told(`${text}\n`)) expect(said).not.toMatch(/YAML\.|implicit|flow|block|indicator/i);
    expect(told('kind: pooled\nmodels:\n  - { profile: a, sloMs: 1, slo: 5 }\ncluster: c.yaml\n')).toEqual([
      expect.stringMatching(/^\/models\/0 has an unknown key "slo".* \(line 3, column 29\)$/),
    ]);
  });

  it('merges maps by <<, as people write them who know YAML', () => {
    const text =
      'kind: pooled\ncluster: c.yaml\nmodels:\n  - &a { profile: a, sloMs: 1 }\n  - { <<: *a, profile: b }\n';
    expect(parseArtifact(text, 'x.yaml', ['pooled']).value).toMatchObject({
      models: [
        { profile: 'a', sloMs: 1 },
        { profile: 'b', sloMs: 1 },
      ],
    });
  });

  it('refuses whole numbers that a double does not hold, as they are written, beside other faults', () => {
    const why = 'whole numbers beyond 9007199254740991 (2^53 - 1) are not told apart; give one nearer to 0';
    const inYaml =
      'kind: pooled\ncluster: { devices: { L4: { count: 9007199254740993 } } }\nmodels: [{ profile: a, sloMs: 0, weight: -9007199254740993 }]\n';
    expect(faultsOf(inYaml, 'x.yaml')).toEqual([
      {
        path: '/cluster/devices/L4/count',
        message: `is 9007199254740993; ${why} (line 2, column 29)`,
      },
      { path: '/models/0/weight', message: `is -9007199254740993; ${why} (line 3, column 34)` },
      { path: '/models/0/sloMs', message: 'is 0; it must be above 0 (line 3, column 24)' },
    ]);
    expect(faultsOf(inYaml.replace('count', '36028797018963969'), 'x.yaml')[0]).toEqual({
      path: 'line 2, column 29',
      message: expect.stringContaining('the key is 36028797018963969; '),
    });
    const inJson = (weight: string) =>
      `{"kind":"pooled","cluster":"c.yaml","models":[{"profile":"a","sloMs":5},{"profile":"a","sloMs":5,"weight":${weight}}]}`;
    expect(faultsOf(inJson('-9007199254740993'), 'x.json')).toEqual([
      { path: '/models/1/weight', message: `is -9007199254740993; ${why}` },
    ]);
    for (const right of ['9007199254740991', '1e300', '1.5', '9007199254740993e-3'])
      expect(parseArtifact(inJson(right), 'x.json', ['pooled']).kind).toBe('pooled');
  });

  it('refuses whole numbers with an exponent that a double does not hold, where a field takes whole numbers alone', () => {
    const why = 'whole numbers beyond 9007199254740991 (2^53 - 1) are not told apart; give one nearer to 0';
    const huge = { path: '/cluster/devices/L4/count', message: `is 100000000000000000; ${why}` };
    const inJson = (count: string) =>
      `{"kind":"pooled","cluster":{"devices":{"L4":{"count":${count}}}},"models":[{"profile":"a","sloMs":1e17}]}`;
    const inYaml = (count: string) =>
      `kind: pooled\ncluster: { devices: { L4: { count: ${count} } } }\nmodels: [{ profile: a, sloMs: 1e+17 }]\n`;
    for (const count of ['1e17', '1E+17', '0.1e18', '100000000000000000.0']) {
      expect(faultsOf(inJson(count), 'x.json'), count).toEqual([huge]);
      expect(faultsOf(inYaml(count), 'x.yaml'), count).toEqual([
        { ...huge, message: `${huge.message} (line 2, column 29)` },
      ]);
    }
    for (const count of ['1e3', '9007199254740991']) {
      expect(parseArtifact(inJson(count), 'x.json', ['pooled']).kind).toBe('pooled');
      expect(parseArtifact(inYaml(count), 'x.yaml', ['pooled']).kind).toBe('pooled');
    }
  });

  it('reads JSON behind a byte order mark, and files with the line ends of Windows', () => {
    const json = '\uFEFF{"kind":"pooled","cluster":"c.yaml","models":[{"profile":"a","sloMs":5}]}';
    expect(parseArtifact(json, 'x.json', ['pooled']).value).toMatchObject({ models: [{ sloMs: 5 }] });
    const yaml = '\uFEFFkind: pooled\r\ncluster: c.yaml\r\nmodels:\r\n  - profile: a\r\n    sloMs: 5\r\n';
    expect(parseArtifact(yaml, 'x.yaml', ['pooled']).value).toMatchObject({ models: [{ sloMs: 5 }] });
    expect(faultsOf('{\n  "kind" 5\n}', 'x.json')[0]?.message).toMatch(/line 2,? column 10/);
  });

  inWholeRun('refuses text that is nested too deeply, or whose anchors multiply', () => {
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const said = [
      ['x.json', `{"kind": "pooled", "models": ${deep(2000)}}`, 'nested more than 64 levels deep'],
      ['x.yaml', `kind: pooled\nmodels: ${deep(2000)}`, 'nested more than 64 levels deep'],
      ['x.yaml', `kind: pooled\nmodels: ${deep(40_000)}`, 'nested more than 64 levels deep'],
      ['x.yaml', 'kind: pooled\nmodels: &a [*a]', 'nested more than 64 levels deep'],
      ['x.yaml', 'kind: pooled\nmodels: [*b]', 'no anchor &b stands before its alias'],
      [
        'x.yaml',
        `a0: &a0 [x]\n${Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`).join('\n')}`,
        'aliases stand for too many values, or for one that holds itself; write out what they repeat',
      ],
      [
        'x.yaml',
        `a: &a 1\n${Array.from({ length: 101 }, (_, i) => `k${i}: *a`).join('\n')}`,
        'it has 101 aliases',
      ],
      ['x.yaml', 'kind: pooled\nmodels: ]', 'at line 2, column 9'],
    ] as const;
    for (const [path, text, words] of said)
      expect(() => parseArtifact(text, path, ['pooled'])).toThrow(words);
  });

  it('says once what is wrong at a place of a YAML text, however often the library does', () => {
    const open = faultsOf('['.repeat(50_000));
    expect(open.map(({ message }) => message)).toContain('it is nested more than 64 levels deep');
    for (const faults of [open, faultsOf('['.repeat(500)), faultsOf('kind: [\nmodels: ]}')]) {
      const texts = faults.map(({ path, message }) => `${path} ${message}`);
      expect(texts).toEqual([...new Set(texts)]);
    }
  });

  inWholeRun('names every key that a YAML map holds twice, in a map of any size', () => {
    const keys = Array.from({ length: whole(8000, 40_000) }, (_, i) => `k${i}: 1`).join('\n');
    expect(() => parseArtifact(`${keys}\nk7: 2\nk9: 2`, 'x.yaml', ['cluster'])).toThrow(
      /the key "k7" is given twice[\s\S]*the key "k9" is given twice/,
    );
  });

  it('says what is wrong with a number that is not finite', () => {
    const text = 'devices: { L4: { count: .nan } }\nnetworkGbps: 10';
    expect(() => parseArtifact(text, 'x.yaml', ['cluster'])).toThrow('/devices/L4/count: is not a number');
  });
});
