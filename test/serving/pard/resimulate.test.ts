import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { describeInWholeRun, seeds } from '../../cases.js';
import type { DispatchRule, Fate, Pipeline, Settings } from './pipeline.js';
import { randomChain } from './random-pipelines.js';
import { resimulated } from './resimulate.js';
import { SCHEDULER_NAMES, type SchedulerName } from './rules.js';

const settings = (scheduler: SchedulerName, more: Partial<Settings> = {}): Settings => ({
  scheduler,
  waits: streamOf(1, 'waits'),
  choices: streamOf(1, 'choices'),
  draws: 200,
  ...more,
});
const outcomes = (fates: Fate[]) => fates.map(({ outcome, endNs }) => `${outcome} ${endNs}`);

describe('resimulated(), of cases computed by hand', () => {
  it('has eight requests come while one batch of four runs, as Fig. 3a: the first four wait 0.75 d on average', () => {
    const d = 1600;
    const arrivalsNs = [0, 100, 300, 500, 700, 900, 1100, 1300, 1500];
    const stages = [{ devices: 1, batch: 4, latencyNs: [d, d, d, d] }];
    const fates = resimulated({ stages, sloNs: 2 * d, arrivalsNs }, settings('pard-fcfs'));
    const waits = fates.map(({ visits: [visit] }) => visit!.startNs! - visit!.batchedNs!);
    expect(waits.slice(0, 5)).toEqual([0, 1500, 1300, 1100, 900]);
    expect((1500 + 1300 + 1100 + 900) / 4).toBe(0.75 * d);
    // The next batch would end at 3 d, and the last request is to be answered by 1500 + 2 d.
    expect(outcomes(fates)).toEqual([
      'inTime 1600',
      ...new Array(4).fill('inTime 3200'),
      ...new Array(4).fill('dropped 1600'),
    ]);
  });

  it('serves the four of Fig. 3a that came last if the most budget goes first: they took 0.5 d less', () => {
    const d = 1600;
    // Two batches of four come first, so that all eight requests of the figure are in the queue when there is room.
    const arrivalsNs = [0, 0, 0, 0, 0, 0, 0, 0, 100, 300, 500, 700, 900, 1100, 1300, 1500];
    const stages = [{ devices: 1, batch: 4, latencyNs: [d, d, d, d] }];
    const chain = { stages, sloNs: 3 * d, arrivalsNs };
    const served = (scheduler: SchedulerName) =>
      resimulated(chain, settings(scheduler)).flatMap(({ outcome, endNs }, i) =>
        outcome === 'inTime' && i >= 8 ? [endNs - arrivalsNs[i]!] : [],
      );
    expect(served('pard-fcfs')).toEqual([4700, 4500, 4300, 4100]);
    expect(served('pard-hbf')).toEqual([3900, 3700, 3500, 3300]);
  });

  it('serves both R4 and R5 of Fig. 7 if the least budget goes first, and one of them by order of arrival', () => {
    // R4 is sent before R5, and comes to the second stage after it. Its device had a batch that began late.
    const stages = [
      { devices: 2, batch: 2, latencyNs: [100, 120] },
      { devices: 1, batch: 1, latencyNs: [200] },
    ];
    const chain = { stages, sloNs: 1002, arrivalsNs: [0, 95, 96, 97, 98] };
    const [r4, r5] = resimulated(chain, settings('pard-lbf')).slice(3);
    expect([r4!.visits[1]!.receivedNs, r5!.visits[1]!.receivedNs]).toEqual([295, 220]);
    expect(outcomes([r4!, r5!])).toEqual(['inTime 900', 'inTime 1100']);
    const byArrival = resimulated(chain, settings('pard-fcfs')).slice(3);
    expect(byArrival.map(({ outcome }) => outcome)).toEqual(['dropped', 'inTime']);
    expect(byArrival[1]!.endNs).toBe(900);
  });

  it('tops up the batch of an idle device at the instant at which it starts', () => {
    const stages = [{ devices: 1, batch: 3, latencyNs: [10, 12, 13] }];
    const fates = resimulated({ stages, sloNs: 100, arrivalsNs: [0, 4, 10, 10, 10] }, settings('naive'));
    expect(fates.map(({ visits: [v] }) => [v!.batchedNs, v!.startNs])).toEqual([
      ...[
        [0, 0],
        [4, 10],
        [10, 10],
        [10, 10],
      ],
      [10, 23],
    ]);
  });

  it('hands tasks on at the instant at which their batch ends, before the next stage starts', () => {
    const stages = [
      { devices: 2, batch: 1, latencyNs: [10] },
      { devices: 1, batch: 2, latencyNs: [5, 5] },
    ];
    const fates = resimulated({ stages, sloNs: 100, arrivalsNs: [0, 0, 5] }, settings('naive'));
    expect(outcomes(fates)).toEqual(['inTime 15', 'inTime 15', 'inTime 25']);
  });
});

