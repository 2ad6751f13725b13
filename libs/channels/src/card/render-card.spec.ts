import { describe, expect, it } from '@jest/globals';
import { maskByName } from '@countersign/contracts';
import type { ApprovalView, JsonObject } from '@countersign/contracts';
import fc from 'fast-check';
import type { AdaptiveCard } from '../teams/adaptive-card.js';
import { hostileTexts } from '../testing/hostile-texts.js';
import { sampleNotice } from '../testing/notices.js';
import type { NoticeChange } from '../testing/notices.js';
import { argumentLines } from './argument-lines.js';
import { renderCard } from './render-card.js';
import type { CardFormat, RenderedCard } from './render-card.js';

const formats = ['telegram', 'slack', 'teams', 'text'] as const;
const publicUrl = 'https://countersign.example.com/';

function render(format: CardFormat, change: NoticeChange = {}): RenderedCard & { readonly approval: ApprovalView } {
  const { call, approval } = sampleNotice(change);
  if (approval === null) throw new Error('the sample has an approval');
  return { ...renderCard({ call, approval }, format, publicUrl), approval };
}

interface SlackText {
  readonly text?: { readonly type: string; readonly text: string };
}

/** The text that a person reads, its format undone. */
function shownIn(format: CardFormat, card: object): string {
  if (format === 'slack') {
    const { blocks } = card as { readonly blocks: readonly SlackText[] };
    const texts = blocks.map(({ text }) => (text?.type === 'mrkdwn' ? unescaped(text.text) : (text?.text ?? '')));
    return texts.join('\n').replaceAll('⟦U+0060⟧', '`');
  }
  if (format === 'teams') {
    const { body } = card as AdaptiveCard;
    const lines = body.map(({ inlines }) => inlines.map(({ text }) => text).join(''));
    return lines.join('\n').replaceAll('{⟦U+007B⟧', '{{');
  }
  return (card as { readonly text: string }).text;
}

function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

const decisionsOf = ({ presses }: RenderedCard) => presses.map(({ decision }) => decision);

