import { expect, it, vi } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import type { InputError } from '../../src/formats/index.js';

function told(devices: string): string[] {
  try {
    parseArtifact(`kind: cluster\ndevices: ${devices}\n`, 'c.yaml', ['cluster']);
  } catch (error) {
    return (error as InputError).faults.map(({ path, message }) => `${path}: ${message}`.replace(/^: /, ''));
  }
  return [];
}

it('YAML that is read as something else, or as nothing, is refused in words of its own', () => {
  expect(told('{ a: &x { count: 1 }, b: { <<: *x } }')).toEqual([]);
  expect(told('{ <<: 3 }')).toEqual(['a key << merges what is no map, nor an alias of one']);
  expect(told('{ a: *x, b: &x { count: 1 } }')).toEqual([
    'line 2, column 15: no anchor &x stands before its alias',
  ]);
  expect(told('{ a: { count: 1 }')).toEqual([
    'it is indented otherwise than what it belongs to, or a bracket before it is not closed at line 3, column 1',
  ]);
  const warned = vi.spyOn(process, 'emitWarning');
  expect(told('{ ? [a] : { count: 1 } }')).toEqual([
    'line 2, column 14: a list or a map is given as a key; keys are texts',
  ]);
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});

it('tags of YAML are refused where a value would be something other than it looks', () => {
  const parse = (text: string) => () => parseArtifact(text, 'x.yaml', ['cluster']);
  const tagged = parse('a: !!binary aGk=\nb: !gpu 2\nc: !!str 5\nd: ! x\n');
  expect(tagged).toThrow(/line 1, column 13: has the tag "tag:yaml.org,2002:binary"; leave it out/);
  expect(tagged).toThrow(/line 2, column 9: has the tag "!gpu"; leave it out/);
  expect(parse('c: !!str 5\nd: !!int 5\n')).not.toThrow(/tag/);
});
