import type { HeldRates, HoldProgress, HoldTools } from '../../src/hold/index.js';
import type { PlanBody, PooledOutcome, PooledProblem, ProblemModel } from '../../src/milp/index.js';

/** Made is a plan of the fake planner: so many GPUs, each with 10 requests/s less the margin. */
interface Made {
  readonly margin: number;
  readonly gpus: number;
}

const GPUS = 10;
const RPS_PER_GPU = 10;

/** fakeProblem asks for the most requests of one model, or for the fewest GPUs for a rate. GPUs stay where they are. */
export function fakeProblem(rps?: number): PooledProblem {
  const profile = { devices: {}, blocks: [] };
  const model = {
    name: 'm',
    spec: {},
    profile,
    classes: [],
    sloUs: 100_000,
    sloMarginUs: 10_000,
    batchFormation: 'none',
    weight: 1,
    rps,
    minShare: { some: 0.1 },
  };
  const objective = rps === undefined ? 'throughput' : 'cost';
  return { models: [model], planner: { objective }, cluster: { devices: {} } } as unknown as PooledProblem;
}

const rateOf = ({ margin, gpus }: Made) => gpus * RPS_PER_GPU * (1 - margin);
const marginOf = ({ sloMarginUs, sloUs }: ProblemModel) => sloMarginUs / sloUs;

/** made is how the fake planner plans: all GPUs for the most requests, or as few as serve the rate. */
function made({ models: [model] }: PooledProblem): Made | undefined {
  const margin = marginOf(model!);
  if (model!.rps === undefined) return { margin, gpus: GPUS };
  const gpus = Math.ceil(model!.rps / (RPS_PER_GPU * (1 - margin)) - 1e-9);
  return gpus <= GPUS ? { margin, gpus } : undefined;
}

export function fakeOutcome(problem: PooledProblem): PooledOutcome {
  const found = made(problem);
  const [model] = problem.models;
  if (found === undefined) return { status: 'infeasible', reasons: [] } as unknown as PooledOutcome;
  const throughputRps = rateOf(found);
  const value = model!.rps === undefined ? throughputRps / model!.weight : found.gpus;
  const planned = { name: 'm', throughputRps, sloMs: 100, weight: model!.weight, rps: model!.rps };
  const plan = {
    objective: { kind: problem.planner.objective, value, bound: value, gap: 0 },
    models: [{ ...planned, pipelines: [found] }],
    classes: { A: { used: found.gpus, shadowPrice: 1 } },
  };
  return { status: 'optimal', plan } as unknown as PooledOutcome;
}

export const madeBy = (plan: PlanBody) => plan.models[0]!.pipelines[0] as unknown as Made;

/** A plan holds half of its rate without a margin, and all of it from a margin of a quarter on. */
export const heldBy = (plan: PlanBody) => {
  const found = madeBy(plan);
  return rateOf(found) * Math.min(1, 0.5 + 2 * found.margin);
};

export function fakeTools(more: Partial<HoldTools> = {}, held = heldBy) {
  const simulated: Made[] = [];
  const progress: HoldProgress[] = [];
  const one = async ({ plan }: { readonly plan: PlanBody }): Promise<HeldRates> => {
    simulated.push(madeBy(plan));
    return { heldRps: [held(plan)], attainment: [], requests: 1 };
  };
  const tools: HoldTools = {
    bounds: async (problems) =>
      problems.map((problem) => {
        const [{ rps, weight }] = problem.models as [ProblemModel];
        if (rps === undefined) return (GPUS * RPS_PER_GPU * (1 - marginOf(problem.models[0]!))) / weight;
        const gpus = rps / (RPS_PER_GPU * (1 - marginOf(problem.models[0]!)));
        return gpus <= GPUS ? gpus : undefined;
      }),
    plans: async (problems) => problems.map(fakeOutcome),
    held: async (plans) => Promise.all(plans.map(one)),
    ranked: one,
    promised: one,
    isOver: () => false,
    onProgress: (told) => progress.push(told),
    ...more,
  };
  return { tools, simulated, progress };
}
