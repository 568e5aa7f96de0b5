import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Instance } from '../../../bench/ppipe/instances.js';
import { profilesIn, publishedInstances, publishedPlan } from '../../../bench/ppipe/plans.js';
import { stageRoute } from '../../../src/formats/index.js';
import { topologyOf } from '../../../src/plans/index.js';
import { Answer, Decision, Decisions, type ServingCore, type Topology } from '../../../src/serving/index.js';
import {
  OutcomeCode,
  type SimulationObserver,
  type SimulationView,
  simulate,
} from '../../../src/simulator/index.js';
import { arrivalsAt } from '../../../src/workload/index.js';

const NS_PER_US = 1000;

/** Golden is a run of the published simulator: a single run of 3 s, with one row per request. */
export interface Golden {
  file: string;
  scheduler: 'reservation' | 'reactive';
  topology: Topology;
  arrivalsUs: number[];
  /** The texts `outcome,pipeline,stages`, one for each request. */
  rows: string[];
}

/** goldenRuns reads the golden runs whose file name holds `part`. */
export function goldenRuns(folder: URL, part = ''): Golden[] {
  const profileOf = profilesIn(folder);
  const instances = publishedInstances(folder);
  const runs = new URL('simulation/', folder);
  return readdirSync(runs)
    .filter((file) => file.startsWith('golden-') && file.includes(part))
    .sort()
    .map((file) => {
      const { prefix, cluster, model, plan, scheduler } = partsOf(file);
      const instance = instances.find(
        ({ id }) => id.startsWith(prefix) && id.includes(`_${cluster}_`),
      ) as Instance;
      const artifact = publishedPlan(instance, plan, { profileOf, only: model });
      if (artifact === undefined) throw new Error(`Cannot replay ${file}: there is no plan for it`);
      const [, ...lines] = gunzipSync(readFileSync(new URL(file, runs)))
        .toString()
        .trim()
        .split('\n');
      const cells = lines.map((line) => line.split(','));
      return {
        file,
        scheduler,
        topology: topologyOf(artifact, { rules: 'published' }),
        arrivalsUs: cells.map((row) => Number(row[1])),
        rows: cells.map((row) => row.slice(3).join(',')),
      };
    });
}

function partsOf(file: string) {
  const parts =
    /^golden-([a-z0-9]+)_(.+?)(?:_(\w+-\w+)_(\d)_(v4|bl))?_(reservation|reactive|sla_aware)_lf\d+\./i.exec(
      file,
    );
  if (parts === null) throw new Error(`Cannot replay ${file}: this is not the name of a golden run`);
  const [, group, name, cluster = 'L4-T4', index = '0', plan, scheduler] = parts;
  return {
    prefix: `${group}/${name}`,
    cluster,
    model: Number(index),
    plan: plan === 'bl' ? ('no-partitioning' as const) : ('reference' as const),
    scheduler: scheduler?.toLowerCase() === 'reservation' ? ('reservation' as const) : ('reactive' as const),
  };
}

/**
 * replayGolden replays the arrivals of a run through a core.
 * @returns its rows as the published simulator writes them
 */
export function replayGolden(run: Golden, makeCore: (decisions: Decisions) => ServingCore): string[] {
  return new PublishedDriver(run, makeCore).run();
}

interface Stage {
  worker: number;
  batch: number;
  arrive: number;
  start: number;
  complete: number;
}

interface Row {
  outcome: string;
  pipeline: number;
  stages: Stage[];
}

/** textOf writes a row as the published simulator does. */
function textOf({ outcome, pipeline, stages }: Row, { scheduler }: Golden): string {
  const shown = scheduler === 'reactive' ? -1 : outcome === 'dropped' ? '' : pipeline;
  const each = stages.map(({ worker, batch, arrive, start, complete }) =>
    [worker, batch, ...[arrive, start, complete].map((ns) => ns / NS_PER_US)].join('/'),
  );
  return [outcome, shown, each.join(';')].join(',');
}

interface Happening {
  at: number;
  rank: number;
  tell: () => void;
}

/**
 * PublishedDriver drives a core in the order of the published simulator. Among the events of an instant, those of each
 * pool come first, the pool's link before its devices. The timer and the arrivals follow. The core decides after every
 * event.
 */
class PublishedDriver {
  private readonly decisions = new Decisions();
  private readonly core: ServingCore;
  private readonly pending: Happening[] = [];
  private readonly rows: Row[] = [];
  private readonly rowOfRequest: number[] = [];
  private readonly rowOfTask: number[] = [];
  private readonly waitingFor: number[][];
  private readonly busy: boolean[];
  private readonly uplink: number[][];
  private readonly stages: Stage[] = [];
  private dueAt = Infinity;
  private now = 0;

  constructor(
    private readonly golden: Golden,
    makeCore: (decisions: Decisions) => ServingCore,
  ) {
    this.core = makeCore(this.decisions);
    const { devices, links } = golden.topology;
    this.waitingFor = devices.map(() => []);
    this.busy = devices.map(() => false);
    this.uplink = Array.from({ length: links.uplinkCount }, () => []);
  }

  run(): string[] {
    const { core, golden } = this;
    golden.topology.devices.forEach((_, device) => {
      core.deviceUp(0, device);
    });
    this.decide();
    let next = 0;
    for (;;) {
      const [event] = this.pending;
      const arrival = NS_PER_US * (golden.arrivalsUs[next] ?? Infinity);
      this.now = Math.min(event?.at ?? Infinity, this.dueAt, arrival);
      if (this.now === Infinity) break;
      if (event?.at === this.now) {
        this.pending.shift();
        event.tell();
      } else if (this.dueAt === this.now) {
        this.dueAt = Infinity;
        core.due(this.now);
      } else this.arrive(next++);
      this.decide();
    }
    return this.rows.map((row) => textOf(row, golden));
  }

