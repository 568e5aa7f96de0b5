import { describe, expect, it } from 'vitest';
import { fault, InputError, MissingError } from '../../src/artifacts/index.js';

describe('InputError', () => {
  it('reads as one sentence with one fault and as a list with several, and ends with the advice', () => {
    expect(new InputError('read x', [fault('it is empty')]).message).toBe('Cannot read x: it is empty');
    const several = new InputError('read x', [fault('is -1', '/a'), fault('is -2', '/b')], 'Mend both.');
    expect(several.message).toBe('Cannot read x:\n  /a: is -1\n  /b: is -2\nMend both.');
  });

  it('is the base class of MissingError', () => {
    expect(new MissingError('profile', [fault('no cuda')])).toBeInstanceOf(InputError);
  });
});
