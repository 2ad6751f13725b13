import { describe, expect, it } from '@jest/globals';
import { createGroupsOf } from './approver-groups.js';
import { createTokens } from './tokens.js';

const tokens = createTokens([
  { token: 'a'.repeat(32), principal: 'ann', roles: ['approver'], groups: ['ops'], tenant: 'default' },
  { token: 'b'.repeat(32), principal: 'aud', roles: ['auditor'], groups: ['audit'], tenant: 'default' },
  { token: 'c'.repeat(32), principal: 'other', roles: ['approver'], groups: ['theirs'], tenant: 'other' },
]);
const channels = { people: [{ principal: 'bob', groups: ['security'], tenant: 'default' }] } as never;

describe('the groups that approvers have', () => {
  it('are those of the tokens with the role approver, and of the people of the channels file', () => {
    const groupsOf = createGroupsOf({ tokens: () => tokens, channels, hasOidc: false });
    expect([...(groupsOf('default') ?? [])]).toEqual(['ops', 'security']);
    expect([...(groupsOf('other') ?? [])]).toEqual(['theirs']);
  });

  it('are none before the first start made the tokens', () => {
    const groupsOf = createGroupsOf({ tokens: () => undefined, channels: undefined, hasOidc: false });
    expect(groupsOf('default')).toEqual(new Set());
  });

  it('are not known where people sign in at an OIDC provider', () => {
    expect(createGroupsOf({ tokens: () => tokens, channels, hasOidc: true })('default')).toBeNull();
  });
});
