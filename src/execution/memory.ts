import { readFileSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/**
 * availableMemoryBytes gives the memory that new work can take: the free memory of the system, but no more than the
 * control group's limit leaves. Files that the system only caches count as free. macOS does not tell which memory could
 * be freed, so there all memory counts.
 */
export function availableMemoryBytes(): number {
  const free = process.platform === 'darwin' ? totalmem() : freemem();
  const limit = process.constrainedMemory();
  if (!(limit > 0 && limit < totalmem())) return free;
  return Math.min(free, process.availableMemory() + cachedFileBytes());
}

/** cachedFileBytes gives the bytes that this process's control group has in the page cache. */
function cachedFileBytes(): number {
  for (const path of memoryStatPaths()) {
    try {
      return parseCachedFileBytes(readFileSync(path, 'utf8'));
    } catch {
      // Another version of control groups, or mounted elsewhere.
    }
  }
  return 0;
}

function memoryStatPaths(): string[] {
  try {
    const groups = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
    return groups.flatMap((line) => {
      const [, controllers = '', path = ''] = line.split(':');
      if (controllers === '') return [`/sys/fs/cgroup${path}/memory.stat`, '/sys/fs/cgroup/memory.stat'];
      if (!controllers.split(',').includes('memory')) return [];
      return [`/sys/fs/cgroup/memory${path}/memory.stat`, '/sys/fs/cgroup/memory/memory.stat'];
    });
  } catch {
    return [];
  }
}

/** parseCachedFileBytes reads the bytes of cached files from `memory.stat`, of either version of control groups. */
export function parseCachedFileBytes(text: string): number {
  const values = new Map(
    text.split('\n').map((line): [string, number] => {
      const [key = '', value = ''] = line.split(' ');
      return [key, Number(value)];
    }),
  );
  const of = (key: string) => values.get(`total_${key}`) ?? values.get(key) ?? 0;
  return of('inactive_file') + of('active_file');
}

/**
 * heldBytes gives a process's memory without the part that it shares with files; undefined where the system does not
 * tell.
 */
export function heldBytes(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return parseHeldBytes(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return undefined;
  }
}

/** parseHeldBytes reads the kernel's `/proc/<pid>/status`; undefined for a process that holds no memory any more. */
export function parseHeldBytes(status: string): number | undefined {
  const of = (key: string) => {
    const kib = new RegExp(`^${key}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  };
  const anonymous = of('RssAnon');
  return anonymous === undefined ? of('VmRSS') : anonymous + (of('RssShmem') ?? 0);
}

/** memoryText writes bytes as a person reads them: `850 MiB` (rounded up), `1.25 GiB`, `12.5 GiB`. */
export function memoryText(bytes: number): string {
  if (bytes < GIB) return `${Math.ceil(bytes / MIB)} MiB`;
  return `${(bytes / GIB).toFixed(bytes < 10 * GIB ? 2 : 1)} GiB`;
}
