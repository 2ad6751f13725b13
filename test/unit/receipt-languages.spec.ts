// The examples of docs/receipts.md in other languages refuse what @countersign/receipt refuses.
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { JsonObject } from '@countersign/contracts';
import { createUsedJtis, receiptArgumentsHash, verifyReceipt } from '@countersign/receipt';
import { buildGo } from '../go-examples.ts';
import { hasPython, installMsMax, installPython } from '../python-environment.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-receipt-languages-'));
const examples = join(import.meta.dirname, '..', '..', 'examples');
afterAll(() => rmSync(folder, { recursive: true }));

const [ours, theirs] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
const { x = '' } = ours.publicKey.export({ format: 'jwk' });
const now = 1_800_000_000;
const trust = {
  ...{ toolName: 'pay', issuer: 'https://c.example', tenant: 'default', now },
  keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid: 'k1', use: 'sig', alg: 'EdDSA' }],
};
const encode = (text: string): string => Buffer.from(text).toString('base64url');
const typ = 'countersign-receipt+jwt';
const header = JSON.stringify({ alg: 'EdDSA', kid: 'k1', typ });

let used = 0;
async function claimsFor(args: JsonObject, more: JsonObject = {}): Promise<JsonObject> {
  const jti = `tc_1.${String((used += 1))}`;
  return {
    ...{ iss: 'https://c.example', aud: 'pay', sub: 'tc_1', attempt: 1, runId: 'r', agentId: 'a', tenant: 'default' },
    ...{ actionDigest: 'sha256:0', proposalDigest: null, nonce: 'n', approvals: { count: 0, assurance: null } },
    argumentsHash: (await receiptArgumentsHash('n', args)) ?? '',
    ...{ policyVersion: null, seq: null, iat: now, exp: now + 60, jti, ...more },
  };
}

function signed(claims: JsonObject | string, head = header, key = ours.privateKey): string {
  const payload = typeof claims === 'string' ? claims : JSON.stringify(claims);
  const text = `${encode(head)}.${encode(payload)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`;
}

const args: JsonObject = { to: 'bob', amount: 5 };
/** Arguments whose form is easy to get wrong. */
const hard: readonly JsonObject[] = [
  { é: 1e21, z: -0, a: 0.1, '\u{1f600}': ['\u2028', { '': null }], '\ufb33': 'x', '10': 1, '9': 2 },
  { numbers: [1e-7, 123456789.125, 1e20, 5e-324, 1.7976931348623157e308, 0.000001, -1.5, 100, 9007199254740991] },
  { empty: {}, list: [], text: '\u0001"\\/\u007f', 'a/b': true },
];

interface Call {
  readonly receipt: string;
  readonly body?: string;
  readonly more?: Partial<typeof trust>;
}

/** Texts of the same bytes as a receipt: other unused bits in its last letter, padding, line ends. */
function otherTexts(receipt: string): readonly string[] {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = letters.charAt(letters.indexOf(receipt.slice(-1)) + 1);
  const texts = [
    `${receipt.slice(0, -1)}${last}`,
    `${receipt}==`,
    `${receipt}\n`,
    receipt.replace(/(.{9})$/, '\r\n$1'),
  ];
  const signature = receipt.slice(receipt.lastIndexOf('.') + 1);
  for (const text of texts) {
    const other = text.slice(text.lastIndexOf('.') + 1);
    if (!Buffer.from(other, 'base64url').equals(Buffer.from(signature, 'base64url'))) throw new Error('other bytes');
  }
  return texts;
}

