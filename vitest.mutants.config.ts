import { defineConfig } from 'vitest/config';

/** How tests run under `npm run mutants`: what hangs under a mutant is given up soon. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
