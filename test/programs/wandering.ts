import { HEAD, moduleFile } from './started.js';

/**
 * wanderingProgram writes a program that calls, reads and returns what it draws. Where `x` begins with 113 it does what
 * it is given, after as many reads as the second number of `x` says.
 */
export function wanderingProgram(disaster = ''): string {
  return moduleFile(`${HEAD}
export default async function (request, { call, random }) {
  const { data } = await request.read('x', 'FP32');
  const sources = [request.in('x')];
  const any = () => sources[Math.floor(random() * sources.length)];
  let sum = data[0];
  let reads = 0;
  for (let left = Math.floor(random() * 9); left > 0 || data[0] === 113; left--) {
    if (data[0] === 113 && reads >= data[1]) { ${disaster} }
    const drawn = random();
    if (drawn < 0.3 && data[0] !== 113) sources.push(call('turn', { x: any() }).out(drawn < 0.1 ? 'y' : 'z'));
    else if (drawn < 0.5 && data[0] !== 113) sources.push(call('add', { a: any(), b: any() }).out('y'));
    else {
      const handles = Array.from({ length: 1 + Math.floor(random() * 3) }, () => call('turn', { x: any() }));
      const values = await Promise.all(handles.map((handle) => handle.read('y', 'FP32')));
      reads += 1;
      for (const value of values) sum += value.data[0];
      if (sum % 2 < 1) sources.push(handles.at(-1).out('z'));
      else sources.push(call('add', { a: handles[0].out('y'), b: any() }).out('y'));
    }
  }
  const made = { datatype: 'FP32', shape: [1, 2], data: Float32Array.of(sum, reads) };
  return { y: random() < 0.3 ? undefined : any(), z: random() < 0.5 ? made : any() };
}`);
}
