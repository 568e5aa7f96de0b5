import { describe, expect, it } from 'vitest';
import { everyInput, withOwnFaults } from '../../src/artifacts/index.js';
import { fault, InputError, MissingError } from '../../src/formats/index.js';

const missing = (path: string): MissingError =>
  new MissingError(`read ${path}`, [fault('there is no such file')], 'Make it.');
const bad = (path: string): InputError =>
  new InputError(`read ${path}`, [fault('is 3', '/kind'), fault('is 4', '/version')]);

async function refusal(...reads: readonly Promise<unknown>[]): Promise<unknown> {
  return everyInput('do it', reads).catch((error: unknown) => error);
}

describe('everyInput()', () => {
  it('gives the inputs in order', async () => {
    expect(await everyInput<[number, string]>('do it', [Promise.resolve(1), Promise.resolve('b')])).toEqual([
      1,
      'b',
    ]);
  });

  it('throws the error of a single input unchanged', async () => {
    const error = bad('a.json');
    expect(await refusal(Promise.resolve(1), Promise.reject(error))).toBe(error);
  });

  it('throws one error for several missing files, with every file once, and the advice', async () => {
    const error = await refusal(
      Promise.reject(missing('a.json')),
      Promise.resolve(1),
      Promise.reject(missing('b.json')),
      Promise.reject(missing('a.json')),
    );
    expect(error).toBeInstanceOf(MissingError);
    expect((error as Error).message).toBe(
      'Cannot do it:\n  a.json: there is no such file\n  b.json: there is no such file\nMake it.',
    );
  });

  it('throws no MissingError where one of the files exists and is bad', async () => {
    const error = await refusal(Promise.reject(missing('a.json')), Promise.reject(bad('b.json')));
    expect(error).toBeInstanceOf(InputError);
    expect(error).not.toBeInstanceOf(MissingError);
    expect((error as InputError).faults.map(({ path }) => path)).toEqual([
      'a.json',
      'b.json /kind',
      'b.json /version',
    ]);
  });

  it('throws an error that is not about an input before all others', async () => {
    const bug = new TypeError('x');
    expect(await refusal(Promise.reject(missing('a.json')), Promise.reject(bug))).toBe(bug);
  });
});

describe('withOwnFaults()', () => {
  const own = [fault('is wrong', '/models')];

  it('gives what is read, whatever is wrong with the spec', async () => {
    expect(await withOwnFaults('plan a spec', Promise.resolve(5), () => own)).toBe(5);
  });

  it('throws what cannot be read as it is, or together with the faults of the spec', async () => {
    const error = missing('a.json');
    const refused = (faults: typeof own) =>
      withOwnFaults('plan a spec', Promise.reject(error), () => faults).catch((thrown: unknown) => thrown);
    expect(await refused([])).toBe(error);
    expect(await refused(own)).toMatchObject({
      task: 'plan a spec',
      faults: [
        { path: 'a.json', message: 'there is no such file' },
        { path: '/models', message: 'is wrong' },
      ],
    });
    const bug = new Error('a bug');
    const broken = withOwnFaults('plan a spec', Promise.reject(bug), () => own);
    await expect(broken).rejects.toBe(bug);
  });
});
