import { ToldFaults } from '../../src/formats/index.js';
import { plannedScheduler } from '../../src/plans/index.js';
import { streamsOf } from '../../src/random/index.js';
import type { OpenedBundle } from '../../src/runtime/index.js';
import {
  Answer,
  Decision,
  type Decisions,
  type LogEntry,
  makeCore,
  replay,
  type ServingCore,
} from '../../src/serving/index.js';

/** The seed of what a live core draws, in a server too. */
const CORE_SEED = 1;

const HEARD = [
  'arrived',
  'turnedAway',
  'executed',
  'failed',
  'transferred',
  'due',
  'deviceDown',
  'decide',
] as const;
type Method = (...told: unknown[]) => unknown;

/**
 * invalidRate tells a fresh core what a server heard, and gives the device time of requests that were dropped or late
 * over that of all requests. It is undefined where nothing was executed, or where the core decides otherwise than the
 * server did.
 */
export function invalidRate(
  log: readonly LogEntry[],
  { plan, topology }: Pick<OpenedBundle, 'plan' | 'topology'>,
  scheduler: string,
): number | undefined {
  const leastSloNs = Math.min(...topology.models.map(({ sloNs }) => sloNs));
  const told = new ToldFaults();
  const chosen = plannedScheduler(
    plan.serving,
    { options: { scheduler }, leastSloNs, kind: plan.kind },
    told,
  );
  if (chosen === undefined) throw told.error('replay the log');
  const times = new DeviceTimes(topology.pools);
  const { same } = replay(log, (decisions) => {
    const core = makeCore(chosen, topology, { decisions, streams: streamsOf(CORE_SEED, 'core') });
    return times.watched(core, decisions);
  });
  return same ? times.invalidRate() : undefined;
}

/** DeviceTimes adds up the device time of each request, and what became of it. */
class DeviceTimes {
  private readonly open = new Map<number, { spentNs: number; isInvalid: boolean }>();
  private allNs = 0;
  private invalidNs = 0;

  constructor(private readonly pools: OpenedBundle['topology']['pools']) {}

  watched(core: ServingCore, decisions: Decisions): ServingCore {
    const watching = Object.create(core) as Record<string, Method>;
    for (const word of HEARD) {
      const method = core[word] as Method;
      watching[word] = (...told) => {
        if (word === 'executed') this.executed(core, told as number[]);
        const before = decisions.count;
        const answer = method.apply(core, told);
        // The number of a request is used again once no batch has it.
        if (word === 'arrived' || word === 'turnedAway') this.begin(answer as number);
        for (let i = before; i < decisions.count; i++) this.decided(decisions, i);
        return answer;
      };
    }
    return watching as unknown as ServingCore;
  }

  invalidRate(): number | undefined {
    for (const request of [...this.open.keys()]) this.close(request);
    return this.allNs === 0 ? undefined : this.invalidNs / this.allNs;
  }

  private executed(core: ServingCore, [, batch = 0, startedAt = 0, endedAt = 0]: readonly number[]): void {
    const size = core.batchSize(batch);
    const virtual = this.pools[core.batchPool(batch)]?.virtual ?? 1;
    for (let i = 0; i < size; i++) {
      const entry = this.open.get(core.requestOf(core.batchTask(batch, i)));
      if (entry !== undefined) entry.spentNs += (endedAt - startedAt) / (virtual * size);
    }
  }

  private decided(decisions: Decisions, i: number): void {
    const kind = decisions.kind(i);
    const isDropped = kind === Decision.drop;
    const isLate = kind === Decision.answer && decisions.b(i) === Answer.late;
    const entry = this.open.get(decisions.a(i));
    if ((isDropped || isLate) && entry !== undefined) entry.isInvalid = true;
  }

  private begin(request: number): void {
    this.close(request);
    this.open.set(request, { spentNs: 0, isInvalid: false });
  }

  private close(request: number): void {
    const { spentNs = 0, isInvalid = false } = this.open.get(request) ?? {};
    this.open.delete(request);
    this.allNs += spentNs;
    if (isInvalid) this.invalidNs += spentNs;
  }
}
