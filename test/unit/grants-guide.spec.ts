import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import { createGrant, createWriteSide, findCall, requestToolCalls } from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import { createGrantSchema, deriveCallId } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import type { Grant } from '@countersign/domain';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { createConditions, createPolicies, loadPolicy } from '@countersign/policy';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';

const guide = readFileSync(join(import.meta.dirname, '../../docs/policy.md'), 'utf8');
const section = guide.slice(guide.indexOf('## Standing grants'), guide.indexOf('## All other keys'));
const block = (language: string): string =>
  new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(section)?.[1] ?? `no ${language}`;
const rows = [...section.matchAll(/^\| `([\w-]+)` \| `(\{.*\})` \| (\w+) \| (.*) \|$/gm)].map(
  ([, agentId = '', args = '', outcome = '', why = '']) => ({ agentId, args, outcome, why }),
);

const actor = (principal: string, role: 'agent' | 'approver'): Actor => ({
  ...{ tenant: 'default', principal, roles: new Set([role] as const), groups: [], agentIds: ['*'] },
  ...{ via: 'api', assurance: 'medium' },
});

describe('the guide to standing grants', () => {
  const grants: Grant[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'countersign-grants-'));
  let ports: CommandPorts;
  let close = (): Promise<void> => Promise.resolve();
  afterAll(async () => {
    await close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeAll(async () => {
    const world = { clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
    const store = await openEmbeddedEventStore({ folder, ...world });
    close = store.close;
    const policies = createPolicies([loadPolicy('docs/policy.md', block('yaml'), celEngine)]);
    const index = { live: () => grants, liveCount: () => grants.length };
    const conditions = () => Promise.resolve(createConditions(celEngine));
    ports = createWriteSide({
      store,
      policies,
      grants: { index, conditions },
      tools: { find: () => undefined },
      ...world,
    });
    const body = createGrantSchema.parse(JSON.parse(block('json')));
    const created = await createGrant(ports, actor('alice', 'approver'), body, 'create');
    if (created.status === 'refused') throw new Error(created.refusal.detail);
    grants.push(created.value);
  });

  it('has a table of calls', () => {
    expect(rows.length).toBeGreaterThanOrEqual(6);
    expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(['allow', 'require', 'block']));
  });

  it.each(rows)('says of $agentId $args: $outcome, because $why', async ({ agentId, args, outcome }) => {
    const call = { toolCallId: args, toolName: 'refund_order', arguments: JSON.parse(args) as JsonObject };
    const body = { runId: agentId, agentId, calls: [call] };
    await requestToolCalls(ports, actor('worker', 'agent'), body, `request ${agentId} ${args}`);
    const recorded = await findCall(ports, 'default', deriveCallId('default', agentId, args));
    expect(recorded?.verdict?.outcome).toBe(outcome);
    expect(recorded?.verdict?.grantId).toBe(outcome === 'allow' ? grants[0]?.terms.grantId : undefined);
  });
});
