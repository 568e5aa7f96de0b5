import { describe, expect, it } from 'vitest';
import { fewOf, inWholeRun, WHOLE } from '../cases.js';
import { numbers } from './fake-driver.js';
import { ONE, PATIENT, programOf, SOON, started, turn } from './started.js';

/** What programs do wrong: the body, and the reason and words with which the run ends. */
const MISTAKES: readonly (readonly [what: string, body: string, reason: string, words: RegExp])[] = [
  [
    'throws',
    `throw new TypeError('no such luck');`,
    'program-error',
    /^threw TypeError: no such luck \(program\.mjs:\d+\)$/,
  ],
  [
    'throws what is no Error',
    `throw { toString() { throw 1; } };`,
    'program-error',
    /^threw an object that is no Error$/,
  ],
  [
    'throws later',
    `await request.read('x'); null.x;`,
    'program-error',
    /^threw TypeError: .*null.*\(program\.mjs:\d+\)$/,
  ],
  [
    'recurses without end',
    `const f = () => f() + 1; f();`,
    'program-error',
    /^threw RangeError: Maximum call stack/,
  ],
  [
    'calls what there is not',
    `call('paint', {});`,
    'program-error',
    /^calls "paint", which is no component here; there are add, turn \(program\.mjs:\d+\)$/,
  ],
  [
    'goes on after a mistake',
    `try { call('paint', {}); } catch {} return {};`,
    'program-error',
    /^calls "paint"/,
  ],
  [
    'calls what objects inherit',
    `call('constructor', {});`,
    'program-error',
    /^calls "constructor", which is no component/,
  ],
  [
    'gives too little and too much',
    `call('add', { a: request.in('x'), c: request.in('x') });`,
    'program-error',
    /^calls add: it has no input "c", only a, b; its input b is missing \(/,
  ],
  ['gives no inputs', `call('turn');`, 'program-error', /^calls turn: its input x is missing/],
  [
    'gives a handle',
    `call('turn', { x: call('turn', { x: request.in('x') }) });`,
    'program-error',
    /^calls turn: what is given as x is a handle; give one of its outputs, as `handle\.out\('y'\)`/,
  ],
  [
    'gives values',
    `call('turn', { x: await request.read('x') });`,
    'program-error',
    /^calls turn: what is given as x is no source: calls take no values/,
  ],
  [
    'gives a number',
    `call('turn', { x: 3 });`,
    'program-error',
    /what is given as x is no source; give an output/,
  ],
  [
    'asks the request for what it lacks',
    `request.in('w');`,
    'program-error',
    /^asks the request for "w"; it has x \(program\.mjs:\d+\)$/,
  ],
  [
    'reads of the request what it lacks',
    `await request.read('w');`,
    'program-error',
    /^asks the request for "w"; it has x \(program\.mjs:\d+\)$/,
  ],
  [
    'asks for an output that there is not',
    `call('turn', { x: request.in('x') }).out('w');`,
    'program-error',
    /^asks turn for "w"; it gives y, z \(/,
  ],
  [
    'reads another datatype',
    `await request.read('x', 'INT64');`,
    'program-error',
    /^reads x as INT64; it is FP32 \(/,
  ],
  ['returns nothing', ``, 'program-error', /^returned absent; return an object with y, z$/],
  [
    'returns what it does not give',
    `return { w: request.in('x') };`,
    'program-error',
    /^returned "w", which is none of its outputs y, z$/,
  ],
  [
    'returns two wrong outputs',
    `return { y: 3, z: { datatype: 'INT8', shape: [1, 2], data: [] } };`,
    'program-error',
    /^returned as y what is no source.*; returned as z what is "INT8", not FP32$/,
  ],
  [
    'returns another shape',
    `return { y: { datatype: 'FP32', shape: [1, 3], data: new Float32Array(3) } };`,
    'program-error',
    /^returned as y what has the shape \[1, 3\], not \[1, 2\]$/,
  ],
  [
    'returns two rows',
    `return { y: { datatype: 'FP32', shape: [2, 2], data: new Float32Array(4) } };`,
    'program-error',
    /^returned as y what has the shape \[2, 2\], not \[1, 2\]$/,
  ],
  [
    'returns too few elements',
    `return { y: { datatype: 'FP32', shape: [1, 2], data: new Float32Array(1) } };`,
    'program-error',
    /^returned as y what has 1 elements; its shape has 2$/,
  ],
  [
    'returns another array',
    `return { y: { datatype: 'FP32', shape: [1, 2], data: [1, 2] } };`,
    'program-error',
    /^returned as y what holds its data otherwise than in a Float32Array, as FP32 is held$/,
  ],
  [
    'waits for what never comes',
    `await new Promise(() => {});`,
    'program-stuck',
    /^waits for what is neither a read nor follows from one/,
  ],
  [
    'waits so after a read',
    `await request.read('x'); await new Promise(() => {});`,
    'program-stuck',
    /^waits for what is neither/,
  ],
  [
    'waits so while a task runs',
    `call('turn', { x: request.in('x') }); await new Promise(() => {});`,
    'program-stuck',
    /^waits for what is neither/,
  ],
  [
    'leaves a rejection',
    `(async () => { throw new Error('left'); })(); await call('turn', { x: request.in('x') }).read('y'); return {};`,
    'program-error',
    /^threw Error: left \(program\.mjs:\d+\), where nothing awaited it$/,
  ],
  [
    'throws in a callback',
    `queueMicrotask(() => { throw new Error('left'); }); await call('turn', { x: request.in('x') }).read('y'); return {};`,
    'program-error',
    /^threw Error: left .*where nothing awaited it$/,
  ],
  [
    'throws in a tick',
    `process.nextTick(() => { throw new Error('left'); }); await call('turn', { x: request.in('x') }).read('y'); return {};`,
    'program-error',
    /^threw Error: left .*where nothing awaited it$/,
  ],
  [
    'sets a timer',
    `await new Promise((resolve) => setTimeout(resolve, 1));`,
    'program-error',
    /^threw Error: setTimeout is withheld from programs/,
  ],
  [
    'asks the network',
    `await fetch('http://localhost');`,
    'program-error',
    /^threw Error: fetch is withheld from programs/,
  ],
  [
    'draws from the machine',
    `crypto.randomUUID();`,
    'program-error',
    /^threw Error: crypto\.randomUUID is withheld/,
  ],
  [
    'reads the clock of the machine',
    `process.hrtime();`,
    'program-error',
    /^threw Error: process\.hrtime is withheld/,
  ],
  ['returns a list', `return [];`, 'program-error', /^returned \[\]; return an object with/],
  [
    'returns what a generator gives',
    `return (function* () {})();`,
    'program-error',
    /^returned {}; return an object with/,
  ],
  [
    'posts messages as if it were a thread of its own, and then throws',
    `const { parentPort } = process.getBuiltinModule('node:worker_threads');
     for (const said of [{ answer: 'acted', acts: [] }, null, 7]) parentPort.postMessage(said);
     throw new Error('unheard');`,
    'program-error',
    /^threw Error: unheard/,
  ],
  ['ends the process', `process.exit(0);`, 'program-error', /^ended its thread, as process\.exit\(\) does/],
  ['loops', `for (;;);`, 'program-stuck', /^did not give control back within 400 ms/],
  ['loops after a read', `await request.read('x'); for (;;);`, 'program-stuck', /^did not give control back/],
  ['awaits in a loop', `while (true) await null;`, 'program-stuck', /^did not give control back/],
  [
    'sleeps',
    `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);`,
    'program-stuck',
    /^did not give control back/,
  ],
  [
    'takes too much heap',
    `const all = []; for (;;) all.push(new Array(1e5).fill(all.length + 0.5));`,
    'program-limit',
    /^took more than 48 MiB of heap$/,
  ],
  [
    'calls too often',
    `for (;;) call('turn', { x: request.in('x') });`,
    'program-limit',
    /^makes more than 5 calls, the most that one run may \(program\.mjs:\d+\)$/,
  ],
];

/** These wait for the limit of a continuation, as the one that loops does. */
const SLOW = new Set(['loops after a read', 'awaits in a loop', 'sleeps']);

describe('ProgramHost, where a program makes a mistake', () => {
  const ofOneRun = MISTAKES.filter(
    ([what, , reason]) => reason === 'program-error' && what !== 'ends the process',
  );

  inWholeRun('ends each run that makes a mistake of its own, and answers those between', async () => {
    const mistakes = ofOneRun.map(([, body], i) => `if (which === ${100 + i}) { ${body} } else `);
    const path = programOf(`
      const which = (await request.read('x')).data[0];
      ${mistakes.join('\n')} {
        const turned = call('turn', { x: request.in('x') });
        await turned.read('y');
        return { y: turned.out('y') };
      }`);
    const driver = await started(path, { limits: { ...PATIENT, heapMiB: 48, tasks: 5 } });
    for (const [i, [what, , reason, words]] of ofOneRun.entries()) {
      const { failure } = await driver.run(2 * i, { x: numbers(100 + i, 0) });
      expect({ what, ...failure }).toMatchObject({ what, reason, message: expect.stringMatching(words) });
      expect((await driver.run(2 * i + 1, ONE)).outputs).toEqual({ y: [2, 4] });
    }
  });

  it.each(MISTAKES.filter((one) => WHOLE || !(SLOW.has(one[0]) || ofOneRun.slice(1).includes(one))))(
    'ends the run that %s, and no other',
    async (_, body, reason, words) => {
      const path = programOf(
        `
      if (wrong) { ${body} }
      else {
        const turned = call('turn', { x: request.in('x') });
        await turned.read('y');
        return { y: turned.out('y') };
      }`.replace('wrong', `(await request.read('x')).data[0] === 9`),
      );
      const driver = await started(path, {
        limits: { ...(reason === 'program-stuck' ? SOON : PATIENT), heapMiB: 48, tasks: 5 },
      });
      const others = [0, 1, 2].map((run) => driver.run(run, ONE));
      const culprit = driver.run(9, { x: numbers(9, 0) });
      const later = [3, 4].map((run) => driver.run(run, ONE));
      const { failure } = await culprit;
      expect(failure?.reason).toBe(reason);
      expect(failure?.message).toMatch(words);
      for (const ended of await Promise.all([...others, ...later]))
        expect(ended.outputs).toEqual({ y: [2, 4] });
      expect((await driver.run(5, ONE)).outputs).toEqual({ y: [2, 4] });
    },
  );

  it('lets a run make as many calls as it may, and no more', async () => {
    const path = programOf(`
      for (let left = (await request.read('x')).data[0]; left > 0; left--) call('turn', { x: request.in('x') });
      return {};`);
    const driver = await started(path, { limits: { tasks: 3 } });
    expect((await driver.run(0, { x: numbers(3, 0) })).calls).toHaveLength(3);
    const { failure, calls } = await driver.run(1, { x: numbers(4, 0) });
    expect([failure?.reason, calls.length]).toEqual(['program-limit', 3]);
  });

  inWholeRun('refuses inputs whose datatypes, shapes or rows do not fit, with all of them', async () => {
    const face = (name: string, datatype: 'FP32' | 'INT64', shape: number[]) => ({ name, datatype, shape });
    const components = {
      takes: {
        inputs: [face('a', 'INT64', [-1, 2]), face('b', 'FP32', [-1, 3]), face('c', 'FP32', [-1])],
        outputs: [face('y', 'FP32', [-1, 2])],
      },
      grows: { inputs: [face('a', 'FP32', [-1, 2])], outputs: [face('y', 'FP32', [4, 2])] },
      free: { inputs: [face('a', 'FP32', [-1, 2])], outputs: [face('y', 'FP32', [-1, -1])] },
      joins: {
        inputs: [face('a', 'FP32', [-1, 2]), face('b', 'FP32', [-1, 2])],
        outputs: [face('y', 'FP32', [-1, 2])],
      },
      one: { inputs: [face('a', 'FP32', [1, -1])], outputs: [face('y', 'FP32', [1, 2])] },
    };
    const failing = async (body: string) => {
      const driver = await started(programOf(`const x = request.in('x');${body}`), { components });
      return (await driver.run(0, ONE)).failure?.message;
    };
    expect(await failing(`call('takes', { a: x, b: x, c: x });`)).toMatch(
      /^calls takes: what is given as a is FP32\[1, 2\], not INT64\[-1, 2\]; what is given as b is FP32\[1, 2\], not FP32\[-1, 3\]; what is given as c is FP32\[1, 2\], not FP32\[-1\] \(/,
    );
    const grown = `const y = call('grows', { a: x }).out('y');`;
    expect(await failing(`${grown} call('joins', { a: x, b: y });`)).toMatch(
      /^calls joins: its inputs hold unequal numbers of rows: a 1, b 4 \(/,
    );
    expect(await failing(`${grown} call('one', { a: y });`)).toMatch(
      /what is given as a is FP32\[4, 2\], not FP32\[1, -1\]/,
    );
    expect(await failing(`${grown} return { y };`)).toMatch(
      /^returned as y what is FP32\[4, 2\], not FP32\[1, 2\]$/,
    );
    expect(await failing(`call('one', { a: x });`)).toMatch(/^returned absent/);
    const free = `const y = call('free', { a: x }).out('y');`;
    expect(await failing(`${free} call('joins', { a: x, b: y }); call('one', { a: y });`)).toMatch(
      /^returned absent/,
    );
  });

  it('says how many rows a call takes', async () => {
    const x = { name: 'a', datatype: 'FP32', shape: [-1, 2] } as const;
    const components = {
      grows: { inputs: [x], outputs: [{ ...x, name: 'y', shape: [4, 2] }] },
      keeps: { inputs: [x], outputs: [{ ...x, name: 'y' }] },
    };
    const driver = await started(
      programOf(`
        const grown = call('grows', { a: request.in('x') }).out('y');
        const kept = call('keeps', { a: grown }).out('y');
        call('keeps', { a: kept });
        return {};`),
      { components },
    );
    expect((await driver.run(0, ONE)).calls).toEqual([
      'grows(a: request.x)',
      'keeps(a: 0.y)*4',
      'keeps(a: 1.y)*4',
    ]);
  });
});

describe('ProgramHost, where runs meddle with one another', () => {
  const BESIDES = `const kept = {}; let release; const gate = new Promise((resolve) => { release = resolve; });`;

  it.each([
    [
      'passes on a source',
      `call('turn', { x: kept.source });`,
      /what is given as x belongs to the run of another request/,
    ],
    ['reads a handle', `await kept.handle.read('y');`, /^uses what the run of another request was handed/],
    [
      'calls with the context',
      `kept.call('turn', { x: request.in('x') });`,
      /^uses what the run of another request was handed/,
    ],
  ])('ends the run that %s of another', async (_, body, words) => {
    const driver = await started(
      programOf(
        `
        if ((await request.read('x')).data[0] === 9) { ${body} }
        const handle = call('turn', { x: request.in('x') });
        Object.assign(kept, { handle, source: handle.out('y'), call });
        await handle.read('y');
        return { y: handle.out('z') };`,
        BESIDES,
      ),
      { fake: { answers: (run, source) => run !== 0 || source.from === 'request' } },
    );
    const first = driver.run(0, ONE);
    await driver.run(1, ONE);
    const { failure } = await driver.run(9, { x: numbers(9, 0) });
    expect(failure?.reason).toBe('program-error');
    expect(failure?.message).toMatch(words);
    driver.host?.give(0, { from: 'task', task: 0, output: 'y' }, numbers(2, 4));
    expect((await first).outputs).toEqual({ y: [-1, 2] });
  });

  const LOOPS: [string, string, string][] = [
    ['itself', 'await gate; for (;;);', ''],
    ['in a microtask', 'release(); queueMicrotask(() => { for (;;); });', 'await gate;'],
    ['in a tick', 'release(); process.nextTick(() => { for (;;); });', 'await gate;'],
  ];
  it.each(fewOf(LOOPS, 1))(
    'blames the run that loops %s, also where another one was resumed with it',
    async (_, looping, waiting) => {
      const driver = await started(
        programOf(
          `
        const { data } = await request.read('x');
        const handle = call('turn', { x: request.in('x') });
        const reading = handle.read('y');
        if (data[0] === 9) { ${looping} }
        if (data[0] === 1) { ${waiting} release(); }
        await reading;
        return { y: handle.out('y') };`,
          BESIDES,
        ),
        { limits: SOON, fake: { answers: (run, source) => run === 2 || source.from === 'request' } },
      );
      const isFirst = waiting === '';
      const culprit = isFirst ? driver.run(9, { x: numbers(9, 0) }) : undefined;
      await driver.run(2, { x: numbers(2, 0) });
      const other = driver.run(0, ONE);
      while (driver.waits(0) < 2) await turn();
      const ended = await (culprit ?? driver.run(9, { x: numbers(9, 0) }));
      expect(ended.failure?.reason).toBe('program-stuck');
      driver.host?.give(0, { from: 'task', task: 0, output: 'y' }, numbers(2, 4));
      if (isFirst) expect((await other).outputs).toEqual({ y: [2, 4] });
      // On its new thread nobody opens the gate for which it waits, so that it ends for that.
      else expect((await other).failure?.message).toMatch(/^waits for what is neither/);
    },
  );

  it('does not let a program call or read after its run has ended', async () => {
    let printed = '';
    const driver = await started(
      programOf(`
        const handle = call('turn', { x: request.in('x') });
        const later = async (act) => { for (let left = 9; left > 0; left--) await null; act(); };
        for (const act of [() => call('turn', { x: request.in('x') }), () => handle.read('y')])
          later(act).catch((error) => console.log(error.message));
        return { y: request.in('x') };`),
      {
        printed: (text) => {
          printed += text;
        },
      },
    );
    const ended = await driver.run(0, ONE);
    expect(ended.calls).toEqual(['turn(x: request.x)']);
    const said = 'goes on after its run has ended\n';
    while (printed.length < 2 * said.length) await turn();
    expect(printed).toBe(said + said);
    expect((await driver.run(1, ONE)).outputs).toEqual({ y: [1, 2] });
  });
});
