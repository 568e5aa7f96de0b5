import { describe, expect, it } from 'vitest';
import { classBound } from '../../src/inferline/class-bound.js';
import { planCoarsely } from '../../src/inferline/coarse.js';
import { estimatorOf } from '../../src/inferline/index.js';
import { initialize } from '../../src/inferline/initialize.js';
import { thinned } from '../../src/inferline/linked.js';
import { minimize } from '../../src/inferline/minimize.js';
import { planPipeline } from '../../src/inferline/planner.js';
import type { PlanningProblem } from '../../src/inferline/problem.js';
import { type PlannerInput, Trials } from '../../src/inferline/trials.js';
import { readStageGraph } from '../../src/plans/index.js';

const MS = 1e6;

interface Stage {
  /** By class, how long batches of 1, 2, … rows take, in ms. */
  readonly ms: Readonly<Record<string, readonly number[]>>;
  readonly replicas?: number;
}

const COSTS: Readonly<Record<string, number>> = { a: 1, b: 5 };

/** chainOf is a pipeline of stages in a row, of whose sixty requests one comes every 10 ms. */
function chainOf(
  stages: readonly Stage[],
  { everyMs = 10, ...change }: Partial<PlanningProblem> & { readonly everyMs?: number } = {},
): PlannerInput {
  const names = stages.map((_, i) => `s${i}`);
  const { graph } = readStageGraph({
    stages: names.map((name, i) => ({ name, ...(i + 1 < names.length ? { next: [names[i + 1]!] } : {}) })),
  });
  const problem: PlanningProblem = {
    graph,
    stages: stages.map(({ ms, replicas }) => ({
      candidates: Object.entries(ms).map(([device, times]) => ({
        device,
        batches: times.map((_, n) => n + 1),
        latencyNs: Float64Array.from(times, (time) => MS * time),
        hourlyCost: COSTS[device] as number,
      })),
      ...(replicas === undefined ? {} : { replicas }),
    })),
    objectives: [{ attainment: 1, sloNs: 45 * MS }],
    counts: {},
    ...change,
  };
  const atNs = Float64Array.from({ length: 60 }, (_, i) => everyMs * MS * i);
  return { problem, samples: [{ atNs, verdicts: names.map(() => undefined) }], estimatorOf };
}

const slo = (ms: number) => ({ objectives: [{ attainment: 1, sloNs: ms * MS }] });
const QUICK: Stage = { ms: { a: [10], b: [2] } };
const SLOW: Stage = { ms: { a: [30], b: [6] } };

function infeasible(input: PlannerInput, method: 'inferline' | 'exact' = 'exact') {
  const outcome = planPipeline(input, method);
  if (outcome.status !== 'infeasible') throw new Error(outcome.status);
  return outcome;
}

