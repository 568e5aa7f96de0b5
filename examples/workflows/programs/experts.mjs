/**
 * A question goes to the expert of its field, of which there are many, and each is asked seldom.
 *
 * Every text is 64 tokens. `router` takes `tokens` and gives `scores`, one for each expert in the order of `EXPERTS`. Each expert takes
 * `tokens` and gives `answer`. `summarizer` takes an answer as `tokens` and gives `summary`.
 *
 * The output `field` is made here: the place of the expert in `EXPERTS`.
 */

const EXPERTS = ['math', 'code', 'law', 'medicine', 'history', 'physics'];

export const inputs = [{ name: 'tokens', datatype: 'INT64', shape: [-1, 64] }];
export const outputs = [
  { name: 'answer', datatype: 'INT64', shape: [-1, 64] },
  { name: 'summary', datatype: 'INT64', shape: [-1, 64] },
  { name: 'field', datatype: 'INT32', shape: [-1, 1] },
];

/** @type {import('inferplan/program').Program} */
export default async function experts(request, { call }) {
  const tokens = request.in('tokens');
  const { data: scores } = await call('router', { tokens }).read('scores', 'FP32');
  const field = scores.indexOf(Math.max(...scores));
  const expert = EXPERTS[field];
  if (expert === undefined)
    throw new Error(`the router scores ${scores.length} fields, of ${EXPERTS.length}`);

  const answer = call(expert, { tokens }).out('answer');
  const summary = call('summarizer', { tokens: answer }).out('summary');
  return { answer, summary, field: { datatype: 'INT32', shape: [1, 1], data: Int32Array.of(field) } };
}
