import { US_PER_S } from '../../../formats/index.js';
import { streamOf } from '../../../random/index.js';
import {
  type FrontOn,
  frontBatch,
  frontsOn,
  type SharedMemory,
  sharedMemoryOn,
  type TritonPlan,
} from './bundle.js';
import { configDims, configsOn, hasOwnConfigs, SEAT } from './config.js';
import { REPOSITORY } from './names.js';
import { isOnCpu, type Layout } from './servers.js';

/** This many intervals are written; perf_analyzer begins again after the last. */
const INTERVALS = 1000;
const INTERVALS_SEED = 1;
const MIB = 1024 * 1024;
/** perf_analyzer measures windows of so long, in ms. */
const WINDOW_MS = 20_000;

/** serverPath is where a file of a kind of server is. */
export function serverPath({ name }: Pick<Layout, 'name'>, file: string): string {
  return `servers/${name}/${file}`;
}

/** serverFiles writes what starts and loads each kind of server, by their paths. */
export function serverFiles(triton: TritonPlan): Map<string, string> {
  const texts = new Map<string, string>();
  for (const layout of triton.layouts) {
    texts.set(serverPath(layout, 'start.sh'), startScript(triton, layout));
    texts.set(serverPath(layout, 'perf.sh'), perfScript(triton, layout));
    for (const front of frontsOn(triton, layout))
      texts.set(serverPath(layout, `${front.name}.intervals`), intervals(front));
  }
  return texts;
}

/** MPS_START starts NVIDIA's MPS where it does not run yet. */
export const MPS_START = 'nvidia-cuda-mps-control -d';

/** needsMps returns whether a server divides GPUs. */
export function needsMps(layout: Layout): boolean {
  return !isOnCpu(layout) && [...layout.seats.values()].some((seats) => seats > 1);
}

function startScript(triton: TritonPlan, layout: Layout): string {
  const memory = sharedMemoryOn(triton, layout);
  const options = startOptions(triton, layout, memory);
  const { servers } = layout;
  const which =
    servers.length > 12
      ? `${servers.slice(0, 10).join(', ')} and ${servers.length - 10} more`
      : servers.join(', ');
  return `#!/bin/sh
# Starts Triton on ${which}: ./${serverPath(layout, 'start.sh')}
# What stands behind it is given to tritonserver, such as --http-port=8000.
set -eu
cd "$(dirname "$0")/../.."
${needsMps(layout) ? MPS : ''}${memory === undefined ? '' : memoryCheck(memory)}
exec "\${TRITONSERVER:-tritonserver}" \\
${options.map((option) => `  ${option} \\\n`).join('')}  "$@"
`;
}

const MPS = `
# The virtual GPUs of a GPU are instances of this one server. MPS lets its work and that of other processes overlap. A share of
# threads would be one of the whole server, so that none is set.
echo get_server_list | nvidia-cuda-mps-control >/dev/null 2>&1 || ${MPS_START}
`;

function memoryCheck({ processes, bytesEach }: SharedMemory): string {
  const bytes = processes * bytesEach;
  const mib = Math.ceil(bytes / MIB);
  return `
# Each of the ${processes} Python processes shares ${bytesEach / MIB} MiB with the server.
need=${bytes}
free=$(df -B1 --output=avail /dev/shm | tail -n 1)
if [ "$free" -lt "$need" ]; then
  echo "Cannot start Triton: /dev/shm has $free bytes free, and ${processes} Python processes need $need." >&2
  echo "Start its container with --shm-size=${mib}m or more, or with --ipc=host." >&2
  exit 1
fi
`;
}

function startOptions(triton: TritonPlan, layout: Layout, memory: SharedMemory | undefined): string[] {
  const models = configsOn(triton, layout).map(({ model }) => model);
  return [
    `--model-repository=${REPOSITORY}`,
    '--disable-auto-complete-config',
    '--model-control-mode=explicit',
    ...(hasOwnConfigs(triton, layout) ? [`--model-config-name=${layout.name}`] : []),
    ...(layout.isShared ? ['--rate-limit=execution_count', ...seatLimits(layout)] : []),
    ...(memory === undefined ? [] : [`--backend-config=python,shm-default-byte-size=${memory.bytesEach}`]),
    ...models.map((model) => `--load-model=${model}`),
  ];
}

/** seatLimits says how many batches each GPU may run at a time: as many as it has virtual GPUs. */
function seatLimits(layout: Layout): string[] {
  if (isOnCpu(layout)) {
    const seats = [...layout.seats.values()].reduce((sum, one) => sum + one, 0);
    return [`--rate-limit-resource=${SEAT}:${seats}`];
  }
  return [...layout.seats]
    .sort(([a], [b]) => a - b)
    .map(([gpu, seats]) => `--rate-limit-resource=${SEAT}:${seats}:${gpu}`);
}

function perfScript(triton: TritonPlan, layout: Layout): string {
  const fronts = frontsOn(triton, layout);
  const runs = fronts.map((front) => `${perfCommand(triton, front)} &\npids="$pids $!"\n`).join('');
  return `#!/bin/sh
# Loads a server with perf_analyzer at the rate that the plan brings to it: ./${serverPath(layout, 'perf.sh')} [host:port]
# perf_analyzer ends at the first request that is dropped; plan load counts such requests and goes on.
set -eu
cd "$(dirname "$0")"
url="\${1:-127.0.0.1:8000}"
pids=
${runs}status=0
for pid in $pids; do wait "$pid" || status=$?; done
exit "$status"
`;
}

function perfCommand({ graph }: TritonPlan, { model, name, rps }: FrontOn): string {
  const isBatched = frontBatch(graph, model) > 0;
  // A size that is not fixed has to be said, without the batch.
  const shapes = model.inputs.flatMap(({ spec }) => {
    const dims = configDims(spec, isBatched);
    const sent = isBatched ? spec.shape.slice(1) : spec.shape;
    return dims.includes(-1) ? [` --shape '${spec.name}:${sent.join(',')}'`] : [];
  });
  const isIndex = model.inputs.some(({ spec }) => /int/.test(spec.dtype));
  return [
    `# ${Number(rps.toPrecision(4))} requests per second of ${name}\n`,
    `perf_analyzer -m '${name}' -u "$url" -i http --request-intervals='${name}.intervals'`,
    ` --measurement-interval=${WINDOW_MS} --percentile=95${isIndex ? ' --input-data=zero' : ''}${shapes.join('')}`,
  ].join('');
}

/** intervals draws the times between requests at the rate that comes to a server, in µs: a Poisson process with just that mean. */
function intervals({ name, rps }: FrontOn): string {
  const stream = streamOf(INTERVALS_SEED, `intervals of ${name}`);
  const gaps = Array.from({ length: INTERVALS }, () => stream.exponential());
  const scale = (US_PER_S * INTERVALS) / rps / gaps.reduce((sum, gap) => sum + gap, 0);
  return gaps.map((gap) => `${Math.max(1, Math.round(gap * scale))}\n`).join('');
}
