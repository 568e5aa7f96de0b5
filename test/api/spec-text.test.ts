import { describe, expect, it } from 'vitest';
import { changedSpec, type SpecChanges } from '../../src/api/spec-text.js';
import { parseArtifact } from '../../src/artifacts/index.js';

const when = '{ output: y, atLeast: 0 }';
const head = `# yaml-language-server: $schema=../schemas/pipeline.schema.json
kind: pipeline   # kept`;
const tail = `sloMs: 100
planner: { method: given }
`;

function change(text: string, changes: SpecChanges, path = 'spec.yaml'): string {
  const { value } = parseArtifact(text, path, ['pipeline']);
  return changedSpec({ text, path, spec: value }, changes);
}

const shares = [
  { stage: 0, at: 0, probability: 0.25 },
  { stage: 0, at: 1, probability: 0.75 },
];

/** yaml writes a spec whose first stage has these lines of edges. */
const yaml = (...edges: string[]): string => `${head}
cluster: 'cluster.yaml' # and this
stages:
  - name: a
    profile: a.json
    next:
${edges.map((edge) => `      ${edge}\n`).join('')}  - { name: b,   profile: b.json }
  - { name: c, profile: "b.json" }
exclusive: [[b, c]]
${tail}`;

describe('changedSpec()', () => {
  it('puts probabilities into edges of any layout, and keeps all else', () => {
    expect(
      change(yaml(`- { to: b, probability: 0.5,   when: ${when} } # sometimes`, '- c   # else'), { shares }),
    ).toBe(
      yaml(
        `- { to: b, probability: 0.25,   when: ${when} } # sometimes`,
        '- { to: c, probability: 0.75 }   # else',
      ),
    );
    expect(change(yaml(`- { when: ${when}, to: b }`, '- { to: "c" }'), { shares })).toBe(
      yaml(`- { when: ${when}, to: b, probability: 0.25 }`, '- { to: "c", probability: 0.75 }'),
    );
  });

  it('puts probabilities into edges that are written line by line', () => {
    expect(
      change(
        yaml('- to: b # one', `  when: ${when}`, '- when:', '    output: y', '    atLeast: 0', '  to: c'),
        {
          shares,
        },
      ),
    ).toBe(
      yaml(
        ...['- to: b', '  probability: 0.25 # one', `  when: ${when}`],
        ...['- when:', '    output: y', '    atLeast: 0', '  to: c', '  probability: 0.75'],
      ),
    );
  });

  it('changes JSON as JSON', () => {
    const json = (edges: string) => `{ "kind": "pipeline", "cluster": "c.json", "sloMs": 1,
  "planner": { "method": "given" }, "exclusive": [["b", "c"]],
  "stages": [ { "name": "a", "profile": "a.json", "next": ${edges} },
    { "name": "b", "profile": "b.json" }, { "name": "c", "profile": "b.json" } ] }
`;
    const changed = change(
      json('[{"to":"b", "when": {"output": "y", "below": 1}}, "c"]'),
      { shares },
      'spec.json',
    );
    expect(changed).toBe(
      json(
        '[{"to":"b", "probability": 0.25, "when": {"output": "y", "below": 1}}, { "to": "c", "probability": 0.75 }]',
      ),
    );
    expect(() => JSON.parse(changed)).not.toThrow();
  });

  it('names files as they are seen from elsewhere', () => {
    const moved = (path: string): string => `../${path}`;
    const changed = change(`${yaml('- b', '- c')}load: { trace: t.csv }\n`, { shares, moved });
    expect(changed.split('\n')[0]).toBe('# yaml-language-server: $schema=../../schemas/pipeline.schema.json');
    for (const line of [
      'cluster: "../cluster.yaml" # and this',
      '{ trace: "../t.csv" }',
      '{ name: c, profile: "../b.json" }',
    ])
      expect(changed).toContain(line);
  });

  it('refuses to change what an alias shares with another place', () => {
    const text = yaml(`- &edge { to: b, probability: 0.5, when: ${when} }`, '- c').replace(
      'name: b,   profile: b.json',
      'name: b, profile: b.json, next: [*edge]',
    );
    const change2 = () => change(text, { shares: [{ stage: 1, at: 0, probability: 0.1 }] });
    expect(change2).toThrow('/stages/1/next/0: is the alias *edge');
    const value = yaml('- { to: b, probability: &p 0.5 }', '- { to: c, probability: *p }');
    expect(() => change(value, { shares })).toThrow('/stages/0/next/1: is the alias *p');
  });
});
