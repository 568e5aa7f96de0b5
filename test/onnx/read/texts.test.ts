import { describe, expect, it } from 'vitest';
import { readModel, textsNotUtf8 } from '../../../src/onnx/index.js';
import * as w from '../writer.js';

const ODD = Uint8Array.of(0x63, 0x61, 0x66, 0xe9);
const X = w.value('x', w.STRING, ['batch', 1]);
const Y = w.value('y', w.STRING, ['batch', 1]);

const strings = (name: string, ...values: (string | Uint8Array)[]) =>
  w.message([1, values.length], [2, w.STRING], ...values.map((value): w.FieldOf => [6, value]), [8, name]);

/** found names what `textsNotUtf8` finds in a graph that passes x on, with these parts besides. */
function found({ nodes = [], ...parts }: w.GraphParts, functions: Uint8Array[] = []): string[] {
  const graph = w.graph({
    nodes: [w.node('Identity', ['x'], ['y']), ...nodes],
    inputs: [X],
    outputs: [Y],
    ...parts,
  });
  return textsNotUtf8(
    readModel(w.model(graph, { opsets: { '': 17, 'ai.onnx.ml': 2, local: 1 }, functions })),
  );
}

describe('textsNotUtf8()', () => {
  it('names nothing where all text is UTF-8, whatever the bytes of numbers are', () => {
    const numbers = w.floats('f', [2], [Number.NaN, -1e38]);
    const labels = w.node('LabelEncoder', ['x'], ['l'], {
      domain: 'ai.onnx.ml',
      attributes: [w.attribute.strings('keys_strings', ['a', 'café', '\ufffd', '\0'])],
    });
    expect(found({ nodes: [labels], initializers: [strings('c', 'café', '日本', ''), numbers] })).toEqual([]);
  });

  it('names constants of the graph, and the nodes with attributes that are not', () => {
    const labels = w.node('LabelEncoder', ['x'], ['l'], {
      name: 'labels',
      domain: 'ai.onnx.ml',
      attributes: [w.message([1, 'values_strings'], [9, 'a'], [9, ODD], [20, 8])],
    });
    const said = w.node('Constant', [], ['s'], {
      attributes: [w.message([1, 'value_string'], [4, ODD], [20, 3])],
    });
    const held = w.node('Constant', [], ['t'], {
      name: 'held',
      attributes: [w.attribute.tensor('value', strings('', 'a', ODD))],
    });
    const constants = [strings('good', 'a'), strings('c', 'a', ODD)];
    expect(found({ nodes: [labels, said, held], initializers: constants })).toEqual([
      'constant c',
      'node labels',
      'node Constant',
      'node held',
    ]);
  });

  it('looks into subgraphs and local functions', () => {
    const branch = w.graph({
      nodes: [w.node('Identity', ['inner'], ['b'])],
      outputs: [w.value('b', w.STRING, [1])],
      initializers: [strings('inner', ODD)],
    });
    const taken = w.node('If', ['flag'], ['z'], {
      attributes: [w.attribute.graph('then_branch', branch), w.attribute.graph('else_branch', branch)],
    });
    const flag = w.message([2, w.BOOL], [8, 'flag'], [9, Uint8Array.of(1)]);
    const body = w.node('Constant', [], ['o'], {
      name: 'within',
      attributes: [w.message([1, 'value_string'], [4, ODD], [20, 3])],
    });
    const local = w.message([1, 'Told'], [5, 'o'], [7, body], [9, w.message([2, 17])], [10, 'local']);
    expect(found({ nodes: [taken], initializers: [flag] }, [local])).toEqual([
      'constant inner',
      'node within',
    ]);
  });
});
