import { describe, expect, it } from '@jest/globals';
import { PolicyFileError } from './load-document.js';
import { loadPolicy } from './load-policy.js';
import { createPolicy } from './policy.js';

function problemsOf(approvers: string, people: readonly { id: string; slack?: string; email?: string }[] = []): string {
  try {
    const known = { groupsOf: () => null, channelPeople: () => people };
    loadPolicy('p.yaml', `version: 1\napprovers:\n${approvers}\n`, null, known);
  } catch (error) {
    if (error instanceof PolicyFileError) return error.message;
    throw error;
  }
  return '';
}

const ann = '  - { id: ann, groups: [a], identities: { slack: "T1:U1", telegram: "4711", email: "ann@example.com" } }';
const week = 'from: 2026-12-01T00:00:00Z, until: 2026-12-08T00:00:00+01:00';

describe('the approvers of a policy file', () => {
  it.each([
    ['  - { id: ann, groups: [a], rights: all }', 'p.yaml:3: approvers.0.rights: is not a key of this file'],
    [`${ann}\n  - { id: ann, groups: [b] }`, 'p.yaml:4: approvers.1.id: "ann" is listed twice'],
    [`${ann}\n  - { id: Ann, groups: [b] }`, 'p.yaml:4: approvers.1.id: "Ann" is listed twice'],
    ['  - { id: a, groups: [a], identities: { fax: "1" } }', 'approvers.0.identities.fax: is not a key'],
    ['  - { id: a, groups: [a], identities: { slack: bob } }', 'approvers.0.identities.slack: must be workspace and'],
    [
      '  - { id: a, groups: [a], identities: { telegram: bob } }',
      'approvers.0.identities.telegram: must be the numeric',
    ],
    [
      `${ann}\n  - { id: bob, groups: [a], identities: { email: "ANN@example.com" } }`,
      'p.yaml:4: approvers.1.identities.email: is that of "ann" too',
    ],
    [
      `  - { id: a, groups: [a], delegates: [{ to: b, ${week} }] }`,
      'p.yaml:3: approvers.0.delegates.0.to: there is no approver "b" in this file',
    ],
    [
      `  - { id: a, groups: [a], delegates: [{ to: a, ${week} }] }`,
      'approvers.0.delegates.0.to: must be another person',
    ],
    [
      `${ann}\n  - { id: b, groups: [a], delegates: [{ to: ann, from: 2026-12-08T00:00:00Z, until: 2026-12-01T00:00:00Z }] }`,
      'p.yaml:4: approvers.1.delegates.0.until: must be after `from`',
    ],
    [
      `${ann}\n  - { id: b, groups: [a], delegates: [{ to: ann, from: 2026-12-08, until: 2026-12-01T00:00:00Z }] }`,
      'approvers.1.delegates.0.from: must be an RFC 3339 time',
    ],
    [`${ann}\n  - { id: b, groups: [a], delegates: [{ to: ann, from: 2026-12-08T00:00:00Z }] }`, 'delegates.0.until'],
  ])('are refused with line and path: %s', (approvers, problem) => {
    expect(problemsOf(approvers)).toContain(problem);
  });

  it('may not contradict the channels file', () => {
    expect(problemsOf(ann, [{ id: 'bob', slack: 'T1:U1' }])).toBe(
      'p.yaml:3: approvers.0.identities.slack: is that of "bob" in the channels file',
    );
    expect(problemsOf(ann, [{ id: 'ann', email: 'other@example.com' }])).toBe(
      'p.yaml:3: approvers.0.identities.email: is another than in the channels file, where "ann" has "other@example.com"',
    );
    expect(problemsOf(ann, [{ id: 'ann', slack: 'T1:U1', email: 'Ann@Example.com' }])).toBe('');
  });
});

describe('a delegation', () => {
  const text = `version: 1
approvers:
  - { id: ann, groups: [a], delegates: [{ to: bob, ${week} }] }
  - { id: bob, groups: [b], delegates: [{ to: cem, ${week} }] }
  - { id: cem, groups: [c] }`;
  const policy = createPolicy(loadPolicy('p.yaml', text));
  const delegatorsAt = (id: string, time: string) => policy.delegatorsOf(id, Date.parse(time)).map((one) => one.id);

  it.each([
    ['2026-11-30T23:59:59.999Z', []],
    ['2026-12-01T00:00:00.000Z', ['ann']],
    ['2026-12-07T22:59:59.999Z', ['ann']],
    ['2026-12-07T23:00:00.000Z', []],
  ])('is in force from its beginning until just before its end: %s', (time, delegators) => {
    expect(delegatorsAt('bob', time)).toEqual(delegators);
  });

  it('does not chain', () => {
    expect(delegatorsAt('cem', '2026-12-02T00:00:00Z')).toEqual(['bob']);
  });
});
