/** A thread whose jobs hear no interruption, as a solver in WebAssembly does: each works until it is ended. */
import { serveJobs } from '#dist/src/jobs/index.js';

serveJobs(({ works }) => {
  for (let i = 0; works; i = (i + 1) % 1000);
  return 'done';
});
