import { describe, expect, it } from '@jest/globals';
import { createGrantSchema } from './grants.js';
import { continueLogSchema } from './log-requests.js';
import { registerPasskeySchema } from './passkey-views.js';
import { cancelSchema, reconcileSchema } from './requests.js';

describe('a reason that is recorded', () => {
  const texts = ['', '  ', '\u200b', '\u2800\u00a0', '\u3164\u202e', '\ufffc', '\u{1d159}'];

  it.each(texts)('is refused when a reader sees nothing of it, here %j', (text) => {
    expect(cancelSchema.safeParse({ reason: text }).success).toBe(false);
    expect(continueLogSchema.safeParse({ reason: text }).success).toBe(false);
    expect(reconcileSchema.safeParse({ status: 'failed', note: text }).success).toBe(false);
    expect(createGrantSchema.shape.reason.safeParse(text).success).toBe(false);
  });

  it.each(texts)('is no name of a passkey: %j', (text) => {
    const { name } = registerPasskeySchema.shape;
    expect(name.safeParse(text).success).toBe(false);
    expect(name.safeParse('x'.repeat(65)).success).toBe(false);
    expect(name.safeParse('key \u202a1').success).toBe(true);
  });

  it('may have characters that are not seen beside those that are', () => {
    expect(cancelSchema.parse({ reason: '\u202ano longer needed' })).toEqual({ reason: '\u202ano longer needed' });
  });
});
