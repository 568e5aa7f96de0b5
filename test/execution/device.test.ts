import { describe, expect, it } from 'vitest';
import { checkThreads, deviceText, hostThreads, parseDevice } from '../../src/execution/index.js';
import { InputError } from '../../src/formats/index.js';

function faultsOf(text: string): string {
  try {
    parseDevice(text);
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  return '';
}

describe('parseDevice()', () => {
  it.each(['constructor', '__proto__', 'toString'])('refuses a class called %s', (name) => {
    expect(() => parseDevice(`${name}=cpu:1`)).toThrow(
      `a class cannot be called ${name}: every JavaScript object has that name`,
    );
  });

  it('reads provider, argument, slowdown and class', () => {
    expect(parseDevice('cpu:2')).toEqual({ className: 'cpu:2', device: { provider: 'cpu', threads: 2 } });
    expect(parseDevice('cpu')).toEqual({ className: 'cpu', device: { provider: 'cpu' } });
    expect(parseDevice('slow=cpu:1,slowdown=2.5')).toEqual({
      className: 'slow',
      device: { provider: 'cpu', threads: 1, slowdown: 2.5 },
    });
    expect(parseDevice('cpu:1,slowdown=3')).toEqual({
      className: 'cpu:1,slowdown=3',
      device: { provider: 'cpu', threads: 1, slowdown: 3 },
    });
    expect(parseDevice('A100=cuda:1').device).toEqual({ provider: 'cuda', deviceId: 1 });
    expect(parseDevice('webgpu').device).toEqual({ provider: 'webgpu' });
  });

  it('is the inverse of deviceText()', () => {
    for (const text of [
      'cpu',
      'cpu:4',
      'cpu:1,slowdown=3',
      'webgpu',
      'cuda:0',
      'tensorrt:2',
      'coreml',
      'dml:0',
    ]) {
      expect(deviceText(parseDevice(text).device)).toBe(text);
    }
  });

  it('reports every fault of a text at once, with the valid values', () => {
    const told = faultsOf('=gpu:x,slowdown=0.5,speed=2');
    expect(told).toContain('class has no name');
    expect(told).toContain('"gpu"; valid values are cpu, webgpu, cuda, tensorrt, coreml, dml');
    expect(told).toContain('slowdown is "0.5"');
    expect(told).toContain('option is "speed=2"');
  });

  it.each([
    ['cpu:0', 'threads is "0"'],
    ['cpu:-1', 'threads is "-1"'],
    ['cpu:1:2', 'threads is "1:2"'],
    ['cuda:x', 'device id is "x"'],
    ['cuda:', 'device id is ""'],
    ['webgpu:0', 'webgpu takes no argument'],
    ['coreml:1', 'coreml takes no argument'],
    ['', 'provider is ""'],
    ['CPU', 'provider is "CPU"'],
    ['cpu:1,slowdown=Infinity', 'slowdown is "Infinity"'],
    ['cpu:1,slowdown=', 'slowdown is ""'],
  ])('refuses "%s"', (text, told) => {
    expect(faultsOf(text)).toContain(told);
  });
});

describe('checkThreads()', () => {
  const cpu = (threads?: number) => ({
    provider: 'cpu' as const,
    ...(threads === undefined ? {} : { threads }),
  });

  it('refuses more CPU threads at once than the host has', () => {
    expect(checkThreads([{ device: cpu(2), virtual: 1, count: 2 }], 4)).toEqual([]);
    expect(checkThreads([{ device: cpu(2), virtual: 2, count: 2 }], 4)).toEqual([]);
    const faults = checkThreads(
      [
        { device: cpu(2), virtual: 1, count: 2 },
        { device: cpu(1), virtual: 1, count: 1 },
      ],
      4,
    );
    expect(faults).toHaveLength(1);
    expect(faults[0]!.message).toContain('need 5 CPU threads at once, and this host has 4');
  });

  it('refuses a CPU whose threads its virtual GPUs cannot share evenly', () => {
    const faults = checkThreads([{ device: cpu(3), virtual: 2, count: 1 }], 4);
    expect(faults.map(({ message }) => message)).toEqual([expect.stringContaining('2 virtual GPUs')]);
  });

  it('counts a CPU without a number as all threads, and GPUs as none', () => {
    expect(checkThreads([{ device: cpu(), virtual: 1, count: 1 }])).toEqual([]);
    expect(checkThreads([{ device: cpu(), virtual: 1, count: 2 }])[0]!.message).toContain(
      `${hostThreads() * 2}`,
    );
    expect(checkThreads([{ device: { provider: 'cuda' }, virtual: 4, count: 99 }])).toEqual([]);
  });
});
