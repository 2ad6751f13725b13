import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { everydayScenes } from './scenes.ts';

/** A standalone process and a browser for scripts, outside of any test. */
export interface Stand {
  readonly url: string;
  /** A typical working day: some calls wait, some are decided. */
  readonly seed: () => Promise<void>;
  /** Requests calls, as the agent. */
  readonly ask: (scene: unknown) => Promise<void>;
  /** A page with a signed-in person. */
  readonly open: (options?: BrowserContextOptions) => Promise<Page>;
  readonly close: () => Promise<void>;
}

const bin = join(import.meta.dirname, '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');
const people = ['alice', 'bob', 'carol'];
const tools = ['send_email', 'refund_order', 'run_sql', 'deploy', 'delete_file'];

/** Starts both on a data folder. */
export async function openStand(data: string): Promise<Stand> {
  mkdirSync(data, { recursive: true });
  const entries = [
    { token: 'agent-token', principal: 'agent', roles: ['agent'], agentIds: ['*'] },
    ...people.map((name) => ({ token: `${name}-token`, principal: name, roles: ['approver', 'auditor'] })),
  ];
  writeFileSync(join(data, 'tokens.json'), JSON.stringify(entries), { mode: 0o600 });
  const port = await freePort();
  const server = spawn(process.execPath, [bin, 'start', 'standalone'], {
    env: { ...process.env, COUNTERSIGN_DATA: data, COUNTERSIGN_PORT: String(port), COUNTERSIGN_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${String(port)}`;
  while (
    !(await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await sleep(50);
  const browser = await launchChromium();
  const send = async (as: string, path: string, body: unknown): Promise<unknown> => {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${as}-token`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return answer.json();
  };
  const ask = async (scene: unknown): Promise<void> => {
    await send('agent', '/v1/tool-calls', scene);
  };
  return {
    url,
    ask,
    seed: async () => {
      for (let nth = 0; nth < 60; nth += 1) {
        const calls = [
          { toolCallId: 'c', toolName: tools[(nth * nth) % 5] ?? '', arguments: { nth }, needsApproval: true },
        ];
        const asked = (await send('agent', '/v1/tool-calls', {
          runId: `run-${String(nth)}`,
          agentId: 'support-agent',
          calls,
        })) as {
          readonly calls: readonly { readonly approval: { readonly approvalId: string } }[];
        };
        const decision = { type: nth % 4 === 0 ? 'deny' : 'approve' };
        const path = `/v1/approvals/${asked.calls[0]?.approval.approvalId ?? ''}/responses`;
        await send(people[(nth * 7) % 3] ?? '', path, { decision });
      }
      for (const scene of everydayScenes) await ask(scene);
    },
    open: async (options) => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      const page = await context.newPage();
      await page.goto(url);
      await page.getByLabel('Token').fill('alice-token');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('list', { name: 'Pending approvals' }).waitFor();
      return page;
    },
    close: async () => {
      await browser.close();
      server.kill();
      await new Promise((resolve) => server.once('close', resolve));
    },
  };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => {
    probe.listen(0, '127.0.0.1', resolve);
  });
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
