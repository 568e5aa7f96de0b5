import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/formats/index.js';
import { parseTrace, type TraceOptions, TraceReader } from '../../src/workload/index.js';

function faultsOf(text: string, options: TraceOptions = {}): string[] {
  try {
    parseTrace(text, options);
  } catch (error) {
    if (error instanceof InputError) return error.faults.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}
function timesOf(...pieces: readonly string[]): number[] {
  const reader = new TraceReader();
  for (const piece of pieces) reader.push(piece);
  const trace = reader.end();
  return trace.kind === 'arrivals' ? [...trace.timesNs] : [];
}

describe('TraceReader', () => {
  it('looks for a byte order mark and for JSON at the beginning of the text, and nowhere else', () => {
    expect(timesOf('', '\uFEFF1\n2')).toEqual([1e9, 2e9]);
    const json = '{"data":[{"timestamp":[1]},{"timestamp":2}]}';
    for (const pieces of [[json], ['', json], [` \n${json}`], [`\uFEFF\t${json}\n`], [...json]])
      expect(timesOf(...pieces)).toEqual([1e6, 2e6]);
    expect(faultsOf('1\n{"data":[]}')).toHaveLength(1);
  });

  it('says of a list of JSON that one object a line is read', () => {
    for (const text of ['[{"timestamp":1}]', ' [\n  {"timestamp":1}]', '[', '[]', '[0.5, 1]', '[[1]]'])
      expect(faultsOf(text)).toEqual([
        expect.stringMatching(/^: it is a JSON array, and one object a line is read: .*`jq -c "\.\[\]"`/),
      ]);
    expect(faultsOf('[2023-01-01 00:00:00]')).toEqual([
      expect.stringContaining('is not the first line of a known trace'),
    ]);
  });

  it('accepts a byte order mark that is alone in its piece', () => {
    expect(timesOf('\uFEFF', '1\n2')).toEqual([1e9, 2e9]);
  });

  it('ends lines at line feeds, with or without a carriage return before, and strips nothing else', () => {
    expect(timesOf('1\r\n2\n3\r')).toEqual([1e9, 2e9, 3e9]);
    expect(faultsOf('1\r2\n')).toEqual([
      expect.stringContaining('line 1: "1\\r2" is not the first line of a known trace'),
    ]);
    expect(faultsOf('1\n\r\n2')).toEqual(['line 2: it is empty']);
    expect(faultsOf('1\n \t \n2')).toEqual(['line 2: it is empty']);
  });

  it('reports no later lines where the first is unknown', () => {
    expect(faultsOf('when\n\nx,y\n1,2,3\n')).toEqual([
      expect.stringContaining('line 1: "when" is not the first line of a known trace'),
    ]);
  });

  it('shows at most 60 characters of text that it does not understand', () => {
    const shownOf = (text: string) => faultsOf(`arrival_s\n${text}`);
    expect(shownOf('y'.repeat(58))).toEqual([
      `line 2: arrival_s is "${'y'.repeat(58)}"; it must be a number`,
    ]);
    expect(shownOf('y'.repeat(59))).toEqual([
      `line 2: arrival_s is "${'y'.repeat(56)}…"; it must be a number`,
    ]);
  });

  it('counts further faults only where there are more than 20', () => {
    expect(faultsOf(`arrival_s\n${'x\n'.repeat(20)}`)).toHaveLength(20);
    const faults = faultsOf(`arrival_s\n${'x\n'.repeat(21)}`);
    expect(faults).toHaveLength(21);
    expect(faults.at(-1)).toBe(': … and 1 more fault');
  });

  it('names the trace in its refusal only if the trace has a name', () => {
    expect(() => parseTrace('')).toThrow('Cannot read the trace: ');
    expect(() => parseTrace('', { name: 'a.csv' })).toThrow('Cannot read the trace a.csv: ');
  });

  it('accepts equal arrivals and refuses those that go back, with both times', () => {
    expect(timesOf('2\n2\n3')).toEqual([2e9, 2e9, 3e9]);
    expect(faultsOf('2\n1.5\n1.75\n2')).toEqual([
      'line 2: its arrival at 1.5 s comes after one at 2 s: arrivals must ascend',
      'line 3: its arrival at 1.75 s comes after one at 2 s: arrivals must ascend',
    ]);
  });

  it('accepts the last instant that is a whole number of nanoseconds, and none after it', () => {
    const header = 'TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00,1,1\n';
    expect(timesOf(`${header}2024-04-14 05:59:59.254740991,1,1`).at(-1)).toBe(Number.MAX_SAFE_INTEGER);
    expect(faultsOf(`${header}2024-04-14 05:59:59.254740992,1,1`)).toEqual([
      expect.stringContaining('line 3: it is more than 104 days after the start'),
    ]);
  });

  it('keeps any number of arrivals and intervals', () => {
    const numbers = Array.from({ length: 1000 }, (_, i) => i);
    expect(timesOf(numbers.join('\n'))).toEqual(numbers.map((i) => i * 1e9));
    const counts = parseTrace(numbers.map((i) => `${i + 1},${i}`).join('\n'));
    expect(counts).toEqual({
      kind: 'counts',
      format: 'counts',
      intervalS: Float64Array.from(numbers, (i) => i + 1),
      counts: Float64Array.from(numbers),
    });
  });
});

describe('the window that a trace is of another', () => {
  const read = (...lines: string[]) => parseTrace(['arrival_s,window_s', ...lines].join('\n'));

  it('is as long as a line says, whichever it is, and absent where none says so', () => {
    expect(read('1,', '2,60.5', '3,')).toMatchObject({ windowNs: 60.5e9 });
    expect(read('1,2', '2,2')).toMatchObject({ windowNs: 2e9 });
    expect(read('1,', '2,')).not.toHaveProperty('windowNs');
    expect(parseTrace('{"arrival_s":1,"window_s":60}\n{"arrival_s":2}')).toMatchObject({ windowNs: 60e9 });
    // Beside other columns of moments it means nothing.
    expect(parseTrace('arrival_ms,window_s\n1,60')).not.toHaveProperty('windowNs');
  });

  it('is refused where it is no length, where lines contradict, and where requests come after it', () => {
    expect(() => read('1,long')).toThrow('line 2: window_s is "long"; it must be a number');
    expect(() => read('1,60', '2,61')).toThrow(
      'line 3: window_s is 61, and a line before says 60: a trace has one window',
    );
    expect(() => read('1,1e9')).toThrow('more than 104 days after the start');
    expect(() => read('1,2', '3,')).toThrow(
      'its window ends at 2 s by window_s, and its last request comes at 3 s',
    );
  });
});

describe('a fixed schedule', () => {
  it('reports for every entry that is none what it is', () => {
    const entries = '[1,2]|[]|"1"|null|[true]|[-0.5]|[3]'.split('|').map((t) => `{"timestamp":${t}}`);
    const must = 'it must be a list of one number of milliseconds';
    expect(faultsOf(`{"data":[null,5,${entries.join()}]}`)).toEqual([
      ...[0, 1].map((i) => `/data/${i}/timestamp: is absent; ${must}`),
      ...['[1,2]', '[]', '"1"', 'null', '[true]', '[-0.5]'].map(
        (text, i) => `/data/${i + 2}/timestamp: is ${text}; ${must}`,
      ),
    ]);
  });

  it('rounds times to the nearest nanosecond, and accepts equal ones and 0', () => {
    expect(
      timesOf('{"data":[{"timestamp":[0]},{"timestamp":[0.0000014]},{"timestamp":[0.0000014]}]}'),
    ).toEqual([0, 1, 1]);
  });

  it('is a list under "data"', () => {
    for (const text of ['{}', '{"data":{}}', '{"data":null}', '{"dat":[]}'])
      expect(faultsOf(text)).toEqual([expect.stringContaining('it has no list "data"')]);
    expect(faultsOf('{"data":[]')).toEqual([expect.stringContaining('it is no JSON: ')]);
  });
});
