import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasPython, installMsMax } from '../../../../test/python-environment.js';
import { cleanUpAfterAll } from '../../../../test/process/harness/cleanup.js';
import { inheritedEnvironment } from '../../../../test/process/harness/environment.js';
import { agentOf, clientRows, clients } from './clients/clients.js';
import { expectPayments } from './clients/payments.js';
import { startPythonClients, type PythonClients } from './clients/python-clients.js';
import type { Launch } from './clients/tried-client.js';
import { gateBefore, installLedger, type LedgerSetup } from './mcp-client.js';

cleanUpAfterAll();

const documentation = readFileSync(join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'mcp.md'), 'utf8');

let setup: LedgerSetup;
let python: PythonClients | undefined;
beforeAll(async () => {
  [setup, python] = await Promise.all([installLedger(), hasPython ? startPythonClients() : undefined]);
}, installMsMax);
afterAll(() => python?.stop());

/** A gate before a server, and what passed between it and its client. */
interface TriedGate extends Launch {
  readonly agentId: string;
  /** What `pay` has written. */
  readonly payments: () => readonly string[];
  /** The version of MCP that the client and the gate agreed on. */
  readonly agreed: () => string;
}

function gateOf(agentId: string, sdk: string, startsAfterMs = 0): TriedGate {
  const file = (name: string): string => join(setup.place.folder, `${agentId}-${name}`);
  writeFileSync(file('payments'), '');
  const server = [process.execPath, join(import.meta.dirname, 'clients', 'paying-server.ts'), sdk, file('payments')];
  const later = startsAfterMs === 0 ? [] : ['sh', '-c', `sleep ${startsAfterMs / 1_000}; exec "$@"`, 'later'];
  const gate = gateBefore([...later, ...server], ['--hold', '1s', '--agent', agentId]);
  const lines = (name: string): readonly string[] => readFileSync(file(name), 'utf8').split('\n').filter(Boolean);
  return {
    agentId,
    command: 'sh',
    args: ['-c', 'in=$0 out=$1; shift; tee "$in" | "$@" | tee "$out"', file('in'), file('out'), ...gate],
    env: { ...inheritedEnvironment(), ...setup.env },
    payments: () => lines('payments'),
    agreed: () => agreedIn(lines('in'), lines('out')),
  };
}

/** From version 2026-07-28 on each request names its version; before it the reply to `initialize` does. */
function agreedIn(requests: readonly string[], replies: readonly string[]): string {
  const called = requests.find((line) => line.includes('"tools/call"')) ?? '';
  const [, named] = /"io.modelcontextprotocol\/protocolVersion":\s*"([^"]+)"/.exec(called) ?? [];
  const [, begun] = /"protocolVersion":"([^"]+)"/.exec(replies.join('\n')) ?? [];
  return named ?? begun ?? 'none';
}

describe.each(['1', '2'] as const)('before a server on version %s of the SDK', (sdk) => {
  const tried = clients
    .filter(({ isPython }) => hasPython || !isPython)
    .map((client) => ({ ...client, agreed: client.agrees[sdk] }));

  it.each(tried)('$name agrees on $agreed, reads every result, and each payment is made once', async (client) => {
    const gate = gateOf(agentOf(client, sdk), sdk, client.startsAfterMs);
    const connected = await client.connect(python)(gate);
    try {
      await expectPayments(connected, setup.ledger, gate);
    } finally {
      await connected.close();
    }
    expect(gate.agreed()).toBe(client.agreed);
  });
});

it('are the clients that docs/mcp.md names', () => {
  const rows = documentation.split('\n').filter((line) => /^\| .* \| `[^`]+` \d/.test(line));
  expect(rows).toEqual(clientRows());
});
