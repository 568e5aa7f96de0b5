import { describe, expect, it } from 'vitest';
import { sourceOf } from '../../scripts/ratchet/read.js';

function functions(text: string) {
  return sourceOf('src/room/file.ts', text).functions;
}

describe('functionsOf()', () => {
  it('names functions by the functions and classes around them', () => {
    const text = `
      export function outer() { const inner = () => 1; list.map((x) => x); return { key: () => 2 }; }
      class Holder { constructor() {} method() {} field = () => 3; get value() { return 4; } }
      export const alone = function () {};`;
    expect(functions(text).map(({ name }) => name)).toEqual([
      'outer',
      'outer.inner',
      'outer.(callback)',
      'outer.key',
      'Holder.constructor',
      'Holder.method',
      'Holder.field',
      'Holder.value',
      'alone',
    ]);
  });

  it('counts lines from the first to the last of the function, without the comment above', () => {
    const text = '/** It has\n * a comment. */\nexport function three(\n) {\n}\nfunction one() {}';
    expect(functions(text).map(({ lines }) => lines)).toEqual([3, 1]);
  });

  it('counts positional parameters, a rest as one, and `this` as none', () => {
    const text = 'function a(this: X, b: 1, { c, d }: E, ...rest: F[]) {}';
    expect(functions(text)[0]?.parameters).toBe(3);
  });

  it('leaves out signatures without a body', () => {
    const text =
      'export function a(b: 1): void; export function a(b: 1, c?: 2) {} interface D { e(f: 1): void }';
    expect(functions(text).map(({ parameters }) => parameters)).toEqual([2]);
  });

  it('says which functions another file can call', () => {
    const text = `
      export function exported() { function inner() {} }
      function hidden() {}
      export const arrow = () => 1;
      const hiddenArrow = () => 1;
      export class Public {
        constructor() {}
        method() {}
        static made() {}
        field = () => 1;
        private secret() {}
        protected kept() {}
        #own() {}
        private readonly secretField = () => 1;
      }
      class Hidden { method() {} }
      export const object = { key: () => 1 };`;
    const exported = functions(text).filter((one) => one.exported);
    expect(exported.map(({ name }) => name)).toEqual([
      'exported',
      'arrow',
      'Public.constructor',
      'Public.method',
      'Public.made',
      'Public.field',
    ]);
  });
});
