import { describe, expect, it } from '@jest/globals';
import { chainWords, requesterWords, responderWords } from './people-words.js';

describe('the people of a card', () => {
  it('names a delegate and the person whose vote it is', () => {
    expect(responderWords({ respondedBy: 'bob', onBehalfOf: 'alice' })).toBe('bob for alice');
    expect(responderWords({ respondedBy: 'bob', onBehalfOf: null })).toBe('bob');
    const called = { respondedBy: 'desk#eve', respondedByName: 'alice, admin', onBehalfOf: null };
    expect(responderWords(called)).toBe('desk#eve (called "alice, admin")');
  });

  it('names the owner of an agent, and marks the person for whom it acts as its own claim', () => {
    const request = { requestedBy: 'billing', owner: 'carol', onBehalfOf: 'dave' };
    expect(requesterWords(request)).toBe('billing (owner carol, says it acts for dave)');
    expect(requesterWords({ ...request, owner: null, onBehalfOf: null })).toBe('billing');
  });

  it('shows the calls around a nested call, who else asked for one, and for whom', () => {
    const outer = {
      agentId: 'planner',
      toolName: 'delegate',
      runId: 'r1',
      requestedBy: 'team',
      owner: null,
      onBehalfOf: 'dave',
    };
    const inner = {
      agentId: 'researcher',
      toolName: 'search',
      runId: 'r2',
      requestedBy: 'other',
      owner: 'carol',
      onBehalfOf: null,
    };
    expect(chainWords([outer, inner], 'team')).toBe(
      'delegate of planner in run r1 (says it acts for dave) › search of researcher in run r2 (asked by other, owner carol)',
    );
  });

  it.each([
    ['billing (owner carol)', '"billing (owner carol)"'],
    ['bob for alice', '"bob for alice"'],
    ['a, requested by alice', '"a, requested by alice"'],
    ['x" of planner', '"x\\" of planner"'],
    ['staging，cwd：/srv/prod', '"staging，cwd：/srv/prod"'],
    ['a；b', '"a；b"'],
    ['a、b', '"a、b"'],
    ['a（owner carol）', '"a（owner carol）"'],
    ['a“b', '"a“b"'],
    ['a‚b', '"a⟦U+201A⟧b"'],
    ['o’brien', 'o’brien'],
    ['col·lector', 'col·lector'],
    ['', '""'],
    ['support-desk#kim@corp', 'support-desk#kim@corp'],
  ])('quotes a name that could be read as a part of the sentence: %s', (name, quoted) => {
    expect(responderWords({ respondedBy: name, onBehalfOf: null })).toBe(quoted);
    expect(requesterWords({ requestedBy: 'agent', owner: null, onBehalfOf: name })).toBe(
      `agent (says it acts for ${quoted})`,
    );
  });

  it('shows characters that would not be visible', () => {
    expect(responderWords({ respondedBy: 'bob\u202e', onBehalfOf: 'al\u200bice' })).not.toMatch(/[\u202e\u200b]/);
  });
});
