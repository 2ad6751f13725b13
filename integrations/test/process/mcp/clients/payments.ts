import { expect } from '@jest/globals';
import type { Client as Ledger } from '@countersign/worker-sdk';
import { eventually } from '../../../../../test/process/harness/wait.js';
import type { TriedClient } from './tried-client.js';

/** Decides the only pending approval of an agent. */
async function decide(ledger: Ledger, agentId: string, type: 'approve' | 'deny'): Promise<void> {
  const { approvalId, proposal } = await eventually('an approval', async () => {
    const { approvals } = await ledger.listApprovals({ state: 'pending', agentId });
    return approvals[0];
  });
  await ledger.respond(approvalId, { decision: { type }, proposalDigest: proposal.digest, reason: 'not today' });
}

/** Calls, and calls again with the same arguments as long as the client is told that the call is pending. */
async function payWhenDecided(client: TriedClient, to: string): Promise<string> {
  const text = await client.call('pay', { to });
  return text.startsWith('pending: ') ? payWhenDecided(client, to) : text;
}

/**
 * Lists, calls, is denied, is approved, and calls again after it was told to wait. Expects that the client reads each result, and
 * that each payment is made once.
 */
export async function expectPayments(
  client: TriedClient,
  ledger: Ledger,
  { agentId, payments }: { readonly agentId: string; readonly payments: () => readonly string[] },
): Promise<void> {
  // Most clients have listed no tools yet.
  const [first] = await Promise.all([payWhenDecided(client, 'first'), decide(ledger, agentId, 'approve')]);
  expect([first, payments()]).toEqual(['paid first', ['first']]);
  expect([...(await client.list())].sort()).toEqual(['pay', 'payments']);
  expect(await client.call('payments', {})).toBe('first\n');
  const [denied] = await Promise.all([payWhenDecided(client, 'denied'), decide(ledger, agentId, 'deny')]);
  expect(denied).toMatch(/denied[^]*not today/);
  expect(await client.call('pay', { to: 'later' })).toMatch(/^pending: approval apr_/);
  await decide(ledger, agentId, 'approve');
  expect(await payWhenDecided(client, 'later')).toBe('paid later');
  expect(payments()).toEqual(['first', 'later']);
}
