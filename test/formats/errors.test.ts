import { describe, expect, it } from 'vitest';
import { fault, InputError, MissingError, option } from '../../src/formats/index.js';

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

describe('option()', () => {
  it('is the place of a fault, which then names the option as data, with what was given for it', () => {
    expect(fault('is 0', option('rps'))).toEqual({ path: '`rps`', message: 'is 0', option: 'rps' });
    expect(fault('is 0', option('traces', '"m=a.csv"'))).toEqual({
      path: '`traces` "m=a.csv"',
      message: 'is 0',
      option: 'traces',
    });
    expect(fault('is 0', '/rps')).toEqual({ path: '/rps', message: 'is 0' });
  });

  it('stands in a sentence as a mark', () => {
    expect(`give ${option('output')} a name`).toBe('give `output` a name');
  });
});
