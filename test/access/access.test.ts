import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readClientToken, readTls, readTokens } from '../../src/access/index.js';
import { ToldFaults } from '../../src/formats/index.js';
import { Certificates, HAS_OPENSSL } from '../certificates.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-access-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(text: string, mode = 0o600): string {
  const path = join(folder, 'tokens');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const messages = (told: ToldFaults): string[] => told.all().map(({ message }) => message);

describe('readTokens()', () => {
  it('reads a line a token, and passes over blank lines and comments, in files of any system', async () => {
    const told = new ToldFaults();
    const read = await readTokens(file('\uFEFF# who\r\n\r\nalice: a:b#c\r\n  bob:tok+/=\r\n'), told);
    expect(messages(told)).toEqual([]);
    expect(read).toEqual({
      tokens: [
        { name: 'alice', token: 'a:b#c' },
        { name: 'bob', token: 'tok+/=' },
      ],
      warnings: [],
    });
  });

  it('reports every fault at once by its line, and no token', async () => {
    const told = new ToldFaults();
    const text =
      'alice:secret1\nalice:secret2\nbob:secret1\nsecret3\nbad name:secret4\neve:\nmallory:sec ret5\n';
    expect(await readTokens(file(text), told)).toBeUndefined();
    expect(messages(told)).toEqual([
      'line 4 is not name:token',
      expect.stringContaining('line 5: its name is no name'),
      expect.stringContaining('line 6: eve has no token'),
      expect.stringContaining('line 7: mallory has no token'),
      'line 2 names alice, as line 1 does',
      'line 3 has the token of line 1',
    ]);
    expect(messages(told).join()).not.toMatch(/secret|sec ret/);
  });

  it.each(['', '# nobody\n'])('refuses a file without a token: %j', async (text) => {
    const told = new ToldFaults();
    expect(await readTokens(file(text), told)).toBeUndefined();
    expect(messages(told)[0]).toContain('holds no token');
  });

  it('refuses a file that is not there, or is a folder', async () => {
    const told = new ToldFaults();
    await readTokens(join(folder, 'none'), told);
    await readTokens(folder, told);
    expect(messages(told)).toEqual(['there is no such file', 'it is a folder, not a file']);
  });

  it.skipIf(process.platform === 'win32').each([
    [0o600, 0],
    [0o640, 1],
    [0o604, 1],
  ])('warns where others may read the file: mode %o', async (mode, count) => {
    const read = await readTokens(file('alice:secret\n', mode), new ToldFaults());
    expect(read?.warnings).toHaveLength(count);
  });
});

describe('readClientToken()', () => {
  it.each(['alice:secret', 'secret', '# mine\nsecret\n'])(
    'takes the one token of a file: %j',
    async (text) => {
      expect(await readClientToken(file(text), new ToldFaults())).toEqual({ token: 'secret', warnings: [] });
    },
  );

  it('refuses several, since it cannot know which is meant', async () => {
    const told = new ToldFaults();
    expect(await readClientToken(file('alice:a\nbob:b\n'), told)).toBeUndefined();
    expect(messages(told)[0]).toContain('holds 2 tokens');
  });
});

describe.skipIf(!HAS_OPENSSL)('readTls() (with openssl)', () => {
  const made = HAS_OPENSSL ? new Certificates() : undefined;
  afterAll(() => made?.remove());
  const [one, other] = [made?.signed('one'), made?.signed('other')];

  it('reads a certificate with its key, and who is trusted', async () => {
    const told = new ToldFaults();
    const paths = { sslCertfile: one!.certfile, sslKeyfile: one!.keyfile, sslCaCerts: made!.authority };
    const read = await readTls(paths, told);
    expect(messages(told)).toEqual([]);
    expect(Object.keys(read!.tls)).toEqual(['cert', 'key', 'ca']);
  });

  it('refuses a key that does not fit, and authorities that are none, at once', async () => {
    const told = new ToldFaults();
    const paths = { sslCertfile: one!.certfile, sslKeyfile: other!.keyfile, sslCaCerts: file('no PEM') };
    expect(await readTls(paths, told)).toBeUndefined();
    expect(messages(told)).toEqual([
      `is not the key of the certificate in ${one!.certfile}`,
      'holds no certificate in PEM',
    ]);
  });

  it('refuses a certificate without a key, a key without a certificate, and broken ones', async () => {
    const told = new ToldFaults();
    await readTls({ sslCertfile: one!.certfile }, told);
    await readTls({ sslKeyfile: one!.keyfile }, told);
    const broken = file('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    await readTls({ sslCertfile: broken, sslKeyfile: join(folder, 'none') }, told);
    expect(messages(told)).toEqual([
      expect.stringContaining('holds no private key in PEM'),
      expect.stringContaining('which is not given'),
      'there is no such file',
      'its certificate 1 cannot be read',
    ]);
  });
});
