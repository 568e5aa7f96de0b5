import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Dice } from '../../bench/seeded/dice.js';
import { validateFiles } from '../../src/api/index.js';
import {
  asOneRun,
  eachRun,
  everyInput,
  loadRuns,
  placesOf,
  sha256OfFile,
  writeWhole,
} from '../../src/artifacts/index.js';
import { fault, InputError, MissingError, type Run, sha256Of, ToldFaults } from '../../src/formats/index.js';
import { inWholeRun } from '../cases.js';

let folder: string;
const at = (name: string) => join(folder, name);
const FILE = 'runs.jsonl';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-runs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const TASK = { component: 'llm', inputs: ['request'], after: [], outputBytes: 40, rows: 1 };
const RUN = {
  kind: 'run',
  version: '1.0',
  application: 'assistant',
  requestBytes: 2100,
  tasks: [TASK, { ...TASK, component: 'search', inputs: [0], after: [0], thinkMs: 1.5 }],
};
const LINE = JSON.stringify(RUN);

async function written(content: string | Buffer, name = FILE): Promise<string> {
  await writeFile(at(name), content);
  return at(name);
}

/** refusal gives the error of a file with this content. */
async function refusal(content: string | Buffer): Promise<InputError> {
  const error = await loadRuns(await written(content)).then(
    () => new Error('the file was taken'),
    (error: unknown) => error,
  );
  if (!(error instanceof InputError)) throw error;
  return error;
}

/** told gives the faults of a file with this content, with its name in place of its path. */
async function told(content: string | Buffer): Promise<string[]> {
  const { faults } = await refusal(content);
  return faults.map(({ path, message }) => `${path.replace(at(FILE), FILE)} ${message}`);
}

describe('loadRuns()', () => {
  it('gives the runs in the order of their lines, with the digest of the bytes', async () => {
    const runs = Array.from({ length: 1000 }, (_, i) => ({ ...RUN, requestBytes: i }));
    const path = await written(runs.map((run) => `${JSON.stringify(run)}\n`).join(''));
    const loaded = await loadRuns(path);
    const lines = runs.map((_, i) => i + 1);
    expect(loaded).toEqual({ path, sha256: await sha256OfFile(path), count: 1000, runs, lines });
  });

  it('says on which line each run stands, blank ones counted', async () => {
    const { lines } = await loadRuns(await written(`\n${LINE}\n \n\n${LINE}\n`));
    expect(lines).toEqual([2, 5]);
  });

  it.each([
    ['CRLF', `${LINE}\r\n${LINE}\r\n`],
    ['a last line without its end', `${LINE}\n${LINE}`],
    ['blank lines', `\n \t\n${LINE}\n\r\n\n${LINE}\n\n`],
    ['a byte order mark', `\uFEFF${LINE}\n${LINE}\n`],
    ['a byte order mark on a line of its own', `\uFEFF\n${LINE}\n${LINE}\n`],
    ['spaces around its runs', `  ${LINE} \n\t${LINE}`],
  ])('reads a file with %s', async (_what, text) => {
    expect((await loadRuns(await written(text))).runs).toEqual([RUN, RUN]);
  });

  it('reads a file that is packed with gzip, whose digest is that of the packed bytes', async () => {
    const packed = gzipSync(`${LINE}\n${LINE}\n`);
    const loaded = await loadRuns(await written(packed));
    expect([loaded.runs, loaded.sha256]).toEqual([[RUN, RUN], sha256Of(packed)]);
    expect((await refusal(packed.subarray(0, -9))).message).toMatch(
      /packed with gzip, and its end is missing$/,
    );
    expect((await refusal(Buffer.from('PK\u0003\u0004 and more'))).message).toContain('packed as zip');
  });

  it('reads a pipe, whose pieces end anywhere', async () => {
    const pipe = at('pipe');
    execFileSync('mkfifo', [pipe]);
    const text = `${LINE.replace('assistant', 'für 你好 🙂')}\n`.repeat(3);
    const script = `const out = require('node:fs').createWriteStream(process.argv[1]);
      const bytes = Buffer.from(process.argv[2]);
      (async () => { for (let i = 0; i < bytes.length; i += 7) {
        out.write(bytes.subarray(i, i + 7));
        await new Promise(setImmediate);
      } out.end(); })();`;
    const ended = once(spawn(process.execPath, ['-e', script, pipe, text]), 'exit');
    const { runs, sha256 } = await loadRuns(pipe);
    expect(runs.map(({ application }) => application)).toEqual(Array(3).fill('für 你好 🙂'));
    expect(sha256).toBe(sha256Of(text));
    await ended;
  });

  it('leaves out keys that it does not know', async () => {
    const { runs } = await loadRuns(await written(JSON.stringify({ ...RUN, id: 'a', prompt: ['x'] })));
    expect(runs).toEqual([RUN]);
  });

  it('reports a file that is missing, is a folder, or is empty', async () => {
    await expect(loadRuns(at('none.jsonl'))).rejects.toThrow(MissingError);
    await expect(loadRuns(folder)).rejects.toThrow('it is a folder, not a file');
    for (const content of ['', '\n', ' \r\n\uFEFF\n'])
      expect((await refusal(content)).message).toBe(`Cannot read ${at(FILE)}: the file is empty`);
  });

  it('counts as reading the file, which the same run may not replace', async () => {
    const path = await written(LINE);
    await link(path, at('other-name'));
    await asOneRun(async () => {
      await loadRuns(path);
      await expect(writeWhole(at('other-name'), 'new')).rejects.toThrow('an input that would be replaced');
    });
  });
});

