import { describe, expect, it } from 'vitest';
import { boundSample, leastTimes } from '../../src/dyorc/bounds.js';
import { planAsPlaced, planWorkflows } from '../../src/dyorc/index.js';
import type { WorkflowPlanBody, WorkflowQuestion } from '../../src/dyorc/problem.js';
import type { WorkflowSpec } from '../../src/formats/index.js';
import { requestsOfLoad } from '../../src/specs/workflow/requests.js';
import { simulatedSample } from '../../src/specs/workflow/simulated-sample.js';
import { CHAT, chatSpec, resolvedSpec } from './made-specs.js';

function questionOf(spec: WorkflowSpec): WorkflowQuestion {
  const resolved = resolvedSpec(spec);
  return {
    resolved,
    interrupted: () => false,
    tell: () => undefined,
    requestsOf: (seed) => requestsOfLoad({ resolved }, seed),
    simulate: simulatedSample,
  };
}

function planOf(question: WorkflowQuestion): WorkflowPlanBody {
  const answer = planWorkflows(question);
  if (answer.status === 'planned') return answer.plan;
  throw new Error(JSON.stringify(answer.reasons));
}

const LOAD = { arrivals: 'poisson' as const, rps: 3, duration: '4s' };

describe('planAsPlaced()', () => {
  it('makes from the placement of a searched plan the parts that the search gave it', () => {
    for (const planner of [undefined, { method: 'static' as const }, { objective: 'devices' as const }]) {
      const question = questionOf(chatSpec({ load: LOAD, ...(planner === undefined ? {} : { planner }) }));
      const plan = planOf(question);
      const made = planAsPlaced(question, plan, { serves: true });
      const { cluster, components, workflows, placement, sample, bounds } = plan;
      const { figures, bounds: again, ...parts } = made;
      expect(parts).toMatchObject({ cluster, components, workflows, placement });
      expect(figures).toEqual(sample);
      expect(workflows).toMatchObject([{ name: 'chat', chain: CHAT, share: 1, sloMs: 2000 }]);
      expect(again).toMatchObject(bounds);
      // A plan of fewest devices has some of those that are free, and its bounds are of all of them.
      expect(made.bounded.cluster.devices.A800?.count).toBe(4);
      if (planner?.objective === 'devices') expect(cluster.devices.A800?.count).toBeLessThan(4);
    }
  });

  it('serves nothing where that is not asked, and bounds the same requests', () => {
    const question = questionOf(chatSpec({ load: LOAD }));
    const plan = planOf(question);
    let simulations = 0;
    const counted: WorkflowQuestion = {
      ...question,
      simulate: (asked) => {
        simulations += 1;
        return question.simulate(asked);
      },
    };
    const made = planAsPlaced(counted, plan, { serves: false });
    expect([simulations, 'figures' in made]).toEqual([0, false]);
    const { workflows, attainment } = question.resolved;
    const least = leastTimes(made.bounded.components, made.bounded.cluster);
    expect(made.bounds).toEqual(boundSample(question.requestsOf(1), { workflows, attainment, least }));
  });

  it('keeps what devices hold, for ever and at the start, as the placement says', () => {
    const question = questionOf(chatSpec({ load: LOAD }));
    const plan = planOf(question);
    const edited = plan.placement.map((device, d) => ({
      ...device,
      holds: d === 0 ? ['image'] : device.holds,
      static: d === 1 ? ['vision'] : [],
    }));
    const made = planAsPlaced(question, { placement: edited }, { serves: false });
    expect(made.placement.map(({ holds, static: stays }) => ({ holds, stays }))).toEqual(
      edited.map(({ holds, static: stays }) => ({ holds, stays })),
    );
  });
});
