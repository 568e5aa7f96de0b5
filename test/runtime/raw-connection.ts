import { once } from 'node:events';
import { connect } from 'node:net';

/** receivedOn sends bytes on a connection to a port and gives all that comes back until the server ends it. */
export async function receivedOn(port: number, sent: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  socket.on('error', () => {});
  socket.write(sent);
  await once(socket, 'close');
  return text;
}
