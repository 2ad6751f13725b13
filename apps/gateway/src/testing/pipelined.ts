import { connect } from 'node:net';

/** Sends the same text many times over one connection without waiting. It has one request, or `each`. Returns the statuses. */
export async function sendPipelined(url: string, request: string, count: number, each = 1): Promise<readonly number[]> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const statuses: number[] = [];
  let rest = '';
  try {
    socket.write(request.repeat(count));
    for await (const chunk of socket) {
      const text = rest + String(chunk);
      const lines = text.split('\r\n');
      // A status line may be cut in two.
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [, status] = /HTTP\/1\.1 (\d{3}) /.exec(line) ?? [];
        if (status !== undefined) statuses.push(Number(status));
      }
      if (statuses.length >= count * each) break;
    }
  } finally {
    socket.destroy();
  }
  return statuses;
}