describe('resimulated(), of each rule by hand', () => {
  const one = (batch: number, latencyNs: number[]) => [{ devices: 1, batch, latencyNs }];
  const three = (d: number[]) => d.map((ns) => ({ devices: 1, batch: 1, latencyNs: [ns] }));
  const isServed = (chain: Pipeline, scheduler: SchedulerName, more: Partial<Settings> = {}) =>
    resimulated(chain, settings(scheduler, more)).map(({ outcome }) => outcome !== 'dropped');

  it('adds to the end of the first stage what each estimate says of the later ones', () => {
    // The end of stage 1 is 100, and the later stages take 500; without waits, the sums of draws are those of λ.
    const served = (scheduler: SchedulerName, sloNs: number) =>
      isServed({ stages: three([100, 200, 300]), sloNs, arrivalsNs: [0] }, scheduler)[0];
    // Only at the later stages is it dropped here.
    expect([served('pard-back', 599), served('pard-back', 600)]).toEqual([false, true]);
    expect([served('pard-sf', 599), served('pard-sf', 600)]).toEqual([false, true]);
    expect([served('pard-lower', 599), served('pard-lower', 600)]).toEqual([false, true]);
    expect([served('pard-upper', 1099), served('pard-upper', 1100)]).toEqual([false, true]);
    // With draws of one half, w is 250.
    const more = { waits: { ...streamOf(1, 'waits'), uniform: () => 0.5 } };
    const pard = (sloNs: number) =>
      isServed({ stages: three([100, 200, 300]), sloNs, arrivalsNs: [0] }, 'pard', more)[0];
    expect([pard(849), pard(850)]).toEqual([false, true]);
    const droppedAt = (scheduler: SchedulerName) =>
      resimulated({ stages: three([100, 200, 300]), sloNs: 599, arrivalsNs: [0] }, settings(scheduler))[0]!
        .droppedAt;
    expect([droppedAt('pard-back'), droppedAt('pard-sf'), droppedAt('pard')]).toEqual([2, 0, 0]);
  });

  it('adds how long requests queued lately at the later stages', () => {
    // The first five queue for 0, 0, 80, 170 and 260 at the second stage, which is 102 on average, and all end by 510.
    // Of the others, the n-th would start at 2000 + 10 (n − 1), so that the 30th is estimated at 290 + 10 + 100 + 102.
    const arrivalsNs = [...new Array(5).fill(0), ...new Array(40).fill(2000)];
    const chain = { stages: three([10, 100]), sloNs: 510, arrivalsNs };
    const fates = resimulated(chain, settings('pard-lower', { periodNs: 2000, windowNs: 100_000 }));
    expect(fates.slice(0, 5).map(({ endNs }) => endNs)).toEqual([110, 210, 310, 410, 510]);
    expect(fates.filter(({ droppedAt }) => droppedAt !== 0)).toHaveLength(5 + 30);
  });

  it('turns the queue at once for pard-instant, and not within 1 ± ε for pard', () => {
    // The stage does ten a period. Two come in the first, twelve in the second: μ is 1.2, and ε is 10/14.
    const arrivalsNs = [0, 0, ...new Array(12).fill(1000), 2000, 3000, 3000, 3000];
    const chain = { stages: three([100]), sloNs: 1e6, arrivalsNs };
    const starts = (scheduler: SchedulerName) =>
      resimulated(chain, settings(scheduler, { periodNs: 1000 }))
        .slice(13)
        .map(({ visits: [visit] }) => visit!.startNs);
    // At 2000 the last of the twelve and the one of 2000 wait. One came in the third period, so the order turns back.
    expect(starts('pard')).toEqual([2100, 2200, 3000, 3100, 3200]);
    expect(starts('pard-instant')).toEqual([2200, 2100, 3000, 3100, 3200]);
  });

  it('lets nexus drop the whole queue where no window is in time as a whole', () => {
    // The next batch would end at 200, which is too late for the request of 1, and there are no two others.
    const chain = { stages: one(3, [100, 100, 100]), sloNs: 150, arrivalsNs: [0, 1] };
    expect(outcomes(resimulated(chain, settings('nexus')))).toEqual(['inTime 100', 'dropped 1']);
  });

  it('lets nexus drop all before the first window that is in time as a whole', () => {
    // Four come while a batch runs until 100; the next has room for two, and would end at 200.
    const chain = { stages: one(2, [100, 100]), sloNs: 150, arrivalsNs: [0, 1, 2, 51, 52] };
    const fates = resimulated(chain, settings('nexus'));
    expect(outcomes(fates)).toEqual([
      ...['inTime 100', 'dropped 1', 'dropped 2'],
      ...['inTime 200', 'inTime 200'],
    ]);
  });

  it('gives up the least budget as soon as it is hopeless, while there is no room', () => {
    // When the request of 20 could be decided, that of 90 has more budget. It cannot end by 230 from 131 on.
    const chain = { stages: one(1, [100]), sloNs: 210, arrivalsNs: [0, 10, 20, 90] };
    const ends = ['inTime 100', 'inTime 200', 'dropped 131', 'inTime 300'];
    expect(outcomes(resimulated(chain, settings('pard-hbf')))).toEqual(ends);
  });

  it('gives up the head of the queue of nexus before it scans, so that the window need not have it', () => {
    const stages = [
      { devices: 2, batch: 2, latencyNs: [100, 160] },
      { devices: 1, batch: 2, latencyNs: [120, 120] },
    ];
    // The last two come to the second stage at 200, and the earlier of them is hopeless there.
    const fates = resimulated({ stages, sloNs: 300, arrivalsNs: [0, 0, 1, 100] }, settings('nexus'));
    expect(outcomes(fates)).toEqual(['inTime 220', 'inTime 220', 'dropped 200', 'inTime 340']);
  });

  it('lets clipper++ compare the start with the part of a stage, and pard-split the end', () => {
    const last = (scheduler: SchedulerName, sloNs: number) =>
      isServed({ stages: three([100, 100]), sloNs, arrivalsNs: [0, 0] }, scheduler)[1];
    expect([last('clipper++', 199), last('clipper++', 200)]).toEqual([false, true]);
    expect([last('pard-split', 399), last('pard-split', 400)]).toEqual([false, true]);
  });

  it('lets pard-wcl give a stage the part that its longest latency has', () => {
    // The longest latencies of the first period are 300 and 100, so that the parts are 525 and 175 afterwards.
    const arrivalsNs = [0, 0, 0, 2000, 2000, 2000, 2000, 2000, 2000];
    const chain = { stages: three([100, 100]), sloNs: 700, arrivalsNs };
    const fates = resimulated(chain, settings('pard-wcl', { periodNs: 1000, windowNs: 5000 }));
    expect(outcomes(fates).map((text) => text.split(' ')[0])).toEqual([
      ...new Array(8).fill('inTime'),
      'dropped',
    ]);
    expect(fates.at(-1)).toMatchObject({ endNs: 2400, droppedAt: 0 });
  });

  it('lets pard-oc drop two of five, evenly, while requests queue for more than 25 ms on average', () => {
    const arrivalsNs = [...new Array(10).fill(0), ...new Array(10).fill(1e9)];
    const chain = { stages: three([30e6, 1e6]), sloNs: 1, arrivalsNs };
    const kept = isServed(chain, 'pard-oc');
    const five = [true, true, false, true, false];
    expect(kept).toEqual([...new Array(10).fill(true), ...five, ...five]);
    // The same where a later stage is the one that queues.
    const second = resimulated({ ...chain, stages: three([1e6, 30e6]) }, settings('pard-oc')).slice(10);
    const keptBy = five.concat(five);
    expect(second.map(({ droppedAt }) => droppedAt !== 0)).toEqual(keptBy);
  });
});

