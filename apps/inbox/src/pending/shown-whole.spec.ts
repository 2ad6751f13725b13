import { describe, expect, it } from '@jest/globals';
import { isShownWhole, rowNotes } from './shown-whole.js';

type Row = Parameters<typeof isShownWhole>[0];

const proposal: Row['proposal'] = {
  ...{ number: 1, digest: '', output: null, proposedBy: 'agent', proposedAt: '', replaces: null },
  kind: 'run',
};
const plain: Row = { arguments: { to: 'ann' }, hiddenValues: [], proposal, instructions: [] };
const mask = '[masked sha256:0123456789abcdef]';

describe('a row of a bulk response', () => {
  it('shows a call whole, also with a hidden value', () => {
    expect(isShownWhole(plain)).toBe(true);
    const hidden = { pin: mask };
    expect(isShownWhole({ ...plain, arguments: hidden, hiddenValues: [{ pointer: '/pin', why: 'name' }] })).toBe(true);
  });

  it('does not show whole what it cuts, an answer, instructions, and a text of the agent that reads like a hidden value', () => {
    expect(isShownWhole({ ...plain, isPreview: true })).toBe(false);
    expect(isShownWhole({ ...plain, arguments: { to: 'a'.repeat(2000) } })).toBe(false);
    expect(isShownWhole({ ...plain, proposal: { ...proposal, kind: 'answer', output: 'sent' } })).toBe(false);
    expect(isShownWhole({ ...plain, instructions: [{ respondedBy: 'ann', instruction: 'then stop' }] })).toBe(false);
    expect(isShownWhole({ ...plain, arguments: { list: [mask] } })).toBe(false);
  });
});

describe('the notes of a row', () => {
  const noted = { ...plain, endedProposals: [], schemaNotes: [] };
  const ended = { approvalId: 'a', number: 2, kind: 'run' as const, proposedBy: 'bob', proposedAt: '' };

  it('say what is hidden, what is not checked, who edited it, and what ended before', () => {
    expect(rowNotes(noted)).toEqual([]);
    expect(
      rowNotes({
        ...{ ...noted, hiddenValues: [{ pointer: '/pin', why: 'schema' }], endedProposals: [ended] },
        ...{ schemaNotes: [{ pointer: '/a', why: 'x' }], proposal: { ...proposal, number: 2, proposedBy: 'ann' } },
      }),
    ).toEqual([
      "1 value is hidden from you: 1 by the agent's tool schema",
      'Not checked by the tool’s schema at "/a"',
      'Edited by ann',
      'Not approved before: edit by bob',
    ]);
  });
});
