import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeMaterial } from '../fuzz/material.js';
import { changesOf, pictureOf } from '../fuzz/watch.js';
import { tableText } from '../results/table.js';
import type { Storm } from './storm.js';

const PLAN = fileURLToPath(new URL('../../bundle/cli/main.js', import.meta.url));
const OLD = 'what was there before';
/** The sizes of the disk in KiB. Some commands fit on the larger one. */
const SIZES_KIB = [4, 8];
const MEASURE = ['--warmup', '1', '--min-runs', '1', '--min-ms', '0', '--max-ms', '1', '-b', '1'];

/** COMMANDS write to `full`, the disk that is too small. */
const COMMANDS: readonly (readonly string[])[] = [
  ['profile', 'dense.onnx', '--device', 'cpu', ...MEASURE, '-o', 'full/out.json'],
  ['profile', 'merge', 'dense.profile.json', '-o', 'full/out.json'],
  ['partition', 'dense.onnx', '--blocks', '2', '-o', 'full/out.json'],
  ['partition', 'dense.onnx', '--blocks', '2', '--extract', 'full/blocks'],
  ['solve', 'spec.yaml', '-o', 'full/out.json'],
  ['deploy', 'plan.json', '-o', 'full/bundle'],
  ['simulate', 'plan.json', '--duration', '1s', '-o', 'full/out.json'],
  ['simulate', 'plan.json', '--duration', '1s', '--timeline', 'full/out.json'],
  ['simulate', 'plan.json', '--duration', '1s', '--sweep', 'load=0.1..1:20', '-o', 'full/out.json'],
  ['simulate', 'plan.json', '--duration', '1s', '--schedulers', 'all', '-o', 'full/out.json'],
];

interface Row {
  readonly command: string;
  readonly kib: number;
  readonly code: number | null;
  readonly said: string;
  readonly faults: readonly string[];
}

/** disk runs every command that writes with its output on a disk that is full. */
export async function disk(): Promise<Storm> {
  const root = mkdtempSync(join(tmpdir(), 'inferplan-disk-'));
  const rows: Row[] = [];
  let how = '';
  try {
    const folder = join(root, 'material');
    await writeMaterial(folder);
    mkdirSync(join(folder, 'full'));
    for (const kib of SIZES_KIB) {
      const isMounted = mounted(join(folder, 'full'), kib);
      how = isMounted ? 'a disk of that size' : 'files of that size at most (no disk could be mounted)';
      try {
        for (const command of COMMANDS) rows.push(await onFullDisk(command, { folder, kib, isMounted }));
      } finally {
        if (isMounted) execFileSync('umount', [join(folder, 'full')]);
      }
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  const line = ({ command, kib, code, said }: Row) => [String(kib), String(code), command, said];
  return {
    table: `with ${how}\n${tableText([['KiB', 'exit', 'command', 'said'], ...rows.map(line)])}`,
    measures: [],
    rows,
    faults: rows.flatMap(({ command, kib, faults }) =>
      faults.map((fault) => `plan ${command} with ${kib} KiB ${fault}`),
    ),
  };
}

function mounted(folder: string, kib: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

interface Full {
  readonly folder: string;
  readonly kib: number;
  readonly isMounted: boolean;
}

async function onFullDisk(command: readonly string[], { folder, kib, isMounted }: Full): Promise<Row> {
  const full = join(folder, 'full');
  for (const name of readdirSync(full)) rmSync(join(full, name), { recursive: true });
  writeFileSync(join(full, 'out.json'), OLD);
  const before = pictureOf(folder);
  // ulimit counts blocks of 512 bytes.
  const limit = isMounted ? '' : `ulimit -f ${2 * kib}; `;
  const child = spawn('sh', ['-c', `${limit}exec "$0" "$@"`, process.execPath, PLAN, ...command], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const said = stderr.split('\n').find((text) => text.startsWith('error:')) ?? '';
  const faults = code === 0 ? [] : [...refusalFaults(code, said), ...changesOf(before, pictureOf(folder))];
  if (code === 0 && readFileSync(join(full, 'out.json'), 'utf8') === OLD && !command.includes('deploy'))
    faults.push('ended with 0 and wrote nothing');
  return { command: command.slice(0, 2).join(' '), kib, code, said, faults };
}

function refusalFaults(code: number | null, said: string): string[] {
  const faults: string[] = [];
  if (code !== 1) faults.push(`ended with ${code}: ${said}`);
  if (!/disk is full|file too large|quota/i.test(said))
    faults.push(`does not say that the disk is full: ${said}`);
  return faults;
}
