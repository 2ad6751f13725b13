import { describe, expect, it } from '@jest/globals';
import { matchWords, rememberWords, scopeWords } from './grant-words.js';

const call = { toolName: 'delete_file', agentId: 'janitor', runId: 'run-1' };

describe('a grant in words', () => {
  it('explains "always": the duration, the agent, the arguments and the number of uses', () => {
    expect(rememberWords({ match: 'exact', scope: 'run', expiresInMs: 3_600_000, maxUses: 1 }, call)).toBe(
      'For 1 hour, calls of delete_file by agent janitor in run run-1 with exactly these arguments run without an ' +
        'approval, at most 1 time. A call in another folder, or of another MCP server, is not covered. ' +
        'A rule that blocks, or that needs several people, still holds. You can end it at any time under Grants.',
    );
    expect(rememberWords({ match: 'tool', scope: 'agent', expiresInMs: 86_400_000 }, call)).toContain(
      'For 1 day, calls of delete_file by agent janitor in every run with any arguments run without an approval.',
    );
  });

  it('names the arguments and the place of a recorded grant', () => {
    expect(matchWords({ any: true })).toBe('any arguments');
    expect(matchWords({ when: 'args.amount < 50' })).toBe('arguments where args.amount < 50');
    const scope = { agentId: null, requestedBy: null, runId: 'run-1', labels: null };
    expect(scopeWords(scope)).toBe('every agent in run run-1');
    expect(scopeWords({ ...scope, agentId: 'a in run run-2' })).toBe('agent "a in run run-2" in run run-1');
    expect(scopeWords({ ...scope, labels: { cwd: '/srv' } })).toBe('every agent in run run-1, cwd: /srv');
  });
});
