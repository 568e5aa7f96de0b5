import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plan } from './plan.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-full-disk-'));

/** isMounted mounts a disk of 8 KiB, where the system lets tests do that. */
function isMounted(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8k', 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
const mounted = isMounted();

afterAll(() => {
  if (mounted) execFileSync('umount', [folder]);
  rmSync(folder, { recursive: true, force: true });
});

describe('plan load with its report on a full disk', () => {
  let server: Server;
  beforeAll(async () => {
    writeFileSync(join(folder, 'filler'), Buffer.alloc(8192));
    server = createServer((request, response) => {
      request.resume();
      const isModel = request.url?.startsWith('/v2/models/m') === true;
      if (request.url === '/v2/repository/index') response.end('[{"name":"m"}]');
      else if (isModel && request.method === 'GET')
        response.end(
          '{"name":"m","platform":"p","inputs":[{"name":"x","datatype":"FP32","shape":[-1,2]}],"outputs":[{"name":"y","datatype":"FP32","shape":[-1,2]}]}',
        );
      else if (isModel)
        response.end(
          '{"model_name":"m","outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[1,1]}]}',
        );
      else response.writeHead(404).end('{"error":"no"}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('prints the figures, and then says in a sentence that the disk is full, with exit code 1', async () => {
    if (!mounted) {
      console.log('a full disk is not tried, as this system lets nobody mount a small one');
      return;
    }
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = [
      'load',
      url,
      '--rps',
      '200',
      '--duration',
      '0.5s',
      '--slo',
      '100',
      '-o',
      join(folder, 'r.json'),
    ];
    const { code, stdout, stderr } = await plan(args, { cwd: tmpdir() });
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('the disk is full') });
    expect(stdout).toMatch(/attainment|in time/i);
    expect(stderr).not.toMatch(/a bug in this program|\n {4}at /);
  });
});
