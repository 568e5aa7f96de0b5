import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/load.js';
import { type ArtifactKind, InputError } from '../../src/formats/index.js';

const SPEC = 'kind: pooled\nversion: "1.0"\ncluster: { devices: { L4: { count: 1 } } }\n';
const MODELS = 'models: [{ profile: a.json, sloMs: 10 }]\n';
const PLAN = new URL('../../examples/pooled/expected-plan.json', import.meta.url);

function faultsOf(text: string, file: string, kind: ArtifactKind): string[] {
  try {
    parseArtifact(text, file, [kind]);
    return [];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.faults.map(({ path, message }) => `${path}: ${message}`);
  }
}

describe('a list, a map or a text of another size than its schema says', () => {
  it.each([
    [`${SPEC}models: []\n`, '/models: has no entries; it must have at least 1'],
    [
      `${SPEC}models: [{ profile: "", sloMs: 10 }]\n`,
      '/models/0/profile: has no characters; it must have at least 1',
    ],
    [
      `${SPEC.replace('count: 1', 'count: 1, virtual: [2, 1, 2]')}${MODELS}`,
      '/cluster/devices/L4/virtual: has 2 twice, at 0 and 2',
    ],
    [
      `${SPEC.replace('{ L4: { count: 1 } }', '{}')}${MODELS}`,
      '/cluster/devices: has no keys; it must have at least 1',
    ],
  ])('is reported in words: %j', (text, told) => {
    expect(faultsOf(text, 'spec.yaml', 'pooled').join('\n')).toContain(told);
  });

  it('is reported in words where it is too long', () => {
    const plan = readFileSync(PLAN, 'utf8').replace(/"blocks": \[\s*(\d+)/, '"blocks": [0, $1');
    expect(faultsOf(plan, 'plan.json', 'pooled-plan').join('\n')).toMatch(
      /\/blocks: has 3 entries; it must have at most 2/,
    );
    const priorities = Array.from({ length: 16 }, (_, i) => `"${i + 1}": 2`).join(', ');
    const text = `${SPEC}${MODELS}serving: { scheduler: room-first, priorities: { ${priorities} } }\n`;
    expect(faultsOf(text, 'spec.yaml', 'pooled').join('\n')).toContain(
      'has 16 keys; it must have at most 15',
    );
  });
});
