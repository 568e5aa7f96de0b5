import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { reportFaults } from '../../src/checks/index.js';
import type { SimulationReport } from '../../src/formats/index.js';

const REPORT = JSON.parse(
  readFileSync(new URL('reports/pooled.json', import.meta.url), 'utf8'),
) as SimulationReport;

it('reportFaults() finds a model whose attainment is not that of its requests', () => {
  const withShare = (change: number) => ({
    ...REPORT,
    models: REPORT.models.map((model) => ({
      ...model,
      attainment: (model.requests.attainment ?? 0) + change,
    })),
  });
  expect(reportFaults(withShare(0))).toEqual([]);
  expect(reportFaults(withShare(-0.25)).map(({ path }) => path)).toContain('/models/0/attainment');
});
