/**
 * A chatbot that draws a picture only when it is asked to: what it calls depends on what the answers are.
 *
 * Every text is 64 tokens. `moderation` and `intent` take `tokens` and give `scores`, one for each class: whether the text is refused, and
 * whether a picture is asked for. `chat-llm` takes `tokens` and gives `reply`. `image` takes `tokens` and gives `picture`.
 *
 * A text that is refused gets neither output. Both are then in `not_taken`.
 */

export const inputs = [{ name: 'tokens', datatype: 'INT64', shape: [-1, 64] }];
export const outputs = [
  { name: 'reply', datatype: 'INT64', shape: [-1, 64] },
  { name: 'picture', datatype: 'FP32', shape: [-1, 3, 64, 64] },
];

/** @type {import('inferplan/program').Program} */
export default async function chat(request, { call }) {
  const tokens = request.in('tokens');
  // Both are enqueued before either is read, so that they are executed side by side.
  const moderation = call('moderation', { tokens });
  const intent = call('intent', { tokens });

  const [refused = 0, allowed = 0] = (await moderation.read('scores', 'FP32')).data;
  if (refused > allowed) return {};

  const reply = call('chat-llm', { tokens }).out('reply');
  const [talk = 0, draw = 0] = (await intent.read('scores', 'FP32')).data;
  if (talk >= draw) return { reply };

  // What the picture is drawn of goes from one component to the other, and never comes here.
  return { reply, picture: call('image', { tokens: reply }).out('picture') };
}