describe('the faults of a file of runs', () => {
  const of = (change: object) => JSON.stringify({ ...RUN, ...change });
  const ofTask = (change: object) => of({ tasks: [TASK, { ...TASK, ...change }] });

  it.each([
    ['of another kind', of({ kind: 'profile' }), '/kind its kind is "profile"; "run" is needed here'],
    ['without a version', of({ version: undefined }), 'lacks "version"'],
    [
      'of a later version',
      of({ version: '2.0' }),
      '/version format version 2.0 is not known; this program reads 1.x',
    ],
    ['without tasks', of({ tasks: [] }), '/tasks has no entries; it must have at least 1'],
    ['with a task without rows', ofTask({ rows: undefined }), '/tasks/1 lacks "rows"'],
    [
      'with an input of itself',
      ofTask({ inputs: [1] }),
      '/tasks/1/inputs/0 is 1, and this is task 1; give task 0, which stands before it, or "request"',
    ],
    [
      'behind what comes later',
      ofTask({ after: [7] }),
      '/tasks/1/after/0 is 7, and this is task 1; give task 0, which stands before it',
    ],
    ['behind one task twice', ofTask({ after: [0, 0] }), '/tasks/1/after has 0 twice, at 0 and 1'],
    ['that is a list', `[${LINE}]`, 'it holds a list, not an object'],
    ['that is null', 'null', 'it holds null, not an object'],
    ['that is a number', '12', 'it holds number, not an object'],
    [
      'that is cut',
      LINE.slice(0, 50),
      `it is not JSON: a text is not closed on its line (line 4, column ${LINE.indexOf('"assistant"') + 1})`,
    ],
    [
      'that two runs share',
      `${LINE} ${LINE}`,
      `it is not JSON: { stands behind the end of the value (line 4, column ${LINE.length + 2})`,
    ],
    [
      'with a key twice',
      LINE.replace('"requestBytes"', '"application":"x","requestBytes"'),
      `the key "application" is given twice in one map (line 4, column ${LINE.indexOf('"requestBytes"') + 1})`,
    ],
    [
      'with a huge whole number',
      LINE.replace('2100', '9007199254740993'),
      '/requestBytes is 9007199254740993; whole numbers beyond 9007199254740991 (2^53 - 1) are not told apart; give one nearer to 0',
    ],
    [
      'with a number that is not finite',
      LINE.replace('1.5', '1e999'),
      '/tasks/1/thinkMs is not a finite number; the largest is about 1.8e308',
    ],
    [
      'that is nested deeply',
      `{"kind":"run","x":${'['.repeat(100)}${']'.repeat(100)}}`,
      'it is nested more than 64 levels deep',
    ],
    ['that is nested without end', '['.repeat(500_000), 'it is nested more than 64 levels deep'],
    [
      'that is too long',
      `${LINE}${' '.repeat(2 ** 20)}`,
      'the line has more than 1048576 bytes (docs/limits.md)',
    ],
  ])('are reported with the line of a run %s', async (_what, line, message) => {
    const faults = await told(`${LINE}\n\n${LINE}\r\n${line}\n${LINE}\n`);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^runs\.jsonl:4 /);
    expect(faults[0]?.slice('runs.jsonl:4 '.length)).toBe(message);
  });

  it('are reported of a line that is not text in UTF-8, and of no other', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${LINE}\n`),
      Buffer.from(LINE.replace('assistant', 'b\u00e4'), 'latin1'),
      Buffer.from(`\n${LINE}`),
    ]);
    expect(await told(bytes)).toEqual(['runs.jsonl:2 the line is not text in UTF-8']);
    expect((await refusal(Buffer.from(`${LINE}\n`, 'utf16le'))).message).toContain(
      'it is text in UTF-16; save it as UTF-8',
    );
  });

  it('are reported of all lines at once, also of the last without its end', async () => {
    const lines = [
      of({ kind: 'x' }),
      LINE,
      ofTask({ rows: 0, outputBytes: -1 }),
      '',
      '{"kind":',
      LINE,
      ofTask({ after: [1] }),
    ];
    expect((await told(lines.join('\n'))).map((one) => one.split(' ').slice(0, 2).join(' '))).toEqual([
      'runs.jsonl:1 /kind',
      'runs.jsonl:3 /tasks/1/outputBytes',
      'runs.jsonl:3 /tasks/1/rows',
      'runs.jsonl:5 it',
      'runs.jsonl:7 /tasks/1/after/0',
    ]);
  });

  it('are the first 20, and how many more there are', async () => {
    const faults = await told(`${LINE}\n${`${ofTask({ rows: 0, outputBytes: -1 })}\n`.repeat(500)}`);
    expect(faults).toHaveLength(21);
    expect(faults[19]).toMatch(/^runs\.jsonl:11 /);
    expect(faults[20]).toBe(' … and 980 more faults');
    // Of one line alone there may be as many.
    const tasks = Array.from({ length: 30 }, () => ({ ...TASK, after: [30] }));
    expect((await told(of({ tasks }))).at(-1)).toBe(' … and 10 more faults');
  });

  it('are one where the text is JSON, but not by line', async () => {
    const list = JSON.stringify([RUN, RUN], undefined, 1);
    expect((await refusal(list)).message).toBe(
      `Cannot read ${at(FILE)}: it begins a list of JSON, and each line is read as a run: write every run on a line of its own, as \`jq -c ".[]"\` does`,
    );
    expect((await refusal(`[${LINE}]`)).faults).toHaveLength(1);
    const whole = await refusal(`\n${JSON.stringify(RUN, undefined, 1)}`);
    expect(whole.message).toMatch(
      /: it begins an object of JSON that goes on behind its line, .*`jq -c \.` does$/,
    );
  });

  it('name the file once where they are reported beside those of other files', async () => {
    const error = await refusal(`${LINE}\n${ofTask({ rows: 0 })}`);
    const place = `${at(FILE)}:2 /tasks/1/rows`;
    const all = new ToldFaults();
    all.addOfFile(at(FILE), error);
    expect(all.all().map(({ path }) => path)).toEqual([place]);
    const other = new InputError('read a.json', [fault('is 3', '/kind')]);
    const both = await everyInput('do it', [Promise.reject(error), Promise.reject(other)]).catch(
      (one: InputError) => one,
    );
    expect((both as InputError).faults.map(({ path }) => path)).toEqual([place, 'a.json /kind']);
  });

  it('have places for CI systems: the file and the line', async () => {
    const { faults } = await refusal(`${LINE}\n${ofTask({ rows: 0 })}\n{"kind":\n`);
    const file = at(FILE);
    expect(await placesOf(faults, 'other.yaml')).toEqual([
      { file, line: 2 },
      { file, line: 3 },
    ]);
    const relative = faults.map(({ path, message }) => ({ message, path: path.replace(`${folder}/`, '') }));
    expect(await placesOf(relative, 'other.yaml')).toEqual([
      { file: FILE, line: 2 },
      { file: FILE, line: 3 },
    ]);
  });
});

