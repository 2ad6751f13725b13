import { describe, expect, it } from '@jest/globals';
import type { ResponseView } from '@countersign/contracts';
import { ownAnswerWords, ownPartWords } from './own-answer.js';

const of = (respondedBy: string, counted: boolean): ResponseView => ({
  respondedBy,
  counted,
  number: 1,
  onBehalfOf: null,
  decision: { type: 'approve' },
  reason: null,
  respondedAt: '2026-01-01T00:00:00.000Z',
  via: 'inbox',
});

describe('what is recorded of a person', () => {
  const wordsOf = (...responses: ResponseView[]) => [
    ownAnswerWords({ responses }, 'ann'),
    ownPartWords({ responses }, 'ann'),
  ];

  it('is nothing where only others have answered', () => {
    const nothing = 'Nothing of yours is recorded.';
    expect(wordsOf(of('bob', true))).toEqual([nothing, nothing]);
  });

  it('is an answer that stands, which the person may have to take back', () => {
    expect(wordsOf(of('bob', true), of('ann', false), of('ann', true))).toEqual([
      'Your recorded answer stands: take it back if you do not want this.',
      'Your own answer was recorded.',
    ]);
  });

  it('is an answer that a change has voided', () => {
    expect(wordsOf(of('ann', false))).toEqual(['Your earlier answer no longer counts.', '']);
  });
});
