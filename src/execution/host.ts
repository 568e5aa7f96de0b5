import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';

/**
 * hostThreads gives the CPU threads that this process may use: by its affinity and, in a container, its quota (rounded
 * down). It is at least 1.
 */
export function hostThreads(): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(cpuQuota() ?? Number.POSITIVE_INFINITY)));
}

/** cpuQuota gives the CPUs' worth of time that the control group grants; undefined where it sets no limit. */
function cpuQuota(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return parseCpuQuota(readFileSync('/sys/fs/cgroup/cpu.max', 'utf8'));
  } catch {
    return undefined;
  }
}

/** parseCpuQuota reads CPUs from the kernel's `cpu.max`, `<quota µs|max> <period µs>`; undefined without a limit. */
export function parseCpuQuota(text: string): number | undefined {
  const [quota = '', period = ''] = text.trim().split(' ');
  return /^\d+$/.test(quota) && Number(period) > 0 ? Number(quota) / Number(period) : undefined;
}

/**
 * assignCores gives each executor a set of cores, none shared: `threads[i]` cores to the i-th. An entry is undefined
 * where the system cannot pin (no `taskset`, not Linux) or the cores are used up; that executor runs unpinned.
 */
export function assignCores(threads: readonly number[]): (readonly number[] | undefined)[] {
  const free = tasksetPath() === undefined ? [] : [...allowedCores()];
  return threads.map((count) => (count <= free.length ? free.splice(0, count) : undefined));
}

/** allowedCores lists the cores that this process may run on; the list is empty where the system does not say. */
export function allowedCores(): readonly number[] {
  if (process.platform !== 'linux') return [];
  try {
    const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return list === undefined ? [] : parseCoreList(list);
  } catch {
    return [];
  }
}

/**
 * parseCoreList reads the kernel's notation of cores: `0-3,8` gives 0, 1, 2, 3 and 8. It expects such text, and checks
 * nothing.
 */
export function parseCoreList(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}

/** tasksetPath finds `taskset` (util-linux), or gives undefined. */
export function tasksetPath(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, 'taskset')).find((path) => existsSync(path));
}
