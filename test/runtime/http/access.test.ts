import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { RunningServer, ServeEvent, ServeOptions } from '../../../src/runtime/index.js';
import { startServer } from '../../../src/runtime/index.js';
import { inWholeRun } from '../../cases.js';
import { Certificates, HAS_CURL, HAS_OPENSSL } from '../../certificates.js';
import { PLAN_PROGRAM } from '../../cli/plan.js';
import { inputOf, serveBundle, uncut, WIDTH, writeBundle } from '../tiny-bundle.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-access-'));
const tokenFile = join(folder, 'tokens');
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function served(options: ServeOptions) {
  const events: ServeEvent[] = [];
  const { server, close } = await serveBundle(uncut(2, 5000), {
    onLog: (event) => events.push(event),
    ...options,
  });
  closers.push(close);
  return { server, events };
}

interface Asked {
  readonly headers?: Record<string, string>;
  readonly path?: string;
  readonly body?: string;
}

/** ask sends a request with any header, as fetch() does not. */
function ask(
  { address: { port } }: RunningServer,
  { headers = {}, path = '/v2', body }: Asked = {},
): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const asked = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const BODY = JSON.stringify({
  inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data: [...inputOf(1).data] }],
});
const INFER = '/v2/models/tiny/infer';

/** The environment of Python that `scripts/check-clients.ts` makes, where pip has its registry. */
const PYTHON = fileURLToPath(
  new URL('../../../node_modules/.cache/tritonclient-http-2.73.0/bin/python', import.meta.url),
);
const LACKS_CLIENT = !HAS_OPENSSL || !existsSync(PYTHON);

describe('tritonclient', () => {
  it('is let in with its token over TLS, and refused without', async () => {
    if (LACKS_CLIENT) {
      console.log(
        'tritonclient is not tried: node dist/scripts/check-clients.js installs it, and openssl is needed',
      );
      return;
    }
    const made = new Certificates();
    try {
      const { certfile, keyfile } = made.signed('server');
      writeFileSync(tokenFile, 'alice:secret-a\n');
      const { server } = await served({ tokenFile, sslCertfile: certfile, sslKeyfile: keyfile });
      const script = fileURLToPath(new URL('clients-access.py', import.meta.url));
      const at = `localhost:${server.address.port}`;
      const { stdout } = await promisify(execFile)(PYTHON, [script, at, made.authority, 'secret-a']);
      expect(stdout).toContain('all as it should be');
    } finally {
      made.remove();
    }
  }, 60_000);
});

describe('A server with a token file', () => {
  inWholeRun(
    'lets in who has a token, asks others for one everywhere except for health, and counts by name',
    async () => {
      writeFileSync(tokenFile, 'alice:secret-a\nbob:secret-b\n');
      const { server, events } = await served({ tokenFile });
      expect((await ask(server, { path: '/v2/health/ready' })).status).toBe(200);
      expect((await ask(server, { path: '/v2/health/live' })).status).toBe(200);
      for (const path of [
        '/v2',
        '/metrics',
        '/v2/models/tiny/ready',
        '/nothing',
        '/v2/health/../models/tiny',
      ])
        expect([path, (await ask(server, { path })).status]).toEqual([path, 401]);
      const without = await ask(server, { path: INFER, body: BODY });
      expect([without.status, without.headers['www-authenticate']]).toEqual([
        401,
        'Bearer realm="inferplan"',
      ]);
      const wrong = await ask(server, { headers: bearer('secret-c') });
      expect(wrong.headers['www-authenticate']).toBe('Bearer realm="inferplan", error="invalid_token"');
      for (const authorization of ['secret-a', 'Basic secret-a', 'Bearer', 'Bearer secret-a secret-b'])
        expect((await ask(server, { headers: { authorization } })).status).toBe(401);
      expect((await ask(server, { headers: bearer('secret-a'), path: INFER, body: BODY })).status).toBe(200);
      expect(
        (await ask(server, { headers: { authorization: 'bearer secret-b' }, path: '/none' })).status,
      ).toBe(404);
      const { text } = await ask(server, { headers: bearer('secret-a'), path: '/metrics' });
      expect(text).toContain('inferplan_client_requests_total{client="alice",code="200"} 1');
      expect(text).toContain('inferplan_client_requests_total{client="bob",code="404"} 1');
      expect(text).toContain('inferplan_refused_total{reason="token"} 11');
      expect(text).not.toContain('secret');
      expect(events.filter(({ kind }) => kind === 'clientCame')).toMatchObject([
        { name: 'alice' },
        { name: 'bob' },
      ]);
      expect(events.filter(({ kind }) => kind === 'refused')).toHaveLength(1);
    },
  );

  inWholeRun('answers 401 without reading a body that is large', async () => {
    writeFileSync(tokenFile, 'alice:secret-a\n');
    const { server } = await served({ tokenFile });
    const big = await ask(server, { path: INFER, body: 'x'.repeat(5_000_000) });
    expect(big.status).toBe(401);
  });

  it('reads the file again when asked, and keeps the old tokens where the new file cannot be used', async () => {
    writeFileSync(tokenFile, 'alice:secret-a\n');
    const { server, events } = await served({ tokenFile });
    writeFileSync(tokenFile, 'alice:other\n');
    await server.renewAccess();
    expect((await ask(server, { headers: bearer('secret-a') })).status).toBe(401);
    expect((await ask(server, { headers: bearer('other') })).status).toBe(200);
    writeFileSync(tokenFile, '');
    await server.renewAccess();
    rmSync(tokenFile);
    await server.renewAccess();
    expect((await ask(server, { headers: bearer('other') })).status).toBe(200);
    const said = events.flatMap((event) => (event.kind === 'readAgain' ? [event.said] : []));
    expect(said.filter((text) => text.startsWith('kept the tokens'))).toHaveLength(2);
    expect(said[0]).toBe(`read again: the tokens of ${tokenFile}`);
  });

  it('has metrics at a port of their own alone, for those with a token', async () => {
    writeFileSync(tokenFile, 'alice:secret-a\n');
    const { server } = await served({ tokenFile, metricsPort: 0 });
    const headers = bearer('secret-a');
    expect((await ask(server, { path: '/metrics', headers })).status).toBe(404);
    expect((await fetch(server.metricsUrl!)).status).toBe(401);
    expect(await (await fetch(server.metricsUrl!, { headers })).text()).toContain('inferplan_device_up');
    expect((await fetch(new URL('/v2', server.metricsUrl), { headers })).status).toBe(404);
  });
});

