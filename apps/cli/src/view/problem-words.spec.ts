import { describe, expect, it } from '@jest/globals';
import { nowMs } from '../testing/fixtures.js';
import { problemWords } from './problem-words.js';

const about = (code: string, more: object = {}) =>
  problemWords({ type: 'about:blank', title: code, status: 409, code, detail: 'the detail', ...more }, nowMs);

describe('a refusal in words', () => {
  it('tells the second one kindly who was first, when and how', () => {
    const winner = {
      resolution: 'approved',
      respondedBy: 'bob',
      respondedAt: '2026-11-22T09:59:57.000Z',
      via: 'slack',
    };
    expect(about('already-resolved', winner)).toBe('bob approved this 3 s ago via slack. Nothing is left to answer.');
    expect(about('already-resolved', { cancelledBy: 'agent', cancelledAt: '2026-11-22T09:59:57.000Z' })).toBe(
      'agent cancelled this call 3 s ago. Nothing is left to answer.',
    );
    expect(about('already-resolved')).toBe('the detail');
    expect(about('expired', { expiredAt: '2026-11-22T09:58:00.000Z' })).toBe('The approval expired 2 min ago.');
  });

  it.each(['own-request', 'already-voted', 'digest-mismatch'])('has words of its own for %s', (code) => {
    expect(about(code)).not.toContain('the detail');
  });

  it('names every offending path', () => {
    expect(about('invalid-arguments', { errors: [{ path: '/a', message: 'must be\u001b a string' }, null] })).toBe(
      'the detail (/a: must be⟦U+001B⟧ a string; undefined: undefined)',
    );
  });

  it('marks what a server would slip to the terminal', () => {
    expect(about('whatever', { detail: '\u001b]0;x\u0007' })).toBe('⟦U+001B⟧]0;x⟦U+0007⟧');
  });
});
