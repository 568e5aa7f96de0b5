import { describe, expect, it } from 'vitest';
import type { ProgramTensor } from '../../src/programs/index.js';
import { streamOf } from '../../src/random/index.js';
import { inWholeRun, seeds } from '../cases.js';
import { directly } from './directly.js';
import { ARITHMETIC, numbers } from './fake-driver.js';
import { HEAD, moduleFile, ONE, PATIENT, programOf, type StartedOptions, started, turn } from './started.js';
import { wanderingProgram } from './wandering.js';

describe('ProgramHost', () => {
  it('passes handles on unread, and gives outputs by where they come from', async () => {
    const driver = await started(
      programOf(`
        const turned = call('turn', { x: request.in('x') });
        const sum = call('add', { a: turned.out('y'), b: request.in('x') });
        return { y: sum.out('y'), z: undefined };`),
    );
    expect(await driver.run(3, { x: numbers(1, 2) })).toMatchObject({
      outputs: { y: [3, 6] },
      notTaken: ['z'],
      calls: ['turn(x: request.x)', 'add(a: 0.y, b: request.x)'],
    });
  });

  it('reports a read once, however often it is awaited', async () => {
    const driver = await started(
      programOf(`
        const turned = call('turn', { x: request.in('x') });
        const [a, b] = await Promise.all([turned.read('y'), turned.read('y', 'FP32')]);
        const c = await turned.read('y');
        return { y: { ...c, data: Float32Array.of(a === b && b === c ? 1 : 0, c.data[1]) }, z: c };`),
    );
    expect((await driver.run(0, { x: numbers(1, 2) })).outputs).toEqual({ y: [1, 4], z: [2, 4] });
  });

  inWholeRun(
    'answers as the function does that is called directly, whatever the order of the answers',
    async () => {
      const path = wanderingProgram('throw new Error()');
      const module = await import(path);
      const components = ARITHMETIC;
      for (const seed of seeds(3, 20)) {
        const driver = await started(path, { seed, fake: { seed } });
        const draws = streamOf(seed, 'requests');
        const requests = Array.from({ length: 30 }, () => ({
          x: numbers(draws.integer(9), draws.integer(9)),
        }));
        const ended = await Promise.all(requests.map((request, run) => driver.run(run, request)));
        for (const [run, request] of requests.entries()) {
          const { outputs, notTaken, called } = await directly(module, request, { components, seed, run });
          expect(ended[run], `seed ${seed}, run ${run}`).toMatchObject({ outputs, notTaken });
          expect(ended[run]?.recorded.map(({ component }) => component)).toEqual(called);
        }
      }
    },
  );

  it('lets runs of any seed draw what they draw with that seed alone', async () => {
    const path = programOf(`
      const drawn = [random(), Math.random(), random()];
      return { y: { datatype: 'FP32', shape: [1, 2], data: Float32Array.of(drawn[0], drawn[1]) } };`);
    const draws = streamOf(11, 'program/5');
    const driver = await started(path, { seed: 11 });
    await driver.run(4, { x: numbers(0, 0) });
    expect((await driver.run(5, { x: numbers(0, 0) })).outputs.y).toEqual(
      [draws.uniform(), draws.uniform()].map(Math.fround),
    );
  });
});

