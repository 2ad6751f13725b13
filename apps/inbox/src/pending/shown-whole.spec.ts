import { describe, expect, it } from '@jest/globals';
import { isShownWhole } from './shown-whole.js';

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
