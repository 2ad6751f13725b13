import { approvalIdOf, deriveCallId } from '@countersign/contracts';
import { Secret } from '@countersign/runtime';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createAnswerTokens, digestStartOf } from './answer-token.js';
import type { TokenAction } from './answer-token.js';

const tokens = createAnswerTokens(new Secret('a secret of the channel'), 'ops');
const hex = fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcdef')), minLength: 64, maxLength: 64 });
const question = fc.record({
  action: fc.constantFrom<TokenAction>('a', 'd', 'm', 'o'),
  approvalId: fc
    .tuple(fc.string(), fc.integer({ min: 1, max: 999_999 }))
    .map(([name, round]) => approvalIdOf(deriveCallId('default', 'run', name), round)),
  shownDigest: hex.map((digest) => `sha256:${digest}`),
});

describe('the token of a button or link', () => {
  it('fits into the 64 bytes of Telegram, and opens as what was sealed', () => {
    fc.assert(
      fc.property(question, fc.string(), (sealed, recipient) => {
        const token = tokens.seal(sealed, recipient);
        expect(Buffer.byteLength(token)).toBe(64);
        const { action, approvalId, shownDigest } = sealed;
        expect(tokens.open(token, recipient)).toEqual({
          action,
          approvalId,
          digestStart: digestStartOf(shownDigest),
        });
        expect(tokens.open(token, `${recipient}x`)).toBeUndefined();
      }),
    );
  });

  it('is bound to 128 bits of the digest', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    expect(digestStartOf(digest)).toHaveLength(32);
    for (let at = 0; at < 32; at += 1) {
      const other = `sha256:${'a'.repeat(at)}b${'a'.repeat(63 - at)}`;
      expect(digestStartOf(other)).not.toBe(digestStartOf(digest));
    }
  });

  it('opens only as a whole, unchanged, for the channel that made it', () => {
    const approvalId = approvalIdOf(deriveCallId('default', 'run', 'call'), 1);
    const token = tokens.seal({ action: 'a', approvalId, shownDigest: `sha256:${'a'.repeat(64)}` });
    const others = Array.from(
      token,
      (character, at) => token.slice(0, at) + (character === 'A' ? 'B' : 'A') + token.slice(at + 1),
    );
    for (const other of [...others, '', token.slice(1), `${token}A`, `${token}\n`, 'a'.repeat(64)]) {
      expect(tokens.open(other)).toBeUndefined();
    }
    expect(createAnswerTokens(new Secret('another secret'), 'ops').open(token)).toBeUndefined();
    expect(createAnswerTokens(new Secret('a secret of the channel'), 'other').open(token)).toBeUndefined();
  });
});
