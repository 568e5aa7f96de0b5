import { expect, it } from 'vitest';
import type { Loaded } from '../../../src/artifacts/index.js';
import { loadPooled } from '../../../src/specs/pooled/pooled.js';

it('loadPooled() refuses more than 1000 models before it reads the profile of any', async () => {
  const models = Array.from({ length: 1001 }, (_, i) => ({ profile: `none${i}.json`, sloMs: 1 }));
  const value = { kind: 'pooled', cluster: 'none.json', models };
  const spec = { kind: 'pooled', value, path: 'spec.json', sha256: '' } as unknown as Loaded<'pooled'>;
  await expect(loadPooled(spec)).rejects.toThrow('has 1001 models; at most 1000 are planned together');
});
