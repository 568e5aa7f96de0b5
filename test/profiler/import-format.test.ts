import { expect, test } from 'vitest';
import { formatOfFiles } from '../../src/profiler/index.js';

const ORT = JSON.stringify([
  { cat: 'Session', name: 'session_initialization', dur: 3 },
  { cat: 'Session', name: 'model_run', dur: 7 },
]);
const TIMES = JSON.stringify([{ computeMs: 1.5 }]);
const LAYERS = JSON.stringify([{ count: 5 }, { name: 'conv', averageMs: 0.5 }]);

const of = (...texts: string[]) => formatOfFiles(texts.map((text, i) => ({ path: `${i}`, text })));

test.each([
  ['csv', '1,2\n3,4\n'],
  ['csv', '\n1.5e3\n'],
  ['csv', '7'],
  ['trtexec', TIMES],
  ['trtexec', LAYERS],
  ['ort', ORT],
  ['ort', '[{"cat":"Session","name":"model_loading_uri"}]'],
])('formatOfFiles() recognizes %s by its content: %s', (format, text) => {
  expect(of(text)).toBe(format);
  expect(of(text, text)).toBe(format);
});

test.each([
  ['', '0: the file is empty'],
  ['{"cat":"Session","name":"model_run"}', '0: it is JSON, but not a list'],
  ['[{"cat":"Session","name":"model_run"', '0: it is neither a table of numbers nor JSON: '],
  ['block,latency\n1,2', '0: it is neither a table of numbers nor JSON: '],
  ['1,,2', '0: it is neither'],
  ['[]', '0: it is a list without'],
  // Other tools write traces of events, too.
  ['[{"cat":"Node","name":"model_run","ph":"X","dur":3}]', '0: it is a list without'],
  ['[null,3]', '0: it is a list without'],
  [
    JSON.stringify([...JSON.parse(ORT), ...JSON.parse(TIMES)]),
    '0: it looks like an export of trtexec (trtexec) and like a profile of ONNX Runtime (ort)',
  ],
])('formatOfFiles() does not guess the format of %s', (text, said) => {
  expect(() => of(text)).toThrow(said);
});

test('formatOfFiles() names every file where they are of several formats, and every file of no known format', () => {
  expect(() => of(ORT, TIMES, '', '1')).toThrow(
    /2: the file is empty\n +0: it is a profile of ONNX Runtime \(ort\)\n +1: it is an export of trtexec \(trtexec\)\n +3: it is a table of latencies \(csv\)\nImport files of one format together, or name the format/,
  );
  expect(() => of()).toThrow('no files are given');
});
