import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@countersign/contracts';
import { failure, written } from '../hook.js';
import { agentNames, codingAgents, type AgentName } from './agents.js';

interface Recorded {
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly failed: JsonObject;
  readonly id: string | undefined;
  /** The output for an allowed call, for one with an edit, for a denied one. */
  readonly allow: JsonObject | null;
  readonly edit: JsonObject;
  readonly deny: JsonObject;
  readonly failureCode: number;
}

const claude = { session_id: 's', cwd: '/w', tool_name: 'T', tool_input: { a: 1 }, tool_use_id: 'toolu_1' };
const specific = (more: JsonObject): JsonObject => ({
  hookSpecificOutput: { hookEventName: 'PreToolUse', ...more },
});
const claudeDeny = specific({ permissionDecision: 'deny', permissionDecisionReason: 'no' });
const claudeAllow = { permissionDecision: 'allow', permissionDecisionReason: 'allowed by Countersign' };

const recorded: Record<AgentName, Recorded> = {
  'claude-code': {
    before: { ...claude, hook_event_name: 'PreToolUse', permission_mode: 'default', transcript_path: '/t' },
    after: { ...claude, hook_event_name: 'PostToolUse', tool_response: { stdout: 'x' } },
    failed: { ...claude, hook_event_name: 'PostToolUseFailure', error: 'exit 1' },
    id: 'toolu_1',
    allow: specific(claudeAllow),
    edit: specific({ ...claudeAllow, updatedInput: { a: 2 } }),
    deny: claudeDeny,
    failureCode: 2,
  },
  codex: {
    before: { ...claude, hook_event_name: 'PreToolUse', turn_id: 't1' },
    after: { ...claude, hook_event_name: 'PostToolUse', tool_response: { stdout: 'x' } },
    failed: {},
    id: 'toolu_1',
    allow: null,
    edit: specific({ ...claudeAllow, updatedInput: { a: 2 } }),
    deny: claudeDeny,
    failureCode: 2,
  },
  gemini: {
    before: { session_id: 's', cwd: '/w', hook_event_name: 'BeforeTool', tool_name: 'T', tool_input: { a: 1 } },
    after: { session_id: 's', tool_name: 'T', tool_input: { a: 1 }, tool_response: { stdout: 'x' } },
    failed: { session_id: 's', tool_name: 'T', tool_input: { a: 1 }, tool_response: { error: 'exit 1' } },
    id: undefined,
    allow: { decision: 'allow' },
    edit: { decision: 'allow', hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: { a: 2 } } },
    deny: { decision: 'deny', reason: 'no' },
    failureCode: 2,
  },
  opencode: {
    before: { sessionID: 's', cwd: '/w', tool: 'T', callID: 'c1', args: { a: 1 } },
    after: { sessionID: 's', tool: 'T', callID: 'c1', args: { a: 1 }, output: { stdout: 'x' } },
    failed: { sessionID: 's', tool: 'T', callID: 'c1', args: { a: 1 }, error: 'exit 1' },
    id: 'c1',
    allow: { decision: 'allow' },
    edit: { decision: 'allow', args: { a: 2 } },
    deny: { decision: 'deny', reason: 'no' },
    failureCode: 2,
  },
  cursor: {
    before: { conversation_id: 's', cwd: '/w', hook_event_name: 'preToolUse', tool_name: 'T', tool_input: { a: 1 } },
    after: { conversation_id: 's', tool_name: 'T', tool_input: '{"a":1}', tool_output: { stdout: 'x' } },
    failed: { conversation_id: 's', tool_name: 'T', tool_input: { a: 1 }, error_message: 'exit 1' },
    id: undefined,
    allow: { permission: 'allow' },
    edit: { permission: 'allow', updated_input: { a: 2 } },
    deny: { permission: 'deny', user_message: 'no', agent_message: 'no' },
    failureCode: 2,
  },
  copilot: {
    before: { sessionId: 's', cwd: '/w', timestamp: 1, toolName: 'T', toolArgs: '{"a":1}' },
    after: { sessionId: 's', toolName: 'T', toolArgs: { a: 1 }, toolResult: { stdout: 'x' } },
    failed: { sessionId: 's', toolName: 'T', toolArgs: { a: 1 }, error: 'exit 1' },
    id: undefined,
    allow: claudeAllow,
    edit: { ...claudeAllow, modifiedArgs: { a: 2 } },
    deny: { permissionDecision: 'deny', permissionDecisionReason: 'no' },
    failureCode: 0,
  },
};

describe.each(agentNames)('%s', (name) => {
  const agent = codingAgents[name];
  const { before, after, failed, id, allow, edit, deny, failureCode } = recorded[name];

  it('reads the call before the tool', () => {
    expect(agent.readCall(before)).toEqual({ sessionId: 's', toolName: 'T', args: { a: 1 }, id, cwd: '/w' });
  });

  it('reads how the tool ended', () => {
    const call = { sessionId: 's', toolName: 'T', args: { a: 1 } };
    expect(agent.readEnd(after)).toMatchObject({ call, status: 'succeeded', result: { stdout: 'x' } });
    if (Object.keys(failed).length === 0) return;
    expect(agent.readEnd(failed)).toMatchObject({ call, status: 'failed', result: 'exit 1' });
  });

  it('writes each decision in the form of the agent', () => {
    expect(written(agent, { type: 'allow' })).toEqual(allow);
    expect(written(agent, { type: 'allow', args: { a: 2 } })).toEqual(edit);
    expect(written(agent, { type: 'deny', reason: 'no' })).toEqual(deny);
  });

  it('never lets a tool run that is deferred', () => {
    const deferred = JSON.stringify(written(agent, { type: 'defer' }));
    expect(deferred).toMatch(name === 'claude-code' ? /"permissionDecision":"defer"/ : /"deny"/);
  });

  it('writes a failure as a denial', () => {
    const answer = failure(agent, 'no');
    expect(answer).toMatchObject({ stderr: 'no', exitCode: failureCode });
    expect(JSON.parse(answer.stdout)).toEqual(deny);
  });

  it('has a place for a note to the model after the tool', () => {
    expect(JSON.stringify(agent.note('look'))).toContain('"look"');
  });
});
