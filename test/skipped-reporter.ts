import { existsSync } from 'node:fs';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

const SHARED = new URL('../../shared/', import.meta.url);

/** SkippedReporter ends a run with one line on what was skipped, unless tests were chosen by their names. */
export class SkippedReporter implements Reporter {
  private isChosen = false;

  onInit({ config }: Vitest): void {
    this.isChosen = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.isChosen) return;
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
