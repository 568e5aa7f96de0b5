import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const PLAN = file('dist/bundle/cli/main.js');
const SPEC = file('examples/pooled/spec.yaml');

/** narrow runs a command with so many KiB of address space. */
async function narrow(kib: number, command: string): Promise<{ code: number; told: string }> {
  const script = `ulimit -v ${kib}; exec "${process.execPath}" "${PLAN}" ${command}`;
  return run('bash', ['-c', script]).then(
    ({ stderr }) => ({ code: 0, told: stderr }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, told: stderr }),
  );
}

/**
 * Node 20 has no room for WebAssembly and threads in 7.6 GiB. Later Node needs less, and solves in 2.4 GiB what needs
 * no thread.
 */
const SIZES_KIB = [8_000_000, 2_500_000];
const IS_NODE_20 = process.versions.node.startsWith('20.');
/** The client of Node 24 needs no WebAssembly for its first request, which nobody answers. */
const NOBODY = /: no answer: ECONNREFUSED/;

describe.runIf(process.platform === 'linux')('a process with little address space', () => {
  const COMMANDS: { command: string; orElse?: RegExp }[] = [
    { command: `solve "${SPEC}"` },
    { command: `compare "${SPEC}" --sweep slo=2x..4x:2` },
    { command: `solve "${SPEC}" --hold 99%` },
    { command: 'load http://127.0.0.1:9 --rps 1 --duration 1s', orElse: NOBODY },
  ];
  it.each(COMMANDS)(
    'does its work or reports what it lacks, and no bug: plan $command',
    async ({ command, orElse }) => {
      for (const kib of SIZES_KIB) {
        const { code, told } = await narrow(kib, command);
        const isTold = code === 1 && told.includes('(ulimit -v)');
        const isDone = orElse === undefined ? !IS_NODE_20 && code === 0 : orElse.test(told);
        expect({ kib, code, told, isExpected: isTold || isDone }).toMatchObject({ isExpected: true });
        expect(told).not.toMatch(/a bug in this program|\n {4}at /);
      }
    },
  );
});
