import { expect, it } from '@jest/globals';
import type { Approval } from '@countersign/domain';
import { createPolicies } from '@countersign/policy';
import { votersOf } from './voters.js';

it('a process without a tokens file counts no vote for which a front end vouched', () => {
  const vote = (respondedBy: string, via: string) => ({
    ...{ status: 'counted', automatic: false, onBehalfOf: null, groups: ['support'] },
    ...{ respondedBy, via },
  });
  const votes = [vote('desk#kim', 'desk'), vote('bob', 'api'), vote('team#1', 'api')];
  const { voters = [] } = votersOf({ policies: createPolicies([]) }, 'default', { votes } as unknown as Approval, 0);
  expect(voters.map(({ respondedBy, groups }) => [respondedBy, groups])).toEqual([
    ['desk#kim', null],
    ['bob', ['support']],
    ['team#1', ['support']],
  ]);
});
