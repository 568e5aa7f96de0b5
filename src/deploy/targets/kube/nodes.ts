import { itemAt } from '../../../collections/index.js';
import { type Fault, fault } from '../../../formats/index.js';
import { planTopologyOf, type StagePlan } from '../../../plans/index.js';
import type { EngineGraph } from '../../engine-graph.js';
import { labelValue } from './names.js';

/** CLASS_LABEL is the label of nodes that says their device class. */
export const CLASS_LABEL = 'inferplan/class';
/** LEVEL_LABEL is the label of nodes by which NVIDIA's device plugin chooses its configuration. */
export const LEVEL_LABEL = 'nvidia.com/device-plugin.config';
/** DEVICE_PLUGIN is the file of the device plugin's configurations. */
export const DEVICE_PLUGIN = 'device-plugin.yaml';
/** LABEL_NODES is the script that labels nodes. */
export const LABEL_NODES = 'label-nodes.sh';

/** NodeServer is a server of a plan, which is a node of the cluster. */
export interface NodeServer {
  readonly name: string;
  readonly deviceClass: string;
  /** Into how many parts its GPUs are divided, each such number once. */
  readonly levels: readonly number[];
  /** The GPUs that the plan uses of it. */
  readonly gpus: number;
}

/** PlacedGraph is a plan with its graph. */
export interface PlacedGraph {
  readonly plan: StagePlan;
  readonly graph: EngineGraph;
}

/** cpuClasses gives the classes whose devices are processor cores, emulated ones included. */
export function cpuClasses({ groups }: EngineGraph): ReadonlySet<string> {
  return new Set(groups.flatMap(({ run, deviceClass }) => (run?.provider === 'cpu' ? [deviceClass] : [])));
}

/** nodeServers lists the servers of a plan whose devices serve, without those that only stand by. */
export function nodeServers({ plan, graph }: PlacedGraph): NodeServer[] {
  const cpus = cpuClasses(graph);
  const servers = new Map<string, { deviceClass: string; levels: Set<number>; gpus: Set<number> }>();
  for (const { server, gpu, deviceClass, virtual, standby } of planTopologyOf(plan, { transfers: 'none' })
    .devices) {
    if (standby === true) continue;
    const found = servers.get(server) ?? { deviceClass, levels: new Set(), gpus: new Set() };
    servers.set(server, found);
    found.levels.add(cpus.has(deviceClass) ? 1 : virtual);
    found.gpus.add(gpu);
  }
  return [...servers].map(([name, { deviceClass, levels, gpus }]) => ({
    name,
    deviceClass,
    gpus: gpus.size,
    levels: [...levels].sort((a, b) => a - b),
  }));
}

/** levelName is the key of the device plugin's configuration that divides each GPU of a node into a given number of parts. */
export function levelName(virtual: number): string {
  return `mps-${virtual}`;
}

/** nodeSelector chooses the nodes of a class, and of shares those whose GPUs are divided so. */
export function nodeSelector(deviceClass: string, virtual = 1): Record<string, string> {
  return {
    [CLASS_LABEL]: labelValue(deviceClass),
    ...(virtual === 1 ? {} : { [LEVEL_LABEL]: levelName(virtual) }),
  };
}

/** mpsLevelFaults finds servers whose GPUs are divided unlike, of which NVIDIA's device plugin knows one way for a node. */
export function mpsLevelFaults(bundle: PlacedGraph): Fault[] {
  return nodeServers(bundle).flatMap(({ name, levels }) =>
    levels.length === 1
      ? []
      : [
          fault(
            `server ${name} has GPUs in ${levels.join(' and ')} parts, and NVIDIA's device plugin divides all GPUs of a node alike; plan with virtualPer: server`,
            '/placement',
          ),
        ],
  );
}

/** classNameFaults finds device classes that have the same label of nodes. */
export function classNameFaults({ plan }: PlacedGraph): Fault[] {
  const names = [...new Set(plan.placement.map((placed) => placed.class))];
  const values = names.map(labelValue);
  return names.flatMap((name, i) =>
    values.indexOf(itemAt(values, i)) === i
      ? []
      : [
          fault(
            `${name} would have the label ${values[i]} like another class; rename it`,
            '/cluster/devices',
          ),
        ],
  );
}

/** dividedLevels lists into how many parts GPUs of the plan's nodes are divided, where that is more than one. */
export function dividedLevels(bundle: PlacedGraph): number[] {
  const all = new Set(nodeServers(bundle).flatMap(({ levels }) => levels));
  return [...all].filter((virtual) => virtual > 1).sort((a, b) => a - b);
}

/** devicePluginConfig makes the configurations of NVIDIA's device plugin: a key for each level of MPS. */
export function devicePluginConfig(bundle: PlacedGraph): object {
  const configs = dividedLevels(bundle).map((virtual) => [
    levelName(virtual),
    [
      'version: v1',
      'sharing:',
      '  mps:',
      '    renameByDefault: true',
      '    failRequestsGreaterThanOne: true',
      '    resources:',
      '      - name: nvidia.com/gpu',
      `        replicas: ${virtual}`,
      '',
    ].join('\n'),
  ]);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'inferplan-device-plugin', namespace: 'nvidia-device-plugin' },
    data: { [WHOLE_LEVEL]: 'version: v1\n', ...Object.fromEntries(configs) },
  };
}

/** The plugin wants a configuration for nodes that have no label; these keep whole GPUs. */
const WHOLE_LEVEL = 'whole';

/** labelScript writes the script that labels the nodes which a person names for each class of the plan. */
export function labelScript(bundle: PlacedGraph): string {
  const servers = nodeServers(bundle);
  const kinds = new Map<string, { deviceClass: string; virtual: number; count: number; gpus: number }>();
  for (const { deviceClass, levels, gpus } of servers)
    for (const virtual of levels) {
      const key = JSON.stringify([deviceClass, virtual]);
      const kind = kinds.get(key) ?? { deviceClass, virtual, count: 0, gpus: 0 };
      kinds.set(key, { ...kind, count: kind.count + 1, gpus: Math.max(kind.gpus, gpus) });
    }
  const optionOf = (deviceClass: string, virtual: number) =>
    `${labelValue(deviceClass)}${virtual === 1 ? '' : `-${virtual}`}`;
  const lines = [...kinds.values()].flatMap(({ deviceClass, virtual, count, gpus }) => {
    const labels = Object.entries(nodeSelector(deviceClass, virtual)).map(
      ([key, value]) => `${key}=${value}`,
    );
    const part = virtual === 1 ? '' : `, each GPU in ${virtual} parts`;
    return [
      `    # ${count} ${count === 1 ? 'node' : 'nodes'} of at least ${gpus} ${gpus === 1 ? 'device' : 'devices'}${part}`,
      `    ${optionOf(deviceClass, virtual)}) kubectl label node "$node" --overwrite ${labels.join(' ')} ;;`,
    ];
  });
  return `#!/bin/sh
# This script labels nodes with the device class that they have in the plan. Name each node with its class:
#   ./${LABEL_NODES} node-1=${[...kinds.values()].map((kind) => optionOf(kind.deviceClass, kind.virtual))[0]} …
set -eu
for pair in "$@"; do
  node=\${pair%%=*}
  case \${pair#*=} in
${lines.join('\n')}
    *) echo "there is no class \${pair#*=} in the plan" >&2; exit 2 ;;
  esac
done
`;
}