describe('resimulated(), of DAGs by hand', () => {
  const stagesOf = (...d: number[]) => d.map((ns) => ({ devices: 1, batch: 2, latencyNs: [ns, ns] }));
  const always = (...to: number[]) => to.map((stage) => ({ to: stage, isConditional: false }));
  const asked = (...to: number[]) => to.map((stage) => ({ to: stage, isConditional: true }));
  /** Stage 0 leads to 1 and 2, which lead to 3. */
  const diamond = (sloNs: number, more: Partial<Pipeline> = {}): Pipeline => ({
    stages: stagesOf(10, 20, 30, 5),
    edges: [always(1, 2), always(3), always(3), []],
    sloNs,
    arrivalsNs: [0],
    ...more,
  });
  const receivedOf = (fate: Fate | undefined) => fate?.visits.map(({ receivedNs }) => receivedNs);

  it('begins a join when all branches are there that are gone along', () => {
    const [both] = resimulated(diamond(100), settings('naive'));
    expect([receivedOf(both), both?.endNs]).toEqual([[0, 10, 10, 40], 45]);
    const verdict = (bits: number) => () => bits;
    const edges = [asked(1, 2), always(3), always(3), []];
    const ends = [0, 1, 2, 3].map((bits) => {
      const [fate] = resimulated(diamond(100, { edges, verdict: verdict(bits) }), settings('naive'));
      return [receivedOf(fate)!.length, fate!.endNs];
    });
    expect(ends).toEqual([
      ...[
        [1, 10],
        [3, 35],
        [3, 45],
      ],
      [4, 45],
    ]);
  });

  it('leaves out a join that no branch leads to, and lets what follows it know', () => {
    const edges = [always(1, 2), asked(3), asked(3), always(4), []];
    const pipeline = { ...diamond(100, { edges }), stages: stagesOf(10, 20, 30, 5, 7) };
    const ends = [0, 1].map((bits) => {
      const [fate] = resimulated({ ...pipeline, verdict: () => bits }, settings('naive'));
      return [receivedOf(fate)!.length, fate!.endNs];
    });
    expect(ends).toEqual([
      [3, 40],
      [5, 52],
    ]);
  });

  it('ends a request on all branches that is dropped on one, and fills the room that it leaves', () => {
    const stages = stagesOf(10, 60, 100, 5).map((stage, k) => ({ ...stage, batch: [4, 1, 1, 2][k]! }));
    stages[0]!.latencyNs = [10, 10, 10, 10];
    const edges = [[...always(1), ...asked(2)], always(3), always(3), []];
    const verdict = (request: number) => (request === 3 ? 0 : 1);
    const pipeline = diamond(215, { stages, edges, verdict, arrivalsNs: [0, 0, 0, 0] });
    const fates = resimulated(pipeline, settings('pard-back'));
    // At stage 2 the first runs from 10 to 110 and the second until 210, after which the third would end too late. It is
    // collected at stage 1 when that is decided, and the fourth, which does not go to stage 2, takes its room.
    expect(outcomes(fates)).toEqual(['inTime 115', 'inTime 215', 'dropped 110', 'inTime 195']);
    expect(fates.map(({ visits }) => visits.slice(1).map(({ startNs }) => startNs))).toEqual([
      [10, 10, 110],
      [70, 110, 210],
      [undefined, undefined],
      [130, 190],
    ]);
    expect(fates.map(({ visits: [, visit] }) => visit!.batchedNs)).toEqual([10, 10, 70, 110]);
    expect(fates[2]!.droppedAt).toBe(2);
  });

  it('throws away what a batch gives that runs when a request is dropped on another branch', () => {
    const stages = stagesOf(10, 40, 100, 5).map((stage, k) => ({ ...stage, batch: [3, 1, 1, 2][k]! }));
    stages[0]!.latencyNs = [10, 10, 10];
    const fates = resimulated(diamond(215, { stages, arrivalsNs: [0, 0, 0] }), settings('pard-back'));
    expect(outcomes(fates)).toEqual(['inTime 115', 'inTime 215', 'dropped 110']);
    expect(fates[2]!.visits.map(({ startNs }) => startNs)).toEqual([0, 90, undefined]);
  });

  it('estimates by the path on which the later stages take longest', () => {
    const outcomeOf = (scheduler: SchedulerName, sloNs: number) =>
      resimulated(diamond(sloNs), settings(scheduler))[0]!.outcome;
    expect([outcomeOf('pard-sf', 44), outcomeOf('pard-sf', 45)]).toEqual(['dropped', 'inTime']);
    expect([outcomeOf('pard-upper', 79), outcomeOf('pard-upper', 80)]).toEqual(['dropped', 'inTime']);
  });

  it('divides an SLO along the longest path through a stage', () => {
    // Of 350, stage 1 has 350 · 20/35 = 200, though the longest path through the pipeline takes 45.
    const late = (atNs: number) => {
      const stages = stagesOf(10, 20, 30, 5).map((stage, k) => ({ ...stage, devices: k === 1 ? 1 : 50 }));
      const count = Math.ceil(atNs / 20) + 1;
      stages[1]!.batch = 1;
      const fates = resimulated(
        diamond(350, { stages, arrivalsNs: new Array(count).fill(0) }),
        settings('clipper++', { dispatch: 'least-work' }),
      );
      return fates.at(-1)!.outcome;
    };
    expect([late(200), late(220)]).toEqual(['inTime', 'dropped']);
  });

  it('serves the rows of a request as tasks, and ends it with the last of them', () => {
    const stages = [{ devices: 1, batch: 2, latencyNs: [10, 10] }];
    const pipeline = { stages, sloNs: 25, arrivalsNs: [0, 0], rows: [3, 2] };
    const fates = resimulated(pipeline, settings('naive'));
    expect(outcomes(fates)).toEqual(['inTime 20', 'late 30']);
    // The first of its rows that cannot end by 25 ends it.
    expect(outcomes(resimulated(pipeline, settings('pard')))).toEqual(['inTime 20', 'dropped 10']);
  });

  it('counts q of the moment where the state is shared at once', () => {
    // As where it is shared each 2000, above; nothing is known of the later stage before the first period has passed.
    const stages = [10, 100].map((ns) => ({ devices: 1, batch: 1, latencyNs: [ns] }));
    const arrivalsNs = [...new Array(5).fill(0), ...new Array(40).fill(2000)];
    const droppedAtFirst = (periodNs: number) =>
      resimulated({ stages, sloNs: 510, arrivalsNs }, settings('pard-lower', { periodNs, windowNs: 100_000 }))
        .slice(5)
        .filter(({ droppedAt }) => droppedAt === 0).length;
    expect(droppedAtFirst(1e9)).toBe(0);
    expect(droppedAtFirst(0)).toBeGreaterThan(5);
  });
});

