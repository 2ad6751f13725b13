import { describe, expect, it } from '@jest/globals';
import { loadPolicy } from '@countersign/policy';
import { createTokens } from './tokens.js';

const name = 'op\u200bs';
const remedy = 'contains the invisible character U+200B; remove it';

describe('a name with an invisible character', () => {
  it.each([
    ['0.principal', { principal: name }],
    ['0.groups.0', { groups: [name] }],
    ['0.owner', { owner: name }],
  ])('is refused in the tokens file at %s', (path, change) => {
    const entry = { token: 't', principal: 'billing', roles: ['agent'], ...change };
    expect(() => createTokens([entry])).toThrow(`${path}: ${remedy}`);
  });

  it.each([
    ['approvers.0.id', `approvers: [{ id: "${name}", groups: [a] }]`],
    ['approvers.0.groups.0', `approvers: [{ id: ann, groups: ["${name}"] }]`],
    ['rules.0.then.require.anyOf.0', `rules: [{ id: a, then: { require: { anyOf: ["${name}"] } } }]`],
    [
      'rules.0.then.require.quorum.of.0',
      `rules: [{ id: a, then: { require: { quorum: { approve: 1, of: ["${name}"] } } } }]`,
    ],
  ])('is refused in the policy file at %s', (path, text) => {
    expect(() => loadPolicy('policy.yaml', `version: 1\n${text}\n`)).toThrow(`${path}: ${remedy}`);
  });
});
