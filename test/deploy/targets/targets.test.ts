import { describe, expect, it } from 'vitest';
import { LOCAL } from '../../../src/deploy/targets/local.js';
import { targetNamed } from '../../../src/deploy/targets/targets.js';
import { InputError } from '../../../src/formats/index.js';

describe('targetNamed()', () => {
  it('gives the target of a name', () => {
    expect(targetNamed('local', 'deploy plan.json')).toBe(LOCAL);
  });

  it('refuses a name that is no target, and reports those that are', () => {
    for (const name of ['tensorrt', 'Local', 'toString', '__proto__', '']) {
      const refused = () => targetNamed(name, 'deploy plan.json');
      expect(refused).toThrow(InputError);
      expect(refused).toThrow(`Cannot deploy plan.json: \`target\`: is "${name}"; the targets are local`);
    }
  });
});
