// The application of `examples/next-chat` without Next: its pages and routes, in a folder from which the agent frameworks are found.
import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { inheritedEnvironment } from '../../../test/process/harness/environment.ts';
import { onCleanup } from '../../../test/process/harness/cleanup.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const example = join(root, 'examples', 'next-chat');
const adapters = join(root, 'integrations', 'adapters');
const folder = join(adapters, 'node_modules', '.cache', `next-chat-${String(process.pid)}`);
/** The adapters are no workspaces, so they are found by their folders. */
const ours = ['ai-sdk', 'langchain'];
const run = promisify(execFile);

const page = `
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { Chat } from './app/chat/[id]/chat';
import { Thread } from './app/langgraph/[id]/thread';
const { kind, ...props } = JSON.parse(document.getElementById('props').textContent);
createRoot(document.getElementById('root')).render(createElement(kind === 'chat' ? Chat : Thread, props));`;

const server = `
import { readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import * as approvals from './app/api/approvals/[...path]/route';
import * as chat from './app/api/chat/route';
import * as langgraph from './app/api/langgraph/route';
import { loadChat } from './lib/chats';
import { runOf, userOf } from './lib/user';
const routes = { '/api/chat': chat, '/api/langgraph': langgraph };
const files = { js: 'text/javascript', css: 'text/css' };
const fetch = async (request) => {
  const { pathname } = new URL(request.url);
  const route = pathname.startsWith('/api/approvals/') ? approvals : routes[pathname];
  if (route) return route[request.method](request);
  const type = files[pathname.split('.')[1]];
  if (type) return new Response(readFileSync('web' + pathname), { headers: { 'content-type': type } });
  const [, kind, id] = pathname.split('/');
  const runId = runOf(userOf(), id);
  const props = JSON.stringify({ kind, id, threadId: id, runId, stored: await loadChat(runId) });
  const html = '<!doctype html><link rel="stylesheet" href="/styles.css"><div id="root"></div><script id="props" type="application/json">'
    + props.replaceAll('<', '\\\\u003c') + '</script><script type="module" src="/page.js"></script>';
  return new Response(html, { headers: { 'content-type': 'text/html' } });
};
serve({ fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log('http://127.0.0.1:' + port));`;

const declarations = `
declare module '*.css';
declare module 'next/navigation' { export function redirect(url: string): never }`;

/** Copies the example. Call it once. */
export function copyExample(): void {
  mkdirSync(folder, { recursive: true });
  onCleanup(() => rmSync(folder, { recursive: true, force: true }));
  for (const part of ['app', 'lib']) cpSync(join(example, part), join(folder, part), { recursive: true });
  writeFileSync(join(folder, 'page.mjs'), page);
  writeFileSync(join(folder, 'server.mjs'), server);
  writeFileSync(join(folder, 'next.d.ts'), declarations);
}

/** Returns the complaints of the compiler, with the example's own options. */
export async function complaintsOfExample(): Promise<string> {
  const { compilerOptions } = JSON.parse(readFileSync(join(example, 'tsconfig.json'), 'utf8')) as {
    compilerOptions: object;
  };
  const paths = Object.fromEntries(
    ours.map((name) => [`@countersign/${name}`, [join(adapters, name, 'dist', 'index.d.ts')]]),
  );
  const types = [join(root, 'node_modules', '@types', 'node')];
  const more = { incremental: false, plugins: [], paths, types };
  const config = {
    compilerOptions: { ...compilerOptions, ...more },
    include: ['app', 'lib', 'next.d.ts'],
    exclude: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const compiler = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
  return run(process.execPath, [compiler, '-p', folder], { cwd: folder }).then(
    () => '',
    (error: unknown) => (error as { stdout: string }).stdout,
  );
}

/** Bundles the pages and the routes, and serves them. Returns the address, and what the server printed. */
export async function serveExample(env: Readonly<Record<string, string>>) {
  // One React for the page and for the card.
  const alias = {
    react: join(root, 'node_modules', 'react'),
    'react-dom': join(root, 'node_modules', 'react-dom'),
    ...Object.fromEntries(ours.map((name) => [`@countersign/${name}`, join(adapters, name, 'dist', 'index.js')])),
  };
  const common = { resolve: { alias }, transform: { define: { 'process.env.NODE_ENV': '"production"' } } };
  const builds = [
    { ...common, input: 'page.mjs', platform: 'browser', output: { dir: 'web' } },
    { ...common, input: 'server.mjs', platform: 'node', output: { dir: 'server' } },
  ];
  writeFileSync(join(folder, 'rolldown.config.mjs'), `export default ${JSON.stringify(builds)};`);
  const bundler = join(root, 'node_modules', 'rolldown', 'bin', 'cli.mjs');
  await run(process.execPath, [bundler, '--config'], { cwd: folder });
  cpSync(join(root, 'libs', 'react', 'styles.css'), join(folder, 'web', 'styles.css'));
  cpSync(join(root, 'libs', 'react', 'style'), join(folder, 'web', 'style'), { recursive: true });
  const child = spawn(process.execPath, ['server/server.js'], {
    cwd: folder,
    env: { ...inheritedEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onCleanup(() => void child.kill());
  const printed: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the server of the example ended with ${String(code)}`)));
    createInterface(child.stdout).on('line', (line) => {
      printed.push(line);
      resolve(printed[0] ?? '');
    });
  });
  return { url, printed };
}
