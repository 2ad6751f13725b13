import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The message of an approval that waits, for the events topic. */
interface Message {
  readonly key: string;
  readonly value: string;
  readonly headers: Record<string, string>;
}

/**
 * Runs a consumer of the guide with these variables, and returns when it has told about an approval that waits.
 * @param publish sends the event to the topic. An API of the test says that the approval waits.
 */
export async function untilTold(
  program: string,
  env: Readonly<Record<string, string>>,
  publish: (message: Message) => Promise<unknown>,
): Promise<void> {
  const asked = { approvalId: 'apr_1', state: 'pending', toolName: 'pay', arguments: {} };
  const ledger = createServer((_, response) => void response.end(JSON.stringify(asked)));
  ledger.listen(0, '127.0.0.1');
  await once(ledger, 'listening');
  const url = `http://127.0.0.1:${String((ledger.address() as AddressInfo).port)}`;
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env['PATH'], COUNTERSIGN_URL: url, FROM_BEGINNING: 'yes', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  try {
    const value = JSON.stringify({ type: 'ApprovalRequested', data: { approvalId: 'apr_1' } });
    const headers = { ce_id: program, ce_type: 'ApprovalRequested', ce_sequence: '1' };
    await publish({ key: 'k', value, headers });
    let told = '';
    for await (const [chunk] of on(child.stdout, 'data', { signal: AbortSignal.timeout(60_000) })) {
      told += String(chunk);
      if (told.includes('"waits":"apr_1"')) return;
    }
  } finally {
    child.kill('SIGTERM');
    await closed;
    ledger.close();
  }
}