describe('A pipeline whose devices are too few', () => {
  it('is told how many of a class would do, and for which stages', () => {
    const counts = { a: 3, b: 0 };
    const { reasons, least } = infeasible(chainOf([QUICK, SLOW], { counts }));
    expect(reasons).toEqual([
      {
        code: 'limits-together',
        classes: ['a', 'b'],
        fixedStages: [],
        needed: {
          classes: [{ device: 'a', needed: 4, count: 3 }],
          stages: [
            { stage: 's0', device: 'a', replicas: 1 },
            { stage: 's1', device: 'a', replicas: 3 },
          ],
        },
      },
    ]);
    // Two of the slow stage fall 5 ms behind with each request, which is too late for an SLO that is little longer.
    const sloMs = least!.sloNs[0]! / MS;
    expect(sloMs).toBeGreaterThan(45);
    expect(planPipeline(chainOf([QUICK, SLOW], { counts, ...slo(sloMs) }), 'exact')).toMatchObject({
      status: 'feasible',
      hourlyCost: least!.hourlyCost,
    });
    expect(planPipeline(chainOf([QUICK, SLOW], { counts, ...slo(sloMs / 1.03) }), 'exact').status).toBe(
      'infeasible',
    );
    const untold = { ...chainOf([QUICK, SLOW], { counts }), tellsSlo: false };
    expect(infeasible(untold).reasons[0]).not.toHaveProperty('needed');
    expect(infeasible(untold)).not.toHaveProperty('least');
  });

  it('is told so at once where the spec fixes more replicas than there are', () => {
    const stages = [
      { ...QUICK, replicas: 2 },
      { ...SLOW, replicas: 3 },
    ];
    // One more of a is less than three of b.
    expect(infeasible(chainOf(stages, { counts: { a: 4, b: 0 } }))).toMatchObject({
      estimates: 0,
      reasons: [
        {
          code: 'limits-together',
          fixedStages: ['s0', 's1'],
          needed: {
            classes: [{ device: 'a', needed: 5, count: 4 }],
            stages: [
              { stage: 's0', device: 'a', replicas: 2 },
              { stage: 's1', device: 'a', replicas: 3 },
            ],
          },
        },
      ],
    });
    // With none of a, both are on b; and with one of it too, as a stage has all of its replicas on one class.
    const { reasons } = infeasible(chainOf(stages, { counts: { a: 0, b: 4 } }));
    expect(reasons).toMatchObject([{ needed: { classes: [{ device: 'b', needed: 5, count: 4 }] } }]);
    expect(infeasible(chainOf(stages, { counts: { a: 0, b: 4 } }))).not.toHaveProperty('least');
  });

  it('is told what each stage needs where links make others wait', () => {
    const linked = { counts: { a: 3, b: 0 }, transferNs: () => 1 };
    const input = { ...chainOf([QUICK, SLOW], linked), serve: () => new Float64Array(60) };
    const { reasons } = infeasible(input);
    expect(reasons).toEqual([
      {
        code: 'limits-together',
        classes: ['a', 'b'],
        fixedStages: [],
        least: [
          {
            stage: 's0',
            least: [
              { device: 'a', needed: 1, count: 3 },
              { device: 'b', needed: 1, count: 0 },
            ],
          },
          {
            stage: 's1',
            least: [
              { device: 'a', needed: 3, count: 3 },
              { device: 'b', needed: 1, count: 0 },
            ],
          },
        ],
      },
    ]);
  });

  it('is undecided where the search is stopped before it finds the plan that there is', () => {
    const input = chainOf([QUICK, SLOW], { counts: { a: 3, b: 1 } });
    expect(planPipeline(input, 'exact')).toMatchObject({ status: 'feasible', hourlyCost: 6 });
    const stopped = planPipeline({ ...input, mostEstimates: 1 }, 'exact');
    expect(stopped).toMatchObject({ status: 'undecided', isCut: true, lowerBound: 6 });
    expect(planPipeline({ ...input, stop: () => true }, 'inferline')).toMatchObject({ status: 'undecided' });
  });
});

describe('A pipeline between whose classes transfers take long', () => {
  const stages: Stage[] = [{ ms: { a: [10], b: [100] } }, { ms: { a: [100], b: [10] } }];
  const transferNs: PlanningProblem['transferNs'] = ({ fromDevice, toDevice }) =>
    fromDevice === toDevice ? 0 : 50 * MS;

  it('has stages that are fast enough one by one, and no choice for both', () => {
    const { reasons, least } = infeasible(chainOf(stages, { transferNs }));
    expect(reasons).toEqual([{ code: 'no-combination', objectives: [{ attainment: 1, sloNs: 45 * MS }] }]);
    // From a to b it takes 10 + 50 + 10 ms.
    expect(least!.sloNs[0]).toBeGreaterThanOrEqual(70 * MS);
    expect(least!.sloNs[0]).toBeLessThan(71.1 * MS);
    expect(least!.hourlyCost).toBe(6);
  });
});

