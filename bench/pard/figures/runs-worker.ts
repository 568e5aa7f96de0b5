/** The thread of PARD's figures makes one workload after another and serves each by several schedulers. */
import { serveJobs } from '../../../src/jobs/index.js';
import { type FigureRow, figureRows } from './figure-rows.js';
import { type AskedRuns, servedRuns } from './served-runs.js';

serveJobs<AskedRuns, FigureRow[], never, undefined>(async (asked) =>
  figureRows(asked, await servedRuns(asked)),
);
