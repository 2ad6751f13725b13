import { beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client as Ledger } from '@countersign/worker-sdk';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { cleanUpAfterAll } from '../../../../test/process/harness/cleanup.js';
import type { Installation } from '../../../../test/process/harness/standalone.js';
import { eventually } from '../../../../test/process/harness/wait.js';
import {
  approvePending,
  connectClient,
  gateBefore,
  installLedger,
  pendingOf,
  referenceServer,
  textOf,
} from './mcp-client.js';

cleanUpAfterAll();

let place: Installation;
let ledger: Ledger;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  ({ place, ledger, env } = await installLedger());
});

/**
 * Returns the list of the messages that a client reads from now on. Its `onprogress` is not enough: the SDK drops a progress message
 * that it reads in one chunk with the result (modelcontextprotocol/typescript-sdk, issue 2580).
 */
function readBy({ transport }: Client): JSONRPCMessage[] {
  const read: JSONRPCMessage[] = [];
  const pass = transport?.onmessage;
  if (transport === undefined || pass === undefined) throw new Error('the client is not connected');
  transport.onmessage = (message, extra) => {
    read.push(message);
    pass(message, extra);
  };
  return read;
}

describe('the filesystem server behind the gate', () => {
  it('reads at once, and writes after a person has approved the held request', async () => {
    const folder = join(place.folder, 'files');
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.txt'), 'hello');
    const server = [...referenceServer('filesystem'), folder];
    const [gated, direct] = [await connectClient(gateBefore(server), env), await connectClient(server)];
    const read = { name: 'read_text_file', arguments: { path: join(folder, 'a.txt') } };
    expect(await gated.client.callTool(read)).toEqual(await direct.client.callTool(read));
    expect(await gated.client.listTools()).toEqual(await direct.client.listTools());

    const file = join(folder, 'b.txt');
    const written = gated.client.callTool({ name: 'write_file', arguments: { path: file, content: 'new' } });
    const { arguments: asked } = await pendingOf(ledger, 'write_file');
    expect([asked, existsSync(file)]).toEqual([{ path: file, content: 'new' }, false]);
    await approvePending(ledger, 'write_file');
    expect(await written).toMatchObject({ content: [{ type: 'text' }] });
    expect(readFileSync(file, 'utf8')).toBe('new');
  });
});

describe('a gate with ungated tools', () => {
  it('passes their calls on without the ledger, and lets no other tool run without it', async () => {
    const folder = join(place.folder, 'ungated');
    mkdirSync(folder);
    const gate = gateBefore(
      [...referenceServer('filesystem'), folder],
      ['--ungated', 'write_*', '--ungated-read-only'],
    );
    const noLedger = { COUNTERSIGN_URL: 'http://127.0.0.1:1', COUNTERSIGN_TOKEN: 'a', COUNTERSIGN_RESOLVER_TOKEN: 'r' };
    const { client } = await connectClient(gate, noLedger);
    const path = join(folder, 'a.txt');
    await client.callTool({ name: 'write_file', arguments: { path, content: 'hello' } });
    expect(textOf(await client.callTool({ name: 'read_text_file', arguments: { path } }))).toBe('hello');
    const created = join(folder, 'new');
    const refused = await client.callTool({ name: 'create_directory', arguments: { path: created } });
    expect([textOf(refused), existsSync(created)]).toEqual([expect.stringContaining('did not run'), false]);
  });
});

describe('the memory server behind the gate', () => {
  it('says that a call is pending, and gives its result when the client calls again', async () => {
    const server = referenceServer('memory');
    const gate = gateBefore(server, ['--hold', '0s']);
    const { client } = await connectClient(gate, { ...env, MEMORY_FILE_PATH: join(place.folder, 'memory.json') });
    const create = {
      name: 'create_entities',
      arguments: { entities: [{ name: 'Ada', entityType: 'person', observations: ['counts'] }] },
    };
    expect(textOf(await client.callTool(create))).toMatch(/^pending: approval apr_/);
    await approvePending(ledger, 'create_entities');
    expect(await client.callTool(create)).toMatchObject({ structuredContent: { entities: [{ name: 'Ada' }] } });
    const graph = await client.callTool({ name: 'read_graph', arguments: {} });
    expect(graph).toMatchObject({ structuredContent: { entities: [{ name: 'Ada' }] } });
  });
});

