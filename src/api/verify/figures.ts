import type {
  GateCheck,
  LoadDocument,
  ModelLoad,
  SimulatedRequests,
  SimulationReport,
  Verification,
  VerifiedFigure,
  VerifiedFigureName,
} from '../../formats/index.js';
import { outcomeRates } from '../../metrics/index.js';

/** verifiedFigures compares the figures of all requests. */
export function verifiedFigures(report: SimulationReport, load: LoadDocument): VerifiedFigure[] {
  const { throughputRps, goodputRps } = load;
  const simulated = report.pools.reduce((sum, { batches }) => sum + batches, 0);
  const executed = (load.served ?? []).flatMap(({ executions }) => executions);
  const live = load.served === undefined ? undefined : executed.reduce((sum, one) => sum + one.executed, 0);
  return [
    ...requestFigures(report.overall, { ...load, throughputRps, goodputRps }),
    compared('batches', simulated, live),
    ...(report.cascade === undefined
      ? []
      : [compared('accuracy', report.cascade.accuracy, load.labelled?.accuracy)]),
  ];
}

/** modelFigures compares the figures of one model's requests. Its rates are over the time of the whole load. */
export function modelFigures(
  simulated: SimulatedRequests,
  live: ModelLoad,
  elapsedS: number,
): VerifiedFigure[] {
  const { answered, inTime } = live;
  return requestFigures(simulated, {
    ...live,
    throughputRps: answered / elapsedS,
    goodputRps: inTime / elapsedS,
  });
}

/** priorityFigures compares the outcomes of the requests of each priority, where requests sent some. */
export function priorityFigures(
  { priorities: simulated }: SimulationReport,
  { priorities = [], elapsedS }: LoadDocument,
): Pick<Verification, 'priorities'> {
  if (priorities.length === 0) return {};
  return {
    priorities: priorities.map((live) => {
      const level = simulated?.levels.find(({ priority }) => priority === live.priority);
      const rates = level && outcomeRates({ ...level, cancelled: 0 }, 1);
      return {
        priority: live.priority,
        figures: [
          compared('attainment', level?.attainment, live.attainment),
          compared('dropRate', rates?.dropRate, live.dropRate),
          compared('goodputRps', level?.goodputRps, live.inTime / elapsedS),
        ],
      };
    }),
  };
}

type LiveRequests = Pick<
  LoadDocument,
  'attainment' | 'dropRate' | 'throughputRps' | 'goodputRps' | 'latencyMs'
>;

function requestFigures(simulated: SimulatedRequests, live: LiveRequests): VerifiedFigure[] {
  const [planned, measured] = [simulated.latencyMs, live.latencyMs];
  return [
    compared('attainment', simulated.attainment, live.attainment),
    compared('dropRate', simulated.dropRate, live.dropRate),
    compared('goodputRps', simulated.goodputRps, live.goodputRps),
    compared('throughputRps', simulated.throughputRps, live.throughputRps),
    compared('meanLatencyMs', planned?.mean, measured?.mean),
    compared('p50LatencyMs', planned?.p50, measured?.p50),
    compared('p90LatencyMs', planned?.p90, measured?.p90),
    compared('p95LatencyMs', planned?.p95, measured?.p95),
    compared('p99LatencyMs', planned?.p99, measured?.p99),
  ];
}

function compared(
  name: VerifiedFigureName,
  simulated: number | undefined,
  live: number | undefined,
): VerifiedFigure {
  return {
    name,
    ...(simulated === undefined ? {} : { simulated }),
    ...(live === undefined ? {} : { live }),
    ...(simulated === undefined || live === undefined ? {} : { difference: live - simulated }),
  };
}

/**
 * verifiedAnswers compares which models of a cascade answered, in the order of the cascade, where the server
 * reported them.
 */
export function verifiedAnswers(
  { cascade }: SimulationReport,
  { answeredBy: told }: LoadDocument,
): Pick<Verification, 'answeredBy'> {
  if (cascade === undefined || told === undefined) return {};
  const live = new Map(told.map(({ stage, share }) => [stage, share]));
  const answeredBy = cascade.answeredBy.map(({ stage, share }) => ({
    stage,
    simulated: share,
    live: live.get(stage) ?? 0,
  }));
  return { answeredBy };
}

/**
 * differenceCheck judges whether the simulated and the live attainment are as near as is allowed. A side
 * without requests counts as 0.
 */
export function differenceCheck(
  allowed: number,
  figures: readonly VerifiedFigure[],
  of: Pick<GateCheck, 'model'> = {},
): GateCheck {
  const { simulated = 0, live = 0 } = figures.find(({ name }) => name === 'attainment') ?? {};
  const value = Math.abs(live - simulated);
  return { what: 'attainmentDifference', ...of, threshold: allowed, value, held: value <= allowed };
}
