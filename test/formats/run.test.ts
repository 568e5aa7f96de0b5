import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validateFiles } from '../../src/api/index.js';
import { loadArtifact, parseArtifact } from '../../src/artifacts/index.js';
import { InputError, type Run, type RunTask } from '../../src/formats/index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-run-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const TASK: RunTask = { component: 'llm', inputs: [], after: [], outputBytes: 40, rows: 1 };
const RUN: Run = {
  kind: 'run',
  version: '1.0',
  application: 'assistant',
  requestBytes: 2100,
  tasks: [
    { ...TASK, inputs: ['request'] },
    { ...TASK, component: 'search', inputs: [0, 0], after: [0], thinkMs: 1.5, rows: 4 },
    { ...TASK, inputs: [1, 'request'], after: [0, 1] },
  ],
};

/** changed gives the run with other fields, and another third task; fields that are undefined are left out. */
function changed(fields: object, task: object = {}): object {
  const [first, second, third] = RUN.tasks;
  return { ...RUN, tasks: [first, second, { ...third, ...task }], ...fields };
}

function told(value: unknown): string[] {
  try {
    parseArtifact(JSON.stringify(value), 'run.json', ['run']);
    return [];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.faults.map(({ path, message }) => `${path} ${message}`);
  }
}

describe('a recorded run', () => {
  it('is read as it is written', () => {
    expect(parseArtifact(JSON.stringify(RUN), 'run.json', ['run']).value).toEqual(RUN);
  });

  it.each([
    ['the smallest', { requestBytes: 0, tasks: [{ ...TASK, outputBytes: 0, thinkMs: 0 }] }, {}],
    [
      'the largest sizes',
      { requestBytes: 2 ** 53 - 1 },
      { outputBytes: 2 ** 53 - 1, rows: 65_536, thinkMs: 9e9 },
    ],
    ['the same input twice', {}, { inputs: [1, 1, 'request', 'request'] }],
    ['inputs that were not read', {}, { inputs: [0, 1], after: [] }],
    ['values that were read and are no inputs', {}, { inputs: [], after: [1, 0] }],
    ['keys of the writer', { id: 'a-7', more: { than: ['this'] }, $schema: 'urn:x' }, {}],
    ['a later minor version', { version: '1.7' }, {}],
    ['4,096 tasks', { tasks: Array.from({ length: 4096 }, () => TASK) }, {}],
  ])('may have %s', (_what, fields, task) => {
    expect(told(changed(fields, task))).toEqual([]);
  });

  it.each([
    ['another kind', { kind: 'runs' }, /^\/kind its kind is "runs"/],
    ['no kind', { kind: undefined }, /^\/kind it has no "kind"; "run" is needed here/],
    ['no version', { version: undefined }, /^\/ lacks "version"$/],
    ['a version of another major', { version: '2.0' }, /^\/version format version 2\.0 is not known/],
    ['a version that is none', { version: '1' }, /^\/version is "1", which is not a version of two numbers/],
    ['no application', { application: undefined }, /^\/ lacks "application"$/],
    ['an application without a name', { application: '' }, /^\/application has no characters/],
    ['an application that is a number', { application: 7 }, /^\/application is [^;]*; it must be a text/],
    ['no size', { requestBytes: undefined }, /^\/ lacks "requestBytes"$/],
    ['a negative size', { requestBytes: -1 }, /^\/requestBytes is [^;]*; it must be at least 0/],
    ['half a byte', { requestBytes: 0.5 }, /^\/requestBytes is [^;]*; it must be a whole number/],
    ['a size as text', { requestBytes: '5' }, /^\/requestBytes is [^;]*; it must be a whole number/],
    ['no tasks', { tasks: undefined }, /^\/ lacks "tasks"$/],
    ['an empty list of tasks', { tasks: [] }, /^\/tasks has no entries; it must have at least 1/],
    ['tasks that are no list', { tasks: { 0: TASK } }, /^\/tasks is [^;]*; it must be a list/],
    ['a task that is none', { tasks: [null] }, /^\/tasks\/0 is [^;]*; it must be an object/],
    [
      '4,097 tasks',
      { tasks: Array.from({ length: 4097 }, () => TASK) },
      /^\/tasks has 4097 tasks; at most 4096 are taken \(docs\/limits\.md\)$/,
    ],
  ])('must not have %s', (_what, fields, message) => {
    expect(told(changed(fields))).toEqual([expect.stringMatching(message)]);
  });

  it.each([
    ['without a component', { component: undefined }, / lacks "component"$/],
    ['of a component without a name', { component: '' }, /\/component has no characters/],
    ['without inputs', { inputs: undefined }, / lacks "inputs"$/],
    ['whose input is a word', { inputs: ['reqest'] }, /\/inputs\/0 .*"request"/],
    ['whose input is negative', { inputs: [1, -1] }, /\/inputs\/1 is [^;]*; it must be at least 0/],
    ['whose input is half a task', { inputs: [0.5] }, /\/inputs\/0 is [^;]*; it must be a whole number/],
    [
      'whose input is null',
      { inputs: [null] },
      /\/inputs\/0 is [^;]*; it must be a whole number or "request"/,
    ],
    [
      'whose input is itself',
      { inputs: [1, 2] },
      /\/inputs\/1 is 2, and this is task 2; give a task before it, 0 to 1, or "request"$/,
    ],
    ['whose input comes later', { inputs: [3] }, /\/inputs\/0 is 3, and this is task 2;/],
    ['without what was read', { after: undefined }, / lacks "after"$/],
    ['behind the request by name', { after: ['request'] }, /\/after\/0 is [^;]*; it must be a whole number/],
    [
      'behind itself',
      { after: [0, 2] },
      /\/after\/1 is 2, and this is task 2; give a task before it, 0 to 1$/,
    ],
    ['behind a later one', { after: [9] }, /\/after\/0 is 9, and this is task 2;/],
    ['behind one twice', { after: [1, 0, 1] }, /\/after has 1 twice, at 0 and 2$/],
    ['behind a negative one', { after: [-1] }, /\/after\/0 is [^;]*; it must be at least 0/],
    ['after negative thinking', { thinkMs: -0.1 }, /\/thinkMs is [^;]*; it must be at least 0/],
    [
      'after thinking for longer than is simulated',
      { thinkMs: 9e9 + 1 },
      /\/thinkMs is [^;]*; it must be at most 9000000000/,
    ],
    ['after thinking for no number', { thinkMs: '1' }, /\/thinkMs is [^;]*; it must be a number/],
    ['without a size of what it gave', { outputBytes: undefined }, / lacks "outputBytes"$/],
    ['of a negative size', { outputBytes: -1 }, /\/outputBytes is [^;]*; it must be at least 0/],
    ['of half a byte', { outputBytes: 1.5 }, /\/outputBytes is [^;]*; it must be a whole number/],
    [
      'of a size that no double holds',
      { outputBytes: 2e17 },
      /\/outputBytes is 200000000000000000; whole numbers beyond/,
    ],
    ['without rows', { rows: undefined }, / lacks "rows"$/],
    ['of no row', { rows: 0 }, /\/rows is [^;]*; it must be at least 1/],
    ['of half a row', { rows: 1.5 }, /\/rows is [^;]*; it must be a whole number/],
    ['of more rows than a batch has', { rows: 65_537 }, /\/rows is [^;]*; it must be at most 65536/],
    ['with a slip of the pen', { thinkMS: 1 }, / has an unknown key "thinkMS"; .*did you mean thinkMs\?$/],
  ])('must not have a task %s', (_what, task, message) => {
    const faults = told(changed({}, task));
    expect(faults).toEqual([expect.stringMatching(message)]);
    expect(faults[0]).toMatch(/^\/tasks\/2[ /]/);
  });

  it('says of the first task and the second what they may name', () => {
    expect(told({ ...RUN, tasks: [{ ...TASK, inputs: [0], after: [0] }] })).toEqual([
      '/tasks/0/inputs/0 is 0, and no task stands before the first; give "request"',
      '/tasks/0/after/0 is 0, and no task stands before the first; leave it out',
    ]);
    expect(told({ ...RUN, tasks: [TASK, { ...TASK, inputs: [1], after: [1] }] })).toEqual([
      '/tasks/1/inputs/0 is 1, and this is task 1; give task 0, which stands before it, or "request"',
      '/tasks/1/after/0 is 1, and this is task 1; give task 0, which stands before it',
    ]);
  });

  it('reports every contradiction at once, the first 20 and how many more there are', () => {
    const tasks = Array.from({ length: 30 }, () => ({ ...TASK, inputs: [30], after: [30] }));
    const faults = told({ ...RUN, tasks });
    expect(faults).toHaveLength(21);
    expect(faults.at(-1)).toBe(' … and 40 more faults');
  });
});

describe('plan validate of a recorded run', () => {
  it('takes it as a file of its own, and says what it is', async () => {
    const path = join(folder, 'run.json');
    await writeFile(path, JSON.stringify(RUN, undefined, 2));
    expect((await loadArtifact(path, ['run'])).value).toEqual(RUN);
    expect(await validateFiles([path])).toEqual([
      { path, ok: true, what: 'recorded run of assistant: 3 tasks' },
    ]);
  });

  it('refuses one that contradicts itself', async () => {
    const path = join(folder, 'wrong.json');
    await writeFile(path, JSON.stringify(changed({}, { after: [2] })));
    const [file] = await validateFiles([path]);
    expect(file).toMatchObject({ ok: false, faults: [{ path: '/tasks/2/after/0' }] });
  });
});
