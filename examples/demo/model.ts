// The model: a script, so that the demo needs no key and does the same each time. All that it asks for is real.
import type { JsonObject } from '@countersign/worker-sdk';

export interface Turn {
  readonly says: string;
  readonly toolCalls: readonly {
    readonly toolCallId: string;
    readonly toolName: string;
    readonly arguments: JsonObject;
  }[];
}

export function script(sitePort: number): readonly Turn[] {
  const port = String(sitePort);
  return [
    turn(1, 'I look around; that needs no approval.', [
      ['list_files', { path: '.' }],
      ['write_file', { path: 'notes/plan.md', content: '1. report\n2. clean up\n3. refund\n' }],
      ['web_fetch', { url: `http://docs.example.test:${port}/refunds` }],
      ['execute_sql', { sql: 'SELECT id, customer, status FROM orders' }],
    ]),
    turn(2, 'Now the things that a person has to agree to.', [
      ['write_file', { path: '../outside/report.md', content: 'All is well.\n' }],
      ['write_file', { path: 'shortcut/hidden.md', content: 'The link leads out of the workspace.\n' }],
      ['delete_file', { path: '../outside/precious.txt' }],
      ['web_fetch', { url: `http://News.Example.Test:${port}/today` }],
      ['add_domain', { domain: 'news.example.test' }],
      ['execute_sql', { sql: "UPDATE orders SET status = 'refunded' WHERE id = 1" }],
    ]),
    turn(3, 'I read the news again: free if the domain was opened, else I have to ask again.', [
      ['web_fetch', { url: `http://news.example.test:${port}/today` }],
      ['execute_sql', { sql: 'SELECT id, status FROM orders WHERE id = 1' }],
    ]),
  ];
}

function turn(number: number, says: string, calls: readonly (readonly [string, JsonObject])[]): Turn {
  return {
    says,
    toolCalls: calls.map(([toolName, args], index) => ({
      toolCallId: `turn-${String(number)}-call-${String(index + 1)}`,
      toolName,
      arguments: args,
    })),
  };
}
