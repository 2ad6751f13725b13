import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Client as Ledger } from '@countersign/worker-sdk';
import { cleanUpAfterAll } from '../../../../test/process/harness/cleanup.js';
import { inheritedEnvironment } from '../../../../test/process/harness/environment.js';
import type { Installation } from '../../../../test/process/harness/standalone.js';
import { eventually } from '../../../../test/process/harness/wait.js';
import { clientRows, clients } from './clients/clients.js';
import { startPythonClients, type PythonClients } from './clients/python-clients.js';
import type { Launch, TriedClient } from './clients/tried-client.js';
import { gateBefore, installLedger } from './mcp-client.js';

jest.setTimeout(60_000);
cleanUpAfterAll();

const documentation = readFileSync(join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'mcp.md'), 'utf8');

let place: Installation;
let ledger: Ledger;
let env: Readonly<Record<string, string>>;
let python: PythonClients;
beforeAll(async () => {
  [{ place, ledger, env }, python] = await Promise.all([installLedger(), startPythonClients()]);
}, 180_000);
afterAll(() => python.stop());

/** A gate before a server, and what passed between it and its client. */
interface TriedGate extends Launch {
  /** What `pay` has written. */
  readonly payments: () => readonly string[];
  /** The version of MCP that the client and the gate agreed on. */
  readonly agreed: () => string;
}

function gateOf(agentId: string, sdk: string): TriedGate {
  const file = (name: string): string => join(place.folder, `${agentId}-${name}`);
  writeFileSync(file('payments'), '');
  const server = [process.execPath, join(import.meta.dirname, 'clients', 'paying-server.ts'), sdk, file('payments')];
  const gate = gateBefore(server, ['--hold', '1s', '--agent', agentId]);
  const lines = (name: string): readonly string[] => readFileSync(file(name), 'utf8').split('\n').filter(Boolean);
  return {
    command: 'sh',
    args: ['-c', 'in=$0 out=$1; shift; tee "$in" | "$@" | tee "$out"', file('in'), file('out'), ...gate],
    env: { ...inheritedEnvironment(), ...env },
    payments: () => lines('payments'),
    agreed: () => agreedIn(lines('in'), lines('out')),
  };
}

/** From version 2026-07-28 on each request names its version; before it the reply to `initialize` does. */
function agreedIn(requests: readonly string[], replies: readonly string[]): string {
  const called = requests.find((line) => line.includes('"tools/call"')) ?? '';
  const [, named] = /"io.modelcontextprotocol\/protocolVersion":\s*"([^"]+)"/.exec(called) ?? [];
  const [, begun] = /"protocolVersion":"([^"]+)"/.exec(replies.join('\n')) ?? [];
  return named ?? begun ?? 'refused';
}

/** Decides the only pending approval of an agent. */
async function decide(agentId: string, type: 'approve' | 'deny'): Promise<void> {
  const approval = await eventually('an approval', 20_000, async () => {
    const { approvals } = await ledger.listApprovals({ state: 'pending', agentId });
    return approvals[0];
  });
  const { approvalId, proposal } = approval;
  await ledger.respond(approvalId, { decision: { type }, proposalDigest: proposal.digest, reason: 'not today' });
}

/** Calls, and calls again with the same arguments as long as the client is told that the call is pending. */
async function callUntilDecided(client: TriedClient, to: string): Promise<string> {
  const text = await client.call('pay', { to });
  return text.startsWith('pending: ') ? callUntilDecided(client, to) : text;
}

/** Lists, calls, is denied, is approved, and calls again after it was told to wait. */
async function payThrough(client: TriedClient, agentId: string): Promise<Readonly<Record<string, unknown>>> {
  // Most clients have listed no tools yet.
  const [first] = await Promise.all([callUntilDecided(client, 'first'), decide(agentId, 'approve')]);
  const tools = [...(await client.list())].sort();
  const read = await client.call('payments', {});
  const [denied] = await Promise.all([callUntilDecided(client, 'denied'), decide(agentId, 'deny')]);
  const pending = await client.call('pay', { to: 'later' });
  await decide(agentId, 'approve');
  return { first, tools, read, denied, pending, later: await callUntilDecided(client, 'later') };
}

describe.each(['1', '2'] as const)('before a server on version %s of the SDK', (sdk) => {
  const agentOf = (name: string): string => `${name} ${sdk}`.replaceAll(/[^\w]+/g, '-');

  it.each(clients.filter(({ agrees }) => agrees[sdk] !== 'refused'))(
    '$name reads every result, and each payment that it asks for is made at most once',
    async ({ connect, name, agrees }) => {
      const gate = gateOf(agentOf(name), sdk);
      const client = await connect(() => python)(gate);
      const seen = await payThrough(client, agentOf(name)).finally(() => client.close());
      expect({ ...seen, payments: gate.payments(), agreed: gate.agreed() }).toEqual({
        first: 'paid first',
        tools: ['pay', 'payments'],
        read: 'first\n',
        denied: expect.stringMatching(/denied[^]*not today/),
        pending: expect.stringMatching(/^pending: approval apr_/),
        later: 'paid later',
        payments: ['first', 'later'],
        agreed: agrees[sdk],
      });
    },
  );

  it.each(clients.filter(({ agrees }) => agrees[sdk] === 'refused'))(
    '$name does not connect, and no tool runs',
    async ({ connect, name }) => {
      const gate = gateOf(agentOf(name), sdk);
      await expect(connect(() => python)(gate)).rejects.toThrow(/version/i);
      expect(gate.payments()).toEqual([]);
    },
  );
});

it('are the clients that docs/mcp.md names', () => {
  const rows = documentation.split('\n').filter((line) => /^\| .* \| `[^`]+` \d/.test(line));
  expect(rows).toEqual(clientRows());
});
