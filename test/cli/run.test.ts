import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { flagOf } from '../../src/cli/run.js';

describe('flagOf()', () => {
  const command = new Command('simulate')
    .option('--rps <rate>')
    .option('--trace-format <name>')
    .option('--mix <text>')
    .option('--phase <text>')
    .option('-o, --output <file>');

  it.each([
    ['rps', '--rps'],
    ['traceFormat', '--trace-format'],
    ['phases', '--phase'],
    ['mixes', '--mix'],
    ['output', '--output'],
  ])('gives the flag of the library option %s', (name, flag) => {
    expect(flagOf(name, command)).toBe(flag);
  });

  it.each(['rp', 'rpsx', 'npm', 'outputFile'])('has no flag for %s', (name) => {
    expect(flagOf(name, command)).toBeUndefined();
  });
});
