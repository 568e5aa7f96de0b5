import { commandText } from '../../formats/index.js';

/** The report of a load that the README files of bundles have written, and compared. */
const LOAD_REPORT = 'load.json';

/** readmeLoad is the command that loads a model of an engine at the rate of the plan, or of a part of it. */
export function readmeLoad(url: string, model: string, rps: number): string {
  const rate = ['--arrivals', 'poisson', '--rps', `${Number(rps.toPrecision(3))}`, '--duration', '60s'];
  return commandText(['load', url, '--model', model, ...rate, '-o', LOAD_REPORT]);
}

/** readmeVerify is the command that compares that load with the simulation, in the folder of the bundle. */
export function readmeVerify(): string {
  return commandText(['verify', LOAD_REPORT, '--plan', '.']);
}
