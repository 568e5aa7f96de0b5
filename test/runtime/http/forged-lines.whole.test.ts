import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inWholeRun } from '../../cases.js';
import { PLAN_PROGRAM } from '../../cli/plan.js';
import { echo, onePartition, writeBundle } from '../tiny-bundle.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-forged-'));
/** A line that the server would never write, after a break, an escape sequence of 7 and 8 bits, and NUL. */
const FORGED = 'a\nwarning: forged\r\nnote: forged\x1b[31m\x9b2J\0';
const IN_URL = encodeURIComponent(FORGED);
/** What a header may hold at all: Node refuses the others. */
const IN_HEADER = 'a\x9b2J\x85warning: forged';
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROLS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]/;

describe('Text of a client', () => {
  let bundle: { folder: string; remove: () => Promise<void> };
  beforeAll(async () => {
    bundle = await writeBundle(onePartition(echo('string')));
  });
  afterAll(async () => {
    await bundle.remove();
    rmSync(folder, { recursive: true });
  });

  /** sent gives all that a server answers to bytes until it ends the connection. */
  async function sent(port: number, text: string): Promise<string> {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    let all = '';
    socket.on('data', (chunk: Buffer) => {
      all += chunk.toString('latin1');
    });
    socket.write(Buffer.from(text, 'latin1'));
    await once(socket, 'close');
    return all;
  }

  const request = (line: string, headers: readonly string[], body = ''): string =>
    [`${line} HTTP/1.1`, 'connection: close', `content-length: ${body.length}`, ...headers, '', body].join(
      '\r\n',
    );

  it('forges no line of the log and no sample of the metrics, wherever it stands', async () => {
    const strange = join(folder, 'tokens\nwarning: forged\x1b[31m');
    writeFileSync(strange, 'alice:secret\n', { mode: 0o644 });
    const args = ['serve', bundle.folder, '--port', '0', '--token-file', strange];
    const child = spawn(process.execPath, [PLAN_PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
    const exited = once(child, 'exit');
    const [ready] = (await once(child.stdout, 'data')) as [Buffer];
    const port = Number(/:(\d+)\n/.exec(ready.toString())?.[1]);
    const alice = ['host: localhost', 'authorization: Bearer secret'];
    const infer = (body: object) => request('POST /v2/models/tiny/infer', alice, JSON.stringify(body));
    const input = { name: 'x', shape: [1, 1], datatype: 'BYTES', data: ['a'] };
    const answers = [];
    for (const text of [
      request('GET /v2', [`host: ${IN_HEADER}`, 'authorization: Bearer secret']),
      request('GET /v2', ['host: localhost', `authorization: Bearer ${IN_HEADER}`]),
      request('GET /v2', [...alice, `origin: http://${IN_HEADER}`]),
      request('GET /v2', [...alice, `x-forwarded-for: ${FORGED}`]),
      request('GET /v2', [...alice, `user-agent: ${IN_HEADER}`]),
      request(`GET /v2/models/${IN_URL}`, alice),
      request(`GET /v2/models/${IN_URL}/versions/${IN_URL}/ready`, alice),
      request(`GET /${IN_URL}?${IN_URL}`, alice),
      request(`GET /v2/\x1b[31m\x9b`, alice),
      infer({ id: FORGED, inputs: [input] }),
      infer({ inputs: [{ ...input, name: FORGED }] }),
      infer({ inputs: [{ ...input, datatype: FORGED }] }),
      infer({ inputs: [input], outputs: [{ name: FORGED }] }),
      infer({ inputs: [input], parameters: { [FORGED]: FORGED } }),
      infer({ inputs: [{ ...input, data: [FORGED] }] }),
      infer({ [FORGED]: 1 }),
      `${FORGED}\r\n\r\n`,
    ])
      answers.push(await sent(port, text));
    const metrics = await sent(port, request('GET /metrics', alice));
    child.kill('SIGTERM');
    await exited;
    // The head of an answer ends at the first empty line, and its body is JSON.
    for (const answer of answers) {
      const [head, body] = answer.split('\r\n\r\n', 2) as [string, string];
      expect(head).not.toMatch(/forged/);
      if (head.includes('application/json')) expect(() => JSON.parse(body)).not.toThrow();
    }
    expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 500'))).toEqual([]);
    expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 4')).length).toBeGreaterThan(8);
    const lines = metrics.split('\r\n\r\n')[1]!.split('\n');
    expect(lines.filter((line) => /forged/.test(line) && !line.startsWith('inferplan_'))).toEqual([]);
    expect(log).toContain('\\nwarning: forged');
    expect(log.split('\n').filter((line) => /^(warning|note|error): forged/.test(line))).toEqual([]);
    expect(log).not.toMatch(CONTROLS);
  });

  inWholeRun('is refused as the name of a token, with a sentence that forges no line either', () => {
    const file = join(folder, 'names');
    for (const name of ['a\x1b[31m', 'a\x9b2J', 'a\0', 'a\rwarning: forged', 'a\u2028b']) {
      writeFileSync(file, `${name}:secret\n`);
      const args = [PLAN_PROGRAM, 'serve', bundle.folder, '--port', '0', '--token-file', file];
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      expect({ name, status }).toEqual({ name, status: 2 });
      expect(stderr).not.toMatch(CONTROLS);
      expect(stderr).not.toMatch(/^warning: forged/m);
    }
  });
});
