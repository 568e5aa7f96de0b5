import { describe, expect, it } from 'vitest';
import {
  type Cut,
  cutFault,
  cutFaultText,
  cutsOf,
  readModel,
  type TensorType,
  tensorFaultText,
} from '../../../src/onnx/index.js';
import * as w from '../writer.js';

const F4: TensorType = { dtype: 'float32', dims: [4] };
const x = w.value('x', w.FLOAT, [4]);
const y = w.value('y', w.FLOAT, [4]);

/** ofKind makes a ValueInfo of a type that is no tensor, by its arm of the oneof. */
const ofKind = (name: string, arm: number) => w.message([1, name], [2, w.message([arm, w.message()])]);

const made = (parts: w.GraphParts) => readModel(w.model(w.graph({ inputs: [x], outputs: [y], ...parts })));

/** line is x → a → b → y, with a and b of unknown types. */
const line = made({
  nodes: [w.node('Relu', ['x'], ['a']), w.node('Neg', ['a'], ['b']), w.node('Exp', ['b'], ['y'])],
});
const known = new Map([
  ['a', F4],
  ['b', F4],
]);

describe('cutsOf()', () => {
  it('finds no cut in fewer than two nodes', () => {
    expect(cutsOf(made({ nodes: [], outputs: [x] }))).toEqual([]);
    expect(cutsOf(made({ nodes: [w.node('Relu', ['x'], ['y'])] }))).toEqual([]);
  });

  it('counts no tensor before it is made or after its last use', () => {
    const model = made({
      nodes: [
        w.node('Relu', ['x'], ['a']),
        w.node('Split', ['a'], ['b', '', 'c']),
        w.node('Clip', ['b', '', 'c'], ['d']),
        w.node('Neg', ['d'], ['y']),
      ],
    });
    expect(cutsOf(model)).toEqual([
      { position: 1, tensors: ['a'] },
      { position: 2, tensors: ['b', 'c'] },
      { position: 3, tensors: ['d'] },
    ]);
  });
});

/** faultText gives the words of a cut's fault. */
function faultText(...asked: Parameters<typeof cutFault>): string | undefined {
  const fault = cutFault(...asked);
  return fault && cutFaultText(fault);
}

describe('cutFault()', () => {
  it('knows the existing cuts by number', () => {
    const why = (position: number) => faultText(line, { position, tensors: ['a'] }, { types: known });
    for (const position of [0, -1, 3, 4, 1.5, Number.NaN])
      expect(why(position)).toBe(`there is no cut ${position}; cuts are 1 to 2`);
    for (const position of [1, 2]) expect(why(position)).toBeUndefined();
  });

  it('refuses a cut that no tensor crosses', () => {
    expect(faultText(line, { position: 1, tensors: [] }, { types: known })).toBe('nothing crosses it');
  });

  it('refuses a cut after work that no output needs, even if an output is made after it', () => {
    const model = made({
      nodes: [
        w.node('Relu', ['x'], ['a']),
        w.node('Neg', ['a'], ['left']),
        w.node('Abs', ['left'], ['over']),
        w.node('Exp', ['a'], ['y']),
      ],
    });
    const why = cutsOf(model).map((cut) =>
      faultText(model, cut, { types: new Map([...known, ['left', F4]]) }),
    );
    expect(why.map((fault) => fault?.slice(0, 31))).toEqual([
      undefined,
      'the node before it is constant ',
      'the node before it is constant ',
    ]);
  });

  it('counts a node as work by any of its outputs, and refuses a cut after the last work', () => {
    const model = made({
      nodes: [
        w.node('Split', ['x'], ['unused', 'a']),
        w.node('Split', ['a'], ['y', 'left']),
        w.node('Neg', ['a'], ['over']),
      ],
    });
    expect(cutsOf(model).map((cut) => faultText(model, cut, { types: known }))).toEqual([
      undefined,
      'nothing is left to compute after it',
    ]);
  });

  it('names every tensor that cannot cross, and why', () => {
    const model = made({
      nodes: [w.node('Op', ['x'], ['a', 'b', 'c', 'd', 'e', 'f']), w.node('Op', [...'abcdef'], ['y'])],
      values: [ofKind('a', 4), ofKind('b', 5), ofKind('c', 7), ofKind('d', 8), ofKind('e', 9)],
    });
    const cut = cutsOf(model)[0] as Cut;
    const fault = cutFault(model, cut, { types: new Map() });
    const tensors = fault?.kind === 'tensors' ? fault.tensors : [];
    expect(tensors.map(({ name, code }) => [name, code])).toEqual(
      [...'abcdef'].map((name) => [name, 'type']),
    );
    expect(tensors.map(tensorFaultText)).toEqual([
      '"a", made by Op_0 and last used by Op_1, is a sequence, which cannot be sent',
      '"b", made by Op_0 and last used by Op_1, is a map, which cannot be sent',
      '"c", made by Op_0 and last used by Op_1, is an opaque, which cannot be sent',
      '"d", made by Op_0 and last used by Op_1, is a sparse, which cannot be sent',
      '"e", made by Op_0 and last used by Op_1, is an optional, which cannot be sent',
      '"f", made by Op_0 and last used by Op_1, is of a type that is not known',
    ]);
  });

  it('prefers a measured type to a declared one, and uses declared types of every kind', () => {
    const string = 8;
    const why = (parts: w.GraphParts, types: ReadonlyMap<string, TensorType>) => {
      const model = made({
        nodes: [w.node('Op', ['x'], ['a']), w.node('Op', ['a', 'z'], ['y'])],
        inputs: [x, w.value('z', string, [1])],
        ...parts,
      });
      return faultText(model, cutsOf(model)[0] as Cut, { types });
    };
    const strings = ', which cannot be sent; ';
    const ofZ = `"z", an input and last used by Op_1, is string${strings}`;
    expect(why({}, known)).toContain(ofZ);
    expect(why({}, new Map([...known, ['z', F4]]))).toBeUndefined();
    const z = new Map([['z', F4]]);
    expect(why({}, z)).toBe('"a", made by Op_0 and last used by Op_1, is of a type that is not known');
    expect(why({ values: [w.value('a', w.FLOAT, [4])] }, z)).toBeUndefined();
    expect(why({ values: [w.value('a', string, [4])] }, z)).toContain(`by Op_1, is string${strings}`);
    expect(why({ outputs: [y, w.value('a', w.INT64, [4])] }, z)).toBeUndefined();
    expect(why({ outputs: [y, w.value('a', string, [4])] }, z)).toContain(
      `"a", made by Op_0 and an output, is string${strings}`,
    );
  });
});
