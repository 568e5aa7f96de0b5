import type { FieldKind, FieldsOf } from '../../lint/schema-rule.js';

/** TEXTS is a map of texts, such as labels. */
export const TEXTS: FieldKind = { values: 'text' };
const QUANTITIES: FieldKind = { values: 'any' };
/** SELECTOR chooses objects by their labels. */
export const SELECTOR: FieldsOf = { fields: { matchLabels: TEXTS, matchExpressions: 'any' } };

/** METADATA is what every object has. */
export const METADATA: FieldsOf = {
  fields: {
    name: 'text',
    namespace: 'text',
    labels: TEXTS,
    annotations: TEXTS,
    finalizers: { list: 'text' },
    ownerReferences: 'any',
  },
  required: ['name'],
};

const PROBE: FieldsOf = {
  fields: {
    httpGet: { fields: { path: 'text', port: 'any', scheme: 'text', httpHeaders: 'any', host: 'text' } },
    exec: { fields: { command: { list: 'text' } } },
    tcpSocket: 'any',
    grpc: 'any',
    initialDelaySeconds: 'whole',
    periodSeconds: 'whole',
    timeoutSeconds: 'whole',
    successThreshold: 'whole',
    failureThreshold: 'whole',
    terminationGracePeriodSeconds: 'whole',
  },
};

const RESOURCES: FieldsOf = { fields: { limits: QUANTITIES, requests: QUANTITIES, claims: { list: TEXTS } } };

const CONTAINER: FieldsOf = {
  fields: {
    name: 'text',
    image: 'text',
    imagePullPolicy: { oneOf: ['Always', 'IfNotPresent', 'Never'] },
    command: { list: 'text' },
    args: { list: 'text' },
    workingDir: 'text',
    env: { list: { fields: { name: 'text', value: 'text', valueFrom: 'any' }, required: ['name'] } },
    envFrom: 'any',
    ports: {
      list: {
        fields: { name: 'text', containerPort: 'whole', protocol: 'text', hostPort: 'whole', hostIP: 'text' },
        required: ['containerPort'],
      },
    },
    resources: RESOURCES,
    resizePolicy: 'any',
    restartPolicy: 'text',
    restartPolicyRules: 'any',
    startupProbe: PROBE,
    readinessProbe: PROBE,
    livenessProbe: PROBE,
    lifecycle: 'any',
    securityContext: 'any',
    terminationMessagePath: 'text',
    terminationMessagePolicy: 'text',
    stdin: 'flag',
    stdinOnce: 'flag',
    tty: 'flag',
    volumeDevices: 'any',
    volumeMounts: {
      list: {
        fields: {
          name: 'text',
          mountPath: 'text',
          readOnly: 'flag',
          recursiveReadOnly: 'text',
          subPath: 'text',
          subPathExpr: 'text',
          mountPropagation: 'text',
        },
        required: ['name', 'mountPath'],
      },
    },
  },
  required: ['name'],
};

const VOLUME: FieldsOf = {
  fields: {
    name: 'text',
    configMap: 'any',
    secret: 'any',
    projected: 'any',
    downwardAPI: 'any',
    persistentVolumeClaim: 'any',
    emptyDir: 'any',
    ephemeral: 'any',
    hostPath: 'any',
    image: 'any',
    csi: 'any',
    nfs: 'any',
    iscsi: 'any',
    fc: 'any',
    cephfs: 'any',
    rbd: 'any',
    glusterfs: 'any',
    awsElasticBlockStore: 'any',
    gcePersistentDisk: 'any',
    azureDisk: 'any',
    azureFile: 'any',
    cinder: 'any',
    vsphereVolume: 'any',
    portworxVolume: 'any',
    flexVolume: 'any',
  },
  required: ['name'],
};

/** POD_FIELDS are the fields of a pod's specification. */
export const POD_FIELDS: Readonly<Record<string, FieldKind>> = {
  containers: { list: CONTAINER },
  initContainers: { list: CONTAINER },
  resources: RESOURCES,
  nodeSelector: TEXTS,
  affinity: 'any',
  tolerations: 'any',
  topologySpreadConstraints: 'any',
  nodeName: 'text',
  schedulerName: 'text',
  schedulingGates: 'any',
  schedulingGroup: 'any',
  priorityClassName: 'text',
  priority: 'whole',
  preemptionPolicy: 'text',
  overhead: QUANTITIES,
  terminationGracePeriodSeconds: 'whole',
  activeDeadlineSeconds: 'whole',
  restartPolicy: 'text',
  serviceAccountName: 'text',
  serviceAccount: 'text',
  automountServiceAccountToken: 'flag',
  imagePullSecrets: 'any',
  runtimeClassName: 'text',
  os: 'any',
  readinessGates: 'any',
  hostIPC: 'flag',
  hostPID: 'flag',
  hostNetwork: 'flag',
  hostUsers: 'flag',
  hostAliases: 'any',
  hostname: 'text',
  hostnameOverride: 'text',
  subdomain: 'text',
  setHostnameAsFQDN: 'flag',
  dnsPolicy: 'text',
  dnsConfig: 'any',
  enableServiceLinks: 'flag',
  shareProcessNamespace: 'flag',
  securityContext: 'any',
  volumes: { list: VOLUME },
  resourceClaims: {
    list: {
      fields: { name: 'text', resourceClaimName: 'text', resourceClaimTemplateName: 'text' },
      required: ['name'],
    },
  },
};

/** POD_TEMPLATE is what pods are made from. */
export const POD_TEMPLATE: FieldsOf = {
  fields: {
    metadata: { fields: { labels: TEXTS, annotations: TEXTS } },
    spec: { fields: POD_FIELDS, required: ['containers'] },
  },
  required: ['spec'],
};

/** objectFields makes the fields of an object of a kind. */
export function objectFields(
  kind: string,
  apiVersion: string,
  more: Readonly<Record<string, FieldKind>>,
): FieldsOf {
  return {
    fields: { apiVersion: { oneOf: [apiVersion] }, kind: { oneOf: [kind] }, metadata: METADATA, ...more },
    required: ['apiVersion', 'kind', 'metadata', ...Object.keys(more)],
  };
}

const POLICY_PORTS: FieldKind = { list: { fields: { port: 'any', endPort: 'whole', protocol: 'text' } } };
const PEERS: FieldKind = {
  list: { fields: { podSelector: SELECTOR, namespaceSelector: SELECTOR, ipBlock: 'any' } },
};

/** NETWORK_POLICY is a NetworkPolicy. */
export const NETWORK_POLICY = objectFields('NetworkPolicy', 'networking.k8s.io/v1', {
  spec: {
    fields: {
      podSelector: SELECTOR,
      policyTypes: { list: { oneOf: ['Ingress', 'Egress'] } },
      ingress: { list: { fields: { from: PEERS, ports: POLICY_PORTS } } },
      egress: { list: { fields: { to: PEERS, ports: POLICY_PORTS } } },
    },
    required: ['podSelector'],
  },
});

/** CONFIG_MAP is a ConfigMap. */
export const CONFIG_MAP = objectFields('ConfigMap', 'v1', { data: TEXTS });
