/**
 * This benchmark measures what the scheduling of dynamic workflows costs, on a synthetic mix of a chat, a question for experts and a
 * debate:
 *
 *     node dist/bench/workflow.js [--devices 8,32,128,512] [--load 0.7] [--requests 30] [--json file]
 *
 * `--requests` is their number for each device. Costs are processor time of whole runs in virtual time, the driver included. A run
 * before them warms up the code, and tells what programs do.
 */
import { benchArguments, benchNumber } from './arguments.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';
import { runMix } from './workflow/run.js';

const USAGE =
  'node dist/bench/workflow.js [--devices 8,32,128,512] [--load 0.7] [--requests 30] [--json file]';
const { values } = benchArguments(USAGE, {
  devices: { type: 'string', default: '8,32,128,512' },
  load: { type: 'string', default: '0.7' },
  requests: { type: 'string', default: '30' },
  json: { type: 'string' },
});

/** Shorter runs say more about how code is compiled than about what it does. */
const LEAST_REQUESTS = 2000;

const load = benchNumber(USAGE, 'load', values.load);
const requests = benchNumber(USAGE, 'requests', values.requests);
const sizes = values.devices.split(',').map((text) => benchNumber(USAGE, 'devices', text));
const { frequencies } = runMix({ devices: 8, load, requests: 2000, seed: 1 }).core;
const rows = sizes.map((devices) => {
  const { cpuUs, tasks, latenciesNs, summary } = runMix({
    devices,
    load,
    requests: Math.max(LEAST_REQUESTS, requests * devices),
    seed: 2,
    frequencies,
  });
  const meanMs = latenciesNs.reduce((sum, ns) => sum + ns, 0) / latenciesNs.length / 1e6;
  return {
    devices,
    usPerTask: cpuUs / tasks,
    usPerRequest: cpuUs / summary.requests,
    meanMs,
    loads: summary.loads,
  };
});
if (values.json !== '-')
  process.stdout.write(
    tableText([
      ['devices', 'CPU µs/task', 'CPU µs/request', 'mean latency ms', 'loads'],
      ...rows.map((row) => [
        ...[`${row.devices}`, row.usPerTask.toFixed(0), row.usPerRequest.toFixed(0)],
        ...[row.meanMs.toFixed(0), `${row.loads}`],
      ]),
    ]),
  );
saveResult(values.json, {
  ...{ bench: 'workflow', options: { load, requests, devices: sizes }, rows },
  measures: measuresOf(rows, ({ devices }) => `${devices} devices`, {
    'CPU µs/task': ({ usPerTask }) => usPerTask,
    'CPU µs/request': ({ usPerRequest }) => usPerRequest,
    'mean latency ms': ({ meanMs }) => meanMs,
  }),
});
