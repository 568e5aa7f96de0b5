import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InputError } from '../../src/formats/index.js';
import { cutsOf, extractPartition, nameNodes, readModel } from '../../src/onnx/index.js';
import { cases, inWholeRun, seeds } from '../cases.js';
import { fieldBytes, payload } from './fields.js';
import { MADE_MODELS } from './made-models.js';
import { noise } from './noise.js';
import { randomGraph, written } from './random-graph.js';
import { hasShared, sharedFile } from './shared.js';

const { onnx } = onnxProto;
const GRAPH = 7;

interface ModelFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Models of every kind that is made for tests, and random graphs. */
function madeFiles(): ModelFile[] {
  const made = Object.entries(MADE_MODELS).map(([name, build]) => ({ name, bytes: build() }));
  const random = seeds(60, 600).map((seed) => ({
    name: `random graph ${seed}`,
    bytes: written(randomGraph(noise(seed * 15485863))).bytes,
  }));
  return [...made, ...random];
}

/** expectFieldsKept expects that the partition of all nodes has every field of the model, byte for byte. */
function expectFieldsKept(files: readonly ModelFile[]): void {
  const refused: string[] = [];
  for (const { name, bytes } of files) {
    const model = readOr(bytes, name, refused);
    if (model === undefined) continue;
    const whole = extractPartition(model, { from: 0, to: model.graph.nodes.length, types: new Map() });
    const outer = (number: number) => number !== GRAPH;
    expect(fieldBytes(whole.bytes, outer), name).toEqual(fieldBytes(bytes, outer));
    const graph = payload(whole.bytes, GRAPH);
    expect(fieldBytes(graph).toSorted(), name).toEqual(fieldBytes(payload(bytes, GRAPH)).toSorted());
    expect(sameGraph(whole.bytes), name).toEqual(sameGraph(bytes));
  }
  expect(refused).toEqual([]);
}

/** expectReadAsDecoded compares what readModel() gives with ONNX's own decoder. */
function expectReadAsDecoded(files: readonly ModelFile[]): void {
  for (const { name, bytes } of files) {
    const graph = onnx.ModelProto.decode(bytes).graph!;
    const read = readModel(bytes).graph;
    const nodes = read.nodes.map(({ op, domain, inputs, outputs }) => ({ op, domain, inputs, outputs }));
    const expected = graph.node!.map((node) => ({
      op: node.opType,
      domain: node.domain === 'ai.onnx' ? '' : node.domain,
      inputs: node.input,
      outputs: node.output,
    }));
    expect(new Set(nodes.map((n) => JSON.stringify(n))), name).toEqual(
      new Set(expected.map((n) => JSON.stringify(n))),
    );
    expect(read.outputs.map((output) => output.name)).toEqual(graph.output!.map((output) => output.name));
    expect(new Set(read.nodes.map((node) => node.name)).size).toBe(read.nodes.length);
  }
}

/** expectCutAndNamed expects a cut after every node but the last, and names that stay when they are given again. */
function expectCutAndNamed(files: readonly ModelFile[]): void {
  for (const { name, bytes } of files) {
    const model = readModel(bytes);
    expect(cutsOf(model), name).toHaveLength(Math.max(0, model.graph.nodes.length - 1));
    const named = readModel(nameNodes(model)).graph.nodes;
    expect(named.map((node) => node.name)).toEqual(model.graph.nodes.map((node) => node.name));
  }
}

describe('generated models', () => {
  const files = madeFiles();

  it('extractPartition() of [0, n) keeps every field of each byte for byte', () => {
    expectFieldsKept(files);
  });

  it('readModel() gives names, operators and values as onnx-proto decodes them', () => {
    expectReadAsDecoded(files);
  });

  it('cutsOf() and nameNodes() take each', () => {
    expectCutAndNamed(files);
  });
});

describe.runIf(hasShared)('the ONNX project’s node tests', publishedNodeTests);

function publishedNodeTests(): void {
  let folder = '';
  let files: ModelFile[] = [];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'inferplan-onnx-'));
    execFileSync('tar', [
      'xzf',
      sharedFile('onnx-node-tests-all.tar.gz'),
      '-C',
      folder,
      '--wildcards',
      '*/model.onnx',
    ]);
    const root = join(folder, 'onnx/backend/test/data/node');
    const names = readdirSync(root);
    expect(names).toHaveLength(1802);
    files = names
      .filter((_, i) => i % cases(4, 1) === 0)
      .map((name) => ({ name, bytes: new Uint8Array(readFileSync(join(root, name, 'model.onnx'))) }));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  inWholeRun('extractPartition() of [0, n) keeps every field of every model byte for byte', () => {
    expectFieldsKept(files);
  });

  it('readModel() gives names, operators and values as onnx-proto decodes them', () => {
    expectReadAsDecoded(files);
  });

  inWholeRun('cutsOf() and nameNodes() accept every model', () => {
    expectCutAndNamed(files);
  });
}

function readOr(bytes: Uint8Array, name: string, refused: string[]) {
  try {
    return readModel(bytes, { name });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    refused.push(error.message);
    return undefined;
  }
}

/** sameGraph gives the graph as onnx-proto understands it, whatever the order of its nodes. */
function sameGraph(bytes: Uint8Array) {
  const model = onnx.ModelProto.decode(bytes);
  const graph = model.graph!;
  const nodes = graph.node!.map((node) => Buffer.from(onnx.NodeProto.encode(node).finish()).toString('hex'));
  return {
    nodes: nodes.toSorted(),
    rest: onnx.GraphProto.encode({ ...graph, node: [] }).finish(),
    functions: model.functions!.length,
  };
}
