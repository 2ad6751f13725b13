import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { onCleanup, temporaryFolder } from '../../process/harness/cleanup.js';
import { install } from '../../process/harness/standalone.js';
import type { Installation } from '../../process/harness/standalone.js';
import { launchChromium } from './chromium.js';
import type { SceneCall } from './scenes.js';

const roles = { person: ['approver', 'auditor', 'admin'], approver: ['approver'] };

/** The people with tokens; the first three are those of a first start. */
export const tokenOf = {
  agent: 'agent-token',
  me: 'me-token',
  worker: 'worker-token',
  ann: 'ann-token',
  bob: 'bob-token',
  auditor: 'auditor-token',
} as const;

/** The token of an application that speaks for its own people. */
export const tokenOfDesk = 'desk-token';

const entries = [
  { token: tokenOf.agent, principal: 'agent', roles: ['agent'], agentIds: ['*'] },
  { token: tokenOf.me, principal: 'me', roles: roles.person },
  { token: tokenOf.worker, principal: 'worker', roles: ['resolver'] },
  { token: tokenOf.ann, principal: 'ann', roles: roles.approver, groups: ['ops'] },
  { token: tokenOf.bob, principal: 'bob', roles: roles.approver },
  { token: tokenOf.auditor, principal: 'auditor', roles: ['auditor'] },
  { token: tokenOfDesk, principal: 'support-desk', roles: ['front-end'], people: { groups: ['support'] } },
];

/** An installation with people, and what a spec does to it from outside. */
export interface World extends Installation {
  readonly url: string;
  readonly tokensFile: string;
  /** Requests calls of one run as `agent`; returns their approvals. */
  readonly ask: (calls: readonly Partial<SceneCall>[], more?: Readonly<Record<string, unknown>>) => Promise<Asked[]>;
  /** Calls the API as a person. */
  readonly send: <T = Record<string, unknown>>(
    as: keyof typeof tokenOf,
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
  ) => Promise<T>;
}

/** A call that was asked for. */
export interface Asked {
  readonly callId: string;
  readonly runId: string;
  readonly state: string;
  readonly approval: { readonly approvalId: string } | null;
}

let runs = 0;

/** Starts Countersign with people on its own folder. */
export async function openWorld(env: Readonly<Record<string, string>> = {}, port?: number): Promise<World> {
  const folder = temporaryFolder();
  const tokensFile = join(folder, 'data', 'tokens.json');
  mkdirSync(join(folder, 'data'), { recursive: true });
  writeFileSync(tokensFile, JSON.stringify(entries), { mode: 0o600 });
  const installation = await install(env, folder, port);
  const send: World['send'] = async (as, method, path, body) => {
    const answer = await installation.http.send({ method, path, token: tokenOf[as], body });
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body as never;
  };
  const ask: World['ask'] = async (calls, more) => {
    runs += 1;
    const body = {
      runId: `run-${runs}`,
      agentId: 'billing-agent',
      calls: calls.map((call, index) => ({
        toolCallId: `call-${index}`,
        toolName: 'delete_file',
        arguments: { path: '/etc/hosts' },
        needsApproval: true,
        ...call,
      })),
      ...more,
    };
    return (await send<{ calls: Asked[] }>('agent', 'POST', '/v1/tool-calls', body)).calls;
  };
  return { ...installation, url: `http://127.0.0.1:${installation.port}`, tokensFile, ask, send };
}

/** A page of the inbox, and what the browser complained about on it. */
export interface InboxPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, violations of the policy, failed loads: everything that a person would find in the console. */
  readonly complaints: string[];
}

/** One browser for all tests of the calling spec. */
export function useBrowser(): () => Browser {
  // A test starts a server, and waits for a page some times in a row.
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
  });
  return () => {
    if (browser === undefined) throw new Error('the browser is not open yet');
    return browser;
  };
}

/** The settings of the browser; `undoSeconds`: how long the inbox holds a decision. Default: it is sent at once. */
export type PageOptions = BrowserContextOptions & { readonly undoSeconds?: '5' | '20' };

/** Opens a page of the inbox without a session. */
export async function openPage(
  browser: Browser,
  url: string,
  { undoSeconds, ...options }: PageOptions = {},
): Promise<InboxPage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    // A half-faded element would be checked in that state.
    reducedMotion: 'reduce',
    ...options,
  });
  onCleanup(() => context.close());
  // An empty page keeps nothing.
  await context.addInitScript(
    `if (location.origin !== 'null') localStorage.setItem('countersign-undo-seconds', '${undoSeconds ?? '0'}')`,
  );
  const page = await context.newPage();
  page.setDefaultTimeout(100_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  await page.goto(url);
  return { page, context, complaints };
}

/** Opens a page of the inbox and signs in. */
export async function openInbox(
  browser: Browser,
  url: string,
  as: keyof typeof tokenOf = 'me',
  options: PageOptions = {},
): Promise<InboxPage> {
  const opened = await openPage(browser, url, options);
  await opened.page.getByLabel('Token').fill(tokenOf[as]);
  await opened.page.getByRole('button', { name: 'Sign in' }).click();
  await opened.page.getByRole('navigation', { name: 'Main' }).waitFor();
  return opened;
}

/** The row of a pending call. */
export const rowOf = (page: Page, toolName: string) =>
  page.getByRole('list', { name: 'Pending approvals' }).getByRole('link', { name: toolName });

/** Presses "Show more" until there is no more. A screen counts after a moment. */
export async function pageOn(more: Locator): Promise<void> {
  for (let pages = 0; pages < 100 && (await more.count()) > 0; pages += 1) {
    await more.click({ timeout: 2000 }).catch(() => undefined);
    await more.page().waitForTimeout(150);
  }
}

/** Opens the edit of the current card as JSON, and returns its text box. */
export async function editAsJson(page: Page) {
  await page.keyboard.press('e');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'JSON', exact: true }).click();
  return dialog.getByRole('textbox', { name: 'Arguments as JSON' });
}
