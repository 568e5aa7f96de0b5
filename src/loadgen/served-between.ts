import type { LoadExecutions, LoadServed } from '../formats/index.js';
import type { CountedExecutions } from './counted-executions.js';

/**
 * servedBetween gives what a server did for a model between two answers about it. The times of batches are those of the
 * later answer, which was asked for those since the earlier one.
 * @returns undefined where an answer is missing, or the server was started anew between them
 */
export function servedBetween(
  model: string,
  before: CountedExecutions | undefined,
  after: CountedExecutions | undefined,
): LoadServed | undefined {
  if (before === undefined || after === undefined || after.sequence < before.sequence) return undefined;
  const answered = after.requests.answered - before.requests.answered;
  if (answered < 0) return undefined;
  const meanMs = (of: 'request_us' | 'queue_us'): number =>
    Math.max(0, after.requests[of] - before.requests[of]) / answered / 1e3;
  return {
    model,
    answered,
    ...(answered === 0 ? {} : { requestMs: meanMs('request_us'), queueMs: meanMs('queue_us') }),
    executions: after.executions
      .map((counted) => executionsBetween(counted, before))
      .filter(({ executed }) => executed > 0),
  };
}

type Counted = CountedExecutions['executions'][number];

function executionsBetween(counted: Counted, before: CountedExecutions): LoadExecutions {
  const { pipeline, partition, device_class, virtual, batch_size, measured, p50_us, p95_us } = counted;
  const earlier = before.executions.find(
    (one) =>
      one.pipeline === pipeline &&
      one.partition === partition &&
      one.device_class === device_class &&
      one.virtual === virtual &&
      one.batch_size === batch_size,
  );
  return {
    pipeline,
    partition,
    class: device_class,
    virtual,
    batch: batch_size,
    executed: counted.executed - (earlier?.executed ?? 0),
    measured,
    ...(p50_us === undefined ? {} : { medianUs: p50_us }),
    ...(p95_us === undefined ? {} : { p95Us: p95_us }),
  };
}
