import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readable } from '@countersign/event-store/testing';
import { createGrant } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { argumentsDigest } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import { actor, prepareErasing } from './testing/erasing.js';

const { ids, open, request, run, erase, viewOf, filesWith, folder, stores } = prepareErasing();
const approver: Actor = { ...actor, principal: 'ann', roles: new Set(['approver']) };

/** With a policy under which every call of the file needs an approval. */
async function restart(): Promise<void> {
  const policyFile = join(folder(), 'policy.yaml');
  writeFileSync(policyFile, 'version: 1\nrequireApprovalTools: [pay]\n');
  await stores().close();
  await open({ COUNTERSIGN_POLICY: policyFile });
}

const plain = { arguments: { amount: 5 } };

/** A grant that a person makes by hand for exactly these arguments. Returns its id. */
async function grantByHand(): Promise<string> {
  await restart();
  const digest = argumentsDigest('pay', plain.arguments);
  const body = { toolName: 'pay', match: { digest }, expiresInMs: 3_600_000, reason: 'each night' };
  const result = await createGrant(stores().commands, approver, body, ids.uuid());
  if (result.status === 'refused') throw new Error(result.refusal.detail);
  return result.value.terms.grantId;
}

it('keeps the salt of an exact grant that was made by hand encrypted in every file', async () => {
  await grantByHand();
  stores().readModel.flush();
  const events = readable(await stores().store.readAll(0, 100));
  const created = events.find(({ type }) => type === 'GrantCreated')?.data as JsonObject;
  const { salt } = created['match'] as { readonly salt: string };
  expect(salt).toMatch(/^[0-9a-f]{32}$/);
  expect(filesWith(salt)).toEqual([]);
  await restart();
  await request('a', plain);
  expect(viewOf('a').verdict.outcome).toBe('allow');
});

it('is erased with a subject of its own, and covers nothing afterwards', async () => {
  const grantId = await grantByHand();
  await request('a', plain);
  await run('a');
  expect(viewOf('a').verdict.outcome).toBe('allow');
  expect(await erase({ subject: `grant:${grantId}` })).toMatchObject({ status: 'erased', calls: 0, values: 0 });
  expect(viewOf('a').arguments).toEqual(plain.arguments);
  await request('b', plain);
  expect(viewOf('b').state).toBe('awaiting_approval');
});
