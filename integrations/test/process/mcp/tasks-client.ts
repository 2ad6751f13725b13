import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { onCleanup } from '../../../../test/process/harness/cleanup.js';
import { inheritedEnvironment } from '../../../../test/process/harness/environment.js';
import { eventually } from '../../../../test/process/harness/wait.js';
import { gateBefore } from './mcp-client.js';

type Members = Readonly<Record<string, unknown>>;
const server = join(import.meta.dirname, 'tasks-server', 'main.ts');

/** A client of version 2026-07-28 that takes tasks, before a gate with a server that makes a task of each call of `pay`. */
export async function connectTasks(
  file: string,
  env: Readonly<Record<string, string>>,
  options: readonly string[] = [],
) {
  const [command = '', ...args] = gateBefore([process.execPath, server, '--stdio', file], options);
  const all = { ...inheritedEnvironment(), ...env };
  const transport = new StdioClientTransport({ command, args, env: all, stderr: 'inherit' });
  onCleanup(() => transport.close());
  const replies = new Map<unknown, Members>();
  transport.onmessage = (message) => {
    if ('id' in message) replies.set(message.id, { ...message });
  };
  await transport.start();
  let count = 0;
  const ask = async (method: string, params: Members): Promise<Members> => {
    const id = (count += 1);
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    };
    await transport.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta } });
    const { result, error } = await eventually(`a reply to ${method}`, () => replies.get(id));
    return { ...(result as Members | undefined), ...(error as Members | undefined) };
  };
  const pay = (euros: number, more: Members = {}) => ask('tools/call', { name: 'pay', arguments: { euros, ...more } });
  const completed = (taskId: unknown): Promise<Members> =>
    eventually('the end of the task', async () => {
      const task = await ask('tasks/get', { taskId });
      return task['status'] === 'working' ? undefined : task;
    });
  return { ask, pay, completed, pid: transport.pid ?? 0, close: () => transport.close() };
}