async function calls(): Promise<readonly Call[]> {
  const claims = await claimsFor(args);
  const good = signed(claims);
  const [head = '', payload = '', signature = ''] = good.split('.');
  const heads = [
    ...[{ alg: 'none' }, { alg: 'HS256' }, { kid: 'mine' }, { typ: 'JWT' }].map((one) =>
      JSON.stringify({ alg: 'EdDSA', kid: 'k1', typ, ...one }),
    ),
    `{"alg":"none","alg":"EdDSA","kid":"k1","typ":"${typ}"}`,
    JSON.stringify({ alg: 'EdDSA', jwk: theirs.publicKey.export({ format: 'jwk' }), kid: 'k1', typ }),
  ];
  const of = async (more: JsonObject) => signed(await claimsFor(args, more));
  return [
    { receipt: good },
    { receipt: good },
    ...(await Promise.all(hard.map(async (one) => ({ one, receipt: signed(await claimsFor(one)) })))).map(
      ({ one, receipt }) => ({ receipt, body: JSON.stringify({ arguments: one }) }),
    ),
    ...heads.flatMap((one) => [{ receipt: signed(claims, one, theirs.privateKey) }]),
    { receipt: signed(claims, header, theirs.privateKey) },
    { receipt: `${head}.${payload}.` },
    { receipt: `${head}.${payload}` },
    { receipt: `${good}.AA` },
    ...otherTexts(signed(await claimsFor(args))).map((receipt) => ({ receipt })),
    { receipt: 'null' },
    { receipt: `${head}.${encode(JSON.stringify({ ...claims, aud: 'pay_all' }))}.${signature}` },
    { receipt: await of({ iss: 'https://other.example' }) },
    { receipt: await of({ tenant: 'other' }) },
    { receipt: await of({ aud: 'pay_all' }) },
    { receipt: await of({ exp: now }) },
    { receipt: await of({ iat: now - 86_400 }) },
    { receipt: await of({}), body: '{"arguments":{"to":"bob","amount":500}}' },
    { receipt: await of({}), body: '{"arguments":{"to":"bob","amount":"5"}}' },
    { receipt: await of({}), body: '{"arguments":{"to":"bob","amount":5,"more":null}}' },
    { receipt: await of({}), more: { toolName: 'pay_all' } },
  ];
}

let lines: string;
let expected: readonly string[];
beforeAll(async () => {
  const all = (await calls()).map(({ receipt, body = JSON.stringify({ arguments: args }), more }) => ({
    ...{ receipt, body, ...trust, ...more },
  }));
  const usedJtis = createUsedJtis(() => now * 1000);
  const verdicts: string[] = [];
  for (const { receipt, body, toolName, issuer, keys } of all) {
    const { arguments: given } = JSON.parse(body) as { arguments: JsonObject };
    const options = { arguments: given, toolName, issuer, keys, usedJtis, now: () => now * 1000 };
    const verdict = await verifyReceipt(receipt, options);
    verdicts.push(verdict.status === 'refused' ? familyOf(verdict.code) : verdict.status);
  }
  expected = verdicts;
  lines = all.map((one) => `${JSON.stringify(one)}\n`).join('');
});

/** A receipt that is not ours: which step of a program sees it first differs. */
function familyOf(code: string): string {
  return ['malformed-receipt', 'unknown-key', 'bad-signature'].includes(code) ? 'not-ours' : code;
}

function verdictsOf(command: string, ...given: readonly string[]): readonly string[] {
  const { stdout, stderr } = spawnSync(command, given, { input: lines, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n').map(familyOf);
}

it('the cases are of every kind', () => {
  expect(new Set(expected)).toEqual(
    new Set([
      'valid',
      'not-ours',
      'wrong-issuer',
      'wrong-tenant',
      'wrong-tool',
      'expired',
      'wrong-arguments',
      'already-used',
    ]),
  );
  expect(expected.filter((one) => one === 'valid').length).toBe(1 + hard.length);
});

// A language that is not installed here is not tried; in CI Python and Go are.
const withGo = process.env['CI'] !== undefined || spawnSync('go', ['version']).error === undefined;
const withPhp = spawnSync('php', ['--version']).error === undefined;

it(
  'Python',
  async () => {
    if (!hasPython) return;
    const python = await installPython('receipts', 'examples/receipts/requirements.txt');
    expect(verdictsOf(python, join(examples, 'receipts', 'verify.py'))).toEqual(expected);
  },
  installMsMax,
);

it('Go', () => {
  if (!withGo) return;
  buildGo(folder, 'receipts');
  expect(verdictsOf(join(folder, 'receipts'))).toEqual(expected);
});

it('PHP', () => {
  if (withPhp) expect(verdictsOf('php', join(examples, 'receipts', 'verify.php'))).toEqual(expected);
});
