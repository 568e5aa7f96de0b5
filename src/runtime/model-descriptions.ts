import type { PlanServing, TensorSpec } from '../artifacts/index.js';
import { oipDatatype } from '../execution/index.js';
import type { Counters, ModelSums } from './counters.js';
import { shapeOf } from './infer-request.js';
import type { OpenedBundle } from './opened-bundle.js';
import type { LiveModel } from './pool-work.js';

/**
 * modelMetadata answers GET /v2/models/M: name, tensors, and among the properties what a load client needs to know of
 * the plan (its digest, notes, SLO, planned rate and weight), and of how the server schedules.
 */
export function modelMetadata(
  model: LiveModel,
  {
    bundle: { manifest, plan },
    serving,
  }: { readonly bundle: Pick<OpenedBundle, 'manifest' | 'plan'>; readonly serving: PlanServing },
): object {
  const tensor = (spec: TensorSpec) => ({
    name: spec.name,
    datatype: oipDatatype(spec.dtype),
    shape: shapeOf(spec),
  });
  return {
    name: model.name,
    versions: ['1'],
    platform: 'onnxruntime_onnx',
    inputs: model.inputs.map(tensor),
    outputs: model.outputs.map(tensor),
    properties: {
      slo_ms: String(model.sloNs / 1e6),
      max_rows: String(model.maxRows),
      planned_rps: String(model.plannedRps),
      weight: String(model.weight),
      plan_sha256: manifest.value.plan.sha256,
      plan_notes: JSON.stringify(plan.notes ?? []),
      scheduler: serving.scheduler,
      policy: JSON.stringify(serving.policy ?? {}),
      ...fills(model),
    },
  };
}

/**
 * fills gives, as `fill.<input>`, a value for each input that takes certain values only. A client that knows
 * no better can send it.
 */
function fills({ inputs }: LiveModel): Record<string, string> {
  const filled = inputs.filter(({ fill }) => fill !== undefined);
  return Object.fromEntries(filled.map(({ name, fill }) => [`fill.${name}`, String(fill)]));
}

/**
 * modelConfig answers GET /v2/models/M/config in the form that perf_analyzer reads. Where the batch is the first axis
 * of every tensor, it states the most rows of a request and leaves that axis out; else the most is 0, which means no
 * batches.
 */
export function modelConfig(model: LiveModel): object {
  const batched = [...model.inputs, ...model.outputs].every((spec) => spec.batchAxis === 0);
  const tensor = (spec: TensorSpec) => ({
    name: spec.name,
    data_type: spec.dtype === 'string' ? 'TYPE_STRING' : `TYPE_${oipDatatype(spec.dtype)}`,
    dims: batched ? shapeOf(spec).slice(1) : shapeOf(spec),
  });
  return {
    name: model.name,
    platform: 'onnxruntime_onnx',
    backend: 'onnxruntime',
    max_batch_size: batched ? model.maxRows : 0,
    input: model.inputs.map(tensor),
    output: model.outputs.map(tensor),
  };
}

/**
 * modelStatistics answers GET /v2/models/M/stats: the part of Triton's statistics extension that is counted here, with
 * durations in ns. Cache figures are always 0.
 */
export function modelStatistics(model: LiveModel, sums: ModelSums): object {
  const duration = (count: number, us: number) => ({ count, ns: Math.round(1e3 * us) });
  return {
    model_stats: [
      {
        name: model.name,
        version: '1',
        last_inference: sums.lastInferenceMs,
        inference_count: sums.rows,
        execution_count: sums.executions,
        inference_stats: {
          success: duration(sums.success, sums.requestUs),
          fail: duration(sums.failure, sums.failureUs),
          queue: duration(sums.success, sums.queueUs),
          compute_input: duration(sums.executions, sums.inputUs),
          compute_infer: duration(sums.executions, sums.inferUs),
          compute_output: duration(sums.executions, sums.outputUs),
          cache_hit: duration(0, 0),
          cache_miss: duration(0, 0),
        },
        batch_stats: [],
        memory_usage: [],
      },
    ],
  };
}

/** ServedSoFar is what the server knows of its plan's pools, and what it has counted. */
interface ServedSoFar {
  readonly bundle: OpenedBundle;
  readonly counters: Counters;
  /** The `sequence` of an earlier answer: times are of the batches since then. */
  readonly since: number;
}

/**
 * modelExecutions answers GET /v2/models/M/executions: how long requests took and waited in all since the start, and how
 * long the batches of each partition took by size, from being handed to a device until their results.
 */
export function modelExecutions(index: number, { bundle, counters, since }: ServedSoFar): object {
  const { success, requestUs, queueUs } = counters.sums[index]!;
  return {
    name: bundle.models[index]!.name,
    plan_sha256: bundle.manifest.value.plan.sha256,
    sequence: counters.times.sequence,
    requests: { answered: success, request_us: requestUs, queue_us: queueUs },
    executions: bundle.topology.pools.flatMap(
      ({ model, pipeline, partition, stage, deviceClass, virtual }, pool) => {
        if (model !== index) return [];
        return counters.times.since(pool, since).map(({ size, executed, measured, p50Us, p95Us }) => ({
          ...{ pipeline, partition, ...(stage === undefined ? {} : { stage }) },
          ...{ device_class: deviceClass, virtual, batch_size: size },
          ...{ executed, measured, p50_us: p50Us, p95_us: p95Us },
        }));
      },
    ),
  };
}
