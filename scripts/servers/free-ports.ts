import { createServer } from 'node:net';

/** freePorts gives ports on which nobody listens. */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    listeners.map(
      (listener) =>
        new Promise<number>((resolve) => {
          listener.listen(0, '127.0.0.1', () => resolve((listener.address() as { port: number }).port));
        }),
    ),
  );
  await Promise.all(listeners.map((listener) => new Promise((closed) => listener.close(closed))));
  return ports;
}
