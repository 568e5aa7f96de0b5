import type { FieldKind } from '../../lint/schema-rule.js';
import { CONFIG_MAP, NETWORK_POLICY, objectFields, POD_TEMPLATE, TEXTS } from '../kube/fields.js';

const RAY_GROUP: Readonly<Record<string, FieldKind>> = {
  rayStartParams: TEXTS,
  template: POD_TEMPLATE,
};

/** KUBERAY_KINDS are the fields of the kinds of objects that a bundle for KubeRay holds. */
export const KUBERAY_KINDS = {
  NetworkPolicy: NETWORK_POLICY,
  ConfigMap: CONFIG_MAP,
  RayService: objectFields('RayService', 'ray.io/v1', {
    spec: {
      fields: {
        serveConfigV2: 'text',
        upgradeStrategy: {
          fields: {
            type: { oneOf: ['NewCluster', 'None', 'NewClusterWithIncrementalUpgrade'] },
            clusterUpgradeOptions: 'any',
          },
          required: ['type'],
        },
        deploymentUnhealthySecondThreshold: 'whole',
        serviceUnhealthySecondThreshold: 'whole',
        rayClusterDeletionDelaySeconds: 'whole',
        serveService: 'any',
        suspend: 'flag',
        excludeHeadPodFromServeSvc: 'flag',
        rayClusterConfig: {
          fields: {
            rayVersion: 'text',
            enableInTreeAutoscaling: 'flag',
            autoscalerOptions: 'any',
            gcsFaultToleranceOptions: 'any',
            headServiceAnnotations: TEXTS,
            networkPolicy: 'any',
            headGroupSpec: {
              fields: { ...RAY_GROUP, serviceType: 'text', headService: 'any', enableIngress: 'flag' },
              required: ['template'],
            },
            workerGroupSpecs: {
              list: {
                fields: {
                  ...RAY_GROUP,
                  groupName: 'text',
                  replicas: 'whole',
                  minReplicas: 'whole',
                  maxReplicas: 'whole',
                  numOfHosts: 'whole',
                  idleTimeoutSeconds: 'whole',
                  suspend: 'flag',
                  scaleStrategy: 'any',
                },
                required: ['groupName', 'replicas', 'minReplicas', 'maxReplicas', 'template'],
              },
            },
          },
          required: ['headGroupSpec', 'workerGroupSpecs'],
        },
      },
      required: ['serveConfigV2', 'rayClusterConfig', 'upgradeStrategy'],
    },
  }),
};