  private arrive(index: number): void {
    const { sloNs } = this.golden.topology.models[0] as { sloNs: number };
    const request = this.core.arrived(this.now, 0, this.now + sloNs, 1);
    this.rowOfRequest[request] = index;
    this.rowOfTask[this.core.taskOf(request, 0)] = index;
    this.rows[index] = { outcome: 'none', pipeline: -1, stages: [] };
  }

  private decide(): void {
    this.core.decide(this.now);
    const { decisions } = this;
    const begun: number[] = [];
    for (let i = 0; i < decisions.count; i++) {
      const a = decisions.a(i);
      switch (decisions.kind(i)) {
        case Decision.execute:
          begun.push(...this.execute(a, decisions.b(i)));
          break;
        case Decision.transfer:
          this.transfer(a, decisions.b(i));
          break;
        case Decision.answer:
          this.rowOf(a).outcome = decisions.b(i) === Answer.failed ? 'failed' : 'served';
          break;
        case Decision.drop:
          this.rowOf(a).outcome = 'dropped';
          break;
        case Decision.wakeAt:
          this.dueAt = a;
          break;
      }
    }
    decisions.clear();
    for (const batch of begun) this.core.started(this.now, batch);
  }

  private rowOf(request: number): Row {
    return this.rows[this.rowOfRequest[request] as number] as Row;
  }

  /**
   * Makes a new batch or sends one on.
   * @returns the batch, where it begins at once
   */
  private execute(batch: number, device: number): number[] {
    const { core } = this;
    const size = core.batchSize(batch);
    const stage = { worker: device, batch: size, arrive: this.now, start: 0, complete: 0 };
    this.stages[batch] = stage;
    for (let i = 0; i < size; i++) {
      const row = this.rows[this.rowOfTask[core.batchTask(batch, i)] as number] as Row;
      row.stages.push(stage);
      row.pipeline = stageRoute(this.golden.topology.pools[core.batchPool(batch)]!.stage);
    }
    if (this.busy[device]) {
      this.waitingFor[device]?.push(batch);
      return [];
    }
    this.begin(batch, device);
    return [batch];
  }

  private begin(batch: number, device: number): void {
    const { core } = this;
    const pool = core.batchPool(batch);
    const stage = this.stages[batch] as Stage;
    const tookNs = this.golden.topology.pools[pool]?.latencyNs[core.batchSize(batch) - 1] as number;
    this.busy[device] = true;
    stage.start = this.now;
    this.happen(this.now + tookNs, 2 * pool + 1, device, () => {
      this.busy[device] = false;
      const { start } = stage;
      stage.complete = this.now;
      core.executed(this.now, batch, start, this.now);
      const next = this.waitingFor[device]?.shift();
      if (next === undefined) return;
      this.begin(next, device);
      core.started(this.now, next);
    });
  }

  private transfer(batch: number, from: number): void {
    const link = this.golden.topology.links.uplinkOf[from] as number;
    const queue = this.uplink[link] as number[];
    if (queue.push(batch) === 1) this.send(link);
  }

  private send(link: number): void {
    const { core } = this;
    const queue = this.uplink[link] as number[];
    const batch = queue[0] as number;
    const pool = core.batchPool(batch);
    const tookNs = this.golden.topology.pools[pool]?.transferNs[core.batchSize(batch) - 1] as number;
    const startedAt = this.now;
    this.happen(this.now + tookNs, 2 * pool, link, () => {
      queue.shift();
      core.transferred(this.now, batch, startedAt, this.now);
      if (queue.length > 0) this.send(link);
    });
  }

  /** happen inserts an event; events are sorted by time, then by rank, then by index. */
  private happen(at: number, rank: number, index: number, tell: () => void): void {
    const item = { at, rank: rank * 1e6 + index, tell };
    let i = this.pending.length;
    while (i > 0) {
      const before = this.pending[i - 1] as Happening;
      if (before.at < at || (before.at === at && before.rank <= item.rank)) break;
      i -= 1;
    }
    this.pending.splice(i, 0, item);
  }
}

/**
 * simulateGolden does the same through the simulator's own driver, which tells a whole instant before the
 * core decides.
 */
export function simulateGolden(run: Golden, makeCore: (decisions: Decisions) => ServingCore): string[] {
  const rows: Row[] = [];
  const rowOfRequest: number[] = [];
  let view: SimulationView;
  let next = 0;
  const observer: SimulationObserver = {
    begun: (seen) => {
      view = seen;
    },
    arrived: (_at, _model, request) => {
      rowOfRequest[request] = next;
      rows[next++] = { outcome: 'none', pipeline: -1, stages: [] };
    },
    ended: (_at, _model, request, _arrivedAt, outcome) => {
      const row = rows[rowOfRequest[request] as number] as Row;
      row.outcome = outcome === OutcomeCode.dropped ? 'dropped' : 'served';
    },
    executed: (batch, pool, worker, size, arrive, start, complete) => {
      for (let i = 0; i < size; i++) {
        const request = view.requestOf(view.core.batchTask(batch, i));
        const row = rows[rowOfRequest[request] as number] as Row;
        row.pipeline = stageRoute(run.topology.pools[pool]!.stage);
        row.stages.push({ worker, batch: size, arrive, start, complete });
      }
    },
  };
  const arrivals = arrivalsAt(run.arrivalsUs.map((us) => us * NS_PER_US));
  simulate({ topology: run.topology, makeCore, arrivals, observers: [observer] });
  return rows.map((row) => textOf(row, run));
}
