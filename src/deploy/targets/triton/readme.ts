import { largestOf } from '../../../collections/index.js';
import type { EngineBundle } from '../engine-target.js';
import { readmeLoad, readmeVerify } from '../readme-commands.js';
import { frontsOn, isPython, plannedGear, sharedMemoryOn, type TritonPlan } from './bundle.js';
import { REPOSITORY } from './names.js';
import { serverPath } from './scripts.js';

/** The version whose ways were measured (docs/targets.md). */
const TRITON_VERSION = '2.51';
const MIB = 1024 * 1024;

/** readmeText says how the bundle is started, loaded and compared. */
export function readmeText(bundle: EngineBundle, triton: TritonPlan): string {
  const { graph, layouts } = triton;
  const [layout] = layouts as [TritonPlan['layouts'][number]];
  const [front] = frontsOn(triton, layout);
  return `# ${graph.models.map(({ name }) => name).join(', ')} on Triton

This folder runs a plan on Triton Inference Server (${TRITON_VERSION} or later): each server loads its models from \`${REPOSITORY}\`.
\`lint.json\` says what may go wrong.

| servers | start | requests per second that the plan brings to each |
| --- | --- | --- |
${layouts.map((one) => serverRow(triton, one)).join('\n')}

1. Start each server, with this folder on it: on the server, or in Triton's container with the folder mounted.

       ./${serverPath(layout, 'start.sh')}

2. Load it, at the rate that the plan brings to it:

       ${readmeLoad('http://127.0.0.1:8000', front?.name ?? '', front?.rps ?? 1)}

3. Compare what it did with the simulation:

       ${readmeVerify()}

\`${serverPath(layout, 'perf.sh')}\` loads a server with perf_analyzer instead, by the intervals beside it.
${layouts.length > 1 || layout.servers.length > 1 ? SEVERAL : ''}${memoryText(triton)}${gearText(triton)}${schedulerText(bundle)}`;
}

const SEVERAL = `
Clients share their requests between the servers by these rates. plan verify simulates all servers of the plan together, so that the load of
one of several is told to have been less than planned.
`;

function serverRow(triton: TritonPlan, layout: TritonPlan['layouts'][number]): string {
  const rates = frontsOn(triton, layout).map(({ name, rps }) => `${name} ${Number(rps.toPrecision(3))}`);
  return `| ${layout.servers.join(', ')} | \`${serverPath(layout, 'start.sh')}\` | ${rates.join(', ')} |`;
}

function memoryText(triton: TritonPlan): string {
  const memories = triton.layouts.flatMap((layout) => sharedMemoryOn(triton, layout) ?? []);
  if (memories.length === 0) return '';
  const mib = largestOf(memories.map(({ processes, bytesEach }) => (processes * bytesEach) / MIB));
  const fronts = triton.graph.models.filter((model) => isPython(triton, model)).map(({ name }) => name);
  return `
${fronts.join(', ')} is answered by Python models, which need a shared memory of ${Math.ceil(mib)} MiB: start a container with \`--shm-size=${Math.ceil(mib)}m\`
or more. Each request in flight has a process of its own.
`;
}

function gearText({ graph, names }: TritonPlan): string {
  const gears = graph.gears?.gears ?? [];
  if (gears.length < 2) return '';
  const rates = gears.map(({ toRps }, i) => `${i} up to ${toRps}`).join(', ');
  return `
The plan has ${gears.length} gears, and Triton keeps one, ${plannedGear(graph)?.index}: requests per second of each are ${rates}. To change it, write
another one into \`${REPOSITORY}/${names.fronts[0]}/config.pbtxt\`, and load the model again while it serves:

    curl -X POST http://127.0.0.1:8000/v2/repository/models/${names.fronts[0]}/load
`;
}

function schedulerText({ plan }: EngineBundle): string {
  const scheduler = plan.serving?.scheduler ?? 'stage-local';
  if (scheduler === 'triton') return '';
  return `\nThe plan was made for the scheduler ${scheduler}, and Triton has one queue for each model: docs/targets.md says what differs.\n`;
}
