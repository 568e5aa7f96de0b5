/**
 * This benchmark shows how what PARD drops depends on its load, SLO and parameters (Fig. 14 of the paper), where latency goes
 * and which order is in force (Fig. 12, 13), and what the readings of docs/pard.md are worth:
 *
 *     node dist/bench/pard/sensitivity.js <figure>... [--seconds 300] [--seeds 3]
 *
 * The figures are the entries of FIGURES. All is simulated with made traces, in this thread. Tables are in Markdown.
 */
import { benchArguments, benchNumber } from '../arguments.js';
import { parts } from './sensitivity/latency-parts.js';
import { open, overload } from './sensitivity/open.js';
import { markdown, type Section, type Settings } from './sensitivity/section.js';
import { stress } from './sensitivity/stress.js';
import { orders, quantiles, slos, windows } from './sensitivity/swept.js';
import { transitions } from './sensitivity/transitions.js';

const FIGURES: Readonly<Record<string, (settings: Settings) => Promise<Section>>> = {
  stress,
  slos,
  quantiles,
  orders,
  windows,
  parts,
  transitions,
  open,
  overload,
};
const NAMES = Object.keys(FIGURES);
const USAGE = `node dist/bench/pard/sensitivity.js <${NAMES.join(' | ')}>... [--seconds 300] [--seeds 3]`;

const { values, positionals } = benchArguments(USAGE, {
  seconds: { type: 'string', default: '300' },
  seeds: { type: 'string', default: '3' },
});
const unknown = positionals.filter((name) => !NAMES.includes(name));
if (positionals.length === 0 || unknown.length > 0) {
  process.stderr.write(`there is no figure ${unknown.join(', ')}\nusage: ${USAGE}\n`);
  process.exit(2);
}
const settings = {
  seconds: benchNumber(USAGE, '--seconds', values.seconds),
  seeds: benchNumber(USAGE, '--seeds', values.seeds),
};
for (const name of positionals)
  process.stdout.write(markdown(await (FIGURES[name] as typeof stress)(settings)));