describe('the everything server behind the gate', () => {
  it('keeps prompts, resources, progress and the elicitations of the server', async () => {
    const server = referenceServer('everything');
    const capabilities = { elicitation: { form: {} } };
    const { client } = await connectClient(gateBefore(server), env, capabilities);
    const direct = await connectClient(server, {}, capabilities);
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
    expect(client.getServerCapabilities()).toEqual(direct.client.getServerCapabilities());
    expect(await client.listPrompts()).toEqual(await direct.client.listPrompts());
    expect(await client.listResources()).toEqual(await direct.client.listResources());
    const read = readBy(client);
    const long = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 2 } };
    await client.callTool(long, undefined, { onprogress: () => undefined });
    expect(read).toMatchObject([{ params: { progress: 1 } }, { params: { progress: 2 } }, { result: {} }]);
    const elicited = client.callTool({ name: 'trigger-elicitation-request', arguments: {} });
    await approvePending(ledger, 'trigger-elicitation-request');
    expect(textOf(await elicited)).toMatch(/declined/);
  });
});

describe('a gate that is killed', () => {
  it('never runs the tool a second time: the outcome is unknown', async () => {
    const file = join(place.folder, 'paid.txt');
    const server = [process.execPath, join(import.meta.dirname, 'counting-server.mjs'), file, 'hang'];
    const options = ['--gate', 'none', '--run-id', 'killed', '--lease', '2s'];
    const pay = { name: 'pay', arguments: { euros: 5 } };
    const killed = await connectClient(gateBefore(server, options), env);
    const lost = killed.client.callTool(pay).catch(String);
    await eventually('the payment', () => existsSync(file) || undefined);
    process.kill(killed.pid, 'SIGKILL');
    expect(await lost).toMatch(/closed/i);
    const { client } = await connectClient(gateBefore(server, options), env);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect(await client.callTool(pay)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/not known/) }],
      });
    }
    const { client: changed } = await connectClient(gateBefore([...server, 'changed'], options), env);
    expect(await changed.callTool(pay)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/not known.*Reconcile it/) }],
    });
    expect(readFileSync(file, 'utf8')).toBe('paid 5\n');
  });
});

describe('a server that ends inside a call', () => {
  it('leaves an unknown outcome, and the client hears that the tool may have run', async () => {
    const file = join(place.folder, 'ended.txt');
    const server = [process.execPath, join(import.meta.dirname, 'counting-server.mjs'), file, 'end'];
    const { client } = await connectClient(
      gateBefore(server, ['--gate', 'none', '--run-id', 'ended', '--lease', '2s']),
      env,
    );
    const result = await client.callTool({ name: 'pay', arguments: { euros: 5 } });
    expect(textOf(result)).toMatch(/may or may not have taken effect/);
    await client.close();
    const state = await eventually('the end of the lease', async () => {
      const [call] = (await ledger.getRun('ended')).calls;
      return call?.state === 'executing' ? undefined : call?.state;
    });
    expect([state, readFileSync(file, 'utf8')]).toEqual(['unknown', 'paid 5\n']);
  });
});

describe('a Countersign that is killed while a tool runs', () => {
  it('keeps no result from the client, and gets the report after its start', async () => {
    const file = join(place.folder, 'outlived.txt');
    const server = [process.execPath, join(import.meta.dirname, 'counting-server.mjs'), file, 'slow'];
    const { client } = await connectClient(gateBefore(server, ['--gate', 'none', '--run-id', 'outlived']), env);
    const paid = client.callTool({ name: 'pay', arguments: { euros: 7 } });
    await eventually('the payment', () => existsSync(file) || undefined);
    await place.server().stop('SIGKILL');
    expect(textOf(await paid)).toBe('paid 7');
    await place.restart();
    const state = await eventually('the report', async () => {
      const [call] = (await ledger.getRun('outlived')).calls;
      return call?.state === 'executing' ? undefined : call?.state;
    });
    expect([state, readFileSync(file, 'utf8')]).toEqual(['succeeded', 'paid 7\n']);
  });
});
