import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { canonicalForm } from './canonical.js';
import { createKeySet } from './key-set.js';
import { createUsedJtis } from './used-jtis.js';
import { receiptArgumentsHash, verifyReceipt } from './verify-receipt.js';
import type { VerifyOptions } from './verify-receipt.js';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const { x = '' } = publicKey.export({ format: 'jwk' });
const key = { kty: 'OKP', crv: 'Ed25519', x, kid: 'k1' };
const args = { to: 'bob', amount: 5 };
const nowMs = 1_800_000_000_000;
const hourSeconds = 3600;

const ours = '{"alg":"EdDSA","kid":"k1","typ":"countersign-receipt+jwt"}';

/** Of `{ arguments: {}, nonce: 'n' }`. */
const noArguments = `sha256:${hash('sha256', '{"arguments":{},"nonce":"n"}')}`;

async function signed(more: Readonly<Record<string, unknown>> = {}, header = ours): Promise<string> {
  const claims = {
    ...{ iss: 'https://c.example', aud: 'pay', sub: 'tc_1', attempt: 1, runId: 'r', agentId: 'a', tenant: 'default' },
    ...{
      actionDigest: 'sha256:0',
      proposalDigest: null,
      argumentsHash: await receiptArgumentsHash('n', args),
      nonce: 'n',
    },
    ...{ approvals: { count: 0, assurance: null }, policyVersion: null, seq: null, jti: 'tc_1.1' },
    ...{ iat: nowMs / 1000, exp: nowMs / 1000 + 60, ...more },
  };
  const text = [header, JSON.stringify(claims)].map((part) => Buffer.from(part).toString('base64url')).join('.');
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`;
}

const options = (more: Partial<VerifyOptions> = {}): VerifyOptions => ({
  ...{ arguments: args, toolName: 'pay', issuer: 'https://c.example/', keys: [key], now: () => nowMs },
  usedJtis: createUsedJtis(() => nowMs),
  ...more,
});
const codeOf = async (receipt: string, more: Partial<VerifyOptions> = {}) => {
  const verdict = await verifyReceipt(receipt, options(more));
  return verdict.status === 'refused' ? verdict.code : verdict.status;
};

it('accepts a receipt for its tool, arguments, issuer and tenant, and returns its claims', async () => {
  const receipt = await signed();
  expect(await verifyReceipt(receipt, options())).toMatchObject({ status: 'valid', claims: { sub: 'tc_1' } });
  expect(await codeOf(receipt, { arguments: { amount: 5, to: 'bob' } })).toBe('valid');
});

it.each<[string, Readonly<Record<string, unknown>>, Partial<VerifyOptions>]>([
  ['wrong-issuer', {}, { issuer: 'https://other.example' }],
  ['wrong-tenant', { tenant: 'other' }, {}],
  ['wrong-tenant', {}, { tenant: 'other' }],
  ['wrong-tool', { aud: ['pay'], jti: 'x' }, {}],
  ['wrong-tool', {}, { toolName: 'pay2' }],
  ['expired', {}, { now: () => nowMs + 60_000 }],
  ['valid', {}, { now: () => nowMs + 60_000, toleranceMs: 1 }],
  ['expired', { iat: nowMs / 1000 - 24 * hourSeconds }, {}],
  ['wrong-arguments', {}, { arguments: { ...args, more: 1 } }],
  ['wrong-arguments', {}, { arguments: { to: '\ud800', amount: 5 } }],
  ['valid', { argumentsHash: noArguments }, { arguments: undefined }],
  ['valid', { argumentsHash: noArguments }, { arguments: Object.create(null) as unknown }],
  ['wrong-arguments', { argumentsHash: noArguments }, { arguments: null }],
  ['wrong-arguments', { argumentsHash: noArguments }, { arguments: new Map([['amount', 500]]) }],
  ['unknown-key', {}, { keys: [{ ...key, kid: 'k2' }] }],
  ['unknown-key', {}, { keys: [{ ...key, crv: 'X25519' }] }],
  ['bad-signature', {}, { keys: [{ ...key, x: 'A'.repeat(43) }] }],
  ['bad-signature', {}, { keys: [{ ...key, x: 'short' }] }],
])('says %s', async (code, claims, more) => {
  const found = await codeOf(await signed(claims), more);
  // A list of audiences is no receipt of ours.
  expect(found).toBe(Array.isArray(claims['aud']) ? 'malformed-receipt' : code);
});

it.each([
  ['another algorithm', ours.replace('EdDSA', 'none')],
  ['a member twice', ours.replace('{', '{"alg":"none",')],
  ['a member more', ours.replace('}', ',"jku":"https://mallory.example"}')],
])('reads no header with %s, even under the signature of the server', async (_, header) => {
  expect(await codeOf(await signed({}, header))).toBe('malformed-receipt');
});

it('remembers a use until no receipt of its claim is accepted any more', async () => {
  let now = nowMs;
  const usedJtis = createUsedJtis(() => now);
  const at = (ms: number) => ({ usedJtis, now: () => (now = nowMs + ms) });
  expect(await codeOf(await signed(), at(0))).toBe('valid');
  const renewed = await signed({ exp: nowMs / 1000 + 100 * hourSeconds });
  expect(await codeOf(renewed, at(23 * 3_600_000))).toBe('already-used');
  expect(await codeOf(renewed, at(24 * 3_600_000))).toBe('expired');
  expect(await codeOf(renewed, { ...at(1), idempotencyKey: 'k' })).toBe('already-used');
});

it('reads the keys of a URL once, again for an unknown key, and uses them for an hour while the URL does not answer', async () => {
  let now = nowMs;
  let keys = [key];
  let isAway = false;
  const asked: (string | undefined)[] = [];
  const set = createKeySet('https://c.example/keys', {
    now: () => now,
    fetch: (_, { headers }) => {
      asked.push(headers['if-none-match']);
      if (isAway) return Promise.reject(new Error('away'));
      const tag = `"${String(keys.length)}"`;
      if (headers['if-none-match'] === tag) return Promise.resolve(new Response(null, { status: 304 }));
      return Promise.resolve(new Response(JSON.stringify({ keys }), { headers: { etag: tag } }));
    },
  });
  expect([await set.find('k1'), await set.find('k1'), await set.find('k2')]).toEqual([key, key, undefined]);
  expect(asked).toEqual([undefined]);
  keys = [key, { ...key, kid: 'k2' }];
  now += 31_000;
  expect(await set.find('k2')).toMatchObject({ kid: 'k2' });
  now += 6 * 60_000;
  expect(await set.find('k1')).toEqual(key);
  expect(asked).toEqual([undefined, '"1"', '"2"']);
  isAway = true;
  now += 59 * 60_000;
  expect(await set.find('k1')).toEqual(key);
  now += 2 * 60_000;
  await expect(set.find('k1')).rejects.toThrow('away');
});

it.each([
  [{ b: 1, a: [true, null, 'x'], '\u{1f600}': 1, '\ufb33': 2 }, '{"a":[true,null,"x"],"b":1,"\u{1f600}":1,"\ufb33":2}'],
  [[1e21, -0, 0.1, 1e-7, 100], '[1e+21,0,0.1,1e-7,100]'],
  ['\u2028"\\\u0001', '"\u2028\\"\\\\\\u0001"'],
  [{ a: undefined }, '{}'],
  [{ a: '\udc00' }, undefined],
  [[Infinity], undefined],
  [{ a: 1n }, undefined],
])('writes %j in the form of RFC 8785', (value, form) => {
  expect(canonicalForm(value)).toBe(form);
});