describe('eachRun()', () => {
  it('hands out each run that is right with its line, also behind one that is not', async () => {
    const seen: [string, number][] = [];
    const path = await written(`\n${LINE}\n{}\n${LINE.replace('assistant', 'other')}`);
    const reading = eachRun(path, ({ application }, line) => {
      seen.push([application, line]);
      return [];
    });
    await expect(reading).rejects.toThrow(`Cannot read ${path}: ${path}:3 /kind: it has no "kind"`);
    expect(seen).toEqual([
      ['assistant', 2],
      ['other', 4],
    ]);
  });

  it('reports what its caller finds wrong, in the order of the lines', async () => {
    const path = await written(`${LINE}\n{}\n${LINE}`);
    const reading = eachRun(path, () => [fault('is "search", which the spec lacks', '/tasks/1/component')]);
    const { faults } = (await reading.catch((error: unknown) => error)) as InputError;
    expect(faults.map((one) => one.path)).toEqual([
      `${path}:1 /tasks/1/component`,
      `${path}:2 /kind`,
      `${path}:3 /tasks/1/component`,
    ]);
  });

  it('throws what its caller throws, and closes the file', async () => {
    const path = await written(`${LINE}\n`.repeat(5000), 'closed.jsonl');
    const reading = eachRun(path, () => {
      throw new RangeError('no more');
    });
    await expect(reading).rejects.toThrow(RangeError);
    await vi.waitFor(async () => expect(await openFiles()).not.toContain(path), { timeout: 10_000 });
  });

  it('reads up to a number of bytes, unpacked ones too', async () => {
    const text = `${LINE}\n`;
    const read = (content: string | Buffer, mostBytes: number) =>
      written(content).then((path) => eachRun(path, () => [], { mostBytes }));
    expect((await read(text, text.length)).count).toBe(1);
    await expect(read(text, text.length - 1)).rejects.toThrow(`it holds more than ${text.length - 1} bytes`);
    await expect(read(gzipSync(text.repeat(1000)), 1000)).rejects.toThrow('it holds more than 1000 bytes');
  });

  it('ends when it is aborted, by its own signal and by that of the run', async () => {
    const path = await written(`${LINE}\n`.repeat(5000));
    const reason = new Error('enough');
    const aborting = (abort: AbortController) => () => {
      abort.abort(reason);
      return [];
    };
    const own = new AbortController();
    await expect(eachRun(path, aborting(own), { signal: own.signal })).rejects.toBe(reason);
    const whole = new AbortController();
    await expect(asOneRun(() => eachRun(path, aborting(whole)), whole.signal)).rejects.toBe(reason);
  });

  inWholeRun(
    'reads lines whatever pieces they come in: random runs are what they were written as',
    async () => {
      for (let seed = 0; seed < 20; seed++) {
        const dice = new Dice(seed, 'runs');
        const runs = Array.from({ length: 1 + dice.below(40) }, () => drawnRun(dice));
        const end = dice.pick(['\n', '\r\n', '\n\n', ' \n']);
        const path = await written(runs.map((run) => `${JSON.stringify(run)}${end}`).join(''));
        const seen: Run[] = [];
        const { count } = await eachRun(path, (run) => {
          seen.push(run);
          return [];
        });
        expect([seed, count, seen]).toEqual([seed, runs.length, runs]);
      }
    },
  );
});

