import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventMetadata, GrantEvent, GrantTerms } from '@countersign/contracts';
import { createSilentLog } from '@countersign/runtime/testing';
import { opened, recordPending, tight } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minute } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';
import type { FileReadModel } from './sqlite-read-model.js';
import { verifyReadModel } from './verify.js';

const at = (n: number): number => Date.parse(minute(n));
const path = scratchFolder();
let log: TestLog;
let model: FileReadModel;
let file: string;

/** Records the events of one grant after those that it has. */
function record(grantId: string, tenant: string, ...events: readonly GrantEvent[]): void {
  const stream = `grant-${grantId}`;
  for (const event of events) {
    const position = log.events.length + 1;
    const metadata: EventMetadata = { tenant, callId: null, runId: null, schemaVersion: 1, commandId: `c${position}` };
    const revision = log.events.filter((one) => one.stream === stream).length;
    const recorded = { ...event, eventId: `e${position}`, metadata, stream, revision, position, recordedAt: minute(0) };
    log.events.push(recorded);
  }
  model.apply(log.events);
}

const created = (grantId: string, change: Partial<GrantTerms> = {}): GrantEvent => ({
  type: 'GrantCreated',
  data: {
    ...{ grantId, tenant: 'default', toolName: 'pay', match: { any: true }, runId: null, agentId: null },
    ...{ reason: 'busy', risk: null, maxUses: 1, approvalId: null, createdBy: 'ann', groups: [], isListed: false },
    ...{ via: 'api', assurance: 'medium', createdAt: minute(0), expiresAt: minute(60) },
    ...change,
  },
});
const used = (grantId: string, nth = 1): GrantEvent => ({
  type: 'GrantUsed',
  data: { grantId, callId: `tc_${nth}`, runId: 'r', nth, usedAt: minute(1) },
});
const revoked = (grantId: string): GrantEvent => ({
  type: 'GrantRevoked',
  data: { grantId, revokedBy: 'bob', via: 'api', revokedAt: minute(2) },
});
const ids = (tenant = 'default', atMs = at(5)): string[] =>
  model.grants.live(tenant, 'pay', atMs).map(({ terms }) => terms.grantId);
const listed = (state?: 'active' | 'exhausted' | 'expired' | 'revoked', atMs = at(5)): string[] => {
  const page = model.grants.list('default', { state }, atMs);
  return page.status === 'page' ? page.grants.map(({ terms }) => terms.grantId) : ['invalid'];
};

beforeEach(async () => {
  log = createTestLog();
  file = path('m.db');
  model = await opened(file, log, { bounds: tight });
});
afterEach(() => {
  model.close();
});

describe('the grants of a read model', () => {
  it('are found by tenant and tool as soon as they are recorded, the oldest first', () => {
    record('g1', 'default', created('g1'));
    record('g2', 'default', created('g2'));
    record('g3', 'other', created('g3', { tenant: 'other' }));
    record('g4', 'default', created('g4', { toolName: 'read' }));
    expect(ids()).toEqual(['g1', 'g2']);
    expect(ids('other')).toEqual(['g3']);
    expect(model.grants.liveCount('default', at(5))).toBe(3);
    expect(model.grants.find('other', 'g1')).toBeUndefined();
  });

  it('are not found after they were revoked or have expired', () => {
    record('g1', 'default', created('g1'));
    record('g2', 'default', created('g2', { expiresAt: minute(3) }));
    expect(ids('default', at(1))).toEqual(['g1', 'g2']);
    expect(ids('default', at(3))).toEqual(['g1']);
    record('g1', 'default', revoked('g1'));
    expect(ids('default', at(1))).toEqual(['g2']);
  });

  it('are listed by their state', () => {
    record('g1', 'default', created('g1'), used('g1'));
    record('g2', 'default', created('g2'));
    record('g3', 'default', created('g3'), revoked('g3'));
    record('g4', 'default', created('g4', { expiresAt: minute(3) }));
    expect(listed()).toEqual(['g4', 'g3', 'g2', 'g1']);
    expect(listed('active')).toEqual(['g2']);
    expect(listed('exhausted')).toEqual(['g1']);
    expect(listed('revoked')).toEqual(['g3']);
    expect(listed('expired')).toEqual(['g4']);
  });

  it('name the newest calls only, and count all uses', () => {
    const uses = Array.from({ length: 30 }, (_, index) => used('g1', index + 1));
    record('g1', 'default', created('g1', { maxUses: null }), ...uses);
    const grant = model.grants.find('default', 'g1');
    expect(grant?.uses).toBe(30);
    expect(grant?.callIds).toHaveLength(20);
    expect(grant?.callIds.at(-1)).toBe('tc_30');
  });

  it('are the same after a restart and a rebuild, and as a replay gives them', async () => {
    record('g1', 'default', created('g1'), used('g1'));
    recordPending(log);
    record('g2', 'default', created('g2'));
    const before = [model.grants.find('default', 'g1'), model.grants.find('default', 'g2')];
    await model.rebuild();
    expect(ids()).toEqual(['g1', 'g2']);
    model.close();
    expect(await verifyReadModel({ file, source: log.source, log: createSilentLog() })).toMatchObject({ same: true });
    model = await opened(file, log);
    expect(ids()).toEqual(['g1', 'g2']);
    expect([model.grants.find('default', 'g1'), model.grants.find('default', 'g2')]).toEqual(before);
    record('g2', 'default', revoked('g2'));
    expect(ids()).toEqual(['g1']);
  });
});
