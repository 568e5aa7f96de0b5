import {
  type Fault,
  fault,
  type LoadDocument,
  type LoadExecutions,
  type LoadServed,
  shown,
} from '../../formats/index.js';

/**
 * Clocks of a client and a server run as fast up to this share, and a mean of the client's leaves out no more than this
 * many ms.
 */
const CLOCKS = 0.02;
const ASIDE_MS = 1;

/**
 * servedFaults finds where what a server says of its work during a load contradicts itself or the client. Others may use
 * the server too, so it may have answered more than the client got.
 */
export function servedFaults(report: LoadDocument): Fault[] {
  const { served = [], models, model } = report;
  const outcomes = models ?? [{ ...report, name: model ?? '' }];
  const names = served.map((one) => one.model);
  const faults = served.flatMap((one, i) => {
    const at = `/served/${i}`;
    const own = outcomes.find(({ name }) => name === one.model);
    if (own === undefined || names.indexOf(one.model) !== i)
      return [
        fault(
          `is ${JSON.stringify(one.model)}, ${own === undefined ? 'of which there are no outcomes' : 'as another is'}`,
          `${at}/model`,
        ),
      ];
    const faults = [
      ...timeFaults(one, at),
      ...executionFaults(one, { at, rows: own.answered * report.rows }),
    ];
    if (one.answered < own.answered)
      faults.push(fault(`is ${one.answered}, and the client had ${own.answered} answers`, `${at}/answered`));
    return faults.length > 0 ? faults : requestFaults(one, own, at);
  });
  return faults.length > 0 ? faults : aloneFaults(report);
}

type Outcomes = Pick<LoadDocument, 'answered' | 'sent' | 'latencyMs'>;

/**
 * aloneFaults finds batches that took longer than any request, and more rows of a part than there were, where all that was
 * executed was of these requests: the server answered as many as the client sent.
 */
function aloneFaults({ served = [], sent, answered, latencyMs, rows }: LoadDocument): Fault[] {
  const counted = served.reduce((sum, one) => sum + one.answered, 0);
  if (latencyMs === undefined || counted !== answered || sent !== answered) return [];
  return served.flatMap(({ executions }, i) => {
    const at = `/served/${i}/executions`;
    const parts = new Map<string, number>();
    for (const { pipeline, partition, batch, executed } of executions) {
      const part = `partition ${partition} of pipeline ${pipeline}`;
      parts.set(part, (parts.get(part) ?? 0) + batch * executed);
    }
    return [
      ...[...parts].flatMap(([part, executed]) =>
        executed <= answered * rows
          ? []
          : [fault(`have ${executed} rows of ${part}, and ${answered * rows} were sent`, at)],
      ),
      ...executions.flatMap(({ medianUs = 0, p95Us = 0 }, k) =>
        Object.entries({ medianUs, p95Us }).flatMap(([name, us]) =>
          us / 1e3 <= mostMs(latencyMs.max)
            ? []
            : [
                fault(
                  `is ${us}, more than the ${latencyMs.max} ms of the longest request`,
                  `${at}/${k}/${name}`,
                ),
              ],
        ),
      ),
    ];
  });
}

const mostMs = (ms: number): number => ms * (1 + CLOCKS) + ASIDE_MS;

function timeFaults({ answered, requestMs, queueMs }: LoadServed, at: string): Fault[] {
  const times = { requestMs, queueMs };
  const faults = Object.entries(times).flatMap(([name, ms]) => {
    if (ms === undefined || answered > 0) return [];
    return [fault(`is ${ms}, and no request was answered`, `${at}/${name}`)];
  });
  if (requestMs !== undefined && queueMs !== undefined && queueMs > requestMs * (1 + 1e-9))
    faults.push(fault(`is ${queueMs}, more than the whole time of ${requestMs} ms`, `${at}/queueMs`));
  return faults;
}

function executionFaults(
  { executions }: LoadServed,
  { at, rows: answered }: { readonly at: string; readonly rows: number },
): Fault[] {
  const seen = new Set<string>();
  const rows = executions.reduce((sum, { batch, executed }) => sum + batch * executed, 0);
  return [
    ...(rows >= answered
      ? []
      : [fault(`have ${rows} rows, and ${answered} were answered`, `${at}/executions`)]),
    ...executions.flatMap((one, k) => {
      const here = `${at}/executions/${k}`;
      const { pipeline, partition, class: name, virtual, batch } = one;
      const key = JSON.stringify([pipeline, partition, name, virtual, batch]);
      const twice = seen.has(key) ? [fault('is of a part, device and batch that another is of', here)] : [];
      seen.add(key);
      return [...twice, ...executedFaults(one, here)];
    }),
  ];
}

function executedFaults({ executed, measured, medianUs, p95Us }: LoadExecutions, at: string): Fault[] {
  const faults = Object.entries({ medianUs, p95Us }).flatMap(([name, us]) => {
    if (us === undefined || measured > 0) return [];
    return [fault(`is ${us}, and no batch was timed`, `${at}/${name}`)];
  });
  if (executed === 0) faults.push(fault('is 0; sizes that were not executed are left out', `${at}/executed`));
  if (measured > executed)
    faults.push(fault(`is ${measured}, and ${executed} were executed`, `${at}/measured`));
  if (medianUs !== undefined && p95Us !== undefined && p95Us < medianUs)
    faults.push(fault(`is ${p95Us}, below the median of ${medianUs}`, `${at}/p95Us`));
  if (measured === 1 && medianUs !== p95Us)
    faults.push(
      fault(`is ${shown(p95Us)}, and the median of the one batch is ${shown(medianUs)}`, `${at}/p95Us`),
    );
  return faults;
}

/**
 * requestFaults compares the time of requests at the server with that for the client, whose requests they are where the
 * server answered as many as the client sent.
 */
function requestFaults(
  { answered, requestMs }: LoadServed,
  { answered: got, sent, latencyMs }: Outcomes,
  at: string,
): Fault[] {
  if (latencyMs === undefined || requestMs === undefined || answered !== got || sent !== got) return [];
  if (requestMs <= mostMs(latencyMs.mean)) return [];
  return [
    fault(
      `is ${requestMs}, more than the ${latencyMs.mean} ms that the same requests took for the client`,
      `${at}/requestMs`,
    ),
  ];
}
