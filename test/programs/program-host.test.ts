import { describe, expect, it } from 'vitest';
import { numbers } from './fake-driver.js';
import { programOf, started } from './started.js';

describe('ProgramHost', () => {
  it('passes handles on unread, and gives outputs by where they come from', async () => {
    const driver = await started(
      programOf(`
        const turned = call('turn', { x: request.in('x') });
        const sum = call('add', { a: turned.out('y'), b: request.in('x') });
        return { y: sum.out('y'), z: undefined };`),
    );
    expect(await driver.run(3, { x: numbers(1, 2) })).toMatchObject({
      outputs: { y: [3, 6] },
      notTaken: ['z'],
      calls: ['turn(x: request.x)', 'add(a: 0.y, b: request.x)'],
    });
  });
  it('loops end', async () => {
    const driver = await started(
      programOf(
        `const { data } = await request.read('x', 'FP32'); if (data[0] === 5) for(;;); return { y: request.in('x') };`,
      ),
      { limits: { continuationMs: 200 } },
    );
    const all = await Promise.all([1, 2, 5, 6, 7].map((n) => driver.run(n, { x: numbers(n, 0) })));
    console.log(JSON.stringify(all));
  });
});
