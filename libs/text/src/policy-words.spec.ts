import { describe, expect, it } from '@jest/globals';
import { matchWords, thenWords } from './policy-words.js';
import type { WrittenRule } from './policy-words.js';

const rule = (change: Partial<WrittenRule>): WrittenRule => ({ id: 'r', then: 'allow', ...change });

describe('a rule in words', () => {
  it('names the calls that it matches', () => {
    expect(matchWords(rule({}))).toBe('every call');
    const match = { tools: ['refund_*', 'pay'], agents: ['billing-*'], labels: { env: 'prod' } };
    expect(matchWords(rule({ match }))).toBe('refund_*, pay; agent billing-*; env: prod');
  });

  it.each<[WrittenRule['then'], string]>([
    ['allow', 'allow'],
    [{ block: 'never' }, 'block: never'],
    [{ require: {} }, '1 approver'],
    [{ require: { quorum: { approve: 2 } } }, '2 approvers'],
    [
      { require: { allOf: ['ops', 'legal'], onTimeout: 'hold' } },
      'one of each: ops, legal; without an answer in time: it stays open',
    ],
    [
      {
        require: {
          stages: [{ quorum: { approve: 2, deny: 1, of: ['ops', 'security'] } }, { anyOf: ['security'] }],
          ...{ expiresIn: '30m', reminders: ['10m'], onTimeout: 'escalate', risk: 'high' },
          escalation: [{ to: ['managers'], expiresIn: '20m' }],
        },
      },
      '2 approvers of ops or security, then 1 approver of security; within 30m; reminders after 10m; ' +
        'then managers within 20m; without an answer in time: others are asked; high risk',
    ],
  ])('%j is %s', (then, words) => {
    expect(thenWords(rule({ then }))).toBe(words);
  });
});
