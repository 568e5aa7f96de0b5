import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { emittedHead, type PooledPlan, saveArtifact } from '../artifacts/index.js';
import type { PlanProgress, PooledOutcome, SolverReport } from '../milp/index.js';
import { loadProblem } from './pooled.js';
import type { SolveRequest, WorkerMessage } from './solve-worker.js';

export interface SolveOptions {
  /** Where the plan is written; nowhere when left out. */
  readonly output?: string | undefined;
  /** Relative gap asked for. */
  readonly gap?: number | undefined;
  /** Counted work asked for. */
  readonly work?: number | undefined;
  /** Seconds asked for; a plan it ends says `reproducible: false`. */
  readonly timeLimit?: number | undefined;
  /** When aborted, the best plan so far is returned. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (doing: string) => void;
}

/** What `plan solve` answers; `document` is what `--json` prints. */
export type Solved =
  | {
      readonly outcome: 'plan';
      readonly plan: PooledPlan;
      readonly warnings: readonly string[];
      /** Whether a limit or gap that was asked for ended the search, or was not reached. */
      readonly limitReached: boolean;
      readonly document: PooledPlan & { solver: SolverReport };
    }
  | { readonly outcome: 'infeasible'; readonly reasons: readonly string[]; readonly document: object }
  | { readonly outcome: 'no-plan-in-time'; readonly document: object };

/**
 * Solves a spec and writes the plan. The search runs on a thread of its own, so that progress lives and an abort is heard.
 * @param path a spec of kind `pooled`
 * @throws InputError with all faults of spec, cluster and profiles; MissingError where one is not there
 */
export async function solveSpec(path: string, options: SolveOptions = {}): Promise<Solved> {
  const loaded = await loadProblem(path);
  const { gap, work, timeLimit } = options;
  const outcome = await solveApart(
    {
      problem: loaded.problem,
      ...(gap === undefined ? {} : { gap }),
      ...(work === undefined ? {} : { work }),
      ...(timeLimit === undefined ? {} : { timeLimitMs: timeLimit * 1000 }),
    },
    options,
  );
  switch (outcome.status) {
    case 'infeasible':
      return { outcome: 'infeasible', reasons: outcome.reasons, document: outcome };
    case 'no-plan-in-time':
      return { outcome: 'no-plan-in-time', document: outcome };
    default: {
      const plan: PooledPlan = {
        ...emittedHead('pooled-plan', loaded.inputs(options.output)),
        ...outcome.plan,
      };
      if (options.output !== undefined) await saveArtifact<'pooled-plan'>(options.output, plan);
      return {
        outcome: 'plan',
        plan,
        warnings: outcome.notes,
        limitReached: missedWhatWasAsked(outcome.limit, plan.objective.gap, options),
        document: { ...plan, solver: outcome.solver },
      };
    }
  }
}

/** A default search that ends with a gap is done; a limit or a gap that somebody asked for is an answer of its own. */
function missedWhatWasAsked(limit: string | undefined, gap: number, options: SolveOptions): boolean {
  if (options.gap !== undefined && gap > options.gap) return true;
  return (
    (limit === 'work' && options.work !== undefined) || (limit === 'time' && options.timeLimit !== undefined)
  );
}

async function solveApart(
  request: Omit<SolveRequest, 'interrupt'>,
  options: SolveOptions,
): Promise<PooledOutcome> {
  const interrupt = new Int32Array(new SharedArrayBuffer(4));
  const entry = createRequire(import.meta.url).resolve('#dist/src/api/solve-worker.js');
  const worker = new Worker(entry, { workerData: { ...request, interrupt } satisfies SolveRequest });
  const onAbort = (): void => {
    Atomics.store(interrupt, 0, 1);
  };
  if (options.signal?.aborted) onAbort();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await new Promise<PooledOutcome>((resolve, reject) => {
      worker.on('message', (message: WorkerMessage) => {
        if (message.kind === 'progress') options.onProgress?.(progressText(message.progress));
        else resolve(message.outcome);
      });
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error('the solver thread ended without an answer')));
    });
  } finally {
    options.signal?.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

function progressText({ phase, value, bound }: PlanProgress): string {
  const best = value === undefined ? '' : `, best ${value.toPrecision(6)}`;
  return `solving: ${phase}${best}${bound === undefined ? '' : `, bound ${bound.toPrecision(6)}`}`;
}
