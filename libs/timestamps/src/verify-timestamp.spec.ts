import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { digestOf } from './algorithms.js';
import { timestampQuery } from './query.js';
import { readRoots } from './roots/index.js';
import { makeAuthority } from './testing/authority.js';
import type { Authority, Forgery } from './testing/authority.js';
import { readToken } from './token.js';
import { verifyTimestamp } from './verify-timestamp.js';

const text = 'countersign.example/log\n5\nC3TUMA55gFbNSHKLT7AenxWtPgp5UPvFiXT/Z1MnHSQ=\n';
const nonce = randomBytes(8);
const query = timestampQuery(text, nonce);

let [authority, other]: Authority[] = [];
beforeAll(() => {
  authority = makeAuthority();
  other = makeAuthority('Other');
}, 120_000);
afterAll(() => {
  authority?.remove();
  other?.remove();
});

const rootsOf = (one: Authority | undefined) => readRoots(one?.root ?? '');
const check = (reply: Uint8Array, changed: Partial<Parameters<typeof verifyTimestamp>[1]> = {}) =>
  verifyTimestamp(reply, { text, nonce, roots: rootsOf(authority), ...changed });
const refused = (why: string) => ({ status: 'refused', why: expect.stringContaining(why) });

describe('a time stamp', () => {
  it.each(['stamps', 'rsa'] as const)('of an honest authority verifies here and with OpenSSL (%s)', (signer) => {
    const reply = authority!.answer(query, signer);
    const verified = check(reply);
    expect(verified).toMatchObject({ status: 'verified', signer: `CN=Test ${signer}` });
    const age = Date.now() - (verified.status === 'verified' ? verified.time.getTime() : 0);
    expect(Math.abs(age)).toBeLessThan(60_000);
    expect(() => authority!.verify(reply, text)).not.toThrow();
    expect(check(reply, { roots: undefined })).toMatchObject({ status: 'verified' });
  });

  it('of another text, another request or another authority is refused', () => {
    const reply = authority!.answer(query);
    expect(check(reply, { text: `${text}\n` })).toMatchObject(refused('of another text'));
    expect(check(reply, { nonce: randomBytes(8) })).toMatchObject(refused('another nonce'));
    expect(check(reply, { roots: rootsOf(other) })).toMatchObject(refused('no authority that you trust'));
  });

  it.each<[string, Forgery]>([
    ['time stamps alone', { signer: 'web' }],
    ['time stamps alone', { signer: 'plain' }],
    ['not valid at the time', { signer: 'ended' }],
    ['must be SHA-256', { hash: 'sha1' }],
    ['names no certificate', { isAnonymous: true }],
  ])('is refused, because it is signed in a way that does not count: %s %j', (why, forgery) => {
    expect(check(authority!.forge(query, {}))).toMatchObject({ status: 'verified' });
    expect(check(authority!.forge(query, forgery))).toMatchObject(refused(why));
  });

  it('over a SHA-1 is refused', () => {
    const reply = authority!.answer(authority!.weakQuery(text));
    expect(verifyTimestamp(reply, { text })).toMatchObject(refused('of another text'));
  });

  it('that an authority rejects is refused with its words', () => {
    const broken = Buffer.from(query);
    broken[broken.indexOf(Buffer.from('0609608648016503040201', 'hex')) + 10] = 0x09;
    expect(check(authority!.answer(broken))).toMatchObject(refused('did not grant it: status 2'));
  });

  it('that is granted and not there is refused, and so is what is no answer', () => {
    expect(check(Buffer.from('30053003020100', 'hex'))).toMatchObject(refused('no time stamp in it'));
    const reply = authority!.answer(query);
    for (const bytes of [Buffer.alloc(0), Buffer.from('<html>busy</html>'), Buffer.concat([reply, Buffer.from('x')])]) {
      expect(check(bytes)).toMatchObject(refused('no answer of a time stamping authority'));
    }
    expect(check(Buffer.alloc(70_000, 0x30))).toMatchObject(refused('too long'));
  });

  it('with another time, and the hash of that in its place, has a broken signature', () => {
    const reply = authority!.answer(query);
    const content = Buffer.from(readToken(reply).content);
    const earlier = Buffer.from(content.toString('latin1').replace(/20\d\d(?=\d{10}Z)/, '2001'), 'latin1');
    const replaced = Buffer.from(reply);
    const put = (before: Buffer, after: Buffer): void => {
      expect(after.copy(replaced, replaced.indexOf(before))).toBe(before.length);
    };
    put(content, earlier);
    put(digestOf('sha256', content), digestOf('sha256', earlier));
    expect(check(replaced)).toMatchObject(refused('its signature is broken'));
  });

  it('with a bit flipped never says another time', () => {
    const reply = authority!.answer(query);
    const honest = check(reply);
    const wrong: number[] = [];
    for (let at = 0; at < reply.length; at += 5) {
      const flipped = Buffer.from(reply);
      flipped[at]! ^= 1 << (at % 8);
      const found = check(flipped);
      const isSame = found.status === 'verified' && honest.status === 'verified' && +found.time === +honest.time;
      if (found.status === 'verified' && !isSame) wrong.push(at);
    }
    expect(wrong).toEqual([]);
  });
});
