import { defineConfig } from 'vitest/config';
import { builtCode } from './test/built-code.js';
import { ResultsReporter } from './test/results-reporter.js';
import { SkippedReporter } from './test/skipped-reporter.js';

const results = process.env.TEST_RESULTS;
const isWhole = process.env.TEST_WHOLE === '1' || process.env.TEST_LONG === '1';

export default defineConfig({
  plugins: [builtCode()],
  test: {
    include: ['test/**/*.test.ts'],
    // CI and the long run alone have these (test/cases.ts).
    exclude: isWhole ? [] : ['test/**/*.whole.test.ts'],
    globalSetup: ['test/built-code.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Long enough for a machine that others keep busy; what takes longer hangs.
    // Two cores, and a third file while others wait for processes and servers.
    maxWorkers: 3,
    // A larger young generation spares a good part of the garbage collector's work.
    execArgv: ['--max-semi-space-size=64'],
    // Files share a process: loading the modules anew for each would take a fifth of the time.
    pool: 'forks',
    isolate: false,
    // What tests are translated to is kept below node_modules: it takes a fifth of the time where little has changed.
    experimental: { fsModuleCache: true },
    // Tests that ask ONNX Runtime directly: no telemetry, as in our executors.
    env: { ORT_DISABLE_TELEMETRY: '1' },
    reporters: results
      ? ['default', new SkippedReporter(), new ResultsReporter({ outputFile: results })]
      : ['default', new SkippedReporter()],
  },
});
