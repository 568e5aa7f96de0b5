import { attainmentsOf } from './attainments.js';
import { type FlowEdge, flowOf, type SampleFlow } from './flow.js';
import type {
  Configuration,
  Estimate,
  PipelineEstimator,
  PlanningProblem,
  Sample,
  StageCandidate,
} from './problem.js';
import { FreeTimes } from './replicas.js';
import { RequestQueue } from './request-queue.js';
import { type Feed, StageRun } from './stage-run.js';

/**
 * estimatorOf makes InferLine's Estimator (§4.2): it serves a sample by first-come queues, one for each stage, from
 * which a replica that falls free takes what waits, up to its batch, at once. Nothing is dropped. It gives every request
 * the latency that simulations give it under the scheduler `inferline`, with two differences: a batch that is sent along
 * an edge waits for no link, where in simulations all that a server sends shares its uplink; and requests that several
 * edges bring to a stage in the same nanosecond may be served there in another order. Stages are served one after
 * another in topological order, each over the whole sample, so that an estimate costs time in proportion to the visits of
 * stages and needs no queue of events. Stages that no change since the last estimate can reach are not served again.
 */
export function estimatorOf(problem: PlanningProblem, sample: Sample): PipelineEstimator {
  return new Estimator(problem, sample);
}

class Estimator implements PipelineEstimator {
  private readonly flow: SampleFlow;
  private readonly runs: readonly StageRun[];
  private readonly latencyNs: Float64Array;
  private readonly transfers = new Map<string, Float64Array>();

  constructor(
    private readonly problem: PlanningProblem,
    private readonly sample: Sample,
  ) {
    const requests = sample.atNs.length;
    this.flow = flowOf(problem.graph, sample);
    this.latencyNs = new Float64Array(requests);
    const scratch = {
      ready: new Float64Array(requests),
      source: new Int8Array(requests),
      visits: new RequestQueue(requests),
      absences: new RequestQueue(requests),
      free: new FreeTimes(),
    };
    this.runs = this.flow.visitors.map((visitors) => new StageRun(sample.atNs, visitors, scratch));
  }

  estimate(configuration: Configuration): Estimate {
    const { graph, objectives } = this.problem;
    const isNew = graph.names.map(() => false);
    for (const stage of graph.order) isNew[stage] = this.serve(stage, configuration, isNew);
    if (isNew.includes(true)) this.fold();
    const { latencyNs, runs } = this;
    return {
      attainments: attainmentsOf(latencyNs, objectives, this.sample.applications),
      latencyNs,
      mostBusy: (stage) => (runs[stage] as StageRun).mostBusy(),
    };
  }

  private serve(stage: number, configuration: Configuration, isNew: readonly boolean[]): boolean {
    const candidate = this.candidateOf(stage, configuration);
    const feeds = (this.flow.into[stage] as readonly FlowEdge[]).map((flow): Feed => {
      const transfersNs = this.transfersNs(flow, this.candidateOf(flow.from, configuration), candidate);
      const [run, isTaken] = [this.runs[flow.from] as StageRun, flow.isTaken];
      return { run, isTaken, isNew: isNew[flow.from] as boolean, transfersNs };
    });
    return (this.runs[stage] as StageRun).serve(feeds, {
      candidate,
      batch: configuration.batch[stage] as number,
      replicas: configuration.replicas[stage] as number,
    });
  }

  private candidateOf(stage: number, { candidate }: Configuration): StageCandidate {
    return this.problem.stages[stage]?.candidates[candidate[stage] as number] as StageCandidate;
  }

  /**
   * transfersNs lists how long 1, 2, … rows are on their way, at these indices; undefined where no transfer of the
   * problem takes time.
   */
  private transfersNs(
    { from, edge }: FlowEdge,
    sender: StageCandidate,
    receiver: StageCandidate,
  ): Float64Array | undefined {
    const { transferNs } = this.problem;
    if (transferNs === undefined) return undefined;
    const key = `${from} ${edge.at} ${sender.device} ${receiver.device}`;
    const known = this.transfers.get(key);
    if (known !== undefined) return known;
    const move = { from, edge, fromDevice: sender.device, toDevice: receiver.device };
    const times = Float64Array.from({ length: sender.latencyNs.length + 1 }, (_, rows) =>
      rows === 0 ? 0 : transferNs({ ...move, rows }),
    );
    this.transfers.set(key, times);
    return times;
  }

  /**
   * fold finds when the last visit of each request ended. The end of a visit is known no earlier at a later
   * stage from which no edge leads on: the visit ends later there, or it is known when the last edge was not
   * taken.
   */
  private fold(): void {
    const { latencyNs, runs, problem } = this;
    latencyNs.fill(0);
    for (const [stage, edges] of problem.graph.edges.entries())
      if (edges.length === 0) (runs[stage] as StageRun).fold(latencyNs);
  }
}