/** drawnRun draws a run of up to 1,000 tasks, so that some lines are longer than what is read at once. */
function drawnRun(dice: Dice): Run {
  const tasks = Array.from({ length: 1 + dice.below(dice.pick([3, 10, 1000])) }, (_, own) => {
    const before = own === 0 ? [] : [...new Set([dice.below(own), dice.below(own)])];
    return {
      component: dice.pick(['llm', 'such an', 'ö"\\\n\u2028']),
      inputs: dice.chance(0.5) ? before : [...before, ...before, 'request' as const],
      after: dice.chance(0.5) ? before : [],
      ...(dice.chance(0.5) ? { thinkMs: dice.below(1000) / 7 } : {}),
      outputBytes: dice.below(1e6),
      rows: 1 + dice.below(8),
    };
  });
  return { kind: 'run', version: '1.0', application: 'a', requestBytes: dice.below(1e9), tasks };
}

describe('plan validate of a file of runs', () => {
  it('says how many runs of which applications there are, and of how many tasks', async () => {
    const other = JSON.stringify({ ...RUN, application: 'search', tasks: [TASK] });
    const path = await written(`${LINE}\n${other}\n${LINE}\n`);
    expect(await validateFiles([path])).toEqual([
      { path, ok: true, what: '3 recorded runs of assistant, search: 5 tasks, at most 2 in one' },
    ]);
    const packed = await written(gzipSync(LINE), 'runs.ndjson.gz');
    expect(await validateFiles([packed])).toMatchObject([
      { ok: true, what: expect.stringMatching(/^1 recorded run of /) },
    ]);
  });

  it('reports the lines that are wrong', async () => {
    const path = await written(`${LINE}\n{}\n`);
    expect(await validateFiles([path, at('none.jsonl')])).toMatchObject([
      { ok: false, missing: false, faults: [{ path: `${path}:2 /kind` }] },
      { ok: false, missing: true },
    ]);
  });
});

/** openFiles gives the paths of the files that this process has open, where the system tells. */
async function openFiles(): Promise<string[]> {
  const links = await readdir('/proc/self/fd').catch(() => []);
  return Promise.all(links.map((link) => readlink(join('/proc/self/fd', link)).catch(() => '')));
}
