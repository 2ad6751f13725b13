// A local HTTP server in the place of a vendor's model. The model follows a script.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer, Api, Asked, Body, Step } from './api.ts';

/** Returns the next step. `told` is what the tools of the last step returned; it is empty before the first step. */
export type Script = (told: string) => Step | Promise<Step>;

export interface ModelServer {
  readonly url: string;
  /** One line for each request, for the report of a failed check. */
  readonly requests: readonly string[];
  readonly close: () => Promise<void>;
}

/** The arguments of the tools that run a command, by name. An agent has one or more of them. */
const shellTools: Readonly<Record<string, (command: string) => object>> = {
  Bash: (command) => ({ command, description: 'Writes the marker' }),
  run_shell_command: (command) => ({ command, description: 'Writes the marker' }),
  exec_command: (cmd) => ({ cmd }),
  shell_command: (command) => ({ command }),
  shell: (command) => ({ command: ['sh', '-c', command] }),
  bash: (command) => ({ command, description: 'Writes the marker' }),
};

/** Starts a server on a free port of this machine. */
export async function startModel(api: Api, script: Script): Promise<ModelServer> {
  const requests: string[] = [];
  let calls = 0;
  const answerTo = async ({ told, tools }: Asked): Promise<Answer> => {
    const tool = Object.keys(shellTools).find((name) => tools.includes(name));
    // The agent also asks for a title, outside the conversation.
    if (tool === undefined) return api.say('A title');
    const step = await script(told);
    if ('say' in step) return api.say(step.say);
    calls += 1;
    return api.call({ id: String(calls), name: tool, args: shellTools[tool]?.(step.run) ?? {} });
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '/', 'http://model');
    const text = await textIn(request);
    const asked = request.method === 'POST' ? api.read(pathname, parse(text)) : undefined;
    requests.push(`${request.method ?? ''} ${pathname}: ${asked === undefined ? '404' : JSON.stringify(asked)}`);
    if (asked === undefined) return sendJson(response, 404, { error: { message: `no ${pathname} here` } });
    const answer = await answerTo(asked);
    if (!asked.isStreamed) return sendJson(response, 200, answer.whole);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const { event, data } of answer.events) {
      const name = event === undefined ? '' : `event: ${event}\n`;
      response.write(`${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    }
    response.end();
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      requests.push(`the script failed: ${String(error)}`);
      if (response.headersSent) response.destroy();
      else sendJson(response, 400, { error: { message: String(error) } });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function textIn(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): Body {
  try {
    return JSON.parse(text) as Body;
  } catch {
    return {};
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
