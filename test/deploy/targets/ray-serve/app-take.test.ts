import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const APP = fileURLToPath(new URL('../../../../src/deploy/targets/ray-serve/', import.meta.url));
const hasPython =
  spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']).status === 0;

/** It takes a batch of a queue at a time, with stand-ins for all that app.py imports. */
const TAKEN = `
import json, sys, types
from collections import deque

class Anything:
    def __getattr__(self, name): return Anything()
    def __call__(self, *given, **named): return Anything()

for name in ("numpy", "ray", "ray.exceptions", "starlette", "starlette.responses", "rows", "walk"):
    module = types.ModuleType(name)
    module.__getattr__ = lambda name: type(name, (Exception,), {}) if name[0].isupper() else Anything()
    sys.modules[name] = module
sys.path.insert(0, sys.argv[1])
import app

class Ending:
    said = None
    def __init__(self, done): self.is_done = done
    def done(self): return self.is_done
    def set_result(self, value): self.is_done, self.said = True, "dropped"

taken = []
for case in json.loads(sys.argv[2]):
    endings = [Ending(done) for _, done in case["rows"]]
    group = object.__new__(app.Group)
    group.config = {"stages": {"s": case["stage"]}}
    group.queues = {"s": deque((i, deadline, 0, endings[i]) for i, (deadline, _) in enumerate(case["rows"]))}
    app.time.time = lambda: case["now"]
    batch = [row[0] for row in group.take("s")]
    taken.append([batch, [i for i, one in enumerate(endings) if one.said], [row[0] for row in group.queues["s"]]])
print(json.dumps(taken))
`;

import { fewOf, inWholeRun } from '../../../cases.js';

type Row = readonly [deadlineS: number, isDone: boolean];
type Taken = readonly [batch: number[], dropped: number[], left: number[]];

function taken(cases: readonly (readonly Row[])[]): Taken[] {
  const stage = { batch: 2, least_ms: 400, full_ms: 1000 };
  const asked = JSON.stringify(cases.map((rows) => ({ now: 10, stage, rows })));
  const { stdout, stderr, status } = spawnSync('python3', ['-B', '-c', TAKEN, APP, asked], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout) as Taken[];
}

/** With batches of 2, 0.4 s for a row alone and 1 s for a full batch, at 10 s. */
const [LATE, ALONE, FULL] = [10.399, 10.999, 11] as const;

describe.skipIf(!hasPython)('a replica of Ray Serve (where Python is installed)', () => {
  it.each(
    fewOf<readonly [string, readonly number[], Taken]>(
      [
        ['executes what waits, where all is in time', [FULL, FULL, FULL], [[0, 1], [], [2]]],
        ['drops what would be late alone', [LATE, FULL, LATE, FULL], [[1, 3], [0, 2], []]],
        [
          'executes a row that a full batch would make late, where no more than a batch wait',
          [ALONE, FULL],
          [[0, 1], [], []],
        ],
        ['drops it while more wait', [ALONE, FULL, FULL], [[1, 2], [0], []]],
        [
          'drops only as many first ones as leave a full batch',
          [ALONE, ALONE, ALONE, ALONE],
          [[2, 3], [0, 1], []],
        ],
        ['asks that of the first row alone', [FULL, ALONE, FULL, FULL], [[0, 1], [], [2, 3]]],
        ['has nothing to execute where all is late', [LATE, LATE], [[], [0, 1], []]],
      ],
      2,
    ),
  )('%s', (_, deadlines, expected) => {
    expect(taken([deadlines.map((deadline) => [deadline, false] as const)])).toEqual([expected]);
  });

  inWholeRun('leaves out rows whose requests have ended', () => {
    expect(
      taken([
        [
          [FULL, true],
          [FULL, false],
          [LATE, true],
        ],
      ]),
    ).toEqual([[[1], [], []]]);
  });
});