describe('A server on loopback', () => {
  it('refuses hosts and origins of others, as a page in a browser sends them', async () => {
    const { server } = await served({ allowHosts: ['models.example'] });
    const { port } = server.address;
    const status = async (headers: Record<string, string>) => (await ask(server, { headers })).status;
    for (const host of ['localhost', `127.0.0.1:${port}`, 'LOCALHOST.:80', '[::1]:8000', 'models.example'])
      expect([host, await status({ host })]).toEqual([host, 200]);
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1.evil.example',
      '10.0.0.1',
      'a@localhost',
    ])
      expect([host, await status({ host })]).toEqual([host, 403]);
    for (const origin of ['http://localhost:3000', 'https://models.example', `http://127.0.0.1:${port}`])
      expect([origin, await status({ origin })]).toEqual([origin, 200]);
    for (const origin of ['https://evil.example', 'null', 'file://', 'http://localhost.evil.example'])
      expect([origin, await status({ origin })]).toEqual([origin, 403]);
    expect(await status({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' })).toBe(403);
    expect(await status({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).toBe(200);
    const refused = await ask(server, {
      path: INFER,
      body: BODY,
      headers: { origin: 'https://evil.example' },
    });
    expect(refused.status).toBe(403);
    const ofNone = await ask(server, { path: INFER, body: BODY, headers: { origin: 'null' } });
    // No name of --allow-host allows it.
    expect(ofNone.text).toContain('pages without an origin may not call this server');
    expect(ofNone.text).not.toContain('--allow-host');
    expect(await server.metricsText()).toContain(
      'inferplan_outcomes_total{model="tiny",outcome="in_time"} 0',
    );
  });

  it('refuses them at loopback also where it listens on all addresses, and knows the name of its machine', async () => {
    const { server } = await served({ host: '0.0.0.0' });
    const status = async (host: string) => (await ask(server, { headers: { host } })).status;
    expect(await status('rebound.example')).toBe(403);
    expect(await status(`${hostname()}:8000`)).toBe(200);
  });

  it('warns of nothing, and says that there is nothing to read again', async () => {
    const { server, events } = await served({});
    await server.renewAccess();
    expect(events.filter(({ kind }) => kind === 'warning')).toEqual([]);
    expect(events).toContainEqual({
      kind: 'readAgain',
      said: expect.stringContaining('nothing to read again'),
    });
  });
});

const outside = Object.values(networkInterfaces())
  .flatMap((one) => one ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4');

it.skipIf(outside === undefined)(
  'A server that others can reach warns where nobody is asked for a token',
  async () => {
    const { events } = await served({ host: '0.0.0.0' });
    const warnings = events.filter(({ kind }) => kind === 'warning');
    expect(warnings).toMatchObject([
      { why: expect.stringContaining('other machines can reach this server') },
    ]);
    rmSync(tokenFile, { force: true });
    writeFileSync(tokenFile, 'alice:secret-a\n', { mode: 0o600 });
    const asking = await served({ host: '0.0.0.0', tokenFile });
    expect(asking.events.filter(({ kind }) => kind === 'warning')).toEqual([]);
  },
);

it('All faults of these options are reported at once', async () => {
  const { folder: bundle, remove } = await writeBundle(uncut(2));
  closers.push(remove);
  writeFileSync(tokenFile, 'alice\n');
  const options = {
    host: ' ',
    port: 81,
    metricsPort: 81,
    tokenFile,
    sslKeyfile: 'key',
    allowHosts: ['http://x'],
  };
  const starting = startServer(bundle, options);
  for (const part of ['is empty', 'is 81, as', 'line 1 is not', 'which is not given', 'not a name of a host'])
    await expect(starting).rejects.toThrow(part);
});

describe.skipIf(!HAS_OPENSSL || !HAS_CURL)('A server with certificates (with openssl and curl)', () => {
  const made = HAS_OPENSSL ? new Certificates() : undefined;
  afterAll(() => made?.remove());

  const curl = async (...args: string[]): Promise<string> => {
    try {
      return (await promisify(execFile)('curl', ['-sS', ...args])).stdout;
    } catch (error) {
      return `curl: ${(error as { stderr: string }).stderr}`;
    }
  };

  inWholeRun('speaks HTTPS to those who trust its authority, and HTTP to nobody', async () => {
    const { certfile, keyfile } = made!.signed('server');
    const { server } = await served({ sslCertfile: certfile, sslKeyfile: keyfile, metricsPort: 0 });
    expect(server.url).toMatch(/^https:/);
    expect(await curl('--cacert', made!.authority, `${server.url}/v2`)).toContain('inferplan');
    expect(await curl('--cacert', made!.authority, server.metricsUrl!)).toContain('inferplan_device_up');
    expect(await curl(`${server.url}/v2`)).toContain('certificate');
    expect(await curl(server.url.replace('https', 'http'))).toContain('curl:');
    const answer = await curl('--cacert', made!.authority, '-d', BODY, `${server.url}${INFER}`);
    expect(answer).toContain('"outputs"');
    const old = tlsConnect({
      port: server.address.port,
      ca: [],
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      rejectUnauthorized: false,
    });
    const [error] = (await once(old, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toMatch(/SSL|EPROTO|TLS/);
  });

  inWholeRun('ends connections on which nobody begins to speak TLS, which count among all', async () => {
    const { certfile, keyfile } = made!.signed('server');
    const limits = { maxConnections: 2, requestTimeoutMs: 1000 };
    const { server } = await served({ sslCertfile: certfile, sslKeyfile: keyfile, ...limits });
    const silent = [0, 1].map(() => connect(server.address.port, '127.0.0.1').on('error', () => {}));
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    const asked = ['--cacert', made!.authority, `${server.url}/v2`];
    expect(await curl(...asked)).toContain('curl:');
    await Promise.all(silent.map((socket) => once(socket.resume(), 'close')));
    expect(await curl(...asked)).toContain('inferplan');
  });

  it('demands a certificate of its clients where it is configured whose', async () => {
    const { certfile, keyfile } = made!.signed('server');
    const client = made!.signed('client');
    const stranger = new Certificates();
    const strange = stranger.signed('stranger');
    const { server } = await served({
      sslCertfile: certfile,
      sslKeyfile: keyfile,
      sslCaCerts: made!.authority,
    });
    const trust = ['--cacert', made!.authority, `${server.url}/v2`];
    expect(await curl('--cert', client.certfile, '--key', client.keyfile, ...trust)).toContain('inferplan');
    expect(await curl(...trust)).toContain('curl:');
    expect(await curl('--cert', strange.certfile, '--key', strange.keyfile, ...trust)).toContain('curl:');
    stranger.remove();
  });

  inWholeRun(
    'reads its certificate again at SIGHUP, which never ends it, and keeps it where the new one cannot be used',
    async () => {
      const { folder: bundle, remove } = await writeBundle(uncut(2));
      closers.push(remove);
      const [first, second] = [made!.signed('first'), made!.signed('second')];
      const [certfile, keyfile] = [made!.at('used.pem'), made!.at('used.key')];
      const use = ({ certfile: cert, keyfile: key }: typeof first) => {
        copyFileSync(cert, certfile);
        copyFileSync(key, keyfile);
      };
      use(first);
      const args = ['serve', bundle, '--port', '0', '--ssl-certfile', certfile, '--ssl-keyfile', keyfile];
      const child = spawn(process.execPath, [PLAN_PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
      let told = '';
      child.stderr.on('data', (chunk: Buffer) => {
        told += chunk.toString();
      });
      const [ready] = (await once(child.stdout, 'data')) as [Buffer];
      const { port } = new URL(/https:\S+/.exec(ready.toString())![0]);
      const subject = async (): Promise<string> => {
        const socket = tlsConnect({ port: Number(port), ca: undefined, rejectUnauthorized: false });
        await once(socket, 'secureConnect');
        const name = String(socket.getPeerCertificate().subject.CN);
        socket.destroy();
        return name;
      };
      const hangUp = async (words: string, count: number): Promise<void> => {
        child.kill('SIGHUP');
        while (told.split(words).length <= count) await new Promise((resolve) => setTimeout(resolve, 10));
      };
      expect(await subject()).toBe('first');
      use(second);
      await hangUp('read again', 1);
      expect(await subject()).toBe('second');
      copyFileSync(first.keyfile, keyfile);
      await hangUp('kept the certificate', 1);
      expect(told).toContain('is not the key of the certificate');
      expect(await subject()).toBe('second');
      child.kill('SIGTERM');
      expect((await once(child, 'exit'))[0]).toBe(0);
    },
  );
});
