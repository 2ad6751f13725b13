import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { inheritedEnvironment } from '../../../../test/process/harness/environment.js';

const root = join(import.meta.dirname, '..', '..', '..', '..');

/** The commands of an agent's configuration, and an input of its hooks as it sends them. */
export interface Configuration {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  readonly input: (session: string, command: string) => object;
  readonly result: object;
}

interface Hooks {
  readonly hooks: Readonly<Record<string, readonly unknown[]>>;
}

/** The commands of one event, in each form of a configuration. */
function commandsOf(file: string, event: string): readonly string[] {
  const path = join(root, 'integrations', 'examples', 'coding-agents', file);
  const entries = (JSON.parse(readFileSync(path, 'utf8')) as Hooks).hooks[event] ?? [];
  return JSON.stringify(entries)
    .split(/"(?:command|bash)":/)
    .slice(1)
    .map((rest) => JSON.parse(/^"[^"]*"/.exec(rest)?.[0] ?? '""') as string)
    .filter((command) => command.startsWith('countersign '));
}

function only(file: string, event: string): string {
  const [command, ...more] = commandsOf(file, event);
  if (command === undefined || more.length > 0) throw new Error(`${file} has not exactly one command for ${event}`);
  return command;
}

const claudeInput = (session: string, command: string): object => ({
  session_id: session,
  transcript_path: '/tmp/transcript.jsonl',
  cwd: '/work',
  permission_mode: 'bypassPermissions',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command },
  tool_use_id: `toolu_${command}`,
});

/** Every example that is a file of settings. */
export const configurations: readonly Configuration[] = [
  {
    name: 'claude-code',
    before: only('claude-code/settings.json', 'PreToolUse'),
    after: only('claude-code/settings.json', 'PostToolUse'),
    input: claudeInput,
    result: { hook_event_name: 'PostToolUse', tool_response: { stdout: 'ok' } },
  },
  {
    name: 'codex',
    before: only('codex/hooks.json', 'PreToolUse'),
    after: only('codex/hooks.json', 'PostToolUse'),
    input: (session, command) => ({ ...claudeInput(session, command), turn_id: 'turn_1' }),
    result: { hook_event_name: 'PostToolUse', tool_response: 'ok' },
  },
  {
    name: 'gemini',
    before: only('gemini/settings.json', 'BeforeTool'),
    after: only('gemini/settings.json', 'AfterTool'),
    input: (session, command) => ({
      session_id: session,
      transcript_path: '/tmp/transcript.json',
      cwd: '/work',
      hook_event_name: 'BeforeTool',
      timestamp: '2026-11-25T09:00:00.000Z',
      tool_name: 'run_shell_command',
      tool_input: { command },
    }),
    result: { hook_event_name: 'AfterTool', tool_response: { llmContent: 'ok', returnDisplay: 'ok' } },
  },
  {
    name: 'cursor',
    before: only('cursor/hooks.json', 'preToolUse'),
    after: only('cursor/hooks.json', 'postToolUse'),
    input: (session, command) => ({
      conversation_id: session,
      generation_id: 'g1',
      hook_event_name: 'preToolUse',
      cwd: '/work',
      tool_name: 'Shell',
      tool_input: { command },
    }),
    result: { hook_event_name: 'postToolUse', tool_output: '{"output":"ok","exitCode":0}' },
  },
  {
    name: 'copilot',
    before: only('copilot/hooks.json', 'preToolUse'),
    after: only('copilot/hooks.json', 'postToolUse'),
    input: (session, command) => ({
      sessionId: session,
      timestamp: 1_700_000_000_000,
      cwd: '/work',
      toolName: 'bash',
      toolArgs: { command },
    }),
    result: { toolResult: { resultType: 'success', textResultForLlm: 'ok' } },
  },
];

/** The environment of an agent: `countersign` is on its path, and the server is known. */
export function environmentOf(port: number, dataFolder: string): Record<string, string> {
  const path = [join(root, 'node_modules', '.bin'), process.env['PATH'] ?? ''].join(delimiter);
  return { ...inheritedEnvironment(), PATH: path, COUNTERSIGN_PORT: String(port), COUNTERSIGN_DATA: dataFolder };
}

/** How a hook ended. */
export interface HookEnd {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the command of a configuration in a shell, as agents do. */
export function runHook(command: string, input: object, env: Record<string, string>): Promise<HookEnd> {
  const child = spawn(command, { shell: true, env });
  const read = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (read.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (read.err += text));
  child.stdin.end(JSON.stringify(input));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, ...read });
    });
  });
}
