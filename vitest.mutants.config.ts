import { defineConfig } from 'vitest/config';

/** How tests run under `npm run mutants`: what hangs under a mutant is given up soon. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
