import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** The kernel counts CPU time in ticks of a hundredth of a second, whatever its clock does. */
const TICKS_PER_S = 100;

/**
 * otherWork begins to watch what the machine does besides some processes. The function it gives tells the share of the
 * time of all cores that went to anything else since then, the hypervisor's other guests included. On systems without
 * `/proc`, it is not a number.
 * @param pids lists the processes that are not others; those that have come or gone meanwhile count as others
 */
export function otherWork(pids: () => readonly number[]): () => number {
  const before = takenTicks(pids());
  const beganAt = performance.now();
  return () => {
    const after = takenTicks([...before.byPid.keys()]);
    const own = [...after.byPid].reduce(
      (sum, [pid, ticks]) => sum + ticks - (before.byPid.get(pid) ?? ticks),
      0,
    );
    const ticks = ((performance.now() - beganAt) / 1e3) * TICKS_PER_S * cpus().length;
    return Math.max(0, (after.all - before.all - own) / ticks);
  };
}

/** takenTicks reads how many ticks all cores were busy or taken away, and how many each process took. */
function takenTicks(pids: readonly number[]): { all: number; byPid: Map<number, number> } {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
    const [user, nice, system, , , irq, softirq, steal] = line.trim().split(/\s+/).slice(1).map(Number);
    const all = [user, nice, system, irq, softirq, steal].reduce((sum: number, one = 0) => sum + one, 0);
    return { all, byPid: new Map(pids.flatMap((pid) => ticksOf(pid) ?? [])) };
  } catch {
    return { all: Number.NaN, byPid: new Map() };
  }
}

/** ticksOf gives a process with the ticks that it took in user and kernel mode; undefined where it is gone. */
function ticksOf(pid: number): [[number, number]] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in brackets, may hold blanks.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return [[pid, Number(fields[11]) + Number(fields[12])]];
  } catch {
    return undefined;
  }
}
