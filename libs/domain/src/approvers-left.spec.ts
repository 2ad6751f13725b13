import { describe, expect, it } from '@jest/globals';
import { firstStageShortOf } from './shortage.js';
import { stageWithoutApprovers } from './step.questions.js';
import { requirement, stage } from './testing/fixtures.js';

const person = (name: string, ...groups: string[]) => ({ names: [name, `${name}@example.com`], groups });
const people = [person('alice', 'ops'), person('bob', 'ops', 'security'), person('carol', 'security')];
const asked = requirement({ stages: [stage({ groups: ['ops'] }), stage({ groups: ['security'] })] });
const agent = { requestedBy: 'agent' };
const link = { callId: 'tc_1', agentId: 'planner', toolName: 'plan', runId: 'run', requestedBy: 'planner' };

describe('the approvers that a request leaves', () => {
  it('are enough where the agent names somebody, and others can satisfy every stage', () => {
    expect(stageWithoutApprovers(asked, { ...agent, onBehalfOf: 'alice' }, people)).toBeUndefined();
  });

  it.each([
    ['the person and the calls around it', { onBehalfOf: 'alice', chain: [{ ...link, owner: 'bob' }] }, 0],
    ['other names of the same people', { onBehalfOf: 'Bob@example.com', chain: [{ ...link, onBehalfOf: 'carol' }] }, 1],
  ])('are too few where %s exclude all of a stage', (_, more, index) => {
    expect(stageWithoutApprovers(asked, { ...agent, ...more }, people)).toBe(index);
  });

  it('are enough where a stage asks the people of a front end, of whom there may be any number', () => {
    const crowd = { names: [], groups: ['support'], isMany: true as const };
    const stages = (groups: string[], approve = 9) => requirement({ stages: [stage({ approve, groups })] });
    expect(firstStageShortOf(stages(['support']), people)).toMatchObject({ stage: 0 });
    expect(firstStageShortOf(stages(['support']), [...people, crowd])).toBeUndefined();
    expect(firstStageShortOf(stages(['ops', 'support']), [...people, crowd])).toBeUndefined();
    expect(firstStageShortOf(stages(['security']), [...people, crowd])).toMatchObject({ stage: 0 });
    const named = { ...agent, onBehalfOf: 'alice', chain: [{ ...link, owner: 'bob' }] };
    expect(stageWithoutApprovers(stages(['ops'], 1), named, [...people, crowd])).toBe(0);
    expect(stageWithoutApprovers(stages(['ops', 'support'], 1), named, [...people, crowd])).toBeUndefined();
  });

  it('are too few for a quorum of which the agent leaves one person', () => {
    const two = requirement({ stages: [stage({ approve: 2, groups: ['ops'] })] });
    expect(stageWithoutApprovers(two, { ...agent, onBehalfOf: 'alice' }, people)).toBe(0);
  });

  it('are too few where one group of an all-of stage has none', () => {
    const both = requirement({ stages: [stage({ mode: 'all-of', groups: ['ops', 'security'] })] });
    const names = { onBehalfOf: 'carol', chain: [{ ...link, owner: 'bob' }] };
    expect(stageWithoutApprovers(both, { ...agent, ...names }, people)).toBe(0);
  });

  it('are too few where one person would be needed in two stages', () => {
    const twice = requirement({ stages: [stage({ groups: ['security'] }), stage({ groups: ['security'] })] });
    expect(stageWithoutApprovers(twice, { ...agent, onBehalfOf: 'carol' }, people)).toBe(1);
  });

  it('are too few where two of them are one person', () => {
    const two = requirement({ stages: [stage({ approve: 2, groups: ['security'] })] });
    const again = { names: ['bob@example.com', 'bob'], groups: ['security'] };
    expect(stageWithoutApprovers(two, { ...agent, onBehalfOf: 'carol' }, [...people, again])).toBe(0);
  });

  it('are too few where the agent excludes the only one of a quorum that cannot be filled', () => {
    const two = requirement({ stages: [stage({ approve: 2, groups: ['security'] })] });
    expect(stageWithoutApprovers(two, { ...agent, onBehalfOf: 'carol' }, people.slice(0, 1))).toBeUndefined();
    expect(stageWithoutApprovers(two, { ...agent, onBehalfOf: 'carol' }, people.slice(2))).toBe(0);
  });

  it('are not asked about where the agent chose no name, where four eyes is off, or where nobody could anyway', () => {
    expect(stageWithoutApprovers(asked, { ...agent, owner: 'alice' }, people.slice(0, 1))).toBeUndefined();
    const chosen = { ...agent, onBehalfOf: 'alice', chain: [{ ...link, owner: 'bob' }] };
    expect(stageWithoutApprovers({ ...asked, fourEyes: false }, chosen, people)).toBeUndefined();
    expect(stageWithoutApprovers(asked, { ...agent, onBehalfOf: 'alice' }, [])).toBeUndefined();
  });
});
