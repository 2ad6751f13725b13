import { beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client as Ledger } from '@countersign/worker-sdk';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { cleanUpAfterAll, onCleanup } from '../../../../test/process/harness/cleanup.js';
import { inheritedEnvironment } from '../../../../test/process/harness/environment.js';
import type { Installation } from '../../../../test/process/harness/standalone.js';
import { approvePending, gateBefore, installLedger, pendingOf, referenceServer, textOf } from './mcp-client.js';

cleanUpAfterAll();

let place: Installation;
let ledger: Ledger;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  ({ place, ledger, env } = await installLedger());
});

/** Connects the client of the SDK's version 2. It ends after the test. */
async function connect([command = '', ...args]: readonly string[], mode: 'legacy' | 'auto'): Promise<Client> {
  const client = new Client({ name: 'spec', version: '1' }, { versionNegotiation: { mode } });
  onCleanup(() => client.close());
  const transport = { command, args, env: { ...inheritedEnvironment(), ...env }, stderr: 'inherit' as const };
  await client.connect(new StdioClientTransport(transport));
  return client;
}

describe('the client of version 2 of the MCP SDK', () => {
  it.each(['legacy', 'auto'] as const)(
    'speaks 2025-11-25 through the gate, reads, and writes after a person has approved: %s',
    async (mode) => {
      const folder = join(place.folder, mode);
      mkdirSync(folder);
      const [old, created] = [join(folder, 'a.txt'), join(folder, 'b.txt')];
      writeFileSync(old, 'hello');
      const client = await connect(gateBefore([...referenceServer('filesystem'), folder]), mode);
      expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25');
      const read = await client.callTool({ name: 'read_text_file', arguments: { path: old } });
      expect(textOf(read)).toBe('hello');

      const written = client.callTool({ name: 'write_file', arguments: { path: created, content: 'new' } });
      await pendingOf(ledger, 'write_file');
      expect(existsSync(created)).toBe(false);
      await approvePending(ledger, 'write_file');
      expect(await written).not.toHaveProperty('isError', true);
      expect(readFileSync(created, 'utf8')).toBe('new');
    },
  );
});
