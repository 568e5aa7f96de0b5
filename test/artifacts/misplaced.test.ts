import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/load.js';
import { InputError } from '../../src/formats/index.js';

/** told gives what is said of a pipeline's spec with a tuner. */
function told(tuner: unknown): string {
  const spec = { kind: 'pipeline', cluster: 'c.yaml', stages: [{ name: 'a', profile: 'a.json' }], tuner };
  try {
    parseArtifact(JSON.stringify(spec), 'x.json', ['pipeline']);
    return '';
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.message;
  }
}

describe('elsewhere()', () => {
  it.each([['hpa'], ['kpa'], [{ kind: 'hpa', utilisation: 0.6 }]])(
    'says where the tuner %j of a pipeline belongs',
    (tuner) => {
      const kind = typeof tuner === 'string' ? tuner : tuner.kind;
      expect(told(tuner)).toContain(
        `other tuners, and settings, belong in serving: { scheduler: <name>, tuner: { kind: ${kind} } }`,
      );
    },
  );

  it('says so of a word that is no tuner, without naming it, and nothing of one that is', () => {
    expect(told('inferlin')).toContain('did you mean inferline?');
    expect(told('inferlin')).toContain('tuner: { kind: … }');
    expect(told('inferline')).not.toContain('belong in serving');
  });
});
