import chalk from 'chalk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ProgressStep } from '../../src/api/index.js';
import { Progress } from '../../src/cli/progress.js';
import { Terminal } from '../../src/cli/terminal.js';
import { CLEARED, FakeScreen } from './fake-screen.js';

const LONG = {
  doing: 'measuring blocks on a device with a name that fills more than one line of any screen',
};

const levelBefore = chalk.level;
beforeEach(() => {
  vi.stubEnv('CI', '');
  vi.stubEnv('TERM', 'xterm');
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  chalk.level = levelBefore;
});

/** shown gives the text of a screen that is redrawn for one second per step. */
async function shown(screen: FakeScreen, steps: readonly ProgressStep[]): Promise<FakeScreen> {
  vi.useFakeTimers();
  const terminal = new Terminal(new FakeScreen(80).stream, screen.stream);
  const progress = await new Progress(terminal).start();
  for (const step of steps) {
    progress.show(step);
    vi.advanceTimersByTime(1000);
  }
  progress.stop();
  return screen;
}

describe('Progress', () => {
  it.each([0, -3, Number.NaN, undefined, 1, 2, 5, 20, 80])(
    'redraws a line or two on a terminal that reports %s columns',
    async (columns) => {
      const screen = await shown(new FakeScreen(columns), [LONG, LONG]);
      expect(screen.written).toContain('⠋');
      expect(screen.mostClearedAtOnce).toBe(columns === 1 ? 2 : 1);
      expect(screen.written.length).toBeLessThan(10_000);
    },
  );

  it('prints a note that stays, above the line that it redraws', async () => {
    vi.useFakeTimers();
    const screen = new FakeScreen(80);
    const progress = await new Progress(new Terminal(new FakeScreen(80).stream, screen.stream)).start();
    progress.show(LONG);
    vi.advanceTimersByTime(100);
    progress.note('timed 2 figures');
    vi.advanceTimersByTime(100);
    progress.stop();
    const [before = '', after = ''] = screen.written.split('timed 2 figures\n');
    expect(before.slice(before.lastIndexOf(CLEARED))).not.toContain('measuring');
    expect(after).toContain('measuring');
  });

  it('shows as much of its text as fits on the line', async () => {
    const { written } = await shown(new FakeScreen(20), [
      { doing: 'measuring layers on cpu', fraction: 0.5 },
    ]);
    expect(written).toContain(' 50 % · measuring …');
    const whole = await shown(new FakeScreen(0), [{ doing: 'measuring layers on cpu', fraction: 0.5 }]);
    expect(whole.written).toContain(' 50 % · measuring layers on cpu');
  });

  it('colours the spinner, but not with NO_COLOR', async () => {
    chalk.level = 1;
    vi.stubEnv('NO_COLOR', '');
    vi.stubEnv('FORCE_COLOR', '');
    expect((await shown(new FakeScreen(80), [LONG])).written).toContain('\x1b[36m⠋');
    vi.stubEnv('NO_COLOR', '1');
    expect((await shown(new FakeScreen(80), [LONG])).written).not.toContain('\x1b[36m');
  });

  it('shows control characters in names as escapes, and stays on one line', async () => {
    const { written } = await shown(new FakeScreen(80), [{ doing: 'reading a\x1b[31m\nb.onnx' }]);
    expect(written).toContain(' reading a\\x1b[31m\\nb.onnx');
  });

  it('shows the time left once it is known, until none is left', async () => {
    const doing = 'x';
    const steps = [undefined, 0, 0.4, 850, 12_000, 185_000].map((leftMs) => ({ doing, fraction: 0, leftMs }));
    const { written } = await shown(new FakeScreen(80), steps);
    const told = [...new Set(written.split('\x1b').flatMap((part) => /0 % .*/.exec(part) ?? []))];
    expect(told).toEqual([
      '0 % · x',
      '0 % · x · about 850 ms left',
      '0 % · x · about 12 s left',
      '0 % · x · about 3 min 5 s left',
    ]);
  });

  it('writes plain lines ten seconds apart where nothing can be redrawn', async () => {
    const screen = new FakeScreen(undefined);
    screen.isTTY = undefined;
    const steps = Array.from({ length: 21 }, (_, i) => ({ doing: `step ${i}` }));
    expect((await shown(screen, steps)).written).toBe('step 0\nstep 10\nstep 20\n');
  });

  it('writes the latest of the steps that came too soon, once ten seconds are over, and none after its end', async () => {
    vi.useFakeTimers();
    const screen = new FakeScreen(undefined);
    screen.isTTY = undefined;
    const progress = await new Progress(new Terminal(new FakeScreen(80).stream, screen.stream)).start();
    for (const doing of ['a', 'b', 'c']) progress.show({ doing });
    vi.advanceTimersByTime(9_000);
    expect(screen.written).toBe('a\n');
    vi.advanceTimersByTime(2_000);
    expect(screen.written).toBe('a\nc\n');
    progress.show({ doing: 'd' });
    progress.stop();
    vi.advanceTimersByTime(60_000);
    expect(screen.written).toBe('a\nc\n');
  });
});
