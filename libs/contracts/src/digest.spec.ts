import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { actionDigest, argumentsDigest, jcsDigest, proposalDigest, saltedDigest } from './digest.js';
import type { JsonObject, JsonValue } from './json.js';
import type { Requirement } from './requirement.js';

const input = {
  tenant: 'default',
  agentId: 'billing-agent',
  runId: 'run-42',
  toolCallId: 'call_1',
  toolName: 'delete_file',
  toolSchemaHash: null,
  salt: '000102030405060708090a0b0c0d0e0f',
};

describe('argumentsDigest', () => {
  it('is the SHA-256 of the RFC 8785 form of the arguments and the tool, which a client can compute', () => {
    const jcs = '{"arguments":{"amount":5,"to":"b"},"toolName":"pay"}';
    const expected = `sha256:${createHash('sha256').update(jcs).digest('hex')}`;
    expect(argumentsDigest('pay', { to: 'b', amount: 5 })).toBe(expected);
  });

  it('differs for another tool, and with another salt', () => {
    const digest = argumentsDigest('pay', { amount: 5 });
    expect(argumentsDigest('pay_twice', { amount: 5 })).not.toBe(digest);
    expect(new Set([digest, saltedDigest(digest, 'a'), saltedDigest(digest, 'b')]).size).toBe(3);
  });
});

describe('actionDigest', () => {
  it('is the SHA-256 of the RFC 8785 form, which is written out here', () => {
    const jcs =
      '{"agentId":"billing-agent","arguments":{"path":"/etc/hosts"},"runId":"run-42","salt":"000102030405060708090a0b0c0d0e0f","tenant":"default","toolCallId":"call_1","toolName":"delete_file","toolSchemaHash":null}';
    const expected = `sha256:${createHash('sha256').update(jcs).digest('hex')}`;
    expect(actionDigest(input, { path: '/etc/hosts' })).toBe(expected);
  });

  it('is the JCS digest of its members, for any values', () => {
    const text = fc.string({ unit: 'grapheme' });
    const inputs = fc.record({
      tenant: text,
      agentId: text,
      runId: text,
      toolCallId: text,
      toolName: text,
      toolSchemaHash: fc.option(text),
      salt: text,
    });
    fc.assert(
      fc.property(inputs, fc.dictionary(text, fc.jsonValue()), (members, args) => {
        const value = { ...members, arguments: args } as JsonObject;
        expect(actionDigest(members, args as JsonObject)).toBe(jcsDigest(value));
      }),
    );
  });

  it('covers every member of its input, and the arguments', () => {
    const base = actionDigest(input, { path: '/etc/hosts' });
    for (const key of Object.keys(input)) {
      expect(actionDigest({ ...input, [key]: 'other' }, { path: '/etc/hosts' })).not.toBe(base);
    }
    expect(actionDigest(input, { path: '/etc/host' })).not.toBe(base);
  });

  it('never covers what is only shown', () => {
    const withMore = { ...input, description: 'harmless, trust me' };
    expect(actionDigest(withMore, {})).toBe(actionDigest(input, {}));
  });

  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse());
        expect(jcsDigest(reversed as JsonObject)).toBe(jcsDigest(value as JsonObject));
      }),
    );
  });
});

describe('proposalDigest', () => {
  const requirement = (name: string) => ({ stages: [{ groups: [name] }], fourEyes: true }) as unknown as Requirement;

  it('is the JCS digest of its members, for a run and for an answer', () => {
    const text = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(
        text,
        fc.nat(),
        fc.array(text.map(requirement)),
        fc.jsonValue(),
        (id, number, requirements, value) => {
          const [about, output] = [{ approvalId: id, number, requirements }, value as JsonValue];
          const members = about as unknown as JsonObject;
          expect(proposalDigest({ ...about, subject: { kind: 'run', actionDigest: id } })).toBe(
            jcsDigest({ ...members, actionDigest: id }),
          );
          expect(proposalDigest({ ...about, subject: { kind: 'answer', output, salt: 'salt' } })).toBe(
            jcsDigest({ ...members, outputDigest: saltedDigest(jcsDigest(output), 'salt') }),
          );
        },
      ),
    );
  });

  it('is the same for a requirement that it has seen, and another one for an equal proposal with another requirement', () => {
    const subject = { kind: 'run', actionDigest: 'sha256:a' } as const;
    const of = (...requirements: Requirement[]) =>
      proposalDigest({ approvalId: 'apr_1', number: 1, requirements, subject });
    const [one, other] = [requirement('finance'), requirement('ops')];
    expect([of(one), of(requirement('finance'))]).toEqual([of(one), of(one)]);
    expect(new Set([of(one), of(other), of(one, other), of(other, one)]).size).toBe(4);
  });
});
