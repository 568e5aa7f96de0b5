import type { FieldsOf } from '../../lint/schema-rule.js';

const ACTOR: FieldsOf = {
  fields: {
    num_cpus: 'number',
    num_gpus: 'number',
    memory: 'number',
    accelerator_type: 'text',
    resources: { values: 'number' },
    runtime_env: 'any',
    label_selector: 'any',
    fallback_strategy: 'any',
  },
};

const DEPLOYMENT: FieldsOf = {
  fields: {
    name: 'text',
    num_replicas: 'any',
    max_ongoing_requests: 'whole',
    max_queued_requests: 'whole',
    user_config: 'any',
    autoscaling_config: 'any',
    request_router_config: 'any',
    logging_config: 'any',
    graceful_shutdown_wait_loop_s: 'number',
    graceful_shutdown_timeout_s: 'number',
    health_check_period_s: 'number',
    health_check_timeout_s: 'number',
    placement_group_bundles: { list: { values: 'number' } },
    placement_group_strategy: 'text',
    placement_group_bundle_label_selector: 'any',
    gang_scheduling_config: 'any',
    deployment_actors: 'any',
    backpressure_config: 'any',
    rolling_update_percentage: 'number',
    max_replicas_per_node: 'whole',
    ray_actor_options: ACTOR,
  },
  required: ['name'],
};

/** SERVE_CONFIG is the fields of Ray Serve's configuration file, as its schema has them. */
export const SERVE_CONFIG: FieldsOf = {
  fields: {
    proxy_location: { oneOf: ['EveryNode', 'HeadOnly', 'Disabled'] },
    http_options: {
      fields: {
        host: 'text',
        port: 'whole',
        root_path: 'text',
        request_timeout_s: 'number',
        keep_alive_timeout_s: 'number',
        ssl_keyfile: 'text',
        ssl_certfile: 'text',
        ssl_keyfile_password: 'text',
        ssl_ca_certs: 'text',
      },
    },
    grpc_options: 'any',
    controller_options: 'any',
    logging_config: 'any',
    target_capacity: 'number',
    applications: {
      list: {
        fields: {
          name: 'text',
          route_prefix: 'text',
          import_path: 'text',
          runtime_env: 'any',
          args: 'any',
          logging_config: 'any',
          external_scaler_enabled: 'flag',
          autoscaling_policy: 'any',
          host: 'text',
          port: 'whole',
          deployments: { list: DEPLOYMENT },
        },
        required: ['import_path', 'deployments'],
      },
    },
  },
  required: ['applications'],
};
