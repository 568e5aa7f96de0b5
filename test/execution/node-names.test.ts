import { describe, expect, it } from 'vitest';
import { parseEvents } from '../../src/execution/node-timings.js';

/** An event as ONNX Runtime 1.30 writes it. */
const event = (name: string) =>
  `{"cat" : "Node","pid" :1,"tid" :2,"dur" :3,"ts" :4,"ph" : "X","name" :"${name}","args" : {"op_name" : "Relu","node_index" : "0"}}`;

describe('parseEvents()', () => {
  it('reads names that ONNX Runtime does not escape', () => {
    const names = ['a"b_kernel_time', 'c\\d_kernel_time', 'e\nf"\\_kernel_time', 'plain_kernel_time', '"'];
    const text = `[\n${names.map(event).join(',\n')}\n]\n`;
    expect(() => JSON.parse(text)).toThrow();
    expect(parseEvents(text).map(({ name }) => name)).toEqual(names);
    expect(parseEvents(text)[0]).toMatchObject({ dur: 3, args: { op_name: 'Relu', node_index: '0' } });
  });
});
