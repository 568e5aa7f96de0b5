import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** nvCounters makes the counters that Triton has too, by its names. */
export function nvCounters(registry: Registry) {
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const plain = ['model', 'version'] as const;
  return {
    success: counter('nv_inference_request_success', 'Requests answered', plain),
    failure: counter('nv_inference_request_failure', 'Requests not answered', [...plain, 'reason'] as const),
    rows: counter('nv_inference_count', 'Rows executed to the end', plain),
    executions: counter('nv_inference_exec_count', 'Batches executed by last partitions or stages', plain),
    requestUs: counter('nv_inference_request_duration_us', 'Arrival to answer, answered requests', plain),
    queueUs: counter('nv_inference_queue_duration_us', 'Time that answered requests waited', plain),
    inputUs: counter(
      'nv_inference_compute_input_duration_us',
      'Time that answered requests were read, stacked and handed over',
      plain,
    ),
    inferUs: counter(
      'nv_inference_compute_infer_duration_us',
      'Time that answered requests were executed',
      plain,
    ),
    outputUs: counter(
      'nv_inference_compute_output_duration_us',
      'Time that results of answered requests were handed back and split',
      plain,
    ),
    pending: new Gauge({
      name: 'nv_inference_pending_request_count',
      help: 'Requests in flight',
      labelNames: plain,
      registers: [registry],
    }),
  };
}

/** ownCounters makes the counters that only inferplan has. */
export function ownCounters(registry: Registry) {
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  // Only the stages of pipelines and cascades have a name.
  const place = ['model', 'pipeline', 'partition', 'stage'] as const;
  return {
    outcomes: counter('inferplan_outcomes_total', 'What became of requests', ['model', 'outcome'] as const),
    unsent: counter('inferplan_answers_unsent_total', 'Answers that could not be sent', ['model'] as const),
    byPriority: counter(
      'inferplan_outcomes_by_priority_total',
      'What became of requests, by the priorities of the plan',
      ['model', 'priority', 'outcome'] as const,
    ),
    drops: counter('inferplan_drops_total', 'Dropped requests', ['model', 'reason', 'place'] as const),
    failures: counter('inferplan_execution_failures_total', 'Batches that failed or were lost', place),
    handOverUs: counter(
      'inferplan_handover_us_total',
      'Time that batches were on their way to the executor and back',
      place,
    ),
    restarts: counter('inferplan_device_restarts_total', 'Executors started again', ['device'] as const),
    busyUs: counter('inferplan_device_busy_us_total', 'Time with a batch on the device', ['device'] as const),
    up: new Gauge({
      name: 'inferplan_device_up',
      help: 'Whether the virtual GPU takes work',
      labelNames: ['device'] as const,
      registers: [registry],
    }),
    batchSize: new Histogram({
      name: 'inferplan_batch_size',
      help: 'Rows of executed batches',
      labelNames: place,
      buckets: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128],
      registers: [registry],
    }),
  };
}

/** CascadeCounters are the counters of `cascadeCounters`. */
export type CascadeCounters = ReturnType<typeof cascadeCounters>;

/** cascadeCounters makes the counters that only a server of a cascade has. */
export function cascadeCounters(registry: Registry) {
  const ofModel = { labelNames: ['model'] as const, registers: [registry] };
  return {
    gear: new Gauge({
      name: 'inferplan_gear',
      help: 'The gear in force, by its number in the plan from 0 on',
      ...ofModel,
    }),
    shifts: new Counter({
      name: 'inferplan_gear_shifts_total',
      help: 'How often another gear has come into force',
      ...ofModel,
    }),
    answered: new Counter({
      name: 'inferplan_answered_rows_total',
      help: 'Rows answered, by the model of the cascade that answered',
      labelNames: ['model', 'stage'] as const,
      registers: [registry],
    }),
  };
}
