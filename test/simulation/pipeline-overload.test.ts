import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keptShare } from '../../bench/refute/pipelines/overloaded.js';
import { refuter } from '../../bench/refute/subjects/pipeline-overload.js';
import { Dice } from '../../bench/seeded/dice.js';
import { simulatePlan } from '../../src/api/index.js';
import type { PipelineSpec, Profile } from '../../src/formats/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { cases, inWholeRun, seeds, WHOLE, whole } from '../cases.js';
import { edge, figured, pipelineOf } from '../pipeline-plans.js';

const EXAMPLES = join(import.meta.dirname, '../../examples/pipelines');
/** Within the load that an example is planned for, so much less may be in time by the default than where nothing is dropped. */
const MOST_LOST = 0.002;

describe('A planned pipeline at ten times its load', () => {
  it.each(seeds(whole(1, 12), 150))(
    'keeps three quarters of the planned rate in time by default, and nine tenths by pard (case %i)',
    async (seed) => {
      const folder = await mkdtemp(join(tmpdir(), 'inferplan-overload-'));
      try {
        const { refutations, what } = await refuter(new Dice(seed, 'pipeline-overload'), folder);
        expect(refutations, what).toEqual([]);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    120_000,
  );

  // Each stage has two devices that execute up to four in 10 ms, so that the pipeline serves 800 requests/s.
  const held = ['a', 'a', 'b', 'b'].map((name) => [name]);
  const shapes = [{ name: 'a', next: [edge('b')] }, { name: 'b' }];
  const drawn = pipelineOf(
    shapes.map((shape) => ({ ...shape, batch: 4 })),
    held,
    { sloMs: 60 },
  );
  const plan = figured({
    ...drawn,
    stages: drawn.stages.map((stage) => ({ ...stage, latencyUsByBatch: [7_000, 8_000, 9_000, 10_000] })),
  });
  const spec = { load: { arrivals: 'poisson', rps: 700 }, sloMs: 60 } as unknown as PipelineSpec;
  const kept = (scheduler: string) => keptShare({ spec, profiles: [] as Profile[] }, plan, scheduler);

  it('keeps nine tenths by pard where stages side by side join, since both choose the same requests', () => {
    // Two stages begin side by side, each with two devices of 10 ms, and a third joins what both have served.
    const sides = [{ name: 'a', next: [edge('c')] }, { name: 'b', next: [edge('c')] }, { name: 'c' }];
    const joined = figured(
      pipelineOf(
        sides.map((side) => ({ ...side, latencyUs: 10_000 })),
        ['a', 'a', 'b', 'b', 'c', 'c', 'c'].map((name) => [name]),
        { sloMs: 60 },
      ),
    );
    const load = { load: { arrivals: 'poisson', rps: 180 }, sloMs: 60 } as unknown as PipelineSpec;
    expect(keptShare({ spec: load, profiles: [] }, joined, 'pard')).toBeGreaterThan(0.9);
  });

  inWholeRun(
    'keeps the planned rate in time because it drops: where nothing is dropped, hardly a request is in time',
    () => {
      expect(kept('room-first')).toBeGreaterThan(1);
      expect(kept('pard')).toBeGreaterThan(1);
      expect(kept('inferline')).toBeLessThan(0.1);
    },
  );
});

/** `test/specs` simulates plans at their load in the small run. */
if (WHOLE)
  describe('A planned example within its load', () => {
    const quick = ['social-media', 'tf-cascade'];
    it.each(cases(quick, [...quick, 'image-processing', 'video-monitoring', 'two-classes']))(
      'has at most 0.2 points fewer in time by its scheduler than where nothing is dropped (%s)',
      async (name) => {
        const folder = await mkdtemp(join(tmpdir(), 'inferplan-within-'));
        try {
          const path = join(folder, 'plan.json');
          const solved = await solveSpec(join(EXAMPLES, `${name}.yaml`), { output: path });
          if (solved.outcome !== 'pipeline-plan') throw new Error(solved.outcome);
          const rps = solved.plan.rps as number;
          const inTime = async (scheduler?: string): Promise<number> =>
            (await simulatePlan(path, { rps: [`${rps}`], duration: 60, seed: 5, scheduler })).report.overall
              .attainment as number;
          expect(await inTime('inferline')).toBeLessThanOrEqual((await inTime()) + MOST_LOST);
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      },
      120_000,
    );
  });
