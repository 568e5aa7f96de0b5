import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  type Datatype,
  ProgramHost,
  type ProgramTensor,
  type TensorMetadata,
} from '../../src/programs/index.js';
import { inWholeRun } from '../cases.js';
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
  return Number((tensors[name]!.data as BigInt64Array)[0]);
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

/** picture has the same number everywhere. */
function picture(grey: number, ...sizes: number[]) {
  const data = new Float32Array(sizes.reduce((product, size) => product * size, 1)).fill(grey);
  return { datatype: 'FP32', shape: [1, ...sizes], data } as const;
}

function greyOf(tensors: TestTensors, name: string): number {
  return (tensors[name]!.data as Float32Array)[0]!;
}

/**
 * The components of photos: the classifier scores a photo by its grey, and is sure from 10.1 on. What is enlarged is 2
 * lighter. Photos below 5 are scenes.
 */
const PHOTOS: Readonly<Record<string, TestComponent>> = {
  classifier: {
    inputs: [metadata('input', 'FP32', 3, 224, 224)],
    outputs: [metadata('output', 'FP32', 1000)],
    compute: (given) => ({ output: scores(greyOf(given, 'input'), ...new Array(999).fill(0)) }),
  },
  prepare: {
    inputs: [metadata('photo', 'FP32', 3, 224, 224)],
    outputs: [
      metadata('luma', 'FP32', 1, 224, 224),
      metadata('thumbnail', 'FP32', 3, 32, 32),
      metadata('padded', 'FP32', 3, 416, 416),
    ],
    compute: (given) => {
      const grey = greyOf(given, 'photo');
      return {
        luma: picture(grey, 1, 224, 224),
        thumbnail: picture(grey, 3, 32, 32),
        padded: picture(grey, 3, 416, 416),
      };
    },
  },
  kind: {
    inputs: [metadata('input.1', 'FP32', 3, 32, 32)],
    outputs: [metadata('876', 'FP32', 10)],
    compute: (given) => ({
      876: scores(
        ...Array.from({ length: 10 }, (_, i) => (i === (greyOf(given, 'input.1') < 5 ? 2 : 7) ? 1 : 0)),
      ),
    }),
  },
  finder: {
    inputs: [metadata('images', 'FP32', 3, 416, 416)],
    outputs: [metadata('output', 'FP32', 3549, 85)],
    compute: (given) => ({ output: picture(greyOf(given, 'images'), 3549, 85) }),
  },
  namer: {
    inputs: [metadata('image', 'FP32', 3, 224, 224)],
    outputs: [metadata('logits', 'FP32', 1000)],
    compute: (given) => ({ logits: scores(...new Array(1000).fill(greyOf(given, 'image'))) }),
  },
  enlarge: {
    inputs: [metadata('input', 'FP32', 1, 224, 224)],
    outputs: [metadata('output', 'FP32', 1, 672, 672)],
    compute: (given) => ({ output: picture(greyOf(given, 'input') + 2, 1, 672, 672) }),
  },
  again: {
    inputs: [metadata('enlarged', 'FP32', 1, 672, 672)],
    outputs: [metadata('luma', 'FP32', 1, 224, 224), metadata('photo', 'FP32', 3, 224, 224)],
    compute: (given) => {
      const grey = greyOf(given, 'enlarged');
      return { luma: picture(grey, 1, 224, 224), photo: picture(grey, 3, 224, 224) };
    },
  },
};

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
  ...PHOTOS,
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

/** answers runs an example for inputs of one number each, texts by default, and directly, which gives the same. */
async function answers(
  example: string,
  input: string,
  {
    of,
    filled = text,
  }: { readonly of: readonly number[]; readonly filled?: (number: number) => ProgramTensor },
) {
  const path = fileURLToPath(new URL(`../../examples/workflows/programs/${example}.mjs`, import.meta.url));
  const driver = new FakeDriver(COMPONENTS);
  const host = await ProgramHost.start(path, { components: COMPONENTS, seed: 1, driver });
  driver.host = host;
  try {
    const ended = await Promise.all(of.map((number, run) => driver.run(run, { [input]: filled(number) })));
    const module = await import(path);
    for (const [run, number] of of.entries()) {
      const request = { [input]: filled(number) };
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
    expect(await answers('chat', 'tokens', { of: [13, 5, 6] })).toEqual([
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
    const ended = await answers('experts', 'tokens', { of: [0, 8, 11] });
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
    const ended = await answers('debate', 'question', { of: [90, 20, 0, -100] });
    expect(ended.map(({ outputs }) => outputs.rounds)).toEqual([1, 2, 4, 4]);
    expect(ended.map(({ outputs }) => outputs.answer)).toEqual([276, 204, 240, -7860]);
    expect(ended[3]?.after).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  });

  inWholeRun(
    'photos.mjs enlarges a photo until the classifier is sure, for three rounds at most, and asks one expert',
    async () => {
      const ended = await answers('photos', 'photo', {
        of: [11, 9, 4],
        filled: (grey) => picture(grey, 3, 224, 224),
      });
      const begun = ['classifier', 'prepare', 'kind', 'enlarge'];
      const round = ['again', 'classifier'];
      expect(ended.map(({ called }) => called)).toEqual([
        ['classifier'],
        [...begun, 'namer', ...round],
        [...begun, 'finder', ...round, 'enlarge', ...round, 'enlarge', ...round],
      ]);
      expect(ended.map(({ outputs }) => outputs)).toEqual([
        { scores: 11, rounds: 0 },
        { scores: 11, rounds: 1, opinion: 9, enlarged: 11 },
        { scores: 10, rounds: 3, found: 4, enlarged: 10 },
      ]);
      expect(ended.map(({ notTaken }) => notTaken)).toEqual([
        ['found', 'opinion', 'enlarged'],
        ['found'],
        ['opinion'],
      ]);
    },
  );
});
