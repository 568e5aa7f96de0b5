import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { ProgramHost, type ProgramHostOptions } from '../../src/programs/index.js';
import { ARITHMETIC, FakeDriver, type FakeOptions, numbers } from './fake-driver.js';

const folders: string[] = [];
const hosts: ProgramHost[] = [];
const drivers: FakeDriver[] = [];

afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  expect(drivers.splice(0).flatMap(({ broken }) => broken)).toEqual([]);
});

/** moduleFile writes a module into a folder of its own, which goes after the test. */
export function moduleFile(text: string, name = 'program.mjs'): string {
  const folder = mkdtempSync(join(tmpdir(), 'program-'));
  folders.push(folder);
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** HEAD has the exports of a program that takes `x` and gives `y` and `z`, each of two numbers. */
export const HEAD = `
const pair = (name) => ({ name, datatype: 'FP32', shape: [-1, 2] });
export const inputs = [pair('x')];
export const outputs = [pair('y'), pair('z')];
`;

/** programOf writes a program whose function has the given body, after what the module has besides. */
export function programOf(body: string, besides = ''): string {
  return moduleFile(`${HEAD}${besides}
export default async function (request, { call, now, random }) {${body}}`);
}

/** StartedOptions says what is otherwise than by default: arithmetic components, seed 7, and the limits. */
export type StartedOptions = Partial<Omit<ProgramHostOptions, 'driver'>> & { readonly fake?: FakeOptions };

/** started starts a program with a fake driver, which is watched until the test is over. */
export async function started(path: string, options: StartedOptions = {}): Promise<FakeDriver> {
  const { fake, ...rest } = options;
  const driver = new FakeDriver(ARITHMETIC, fake);
  drivers.push(driver);
  driver.host = await ProgramHost.start(path, { components: ARITHMETIC, seed: 7, driver, ...rest });
  hosts.push(driver.host);
  return driver;
}

/** ONE is a request of one row. */
export const ONE = { x: numbers(1, 2) };

/**
 * SOON are limits for tests that wait for them. A busy machine may keep a thread from its work for longer than these
 * programs compute.
 */
export const SOON = { continuationMs: 400 };

/** PATIENT are limits for tests that wait for something else. */
export const PATIENT = { continuationMs: 60_000, loadMs: 60_000 };

/** turn lets everything else have its turn. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