describe('ProgramHost, of tensors that programs make', () => {
  const outputs = (datatype: string, shape: string) =>
    `export const inputs = [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }];
     export const outputs = [{ name: 'y', datatype: '${datatype}', shape: ${shape} }];`;
  const made = async (datatype: string, data: string) => {
    const driver = await started(
      moduleFile(`${outputs(datatype, '[-1, -1]')}
        export default () => ({ y: { datatype: '${datatype}', shape: [1, 2], data: ${data} } });`),
    );
    const tensors: unknown[] = [];
    const { ended } = driver;
    driver.ended = (run, end, calls) => {
      if ('outputs' in end) tensors.push(end.outputs.y);
      ended.call(driver, run, end, calls);
    };
    return (await driver.run(0, ONE)).failure?.message ?? tensors[0];
  };

  inWholeRun('takes each datatype in its array, and text as strings', async () => {
    const numbered = {
      BOOL: Uint8Array,
      UINT16: Uint16Array,
      FP16: Uint16Array,
      INT32: Int32Array,
      FP64: Float64Array,
    };
    for (const [datatype, array] of Object.entries(numbered))
      expect(await made(datatype, `${array.name}.of(1, 0)`)).toEqual({
        datatype,
        shape: [1, 2],
        data: array.of(1, 0),
      });
    expect(await made('INT64', 'BigInt64Array.of(1n, -2n)')).toMatchObject({
      data: BigInt64Array.of(1n, -2n),
    });
    expect(await made('BYTES', `['a', 'é']`)).toEqual({ datatype: 'BYTES', shape: [1, 2], data: ['a', 'é'] });
  });

  inWholeRun('refuses each in another array', async () => {
    const refused = (held: string, datatype: string) =>
      `returned as y what holds its data otherwise than in ${held}, as ${datatype} is held`;
    expect(await made('BYTES', `['a', 3]`)).toBe(refused('a list of strings', 'BYTES'));
    expect(await made('INT64', 'Int32Array.of(1, 2)')).toBe(refused('a BigInt64Array', 'INT64'));
    expect(await made('FP16', 'Float32Array.of(1, 2)')).toBe(refused('a Uint16Array', 'FP16'));
  });

  it('sends no more than the elements of a tensor that is a part of an array', async () => {
    const part = (await made('FP32', 'new Float32Array(100000).fill(5).subarray(7, 9)')) as ProgramTensor;
    expect([part.data, (part.data as Float32Array).buffer.byteLength]).toEqual([Float32Array.of(5, 5), 8]);
  });
});

describe('ProgramHost.cancel() and close()', () => {
  it('ends runs of which nothing more is reported', async () => {
    const driver = await started(
      programOf(
        `await call('turn', { x: request.in('x') }).read('y'); call('turn', { x: request.in('x') }); return {};`,
      ),
      { fake: { answers: (run) => run !== 0 } },
    );
    void driver.run(0, ONE);
    while (driver.waits(0) === 0) await turn();
    driver.leave(0);
    driver.host?.give(0, { from: 'task', task: 0, output: 'y' }, numbers(0, 0));
    expect((await driver.run(1, ONE)).notTaken).toEqual(['y', 'z']);
    driver.host?.cancel(0);
    void driver.run(0, ONE);
    while (driver.waits(0) === 0) await turn();
    driver.leave(0);
    await driver.host?.close();
    expect(() => driver.host?.begin(2)).toThrow('Cannot begin run 2: the program is closed');
  });

  it('refuses a run that goes on already, and values that nobody wants', async () => {
    const driver = await started(programOf(`await request.read('x'); return {};`), {
      fake: { answers: () => false },
    });
    const running = driver.run(0, ONE);
    expect(() => driver.host?.begin(0)).toThrow('Cannot begin run 0: it goes on already');
    while (driver.waits(0) === 0) await turn();
    const give = (input: string, x: ProgramTensor = ONE.x) =>
      driver.host?.give(0, { from: 'request', input }, x);
    expect(() => give('w')).toThrow('Cannot give run 0 input w: it waits for no such values');
    give('x');
    expect(() => give('x')).toThrow('Cannot give run 0 input x: it waits for no such values');
    await running;
  });
});

describe('ProgramHost, what a program prints', () => {
  it('keeps it out of the process, and hands it on', async () => {
    let text = '';
    const driver = await started(
      programOf(`console.log('to', 'whom'); console.error('it concerns'); return {};`),
      {
        printed: (part) => {
          text += part;
        },
      },
    );
    await driver.run(0, ONE);
    while (!text.includes('to whom') || !text.includes('it concerns')) await turn();
  });
});

