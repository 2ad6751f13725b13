import { randomBytes } from 'node:crypto';
import { createGrowingTree, formatCheckpoint, formatOrigin, leafHash } from '@countersign/audit';
import type { Finding } from '@countersign/audit';
import { timestampQuery } from '@countersign/timestamps';
import { makeAuthority } from '@countersign/timestamps/testing';
import type { Authority } from '@countersign/timestamps/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compareImprint } from '../verifier/compare-imprint.js';
import { createStampJudge } from './judge-timestamps.js';
import { compareStamps } from './timestamps.js';
import type { JudgeStamp, KeptStamp } from './timestamps.js';

let authority: Authority;
let other: Authority;
let trusting: JudgeStamp;
let trustingNone: JudgeStamp;
beforeAll(async () => {
  authority = makeAuthority();
  other = makeAuthority('Other');
  trusting = await createStampJudge(authority.rootFile)();
  trustingNone = await createStampJudge(undefined)();
}, 120_000);
afterAll(() => {
  authority.remove();
  other.remove();
});

const tree = createGrowingTree();
const roots = Array.from({ length: 6 }, (_, size) => {
  const root = tree.root();
  tree.append(leafHash(`event ${String(size)}`));
  return root;
});

function textOf(size: number, { epoch = 1, tenant = 'acme', root = roots[size] } = {}): string {
  const origin = formatOrigin({ base: 'countersign.example', tenant, epoch });
  return formatCheckpoint({ origin, size, root: root!, extensions: [] });
}

const queryOf = (text: string) => timestampQuery(text, randomBytes(8));
const kept = (text: string, reply: Uint8Array, size = 5, epoch = 1): KeptStamp => ({
  ...{ epoch, size },
  read: () => ({ text, reply }),
});

function compare(stamps: readonly KeptStamp[], judge?: JudgeStamp, isRequired = false) {
  const findings: Pick<Finding, 'check' | 'detail'>[] = [];
  const verification = {
    note: (finding: Pick<Finding, 'check' | 'detail'>) => void findings.push(finding),
    rootAt: (size: number) => roots[size],
    size: () => 5,
  };
  const judged = judge ?? trusting;
  return {
    ...compareStamps({ stamps, tenant: 'acme', epoch: 2, verification, judge: judged, isRequired }),
    findings,
  };
}

describe('the time stamps that are kept with a log', () => {
  it('say before when its first events existed, where an authority is trusted', () => {
    const text = textOf(5, { epoch: 2 });
    const stamp = kept(text, authority.answer(queryOf(text)), 5, 2);
    const { proven, unproven, findings } = compare([stamp], undefined, true);
    expect([proven, unproven, findings]).toEqual([
      [{ size: 5, time: expect.stringMatching(/^2/), signer: 'CN=Test stamps' }],
      [],
      [],
    ]);
    expect(compare([stamp], trustingNone)).toMatchObject({
      ...{ proven: [], findings: [], unproven: [expect.stringContaining('--tsa-ca')] },
    });
    expect(compare([stamp], compareImprint)).toMatchObject({
      ...{ proven: [], findings: [], unproven: [expect.stringContaining('openssl ts -verify')] },
    });
  });

  it('are findings where they stamp another text, or no trusted authority signed them', () => {
    const text = textOf(5);
    const query = queryOf(text);
    const good = authority.answer(query);
    const flipped = Buffer.from(good);
    flipped[flipped.length - 10]! ^= 1;
    const strange = textOf(5, { tenant: 'other' });
    const rewritten = textOf(5, { epoch: 2, root: roots[4] });
    const later = textOf(9, { epoch: 2, root: roots[4] });
    const cases: readonly (readonly [KeptStamp, string])[] = [
      [kept(text, authority.answer(queryOf(textOf(4)))), 'of another text'],
      [kept(text, other.answer(query)), 'no authority that you trust'],
      [kept(text, authority.forge(query, { signer: 'web' })), 'time stamps alone'],
      [kept(text, authority.forge(query, { signer: 'ended' })), 'not valid at the time'],
      [kept(text, flipped), 'its signature is broken'],
      [kept(strange, authority.answer(queryOf(strange))), 'of another checkpoint'],
      [kept(text, good, 4), 'of another checkpoint'],
      [
        kept(`${text}approved by all\n`, authority.answer(queryOf(`${text}approved by all\n`))),
        'of another checkpoint',
      ],
      [{ epoch: 1, size: 5, read: () => undefined }, 'cannot be read'],
      [kept(rewritten, authority.answer(queryOf(rewritten)), 5, 2), 'the first 5 events are not those'],
      [kept(later, authority.answer(queryOf(later)), 9, 2), 'the log ends after 5 events'],
    ];
    for (const [stamp, why] of cases) {
      const { proven, findings } = compare([stamp]);
      expect([proven, findings]).toEqual([
        [],
        [expect.objectContaining({ check: 'time', detail: expect.stringContaining(why) })],
      ]);
    }
    expect(compare([cases[0]![0]], compareImprint).findings).toHaveLength(1);
    expect(() => createStampJudge(import.meta.filename)).toThrow('has no certificates');
    expect(() => createStampJudge(import.meta.dirname)).toThrow('--tsa-ca: the file cannot be read: EISDIR');
  });

  it('of an epoch that the log went on from otherwise are not proven, and a missing one is a finding where it is demanded', () => {
    const before = textOf(5, { root: roots[4] });
    const { proven, unproven, findings } = compare([kept(before, authority.answer(queryOf(before)))]);
    expect([proven, unproven, findings]).toEqual([[], [expect.stringContaining('earlier epochs')], []]);
    expect(compare([]).findings).toEqual([]);
    expect(compare([], undefined, true).findings).toEqual([
      expect.objectContaining({ detail: expect.stringContaining('no checkpoint of the log has a time stamp') }),
    ]);
  });
});
