import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkOnnxRuntime, installAdvice } from '../../src/execution/onnx-runtime.js';
import { MissingError } from '../../src/formats/index.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-onnx-runtime-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** project makes a folder with this package in node_modules, and ONNX Runtime of a version beside it if one is given. */
function project(name: string, version?: string): string {
  const modules = join(folder, name, 'node_modules');
  const own = join(modules, 'inferplan');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(folder, name, 'package.json'), '{}');
  const described = {
    name: 'inferplan',
    imports: { '#package': './package.json' },
    peerDependencies: { 'onnxruntime-node': '1.30.0' },
  };
  writeFileSync(join(own, 'package.json'), JSON.stringify(described));
  if (version !== undefined) {
    mkdirSync(join(modules, 'onnxruntime-node'));
    writeFileSync(join(modules, 'onnxruntime-node/package.json'), JSON.stringify({ version }));
  }
  return join(own, 'any.js');
}

describe('checkOnnxRuntime()', () => {
  it('finds the ONNX Runtime of this checkout', () => {
    expect(() => checkOnnxRuntime()).not.toThrow();
  });

  it('takes the version that this package was tested with', () => {
    expect(() => checkOnnxRuntime(project('right', '1.30.0'))).not.toThrow();
  });

  it.each([
    ['absent', undefined, 'this needs ONNX Runtime, and the package onnxruntime-node is not installed'],
    ['other', '1.21.0', 'this needs onnxruntime-node 1.30.0, and version 1.21.0 is installed'],
  ])('names the command that installs it where it is %s', (name, version, why) => {
    const said = `Cannot run models: ${why}\nRun this command in ${join(folder, name)}:\n  npm install onnxruntime-node@1.30.0 --ignore-scripts\n`;
    const from = project(name, version);
    const check = () => checkOnnxRuntime(from);
    expect(check).toThrow(MissingError);
    expect(check).toThrow(said);
  });
});

describe('installAdvice()', () => {
  it('installs beside a package that npm installed globally, where no package.json is', () => {
    const advice = installAdvice(join(folder, 'lib/node_modules/inferplan/package.json'), '1.30.0');
    expect(advice).toMatch(
      /^Run this command:\n {2}npm install --global onnxruntime-node@1.30.0 --ignore-scripts\n/,
    );
  });

  it('installs in the project that has this package below another one', () => {
    project('outer');
    const inner = join(folder, 'outer/node_modules/other/node_modules/inferplan/package.json');
    expect(installAdvice(inner, '1.30.0')).toContain(`in ${join(folder, 'outer')}:\n`);
  });

  it('says npm ci in a checkout', () => {
    const checkout = join(folder, 'checkout');
    expect(installAdvice(join(checkout, 'package.json'), '1.30.0')).toBe(
      `Run this command in ${checkout}:\n  npm ci`,
    );
  });
});
