import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Datatype, ProgramHost, type TensorMetadata } from '../../src/programs/index.js';
import { directly } from './directly.js';
import { FakeDriver, type TestComponent, type TestTensors } from './fake-driver.js';

const TOKENS = 64;

function metadata(name: string, datatype: Datatype, ...sizes: number[]): TensorMetadata {
  return { name, datatype, shape: [-1, ...sizes] };
}

/** text is a text of which all tokens are the same. */
function text(token: number) {
  return {
    datatype: 'INT64',
    shape: [1, TOKENS],
    data: new BigInt64Array(TOKENS).fill(BigInt(token)),
  } as const;
}

function scores(...values: number[]) {
  return { datatype: 'FP32', shape: [1, values.length], data: Float32Array.from(values) } as const;
}

/** tokenOf is the token of a text, or the first number of a tensor. */
function tokenOf(tensors: TestTensors, name: string): number {
  return Number((tensors[name]?.data as BigInt64Array)[0]);
}

/** writer takes a text and gives one whose tokens are greater. */
function writer(input: string, output: string, more: number): TestComponent {
  return {
    inputs: [metadata(input, 'INT64', TOKENS)],
    outputs: [metadata(output, 'INT64', TOKENS)],
    compute: (given) => ({ [output]: text(tokenOf(given, input) + more) }),
  };
}

function scorer(classes: number, compute: (token: number) => number[]): TestComponent {
  return {
    inputs: [metadata('tokens', 'INT64', TOKENS)],
    outputs: [metadata('scores', 'FP32', classes)],
    compute: (given) => ({ scores: scores(...compute(tokenOf(given, 'tokens'))) }),
  };
}

const EXPERTS = ['math', 'code', 'law', 'medicine', 'history', 'physics'];

function agent(more: number): TestComponent {
  return {
    inputs: [metadata('question', 'INT64', TOKENS), metadata('summary', 'INT64', TOKENS)],
    outputs: [metadata('opinion', 'INT64', TOKENS)],
    compute: (given) => ({ opinion: text(tokenOf(given, 'summary') + more) }),
  };
}

/** The components of all examples. Those of the chatbot refuse token 13 and draw for even tokens; the agents agree above 100. */
const COMPONENTS: Readonly<Record<string, TestComponent>> = {
  moderation: scorer(2, (token) => (token === 13 ? [1, 0] : [0, 1])),
  intent: scorer(2, (token) => (token % 2 === 0 ? [0, 1] : [1, 0])),
  'chat-llm': writer('tokens', 'reply', 100),
  image: {
    inputs: [metadata('tokens', 'INT64', TOKENS)],
    outputs: [metadata('picture', 'FP32', 3, 64, 64)],
    compute: (given) => ({
      picture: {
        datatype: 'FP32',
        shape: [1, 3, 64, 64],
        data: new Float32Array(3 * 64 * 64).fill(tokenOf(given, 'tokens')),
      },
    }),
  },
  router: scorer(EXPERTS.length, (token) =>
    EXPERTS.map((_, i) => (i === token % EXPERTS.length ? 0.9 : i / 10)),
  ),
  ...Object.fromEntries(EXPERTS.map((name, i) => [name, writer('tokens', 'answer', 1000 * (i + 1))])),
  summarizer: writer('tokens', 'summary', 7),
  'agent-a': agent(1),
  'agent-b': agent(2),
  'agent-c': agent(3),
  judge: {
    inputs: ['question', 'a', 'b', 'c'].map((name) => metadata(name, 'INT64', TOKENS)),
    outputs: [metadata('summary', 'INT64', TOKENS), metadata('agreement', 'FP32', 1)],
    compute: (given) => {
      const sum = tokenOf(given, 'a') + tokenOf(given, 'b') + tokenOf(given, 'c');
      return { summary: text(sum), agreement: scores(sum > 100 ? 0.8 : 0.2) };
    },
  },
};

/** answers runs an example for texts of one token each, and directly, which gives the same. */
async function answers(example: string, input: string, tokens: readonly number[]) {
  const path = fileURLToPath(new URL(`../../examples/workflows/programs/${example}.mjs`, import.meta.url));
  const driver = new FakeDriver(COMPONENTS);
  const host = await ProgramHost.start(path, { components: COMPONENTS, seed: 1, driver });
  driver.host = host;
  try {
    const ended = await Promise.all(tokens.map((token, run) => driver.run(run, { [input]: text(token) })));
    const module = await import(path);
    for (const [run, token] of tokens.entries()) {
      const request = { [input]: text(token) };
      const { called, ...answer } = await directly(module, request, { components: COMPONENTS, seed: 1, run });
      expect(ended[run]).toMatchObject(answer);
      expect(ended[run]?.recorded.map(({ component }) => component)).toEqual(called);
    }
    expect(driver.broken).toEqual([]);
    return ended.map(({ outputs, notTaken, recorded }) => ({
      outputs: Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, values[0]])),
      notTaken,
      called: recorded.map(({ component }) => component),
      after: recorded.map(({ after }) => after.length),
    }));
  } finally {
    await host.close();
  }
}

describe('examples/workflows/programs', () => {
  it('chat.mjs draws only when it is asked to, and answers nothing that is refused', async () => {
    const asked = ['moderation', 'intent'];
    expect(await answers('chat', 'tokens', [13, 5, 6])).toEqual([
      { outputs: {}, notTaken: ['reply', 'picture'], called: asked, after: [0, 0] },
      { outputs: { reply: 105 }, notTaken: ['picture'], called: [...asked, 'chat-llm'], after: [0, 0, 1] },
      {
        outputs: { reply: 106, picture: 106 },
        notTaken: [],
        called: [...asked, 'chat-llm', 'image'],
        after: [0, 0, 1, 2],
      },
    ]);
  });

  it('experts.mjs asks the expert that the router names', async () => {
    const ended = await answers('experts', 'tokens', [0, 8, 11]);
    expect(ended.map(({ called }) => called)).toEqual([
      ['router', 'math', 'summarizer'],
      ['router', 'law', 'summarizer'],
      ['router', 'physics', 'summarizer'],
    ]);
    expect(ended.map(({ outputs }) => outputs)).toEqual([
      { answer: 1000, summary: 1007, field: 0 },
      { answer: 3008, summary: 3015, field: 2 },
      { answer: 6011, summary: 6018, field: 5 },
    ]);
  });

  it('debate.mjs goes on until the agents agree, for four rounds at most', async () => {
    const ended = await answers('debate', 'question', [90, 20, 0, -100]);
    expect(ended.map(({ outputs }) => outputs.rounds)).toEqual([1, 2, 4, 4]);
    expect(ended.map(({ outputs }) => outputs.answer)).toEqual([276, 204, 240, -7860]);
    expect(ended[3]?.after).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  });
});
