import { pushAll } from '../collections/index.js';
import {
  type ChainStep,
  FORMAT_VERSION,
  type Run,
  type RunTask,
  type WorkflowChain,
} from '../formats/index.js';
import { CHAIN_REQUEST, edgesOf } from './workflow-chain.js';

/** A recorded request has at most this many tasks, by its schema. */
const MOST_TASKS = 4096;
/**
 * A request that is drawn too long is drawn again so often at most. Of a chain without faults at most one in four is too long, by
 * Markov's inequality, so that all of these are in one of 10¹⁹ requests at most.
 */
const MOST_DRAWS = 32;

/** UniformDraws is where the steps of a request are drawn. A Stream of src/random is one. */
export interface UniformDraws {
  /** uniform draws from [0, 1). */
  uniform(): number;
}

/** DrawnRun is a request that was drawn from a chain, unless each draw had more than 4096 calls. */
export type DrawnRun = { readonly run: Run } | { readonly tooLongDraws: number };

/**
 * RunsOfChain draws requests from a chain, which must have no faults.
 *
 * The calls of a step are made side by side. Where a step leads to several, its outputs are read before the next step's calls are
 * made, as the program must look at them to choose; where it leads to one, they are passed on unread. An input that names a step
 * stands for all calls that it made when it was last visited.
 */
export class RunsOfChain {
  private readonly steps: ReadonlyMap<string, ChainStep>;

  constructor(
    private readonly chain: WorkflowChain,
    private readonly application: string,
  ) {
    this.steps = new Map(chain.steps.map((step) => [step.name, step]));
  }

  /** draw draws a request. Only where a step leads to several, a number is drawn. */
  draw(draws: UniformDraws): DrawnRun {
    for (let again = 0; again < MOST_DRAWS; again++) {
      const tasks = this.tasks(draws);
      if (tasks === undefined) continue;
      const { application } = this;
      const { requestBytes } = this.chain;
      return { run: { kind: 'run', version: FORMAT_VERSION, application, requestBytes, tasks } };
    }
    return { tooLongDraws: MOST_DRAWS };
  }

  /** tasks walks from the start to the end once; it gives nothing where that takes too many calls. */
  private tasks(draws: UniformDraws): RunTask[] | undefined {
    const walk = new Walk();
    let step = this.leadsTo(this.chain.start, draws);
    while (step !== undefined) {
      walk.visit(step);
      if (walk.count > MOST_TASKS) return undefined;
      step = this.leadsTo(step.next, draws);
    }
    return walk.tasks();
  }

  /** leadsTo draws the step that comes next; none at the end. */
  private leadsTo(leads: ChainStep['next'], draws: UniformDraws): ChainStep | undefined {
    const edges = edgesOf(leads);
    // The last edge takes what rounding leaves.
    let [chosen] = edges.slice(-1);
    if (edges.length > 1) {
      let left = draws.uniform();
      chosen =
        edges.find(({ chance }) => {
          left -= chance;
          return left < 0;
        }) ?? chosen;
    }
    return chosen && this.steps.get(chosen.to);
  }
}

/** Walk makes the calls of a request, step by step. */
class Walk {
  private readonly made: Omit<RunTask, 'after'>[] = [];
  /** How many tasks the program had read before it made each call, and all that it has read, in order. */
  private readonly readBefore: number[] = [];
  private readonly read: number[] = [];
  private readonly lastVisits = new Map<string, readonly number[]>();

  get count(): number {
    return this.made.length;
  }

  visit({ name, calls, next }: ChainStep): void {
    const first = this.count;
    for (const { component, inputs, outputBytes, rows = 1, thinkMs = 0 } of calls) {
      this.made.push({
        component,
        inputs: inputs.flatMap((input) => this.taken(input)),
        ...(thinkMs === 0 ? {} : { thinkMs }),
        outputBytes,
        rows,
      });
      this.readBefore.push(this.read.length);
    }
    const visited = calls.map((_, c) => first + c);
    this.lastVisits.set(name, visited);
    if (edgesOf(next).length > 1) pushAll(this.read, visited);
  }

  /** tasks gives the calls. Calls that came after the same reads share their list. */
  tasks(): RunTask[] {
    let after: number[] = [];
    return this.made.map((task, t) => {
      const count = this.readBefore[t] as number;
      if (after.length !== count) after = this.read.slice(0, count);
      return { ...task, after };
    });
  }

  private taken(input: string): readonly (number | 'request')[] {
    return input === CHAIN_REQUEST ? ['request'] : (this.lastVisits.get(input) ?? []);
  }
}