describeInWholeRun('resimulated(), of random chains', () => {
  const dispatches: DispatchRule[] = ['turns', 'least-work', 'two-choices'];
  const each = (check: (chain: Pipeline, fates: Fate[], scheduler: SchedulerName) => void) => {
    for (const seed of seeds(6, 100)) {
      const stream = streamOf(seed, 'pard/random');
      const chain = randomChain(stream, 120);
      const dispatch = dispatches[stream.integer(3)]!;
      for (const scheduler of SCHEDULER_NAMES)
        check(chain, resimulated(chain, settings(scheduler, { dispatch })), scheduler);
    }
  };

  it('ends each request once, at its stages one after the other', () => {
    each(({ stages, arrivalsNs, sloNs }, fates, scheduler) => {
      expect(fates).toHaveLength(arrivalsNs.length);
      const batches = batchesOf(stages, fates);
      fates.forEach(({ visits, outcome, endNs, droppedAt }, request) => {
        const executed = visits.filter(({ startNs }) => startNs !== undefined);
        let atNs = arrivalsNs[request]!;
        for (const batch of batches.filter(({ requests }) => requests.includes(request))) {
          const visit = visits[batch.stage]!;
          expect(visit.receivedNs).toBe(atNs);
          expect(visit.batchedNs!).toBeGreaterThanOrEqual(visit.receivedNs);
          atNs = batch.endNs;
        }
        if (outcome === 'dropped') {
          expect(scheduler).not.toBe('naive');
          expect([visits.length, executed.length]).toEqual([droppedAt! + 1, droppedAt]);
          expect(endNs).toBeGreaterThanOrEqual(visits.at(-1)!.receivedNs);
        } else {
          expect([executed.length, endNs]).toEqual([stages.length, atNs]);
          expect(outcome).toBe(endNs <= arrivalsNs[request]! + sloNs ? 'inTime' : 'late');
        }
      });
    });
  });

  it('has each batch wait between 0 and what is left of the batch that runs', () => {
    each(({ stages }, fates) => {
      const batches = batchesOf(stages, fates);
      for (const { visits } of fates)
        for (const { device, batchedNs, startNs } of visits) {
          if (batchedNs === undefined) continue;
          const running = batches.find(
            (b) =>
              b.device === device && b.startNs <= batchedNs && batchedNs < b.endNs && b.startNs !== startNs,
          );
          expect(startNs).toBe(running?.endNs ?? batchedNs);
        }
      for (const batch of batches) {
        expect(batch.requests.length).toBeLessThanOrEqual(stages[batch.stage]!.batch);
        const next = batches.find((b) => b.device === batch.device && b.startNs > batch.startNs);
        expect(next?.startNs ?? Infinity).toBeGreaterThanOrEqual(batch.endNs);
      }
    });
  });
});

interface Batch {
  device: number;
  stage: number;
  startNs: number;
  endNs: number;
  requests: number[];
}

/** batchesOf puts the batches together again, by device and start, in the order of their starts. */
function batchesOf(stages: Pipeline['stages'], fates: readonly Fate[]): Batch[] {
  const batches = new Map<string, Batch>();
  fates.forEach(({ visits }, request) => {
    visits.forEach(({ device, startNs }, stage) => {
      if (startNs === undefined) return;
      const key = `${device} ${startNs}`;
      const batch = batches.get(key) ?? { device, stage, startNs, endNs: startNs, requests: [] };
      batch.requests.push(request);
      batch.endNs = startNs + stages[stage]!.latencyNs[batch.requests.length - 1]!;
      batches.set(key, batch);
    });
  });
  return [...batches.values()].toSorted((a, b) => a.startNs - b.startNs);
}
