import { readFileSync } from 'node:fs';
import { fault, InputError } from '../../src/formats/index.js';
import type { BenchResult } from './result.js';

/**
 * readResult reads the result that a bench wrote with `--json`.
 * @throws InputError where there is no such file, or where it holds something else
 */
export function readResult(path: string): BenchResult {
  const found = parsed(path);
  const faults = faultsOf(found).map((message) => fault(message));
  if (faults.length === 0) return found as BenchResult;
  throw new InputError(`compare ${path}`, faults, 'Give it a file that a bench wrote with --json.');
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new InputError(`compare ${path}`, [fault((error as Error).message)]);
  }
}

function faultsOf(value: unknown): string[] {
  if (!isRecord(value) || value.kind !== 'bench-result') return ['it is no result of a bench'];
  const { bench, node, machine, options, inputs, measures } = value;
  const wrong: [boolean, string][] = [
    [typeof bench !== 'string', 'bench is no name'],
    [typeof node !== 'string', 'node is no version'],
    [!isRecord(machine), 'machine does not say the cpu and the cores'],
    [!isRecord(options), 'options are no record'],
    [!isRecord(inputs), 'inputs are no record'],
    [!Array.isArray(measures) || !measures.every(isMeasure), 'measures are no list of names with numbers'],
  ];
  return wrong.flatMap(([is, message]) => (is ? [message] : []));
}

function isMeasure(value: unknown): boolean {
  if (!isRecord(value) || typeof value.name !== 'string') return false;
  return Array.isArray(value.values) && value.values.every((one) => typeof one === 'number');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
