import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseDevice, probeDevices, startExecutor } from '../../src/execution/index.js';
import { type InputError, MissingError } from '../../src/formats/index.js';
import { describeInWholeRun, inWholeRun } from '../cases.js';

const built = pathToFileURL(createRequire(import.meta.url).resolve('#dist/src/execution/index.js')).href;

/** program runs a separate program that starts an executor and prints its pid. */
function program(rest: string) {
  const code = `
    import { startExecutor } from ${JSON.stringify(built)};
    const executor = await startExecutor({ provider: 'cpu', threads: 1 });
    process.stdout.write(executor.pid + '\\n');
    ${rest}`;
  return spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function gone(pid: number): Promise<boolean> {
  for (let i = 0; i < 200; i++) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return false;
}

describeInWholeRun('an executor process', () => {
  it('ends when its parent is killed', async () => {
    const parent = program('setInterval(() => {}, 1000);');
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(pid).toBeGreaterThan(1);
    parent.kill('SIGKILL');
    expect(await gone(pid)).toBe(true);
  });

  inWholeRun('does not keep an idle program running, and ends with it', async () => {
    const parent = program('');
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const [code] = (await once(parent, 'exit')) as [number];
    expect(code).toBe(0);
    expect(await gone(Number(line.toString()))).toBe(true);
  });
});

describe('probeDevices()', () => {
  inWholeRun('reports the CPU with its name, threads and memory', async () => {
    const [report] = await probeDevices([parseDevice('c=cpu:1,slowdown=2')]);
    expect(report).toMatchObject({ className: 'c', available: true, threads: 1, device: { slowdown: 2 } });
    if (report?.available) {
      expect(report.name).not.toBe('');
      expect(report.memoryBytes).toBeGreaterThan(2 ** 28);
    }
  });

  it('refuses a CPU with more threads than the host has, and says how many there are', async () => {
    const [report] = await probeDevices([parseDevice('cpu:9999')]);
    expect(report?.available === false && report.missing).toMatch(
      /need 9999 CPU threads at once, and this host has \d+$/,
    );
  });

  inWholeRun('reports every provider, and what is missing where one is not available', async () => {
    const reports = await probeDevices();
    expect(reports.map(({ device }) => device.provider)).toEqual([
      'cpu',
      'webgpu',
      'cuda',
      'tensorrt',
      'coreml',
      'dml',
    ]);
    for (const report of reports) {
      if (!report.available) expect(report.missing).toMatch(/^\w+: .+\. [A-Z]/);
    }
    const never = process.platform === 'darwin' ? 'dml' : 'coreml';
    expect(reports.find(({ device }) => device.provider === never)?.available).toBe(false);
  });
});

describe('startExecutor()', () => {
  it('throws MissingError with advice when the provider is missing', async () => {
    const absent = process.platform === 'win32' ? 'coreml' : 'dml';
    const error = await startExecutor({ provider: absent }, { name: 'big' }).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(MissingError);
    expect(String(error)).toContain(`Cannot use device big: ${absent}: backend not found`);
    expect((error as InputError).advice).toMatch(/exists only on/);
  });
});
