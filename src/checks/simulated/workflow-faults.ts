import { type DeviceTimeShares, type Fault, fault, type SimulationReport } from '../../formats/index.js';
import { addedUp, faultOf, givenFaults, rangeFaults, shareFaults } from '../figures.js';

/**
 * servedWorkflowFaults finds where what serving workflows took contradicts itself, its components and its classes:
 * fewer calls than answered requests, loads and evictions that are not those of the components, and shares of time that
 * are not those of the classes.
 */
export function servedWorkflowFaults({
  workflows,
  overall,
  pools,
  classes,
  workload,
}: SimulationReport): Fault[] {
  if (workflows === undefined) return [];
  const { tasks, loads, evictions, deviceTime, overS, rightGuesses } = workflows;
  const answered = overall.inTime + overall.late;
  const devices = addedUp(Object.values(classes).map((one) => one.virtualGpus));
  const executing = addedUp(Object.values(classes).map((one) => one.utilisation * one.virtualGpus));
  return [
    ...faultOf(
      tasks >= answered,
      `is ${tasks}, and each of ${answered} answered requests called something`,
      '/workflows/tasks',
    ),
    ...givenFaults(loads, addedUp(pools.map((pool) => pool.loads ?? 0)), '/workflows/loads'),
    ...givenFaults(evictions, addedUp(pools.map((pool) => pool.evictions ?? 0)), '/workflows/evictions'),
    ...faultOf(
      overS >= workload.durationS * (1 - 1e-9) || overall.arrived === 0,
      `is ${overS}, and requests arrived for ${workload.durationS} s`,
      '/workflows/overS',
    ),
    ...shareFaults(rightGuesses, '/workflows/rightGuesses'),
    ...timeFaults(deviceTime, {
      executed: devices === 0 ? 0 : executing / devices,
      at: '/workflows/deviceTime',
    }),
    ...Object.entries(classes).flatMap(([name, one]) =>
      one.deviceTime === undefined
        ? [fault('lacks "deviceTime"', `/classes/${name}`)]
        : timeFaults(one.deviceTime, { executed: one.utilisation, at: `/classes/${name}/deviceTime` }),
    ),
  ];
}

/** timeFaults finds shares of time that do not sum to 1, or in which devices executed for another time than they were busy. */
function timeFaults(
  { executing, loading, both, idle }: DeviceTimeShares,
  { executed, at }: { readonly executed: number; readonly at: string },
): Fault[] {
  const sum = executing + loading + both + idle;
  return [
    ...givenFaults(sum, 1, at),
    ...rangeFaults(executing + both, [executed, executed], { at: `${at}/executing`, by: 'the utilisation' }),
  ];
}
