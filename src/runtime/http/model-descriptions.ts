import { itemAt } from '../../collections/index.js';
import { oipDatatype } from '../../execution/index.js';
import type { PlanServing, TensorSpec } from '../../formats/index.js';
import { stageFields } from '../../formats/index.js';
import { sharingFirst } from '../../serving/index.js';
import type { CheckedBundle } from '../bundle/opened-bundle.js';
import type { LiveModel } from '../bundle/pool-work.js';
import type { BatchSums, Counters, ModelSums } from '../live/counters.js';
import { shapeOf } from '../tensors/request-tensors.js';

/**
 * modelMetadata answers GET /v2/models/M: name, tensors, and among the properties what a load client needs to know of
 * the plan (its digest, notes, SLO, planned rate and weight), and of how the server schedules.
 */
export function modelMetadata(
  model: LiveModel,
  {
    bundle: { manifest, plan },
    serving,
  }: { readonly bundle: Pick<CheckedBundle, 'manifest' | 'plan'>; readonly serving: PlanServing },
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
 * statistics answers GET /v2/models/stats and GET /v2/models/M/stats in the form of Triton's statistics extension, with
 * durations in ns. There is no cache, so that its figures are 0.
 * @param indices the models that are described
 */
export function statistics(
  { bundle, counters }: Pick<ServedSoFar, 'bundle' | 'counters'>,
  indices: readonly number[],
): object {
  return {
    model_stats: indices.map((index) =>
      modelStatistics(itemAt(bundle.models, index).name, itemAt(counters.sums, index)),
    ),
  };
}

function modelStatistics(name: string, sums: ModelSums): object {
  const { success } = sums;
  return {
    name,
    version: '1',
    last_inference: sums.lastInferenceMs,
    inference_count: sums.rows,
    execution_count: sums.executions,
    inference_stats: {
      success: duration(success, sums.requestUs),
      fail: duration(sums.failure, sums.failureUs),
      queue: duration(success, sums.queueUs),
      compute_input: duration(success, sums.inputUs),
      compute_infer: duration(success, sums.inferUs),
      compute_output: duration(success, sums.outputUs),
      cache_hit: duration(0, 0),
      cache_miss: duration(0, 0),
    },
    batch_stats: [...sums.batches].sort(([a], [b]) => a - b).map(batchStatistics),
    memory_usage: [],
  };
}

function batchStatistics([size, { executions, inputUs, inferUs, outputUs }]: [number, BatchSums]): object {
  return {
    batch_size: size,
    compute_input: duration(executions, inputUs),
    compute_infer: duration(executions, inferUs),
    compute_output: duration(executions, outputUs),
  };
}

function duration(count: number, us: number): { count: number; ns: number } {
  return { count, ns: Math.round(1e3 * us) };
}

/** ServedSoFar is what the server knows of its plan's pools, and what it has counted. */
interface ServedSoFar {
  readonly bundle: CheckedBundle;
  readonly counters: Counters;
  /** The `sequence` of an earlier answer: times are of the batches since then. */
  readonly since: number;
}

/**
 * modelExecutions answers GET /v2/models/M/executions: how long requests took and waited in all since the start, and how
 * long the batches of each partition took by size, from being handed to a device until their results. Applications that share
 * stages have the same batches.
 */
export function modelExecutions(index: number, { bundle, counters, since }: ServedSoFar): object {
  const { success, requestUs, queueUs } = itemAt(counters.sums, index);
  const shared = sharingFirst(bundle.topology)[index];
  return {
    name: itemAt(bundle.models, index).name,
    plan_sha256: bundle.manifest.value.plan.sha256,
    sequence: counters.times.sequence,
    requests: { answered: success, request_us: requestUs, queue_us: queueUs },
    executions: bundle.topology.pools.flatMap(({ model, stage, deviceClass, virtual }, pool) => {
      if (model !== shared) return [];
      return counters.times.since(pool, since).map(({ size, executed, measured, p50Us, p95Us }) => ({
        ...stageFields(stage),
        device_class: deviceClass,
        virtual,
        batch_size: size,
        executed,
        measured,
        p50_us: p50Us,
        p95_us: p95Us,
      }));
    }),
  };
}
