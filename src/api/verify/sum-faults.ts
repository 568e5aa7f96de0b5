import { type Fault, fault, type LoadDocument, type Loaded, type ModelLoad } from '../../artifacts/index.js';
import { OUTCOMES, outcomeRates } from '../../metrics/index.js';

/** Files hold every digit of a share or rate, and other programs may have added up in another order. */
const ROUNDING = 1e-9;

/**
 * sumFaults finds what a load report says otherwise than its own counts do, by the definitions of docs/metrics.md: the
 * sums of outcomes, of all requests and by model, and the shares and rates that `verifyLoad` compares.
 */
export function sumFaults({ value, path }: Loaded<'load-report'>): Fault[] {
  const { elapsedS, throughputRps, goodputRps, models = [], priorities = [] } = value;
  const rates = outcomeRates(value, elapsedS);
  const faults = [
    ...outcomeFaults(value, ''),
    ...given('/throughputRps', throughputRps, rates.throughputRps),
    ...given('/goodputRps', goodputRps, rates.goodputRps),
    ...models.flatMap((model, i) => outcomeFaults(model, `/models/${i}`)),
    ...(models.length === 0 ? [] : partSumFaults(value, models, 'models')),
    ...priorities.flatMap((one, i) => outcomeFaults(one, `/priorities/${i}`)),
    ...(priorities.length === 0 ? [] : partSumFaults(value, priorities, 'priorities')),
    ...answerFaults(value),
  ];
  return faults.map(({ message, path: at = '' }) => fault(message, `${path}#${at}`));
}

type LoadOutcomes = Omit<ModelLoad, 'name'>;

function outcomeFaults(outcomes: LoadOutcomes, at: string): Fault[] {
  const { sent, answered, inTime, late, attainment, dropRate, latencyMs } = outcomes;
  const ended = OUTCOMES.reduce((sum, outcome) => sum + outcomes[outcome], 0);
  const rates = outcomeRates(outcomes, 1);
  return [
    ...(sent === ended ? [] : [fault(`is ${sent}, and ${OUTCOMES.join(' + ')} is ${ended}`, `${at}/sent`)]),
    ...(answered === inTime + late
      ? []
      : [fault(`is ${answered}, and inTime + late is ${inTime + late}`, `${at}/answered`)]),
    ...(latencyMs === undefined || latencyMs.count === answered
      ? []
      : [fault(`is ${latencyMs.count}, and ${answered} requests were answered`, `${at}/latencyMs/count`)]),
    ...given(`${at}/attainment`, attainment, rates.attainment),
    ...given(`${at}/dropRate`, dropRate, rates.dropRate),
  ];
}

/** partSumFaults finds counts of all requests that are not the sums of those of the parts that they are divided into. */
function partSumFaults(all: LoadOutcomes, parts: readonly LoadOutcomes[], named: string): Fault[] {
  return (['sent', ...OUTCOMES] as const).flatMap((name) => {
    const sum = parts.reduce((before, part) => before + part[name], 0);
    return sum === all[name]
      ? []
      : [fault(`is ${all[name]}, and those of the ${named} are ${sum}`, `/${name}`)];
  });
}

/** answerFaults finds a wrong accuracy of labelled samples, and wrong shares of the models of a cascade. */
function answerFaults({ labelled, answeredBy = [] }: LoadDocument): Fault[] {
  const accuracy = labelled?.answered ? labelled.right / labelled.answered : undefined;
  const all = answeredBy.reduce((sum, { rows }) => sum + rows, 0);
  return [
    ...given('/labelled/accuracy', labelled?.accuracy, accuracy),
    ...answeredBy.flatMap(({ rows, share }, i) => given(`/answeredBy/${i}/share`, share, rows / all)),
  ];
}

/** given compares what a report gives with what follows from its counts, where anything does. */
function given(at: string, value: number | undefined, follows: number | undefined): Fault[] {
  if (follows === undefined)
    return value === undefined ? [] : [fault(`is ${value}, and there is nothing that it could be of`, at)];
  if (value === undefined) return [fault(`is missing, and by the counts it is ${follows}`, at)];
  if (Math.abs(value - follows) <= ROUNDING * Math.max(1, Math.abs(follows))) return [];
  return [fault(`is ${value}, and by the counts it is ${follows}`, at)];
}
