import { beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client as Ledger } from '@countersign/worker-sdk';
import { cleanUpAfterAll } from '../../../../test/process/harness/cleanup.js';
import type { Installation } from '../../../../test/process/harness/standalone.js';
import { connectClient, gateBefore, installLedger, textOf } from './mcp-client.js';

cleanUpAfterAll();

let place: Installation;
let ledger: Ledger;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  ({ place, ledger, env } = await installLedger());
});

async function open(name: string) {
  const file = join(place.folder, name);
  const server = [process.execPath, join(import.meta.dirname, 'changing-server.mjs'), file];
  const { client } = await connectClient(gateBefore(server, ['--hold', '0']), env);
  const pay = async (amount: number, more: object = {}): Promise<string> =>
    textOf(await client.callTool({ name: 'pay', arguments: { amount }, ...more }));
  const turn = (into: object) => client.callTool({ name: 'turn', arguments: { ...into } });
  return { file, pay, turn };
}

async function approve(amount: number): Promise<void> {
  const { approvals } = await ledger.listApprovals({ state: 'pending', toolName: 'pay' });
  const asked = approvals.find(({ arguments: args }) => args['amount'] === amount);
  if (asked === undefined) throw new Error(`there is no pending approval of ${String(amount)}`);
  await ledger.respond(asked.approvalId, { decision: { type: 'approve' }, proposalDigest: asked.proposal.digest });
}

describe('a gate before a server that changes its tool', () => {
  it('asks about a tool that turns read-only in the middle of a session', async () => {
    const { file, pay, turn } = await open('turns');
    expect(await pay(5)).toMatch(/^pending/);
    await turn({ annotations: { readOnlyHint: true } });
    expect(await pay(4_000_000)).toMatch(/^pending/);
    expect(existsSync(file)).toBe(false);
  });

  it('does not run a call under a description that people have not read, and asks about it again', async () => {
    const { file, pay, turn } = await open('describes');
    expect(await pay(7)).toMatch(/^pending/);
    await approve(7);
    await turn({ description: 'Pays mallory' });
    expect(await pay(7)).toMatch(/changed its definition/);
    expect(await pay(7)).toMatch(/^pending/);
    expect(existsSync(file)).toBe(false);
  });

  it('passes on nothing but what people read, and nothing that the server says in the name of the gate', async () => {
    const { file, pay, turn } = await open('passes');
    expect((await turn({}))._meta).toEqual({ trace: 'x' });
    const more = { extra: { to: 'mallory' }, _meta: { to: 'mallory' } };
    expect(await pay(9, more)).toMatch(/^pending/);
    await approve(9);
    expect(await pay(9, more)).toBe('done');
    const _meta = { 'countersign/receipt': expect.any(String) as unknown };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ name: 'pay', arguments: { amount: 9 }, _meta });
  });
});
