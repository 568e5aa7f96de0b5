import { describe, expect, it } from 'vitest';
import { Terminal } from '../../src/cli/terminal.js';
import { FakeScreen } from './fake-screen.js';

const WIDE = {
  columns: ['name', 'what'],
  rows: [
    ['cpu', 'a long story of a device, which does not fit into one line of a terminal of eighty columns'],
  ],
};

describe('Terminal', () => {
  it('draws a table for 80 columns where a terminal does not say how many it has', async () => {
    const eighty = new FakeScreen(80);
    await new Terminal(eighty.stream, eighty.stream, false).table(WIDE);
    for (const columns of [0, Number.NaN, undefined]) {
      const screen = new FakeScreen(columns);
      await new Terminal(screen.stream, screen.stream, false).table(WIDE);
      expect(screen.written).toBe(eighty.written);
    }
    expect(eighty.written.split('\n').length).toBe(4);
  });
});
