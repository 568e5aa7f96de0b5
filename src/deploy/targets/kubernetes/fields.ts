import type { FieldsOf } from '../../lint/schema-rule.js';
import {
  CONFIG_MAP,
  METADATA,
  NETWORK_POLICY,
  objectFields,
  POD_TEMPLATE,
  SELECTOR,
  TEXTS,
} from '../kube/fields.js';

const DEVICES: FieldsOf = {
  fields: {
    requests: {
      list: {
        fields: {
          name: 'text',
          exactly: {
            fields: {
              deviceClassName: 'text',
              allocationMode: { oneOf: ['ExactCount', 'All'] },
              count: 'whole',
              selectors: 'any',
              adminAccess: 'flag',
              tolerations: 'any',
              capacity: 'any',
            },
            required: ['deviceClassName'],
          },
          firstAvailable: 'any',
        },
        required: ['name'],
      },
    },
    constraints: 'any',
    config: {
      list: {
        fields: {
          requests: { list: 'text' },
          opaque: {
            fields: {
              driver: 'text',
              parameters: {
                fields: {
                  apiVersion: { oneOf: ['resource.nvidia.com/v1beta1'] },
                  kind: { oneOf: ['GpuConfig'] },
                  sharing: {
                    fields: {
                      strategy: { oneOf: ['MPS', 'TimeSlicing'] },
                      timeSlicingConfig: 'any',
                      mpsConfig: {
                        fields: {
                          defaultActiveThreadPercentage: 'whole',
                          defaultPinnedDeviceMemoryLimit: 'text',
                          defaultPerDevicePinnedMemoryLimit: TEXTS,
                        },
                      },
                    },
                    required: ['strategy'],
                  },
                },
                required: ['apiVersion', 'kind'],
              },
            },
            required: ['driver', 'parameters'],
          },
        },
      },
    },
  },
  required: ['requests'],
};

const BACKENDS = {
  list: {
    fields: { name: 'text', namespace: 'text', port: 'whole', weight: 'whole', kind: 'text', group: 'text' },
    required: ['name', 'port'],
  },
} as const;

/** KUBERNETES_KINDS are the kinds of objects of a bundle for Kubernetes, with the fields that they may have. */
export const KUBERNETES_KINDS: Readonly<Record<string, FieldsOf>> = {
  NetworkPolicy: NETWORK_POLICY,
  ConfigMap: CONFIG_MAP,
  Kustomization: {
    fields: {
      apiVersion: { oneOf: ['kustomize.config.k8s.io/v1beta1'] },
      kind: { oneOf: ['Kustomization'] },
      resources: { list: 'text' },
      namespace: 'text',
      images: 'any',
      patches: 'any',
      labels: 'any',
      metadata: METADATA,
    },
    required: ['apiVersion', 'kind', 'resources'],
  },
  Deployment: objectFields('Deployment', 'apps/v1', {
    spec: {
      fields: {
        replicas: 'whole',
        selector: SELECTOR,
        template: POD_TEMPLATE,
        minReadySeconds: 'whole',
        revisionHistoryLimit: 'whole',
        progressDeadlineSeconds: 'whole',
        paused: 'flag',
        strategy: {
          fields: {
            type: { oneOf: ['RollingUpdate', 'Recreate'] },
            rollingUpdate: { fields: { maxSurge: 'any', maxUnavailable: 'any' } },
          },
        },
      },
      required: ['replicas', 'selector', 'template', 'strategy'],
    },
  }),
  Service: objectFields('Service', 'v1', {
    spec: {
      fields: {
        selector: TEXTS,
        type: 'text',
        clusterIP: 'text',
        clusterIPs: { list: 'text' },
        sessionAffinity: 'text',
        sessionAffinityConfig: 'any',
        trafficDistribution: 'text',
        externalTrafficPolicy: 'text',
        internalTrafficPolicy: 'text',
        externalIPs: { list: 'text' },
        ipFamilies: { list: 'text' },
        ipFamilyPolicy: 'text',
        publishNotReadyAddresses: 'flag',
        loadBalancerClass: 'text',
        loadBalancerIP: 'text',
        loadBalancerSourceRanges: { list: 'text' },
        allocateLoadBalancerNodePorts: 'flag',
        healthCheckNodePort: 'whole',
        ports: {
          list: {
            fields: {
              name: 'text',
              port: 'whole',
              targetPort: 'any',
              protocol: 'text',
              nodePort: 'whole',
              appProtocol: 'text',
            },
            required: ['port'],
          },
        },
      },
      required: ['selector', 'ports'],
    },
  }),
  HTTPRoute: objectFields('HTTPRoute', 'gateway.networking.k8s.io/v1', {
    spec: {
      fields: {
        parentRefs: 'any',
        hostnames: { list: 'text' },
        rules: {
          list: { fields: { matches: 'any', filters: 'any', timeouts: 'any', backendRefs: BACKENDS } },
        },
      },
      required: ['parentRefs', 'rules'],
    },
  }),
  ServiceMonitor: objectFields('ServiceMonitor', 'monitoring.coreos.com/v1', {
    spec: {
      fields: {
        selector: SELECTOR,
        namespaceSelector: 'any',
        jobLabel: 'text',
        endpoints: { list: { fields: { port: 'text', path: 'text', interval: 'text', scheme: 'text' } } },
      },
      required: ['selector', 'endpoints'],
    },
  }),
  ResourceClaimTemplate: objectFields('ResourceClaimTemplate', 'resource.k8s.io/v1', {
    spec: { fields: { metadata: 'any', spec: { fields: { devices: DEVICES } } }, required: ['spec'] },
  }),
  ResourceClaim: objectFields('ResourceClaim', 'resource.k8s.io/v1', {
    spec: { fields: { devices: DEVICES } },
  }),
  PersistentVolumeClaim: objectFields('PersistentVolumeClaim', 'v1', {
    spec: {
      fields: {
        accessModes: { list: 'text' },
        resources: 'any',
        storageClassName: 'text',
        volumeName: 'text',
        volumeMode: 'text',
        selector: SELECTOR,
        dataSource: 'any',
        dataSourceRef: 'any',
        volumeAttributesClassName: 'text',
      },
    },
  }),
};
