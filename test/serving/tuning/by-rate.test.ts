import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { BY_RATE_TUNING, type ByRateSettings, ByRateTuner } from '../../../src/serving/tuning/by-rate.js';
import { LoadMeter } from '../../../src/serving/tuning/load-meter.js';
import { drive, evenly, S, setOf } from './tuned.js';

function run(
  arrivals: readonly number[],
  untilS: number,
  { settings = {}, sets = [setOf({ replicas: 1 })] as ReturnType<typeof setOf>[] } = {},
) {
  const tuner = new ByRateTuner(sets, { ...BY_RATE_TUNING, ...settings });
  return drive(tuner, { meter: new LoadMeter(sets.length), arrivals, untilNs: untilS * S });
}

/** A stage as the paper speaks of it: the share of requests that come to it, and a worker's batch and its time. */
interface Stage {
  readonly visits: number;
  readonly batch: number;
  readonly batchS: number;
  readonly replicas: number;
  readonly most: number;
}

/**
 * asPaper computes what a stage wants at each decision from the whole list of arrivals: each interval by itself, and then
 * the most over those within `keepS`.
 */
function asPaper(
  arrivals: readonly number[],
  untilS: number,
  { stage, settings }: { stage: Stage; settings: ByRateSettings },
): number[] {
  const { intervalS, utilisation, keepS } = settings;
  const workerRps = (utilisation * stage.batch) / stage.batchS;
  const needed = [stage.replicas];
  for (let k = 1; k * intervalS <= untilS; k++) {
    const [from, to] = [(k - 1) * intervalS * S, k * intervalS * S];
    // What comes at the very beginning of the run is in the first interval.
    const came = arrivals.filter((at) => (at > from || (k === 1 && at === 0)) && at <= to).length;
    const workers = Math.ceil(((came / intervalS) * stage.visits) / workerRps - 1e-9);
    needed.push(Math.min(stage.most, Math.max(1, workers)));
  }
  return needed.map((_, k) =>
    Math.max(...needed.slice(0, k + 1).filter((__, j) => (k - j) * intervalS <= keepS)),
  );
}

describe('ByRateTuner', () => {
  it('wants the workers that the rate of the last interval needs at the target utilisation', () => {
    // A worker serves 4 in 40 ms, 100/s, and 80/s at 80 %. The second stage has half of the requests, at 40/s a worker.
    const sets = [setOf({ replicas: 1 }), setOf({ pools: [1], visits: 0.5, workS: 0.5 / 50, replicas: 1 })];
    expect(run(evenly(160, 0.001, 5), 5, { sets })).toEqual([[5, 2, 2]]);
    expect(run(evenly(161, 0.001, 5), 5, { sets })).toEqual([[5, 3, 3]]);
    expect(run(evenly(161, 0.001, 5), 5, { sets, settings: { utilisation: 1 } })).toEqual([[5, 2, 2]]);
  });

  it('decides every interval, on the arrivals of that interval alone', () => {
    const arrivals = [...evenly(70, 0.001, 5), ...evenly(350, 5.001, 10), ...evenly(390, 10.001, 15)];
    expect(run(arrivals, 20)).toEqual([[10, 5]]);
    expect(run(arrivals, 12, { settings: { intervalS: 4 } }).map(([at]) => at)).toEqual([8, 12]);
  });

  it('keeps the most that was wanted within 30 s, the beginning included', () => {
    const arrivals = [...evenly(500, 0.001, 5), ...evenly(200, 5.001, 10), ...evenly(10, 10.001, 60)];
    expect(run(arrivals, 60)).toEqual([
      [5, 7],
      [40, 3],
      [45, 1],
    ]);
    const sets = [setOf({ replicas: 6 })];
    expect(run(evenly(10, 0.001, 60), 60, { sets })).toEqual([[35, 1]]);
  });

  it('takes no more devices than there are, and keeps one', () => {
    expect(run(evenly(900, 0.001, 5), 5, { sets: [setOf({ replicas: 1, most: 9 })] })).toEqual([[5, 9]]);
    expect(run([], 60)).toEqual([]);
  });

  it('measures the rate over the time that has passed where it is asked late', () => {
    const tuner = new ByRateTuner([setOf({ replicas: 1 })], BY_RATE_TUNING);
    for (const at of evenly(160, 0.001, 10)) tuner.arrived(at);
    tuner.decide(10 * S);
    expect([tuner.wanted[0], tuner.nextAt]).toEqual([2, 15 * S]);
  });

  it.each([1, 2, 3, 4, 5, 6])('wants what the paper says on random loads, seed %i', (seed) => {
    const stream = streamOf(seed, 'by-rate');
    const settings = {
      intervalS: 1 + stream.integer(6),
      utilisation: 0.5 + 0.5 * stream.uniform(),
      keepS: 1 + stream.integer(30),
    };
    const stages = Array.from({ length: 3 }, (): Stage => {
      const batch = 1 + stream.integer(16);
      return {
        visits: 0.2 + stream.uniform(),
        batch,
        batchS: 0.01 * (1 + batch),
        replicas: 1 + stream.integer(5),
        most: 6 + stream.integer(30),
      };
    });
    const sets = stages.map(({ visits, batch, batchS, replicas, most }, i) =>
      setOf({ pools: [i], visits, batch, replicas, most, workS: (visits * batchS) / batch }),
    );
    const arrivals = Array.from({ length: 12 }, (_, k) => {
      return evenly(20 + stream.integer(500), 10 * k + 0.0005, 10 * (k + 1));
    }).flat();
    const changes = run(arrivals, 120, { settings, sets });
    const expected = stages.map((stage) => asPaper(arrivals, 120, { stage, settings }));
    const replayed = stages.map(({ replicas }) => [replicas]);
    for (let k = 1; k * settings.intervalS <= 120; k++) {
      const now = changes.find(([at]) => at === k * settings.intervalS)?.slice(1);
      for (const [i, one] of replayed.entries()) one.push((now?.[i] ?? one.at(-1)) as number);
    }
    expect(replayed).toEqual(expected);
    expect(changes.length).toBeGreaterThan(3);
  });
});
