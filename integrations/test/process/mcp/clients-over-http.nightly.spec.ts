import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { freePort } from '../../../../test/ports.js';
import { installMsMax } from '../../../../test/python-environment.js';
import { cliCommand } from '../../../../test/process/cli/run-cli.js';
import { cleanUpAfterAll } from '../../../../test/process/harness/cleanup.js';
import { inheritedEnvironment } from '../../../../test/process/harness/environment.js';
import { agentOf, clients } from './clients/clients.js';
import { expectPayments } from './clients/payments.js';
import { startPythonClients, type PythonClients } from './clients/python-clients.js';
import type { Place } from './clients/tried-client.js';
import { installLedger, startListening, type LedgerSetup } from './mcp-client.js';

cleanUpAfterAll();

let setup: LedgerSetup;
let python: PythonClients;
beforeAll(async () => {
  [setup, python] = await Promise.all([installLedger(), startPythonClients()]);
}, installMsMax);
afterAll(() => python.stop());

const server = join(import.meta.dirname, 'clients', 'paying-server.ts');

/** A gate that the client starts, before a server over HTTP. */
async function beforeHttp(options: readonly string[], file: string): Promise<Place> {
  const port = await freePort();
  await startListening([process.execPath, server, '2', file, String(port)], {}, port);
  const [command = '', ...args] = cliCommand(['mcp', ...options, '--server', `http://127.0.0.1:${port}/mcp`]);
  return { command, args, env: { ...inheritedEnvironment(), ...setup.env } };
}

/** A gate that listens for the client. */
async function listening(options: readonly string[], sdk: string, file: string): Promise<Place> {
  const port = await freePort();
  const gate = ['mcp', ...options, '--listen', String(port), '--', process.execPath, server, sdk, file];
  await startListening(cliCommand(gate), setup.env, port);
  return { url: `http://127.0.0.1:${port}/mcp` };
}

type Open = (options: readonly string[], file: string) => Promise<Place>;

const ways: Readonly<Record<string, Open>> = {
  'over stdio before a server over HTTP': beforeHttp,
  'over HTTP before a server on version 1': (options, file) => listening(options, '1', file),
  'over HTTP before a server on version 2': (options, file) => listening(options, '2', file),
};

describe.each(Object.entries(ways))('%s', (way, open) => {
  it.each(clients)('$name reads every result, and each payment is made once', async (client) => {
    const agentId = agentOf(client, way);
    const file = join(setup.place.folder, agentId);
    writeFileSync(file, '');
    const connected = await client.connect(python)(await open(['--hold', '1s', '--agent', agentId], file));
    const payments = (): readonly string[] => readFileSync(file, 'utf8').split('\n').filter(Boolean);
    try {
      await expectPayments(connected, setup.ledger, { agentId, payments });
    } finally {
      await connected.close();
    }
  });
});