describe('ProgramHost.start()', () => {
  const refused = async (text: string, name?: string, options?: StartedOptions) => {
    const path = moduleFile(text, name);
    const message = await started(path, options).then(
      () => 'was taken',
      (error: Error) => `${error.name}: ${error.message}`,
    );
    return message.replace(path, 'program');
  };

  it('reports all that keeps a module from being a program', async () => {
    expect(
      await refused(`
      export const inputs = [
        { name: '', datatype: 'FLOAT', shape: [1, 0] },
        { name: 'x', datatype: 'FP32', shape: [-1] },
        { name: 'x', datatype: 'FP32', shape: [] },
        7,
      ];
      export const outputs = {};
      export default {};`),
    ).toBe(`InputError: Cannot use the program program:
  /inputs/0/name: is ""; give a text
  /inputs/0/datatype: is "FLOAT"; give one of BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, FP16, FP32, FP64, BYTES
  /inputs/0/shape: is [1,0]; give a list of sizes, of which one at least: each a whole number from 1 on, or -1 where it is free
  /inputs/2/shape: is []; give a list of sizes, of which one at least: each a whole number from 1 on, or -1 where it is free
  /inputs/3: is 7; give an object with name, datatype and shape
  /inputs/2/name: is "x", as that of /inputs/1; give each its own
  /outputs: is no list of tensors; give one tensor at least, by name, datatype and shape
  /default: the default export is no function that returns outputs, as generators and classes are none; write \`export default async function (request, { call }) { … }\``);
    expect(await refused('')).toMatch(
      /\/inputs: the module does not export inputs; write .*\n.*\/outputs: the module does not export outputs.*\n.*\/default/,
    );
  });

  it.each([
    [
      'is no JavaScript',
      'let a = 1;\nexport const = 3;',
      /its module threw SyntaxError: .* \(program\.mjs:2\)$/,
    ],
    ['throws', `\nthrow new Error('not today');`, /its module threw Error: not today \(program\.mjs:2\)$/],
    ['imports what there is not', `import './nowhere.mjs';`, /its module threw Error: Cannot find module/],
    ['loops', `for (;;);`, /its module had not loaded after 500 ms$/],
    [
      'waits for ever',
      `await new Promise(() => {});`,
      /its module awaits at its top level what never comes$/,
    ],
    ['ends the process', `process.exit(3);`, /its module ended its thread, as process\.exit\(\) does/],
    [
      'takes too much heap',
      `const all = []; for (;;) all.push(new Array(1e5).fill(all.length + 0.5));`,
      /its module took more than 32 MiB of heap$/,
    ],
    ['sets a timer', `setInterval(() => {}, 1);`, /its module threw Error: setInterval is withheld/],
  ])('refuses a module that %s', async (_, text, words) => {
    const message = await refused(text, 'program.mjs', {
      limits: { ...(text.startsWith('for') ? { loadMs: 500 } : PATIENT), heapMiB: 32 },
    });
    expect(message).toMatch(/^InputError: Cannot use the program program: /);
    expect(message).toMatch(words);
  });

  it.each([
    ['a generator', 'async function* () {}'],
    ['a class', 'class {}'],
  ])('refuses %s as a program', async (_, written) => {
    expect(await refused(`export const inputs = [], outputs = []; export default ${written};`)).toContain(
      'as generators and classes are none',
    );
  });

  it('refuses TypeScript where Node does not run it, and a file that is not there', async () => {
    if (!('typescript' in process.features))
      expect(await refused(HEAD, 'program.ts')).toMatch(
        /Node .* runs no such file; write the program in JavaScript, as \.mjs or \.js/,
      );
    await expect(started('/nowhere/program.mjs')).rejects.toMatchObject({ name: 'MissingError' });
  });

  it('takes a module that waits while it is loaded, and reports its tensors without what else they have', async () => {
    const driver = await started(
      moduleFile(`${HEAD} await Promise.resolve(); await import('node:path'); inputs[0].parameters = { a: () => {} };
      export default () => ({});`),
    );
    expect(driver.host?.face.inputs).toEqual([
      { name: 'x', datatype: 'FP32', shape: [-1, 2], parameters: {} },
    ]);
    expect((await driver.run(0, ONE)).notTaken).toEqual(['y', 'z']);
  });
});
