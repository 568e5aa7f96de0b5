import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResults } from '../../scripts/ci/results.js';

/** Runs says what each run of tests leaves, by its name and number, as in `all-2`: all others pass. */
export type Runs = Readonly<Record<string, RunResults | string>>;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

// Only what reads results and names tests is really run by Node: all other checks pass, but those of which it is given what
// they say.
const NODE = `#!/usr/bin/env bash
case "$1" in
  dist/scripts/ci-results.js | dist/scripts/shared-tests.js) exec '${process.execPath}' "$@" ;;
esac
given="$SCRATCH/$(basename "$1")"
[ ! -e "$given" ] || { cat "$given"; exit 1; }`;

// A run of tests passes, or fails and leaves what it was given: an empty file stands for none.
const NPM = `#!/usr/bin/env bash
[ -n "\${TEST_RESULTS:-}" ] || exit 0
name=$(basename "$TEST_RESULTS" .json)
echo "$name: $*" >> "$SCRATCH/calls"
number=$(grep -c "^$name: " "$SCRATCH/calls")
echo "ran $name: $*"
given="$SCRATCH/$name-$number"
[ -e "$given" ] || exec cp "$SCRATCH/green" "$TEST_RESULTS"
[ ! -s "$given" ] || cp "$given" "$TEST_RESULTS"
exit 1`;

const FAKES = {
  node: NODE,
  npm: NPM,
  npx: '#!/usr/bin/env bash\nshift 3\nexec "$@"',
  git: '#!/usr/bin/env bash\nmkdir -p "$4"',
};

/**
 * ciOf runs `.ci/run` in a folder of its own, where commands only claim to do what they do, and gives its exit status and
 * its lines. The test files of that folder have the texts given, and `../shared` is there.
 */
export async function ciOf(
  green: RunResults,
  runs: Runs,
  tests: Readonly<Record<string, string>> = { 'shared.test.ts': ['..', 'shared', 'x'].join('/') },
): Promise<{ status: number; lines: string[]; stderr: string }> {
  const scratch = await mkdtemp(join(tmpdir(), 'scratch-ci-'));
  const checkout = join(scratch, 'checkout');
  for (const folder of ['.ci', 'dist', 'test']) await mkdir(join(checkout, folder), { recursive: true });
  await mkdir(join(scratch, 'bin'));
  await mkdir(join(scratch, 'shared'));
  await copyFile(join(ROOT, '.ci/run'), join(checkout, '.ci/run'));
  await symlink(join(ROOT, 'dist/scripts'), join(checkout, 'dist/scripts'));
  for (const [name, text] of Object.entries(FAKES))
    await writeFile(join(scratch, 'bin', name), text, { mode: 0o755 });
  for (const [name, text] of Object.entries(tests)) {
    const file = join(checkout, 'test', name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  for (const [name, left] of Object.entries({ green, ...runs }))
    await writeFile(join(scratch, name), typeof left === 'string' ? left : JSON.stringify(left));
  const PATH = [join(scratch, 'bin'), process.env.PATH].join(delimiter);
  // TEST_RESULTS is not handed on: it is of the run that these tests are part of.
  const env = { PATH, SCRATCH: scratch, TMPDIR: scratch };
  return new Promise((resolve) => {
    execFile('bash', [join(checkout, '.ci/run')], { env }, async (error, stdout, stderr) => {
      await rm(scratch, { recursive: true });
      const status = error === null ? 0 : Number(error.code);
      resolve({ status, lines: stdout.trimEnd().split('\n'), stderr });
    });
  });
}
