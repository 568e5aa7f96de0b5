/**
 * Agents debate a question until they agree, or for `MOST_ROUNDS` rounds: a loop whose end depends on what was said.
 *
 * Every text is 64 tokens. `agent-a`, `agent-b` and `agent-c` each take the `question` and the `summary` of the round before, in the first round the question again,
 * and give an `opinion`. `judge` takes the `question` and the opinions `a`, `b` and `c`, and gives a `summary` and the `agreement`, a
 * number from 0 to 1.
 */

const MOST_ROUNDS = 4;
const ENOUGH = 0.75;

export const inputs = [{ name: 'question', datatype: 'INT64', shape: [-1, 64] }];
export const outputs = [
  { name: 'answer', datatype: 'INT64', shape: [-1, 64] },
  { name: 'rounds', datatype: 'INT32', shape: [-1, 1] },
];

/** @type {import('inferplan/program').Program} */
export default async function debate(request, { call }) {
  const question = request.in('question');
  let summary = question;
  for (let round = 1; ; round++) {
    const heard = { question, summary };
    const a = call('agent-a', heard).out('opinion');
    const b = call('agent-b', heard).out('opinion');
    const c = call('agent-c', heard).out('opinion');
    const judge = call('judge', { question, a, b, c });
    summary = judge.out('summary');
    // The judge's summary stays where it was made. Only one number comes here, and none in the last round.
    const isLast = round === MOST_ROUNDS;
    const [agreement = 0] = isLast ? [] : (await judge.read('agreement', 'FP32')).data;
    if (isLast || agreement >= ENOUGH)
      return { answer: summary, rounds: { datatype: 'INT32', shape: [1, 1], data: Int32Array.of(round) } };
  }
}
