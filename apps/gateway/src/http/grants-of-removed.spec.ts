import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView, GrantView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createPeople } from '../people.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createChangingTokens } from '../testing/changing-tokens.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import type { World } from '../testing/world.js';
import type { TokenEntry } from '../tokens.js';

const content = loadPolicy(
  'countersign.policy.yaml',
  `version: 1
rules:
  - { id: refund, match: { tools: [refund] }, then: { require: { anyOf: [ops], risk: low } } }
  - { id: deploy, match: { tools: [deploy] }, then: { require: { risk: high } } }
`,
);
const issuer = new URL('https://id.example.com');
const ofProvider = 'https://id.example.com#1234';
const all: readonly TokenEntry[] = [
  ...tokenEntries,
  { token: 'kim-token', principal: ofProvider, roles: ['approver'], groups: ['ops'] },
];

const tokens = createChangingTokens(all);
/** The tokens file as it stands while `work` runs: changed for one person. */
async function whileChanged<T>(
  principal: string,
  change: (entry: TokenEntry) => TokenEntry | undefined,
  work: () => Promise<T>,
): Promise<T> {
  tokens.replace(all.flatMap((entry) => (entry.principal === principal ? (change(entry) ?? []) : [entry])));
  try {
    return await work();
  } finally {
    tokens.replace(all);
  }
}

let world: World;
let api: Api;
let calls = 0;
beforeAll(async () => {
  const people = createPeople({ tokens: () => tokens, channels: undefined, issuer });
  world = await openWorld({
    policies: createPolicies([content]),
    change: (ports) => ({ ...ports, tokens, commands: { ...ports.commands, people } }),
  });
  api = createApi(world);
});
afterAll(() => world.close());

async function granted(toolName: string, as = 'ann'): Promise<string> {
  const body = { toolName, match: { any: true }, expiresInMs: 3_600_000, reason: 'a busy week' };
  const { status, body: grant } = await api.send<GrantView>('POST', '/v1/grants', { as, body });
  expect(status).toBe(201);
  return grant.grantId;
}
const stateOf = async (toolName: string): Promise<string> =>
  (await api.request({ toolCallId: `call-${String((calls += 1))}`, toolName, arguments: {} })).state;
const removed = (): undefined => undefined;

describe('a grant of a person who was removed from the tokens file', () => {
  it('covers nothing from then on, and covers again when the person is back', async () => {
    const grantId = await granted('refund');
    expect(await stateOf('refund')).toBe('allowed');
    expect(await whileChanged('ann', removed, () => stateOf('refund'))).toBe('awaiting_approval');
    expect(await stateOf('refund')).toBe('allowed');
    await api.send('DELETE', `/v1/grants/${grantId}`, { as: 'bob' });
  });

  it('covers nothing where the person lost the role or the group', async () => {
    const grantId = await granted('refund');
    const noRole = (entry: TokenEntry): TokenEntry => ({ ...entry, roles: ['auditor'] });
    const noGroup = (entry: TokenEntry): TokenEntry => ({ ...entry, groups: [] });
    expect(await whileChanged('ann', noRole, () => stateOf('refund'))).toBe('awaiting_approval');
    expect(await whileChanged('ann', noGroup, () => stateOf('refund'))).toBe('awaiting_approval');
    await api.send('DELETE', `/v1/grants/${grantId}`, { as: 'bob' });
  });

  it('covers nothing where the second person who confirmed it was removed', async () => {
    const grantId = await granted('deploy');
    await api.send<ApprovalView>('POST', `/v1/grants/${grantId}/confirm`, { as: 'bob' });
    expect(await stateOf('deploy')).toBe('allowed');
    expect(await whileChanged('bob', removed, () => stateOf('deploy'))).toBe('awaiting_approval');
    await api.send('DELETE', `/v1/grants/${grantId}`, { as: 'ann' });
  });

  it('covers on for a person of the provider who is away, with the groups of the sign-in', async () => {
    const grantId = await granted('refund', 'kim');
    expect(await whileChanged(ofProvider, removed, () => stateOf('refund'))).toBe('allowed');
    await api.send('DELETE', `/v1/grants/${grantId}`, { as: 'ann' });
  });
});
