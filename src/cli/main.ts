#!/usr/bin/env node
// Source maps are read together with the files that they describe, which takes time: only who looks for a bug waits for it.
if (process.env.PLAN_DEBUG) process.setSourceMapsEnabled(true);
await import('./start.js');
