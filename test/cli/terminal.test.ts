import { afterEach, describe, expect, it, vi } from 'vitest';
import { Terminal } from '../../src/cli/terminal.js';
import { FakeScreen } from './fake-screen.js';

const WIDE = {
  columns: ['name', 'what'],
  rows: [
    ['cpu', 'a long story of a device, which does not fit into one line of a terminal of eighty columns'],
  ],
};

afterEach(() => vi.unstubAllEnvs());

const HOSTILE = 'm\x1b[2J\x07\r\u009b1A';
const SHOWN = 'm\\x1b[2J\\x07\\r\\x9b1A';

describe('Terminal', () => {
  it('draws a table for 80 columns if a terminal does not report its own', async () => {
    const eighty = new FakeScreen(80);
    await new Terminal(eighty.stream, eighty.stream).table(WIDE);
    for (const columns of [0, Number.NaN, undefined]) {
      const screen = new FakeScreen(columns);
      await new Terminal(screen.stream, screen.stream).table(WIDE);
      expect(screen.written).toBe(eighty.written);
    }
    expect(eighty.written.split('\n').length).toBe(4);
  });

  it('shows control characters in names and messages as escapes in all that it prints', async () => {
    vi.stubEnv('NO_COLOR', '1');
    const [out, err] = [new FakeScreen(200), new FakeScreen(200)];
    const terminal = new Terminal(out.stream, err.stream);
    terminal.line(`${HOSTILE}\n2`);
    await terminal.table({ columns: [HOSTILE], rows: [[`${HOSTILE}\n2`]] });
    expect(out.written).toBe(`${SHOWN}\n2\n${SHOWN}\n${SHOWN}\\n2\n`);
    terminal.note(HOSTILE);
    await terminal.warn(HOSTILE);
    await terminal.error(`${HOSTILE}\n2`);
    expect(err.written).toBe(`${SHOWN}\nwarning: ${SHOWN}\nerror: ${SHOWN}\n2\n`);
  });

  it('groups warnings, and wraps them between words on a terminal alone', async () => {
    vi.stubEnv('NO_COLOR', '1');
    const said = 'the latency is the sum of the blocks, as the whole model was not measured';
    const texts = [`detect on L4: ${said}`, `face on L4: ${said}`];
    const narrow = new FakeScreen(60);
    await new Terminal(narrow.stream, narrow.stream).warnings(texts);
    expect(narrow.written.split('\n')).toEqual([
      'warning: detect and face on L4: the latency is the sum of',
      '         the blocks, as the whole model was not measured',
      '',
    ]);
    const piped = new FakeScreen(60);
    piped.isTTY = false;
    await new Terminal(piped.stream, piped.stream).warnings(texts);
    expect(piped.written).toBe(`warning: detect and face on L4: ${said}\n`);
  });

  it('wraps remarks between words on a terminal alone', async () => {
    const said = 'no plan with 3 L4: the model cannot meet its objective on any of these devices';
    const narrow = new FakeScreen(60);
    await new Terminal(narrow.stream, narrow.stream).remarks([said]);
    expect(narrow.written).toBe(
      'no plan with 3 L4: the model cannot meet its objective on\nany of these devices\n',
    );
    const piped = new FakeScreen(60);
    piped.isTTY = false;
    await new Terminal(piped.stream, piped.stream).remarks([said]);
    expect(piped.written).toBe(`${said}\n`);
  });

  it('prints JSON as it is', () => {
    const out = new FakeScreen(80);
    new Terminal(out.stream, out.stream, { json: true }).document({ name: HOSTILE });
    expect(JSON.parse(out.written)).toEqual({ name: HOSTILE });
    expect(out.written).not.toContain('\x1b');
  });

  it('colours each stream on its own, and none with NO_COLOR', async () => {
    for (const name of ['NO_COLOR', 'FORCE_COLOR']) vi.stubEnv(name, '');
    vi.stubEnv('TERM', 'xterm');
    const [out, err] = [new FakeScreen(80), new FakeScreen(80)];
    out.isTTY = false;
    const terminal = new Terminal(out.stream, err.stream);
    await terminal.error('no');
    await terminal.table(WIDE);
    expect(err.written).toBe('\x1b[31merror:\x1b[39m no\n');
    expect(out.written).not.toContain('\x1b');
    vi.stubEnv('NO_COLOR', '1');
    await terminal.warn('no');
    expect(err.written.slice(err.written.indexOf('\n'))).toBe('\nwarning: no\n');
  });
});