describe('A pipeline whose servers are too few', () => {
  const three: Stage[] = [{ ms: { a: [5] } }, { ms: { a: [5] } }, { ms: { a: [5] } }];
  const serve = () => new Float64Array(60);

  it('sends more than their uplinks have time for', () => {
    // Each of two stages sends sixty rows for 7 ms each, in the 590 + 200 ms that there are.
    const sending = (ms: number, servers: Readonly<Record<string, number>>) => ({
      ...chainOf(three, { servers, transferNs: () => ms * MS, ...slo(200) }),
      serve,
      tellsSlo: false,
    });
    expect(planPipeline(sending(790 / 120, { a: 1 }), 'exact').status).toBe('feasible');
    expect(infeasible(sending(7, { a: 1 })).reasons).toEqual([{ code: 'too-few-servers', classes: ['a'] }]);
    expect(planPipeline(sending(6.5, { a: 1 }), 'exact').status).toBe('feasible');
    expect(planPipeline(sending(7, { a: 2 }), 'exact').status).toBe('feasible');
    // A stage alone is too much for one server, and needs replicas on two.
    const two = planPipeline(sending(14, { a: 4 }), 'exact');
    if (two.status !== 'feasible') throw new Error(two.status);
    expect([...two.configuration.replicas]).toEqual([2, 2, 1]);
    const wanting = infeasible(sending(14, { a: 1 }));
    expect(wanting.reasons).toEqual([{ code: 'too-few-servers', classes: ['a'] }]);
  });

  it('is told an SLO that the simulator meets over links', () => {
    const input = {
      ...chainOf(three, { transferNs: () => MS, ...slo(5) }),
      serve: () => new Float64Array(60).fill(60 * MS),
    };
    // Over idle links 17 ms would do, and with links it takes 60.
    const { least, reasons } = infeasible(input);
    expect(reasons).toMatchObject([{ code: 'slo-too-short', leastSloNs: 17 * MS }]);
    expect(least!.sloNs[0]).toBeGreaterThanOrEqual(60 * MS);
    expect(least!.sloNs[0]).toBeLessThan(61.2 * MS);
    expect(infeasible({ ...input, mostEstimates: 20 })).not.toHaveProperty('least');
    const far = { ...input, serve: () => new Float64Array(60).fill(600 * MS) };
    expect(infeasible(far)).not.toHaveProperty('least');
  });
});

describe('initialize()', () => {
  const begun = (stages: readonly Stage[], counts: Readonly<Record<string, number>>) =>
    initialize(new Trials(chainOf(stages, { counts, everyMs: 8, ...slo(90) }))).map(({ batch, replicas }) => [
      [...batch],
      [...replicas],
    ]);
  const paired: Stage = { ms: { a: [10, 12] } };
  const unpaired: Stage = { ms: { a: [15, 30] } };

  it('gives a larger batch to the stage that then needs the fewest replicas', () => {
    // Two of each stage are needed alone; in pairs, the first 10 ms stage needs one.
    expect(begun([paired, unpaired], { a: 3 })[0]).toEqual([
      [2, 1],
      [1, 2],
    ]);
    expect(begun([unpaired, paired], { a: 3 })[0]).toEqual([
      [1, 2],
      [2, 1],
    ]);
    expect(begun([paired, paired], { a: 3 })[0]).toEqual([
      [2, 1],
      [1, 2],
    ]);
    expect(begun([paired, paired], { a: 2 })[0]).toEqual([
      [2, 2],
      [1, 1],
    ]);
    expect(begun([paired, paired], { a: 4 })[0]).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(begun([unpaired, unpaired], { a: 3 })).toEqual([]);
  });

  it('leaves replicas that are fixed, and goes on to another class where one has too few', () => {
    expect(begun([{ ...paired, replicas: 1 }, paired], { a: 3 })[0]).toEqual([
      [2, 1],
      [1, 2],
    ]);
    // Of no use would be a larger batch of a stage on another class.
    const dear: Stage = { ms: { b: [10, 12] } };
    expect(begun([dear, paired, paired], { a: 3 })[0]).toEqual([
      [1, 2, 1],
      [2, 1, 2],
    ]);
    const either: Stage = { ms: { b: [5], a: [10] } };
    const options = initialize(new Trials(chainOf([either, either], { counts: { b: 1 }, ...slo(90) })));
    expect([...options[0]!.candidate].toSorted()).toEqual([0, 1]);
  });
});

