import type { TextField, TextMessage, TextType } from '../../lint/text-format.js';

const one = (type: TextType): TextField => ({ type });
const many = (type: TextType): TextField => ({ type, isRepeated: true });
const message = (fields: TextMessage['fields']): TextMessage => ({ fields });
/** In text, a map is a message with a key and a value for each entry. */
const mapOf = (key: TextType, value: TextType): TextField =>
  many(message({ key: one(key), value: one(value) }));

/** DATA_TYPES are the types of tensors that Triton's configuration knows. */
const DATA_TYPES = [
  ...['TYPE_BOOL', 'TYPE_UINT8', 'TYPE_UINT16', 'TYPE_UINT32', 'TYPE_UINT64', 'TYPE_INT8', 'TYPE_INT16'],
  ...['TYPE_INT32', 'TYPE_INT64', 'TYPE_FP16', 'TYPE_FP32', 'TYPE_FP64', 'TYPE_STRING', 'TYPE_BF16'],
];

const TENSOR = {
  name: one('string'),
  data_type: one({ oneOf: DATA_TYPES }),
  dims: many('whole'),
  reshape: one(message({ shape: many('whole') })),
  is_shape_tensor: one('flag'),
  is_non_linear_format_io: one('flag'),
};

const INPUT = message({
  ...TENSOR,
  format: one({ oneOf: ['FORMAT_NONE', 'FORMAT_NHWC', 'FORMAT_NCHW'] }),
  allow_ragged_batch: one('flag'),
  optional: one('flag'),
});

const OUTPUT = message({ ...TENSOR, label_filename: one('string') });

const QUEUE_POLICY = message({
  timeout_action: one({ oneOf: ['REJECT', 'DELAY'] }),
  default_timeout_microseconds: one('whole'),
  allow_timeout_override: one('flag'),
  max_queue_size: one('whole'),
});

const DYNAMIC_BATCHING = message({
  preferred_batch_size: many('whole'),
  max_queue_delay_microseconds: one('whole'),
  preserve_ordering: one('flag'),
  priority_levels: one('whole'),
  default_priority_level: one('whole'),
  default_queue_policy: one(QUEUE_POLICY),
  priority_queue_policy: mapOf('whole', QUEUE_POLICY),
});

const INSTANCE_GROUP = message({
  name: one('string'),
  count: one('whole'),
  gpus: many('whole'),
  profile: many('string'),
  kind: one({ oneOf: ['KIND_AUTO', 'KIND_GPU', 'KIND_CPU', 'KIND_MODEL'] }),
  passive: one('flag'),
  host_policy: one('string'),
  secondary_devices: many('any'),
  rate_limiter: one(
    message({
      resources: many(message({ name: one('string'), global: one('flag'), count: one('whole') })),
      priority: one('whole'),
    }),
  ),
});

const STEP = message({
  model_name: one('string'),
  model_version: one('whole'),
  model_namespace: one('string'),
  input_map: mapOf('string', 'string'),
  output_map: mapOf('string', 'string'),
});

/**
 * MODEL_CONFIG is the message of config.pbtxt, `inference.ModelConfig`. A field that is never written is
 * known by its name alone.
 */
export const MODEL_CONFIG: TextMessage = message({
  name: one('string'),
  platform: one('string'),
  backend: one('string'),
  runtime: one('string'),
  max_batch_size: one('whole'),
  input: many(INPUT),
  output: many(OUTPUT),
  batch_input: many('any'),
  batch_output: many('any'),
  version_policy: one('any'),
  optimization: one('any'),
  dynamic_batching: one(DYNAMIC_BATCHING),
  sequence_batching: one('any'),
  ensemble_scheduling: one(message({ step: many(STEP), max_inflight_requests: one('whole') })),
  instance_group: many(INSTANCE_GROUP),
  default_model_filename: one('string'),
  cc_model_filenames: mapOf('string', 'string'),
  metric_tags: mapOf('string', 'string'),
  parameters: mapOf('string', message({ string_value: one('string') })),
  model_warmup: many('any'),
  model_operations: one('any'),
  model_repository_agents: one('any'),
  model_transaction_policy: one(message({ decoupled: one('flag') })),
  response_cache: one(message({ enable: one('flag') })),
  model_metrics: one('any'),
});
