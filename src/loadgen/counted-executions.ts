/** CountedExecutions is what a server has counted of a model and its batches since its start. */
export interface CountedExecutions {
  sequence: number;
  requests: { answered: number; request_us: number; queue_us: number };
  executions: {
    pipeline: number;
    partition: number;
    device_class: string;
    virtual: number;
    batch_size: number;
    executed: number;
    measured: number;
    p50_us?: number;
    p95_us?: number;
  }[];
}

/** isCounted says whether a server counts in a way that is known here. */
export function isCounted(json: unknown): json is CountedExecutions {
  const { sequence, requests, executions } = (json ?? {}) as Record<string, unknown>;
  const areNumbers = (of: unknown, ...names: string[]): boolean =>
    names.every((name) => typeof (of as Record<string, unknown> | null)?.[name] === 'number');
  return (
    typeof sequence === 'number' &&
    areNumbers(requests, 'answered', 'request_us', 'queue_us') &&
    Array.isArray(executions) &&
    executions.every((one) =>
      areNumbers(one, 'pipeline', 'partition', 'virtual', 'batch_size', 'executed', 'measured'),
    )
  );
}
