import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { loadServer } from '../../src/api/index.js';
import { inWholeRun, WHOLE } from '../cases.js';
import { Certificates, HAS_OPENSSL } from '../certificates.js';
import { plan } from '../cli/plan.js';
import { serveBundle, uncut } from '../runtime/tiny-bundle.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-load-access-'));
const tokenFile = join(folder, 'token');
writeFileSync(tokenFile, 'alice:secret-a\n', { mode: 0o600 });
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(() => rmSync(folder, { recursive: true }));

const LOAD = { rps: 50, durationS: 0.2 };

async function served(options: Parameters<typeof serveBundle>[1]): Promise<string> {
  const { server, close } = await serveBundle(uncut(2, 5000), options);
  closers.push(close);
  return server.url;
}

describe('A load', () => {
  it('sends its token and headers with every request', async () => {
    const url = await served({ tokenFile });
    const report = await loadServer(url, { ...LOAD, tokenFile });
    expect([report.failed, report.answered]).toEqual([0, report.sent]);
    expect(report.served).toHaveLength(1);
    const headers = ['Authorization: Bearer secret-a'];
    expect((await loadServer(url, { ...LOAD, headers })).failed).toBe(0);
    expect(JSON.stringify(report)).not.toContain('secret');
  });

  it('reports a server that asks for a token, and exits with 2', async () => {
    const url = await served({ tokenFile });
    const { code, stderr } = await plan(['load', url, '--rps', '10', '--duration', '1s']);
    expect(code).toBe(2);
    expect(stderr).toContain('answers 401: Cannot let this request in: a token is needed');
    expect(stderr).toContain('Give a token with --token-file.');
  });

  it('sends headers of its own as they are given', async () => {
    const seen: unknown[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers['x-tenant']);
      response.writeHead(404).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await plan(['load', url, '--rps', '10', '--duration', '1s', '-H', 'X-Tenant:  a: b ', '--model', 'm']);
    expect(seen).toEqual(['a: b']);
    server.close();
  });

  it('reports all faults of these options at once', async () => {
    const options = [
      '-H',
      'no header',
      '-H',
      'Content-Length: 3',
      '-H',
      'X: 1',
      '-H',
      'x: 2',
      '-H',
      'Authorization: b',
    ];
    const more = ['--token-file', tokenFile, '--insecure', '--ssl-ca-certs', join(folder, 'none')];
    const { code, stderr } = await plan([
      'load',
      'http://127.0.0.1:1',
      '--rps',
      '1',
      '--duration',
      '1s',
      ...options,
      ...more,
    ]);
    expect(code).toBe(2);
    for (const part of [
      '--header no: is not a header',
      '--header Content-Length: is a header that the client writes itself',
      '--header x: is given twice',
      '--token-file: gives a token, and so does --header Authorization',
      '--insecure: is for https',
      '--insecure: looks at no certificate',
      `--ssl-ca-certs ${join(folder, 'none')}: there is no such file`,
    ])
      expect(stderr).toContain(part);
  });

  inWholeRun('exits with 2 where metadata ask for more than the limit, and names the option', async () => {
    const url = await served({});
    const { code, stderr } = await plan([
      'load',
      url,
      '--rps',
      '1',
      '--duration',
      '1s',
      '--rows',
      '999999999',
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain('Raise the limit with --max-request.');
  });
});

describe('Options of a load at the ends of their ranges', () => {
  it.each([
    ['--timeout', '0.000001', 'is not a time from 1ms to 2000000s'],
    ['--timeout', '1000h', 'is not a time from 1ms to 2000000s'],
    ['--duration', '99999999999h', 'a load lasts 8640000 s (100 days) at most'],
    ['--cv', '1e300', 'valid values are 0 and 0.000001 to 1000'],
    ['--rows', '1000000000', 'is not a whole number from 1 to 999,999,999'],
    ['--max-answer', '0', 'is not a whole number from 1'],
    ['--slo', '0', 'is not a number above 0'],
  ])('refuses %s %s in a sentence', async (name, value, why) => {
    const url = 'http://127.0.0.1:9';
    const { code, stderr } = await plan([
      ...['load', url, '--rps', '1', name, value],
      ...(name === '--duration' ? [] : ['--duration', '1s']),
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
    expect(stderr).not.toMatch(/UND_ERR|ECONNREFUSED/);
  });

  it('takes those that it allows', async () => {
    const url = await served({});
    const shortest = await loadServer(url, { ...LOAD, timeoutS: 0.0015 });
    expect(shortest.sent).toBeGreaterThan(0);
    expect(JSON.stringify(shortest.failures ?? [])).not.toContain('INVALID_ARG');
    const longest = { timeoutS: 2_000_000, maxAnswerBytes: 999_999_999 * 2 ** 20, sloMs: 1e300 };
    expect((await loadServer(url, { ...LOAD, ...longest })).failed).toBe(0);
    await expect(loadServer(url, { ...LOAD, timeoutS: 1e7 })).rejects.toThrow(
      'must be from 0.001 to 2000000 s',
    );
  });
});

describe.skipIf(!HAS_OPENSSL)('A load over TLS (with openssl)', () => {
  const made = HAS_OPENSSL ? new Certificates() : undefined;
  afterAll(() => made?.remove());

  it('trusts whom the options name, or nobody is asked, and shows its certificate', async () => {
    const [server, client] = [made!.signed('server'), made!.signed('client')];
    const url = await served({ sslCertfile: server.certfile, sslKeyfile: server.keyfile });
    const own = { sslCaCerts: made!.authority };
    expect((await loadServer(url, { ...LOAD, ...own })).failed).toBe(0);
    const unchecked = await loadServer(url, { ...LOAD, insecure: true });
    expect([unchecked.failed, unchecked.warnings.join()]).toEqual([
      0,
      expect.stringContaining('is taken for the server'),
    ]);
    await expect(loadServer(url, LOAD)).rejects.toThrow('not signed by an authority that is trusted');

    if (!WHOLE) return;
    const asking = await served({ sslCertfile: server.certfile, sslKeyfile: server.keyfile, ...own });
    const shown = { ...own, sslCertfile: client.certfile, sslKeyfile: client.keyfile };
    expect((await loadServer(asking, { ...LOAD, ...shown })).failed).toBe(0);
    await expect(loadServer(asking, { ...LOAD, ...own })).rejects.toThrow('no answer');
  });

  inWholeRun('says that the port speaks TLS and its address does not, or the reverse', async () => {
    const { certfile, keyfile } = made!.signed('server');
    const tls = await served({ sslCertfile: certfile, sslKeyfile: keyfile });
    const plain = await served({});
    for (const [url, why, other] of [
      [tls.replace('https:', 'http:'), 'its port speaks TLS', tls],
      [plain.replace('http:', 'https:'), 'its port does not speak TLS', plain],
    ] as const) {
      const { code, stderr } = await plan(['load', url, '--rps', '1', '--duration', '1s']);
      expect(code).toBe(2);
      expect(stderr).toContain(`Cannot load ${url}: ${why}`);
      expect(stderr).toContain(`Load ${other}`);
      expect(stderr).not.toContain('Is the server running?');
    }
  });
});
