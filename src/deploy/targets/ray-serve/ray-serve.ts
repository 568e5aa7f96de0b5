import type { DeviceGroup, EngineGraph } from '../../engine-graph.js';
import { type Engine, type EngineBundle, engineTarget } from '../engine-target.js';
import { pythonSource, VERDICTS, verdictsSource } from '../python-source.js';
import { readmeLoad, readmeVerify } from '../readme-commands.js';
import { actorOptions, classResource, isOnCpu, serveConfig } from './config.js';
import { CONFIG } from './read-config.js';
import { RAY_RULES } from './rules.js';

/** RAY_VERSION is the version whose ways were measured (docs/targets.md). */
export const RAY_VERSION = '2.60.0';

/** RAY_ENGINE says how a plan is written for Ray Serve. */
export const RAY_ENGINE: Engine<'ray-serve'> = {
  target: 'ray-serve',
  refuse: () => [],
  files: (bundle) =>
    new Map([[CONFIG, serveConfig(bundle)], ...pythonFiles(bundle.graph), ['README.md', readme(bundle)]]),
  rules: RAY_RULES,
};

/**
 * RAY_SERVE writes a bundle that `serve deploy` runs: serve_config.yaml, and the modules of Python that form the plan's batches,
 * with a deployment for each group of like devices.
 */
export const RAY_SERVE = engineTarget(RAY_ENGINE);

/** pythonFiles gives the modules of Python that serve a graph, and what they need, by path. */
export function pythonFiles(graph: EngineGraph): [string, string][] {
  const source = (file: string) => pythonSource('ray-serve', file);
  return [
    ['app.py', source('app.py')],
    ['rows.py', source('rows.py')],
    ['walk.py', source(graph.gears === undefined ? 'routes.py' : 'gears.py')],
    [VERDICTS, verdictsSource()],
    ['requirements.txt', requirements(graph)],
  ];
}

function requirements({ groups }: EngineGraph): string {
  // The wheels of CUDA and cuDNN that it needs come with it: images of Ray have older ones.
  const onnxruntime = groups.every(isOnCpu) ? 'onnxruntime' : 'onnxruntime-gpu[cuda,cudnn]>=1.21';
  return `ray[serve]==${RAY_VERSION}\n${onnxruntime}\nnumpy\n`;
}

/** Parts of devices sum up to whole ones except for this. */
const ROUNDING = 1e-9;

/** resourcesOf sums what the replicas of a bundle ask of all nodes together. */
function resourcesOf({ groups }: EngineGraph): { cpus: number; gpus: number; classes: Map<string, number> } {
  const classes = new Map<string, number>();
  // Two ingress replicas beside the groups.
  let cpus = 2;
  let gpus = 0;
  for (const group of groups) {
    cpus += group.replicas * (actorOptions(group).num_cpus as number);
    if (!isOnCpu(group)) gpus += group.replicas / group.virtual;
    const name = classResource(group.deviceClass);
    classes.set(name, (classes.get(name) ?? 0) + group.replicas / group.virtual);
  }
  return { cpus: Math.ceil(cpus), gpus: Math.ceil(gpus - ROUNDING), classes };
}

function readme({ plan, graph }: EngineBundle): string {
  const { cpus, gpus, classes } = resourcesOf(graph);
  const resources = JSON.stringify(
    Object.fromEntries([...classes].map(([name, count]) => [name, Math.ceil(count - ROUNDING)])),
  );
  const [model] = graph.models;
  return `# ${graph.models.map(({ name }) => name).join(', ')} on Ray Serve

This folder runs a plan on Ray Serve: ${groupsText(graph.groups)}. \`lint.json\` says what may go wrong.

1. Start Ray, here on one machine. On a cluster, start each node with the resources that it has, and with this folder at the same
   place; \`pip install -r requirements.txt\` on all of them. Requests come in at each node; \`http_options.host\` in \`${CONFIG}\` must
   then be 0.0.0.0, and a firewall say who may call, since Ray asks nobody who they are.

       PYTHONPATH=$PWD RAY_worker_niceness=0 ray start --head --disable-usage-stats --num-cpus=${cpus} --resources='${resources}'
       serve deploy ${CONFIG}

2. Load it, at the rate of the plan:

       ${readmeLoad('http://127.0.0.1:8000', model?.name ?? '', model?.plannedRps ?? 1)}

3. Compare what it did with the simulation, as Ray Serve serves:

       ${readmeVerify()}

Change batches, shares, SLOs or gears in \`${CONFIG}\`, and deploy it again: what stands in \`user_config\` changes while requests are
served. \`INFERPLAN_EXECUTOR=sleep\` before \`ray start\` lets replicas sleep for the planned times instead of running models${gpus === 0 ? '' : `; where there are no GPUs, \`--num-gpus=${gpus}\` makes Ray count them all the same`}.
${plan.serving?.scheduler === 'ray-serve' ? '' : `\nThe plan was made for the scheduler ${plan.serving?.scheduler ?? 'stage-local'}. \`plan solve --for ray-serve\` makes one for this engine.\n`}`;
}

/** groupsText says which groups a graph has, and of what. */
export function groupsText(groups: readonly DeviceGroup[]): string {
  return groups
    .map(({ name, replicas, deviceClass, virtual }) => {
      const what = virtual === 1 ? deviceClass : `1/${virtual} of ${deviceClass}`;
      return `${name} on ${replicas} × ${what}`;
    })
    .join(', ');
}