describe.each(formats)('a card for a bot of an application, as %s', (format) => {
  it('has a press for each button, and each names what is shown', () => {
    const { card, presses, approval } = render(format);
    expect(presses.map(({ request }) => request)).toEqual(
      (['approve', 'deny'] as const).map((type) => ({
        decision: { type },
        proposalDigest: approval.proposal.digest,
        ...(type === 'approve' && { shownDigest: approval.shownDigest, shownRevision: approval.shownRevision }),
      })),
    );
    for (const { value } of presses) {
      expect(Buffer.byteLength(value)).toBeLessThanOrEqual(64);
      if (format !== 'text') expect(JSON.stringify(card)).toContain(value);
    }
    expect(JSON.stringify(card)).toContain(`/approvals/${approval.approvalId}`);
    expect(JSON.stringify(card)).not.toContain('More…');
  });

  it('keeps the button of a denial while the same is proposed, and has another one to approve once more is said', () => {
    const valuesOf = ({ presses }: RenderedCard) => presses.map(({ value }) => value);
    const [approve, deny] = valuesOf(render(format));
    const digest = `sha256:${'0'.repeat(64)}`;
    const told = valuesOf(render(format, { approval: { shownDigest: digest } }));
    expect([told[0] === approve, told[1] === deny]).toEqual([false, true]);
    const { proposal } = render(format).approval;
    const edited = valuesOf(render(format, { approval: { shownDigest: digest, proposal: { ...proposal, digest } } }));
    expect([edited[0] === approve, edited[1] === deny]).toEqual([false, false]);
  });

  it('has no press once it is decided, and none that is not allowed', () => {
    expect(render(format, { approval: { state: 'denied', resolution: 'denied' } }).presses).toEqual([]);
    expect(decisionsOf(render(format, { approval: { allowedDecisions: ['deny'] } }))).toEqual(['deny']);
    expect(decisionsOf(render(format, { approval: { allowedDecisions: ['answer'] } }))).toEqual([]);
  });

  it.each([
    [{ requireSignature: true }, []],
    [{ minAssurance: 'high' }, []],
    [{ requireReason: ['approve'] }, ['deny']],
    [{ requireReason: ['deny'] }, ['approve']],
    [{ minAssurance: 'medium' }, ['approve', 'deny']],
  ] as const)('has no press where more than a press is needed, and a link: %j', (more, decisions) => {
    const { approval } = sampleNotice();
    const requirement = { ...approval!.requirement, ...more } as ApprovalView['requirement'];
    const { card, ...rendered } = render(format, { approval: { requirement } });
    expect(decisionsOf({ card, ...rendered })).toEqual(decisions);
    expect(JSON.stringify(card)).toContain(`/approvals/${approval!.approvalId}`);
    if (decisions.length < 2)
      expect(shownIn(format, card)).toMatch(/in the inbox, with your passkey|give it in the inbox/);
  });

  it('cannot approve what it does not show whole, and marks the cut', () => {
    const args = { text: `echo ${'a'.repeat(600)}; curl evil` };
    const { card, ...rendered } = render(format, { arguments: args });
    expect(decisionsOf({ card, ...rendered })).toEqual(['deny']);
    expect(shownIn(format, card)).toMatch(/⟦[\d,]+ characters not shown/);
    const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`key${String(n)}`, n]));
    expect(decisionsOf(render(format, { arguments: many }))).toEqual(['deny']);
    expect(shownIn(format, render(format, { arguments: many }).card)).toMatch(/⟦[\d,]+ more lines are not shown/);
  });

  it('keeps hidden values hidden, and says how many there are', () => {
    const hiddenValues = [{ pointer: '/password', why: 'name' }] as const;
    const args = maskByName({ password: 'canary' }) as JsonObject;
    const { card } = render(format, { arguments: args, approval: { hiddenValues: [...hiddenValues] } });
    expect(JSON.stringify(card)).not.toContain('canary');
    expect(shownIn(format, card)).toContain('1 value is hidden');
  });

  it.each(hostileTexts)('shows $name as text', ({ text, unseen }) => {
    const { card } = render(format, {
      ...{ toolName: `t ${text}`, arguments: { value: text }, reason: text, description: text },
      approval: { title: text, toolDescription: `d ${text}`, metadata: { [text]: text } },
    });
    if (unseen !== undefined) expect(JSON.stringify(card)).not.toContain(unseen);
    if (format !== 'teams') return;
    for (const { type, inlines } of (card as AdaptiveCard).body) {
      expect(type).toBe('RichTextBlock');
      for (const run of inlines) expect(run.type).toBe('TextRun');
    }
  });

  it('shows every character of the arguments, or covers it with a mark', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string());
    const pieces = fc.constantFrom(
      '{{DATE(2026-01-01T00:00:00Z, SHORT)}}',
      '```',
      '&lt;',
      '  ',
      '\n',
      '"',
      '│ ',
      '⟦',
      '\u202e',
    );
    const value = fc.array(fc.oneof(text, pieces), { maxLength: 6 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(value, fc.array(value, { maxLength: 3 })), { maxKeys: 4 }), (args) => {
        const { card, presses } = render(format, { arguments: args });
        const shown = shownIn(format, card);
        expect(shown).not.toMatch(/[^\P{C}\n]/u);
        if (!presses.some(({ decision }) => decision === 'approve')) {
          expect(shown).toMatch(/not shown|Not everything is shown here/);
          return;
        }
        const { lines, isCut } = argumentLines(args, Number.MAX_SAFE_INTEGER);
        expect(isCut).toBe(false);
        for (const line of lines) expect(shown).toContain(line.replaceAll('⟦U+0060⟧', '`'));
      }),
      { numRuns: 60 },
    );
  });
});

it('is a valid Adaptive Card, whose buttons carry what to send back', () => {
  const { card, approval, presses } = render('teams');
  expect(card).toMatchObject({ type: 'AdaptiveCard', version: '1.5' });
  const { approvalId, shownDigest, proposal } = approval;
  const data = {
    approvalId,
    proposalDigest: proposal.digest,
    shownDigest,
    decision: 'approve',
    value: presses[0]?.value,
  };
  const [approve, deny] = (card as AdaptiveCard).actions;
  expect(approve).toMatchObject({ type: 'Action.Execute', verb: 'countersign/approve', data });
  expect(approve).toMatchObject({ fallback: { type: 'Action.Submit', data } });
  expect(deny).toMatchObject({ data: { approvalId, proposalDigest: proposal.digest, value: presses[1]?.value } });
  expect(deny).not.toMatchObject({ data: { shownDigest } });
});

it('cannot be approved in Teams where it has more lines than a card there shows', () => {
  const { card, presses } = render('teams', { arguments: { list: Array.from({ length: 150 }, (_, n) => n) } });
  expect(presses.map(({ decision }) => decision)).toEqual(['deny']);
  expect(shownIn('teams', card)).toContain('⟦55 more lines are not shown⟧');
});

it('lets Teams replace no text of an agent by a date', () => {
  const text = '{{DATE(2026-01-01T00:00:00Z, SHORT)}} {{{TIME(2026-01-01T00:00:00Z)}}';
  const { card } = render('teams', { toolName: text, arguments: { [text]: text }, reason: text });
  expect(JSON.stringify(card)).not.toContain('{{');
});
