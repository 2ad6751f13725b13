import { describe, expect, it } from '@jest/globals';
import type { AgentName } from './agents/agents.js';
import { bash, open, post } from './testing/hook-place.js';

const gemini = (event: string): object => ({
  session_id: 's1',
  hook_event_name: event,
  tool_name: 'run_shell_command',
  tool_input: { command: 'make' },
});
const cursor = (event: string): object => ({ ...gemini(event), conversation_id: 's1' });

describe('the input of a hook', () => {
  it('is denied when it is not UTF-8, so that an approval fits no other bytes', async () => {
    const { before, asked } = open();
    const [start = '', end = ''] = JSON.stringify(bash('t1', 'rm @')).split('@');
    const answer = await before(Buffer.concat([Buffer.from(start), Buffer.from([0xff]), Buffer.from(end)]));
    expect(answer).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('cannot be read: it is not UTF-8') });
    expect(asked).toEqual([]);
  });

  it.each<readonly [AgentName, object, string]>([
    ['claude-code', { ...bash('t1'), tool_input: undefined }, 'tool_input'],
    ['gemini', { ...gemini('BeforeTool'), tool_input: undefined }, 'tool_input'],
    ['copilot', { sessionId: 's1', toolName: 'bash' }, 'toolArgs'],
  ])('of %s is denied without arguments', async (name, input, field) => {
    const { before, asked } = open(name);
    expect((await before(input)).stderr).toContain(`"${field}" in the input of the hook is not an object`);
    expect(asked).toEqual([]);
  });
});

const events: readonly (readonly [AgentName, object, object])[] = [
  ['claude-code', bash('t1'), post('t1', {})],
  ['claude-code', bash('t1'), post('t1', { hook_event_name: 'PostToolUseFailure' })],
  ['codex', bash('t1'), post('t1', {})],
  ['gemini', gemini('BeforeTool'), gemini('AfterTool')],
  ['cursor', cursor('preToolUse'), cursor('postToolUse')],
];

describe('a hook that is configured for the wrong event', () => {
  it.each(events)('of %s denies with --post before a tool', async (name, input) => {
    const { after } = open(name);
    const answer = await after(input);
    expect(answer).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Remove --post') });
    expect(answer.stdout).toMatch(/"(decision|permission|permissionDecision)":"deny"/);
  });

  it.each(events)('of %s asks no person without --post after a tool', async (name, _before, input) => {
    const { before, asked } = open(name);
    expect(await before(input)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Add --post') });
    expect(asked).toEqual([]);
  });
});
