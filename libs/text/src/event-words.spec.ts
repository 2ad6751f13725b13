import { eventWordsOf } from './event-words.js';

const say = (type: string, data: object) => eventWordsOf({ type, data }, {}, String);
const entry = (principal: string, ...roles: readonly string[]) => ({
  credential: `token:${principal}`,
  principal,
  roles,
});

describe('the words of the log of record', () => {
  it('name whom a change of the tokens concerns, and how many more', () => {
    const many = Array.from({ length: 7 }, (_, n) => entry(`a${String(n)}`, 'agent'));
    const data = { configures: 'tokens', added: [entry('carol', 'approver', 'admin')], changed: [], removed: many };
    const words = say('ConfigurationChanged', data);
    expect(words).toContain(
      'the operator changed the tokens: added carol (approver, admin; token:carol); removed a0 (agent;',
    );
    expect(words).toMatch(/a4 \(agent; token:a4\), 2 more$/);
  });

  it('name the digest of another part, what there is now, and who put a policy in force', () => {
    const data = { configures: 'channels', digest: 'sha256:00', added: [], changed: [], removed: [], summary: ['ops'] };
    expect(say('ConfigurationChanged', data)).toBe('the operator changed the channels (sha256:00): ops');
    expect(say('PolicyActivated', { activatedBy: 'kim', policyVersion: 'sha256:11' })).toBe(
      'kim put the policy sha256:11 in force',
    );
  });

  it('name what was read, in which form and range', () => {
    const reads = [
      { what: 'export', values: 'clear', after: 0, limit: 10_000 },
      { what: 'call', values: 'clear', callId: 'tc_1' },
    ];
    expect(say('AuditRead', { principal: 'audrey', count: 2, reads })).toBe(
      'audrey read the log as auditor (2): export clear after 0 up to 10000; call clear of tc_1',
    );
  });
});
