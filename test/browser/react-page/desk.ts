import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { approvalsHandler, createFrontEnd } from '@countersign/api-client';
import { temporaryFolder } from '../../process/harness/cleanup.js';

const root = join(import.meta.dirname, '..', '..', '..');
const nodeModules = join(root, 'node_modules');
const styles = join(root, 'libs', 'react');
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'";
const htmlOf = (script: string): string =>
  `<!doctype html><html lang="en"><title>Desk</title><link rel="stylesheet" href="/styles.css"><main id="desk"></main><script type="module" src="/js/${script}.js"></script></html>`;

/** An application with users of its own. */
export interface Desk {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/**
 * Starts an application whose users `kim` and `mo` are signed in by a cookie, with a strict content security policy.
 *
 * @param modules the folder with the `react` of the pages; default: the one of this repository
 */
export async function openDesk(countersign: string, token: string, modules = nodeModules): Promise<Desk> {
  const scripts = await bundled(modules);
  const handler = approvalsHandler({
    frontEnd: createFrontEnd({ url: countersign, token }),
    person: ({ headers }) => {
      const id = /^user=(kim|mo)$/.exec(headers.get('cookie') ?? '')?.[1];
      return id === undefined ? null : { id, groups: ['support'] };
    },
  });
  const send = (reply: ServerResponse, type: string, text: string): void => {
    reply.writeHead(200, { 'content-type': type, 'content-security-policy': policy }).end(text);
  };
  const server = createServer((request, reply) => {
    const { pathname } = new URL(request.url ?? '/', 'http://desk');
    const script = /^\/js\/[\w-]+\.js$/.test(pathname)
      ? readFileSync(join(scripts, pathname.slice(4)), 'utf8')
      : undefined;
    if (pathname.startsWith('/api/approvals/')) void pass(request, reply, handler);
    else if (script !== undefined) send(reply, 'text/javascript', script);
    else if (pathname.endsWith('.css')) send(reply, 'text/css', readFileSync(join(styles, pathname), 'utf8'));
    else send(reply, 'text/html', htmlOf(pathname === '/headless' ? 'headless' : 'page'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** In a process of its own: the bundler does not run in the realm of a spec. */
async function bundled(modules: string): Promise<string> {
  const folder = temporaryFolder();
  const rolldown = join(nodeModules, 'rolldown', 'bin', 'cli.mjs');
  const config = join(import.meta.dirname, 'rolldown.config.mjs');
  await promisify(execFile)(process.execPath, [rolldown, '--config', config, '--dir', folder, '--minify'], {
    cwd: root,
    env: { ...process.env, REACT_MODULES: modules },
  });
  return folder;
}

async function pass(
  request: IncomingMessage,
  reply: ServerResponse,
  handler: (request: Request) => Promise<Response>,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const answer = await handler(
    new Request(`http://${request.headers.host ?? ''}${request.url ?? ''}`, {
      method: request.method ?? 'GET',
      headers: Object.entries(request.headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as [string, string]] : [],
      ),
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    }),
  );
  reply.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
}
