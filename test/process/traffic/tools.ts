import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { JsonObject } from '@countersign/contracts';
import { onCleanup } from '../harness/cleanup.js';
import type { Execution } from './journal.js';

/** The tools that the service itself executes; each of their executions is counted outside of it. */
export interface CountedTools {
  readonly toolsFile: string;
  /** Every execution so far of the module tools and of the http tools. */
  readonly executions: () => readonly Execution[];
}

export const moduleTool = 'write_line';
export const moduleToolWithoutApproval = 'write_line_freely';
export const httpToolOnce = 'post_once';
export const httpToolAgain = 'post_again';

/** Writes a tools file and what it names into a folder, and starts the server that the http tools call. */
export async function countedTools(folder: string): Promise<CountedTools> {
  const lines = join(folder, 'executions.jsonl');
  const received: Execution[] = [];
  const port = await startToolServer(received);
  const module = join(folder, 'write-line.mjs');
  writeFileSync(module, moduleSource(lines));
  const url = (path: string): string => `http://127.0.0.1:${port}/${path}`;
  const http = { allowPrivateNetwork: true, timeoutMs: 2000 };
  const tools = [
    { name: moduleTool, module },
    { name: moduleToolWithoutApproval, module, needsApproval: false },
    { name: httpToolOnce, needsApproval: false, http: { ...http, url: url('once') } },
    { name: httpToolAgain, needsApproval: false, idempotent: true, http: { ...http, url: url('again') } },
  ];
  const toolsFile = join(folder, 'tools.json');
  writeFileSync(toolsFile, JSON.stringify({ tools }));
  return { toolsFile, executions: () => [...readLines(lines), ...received] };
}

/** One line per execution, in one append to the file, so that a kill truncates none. */
function moduleSource(lines: string): string {
  return `
    import { appendFileSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    export default {
      inputSchema: { type: 'object', required: ['path'], properties: { path: { type: 'string' } } },
      async execute(args, { callId, idempotencyKey }) {
        const line = { by: 'module', callId, attempt: null, arguments: args, idempotencyKey, atMs: Date.now() };
        appendFileSync(${JSON.stringify(lines)}, JSON.stringify(line) + '\\n');
        await sleep(args.path.length % 8);
        return { written: args.path };
      },
    };
  `;
}

function readLines(file: string): readonly Execution[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Execution);
}

async function startToolServer(received: Execution[]): Promise<number> {
  const server = createServer((request, response) => {
    answerTool(request, response, received).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onCleanup(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface ToolRequest {
  readonly callId: string;
  readonly attempt: number;
  readonly arguments: JsonObject;
}

/** Counts first, then responds, refuses, or breaks the connection: the caller cannot know which happened. */
async function answerTool(request: IncomingMessage, response: ServerResponse, received: Execution[]): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { callId, attempt, arguments: args } = JSON.parse(Buffer.concat(chunks).toString()) as ToolRequest;
  const idempotencyKey = String(request.headers['idempotency-key']);
  received.push({ by: 'http', callId, attempt, arguments: args, idempotencyKey, atMs: Date.now() });
  switch (received.length % 12) {
    case 0:
      request.socket.destroy();
      return;
    case 1:
      response.writeHead(422, { 'content-type': 'application/json' }).end('{"why":"out of paper"}');
      return;
    default:
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}');
  }
}
