import { readFile } from 'node:fs/promises';

/** Step is something that a device does: it comes into use, goes, or executes a batch. */
interface Step {
  readonly device: string;
  readonly deviceClass: string;
  readonly atUs: number;
  readonly what: string;
  readonly lastsUs?: number;
}

interface TraceEvent {
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly name?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly args?: { readonly name?: string };
}

/** stepsIn reads what each device did from a timeline, in the order of the file. */
export async function stepsIn(path: string): Promise<Step[]> {
  const { traceEvents } = JSON.parse(await readFile(path, 'utf8')) as { traceEvents: TraceEvent[] };
  const names = new Map<string, string>();
  const steps: Step[] = [];
  for (const { ph, name = '', pid, tid, ts = 0, dur, args } of traceEvents) {
    if (name === 'process_name') names.set(`${pid}`, args?.name ?? '');
    if (name === 'thread_name') names.set(`${pid}/${tid}`, args?.name ?? '');
    const row = names.get(`${pid}/${tid}`) ?? '';
    if (!['B', 'E', 'X'].includes(ph) || !row.startsWith('gpu')) continue;
    const server = names.get(`${pid}`) ?? '';
    steps.push({
      device: `${server} ${row}`,
      deviceClass: /\((.*)\)/.exec(server)?.[1] ?? '',
      atUs: ts,
      what: `${ph} ${name}`,
      ...(dur === undefined ? {} : { lastsUs: dur }),
    });
  }
  return steps;
}

/**
 * mostAtOnce counts, by class, the most devices that are in use or still execute a batch at any instant. What ends at an
 * instant has ended before anything begins.
 */
export function mostAtOnce(steps: readonly Step[]): ReadonlyMap<string, number> {
  const moments: { atUs: number; change: number; device: string; deviceClass: string }[] = [];
  for (const { device, deviceClass, atUs, what, lastsUs = 0 } of steps) {
    const change = (by: number, at = atUs) => moments.push({ atUs: at, change: by, device, deviceClass });
    if (what.startsWith('X')) {
      change(1);
      change(-1, atUs + lastsUs);
    } else change(what.startsWith('B') ? 1 : -1);
  }
  moments.sort((a, b) => a.atUs - b.atUs || a.change - b.change);
  const held = new Map<string, number>();
  const now = new Map<string, number>();
  const most = new Map<string, number>();
  for (const { change, device, deviceClass } of moments) {
    const before = held.get(device) ?? 0;
    held.set(device, before + change);
    const turned = Math.sign(before + change) - Math.sign(before);
    now.set(deviceClass, (now.get(deviceClass) ?? 0) + turned);
    most.set(deviceClass, Math.max(most.get(deviceClass) ?? 0, now.get(deviceClass) ?? 0));
  }
  return most;
}
