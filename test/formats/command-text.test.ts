import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { commandText } from '../../src/formats/index.js';

describe('commandText()', () => {
  it('leaves plain arguments as they are', () => {
    expect(commandText(['profile', 'a/b-1.onnx', '-b', '1,2', '--dim', 'seq=128'])).toBe(
      'plan profile a/b-1.onnx -b 1,2 --dim seq=128',
    );
  });

  it('distinguishes a file from an option by a path before its dash, and leaves options and stdin alone', () => {
    expect(commandText(['profile', '-x.onnx', '-o', '--x.json', '--dim', 'a=1', '-'])).toBe(
      'plan profile ./-x.onnx -o ./--x.json --dim a=1 -',
    );
  });

  it('gives the shell the same arguments again', () => {
    const args = ['a b', "it's", '$HOME', '`x`', '', '*', '"', 'x\\y', 'a\nb', '~', 'é', '#', ';'];
    const script = `plan() { for a; do printf '%s\\0' "$a"; done; }; ${commandText(args)}`;
    expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)).toEqual(args);
  });
});
