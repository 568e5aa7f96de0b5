import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { parseTrace, summarizeTrace, type TraceOptions, TraceReader } from '../../src/workload/index.js';

/** The trace as plain values, or its faults. */
function told(text: string, options: TraceOptions = {}) {
  try {
    const trace = parseTrace(text, options);
    return trace.kind === 'arrivals'
      ? { format: trace.format, times: [...trace.timesNs] }
      : { format: trace.format, seconds: [...trace.intervalS], counts: [...trace.counts] };
  } catch (error) {
    if (error instanceof InputError) return error.faults.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
}
const timesOf = (text: string) => (told(text) as { times: number[] }).times;
const unknown = expect.arrayContaining([expect.stringContaining('is not the first line of a known trace')]);

describe('numbers of a trace', () => {
  it('are decimals with or without point, sign and exponent', () => {
    for (const [text, seconds] of [
      ['7', 7],
      ['+7', 7],
      ['7.', 7],
      ['.25', 0.25],
      ['12.5', 12.5],
      ['25e1', 250],
      ['25E-2', 0.25],
      ['.5e+1', 5],
      ['  3  ', 3],
    ] as const)
      expect([text, timesOf(`arrival_s\n${text}`)]).toEqual([text, [seconds * 1e9 + 0]]);
  });

  it('are nothing else, even if JavaScript would read it as a number', () => {
    for (const text of [
      '.',
      '1e',
      'e5',
      '1.2.3',
      '--1',
      '1_0',
      '0x1',
      '1 0',
      'Infinity',
      '1e5.5',
      'x1',
      '1x',
    ])
      expect([text, told(`arrival_s\n${text}`)]).toEqual([
        text,
        [`line 2: arrival_s is "${text}"; it must be a number`],
      ]);
  });

  it('are assumed in a first line that only looks like one: it is a faulty row and no header', () => {
    for (const text of ['nan', 'NaN', '-inf', '+Infinity', 'INF', '+x', '-', '-5s'])
      expect([text, told(text)]).toEqual([text, [`line 1: arrival_s is "${text}"; it must be a number`]]);
    for (const text of ['nano', 'info', 'banana', 'ainf', 'x+']) expect(told(text)).toEqual(unknown);
    expect(told('nan,1')).toEqual(['line 1: interval_s is "nan"; it must be a number']);
    expect(told('1,x')).toEqual(unknown);
  });
});

describe('headers of a trace', () => {
  it('may be written in any case, with spaces around names', () => {
    expect(told('Arrival_S\n2')).toEqual({ format: 'arrivals', times: [2e9] });
    expect(told(' INTERVAL_S , Count \n2,3')).toEqual({ format: 'counts', seconds: [2], counts: [3] });
  });

  it('name the format of the trace that is read', () => {
    const formats = [
      ['1', 'arrivals'],
      ['1,2', 'counts'],
      ['arrived_at,num_prefill_tokens,num_decode_tokens\n1,2,3', 'vidur'],
      ['TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00,1,1', 'azure-llm'],
      ['TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00,1,1,1', 'azure-lmm'],
      ['app,func,end_timestamp,duration\na,b,2,1', 'azure-functions-2021'],
      ['HashOwner,HashApp,HashFunction,Trigger,1\na,b,c,d,1', 'azure-functions-2019'],
      ['{"data":[{"timestamp":[1]}]}', 'fixed-schedule'],
    ] as const;
    for (const [text, format] of formats) expect(told(text)).toMatchObject({ format });
    expect(told('1', { format: 'perf-analyzer-intervals' })).toMatchObject({
      format: 'perf-analyzer-intervals',
    });
  });

  it('may have other columns before and behind those that are read, in quotation marks too', () => {
    expect(timesOf('arrived_at,anything\n1,2')).toEqual([1e9]);
    expect(timesOf('TIMESTAMP,ContextTokens,GeneratedTokens,Extra\n2024-01-01 00:00:00,1,1,x')).toEqual([0]);
    expect(timesOf('id,arrival_s\n7,1\n8,2')).toEqual([1e9, 2e9]);
    expect(timesOf('"","arrival_s","why"\n"1",1,"a, b"\n"2",2,"say ""c"""')).toEqual([1e9, 2e9]);
    expect(told(',count,x,interval_s\n0,5,a,2')).toMatchObject({ seconds: [2], counts: [5] });
    expect(timesOf(',app,func,end_timestamp,duration\n0,a,b,3,1')).toEqual([2e9]);
    expect(told('i,HashOwner,HashApp,HashFunction,1,2\n0,a,b,c,4,5')).toMatchObject({ counts: [4, 5] });
    expect(told('arrival_s,x\n1,"a')).toEqual(['line 2: its quotation marks do not match']);
  });

  it('may be UTC stamps alone, of which the first is on the first line', () => {
    for (const first of ['2023-01-01T00:00:00Z', '2023-01-01 00:00:00', '2023-01-01T00:00:00.000+00:00'])
      expect(timesOf(`${first}\n2023-01-01T00:00:01.5Z`)).toEqual([0, 1.5e9]);
  });

  it('must name all that a format needs', () => {
    for (const text of [
      'interval_s',
      'interval_s,counts',
      'interval,count',
      'app,func,end_timestamp',
      'app,func,start_timestamp,duration',
      '1,2,3',
    ])
      expect([text, told(`${text}\n1,1,1,1,1`)]).toEqual([text, unknown]);
  });

  it('are refused where a column counts requests beside one of moments, or where two columns could be meant', () => {
    expect(told('arrival_s,count\n1,5')).toEqual([
      'line 1: it has the column count beside arrival_s: write counts as interval_s,count, and requests without a count',
    ]);
    expect(told('time,requests\n1,5')).toEqual([expect.stringContaining('the column requests beside time')]);
    expect(told('time,ts\n1,5')).toEqual([
      'line 1: it has the columns time and ts: name the one that says when requests came arrival_s',
    ]);
    expect(told('arrival_s,arrival_s\n1,5')).toEqual(['line 1: it has the column arrival_s twice']);
  });

  it('are refused, if unknown, with every format that there is, each once', () => {
    const [fault] = told('when\n1') as [string];
    const looks = (fault.split('the known formats are ')[1] as string).split('; ');
    expect(new Set(looks).size).toBe(looks.length);
    for (const look of [
      'arrival_s, one arrival per line',
      'interval_s,count',
      '(Vidur)',
      '(Azure LLM)',
      '(Azure LMM)',
      '(Azure Functions 2021)',
      '(Azure Functions 2019, counts per minute)',
      '(Mooncake)',
      'or arrival_ms',
      '(perf_analyzer), and each as objects of JSON by line',
    ])
      expect(looks.filter((known) => known.endsWith(look))).toHaveLength(1);
    expect(looks).toHaveLength(10);
  });
});

describe('stamps of Azure traces', () => {
  const header = 'TIMESTAMP,ContextTokens,GeneratedTokens\n';
  const gapOf = (from: string, to: string) => timesOf(`${header}${from},1,1\n${to},1,1`)[1];

  it('are exact to the nanosecond, whatever digits are written', () => {
    for (const [digits, ns] of [
      ['', 0],
      ['.1', 1e8],
      ['.000000001', 1],
      ['.123456789', 123_456_789],
      ['.9799600', 979_960_000],
    ] as const)
      expect(gapOf('2023-11-16 18:17:03', `2023-11-16 18:17:03${digits}`)).toBe(ns);
    expect(gapOf('2023-11-16 18:17:03.75', '2023-11-16 18:17:05.5')).toBe(1.75e9);
  });

  it("differ by the calendar's time, through leap days and ends of years", () => {
    const stream = streamOf(1, 'stamps');
    for (let i = 0; i < 200; i++) {
      const from = 1000 * stream.integer(2e9);
      const to = from + 1000 * stream.integer(100 * 86_400);
      const [a, b] = [from, to].map((ms) => new Date(ms).toISOString().slice(0, 19)) as [string, string];
      expect(gapOf(a, b)).toBe((to - from) * 1e6);
    }
    expect(gapOf('2024-02-28 23:59:59Z', '2024-03-01 00:00:00+00:00')).toBe(86_401e9);
  });

  it('are refused where the calendar has no such time, or where they are not UTC', () => {
    for (const stamp of [
      '2023-02-29 00:00:00',
      '2023-13-01 00:00:00',
      '2023-00-10 00:00:00',
      '2023-04-31 00:00:00',
      '2023-04-30 24:00:00',
      '2023-04-30 23:60:00',
      '2023-04-30 23:59:60',
      '2023-04-30 23:59:59+01:00',
      '2023-04-30 23:59:59.1234567890',
      '2023-04-30 23:59:59.',
      '2023-04-30',
      'x2023-04-30 23:59:59',
      '2023-04-30 23:59:59 x',
      '23-04-30 23:59:59',
      '2023-4-30 23:59:59',
    ])
      expect(told(`${header}${stamp},1,1`)).toEqual([
        expect.stringContaining(`line 2: TIMESTAMP is ${JSON.stringify(stamp)}; it must be like 2023-`),
      ]);
  });

  it('start over with each trace that is read', () => {
    expect(timesOf(`${header}2024-01-01 00:00:07,1,1`)).toEqual([0]);
    expect(timesOf(`${header}2024-01-01 00:00:03,1,1\n2024-01-01 00:00:04,1,1`)).toEqual([0, 1e9]);
  });
});

describe('Azure Functions traces', () => {
  it('of 2019 may have their keys in any order, with or without the trigger, and minutes by number', () => {
    for (const header of [
      'HashFunction,HashOwner,HashApp,1,2',
      'HashOwner,HashApp,HashFunction,minute_1,minute_2',
    ])
      expect(told(`${header}\na,b,c,4,5`)).toEqual({
        format: 'azure-functions-2019',
        seconds: [60, 60],
        counts: [4, 5],
      });
    for (const header of [
      'HashOwner,HashApp,1,2',
      'HashOwner,HashApp,HashFunction,Trigger,2,3',
      'HashOwner,HashApp,HashFunction,Trigger,1,3',
      'HashOwner,HashApp,HashFunction,Trigger,1,xminute_2',
      'HashOwner,HashApp,HashFunction,Trigger,1,minutes',
    ])
      expect([header, told(`${header}\na,b,c,4,5,6`)]).toEqual([header, unknown]);
  });

  it('of 2019 add up functions minute by minute, and name the minute that is faulty', () => {
    const header = 'HashOwner,HashApp,HashFunction,1,2,3\n';
    expect(told(`${header}a,b,c,1,2,3\na,b,d,10,0,30\na,b,e,0,0,0`)).toMatchObject({ counts: [11, 2, 33] });
    expect(told(`${header}a,b,c,1,x,y\na,b,d,1,2,1.5`)).toEqual([
      'line 2: minute 2 is "x"; it must be a number',
      'line 3: minute 3 is "1.5"; it must be a whole number',
    ]);
  });

  it('of 2021 are sorted by start, without those that began before the trace, which are counted', () => {
    const header = 'app,func,end_timestamp,duration\n';
    expect(timesOf(`${header}a,b,9,1\na,b,4,0.5\na,b,1,3\na,b,4,4`)).toEqual([0, 3.5e9, 8e9]);
    expect(parseTrace(`${header}a,b,9,1\na,b,1,3\na,b,2,2.5`)).toMatchObject({ begunBefore: 2 });
    expect(parseTrace(`${header}a,b,9,1`)).not.toHaveProperty('begunBefore');
    expect(told(`${header}a,b,1,3\na,b,2,5`)).toEqual([
      ': it holds no requests: all 2 of its requests began before it',
    ]);
    expect(told(`${header}a,b,x,y\na,b,1,-1\na,b,1700000000,1`)).toEqual([
      'line 2: end_timestamp is "x"; it must be a number',
      'line 2: duration is "y"; it must be a number',
      'line 3: duration is "-1"; it must not be negative',
      'line 4: end_timestamp is 1700000000, a stamp since 1970; it must be in seconds since the trace began, as published',
    ]);
  });

  it('of 2021 have no peak of long requests at the start', () => {
    // Eight requests come each second, and each takes 100 s; the trace begins at second 200.
    const lines = Array.from({ length: 4000 }, (_, i) => `a,b,${i / 8 - 200 + 100},100`);
    const ended = lines.filter((line) => Number(line.split(',')[2]) >= 0);
    const trace = parseTrace(`app,func,end_timestamp,duration\n${ended.join('\n')}`);
    expect(summarizeTrace(trace, 1).windows.peakRps).toBe(8);
    expect(trace).toMatchObject({ begunBefore: 800 });
  });
});

describe('stamps since 1970', () => {
  it('are read to the nanosecond in seconds, milliseconds, microseconds and nanoseconds, from the first on', () => {
    for (const text of [
      'arrival_s\n1700000000.123456789\n1700000001.123456790',
      '1700000000.123456789\n1700000001.123456790',
      'timestamp\n1700000000123.456789\n1700000001123.45679',
      'timestamp_ms\n1700000000123.456789\n1700000001123.45679',
      'timestamp_us\n1700000000123456.789\n1700000001123456.79',
      'timestamp_ns\n1700000000123456789\n1700000001123456790',
      '1700000000123456789\n1700000001123456790',
      'time\n2023-11-14 22:13:20.123456789\n2023-11-14T22:13:21.12345679Z',
      '2023-11-14 22:13:20.123456789\n2023-11-14T22:13:21.12345679Z',
    ])
      expect([text, timesOf(text)]).toEqual([text, [0, 1_000_000_001]]);
    expect(timesOf('1.7e9\n1.700000001e9')).toEqual([0, 1e9]);
  });

  it('are distinguished from times since the start by their size', () => {
    expect(timesOf('arrival_ms\n5\n1500')).toEqual([5e6, 1.5e9]);
    expect(timesOf('timestamp_us\n5\n1500')).toEqual([5e3, 1.5e6]);
    expect(told('arrival_s\n1\n1700000000')).toEqual([
      expect.stringContaining('line 3: it is more than 104 days after the start'),
    ]);
  });

  it('are looked for under a name that is nearly known', () => {
    expect(told('arrival,model\n1,a')).toEqual([
      expect.stringMatching(/^line 1: "arrival,model" .*; did you mean arrival_s\?$/),
    ]);
    expect(told('when,model\n1,a')).toEqual([expect.stringMatching(/by line$/)]);
  });

  it('are refused in a unit that their column does not name, or that changes', () => {
    expect(told('arrival_s\n1700000000123')).toEqual([
      'line 2: arrival_s is "1700000000123"; it is a stamp in milliseconds since 1970; name its column timestamp_ms',
    ]);
    expect(told('1700000000\n17')).toEqual([
      'line 2: arrival_s is "17"; it must be a stamp in seconds since 1970, as the first is',
    ]);
    expect(told('timestamp_s\n1700000000123\n1700000000456\n1700000000789000')).toEqual([
      'line 2: timestamp_s is "1700000000123"; it is a stamp in milliseconds since 1970; name its column timestamp_ms',
      'line 4: timestamp_s is "1700000000789000"; it is a stamp in microseconds since 1970; name its column timestamp_us',
    ]);
    expect(told('time\n12\n13\nnoon\n14')).toEqual([
      expect.stringMatching(/^line 2: time is "12"; it does not say its unit;/),
      'line 4: time is "noon"; it must be a number',
    ]);
    expect(told('timestamp\n12')).toEqual([
      'line 2: timestamp is "12"; it does not say its unit; name its column arrival_s where it counts seconds from the start, and arrival_ms where milliseconds',
    ]);
    expect(told('timestamp\nnoon')).toEqual([
      'line 2: timestamp is "noon"; it must be like 2023-11-16 18:17:03.9799600',
    ]);
  });
});

describe('objects of JSON by line', () => {
  it('are read by the names that the columns of CSV have', () => {
    expect(timesOf('{"arrival_s":1,"id":"a"}\n{"id":"b, c","arrival_s":2.5}\n')).toEqual([1e9, 2.5e9]);
    expect(timesOf('{"arrival_s":1}')).toEqual([1e9]);
    expect(told('{"interval_s":2,"count":5}\r\n{"interval_s":1,"count":0}')).toMatchObject({
      counts: [5, 0],
    });
    expect(told('{"timestamp":0,"input_length":5,"output_length":6,"hash_ids":[1]}')).toEqual({
      format: 'mooncake',
      times: [0],
    });
    expect(timesOf('{"timestamp":"2023-11-16 18:17:03"}\n{"timestamp":"2023-11-16 18:17:04"}')).toEqual([
      0, 1e9,
    ]);
    const reader = new TraceReader();
    for (const letter of '{"arrival_s":1}\n{"arrival_s":2}\n') reader.push(letter);
    expect(reader.end()).toMatchObject({ timesNs: Float64Array.of(1e9, 2e9) });
  });

  it('are refused with their lines, and the keys of the first where no format has them', () => {
    expect(told('{"arrival_s":1}\n{"arrival":2}\n[3]\n\n{"arrival_s":null}')).toEqual([
      'line 2: arrival_s is ""; it must be a number',
      'line 3: it is no object of JSON, as the first line is',
      'line 4: it is empty',
      'line 5: arrival_s is ""; it must be a number',
    ]);
    expect(told('{"when":1}\n{"when":2}')).toEqual([
      expect.stringContaining('line 1: "when" is not the first line of a known trace'),
    ]);
  });
});

describe('intervals of perf_analyzer', () => {
  it('add up, each rounded to whole nanoseconds', () => {
    expect(told('1.5\n0.0004\n0.0006\n2', { format: 'perf-analyzer-intervals' })).toMatchObject({
      times: [1500, 1500, 1501, 3501],
    });
    expect(told('1\nx\n-2', { format: 'perf-analyzer-intervals' })).toEqual([
      'line 2: the interval is "x"; it must be a number',
      'line 3: the interval is "-2"; it must not be negative',
    ]);
  });
});
