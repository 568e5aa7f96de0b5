import type { ChainEdge, ChainStep, WorkflowChain } from '../../src/formats/index.js';
import type { Stream } from '../../src/random/index.js';

const COMPONENTS = ['vision', 'language', 'image', 'judge'];

/**
 * randomChain makes a chain without faults: each step leads onwards, back or to the end, and a later step or the end
 * can always be reached.
 */
export function randomChain(stream: Stream): WorkflowChain {
  const count = 1 + stream.integer(5);
  const names = Array.from({ length: count }, (_, s) => `step-${s}`);
  const steps = names.map((name, s): ChainStep => {
    const inputs = () => ['request', ...names].filter(() => stream.integer(3) === 0);
    return {
      name,
      calls: Array.from({ length: 1 + stream.integer(3) }, () => ({
        component: COMPONENTS[stream.integer(COMPONENTS.length)] as string,
        inputs: inputs(),
        outputBytes: stream.integer(1000),
        ...(stream.integer(2) === 0 ? {} : { rows: 1 + stream.integer(4) }),
        ...(stream.integer(3) === 0 ? { thinkMs: stream.integer(50) } : {}),
      })),
      ...(s === count - 1 && stream.integer(2) === 0 ? {} : { next: leads(names, s + 1, stream) }),
    };
  });
  return { requestBytes: stream.integer(5000), start: 'step-0', steps };
}

/**
 * leads gives a step's name, or edges to distinct steps, of which the first is later or the end and has the chance of
 * at least one half.
 */
function leads(names: readonly string[], later: number, stream: Stream): string | ChainEdge[] {
  const onwards = [...names.slice(later), 'end'];
  const first = onwards[stream.integer(onwards.length)] as string;
  if (stream.integer(3) === 0) return first;
  const others = [...names, 'end'].filter((name) => name !== first && stream.integer(3) === 0);
  if (others.length === 0) return [{ to: first, chance: 1 }];
  return [{ to: first, chance: 0.5 }, ...others.map((to) => ({ to, chance: 0.5 / others.length }))];
}
