import { describe, expect, it } from '@jest/globals';
import { progressLines, upcomingWords } from './progress-words.js';

const progress = (change: object = {}) => ({ approvedBy: [], deniedBy: [], missing: 0, missingOf: [], ...change });
const quorum = (approve: number, ...groups: string[]) => ({ mode: 'quorum' as const, approve, groups });
const linesOf = (...stages: [ReturnType<typeof quorum>, ReturnType<typeof progress>][]) =>
  progressLines({
    requirement: { stages: stages.map(([stage]) => stage), fourEyes: true },
    progress: stages.map(([, far]) => far),
  });

describe('the progress of an approval in words', () => {
  it('names who approved, how many of which groups are missing, and what comes later', () => {
    expect(
      linesOf(
        [quorum(1, 'ops'), progress({ approvedBy: ['alice'] })],
        [
          quorum(2, 'ops', 'security'),
          progress({ approvedBy: ['bob'], deniedBy: ['eve'], missing: 1, missingOf: ['ops', 'security', 'managers'] }),
        ],
        [quorum(1, 'legal'), progress({ missing: 1, missingOf: ['legal'] })],
      ),
    ).toEqual([
      { status: 'done', words: '1 approver of ops: alice approved' },
      {
        status: 'current',
        words: '2 approvers of ops or security: bob approved, eve denied, 1 more of ops or security or managers',
      },
      { status: 'later', words: '1 approver of legal' },
    ]);
  });

  it('says that there is no answer yet, and names the escalation group', () => {
    const [untouched, escalated] = [['ops'], ['ops', 'managers']].map((missingOf) =>
      linesOf([quorum(1, 'ops'), progress({ missing: 1, missingOf })]),
    );
    expect(untouched).toEqual([{ status: 'current', words: '1 approver of ops: none yet' }]);
    expect(escalated).toEqual([
      { status: 'current', words: '1 approver of ops: none yet, 1 missing of ops or managers' },
    ]);
  });

  it('shows every character of a hostile name', () => {
    const [line] = linesOf([quorum(1), progress({ approvedBy: ['a\u202eb'], missing: 1, missingOf: null })]);
    expect(line?.words).toBe('1 approver: a⟦U+202E⟧b approved, 1 more');
  });

  it('says what happens by itself', () => {
    expect(upcomingWords({ kind: 'escalation', to: ['managers', 'legal'] })).toBe(
      'people of managers or legal are asked as well',
    );
    expect(upcomingWords({ kind: 'expiry', to: [] })).toBe('it expires, and the tool does not run');
  });
});
