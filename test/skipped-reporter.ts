import { existsSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

const SHARED = new URL('../../shared/', import.meta.url);

/** SkippedReporter ends a run with one line on what was skipped. */
export class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.map((module) => [...module.children.allTests('skipped')].length);
    const tests = skipped.reduce((sum, count) => sum + count, 0);
    if (tests === 0) return;
    const files = skipped.filter((count) => count > 0).length;
    const why = existsSync(SHARED)
      ? 'this system lacks what they need'
      : 'they compare with published figures in ../shared, which is not there';
    process.stdout.write(`${tests} tests in ${files} files were skipped: ${why}.\n`);
  }
}
