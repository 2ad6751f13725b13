import { describe, expect, it } from '@jest/globals';
import { endedWords } from './ended-words.js';
import type { EndedApproval } from './ended-words.js';

const at = '2026-11-22T09:59:57.000Z';
const nowMs = Date.parse('2026-11-22T10:00:00.000Z');
const request = { kind: 'run', proposedBy: 'agent', replaces: null } as const;
const edit = { kind: 'run', proposedBy: 'alice', replaces: 1 } as const;
const answer = { kind: 'answer', proposedBy: 'alice', replaces: 1 } as const;

const vote = (respondedBy: string, type: 'approve' | 'edit' | 'deny' | 'answer', respondedAt = at) => ({
  ...{ respondedBy, onBehalfOf: null, decision: { type }, respondedAt, via: 'slack' },
});
const wordsOf = (
  state: EndedApproval['state'],
  proposal: EndedApproval['proposal'],
  responses: EndedApproval['responses'],
): string => endedWords({ state, proposal, responses, resolvedAt: at }, nowMs, (via) => via.toUpperCase());

describe('how an approval ended', () => {
  it.each([
    ['approved', request, [vote('bob', 'approve')], 'bob approved this 3 s ago via SLACK.'],
    ['denied', edit, [vote('bob', 'deny')], 'bob denied this 3 s ago via SLACK.'],
    ['approved', edit, [vote('alice', 'edit')], 'alice approved this with other arguments 3 s ago via SLACK.'],
    ['approved', edit, [vote('bob', 'approve')], 'bob approved this with the arguments of alice 3 s ago via SLACK.'],
    [
      ...(['approved', answer, [vote('alice', 'answer')]] as const),
      'alice answered in place of the tool 3 s ago via SLACK. The tool does not run.',
    ],
    [
      ...(['approved', answer, [vote('alice', 'answer', '2026'), vote('bob', 'approve')]] as const),
      'bob approved the answer of alice in place of the tool 3 s ago via SLACK. The tool does not run.',
    ],
    ['approved', request, [], 'This was approved 3 s ago.'],
    // Nobody of these brought it about: it was silence.
    ['approved', request, [vote('bob', 'deny', '2026')], 'This was approved 3 s ago.'],
    ['approved', request, [vote('bob', 'approve', '2026')], 'This was approved 3 s ago.'],
    ['expired', request, [vote('bob', 'approve', '2026')], 'It expired 3 s ago.'],
  ] as const)('%s: %j by %j', (state, proposal, responses, words) => {
    expect(wordsOf(state, proposal, responses)).toBe(words);
  });
});