describe('classBound()', () => {
  const bound = (input: PlannerInput) => classBound(new Trials(input), 'nothing');

  it('leaves a stage the time that the classes of the others leave it', () => {
    // Sixty requests come at once. Behind 2 ms of b, a replica of a serves thirty within 905 ms, and behind 10 ms of a 29.
    const asked = (sloMs: number) => chainOf([QUICK, SLOW], { everyMs: 0, ...slo(sloMs) });
    expect(bound(asked(905))).toBe(1 + 3);
    expect(bound(asked(910))).toBe(1 + 2);
    // So it is with what comes after a stage.
    const reversed = (sloMs: number) => chainOf([SLOW, QUICK], { everyMs: 0, ...slo(sloMs) });
    expect([bound(reversed(905)), bound(reversed(910))]).toEqual([4, 3]);
  });

  it('leaves out classes that are too slow together, where too many requests take both', () => {
    expect(bound(chainOf([QUICK, SLOW], slo(40)))).toBe(1 + 3);
    expect(bound(chainOf([QUICK, SLOW], slo(39)))).toBe(1 + 5);
    expect(bound(chainOf([QUICK, SLOW], slo(15)))).toBe(5 + 5);
    expect(bound(chainOf([QUICK, SLOW], slo(7)))).toBe(Number.POSITIVE_INFINITY);
    // Half of the requests end at the first stage.
    const half = (attainment: number) => {
      const { problem, samples, ...rest } = chainOf([QUICK, SLOW], {
        objectives: [{ attainment, sloNs: 39 * MS }],
      });
      const next = [{ to: 's1', probability: 0.5 }];
      const { graph } = readStageGraph({ stages: [{ name: 's0', next }, { name: 's1' }] });
      const verdicts = [Int32Array.from(samples[0]!.atNs, (_, i) => i % 2), undefined];
      return { ...rest, problem: { ...problem, graph }, samples: [{ ...samples[0]!, verdicts }] };
    };
    expect(bound(half(0.5))).toBe(1 + 1);
    expect(bound(half(0.6))).toBe(1 + 5);
  });

  it('asks the Estimator about the first stage, and counts no estimate', () => {
    // Two replicas that take 10 ms fall behind by 1 ms with each request. Of sixty, all but six must be within 45 ms: in
    // sum they have the time, and one after another only the first 36 do.
    const asked = (sloMs: number, more: Partial<Stage> = {}, counts = {}) =>
      chainOf([{ ms: { a: [10] }, ...more }], {
        everyMs: 4,
        counts,
        objectives: [{ attainment: 0.9, sloNs: sloMs * MS }],
      });
    const trials = new Trials(asked(45));
    expect(classBound(trials, 'nothing')).toBe(2);
    expect(classBound(trials)).toBe(3);
    expect(trials.estimates).toBe(0);
    expect(classBound(new Trials(asked(62)))).toBe(2);
    expect(classBound(new Trials(asked(61)))).toBe(3);
    expect(classBound(new Trials(asked(45, { replicas: 2 })))).toBe(Number.POSITIVE_INFINITY);
    expect(classBound(new Trials(asked(45, {}, { a: 2 })))).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('A stage whose pairs take less time than single rows', () => {
  it('is planned by a search over all choices, as more replicas miss what one meets', () => {
    // A replica that is busy for 10 ms finds two requests, which take 4 ms together: two of three are within 9 ms.
    const input = chainOf([{ ms: { a: [10, 4] } }], {
      everyMs: 5,
      objectives: [{ attainment: 0.6, sloNs: 9 * MS }],
    });
    expect(initialize(new Trials(input))).toEqual([]);
    for (const method of ['inferline', 'exact'] as const)
      expect(planPipeline(input, method), method).toMatchObject({
        status: 'feasible',
        hourlyCost: 1,
        configuration: { batch: Int32Array.of(2), replicas: Int32Array.of(1) },
      });
  });
});

describe('thinned()', () => {
  const thinnedTo = (
    meets: (replicas: readonly number[]) => boolean,
    stages: readonly Stage[] = [QUICK, SLOW],
  ) => {
    const asked: string[] = [];
    const runs = {
      stopped: false,
      meets: ({ replicas }: { readonly replicas: Int32Array }) => {
        asked.push(replicas.join());
        return meets([...replicas]);
      },
    };
    const begin = {
      candidate: Int32Array.of(0, 0),
      batch: Int32Array.of(1, 1),
      replicas: Int32Array.of(3, 5),
    };
    const found = thinned(new Trials(chainOf(stages)), begin, runs as never);
    return { replicas: [...found.replicas], asked };
  };

  it('takes replicas away one by one, down to those that are proved to be needed', () => {
    expect(thinnedTo(() => true)).toEqual({ replicas: [1, 3], asked: ['2,5', '1,5', '1,4', '1,3'] });
    expect(thinnedTo(([first]) => first! > 1)).toEqual({
      replicas: [2, 3],
      asked: ['2,5', '1,5', '2,4', '2,3'],
    });
    expect(thinnedTo(() => false)).toEqual({ replicas: [3, 5], asked: ['2,5', '3,4'] });
  });

  it('begins with the dearest, and leaves what the spec fixes', () => {
    const dear: Stage = { ms: { b: [30] } };
    expect(thinnedTo(() => true, [QUICK, dear]).asked).toEqual(['3,4', '3,3', '2,3', '1,3']);
    expect(thinnedTo(() => true, [{ ...QUICK, replicas: 3 }, SLOW]).replicas).toEqual([3, 3]);
  });
});

describe('planCoarsely()', () => {
  it('counts the devices of each class that its boxes need', () => {
    // A box has one device of each class, and three of them serve the 250 requests that come in a second.
    const stages: Stage[] = [{ ms: { a: [10], b: [20] } }, { ms: { a: [20], b: [10] } }];
    const planned = (counts: Readonly<Record<string, number>>) => {
      const { problem, samples } = chainOf(stages, { everyMs: 4, counts });
      return planCoarsely(problem, samples, 'mean');
    };
    expect(planned({ a: 3, b: 3 })).toMatchObject({
      status: 'feasible',
      configuration: { candidate: Int32Array.of(0, 1), replicas: Int32Array.of(3, 3) },
    });
    expect(planned({ a: 2, b: 3 })).toEqual({
      status: 'infeasible',
      reasons: [{ code: 'too-few-devices', device: 'a', needed: 3, count: 2 }],
    });
  });
});

describe('minimize()', () => {
  it('takes away at once all replicas that are not needed, of the stage that saves most first', () => {
    const input = chainOf([QUICK, SLOW]);
    const begin = {
      candidate: Int32Array.of(0, 0),
      batch: Int32Array.of(1, 1),
      replicas: Int32Array.of(4, 10),
    };
    const { configuration, trail, finished } = minimize(new Trials(input), begin);
    expect([...configuration.replicas]).toEqual([1, 3]);
    expect(finished).toBe(true);
    expect(
      trail.map(({ action, stage, from, to, hourlyCost }) => [
        action,
        stage,
        from.replicas,
        to.replicas,
        hourlyCost,
      ]),
    ).toEqual([
      ['remove-replicas', 1, 10, 3, 7],
      ['remove-replicas', 0, 4, 1, 4],
    ]);
  });

  it('changes the class of a stage where that saves more, unless it is held', () => {
    // Five of the slow stage cost as much on a as one on b, and more than three on a.
    const input = chainOf([QUICK, SLOW]);
    const begin = {
      candidate: Int32Array.of(0, 1),
      batch: Int32Array.of(1, 1),
      replicas: Int32Array.of(1, 1),
    };
    const free = minimize(new Trials(input), begin);
    expect([...free.configuration.candidate, ...free.configuration.replicas]).toEqual([0, 0, 1, 3]);
    expect(free.trail.map(({ action }) => action)).toEqual(['change-class']);
    const held = minimize(new Trials(input), begin, { stage: 1, candidate: 1 });
    expect([...held.configuration.candidate, ...held.configuration.replicas]).toEqual([0, 1, 1, 1]);
    const stopped = minimize(new Trials({ ...input, stop: () => true }), begin);
    expect([stopped.finished, stopped.trail]).toEqual([false, []]);
  });
});

describe('The replicas that are proved to be needed', () => {
  it('leave out batches that take longer than the SLO', () => {
    // Pairs take 12 ms, of which a replica serves eighty rows in the 483 ms that there are, and single rows 48.
    const trials = new Trials(chainOf([{ ms: { a: [10, 12] } }], { everyMs: 8, ...slo(11) }));
    const option = { candidate: 0, batch: 2 };
    expect([trials.leastReplicas(0, option), trials.provedReplicas(0, option)]).toEqual([1, 2]);
  });
});

describe('The devices that would do', () => {
  it('are for the stages on the classes of which there are too few, and not for others', () => {
    const onB: Stage = { ms: { b: [6] } };
    const { reasons } = infeasible(chainOf([SLOW, SLOW, onB], { counts: { a: 5, b: 1 }, ...slo(70) }));
    expect(reasons).toMatchObject([
      {
        code: 'limits-together',
        needed: {
          classes: [{ device: 'a', needed: 6, count: 5 }],
          stages: [
            { stage: 's0', device: 'a' },
            { stage: 's1', device: 'a' },
          ],
        },
      },
    ]);
    expect(reasons[0]).toHaveProperty('needed.stages.length', 2);
  });
});
